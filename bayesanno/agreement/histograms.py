"""Histograms of counts: tests of fit, and models of item types fitted to them.

All items of a histogram have the same number n of answers. A log-likelihood here is that of the counts, with the log
binomial coefficients but without the multinomial coefficient, unless it is called ordered.

References
----------
B. Beigman Klebanov and E. Beigman (2010), https://aclanthology.org/N10-1067 ("the paper" below).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError
from bayesanno._core.validate import check_choice, check_share
from bayesanno.data.counts import CountData


@dataclass(frozen=True, kw_only=True)
class GoodnessOfFit:
    """Pearson's chi-square of an expected histogram.

    Parameters
    ----------
    chi_square : float
        sum_j (observed_j - expected_j)^2 / expected_j; infinite if an impossible count was observed.
    df : int
        Bins - 1 - fitted parameters (footnote 3 of the paper).
    p_value, critical : float
        The p-value, and the value that chi_square must not exceed; nan if df is 0.
    level : float
        The level of the test.
    rejected : bool
        Whether chi_square exceeds the critical value.
    """

    chi_square: float
    df: int
    p_value: float
    level: float
    critical: float
    rejected: bool


def count_histogram(data: CountData | ArrayLike) -> np.ndarray:
    """Return how many items have 0, 1, ..., n successes.

    Parameters
    ----------
    data : CountData, or array of shape (n + 1,)
        Counts, or a histogram, which is checked and returned; its entries need not be whole numbers.

    Returns
    -------
    array, shape (n + 1,)

    Raises
    ------
    DataError
        If items have different numbers of trials, or the array is not a histogram.

    Examples
    --------
    >>> from bayesanno import CountData
    >>> count_histogram(CountData(items=("a", "b", "c"), successes=[0, 3, 3], trials=[3, 3, 3]))
    array([1., 0., 0., 2.])
    """
    if isinstance(data, CountData):
        trials = int(data.trials[0])
        other = np.flatnonzero(data.trials != trials)
        if other.size:
            raise DataError(
                f"item {data.items[other[0]]!r} has {data.trials[other[0]]} trials and item {data.items[0]!r} "
                f"{trials}: a histogram needs items with equal numbers of trials, so select such items"
            )
        return np.bincount(data.successes, minlength=trials + 1).astype(float)
    try:
        histogram = np.asarray(data, dtype=float)  # (bin,)
    except (TypeError, ValueError):
        raise DataError(f"CountData or a histogram of numbers is needed, not {type(data).__name__}") from None
    if histogram.ndim != 1 or histogram.size < 2:
        raise DataError(f"a histogram has one entry for each of 0, 1, ..., n successes, not shape {histogram.shape}")
    if not (np.isfinite(histogram) & (histogram >= 0)).all() or not histogram.any():
        raise DataError("a histogram has entries of 0 or more, at least one of them above 0")
    return histogram


def mix_binomials(weight: np.ndarray, rate: np.ndarray, trials: int) -> np.ndarray:
    """Return Pr(x = j) = C(n, j) sum_t weight_t rate_t^j (1 - rate_t)^(n - j) for j = 0..n (section 2 of the paper)."""
    from scipy.special import xlog1py, xlogy

    # In place of scipy.stats.binom.pmf, which takes no complex rates and raises an OverflowError at rates of 1e-308.
    bins, rates = np.arange(trials + 1), rate[:, None]  # (bin,), (type, 1)
    logs = log_binomial_coefficients(trials) + xlogy(bins, rates) + xlog1py(trials - bins, -rates)
    return weight @ np.exp(logs)


def mix_gaussians(weight: np.ndarray, mean: np.ndarray, sd: np.ndarray, trials: int) -> np.ndarray:
    """Return the density of a mixture of normal distributions at 0, 1, ..., n (section 5, footnote 6 of the paper)."""
    away = (np.arange(trials + 1)[:, None] - mean) / sd  # (bin, type)
    return np.exp(-0.5 * away**2) @ (weight / sd) / np.sqrt(2 * np.pi)


def dilute_rates(rate: np.ndarray, diligence: float, lazy_rate: float) -> np.ndarray:
    """Return the rates of item types if some answers are lazy (section 6 of the paper).

    An answer is diligent with probability `diligence`, and then positive at the rate of the item's type; otherwise at
    `lazy_rate`. The paper's sum over the number r of diligent answers begins at 1; here it includes r = 0, as it must.
    """
    return diligence * rate + (1 - diligence) * lazy_rate


def chi_square_test(
    data: CountData | ArrayLike, expected: ArrayLike, *, n_parameters: int = 0, level: float = 0.05
) -> GoodnessOfFit:
    """Compare a histogram with an expected one by Pearson's chi-square test; as in the paper, bins are not merged.

    Parameters
    ----------
    data : CountData, or array of shape (n + 1,)
        The observed counts.
    expected : array, shape (n + 1,)
        Expected numbers of items, not probabilities.
    n_parameters : int
        The number of parameters fitted to these data.
    level : float
        The level of the test, between 0 and 1.

    Raises
    ------
    DataError
        If the shapes differ, or an argument is out of its range.

    Examples
    --------
    >>> fit = chi_square_test([18, 55, 27], [25, 50, 25])
    >>> round(fit.chi_square, 4), fit.df, round(fit.p_value, 4), fit.rejected
    (2.62, 2, 0.2698, False)
    """
    from scipy.stats import chi2

    observed = count_histogram(data)  # (bin,)
    means = np.asarray(expected, dtype=float)  # (bin,)
    if means.shape != observed.shape:
        raise DataError(f"the expected histogram has shape {means.shape}, the observed one {observed.shape}")
    if not (np.isfinite(means) & (means >= 0)).all():
        raise DataError("the expected histogram has an entry that is negative or not finite")
    check_share("level", level)
    df = observed.size - 1 - n_parameters
    if df < 0 or n_parameters < 0:
        raise DataError(
            f"{n_parameters} fitted parameters and {observed.size} bins leave {df} degrees of freedom: there must be "
            f"0 to {observed.size - 1} parameters"
        )
    chi_square = float(measure_chi_square(observed, means))
    critical = float(chi2.isf(level, df))  # nan without degrees of freedom
    return GoodnessOfFit(
        chi_square=chi_square,
        df=df,
        p_value=float(chi2.sf(chi_square, df)),
        level=level,
        critical=critical,
        rejected=chi_square > critical,
    )


def measure_chi_square(seen: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return the chi-square of histograms (..., bin), (...); infinite if an impossible count was observed."""
    possible = expected > 0
    squares = (seen - expected) ** 2 / np.where(possible, expected, 1.0)  # (..., bin)
    return np.where(possible, squares, np.where(seen > 0, np.inf, 0.0)).sum(axis=-1)


def log_binomial_coefficients(trials: int) -> np.ndarray:
    """Return log C(trials, j) for j = 0..trials, (trials + 1,)."""
    from scipy.special import betaln

    bins = np.arange(trials + 1)
    return -np.log(trials + 1) - betaln(bins + 1, trials - bins + 1)


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
