"""A log density with its modes: an ascent by L-BFGS, and the integral around its end by Laplace's method.

The curvature is computed from differences of gradients (Tierney and Kadane 1986, doi:10.1080/01621459.1986.10478240).
Such an integral shows which modes may be probable; `bayesanno.inference.modes.search` estimates how probable they are.

If a model learns scale parameters, its density is highest where all that has this scale is equal, with almost no
probability there. So ascents keep the scales: their ends are conditional modes, which are told apart by the labels of
the items, and whose integral is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayesanno.graph.density import Density
from bayesanno.inference.diagnosis.thresholds import FEW_ITEMS_DIFFER

NEAR = 0.5  # largest difference of two ends of one mode, in any number
EQUAL = 0.05  # largest difference of their log densities, in nats
MOST_EXACT = 100  # most dimensions for which a Hessian is computed at every end
PROBES = 20  # random directions, whose mean estimates the diagonal of a Hessian
STEP = 1e-4  # of differences of gradients
LEAST_CURVATURE = 1e-6  # of one number given all others
NO_DENSITY = 1e300  # the minimised value of points without a density
OUT_OF_STEPS = 1  # SciPy's status of an optimisation that was stopped
MOST_KEPT = 1_000  # most dimensions for which a Hessian is kept: with more, draws do not suffice to weigh modes


@dataclass(frozen=True)
class Mode:
    """A mode of a density, or an end of an ascent that did not reach one.

    Attributes
    ----------
    point : array, shape (dimension,)
    log_density : float
        In nats, at the point; with scale parameters, at the scales that the ascent kept.
    is_reached : bool
        Whether this is a mode: the ascent ended, with nothing left to gain.
    log_integral : float
        The log of the integral of the density around it by Laplace's method; nan if unknown.
    share : float
        The share of the posterior uphill of which it is, up to a constant common to all modes; nan if unknown.
    sd : array, shape (dimension,)
        The standard deviation of each number given all others; 1 for scale parameters.
    root : array, shape (dimension, dimension), or None
        root' root is the negative Hessian; None if it is only roughly known, or too large to keep.
    states : array of int, shape (item,), or None
        The most probable state of each item, if modes are told apart by these.
    visits : int
        The number of starts that led here.
    is_first : bool
        Whether the first start led here.
    """

    point: np.ndarray
    log_density: float
    is_reached: bool
    log_integral: float = np.nan
    share: float = np.nan
    sd: np.ndarray = field(default_factory=lambda: np.ones(1))
    root: np.ndarray | None = None
    states: np.ndarray | None = None
    visits: int = 1
    is_first: bool = False

    def is_one_with(self, other: Mode) -> bool:
        """Whether two ends belong to one mode: they are close, or give almost all items the same label."""
        if self.states is not None and other.states is not None:
            return bool((self.states != other.states).sum() <= max(1.0, FEW_ITEMS_DIFFER * self.states.size))
        far = np.abs(self.point - other.point).max()
        return bool(far < NEAR and abs(self.log_density - other.log_density) < EQUAL)


def merge[M: Mode](ends: Sequence[M], are_one: Callable[[M, M], bool]) -> list[M]:
    """Return the highest end of each mode, the highest mode first, with the visits of all its ends."""
    modes: list[M] = []
    for end in sorted(ends, key=lambda end: -end.log_density):
        at = next((at for at, mode in enumerate(modes) if are_one(end, mode)), None)
        if at is None:
            modes.append(end)
        else:
            mode = modes[at]
            modes[at] = replace(mode, visits=mode.visits + end.visits, is_first=mode.is_first or end.is_first)
    return modes


def maximize(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray, most_steps: int, **options: float
) -> Any:
    """Maximise by L-BFGS: return SciPy's result of minimising the negative; None if no point has a density.

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

    options = {"maxiter": most_steps, "maxfun": most_steps, "ftol": 1e-12, "gtol": 1e-6} | options
    found = minimize(downhill, start, jac=True, method="L-BFGS-B", options=options)
    return found if found.fun < NO_DENSITY else None


