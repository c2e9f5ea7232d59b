"""From draws of the parameters to a whole fit: every other group follows from the draws, the model and the data."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

from bayesanno.fits.storage import data_groups, fixed_parameters, hyperparameters, versions
from bayesanno.ground.errors import ConvergenceWarning
from bayesanno.ground.lazy import pm, xr
from bayesanno.inference.chain_modes import find_modes
from bayesanno.inference.diagnostics import diagnose, explain
from bayesanno.inference.relabel import share_changed
from bayesanno.modeling.capabilities import remarks
from bayesanno.modeling.data_kinds import KINDS
from bayesanno.modeling.posterior import recover

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pymc
    import xarray

    from bayesanno.modeling.base import AnnotationModel
    from bayesanno.modeling.data_kinds import Data


def assemble(
    entry: AnnotationModel,
    data: Data,
    model: pymc.Model,
    posterior: xarray.Dataset,
    sample_stats: xarray.Dataset,
    *,
    permutation: xarray.DataArray | None = None,
    more_diagnostics: Mapping[str, Any] | None = None,
    attrs: Mapping[Any, Any] | None = None,
) -> xarray.DataTree:
    """Compute all groups of a fit from the free parameters' draws; warn of what the diagnostics say.

    Deterministics and the log prior are computed anew, so that they hold for permuted draws as well; `permutation` says
    how the classes of each draw were permuted, if they were.
    """
    # Variables of most dimensions first: ArviZ 1.3's summary mixes up the rows of a variable whose dimensions come in
    # another order than the dataset's, and the dataset's order is that of its first variables.
    names = sorted((variable.name for variable in model.free_RVs), key=lambda name: -posterior[name].ndim)
    free = posterior[names]
    posterior = _with_deterministics(model, free)
    log_prior = _log_prior(model, free)
    fixed = fixed_parameters(model, entry, data)
    recovered = recover(entry, data, posterior, {name: value for name, (_, value) in fixed.items()})
    dims = ("chain", "draw", "item")
    coords = {"chain": posterior["chain"].values, "draw": posterior["draw"].values, "item": list(data.items)}
    observed = KINDS[entry.data_class].observed
    log_likelihood = xr.Dataset({observed: (dims, recovered.log_likelihood)}, coords=coords)

    if permutation is not None:
        sample_stats = sample_stats.assign(permutation=permutation)
    found = diagnose(
        posterior,
        sample_stats,
        modes=find_modes(posterior, sample_stats["lp"].transpose("chain", "draw").values, entry.competence),
        relabelled_fraction=0.0 if permutation is None else share_changed(permutation),
    ) | dict(more_diagnostics or {})
    if said := remarks(entry, posterior):
        found["remarks"] = said
    for problem in explain(found):
        warnings.warn(problem, ConvergenceWarning, stacklevel=4)

    groups = data_groups(data)
    for name, value in hyperparameters(model, entry).items():
        groups["constant_data"][name] = ([f"{name}_dim_{axis}" for axis in range(value.ndim)], value)
    for name, (named_dims, value) in fixed.items():
        groups["constant_data"][name] = (named_dims, value)
    tree = xr.DataTree.from_dict(
        {
            "posterior": posterior,
            "sample_stats": sample_stats,
            "log_likelihood": log_likelihood,
            "log_prior": log_prior,
            "latent": recovered.latent,
            **groups,
        }
    )
    tree.attrs = dict(attrs or {}) | {
        "model": entry.name,
        "fields": json.dumps(entry.to_fields()),
        "data_hash": data.hash,
        "versions": json.dumps(versions()),
        "diagnostics": json.dumps(found),
    }
    return tree


def _with_deterministics(model: pymc.Model, free: xarray.Dataset) -> xarray.Dataset:
    if not model.deterministics:
        return free
    whole: xarray.Dataset = pm.compute_deterministics(free.copy(), model=model, extend_dataset=True, progressbar=False)
    return whole


def _log_prior(model: pymc.Model, free: xarray.Dataset) -> xarray.Dataset:
    from pymc.stats import compute_log_prior

    tree = xr.DataTree.from_dict({"posterior": free})
    log_prior: xarray.Dataset = compute_log_prior(tree, model=model, extend_inferencedata=False, progressbar=False)
    return log_prior
