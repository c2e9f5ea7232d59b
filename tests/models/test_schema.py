"""The fit is public API: its groups, variables, dims, coords, types and attributes, for every model.

Three models are sampled; of all others the draws are of the prior, which takes no compiled code: the groups are equal.
"""

import json
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from bayesanno import (
    AnnotationData,
    CountData,
    data_of,
    diagnostics_of,
    fit,
    label_table,
    load,
    model_of,
    save,
    summary,
)
from bayesanno._core.messages import DataFileError, FitError
from tests.inference.draws import make_fit
from tests.models.contract import known_values, models_of
from tests.models.contract_counts import make_any_case
from tests.models.designs import ITEMS, RECORDS
from tests.models.graphs import EXACT, ROUND_TRIP, as_posterior

DRAWS, CHAINS = 40, 2
FEW_DRAWS = 10  # of a model that is not sampled
SAMPLED = ("mace", "model_b", "binomial_mixture")
MODELS = [*models_of(AnnotationData), *models_of(CountData)]
GOLD, CONTROLS = {"s1": "no", "s4": "yes"}, {"s3": "no"}

SCHEMA = """
model_b
    free: prevalence[true_class] confusion[annotator,true_class,response]
    derived: accuracy[annotator]
    priors: prevalence_prior confusion_strength confusion_accuracy
pooled_dawid_skene
    free: prevalence[true_class] confusion[true_class,response]
    priors: prevalence_prior confusion_strength confusion_accuracy
class_conditional
    free: class_accuracy[annotator,true_class] prevalence[true_class]
    derived: accuracy[annotator]
    priors: class_accuracy_prior[class_accuracy_prior_dim_0] prevalence_prior
hierarchical_dawid_skene
    free: prevalence[true_class] population[true_class,response] spread[true_class] ability_spread
    free: ability[annotator] confusion[annotator,true_class,response]
    derived: accuracy[annotator]
    priors: prevalence_prior confusion_accuracy confusion_spread spread_prior ability_spread_prior
mace
    free: competence[annotator] strategy[annotator,response] prevalence[true_class]
    derived: accuracy[annotator]
    read off: spam[annotation]
    priors: competence_prior[competence_prior_dim_0] strategy_prior prevalence_prior
one_coin
    free: accuracy[annotator] prevalence[true_class]
    priors: accuracy_prior[accuracy_prior_dim_0] prevalence_prior
item_difficulty
    free: ability[annotator] spread prevalence[true_class] habit[annotator,response]
    derived: accuracy[annotator]
    read off: difficulty[item] difficulty_probability[item,difficulty_bin] expected_accuracy[item]
    priors: ability_prior[ability_prior_dim_0] spread_prior prevalence_prior habit_prior
shared_errors
    free: ability[annotator] loading[annotator] habit[annotator,response] spread prevalence[true_class]
    derived: accuracy[annotator]
    read off: difficulty[item] difficulty_probability[item,difficulty_bin] expected_accuracy[item]
    priors: ability_prior[ability_prior_dim_0] spread_prior loading_prior habit_prior prevalence_prior
ordinal_dawid_skene
    free: prevalence[true_class] width[response] severity_spread severity[annotator] typical_sd sd_spread
    free: sd[annotator]
    derived: threshold[boundary] accuracy[annotator]
    priors: sd_prior[sd_prior_dim_0] sd_spread_prior severity_prior width_prior prevalence_prior
label_usage
    free: usage[annotator,response]
    priors: habit[response]
easy_hard
    free: hard_fraction coin[annotator,response] easy_prevalence[response]
    read off: hard[item]
    priors: hard_prior[hard_prior_dim_0] coin_prior easy_prevalence_prior
diligent_lazy_annotators
    free: weight[item_type] rate[item_type] diligence[annotator] lazy_rate
    read off: hard[item]
    priors: weight_prior rate_prior[rate_prior_dim_0] diligence_prior[diligence_prior_dim_0]
    priors: lazy_rate_prior[lazy_rate_prior_dim_0]
model_a
    free: accuracy[annotator]
    read off: label_probability[item,response] correct[annotation]
    priors: accuracy_prior[accuracy_prior_dim_0] frequency[response]
binomial_mixture
    free: weight[item_type] rate[item_type]
    read off: hard[item]
    priors: weight_prior rate_prior[rate_prior_dim_0]
gaussian_mixture
    free: weight[item_type] mean[item_type] sd[item_type]
    read off: hard[item]
    priors: weight_prior mean_prior[mean_prior_dim_0] sd_prior
diligent_lazy
    free: weight[item_type] rate[item_type] diligence lazy_rate
    read off: hard[item]
    priors: weight_mean[weight_mean_dim_0] weight_strength rate_mean[rate_mean_dim_0] rate_strength
    priors: diligence_prior[diligence_prior_dim_0] lazy_rate_prior[lazy_rate_prior_dim_0]
"""  # free parameters, deterministics, what is read off items beside their states, and priors: name[dims]
CONSTANTS = {
    "annotations": (
        "annotation_item[annotation] annotation_annotator[annotation] gold[item] control[item] order_declared"
    ),
    "successes": "trials[item]",
}


