"""The best of several optima of a fit to a histogram; the starting points are a Halton sequence, without a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, get_args

import numpy as np

from bayesanno._core.errors import DataError
from bayesanno._core.validate import check_choice

Method = Literal["likelihood", "least_squares", "chi_square"]

STARTS = 32
SMALLEST = 1e-100  # replaces a probability of 0 where its logarithm or inverse is needed


def measure_misfit(probability: np.ndarray, share: np.ndarray, method: str) -> Any:
    """Return the loss of a method from probabilities and shares of the bins; complex if a probability is."""
    from scipy.special import xlogy

    if method == "least_squares":
        return ((probability - share) ** 2).sum() / (share**2).sum()  # of order 1, as tolerances expect
    chance = np.maximum(probability, SMALLEST)
    if method == "likelihood":
        return -xlogy(share, chance).sum()
    return ((share - chance) ** 2 / chance).sum()


def spread(dimensions: int) -> np.ndarray:
    """Return points that fill the unit cube evenly, (start, dimension), without randomness."""
    from scipy.stats import qmc

    return qmc.Halton(dimensions, scramble=False).random(STARTS + 1)[1:]  # the first is the corner 0


def minimise_misfit(
    predict: Callable[[np.ndarray], np.ndarray],
    histogram: np.ndarray,
    method: str,
    starts: Iterable[np.ndarray],
    bounds: Sequence[tuple[float, float]],
    *,
    n_weights: int = 0,
) -> np.ndarray:
    """Return the values within bounds with the lowest loss: the best of the minima reached from the starts.

    `predict` returns the probabilities of the bins for given values, which may be complex. The first `n_weights` of the
    values must sum to 1. An unknown method raises a DataError.
    """
    from scipy.optimize import minimize

    check_choice(f"no method {method!r}", method, get_args(Method), DataError)
    if method == "chi_square":  # far from its minimum it is huge, and searches may not converge
        starts = [*starts, minimise_misfit(predict, histogram, "likelihood", starts, bounds, n_weights=n_weights)]
    share = histogram / histogram.sum()  # (bin,)
    simplex = {"type": "eq", "fun": lambda values: values[:n_weights].sum() - 1}
    found = [
        minimize(
            lambda values: measure_misfit(predict(values), share, method),
            start,
            jac="cs",  # complex step, exact up to rounding
            method="SLSQP",
            bounds=bounds,
            constraints=[simplex] if n_weights else [],
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        for start in starts
    ]
    best: np.ndarray = np.clip(min(found, key=lambda result: float(result.fun)).x, *np.transpose(bounds))
    best[:n_weights] /= best[:n_weights].sum()
    return best
