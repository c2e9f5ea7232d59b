"""The mass of a mode, by Laplace's method, from the curvature at its top.

Where parameters' spreads are learnt, all else is summed out given the spreads, and the spreads after that (Rue, Martino
and Chopin 2009, doi:10.1111/j.1467-9868.2008.00700.x, do so for Gaussian fields): the curvature by the spreads is that
of the log of the sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesanno.inference.graph.density import Density
from bayesanno.inference.modes.tops import (
    LEAST_CURVATURE,
    Top,
    differentiate,
    estimate_curvature,
    sum_out,
)

MOST_KEPT = 1_000  # dimensions of which a Hessian is kept: of more, no draws suffice for what it is for
WIDE = 0.1  # how far spreads are moved, on their log scale, to see how their density bends
LEAST_BY_SPREAD = 0.5  # curvature of the log of the sum: that of a prior alone is more


@dataclass(frozen=True)
class Weight:
    """What is around a top.

    Attributes
    ----------
    log_mass : float
        The log of the integral.
    sd : array, shape (dimension,)
        The standard deviation of each number given all others.
    root : array, shape (dimension, dimension), or None
        root' root is the negative Hessian; None where that is known but roughly, or too large to keep.
    """

    log_mass: float
    sd: np.ndarray
    root: np.ndarray | None


def weigh_top(density: Density, top: Top, most_steps: int, spreads: np.ndarray, *, rough: bool) -> Weight:
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
    """
    rest, n_dim = ~spreads, spreads.size
    by_spread = _curve_by_spreads(density, top, most_steps, spreads)
    curvature, root = np.ones(n_dim), None
    curvature[spreads] = by_spread
    if rough:
        curvature[rest] = estimate_curvature(density, top.point, rest)
        log_det = float(np.log(curvature).sum())
    else:
        hessian = -np.array([differentiate(density, top.point, rest, unit) for unit in np.eye(int(rest.sum()))])
        curvature[rest] = np.maximum(np.diag(hessian), LEAST_CURVATURE)
        of_rest, log_det = _take_root((hessian + hessian.T) / 2)
        log_det += float(np.log(by_spread).sum())
        if n_dim <= MOST_KEPT:
            root = np.diag(np.sqrt(curvature))
            root[np.ix_(rest, rest)] = of_rest
    log_mass = density(top.point)[0] + 0.5 * (n_dim * np.log(2 * np.pi) - log_det)
    return Weight(log_mass, 1 / np.sqrt(curvature), root)


def _take_root(hessian: np.ndarray) -> tuple[np.ndarray, float]:
    """Return a root of a matrix, root' root, and the log of its determinant."""
    try:
        root = np.linalg.cholesky(hessian).T
        return root, 2 * float(np.log(np.diag(root)).sum())
    except np.linalg.LinAlgError:  # flat somewhere, or not quite a top
        values, vectors = np.linalg.eigh(hessian)
        values = np.maximum(values, LEAST_CURVATURE)
        return np.sqrt(values)[:, None] * vectors.T, float(np.log(values).sum())


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