@dataclass(frozen=True)
class LogDensity:
    """A log density whose modes are looked for.

    Parameters
    ----------
    density : Density
    most_steps : int
        The largest number of gradients of an ascent.
    scales : array of bool, shape (dimension,), optional
        Which numbers are scale parameters of others; none by default.
    count_labellings : callable, optional
        If classes can be permuted: a function of a point that returns the number of its different permutations.
    read_states : callable, optional
        A function of points (point, dimension) that returns the most probable state of each item, (point, item).
    """

    density: Density
    most_steps: int
    scales: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=bool))
    count_labellings: Callable[[np.ndarray], int] | None = None
    read_states: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def has_scales(self) -> bool:
        """Whether some numbers are scale parameters, so that no integral is known by Laplace's method."""
        return bool(self.scales.any())

    def maximize(self, point: np.ndarray) -> Mode | None:
        """Ascend from a point to a mode, at the scale parameters of the density's start; None without a density.

        The end is a mode if L-BFGS ended regularly, and a step to the top by its own estimate of the curvature would
        gain less than the difference between two modes.
        """
        whole = np.where(self.scales, self.density.start, point) if self.has_scales else point.copy()
        moves = np.broadcast_to(~self.scales, point.shape)

        def given_scales(z: np.ndarray) -> tuple[float, np.ndarray]:
            whole[moves] = z
            value, gradient = self.density(whole)
            return value, gradient[moves]

        found = maximize(given_scales, point[moves], self.most_steps)
        if found is None:
            return None
        whole[moves] = found.x
        gain = 0.5 * float(found.jac @ (found.hess_inv @ found.jac))  # nats
        return Mode(whole, -float(found.fun), is_reached=bool(found.status != OUT_OF_STEPS and gain < EQUAL))

    def describe(self, modes: Sequence[Mode], *, rough: bool) -> list[Mode]:
        """Return modes with standard deviations, and with their integrals, or the states of items if there are scales.

        A rough integral is estimated without the correlations of the numbers. An end where the density curves upwards
        in some direction is no mode, and has no integral.
        """
        if self.has_scales and self.read_states is not None and modes:
            states = self.read_states(np.array([mode.point for mode in modes]))
            return [
                replace(mode, sd=self._estimate_sd(mode.point), states=own)
                for mode, own in zip(modes, states, strict=True)
            ]
        return [self._integrate(mode, rough=rough) for mode in modes]

    def _integrate(self, mode: Mode, *, rough: bool) -> Mode:
        root = None
        if rough:
            sd = self._estimate_sd(mode.point)
            log_det = -2 * float(np.log(sd).sum())
        else:
            hessian = self._compute_hessian(mode.point)
            sd = 1 / np.sqrt(np.maximum(np.diag(hessian), LEAST_CURVATURE))
            try:
                root = np.linalg.cholesky(hessian).T
            except np.linalg.LinAlgError:
                return replace(mode, is_reached=False, sd=sd)
            log_det = 2 * float(np.log(np.diag(root)).sum())
            root = root if sd.size <= MOST_KEPT else None
        log_integral = self.density(mode.point)[0] + 0.5 * (sd.size * np.log(2 * np.pi) - log_det)
        return replace(mode, log_integral=float(log_integral), sd=sd, root=root)

    def _estimate_sd(self, point: np.ndarray) -> np.ndarray:
        """Return the standard deviation of each number given all others, (dimension,); 1 for scale parameters.

        With many numbers, it is estimated from products of the Hessian with random signs (Hutchinson).
        """
        if point.size <= MOST_EXACT:
            curvature = np.diag(self._compute_hessian(point))
        else:
            signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(PROBES, point.size)) * ~self.scales
            curvature = -np.mean([sign * self._differentiate(point, sign) for sign in signs], axis=0)
        return np.where(self.scales, 1.0, 1 / np.sqrt(np.maximum(curvature, LEAST_CURVATURE)))

    def _compute_hessian(self, point: np.ndarray) -> np.ndarray:
        """Return the negative Hessian."""
        hessian = -np.array([self._differentiate(point, unit) for unit in np.eye(point.size)])
        return (hessian + hessian.T) / 2

    def _differentiate(self, point: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the derivative of the gradient along a direction."""
        by = STEP * direction
        return (self.density(point + by)[1] - self.density(point - by)[1]) / (2 * STEP)
