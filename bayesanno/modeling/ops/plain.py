"""Sums over some axes and parts of arrays, written so that Numba compiles them soon.

PyTensor's sum sorts the axes of each array by how they lie in memory and has a loop nest for every order, which takes
Numba seven seconds to compile; the arrays that are left to be summed in these graphs lie in order. Its operation that
cuts an array into parts, the gradient of joining them, checks their lengths and can tell of it, which takes five.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.mode import Mode, get_mode
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.graph.rewriting.basic import in2out, node_rewriter
from pytensor.link.numba.cache import compile_numba_function_src
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key
from pytensor.link.numba.linker import NumbaLinker
from pytensor.tensor.basic import Split
from pytensor.tensor.math import Sum

CODE_VERSION = 1  # part of the key under which compiled code is cached: raise it when the loops change
BEFORE_SPECIALIZE, AFTER_ALL = 1.9, 1000.0  # of the positions in PyTensor's order of rewriting


class PlainSum(Op):  # type: ignore[misc]  # PyTensor is not typed
    """An array of `ndim` dimensions without these axes, over which it is summed."""

    __props__ = ("axes", "ndim")

    def __init__(self, axes: tuple[int, ...], ndim: int) -> None:
        self.axes, self.ndim = axes, ndim

    @property
    def kept(self) -> list[int]:
        """The axes that are left."""
        return [axis for axis in range(self.ndim) if axis not in self.axes]

    def make_node(self, x: Any) -> Apply:
        """Check the input and name the output's type."""
        x = pt.as_tensor(x)
        if x.ndim != self.ndim:
            raise TypeError(f"PlainSum takes an array of {self.ndim} dimensions, and not of {x.ndim}")
        return Apply(self, [x], [pt.tensor(dtype=x.dtype, shape=[x.type.shape[axis] for axis in self.kept])])

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list[list[Any]]) -> None:
        """Compute with NumPy, where there is no Numba."""
        output_storage[0][0] = inputs[0].sum(axis=self.axes)


@register_funcify_default_op_cache_key(PlainSum)  # type: ignore[untyped-decorator]
def _sum_in_numba(op: PlainSum, node: Apply, **_: Any) -> Any:
    lengths = ", ".join(f"x.shape[{axis}]" for axis in op.kept)
    of_total, of_term = (", ".join(f"i{axis}" for axis in axes) for axes in (op.kept, range(op.ndim)))
    lines = ["def sum_loops(x):", f" total = np.zeros(({lengths},), x.dtype)"]
    lines += [f"{' ' * (axis + 1)}for i{axis} in range(x.shape[{axis}]):" for axis in range(op.ndim)]
    lines += [f"{' ' * (op.ndim + 1)}total[{of_total}] += x[{of_term}]", " return total"]
    return numba_njit(compile_numba_function_src("\n".join(lines), "sum_loops", {"np": np})), CODE_VERSION


@node_rewriter([Sum])  # type: ignore[untyped-decorator]
def _sum_plainly(_: Any, node: Apply) -> Any:
    (x,), (total,) = node.inputs, node.outputs
    if total.ndim == 0 or x.dtype != "float64" or total.dtype != x.dtype or node.op.acc_dtype not in (None, x.dtype):
        return None
    return [PlainSum(tuple(axis % x.ndim for axis in node.op.axis), x.ndim)(x)]


@node_rewriter([Split])  # type: ignore[untyped-decorator]
def _split_plainly(_: Any, node: Apply) -> Any:
    x, lengths = node.inputs
    before = [slice(None)] * (node.op.axis % x.ndim)
    end, parts = pt.constant(0, dtype="int64"), []
    for which, part in enumerate(node.outputs):
        begin, end = end, end + lengths[which]
        if part.type.shape[len(before)] == 1:  # which may be stretched later
            parts.append(pt.expand_dims(x[(*before, begin)], len(before)))
        else:
            parts.append(x[(*before, slice(begin, end))])
    return parts if all(one.type == part.type for one, part in zip(parts, node.outputs, strict=True)) else None


@cache
def numba_mode(mode: Mode | str = "NUMBA") -> Mode:
    """Return a mode of PyTensor's for Numba with these sums and slices for parts of arrays; others as they are."""
    mode = get_mode(mode)
    if not isinstance(mode.linker, NumbaLinker):
        return mode
    return mode.register(
        (in2out(_split_plainly, name="split_plainly"), BEFORE_SPECIALIZE),
        (in2out(_sum_plainly, name="sum_plainly"), AFTER_ALL),
    )
