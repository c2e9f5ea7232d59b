"""The fit of a model of counts is public API: its groups, variables, dims, coords and types.

One model is sampled; of the others the draws are of the prior.
"""

import warnings
from types import SimpleNamespace

import arviz_stats as azs
import numpy as np
import pytest
import xarray as xr

from bayesanno import (
    AnnotationData,
    CountData,
    annotator_table,
    compare_annotators,
    coverage_table,
    data_of,
    fit,
    label_table,
    load,
    model_of,
    predict_labels,
    relabel,
    save,
    summary,
    type_table,
)
from bayesanno._core.errors import DataError, FitError
from bayesanno.analysis.labels import score
from bayesanno.fits.view import view_of
from bayesanno.graph import functions
from bayesanno.graph.density import compile_graph
from bayesanno.inference.diagnosis.findings import find_before, find_in_fit, read_findings
from tests.inference.draws import make_fit
from tests.models.contract import EXACT, ROUND_TRIP, as_posterior, models_of
from tests.models.contract_counts import CountCase

DRAWS, CHAINS = 40, 2
SAMPLED = ("binomial_mixture",)
TYPES = ("item_type",)
SCHEMA = {
    "binomial_mixture": SimpleNamespace(
        free={"weight": TYPES, "rate": TYPES}, priors={"weight_prior": (), "rate_prior": ("rate_prior_dim_0",)}
    ),
    "gaussian_mixture": SimpleNamespace(
        free={"weight": TYPES, "mean": TYPES, "sd": TYPES},
        priors={"weight_prior": (), "mean_prior": ("mean_prior_dim_0",), "sd_prior": ()},
    ),
    "diligent_lazy": SimpleNamespace(
        free={"weight": TYPES, "rate": TYPES, "diligence": (), "lazy_rate": ()},
        priors={
            "weight_mean": ("weight_mean_dim_0",),
            "weight_strength": (),
            "rate_mean": ("rate_mean_dim_0",),
            "rate_strength": (),
            "diligence_prior": ("diligence_prior_dim_0",),
            "lazy_rate_prior": ("lazy_rate_prior_dim_0",),
        },
    ),
}
ASCENDING = {"rate", "mean"}


@pytest.fixture(scope="module", params=models_of(CountData))
def fitted(request):
    name = request.param
    if name not in SCHEMA:
        pytest.fail(f"the zoo has a model {name!r} of counts without a schema: add one to SCHEMA in {__name__}")
    case = CountCase(name, {})
    if name not in SAMPLED:
        posterior = as_posterior(case.graph.model, case.prior_draws[: CHAINS * DRAWS], CHAINS)
        return SimpleNamespace(tree=make_fit(case.entry, case.data, posterior), case=case, schema=SCHEMA[name])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        tree = fit(case.entry, case.data, draws=DRAWS, tune=60, chains=CHAINS, random_seed=7, progressbar=False)
    return SimpleNamespace(tree=tree, case=case, schema=SCHEMA[name], said=said)


sampled = pytest.mark.parametrize("fitted", SAMPLED, indirect=True)
OTHERS = sorted(set(models_of(CountData)) - set(SAMPLED))


def dims_of(dataset):
    return {name: variable.dims for name, variable in dataset.data_vars.items()}


@pytest.mark.parametrize(
    "fitted", [*SAMPLED, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)], indirect=True
)
def test_the_graph_is_compiled_by_what_a_process_keeps(fitted):
    """And not by nutpie itself, which would be as right, and slow."""
    model = compile_graph(fitted.case.entry.build(fitted.case.data), fitted.case.entry.start(fitted.case.data))
    assert any(model.functions.logp in kept for kept in functions._kept.values() if isinstance(kept, tuple))


def test_variables_and_dims(fitted):
    tree, schema = fitted.tree, fitted.schema
    assert set(tree.children) == {
        "posterior", "sample_stats", "convergence", "log_likelihood", "log_prior", "latent", "observed_data",
        "constant_data",
    }  # fmt: skip
    assert dims_of(tree["posterior"]) == {name: ("chain", "draw", *dims) for name, dims in schema.free.items()}
    assert dims_of(tree["log_likelihood"]) == {"successes": ("chain", "draw", "item")}
    assert dims_of(tree["latent"]) == {
        "probability": ("item", "item_type"), "log_probability": ("item", "item_type"),
        "probability_mcse": ("item", "item_type"), "entropy": ("item",), "hard": ("item",),
    }  # fmt: skip
    assert dims_of(tree["observed_data"]) == {"successes": ("item",)}
    assert dims_of(tree["constant_data"]) == {"trials": ("item",), **schema.priors}
    assert set(tree["log_prior"].data_vars) == set(schema.free)


@sampled
def test_what_is_found_is_kept_and_warned_of(fitted):
    """So few draws are always warned about."""
    found, model = read_findings(view_of(fitted.tree)), fitted.case.entry
    assert found == find_in_fit(view_of(fitted.tree))
    of_model = [
        *find_before(model, fitted.case.data),
        *model.findings_of_posterior(fitted.tree["posterior"].to_dataset()),
    ]
    assert set(of_model) <= set(found)
    ours = {str(one.message) for one in fitted.said if one.category.__module__.startswith("bayesanno.")}
    assert ours == {one.text for one in found if one.warning}


