"""The fit is public API: its groups, variables, dims, coords, types and attributes, for every model of annotations.

Two models are sampled; of all others the draws are of the prior, which takes no compiled code, and the groups the same.
"""

import json
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from bayesanno import AnnotationData, data_of, diagnostics_of, fit, label_table, load, model_of, save, summary
from bayesanno._core.errors import ConvergenceWarning, DataFileError, FitError, IdentifiabilityWarning
from bayesanno.graph import functions
from bayesanno.graph.density import compile_graph
from tests.inference.draws import make_fit
from tests.models.contract import EXACT, ITEMS, RECORDS, ROUND_TRIP, as_posterior, known_values, make_case, models_of

DRAWS, CHAINS = 40, 2
SAMPLED = ("mace", "model_b")
GOLD, CONTROLS = {"s1": "no", "s4": "yes"}, {"s3": "no"}


def by_item(state_dim):
    each = dict.fromkeys(("probability", "log_probability", "probability_mcse"), ("item", state_dim))
    return each | {"entropy": ("item",)}


CONFUSION = ("annotator", "true_class", "response")
OF_DIFFICULTY = {
    "difficulty": ("item",),
    "difficulty_probability": ("item", "difficulty_bin"),
    "expected_accuracy": ("item",),
}
SCHEMA = {
    "model_b": SimpleNamespace(
        free={"prevalence": ("true_class",), "confusion": CONFUSION},
        deterministic={"accuracy": ("annotator",)},
        latent=by_item("true_class"),
        priors={"prevalence_prior": (), "confusion_strength": (), "confusion_accuracy": ()},
    ),
    "pooled_dawid_skene": SimpleNamespace(
        free={"prevalence": ("true_class",), "confusion": ("true_class", "response")},
        deterministic={},
        latent=by_item("true_class"),
        priors={"prevalence_prior": (), "confusion_strength": (), "confusion_accuracy": ()},
    ),
    "class_conditional": SimpleNamespace(
        free={"class_accuracy": ("annotator", "true_class"), "prevalence": ("true_class",)},
        deterministic={"accuracy": ("annotator",)},
        latent=by_item("true_class"),
        priors={"class_accuracy_prior": ("class_accuracy_prior_dim_0",), "prevalence_prior": ()},
    ),
    "hierarchical_dawid_skene": SimpleNamespace(
        free={
            "prevalence": ("true_class",),
            "population": ("true_class", "response"),
            "spread": ("true_class",),
            "ability_spread": (),
            "ability": ("annotator",),
            "confusion": CONFUSION,
        },
        deterministic={"accuracy": ("annotator",)},
        latent=by_item("true_class"),
        priors={
            "prevalence_prior": (),
            "confusion_accuracy": (),
            "confusion_spread": (),
            "spread_prior": (),
            "ability_spread_prior": (),
        },
    ),
    "mace": SimpleNamespace(
        free={"competence": ("annotator",), "strategy": ("annotator", "response"), "prevalence": ("true_class",)},
        deterministic={"accuracy": ("annotator",)},
        latent=by_item("true_class") | {"spam": ("annotation",)},
        priors={"competence_prior": ("competence_prior_dim_0",), "strategy_prior": (), "prevalence_prior": ()},
    ),
    "one_coin": SimpleNamespace(
        free={"accuracy": ("annotator",), "prevalence": ("true_class",)},
        deterministic={},
        latent=by_item("true_class"),
        priors={"accuracy_prior": ("accuracy_prior_dim_0",), "prevalence_prior": ()},
    ),
    "item_difficulty": SimpleNamespace(
        free={
            "ability": ("annotator",),
            "spread": (),
            "prevalence": ("true_class",),
            "habit": ("annotator", "response"),
        },
        deterministic={"accuracy": ("annotator",)},
        latent=by_item("true_class") | OF_DIFFICULTY,
        priors={
            "ability_prior": ("ability_prior_dim_0",),
            "spread_prior": (),
            "prevalence_prior": (),
            "habit_prior": (),
        },
    ),
    "shared_errors": SimpleNamespace(
        free={
            "ability": ("annotator",),
            "loading": ("annotator",),
            "habit": ("annotator", "response"),
            "spread": (),
            "prevalence": ("true_class",),
        },
        deterministic={"accuracy": ("annotator",)},
        latent=by_item("true_class") | OF_DIFFICULTY,
        priors={
            "ability_prior": ("ability_prior_dim_0",),
            "spread_prior": (),
            "loading_prior": (),
            "habit_prior": (),
            "prevalence_prior": (),
        },
    ),
    "ordinal_dawid_skene": SimpleNamespace(
        free={
            "prevalence": ("true_class",),
            "width": ("response",),
            "severity_spread": (),
            "severity": ("annotator",),
            "typical_sd": (),
            "sd_spread": (),
            "sd": ("annotator",),
        },
        deterministic={"threshold": ("boundary",), "accuracy": ("annotator",)},
        latent=by_item("true_class"),
        priors={
            "sd_prior": ("sd_prior_dim_0",),
            "sd_spread_prior": (),
            "severity_prior": (),
            "width_prior": (),
            "prevalence_prior": (),
        },
    ),
    "label_usage": SimpleNamespace(
        free={"usage": ("annotator", "response")},
        deterministic={},
        latent=by_item("item_type"),
        priors={"habit": ("response",)},
    ),
    "easy_hard": SimpleNamespace(
        free={"hard_fraction": (), "coin": ("annotator", "response"), "easy_prevalence": ("response",)},
        deterministic={},
        latent=by_item("item_type") | {"hard": ("item",)},
        priors={"hard_prior": ("hard_prior_dim_0",), "coin_prior": (), "easy_prevalence_prior": ()},
    ),
    "diligent_lazy_annotators": SimpleNamespace(
        free={"weight": ("item_type",), "rate": ("item_type",), "diligence": ("annotator",), "lazy_rate": ()},
        deterministic={},
        latent=by_item("item_type") | {"hard": ("item",)},
        priors={
            "weight_prior": (),
            "rate_prior": ("rate_prior_dim_0",),
            "diligence_prior": ("diligence_prior_dim_0",),
            "lazy_rate_prior": ("lazy_rate_prior_dim_0",),
        },
    ),
    "model_a": SimpleNamespace(
        free={"accuracy": ("annotator",)},
        deterministic={},
        latent=by_item("true_class") | {"label_probability": ("item", "response"), "correct": ("annotation",)},
        priors={"accuracy_prior": ("accuracy_prior_dim_0",), "frequency": ("response",)},
    ),
}


