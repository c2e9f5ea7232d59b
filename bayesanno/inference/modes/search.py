"""The search for the modes of a density, from several starts, with the mass of each mode by Laplace's method.

The density is that of NUTS, so that the mass of a mode is that of the draws around it. Random starts find modes that
chains from one start would never reach, but they cannot show that there are no others. An end where the density still
rises is not a mode: its mass is unknown, and therefore also the shares of all modes. No mode of a model with scale
parameters has a known mass: chains start in all that are nearly as high as the highest.

If classes can be permuted, each mode exists once for every order of its classes. Its mass is that of all these
labellings together, whether or not each was found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bayesanno._core.lazy import pm
from bayesanno._core.running import status, track
from bayesanno.graph.density import Density
from bayesanno.graph.draws import add_deterministics, as_chains
from bayesanno.inference.model_density import find_scales
from bayesanno.inference.modes.laplace import EQUAL, LogDensity, Mode
from bayesanno.inference.relabelling import align_classes
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.data_adapters import Data
from bayesanno.modeling.posterior import compile_formula

SPREAD = 1.5  # standard deviation of the random starts, on the unconstrained scale
MOST_MODES = 8  # modes with the highest density, whose mass is estimated
MOST_DIMENSIONS = 6_000  # with more, the Hessian does not fit in memory
HESSIANS = 2  # budget of gradients for Hessians, relative to that of ascents
ROUGH_ERROR = 40.0  # nats: the possible error of masses without the whole Hessian
LEAST_ASCENT = 1_000  # gradients that every ascent may take, or more if the budget is large
ASCENTS = 4  # number of longest ascents that fit into half the budget
NEARLY = 10.0  # nats below the highest end: chains may start at unfinished ends that are higher
NEAR_SCALES = 15.0  # the same for modes at fixed scales, whose heights differ from those at the best scales of each
ALIKE = 1e-3  # classes of a mode that differ by less in every number are equal: swapping them gives no new labelling


@dataclass(frozen=True)
class Modes:
    """The modes found of a density.

    Attributes
    ----------
    log_density : LogDensity
        The density that was searched.
    found : tuple of Mode
        The modes, the one with the most mass first, or the highest if masses are unknown; empty if no ascent reached
        one.
    unfinished : tuple of Mode
        The ends that are not modes but may carry mass: the end of the first start, if it is one of them, and those that
        are nearly as high as the highest.
    n_asked, n_starts : int
        The numbers of starts requested and made.
    n_unfinished : int
        The number of starts that did not end at a mode.
    rough : bool
        Whether masses are estimates without the whole Hessian.
    most_hessians : int
        The number of modes found later whose whole Hessian may be computed; with more, masses are rough.
    """

    log_density: LogDensity
    found: tuple[Mode, ...] = ()
    unfinished: tuple[Mode, ...] = ()
    n_asked: int = 0
    n_starts: int = 0
    n_unfinished: int = 0
    rough: bool = False
    most_hessians: int = MOST_MODES

    @property
    def is_weighed(self) -> bool:
        """Whether the share of the mass of each mode is known."""
        return bool(self.found) and not self.rough and not self.unfinished and not self.log_density.has_scales

    @property
    def near(self) -> list[Mode]:
        """The modes at fixed scales that may carry mass."""
        highest = max((mode.log_density for mode in self.found), default=np.nan)
        return [mode for mode in self.found if mode.log_density > highest - NEAR_SCALES]

    @cached_property
    def groups(self) -> list[list[int]]:
        """The numbers of the modes, grouped if they differ only in the names of exchangeable classes."""
        groups: list[list[int]] = []
        for number, mode in enumerate(self.found):
            for group in groups if self.log_density.count_labellings is not None else []:
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
        Shares are nan if masses are unknown.
        """
        if self.log_density.has_scales:
            return np.full(len(self.groups), np.nan)
        log_mass = []
        for group in self.groups:
            own = np.array([self.found[i].log_mass for i in group])
            count = self.log_density.count_labellings
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
            end = self.log_density.maximize(point)
            if end is None or not end.is_reached:
                continue
            at = _find_same(end, found)
            if at is None:
                rough |= len(found) - len(self.found) >= self.most_hessians and not self.log_density.has_scales
                (end,) = self.log_density.describe([end], rough=rough)
                at = _find_same(end, found)
            if at is None:
                at = len(found)
                found.append(replace(end, visits=0))
            places[number] = at
        return replace(self, found=tuple(found), rough=rough), places


def share_out(log_mass: np.ndarray) -> np.ndarray:
    """Return the shares of masses, given by their logs, in their sum; all are nan if one is unknown."""
    if np.isnan(log_mass).any():
        return np.full(log_mass.shape, np.nan)
    return np.exp(log_mass - np.logaddexp.reduce(log_mass))


