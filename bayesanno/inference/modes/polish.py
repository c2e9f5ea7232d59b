"""Maxima of a function over simplexes and half-lines, on the boundary or inside, to full precision.

A climb uses L-BFGS on the logarithms of the coordinates, which keeps them inside. Newton's method then uses their
square roots. On this scale a maximum on the boundary is like any other: the slope by a root of 0 is 0, and its
curvature is negative if the function falls inwards. If it rises, the curvature is positive, and the coordinate leaves
0. So a climb that stalled because a coordinate underflowed continues.

Each of these parts is necessary for some table: without coordinates at 0, the maxima of tables 9 and 10 of Rzhetsky et
al. (2009) are imprecise; without other points of a level, table 11 has a mode whose first class has no items.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from bayesanno.inference.modes.objective import FLOOR, Objective
from bayesanno.inference.modes.search import LogDensity, Mode

NOTHING = 1e-9  # coordinates of simplexes below this are set to 0
IDLE = 1e-6  # largest slope of a simplex without influence
FLAT = 1e-7  # largest curvature that counts as zero, relative to the largest; differences are not more precise
STEP = 1e-4  # of differences of gradients, relative to the root
LEAST_ROOT = 1e-3  # smaller roots have the step of this one
AT_REST = 1e-6  # Newton step of a point that is no longer on its way
SINGULAR = 1e-6  # least slope on the log scale at FLOOR of a function that is singular there
ROUNDS = 60  # of Newton's method, which usually takes five
BESIDE = 1e-3  # distance from an end at which a way up is searched for
GAIN = 1e-6  # least gain, in nats, of another maximum
TRIES = 12  # points of a level from which a way up is searched for


@dataclass(frozen=True)
class Maximum(Mode):
    """The end of a climb, which is a maximum if `is_reached`: no direction leads up, also from the boundary.

    Its `point` has exact zeros on the boundary, and its `log_density` is the value there: -inf if the climb found none.

    Attributes
    ----------
    flat : array, shape (direction, coordinate)
        Interior directions without slope and curvature.
    singular : tuple of int
        Coordinates towards whose 0 the function grows without bound; the other attributes are then meaningless.
    items : array, shape (pattern,)
        The log likelihood of each pattern of answers, once it is computed.
    classes : array, shape (pattern, state)
        The probabilities of its states; those of several latents are concatenated.
    """

    flat: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    singular: tuple[int, ...] = ()
    items: np.ndarray = field(default_factory=lambda: np.empty(0))
    classes: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))


def ascend(objective: Objective, start: np.ndarray, *, first_step: float = 1.0) -> Maximum:
    """Climb by L-BFGS on the logarithms of the coordinates, to the neighbourhood of a maximum, maybe at a boundary.

    Parameters
    ----------
    objective : Objective
    start : array, shape (coordinate,)
    first_step : float, default 1
        The length of the first step on the logarithms: a long one may lead over a ridge.

    Returns
    -------
    Maximum
    """

    def on_logs(x: np.ndarray) -> tuple[float, np.ndarray]:
        z = _from_logs(objective, first_step * x)
        value, gradient = objective(z)
        return value, first_step * z * objective.slope(z, gradient)

    begin = np.log(np.maximum(start, 1e-8)) / first_step  # L-BFGS-B begins with a step of length 1
    with np.errstate(over="ignore", invalid="ignore"):  # in trial steps of the line search
        options = {"maxfun": 2_000, "ftol": 1e-13, "gtol": 1e-6 * first_step, "maxcor": 20}
        found = LogDensity(on_logs, 1_000).maximize(begin, **options)
    if found is None:
        return Maximum(start, -np.inf, is_reached=False)
    return Maximum(_from_logs(objective, first_step * found.point), found.log_density, is_reached=False)


def polish(objective: Objective, end: Maximum, rng: np.random.Generator) -> Maximum:
    """Return the maximum near the end of a climb, to full precision.

    On a level, other points of it are tried, since some of them may have a way up. A simplex without influence, such as
    the row of a class without items, is at its middle, or drawn again.

    Returns
    -------
    Maximum
        `is_reached` is False if Newton's method did not converge, and no other way up was found.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.modes.objective import Objective
    >>> from bayesanno.inference.modes.polish import ascend, polish
    >>> counts = np.array([6.0, 2.0, 0.0])
    >>> likelihood = Objective(lambda p: (counts @ np.log(p), counts / p), (3,))
    >>> found = polish(likelihood, ascend(likelihood, np.full(3, 1 / 3)), np.random.default_rng(1))
    >>> found.point.round(6).tolist(), found.is_reached
    ([0.75, 0.25, 0.0], True)
    """
    end = _refine(objective, end)
    if end.singular or (end.is_reached and not len(end.flat)):
        return end
    idle = _find_idle(objective, end.point) & ~objective.half
    for _ in range(TRIES):
        drawn = objective.draw(rng)
        beside = np.where(idle, drawn, end.point)
        if len(end.flat):
            along = np.where(idle, 0.0, rng.standard_normal(len(end.flat)) @ end.flat)
            room = np.min(-beside[along < 0] / along[along < 0], initial=1.0)
            beside = beside + rng.uniform() * room * along
        beside = np.where(objective.half, beside * np.exp(BESIDE * drawn), (1 - BESIDE) * beside + BESIDE * drawn)
        other = ascend(objective, objective.normalise(beside), first_step=BESIDE)
        if other.log_density > end.log_density + GAIN:
            return polish(objective, replace(other, visits=end.visits), rng)
    return end


def _refine(objective: Objective, end: Maximum) -> Maximum:
    """Return the point that Newton's method leads to, with simplexes without influence in the middle."""
    z, done = _from_roots(objective, np.sqrt(end.point)), False
    for _ in range(ROUNDS):
        if singular := _find_singular(objective, z):
            return replace(end, point=z, log_density=np.inf, singular=singular)
        new = _move(objective, z, *_newton_step(objective, z)[:2])
        done = new is None or bool(np.abs(new - z).max() < 1e-11)
        z = z if new is None else new
        if done:
            break
    z = np.where(_find_idle(objective, z) & ~objective.half, objective.middle, z)
    step, rising, flat = _newton_step(objective, z)
    at_rest = bool(np.abs(step).max() < AT_REST) and rising is None
    return replace(end, point=z, log_density=objective(z)[0], is_reached=done and at_rest, flat=flat)


