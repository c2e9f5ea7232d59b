"""Graphs without sizes: what depends on data alone is computed, and what is left is differentiated and simplified."""

from __future__ import annotations

import logging
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesanno._core.lazy import pm, pt
from bayesanno.graph.symbolic_shapes import make_shapes_symbolic

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class FlatGraph:
    """The log density of a graph and its kept values, independent of sizes, and not yet simplified.

    Attributes
    ----------
    values : list of TensorVariable
        The free variables on the sampler's scale.
    logp : TensorVariable
        Scalar.
    kept : dict of name to TensorVariable
        The free variables on their own scale, if they are sampled on another one.
    data : list of TensorVariable
        The arrays that enter both functions, in addition to `values`.
    arrays : list of array
        Their values.
    check_bounds : bool
        Whether parameters are checked to be within their bounds.
    """

    values: list[Any]
    logp: Any
    kept: dict[str, Any]
    data: list[Any]
    arrays: list[np.ndarray]
    check_bounds: bool

    @property
    def name(self) -> Hashable:
        """A name that is equal for graphs with the same functions."""
        return name_graph([*self.values, *self.data], [self.logp, *self.kept.values()]), self.check_bounds


def flatten(graph: pm.Model) -> FlatGraph:
    """Return a graph without its sizes, in which everything that depends only on data is computed."""
    free = {variable.name for variable in graph.free_RVs}
    sampled = [graph.rvs_to_values[variable] for variable in graph.free_RVs]
    own = [value for value in graph.unobserved_value_vars if value.name in free and value not in sampled]
    inputs, (logp, *kept), shared = read_data(
        *make_shapes_symbolic(sampled, precompute_data(sampled, [graph.logp(), *own]))
    )
    values, data = inputs[: len(sampled)], inputs[len(sampled) :]
    named = {value.name: output for value, output in zip(own, kept, strict=True)}
    arrays = [np.array(variable.get_value(), order="C") for variable in shared]
    return FlatGraph(values, logp, named, data, arrays, graph.check_bounds)


def differentiate(flat: FlatGraph) -> tuple[list[Any], list[Any]]:
    """Return the log density with its gradient by each value, and the kept values, simplified."""
    from pytensor.graph import rewrite_graph

    checks = "local_check_parameter_to_ninf_switch" if flat.check_bounds else "local_remove_check_parameter"
    logp = rewrite_graph(flat.logp, include=["canonicalize", "stabilize", *([] if flat.check_bounds else [checks])])
    outputs = [logp, *pt.grad(logp, flat.values), *flat.kept.values()]
    outputs = simplify(outputs, checks)
    return outputs[: 1 + len(flat.values)], outputs[1 + len(flat.values) :]


def simplify(outputs: Sequence[Any], *also: str) -> list[Any]:
    """Return simpler outputs of the same values, without operations that have a graph inside."""
    from pytensor.graph import rewrite_graph

    from bayesanno._core.private import inline_graphs

    include = ["merge", "canonicalize", "stabilize", "specialize", "blockwise", *also]
    exclude = ["cxx_only"]  # which looks for a BLAS, and warns
    simpler = list(rewrite_graph(list(outputs), include=include, exclude=exclude))
    inlined = inline_graphs(simpler)  # late: whole operations are simplified by what they are
    return simpler if inlined is None else simplify(inlined, *also)


def lay_out(shapes: Iterable[tuple[int, ...]]) -> np.ndarray:
    """Return the begin and end of each array in a point, and its shape, as one vector of integers."""
    numbers: list[int] = []
    end = 0
    for shape in shapes:
        begin, end = end, end + math.prod(shape)
        numbers += [begin, end, *shape]
    return np.array(numbers, dtype=np.int64)


# ------------------------------------------------------------ data


def read_data(
    inputs: Sequence[pt.TensorVariable], outputs: Sequence[pt.TensorVariable]
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the inputs and those for the graph's data, the outputs as functions of them, and the shared variables."""
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph import clone_replace, graph_inputs

    data = [variable for variable in graph_inputs(outputs) if isinstance(variable, SharedVariable)]
    read = {variable: variable.type(name=variable.name) for variable in data}
    return [*inputs, *read.values()], clone_replace(list(outputs), read), data


def name_graph(inputs: Sequence[pt.TensorVariable], outputs: Sequence[pt.TensorVariable]) -> Hashable:
    """Return a hashable value that is equal for graphs of the same operations, numbers and types."""
    from bayesanno._core.private import FrozenFunctionGraph

    return FrozenFunctionGraph.from_io(inputs, outputs)


def precompute_data(
    inputs: Sequence[pt.TensorVariable], outputs: Sequence[pt.TensorVariable]
) -> list[pt.TensorVariable]:
    """Return the outputs as functions of the inputs and of data; parts that depend on data alone are precomputed.

    A sampler evaluates the outputs ten thousand times, and these parts are the same each time. They do not change if
    the graph's data change afterwards.
    """
    import pytensor
    from pytensor.graph import Constant, clone_replace, rewrite_graph
    from pytensor.tensor import TensorType

    from bayesanno._core.private import Reshape, toposort

    outputs = rewrite_graph(clone_replace(list(outputs)), include=("merge",))  # so that equal formulas are one array
    nodes = list(toposort(outputs))
    known = {one: value for one, value in _read_inputs(outputs).items() if one not in inputs}
    for node in nodes:
        if all(one in known for one in node.inputs):
            try:
                known |= _perform(node, known)
            except Exception as error:  # of any kind: NumPy cannot do everything that can be compiled
                logger.debug("not precomputed: %s: %s", type(error).__name__, error)
    read = [*(one for node in nodes if node.outputs[0] not in known for one in node.inputs), *outputs]
    shapes = {node.inputs[1] for node in nodes if isinstance(node.op, Reshape)}  # their length is a number of axes
    computed = {}
    for one in dict.fromkeys(read):
        if one not in known or one.owner is None or not isinstance(one.type, TensorType):
            continue
        if all(isinstance(of, Constant) for of in one.owner.inputs):
            continue
        shape = one.type.shape if one in shapes else tuple(1 if length == 1 else None for length in one.type.shape)
        value = np.asarray(known[one], dtype=one.type.dtype)
        computed[one] = pytensor.shared(value, name="computed", shape=shape)
    return list(clone_replace(outputs, computed, rebuild_strict=False))


def _read_inputs(outputs: Sequence[pt.TensorVariable]) -> dict[Any, Any]:
    """Return the values of the constants and shared variables on which outputs depend."""
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph import Constant, graph_inputs

    known = {}
    for one in graph_inputs(outputs):
        if isinstance(one, Constant):
            known[one] = one.data
        elif isinstance(one, SharedVariable):
            known[one] = one.get_value(borrow=True)
    return known


def _perform(node: Any, known: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the values of an operation's outputs, by NumPy."""
    found: list[list[Any]] = [[None] for _ in node.outputs]
    node.op.perform(node, [known[one] for one in node.inputs], found)
    return {one: value for one, (value,) in zip(node.outputs, found, strict=True)}
