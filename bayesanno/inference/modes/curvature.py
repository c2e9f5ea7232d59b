"""What a mode weighs, by Laplace's method, from the curvature at its top.

Where parameters' spreads are learnt, all else is summed out given the spreads, and the spreads after that (Rue, Martino
and Chopin 2009, doi:10.1111/j.1467-9868.2008.00700.x, do so for Gaussian fields): the curvature by the spreads is that
of the log of the sum.
"""

from __future__ import annotations

import numpy as np

from bayesanno.inference.graph.density import Density
from bayesanno.inference.modes.tops import (
    LEAST_CURVATURE,
    Top,
    differentiate,
    estimate_curvature,
    sum_out,
)

WIDE = 0.1  # how far spreads are moved, on their log scale, to see how their density bends
LEAST_BY_SPREAD = 0.5  # curvature of the log of the sum: that of a prior alone is more


def weigh_top(
    density: Density, top: Top, most_steps: int, spreads: np.ndarray, *, rough: bool
) -> tuple[float, np.ndarray]:
    """Estimate the mass around a top.

    Parameters
    ----------
    density : Density
    top : Top
    most_steps : int
        How many gradients a climb may take.
    spreads : array of bool, shape (dimension,)
    rough : bool
        Whether to do with the Hessian's diagonal.

    Returns
    -------
    float
        The log of the integral.
    array, shape (dimension,)
        The standard deviation of each number given all others.
    """
    rest = ~spreads
    if rough:
        diagonal = estimate_curvature(density, top.point, rest)
        log_det = float(np.log(diagonal).sum())
    else:
        hessian = -np.array([differentiate(density, top.point, rest, unit) for unit in np.eye(int(rest.sum()))])
        diagonal = np.maximum(np.diag(hessian), LEAST_CURVATURE)
        log_det = _log_determinant((hessian + hessian.T) / 2)
    by_spread = _curve_by_spreads(density, top, most_steps, spreads)
    log_det += float(np.log(by_spread).sum())
    curvature = np.ones(top.point.size)
    curvature[rest], curvature[spreads] = diagonal, by_spread
    log_mass = density(top.point)[0] + 0.5 * (top.point.size * np.log(2 * np.pi) - log_det)
    return log_mass, 1 / np.sqrt(curvature)


def _log_determinant(hessian: np.ndarray) -> float:
    try:
        return 2 * float(np.log(np.diag(np.linalg.cholesky(hessian))).sum())
    except np.linalg.LinAlgError:  # flat somewhere, or not quite a top
        return float(np.log(np.maximum(np.linalg.eigvalsh(hessian), LEAST_CURVATURE)).sum())


def _curve_by_spreads(density: Density, top: Top, most_steps: int, spreads: np.ndarray) -> np.ndarray:
    """Return the curvature, by each spread, of the log of the density with all else summed out."""
    found = []
    for place in np.flatnonzero(spreads):
        heights = []
        for away in (-WIDE, 0.0, WIDE):
            moved = top.point.copy()
            moved[place] += away
            reached = sum_out(density, moved, most_steps, spreads)
            heights.append(-np.inf if reached is None else reached.log_density)
        found.append(-(heights[0] - 2 * heights[1] + heights[2]) / WIDE**2)
    return np.clip(found, LEAST_BY_SPREAD, None)
