"""A graph as the two C functions that nutpie calls, independent of the sizes of the data, kept on disk.

One returns the log density with its gradient, the other the kept values. Both take a point as one vector; its division
into free variables is part of the data. Numba can keep such functions on disk, as it does for PyTensor's own, if they
are the same in every run. So they are compiled from source text, and data enter by pointer and shape. The name of a
kept function consists of PyTensor's name for the rewritten graph, this text, the types of the data, and the versions of
all packages that generate code; Numba adds the CPU.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from itertools import batched
from pathlib import Path
from typing import Any

import numpy as np

from bayesanno.ground.lazy import pm, pt
from bayesanno.modeling import ops
from bayesanno.modeling.any_size import remove_sizes
from bayesanno.modeling.functions import name_graph, precompute_data, read_data

WRITERS = ("bayesanno", "nutpie", "pymc", "pytensor", "numba", "llvmlite")  # packages that generate code
DOUBLES = ctypes.POINTER(ctypes.c_double)

# within `try`, Numba checks each call for errors, which takes long to compile for many calls
LOGP = """
def wrapped(n, x_, gradient, logp, data_):
    x = carray(x_, (n,))
    data = carray(data_, ({n_numbers},), int64)
    arguments = {arguments}
    try:
        value, slope = inner(*arguments)
    except Exception:
        return 1
    logp[0] = value[()]
    for i in range(n):
        gradient[i] = slope[i]
        if not isfinite(slope[i]):
            return 3
    if not isfinite(logp[0]):
        return 4
    return 0
"""
KEPT = """
def wrapped(n, n_kept, x_, kept, data_):
    x = carray(x_, (n,))
    data = carray(data_, ({n_numbers},), int64)
    arguments = {arguments}
    try:
        (values,) = inner(*arguments)
    except Exception:
        return 1
    for i in range(n_kept):
        kept[i] = values[i]
    return 0
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
        return None if failed else (float(value[0]), gradient)

    def call_kept(self, point: np.ndarray, n_kept: int) -> np.ndarray | None:
        """Return the kept values at a point; None if they cannot be computed."""
        kept = np.empty(n_kept)
        failed = self.kept.ctypes(
            point.size, n_kept, *(one.ctypes.data_as(DOUBLES) for one in (point, kept)), self.user_data.ctypes.data
        )
        return None if failed else kept


def make_functions(flat: FlatGraph) -> tuple[Any, Any]:
    """Return the functions `logp` and `kept` of a graph; code that Numba compiled earlier is loaded from disk."""
    inputs, logp, kept = differentiate(flat)
    return _compile_callback(inputs, logp, LOGP), _compile_callback(inputs, kept, KEPT)


def _compile_callback(inputs: Sequence[Any], outputs: Sequence[Any], template: str) -> Any:
    """Compile a function of pointers around a PyTensor function; it is kept in PyTensor's cache on disk."""
    import numba
    import pytensor
    from pytensor.graph import graph_inputs

    from bayesanno.ground.private.numba import pointer_to
    from bayesanno.ground.private.pytensor import compile_source, inner_function, name_function

    point, *arrays = inputs
    begins = np.cumsum([0, *(1 + array.ndim for array in arrays)]).tolist()
    read = set(graph_inputs(outputs))
    used = {which: array for which, array in enumerate(arrays) if array in read}  # a view takes a while to compile
    function = pytensor.function([point, *used.values()], outputs, mode="NUMBA", on_unused_input="ignore")
    views = [_view(begins[which], array.ndim, f"type{which}") for which, array in used.items()]
    # Numba cannot compile the bytecode of a tuple with more than thirty elements
    tuples = [f"({', '.join(part)},)" for part in batched(["x", *views], 20)]
    source = template.format(n_numbers=begins[-1], arguments=" + ".join(tuples))
    number_types = {f"type{which}": np.dtype(array.dtype).type for which, array in used.items()}
    names = {"carray": numba.carray, "int64": np.int64, "isfinite": np.isfinite, "pointer": pointer_to}
    names |= {"__name__": __name__, "inner": inner_function(function)} | number_types
    key, graph_name = None, name_function(function)
    if graph_name is not None:  # PyTensor can name the graph
        described = (__name__, graph_name, source, [str(of) for of in number_types.values()], _writers())
        key = hashlib.sha256(repr(described).encode()).hexdigest()
    n_sizes = 1 if template is LOGP else 2
    doubles = [numba.types.CPointer(numba.types.double)] * (4 - n_sizes)
    signature = numba.types.int64(*[numba.types.uint64] * n_sizes, *doubles, numba.types.voidptr)
    return numba.cfunc(signature, cache=key is not None)(compile_source(source, "wrapped", names, key))


def _view(begin: int, n_dims: int, of: str) -> str:
    """Return the source of an array whose pointer and shape start at `begin` in `data`."""
    shape = "".join(f"data[{begin + 1 + axis}], " for axis in range(n_dims)) or "1,"
    array = f"carray(pointer(data[{begin}]), ({shape.strip()}), {of})"
    return array if n_dims else f"{array}.reshape(())"


@cache
def _writers() -> tuple[str, ...]:
    """Return the versions of all packages that generate code, and a hash of our own operations."""
    (folder,) = ops.__path__
    own = b"".join(path.read_bytes() for path in sorted(Path(folder).glob("*.py")))
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
    inputs, (logp, *kept), shared = read_data(*remove_sizes(sampled, precompute_data(sampled, [graph.logp(), *own])))
    values, data = inputs[: len(sampled)], inputs[len(sampled) :]
    named = {value.name: output for value, output in zip(own, kept, strict=True)}
    arrays = [np.array(variable.get_value(), order="C") for variable in shared]
    return FlatGraph(values, logp, named, data, arrays, graph.check_bounds)


def differentiate(flat: FlatGraph) -> tuple[list[Any], list[Any], list[Any]]:
    """Return functions of one vector.

    Returns
    -------
    inputs : list of TensorVariable
        The point (dimension,), its layout (see `lay_out`), and the data.
    logp : list of TensorVariable
        The log density and its gradient (dimension,).
    kept : list of TensorVariable
        One vector: the point, followed by the kept values.
    """
    from pytensor.graph import rewrite_graph
    from pytensor.graph.replace import clone_replace

    checks = "local_check_parameter_to_ninf_switch" if flat.check_bounds else "local_remove_check_parameter"
    logp = rewrite_graph(flat.logp, include=["canonicalize", "stabilize", *([] if flat.check_bounds else [checks])])
    gradient = pt.concatenate([slope.ravel() for slope in pt.grad(logp, flat.values)])
    point, layout, parts = _cut_point(flat.values)
    of_parts = dict(zip(flat.values, parts, strict=True))
    logp, gradient, *kept = clone_replace([logp, gradient, *flat.kept.values()], of_parts, rebuild_strict=False)
    kept = pt.concatenate([part.ravel() for part in [*parts, *kept]])
    *of_logp, kept = rewrite_graph([logp, gradient, kept], include=["canonicalize_db", checks])
    return [point, layout, *flat.data], of_logp, [kept]


def _cut_point(values: Sequence[Any]) -> tuple[Any, Any, list[Any]]:
    point, layout = pt.dvector("point"), pt.lvector("layout")
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
    """Return the begin and end of each array in a point, and its shape, as one vector of integers."""
    numbers: list[int] = []
    end = 0
    for shape in shapes:
        begin, end = end, end + math.prod(shape)
        numbers += [begin, end, *shape]
    return np.array(numbers, dtype=np.int64)
