"""From draws of the parameters to a whole fit: everything computed from draws, model and data, and the warnings.

The invariant: nothing here warns but `assemble`, and `find` stores all findings of a fit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import singledispatch
from importlib.metadata import version
from typing import Any

from bayesanno._core.lazy import pm, xr
from bayesanno.fits.storage import (
    MAX_GROUP_BYTES,
    data_groups,
    free_old_fits,
    groups_by_dimension,
    hyperparameters,
    is_on_dask,
    log_likelihood_group,
    versions,
)
from bayesanno.fits.view import FitPart, FitView, parts_of
from bayesanno.graph.functions import add_deterministics, compute_log_prior
from bayesanno.inference.diagnosis.findings import (
    MISFIT,
    WRONG,
    count_all_errors,
    find_before,
    find_chance,
    find_in_fit,
    read_stored,
    store_findings,
)
from bayesanno.inference.diagnosis.measures import add_rare, diagnose, measure_convergence, measure_within_modes
from bayesanno.inference.diagnosis.misfit import measure_copying, measure_misfit
from bayesanno.inference.modes.record import record_modes
from bayesanno.inference.relabelling import share_changed
from bayesanno.inference.settings import Results
from bayesanno.inference.tempering import adjust, check_labels
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.findings import Finding, warn_of
from bayesanno.modeling.kinds import Data
from bayesanno.modeling.posterior import recover
from bayesanno.simulation.quantities import ModelDraws


@singledispatch
def parts_to_check(_data: Any, view: FitView, _random_seed: Sequence[int]) -> list[FitPart]:
    """Return the answers to compare with the fit's predictions, with the posterior of their items.

    These are all answers in the fit, or some of the annotations on a cluster.
    """
    return parts_of(view)


def compute(
    model: AnnotationModel,
    data: Data,
    posterior: xr.Dataset,
    sample_stats: xr.Dataset,
    *,
    attrs: Mapping[Any, Any],
    graph: pm.Model | None = None,
    searched: Mapping[str, Any] | None = None,
    more_diagnostics: Mapping[str, Any] | None = None,
) -> Results:
    """Compute the groups and diagnostics of a fit from draws of the free parameters, which may have been permuted.

    Parameters
    ----------
    posterior : xarray.Dataset
        The free parameters; other variables are recomputed.
    sample_stats : xarray.Dataset
        With the log density `lp`, and `permutation` if the classes of draws were permuted.
    attrs : mapping
        The origin of the draws; `yields` is their kind.
    graph : pymc.Model, optional
        The graph of the model and data, if it exists.
    searched : mapping, optional
        The results of the search for modes, for these chains.
    more_diagnostics : mapping, optional
        The method's own diagnostics, or those of an earlier fit; values computed here replace them.
    """
    graph = model.build(data) if graph is None else graph
    # Variables with most dimensions first: ArviZ 1.3's summary mixes up the rows of a variable if its dimensions are in
    # another order than the dataset's, and the dataset's order is that of its first variables.
    names = sorted((variable.name for variable in graph.free_RVs), key=lambda name: -posterior[name].ndim)
    posterior = add_deterministics(graph, posterior[names])
    known = model.fixed_parameters(data)
    fits_in = 8 * posterior.sizes["chain"] * posterior.sizes["draw"] * data.n_items <= MAX_GROUP_BYTES
    recovered = recover(model, data, posterior, with_log_likelihood=fits_in)

    groups = {"posterior": posterior, "sample_stats": sample_stats, "log_prior": compute_log_prior(graph, posterior)}
    if recovered.log_likelihood is not None:
        groups["log_likelihood"] = log_likelihood_group(model, data, posterior, recovered.log_likelihood)
    groups |= groups_by_dimension("latent", recovered.latents) | data_groups(data)
    for name, value in hyperparameters(graph, model).items():
        groups["constant_data"][name] = ([f"{name}_dim_{axis}" for axis in range(value.ndim)], value)
    for name, parameter in known.items():
        groups["constant_data"][name] = (parameter.dims, parameter.value)

    log_density = sample_stats["lp"].transpose("chain", "draw").values
    modes = record_modes(posterior, log_density, model.competence, searched)
    convergence = None
    if attrs["yields"] == "mcmc":
        groups["convergence"] = convergence = measure_convergence(posterior)
        modes["within"] = measure_within_modes(posterior, modes["groups"])
    changed = share_changed(sample_stats["permutation"]) if "permutation" in sample_stats else 0.0
    found = diagnose(convergence, sample_stats, modes=modes, relabelled_fraction=changed)
    if convergence is not None:
        add_rare(found, posterior, convergence, recovered.by_chain)
    computed = {*found, "rare"}  # what was rare in the fit before is not carried over
    found |= {name: value for name, value in (more_diagnostics or {}).items() if name not in computed}
    return Results(groups, attrs, found)


def describe_origin(results: Results) -> dict[str, Any]:
    """Return the attributes by which ArviZ's conventions describe draws: when, by what and in what time they were made.

    The statistics of a sampler carry its name and version, also into fits made from draws of another fit.
    """
    from arviz_base import make_attrs

    own = version("bayesanno")
    of_sampler, made_by = results.groups["sample_stats"].attrs, results.attrs
    library = of_sampler.get("inference_library", made_by.get("nuts_sampler", "bayesanno"))
    library_version = of_sampler.get("inference_library_version", own if library == "bayesanno" else None)
    origin = {
        "creation_library": "bayesanno",
        "creation_library_version": own,
        "modeling_interface": "bayesanno",
        "modeling_interface_version": own,
        "inference_library": library,
        "inference_library_version": library_version,
        "sampling_time": made_by["seconds_sample"],
        "tuning_steps": json.loads(made_by["settings"]).get("tune"),
    }
    return make_attrs({name: value for name, value in origin.items() if value is not None})


def make_tree(model: AnnotationModel, data: Any, results: Results) -> xr.DataTree:
    """Make one tree from the results, with the model, the hash of the data and versions among its attributes."""
    tree = xr.DataTree.from_dict(dict(results.groups))
    origin = describe_origin(results)
    for group in ("posterior", "sample_stats"):
        tree[group].attrs = tree[group].attrs | origin
    tree.attrs = dict(results.attrs) | {
        "model": model.name,
        "fields": json.dumps(model.to_fields()),
        "data_hash": data.hash,
        "versions": json.dumps(versions()),
        "diagnostics": json.dumps(results.diagnostics),
    }
    return tree


def check_answers(tree: xr.DataTree, model: AnnotationModel, data: Any) -> None:
    """Compare the answers with predictions from the draws: store `misfit` among the diagnostics, and `check`."""
    view = FitView(tree)
    known = {name: parameter.value for name, parameter in model.fixed_parameters(data).items()}
    seeds = [int(seed) for seed in str(tree.attrs["random_seed"]).split(", ")]  # of each fit that was put together
    parts = parts_to_check(data, view, seeds)
    answers = parts[0].data if is_on_dask(tree) else data
    misfits = measure_misfit(ModelDraws(model, answers, view.posterior, known), parts, seeds)
    for path, group in check_labels(view, parts, misfits).items():
        tree[path] = xr.DataTree(group)
    found = [one.found for one in misfits]
    if found and len(parts) == 1 and not is_on_dask(tree):
        found[0] |= measure_copying(parts[0])
    tree.attrs["diagnostics"] = json.dumps(view.diagnostics | {"misfit": found})


def find(
    tree: xr.DataTree, model: AnnotationModel, data: Any, *, check: bool, before: Sequence[Finding] | None = None
) -> list[Finding]:
    """Store all that is found of a fit, and return what is to be warned of.

    Parameters
    ----------
    check : bool
        Whether the answers were compared with predictions from these draws.
    before : sequence of Finding, optional
        What `find_before` has found of the data. None of this is warned about again.
    """
    view = FitView(tree)
    found = dict(view.diagnostics)
    if tree.attrs["yields"] != "point":
        found["chance"] = find_chance(model, view.posterior, parts_of(view, need_items=False))
    if not is_on_dask(tree):
        found["gold"] = count_all_errors(view)
    tree.attrs["diagnostics"] = json.dumps(found)
    source = read_stored(tree) or []  # of the fit that the draws come from
    before = find_before(model, data) if before is None else before
    all_found = find_in_fit(FitView(tree), before)
    store_findings(tree, all_found)
    of_answers = {*MISFIT, *WRONG}  # what a fit of the same answers has already warned of, or was not asked for
    silent = of_answers & {one.code for one in source} if check else of_answers
    return [one for one in all_found if one not in before and one.code not in silent]


def assemble(
    model: AnnotationModel,
    data: Data,
    posterior: xr.Dataset,
    sample_stats: xr.Dataset,
    *,
    check: bool = False,
    **how: Any,
) -> xr.DataTree:
    """Make a fit from permuted draws, or draws of other fits: by `compute`, which has the arguments, as `fit` does."""
    tree = make_tree(model, data, compute(model, data, posterior, sample_stats, **how))
    if check:
        check_answers(tree, model, data)
    warn_of(find(tree, model, data, check=check))
    free_old_fits(tree)
    return tree


def remake(view: FitView, posterior: xr.Dataset, sample_stats: xr.Dataset, **how: Any) -> xr.DataTree:
    """Make a fit from some draws of another fit by `assemble`; it is checked, and adjusted, if that fit was."""
    made = assemble(view.model, view.data, posterior, sample_stats, check="misfit" in view.diagnostics, **how)
    return adjust(made) if view.is_adjusted else made
