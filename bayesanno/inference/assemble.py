"""From draws of the parameters to a whole fit: every other group follows from the draws, the model and the data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bayesanno.fits.garbage import count_towards_collection
from bayesanno.fits.storage import (
    MAX_GROUP_BYTES,
    data_groups,
    hyperparameters,
    log_likelihood_group,
    versions,
    warn_of_size,
)
from bayesanno.ground.errors import ConvergenceWarning, warn
from bayesanno.ground.lazy import pm, xr
from bayesanno.inference.diagnosis.explain import explain, explain_votes
from bayesanno.inference.diagnosis.measures import diagnose, measure_convergence, measure_within_modes
from bayesanno.inference.diagnosis.rare import add_rare
from bayesanno.inference.graph.draws import add_deterministics, compute_log_prior
from bayesanno.inference.modes.chains import record_modes
from bayesanno.inference.relabelling.align import share_changed
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.capabilities import known_parameters, remarks
from bayesanno.modeling.data_kinds import Data
from bayesanno.modeling.posterior import recover


def assemble(
    model: AnnotationModel,
    data: Data,
    posterior: xr.Dataset,
    sample_stats: xr.Dataset,
    *,
    attrs: Mapping[Any, Any],
    graph: pm.Model | None = None,
    searched: Mapping[str, Any] | None = None,
    permutation: xr.DataArray | None = None,
    more_diagnostics: Mapping[str, Any] | None = None,
) -> xr.DataTree:
    """Compute all groups of a fit from draws of the free parameters; warn of what the diagnostics say.

    Deterministics, the log prior, which chains share a mode and the convergence are computed anew, so that they hold
    for permuted draws as well.

    Parameters
    ----------
    posterior : xarray.Dataset
        With the free parameters.
    attrs : mapping
        How the draws came about: `yields` says whether they are of chains.
    graph : pymc.Model, optional
        Of the model and data, where it was built before.
    searched : mapping, optional
        What is known of the modes that were looked for, of these chains.
    permutation : xarray.DataArray, optional
        How the classes of each draw were permuted, if they were; by default as the sample statistics say.
    more_diagnostics : mapping, optional
        The method's own, or those of the fit before: what is computed here takes their place.
    """
    graph = model.build(data) if graph is None else graph
    # Variables of most dimensions first: ArviZ 1.3's summary mixes up the rows of a variable whose dimensions come in
    # another order than the dataset's, and the dataset's order is that of its first variables.
    names = sorted((variable.name for variable in graph.free_RVs), key=lambda name: -posterior[name].ndim)
    posterior = add_deterministics(graph, posterior[names])
    if permutation is not None:
        sample_stats = sample_stats.assign(permutation=permutation)
    permutation = sample_stats.get("permutation")
    known = known_parameters(model, data)
    n_bytes = 8 * posterior.sizes["chain"] * posterior.sizes["draw"] * data.n_items
    fits_in = n_bytes <= MAX_GROUP_BYTES
    values = {name: parameter.value for name, parameter in known.items()}
    convergence = measure_convergence(posterior) if attrs["yields"] == "mcmc" else None
    log_density = sample_stats["lp"].transpose("chain", "draw").values
    modes = record_modes(posterior, log_density, model.competence, searched)
    if convergence is not None:
        modes["within"] = measure_within_modes(posterior, modes["groups"])
    recovered = recover(model, data, posterior, values, with_log_likelihood=fits_in)
    groups = {"posterior": posterior, "sample_stats": sample_stats, "log_prior": compute_log_prior(graph, posterior)}
    if recovered.log_likelihood is not None:
        groups["log_likelihood"] = log_likelihood_group(model, data, posterior, recovered.log_likelihood)
    groups |= {"latent": recovered.latent} | data_groups(data)
    for name, value in hyperparameters(graph, model).items():
        groups["constant_data"][name] = ([f"{name}_dim_{axis}" for axis in range(value.ndim)], value)
    for name, parameter in known.items():
        groups["constant_data"][name] = (parameter.dims, parameter.value)
    if convergence is not None:
        groups["convergence"] = convergence
    changed = 0.0 if permutation is None else share_changed(permutation)
    found = diagnose(convergence, sample_stats, modes=modes, relabelled_fraction=changed)
    if convergence is not None:
        add_rare(found, posterior, convergence, recovered.by_chain)
    anew = {*found, "remarks", "rare"}
    found |= {name: value for name, value in (more_diagnostics or {}).items() if name not in anew}
    if not fits_in:
        warn_of_size(data.n_items, n_bytes // (8 * data.n_items))
    return put_together(model, data, groups, attrs, found, remarks(model, posterior))


def put_together(
    model: AnnotationModel,
    data: Any,
    groups: Mapping[str, xr.Dataset],
    attrs: Mapping[Any, Any],
    diagnostics: Mapping[str, Any],
    said: Sequence[str] = (),
) -> xr.DataTree:
    """Make one tree of the groups of a fit; warn of what the diagnostics say, and of a model's own remarks."""
    said = [*said, *(explain_votes(data, groups["latent"]) if "latent" in groups else [])]
    diagnostics = {**diagnostics, **({"remarks": said} if said else {})}
    for problem in explain(diagnostics):
        warn(problem, ConvergenceWarning)
    tree = xr.DataTree.from_dict(dict(groups))
    tree.attrs = dict(attrs) | {
        "model": model.name,
        "fields": json.dumps(model.to_fields()),
        "data_hash": data.hash,
        "versions": json.dumps(versions()),
        "diagnostics": json.dumps(diagnostics),
    }
    count_towards_collection(tree)
    return tree