@pytest.fixture(scope="module", params=models_of(AnnotationData))
def fitted(request):
    name = request.param
    if name not in SCHEMA:
        pytest.fail(f"the zoo has a model {name!r} without a schema: add one to SCHEMA in {__name__}")
    case = make_case(name, {})
    controls = CONTROLS if case.entry.takes_controls else {}
    data = AnnotationData.from_records(RECORDS, items=ITEMS, labels=case.designs.labels, gold=GOLD, controls=controls)
    if name in SAMPLED:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # so few draws are always warned about
            warnings.simplefilter("ignore", IdentifiabilityWarning)  # and a label that nobody gives, by some models
            tree = fit(case.entry, data, draws=DRAWS, tune=40, chains=CHAINS, random_seed=7, progressbar=False)
    else:
        posterior = as_posterior(case.entry.build(data), case.prior_draws[: CHAINS * DRAWS], CHAINS)
        tree = make_fit(case.entry, data, posterior)
    return SimpleNamespace(tree=tree, case=case, data=data, schema=SCHEMA[name])


sampled = pytest.mark.parametrize("fitted", SAMPLED, indirect=True)
OTHERS = sorted(set(models_of(AnnotationData)) - set(SAMPLED))


def dims_of(dataset):
    return {name: variable.dims for name, variable in dataset.data_vars.items()}


def with_samples(dims):
    return {name: ("chain", "draw", *rest) for name, rest in dims.items()}


