"""How many types: marginal likelihoods against exact values, predictive p-values, tables, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter
from scipy.special import betaln, logsumexp
from scipy.stats import multivariate_t, norm

import bayesanno as ba
from bayesanno import CountData, compare_n_types, estimate_marginal_likelihood, histogram_predictive_check
from bayesanno.ground.errors import DataError, FitError
from bayesanno.inference.bridge import TAILS, _bridge
from bayesanno.inference.loo import leave_one_out
from bayesanno.models.binomial_mixture import BinomialMixture
from tests.models.references_counts import counts

HISTOGRAM = np.array([9, 12, 7, 3, 4, 9, 8])  # 0 to 6 successes: two types, near 1/5 and 4/5
ITEMS, TRIALS = int(HISTOGRAM.sum()), HISTOGRAM.size - 1
BINS = np.arange(TRIALS + 1)
SUCCESSES = int(HISTOGRAM @ BINS)
SETTINGS = {"draws": 1000, "tune": 500, "chains": 4, "random_seed": 1, "progressbar": False}
DATA = CountData(
    items=tuple(f"s{i}" for i in range(ITEMS)), successes=np.repeat(BINS, HISTOGRAM), trials=np.full(ITEMS, TRIALS)
)


@pytest.fixture(scope="module")
def fits():
    return [ba.fit(BinomialMixture(types=k), DATA, **SETTINGS) for k in (1, 2)]


@pytest.fixture(scope="module")
def table(fits):
    return compare_n_types(fits[::-1], random_seed=1)


def exact_one():
    """The integral of rate^successes (1 - rate)^failures, with a uniform prior: a Beta function."""
    return betaln(SUCCESSES + 1, ITEMS * TRIALS - SUCCESSES + 1)


def exact_two(n=120):
    """By quadrature over the weight and both rates; all are uniform, and the rates in order have twice the density."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    x, log_w = (nodes + 1) / 2, np.log(weights / 2)
    binomial = BINS * np.log(x)[:, None] + (TRIALS - BINS) * np.log1p(-x)[:, None]  # (node, bin)
    total = []
    for share, log_share in zip(x, log_w, strict=True):
        low, high = np.log(share) + binomial[:, None], np.log1p(-share) + binomial[None]
        logp = np.logaddexp(low, high) @ HISTOGRAM + log_w[:, None] + log_w  # (node of one rate, node of the other)
        total.append(logsumexp(logp) + log_share)
    return logsumexp(total)  # over both orders: twice the density on half of the square


def altered(fit, **diagnostics):
    """The fit, with other diagnostics."""
    other = fit.copy()
    other.attrs = fit.attrs | {"diagnostics": json.dumps(json.loads(fit.attrs["diagnostics"]) | diagnostics)}
    return other


def test_marginal_likelihoods_are_exact_within_their_errors(fits):
    for fit, exact in zip(fits, (exact_one(), exact_two()), strict=True):
        found = estimate_marginal_likelihood(fit, random_seed=1)
        assert found.reason == ""
        assert 0 < found.error < 0.05
        assert abs(found.value - exact) < 4 * found.error
        assert found == estimate_marginal_likelihood(fit, random_seed=1)


def test_quadrature_has_converged():
    assert exact_two(120) == pytest.approx(exact_two(60), abs=1e-8)


def test_a_bridge_to_a_known_density_has_the_error_it_says(rng):
    """A normal times e^3, a hundred times: standardised errors have standard deviation 1."""
    proposal = multivariate_t([0.2], [[1.5]], df=5)
    z = []
    for _ in range(100):
        kept, proposed = rng.normal(size=(4, 250)), proposal.rvs(1000, random_state=rng)
        value, error = _bridge(
            3 + norm.logpdf(proposed) - proposal.logpdf(proposed[:, None]),
            3 + norm.logpdf(kept) - proposal.logpdf(kept.ravel()[:, None]).reshape(kept.shape),
        )
        z.append((value - 3) / error)
    assert abs(np.mean(z)) < 0.4
    assert 0.75 < np.std(z) < 1.3


