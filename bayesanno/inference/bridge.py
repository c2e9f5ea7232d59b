"""The marginal likelihood of a fit of counts, by bridge sampling.

The invariant: it is of the answers in their order, without binomial coefficients, under the fit's own proper priors;
and it is nan, with the reason, where the draws cannot bear it. Only models whose types are told apart by their order or
by their priors are taken: where classes can be permuted, draws of one labelling would miss the others' share.

References
----------
X.-L. Meng and W. H. Wong (1996), Simulating ratios of normalizing constants via a simple identity, Statistica Sinica 6,
831-860.
S. Frühwirth-Schnatter (2004), Estimating marginal likelihoods for mixture and Markov switching models using bridge
sampling techniques, The Econometrics Journal 7, 143-167, doi:10.1111/j.1368-423X.2004.00125.x (the error).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayesanno.data.counts import CountData
from bayesanno.fits.view import view_of
from bayesanno.ground.errors import FitError
from bayesanno.ground.validate import check_seed
from bayesanno.inference.diagnostics import MAX_PARETO_K, MAX_RHAT, find_pareto_k
from bayesanno.inference.unconstrained import density_of, unconstrain

if TYPE_CHECKING:
    import xarray

    from bayesanno.fits.view import FitView

MAX_ROUNDS = 1_000  # of the iteration; it takes tens
TOLERANCE = 1e-10  # of the log, and so relative to the marginal likelihood
TAILS = 5  # degrees of freedom of the proposal: tails heavier than those of a posterior


class MarginalLikelihood(NamedTuple):
    """A log marginal likelihood of answers in their order, its standard error, and why it is nan where it is."""

    value: float
    error: float
    reason: str


def estimate_marginal_likelihood(
    fit: xarray.DataTree | FitView, *, random_seed: int | None = None
) -> MarginalLikelihood:
    """Estimate the log marginal likelihood of a fit of counts by bridge sampling (Meng and Wong 1996).

    The bridge is to a multivariate t with 5 degrees of freedom, on the unconstrained scale; the first half of each
    chain shapes it, the second half is bridged to.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    random_seed : int, optional

    Returns
    -------
    MarginalLikelihood
        nan, with a reason, if the fit is not by NUTS, its R-hat is unknown or above 1.01, the Pareto k of the ratios of
        posterior and proposal is above 0.7, or the iteration does not settle in 1,000 rounds. The standard error is
        relative, that is of the log.

    Raises
    ------
    FitError
        If the fit is not of counts.

    Examples
    --------
    >>> import bayesanno as ba
    >>> ba.estimate_marginal_likelihood(ba.load("counts"), random_seed=1).value  # doctest: +SKIP
    """
    from scipy.stats import multivariate_t

    check_seed(random_seed)
    view = view_of(fit)
    require_counts(view)
    rhat = view.diagnostics.get("max_rhat")
    if rhat is None or not rhat <= MAX_RHAT:
        known = "unknown (it takes NUTS, and two chains)" if rhat is None else f"{rhat:.3f}"
        return _unknown(f"R-hat is {known}, and must be at most {MAX_RHAT}")
    graph = view.model.build(view.data)
    z, parts = unconstrain(graph, view.posterior)  # (chain, draw, dimension)
    if not np.isfinite(z).all():
        return _unknown("a draw is at the edge of the parameters' range")
    log_density = density_of(graph, parts)
    shaping, bridged = np.array_split(z, 2, axis=1)
    points = shaping.reshape(-1, z.shape[2])  # (sample, dimension)
    proposal = multivariate_t(points.mean(axis=0), np.atleast_2d(np.cov(points.T)), df=TAILS)
    n_chains, n_draws = bridged.shape[:2]
    drawn = proposal.rvs(n_chains * n_draws, random_state=np.random.default_rng(random_seed))
    drawn, kept = drawn.reshape(-1, z.shape[2]), bridged.reshape(-1, z.shape[2])
    ratio = log_density(drawn) - np.atleast_1d(proposal.logpdf(drawn))  # (sample,), of proposed points
    ratio_kept = log_density(kept) - np.atleast_1d(proposal.logpdf(kept))  # (sample,), of the posterior's
    pareto_k = find_pareto_k(ratio)
    if not pareto_k <= MAX_PARETO_K:
        return _unknown(f"the posterior is far from any t distribution: Pareto k is {pareto_k:.2f}")
    value, error = _bridge(ratio, ratio_kept.reshape(n_chains, n_draws))
    if not np.isfinite([value, error]).all():
        return _unknown(f"bridge sampling does not settle within {MAX_ROUNDS} rounds")
    return MarginalLikelihood(value, error, "")


def _unknown(why: str) -> MarginalLikelihood:
    return MarginalLikelihood(float("nan"), float("nan"), f"log_marginal: {why}")


def _bridge(proposed: np.ndarray, kept: np.ndarray) -> tuple[float, float]:
    """Return log of the normalising constant, and its error, from log density ratios (sample,) and (chain, draw).

    Both are nan if the iteration does not settle, as it cannot where a ratio is nan.
    """
    from arviz_stats.base import array_stats
    from scipy.special import logsumexp

    if np.isnan(proposed).any() or np.isnan(kept).any():
        return float("nan"), float("nan")

    ess = float(array_stats.ess(kept, chain_axis=0, draw_axis=1, method="mean"))
    share = np.log(np.array([ess, proposed.size]) / (ess + proposed.size))  # of posterior and proposed draws
    level = float(np.median(kept))  # near the result: what is iterated is near 0, where no digits are lost to its size
    proposed, kept = proposed - level, kept - level
    estimate = 0.0
    for _ in range(MAX_ROUNDS):
        before = estimate
        above = proposed - np.logaddexp(share[0] + proposed, share[1] + before)
        below = -np.logaddexp(share[0] + kept.ravel(), share[1] + before)
        estimate = float(logsumexp(above) - np.log(above.size) - logsumexp(below) + np.log(below.size))
        if abs(estimate - before) <= TOLERANCE:
            break
    else:
        return float("nan"), float("nan")
    first = np.exp(proposed - estimate - np.logaddexp(share[0] + proposed - estimate, share[1]))
    second = np.exp(-np.logaddexp(share[0] + kept - estimate, share[1]))  # (chain, draw)
    independent = float(array_stats.ess(second, chain_axis=0, draw_axis=1, method="mean"))
    variances = [first.var() / first.mean() ** 2 / first.size, second.var() / second.mean() ** 2 / independent]
    return level + estimate, float(np.sqrt(sum(variances)))


def require_counts(fit: xarray.DataTree | FitView) -> CountData:
    """Return the counts that a fit was made from.

    Raises
    ------
    FitError
        If it was made from other data.
    """
    view = view_of(fit)
    if view.model.data_class is not CountData:
        raise FitError(f"types of items are counted in fits of counts, and {view.model.name} is fitted to annotations")
    counts: CountData = view.data
    return counts
