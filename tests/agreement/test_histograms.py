"""Histograms and what is fitted to them: the paper's numbers as recomputed, and the same by other means."""

from functools import cache
from math import comb, log

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import chi2

from bayesanno._core.messages import DataError
from bayesanno.agreement.histograms import (
    chi_square_test,
    count_histogram,
    dilute_rates,
    fit_binomials,
    fit_diligence,
    fit_gaussians,
    mix_binomials,
    mix_gaussians,
    select_n_types,
)
from bayesanno.data.counts import CountData
from tests.samples import RTE_HISTOGRAM as SRTE
from tests.samples import rte_counts

# Model M of Beigman Klebanov and Beigman (2010), figure 3
WEIGHT, RATE = np.array([343, 159, 298]) / 800, np.array([0.1978, 0.5487, 0.8942])
MODEL_M = 800 * mix_binomials(WEIGHT, RATE, 10)
TWO_TYPES = 800 * mix_binomials(np.array([431, 369]) / 800, np.array([0.237, 0.867]), 10)  # figure 1


@cache
def fit_real(types, method="likelihood"):
    """A mixture of binomials fitted to real annotations."""
    return fit_binomials(SRTE, types, method=method)


def test_the_histogram_of_counts():
    data = rte_counts()
    assert count_histogram(data).tolist() == SRTE.tolist()
    assert np.arange(11) @ count_histogram(data) / 800 == 5.72625
    by_counts, by_histogram = fit_binomials(data, 2), fit_real(2)
    assert (by_counts.weight, by_counts.rate) == (by_histogram.weight, by_histogram.rate)


def test_the_expected_histograms_of_the_paper():
    model_m = [37.910502, 94.016775, 107.273774, 80.119787, 55.011392, 46.571291, 43.594662, 45.872823, 73.355625,
               118.479128, 97.794241]  # fmt: skip
    np.testing.assert_allclose(MODEL_M, model_m, atol=1e-6)
    two = [28.822, 89.525, 125.137, 103.673, 56.585, 22.897, 15.734, 39.326, 93.889, 135.855, 88.556]
    np.testing.assert_allclose(TWO_TYPES, two, atol=5e-4)
    gaussians = 800 * mix_gaussians(np.array([418, 382]) / 800, np.array([2.22, 9.07]), np.array([1.73, 1.41]), 10)
    assert gaussians.sum() == pytest.approx(719.5, abs=0.05)
    assert chi_square_test(SRTE, MODEL_M).chi_square == pytest.approx(174.6057, abs=5e-5)
    printed = 800 * mix_binomials(WEIGHT, dilute_rates(RATE, 0.79, 0.74), 10)
    assert chi_square_test(SRTE, printed, n_parameters=2).chi_square == pytest.approx(14.4309, abs=5e-5)


@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(0, 1)), min_size=1, max_size=4),
    st.integers(1, 12),
)
@example([(1.0, 1.1125369292536007e-308), (1.0, 1.0)], 2)
def test_a_mixture_is_its_definition(types, trials):
    weight, rate = np.array(types).T
    weight = weight / weight.sum()
    expected = [comb(trials, j) * (weight * rate**j * (1 - rate) ** (trials - j)).sum() for j in range(trials + 1)]
    found = mix_binomials(weight, rate, trials)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)
    assert found.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("diligence", "lazy_rate"), [(0.79, 0.74), (0.0, 0.9)])
def test_lazy_answers_as_the_paper_sums_them(diligence, lazy_rate):
    """Over r diligent answers, from 0, and over how many of them and of the others are positive."""
    n, expected = 10, np.zeros(11)
    for share, p in zip(WEIGHT, RATE, strict=True):
        for r in range(n + 1):
            split = share * comb(n, r) * diligence**r * (1 - diligence) ** (n - r)
            for a in range(r + 1):
                said = comb(r, a) * p**a * (1 - p) ** (r - a)
                for b in range(n - r + 1):
                    expected[a + b] += split * said * comb(n - r, b) * lazy_rate**b * (1 - lazy_rate) ** (n - r - b)
    np.testing.assert_allclose(mix_binomials(WEIGHT, dilute_rates(RATE, diligence, lazy_rate), n), expected, atol=1e-13)


