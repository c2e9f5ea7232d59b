"""Bridge sampling: the integral of a density from draws of it.

The invariant: the result is nan, with the reason, if the draws do not suffice.

References
----------
X.-L. Meng and W. H. Wong (1996), Simulating ratios of normalizing constants via a simple identity, Statistica Sinica 6,
831-860.
S. Frühwirth-Schnatter (2004), Estimating marginal likelihoods for mixture and Markov switching models using bridge
sampling techniques, The Econometrics Journal 7, 143-167, doi:10.1111/j.1368-423X.2004.00125.x (the error).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from bayesanno.inference.diagnosis.measures import find_pareto_k
from bayesanno.inference.diagnosis.thresholds import MAX_PARETO_K

MAX_ROUNDS = 1_000  # of the iteration, which usually takes tens
TOLERANCE = 1e-10  # of the log, so relative to the integral
MIN_PER_DIMENSION = 2  # draws for fitting the proposal: with fewer, its covariance is too uncertain
BLOCK = 50  # draws for fitting the proposal, followed by as many for the bridge
FEWEST_DRAWS = 20  # of a chain in a region: with fewer, their effective number is unknown
LIKE_LENGTHS = 0.9  # if all chains have at least this share of the longest, they are cut to the shortest
TAILS = 5  # degrees of freedom of the proposal: tails heavier than those of a posterior


class LogIntegral(NamedTuple):
    """Log of the integral of a density, its standard error, and the reason if it is nan."""

    value: float
    error: float
    reason: str = ""


def _unknown(reason: str) -> LogIntegral:
    return LogIntegral(float("nan"), float("nan"), reason)


def find_covariance(points: np.ndarray) -> np.ndarray:
    """Return the covariance of points (sample, dimension), positive definite.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the draws do not vary in all dimensions, for instance because there are too few.
    """
    n_samples, n = points.shape
    if n_samples < MIN_PER_DIMENSION * n:
        raise np.linalg.LinAlgError(f"{n_samples} draws are too few for {n} dimensions")
    covariance: np.ndarray = np.atleast_2d(np.cov(points.T))
    np.linalg.cholesky(covariance)
    return covariance


def estimate_log_integral(
    z: np.ndarray,
    log_density: Callable[[np.ndarray], np.ndarray],
    rng: np.random.Generator,
    inside: np.ndarray | None = None,
) -> LogIntegral:
    """Estimate the log of the integral of a density from draws of it (Meng and Wong 1996).

    The proposal is a multivariate t with 5 degrees of freedom. Blocks of 50 draws alternate: one is used to fit it, the
    next enters the bridge. Chains may leave the region and come back; draws outside are ignored.

    Parameters
    ----------
    z : array, shape (chain, draw, dimension)
        Draws on the unconstrained scale.
    log_density : callable
        The log density, (sample,), at points (sample, dimension); -inf outside a region, if there is one.
    rng : numpy.random.Generator
    inside : array of bool, shape (chain, draw), optional
        Which draws are in the region; the others are ignored. All by default.

    Returns
    -------
    LogIntegral
        nan, with a reason, if draws are at the edge of the parameters' range or too few for the dimensions, the Pareto
        k of the ratios of density and proposal is above 0.7, or the iteration does not converge in 1,000 rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.modes.bridge import estimate_log_integral
    >>> rng = np.random.default_rng(1)
    >>> draws = rng.normal(size=(4, 1000, 2))
    >>> found = estimate_log_integral(draws, lambda z: -(z**2).sum(axis=1) / 2, rng)
    >>> abs(found.value - np.log(2 * np.pi)) < 4 * found.error < 0.1
    True
    """
    from scipy.stats import multivariate_t

    if not np.isfinite(z).all():
        return _unknown("a draw is at the edge of the parameters' range")
    inside = np.ones(z.shape[:2], dtype=bool) if inside is None else inside
    shapes = np.arange(z.shape[1]) // BLOCK % 2 == 0 if z.shape[1] > BLOCK else np.arange(z.shape[1]) < z.shape[1] / 2
    shaping = z[inside & shapes]
    try:
        covariance = find_covariance(shaping)
    except np.linalg.LinAlgError as cause:
        return _unknown(str(cause))
    proposal = multivariate_t(shaping.mean(axis=0), covariance, df=TAILS)
    bridged = [points[own & ~shapes] for points, own in zip(z, inside, strict=True)]  # of each chain, (draw, dimension)
    kept = [points for points in bridged if len(points) >= FEWEST_DRAWS]
    drawn = proposal.rvs(z.shape[0] * int((~shapes).sum()), random_state=rng).reshape(-1, z.shape[2])
    ratio = log_density(drawn) - np.atleast_1d(proposal.logpdf(drawn))  # (sample,), of proposed points
    if not kept or not np.isfinite(ratio).any():
        return _unknown("no draw, or no proposed point, is in the region to be integrated")
    ratio_kept = [log_density(points) - np.atleast_1d(proposal.logpdf(points)) for points in kept]  # of the posterior's
    pareto_k = find_pareto_k(ratio)
    if pareto_k is None:
        return _unknown("there are too few draws to see how far it is from a t distribution")
    if not pareto_k <= MAX_PARETO_K:
        return _unknown(f"the posterior is far from any t distribution: Pareto k is {pareto_k:.2f}")
    value, error = _bridge(ratio, ratio_kept)
    if not np.isfinite([value, error]).all():
        return _unknown(f"bridge sampling does not settle within {MAX_ROUNDS} rounds")
    return LogIntegral(value, error)


def _bridge(proposed: np.ndarray, kept: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return the log of the normalising constant and its error from log ratios of densities.

    The ratios are those of proposed points (sample,) and of each chain's draws (draw,). Both results are nan if the
    iteration does not converge, which includes nan ratios.
    """
    from scipy.special import logsumexp

    every = np.concatenate(kept)
    if np.isnan(proposed).any() or np.isnan(every).any():
        return float("nan"), float("nan")

    level = float(np.median(every))  # near the result, so that the iterated values are near 0 and keep their precision
    ess = _count_independent(kept)
    share = np.log(np.array([ess, proposed.size]) / (ess + proposed.size))  # of posterior and proposed draws
    proposed, own = proposed - level, every - level
    estimate = 0.0
    for _ in range(MAX_ROUNDS):
        before = estimate
        above = proposed - np.logaddexp(share[0] + proposed, share[1] + before)
        below = -np.logaddexp(share[0] + own, share[1] + before)
        estimate = float(logsumexp(above) - np.log(above.size) - logsumexp(below) + np.log(below.size))
        if abs(estimate - before) <= TOLERANCE:
            break
    else:
        return float("nan"), float("nan")
    first = np.exp(proposed - estimate - np.logaddexp(share[0] + proposed - estimate, share[1]))
    second = [np.exp(-np.logaddexp(share[0] + one - level - estimate, share[1])) for one in kept]
    pooled = np.concatenate(second)
    variances = [
        first.var() / first.mean() ** 2 / first.size,
        pooled.var() / pooled.mean() ** 2 / _count_independent(second),
    ]
    return level + estimate, float(np.sqrt(sum(variances)))


def _count_independent(chains: Sequence[np.ndarray]) -> float:
    """Return the effective number of values in the mean over chains (draw,) of equal or different lengths."""
    from arviz_stats.base import array_stats

    lengths = [len(one) for one in chains]
    parts = [np.atleast_2d(one) for one in chains]
    if min(lengths) >= LIKE_LENGTHS * max(lengths):  # together, so that chains that disagree are worth less
        parts = [np.stack([one[: min(lengths)] for one in chains])]
    return sum(float(array_stats.ess(one, chain_axis=0, draw_axis=1, method="mean")) for one in parts)
