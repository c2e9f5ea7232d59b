"""Alarms: what diagnostics say of one chain, of paths cut off, of chains in modes, and of items that say nothing."""

import warnings

import arviz_stats as azs
import numpy as np
import pytest
import xarray as xr
from arviz_stats.base import array_stats

import bayesanno as ba
from bayesanno.inference.diagnosis.findings import find_in_diagnostics
from bayesanno.inference.diagnosis.measures import diagnose, measure_convergence, measure_within_modes
from bayesanno.inference.log_likelihood import leave_one_out
from bayesanno.inference.modes.record import compare_chains
from tests.inference.answers import data_of
from tests.inference.draws import EXCHANGEABLE, clear_posterior, make_fit, make_quiet_fit, permute_draws, said_of
from tests.models.contract import TINY

pytestmark = pytest.mark.usefixtures("by_numpy")  # of few draws


def densities(rng, *means, n_draws=600):
    return np.array(means)[:, None] + rng.normal(size=(len(means), n_draws))


@pytest.mark.parametrize(
    ("name", "n_cut"), [("maxdepth_reached", 21), ("reached_max_treedepth", 21), ("lp", None)]
)  # nutpie's, PyMC's, and of a sampler that does not say
def test_truncated_trajectories_are_counted(name, n_cut):
    cut = (np.arange(400) < 21).reshape(4, 100)
    found = diagnose(None, xr.Dataset({name: (("chain", "draw"), cut)}), modes={}, relabelled_fraction=0.0)
    assert (found["maxdepth_reached"], found["n_draws"], found["n_chains"]) == (n_cut, 400, None)


# ------------------------------------------------------------------------------------------------------------- modes


def test_chains_are_put_together_by_mode(rng):
    posterior = clear_posterior(rng, n_chains=6, n_draws=50)
    orders = np.tile(np.arange(3), (6, 50, 1))
    orders[[1, 4]] = [1, 2, 0]
    log_density = densities(rng, -101.0, -100.0, -160.0, -161.0, -100.2, -103.0, n_draws=50)
    log_density[5] = log_density[0]
    found = compare_chains(permute_draws(posterior, orders), log_density)
    best = 1 if log_density[1].mean() > log_density[4].mean() else 4
    by_density = [best, 5 - best], [0, 5], sorted([2, 3], key=lambda chain: -log_density[chain].mean())
    assert found["groups"] == list(by_density)
    np.testing.assert_allclose(found["log_density"], log_density.mean(axis=1))


def test_a_mode_does_not_silence_what_is_wrong_within_modes(rng):
    """Chains 0 and 1 share a mode and disagree; chains 2 and 3 share one and agree; chain 4 is alone."""
    posterior = clear_posterior(rng, n_chains=5, n_draws=600)[["confusion", "prevalence"]]
    p = posterior["prevalence"].values
    p[0] = rng.dirichlet([30, 20, 10], size=600)
    p[1] = rng.dirichlet([20, 30, 10], size=600)
    log_density = densities(rng, -100.0, -100.1, -140.0, -140.1, -300.0)
    fit, said = said_of(lambda: make_quiet_fit(EXCHANGEABLE, TINY, posterior, log_density=log_density))
    modes = ba.diagnostics_of(fit)["modes"]
    assert [sorted(group) for group in modes["groups"]] == [[0, 1], [2, 3], [4]]
    assert [group["chains"] for group in modes["within"]] == [[0, 1], [2, 3]]
    rhat = max(array_stats.rhat(p[:2, :, k], chain_axis=0, draw_axis=1) for k in range(3))
    assert modes["within"][0]["max_rhat"] == pytest.approx(float(rhat))
    assert modes["within"][1]["max_rhat"] < 1.01 < float(rhat)
    codes = [one.split(":")[0] for one in said]
    assert codes[:2] == ["modes-unweighed", "rhat"]
    assert set(codes[2:]) <= {"ess"}
    assert ba.findings(fit).loc[0, "about"] == "chain 2, chain 3, chain 4"
    assert all(" in chains 0, 1 is" in one for one in said[1:])


def test_a_best_chain_that_is_alone_is_no_proof(rng):
    draws = xr.Dataset({"x": (("chain", "draw"), rng.normal(size=(3, 100)))})
    within = measure_within_modes(draws, [[2], [0], [1]])
    assert [group["chains"] for group in within] == [[2]]
    assert within[0]["max_rhat"] is None
    said = find_in_diagnostics({"modes": {"groups": [[2], [0], [1]], "within": within}})
    assert [one.code for one in said][:3] == ["modes-unweighed", "chain-alone", "ess"]
    assert said[1].about == ("chain 2",)
    few = measure_convergence(draws.isel(chain=[2]))["x"]
    assert said[2].value == min(float(few.sel(diagnostic=one)) for one in ("ess_bulk", "ess_tail"))
    assert measure_within_modes(draws, [[2, 0, 1]]) == []


# ------------------------------------------------------------------------------------- items that say nothing


def test_items_with_one_likelihood_in_every_draw_have_it_as_their_elpd(rng):
    """The fourth has no answer; the first is made to be one whose answers are as probable in every draw."""
    fit = make_fit(EXCHANGEABLE, TINY, clear_posterior(rng, n_draws=60)[["confusion", "prevalence"]])
    group = fit["log_likelihood"].to_dataset().copy(deep=True)
    group["annotations"].loc[{"item": "s1"}] = -2.5
    fit["log_likelihood"] = group
    found = leave_one_out(fit)
    constant = {"s1": -2.5, "s4": 0.0}
    others = [item for item in TINY.items if item not in constant]
    for item, elpd in constant.items():
        assert float(found.elpd_i.sel(item=item)) == pytest.approx(elpd, abs=1e-12)
        assert float(found.pareto_k.sel(item=item)) == -np.inf
    fit["log_likelihood"] = group.sel(item=others)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        rest = azs.loo(fit, pointwise=True)
    np.testing.assert_allclose(found.elpd_i.sel(item=others), rest.elpd_i, rtol=1e-12)
    np.testing.assert_allclose(found.pareto_k.sel(item=others), rest.pareto_k, rtol=1e-12)
    assert found.elpd == pytest.approx(rest.elpd - 2.5)
    assert found.p == pytest.approx(rest.p)
    assert found.se == pytest.approx(np.sqrt(6 * np.var(found.elpd_i.values, ddof=1)))
    assert found.n_data_points == 6
    assert found.elpd_i.sel(item="s2") == found.elpd_i.sel(item="s5")  # of equal answers, which are computed once


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_tables_of_annotators_and_items_without_answers():
    answers = np.repeat([[0, 0, 0, -1], [1, 1, 1, -1]], 6, axis=0)
    answers[11] = -1
    data = data_of(answers, "ab")
    fit = ba.fit(ba.models.MACE(class_prior="uniform"), data, method="vb", random_seed=1, progressbar=False)
    silent = ba.annotator_table(fit).iloc[3]
    assert (silent["n_annotations"], silent["competence_mean"]) == (0, pytest.approx(0.5, abs=0.1))  # the prior's
    assert ba.label_table(fit).loc[11, "entropy"] == pytest.approx(np.log(2))
    found = leave_one_out(fit)
    assert float(found.pareto_k[11]) == -np.inf
    assert np.isfinite(found.elpd)
    assert ba.predict_labels(fit, data)["ess_weights"].iloc[11] == pytest.approx(4000)
