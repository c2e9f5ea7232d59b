"""A graph as functions of one vector, compiled without its sizes, as `nutpie` calls them.

How the vector is cut into the free variables is data, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.modeling.any_size import forget_sizes
from bayesanno.modeling.functions import precompute_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pymc


@dataclass(frozen=True)
class FlatGraph:
    """The log density of a graph and the values that are kept, without their sizes, and not yet simplified.

    Attributes
    ----------
    logp : TensorVariable
        Scalar.
    kept : mapping of name to TensorVariable
        The free variables on their own scale, of those that are sampled on another one.
    values : list of TensorVariable
        The inputs: the free variables as they are sampled.
    """

    logp: Any
    kept: Mapping[str, Any]
    values: list[Any]


def flatten(graph: pymc.Model) -> FlatGraph:
    """Return a graph without its sizes, and with what rests on data alone computed."""
    free = {variable.name for variable in graph.free_RVs}
    sampled = [graph.rvs_to_values[variable] for variable in graph.free_RVs]
    own = [value for value in graph.unobserved_value_vars if value.name in free and value not in sampled]
    values, (logp, *kept) = forget_sizes(sampled, precompute_data(sampled, [graph.logp(), *own]))
    return FlatGraph(logp, {value.name: output for value, output in zip(own, kept, strict=True)}, values)


def compile_flat(graph: pymc.Model, flat: FlatGraph) -> tuple[Any, Any, Any]:
    """Compile a graph by Numba.

    Returns
    -------
    logp : pytensor function
        (point (dimension,)) -> the log density and its gradient (dimension,).
    kept : pytensor function
        (point (dimension,)) -> the point, and after it the values that are kept, all flat.
    layout : shared variable
        How a point is cut, which both functions take; see `lay_out`.
    """
    import pytensor.tensor as pt
    from pymc.pytensorf import compile as compile_pymc
    from pytensor.graph import rewrite_graph
    from pytensor.graph.replace import clone_replace

    stable = ["canonicalize", "stabilize", *([] if graph.check_bounds else ["local_remove_check_parameter"])]
    logp = rewrite_graph(flat.logp, include=stable)
    gradient = pt.concatenate([slope.ravel() for slope in pt.grad(logp, flat.values)])
    point, layout, parts = _cut_point(flat.values)
    outputs = clone_replace(
        [logp, gradient, *flat.kept.values()], dict(zip(flat.values, parts, strict=True)), rebuild_strict=False
    )
    kept = pt.concatenate([part.ravel() for part in [*parts, *outputs[2:]]])
    with graph:
        return (
            compile_pymc((point,), outputs[:2], mode="NUMBA"),
            compile_pymc((point,), [kept], mode="NUMBA"),
            layout,
        )


def _cut_point(values: Sequence[Any]) -> tuple[Any, Any, list[Any]]:
    import pytensor
    import pytensor.tensor as pt

    point, layout = pt.dvector("point"), pytensor.shared(np.zeros(0, dtype=np.int64), name="layout", shape=(None,))
    parts: list[Any] = []
    at = 0
    for value in values:
        shape = [1 if length == 1 else layout[at + 2 + axis] for axis, length in enumerate(value.type.shape)]
        if all(length == 1 for length in value.type.shape):
            part = pt.expand_dims(point[layout[at]], range(value.ndim))
        else:
            part = point[layout[at] : layout[at + 1]].reshape(shape)
        parts.append(part.astype(value.dtype))
        at += 2 + value.ndim
    return point, layout, parts


def lay_out(shapes: Iterable[tuple[int, ...]]) -> np.ndarray:
    """Return where each of some arrays begins and ends in a point, and its shape: a vector of whole numbers."""
    numbers: list[int] = []
    end = 0
    for shape in shapes:
        begin, end = end, end + math.prod(shape)
        numbers += [begin, end, *shape]
    return np.array(numbers, dtype=np.int64)


def shape_of(graph: pymc.Model, name: str) -> tuple[int, ...]:
    """Return the shape of a variable of a graph, by its dimensions or else by computing it."""
    dims = graph.named_vars_to_dims.get(name)
    if dims is not None and all(graph.coords.get(dim) is not None for dim in dims):
        return tuple(len(graph.coords[dim]) for dim in dims)
    return tuple(map(int, graph[name].shape.eval(mode="FAST_COMPILE")))
