"""A graph as the two C functions that nutpie calls, independent of the sizes of the data, kept on disk.

One returns the log density with its gradient, the other the kept values. Both take a point as one vector; its division
into free variables is part of the data. Numba can keep such functions on disk, as it does for PyTensor's own, if they
are the same in every run. So they are compiled from source text, and data enter by pointer and shape. The name of a
kept function consists of this text, the names of the functions that it calls, and the versions of all packages that
generate code; Numba adds the CPU.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from bayesanno._core.lazy import pm, pt
from bayesanno.graph.functions import name_graph, precompute_data, read_data
from bayesanno.graph.source import Source, View, plus, row_major, times
from bayesanno.graph.symbolic_shapes import make_shapes_symbolic

WRITERS = ("bayesanno", "nutpie", "pymc", "pytensor", "numba", "llvmlite")  # packages that generate code
DOUBLES = ctypes.POINTER(ctypes.c_double)

# a function that fails returns 0, as one that succeeds, but its numbers are not finite then
LOGP = """
def {name}(n, x_, gradient_, logp, data_):
    logp[0] = nan
    x, gradient = carray(x_, (n,)), carray(gradient_, (n,))
{lines}
    for i in range(n):
        if not isfinite(gradient[i]):
            return 3
    if not isfinite(logp[0]):
        return 4
    return 0
"""
KEPT = """
def {name}(n, n_kept, x_, kept_, data_):
    x, kept = carray(x_, (n,)), carray(kept_, (n_kept,))
    for i in range(n):
        kept[i] = x[i]
    for i in range(n, n_kept):
        kept[i] = nan
{lines}
    return 0
"""
# Numba takes minutes for a long function in `try`
GUARD = """
def wrapped({arguments}):
    try:
        return inner({arguments})
    except Exception:
        return 1
