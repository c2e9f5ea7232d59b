"""Fitting: the same seed gives the same draws, the draws are of the posterior, and wrong requests are refused."""

import json

import numpy as np
import pytest
import scipy.stats
import xarray as xr
from arviz_stats.base import array_stats

import bayesanno as ba
from bayesanno._core.errors import FitError, IdentifiabilityWarning, ModelError, SamplerError
from bayesanno.fits.view import view_of
from bayesanno.inference import methods
from bayesanno.models.model_b import ModelB
from tests.inference.exact import exact_posterior
from tests.samples import SETTINGS, SHORT, tiny_data

SIGMAS = 4  # standard errors of the mean, at most, between an average over draws and the exact value
SHORT_RUNS = pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")
EXTRAS = ("numpyro", "blackjax")


def draws_of(fit):
    return fit["posterior"].to_dataset()


def z_scores(fit, exact):
    """How many Monte Carlo standard errors lie between a fit's averages and the exact ones."""
    posterior, latent = draws_of(fit), fit["latent"]
    found = []
    for name in ("prevalence", "confusion"):
        values = posterior[name].values  # (chain, draw, ...)
        mcse = array_stats.mcse(values, chain_axis=0, draw_axis=1)
        found.append((values.mean(axis=(0, 1)) - getattr(exact, name)) / mcse)
    found.append((latent["probability"].values - exact.probability) / latent["probability_mcse"].values)
    return np.concatenate([z.ravel() for z in found])


# ------------------------------------------------------------------------------------------- the posterior itself


@pytest.fixture(scope="module")
def exact():
    return exact_posterior(tiny_data())


def test_nuts_agrees_with_the_exact_posterior_of_its_own_prior_alone(tiny_fit, exact):
    assert np.abs(z_scores(tiny_fit, exact)).max() < SIGMAS
    other = exact_posterior(tiny_data(), accuracy=0.65)
    assert np.abs(z_scores(tiny_fit, other)).max() > SIGMAS


@pytest.mark.parametrize("sampler", ["pymc", *(pytest.param(extra, marks=pytest.mark.extras) for extra in EXTRAS)])
def test_every_other_sampler_agrees_with_the_exact_posterior(sampler, exact):
    if sampler in EXTRAS:
        pytest.importorskip(sampler)
    fit = ba.fit("model_b", tiny_data(), nuts_sampler=sampler, **SETTINGS)
    assert fit.attrs["nuts_sampler"] == sampler
    assert fit["posterior"].sizes["chain"] == SETTINGS["chains"]
    assert np.abs(z_scores(fit, exact)).max() < SIGMAS


@pytest.mark.parametrize("method", ["advi", "fullrank_advi"])
@SHORT_RUNS  # a Pareto k above 0.7 is warned of, and is no failure here
def test_advi_is_near_the_exact_posterior(method, exact):
    fit = ba.fit("model_b", tiny_data(), method=method, method_options={"steps": 10_000}, **SETTINGS)
    assert fit["posterior"].sizes["chain"] == 1
    assert fit["posterior"].sizes["draw"] == SETTINGS["draws"] * SETTINGS["chains"]
    assert (fit.attrs["method"], fit.attrs["yields"]) == (method, "approximation")
    assert "nuts_sampler" not in fit.attrs
    assert json.loads(fit.attrs["settings"]) == {"draws": 1000, "chains": 4, "steps": 10_000, "starts": 20}
    assert view_of(fit).convergence is None  # draws of an approximation are independent
    found = ba.diagnostics_of(fit)
    assert set(found) >= {"pareto_k", "converged", "steps"}
    assert 0 < found["steps"] <= 10_000
    assert np.isfinite(found["pareto_k"])
    assert found["max_rhat"] is None
    # a normal approximation on the log-ratio scale to a posterior that is not normal: a third of a posterior sd
    for name in ("prevalence", "confusion"):
        off = np.abs(draws_of(fit)[name].mean(("chain", "draw")).values - getattr(exact, name))
        assert (off < getattr(exact, f"{name}_sd") / 3).all()
    assert np.abs(fit["latent"]["probability"].values - exact.probability).max() < 0.1


# ------------------------------------------------------------------------------------------------------- recovery


