"""Where a posterior has its mass, found before it is sampled: its modes, from several starts, and the mass of each.

All on the density that NUTS sees, so that the mass of a mode is that of the draws around it: L-BFGS from the given
start and from random ones, and Laplace's method at each end, with the Hessian from differences of gradients
(Tierney and Kadane 1986, doi:10.1080/01621459.1986.10478240). Random starts find modes that chains from one start would
never see; they prove nothing of modes that none of them leads to. An end where the density still rises is no mode, and
where the highest of all ends is such, no mode's share of the mass is known.

Where classes can be permuted, a mode is there once for each order of its classes, its labellings. What it weighs is the
mass of all of them together, whether or not each was found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayesanno.ground.lazy import pm
from bayesanno.inference.graph.density import Density
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.capabilities import is_exchangeable
from bayesanno.modeling.data_kinds import Data

SPREAD = 1.5  # standard deviation of the random starts, on the unconstrained scale
NEAR = 0.5  # how far two ends of one mode lie apart at the most, in any number
EQUAL = 0.05  # nats, the same
MOST_MODES = 8  # whose mass is estimated: those of the greatest density
MOST_DIMENSIONS = 2_000  # whose Hessian is computed; of more, its diagonal is estimated
PROBES = 20
STEP = 1e-4
LEAST_CLIMB = 1_000  # gradients that a climb may take in any case; many more where many may be taken
OUT_OF_STEPS = 1  # SciPy's status of an optimisation that was stopped
ALIKE = 1e-3  # in every number: classes of a mode that differ by less are one, and swapping them gives no new labelling
CLIMBS = 4  # that may take all they are allowed before half of all gradients are spent


@dataclass(frozen=True)
class Mode:
    """A mode of the density.

    Attributes
    ----------
    point : array, shape (dimension,)
    log_density : float
        In nats, at the point.
    log_mass : float
        Log of the integral around it, by Laplace's method.
    sd : array, shape (dimension,)
        Of each number given all others, from the curvature.
    visits : int
        How many starts led here.
    """

    point: np.ndarray
    log_density: float
    log_mass: float
    sd: np.ndarray
    visits: int


@dataclass(frozen=True)
class Stop:
    """Where an optimisation ended, and whether that is the top of a mode: it came to rest, nothing left to gain."""

    point: np.ndarray
    log_density: float
    is_top: bool


@dataclass(frozen=True)
class Explored:
    """What exploring found.

    Attributes
    ----------
    modes : tuple of Mode
        The one of most mass first. None if no start has a density, or the highest end is no mode: then masses are
        unknown.
    best : Mode or None
        The highest end, be it a mode or not; None if no start has a density.
    n_starts : int
    n_unfinished : int
        How many of the starts did not end at the top of a mode.
    rough : bool
        Whether the masses are from the Hessian's diagonal alone.
    most_steps : int
        How many gradients a climb may take.
    """

    modes: tuple[Mode, ...]
    best: Mode | None
    n_starts: int
    n_unfinished: int
    rough: bool
    most_steps: int

    @property
    def mass(self) -> np.ndarray:
        """The share of the mass of all modes that each has, shape (mode,)."""
        return share_out(np.array([mode.log_mass for mode in self.modes]))

    def place(
        self, density: Density, points: np.ndarray, rng: np.random.Generator
    ) -> tuple[Explored, list[int | None]]:
        """Find the modes uphill of points (point, dimension), those among them that no start led to as well.

        Returns
        -------
        Explored
            With the modes that are new, of no visits, at the end.
        list of int or None
            The number of each point's mode; None of one whose climb did not end at the top of a mode.
        """
        modes = list(self.modes)
        places: list[int | None] = []
        for point in points:
            end = find_top(density, point, self.most_steps)
            if end is None or not end.is_top:
                places.append(None)
                continue
            at = next((i for i, mode in enumerate(modes) if _are_one(end, mode)), None)
            if at is None:
                modes.append(_measure(density, end, 0, self.rough, rng))
                at = len(modes) - 1
            places.append(at)
        return replace(self, modes=tuple(modes)), places


def share_out(log_mass: np.ndarray) -> np.ndarray:
    """Return the share that each has of the sum of masses given by their logs; nan of all if one is unknown."""
    if np.isnan(log_mass).any():
        return np.full(log_mass.shape, np.nan)
    share: np.ndarray = np.exp(log_mass - np.logaddexp.reduce(log_mass))
    return share


def explore(
    density: Density, start: np.ndarray, *, n_starts: int, most_gradients: int, rng: np.random.Generator
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
        How many gradients may be computed, or a few more: then there are fewer starts, and rougher masses.
    rng : numpy.random.Generator

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
    begun = density.n_calls
    most_steps = max(LEAST_CLIMB, most_gradients // (2 * CLIMBS))
    ends: list[tuple[Stop, int]] = []
    starts = [start, *(SPREAD * rng.standard_normal((n_starts, start.size)))]
    done = 0
    for point in starts:
        if done and density.n_calls - begun > most_gradients / 2:
            break
        done += 1
        end = find_top(density, point, most_steps)
        if end is not None:
            _add(ends, end)
    ends.sort(key=lambda pair: -pair[0].log_density)
    unfinished = sum(visits for end, visits in ends if not end.is_top)
    if not ends:
        return Explored((), None, done, 0, rough=True, most_steps=most_steps)
    tops = [(end, visits) for end, visits in ends if end.is_top][:MOST_MODES] if ends[0][0].is_top else []
    left = most_gradients - (density.n_calls - begun)
    rough = start.size > MOST_DIMENSIONS or 2 * start.size * len(tops) > left
    if not tops:
        return Explored((), _measure(density, *ends[0], True, rng), done, unfinished, rough, most_steps)
    modes = [_measure(density, end, visits, rough, rng) for end, visits in tops]
    by_mass = tuple(sorted(modes, key=lambda mode: -mode.log_mass))
    return Explored(by_mass, modes[0], done, unfinished, rough, most_steps)


def group_modes(modes: Sequence[Mode], *, merge: bool) -> list[list[int]]:
    """Return the numbers of the modes; if they are to be merged, those together that are alike in density and mass."""
    groups: list[list[int]] = []
    for number, mode in enumerate(modes):
        for group in groups if merge else []:
            first = modes[group[0]]
            if max(abs(first.log_density - mode.log_density), abs(first.log_mass - mode.log_mass)) < EQUAL:
                group.append(number)
                break
        else:
            groups.append([number])
    return groups


def find_top(density: Density, point: np.ndarray, most_steps: int) -> Stop | None:
    """Return where L-BFGS ends that starts at a point and may take so many gradients; None if there is no density.

    The end is the top of a mode if L-BFGS came to rest and a step to where its own estimate of the curvature has the
    top would gain less than what sets two modes apart.
    """
    from scipy.optimize import minimize

    def downhill(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = density(z)
        return (-value, -gradient) if np.isfinite(value) else (1e300, np.zeros_like(z))

    options = {"maxiter": most_steps, "maxfun": most_steps, "ftol": 1e-12, "gtol": 1e-4}
    found = minimize(downhill, point, jac=True, method="L-BFGS-B", options=options)
    if found.fun >= 1e299:
        return None
    gain = 0.5 * float(found.jac @ (found.hess_inv @ found.jac))  # nats
    return Stop(found.x, -float(found.fun), is_top=bool(found.status != OUT_OF_STEPS and gain < EQUAL))


def _add(ends: list[tuple[Stop, int]], end: Stop) -> None:
    for i, (known, visits) in enumerate(ends):
        if known.is_top == end.is_top and _are_one(end, known):
            ends[i] = (max(end, known, key=lambda one: one.log_density), visits + 1)
            return
    ends.append((end, 1))


def _are_one(one: Stop | Mode, other: Stop | Mode) -> bool:
    far = np.abs(one.point - other.point).max()
    return bool(far < NEAR and abs(one.log_density - other.log_density) < EQUAL)


def _measure(density: Density, end: Stop, visits: int, rough: bool, rng: np.random.Generator) -> Mode:
    """Estimate the mass around an end from the curvature there."""
    n = end.point.size
    if rough:
        signs = rng.choice([-1.0, 1.0], size=(PROBES, n))
        curvature = -np.mean([sign * _differentiate(density, end.point, sign) for sign in signs], axis=0)
        curvature = np.maximum(curvature, 1e-6)
        log_det = float(np.log(curvature).sum())
    else:
        hessian = -np.array([_differentiate(density, end.point, unit) for unit in np.eye(n)])
        hessian = (hessian + hessian.T) / 2
        log_det = float(np.log(np.maximum(np.linalg.eigvalsh(hessian), 1e-6)).sum())
        curvature = np.maximum(np.diag(hessian), 1e-6)
    log_mass = end.log_density + 0.5 * (n * np.log(2 * np.pi) - log_det)
    return Mode(end.point, end.log_density, log_mass, 1 / np.sqrt(curvature), visits)


def _differentiate(density: Density, point: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Return how the gradient changes along a direction."""
    slope: np.ndarray = (density(point + STEP * direction)[1] - density(point - STEP * direction)[1]) / (2 * STEP)
    return slope


# -------------------------------------------------------------------------------- labellings


def weigh_labellings(
    model: AnnotationModel, data: Data, graph: pm.Model, density: Density, modes: Sequence[Mode]
) -> tuple[list[list[int]], np.ndarray]:
    """Put the labellings of a mode together, and share out the mass.

    Returns
    -------
    list of list of int
        The numbers of the modes that are one but for the names of exchangeable classes.
    array, shape (group,)
        The share of the mass that each has, all its labellings counted: those that were found have one mass on
        average, and there are K! of K classes, fewer if classes are alike.
    """
    merge = is_exchangeable(model, data)
    groups = group_modes(modes, merge=merge)
    log_mass = []
    for group in groups:
        own = np.array([modes[i].log_mass for i in group])
        n = count_labellings(graph, density.values_at(modes[group[0]].point)) if merge else len(group)
        log_mass.append(np.logaddexp.reduce(own) - np.log(own.size) + np.log(n))
    return groups, share_out(np.array(log_mass))


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
