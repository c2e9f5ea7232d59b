"""The search for a posterior's modes before sampling: from several starts, with the mass of each.

All on the density that NUTS sees, so that the mass of a mode is that of the draws around it: L-BFGS from the given
start and from random ones, and Laplace's method at each end, with the Hessian from differences of gradients
(Tierney and Kadane 1986, doi:10.1080/01621459.1986.10478240). Random starts find modes that chains from one start would
never see; they prove nothing about modes that none of them leads to. An end where the density still rises is no mode:
what it will weigh is not known, and so no mode's share of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayesanno.inference.graph.density import Density
from bayesanno.inference.modes.curvature import Weight, weigh_top
from bayesanno.inference.modes.tops import EQUAL, EQUAL_BY_SPREADS, NEAR, Top, climb, find_top, sum_out

SPREAD = 1.5  # standard deviation of the random starts, on the unconstrained scale
MOST_MODES = 8  # whose mass is estimated: those of the greatest density
MOST_DIMENSIONS = 6_000  # whose Hessian is computed: of more it does not fit in memory
LEAST_BY_SPREADS = 30_000  # of these: on small data they cost nothing
HESSIANS = 2  # as many gradients as the climbs may take, times this, go into Hessians
BY_SPREADS = 3  # the same of climbs by spreads, of which each takes as many as dozens of others
ROUGHLY = 40.0  # nats: what the Hessian's diagonal alone may err by
HOPELESS = 60.0  # nats below the best top, where no climb by spreads is worth its while
LEAST_CLIMB = 1_000  # gradients that a climb may take in any case; many more where many may be taken
CLIMBS = 4  # that may take all they are allowed before half of all gradients are spent
NEARLY = 10.0  # nats that an end without a top may be below the highest, for chains to start there


@dataclass(frozen=True)
class Mode(Top):
    """A mode of the density, or an end that did not reach the top of one.

    Attributes
    ----------
    weight : Weight
        By Laplace's method; of an end that did not reach the top, its `log_mass` is nan.
    visits : int
        How many starts led here.
    is_first : bool
        Whether the first start did.
    """

    weight: Weight
    visits: int
    is_first: bool = False

    @property
    def log_mass(self) -> float:
        """Log of the integral around it."""
        return self.weight.log_mass

    @property
    def sd(self) -> np.ndarray:
        """The standard deviation of each number given all others."""
        return self.weight.sd


@dataclass(frozen=True)
class Explored:
    """What exploring found.

    Attributes
    ----------
    modes : tuple of Mode
        The one of most mass first. None if no climb reached the top of one.
    unfinished : tuple of Mode
        The ends that did not reach the top of a mode, and where there may be mass as well: that of the first start in
        any case, and those that came about as high as the highest.
    n_asked, n_starts : int
        How many starts were to be made, and were.
    n_unfinished : int
        How many of them did not end at the top of a mode.
    rough : bool
        Whether the masses are from the Hessian's diagonal alone.
    most_steps : int
        How many gradients a climb may take.
    spreads : array of bool, shape (dimension,)
        Which numbers say how far others lie apart.
    most_hessians : int
        Of how many modes that are found later the whole Hessian may be computed; of more, masses are rough.
    """

    modes: tuple[Mode, ...]
    unfinished: tuple[Mode, ...]
    n_asked: int
    n_starts: int
    n_unfinished: int
    rough: bool
    most_steps: int
    spreads: np.ndarray
    most_hessians: int = MOST_MODES

    @property
    def is_weighed(self) -> bool:
        """Whether it is known which share of the mass each mode has."""
        return bool(self.modes) and not self.rough and not self.unfinished

    @property
    def mass(self) -> np.ndarray:
        """The share of the mass of all modes that each has, shape (mode,)."""
        return share_out(np.array([mode.log_mass for mode in self.modes]))

    def place(self, density: Density, points: np.ndarray) -> tuple[Explored, list[int | None]]:
        """Find the modes uphill of points (point, dimension), those among them that no start led to as well.

        Returns
        -------
        Explored
            With the modes that are new, of no visits, at the end.
        list of int or None
            The number of each point's mode; None of one whose climb did not end at the top of a mode.
        """
        modes, rough = list(self.modes), self.rough
        places: list[int | None] = []
        equal = EQUAL_BY_SPREADS if self.spreads.any() else EQUAL
        for point in points:
            known = self._recognise(density, point, modes)
            if known is not None:
                places.append(known)
                continue
            end = find_top(density, point, self.most_steps, self.spreads)
            if end is None or not end.is_reached:
                places.append(None)
                continue
            at = next((i for i, mode in enumerate(modes) if end.is_one_with(mode, equal)), None)
            if at is None:
                rough |= len(modes) - len(self.modes) >= self.most_hessians
                weight = weigh_top(density, end, self.most_steps, self.spreads, rough=rough)
                modes.append(Mode(**vars(end), weight=weight, visits=0))
                at = len(modes) - 1
            places.append(at)
        return replace(self, modes=tuple(modes), rough=rough), places

    def _recognise(self, density: Density, point: np.ndarray, modes: list[Mode]) -> int | None:
        """Return the mode that is uphill of a point given its spreads, which is sooner found than a top of spreads."""
        if not modes or not self.spreads.any():
            return None
        near = min(range(len(modes)), key=lambda at: float((((point - modes[at].point) / modes[at].sd) ** 2).sum()))
        begin = np.where(self.spreads, modes[near].point, point)
        end = climb(density, begin, self.most_steps, ~self.spreads)
        return near if end is not None and np.abs(end.point - modes[near].point).max() < NEAR else None


def share_out(log_mass: np.ndarray) -> np.ndarray:
    """Return the share that each has of the sum of masses given by their logs; nan of all if one is unknown."""
    if np.isnan(log_mass).any():
        return np.full(log_mass.shape, np.nan)
    share: np.ndarray = np.exp(log_mass - np.logaddexp.reduce(log_mass))
    return share


def explore(
    density: Density,
    start: np.ndarray,
    *,
    n_starts: int,
    most_gradients: int,
    rng: np.random.Generator,
    spreads: np.ndarray | None = None,
) -> Explored:
    """Find the modes of a density and the mass of each.

    Parameters
    ----------
    density : Density
    start : array, shape (dimension,)
        The first point to start from.
    n_starts : int
        How many random points beside.
    most_gradients : int
        About how many gradients the climbs may take, twice as many what their ends weigh, and three times as many
        further climbs by spreads: then there are fewer starts, and rougher masses.
    rng : numpy.random.Generator
    spreads : array of bool, shape (dimension,), optional
        Which numbers are spreads: random starts have those of the first.

    Returns
    -------
    Explored

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.modes.explore import explore
    >>> def two_humps(z):  # of widths 0.1 and 0.2
    ...     logs = -((z[0] - [-2, 2]) ** 2) / [0.02, 0.08]
    ...     share = np.exp(logs - np.logaddexp(*logs))
    ...     return np.logaddexp(*logs), np.array([(share * -2 * (z[0] - [-2, 2]) / [0.02, 0.08]).sum()])
    >>> two_humps.n_calls = 0
    >>> found = explore(two_humps, np.array([-2.0]), n_starts=10, most_gradients=1000, rng=np.random.default_rng(1))
    >>> found.mass.round(3)
    array([0.667, 0.333])
    """
    spreads = np.zeros(start.size, dtype=bool) if spreads is None else spreads
    begun = density.n_calls
    most_steps = max(LEAST_CLIMB, most_gradients // (2 * CLIMBS))
    ends: list[Mode] = []
    unknown = Weight(np.nan, np.ones(start.size), None)
    n_done = 0
    for point in [start, *np.where(spreads, start, SPREAD * rng.standard_normal((n_starts, start.size)))]:
        if n_done and density.n_calls - begun > most_gradients / 2:
            break
        n_done += 1
        end = climb(density, point, most_steps, ~spreads)
        if end is not None:
            _add(ends, Mode(**vars(end), weight=unknown, visits=1, is_first=n_done == 1))
    if spreads.any():
        ends = _move_spreads(density, ends, most_steps, max(LEAST_BY_SPREADS, BY_SPREADS * most_gradients), spreads)
    tops = [end for end in ends if end.is_reached]
    highest = max((end.log_density for end in ends), default=-np.inf)
    rest = [end for end in ends if not end.is_reached and (end.is_first or end.log_density > highest - NEARLY)]
    n_affordable = HESSIANS * most_gradients // (2 * start.size) if start.size <= MOST_DIMENSIONS else 0
    modes, rough = _weigh(density, _best(tops), most_steps, n_affordable, spreads)
    return Explored(
        modes=tuple(sorted(modes, key=lambda mode: -mode.log_mass)),
        unfinished=tuple(
            replace(end, weight=replace(weigh_top(density, end, most_steps, spreads, rough=True), log_mass=np.nan))
            for end in sorted(rest, key=lambda end: (not end.is_first, -end.log_density))[:MOST_MODES]
        ),
        n_asked=1 + n_starts,
        n_starts=n_done,
        n_unfinished=sum(end.visits for end in ends if not end.is_reached),
        rough=rough,
        most_steps=most_steps,
        spreads=spreads,
        most_hessians=min(MOST_MODES, n_affordable),
    )


def _best(ends: list[Mode]) -> list[Mode]:
    """Return so many ends of the greatest density, and that of the first start in any case."""
    ordered = sorted(ends, key=lambda end: -end.log_density)
    return ordered[:MOST_MODES] + [end for end in ordered[MOST_MODES:] if end.is_first]


def _move_spreads(
    density: Density, ends: list[Mode], most_steps: int, most_gradients: int, spreads: np.ndarray
) -> list[Mode]:
    """Climb on from ends by the spreads as well; where there are no gradients left for it, they are no tops.

    Ends far below the best top, given the spreads there, are left out.
    """
    begun = density.n_calls
    moved: list[Mode] = []
    for end in sorted(_best(ends), key=lambda end: not end.is_first):
        best = max(moved, key=lambda mode: mode.log_density, default=None)
        if best is not None:
            there = sum_out(density, np.where(spreads, best.point, end.point), most_steps, spreads)
            if there is None or there.log_density < best.log_density - HOPELESS:
                continue
        if best is not None and density.n_calls - begun > most_gradients:
            top = sum_out(density, end.point, most_steps, spreads)
            top = None if top is None else replace(top, is_reached=False)
        else:
            top = find_top(density, end.point, most_steps, spreads)
        if top is not None:
            _add(moved, replace(end, **vars(top)), EQUAL_BY_SPREADS)
    return moved


def _weigh(
    density: Density, tops: list[Mode], most_steps: int, n_affordable: int, spreads: np.ndarray
) -> tuple[list[Mode], bool]:
    """Return tops with their masses, and whether these are rough.

    Where there are not gradients enough for all Hessians, those that may carry mass are chosen by the diagonals.
    """

    def weigh(top: Mode, *, rough: bool) -> Mode:
        return replace(top, weight=weigh_top(density, top, most_steps, spreads, rough=rough))

    if len(tops) <= n_affordable:
        return [weigh(top, rough=False) for top in tops], False
    roughly = [weigh(top, rough=True) for top in tops]
    best = max((top.log_mass for top in roughly), default=np.nan)
    near = [top.log_mass > best - ROUGHLY for top in roughly]
    if sum(near) > n_affordable:
        return roughly, True
    return [weigh(top, rough=False) if close else top for top, close in zip(roughly, near, strict=True)], False


def _add(ends: list[Mode], end: Mode, equal: float = EQUAL) -> None:
    for i, known in enumerate(ends):
        if known.is_reached == end.is_reached and end.is_one_with(known, equal):
            higher = max(end, known, key=lambda one: one.log_density)
            first = end.is_first or known.is_first
            ends[i] = replace(higher, visits=known.visits + end.visits, is_first=first)
            return
    ends.append(end)
