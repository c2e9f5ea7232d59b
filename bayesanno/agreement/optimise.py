"""The best of several optima: what a fit to a histogram minimises, from where, and how.

The invariant: the same question has the same answer. The starting points are a Halton sequence, without a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, get_args

import numpy as np

from bayesanno.ground.errors import DataError

Method = Literal["likelihood", "least_squares", "chi_square"]
Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]

STARTS = 32
_FLOOR = 1e-100  # stands for a probability of 0 whose logarithm or inverse is wanted


def make_criterion(histogram: np.ndarray, method: str) -> Objective:
    """Return what a method minimises, as a function of the bins' probabilities: the value and its gradient.

    Raises
    ------
    DataError
        If there is no such method.
    """
    from scipy.special import xlogy

    if method not in get_args(Method):
        raise DataError(f"no method {method!r}: choose one of {', '.join(get_args(Method))}")
    share = histogram / histogram.sum()  # (bin,)
    scale = float(share @ share)  # brings squares to order 1, as tolerances expect

    def criterion(probability: np.ndarray) -> tuple[float, np.ndarray]:
        if method == "least_squares":
            away = probability - share
            return float(away @ away) / scale, 2 * away / scale
        chance = np.maximum(probability, _FLOOR)
        if method == "likelihood":
            return -float(xlogy(share, chance).sum()), -share / chance
        return float(((share - chance) ** 2 / chance).sum()), 1 - (share / chance) ** 2

    return criterion


def spread(dimensions: int) -> np.ndarray:
    """Return points that fill the unit cube evenly, always the same, shape (start, dimension)."""
    from scipy.stats import qmc

    points: np.ndarray = qmc.Halton(dimensions, scramble=False).random(STARTS + 1)[1:]  # the first is the corner 0
    return points


def minimise(
    objective: Objective, starts: Iterable[np.ndarray], bounds: Sequence[tuple[float, float]], *, n_weights: int = 0
) -> np.ndarray:
    """Return the best of the minima reached from the starts, within the bounds.

    The first `n_weights` values are kept at a sum of 1.
    """
    from scipy.optimize import minimize

    lower, upper = np.array(bounds, dtype=float).T
    total = np.arange(lower.size) < n_weights
    simplex = {"type": "eq", "fun": lambda values: values[:n_weights].sum() - 1, "jac": lambda _: total.astype(float)}
    found = [
        minimize(
            lambda values: objective(np.clip(values, lower, upper)),
            start,
            jac=True,
            method="SLSQP",
            bounds=bounds,
            constraints=[simplex] if n_weights else [],
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        for start in starts
    ]
    best: np.ndarray = np.clip(min(found, key=lambda result: float(result.fun)).x, lower, upper)
    return best