@pytest.mark.parametrize(
    "fitted", [*SAMPLED, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)], indirect=True
)
def test_the_graph_is_compiled_by_what_a_process_keeps(fitted):
    """And not by nutpie itself, which would be as right, and slow."""
    model = compile_graph(fitted.case.entry.build(fitted.data), fitted.case.entry.start(fitted.data))
    assert any(model.functions.logp in kept for kept in functions._kept.values() if isinstance(kept, tuple))


def test_groups(fitted):
    has_labels = "true_class" in fitted.schema.latent.get("probability", ())
    is_checked = fitted.tree.attrs["model"] in SAMPLED  # other fits are put together from draws
    assert set(fitted.tree.children) == {
        "posterior",
        "sample_stats",
        "convergence",
        "log_likelihood",
        "log_prior",
        "latent",
        "observed_data",
        "constant_data",
        *(("labels", "adjustment") if has_labels and is_checked else ()),
    }


def test_variables_and_dims(fitted):
    tree, schema = fitted.tree, fitted.schema
    assert dims_of(tree["posterior"]) == with_samples(schema.free | schema.deterministic)
    assert dims_of(tree["log_likelihood"]) == {"annotations": ("chain", "draw", "item")}
    assert dims_of(tree["latent"]) == schema.latent
    assert dims_of(tree["observed_data"]) == {"annotations": ("annotation",)}
    assert dims_of(tree["constant_data"]) == {
        "annotation_item": ("annotation",),
        "annotation_annotator": ("annotation",),
        "gold": ("item",),
        "control": ("item",),
        "order_declared": (),
        **schema.priors,
    }
    assert set(tree["log_prior"].data_vars) == set(schema.free)
    assert "diverging" in tree["sample_stats"]
    for variable in (*tree["log_prior"].data_vars.values(), *tree["sample_stats"].data_vars.values()):
        assert variable.dims[:2] == ("chain", "draw")


def test_coords(fitted):
    entry, data = fitted.case.entry, fitted.data
    names = {
        "chain": list(range(CHAINS)),
        "draw": list(range(DRAWS)),
        "item": list(ITEMS),
        "annotator": list(data.annotators),
        "response": list(data.labels),
        entry.state_dim: list(entry.states(data)),
    }
    found = set()
    for group in fitted.tree.children.values():
        for dim in set(group.dims) & set(names):
            assert group[dim].values.tolist() == names[dim]
            found.add(dim)
    assert found == set(names)


def test_types(fitted):
    kinds = {"posterior": "f", "log_likelihood": "f", "log_prior": "f", "latent": "f", "sample_stats": "biuf"}
    for group, kind in kinds.items():
        for variable in fitted.tree[group].data_vars.values():
            assert variable.dtype.kind in kind
    for group in ("posterior", "log_likelihood", "log_prior", "latent"):
        for name, variable in fitted.tree[group].data_vars.items():
            values = np.exp(variable.values) if name == "log_probability" else variable.values
            assert np.isfinite(values).all()
    assert fitted.tree["observed_data"]["annotations"].dtype == np.int64


@sampled
def test_attributes_are_text_and_numbers(fitted):
    assert "energy" in fitted.tree["sample_stats"]
    attrs = fitted.tree.attrs
    assert {name: type(value) for name, value in attrs.items()} == {
        "model": str,
        "fields": str,
        "method": str,
        "yields": str,
        "nuts_sampler": str,
        "settings": str,
        "random_seed": int,
        "seconds_compile": float,
        "seconds_sample": float,
        "versions": str,
        "data_hash": str,
        "diagnostics": str,
        "findings": str,
    }
    assert (attrs["method"], attrs["yields"], attrs["nuts_sampler"], attrs["random_seed"]) == (
        "nuts",
        "mcmc",
        "nutpie",
        7,
    )
    assert attrs["data_hash"] == fitted.data.hash
    assert json.loads(attrs["versions"]).keys() == {
        "bayesanno",
        "pymc",
        "pytensor",
        "nutpie",
        "arviz",
        "numpy",
        "xarray",
    }
    assert set(diagnostics_of(fitted.tree)) - {"rare"} == {  # which are there where there is cause
        "modes",
        "max_rhat",
        "min_ess_bulk",
        "min_ess_tail",
        "worst",
        "n_chains",
        "n_draws",
        "divergences",
        "maxdepth_reached",
        "min_bfmi",
        "misfit",
        "gold",
        "chance",
        "relabelled_fraction",
    }


