"""Fits of counts beside each other: marginal likelihoods against exact values, predictive p-values, leave-one-out."""

import json

import numpy as np
import pytest
from scipy.special import betaln, logsumexp

import bayesanno as ba
from bayesanno import CountData, compare, predictive_check
from bayesanno.criticism.comparison import _estimate_marginal_likelihood
from bayesanno.fits.view import view_of
from bayesanno.graph.density import Density
from bayesanno.inference.log_likelihood import leave_one_out
from bayesanno.inference.modes.bridge import TAILS
from bayesanno.models.binomial_mixture import BinomialMixture
from tests.inference.draws import make_quiet_fit
from tests.models.contract import as_posterior
from tests.models.references_counts import counts

HISTOGRAM = np.array([9, 12, 7, 3, 4, 9, 8])  # 0 to 6 successes: two types, near 1/5 and 4/5
ITEMS, TRIALS = int(HISTOGRAM.sum()), HISTOGRAM.size - 1
BINS = np.arange(TRIALS + 1)
SUCCESSES = int(HISTOGRAM @ BINS)
SETTINGS = {"draws": 1000, "tune": 500, "chains": 4, "check": False, "random_seed": 1, "progressbar": False}
DATA = CountData(
    items=tuple(f"s{i}" for i in range(ITEMS)), successes=np.repeat(BINS, HISTOGRAM), trials=np.full(ITEMS, TRIALS)
)


def draw_one(data, n, seed):
    """A fit of one type by draws of its posterior: of a rate with a uniform prior, a Beta distribution."""
    right, n_trials = data.successes.sum(), data.trials.sum()
    rate = np.random.default_rng(seed).beta(right + 1, n_trials - right + 1, size=n)
    model = BinomialMixture(types=1)
    draws = [{"rate": np.array([one]), "weight": np.ones(1)} for one in rate]
    return make_quiet_fit(model, data, as_posterior(model.build(data), draws, 4))


@pytest.fixture(scope="module")
def fits():
    return [draw_one(DATA, 20_000, 1), ba.fit(BinomialMixture(types=2), DATA, **SETTINGS)]


@pytest.fixture(scope="module")
def table(fits):
    return compare({"one": fits[0], "two": fits[1]}, random_seed=1)


def exact_one():
    """The integral of rate^successes (1 - rate)^failures, with a uniform prior: a Beta function."""
    return betaln(SUCCESSES + 1, ITEMS * TRIALS - SUCCESSES + 1)


def exact_two(n=60):
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
    assert exact_two() == pytest.approx(exact_two(40), abs=1e-8)  # quadrature has converged
    for fit, exact in zip(fits, (exact_one(), exact_two()), strict=True):
        found = _estimate_marginal_likelihood(view_of(fit), 1)
        assert found.reason == ""
        assert 0 < found.error < 0.05
        assert abs(found.value - exact) < 4 * found.error
        assert found == _estimate_marginal_likelihood(view_of(fit), 1)


def histogram_p(fit, **options):
    table = predictive_check(fit, "histogram", random_seed=1, **options).table
    return table.loc[table["level"] == "total", "p"].item()


def test_the_table(fits, table):
    assert table[["name", "model", "types"]].to_numpy().tolist() == [
        ["two", "binomial_mixture", 2], ["one", "binomial_mixture", 1],
    ]  # fmt: skip
    assert list(table) == [
        "name", "model", "types", "method", "elpd_loo", "se", "p_loo", "max_pareto_k", "n_high_pareto_k", "elpd_diff",
        "se_diff", "weight", "log_marginal", "se_log_marginal", "p_model", "p_predictive", "note",
    ]  # fmt: skip
    two, one = table.iloc[0], table.iloc[1]
    assert (two["elpd_diff"], two["se_diff"]) == (0, 0)
    assert one["elpd_diff"] == pytest.approx(one["elpd_loo"] - two["elpd_loo"])
    away = leave_one_out(fits[0]).elpd_i.values - leave_one_out(fits[1]).elpd_i.values  # (item,)
    assert one["se_diff"] == pytest.approx(np.sqrt(ITEMS) * away.std())
    assert one["elpd_diff"] < -2 * one["se_diff"] < 0
    odds = np.exp(exact_one() - exact_two())
    assert one["p_model"] == pytest.approx(odds / (1 + odds), rel=0.2)
    assert table["p_model"].sum() == pytest.approx(1)
    assert table["weight"].sum() == pytest.approx(1)
    assert two["weight"] > 0.9
    assert (table["max_pareto_k"] < 0.7).all()
    assert set(table["note"]) == {""}
    assert one["p_predictive"] == histogram_p(fits[0], replicates=1000)


