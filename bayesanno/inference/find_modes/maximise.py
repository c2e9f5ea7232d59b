"""Maxima of a function over simplexes and half-lines, on their boundary as well as inside, to the last digits.

A climb is L-BFGS on the logarithms of the coordinates, which keeps them inside, and then Newton's method on the
coordinates themselves: those that are pressed against 0 are put there and left out, those at 0 whose slope points
inside are released. So a climb that has stalled where a coordinate underflowed goes on.

The invariant: the function is never asked for its value at a coordinate of exactly 0, where a logarithm has no slope,
but at FLOOR. An item that only this coordinate explains makes the value low there, and the slope steep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]

FLOOR = 1e-15  # what a coordinate at 0 is taken for: 1 less this is not yet 1
NOTHING = 1e-9  # a coordinate below this is put at 0; its slope is clearer from there
PRESSED = 1e-4  # a coordinate below this that falls may be one of 0
SLOPE = 1e-6  # what counts as no slope, per observation of the simplex
FLAT = 1e-7  # what counts as no curvature, as a share of the greatest; differences of gradients give no more digits
STEP = 1e-4  # of those differences, as a share of the coordinate
SINGULAR = 1e-6  # slope on the log scale that is left at FLOOR only where the function itself is singular
ROUNDS = 60  # of Newton's method; it takes about five
BESIDE = 1e-3  # how far from an end a way up is looked for
GAIN = 1e-6  # nats by which a point must be better to be another


@dataclass(frozen=True)
class Region:
    """Simplexes and half-lines, their coordinates one after the other in one vector.

    Parameters
    ----------
    sizes : tuple of int
        How many coordinates each simplex has; one of 1 is no simplex but a number from 0 up. A number between 0 and 1
        is a simplex of 2: itself and what it leaves.
    """

    sizes: tuple[int, ...]

    @cached_property
    def first(self) -> np.ndarray:
        """The first coordinate of each, shape (simplex,)."""
        begins: np.ndarray = np.cumsum([0, *self.sizes[:-1]])
        return begins

    @cached_property
    def owner(self) -> np.ndarray:
        """Which simplex a coordinate is of, shape (coordinate,)."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def half(self) -> np.ndarray:
        """Whether a coordinate is a half-line, shape (coordinate,)."""
        return np.asarray(np.array(self.sizes)[self.owner] == 1)

    def total(self, x: np.ndarray) -> np.ndarray:
        """Return the sum over a coordinate's simplex, for each coordinate."""
        sums: np.ndarray = np.add.reduceat(x, self.first)[self.owner]
        return sums

    def normalise(self, z: np.ndarray) -> np.ndarray:
        """Bring points back to the simplexes."""
        return z / np.where(self.half, 1.0, self.total(z))

    def inside(self, z: np.ndarray) -> np.ndarray:
        """Return the point that stands for one on the boundary."""
        return self.normalise(np.maximum(z, FLOOR))

    def pivots(self, z: np.ndarray) -> np.ndarray:
        """Return the greatest coordinate of a coordinate's simplex, for each coordinate."""
        order = np.lexsort((-z, self.owner))
        return np.asarray(order[self.first][self.owner])

    def slope(self, z: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return how the function changes as a coordinate grows at the expense of its simplex, and their scale."""
        return np.where(self.half, gradient, gradient - self.total(z * gradient))

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return a point from the uniform distribution; half-lines from the exponential one."""
        return self.normalise(rng.exponential(size=self.owner.size))


@dataclass(frozen=True)
class End:
    """Where a climb ended.

    Attributes
    ----------
    point : array, shape (coordinate,)
        With exact zeros on the boundary.
    value : float
        -inf if the climb found no finite value.
    maximum : bool
        Whether no direction leads up, to first order at the boundary and to second order inside.
    flat : array, shape (direction, coordinate)
        Directions inside without slope and without curvature.
    singular : tuple of int
        Coordinates on the way to whose 0 the function grows without bound; then the rest means nothing.
    """

    point: np.ndarray
    value: float
    maximum: bool = False
    flat: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    singular: tuple[int, ...] = ()


def ascend(
    objective: Function, region: Region, start: np.ndarray, *, most: int = 1_000, first_step: float = 1.0
) -> End:
    """Return where L-BFGS ends on the logarithms of the coordinates: near a maximum, or on the way to a boundary.

    Parameters
    ----------
    objective : callable
        From a point to a value and its gradient, each coordinate taken for itself.
    region : Region
    start : array, shape (coordinate,)
    most : int, default 1000
        Steps.
    first_step : float, default 1
        The length of the first step, on the logarithms: a long one may lead over a ridge.

    Returns
    -------
    End
    """
    from scipy.optimize import minimize

    def downhill(x: np.ndarray) -> tuple[float, np.ndarray]:
        z = _from_logs(region, first_step * x)
        value, gradient = evaluate(objective, region, z)
        if not np.isfinite(value):
            return 1e300, np.zeros_like(x)
        return -value, -first_step * z * region.slope(z, gradient)

    options = {"maxiter": most, "maxfun": 2 * most, "ftol": 1e-13, "gtol": 1e-6 * first_step, "maxcor": 20}
    begin = np.log(np.maximum(start, 1e-8)) / first_step  # L-BFGS-B begins with a step of length 1
    with np.errstate(over="ignore", invalid="ignore"):  # in trial steps of the line search
        found = minimize(downhill, begin, jac=True, method="L-BFGS-B", options=options)
    if not found.fun < 1e299:
        return End(start, -np.inf)
    return End(_from_logs(region, first_step * found.x), -float(found.fun))


def polish(objective: Function, region: Region, end: End) -> End:
    """Return the maximum that a climb was on the way to, to the last digits.

    Returns
    -------
    End
        `maximum` is False where Newton's method came to no end. A simplex that has no influence is at its middle.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.find_modes.maximise import Region, ascend, polish
    >>> counts = np.array([6.0, 2.0, 0.0])
    >>> def likelihood(p):
    ...     return counts @ np.log(p), counts / p
    >>> region = Region((3,))
    >>> found = polish(likelihood, region, ascend(likelihood, region, np.full(3, 1 / 3)))
    >>> found.point.round(6).tolist(), found.maximum
    ([0.75, 0.25, 0.0], True)
    """
    if not np.isfinite(end.value):
        return end
    z = _put_on_boundary(objective, region, end.point)
    if singular := _find_singular(objective, region, z):
        return End(z, np.inf, singular=singular)
    done = False
    for _ in range(ROUNDS):
        value, gradient = evaluate(objective, region, z)
        released = _release(objective, region, z, value, gradient)
        if released is not None:
            z, done = released, False
            continue
        if done:
            break
        step, curved, _ = _newton_step(objective, region, z, gradient)
        new = _move(objective, region, z, value, step, curved)
        done = new is None or bool(np.abs(new - z).max() < 1e-11)
        z = z if new is None else new
        if singular := _find_singular(objective, region, z):
            return End(z, np.inf, singular=singular)
    even = region.normalise(np.ones_like(z))
    z = np.where(_find_idle(objective, region, z) & ~region.half, even, z)
    value, gradient = evaluate(objective, region, z)
    step, curved, flat = _newton_step(objective, region, z, gradient)
    at_rest = bool(np.abs(step).max(initial=0) < 1e-6) and curved is None
    return End(z, value, maximum=done and at_rest, flat=flat)


def find_better(objective: Function, region: Region, end: End, rng: np.random.Generator, *, tries: int = 4) -> End:
    """Return a higher end, reached from points near this one; itself if there is none.

    Where the function is flat, points anywhere on the level are tried, three times as many: at some of them there may
    be a way up. A simplex that has no influence, as the row of a class without items, is drawn anew.
    """
    idle = _find_idle(objective, region, end.point)
    for _ in range(3 * tries if len(end.flat) or idle.any() else tries):
        drawn = region.draw(rng)
        beside = end.point
        if len(end.flat):
            along = rng.standard_normal(len(end.flat)) @ end.flat
            room = np.min(-beside[along < 0] / along[along < 0], initial=1.0)
            beside = beside + rng.uniform() * room * along
        beside = np.where(idle & ~region.half, drawn, beside)
        stretched = beside * np.exp(np.where(idle, 1.0, BESIDE) * rng.standard_normal(drawn.size))
        beside = np.where(region.half, stretched, (1 - BESIDE) * beside + BESIDE * drawn)
        other = ascend(objective, region, region.normalise(beside), first_step=BESIDE)
        if other.value > end.value + GAIN:
            return polish(objective, region, other)
    return end


def _find_idle(objective: Function, region: Region, z: np.ndarray) -> np.ndarray:
    """Return whether a coordinate is of a simplex that could as well be somewhere else, shape (coordinate,)."""
    value, gradient = evaluate(objective, region, z)
    elsewhere = region.normalise(1.0 + np.arange(z.size))
    idle = np.maximum.reduceat(np.abs(gradient), region.first) < SLOPE
    for which in np.flatnonzero(idle):
        moved = np.where(region.owner == which, elsewhere, z)
        idle[which] = abs(evaluate(objective, region, moved)[0] - value) <= 1e-12 * max(1.0, abs(value))
    return np.asarray(idle[region.owner])


def evaluate(objective: Function, region: Region, z: np.ndarray) -> tuple[float, np.ndarray]:
    """Return value and gradient at a point; -inf where either is none."""
    value, gradient = objective(region.inside(z))
    if not (np.isfinite(value) and np.isfinite(gradient).all()):
        return -np.inf, np.zeros_like(z)
    return float(value), gradient


def _from_logs(region: Region, y: np.ndarray) -> np.ndarray:
    greatest = np.maximum.reduceat(y, region.first)[region.owner]
    return region.normalise(np.exp(np.where(region.half, np.minimum(y, 300.0), y - greatest)))


def _weight(region: Region, z: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Return how many observations a coordinate's simplex has, at least 1: the scale of its slopes."""
    return np.maximum(1.0, np.abs(region.total(z * gradient)))


def _put_on_boundary(objective: Function, region: Region, z: np.ndarray) -> np.ndarray:
    """Put those coordinates at 0 that are near it, and would not leave it."""
    z = _drop_least(region, z)
    value, gradient = evaluate(objective, region, z)
    near = (z < PRESSED) & (region.slope(z, gradient) < 0)
    for _ in range(3):
        new = region.normalise(np.where(near, 0.0, z))
        new_value, gradient = evaluate(objective, region, new)
        leaving = near & (region.slope(region.inside(new), gradient) > 0)
        if not leaving.any():
            return new if new_value >= value - SLOPE else z
        near &= ~leaving
    return z


def _drop_least(region: Region, z: np.ndarray) -> np.ndarray:
    return region.normalise(np.where(region.half | (z >= NOTHING), z, 0.0))


def _find_singular(objective: Function, region: Region, z: np.ndarray) -> tuple[int, ...]:
    """Return the coordinates at 0 where the function is still growing as their logarithm falls."""
    zero = z <= FLOOR
    if not zero.any():
        return ()
    inside = region.inside(z)
    _, gradient = evaluate(objective, region, z)
    pull = inside * region.slope(inside, gradient)
    return tuple(np.flatnonzero(zero & (pull < -SINGULAR)).tolist())


def _release(
    objective: Function, region: Region, z: np.ndarray, value: float, gradient: np.ndarray
) -> np.ndarray | None:
    """Return a higher point at which coordinates have left 0, or None if none wants to."""
    inside = region.inside(z)
    slope = region.slope(inside, gradient)
    wants = (z <= 0) & (slope > SLOPE * _weight(region, inside, gradient))
    if not wants.any():
        return None
    for share in 10.0 ** -np.arange(2, 13):
        new = region.normalise(np.where(wants, share, z))
        if evaluate(objective, region, new)[0] > value:
            return new
    return None


def _newton_step(
    objective: Function, region: Region, z: np.ndarray, gradient: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Return a step to the maximum of the quadratic that fits at a point, among coordinates that are not 0.

    Returns
    -------
    step : array, shape (coordinate,)
    curved : array, shape (coordinate,), or None
        A direction in which the function curves upwards, if there is one.
    flat : array, shape (direction, coordinate)
        Directions without curvature; the step ignores them unless they slope.
    """
    pivot = region.pivots(z)
    free = np.flatnonzero((z > 0) & (region.half | (pivot != np.arange(z.size))))
    if not free.size:
        return np.zeros_like(z), None, np.empty((0, z.size))
    half = region.half[free]

    def reduce(of: np.ndarray) -> np.ndarray:
        reduced: np.ndarray = of[free] - np.where(half, 0.0, of[pivot[free]])
        return reduced

    def expand(x: np.ndarray) -> np.ndarray:
        whole = np.zeros_like(z)
        whole[free] = x
        np.subtract.at(whole, pivot[free], np.where(half, 0.0, x))
        return whole

    scale = np.where(half, z[free], np.sqrt(z[free]))
    hessian = np.empty((free.size, free.size))
    for column, which in enumerate(free):
        size = STEP * min(z[which], z[pivot[which]])
        unit = np.zeros(free.size)
        unit[column] = size
        there = reduce(objective(region.inside(z + expand(unit)))[1])
        here = reduce(objective(region.inside(z - expand(unit)))[1])
        hessian[:, column] = (there - here) / (2 * size)
    hessian = scale[:, None] * (hessian + hessian.T) / 2 * scale
    if not np.isfinite(hessian).all():
        return np.zeros_like(z), None, np.empty((0, z.size))
    curvature, directions = np.linalg.eigh(hessian)
    least = max(FLAT * np.abs(curvature).max(), FLAT)
    along = directions.T @ (scale * reduce(gradient))
    flat = np.abs(curvature) < least
    sloping = ~flat | (along**2 > 1e-10 * least)
    with np.errstate(invalid="ignore"):
        step = expand(scale * (directions @ np.where(sloping, along / np.maximum(np.abs(curvature), least), 0.0)))
    curved = expand(scale * directions[:, -1]) if curvature[-1] > 10 * least else None
    level = [expand(scale * directions[:, which]) for which in np.flatnonzero(flat & ~sloping)]
    return step, curved, np.array(level).reshape(-1, z.size)


def _move(
    objective: Function, region: Region, z: np.ndarray, value: float, step: np.ndarray, curved: np.ndarray | None
) -> np.ndarray | None:
    """Return a point that is no lower, along a step as far as it goes, or along a direction that curves upwards."""
    ways = [step]
    if curved is not None and np.abs(step).max() < SLOPE:  # at rest on a saddle
        ways = [0.1 * curved / np.abs(curved).max(), -0.1 * curved / np.abs(curved).max()]
    pivots = region.pivots(z) == np.arange(z.size)
    for share in 0.5 ** np.arange(0, 40, 2):
        for way in ways:
            new = z + share * way
            new = np.where(region.half, np.clip(new, z / 4, z * 4), new)
            if (new[pivots & ~region.half] < 0.2 * z[pivots & ~region.half]).any():
                continue
            new = np.where((new <= 0) & (z > 0), np.where(z < 1e-3, 0.0, z / 10), new)
            new = _drop_least(region, np.maximum(new, 0.0))
            if evaluate(objective, region, new)[0] >= value - (1e-12 * abs(value) if way is step else -GAIN / 100):
                return new
    return None
