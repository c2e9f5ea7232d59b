"""Fitting: the same seed gives the same draws, the draws are of the posterior, and wrong requests are refused."""

import json
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from arviz_stats.base import array_stats

import bayesanno as ba
from bayesanno._core.messages import FitError, SamplerError
from bayesanno.fits.view import view_of
from bayesanno.graph.density import compile_graph
from bayesanno.inference import settings
from bayesanno.inference.sampling.nuts import sample_nuts
from bayesanno.inference.sampling.starts import start_near
from bayesanno.inference.settings import NUTSSettings
from bayesanno.models.model_b import ModelB
from tests.inference.draws import EXCHANGEABLE, clear_posterior, make_fit
from tests.inference.exact import exact_posterior
from tests.models.contract import TINY
from tests.samples import SETTINGS, SHORT, tiny_data

SIGMAS = 4  # standard errors of the mean, at most, between an average over draws and the exact value
SHORT_RUNS = pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")
EXTRAS = ("numpyro", "blackjax")


def draws_of(fit):
    return fit["posterior"].to_dataset()


def of_origin(fit):
    """What ArviZ's conventions say of a fit's draws, in the same words with the statistics of the sampler."""
    attrs, stats = fit["posterior"].attrs, fit["sample_stats"].attrs
    names = ("creation_library", "modeling_interface", "inference_library", "inference_library_version")
    for group in (attrs, stats):
        age = datetime.now(UTC) - datetime.fromisoformat(group["created_at"])  # fails for a time without a zone
        assert timedelta(0) <= age < timedelta(hours=6)
    assert attrs.items() <= stats.items()
    return tuple(attrs[name] for name in names)


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
def test_every_other_sampler_draws_from_the_density_by_its_settings(sampler):
    if sampler in EXTRAS:
        pytest.importorskip(sampler)
    with pm.Model() as graph:
        pm.Beta("share", 3, 1)
    starts = start_near(compile_graph(graph, {"share": np.array(0.5)}))
    settings = NUTSSettings(draws=1000, tune=500, chains=3, target_accept=0.95, nuts_sampler=sampler)
    found, again, other = (
        sample_nuts(graph, starts, settings, random_seed=seed, progressbar=False) for seed in (1, 1, 2)
    )
    xr.testing.assert_equal(found.posterior, again.posterior)
    draws = found.posterior["share"].values
    assert draws.shape == (3, 1000)
    assert not np.array_equal(draws, other.posterior["share"].values)
    for values, mean in ((draws, 3 / 4), (draws**2, 3 / 5)):
        assert abs(values.mean() - mean) < SIGMAS * array_stats.mcse(values, chain_axis=0, draw_axis=1)
    assert float(found.sample_stats["acceptance_rate"].mean()) > 0.9


@pytest.mark.parametrize("method", ["advi", "fullrank_advi"])
@SHORT_RUNS  # a Pareto k above 0.7 is warned of, and is no failure here
def test_advi_is_near_the_exact_posterior(method, exact):
    fit = ba.fit("model_b", tiny_data(), method=method, method_options={"steps": 10_000}, **SETTINGS)
    assert (fit["posterior"].sizes["chain"], fit["posterior"].sizes["draw"]) == (1, 4000)
    assert (fit.attrs["method"], fit.attrs["yields"]) == (method, "approximation")
    assert json.loads(fit.attrs["settings"]) == {"draws": 1000, "chains": 4, "steps": 10_000, "starts": 20}
    assert view_of(fit).convergence is None  # draws of an approximation are independent
    found = ba.diagnostics_of(fit)
    assert 0 < found["steps"] <= 10_000
    assert np.isfinite(found["pareto_k"])
    # a normal approximation on the log-ratio scale to a posterior that is not normal: a third of a posterior sd
    for name in ("prevalence", "confusion"):
        off = np.abs(draws_of(fit)[name].mean(("chain", "draw")).values - getattr(exact, name))
        assert (off < getattr(exact, f"{name}_sd") / 3).all()
    assert np.abs(fit["latent"]["probability"].values - exact.probability).max() < 0.1


# ------------------------------------------------------------------------------------------------------- recovery


def test_probabilities_are_calibrated_on_the_data_of_their_own_model(mace_fit, crowd):
    labels = ba.label_table(mace_fit)
    right = (labels["label"] == labels["gold"]).to_numpy()
    p = labels["probability"].to_numpy()
    z = (right - p).sum() / np.sqrt((p * (1 - p)).sum())
    assert abs(z) < SIGMAS
    assert set(labels["gold"]) == set(crowd[0].labels)


