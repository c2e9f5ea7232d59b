"""A graph for data of any size: what it says of its data's sizes is said by data.

Who fits a second table has other annotators, often other labels, and the same model. Compiling takes longer than
sampling, and code for arrays does not ask how long they are: but a graph does say it, in the slices by which a point is
cut into variables, in arrays of constants (a flat prior of three classes, which response names which class), in lengths
of arrays that it makes, and in the types that follow from these. Here all of them become shared variables, that is
data, and no axis has a length but those of length one, which may be there to be stretched.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pymc


@dataclass(frozen=True)
class SizelessGraph:
    """The log density of a graph and the values that are kept, as functions of its free variables.

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


def forget_sizes(graph: pymc.Model) -> SizelessGraph:
    """Return a graph without its sizes, not yet simplified."""
    from pytensor.graph.traversal import toposort

    free = {variable.name for variable in graph.free_RVs}
    sampled = [graph.rvs_to_values[variable] for variable in graph.free_RVs]
    own = [value for value in graph.unobserved_value_vars if value.name in free and value not in sampled]
    outputs = [graph.logp(), *own]
    nodes = list(toposort(outputs))
    arrays, sizes = _find_constants(nodes)
    values = [value.type.clone(shape=_forget(value.type))(value.name) for value in sampled]
    anew = dict(zip(sampled, values, strict=True)) | _share_arrays(arrays)
    of_input = _share_sizes(sizes)
    for node in nodes:
        if any(output in anew for output in node.outputs):  # of constants alone
            continue
        inputs = [of_input.get((node, at), anew.get(old, old)) for at, old in enumerate(node.inputs)]
        if any(new is not old for new, old in zip(inputs, node.inputs, strict=True)):
            anew |= zip(node.outputs, node.clone_with_new_inputs(inputs, strict=False).outputs, strict=True)
    logp, *kept = (anew.get(output, output) for output in outputs)
    return SizelessGraph(logp, {value.name: output for value, output in zip(own, kept, strict=True)}, values)


def _find_constants(nodes: Sequence[Any]) -> tuple[list[Any], dict[Any, int]]:
    """Return variables of constants alone, arrays among them, that others depend on; and the lengths that are inputs.

    A length is named by its node and which of its inputs it is: the same number may be no length elsewhere.
    """
    from pytensor.graph.basic import Constant

    constant: set[Any] = set()  # what arrays are computed from, or computes arrays
    arrays: dict[Any, None] = {}
    lengths: dict[Any, int] = {}

    def is_array(variable: Any) -> bool:
        if isinstance(variable, Constant):
            return hasattr(variable.type, "ndim") and np.size(variable.data) > 1
        return variable in constant

    for node in nodes:
        found = [at for at, variable in enumerate(node.inputs) if is_array(variable)]
        of_node = [at for at in _lengths_of(node) if at not in found]
        if not (found or of_node):
            continue
        if all(isinstance(variable, Constant) or variable in constant for variable in node.inputs):
            constant.update(node.outputs)
            continue
        arrays |= dict.fromkeys(node.inputs[at] for at in found)
        lengths |= {(node, at): int(node.inputs[at].data) for at in of_node}
    return list(arrays), lengths


def _lengths_of(node: Any) -> list[int]:
    """Return which inputs of a node are constant lengths of an axis, other than one."""
    from pytensor.graph.basic import Constant
    from pytensor.tensor.basic import Alloc, MakeVector
    from pytensor.tensor.shape import SpecifyShape

    begin = 0 if isinstance(node.op, MakeVector) else 1 if isinstance(node.op, Alloc | SpecifyShape) else None
    if begin is None or (begin == 0 and not node.op.dtype.startswith("int")):
        return []
    among = enumerate(node.inputs[begin:], begin)
    return [at for at, of in among if isinstance(of, Constant) and hasattr(of.type, "ndim") and of.data > 1]


def _share_arrays(arrays: Sequence[Any]) -> dict[Any, Any]:
    """Return a shared variable for each of some variables of constants, one for those that are equal."""
    import pytensor

    values = pytensor.function([], list(arrays), mode="FAST_COMPILE")() if arrays else []
    shared: dict[Any, Any] = {}
    which: dict[Any, Any] = {}
    for variable, computed in zip(arrays, values, strict=True):
        value, shape = np.asarray(computed), _forget(variable.type)
        key = (value.dtype.str, shape, value.shape, value.tobytes())
        if key not in shared:
            shared[key] = pytensor.shared(value, name=f"constant_{len(shared)}", shape=shape)
        which[variable] = shared[key]
    return which


def _share_sizes(sizes: Mapping[Any, int]) -> dict[Any, Any]:
    """Return the elements of one shared vector, for each length."""
    import pytensor

    if not sizes:
        return {}
    vector = pytensor.shared(np.array(list(sizes.values()), dtype=np.int64), name="sizes", shape=(None,))
    return {where: vector[at] for at, where in enumerate(sizes)}


def _forget(of: Any) -> tuple[int | None, ...]:
    return tuple(1 if length == 1 else None for length in of.shape)


def compile_sizeless(graph: pymc.Model, sizeless: SizelessGraph) -> tuple[Any, Any, Any]:
    """Compile a graph without its sizes by Numba.

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
    logp = rewrite_graph(sizeless.logp, include=stable)
    gradient = pt.concatenate([slope.ravel() for slope in pt.grad(logp, sizeless.values)])
    point, layout, parts = _cut_point(sizeless.values)
    outputs = clone_replace(
        [logp, gradient, *sizeless.kept.values()], dict(zip(sizeless.values, parts, strict=True)), rebuild_strict=False
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
        part = point[layout[at] : layout[at + 1]].reshape(layout[at + 2 : at + 2 + value.ndim], ndim=value.ndim)
        axes = [axis for axis, length in enumerate(value.type.shape) if length == 1]
        parts.append((pt.specify_broadcastable(part, *axes) if axes else part).astype(value.dtype))
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
