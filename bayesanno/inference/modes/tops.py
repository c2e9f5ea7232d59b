"""The top of a mode: where a climb ends, and whether it got there.

A model that learns the spreads of its parameters has a density that is highest where all are equal, and next to no mass
there. Its modes are those of the spreads with all else summed out: L-BFGS climbs the rest given the spreads, Laplace's
method sums it out, and the spreads climb that sum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayesanno.inference.graph.density import Density

NEAR = 0.5  # the largest distance of two ends of one mode, in any number
EQUAL = 0.05  # nats, the same
EQUAL_BY_SPREADS = 0.5  # nats, the same where spreads are climbed, whose tops are found less exactly
PROBES = 20
STEP = 1e-4
LEAST_CURVATURE = 1e-6
NO_DENSITY = 1e300  # what is minimised where there is none
OUT_OF_STEPS = 1  # SciPy's status of an optimisation that was stopped
FARTHEST = 3.0  # that spreads go from where they start, on their log scale
SPREAD_STEP = 0.02  # by which they are moved to see where the sum rises
MOST_MOVES = 30  # of all spreads, and each by itself
SETTLED = 1e-5  # relative to the log of the sum: what a step of them gains at the end


@dataclass(frozen=True)
class Top:
    """Where a climb ended.

    Attributes
    ----------
    point : array, shape (dimension,)
    log_density : float
        In nats, at the point; where there are spreads, roughly that of the spreads, all else summed out.
    is_reached : bool
        Whether this is the top of a mode: the climb came to rest, nothing left to gain.
    """

    point: np.ndarray
    log_density: float
    is_reached: bool

    def is_one_with(self, other: Top, equal: float = EQUAL) -> bool:
        """Whether two ends are of one mode."""
        far = np.abs(self.point - other.point).max()
        return bool(far < NEAR and abs(self.log_density - other.log_density) < equal)


def find_top(density: Density, point: np.ndarray, most_steps: int, spreads: np.ndarray | None = None) -> Top | None:
    """Return where a climb ends that starts at a point; None if there is no density.

    Parameters
    ----------
    density : Density
    point : array, shape (dimension,)
    most_steps : int
        How many gradients L-BFGS may take, each time that it is run.
    spreads : array of bool, shape (dimension,), optional
        Which numbers are spreads.
    """
    from scipy.optimize import minimize

    if spreads is None or not spreads.any():
        return climb(density, point, most_steps, np.ones(point.size, dtype=bool))
    first = sum_out(density, point, most_steps, spreads)
    if first is None:
        return None
    best = first

    def downhill(values: np.ndarray) -> float:
        nonlocal best
        moved = best.point.copy()
        moved[spreads] = values
        found = sum_out(density, moved, most_steps, spreads)
        if found is not None and found.log_density > best.log_density:
            best = found
        return NO_DENSITY if found is None else -found.log_density

    begin = point[spreads]
    bounds = list(zip(begin - FARTHEST, begin + FARTHEST, strict=True))
    options = {"eps": SPREAD_STEP, "ftol": SETTLED, "maxfun": MOST_MOVES * (begin.size + 1), "maxls": 5}
    found = minimize(downhill, begin, method="L-BFGS-B", bounds=bounds, options=options)
    is_within = bool((abs(best.point[spreads] - begin) < FARTHEST).all())
    return replace(best, is_reached=best.is_reached and is_within and bool(found.status != OUT_OF_STEPS))


def sum_out(density: Density, point: np.ndarray, most_steps: int, spreads: np.ndarray) -> Top | None:
    """Climb all but the spreads, and sum it out: by Laplace's method, from the diagonal of the Hessian."""
    top = climb(density, point, most_steps, ~spreads)
    if top is None:
        return None
    curvature = estimate_curvature(density, top.point, ~spreads)
    return replace(top, log_density=top.log_density - 0.5 * float(np.log(curvature).sum()))


def climb(density: Density, point: np.ndarray, most_steps: int, moves: np.ndarray) -> Top | None:
    """Return where L-BFGS ends over some of the numbers; None if there is no density.

    The end is the top of a mode if L-BFGS came to rest and a step to where its own estimate of the curvature has the
    top would gain less than what sets two modes apart.
    """
    from scipy.optimize import minimize

    whole = point.copy()

    def downhill(z: np.ndarray) -> tuple[float, np.ndarray]:
        whole[moves] = z
        value, gradient = density(whole)
        return (-value, -gradient[moves]) if np.isfinite(value) else (NO_DENSITY, np.zeros_like(z))

    options = {"maxiter": most_steps, "maxfun": most_steps, "ftol": 1e-12, "gtol": 1e-4}
    found = minimize(downhill, point[moves], jac=True, method="L-BFGS-B", options=options)
    if found.fun >= NO_DENSITY:
        return None
    whole[moves] = found.x
    gain = 0.5 * float(found.jac @ (found.hess_inv @ found.jac))  # nats
    return Top(whole, -float(found.fun), is_reached=bool(found.status != OUT_OF_STEPS and gain < EQUAL))


def estimate_curvature(density: Density, point: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Return the negative Hessian's diagonal for some of the numbers, roughly, from random signs (Hutchinson)."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(PROBES, int(moves.sum())))
    found = -np.mean([sign * differentiate(density, point, moves, sign) for sign in signs], axis=0)
    curvature: np.ndarray = np.maximum(found, LEAST_CURVATURE)
    return curvature


def differentiate(density: Density, point: np.ndarray, moves: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Return how the gradient by some of the numbers changes along a direction in them."""
    by = np.zeros(point.size)
    by[moves] = STEP * direction
    slope: np.ndarray = (density(point + by)[1] - density(point - by)[1])[moves] / (2 * STEP)
    return slope