def test_latent_is_a_distribution(fitted):
    latent = fitted.tree["latent"]
    np.testing.assert_allclose(latent["probability"].sum(fitted.case.entry.state_dim), 1, rtol=1e-12)
    if fitted.case.has_classes:
        assert latent["probability"].sel(item="s3").values.tolist()[:2] == [1, 0]
        assert latent["log_probability"].sel(item="s3").values.tolist()[:2] == [0, -np.inf]
        assert float(latent["entropy"].sel(item="s3")) == 0


def test_everything_computed_from_the_draws_is_right(fitted):
    """The same quantities by the reference, at the draws that the sampler gave."""
    tree, case = fitted.tree, fitted.case
    fields, probability = case.entry.to_fields(), 0.0
    log_prior = sum(
        variable.sum([dim for dim in variable.dims if dim not in ("chain", "draw")])
        for variable in tree["log_prior"].data_vars.values()
    )
    for chain, draw in np.ndindex(CHAINS, DRAWS):
        one = {name: tree["posterior"][name].values[chain, draw] for name in fitted.schema.free}
        one |= known_values(case.entry, fitted.data)
        likelihood = tree["log_likelihood"]["annotations"].values[chain, draw]
        np.testing.assert_allclose(likelihood, case.item_logp(one, fitted.data), rtol=EXACT, atol=EXACT)
        np.testing.assert_allclose(log_prior[chain, draw], case.reference.log_prior(one, fields), rtol=ROUND_TRIP)
        joint = case.states(one, fitted.data)
        probability += joint / joint.sum(axis=1, keepdims=True) / (CHAINS * DRAWS)
    np.testing.assert_allclose(tree["latent"]["probability"], probability, rtol=EXACT, atol=EXACT)
    np.testing.assert_allclose(np.exp(tree["latent"]["log_probability"]), probability, rtol=EXACT, atol=EXACT)


def test_a_fit_gives_back_its_model_and_its_data(fitted):
    assert model_of(fitted.tree) == fitted.case.entry
    again, data = data_of(fitted.tree), fitted.data
    assert again.hash == data.hash
    assert (dict(again.gold), dict(again.controls)) == (dict(data.gold), dict(data.controls))


def test_a_fit_comes_back_from_its_file(fitted, tmp_path):
    path = tmp_path / "posterior.nc"
    save(fitted.tree, path)
    again = load(path)
    xr.testing.assert_identical(again, fitted.tree)
    assert again.attrs == fitted.tree.attrs
    assert data_of(again).hash == fitted.data.hash
    assert model_of(again) == fitted.case.entry
    save(again, path, overwrite=True)  # the file is not held open
    xr.testing.assert_identical(load(tmp_path), fitted.tree)
    assert [file.name for file in tmp_path.iterdir()] == ["posterior.nc"]


def test_what_is_no_fit_is_refused(refuses, tmp_path):
    with refuses(DataFileError, "there is no fit at .*none.nc"):
        load(tmp_path / "none.nc")
    xr.Dataset({"x": 1}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with refuses(FitError, "not a fit by bayesanno: it lacks posterior"):
        load(tmp_path / "other.nc")
    (tmp_path / "text.nc").write_text("no NetCDF")
    with refuses(FitError, "cannot be read as a fit"):
        load(tmp_path / "text.nc")
    for read in (data_of, label_table, summary):
        with refuses(FitError, "not a fit by bayesanno"):
            read(xr.DataTree())
    with refuses(DataFileError, "there is no folder"):
        save(xr.DataTree(), tmp_path / "nowhere" / "posterior.nc")