def test_leaving_an_item_out_is_exact_for_one_type(table):
    """The predictive probability of an item's answers given all others is a ratio of Beta functions."""
    failures = ITEMS * TRIALS - SUCCESSES
    without = betaln(SUCCESSES - BINS + 1, failures - (TRIALS - BINS) + 1)
    assert table["elpd_loo"][1] == pytest.approx(HISTOGRAM @ (exact_one() - without), abs=0.1)


def test_a_model_that_does_not_fit_is_seen(fits):
    wrong, right = (predictive_check(fit, "histogram", replicates=1000, random_seed=1) for fit in fits)
    assert wrong.table["p"][0] < 0.01
    assert 0.1 < right.table["p"][0] < 0.95
    cells = wrong.table.iloc[1:].reset_index(drop=True)
    assert cells["of"].tolist() == [str(number) for number in BINS]
    assert cells["observed"].tolist() == HISTOGRAM.tolist()
    assert (cells["observed"] > cells["eti89_ub"])[0]  # too many items with no success, and too few in the middle
    assert (cells["observed"] < cells["eti89_lb"])[3]
    assert cells["p"][[0, 3]].max() < 0.02
    assert (wrong.replicated[:, 1:].sum(axis=1) == ITEMS).all()
    np.testing.assert_allclose(wrong.table["mean"], wrong.replicated.mean(axis=0))
    df = BINS.size - 1  # replicates follow the draw's own expected histogram
    assert right.replicated[:, 0].mean() == pytest.approx(df, abs=0.6)


def test_what_draws_cannot_bear_is_nan_with_the_reason(fits):
    one, two = fits
    for rhat, why in ((1.2, "R-hat is 1.200, and must be at most 1.01"), (None, r"R-hat is unknown \(it needs NUTS")):
        found = compare({"one": one, "two": altered(two, max_rhat=rhat)}, random_seed=1)
        assert found["log_marginal"].notna().tolist() == [False, True]
        assert found["p_model"].isna().all()
        assert found["note"][1] == "p_model: not every fit here has a marginal likelihood"
        assert found["note"].str.contains(f"log_marginal: {why}")[0]


def test_the_pareto_k_of_the_proposal_is_that_of_posterior_over_proposal(fits, monkeypatch):
    """Of a constant density over a t with n degrees of freedom the ratio's tail has k = (n + 1) / n."""
    monkeypatch.setattr(Density, "log_at", lambda _, z: np.zeros(len(z)))
    found = _estimate_marginal_likelihood(view_of(fits[0]), 1)
    assert np.isnan(found.value)
    k = float(found.reason.rpartition(" ")[2])
    assert k == pytest.approx((TAILS + 1) / TAILS, abs=0.3)


def test_items_with_different_numbers_of_trials():
    data = counts((1, 3), (4, 6), (5, 6), (0, 3), (3, 3), (2, 6))
    fits = {name: draw_one(data, 4000, seed) for name, seed in (("a", 1), ("b", 2))}
    check = predictive_check(fits["a"], random_seed=1).table.set_index("statistic")
    assert check.index.tolist() == ["positive_share", "spread"]
    assert check.loc["positive_share", "observed"] == 15 / 27
    shares = np.array([1 / 3, 4 / 6, 5 / 6, 0, 1, 2 / 6])
    assert check.loc["spread", "observed"] == pytest.approx(shares.std())
    table = compare(fits, random_seed=1)
    for row in table.to_dict("records"):
        assert row["log_marginal"] == pytest.approx(betaln(16, 13), abs=4 * row["se_log_marginal"])
        assert np.isnan(row["p_predictive"])
        assert row["note"] == "p_predictive: items have different numbers of trials, so there is no common histogram"
        assert row["p_model"] == pytest.approx(0.5, abs=0.1)