def test_coords_and_types(fitted):
    for group in fitted.tree.children.values():
        for dim, names in (("item", fitted.case.data.items), ("item_type", ("type 1", "type 2"))):
            if dim in group.dims:
                assert tuple(group[dim].values) == names
    for group in ("posterior", "log_likelihood", "log_prior", "latent"):
        for variable in fitted.tree[group].data_vars.values():
            assert variable.dtype.kind == "f"
            assert np.isfinite(variable.values).all()
    assert fitted.tree["observed_data"]["successes"].dtype == np.int64


def test_types_ascend(fitted):
    """In every draw; or on average, where their priors tell the types apart."""
    (name,) = ASCENDING & set(fitted.schema.free)
    drawn = fitted.tree["posterior"][name].values.reshape(-1, 2)  # (sample, item_type)
    for values in (drawn, np.array([one[name] for one in fitted.case.prior_draws])):
        in_order = values[:, 0] < values[:, 1]
        assert in_order.all() or fitted.case.entry.name == "diligent_lazy"
        assert values[:, 0].mean() < values[:, 1].mean()


def test_everything_computed_from_the_draws_is_right(fitted):
    tree, case = fitted.tree, fitted.case
    log_prior = sum(
        variable.sum([dim for dim in variable.dims if dim not in ("chain", "draw")])
        for variable in tree["log_prior"].data_vars.values()
    )
    probability = 0.0
    for chain, draw in np.ndindex(CHAINS, DRAWS):
        one = {name: tree["posterior"][name].values[chain, draw] for name in fitted.schema.free}
        likelihood = tree["log_likelihood"]["successes"].values[chain, draw]
        np.testing.assert_allclose(likelihood, case.item_logp(one, case.data), rtol=EXACT, atol=EXACT)
        np.testing.assert_allclose(log_prior[chain, draw], case.log_prior(one), rtol=ROUND_TRIP)
        probability += case.probability(one, case.data) / (CHAINS * DRAWS)
    np.testing.assert_allclose(tree["latent"]["probability"], probability, rtol=EXACT, atol=EXACT)


def test_a_fit_comes_back_from_its_file(fitted, tmp_path):
    save(fitted.tree, tmp_path / "posterior.nc")
    again = load(tmp_path)
    xr.testing.assert_identical(again, fitted.tree)
    assert data_of(again).hash == fitted.case.data.hash
    assert model_of(again) == fitted.case.entry


def draws_of_rates(fitted):
    """The reference's rates of positive answers in every draw, (sample, item_type)."""
    posterior = fitted.tree["posterior"].to_dataset()
    n = int(fitted.case.data.trials.max())
    draws = [{name: posterior[name].values[at] for name in fitted.schema.free} for at in np.ndindex(CHAINS, DRAWS)]
    return np.array([fitted.case.reference.rates(fitted.case.whole(one), n) for one in draws])


def test_the_tables_agree_with_the_posterior(fitted):
    data, tree = fitted.case.data, fitted.tree
    labels = label_table(tree, coverage=0.5)
    assert labels.columns.tolist() == ["item", "p[type 1]", "p[type 2]", "successes", "trials", "hard", "kept"]
    assert (labels["item"].tolist(), labels["successes"].tolist()) == (list(data.items), data.successes.tolist())
    p = labels[["p[type 1]", "p[type 2]"]].to_numpy()
    np.testing.assert_array_equal(p, tree["latent"]["probability"])
    assert labels["kept"].sum() == round(data.n_items / 2)

    types = type_table(tree)
    of = [name for name, dims in fitted.schema.free.items() if dims == TYPES]
    parts = [f"{name}_{what}" for name in [*of, "expected_items"] for what in ("mean", "sd", "eti89_lb", "eti89_ub")]
    assert types.columns.tolist() == ["item_type", *parts, "hard_type_probability"]
    assert types["item_type"].tolist() == ["type 1", "type 2"]
    np.testing.assert_allclose(types["expected_items_mean"], p.sum(axis=0))
    rates = draws_of_rates(fitted)  # (sample, item_type)
    nearest = np.abs(rates - 0.5).argmin(axis=1)
    assert types["hard_type_probability"].tolist() == [(nearest == t).mean() for t in range(2)]
    rows = summary(tree).set_index("parameter")
    for name in of:
        for kind in ("mean", "sd", "eti89_lb", "eti89_ub"):
            own = rows.loc[[f"{name}[type 1]", f"{name}[type 2]"], kind]
            np.testing.assert_allclose(types[f"{name}_{kind}"], own)


def test_what_counts_do_not_have_is_refused(fitted, refuses):
    name = fitted.case.entry.name
    answers = AnnotationData.from_records([("s1", "ada", "yes"), ("s1", "bo", "no")])
    with refuses(DataError, f"this fit of {name} is of CountData: predict from CountData, not from AnnotationData"):
        predict_labels(fitted.tree, answers)
    for table in (annotator_table, compare_annotators):
        with refuses(FitError, f"{name} has no competence of annotators"):
            table(fitted.tree)
    with refuses(FitError, "no gold label is known"):
        coverage_table(fitted.tree)
    with refuses(FitError, f"items are of types in {name}, and types keep their order: there is nothing to relabel"):
        relabel(fitted.tree)
    assert score(fitted.tree) == {}


def test_items_can_be_left_out_one_by_one(fitted):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so few draws
        found = azs.loo(fitted.tree, pointwise=True)
    assert np.isfinite(found.elpd)
    assert found.elpd_i.sizes == {"item": fitted.case.data.n_items}