def parse(text):
    """Dims by name, of `name[dim,dim] name`."""
    found = re.findall(r"(\w+)(?:\[(.*?)\])?", text)
    return {name: tuple(dims.split(",")) if dims else () for name, dims in found}


def schema_of(model, part):
    """Dims by name, of a part of the schema of a model."""
    (text,) = re.findall(rf"^{model}\n((?:    .*\n)+)", SCHEMA, re.MULTILINE)
    return parse(" ".join(re.findall(rf"^    {part}: (.*)", text, re.MULTILINE)))


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    name = request.param
    if name not in re.findall(r"^\w+$", SCHEMA, re.MULTILINE):
        pytest.fail(f"the zoo has a model {name!r} without a schema: add one to SCHEMA in {__name__}")
    case = make_any_case(name, {})
    data, observed = case.data, "successes"
    if isinstance(data, AnnotationData):
        controls, observed = CONTROLS if case.entry.takes_controls else {}, "annotations"
        data = AnnotationData.from_records(RECORDS, items=ITEMS, labels=data.labels, gold=GOLD, controls=controls)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        if name in SAMPLED:
            tree = fit(case.entry, data, draws=DRAWS, tune=60, chains=CHAINS, random_seed=7, progressbar=False)
        else:
            posterior = as_posterior(case.entry.build(data), case.prior_draws[: CHAINS * FEW_DRAWS], CHAINS)
            tree = make_fit(case.entry, data, posterior)
    schema = {part: schema_of(name, part) for part in ("free", "derived", "read off", "priors")}
    return SimpleNamespace(tree=tree, case=case, data=data, observed=observed, said=said, schema=schema)


sampled = pytest.mark.parametrize("fitted", SAMPLED, indirect=True)


def dims_of(dataset):
    return {name: variable.dims for name, variable in dataset.data_vars.items()}


def with_samples(dims):
    return {name: ("chain", "draw", *rest) for name, rest in dims.items()}


def test_groups_variables_and_dims(fitted):
    tree, state = fitted.tree, fitted.case.entry.state_dim
    is_checked = tree.attrs["model"] in SAMPLED  # other fits are put together from draws
    groups = "posterior sample_stats convergence log_likelihood log_prior observed_data constant_data"
    groups += " latent" if state else ""  # nothing is unknown about the items of some models
    assert set(tree.children) == {
        *groups.split(),
        *(("check",) if state == "true_class" and is_checked else ()),
    }
    assert dims_of(tree["posterior"]) == with_samples(fitted.schema["free"] | fitted.schema["derived"])
    assert dims_of(tree["log_likelihood"]) == {fitted.observed: ("chain", "draw", "item")}
    by_state = dict.fromkeys(("probability", "log_probability", "probability_mcse"), ("item", state))
    if state:
        assert dims_of(tree["latent"]) == {**by_state, "entropy": ("item",), **fitted.schema["read off"]}
    own = ("annotation",) if fitted.observed == "annotations" else ("item",)
    assert dims_of(tree["observed_data"]) == {fitted.observed: own}
    assert dims_of(tree["constant_data"]) == parse(CONSTANTS[fitted.observed]) | fitted.schema["priors"]
    assert set(tree["log_prior"].data_vars) == set(fitted.schema["free"])
    assert "diverging" in tree["sample_stats"]
    for variable in (*tree["log_prior"].data_vars.values(), *tree["sample_stats"].data_vars.values()):
        assert variable.dims[:2] == ("chain", "draw")


