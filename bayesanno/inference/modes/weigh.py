"""The probability of each mode, by draws around the modes that are weighted to be draws from the posterior.

Laplace's method takes each mode for a normal distribution, and its errors of some nats are factors of ten. So it only
shows which modes may be probable. Points are drawn around each of these, from a t distribution with its centre and
curvature, and weighted by the ratio of the posterior density and the density of all these distributions together
(importance sampling). Some of them, chosen by weight, then are draws from the posterior. The probability of a mode is
the share of those from which an ascent leads to it.

The invariant: modes have probabilities only if there are enough such draws, and all of them are from one estimate.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayesanno.inference.diagnosis.measures import smooth_ratios
from bayesanno.inference.modes.search import Modes

TAILS = 6  # degrees of freedom: tails heavier than those of a posterior
DRAWS = 1_000  # around each mode, shared among its labellings
ASCENTS = 200
LEAST_ASCENTS = 50
LEAST_EFFECTIVE = 10.0  # independent draws: with fewer, probabilities are unknown


def weigh(modes: Modes, rng: np.random.Generator, *, show: bool = False) -> Modes:
    """Estimate the probability of each mode, if more than one may be probable.

    Returns
    -------
    Modes
        With shares, and with modes that ascents have found. Probabilities remain unknown if a mode that may be probable
        has no known curvature, the draws are worth fewer than 10 independent ones, or the budget of gradients allows
        fewer than 50 ascents.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.graph.density import Density
    >>> from bayesanno.inference.modes.laplace import LogDensity
    >>> from bayesanno.inference.modes.search import search
    >>> from bayesanno.inference.modes.weigh import weigh
    >>> class TwoHumps:  # of widths 0.1 and 0.2
    ...     n_calls = 0
    ...
    ...     def __call__(self, z):
    ...         logs = -((z[0] - [-2, 2]) ** 2) / [0.02, 0.08]
    ...         share = np.exp(logs - np.logaddexp(*logs))
    ...         return np.logaddexp(*logs), np.array([(share * -2 * (z[0] - [-2, 2]) / [0.02, 0.08]).sum()])
    ...
    ...     log_at = Density.log_at
    >>> rng = np.random.default_rng(1)
    >>> found = search(LogDensity(TwoHumps(), 1000), np.array([-2.0]), n_starts=10, most_gradients=10_000, rng=rng)
    >>> weigh(found, rng).probabilities.round(2)
    array([0.67, 0.33])
    """
    if modes.log_density.has_scales or modes.rough or modes.unfinished or not modes.found:
        return modes
    if len(modes.near) == 1:
        return replace(_with_shares(modes, np.arange(len(modes.groups)) == modes.near[0]), n_effective=np.inf)
    if any(modes.found[at].root is None for group in modes.near for at in modes.groups[group]):
        return modes
    points, log_ratio = _draw_around(modes, rng)
    weight, _ = smooth_ratios(log_ratio)
    each = (rng.uniform() + np.arange(ASCENTS)) / ASCENTS
    chosen, times = np.unique(np.searchsorted(np.cumsum(np.exp(weight)), each), return_counts=True)
    order = rng.permutation(chosen.size)  # if gradients do not suffice for all
    some = points[None, chosen[order]]
    modes, (places,) = modes.ascend_from_draws(some, most_gradients=modes.most_gradients // 2, show=show)
    known = places >= 0
    counts = np.bincount(places[known], times[order][known], minlength=len(modes.groups))
    n_effective = min(np.exp(2 * np.logaddexp.reduce(log_ratio) - np.logaddexp.reduce(2 * log_ratio)), counts.sum())
    if n_effective < LEAST_EFFECTIVE or counts.sum() < LEAST_ASCENTS:
        return modes
    return replace(_with_shares(modes, counts), n_effective=float(n_effective))


def _with_shares(modes: Modes, shares: np.ndarray) -> Modes:
    """Return modes with the share of each group, (group,), divided evenly among its labellings."""
    of_mode = {mode: share / len(group) for group, share in zip(modes.groups, shares, strict=True) for mode in group}
    return replace(modes, found=tuple(replace(mode, share=of_mode[at]) for at, mode in enumerate(modes.found)))


def _draw_around(modes: Modes, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw points (sample, dimension) around the modes that may be probable; return also their log weights, (sample,)."""
    n_dim = modes.found[0].point.size
    n_draws = min(DRAWS, modes.most_gradients // (2 * len(modes.near)))
    parts = [
        (modes.found[at], n_draws // len(modes.groups[group])) for group in modes.near for at in modes.groups[group]
    ]
    drawn = []
    for mode, n in parts:
        far = np.sqrt(TAILS / rng.chisquare(TAILS, size=n))  # (sample,)
        drawn.append(mode.point + np.linalg.solve(mode.root, far * rng.standard_normal((n_dim, n))).T)
    points = np.concatenate(drawn)
    heights = []
    for mode, n in parts:
        squares = (((points - mode.point) @ mode.root.T) ** 2).sum(axis=1)
        log_det = np.log(np.diag(mode.root)).sum()
        heights.append(np.log(n) + log_det - (TAILS + n_dim) / 2 * np.log1p(squares / TAILS))
    return points, modes.log_density.density.log_at(points) - np.logaddexp.reduce(heights)