def test_p_values():
    """Two of eleven bins are off by as much as makes this chi-square; fitted parameters take degrees of freedom."""
    expected = np.full(11, 100.0)
    for chi_square, df, critical, p_value, half_a_digit in (
        (5.091, 5, 11.0705, 0.404876, 5e-7), (13.13, 10, 18.3070, 0.216494, 5e-7), (73.66, 7, 14.0671, 2.68e-13, 5e-16),
        (36.77, 5, 11.0705, 6.66e-7, 5e-10), (14.63, 8, 15.5073, 0.066752, 5e-7),
    ):  # fmt: skip
        away = np.sqrt(chi_square * 100 / 2)
        found = chi_square_test(expected + np.array([away, -away, *[0] * 9]), expected, n_parameters=10 - df)
        assert found.chi_square == pytest.approx(chi_square, rel=1e-12)
        assert (found.df, found.critical) == (df, pytest.approx(critical, abs=5e-5))
        assert found.p_value == pytest.approx(p_value, abs=half_a_digit)
        assert found.rejected == (p_value < 0.05)


def test_an_impossible_count_is_rejected_unless_it_was_not_seen():
    impossible = chi_square_test([5, 5, 1], [5.5, 5.5, 0])
    assert (impossible.chi_square, impossible.p_value, impossible.rejected) == (np.inf, 0, True)
    assert chi_square_test([5, 6, 0], [5, 6, 0]).chi_square == 0


def test_without_degrees_of_freedom_there_is_no_test():
    found = chi_square_test([5, 5, 1], [5, 4, 2], n_parameters=2)
    assert (found.df, found.rejected) == (0, False)
    assert np.isnan([found.p_value, found.critical]).all()


FITS = {  # weight, rate, chi-square, df, p-value, log-likelihood
    (2, "least_squares"): ([0.552472, 0.447528], [0.347245, 0.836384], 13.2783, 7, 0.0656, None),
    (2, "likelihood"): ([0.551462, 0.448538], [0.354857, 0.840363], 12.3657, 7, 0.0892, -1818.838901),
    (3, "least_squares"): ([0.538369, 0.431471, 0.030161], [0.343487, 0.821939, 1.0], 8.5966, 5, 0.126, None),
    (3, "likelihood"): ([0.540916, 0.429113, 0.029970], [0.350225, 0.823121, 1.0], 8.1425, 5, 0.149, -1816.837568),
    (1, "likelihood"): ([1.0], [0.572625], 3052.6, 9, 0.0, -2380.598409),
}


@pytest.mark.parametrize(("types", "method"), FITS)
def test_binomials_fitted_to_real_annotations(types, method):
    weight, rate, chi_square, df, p_value, log_likelihood = FITS[types, method]
    fit = fit_real(types, method)
    np.testing.assert_allclose(fit.weight, weight, atol=1e-4)
    np.testing.assert_allclose(fit.rate, rate, atol=1e-4)
    assert fit.goodness.chi_square == pytest.approx(chi_square, abs=1e-2 if types > 1 else 5e-2)
    assert fit.goodness.df == df
    assert fit.goodness.p_value == pytest.approx(p_value, abs=5e-4)
    assert fit.goodness.rejected == (types == 1)
    if log_likelihood is not None:
        assert fit.log_likelihood == pytest.approx(log_likelihood, abs=1e-4)
    coefficients = sum(seen * log(comb(10, j)) for j, seen in enumerate(SRTE))
    assert fit.log_likelihood - fit.ordered_log_likelihood == pytest.approx(coefficients, rel=1e-12)
    np.testing.assert_allclose(
        fit.expected, 800 * mix_binomials(np.array(fit.weight), np.array(fit.rate), 10), rtol=1e-12
    )


