"""How well chains have mixed: R-hat, effective sample size and Monte Carlo errors, of many numbers at once.

The invariant: they are those of ArviZ, which measures one number at a time, and whose import takes a fifth of all
imports of a fit. Draws have the shape (chain, draw, ...), and results the remaining axes.

The method is that of Vehtari et al. (2021), doi:10.1214/20-BA1221: chains are split into halves, draws are replaced by
normal scores of their ranks, and autocorrelations are truncated by Geyer's initial monotone sequence.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

DIAGNOSTICS = ("ess_bulk", "ess_tail", "r_hat")
MIN_DRAWS = 4  # of a chain: with fewer, there is no R-hat, no ESS and no error
CHUNK_BYTES = 768 * 2**10  # of draws at a time: larger arrays would be allocated again for each chunk


def measure_mixing(draws: np.ndarray, prob: float) -> np.ndarray:
    """Return the `DIAGNOSTICS` of draws, (3, ...); nan if they are undefined, as R-hat is of one chain.

    ESS of the tail is the lower one of two quantiles, at `prob` and 1 - `prob`. R-hat is the higher one of the draws
    and of their distances from the median.

    Examples
    --------
    >>> import numpy as np
    >>> from arviz_stats.base import array_stats
    >>> from bayesanno._core.chains import measure_mixing
    >>> draws = np.random.default_rng(1).normal(size=(4, 100, 2)).cumsum(axis=1)
    >>> np.allclose(measure_mixing(draws, 0.89)[2], array_stats.rhat(draws, chain_axis=0, draw_axis=1))
    True
    """

    def measure(part: np.ndarray) -> list[np.ndarray]:
        halves = _halve(part)
        scores = _score_ranks(halves)
        quantiles = np.quantile(part, sorted((prob, 1 - prob)), axis=(0, 1))
        low, high = (_count(_halve((part <= at).astype(float))) for at in quantiles)
        tail_rhat = _compare(_score_ranks(np.abs(halves - np.median(halves, axis=(0, 1)))))
        rhat = _compare(scores)
        either = np.where(tail_rhat > rhat, tail_rhat, rhat) if len(part) > 1 else np.full_like(rhat, np.nan)
        return [_count(scores), np.where(high < low, high, low), either]

    return _in_chunks(measure, draws, 3)


def measure_errors(draws: np.ndarray) -> np.ndarray:
    """Return the Monte Carlo standard errors of each mean and standard deviation, (2, ...); nan if undefined."""

    def measure(part: np.ndarray) -> list[np.ndarray]:
        squares = (part - part.mean(axis=(0, 1))) ** 2
        variance = squares.mean(axis=(0, 1))
        of_variance = ((squares**2).mean(axis=(0, 1)) - variance**2) / _count(_halve(squares))
        return [*_error_of_mean(part), np.sqrt(of_variance / variance / 4)]

    return _in_chunks(measure, draws, 2)


def measure_mcse(draws: np.ndarray) -> np.ndarray:
    """Return the Monte Carlo standard error of each mean over draws; 0 if it is undefined."""
    return np.nan_to_num(_in_chunks(_error_of_mean, draws, 1)[0])


def _error_of_mean(draws: np.ndarray) -> list[np.ndarray]:
    return [draws.std(axis=(0, 1), ddof=1) / np.sqrt(_count(_halve(draws)))]


def _in_chunks(measure: Callable[[np.ndarray], list[np.ndarray]], draws: np.ndarray, n_results: int) -> np.ndarray:
    """Measure draws (chain, draw, number), a part of the numbers at a time; those with a draw of nan have nan."""
    n_chains, n_draws, *shape = draws.shape
    if n_draws < MIN_DRAWS or not draws.size:
        return np.full((n_results, *shape), np.nan)
    rows = draws.reshape(n_chains, n_draws, -1)
    parts = np.array_split(rows, min(rows.shape[2], 1 + 8 * rows.size // CHUNK_BYTES), axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = [np.where(np.isnan(one).any(axis=(0, 1)), np.nan, measure(one.astype(float))) for one in parts]
    return np.concatenate(found, axis=1).reshape(n_results, *shape)


def _halve(draws: np.ndarray) -> np.ndarray:
    """Return both halves of each chain: (half, draw, number)."""
    n = draws.shape[1] // 2
    return np.concatenate([draws[:, :n], draws[:, -n:]])


def _score_ranks(draws: np.ndarray) -> np.ndarray:
    """Return the normal scores of the ranks of draws, of equal draws the mean, with Blom's offset of 3/8."""
    from scipy.special import ndtri

    rows = np.ascontiguousarray(draws.reshape(-1, draws.shape[2]).T)  # (number, sample)
    n = rows.shape[1]
    order = rows.argsort(axis=1)
    ordered = np.take_along_axis(rows, order, axis=1)
    differs = ordered[:, 1:] != ordered[:, :-1]
    place = np.arange(1.0, n + 1)
    rank = np.empty(rows.shape)
    if differs.all():
        np.put_along_axis(rank, order, place, axis=1)
    else:
        edge = np.ones((len(rows), 1), dtype=bool)
        first = np.maximum.accumulate(np.where(np.hstack([edge, differs]), place, 0), axis=1)
        last = np.minimum.accumulate(np.where(np.hstack([differs, edge]), place, n)[:, ::-1], axis=1)[:, ::-1]
        np.put_along_axis(rank, order, (first + last) / 2, axis=1)
    scores: np.ndarray = np.where(np.isnan(rows), np.nan, ndtri((rank - 3 / 8) / (n + 1 / 4)))
    return np.ascontiguousarray(scores.T).reshape(draws.shape)


def _compare(halves: np.ndarray) -> np.ndarray:
    """Return the R-hat of halves of chains, (half, draw, number), as they are."""
    n = halves.shape[1]
    between, within = n * halves.mean(axis=1).var(axis=0, ddof=1), halves.var(axis=1, ddof=1).mean(axis=0)
    ratio: np.ndarray = np.sqrt((between / within + n - 1) / n)
    return ratio


def _count(halves: np.ndarray) -> np.ndarray:
    """Return the effective sample size of halves of chains, (half, draw, number), as they are."""
    from scipy.fft import irfft, next_fast_len, rfft

    n_halves, n, n_numbers = halves.shape
    constant = np.ptp(halves, axis=(0, 1)) < np.finfo(float).resolution
    means = halves.mean(axis=1)  # (half, number)
    padded = np.zeros((n_halves, next_fast_len(2 * n, real=True), n_numbers))
    np.subtract(halves, means[:, None], out=padded[:, :n])
    spectrum = rfft(padded, axis=1)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=0)
    covariance = irfft(power, n=padded.shape[1], axis=0)[:n] / n  # (lag, number), the mean over halves
    within, whole = covariance[0] * n / (n - 1), covariance[0] + means.var(axis=0, ddof=1)
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
    size = n * n_halves
    time = np.maximum(2 * falling + single - 1, 1 / np.log10(size))
    return size / np.where(constant, 1, time)