"""


@dataclass(frozen=True)
class CFunctions:
    """C functions, and the arrays that they take.

    Attributes
    ----------
    logp, kept : numba.core.ccallback.CFunc
        (n, point, gradient, value, data) and (n, n kept, point, kept, data) -> status, where 0 is success.
    arrays : tuple of array
        The layout of a point, as returned by `lay_out`, and the data of the graph.
    """

    logp: Any
    kept: Any
    arrays: tuple[np.ndarray, ...]

    @cached_property
    def user_data(self) -> np.ndarray:
        """The address and the shape of each array, in one vector."""
        numbers = [number for array in self.arrays for number in (array.ctypes.data, *array.shape)]
        return np.array(numbers, dtype=np.int64)

    def call_logp(self, point: np.ndarray) -> tuple[float, np.ndarray] | None:
        """Return log p at a point, and its gradient; None without a density."""
        gradient, value = np.empty(point.size), np.empty(1)
        failed = self.logp.ctypes(
            point.size, *(one.ctypes.data_as(DOUBLES) for one in (point, gradient, value)), self.user_data.ctypes.data
        )
        return None if failed or np.isnan(value[0]) else (float(value[0]), gradient)

    def call_kept(self, point: np.ndarray, n_kept: int) -> np.ndarray | None:
        """Return the kept values at a point; None if they cannot be computed."""
        kept = np.empty(n_kept)
        failed = self.kept.ctypes(
            point.size, n_kept, *(one.ctypes.data_as(DOUBLES) for one in (point, kept)), self.user_data.ctypes.data
        )
        return None if failed else kept


def make_functions(flat: FlatGraph) -> tuple[Any, Any]:
    """Return the functions `logp` and `kept` of a graph; code that Numba compiled earlier is loaded from disk."""
    (logp, *gradient), kept = differentiate(flat)

    def finish_logp(writer: Any, begins: Sequence[str]) -> None:
        writer.source.put(f"logp[0] = {writer.number(logp)}")
        for slope, begin in zip(gradient, begins, strict=True):
            writer.copy_out(slope, "gradient", begin)

    def finish_kept(writer: Any, _: Sequence[str]) -> None:
        begin = "n"
        for value in kept:
            writer.copy_out(value, "kept", begin)
            begin = writer.source.let(plus(begin, times(*writer.lengths(value))))

    of_logp, of_kept = write_source(flat, [logp, *gradient], finish_logp), write_source(flat, kept, finish_kept)
    return _compile(of_logp, LOGP, 1), _compile(of_kept, KEPT, 2)


def write_source(flat: FlatGraph, outputs: Sequence[Any], finish: Callable[[Any, Sequence[str]], None]) -> Source:
    """Return the source that computes outputs from `x`, a point, and `data`, the pointers and shapes of arrays."""
    from pytensor.graph import graph_inputs

    from bayesanno.graph.loops import Writer

    source = Source()
    ends = np.cumsum([2, *(1 + array.ndim for array in flat.data)]).tolist()
    source.put(f"data = carray(data_, ({ends[-1]},), int64)")
    layout = _view(source, 0, (None,), "int64")

    def read(place: int) -> str:
        return f"at({layout.vector}, {place}, 0)"

    given, begins, place = {}, [], 0
    for value in flat.values:
        begins.append(source.let(read(place)))
        shape = enumerate(value.type.shape, place + 2)
        lengths = ["1" if length == 1 else source.let(read(at)) for at, length in shape]
        place += 2 + value.ndim
        given[value] = View("x", begins[-1], tuple(lengths), row_major(lengths))
    used = set(graph_inputs(outputs))
    for array, begin in zip(flat.data, ends, strict=False):
        if array in used:
            given[array] = _view(source, begin, array.type.shape, array.dtype)
    for one, view in given.items():
        if not view.lengths:
            given[one] = View("", source.let(f"at({view.vector}, {view.begin}, 0)", "s"))
    finish(Writer(source, given, outputs), begins)
    return source


def _view(source: Source, begin: int, shape: Sequence[int | None], dtype: str) -> View:
    """Write a view of the array whose pointer and shape start at `begin` in `data`."""
    lengths = tuple("1" if of == 1 else source.let(f"data[{begin + 1 + axis}]") for axis, of in enumerate(shape))
    source.names[dtype] = np.dtype(dtype).type
    vector = source.name("v")
    source.put(f"{vector} = carray(pointer(data[{begin}]), ({times(*lengths)},), {dtype})")
    return View(vector, "0", lengths, row_major(lengths))


def _compile(source: Source, template: str, n_sizes: int) -> Any:
    """Compile a function of pointers; it is kept in PyTensor's cache on disk."""
    import numba
    from pytensor import config

    from bayesanno._core.private.numba import at, pointer_to, put
    from bayesanno._core.private.pytensor import compile_source

    text = template.format(name="inner" if source.may_fail else "wrapped", lines="\n".join(source.lines))
    names = {
        "ascontiguousarray": np.ascontiguousarray,
        "carray": numba.carray,
        "empty": np.empty,
        "int64": np.int64,
        "isfinite": np.isfinite,
        "math": math,
    }
    names |= {"__name__": __name__, "at": at, "inf": math.inf, "nan": math.nan, "pointer": pointer_to, "put": put}
    key = None
    if config.numba__cache and None not in source.keys:
        key = hashlib.sha256(repr((__name__, text, source.keys, _writers())).encode()).hexdigest()
    names |= source.names
    if source.may_fail:
        inner = numba.njit(error_model="numpy")(compile_source(text, "inner", names, key and f"{key}_inner"))
        arguments = text[text.index("(") + 1 : text.index(")")]
        text, names = GUARD.format(arguments=arguments), {"__name__": __name__, "inner": inner}
    doubles = [numba.types.CPointer(numba.types.double)] * (4 - n_sizes)
    signature = numba.types.int64(*[numba.types.uint64] * n_sizes, *doubles, numba.types.voidptr)
    function = compile_source(text, "wrapped", names, key)
    return numba.cfunc(signature, cache=key is not None, error_model="numpy")(function)


@cache
def _writers() -> tuple[str, ...]:
    """Return the versions of all packages that generate code, and a hash of our own intrinsics."""
    from bayesanno._core.private import numba as intrinsics

    own = Path(intrinsics.__file__).read_bytes()
    return (*(f"{name} {version(name)}" for name in WRITERS), hashlib.sha256(own).hexdigest())


# ------------------------------------------------------------ a graph of one vector


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
    core = ["blockwise", "introduce_explicit_core_shape_blockwise"]  # for Numba, of what is done to each matrix
    include = ["merge", "canonicalize", "stabilize", "specialize", checks, *core]
    outputs = rewrite_graph(outputs, include=include, exclude=["cxx_only"])  # which looks for a BLAS, and warns
    return outputs[: 1 + len(flat.values)], outputs[1 + len(flat.values) :]


def lay_out(shapes: Iterable[tuple[int, ...]]) -> np.ndarray:
    """Return the begin and end of each array in a point, and its shape, as one vector of integers."""
    numbers: list[int] = []
    end = 0
    for shape in shapes:
        begin, end = end, end + math.prod(shape)
        numbers += [begin, end, *shape]
    return np.array(numbers, dtype=np.int64)
