"""From draws to a fit: deterministics, which chains share a mode, and all that follows from both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bayesanno.inference.assemble import assemble
from bayesanno.inference.graph.draws import add_deterministics
from bayesanno.inference.modes.chains import record_modes

if TYPE_CHECKING:
    import pymc
    import xarray

    from bayesanno.modeling.base import AnnotationModel
    from bayesanno.modeling.data_kinds import Data


def assemble_draws(
    model: AnnotationModel,
    data: Data,
    posterior: xarray.Dataset,
    sample_stats: xarray.Dataset,
    *,
    attrs: Mapping[Any, Any],
    graph: pymc.Model | None = None,
    searched: Mapping[str, Any] | None = None,
    permutation: xarray.DataArray | None = None,
    more_diagnostics: Mapping[str, Any] | None = None,
) -> xarray.DataTree:
    """Make a fit of draws of the free parameters; see `assemble`.

    Parameters
    ----------
    posterior : xarray.Dataset
        With the free parameters; what else it has is computed anew.
    graph : pymc.Model, optional
        Of the model and data, where it was built before.
    searched : mapping, optional
        What is known of the modes that were looked for, of these chains.
    permutation : xarray.DataArray, optional
        How the classes were permuted; by default as the sample statistics say.
    """
    graph = model.build(data) if graph is None else graph
    # Variables of most dimensions first: ArviZ 1.3's summary mixes up the rows of a variable whose dimensions come in
    # another order than the dataset's, and the dataset's order is that of its first variables.
    names = sorted((variable.name for variable in graph.free_RVs), key=lambda name: -posterior[name].ndim)
    posterior = add_deterministics(graph, posterior[names])
    log_density = sample_stats["lp"].transpose("chain", "draw").values
    return assemble(
        model,
        data,
        graph,
        posterior,
        sample_stats,
        attrs=attrs,
        modes=record_modes(posterior, log_density, model.competence, searched),
        permutation=sample_stats.get("permutation") if permutation is None else permutation,
        more_diagnostics=more_diagnostics,
    )
