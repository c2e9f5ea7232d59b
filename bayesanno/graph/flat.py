"""Graphs without sizes: what depends on data alone is computed, and what is left is differentiated and simplified.

A second table has other annotators, often other labels, but the same model. Compiling takes longer than sampling, and
array code does not depend on lengths. But a graph contains lengths: in constant arrays (a flat prior of three classes,
the response that names each class), in the lengths of arrays that it creates, and in the resulting types. Here all of
them become shared variables, that is, data. Only axes of length one keep their length, since they may be broadcast.
"""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from bayesanno._core.lazy import pm, pt

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


# -------------------------------------------------------------------------------------- sizes as data


def make_shapes_symbolic(inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return inputs and outputs of the same graph without sizes: constant arrays and lengths become shared variables.

    Parameters
    ----------
    inputs, outputs : sequence of TensorVariable
        The inputs have no owner.
    """
    from bayesanno._core.private import toposort

    nodes = list(toposort(outputs))
    arrays, lengths = _find_constants(nodes)
    length_of = _share_lengths(lengths)
    rows = _find_rows(nodes)
    new: dict[Any, Any] = {}
    for old in inputs:
        if hasattr(old.type, "shape"):
            shape = _without_lengths(old.type)
            new[old] = old.type.clone(shape=(*shape[:-1], None) if old in rows else shape)(old.name)
    read = [new.get(old, old) for old in inputs]
    new |= _share_arrays(arrays)
    for node in nodes:
        if any(output in new for output in node.outputs):  # of constants alone
            continue
        if _checks_lengths(node):
            new[node.outputs[0]] = new.get(node.inputs[0], node.inputs[0])
            continue
        changed = [length_of.get((node, at), new.get(old, old)) for at, old in enumerate(node.inputs)]
        if any(one is not old for one, old in zip(changed, node.inputs, strict=True)):
            new |= zip(node.outputs, node.clone_with_new_inputs(changed, strict=False).outputs, strict=True)
    return read, [new.get(output, output) for output in outputs]


class Size(int):
    """A number of labels, classes or annotators: an int for Python, and data for a formula.

    A formula that computes with it suits other sizes, since it becomes an element of a constant array, which is data.
    Sums, differences and products with other ints are sizes as well. A length of 1 is no size, since it may be
    broadcast: `as_size` leaves it as it is.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> from bayesanno.graph.flat import as_size
    >>> n = as_size(3)
    >>> n - 1, float(pt.log(n - 1).eval())
    (2, 0.6931471805599453)
    """

    def __add__(self, other: Any) -> Any:
        return _remain(int.__add__(self, other))

    def __sub__(self, other: Any) -> Any:
        return _remain(int.__sub__(self, other))

    def __rsub__(self, other: Any) -> Any:
        return _remain(int.__rsub__(self, other))

    def __neg__(self) -> Size:
        return Size(-int(self))

    def __mul__(self, other: Any) -> Any:
        return _remain(int.__mul__(self, other))

    __radd__, __rmul__ = __add__, __mul__


def as_size(length: int) -> int:
    """Return a length of data as a `Size`, unless it is 1."""
    if "pytensor" in sys.modules:  # EM has no graphs
        _let_graphs_take_sizes()
    return length if length == 1 else Size(length)


def _remain(number: Any) -> Any:
    return Size(number) if isinstance(number, int) else number  # NotImplemented, if the other is no int


@cache
def _let_graphs_take_sizes() -> None:
    from bayesanno._core.private import as_tensor

    as_tensor.register(Size, lambda size, *_, **__: pt.as_tensor(np.full(2, int(size)))[0])


def _find_constants(nodes: Sequence[Any]) -> tuple[list[Any], dict[Any, int]]:
    """Return the variables that depend on constants alone and are used by others, and the lengths that are inputs.

    A length is identified by its node and the position of the input, since the same number may have another meaning
    elsewhere.
    """
    from pytensor.graph import Constant

    from bayesanno._core.private import RandomVariable

    constant: set[Any] = set()  # what arrays are computed from, or computes arrays
    arrays: dict[Any, None] = {}
    lengths: dict[Any, int] = {}

    def is_array(variable: Any) -> bool:
        if isinstance(variable, Constant):
            return hasattr(variable.type, "ndim") and np.size(variable.data) > 1
        return variable in constant

    for node in nodes:
        shape = 1 if isinstance(node.op, RandomVariable) else None  # whose length says how many axes there are
        found = [at for at, variable in enumerate(node.inputs) if is_array(variable) and at != shape]
        of_node = [at for at in _lengths_of(node) if at not in found]
        if not (found or of_node):
            continue
        if all(isinstance(variable, Constant) or variable in constant for variable in node.inputs):
            constant.update(node.outputs)
            continue
        arrays |= dict.fromkeys(node.inputs[at] for at in found)
        lengths |= {(node, at): int(node.inputs[at].data) for at in of_node}
    return list(arrays), lengths


def _find_rows(nodes: Sequence[Any]) -> set[Any]:
    """Return variables used only as coordinates of probabilities: two have one coordinate, which is never broadcast."""
    reads = [(getattr(node.op, "reads_coordinates", False), one) for node in nodes for one in node.inputs]
    return {one for is_row, one in reads if is_row} - {one for is_row, one in reads if not is_row}


def _lengths_of(node: Any) -> list[int]:
    """Return which inputs of a node are constant lengths of an axis, other than 1."""
    from pytensor.graph import Constant

    from bayesanno._core.private import Alloc, MakeVector, SpecifyShape

    begin = 0 if isinstance(node.op, MakeVector) else 1 if isinstance(node.op, Alloc | SpecifyShape) else None
    if begin is None or (begin == 0 and not node.op.dtype.startswith("int")):
        return []
    among = enumerate(node.inputs[begin:], begin)
    return [at for at, of in among if isinstance(of, Constant) and hasattr(of.type, "ndim") and of.data > 1]


def _checks_lengths(node: Any) -> bool:
    """Whether a node only asserts the axis lengths of its input, without broadcasting any."""
    from bayesanno._core.private import SpecifyShape

    if not isinstance(node.op, SpecifyShape):
        return False
    of, found = (variable.type.shape for variable in (node.inputs[0], node.outputs[0]))
    return all(length != 1 or known == 1 for known, length in zip(of, found, strict=True))


def _share_arrays(arrays: Sequence[Any]) -> dict[Any, Any]:
    """Return a shared variable for each of some variables of constants, one for those that are equal."""
    import pytensor
    from pytensor.graph import Constant

    computed = [variable for variable in arrays if not isinstance(variable, Constant)]
    values = pytensor.function([], computed, mode="FAST_COMPILE")() if computed else []
    known = {variable: variable.data for variable in arrays if isinstance(variable, Constant)}
    known |= dict(zip(computed, values, strict=True))
    shared: dict[Any, Any] = {}
    which: dict[Any, Any] = {}
    for variable in arrays:
        value, shape = np.asarray(known[variable]), _without_lengths(variable.type)
        key = (value.dtype.str, shape, value.shape, value.tobytes())
        if key not in shared:
            shared[key] = pytensor.shared(value, name=f"constant_{len(shared)}", shape=shape)
        which[variable] = shared[key]
    return which


def _share_lengths(lengths: Mapping[Any, int]) -> dict[Any, Any]:
    """Return the elements of one shared vector, for each length."""
    import pytensor

    if not lengths:
        return {}
    vector = pytensor.shared(np.array(list(lengths.values()), dtype=np.int64), name="lengths", shape=(None,))
    return {where: vector[at] for at, where in enumerate(lengths)}


def _without_lengths(of: Any) -> tuple[int | None, ...]:
    return tuple(1 if length == 1 else None for length in of.shape)
