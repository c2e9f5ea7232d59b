"""Maxima of a function over simplexes and half-lines, on the boundary or inside, to full precision.

A climb uses L-BFGS on the logarithms of the coordinates, which keeps them inside, and then Newton's method on the
coordinates. Coordinates that are pressed against 0 are set to 0 and left out; those at 0 whose slope points inside are
released. So a climb that stalled because a coordinate underflowed continues.

Each of these parts is necessary for some table: without coordinates at 0, the maxima of tables 9 and 10 of Rzhetsky et
al. (2008) are imprecise; without `find_better`, table 15 has a third mode, which is a saddle.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from bayesanno.inference.modes.laplace import maximize
from bayesanno.inference.modes.objective import FLOOR, Objective

NOTHING = 1e-9  # coordinates below this are set to 0, where their slope is clearer
PRESSED = 1e-4  # falling coordinates below this may belong at 0
SLOPE = 1e-6  # largest slope that counts as zero, per observation of the simplex
FLAT = 1e-7  # largest curvature that counts as zero, relative to the largest; differences are not more precise
STEP = 1e-4  # of differences of gradients, relative to the coordinate
SINGULAR = 1e-6  # least slope on the log scale at FLOOR of a function that is singular there
ROUNDS = 60  # of Newton's method, which usually takes five
BESIDE = 1e-3  # distance from an end at which a way up is searched for
GAIN = 1e-6  # least gain, in nats, of another maximum
TRIES = 4  # points from which a way up is searched for; three times as many if the function is flat


@dataclass(frozen=True)
class End:
    """The end of a climb.

    Attributes
    ----------
    point : array, shape (coordinate,)
        With exact zeros on the boundary.
    value : float
        -inf if the climb found no finite value.
    maximum : bool
        Whether no direction leads up, to first order at the boundary and to second order inside.
    flat : array, shape (direction, coordinate)
        Interior directions without slope and curvature.
    singular : tuple of int
        Coordinates towards whose 0 the function grows without bound; the other attributes are then meaningless.
    visits : int
        The number of starts that led here.
    items : array, shape (pattern,)
        The log likelihood of each pattern of answers, once it is computed.
    states : array, shape (pattern, state)
        The probabilities of its states; those of several latents are concatenated.
    """

    point: np.ndarray
    value: float
    maximum: bool = False
    flat: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    singular: tuple[int, ...] = ()
    visits: int = 1
    items: np.ndarray = field(default_factory=lambda: np.empty(0))
    states: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))


def ascend(objective: Objective, start: np.ndarray, *, first_step: float = 1.0) -> End:
    """Climb by L-BFGS on the logarithms of the coordinates, to the neighbourhood of a maximum, maybe at a boundary.

    Parameters
    ----------
    objective : Objective
    start : array, shape (coordinate,)
    first_step : float, default 1
        The length of the first step on the logarithms: a long one may lead over a ridge.

    Returns
    -------
    End
    """

    def on_logs(x: np.ndarray) -> tuple[float, np.ndarray]:
        z = _from_logs(objective, first_step * x)
        value, gradient = objective(z)
        return value, first_step * z * objective.slope(z, gradient)

    begin = np.log(np.maximum(start, 1e-8)) / first_step  # L-BFGS-B begins with a step of length 1
    with np.errstate(over="ignore", invalid="ignore"):  # in trial steps of the line search
        found = maximize(on_logs, begin, 1_000, maxfun=2_000, ftol=1e-13, gtol=1e-6 * first_step, maxcor=20)
    if found is None:
        return End(start, -np.inf)
    return End(_from_logs(objective, first_step * found.x), -float(found.fun))


def polish(objective: Objective, end: End) -> End:
    """Return the maximum near the end of a climb, to full precision.

    Returns
    -------
    End
        `maximum` is False if Newton's method did not converge. A simplex without influence is at its middle.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.modes.objective import Objective
    >>> from bayesanno.inference.modes.polish import ascend, polish
    >>> counts = np.array([6.0, 2.0, 0.0])
    >>> likelihood = Objective(lambda p: (counts @ np.log(p), counts / p), (3,))
    >>> found = polish(likelihood, ascend(likelihood, np.full(3, 1 / 3)))
    >>> found.point.round(6).tolist(), found.maximum
    ([0.75, 0.25, 0.0], True)
    """
    if not np.isfinite(end.value):
        return end
    z, done = _put_on_boundary(objective, end.point), False
    for _ in range(ROUNDS):
        value, gradient = objective(z)
        if singular := _find_singular(objective, z, gradient):
            return replace(end, point=z, value=np.inf, singular=singular)
        new = _release(objective, z, value, gradient)
        if new is None and done:
            break
        done = False
        if new is None:
            step, curved, _ = _newton_step(objective, z, gradient)
            new = _move(objective, z, value, step, curved)
            done = new is None or bool(np.abs(new - z).max() < 1e-11)
        z = z if new is None else new
    z = np.where(_find_idle(objective, z) & ~objective.half, objective.middle, z)
    value, gradient = objective(z)
    step, curved, flat = _newton_step(objective, z, gradient)
    at_rest = bool(np.abs(step).max(initial=0) < 1e-6) and curved is None
    return replace(end, point=z, value=value, maximum=done and at_rest, flat=flat)


def find_better(objective: Objective, end: End, rng: np.random.Generator) -> End:
    """Return a higher end, reached from points near this one, or this end if there is none.

    If the function is flat, points anywhere on the level are tried: some of them may have a way up. A simplex without
    influence, such as the row of a class without items, is drawn again.
    """
    idle = _find_idle(objective, end.point)
    for _ in range(3 * TRIES if len(end.flat) or idle.any() else TRIES):
        drawn = objective.draw(rng)
        beside = end.point
        if len(end.flat):
            along = rng.standard_normal(len(end.flat)) @ end.flat
            room = np.min(-beside[along < 0] / along[along < 0], initial=1.0)
            beside = beside + rng.uniform() * room * along
        beside = np.where(idle & ~objective.half, drawn, beside)
        stretched = beside * np.exp(np.where(idle, 1.0, BESIDE) * rng.standard_normal(drawn.size))
        beside = np.where(objective.half, stretched, (1 - BESIDE) * beside + BESIDE * drawn)
        other = ascend(objective, objective.normalise(beside), first_step=BESIDE)
        if other.value > end.value + GAIN:
            return polish(objective, other)
    return end


def _find_idle(objective: Objective, z: np.ndarray) -> np.ndarray:
    """Return whether the simplex of each coordinate has no influence, shape (coordinate,)."""
    value, gradient = objective(z)
    elsewhere = objective.normalise(1.0 + np.arange(z.size))
    idle = np.maximum.reduceat(np.abs(gradient), objective.first) < SLOPE
    for which in np.flatnonzero(idle):
        moved = np.where(objective.owner == which, elsewhere, z)
        idle[which] = abs(objective(moved)[0] - value) <= 1e-12 * max(1.0, abs(value))
    return np.asarray(idle[objective.owner])


def _from_logs(objective: Objective, y: np.ndarray) -> np.ndarray:
    greatest = np.maximum.reduceat(y, objective.first)[objective.owner]
    return objective.normalise(np.exp(np.where(objective.half, np.minimum(y, 300.0), y - greatest)))


def _put_on_boundary(objective: Objective, z: np.ndarray) -> np.ndarray:
    """Set coordinates near 0 to 0 if they would not leave it."""
    z = _drop_least(objective, z)
    value, gradient = objective(z)
    near = (z < PRESSED) & (objective.slope(z, gradient) < 0)
    for _ in range(3):
        new = objective.normalise(np.where(near, 0.0, z))
        new_value, gradient = objective(new)
        leaving = near & (objective.slope(objective.move_inside(new), gradient) > 0)
        if not leaving.any():
            return new if new_value >= value - SLOPE else z
        near &= ~leaving
    return z


def _drop_least(objective: Objective, z: np.ndarray) -> np.ndarray:
    return objective.normalise(np.where(objective.half | (z >= NOTHING), z, 0.0))


def _find_singular(objective: Objective, z: np.ndarray, gradient: np.ndarray) -> tuple[int, ...]:
    """Return the coordinates at 0 whose falling logarithm still makes the function grow."""
    inside = objective.move_inside(z)
    pull = inside * objective.slope(inside, gradient)
    return tuple(np.flatnonzero((z <= FLOOR) & (pull < -SINGULAR)).tolist())


def _release(objective: Objective, z: np.ndarray, value: float, gradient: np.ndarray) -> np.ndarray | None:
    """Return a higher point at which coordinates have left 0, or None if there is none."""
    inside = objective.move_inside(z)
    weight = np.maximum(1.0, np.abs(objective.total(inside * gradient)))  # observations of the simplex
    wants = (z <= 0) & (objective.slope(inside, gradient) > SLOPE * weight)
    if wants.any():
        for share in 10.0 ** -np.arange(2, 13):
            new = objective.normalise(np.where(wants, share, z))
            if objective(new)[0] > value:
                return new
    return None


def _newton_step(
    objective: Objective, z: np.ndarray, gradient: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Return a step to the maximum of the local quadratic approximation, among coordinates that are not 0.

    Returns
    -------
    step : array, shape (coordinate,)
    curved : array, shape (coordinate,), or None
        A direction of upward curvature, if there is one.
    flat : array, shape (direction, coordinate)
        Directions without curvature, which the step ignores unless they have a slope.
    """
    pivot = objective.pivots(z)
    free = np.flatnonzero((z > 0) & (objective.half | (pivot != np.arange(z.size))))
    if not free.size:
        return np.zeros_like(z), None, np.empty((0, z.size))
    half = objective.half[free]

    def reduce(of: np.ndarray) -> np.ndarray:
        return of[free] - np.where(half, 0.0, of[pivot[free]])

    def expand(x: np.ndarray) -> np.ndarray:
        whole = np.zeros_like(z)
        whole[free] = x
        np.subtract.at(whole, pivot[free], np.where(half, 0.0, x))
        return whole

    scale = np.where(half, z[free], np.sqrt(z[free]))
    sizes = STEP * np.minimum(z[free], z[pivot[free]])
    steps = [expand(unit) for unit in np.diag(sizes)]
    ahead, behind = (
        np.array([reduce(objective.function(objective.move_inside(z + sign * step))[1]) for step in steps])
        for sign in (1, -1)
    )
    hessian = (ahead - behind) / (2 * sizes[:, None])
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
    objective: Objective, z: np.ndarray, value: float, step: np.ndarray, curved: np.ndarray | None
) -> np.ndarray | None:
    """Return a point that is not lower, along the longest possible part of a step or a direction that curves up."""
    ways = [step]
    if curved is not None and np.abs(step).max() < SLOPE:  # at rest on a saddle
        ways = [0.1 * curved / np.abs(curved).max(), -0.1 * curved / np.abs(curved).max()]
    pivots = (objective.pivots(z) == np.arange(z.size)) & ~objective.half
    for share in 0.5 ** np.arange(0, 40, 2):
        for way in ways:
            new = z + share * way
            new = np.where(objective.half, np.clip(new, z / 4, z * 4), new)
            if (new[pivots] < 0.2 * z[pivots]).any():
                continue
            new = np.where((new <= 0) & (z > 0), np.where(z < 1e-3, 0.0, z / 10), new)
            new = _drop_least(objective, np.maximum(new, 0.0))
            if objective(new)[0] >= value - (1e-12 * abs(value) if way is step else -GAIN / 100):
                return new
    return None
