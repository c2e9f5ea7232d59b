"""A graph as compiled functions, independent of the sizes of the data.

Two are for nutpie, which calls them without Python: the log density with its gradient, and the kept values. Both take a
point as one vector; its division into free variables is part of the data. A third kind takes and returns arrays. All
are compiled from source text; data enter by address and shape, so that tables of other sizes need no other code.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesanno.graph.compiler import CFunction, compile_text, free
from bayesanno.graph.flat import FlatGraph, differentiate, simplify
from bayesanno.graph.source import NotWrittenError, Source, View, plus, row_major, times

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
