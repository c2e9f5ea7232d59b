"""A graph as compiled functions, independent of the sizes of the data, and draws that they are evaluated for.

Two are for nutpie, which calls them without Python: the log density with its gradient, and the kept values. Both take a
point as one vector; its division into free variables is part of the data. A third kind takes and returns arrays. All
are compiled from source text by LLVM, in a fraction of a second; data enter by address and shape, so that tables of
other sizes need no other code. A formula with an operation that has no loop, such as one that draws random numbers, is
evaluated by NumPy, operation by operation.

A function is stored under its graph without sizes (PyTensor compares operations, numbers and types) and PyTensor's
mode. A formula that differs in any of these is a different function.
"""

from __future__ import annotations

import ctypes
import logging
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesanno._core.lazy import pm, pt, xr
from bayesanno.graph.compiler import CFunction, compile_text, free
from bayesanno.graph.flat import FlatGraph, differentiate, make_shapes_symbolic, name_graph, read_data, simplify
from bayesanno.graph.source import NotWrittenError, Source, View, plus, row_major, times

logger = logging.getLogger(__name__)

FUNCTIONS = """
def logp(n, x_, gradient_, logp_, data_):
    logp = vector(logp_, 1, float64)
    logp[0] = nan
    x = vector(x_, n, float64)
    gradient = vector(gradient_, n, float64)
{logp}
    for i in range(n):
        if not isfinite(gradient[i]):
            return 3
    if not isfinite(logp[0]):
        return 4
    return 0


def kept(n, n_kept, x_, kept_, data_):
    x = vector(x_, n, float64)
    kept = vector(kept_, n_kept, float64)
    for i in range(n):
        kept[i] = x[i]
    for i in range(n, n_kept):
        kept[i] = nan
{kept}
    return 0
"""

ARRAYS = """
def run(results_, data_):
    results = vector(results_, {n_results}, int64)
{lines}
    return 0
"""


@dataclass(frozen=True)
class CFunctions:
    """C functions, and the arrays that they take.

    Attributes
    ----------
    logp, kept : CFunction, or what has its `address`
        (n, point, gradient, value, data) and (n, n kept, point, kept, data) -> status, where 0 is success.
    arrays : tuple of array
        The layout of a point, as returned by `lay_out`, and the data of the graph.
    user_data : array
        What the functions read: the address and the shape of each array.
    """

    logp: CFunction
    kept: CFunction
    arrays: tuple[np.ndarray, ...]

    user_data: np.ndarray

    def call_logp(self, point: np.ndarray) -> tuple[float, np.ndarray] | None:
        """Return log p at a point, and its gradient; None without a density."""
        gradient, value = np.empty(point.size), np.empty(1)
        failed = self.logp.call(point.size, *map(address_of, (point, gradient, value, self.user_data)))
        return None if failed or np.isnan(value[0]) else (float(value[0]), gradient)

    def call_kept(self, point: np.ndarray, n_kept: int) -> np.ndarray | None:
        """Return the kept values at a point; None if they cannot be computed."""
        kept = np.empty(n_kept)
        failed = self.kept.call(point.size, n_kept, *map(address_of, (point, kept, self.user_data)))
        return None if failed else kept


def describe(arrays: Sequence[np.ndarray], shapes: Sequence[tuple[int, ...]] | None = None) -> np.ndarray:
    """Return the address and the shape of each array, in one vector."""
    each = zip(arrays, shapes or [array.shape for array in arrays], strict=True)
    return np.array([number for array, shape in each for number in (address_of(array), *shape)], dtype=np.int64)


def address_of(array: np.ndarray) -> int:
    """Return where an array begins in memory."""
    return int(array.ctypes.data)


def make_functions(flat: FlatGraph) -> tuple[CFunction, CFunction]:
    """Compile the functions `logp` and `kept` of a graph.

    Raises
    ------
    NotWrittenError
        If it has an operation that is not known here.
    """
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

    of_logp = write_source(flat.values, flat.data, [logp, *gradient], finish_logp)
    of_kept = write_source(flat.values, flat.data, kept, finish_kept, of_logp.functions)
    text = FUNCTIONS.format(logp="\n".join(of_logp.lines), kept="\n".join(of_kept.lines))
    compiled = compile_text(text, of_kept.functions)
    return compiled["logp"], compiled["kept"]


