"""How far histograms of successes are from what each draw of a model of counts expects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesanno.agreement.histograms import log_binomial_coefficients
from bayesanno.data.counts import CountData
from bayesanno.modeling.posterior import log_likelihood_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import xarray

    from bayesanno.modeling.base import AnnotationModel


def expected_histograms(
    model: AnnotationModel, data: CountData, draws: xarray.Dataset, known: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Return how many items each draw expects to have 0, 1, 2, ... successes, (draw, bin); trials are those of all."""
    trials = int(data.trials[0])
    bins = np.arange(trials + 1)
    every = CountData(items=tuple(map(str, bins)), successes=bins, trials=np.full_like(bins, trials))
    ordered = log_likelihood_of(model, every, draws, known)
    probability = np.exp(ordered.reshape(-1, trials + 1) + log_binomial_coefficients(trials))  # (draw, bin)
    expected: np.ndarray = data.n_items * probability / probability.sum(axis=1, keepdims=True)  # of rounding errors
    return expected


def measure_chi_square(seen: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return the chi-square of each draw, (draw,); infinite where something was seen that could not be.

    Parameters
    ----------
    seen, expected : array, shape (draw, bin)
        What was seen may be the same for all draws, (bin,).
    """
    possible = expected > 0
    squares = (seen - expected) ** 2 / np.where(possible, expected, 1.0)  # (draw, bin)
    total: np.ndarray = np.where(possible, squares, np.where(seen > 0, np.inf, 0.0)).sum(axis=1)
    return total
