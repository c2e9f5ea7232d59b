"""What follows from each draw of the parameters: deterministics and the log prior, of all draws in one evaluation.

PyTensor gives the graph a dimension of draws, and evaluates it by NumPy: nothing is compiled for one use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesanno.ground.lazy import xr
from bayesanno.modeling.functions import evaluate_draws

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pymc
    import xarray
    from pytensor.tensor.variable import TensorVariable


def as_chains(graph: pymc.Model, points: Sequence[Mapping[str, np.ndarray]]) -> xarray.Dataset:
    """Return points, each by variable, as draws of the free parameters: a chain of one draw for each."""
    dims = {variable.name: graph.named_vars_to_dims.get(variable.name, ()) for variable in graph.free_RVs}
    coords = {dim: list(graph.coords[dim]) for each in dims.values() for dim in each if graph.coords[dim] is not None}
    return xr.Dataset(
        {name: (("chain", "draw", *each), np.stack([p[name] for p in points])[:, None]) for name, each in dims.items()},
        coords={"chain": range(len(points)), "draw": [0]} | coords,
    )


def add_deterministics(graph: pymc.Model, free: xarray.Dataset) -> xarray.Dataset:
    """Return draws of the free parameters with the graph's deterministics beside them."""
    graph = _on_own_scale(graph)
    found = _evaluate(graph, graph.replace_rvs_by_values(graph.deterministics), free)
    named = zip(graph.deterministics, found, strict=True)
    return free.assign({variable.name: _with_dims(graph, variable, values, free) for variable, values in named})


def compute_log_prior(graph: pymc.Model, free: xarray.Dataset) -> xarray.Dataset:
    """Return the log prior density of each free parameter in each draw, on its own scale: dims (chain, draw, ...).

    A distribution over a dimension, as a Dirichlet, has one density for all of it.
    """
    graph = _on_own_scale(graph)
    found = _evaluate(graph, graph.logp(vars=graph.free_RVs, sum=False), free)
    named = zip(graph.free_RVs, found, strict=True)
    return xr.Dataset({variable.name: _with_dims(graph, variable, values, free) for variable, values in named})


def _on_own_scale(graph: pymc.Model) -> pymc.Model:
    from pymc.model.transform.conditioning import remove_value_transforms

    return remove_value_transforms(graph)


def _evaluate(graph: pymc.Model, outputs: Sequence[TensorVariable], free: xarray.Dataset) -> list[np.ndarray]:
    """Return functions of the free parameters' values, as arrays of shape (sample, ...)."""
    ordered = {variable: free[variable.name].transpose("chain", "draw", ...).values for variable in graph.free_RVs}
    draws = {graph.rvs_to_values[of]: values.reshape(-1, *values.shape[2:]) for of, values in ordered.items()}
    return evaluate_draws(outputs, draws)


def _with_dims(
    graph: pymc.Model, variable: TensorVariable, values: np.ndarray, free: xarray.Dataset
) -> xarray.DataArray:
    """Return values of a variable, (sample, ...), under the names of the first of its dimensions."""
    sizes = (free.sizes["chain"], free.sizes["draw"])
    dims = graph.named_vars_to_dims.get(variable.name) or [
        f"{variable.name}_dim_{axis}" for axis in range(variable.type.ndim)
    ]
    dims = dims[: values.ndim - 1]
    coords = {dim: list(graph.coords[dim]) for dim in dims if graph.coords.get(dim) is not None}
    return xr.DataArray(
        values.reshape(*sizes, *values.shape[1:]),
        dims=("chain", "draw", *dims),
        coords={"chain": free["chain"].values, "draw": free["draw"].values} | coords,
    )