def test_coords_and_types(fitted):
    entry, data = fitted.case.entry, fitted.data
    names = {
        "chain": list(range(CHAINS)),
        "draw": list(range(DRAWS if entry.name in SAMPLED else FEW_DRAWS)),
        "item": list(data.items),
        **({entry.state_dim: list(entry.states(data))} if entry.state_dim else {}),
    }
    if fitted.observed == "annotations":
        names |= {"annotator": list(data.annotators), "response": list(data.labels)}
    found = set()
    for group in fitted.tree.children.values():
        for dim in set(group.dims) & set(names):
            assert group[dim].values.tolist() == names[dim]
            found.add(dim)
    assert found == set(names)
    kinds = {"posterior": "f", "log_likelihood": "f", "log_prior": "f", "latent": "f", "sample_stats": "biuf"}
    for group, kind in kinds.items():
        if group not in fitted.tree.children:
            continue
        for variable in fitted.tree[group].data_vars.values():
            assert variable.dtype.kind in kind
    assert fitted.tree["observed_data"][fitted.observed].dtype == np.int64


@sampled
def test_attributes_are_text_and_numbers(fitted):
    attrs = fitted.tree.attrs
    kinds = {
        str: "model fields method yields nuts_sampler settings versions data_hash diagnostics findings",
        int: "random_seed",
        float: "seconds_compile seconds_sample",
    }
    assert {name: type(value) for name, value in attrs.items()} == {
        name: kind for kind, names in kinds.items() for name in names.split()
    }
    assert attrs["data_hash"] == fitted.data.hash
    versions = "bayesanno pymc pytensor nutpie arviz numpy xarray"
    assert json.loads(attrs["versions"]).keys() == set(versions.split())
    of_chains = "modes max_rhat min_ess_bulk min_ess_tail worst n_chains n_draws divergences maxdepth_reached min_bfmi"
    names = {*of_chains.split(), "misfit", "gold", "chance", "relabelled_fraction"}
    assert set(diagnostics_of(fitted.tree)) - {"rare"} == names  # which are there where there is cause


@sampled
def test_everything_computed_from_the_draws_is_right(fitted):
    """The same quantities by the reference, at the draws that the sampler gave."""
    tree, case = fitted.tree, fitted.case
    log_prior = sum(
        variable.sum([dim for dim in variable.dims if dim not in ("chain", "draw")])
        for variable in tree["log_prior"].data_vars.values()
    )
    known, probability = known_values(case.entry, fitted.data), 0.0
    for chain, draw in np.ndindex(log_prior.shape):
        one = {name: tree["posterior"][name].values[chain, draw] for name in fitted.schema["free"]} | known
        likelihood = tree["log_likelihood"][fitted.observed].values[chain, draw]
        np.testing.assert_allclose(likelihood, case.item_logp(one, fitted.data), rtol=EXACT, atol=EXACT)
        np.testing.assert_allclose(log_prior[chain, draw], case.log_prior(one), rtol=ROUND_TRIP)
        probability += case.probability(one, fitted.data) / log_prior.size
    for found in (tree["latent"]["probability"], np.exp(tree["latent"]["log_probability"])):
        np.testing.assert_allclose(found, probability, rtol=EXACT, atol=EXACT)


@pytest.mark.parametrize("fitted", ["model_b", "binomial_mixture"], indirect=True)
def test_a_fit_comes_back_from_its_file_with_its_model_and_data(fitted, refuses, tmp_path):
    path = tmp_path / "posterior.nc"
    save(fitted.tree, path)
    again, data = load(path), fitted.data
    xr.testing.assert_identical(again, fitted.tree)
    assert again.attrs == fitted.tree.attrs
    assert data_of(again).hash == data.hash
    assert model_of(again) == fitted.case.entry
    if fitted.observed == "annotations":
        assert (dict(data_of(again).gold), dict(data_of(again).controls)) == (dict(data.gold), dict(data.controls))
    with refuses(DataFileError, "posterior.nc exists: .* overwrite=True"):
        save(again, path)
    save(again, path, overwrite=True)  # the file is not held open
    xr.testing.assert_identical(load(tmp_path), fitted.tree)


def test_what_is_no_fit_is_refused(refuses, tmp_path):
    with refuses(DataFileError, "there is no folder"):
        save(xr.DataTree(), tmp_path / "nowhere" / "posterior.nc")
    for read in (data_of, label_table, summary):
        with refuses(FitError, "not a fit by bayesanno"):
            read(xr.DataTree())
