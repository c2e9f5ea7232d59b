"""The search for the modes of a density, from several starts, with the mass of each mode.

The density is that of NUTS, so that the mass of a mode is that of the draws around it. Random starts find modes that
chains from one start would never reach, but they cannot show that there are no others. An end where the density still
rises is not a mode: its mass is unknown, and therefore also the shares of all modes.

If classes can be permuted, each mode exists once for every order of its classes. Its mass is that of all these
labellings together, whether or not each was found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bayesanno.ground.lazy import pm
from bayesanno.ground.running import status, track
from bayesanno.inference.graph.density import Density, spreads_of
from bayesanno.inference.modes.tops import EQUAL, NEAR, Mode, Surface
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.capabilities import is_exchangeable
from bayesanno.modeling.data_kinds import Data

SPREAD = 1.5  # standard deviation of the random starts, on the unconstrained scale
MOST_MODES = 8  # modes with the highest density, whose mass is estimated
MOST_DIMENSIONS = 6_000  # with more, the Hessian does not fit in memory
HESSIANS = 2  # budget of gradients for Hessians, relative to that of climbs
BY_SPREADS = 3  # the same for climbs by spreads, each of which costs as much as dozens of others
LEAST_BY_SPREADS = 30_000  # gradients for climbs by spreads: on small data they are cheap
ROUGH_ERROR = 40.0  # nats: the possible error of masses without the whole Hessian
TOO_LOW = 60.0  # nats below the best top, from where no climb by spreads is started
LEAST_CLIMB = 1_000  # gradients that every climb may take, or more if the budget is large
CLIMBS = 4  # number of longest climbs that fit into half the budget
NEARLY = 10.0  # nats below the highest end: chains may start at unfinished ends that are higher
ALIKE = 1e-3  # classes of a mode that differ by less in every number are equal: swapping them gives no new labelling


@dataclass(frozen=True)
class Modes:
    """The modes found of a density.

    Attributes
    ----------
    surface : Surface
        The density that was searched.
    found : tuple of Mode
        The modes, the one with the most mass first; empty if no climb reached a top.
    unfinished : tuple of Mode
        The ends that are not the top of a mode but may carry mass: the end of the first start, if it is one of them,
        and those that are nearly as high as the highest.
    n_asked, n_starts : int
        The numbers of starts requested and made.
    n_unfinished : int
        The number of starts that did not end at the top of a mode.
    rough : bool
        Whether masses are estimates without the whole Hessian.
    most_hessians : int
        The number of modes found later whose whole Hessian may be computed; with more, masses are rough.
    most_gradients : float
        The budget of gradients for finding the modes of chains, in addition to one draw of each.
    """

    surface: Surface
    found: tuple[Mode, ...] = ()
    unfinished: tuple[Mode, ...] = ()
    n_asked: int = 0
    n_starts: int = 0
    n_unfinished: int = 0
    rough: bool = False
    most_hessians: int = MOST_MODES
    most_gradients: float = np.inf

    @property
    def is_weighed(self) -> bool:
        """Whether the share of the mass of each mode is known."""
        return bool(self.found) and not self.rough and not self.unfinished

    @cached_property
    def groups(self) -> list[list[int]]:
        """The numbers of the modes, grouped if they differ only in the names of exchangeable classes."""
        groups: list[list[int]] = []
        for number, mode in enumerate(self.found):
            for group in groups if self.surface.count_labellings is not None else []:
                first = self.found[group[0]]
                if max(abs(first.log_density - mode.log_density), abs(first.log_mass - mode.log_mass)) < EQUAL:
                    group.append(number)
                    break
            else:
                groups.append([number])
        return groups

    @cached_property
    def shares(self) -> np.ndarray:
        """The share of the mass of each group, including all its labellings, (group,).

        Every labelling counts with the mean mass of those found. K classes have K! labellings, fewer if some are equal.
        """
        log_mass = []
        for group in self.groups:
            own = np.array([self.found[i].log_mass for i in group])
            count = self.surface.count_labellings
            n = len(group) if count is None else count(self.found[group[0]].point)
            log_mass.append(np.logaddexp.reduce(own) - np.log(own.size) + np.log(n))
        return share_out(np.array(log_mass))

    def follow(self, points: np.ndarray) -> tuple[Modes, np.ndarray]:
        """Find the modes uphill of points (point, dimension), including modes that no start led to.

        Returns
        -------
        Modes
            With new modes at the end, which have no visits.
        array of int, shape (point,)
            The number of each point's mode, or -1 if its climb did not end at the top of a mode.
        """
        found, rough = list(self.found), self.rough
        places = np.full(len(points), -1)
        for number, point in enumerate(points):
            known = self._recognise(point, found)
            if known is not None:
                places[number] = known
                continue
            end = self.surface.find_top(point)
            if end is None or not end.is_reached:
                continue
            at = next((i for i, mode in enumerate(found) if end.is_one_with(mode, self.surface.equal)), len(found))
            if at == len(found):
                rough |= len(found) - len(self.found) >= self.most_hessians
                found.append(replace(self.surface.weigh(end, rough=rough), visits=0))
            places[number] = at
        return replace(self, found=tuple(found), rough=rough), places

    def _recognise(self, point: np.ndarray, modes: list[Mode]) -> int | None:
        """Return the mode uphill of a point given its spreads, which is faster than climbing by spreads."""
        spreads = self.surface.spreads
        if not modes or not spreads.any():
            return None
        near = min(range(len(modes)), key=lambda at: float((((point - modes[at].point) / modes[at].sd) ** 2).sum()))
        end = self.surface.climb_given_spreads(np.where(spreads, modes[near].point, point), modes[near])
        return near if end is not None and np.abs(end.point - modes[near].point).max() < NEAR else None


def share_out(log_mass: np.ndarray) -> np.ndarray:
    """Return the shares of masses, given by their logs, in their sum; all are nan if one is unknown."""
    if np.isnan(log_mass).any():
        return np.full(log_mass.shape, np.nan)
    return np.exp(log_mass - np.logaddexp.reduce(log_mass))


def search(
    surface: Surface,
    start: np.ndarray,
    *,
    n_starts: int,
    most_gradients: int,
    rng: np.random.Generator,
    show: bool = False,
) -> Modes:
    """Find the modes of a density and the mass of each.

    Parameters
    ----------
    surface : Surface
        The density. Random starts have the spreads of the first start.
    start : array, shape (dimension,)
        The first start.
    n_starts : int
        The number of random starts in addition.
    most_gradients : int
        The approximate budget of gradients for climbs; weighing their ends may take twice as many, and climbs by
        spreads three times as many. When it is spent, there are no more starts, and masses are rough.
    rng : numpy.random.Generator
    show : bool
        Whether to show progress.

    Returns
    -------
    Modes

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.modes.search import search
    >>> from bayesanno.inference.modes.tops import Surface
    >>> def two_humps(z):  # of widths 0.1 and 0.2
    ...     logs = -((z[0] - [-2, 2]) ** 2) / [0.02, 0.08]
    ...     share = np.exp(logs - np.logaddexp(*logs))
    ...     return np.logaddexp(*logs), np.array([(share * -2 * (z[0] - [-2, 2]) / [0.02, 0.08]).sum()])
    >>> two_humps.n_calls = 0
    >>> rng = np.random.default_rng(1)
    >>> search(Surface(two_humps, 1000), np.array([-2.0]), n_starts=10, most_gradients=1000, rng=rng).shares.round(3)
    array([0.667, 0.333])
    """
    density, spreads = surface.density, surface.spreads
    begun = density.n_calls
    ends: list[Mode] = []
    n_done = 0
    points = [start, *np.where(spreads, start, SPREAD * rng.standard_normal((n_starts, start.size)))]
    for point in track(points, "looking for modes", show=show):
        if n_done and density.n_calls - begun > most_gradients / 2:
            break
        n_done += 1
        end = surface.climb_given_spreads(point)
        if end is not None:
            _add(ends, replace(end, is_first=n_done == 1))
    if spreads.any():
        ends = _climb_by_spreads(surface, ends, max(LEAST_BY_SPREADS, BY_SPREADS * most_gradients), show=show)
    tops = [end for end in ends if end.is_reached]
    highest = max((end.log_density for end in ends), default=-np.inf)
    rest = [end for end in ends if not end.is_reached and (end.is_first or end.log_density > highest - NEARLY)]
    rest.sort(key=lambda end: (not end.is_first, -end.log_density))
    n_affordable = HESSIANS * most_gradients // (2 * start.size) if start.size <= MOST_DIMENSIONS else 0
    with status("weighing modes", show=show):
        found, rough = _weigh(surface, _best(tops), n_affordable)
    return Modes(
        surface,
        found=tuple(sorted(found, key=lambda mode: -mode.log_mass)),
        unfinished=tuple(replace(surface.weigh(end, rough=True), log_mass=np.nan) for end in rest[:MOST_MODES]),
        n_asked=1 + n_starts,
        n_starts=n_done,
        n_unfinished=sum(end.visits for end in ends if not end.is_reached),
        rough=rough,
        most_hessians=min(MOST_MODES, n_affordable),
        most_gradients=max(LEAST_BY_SPREADS, most_gradients) if spreads.any() else np.inf,
    )


def _best(ends: list[Mode]) -> list[Mode]:
    """Return the ends with the highest density, and always that of the first start."""
    ordered = sorted(ends, key=lambda end: -end.log_density)
    return ordered[:MOST_MODES] + [end for end in ordered[MOST_MODES:] if end.is_first]


def _climb_by_spreads(surface: Surface, ends: list[Mode], most_gradients: int, *, show: bool) -> list[Mode]:
    """Continue climbs by spreads; ends for which no gradients are left do not count as tops.

    Ends far below the best top, given its spreads, are left out.
    """
    begun = surface.density.n_calls
    moved: list[Mode] = []
    ends = sorted(_best(ends), key=lambda end: not end.is_first)
    for end in track(ends, "looking for the modes of spreads", show=show):
        best = max(moved, key=lambda mode: mode.log_density, default=None)
        if best is not None:
            there = surface.sum_out(np.where(surface.spreads, best.point, end.point))
            if there is None or there.log_density < best.log_density - TOO_LOW:
                continue
        if best is not None and surface.density.n_calls - begun > most_gradients:
            top = surface.sum_out(end.point)
            top = None if top is None else replace(top, is_reached=False)
        else:
            top = surface.find_top(end.point)
        if top is not None:
            _add(moved, replace(top, visits=end.visits, is_first=end.is_first), surface.equal)
    return moved


def _weigh(surface: Surface, tops: list[Mode], n_affordable: int) -> tuple[list[Mode], bool]:
    """Return tops with their masses, and whether these are rough.

    If there are not enough gradients for all Hessians, estimates show which tops may carry mass.
    """
    if len(tops) <= n_affordable:
        return [surface.weigh(top, rough=False) for top in tops], False
    roughly = [surface.weigh(top, rough=True) for top in tops]
    best = max((top.log_mass for top in roughly), default=np.nan)
    near = [top.log_mass > best - ROUGH_ERROR for top in roughly]
    if sum(near) > n_affordable:
        return roughly, True
    return [surface.weigh(top, rough=False) if close else top for top, close in zip(roughly, near, strict=True)], False


def _add(ends: list[Mode], end: Mode, equal: float = EQUAL) -> None:
    for i, known in enumerate(ends):
        if known.is_reached == end.is_reached and end.is_one_with(known, equal):
            higher = max(end, known, key=lambda one: one.log_density)
            first = end.is_first or known.is_first
            ends[i] = replace(higher, visits=known.visits + end.visits, is_first=first)
            return
    ends.append(end)


def make_surface(model: AnnotationModel, data: Data, graph: pm.Model, density: Density, most_gradients: int) -> Surface:
    """Return the density of a graph as a surface, with the spreads and the exchangeable classes of its model.

    Parameters
    ----------
    most_gradients : int
        The budget of gradients for all climbs.
    """
    permuted = (
        (lambda point: count_labellings(graph, density.values_at(point))) if is_exchangeable(model, data) else None
    )
    most_steps = max(LEAST_CLIMB, most_gradients // (2 * CLIMBS))
    return Surface(density, most_steps, spreads_of(density, model, graph), permuted)


def count_labellings(graph: pm.Model, values: Mapping[str, np.ndarray]) -> int:
    """Return the number of different points that result from all permutations of the classes of a point.

    Parameters
    ----------
    graph : pymc.Model
        The graph of a model whose classes can be permuted.
    values : mapping of name to array
        The free variables at the point.
    """
    parts = []
    for name, value in values.items():
        dims = graph.named_vars_to_dims.get(name) or ()
        if "true_class" in dims:
            first = np.moveaxis(value, list(dims).index("true_class"), 0)
            parts.append(first.reshape(len(first), -1))
    classes = np.concatenate(parts, axis=1)  # (true_class, number)
    found = math.factorial(len(classes))
    left = list(classes)
    while left:
        alike = [bool(np.abs(one - left[0]).max() < ALIKE) for one in left]
        found //= math.factorial(sum(alike))
        left = [one for one, same in zip(left, alike, strict=True) if not same]
    return found