def _find_idle(objective: Objective, z: np.ndarray) -> np.ndarray:
    """Return whether the simplex of each coordinate has no influence, shape (coordinate,)."""
    value, gradient = objective(z)
    elsewhere = objective.normalise(1.0 + np.arange(z.size))
    idle = np.maximum.reduceat(np.abs(gradient), objective.first) < IDLE
    for which in np.flatnonzero(idle):
        moved = np.where(objective.owner == which, elsewhere, z)
        idle[which] = abs(objective(moved)[0] - value) <= 1e-12 * max(1.0, abs(value))
    return np.asarray(idle[objective.owner])


def _from_logs(objective: Objective, y: np.ndarray) -> np.ndarray:
    greatest = np.maximum.reduceat(y, objective.first)[objective.owner]
    return objective.normalise(np.exp(np.where(objective.half, np.minimum(y, 300.0), y - greatest)))


def _from_roots(objective: Objective, roots: np.ndarray) -> np.ndarray:
    """Return the point with these square roots of coordinates; those near 0 are 0."""
    z = objective.normalise(roots**2)
    return objective.normalise(np.where(z >= np.where(objective.half, FLOOR, NOTHING), z, 0.0))


def _find_singular(objective: Objective, z: np.ndarray) -> tuple[int, ...]:
    """Return the coordinates at 0 whose falling logarithm still makes the function grow."""
    inside = objective.move_inside(z)
    pull = inside * objective.slope(inside, objective(z)[1])
    return tuple(np.flatnonzero((z <= FLOOR) & (pull < -SINGULAR)).tolist())


def _newton_step(objective: Objective, z: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Return a step of the square roots to the maximum of the local quadratic approximation.

    Returns
    -------
    step : array, shape (coordinate,)
    rising : array, shape (coordinate,), or None
        A direction of upward curvature, if there is one: that of all coordinates that should leave 0.
    flat : array, shape (direction, coordinate)
        Directions of the coordinates themselves, between those that are not 0, without slope and curvature.
    """

    def slope(at: np.ndarray) -> np.ndarray:
        length = np.where(objective.half, 1.0, objective.total(at**2))
        inside = objective.move_inside(at**2)
        return 2 * at / length * objective.slope(inside, objective.function(inside)[1])

    roots = np.sqrt(z)
    sizes = STEP * np.maximum(roots, LEAST_ROOT)
    differences = [slope(roots + step) - slope(roots - step) for step in np.diag(sizes)]
    hessian = np.array(differences) / (2 * sizes[:, None])
    hessian = (hessian + hessian.T) / 2
    if not np.isfinite(hessian).all():
        return np.zeros_like(z), None, np.empty((0, z.size))
    highest = np.abs(hessian).max()
    least = max(FLAT * highest, FLAT)
    same = (objective.owner[:, None] == objective.owner) & ~objective.half
    hessian -= highest * np.outer(roots, roots) * same  # the common length of a simplex's roots means nothing
    diagonal = np.diag(hessian).copy()
    at_zero = z <= 0
    np.fill_diagonal(hessian, np.where(at_zero & (np.abs(diagonal) < least), -2 * least, diagonal))
    curvature, directions = np.linalg.eigh(hessian)
    along = directions.T @ slope(roots)
    is_flat = np.abs(curvature) < least
    moves = ~is_flat | (along**2 > 1e-10 * least)
    step = directions @ np.where(moves, along / np.maximum(np.abs(curvature), least), 0.0)
    rising, leaves_zero = None, at_zero & (diagonal > 10 * least)
    if leaves_zero.any():
        rising = leaves_zero.astype(float)
    elif curvature[-1] > 10 * least and np.abs(step).max() < AT_REST:  # a saddle
        rising = directions[:, -1] / np.abs(directions[:, -1]).max()
    return step, rising, directions[:, is_flat & ~moves].T * roots


def _move(objective: Objective, z: np.ndarray, step: np.ndarray, rising: np.ndarray | None) -> np.ndarray | None:
    """Return a higher point in a rising direction, or one that is not lower along the step; None if there is none."""
    value = objective(z)[0]
    ways = [(step, value - 1e-12 * abs(value))]
    if rising is not None:
        ways = [(0.1 * rising, value + GAIN / 100), (-0.1 * rising, value + GAIN / 100), *ways]
    for way, least in ways:
        for share in 0.5 ** np.arange(0, 40, 2):
            new = _from_roots(objective, np.sqrt(z) + share * way)
            if objective(new)[0] >= least:
                return new
    return None
