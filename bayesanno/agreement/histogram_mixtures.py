"""Models of item types fitted to a histogram of counts, by least squares, chi-square or likelihood, without a seed.

References
----------
B. Beigman Klebanov and E. Beigman (2010), https://aclanthology.org/N10-1067 ("the paper" below).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayesanno._core.errors import DataError
from bayesanno._core.lazy import pd
from bayesanno.agreement.histograms import (
    GoodnessOfFit,
    chi_square_test,
    count_histogram,
    dilute_rates,
    log_binomial_coefficients,
    mix_binomials,
    mix_gaussians,
)
from bayesanno.agreement.optimise import Method, minimise_misfit, spread
from bayesanno.data.counts import CountData

NARROWEST_SD = 0.25  # a narrower density is a spike on one bin


@dataclass(frozen=True, kw_only=True, eq=False)
class HistogramFit:
    """A model fitted to a histogram.

    Parameters
    ----------
    expected : array, shape (n + 1,)
        The expected histogram.
    goodness : GoodnessOfFit
        Its chi-square test.
    """

    expected: np.ndarray
    goodness: GoodnessOfFit


@dataclass(frozen=True, kw_only=True, eq=False)
class LikelihoodFit(HistogramFit):
    """A `HistogramFit` of a model that assigns a probability to each bin.

    Parameters
    ----------
    method : str
    log_likelihood, ordered_log_likelihood : float
        The log likelihood of the counts, and of the answers in their order, without log binomial coefficients.
    """

    method: str
    log_likelihood: float
    ordered_log_likelihood: float


@dataclass(frozen=True, kw_only=True, eq=False)
class BinomialFit(LikelihoodFit):
    """A `LikelihoodFit` of a mixture of binomials, with 2 k - 1 parameters.

    Parameters
    ----------
    weight, rate : tuple of float
        The share of each item type, and its probability of a positive answer, by ascending rate.
    """

    weight: tuple[float, ...]
    rate: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianFit(HistogramFit):
    """A `HistogramFit` of two normal distributions, with 5 parameters; `expected` need not sum to the number of items.

    Parameters
    ----------
    weight, mean, sd : tuple of float
        The parameters, by ascending mean.
    """

    weight: tuple[float, ...]
    mean: tuple[float, ...]
    sd: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class DiligenceFit(LikelihoodFit):
    """A `LikelihoodFit` of the share of diligent answers and the habit of the lazy ones: 2 parameters.

    Parameters
    ----------
    diligence, lazy_rate : float
        xi_D, the probability that an answer is diligent, and p_L, that a lazy answer is positive.
    """

    diligence: float
    lazy_rate: float


def fit_binomials(
    data: CountData | ArrayLike, types: int, *, method: Method = "likelihood", level: float = 0.05
) -> BinomialFit:
    """Fit a mixture of binomials to a histogram (section 4 of the paper).

    Parameters
    ----------
    data : CountData, or array of shape (n + 1,)
        Items with the same number n of answers, or their histogram.
    types : int
        k, the number of item types; 2 k - 1 parameters are fitted.
    method : {"likelihood", "least_squares", "chi_square"}
        The paper uses least squares.
    level : float
        The level of the test of fit.

    Raises
    ------
    DataError
        As from `count_histogram`; also if there are too many types for the data, or the method is unknown.

    Examples
    --------
    >>> fit = fit_binomials([5, 25, 90, 105, 103, 65, 62, 59, 108, 105, 73], 2, method="least_squares")
    >>> [round(value, 3) for value in (*fit.weight, *fit.rate, fit.goodness.chi_square)]
    [0.552, 0.448, 0.347, 0.836, 13.278]
    """
    histogram = count_histogram(data)
    trials = histogram.size - 1
    seen = int((histogram > 0).sum())
    if types < 1:
        raise DataError(f"types is {types}: it must be 1 or more")
    if types > seen:
        raise DataError(f"{types} types of item, but only {seen} different counts in the data: fit at most {seen}")
    if 2 * types - 1 > trials:
        raise DataError(
            f"{types} types of item cannot be distinguished with n = {trials} answers per item: fit at most "
            f"{(trials + 1) // 2}"
        )

    def predict(values: np.ndarray) -> np.ndarray:
        return mix_binomials(values[:types], values[types:], trials)

    below = histogram.cumsum() / histogram.sum()  # (bin,)
    middle = np.searchsorted(below, (np.arange(types) + 0.5) / types)  # the counts in the middle of k equal parts
    rates = [(middle + 0.5) / (trials + 1), *spread(types)]
    starts = [np.concatenate([np.full(types, 1 / types), rate]) for rate in rates]
    best = minimise_misfit(predict, histogram, method, starts, [(0, 1)] * (2 * types), n_weights=types)
    weight, rate = _order(best.reshape(2, types))
    explained = _explain_histogram(histogram, predict(best), method, n_parameters=2 * types - 1, level=level)
    return BinomialFit(weight=weight, rate=rate, **explained)


def fit_gaussians(data: CountData | ArrayLike, *, level: float = 0.05) -> GaussianFit:
    """Fit two normal distributions, with sd of at least 0.25, to a histogram by least squares (section 5 of the paper).

    Parameters
    ----------
    data, level
        As for `fit_binomials`.

    Raises
    ------
    DataError
        As from `count_histogram`, or if items have fewer than 5 answers.

    Examples
    --------
    >>> fit = fit_gaussians([5, 25, 90, 105, 103, 65, 62, 59, 108, 105, 73])
    >>> [round(value, 2) for value in (*fit.mean, *fit.sd, fit.goodness.chi_square)]
    [3.36, 8.57, 1.5, 1.43, 15.73]
    """
    histogram = count_histogram(data)
    trials = histogram.size - 1
    if trials < 5:
        raise DataError(f"{trials} answers per item are too few for the 5 parameters of two normal distributions")

    def predict(values: np.ndarray) -> np.ndarray:
        weight, mean, sd = values.reshape(3, 2)
        return mix_gaussians(weight, mean, sd, trials)

    starts = [
        np.concatenate([[0.5, 0.5], trials * mean, np.full(2, trials * width)])
        for mean in spread(2)
        for width in (0.1, 0.25)
    ]
    bounds = [(0.0, 1.0)] * 2 + [(-float(trials), 2.0 * trials)] * 2 + [(NARROWEST_SD, 2.0 * trials)] * 2
    best = minimise_misfit(predict, histogram, "least_squares", starts, bounds, n_weights=2)
    weight, mean, sd = _order(best.reshape(3, 2))
    expected = histogram.sum() * predict(best)
    goodness = chi_square_test(histogram, expected, n_parameters=5, level=level)
    return GaussianFit(weight=weight, mean=mean, sd=sd, expected=expected, goodness=goodness)


def fit_diligence(
    data: CountData | ArrayLike,
    weight: ArrayLike,
    rate: ArrayLike,
    *,
    method: Method = "likelihood",
    level: float = 0.05,
) -> DiligenceFit:
    """Fit the share of diligent answers and the habit of the lazy ones, given the item types (section 6 of the paper).

    Parameters
    ----------
    data, method, level
        As for `fit_binomials`.
    weight, rate : array, shape (type,)
        The item types for diligent annotators, which are not fitted. Weights are normalised.

    Raises
    ------
    DataError
        As from `count_histogram`; also if items have a single answer, or an argument is out of its range.

    Examples
    --------
    >>> seen = [5, 25, 90, 105, 103, 65, 62, 59, 108, 105, 73]
    >>> fit = fit_diligence(seen, [343, 159, 298], [0.1978, 0.5487, 0.8942], method="least_squares")
    >>> round(fit.diligence, 2), round(fit.lazy_rate, 2)
    (0.79, 0.74)
    """
    histogram = count_histogram(data)
    trials = histogram.size - 1
    if trials < 2:
        raise DataError("items have a single answer: two or more are needed to distinguish diligent from lazy answers")
    weights, rates = np.asarray(weight, dtype=float), np.asarray(rate, dtype=float)  # (type,)
    if weights.ndim != 1 or weights.shape != rates.shape or not weights.size:
        raise DataError(f"weights and rates must be two rows of equal length, not {weights.shape} and {rates.shape}")
    if not (np.isfinite(weights) & (weights >= 0)).all() or not weights.any():
        raise DataError(f"weights are {weights.tolist()}: they must be 0 or more, and not all 0")
    if not ((rates >= 0) & (rates <= 1)).all():
        raise DataError(f"rates are {rates.tolist()}: they must be between 0 and 1")
    shares = weights / weights.sum()

    def predict(values: np.ndarray) -> np.ndarray:
        return mix_binomials(shares, dilute_rates(rates, values[0], values[1]), trials)

    best = minimise_misfit(predict, histogram, method, spread(2), [(0, 1)] * 2)
    explained = _explain_histogram(histogram, predict(best), method, n_parameters=2, level=level)
    return DiligenceFit(diligence=float(best[0]), lazy_rate=float(best[1]), **explained)


def select_n_types(
    data: CountData | ArrayLike, *, method: Method = "likelihood", level: float = 0.05, first: int = 1
) -> pd.DataFrame:
    """Add item types until the mixture of binomials is not rejected, or no degrees of freedom are left (section 4).

    Parameters
    ----------
    data, method, level
        As for `fit_binomials`.
    first : int
        The first number of types; the paper begins with 2.

    Returns
    -------
    DataFrame
        One row per mixture tried: types, log_likelihood, chi_square, df, p_value, rejected.

    Raises
    ------
    DataError
        As from `fit_binomials`, for the first mixture.

    Examples
    --------
    >>> table = select_n_types([5, 25, 90, 105, 103, 65, 62, 59, 108, 105, 73])
    >>> table[["types", "df", "rejected"]].to_numpy().tolist()
    [[1, 9, True], [2, 7, False]]
    """
    histogram = count_histogram(data)
    last = max(first, min((histogram.size - 1) // 2, int((histogram > 0).sum())))
    rows = []
    for types in range(first, last + 1):
        fit = fit_binomials(histogram, types, method=method, level=level)
        rows.append({"types": types, "log_likelihood": fit.log_likelihood, **asdict(fit.goodness)})
        if not fit.goodness.rejected:
            break
    return pd.DataFrame(rows).drop(columns=["level", "critical"])


def _order(types: np.ndarray) -> list[tuple[float, ...]]:
    """Return the parameters of types (parameter, type), sorted by the second parameter (rate or mean)."""
    return [tuple(values) for values in types[:, np.argsort(types[1], kind="stable")].tolist()]


def _explain_histogram(
    histogram: np.ndarray, probability: np.ndarray, method: str, *, n_parameters: int, level: float
) -> dict[str, Any]:
    """Return the fields of a fit that follow from the fitted probabilities of the bins, by name."""
    from scipy.special import xlogy

    expected, log_likelihood = histogram.sum() * probability, float(xlogy(histogram, probability).sum())
    return {
        "method": method,
        "expected": expected,
        "log_likelihood": log_likelihood,
        "ordered_log_likelihood": log_likelihood - float(histogram @ log_binomial_coefficients(histogram.size - 1)),
        "goodness": chi_square_test(histogram, expected, n_parameters=n_parameters, level=level),
    }