class ArrayFunction:
    """A compiled function from arrays to arrays, which threads may call at the same time.

    Parameters
    ----------
    inputs, outputs : sequence of TensorVariable

    Raises
    ------
    NotWrittenError
        If there is an operation that is not known here.
    """

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        if not all(hasattr(one.type, "ndim") for one in inputs):
            raise NotWrittenError("an input that is no array")
        outputs = simplify(outputs)

        def finish(writer: Any, _: Sequence[str]) -> None:
            place = 0
            for output in outputs:
                lengths = writer.lengths(output)
                found = writer.source.empty(lengths, output.dtype)
                writer.copy_out(output, found.vector, "0")
                for number in (f"take({found.vector})", *lengths):
                    writer.source.put(f"results[{place}] = {number}")
                    place += 1

        source = write_source([], inputs, outputs, finish)
        self.n_results = sum(1 + output.ndim for output in outputs)
        text = ARRAYS.format(n_results=self.n_results, lines="\n".join(source.lines))
        self.run = compile_text(text, source.functions)["run"]
        self.types = [one.type for one in inputs]
        self.made = [(np.dtype(output.dtype), output.ndim) for output in outputs]

    def __call__(self, *values: np.ndarray) -> list[np.ndarray]:
        """Return the outputs."""
        return next(self.each([], values))

    def each(self, drawn: Sequence[np.ndarray], given: Sequence[np.ndarray]) -> Iterator[list[np.ndarray]]:
        """Return the outputs for each draw of the first inputs, (draw, ...) each; the others are the same for all."""
        each = zip([*drawn, *given], self.types, strict=True)
        arrays = [np.asarray(of).astype(kind.dtype, order="C", casting="same_kind", copy=False) for of, kind in each]
        shapes = [of.shape[at < len(drawn) :] for at, of in enumerate(arrays)]
        for shape, kind in zip(shapes, self.types, strict=True):
            if len(shape) != kind.ndim or any(1 == known != own for known, own in zip(kind.shape, shape, strict=True)):
                raise ValueError(f"an array of shape {shape} where the function takes {kind}")
        data = describe([np.zeros(0), *arrays], [(0,), *shapes])
        places = np.cumsum([2, *(1 + len(shape) for shape in shapes)])[: len(drawn)]  # of the addresses
        steps = [of.strides[0] for of in arrays[: len(drawn)]]
        results = np.zeros(self.n_results, dtype=np.int64)  # of each output: its address, and its shape
        begins = address_of(results), address_of(data)
        for _ in range(len(arrays[0]) if drawn else 1):
            failed = self.run.call(*begins)
            found = self._take(results.tolist())
            if failed:
                raise ValueError("lengths of arrays differ, or a condition does not hold")
            yield found
            results[:] = 0
            data[places] += steps

    def _take(self, results: Sequence[int]) -> list[np.ndarray]:
        """Copy the outputs, and free the function's."""
        found, place = [], 0
        for dtype, n_dims in self.made:
            address, shape = results[place], results[place + 1 : place + 1 + n_dims]
            place += 1 + n_dims
            if address:
                there = (ctypes.c_char * (dtype.itemsize * math.prod(shape))).from_address(address)
                found.append(np.ndarray(shape, dtype, there).copy())
                free(address)
        return found


def write_source(
    values: Sequence[Any],
    data: Sequence[Any],
    outputs: Sequence[Any],
    finish: Callable[[Any, Sequence[str]], None],
    functions: dict[str, Callable[..., Any]] | None = None,
) -> Source:
    """Return the source that computes outputs from `x`, a point, and `data`, the pointers and shapes of arrays.

    `functions` are those that another source of the same module calls.
    """
    from pytensor.graph import graph_inputs

    from bayesanno.graph.loops import Writer

    source = Source(functions=dict(functions or {}))
    ends = np.cumsum([2, *(1 + array.ndim for array in data)]).tolist()
    source.put(f"data = vector(data_, {ends[-1]}, int64)")
    layout = _view(source, 0, (None,), "int64")

    def read(place: int) -> str:
        return f"at({layout.vector}, {place}, 0)"

    given, begins, place = {}, [], 0
    for value in values:
        begins.append(source.let(read(place)))
        shape = enumerate(value.type.shape, place + 2)
        lengths = ["1" if length == 1 else source.let(read(at)) for at, length in shape]
        place += 2 + value.ndim
        given[value] = View("x", begins[-1], tuple(lengths), row_major(lengths))
    used = set(graph_inputs(outputs))
    for array, begin in zip(data, ends, strict=False):
        if array in used:
            given[array] = _view(source, begin, array.type.shape, array.dtype)
    for one, view in given.items():
        if set(view.lengths) <= {"1"}:
            given[one] = View("", source.let(f"at({view.vector}, {view.begin}, 0)", "s"), view.lengths, view.strides)
    finish(Writer(source, given, outputs), begins)
    return source


def _view(source: Source, begin: int, shape: Sequence[int | None], dtype: str) -> View:
    """Write a view of the array whose pointer and shape start at `begin` in `data`."""
    lengths = tuple("1" if of == 1 else source.let(f"data[{begin + 1 + axis}]") for axis, of in enumerate(shape))
    vector = source.name("v")
    source.put(f"{vector} = vector(data[{begin}], {times(*lengths)}, {dtype})")
    return View(vector, "0", lengths, row_major(lengths))


# -------------------------------------------------------------------------------------- compiled once

MAX_KEPT = 96  # functions that a process keeps
BY_NUMPY = "FAST_COMPILE"  # PyTensor's mode in which NumPy evaluates a graph: for what is evaluated once, or few times
USUAL = "Mode"  # PyTensor's mode, unless somebody chose another

_kept: OrderedDict[Hashable, Any] = OrderedDict()
_lock = threading.RLock()