def bridge_to_a_normal(kept, proposed, proposal):
    """As `_bridge` gives it, for draws (chain, draw) of a normal times e^3."""
    ratios = [3 + norm.logpdf(points) - proposal.logpdf(points.reshape(-1, 1)).reshape(points.shape)
              for points in (proposed, kept)]  # fmt: skip
    return _bridge(*ratios)


def test_the_error_of_a_bridge_knows_that_chains_are_autocorrelated(rng):
    """Few draws of the proposal, far from the posterior: the error is nearly all that of the chains."""
    proposal = multivariate_t([1.0], [[1.0]], df=5)
    z = []
    for _ in range(100):
        noise = rng.normal(size=(4, 2100))
        kept = lfilter([np.sqrt(1 - 0.9**2)], [1, -0.9], noise, axis=1)[:, 100:]  # of 8000 draws, 400 are worth one
        value, error = bridge_to_a_normal(kept, proposal.rvs(100, random_state=rng), proposal)
        z.append((value - 3) / error)
    assert abs(np.mean(z)) < 0.4
    assert 0.75 < np.std(z) < 1.3


def test_draws_that_are_repeated_say_no_more_to_a_bridge(rng):
    proposal = multivariate_t([1.0], [[1.0]], df=5)
    kept, proposed = rng.normal(size=(4, 250)), proposal.rvs(100, random_state=rng)
    value, error = bridge_to_a_normal(kept, proposed, proposal)
    again, same = bridge_to_a_normal(np.repeat(kept, 10, axis=1), proposed, proposal)
    assert abs(again - value) < 0.1 * error
    assert same == pytest.approx(error, rel=0.1)


def test_the_table(fits, table):
    assert table[["model", "types"]].to_numpy().tolist() == [["binomial_mixture", 1], ["binomial_mixture", 2]]
    assert list(table) == [
        "model", "types", "elpd_loo", "se", "p_loo", "max_pareto_k", "elpd_diff", "se_diff",
        "log_marginal", "se_log_marginal", "p_types", "p_predictive", "reason",
    ]  # fmt: skip
    one, two = table.iloc[0], table.iloc[1]
    assert (two["elpd_diff"], two["se_diff"]) == (0, 0)
    assert one["elpd_diff"] == pytest.approx(one["elpd_loo"] - two["elpd_loo"])
    assert one["elpd_diff"] < -2 * one["se_diff"] < 0
    odds = np.exp(exact_one() - exact_two())
    assert one["p_types"] == pytest.approx(odds / (1 + odds), rel=0.2)
    assert table["p_types"].sum() == pytest.approx(1)
    assert (table["max_pareto_k"] < 0.7).all()
    assert set(table["reason"]) == {""}
    assert one["p_predictive"] == histogram_predictive_check(fits[0], random_seed=1).p_value


def test_leaving_an_item_out_exactly_for_one_type(fits, table):
    """The predictive probability of an item's answers given all others is a ratio of Beta functions.

    With 4,000 draws the estimate's standard deviation over seeds is 0.08, with 80,000 it is 0.02.
    """
    assert table["elpd_loo"][0] == pytest.approx(leave_one_out(fits[0]).elpd)
    many = ba.fit(BinomialMixture(types=1), DATA, **(SETTINGS | {"draws": 20_000}))
    failures = ITEMS * TRIALS - SUCCESSES
    without = betaln(SUCCESSES - BINS + 1, failures - (TRIALS - BINS) + 1)
    assert leave_one_out(many).elpd == pytest.approx(HISTOGRAM @ (exact_one() - without), abs=0.1)


