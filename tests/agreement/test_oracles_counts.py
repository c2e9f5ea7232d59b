"""Item types on the RTE annotations of Snow et al. (2008), which Beigman Klebanov and Beigman (2010) fit in section 6.

The paper fits histograms, whose likelihood has the binomial coefficients; here they are added to that of the graph.
"""

import warnings

import arviz_stats as azs
import numpy as np
import pymc as pm
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln

import bayesanno as ba
from bayesanno import (
    CountData,
    diagnostics_of,
    label_table,
    predictive_check,
    read_annotations,
    simulate,
    summary,
    type_table,
)
from bayesanno._core.errors import ConvergenceWarning
from bayesanno.criticism.comparison import _estimate_marginal_likelihood
from bayesanno.fits.view import view_of
from bayesanno.models.binomial_mixture import BinomialMixture
from bayesanno.models.diligent_lazy import DiligentLazy
from bayesanno.models.gaussian_mixture import GaussianMixture
from bayesanno.simulation import make_count_design
from tests.models.contract import FAST, Graph, unconstrained
from tests.samples import rte_counts

ONE = {"rate": [0.572625]}
TWO = {"weight": [0.551462, 0.448538], "rate": [0.354857, 0.840363]}
THREE = {"weight": [0.540916, 0.429113, 0.029970], "rate": [0.350225, 0.823121, 1.0]}
MODEL_M = DiligentLazy(  # the paper's figure 3
    weight_mean=(343 / 800, 159 / 800, 298 / 800), rate_mean=(0.1978, 0.5487, 0.8942), known=True
)
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


def find_mode(entry, data):
    """The mode of the posterior density of the parameters themselves, and the log likelihood of a histogram there."""
    model = entry.build(data)
    logp, gradient = (make(jacobian=False, mode=FAST) for make in (model.compile_logp, model.compile_dlogp))
    start = pm.blocking.DictToArrayBijection.map(unconstrained(model, [entry.start(data)])[0])

    def at(x):
        return pm.blocking.DictToArrayBijection.rmap(pm.blocking.RaveledVars(x, start.point_map_info))

    found = minimize(lambda x: -logp(at(x)), start.data, jac=lambda x: -gradient(at(x)), method="L-BFGS-B", tol=1e-14)
    back = model.compile_fn(model.unobserved_value_vars, inputs=model.value_vars, mode=FAST)
    names = [variable.name for variable in model.unobserved_value_vars]
    values = dict(zip(names, back(at(found.x)), strict=True))
    parameters = {variable.name: values[variable.name] for variable in model.free_RVs}
    return parameters, histogram_logp(entry, data, parameters)


def test_the_histogram(shared, srte):
    """The counts that these tests are of are those of the annotations."""
    read = CountData.from_annotations(read_annotations(shared / "data" / "rte.csv"), positive="1")
    assert sorted(read.successes) == sorted(srte.successes)
    assert set(read.trials) == set(srte.trials) == {10}


@pytest.mark.parametrize(
    ("types", "at", "expected"),
    [(1, ONE, -2380.598409), (2, TWO, -1818.838901), (3, THREE, -1816.837568)],
    ids=["one", "two", "three"],
)
def test_maximum_likelihood(srte, types, at, expected):
    """With flat priors the mode is the maximum of the likelihood; for three types it is at the edge, p = 1."""
    entry = BinomialMixture(types=types)
    weight = {"weight": np.array(at["weight"]) / np.sum(at["weight"])} if "weight" in at else {}
    assert histogram_logp(entry, srte, {**at, **weight}) == pytest.approx(expected, abs=1e-4)
    mode, logp = find_mode(entry, srte)
    assert logp == pytest.approx(expected, abs=1e-3)
    for name, values in at.items():
        np.testing.assert_allclose(mode[name], values, atol=1e-3)


def test_diligent_and_lazy_with_the_types_of_the_paper(srte):
    """Printed are .79 and .74, a least squares fit; .794838 and .737495 with more digits."""
    mode, best = find_mode(MODEL_M, srte)
    assert float(mode["diligence"]) == pytest.approx(0.786006, abs=1e-4)
    assert float(mode["lazy_rate"]) == pytest.approx(0.762954, abs=1e-4)
    squares = histogram_logp(MODEL_M, srte, {"diligence": 0.794838, "lazy_rate": 0.737495})
    assert 0 < best - squares < 1
    careless = histogram_logp(MODEL_M, srte, {"diligence": 1.0, "lazy_rate": 0.737495})  # model M unchanged
    assert best - careless > 50


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
    table = predictive_check(two_types, "histogram", replicates=1000, random_seed=1).table
    assert 0.08 < table.loc[table["level"] == "total", "p"].item() < 0.2


def test_leaving_items_out_prefers_two_types_to_one(srte, two_types):
    one = ba.fit(BinomialMixture(types=1), srte, **SETTINGS)
    compared = azs.compare({"one": one, "two": two_types}, round_to="none")
    assert compared.index[0] == "two"
    assert compared.loc["one", "elpd_diff"] < -10 * compared.loc["one", "dse"]
    assert azs.loo(two_types).elpd == pytest.approx(-4901.7, abs=0.5)


def test_three_types_do_not_mix_and_that_is_said(srte):
    with pytest.warns(ConvergenceWarning) as said:
        found = diagnostics_of(ba.fit(BinomialMixture(types=3), srte, **SETTINGS))
    assert found["max_rhat"] > 1.01 or found["min_ess_bulk"] < 400
    codes = {str(one.message).split(":")[0] for one in said}
    assert codes & {"rhat", "ess"}
    assert "type-not-needed" in codes


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
def test_the_types_of_model_m_are_found_again():
    """800 items as the paper's figure 3 has them: the middle type holds about 159, and they are the hard ones."""
    truth = {"weight": list(MODEL_M.weight_mean), "rate": list(MODEL_M.rate_mean)}
    entry = BinomialMixture(types=3)
    data, drawn = simulate(entry, make_count_design(items=800, per_item=10), parameters=truth, random_seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = ba.fit(entry, data, **SETTINGS)
    assert ba.findings(found).query("code == 'type-not-needed'").empty
    for name, values in truth.items():
        mean = found["posterior"][name].mean(("chain", "draw")).values
        sd = found["posterior"][name].std(("chain", "draw")).values
        assert (np.abs(mean - values) < 3 * sd).all()
    types = type_table(found)
    assert types["hard_type_probability"][1] > 0.99
    hard = (drawn["state"].values == "type 2").sum()
    assert types["expected_items_eti89_lb"][1] < hard < types["expected_items_eti89_ub"][1]


@pytest.mark.slow
def test_two_humps_explain_the_counts_no_better_than_two_types(srte, two_types):
    humps = ba.fit(GaussianMixture(), srte, **SETTINGS)
    assert diagnostics_of(humps)["max_rhat"] <= 1.01
    means = type_table(humps)
    np.testing.assert_allclose(means["mean_mean"], [3.386, 8.322], atol=0.05)
    compared = azs.compare({"humps": humps, "types": two_types}, round_to="none")
    assert compared.index[0] == "types"
