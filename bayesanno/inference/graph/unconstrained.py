"""Draws as a sampler sees them: points of one vector of unconstrained numbers, there and back.

The invariant: `parts` says which columns of the vector each of the graph's values takes, and of what shape it is;
whoever makes vectors makes them with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesanno.ground.lazy import xr
from bayesanno.modeling.functions import compile_draws, evaluate_draws

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pymc
    import xarray
    from pytensor.tensor.variable import TensorVariable

    Parts = Mapping[str, tuple[slice, tuple[int, ...]]]


def unconstrain(graph: pymc.Model, posterior: xarray.Dataset) -> tuple[np.ndarray, Parts]:
    """Return draws of the free parameters on the unconstrained scale, (chain, draw, dimension), and their parts."""
    from pytensor.graph.replace import clone_replace
    from pytensor.graph.traversal import ancestors

    n_chains, n_draws = posterior.sizes["chain"], posterior.sizes["draw"]
    columns: list[np.ndarray] = []
    parts: dict[str, tuple[slice, tuple[int, ...]]] = {}
    begin = 0
    values = {variable: variable.type() for variable in graph.free_RVs}
    of_values = {
        value: np.reshape(draws := posterior[of.name].transpose("chain", "draw", ...).values, (-1, *draws.shape[2:]))
        for of, value in values.items()
    }
    for variable, value in values.items():
        transform = graph.rvs_to_transforms[variable]
        outside = value if transform is None else transform.forward(value, *variable.owner.inputs)
        (outside,) = clone_replace([outside], values)  # where it depends on other parameters
        needed = [one for one in values.values() if one is value or one in ancestors([outside])]
        (moved,) = evaluate_draws([outside], {one: of_values[one] for one in needed})
        columns.append(moved.reshape(n_chains, n_draws, -1))
        end = begin + columns[-1].shape[2]
        parts[graph.rvs_to_values[variable].name] = (slice(begin, end), moved.shape[1:])
        begin = end
    return np.concatenate(columns, axis=2), parts


def constrain(graph: pymc.Model, parts: Parts, z: np.ndarray) -> xarray.Dataset:
    """Return the free parameters at each z (draw, dimension), as one chain."""
    found = evaluate_draws(graph.replace_rvs_by_values(graph.free_RVs), _split(graph, parts, z))
    values = dict(zip((variable.name for variable in graph.free_RVs), found, strict=True))
    variables = {
        name: (("chain", "draw", *graph.named_vars_to_dims.get(name, ())), each[None]) for name, each in values.items()
    }
    used = {dim for dims, _ in variables.values() for dim in dims}
    coords = {dim: list(names) for dim, names in graph.coords.items() if dim in used and names is not None}
    return xr.Dataset(variables, coords={"chain": [0], "draw": np.arange(len(z))} | coords)


def density_of(graph: pymc.Model, parts: Parts) -> Callable[[np.ndarray], np.ndarray]:
    """Return the log density on the unconstrained scale: a function of points z (draw, dimension), giving (draw,)."""
    logp = graph.logp()

    def density(z: np.ndarray) -> np.ndarray:
        values = _split(graph, parts, z)
        return np.array([float(one) for (one,) in compile_draws(values, {}, [logp])(list(values.values()), [])])

    return density


def _split(graph: pymc.Model, parts: Parts, z: np.ndarray) -> dict[TensorVariable, np.ndarray]:
    """Return the values that points (draw, dimension) have for each of the graph's: shape (draw, ...)."""
    return {value: z[:, parts[value.name][0]].reshape(-1, *parts[value.name][1]) for value in graph.value_vars}
