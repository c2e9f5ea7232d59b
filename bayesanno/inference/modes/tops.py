"""The top of a mode: the end of a climb, whether it reached the top, and the mass around it by Laplace's method.

The curvature is computed from differences of gradients (Tierney and Kadane 1986, doi:10.1080/01621459.1986.10478240).

If a model learns the spreads of its parameters, its density is highest where all are equal, with almost no mass there.
Its modes are those of the spreads with everything else summed out, as Rue, Martino and Chopin (2009,
doi:10.1111/j.1467-9868.2008.00700.x) do for Gaussian fields: L-BFGS climbs the rest given the spreads, Laplace's method
sums it out, and the spreads climb the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayesanno.inference.graph.density import Density

NEAR = 0.5  # largest difference of two ends of one mode, in any number
EQUAL = 0.05  # largest difference of their log densities, in nats
EQUAL_BY_SPREADS = 0.5  # the same for climbs by spreads, whose tops are less exact
MOST_EXACT = 100  # most dimensions for which a Hessian is computed at every end
PROBES = 20  # random directions, whose mean estimates the diagonal of a Hessian
LANCZOS_PROBES, LANCZOS_STEPS = 2, 10  # for its log determinant: with 1,000 dimensions the error is 15 nats
STEP = 1e-4  # of differences of gradients
LEAST_CURVATURE = 1e-6
NO_DENSITY = 1e300  # the minimised value of points without a density
OUT_OF_STEPS = 1  # SciPy's status of an optimisation that was stopped
FARTHEST = 3.0  # largest distance of spreads from their start, on their log scale
SPREAD_STEP = 0.02  # of differences by spreads, on their log scale
MOST_MOVES = 30  # of all spreads, and of each one
SETTLED = 1e-5  # relative gain of a step at which climbs by spreads end
STEPS_BY_SPREAD = range(-4, 5)  # points of integration, in standard deviations
WIDE = 0.1  # step for the curvature by a spread, on its log scale
LEAST_BY_SPREAD = 0.5  # least curvature by a spread; that of a prior alone is larger
NO_REST = 1e-9  # length of a residual that counts as zero
MOST_KEPT = 1_000  # most dimensions for which a Hessian is kept: with more, draws do not suffice for bridge sampling


@dataclass(frozen=True)
class Mode:
    """A mode of a density, or an end of a climb that did not reach the top of one.

    Attributes
    ----------
    point : array, shape (dimension,)
    log_density : float
        In nats, at the point; with spreads, the approximate density of the spreads, with everything else summed out.
    is_reached : bool
        Whether this is the top of a mode: the climb ended, with nothing left to gain.
    log_mass : float
        The log of the integral around it; nan if unknown.
    sd : array, shape (dimension,)
        The standard deviation of each number given all others.
    root : array, shape (dimension, dimension), or None
        root' root is the negative Hessian; None if it is only roughly known, or too large to keep.
    visits : int
        The number of starts that led here.
    is_first : bool
        Whether the first start led here.
    """

    point: np.ndarray
    log_density: float
    is_reached: bool
    log_mass: float = np.nan
    sd: np.ndarray = field(default_factory=lambda: np.ones(1))
    root: np.ndarray | None = None
    visits: int = 1
    is_first: bool = False

    def is_one_with(self, other: Mode, equal: float = EQUAL) -> bool:
        """Whether two ends belong to one mode."""
        far = np.abs(self.point - other.point).max()
        return bool(far < NEAR and abs(self.log_density - other.log_density) < equal)


def climb(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray, most_steps: int, **options: float
) -> Any:
    """Climb by L-BFGS: return SciPy's result of minimising the negative; None if no point has a density.

    Parameters
    ----------
    function : callable
        A function of a point that returns a value and its gradient; values may be infinite or nan.
    start : array, shape (dimension,)
    most_steps : int
        The largest number of gradients.
    options
        Options of SciPy's L-BFGS-B.
    """
    from scipy.optimize import minimize

    def downhill(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = function(z)
        return (-value, -gradient) if np.isfinite(value) else (NO_DENSITY, np.zeros_like(z))

    options = {"maxiter": most_steps, "maxfun": most_steps, "ftol": 1e-12, "gtol": 1e-4} | options
    found = minimize(downhill, start, jac=True, method="L-BFGS-B", options=options)
    return found if found.fun < NO_DENSITY else None


@dataclass(frozen=True)
class Surface:
    """A density to climb.

    Parameters
    ----------
    density : Density
    most_steps : int
        The largest number of gradients of a climb.
    spreads : array of bool, shape (dimension,), optional
        Which numbers are spreads of others; none by default.
    count_labellings : callable, optional
        If classes can be permuted: a function of a point that returns the number of its different permutations.
    """

    density: Density
    most_steps: int
    spreads: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=bool))
    count_labellings: Callable[[np.ndarray], int] | None = None

    @property
    def equal(self) -> float:
        """The largest difference, in nats, between tops of one mode."""
        return EQUAL_BY_SPREADS if self.spreads.any() else EQUAL

    def find_top(self, point: np.ndarray) -> Mode | None:
        """Climb from a point to the top of a mode; None if there is no density."""
        from scipy.optimize import minimize

        if not self.spreads.any():
            return self.climb_given_spreads(point)
        first = self.sum_out(point)
        if first is None or not first.is_reached:
            return first
        best, lost = first, False

        def downhill(values: np.ndarray) -> float:
            nonlocal best, lost
            moved = best.point.copy()
            moved[self.spreads] = values
            found = self.sum_out(moved, near=best)
            if found is None or not found.is_reached:  # the rest has no top there, and so no curvature
                lost = True
                return NO_DENSITY
            if found.log_density > best.log_density:
                best = found
            return -found.log_density

        begin = point[self.spreads]
        bounds = list(zip(begin - FARTHEST, begin + FARTHEST, strict=True))
        options = {"eps": SPREAD_STEP, "ftol": SETTLED, "maxfun": MOST_MOVES * (begin.size + 1), "maxls": 5}
        found = minimize(downhill, begin, method="L-BFGS-B", bounds=bounds, options=options)
        is_within = bool((abs(best.point[self.spreads] - begin) < FARTHEST).all())
        settled = found.success or not (lost or found.status == OUT_OF_STEPS)
        return replace(best, is_reached=bool(is_within and settled))

    def sum_out(self, point: np.ndarray, near: Mode | None = None) -> Mode | None:
        """Climb with fixed spreads, and sum out everything else by Laplace's method."""
        top = self.climb_given_spreads(point, near)
        if top is None:
            return None
        sd = self._estimate_sd(top.point) if near is None else near.sd
        return replace(top, log_density=top.log_density - 0.5 * self._log_det(top.point, sd), sd=sd)

    def climb_given_spreads(self, point: np.ndarray, near: Mode | None = None) -> Mode | None:
        """Climb by L-BFGS with fixed spreads; None if there is no density.

        The end is the top of a mode if L-BFGS ended regularly, and a step to the top by its own estimate of the
        curvature would gain less than the difference between two modes.

        From a point `near` a mode with known standard deviations, steps are in units of these. With hundreds of
        annotators, such a climb takes a seventh of the gradients.
        """
        whole, moves = point.copy(), self._moves(point)
        unit: Any = 1.0 if near is None else _unit_of(near.sd[moves])

        def given_spreads(z: np.ndarray) -> tuple[float, np.ndarray]:
            whole[moves] = unit * z
            value, gradient = self.density(whole)
            return value, unit * gradient[moves]

        found = climb(given_spreads, point[moves] / unit, self.most_steps)
        if found is None:
            return None
        whole[moves] = unit * found.x
        gain = 0.5 * float(found.jac @ (found.hess_inv @ found.jac))  # nats
        return Mode(whole, -float(found.fun), is_reached=bool(found.status != OUT_OF_STEPS and gain < EQUAL))

    def weigh(self, top: Mode, *, rough: bool) -> Mode:
        """Return a top with the mass around it; a rough one is estimated without the whole Hessian."""
        rest, n_dim, root = self._moves(top.point), top.point.size, None
        sd = self._estimate_sd(top.point) if rough else np.ones(n_dim)
        sd[~rest], log_integral = self._integrate_spreads(top)
        if rough:
            log_det = self._log_det(top.point, sd)
        else:
            hessian = self._compute_hessian(top.point)
            sd[rest] = 1 / np.sqrt(np.maximum(np.diag(hessian), LEAST_CURVATURE))
            of_rest, log_det = _take_root(hessian)
            if n_dim <= MOST_KEPT:
                root = np.diag(1 / sd)
                root[np.ix_(rest, rest)] = of_rest
        log_mass = self.density(top.point)[0] + 0.5 * (rest.sum() * np.log(2 * np.pi) - log_det) + log_integral
        return replace(top, log_mass=float(log_mass), sd=sd, root=root)

    def _moves(self, point: np.ndarray) -> np.ndarray:
        return np.broadcast_to(~self.spreads, point.shape)

    def _estimate_sd(self, point: np.ndarray) -> np.ndarray:
        """Return the standard deviation of each number given all others, (dimension,); 1 for spreads.

        With many numbers, it is estimated from products of the Hessian with random signs (Hutchinson).
        """
        moves, sd = self._moves(point), np.ones(point.size)
        if moves.sum() <= MOST_EXACT:
            curvature = np.diag(self._compute_hessian(point))
        else:
            signs = self._draw_signs(PROBES, moves)
            curvature = -np.mean([sign * self._differentiate(point, moves, sign) for sign in signs], axis=0)
        sd[moves] = 1 / np.sqrt(np.maximum(curvature, LEAST_CURVATURE))
        return sd

    def _log_det(self, point: np.ndarray, sd: np.ndarray) -> float:
        """Return the log determinant of the negative Hessian without the spreads.

        With many numbers, it is estimated by Lanczos quadrature in units of standard deviations, in which the matrix is
        nearly diagonal (Ubaru, Chen and Saad 2017, doi:10.1137/16M1104974). All points use the same random signs, so
        that differences between nearby points are exact to about a nat.
        """
        moves = self._moves(point)
        if moves.sum() <= MOST_EXACT:
            return _take_root(self._compute_hessian(point))[1]
        unit = _unit_of(sd[moves])

        def times(vector: np.ndarray) -> np.ndarray:
            return -unit * self._differentiate(point, moves, unit * vector)

        traces = [_trace_log(times, sign) for sign in self._draw_signs(LANCZOS_PROBES, moves)]
        return float(np.mean(traces) - 2 * np.log(unit).sum())

    @staticmethod
    def _draw_signs(n: int, moves: np.ndarray) -> np.ndarray:
        return np.random.default_rng(0).choice([-1.0, 1.0], size=(n, int(moves.sum())))

    def _compute_hessian(self, point: np.ndarray) -> np.ndarray:
        """Return the negative Hessian without the spreads."""
        moves = self._moves(point)
        hessian = -np.array([self._differentiate(point, moves, unit) for unit in np.eye(int(moves.sum()))])
        return (hessian + hessian.T) / 2

    def _differentiate(self, point: np.ndarray, moves: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the derivative of the gradient, for some of the numbers, along a direction in them."""
        by = np.zeros(point.size)
        by[moves] = STEP * direction
        return (self.density(point + by)[1] - self.density(point - by)[1])[moves] / (2 * STEP)

    def _integrate_spreads(self, top: Mode) -> tuple[np.ndarray, float]:
        """Return the standard deviation of each spread, and the log of the integral over all, relative to the top.

        Each spread is integrated separately by the trapezoidal rule, since its density is skewed.
        """
        widths, log_integral = [], 0.0
        if not top.is_reached:  # its mass is unknown
            return np.full(int(self.spreads.sum()), 1 / np.sqrt(LEAST_BY_SPREAD)), np.nan
        for place in np.flatnonzero(self.spreads):

            def rise(away: float, place: int = int(place)) -> float:
                moved = top.point.copy()
                moved[place] += away
                reached = self.sum_out(moved, near=top)
                return -np.inf if reached is None or not reached.is_reached else reached.log_density

            height = top.log_density
            bend = -(rise(-WIDE) - 2 * height + rise(WIDE)) / WIDE**2
            widths.append(1 / np.sqrt(max(bend, LEAST_BY_SPREAD) if np.isfinite(bend) else LEAST_BY_SPREAD))
            heights = [rise(widths[-1] * step) - height for step in STEPS_BY_SPREAD]
            log_integral += float(np.log(widths[-1]) + np.logaddexp.reduce(heights))
        return np.array(widths), log_integral


def _unit_of(sd: np.ndarray) -> np.ndarray:
    """Return standard deviations as units of steps, at most their median and 1: larger ones may be wrong."""
    return np.minimum(sd, min(1.0, float(np.median(sd))))


def _trace_log(times: Callable[[np.ndarray], np.ndarray], sign: np.ndarray) -> float:
    """Estimate the trace of the log of a matrix from one vector of random signs, by Lanczos quadrature.

    `times` multiplies the matrix by a vector with elements of about 1.
    """
    from scipy.linalg import eigh_tridiagonal

    size = np.sqrt(sign.size)
    basis = [sign / size]
    diagonal: list[float] = []
    beside = [1.0]
    while len(diagonal) < LANCZOS_STEPS and beside[-1] > NO_REST:
        image = times(size * basis[-1]) / size
        diagonal.append(image @ basis[-1])
        for vector in basis:
            image = image - (image @ vector) * vector
        beside.append(max(float(np.linalg.norm(image)), NO_REST))
        basis.append(image / beside[-1])
    values, vectors = eigh_tridiagonal(diagonal, beside[1:-1])
    return float(sign.size * (vectors[0] ** 2 @ np.log(np.maximum(values, LEAST_CURVATURE))))


def _take_root(hessian: np.ndarray) -> tuple[np.ndarray, float]:
    """Return a root of a matrix, which is root' root, and its log determinant."""
    try:
        root = np.linalg.cholesky(hessian).T
        return root, 2 * float(np.log(np.diag(root)).sum())
    except np.linalg.LinAlgError:  # flat in some direction, or not exactly a top
        values, vectors = np.linalg.eigh(hessian)
        values = np.maximum(values, LEAST_CURVATURE)
        return np.sqrt(values)[:, None] * vectors.T, float(np.log(values).sum())