def covered(fit, truth, name):
    import arviz_stats as azs

    interval = azs.hdi(draws_of(fit)[[name]], prob=0.94)[name]
    true = truth[name].values
    inside = (interval.sel(ci_bound="lower").values <= true) & (true <= interval.sel(ci_bound="upper").values)
    return int(inside.sum()), int(inside.size)


def test_intervals_cover_the_true_parameters_as_often_as_they_should(mace_fit, crowd):
    for name in ("competence", "strategy"):
        inside, n = covered(mace_fit, crowd[1], name)
        assert scipy.stats.binomtest(inside, n, 0.94).pvalue > 1e-3, f"{inside} of {n} {name}"


def test_intervals_do_not_cover_the_parameters_of_other_annotators(mace_fit, crowd):
    shuffled = crowd[1].roll(annotator=7, roll_coords=False)
    inside, n = covered(mace_fit, shuffled, "competence")
    assert scipy.stats.binomtest(inside, n, 0.94).pvalue < 1e-3


def test_probabilities_are_calibrated_on_the_data_of_their_own_model(mace_fit, crowd):
    labels = ba.label_table(mace_fit)
    right = (labels["label"] == labels["gold"]).to_numpy()
    p = labels["probability"].to_numpy()
    z = (right - p).sum() / np.sqrt((p * (1 - p)).sum())
    assert abs(z) < SIGMAS
    assert set(labels["gold"]) == set(crowd[0].labels)


# -------------------------------------------------------------------------------------------------- reproducible


def fit_short(seed, sampler="nutpie", **settings):
    return ba.fit("model_b", tiny_data(), **(SHORT | {"random_seed": seed, "nuts_sampler": sampler} | settings))


@pytest.mark.parametrize("sampler", ["nutpie", "pymc"])
@SHORT_RUNS
def test_a_seed_determines_the_draws_bit_for_bit(sampler):
    first, again, other = (fit_short(seed, sampler) for seed in (1, 1, 2))
    for group in ("posterior", "latent", "log_likelihood", "log_prior"):
        xr.testing.assert_equal(first[group].to_dataset(), again[group].to_dataset())
        for name in first[group].data_vars:
            assert not np.array_equal(first[group][name].values, other[group][name].values)


@SHORT_RUNS
def test_a_fit_without_a_seed_records_one_that_gives_the_same_draws():
    first, other = fit_short(None), fit_short(None)
    assert first.attrs["random_seed"] != other.attrs["random_seed"]
    again = fit_short(first.attrs["random_seed"])
    xr.testing.assert_equal(draws_of(first), draws_of(again))


# -------------------------------------------------------------------------------------------------------- refused

