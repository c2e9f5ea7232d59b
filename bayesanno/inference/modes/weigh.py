"""The probability of each mode, by draws around the modes that are weighted to be draws from the posterior.

Laplace's method takes each mode for a normal distribution, and its errors of some nats are factors of ten. So it only
shows which modes may be probable. Points are drawn around each of these, from a t distribution with its centre and
curvature, and weighted by the ratio of the posterior density and the density of all these distributions together
(importance sampling). Some of them, chosen by weight, then are draws from the posterior. The probability of a mode is
the share of those from which an ascent leads to it.

The invariant: modes have probabilities only if there are enough such draws, and all of them are from one estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bayesanno.inference.diagnosis.measures import smooth_ratios
from bayesanno.inference.modes.laplace import LogDensity, Mode
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
    around = [(modes.found[at], len(modes.groups[group])) for group in modes.near for at in modes.groups[group]]
    is_known = not (modes.log_density.has_scales or modes.rough or modes.unfinished)
    budget = modes.most_gradients // 2  # of densities, and of ascents
    if len(modes.near) < 2 or not is_known or any(mode.root is None for mode, _ in around) or budget < ASCENTS:
        return modes
    points, log_ratio = _draw_around(modes.log_density, around, min(DRAWS, budget // len(modes.near)), rng)
    n_effective = np.exp(2 * np.logaddexp.reduce(log_ratio) - np.logaddexp.reduce(2 * log_ratio))
    if n_effective < LEAST_EFFECTIVE:
        return modes
    each = (rng.uniform() + np.arange(ASCENTS)) / ASCENTS
    at, times = np.unique(np.searchsorted(np.cumsum(np.exp(smooth_ratios(log_ratio)[0])), each), return_counts=True)
    order = rng.permutation(at.size)  # if gradients do not suffice for all
    n_before = len(modes.found)
    found, (places,) = modes.ascend_from_draws(points[None, at[order]], most_gradients=budget, show=show)
    modes = replace(found, rough=False)  # draws show how probable a mode is whose Hessian was not affordable
    reached = places >= 0
    counts = np.bincount(places[reached], times[order][reached], minlength=len(modes.found))
    if counts.sum() < LEAST_ASCENTS:
        return modes
    share_of: dict[int, float] = {}
    for group in modes.groups:
        drawn_around = [number for number in group if number < n_before] or group
        share_of |= dict.fromkeys(group, float(counts[drawn_around].mean()))
    weighed = tuple(replace(mode, share=share_of[number]) for number, mode in enumerate(modes.found))
    return replace(modes, found=weighed, n_effective=float(min(n_effective, counts.sum())))


def _draw_around(
    log_density: LogDensity, around: Sequence[tuple[Mode, int]], n_draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw points (sample, dimension) around modes, and return them with their log weights (sample,).

    `around` has each mode with the number of its labellings, among which its draws are divided.
    """
    drawn, shapes = [], []
    for mode, n_labellings in around:
        root, n, n_dim = np.asarray(mode.root), n_draws // n_labellings, mode.point.size
        far = np.sqrt(TAILS / rng.chisquare(TAILS, size=n))  # (sample,)
        drawn.append(mode.point + np.linalg.solve(root, far * rng.standard_normal((n_dim, n))).T)
        shapes.append((mode.point, root, np.log(n) + np.log(np.diag(root)).sum()))
    points = np.concatenate(drawn)
    heights = [
        log - (TAILS + n_dim) / 2 * np.log1p((((points - centre) @ root.T) ** 2).sum(axis=1) / TAILS)
        for centre, root, log in shapes
    ]
    log_ratio = log_density.density.log_at(points) - np.logaddexp.reduce(heights)
    is_inside = np.isfinite(log_ratio)
    return points[is_inside], log_ratio[is_inside]