def test_fits_to_the_histogram_of_model_m_are_nearly_those_of_the_paper():
    two = fit_binomials(MODEL_M, 2, method="least_squares")
    assert np.round(two.rate, 4).tolist() == [0.2361, 0.8686]  # printed .237, .867, fitted to data of that kind
    assert 800 * two.weight[0] == pytest.approx(431.1, abs=0.05)
    gaussians = fit_gaussians(MODEL_M)
    assert np.round(gaussians.mean, 2).tolist() == [2.24, 9.08]  # printed 2.22, 9.07
    assert np.round(gaussians.sd, 2).tolist() == [1.81, 1.36]  # printed 1.73, 1.41
    assert 800 * gaussians.weight[0] == pytest.approx(429, abs=0.5)
    assert gaussians.goodness.rejected


@pytest.mark.parametrize("types", [2, 4])
def test_em_does_not_climb_from_the_maximum_likelihood(types):
    """And at weights above 0 the derivative by each weight is the same (Karush, Kuhn and Tucker)."""
    fit = fit_real(types)
    weight, rate = np.array(fit.weight), np.array(fit.rate)
    bins = np.arange(11)
    kernel = np.array([[comb(10, j) * p**j * (1 - p) ** (10 - j) for j in bins] for p in rate])  # (type, bin)
    gradient = kernel @ (SRTE / (weight @ kernel)) / 800
    assert (gradient <= 1 + 1e-4).all()
    np.testing.assert_allclose(gradient[weight > 1e-3], 1, atol=1e-4)
    for _ in range(500):
        share = weight[:, None] * np.array([[p**j * (1 - p) ** (10 - j) for j in bins] for p in rate])
        share = SRTE * share / share.sum(axis=0)
        weight = share.sum(axis=1) / 800
        rate = np.clip(share @ bins / np.maximum(10 * share.sum(axis=1), 1e-12), 0, 1)
    climbed = SRTE @ np.log(mix_binomials(weight, rate, 10))
    assert climbed - fit.log_likelihood < 1e-6


def test_two_gaussians_fitted_to_real_annotations_are_rejected():
    fit = fit_gaussians(SRTE)
    assert 800 * fit.weight[0] == pytest.approx(411.8, abs=0.05)
    np.testing.assert_allclose(fit.mean, [3.363, 8.567], atol=5e-4)
    np.testing.assert_allclose(fit.sd, [1.500, 1.432], atol=5e-4)
    assert fit.goodness.chi_square == pytest.approx(15.733, abs=1e-2)
    assert fit.goodness.p_value == pytest.approx(0.0076, abs=1e-4)
    assert (fit.goodness.df, fit.goodness.rejected) == (5, True)


@pytest.mark.parametrize(
    ("method", "diligence", "lazy_rate", "chi_square", "p_value"),
    [
        ("least_squares", 0.794838, 0.737495, 14.7659, 0.0639),
        ("chi_square", 0.788158, 0.757792, 14.0812, 0.0797),
        ("likelihood", 0.786006, 0.762954, 14.1382, 0.0782),
    ],
)
def test_diligent_and_lazy_answers_in_real_annotations(method, diligence, lazy_rate, chi_square, p_value):
    fit = fit_diligence(SRTE, WEIGHT, RATE, method=method)
    assert fit.diligence == pytest.approx(diligence, abs=1e-4)
    assert fit.lazy_rate == pytest.approx(lazy_rate, abs=1e-4)
    assert fit.goodness.chi_square == pytest.approx(chi_square, abs=1e-2)
    assert fit.goodness.p_value == pytest.approx(p_value, abs=1e-4)
    assert (fit.goodness.df, fit.goodness.rejected) == (8, False)
    assert fit.log_likelihood == pytest.approx(SRTE @ np.log(fit.expected / 800), rel=1e-12)
    if method == "least_squares":  # the paper's method: printed .79, .74
        assert abs(fit.diligence - 0.79) < 5e-3
        assert abs(fit.lazy_rate - 0.74) < 5e-3


def test_each_method_is_best_by_its_own_measure():
    fits = {name: fit_real(2, name) for name in ("likelihood", "least_squares", "chi_square")}
    measures = {
        "likelihood": lambda fit: -fit.log_likelihood,
        "least_squares": lambda fit: ((SRTE - fit.expected) ** 2).sum(),
        "chi_square": lambda fit: fit.goodness.chi_square,
    }
    for name, measure in measures.items():
        assert min(fits, key=lambda other: measure(fits[other])) == name


