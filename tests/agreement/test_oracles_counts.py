"""Item types on the RTE annotations of Snow et al. (2008), which Beigman Klebanov and Beigman (2010) fit in section 6.

The paper fits histograms, whose likelihood has the binomial coefficients; here they are added to that of the graph.
"""

import arviz_stats as azs
import numpy as np
import pytest
from scipy.special import gammaln

import bayesanno as ba
from bayesanno import (
    CountData,
    diagnostics_of,
    label_table,
    predictive_check,
    read_annotations,
    summary,
    type_table,
)
from bayesanno.criticism.comparison import _estimate_marginal_likelihood
from bayesanno.fits.view import view_of
from bayesanno.models.binomial_mixture import BinomialMixture
from bayesanno.models.diligent_lazy import DiligentLazy
from bayesanno.models.gaussian_mixture import GaussianMixture
from tests.models.contract import Graph
from tests.samples import rte_counts

TWO = {"weight": [0.551462, 0.448538], "rate": [0.354857, 0.840363]}
THREE = {"weight": [0.540916, 0.429113, 0.029970], "rate": [0.350225, 0.823121, 1.0]}
MODEL_M = DiligentLazy(  # the paper's figure 3
    weight_mean=(343 / 800, 159 / 800, 298 / 800), rate_mean=(0.1978, 0.5487, 0.8942), known=True
)
LAZY = {"diligence": 0.786006, "lazy_rate": 0.762954}  # of most likelihood; printed are .79 and .74, by least squares
SETTINGS = {"check": False, "random_seed": 1, "progressbar": False}


@pytest.fixture(scope="module")
def srte():
    return rte_counts()


@pytest.fixture(scope="module")
def two_types(srte):
    return ba.fit(BinomialMixture(), srte, **SETTINGS)


def histogram_logp(entry, data, parameters):
    found = Graph(entry, data).item_logp({name: np.array(values) for name, values in parameters.items()})
    x, n = data.successes, data.trials
    return (found + gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)).sum()


def test_the_histogram(shared, srte):
    """The counts that these tests are of are those of the annotations."""
    read = CountData.from_annotations(read_annotations(shared / "data" / "rte.csv"), positive="1")
    assert sorted(read.successes) == sorted(srte.successes)
    assert set(read.trials) == set(srte.trials) == {10}


@pytest.mark.parametrize(
    ("entry", "at", "expected"),
    [
        (BinomialMixture(types=2), TWO, -1818.838901),
        (BinomialMixture(types=3), THREE, -1816.837568),
        (MODEL_M, LAZY, -1820.022774),
    ],
    ids=["two", "three", "lazy"],
)
def test_graphs_have_the_likelihood_of_a_histogram(srte, entry, at, expected):
    """At its maximum, which `test_histograms.py` finds; for three types it is at the edge, p = 1."""
    parameters = dict(at)
    if "weight" in at:
        parameters["weight"] = np.array(at["weight"]) / np.sum(at["weight"])
    assert histogram_logp(entry, srte, parameters) == pytest.approx(expected, abs=1e-4)


def test_two_types_are_sampled_well(two_types):
    found = diagnostics_of(two_types)
    assert found["max_rhat"] <= 1.01
    assert min(found["min_ess_bulk"], found["min_ess_tail"]) > 1000
    assert found["divergences"] == 0
    assert ba.findings(two_types).query("code == 'type-not-needed'").empty
    assert (np.diff(two_types["posterior"]["rate"].values, axis=-1) > 0).all()
    means = summary(two_types).set_index("parameter")
    for name, values in TWO.items():  # flat priors and 800 items: the mean is near the maximum, in posterior sds
        for t, value in enumerate(values):
            row = means.loc[f"{name}[type {t + 1}]"]
            assert abs(row["mean"] - value) < 0.3 * row["sd"]
    types = type_table(two_types)
    assert types["expected_items_mean"].sum() == pytest.approx(800)
    assert types["expected_items_mean"][0] == pytest.approx(441, abs=3)
    assert types["hard_type_probability"].tolist() == [1, 0]  # .355 is nearer to one half than .840
    labels = label_table(two_types)
    np.testing.assert_allclose(labels["p[type 1]"] + labels["p[type 2]"], 1)
    np.testing.assert_allclose(labels["hard"], labels["p[type 1]"], rtol=1e-12)


def test_two_types_explain_the_histogram(two_types):
    """The marginal likelihood of the answers in their order is by quadrature, in a box that holds the posterior."""
    found = _estimate_marginal_likelihood(view_of(two_types), 1)
    assert found.error < 0.02
    assert abs(found.value - -4908.830095) < 4 * found.error
    assert azs.loo(two_types).elpd == pytest.approx(-4901.7, abs=0.5)
    table = predictive_check(two_types, "histogram", replicates=1000, random_seed=1).table
    assert 0.08 < table.loc[table["level"] == "total", "p"].item() < 0.2


@pytest.mark.slow
def test_three_types_mix_with_a_stronger_prior(srte):
    strong = BinomialMixture(types=3, weight_prior=10, rate_prior=(40, 40))  # as the model's card and its remark say
    for seed in (1, 2):
        fitted = ba.fit(strong, srte, random_seed=seed, progressbar=False)
        found = diagnostics_of(fitted)
        assert found["max_rhat"] <= 1.01
        assert found["min_ess_bulk"] > 400
        assert ba.findings(fitted).query("code == 'type-not-needed'").empty


@pytest.mark.slow
def test_two_humps_explain_the_counts_no_better_than_two_types(srte, two_types):
    humps = ba.fit(GaussianMixture(), srte, **SETTINGS)
    assert diagnostics_of(humps)["max_rhat"] <= 1.01
    means = type_table(humps)
    np.testing.assert_allclose(means["mean_mean"], [3.386, 8.322], atol=0.05)
    compared = azs.compare({"humps": humps, "types": two_types}, round_to="none")
    assert compared.index[0] == "types"