OUT_OF_RANGE = {
    "no draws": ({"draws": 0}, "draws is 0: it must be at least"),
    "negative chains": ({"chains": -2}, "chains is -2"),
    "steps in words": ({"method": "advi", "method_options": {"steps": "few"}}, "steps is 'few': it must be a whole"),
    "unknown option": ({"method": "advi", "method_options": {"step": 9}}, "advi has no method option 'step': it has"),
    "accepts nothing": ({"target_accept": 0.0}, r"target_accept is 0\.0: it must be a number between 0 and 1"),
    "few draws": ({"draws": 3}, "draws is 3: it must be at least 4"),
    "no tuning": ({"tune": 0}, "tune is 0: it must be at least 1"),
    "no chains": ({"chains": 0}, "chains is 0"),
    "not whole": ({"draws": 10.5}, r"draws is 10\.5: it must be a whole number"),
    "no number": ({"target_accept": "high"}, "target_accept is 'high': it must be a number"),
    "no steps": ({"method": "advi", "method_options": {"steps": 0}}, "steps is 0: it must be at least 1"),
    "option of another method": ({"method_options": {"steps": 9}}, "nuts has no method option 'steps': it has starts"),
    "an argument as option": ({"method": "advi", "method_options": {"draws": 9}}, "advi has no method option 'dra"),
    "options, type": ({"method_options": "steps"}, "method_options is 'steps': it must be a mapping"),
    "accepts all": ({"target_accept": 1}, "target_accept is 1: it must be a number between 0 and 1"),
    "not a number": ({"target_accept": float("nan")}, "target_accept is nan"),
    "method": ({"method": "nutz"}, "no method 'nutz': choose one of nuts, advi, fullrank_advi"),
    "sampler": ({"nuts_sampler": "stan"}, "nuts_sampler is 'stan': it must be one of 'nutpie', 'pymc', 'nu"),
    "initvals, text": ({"initvals": "mode"},
                       "initvals is 'mode': it must be one of 'auto', 'vote', 'prior', 'em', or a map"),
    "initvals, name": ({"initvals": {"lambda": 1}},
                       "initvals: the model has no free variable 'lambda': it has prevalence, con"),
    "initvals, deterministic": ({"initvals": {"accuracy": [1, 1, 1]}},
                                "initvals: the model has no free variable 'accuracy'"),
    "initvals, shape": ({"initvals": {"prevalence": [0.2, 0.2, 0.6]}},
                        r"initvals: prevalence has shape \(3,\), .* is \(2,\)"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", OUT_OF_RANGE)
def test_a_setting_out_of_its_range_is_refused(refuses, wrong):
    settings, match = OUT_OF_RANGE[wrong]
    with refuses(FitError, match):
        ba.fit("model_b", tiny_data(), **(SHORT | settings))


def test_an_unknown_model_is_refused(refuses):
    with refuses(ModelError, "no model 'model_c': did you mean 'model_b'"):
        ba.fit("model_c", tiny_data())


def test_a_sampler_that_is_not_installed_is_refused_with_what_to_install(refuses, monkeypatch):
    find_spec = methods.find_spec
    monkeypatch.setattr(methods, "find_spec", lambda name: None if name == "numpyro" else find_spec(name))
    with refuses(SamplerError, r"'numpyro' is not installed: pip install 'bayesanno\[numpyro\]', or use nutpie"):
        ba.fit("model_b", tiny_data(), nuts_sampler="numpyro")


# ------------------------------------------------------------------------------------------------ the design's fault


def test_a_design_that_does_not_show_who_is_right_is_warned_of_at_once():
    data = ba.AnnotationData.from_records([("1", "a", "x"), ("2", "b", "y"), ("3", "c", "y")])
    with (
        pytest.warns(IdentifiabilityWarning, match="design-one-answer"),
        pytest.warns(IdentifiabilityWarning, match="design-groups-apart"),
        pytest.raises(FitError, match="initvals"),
    ):
        ba.fit("model_b", data, initvals={"stop here": 0})


# ------------------------------------------------------------------------------------------------- what a fit says


def test_a_fit_says_what_it_was_made_of(tiny_fit):
    attrs = tiny_fit.attrs
    assert {name: attrs[name] for name in ("model", "method", "yields", "nuts_sampler", "random_seed")} == {
        "model": "model_b", "method": "nuts", "yields": "mcmc", "nuts_sampler": "nutpie", "random_seed": 1,
    }  # fmt: skip
    assert json.loads(attrs["settings"]) == {
        "draws": 1000, "tune": 500, "chains": 4, "target_accept": 0.8, "nuts_sampler": "nutpie",
        "nuts_sampler_kwargs": {}, "starts": 20,
    }  # fmt: skip
    assert ba.model_of(tiny_fit) == ModelB()
    assert attrs["data_hash"] == tiny_data().hash == ba.data_of(tiny_fit).hash
    assert attrs["seconds_compile"] > 0
    assert attrs["seconds_sample"] > 0
    found = ba.diagnostics_of(tiny_fit)
    assert found["max_rhat"] <= 1.01
    assert min(found["min_ess_bulk"], found["min_ess_tail"]) >= 400
    assert found["divergences"] == 0
    assert found["relabelled_fraction"] == 0


def test_draws_that_no_memory_holds_are_refused_before_anything_is_compiled(refuses):
    says = (  # 2 shares, 12 probabilities and 3 accuracies
        "confusion has 3 x 2 x 2 numbers, and 4,000,000,000,000 draws of model_b take 506,639 GiB, more than the "
        "memory of this machine: join rare labels, leave out annotators of few annotations, or take fewer draws"
    )
    with refuses(FitError, says):
        ba.fit("model_b", tiny_data(), draws=10**12, progressbar=False)
