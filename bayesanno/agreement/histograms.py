"""Histograms of counts: how many items got 0, 1, ..., n positive answers, expected histograms, and tests of fit.

All items of a histogram have the same number n of answers. A log-likelihood here is that of the counts, with the log
binomial coefficients but without the multinomial coefficient, unless it is called ordered.

References
----------
B. Beigman Klebanov and E. Beigman (2010), https://aclanthology.org/N10-1067 ("the paper" below).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bayesanno._core.errors import DataError
from bayesanno._core.validate import check_share
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