@contextmanager
def plain_compiling() -> Iterator[None]:
    """Let PyTensor compile without a C compiler, which it runs for a second for each operation with a graph inside.

    Operations between floats are not reordered, so that the same seed gives the same draws. The lines of Python that
    made an operation are not recorded, which takes a fifth of the time.
    """
    import pytensor

    with pytensor.config.change_flags(numba__fastmath=False, traceback__limit=0, cxx=""):
        yield


def keep[T](name: Hashable, make: Callable[[], T]) -> T:
    """Return the object stored under a name, or make and store it; only the most recently used are stored."""
    with _lock:
        found: T = _kept.pop(name, None) or make()
        _kept[name] = found
        while len(_kept) > MAX_KEPT:
            _kept.popitem(last=False)
    return found


class Function:
    """A function of arrays, and of the data of its graph, which it reads at every call.

    Parameters
    ----------
    compiled : ArrayFunction or callable
    data : sequence of shared variables
    """

    def __init__(self, compiled: Callable[..., list[np.ndarray]], data: Sequence[Any]) -> None:
        self.compiled, self.data = compiled, data

    def __call__(self, *values: Any) -> list[np.ndarray]:
        """Return the outputs. Threads may call it at the same time."""
        return self.compiled(*values, *self._read())

    def each(self, drawn: Sequence[np.ndarray], given: Sequence[np.ndarray] = ()) -> Iterator[list[np.ndarray]]:
        """Return the outputs for each draw of the first inputs, (draw, ...) each; the others are the same for all."""
        rest = [*given, *self._read()]
        if hasattr(self.compiled, "each"):
            return self.compiled.each(drawn, rest)
        return (self.compiled(*draw, *rest) for draw in zip(*drawn, strict=True))

    def _read(self) -> list[np.ndarray]:
        return [variable.get_value(borrow=True) for variable in self.data]


def compile_once(inputs: Sequence[pt.TensorVariable], outputs: Sequence[pt.TensorVariable]) -> Function:
    """Return a function from the inputs to the outputs; equal graphs share what is compiled."""
    from pytensor import config

    inputs, outputs, data = read_data(*make_shapes_symbolic(inputs, outputs))
    return Function(keep((name_graph(inputs, outputs), config.mode), lambda: _compile(inputs, outputs)), data)


def _compile(
    inputs: Sequence[pt.TensorVariable], outputs: Sequence[pt.TensorVariable]
) -> Callable[..., list[np.ndarray]]:
    import pytensor

    mode = pytensor.config.mode
    with plain_compiling():
        if mode == USUAL and any(not hasattr(one.type, "ndim") for one in inputs):  # random numbers
            mode = BY_NUMPY
        if mode == USUAL:
            try:
                return ArrayFunction(inputs, outputs)
            except NotWrittenError as why:
                logger.info("evaluated by NumPy, which takes longer: %s", why)
                mode = BY_NUMPY
        function = pytensor.function(list(inputs), list(outputs), mode=mode, on_unused_input="ignore")
    one_at_a_time = threading.Lock()  # a PyTensor function holds its inputs and outputs while it runs

    def call(*values: np.ndarray) -> list[np.ndarray]:
        with one_at_a_time:
            return function(*values)

    return call


# ------------------------------------------------------------------------------------------ many draws


def stack_samples(draws: xr.Dataset) -> dict[str, np.ndarray]:
    """Return the values of each variable, with the draws of all chains in sequence: (sample, ...)."""
    values = {str(name): draws[name].transpose("chain", "draw", ...).values for name in draws.data_vars}
    return {name: array.reshape(-1, *array.shape[2:]) for name, array in values.items()}


def evaluate_draws(
    outputs: Sequence[pt.TensorVariable], draws: Mapping[pt.TensorVariable, np.ndarray]
) -> list[np.ndarray]:
    """Evaluate functions of variables at many values at once.

    Parameters
    ----------
    outputs : sequence of TensorVariable
    draws : mapping of TensorVariable to array
        The values of each variable on which the outputs depend: shape (draw, ...).

    Returns
    -------
    list of array, shape (draw, ...) each
    """
    if not outputs:
        return []
    found = compile_once(list(draws), outputs).each(list(draws.values()))
    return [np.stack(each) for each in zip(*found, strict=True)]


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
    from bayesanno._core.private import remove_value_transforms

    graph = remove_value_transforms(graph)
    return free.assign(_evaluate(graph, graph.deterministics, graph.replace_rvs_by_values(graph.deterministics), free))


def compute_log_prior(graph: pm.Model, free: xr.Dataset) -> xr.Dataset:
    """Return the log prior density of each free parameter in each draw, on its own scale: dims (chain, draw, ...).

    A distribution over a dimension, such as a Dirichlet, has one density for the whole dimension.
    """
    from bayesanno._core.private import remove_value_transforms

    graph = remove_value_transforms(graph)
    each = [pm.logp(variable, graph.rvs_to_values[variable], warn_rvs=False) for variable in graph.free_RVs]
    return _evaluate(graph, graph.free_RVs, graph.replace_rvs_by_values(each), free)


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
