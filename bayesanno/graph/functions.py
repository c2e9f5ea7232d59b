"""Formulas as functions: each is compiled once per process, for all data and draws that it is evaluated for.

There are two ways. Loops compiled by LLVM (`c_functions`) take a second to compile. NumPy needs only PyTensor's
quickest rewriting, a tenth of a second, but each call is slower. NumPy is used for formulas that are evaluated once, or
with so few numbers that evaluation takes seconds. A formula with an operation that has no loop is compiled by PyTensor.

A function is stored under its graph without sizes (PyTensor compares operations, numbers and types) and the settings of
compilation. A formula that differs in any of these is a different function.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from bayesanno._core.lazy import pt, xr
from bayesanno.graph.source import NotWrittenError
from bayesanno.graph.symbolic_shapes import make_shapes_symbolic

type DrawsFunction = Callable[[Sequence[np.ndarray], Sequence[np.ndarray]], Iterator[Sequence[np.ndarray]]]

logger = logging.getLogger(__name__)

MAX_KEPT = 96  # functions that a process keeps
# NumPy works through some 100 million numbers in a second:
PER_DRAW = 10_000  # in the time that a draw takes in any case
SOON_BY_NUMPY = 3 * 10**8  # in a few seconds, where compiling takes up to a minute
MOST_BY_NUMPY = 2**25  # of one draw: all of them are in memory at once
AT_ONCE = 2**21  # over the draws that it evaluates at a time
BY_NUMPY = "FAST_COMPILE"  # PyTensor's mode in which NumPy evaluates a graph: for what is evaluated once, or few times

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


def compile_once(
    inputs: Sequence[pt.TensorVariable], outputs: Sequence[pt.TensorVariable], *, by_numpy: bool = False
) -> Callable[..., list[np.ndarray]]:
    """Return a function from the inputs to the outputs; equal graphs share one function.

    Parameters
    ----------
    inputs, outputs : sequence of TensorVariable
        The data of the graph, its shared variables, are inputs too: the function reads them at every call.
    by_numpy : bool, default False
        Whether NumPy evaluates the function: compiling takes less time, evaluating more.

    Returns
    -------
    callable
        Threads may call it at the same time: their calls run one after another.
    """
    from pytensor import config

    inputs, outputs, data = read_data(*make_shapes_symbolic(inputs, outputs))
    compiled_by = (config.mode, config.linker, config.optimizer, by_numpy)
    function = keep((name_graph(inputs, outputs), compiled_by), lambda: _compile(inputs, outputs, by_numpy=by_numpy))
    if not data:
        return function
    return lambda *values: function(*values, *(variable.get_value(borrow=True) for variable in data))


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
    from bayesanno._core.private.pytensor import FrozenFunctionGraph

    return FrozenFunctionGraph.from_io(inputs, outputs)


def _compile(
    inputs: Sequence[pt.TensorVariable], outputs: Sequence[pt.TensorVariable], *, by_numpy: bool
) -> Callable[..., list[np.ndarray]]:
    import pytensor

    from bayesanno.graph.c_functions import make_array_function

    with plain_compiling():
        if not by_numpy:
            try:
                return make_array_function(inputs, outputs)
            except NotWrittenError as why:
                logger.info("compiled by PyTensor, which takes longer: %s", why)
        mode = BY_NUMPY if by_numpy else None
        function = pytensor.function(list(inputs), list(outputs), mode=mode, on_unused_input="ignore")
    one_at_a_time = threading.Lock()  # a PyTensor function holds its inputs and outputs while it runs
    is_compiled = by_numpy

    def call(*values: np.ndarray) -> list[np.ndarray]:
        nonlocal is_compiled
        with one_at_a_time:
            if is_compiled:
                return function(*values)
            with _lock, plain_compiling():  # Numba compiles when it sees the types of the values
                found, is_compiled = function(*values), True
            return found

    return call


# ------------------------------------------------------------------------------------------ many draws


def compile_draws(
    drawn: Mapping[pt.TensorVariable, np.ndarray],
    given: Mapping[pt.TensorVariable, np.ndarray],
    outputs: Sequence[pt.TensorVariable],
) -> DrawsFunction:
    """Return a function of many draws: by NumPy, many at once, if that takes seconds; else by Numba, one by one.

    Parameters
    ----------
    drawn : mapping of TensorVariable to array, shape (draw, ...)
        The variables that differ between draws, with the values of all draws.
    given : mapping of TensorVariable to array
        The variables that are the same for all draws.
    outputs : sequence of TensorVariable

    Returns
    -------
    callable
        (values drawn, values given) -> the outputs, draw by draw.
    """
    inputs, n_draws = [*drawn, *given], len(next(iter(drawn.values())))
    first = [*(of[0] for of in drawn.values()), *given.values()]
    try:
        most = min(SOON_BY_NUMPY // n_draws - PER_DRAW, MOST_BY_NUMPY)
        expected, n_numbers = evaluate_once(inputs, outputs, first, most)
        many, of_many = _vectorize(drawn, outputs)
        function = compile_once([*many, *given], of_many, by_numpy=True)
        _check_first(function(*(np.repeat(of[:1], 2, axis=0) for of in drawn.values()), *given.values()), expected)
    except Exception as error:  # of any kind: not every operation can be done by NumPy, or for many draws
        logger.debug("not by NumPy: %s: %s", type(error).__name__, error)
        function = compile_once(inputs, outputs)
        return lambda draws, rest: (function(*draw, *rest) for draw in zip(*draws, strict=True))
    at_once = max(AT_ONCE // (PER_DRAW + n_numbers), 1)

    def evaluate(draws: Sequence[np.ndarray], rest: Sequence[np.ndarray]) -> Iterator[Sequence[np.ndarray]]:
        for begin in range(0, len(draws[0]), at_once):
            yield from zip(*function(*(of[begin : begin + at_once] for of in draws), *rest), strict=True)

    return evaluate


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
    values = {one: each.astype(one.dtype, copy=False) for one, each in draws.items()}
    found = compile_draws(values, {}, outputs)(list(values.values()), [])
    return [np.stack(each) for each in zip(*found, strict=True)]


def _vectorize(
    drawn: Iterable[pt.TensorVariable], outputs: Sequence[pt.TensorVariable]
) -> tuple[list[pt.TensorVariable], list[pt.TensorVariable]]:
    """Return variables for many draws, and the outputs as functions of them."""
    from pytensor.graph import vectorize_graph
    from pytensor.tensor import TensorType

    many = {one: TensorType(one.dtype, shape=(None, *one.type.shape))(name=one.name) for one in drawn}
    return list(many.values()), vectorize_graph(list(outputs), many)


def _check_first(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> None:
    """Raise an error unless a draw passed twice gives its outputs twice: PyTensor may fail to stretch an axis."""
    for many, one in zip(found, expected, strict=True):
        if np.shape(many) != (2, *np.shape(one)) or not np.allclose(many, one, equal_nan=True):
            raise ValueError("a function of many draws is not that of one")


# ------------------------------------------------------------------------------------------ without compiling


class _TooMuchError(Exception):
    """A draw has too many numbers."""


def evaluate_once(
    inputs: Sequence[pt.TensorVariable],
    outputs: Sequence[pt.TensorVariable],
    values: Sequence[np.ndarray],
    most: float,
) -> tuple[list[np.ndarray], int]:
    """Compute the outputs by NumPy, operation by operation; return them and how many numbers were computed.

    Raises _TooMuchError if there are more than `most`, and the error of an operation that NumPy cannot do.
    """
    from bayesanno._core.private.pytensor import io_toposort

    known = _read_inputs(outputs) | dict(zip(inputs, values, strict=True))
    n_numbers = 0  # inputs do not count: an operation may read few of them, as answers of equal items
    with plain_compiling():
        for node in io_toposort(inputs, outputs):
            made = _perform(node, known)
            known |= made
            n_numbers += sum(np.size(value) for value in made.values())
            if n_numbers > most:
                raise _TooMuchError(f"{n_numbers:,}")
    return [known[one] for one in outputs], n_numbers


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

    from bayesanno._core.private.pytensor import Reshape, toposort

    outputs = rewrite_graph(clone_replace(list(outputs)), include=("merge",))  # so that equal formulas are one array
    nodes = list(toposort(outputs))
    known = {one: value for one, value in _read_inputs(outputs).items() if one not in inputs}
    for node in nodes:
        if all(one in known for one in node.inputs):
            try:
                known |= _perform(node, known)
            except Exception as error:  # of any kind: NumPy cannot do everything that Numba compiles
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