# -------------------------------------------------------------------------------------------------------- refused

REFUSED = [
    ({"draws": 3}, "draws is 3: it must be at least 4"),
    ({"tune": 0}, "tune is 0"),
    ({"chains": 0}, "chains is 0"),
    ({"draws": 10.5}, r"draws is 10\.5: it must be a whole number"),
    ({"draws": "100"}, "draws is '100': it must be a number, and this is text"),
    ({"target_accept": 1}, "target_accept is 1"),
    ({"target_accept": float("nan")}, "target_accept is nan"),
    ({"method": "advi", "method_options": {"steps": 0}}, "steps is 0"),
    ({"method": "advi", "method_options": {"step": 9}}, "advi has no method option 'step'"),
    ({"method": "advi", "method_options": {"draws": 9}}, "advi has no method option 'draws'"),
    ({"method_options": {"steps": 9}}, "nuts has no method option 'steps'"),
    ({"method_options": "steps"}, "method_options is 'steps': it must be a mapping"),
    ({"method": "nutz"}, "no method 'nutz'"),
    ({"nuts_sampler": "stan"}, "nuts_sampler is 'stan'"),
    ({"initvals": "mode"}, "initvals is 'mode'"),
    ({"initvals": {"accuracy": [1, 1, 1]}}, "initvals: the model has no free variable 'accuracy'"),
    ({"initvals": {"prevalence": [0.2, 0.2, 0.6]}}, r"initvals: prevalence has shape \(3,\), .* is \(2,\)"),
    ({"draws": 10**12}, "confusion has 3 x 2 x 2 numbers, and 2,000,000,000,000 draws of model_b take 253,320 GiB"),
]


@pytest.mark.parametrize(("settings", "match"), REFUSED, ids=lambda of: str(of)[:40])
def test_a_setting_out_of_its_range_is_refused(refuses, settings, match):
    with refuses(FitError, match):
        ba.fit("model_b", tiny_data(), **(SHORT | settings))


def test_a_sampler_that_is_not_installed_is_refused_with_what_to_install(refuses, monkeypatch):
    find_spec = settings.find_spec
    monkeypatch.setattr(settings, "find_spec", lambda name: None if name == "numpyro" else find_spec(name))
    with refuses(SamplerError, r"'numpyro' is not installed: pip install 'bayesanno\[numpyro\]', or use nutpie"):
        ba.fit("model_b", tiny_data(), nuts_sampler="numpyro")


# ------------------------------------------------------------------------------------------------- what a fit says


@pytest.mark.parametrize("method", ["advi", "em", "vb"])
def test_methods_of_bayesanno_itself_are_its_own_inference_library(method):
    fit = ba.fit("model_b", tiny_data(), method=method, random_seed=1, progressbar=False, check=False)
    assert of_origin(fit) == ("bayesanno", "bayesanno", "bayesanno", version("bayesanno"))
    assert "tuning_steps" not in fit["posterior"].attrs


@pytest.mark.filterwarnings("ignore")  # of few draws and few known labels
def test_a_fit_made_from_another_names_the_sampler_of_its_draws(tiny_fit, tmp_path, rng):
    older, exchangeable = tiny_fit.copy(), make_fit(EXCHANGEABLE, TINY, clear_posterior(rng, n_draws=30))
    for one in (older, exchangeable):
        sampler = {"inference_library": "nutpie", "inference_library_version": "0.1"}
        one["sample_stats"].attrs = one["sample_stats"].attrs | sampler
    ba.save(older, tmp_path / "older.nc")
    older = ba.load(tmp_path / "older.nc")
    made = [ba.drop_chains(older, [0]), *ba.split_modes(older), ba.relabel(exchangeable)]
    for one in made:
        assert of_origin(one) == ("bayesanno", "bayesanno", "nutpie", "0.1")
    for one in (ba.recalibrate(older, {"s1": "yes", "s2": "no"}), ba.adjust(older)):  # their draws are the same
        assert one["posterior"].attrs == older["posterior"].attrs


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
    assert of_origin(tiny_fit) == ("bayesanno", "bayesanno", "nutpie", version("nutpie"))
    assert tiny_fit["posterior"].attrs["tuning_steps"] == 500
    assert tiny_fit["posterior"].attrs["sampling_time"] == attrs["seconds_sample"]
    found = ba.diagnostics_of(tiny_fit)
    assert found["max_rhat"] <= 1.01
    assert min(found["min_ess_bulk"], found["min_ess_tail"]) >= 400
    assert (found["n_chains"], found["divergences"], found["relabelled_fraction"]) == (4, 0, 0)
