"""Draws of a graph's variables: named, with deterministics and log priors, and as points of the sampler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bayesanno._core.lazy import import_when_called, pm, pt, xr
from bayesanno.graph.functions import evaluate_draws

remove_value_transforms = import_when_called("bayesanno._core.private.pymc:remove_value_transforms")


def name_draws(graph: pm.Model, values: Mapping[str, np.ndarray]) -> xr.Dataset:
    """Return draws of a graph's variables, (chain, draw, ...) each, with named dimensions.

    A dimension without a name becomes `<variable>_dim_0`, as in ArviZ, with numbers as coordinates. Values with fewer
    dimensions than their variable have the first ones.
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
    """Return points, each a mapping of variables, as draws of the free parameters: one chain of one draw per point."""
    return name_draws(graph, {one.name: np.stack([p[one.name] for p in points])[:, None] for one in graph.free_RVs})


def as_one_chain(graph: pm.Model, points: Sequence[Mapping[str, np.ndarray]]) -> xr.Dataset:
    """Return points, each a mapping of variables, as draws of the free parameters: one chain, one draw per point."""
    return name_draws(graph, {one.name: np.stack([p[one.name] for p in points])[None] for one in graph.free_RVs})


def add_deterministics(graph: pm.Model, free: xr.Dataset) -> xr.Dataset:
    """Return draws of the free parameters and of the graph's deterministics."""
    graph = remove_value_transforms(graph)
    return free.assign(_evaluate(graph, graph.deterministics, graph.replace_rvs_by_values(graph.deterministics), free))


def compute_log_prior(graph: pm.Model, free: xr.Dataset) -> xr.Dataset:
    """Return the log prior density of each free parameter in each draw, on its own scale: dims (chain, draw, ...).

    A distribution over a dimension, such as a Dirichlet, has one density for the whole dimension.
    """
    graph = remove_value_transforms(graph)
    return _evaluate(graph, graph.free_RVs, graph.logp(vars=graph.free_RVs, sum=False), free)


def unconstrain(graph: pm.Model, posterior: xr.Dataset) -> np.ndarray:
    """Return draws of the free parameters as points on the sampler's scale, (chain, draw, dimension)."""
    from pytensor.graph.replace import clone_replace

    values = {variable: variable.type() for variable in graph.free_RVs}
    moved = []
    for variable, value in values.items():
        transform = graph.rvs_to_transforms[variable]
        moved.append(value if transform is None else transform.forward(value, *variable.owner.inputs))
    moved = clone_replace(moved, values)  # some depend on other parameters
    draws = {value: posterior[of.name].transpose("chain", "draw", ...).values for of, value in values.items()}
    found = evaluate_draws(moved, {value: of.reshape(-1, *of.shape[2:]) for value, of in draws.items()})
    shape = (posterior.sizes["chain"], posterior.sizes["draw"], -1)
    return np.concatenate([each.reshape(shape) for each in found], axis=2)


def _evaluate(
    graph: pm.Model, variables: Sequence[pt.TensorVariable], outputs: Sequence[pt.TensorVariable], free: xr.Dataset
) -> xr.Dataset:
    """Evaluate functions of the free parameters; the results get the names and dimensions of some variables."""
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