def test_a_model_that_does_not_fit_is_seen(fits):
    wrong, right = (histogram_predictive_check(fit, random_seed=1) for fit in fits)
    assert wrong.p_value < 0.01
    assert 0.1 < right.p_value < 0.95
    cells = wrong.cells
    assert list(cells) == ["successes", "observed", "expected", "p_at_most", "p_at_least"]
    assert cells["observed"].tolist() == HISTOGRAM.tolist()
    assert cells["p_at_least"][0] < 0.01  # too many items with no success,
    assert cells["p_at_most"][3] < 0.01  # too few in the middle
    for check in (wrong, right):
        assert check.discrepancy.shape == check.replicated.shape == (1000,)
        assert check.cells["expected"].sum() == pytest.approx(ITEMS)
        assert ((check.cells["p_at_most"] + check.cells["p_at_least"]) >= 1).all()
        assert check.p_value == (check.replicated >= check.discrepancy).mean()
    df = BINS.size - 1  # replicates follow the draw's own expected histogram
    assert right.replicated.mean() == pytest.approx(df, abs=0.6)
    pd.testing.assert_frame_equal(cells, histogram_predictive_check(fits[0], random_seed=1).cells)


def test_what_draws_cannot_bear_is_nan_with_the_reason(fits):
    one, two = fits
    for rhat, why in ((1.2, "R-hat is 1.200, and must be at most 1.01"), (None, r"R-hat is unknown \(it takes NUTS")):
        found = compare_n_types([one, altered(two, max_rhat=rhat)], random_seed=1)
        assert found["log_marginal"].notna().tolist() == [True, False]
        assert found["p_types"].isna().all()
        assert found["reason"][0] == "p_types: not every fit here has a marginal likelihood"
        assert found["reason"].str.contains(f"log_marginal: {why}")[1]


def test_a_posterior_far_from_the_proposal_is_nan(fits, monkeypatch):
    from arviz_stats.base import array_stats

    monkeypatch.setattr(array_stats, "psislw", lambda ratio: (ratio, 0.9))
    found = estimate_marginal_likelihood(fits[1], random_seed=1)
    assert np.isnan(found.value)
    assert found.reason == "log_marginal: the posterior is far from any t distribution: Pareto k is 0.90"


def test_the_pareto_k_of_the_proposal_is_that_of_posterior_over_proposal(fits, monkeypatch):
    """Of a constant density over a t with n degrees of freedom the ratio's tail has k = (n + 1) / n."""
    monkeypatch.setattr("bayesanno.inference.bridge.density_of", lambda *_: lambda z: np.zeros(len(z)))
    found = estimate_marginal_likelihood(fits[0], random_seed=1)
    assert np.isnan(found.value)
    k = float(found.reason.rpartition(" ")[2])
    assert k == pytest.approx((TAILS + 1) / TAILS, abs=0.3)


def test_items_with_different_numbers_of_trials(refuses):
    data = counts((1, 3), (4, 6), (5, 6), (0, 3), (3, 3), (2, 6))
    fit = ba.fit(BinomialMixture(types=1), data, **SETTINGS)
    with refuses(DataError, "'s2' has 6 trials and item 's1' 3: a histogram needs items with the same number"):
        histogram_predictive_check(fit)
    (row,) = compare_n_types([fit], random_seed=1).to_dict("records")
    assert row["log_marginal"] == pytest.approx(betaln(16, 13), abs=4 * row["se_log_marginal"])
    assert np.isnan(row["p_predictive"])
    assert row["reason"] == "p_predictive: items have different numbers of trials, and no common histogram"
    assert row["p_types"] == 1


def test_fits_that_cannot_be_compared_are_refused(fits, refuses, tiny_fit):
    with refuses(FitError, "there is no fit to compare"):
        compare_n_types([])
    with refuses(FitError, "two fits are of binomial_mixture with 1 type: keep one of them"):
        compare_n_types([fits[0], fits[0]], random_seed=1)
    with refuses(FitError, "types of items are counted in fits of counts, and model_b is fitted to annotations"):
        histogram_predictive_check(tiny_fit)
    data = counts((1, 3), (4, 6), (5, 6), (0, 3), (3, 3), (2, 6))
    with refuses(FitError, "the fits are of different data: fit all models to the same counts"):
        compare_n_types([fits[0], ba.fit(BinomialMixture(types=1), data, **SETTINGS)])
    with refuses(FitError, "random_seed is -1"):
        histogram_predictive_check(fits[0], random_seed=-1)
