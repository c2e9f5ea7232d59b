"""From draws of the parameters to a whole fit: every other group follows from the draws, the model and the data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bayesanno.fits.storage import data_groups, hyperparameters, versions
from bayesanno.ground.errors import ConvergenceWarning, SizeWarning, warn
from bayesanno.ground.lazy import xr
from bayesanno.inference.diagnosis.against_votes import explain_votes
from bayesanno.inference.diagnosis.measures import diagnose, explain, measure_convergence, measure_within_modes
from bayesanno.inference.graph.per_draw import add_deterministics, compute_log_prior
from bayesanno.inference.modes.chain_modes import find_chain_modes
from bayesanno.inference.relabelling.align import share_changed
from bayesanno.modeling.capabilities import known_parameters, remarks
from bayesanno.modeling.data_kinds import KINDS
from bayesanno.modeling.posterior import recover

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import pymc
    import xarray

    from bayesanno.fits.view import FitView
    from bayesanno.modeling.base import AnnotationModel
    from bayesanno.modeling.data_kinds import Data

MAX_GROUP_BYTES = 2 * 2**30  # a group of more, of one number per draw and item, is made only when asked for


def assemble(
    model: AnnotationModel,
    data: Data,
    graph: pymc.Model,
    posterior: xarray.Dataset,
    sample_stats: xarray.Dataset,
    *,
    attrs: Mapping[Any, Any],
    permutation: xarray.DataArray | None = None,
    more_diagnostics: Mapping[str, Any] | None = None,
) -> xarray.DataTree:
    """Compute all groups of a fit from the free parameters' draws; warn of what the diagnostics say.

    Deterministics, the log prior and the convergence are computed anew, so that they hold for permuted draws as well.

    Parameters
    ----------
    attrs : mapping
        How the draws came about: `yields` says whether they are of chains.
    permutation : xarray.DataArray, optional
        How the classes of each draw were permuted, if they were.
    more_diagnostics : mapping, optional
        The method's own, or those of the fit before: what is computed here takes their place.
    """
    # Variables of most dimensions first: ArviZ 1.3's summary mixes up the rows of a variable whose dimensions come in
    # another order than the dataset's, and the dataset's order is that of its first variables.
    names = sorted((variable.name for variable in graph.free_RVs), key=lambda name: -posterior[name].ndim)
    free = posterior[names]
    posterior = add_deterministics(graph, free)
    if permutation is not None:
        sample_stats = sample_stats.assign(permutation=permutation)
    known = known_parameters(model, data)
    n_bytes = 8 * posterior.sizes["chain"] * posterior.sizes["draw"] * data.n_items
    fits_in = n_bytes <= MAX_GROUP_BYTES
    values = {name: parameter.value for name, parameter in known.items()}
    recovered = recover(model, data, posterior, values, with_log_likelihood=fits_in)
    groups = {"posterior": posterior, "sample_stats": sample_stats, "log_prior": compute_log_prior(graph, free)}
    if recovered.log_likelihood is not None:
        groups["log_likelihood"] = log_likelihood_group(model, data, posterior, recovered.log_likelihood)
    groups |= {"latent": recovered.latent} | data_groups(data)
    for name, value in hyperparameters(graph, model).items():
        groups["constant_data"][name] = ([f"{name}_dim_{axis}" for axis in range(value.ndim)], value)
    for name, parameter in known.items():
        groups["constant_data"][name] = (parameter.dims, parameter.value)

    convergence = measure_convergence(posterior) if attrs["yields"] == "mcmc" else None
    if convergence is not None:
        groups["convergence"] = convergence
    log_density = sample_stats["lp"].transpose("chain", "draw").values
    modes = find_chain_modes(posterior, log_density, model.competence)
    if convergence is not None:
        modes["within"] = measure_within_modes(posterior, modes["groups"])
    found = diagnose(
        convergence,
        sample_stats,
        chain_modes=modes,
        relabelled_fraction=0.0 if permutation is None else share_changed(permutation),
    )
    found |= {name: value for name, value in (more_diagnostics or {}).items() if name not in {*found, "remarks"}}
    if said := [*remarks(model, posterior), *explain_votes(data, recovered.latent)]:
        found["remarks"] = said
    for problem in explain(found):
        warn(problem, ConvergenceWarning)
    if not fits_in:
        warn_of_size(data.n_items, n_bytes // (8 * data.n_items))
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = dict(attrs) | {
        "model": model.name,
        "fields": json.dumps(model.to_fields()),
        "data_hash": data.hash,
        "versions": json.dumps(versions()),
        "diagnostics": json.dumps(found),
    }
    return tree


def warn_of_size(n_items: int, n_draws: int) -> None:
    """Warn that a fit has no log-likelihoods, for their size."""
    warn(
        f"the log-likelihood of {n_items} items in each of {n_draws} draws would take "
        f"{8 * n_items * n_draws / 2**30:.1f} GiB and is left out of the fit: compute_log_likelihood(fit) adds it",
        SizeWarning,
    )


def assemble_anew(
    view: FitView,
    posterior: xarray.Dataset,
    sample_stats: xarray.Dataset,
    *,
    attrs: Mapping[Any, Any],
    permutation: xarray.DataArray | None = None,
    more_diagnostics: Mapping[str, Any] | None = None,
) -> xarray.DataTree:
    """Compute all groups of a fit from other draws of the model and data of a fit; see `assemble`.

    The classes are permuted as the sample statistics say, unless a permutation is given.
    """
    return assemble(
        view.model,
        view.data,
        view.model.build(view.data),
        posterior,
        sample_stats,
        attrs=attrs,
        permutation=sample_stats.get("permutation") if permutation is None else permutation,
        more_diagnostics=more_diagnostics,
    )


def log_likelihood_group(
    model: AnnotationModel, data: Data, posterior: xarray.Dataset, values: np.ndarray
) -> xarray.Dataset:
    """Return log-likelihoods per draw and item, of shape (chain, draw, item), as the group of a fit."""
    coords = {"chain": posterior["chain"].values, "draw": posterior["draw"].values, "item": list(data.items)}
    return xr.Dataset({KINDS[model.data_class].observed: (tuple(coords), values)}, coords=coords)
