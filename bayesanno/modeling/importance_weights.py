"""Draws of a posterior weighted by the likelihood of a new item's answers.

The posterior of a fit's data D and one more item's answers a is, by Bayes' rule,

    p(parameters | D, a)  ~  p(parameters | D)  p(a | parameters)

so it is represented by draws of p(parameters | D) with weights p(a | parameters). This is importance sampling, with the
old posterior as proposal. The weights are probabilities of discrete answers. Since they are bounded by 1, they have no
heavy tail that smoothing could improve (PSIS: Vehtari et al. 2024, Journal of Machine Learning Research 25(72)). The
remaining danger is that few draws carry all the weight, which the effective number of draws shows (Kong 1992,
University of Chicago, Department of Statistics, Technical Report 348).

The invariant: nothing overflows, however many answers an item has, and weights of 0 give 0, never nan.
"""

from __future__ import annotations

import numpy as np

CHUNK_BYTES = 768 * 2**10  # memory for draws at a time: larger arrays would be allocated anew for each chunk
LEAST_DRAWS = 4  # of a chain, for an error


def normalise_weights(log_weight: np.ndarray) -> np.ndarray:
    """Return weights with mean 1 over draws, (sample, item); nan for items with only zero weights.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.modeling.importance_weights import normalise_weights
    >>> normalise_weights(np.log([[0.1], [0.3]])).round(12).tolist()
    [[0.5], [1.5]]
    """
    greatest = log_weight.max(axis=0)  # (item,)
    weight = np.exp(log_weight - np.where(np.isfinite(greatest), greatest, 0.0))
    mean = weight.mean(axis=0)  # (item,)
    return np.divide(weight, mean, out=np.full_like(weight, np.nan), where=mean > 0)


def effective_number(weight: np.ndarray, copies: int = 1) -> np.ndarray:
    """Return Kish's effective number of draws, (item,), from weights with mean 1, (sample, item); 0 for nan weights.

    It is the number of draws if weights are equal, and 1 if one draw has all the weight. If each draw has `copies`
    consecutive copies, they count as one draw with the sum of their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.modeling.importance_weights import effective_number
    >>> effective_number(np.ones((6, 1)), copies=3).tolist()
    [2.0]
    """
    of_draw = weight.reshape(-1, copies, *weight.shape[1:]).mean(axis=1)  # (draw, item), of mean 1
    # sum(w)^2 / sum(w^2), written so that no rounding makes it more than the number of draws
    return np.nan_to_num(len(of_draw) / (1 + ((of_draw - 1) ** 2).mean(axis=0)))


def weighted_mean(weight: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weighted mean of values (sample, item, ...) over draws, and each draw's contribution to its error.

    With weights w of mean 1 and the weighted mean m, the contribution is w (value - m), by the delta method for a ratio
    of means. It has mean 0, and the Monte Carlo standard error of its mean is that of m.
    """
    aligned = weight.reshape(*weight.shape, *(1,) * (values.ndim - weight.ndim))
    held = np.where(aligned == 0, 0.0, values)  # values may be nan for answers that a draw cannot explain
    mean = (aligned * held).mean(axis=0)  # (item, ...)
    return mean, aligned * (held - mean)


def average_logs(logs: np.ndarray, log_weight: np.ndarray | None = None) -> np.ndarray:
    """Return the logs of means over draws, (item, state), from logs of values (sample, item, state).

    Draws have log weights (sample, item); by default all are equal. Items with only zero weights have nan.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.modeling.importance_weights import average_logs
    >>> average_logs(np.array([[[-2000.0]], [[-2000.0 + np.log(3)]]])).round(4).tolist()  # of 1 and 3, times e^-2000
    [[-1999.3069]]
    """
    from scipy.special import logsumexp

    if log_weight is None:
        top = logs.max(axis=0)  # (item, state); impossible in all draws: -inf
        top = np.where(np.isneginf(top), 0.0, top)
        with np.errstate(divide="ignore"):
            relative = logs - top
            averaged: np.ndarray = np.log(np.exp(relative, out=relative).mean(axis=0)) + top
        return averaged
    with np.errstate(divide="ignore", invalid="ignore"):  # all weights 0
        held = np.where(np.isneginf(log_weight)[..., None], -np.inf, logs)  # nan where a draw cannot explain answers
        total = logsumexp(log_weight, axis=0)  # (item,)
        weighed: np.ndarray = logsumexp(held + log_weight[..., None], axis=0) - total[:, None]
    return weighed


def measure_mcse(draws: np.ndarray) -> np.ndarray:
    """Return the Monte Carlo standard error of each mean over draws (chain, draw, ...); 0 if it is undefined.

    The estimate is that of ArviZ, which measures one number at a time: chains are split into halves, and their
    autocorrelations are truncated by Geyer's initial monotone sequence (Vehtari et al. 2021, doi:10.1214/20-BA1221).

    Examples
    --------
    >>> import numpy as np
    >>> from arviz_stats.base import array_stats
    >>> from bayesanno.modeling.importance_weights import measure_mcse
    >>> draws = np.random.default_rng(1).normal(size=(4, 100, 2)).cumsum(axis=1)
    >>> np.allclose(measure_mcse(draws), array_stats.mcse(draws, chain_axis=0, draw_axis=1))
    True
    """
    n_chains, n_draws, *shape = draws.shape
    if n_draws < LEAST_DRAWS:
        return np.zeros(shape)
    rows = draws.reshape(n_chains, n_draws, -1)  # (chain, draw, number)
    parts = np.array_split(rows, 1 + 8 * rows.size // CHUNK_BYTES, axis=2)
    return np.nan_to_num(np.concatenate([_measure_mcse(part.copy()) for part in parts])).reshape(shape)


def _measure_mcse(draws: np.ndarray) -> np.ndarray:
    """Return the Monte Carlo standard error of means over draws (chain, draw, number)."""
    from scipy.fft import irfft, next_fast_len, rfft

    n_chains, n_draws, n_numbers = draws.shape
    n = n_draws // 2
    padded = np.zeros((2 * n_chains, next_fast_len(2 * n, real=True), n_numbers))
    halves = padded[:, :n]  # (half, draw, number)
    halves[:n_chains], halves[n_chains:] = draws[:, :n], draws[:, -n:]
    constant = np.ptp(halves, axis=(0, 1)) < np.finfo(float).resolution
    means = halves.mean(axis=1)  # (half, number)
    halves -= means[:, None]
    spectrum = rfft(padded, axis=1)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=0)
    covariance = irfft(power, n=padded.shape[1], axis=0)[:n] / n  # (lag, number), the mean over halves
    within, whole = covariance[0] * n / (n - 1), covariance[0] + means.var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = 1 - (within - covariance) / whole
    correlation[0] = 1
    n_pairs = max(1, (n - 1) // 2)
    pairs = correlation[: 2 * n_pairs].reshape(n_pairs, 2, -1).sum(axis=1)  # of lags
    ends = ~(pairs > 0)
    ends[-1] = True
    end = ends.argmax(axis=0)  # (number,): the first pair that does not count
    falling = np.where(np.arange(n_pairs)[:, None] < end, np.minimum.accumulate(pairs), 0).sum(axis=0)
    here = np.arange(end.size)
    single = correlation[2 * end, here]
    single = np.where((single > 0) | (pairs[end, here] >= 0), single, 0)
    size = 2 * n * n_chains
    time = np.maximum(2 * falling + single - 1, 1 / np.log10(size))
    sd: np.ndarray = draws.std(axis=(0, 1), ddof=1)
    return sd * np.sqrt(np.where(constant, 1, time) / size)
