"""The search for the modes of a density: from several starts, with the mass of each.

All is on the density that NUTS sees, so that the mass of a mode is that of the draws around it. Random starts find
modes that chains from one start would never see; they prove nothing about modes that none of them leads to. An end
where the density still rises is no mode: what it will weigh is not known, and so no mode's share of the whole.

Where classes can be permuted, a mode is there once for each order of its classes. What it weighs is the mass of all of
these labellings together, whether or not each was found.
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
MOST_MODES = 8  # whose mass is estimated: those of the greatest density
MOST_DIMENSIONS = 6_000  # whose Hessian is computed: of more it does not fit in memory
LEAST_BY_SPREADS = 30_000  # of these: on small data they cost nothing
HESSIANS = 2  # as many gradients as the climbs may take, times this, go into Hessians
BY_SPREADS = 3  # the same for climbs by spreads: each takes as many as dozens of others
ROUGH_ERROR = 40.0  # nats: what masses without the whole Hessian may err by
TOO_LOW = 60.0  # nats below the best top, where no climb by spreads is worth its while
LEAST_CLIMB = 1_000  # gradients that a climb may take in any case; many more where many may be taken
CLIMBS = 4  # that may take all they are allowed before half of all gradients are spent
NEARLY = 10.0  # nats that an end without a top may be below the highest, for chains to start there
ALIKE = 1e-3  # in every number: classes of a mode that differ by less are one, and swapping them gives no new labelling


@dataclass(frozen=True)
class Modes:
    """The modes of a density, as far as they were found.

    Attributes
    ----------
    surface : Surface
        What was searched.
    found : tuple of Mode
        The one of most mass first. None if no climb reached the top of one.
    unfinished : tuple of Mode
        The ends that did not reach the top of a mode, and where there may be mass as well: that of the first start in
        any case, and those that came about as high as the highest.
    n_asked, n_starts : int
        How many starts were to be made, and were.
    n_unfinished : int
        How many of them did not end at the top of a mode.
    rough : bool
        Whether the masses are estimates without the whole Hessian.
    most_hessians : int
        Of how many modes that are found later the whole Hessian may be computed; of more, masses are rough.
    most_gradients : float
        How many gradients it may take to find the modes of chains, beyond one draw of each.
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
        """Whether it is known which share of the mass each mode has."""
        return bool(self.found) and not self.rough and not self.unfinished

    @cached_property
    def groups(self) -> list[list[int]]:
        """The numbers of the modes; those together that are one but for the names of exchangeable classes."""
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
        """The share of the mass that each group has, all its labellings counted, shape (group,).

        Those that were found have one mass on average, and there are K! of K classes, fewer if classes are alike.
        """
        log_mass = []
        for group in self.groups:
            own = np.array([self.found[i].log_mass for i in group])
            n = (
                len(group)
                if self.surface.count_labellings is None
                else self.surface.count_labellings(self.found[group[0]].point)
            )
            log_mass.append(np.logaddexp.reduce(own) - np.log(own.size) + np.log(n))
        return share_out(np.array(log_mass))

    def follow(self, points: np.ndarray) -> tuple[Modes, np.ndarray]:
        """Find the modes uphill of points (point, dimension), those among them that no start led to as well.

        Returns
        -------
        Modes
            With the modes that are new, of no visits, at the end.
        array of int, shape (point,)
            The number of each point's mode; -1 of one whose climb did not end at the top of a mode.
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
        """Return the mode that is uphill of a point given its spreads, which is sooner found than a top of spreads."""
        spreads = self.surface.spreads
        if not modes or not spreads.any():
            return None
        near = min(range(len(modes)), key=lambda at: float((((point - modes[at].point) / modes[at].sd) ** 2).sum()))
        end = self.surface.climb_given_spreads(np.where(spreads, modes[near].point, point), modes[near])
        return near if end is not None and np.abs(end.point - modes[near].point).max() < NEAR else None


def share_out(log_mass: np.ndarray) -> np.ndarray:
    """Return the share that each has of the sum of masses given by their logs; nan of all if one is unknown."""
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
        Random starts have the spreads of the first.
    start : array, shape (dimension,)
        The first point to start from.
    n_starts : int
        How many random points beside.
    most_gradients : int
        About how many gradients the climbs may take, twice as many what their ends weigh, and three times as many
        further climbs by spreads: then there are fewer starts, and rougher masses.
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
    """Return so many ends of the greatest density, and that of the first start in any case."""
    ordered = sorted(ends, key=lambda end: -end.log_density)
    return ordered[:MOST_MODES] + [end for end in ordered[MOST_MODES:] if end.is_first]


def _climb_by_spreads(surface: Surface, ends: list[Mode], most_gradients: int, *, show: bool) -> list[Mode]:
    """Climb on from ends by the spreads as well; where there are no gradients left for it, they are no tops.

    Ends far below the best top, given the spreads there, are left out.
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

    Where there are not gradients enough for all Hessians, those that may carry mass are chosen by estimates.
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
    """Return the density of a graph as a surface, with what its model says of spreads and of permuted classes.

    Parameters
    ----------
    most_gradients : int
        How many gradients all climbs may take.
    """
    permuted = (
        (lambda point: count_labellings(graph, density.values_at(point))) if is_exchangeable(model, data) else None
    )
    most_steps = max(LEAST_CLIMB, most_gradients // (2 * CLIMBS))
    return Surface(density, most_steps, spreads_of(density, model, graph), permuted)


def count_labellings(graph: pm.Model, values: Mapping[str, np.ndarray]) -> int:
    """Return how many points a point becomes when its classes are permuted in all ways.

    Parameters
    ----------
    graph : pymc.Model
        Of a model whose classes can be permuted.
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