def test_answers_in_the_hundreds_are_fitted_too(rng):
    successes = rng.binomial(400, np.array([0.06, 0.39, 0.85])[rng.choice(3, 3000, p=[0.5, 0.2, 0.3])])
    fit = fit_binomials(np.bincount(successes, minlength=401), 3, method="chi_square")  # which begins with likelihood
    np.testing.assert_allclose(fit.rate, [0.06, 0.39, 0.85], atol=0.01)
    np.testing.assert_allclose(fit.weight, [0.5, 0.2, 0.3], atol=0.05)


def test_types_at_the_ends():
    sure = fit_binomials([9, 0, 0, 7], 2)
    assert sure.rate == (0, 1)
    np.testing.assert_allclose(sure.weight, [9 / 16, 7 / 16], atol=1e-7)
    one = fit_binomials([0, 0, 0, 7], 1)
    assert (one.weight, one.rate, one.log_likelihood) == ((1,), (1,), 0)


def test_types_are_added_until_the_mixture_is_not_rejected():
    table = select_n_types(SRTE)
    assert table.columns.tolist() == ["types", "log_likelihood", "chi_square", "df", "p_value", "rejected"]
    assert table["types"].tolist() == [1, 2]
    assert table["rejected"].tolist() == [True, False]
    assert table["log_likelihood"].tolist() == pytest.approx([-2380.598409, -1818.838901], abs=1e-4)
    three = select_n_types(np.round(MODEL_M), method="least_squares", first=2)
    assert three["types"].tolist() == [2, 3]
    assert three["rejected"].tolist() == [True, False]
    np.testing.assert_allclose(three["p_value"], chi2.sf(three["chi_square"], three["df"]), rtol=1e-12)
    all_rejected = select_n_types([60, 0, 60, 0, 60, 0, 60])  # until no degree of freedom is left
    assert (all_rejected["df"].tolist(), all_rejected["rejected"].all()) == ([5, 3, 1], True)


UNEQUAL = CountData(items=("s1", "s2"), successes=[1, 1], trials=[3, 2])
WRONG = {
    "s2": lambda: count_histogram(UNEQUAL),  # with other trials
    "entries of 0 or more": lambda: count_histogram([1, -1, 2]),
    "of 0 or more": lambda: count_histogram([1, np.nan]),
    "one of them above 0": lambda: count_histogram([0, 0, 0]),
    "one entry for each": lambda: count_histogram([3]),
    "types is 0": lambda: fit_binomials(SRTE, 0),
    "2 different counts": lambda: fit_binomials([9, 0, 0, 0, 7], 3),
    "distinguished with n = 2": lambda: fit_binomials([9, 2, 7], 2),
    "no method 'ml'": lambda: fit_binomials(SRTE, 2, method="ml"),
    "no method 'em'": lambda: fit_diligence(SRTE, WEIGHT, RATE, method="em"),
    "too few for the 5 parameters": lambda: fit_gaussians([1, 2, 3, 2, 1]),
    "a single answer": lambda: fit_diligence([4, 5], WEIGHT, RATE),
    "rates are": lambda: fit_diligence(SRTE, [1], [1.5]),
    "weights are": lambda: fit_diligence(SRTE, [1, -1], [0.2, 0.3]),
    "equal length": lambda: fit_diligence(SRTE, [1], [0.2, 0.3]),
    "expected histogram has shape": lambda: chi_square_test(SRTE, MODEL_M[:5]),
    "an entry that is negative": lambda: chi_square_test([1, 1], [1, -1]),
    "level is 1": lambda: chi_square_test(SRTE, MODEL_M, level=1),
    "-1 deg": lambda: chi_square_test([1, 1], [1, 1], n_parameters=2),
}


@pytest.mark.parametrize("match", WRONG)
def test_values_out_of_range_are_refused(refuses, match):
    with refuses(DataError, match):
        WRONG[match]()