def search(
    log_density: LogDensity,
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
    log_density : LogDensity
        Scale parameters keep the values of its start.
    start : array, shape (dimension,)
        The first start.
    n_starts : int
        The number of random starts in addition.
    most_gradients : int
        The approximate budget of gradients for ascents; weighing their ends may take twice as many. When it is spent,
        there are no more starts, and masses are rough.
    rng : numpy.random.Generator
    show : bool
        Whether to show progress.

    Returns
    -------
    Modes

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.modes.laplace import LogDensity
    >>> from bayesanno.inference.modes.search import search
    >>> def two_humps(z):  # of widths 0.1 and 0.2
    ...     logs = -((z[0] - [-2, 2]) ** 2) / [0.02, 0.08]
    ...     share = np.exp(logs - np.logaddexp(*logs))
    ...     return np.logaddexp(*logs), np.array([(share * -2 * (z[0] - [-2, 2]) / [0.02, 0.08]).sum()])
    >>> two_humps.n_calls = 0
    >>> settings = {"n_starts": 10, "most_gradients": 1000, "rng": np.random.default_rng(1)}
    >>> search(LogDensity(two_humps, 1000), np.array([-2.0]), **settings).shares.round(3)
    array([0.667, 0.333])
    """
    density = log_density.density
    begun = density.n_calls
    ends: list[Mode] = []
    n_done = 0
    points = [start, *(SPREAD * rng.standard_normal((n_starts, start.size)))]
    for point in track(points, "looking for modes", show=show):
        if n_done and density.n_calls - begun > most_gradients / 2:
            break
        n_done += 1
        end = log_density.maximize(point)
        if end is not None:
            _add(ends, replace(end, is_first=n_done == 1))
    tops = [end for end in ends if end.is_reached]
    highest = max((end.log_density for end in ends), default=-np.inf)
    rest = [end for end in ends if not end.is_reached and (end.is_first or end.log_density > highest - NEARLY)]
    rest.sort(key=lambda end: (not end.is_first, -end.log_density))
    n_affordable = HESSIANS * most_gradients // (2 * start.size) if start.size <= MOST_DIMENSIONS else 0
    with status("weighing modes", show=show):
        if log_density.has_scales:
            found, rough = _tell_apart(log_density, _best(tops)), False
        else:
            found, rough = _weigh(log_density, _best(tops), n_affordable)
            found.sort(key=lambda mode: -mode.log_mass)
        unfinished = log_density.describe(rest[:MOST_MODES], rough=True)
    return Modes(
        log_density,
        found=tuple(found),
        unfinished=tuple(replace(end, log_mass=np.nan) for end in unfinished),
        n_asked=1 + n_starts,
        n_starts=n_done,
        n_unfinished=sum(end.visits for end in ends if not end.is_reached),
        rough=rough,
        most_hessians=min(MOST_MODES, n_affordable),
    )


def _best(ends: list[Mode]) -> list[Mode]:
    """Return the ends with the highest density, and always that of the first start, the highest first."""
    ordered = sorted(ends, key=lambda end: -end.log_density)
    return ordered[:MOST_MODES] + [end for end in ordered[MOST_MODES:] if end.is_first]


def _tell_apart(log_density: LogDensity, tops: list[Mode]) -> list[Mode]:
    """Return the tops that differ in the labels of items, the highest first."""
    found: list[Mode] = []
    for top in log_density.describe(tops, rough=True):
        _add(found, top)
    return found


def _weigh(log_density: LogDensity, tops: list[Mode], n_affordable: int) -> tuple[list[Mode], bool]:
    """Return tops with their masses, and whether these are rough.

    If there are not enough gradients for all Hessians, estimates show which tops may carry mass.
    """
    if len(tops) <= n_affordable:
        return log_density.describe(tops, rough=False), False
    roughly = log_density.describe(tops, rough=True)
    best = max((top.log_mass for top in roughly), default=np.nan)
    near = [top.log_mass > best - ROUGH_ERROR for top in roughly]
    if sum(near) > n_affordable:
        return roughly, True
    exact = iter(log_density.describe([top for top, close in zip(roughly, near, strict=True) if close], rough=False))
    return [next(exact) if close else top for top, close in zip(roughly, near, strict=True)], False


def _add(ends: list[Mode], end: Mode) -> None:
    """Add an end, or its visits if there is one of the same mode."""
    for i, known in enumerate(ends):
        if known.is_reached == end.is_reached and end.is_one_with(known):
            higher = max(known, end, key=lambda one: one.log_density)
            first = end.is_first or known.is_first
            ends[i] = replace(higher, visits=known.visits + end.visits, is_first=first)
            return
    ends.append(end)


def _find_same(end: Mode, modes: list[Mode]) -> int | None:
    """Return the number of the mode that an end belongs to; None if it is a new one."""
    return next((at for at, mode in enumerate(modes) if end.is_one_with(mode)), None)


def make_log_density(
    model: AnnotationModel, data: Data, graph: pm.Model, density: Density, most_gradients: int
) -> LogDensity:
    """Return the density of a graph, with the scale parameters and the exchangeable classes of its model.

    Parameters
    ----------
    most_gradients : int
        The budget of gradients for all ascents.
    """
    scales, permuted = find_scales(density, model, graph), model.is_exchangeable(data)

    def read_states(points: np.ndarray) -> np.ndarray:
        """Return the most probable state of each item, (point, item), for the first latent."""
        values = as_chains(graph, [density.values_at(point) for point in points])
        values = add_deterministics(graph, align_classes(values)[0] if permuted else values)
        formula = compile_formula(model, data, values)
        states = [one.log_probability[formula.latents[0]].argmax(axis=1) for one in formula.evaluate()]
        return np.stack(states)[:, formula.patterns.of_item]

    return LogDensity(
        density,
        max(LEAST_ASCENT, most_gradients // (2 * ASCENTS)),
        scales,
        (lambda point: count_labellings(graph, density.values_at(point))) if permuted else None,
        read_states,
    )


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
