"""Draws of a graph's free parameters, and their deterministics, log priors and unconstrained points.

PyTensor gives the graph a dimension of draws; see `bayesanno.modeling.functions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bayesanno.ground.lazy import pm, pt, xr
from bayesanno.modeling.functions import evaluate_draws


def name_draws(graph: pm.Model, values: Mapping[str, np.ndarray]) -> xr.Dataset:
    """Return draws of a graph's variables, (chain, draw, ...) each, under the names of their dimensions.

    A dimension that has no name is `<variable>_dim_0`, as ArviZ has it; its coordinates are numbers. What has fewer
    dimensions than its variable has the first of them.
    """
    variables, coords = {}, {}
    for name, of in values.items():
        own = graph.named_vars_to_dims.get(name) or [None] * (of.ndim - 2)
        dims = [dim or f"{name}_dim_{axis}" for axis, dim in enumerate(own[: of.ndim - 2])]
        variables[name] = (("chain", "draw", *dims), of)
        for dim, length in zip(dims, of.shape[2:], strict=True):
            named = graph.coords.get(dim)
            coords[dim] = list(range(length) if named is None else named)
    n_chains, n_draws = next(iter(values.values())).shape[:2]
    return xr.Dataset(variables, coords={"chain": range(n_chains), "draw": range(n_draws)} | coords)


def as_chains(graph: pm.Model, points: Sequence[Mapping[str, np.ndarray]]) -> xr.Dataset:
    """Return points, each by variable, as draws of the free parameters: a chain of one draw for each."""
    return name_draws(graph, {one.name: np.stack([p[one.name] for p in points])[:, None] for one in graph.free_RVs})


def as_one_chain(graph: pm.Model, points: Sequence[Mapping[str, np.ndarray]]) -> xr.Dataset:
    """Return points, each by variable, as draws of the free parameters: one chain of as many draws."""
    return name_draws(graph, {one.name: np.stack([p[one.name] for p in points])[None] for one in graph.free_RVs})


def add_deterministics(graph: pm.Model, free: xr.Dataset) -> xr.Dataset:
    """Return draws of the free parameters and of the graph's deterministics."""
    graph = _on_own_scale(graph)
    return free.assign(_evaluate(graph, graph.deterministics, graph.replace_rvs_by_values(graph.deterministics), free))


def compute_log_prior(graph: pm.Model, free: xr.Dataset) -> xr.Dataset:
    """Return the log prior density of each free parameter in each draw, on its own scale: dims (chain, draw, ...).

    A distribution over a dimension, as a Dirichlet, has one density for all of it.
    """
    graph = _on_own_scale(graph)
    return _evaluate(graph, graph.free_RVs, graph.logp(vars=graph.free_RVs, sum=False), free)


def unconstrain(graph: pm.Model, posterior: xr.Dataset) -> np.ndarray:
    """Return draws of the free parameters as points on the scale that they are sampled on, (chain, draw, dimension)."""
    from pytensor.graph.replace import clone_replace

    values = {variable: variable.type() for variable in graph.free_RVs}
    moved = []
    for variable, value in values.items():
        transform = graph.rvs_to_transforms[variable]
        moved.append(value if transform is None else transform.forward(value, *variable.owner.inputs))
    moved = clone_replace(moved, values)  # where one depends on other parameters
    draws = {value: posterior[of.name].transpose("chain", "draw", ...).values for of, value in values.items()}
    found = evaluate_draws(moved, {value: of.reshape(-1, *of.shape[2:]) for value, of in draws.items()})
    shape = (posterior.sizes["chain"], posterior.sizes["draw"], -1)
    return np.concatenate([each.reshape(shape) for each in found], axis=2)


def _on_own_scale(graph: pm.Model) -> pm.Model:
    from bayesanno.ground.private.pymc import remove_value_transforms

    return remove_value_transforms(graph)


def _evaluate(
    graph: pm.Model, variables: Sequence[pt.TensorVariable], outputs: Sequence[pt.TensorVariable], free: xr.Dataset
) -> xr.Dataset:
    """Return functions of the free parameters' values, under the names and dimensions of some variables."""
    ordered = {variable: free[variable.name].transpose("chain", "draw", ...).values for variable in graph.free_RVs}
    draws = {graph.rvs_to_values[of]: values.reshape(-1, *values.shape[2:]) for of, values in ordered.items()}
    found = evaluate_draws(outputs, draws)
    shape = (free.sizes["chain"], free.sizes["draw"])
    if not found:
        return free[[]]
    named = name_draws(
        graph, {of.name: each.reshape(*shape, *each.shape[1:]) for of, each in zip(variables, found, strict=True)}
    )
    return named.assign_coords(chain=free["chain"].values, draw=free["draw"].values)
