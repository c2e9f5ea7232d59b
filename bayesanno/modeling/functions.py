"""Formulas as functions: each is compiled once per process, for all data and draws that it is evaluated for.

What is kept is named by the graph itself without its sizes, as PyTensor compares graphs: operations, numbers and types,
and by what decides how they are compiled. A formula that differs in any of them is another one.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from bayesanno.ground.lazy import pt
from bayesanno.modeling.any_size import forget_sizes

type DrawsFunction = Callable[[Sequence[np.ndarray], Sequence[np.ndarray]], Iterator[Sequence[np.ndarray]]]

logger = logging.getLogger(__name__)

MAX_KEPT = 64  # formulas whose functions a process keeps
CHUNK_BYTES = 64 * 2**20  # of draws that are evaluated at a time
FEW_DRAWS = 50  # that take less time one operation after the other than it takes to make a function of the graph
# Of numbers that NumPy works through, some 100 million in a second:
PER_DRAW = 10_000  # in the time that a draw takes in any case
SOON_BY_NUMPY = 3 * 10**8  # in a few seconds, where compiling takes up to a minute
MOST_BY_NUMPY = 2**25  # of one draw: all of them are in memory at once
AT_ONCE = 2**21  # over the draws that it evaluates at a time
BY_NUMPY = "FAST_COMPILE"  # PyTensor's mode in which NumPy evaluates a graph: for what is evaluated once, or few times

_functions: OrderedDict[Any, Callable[..., list[np.ndarray]]] = OrderedDict()
_lock = threading.Lock()


@contextmanager
def exact_arithmetic() -> Iterator[None]:
    """Compile without reordering floating-point operations, at the cost of about a tenth of the speed.

    With PyTensor's fast-math flags, code that is compiled and code that is found in the cache round differently in the
    last bit, and the same seed gives other draws in the first run than in the second. Nor is it noted of each operation
    which lines of Python made it, which takes a fifth of the time of compiling.
    """
    import pytensor

    with pytensor.config.change_flags(numba__fastmath=False, traceback__limit=0):
        yield


def compile_once(
    inputs: Sequence[pt.TensorVariable], outputs: Sequence[pt.TensorVariable], *, by_numpy: bool = False
) -> Callable[..., list[np.ndarray]]:
    """Return a function from the inputs to the outputs, made of the one from before if there is one of the same graph.

    Parameters
    ----------
    inputs, outputs : sequence of TensorVariable
        Data of the graph, its shared variables, are inputs too: the function reads them whenever it is called.
    by_numpy : bool, default False
        Whether NumPy evaluates it, which takes little time to compile, and more to evaluate.

    Returns
    -------
    callable
        Threads may call it at once: it takes them one after another.
    """
    from pytensor import config

    inputs, outputs, data = read_data(*forget_sizes(inputs, outputs))
    compiled_by = (config.mode, config.linker, config.optimizer, config.numba__cache, by_numpy)
    with _lock:
        key = (name_graph(inputs, outputs), compiled_by)
        function = _functions.pop(key, None) or _compile(inputs, outputs, by_numpy=by_numpy)
        _functions[key] = function
        while len(_functions) > MAX_KEPT:
            _functions.popitem(last=False)
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
    """Return what is equal for two graphs of the same operations, numbers and types, and has a hash."""
    from bayesanno.ground.private.pytensor import FrozenFunctionGraph

    graph: Hashable = FrozenFunctionGraph.from_io(inputs, outputs)
    return graph


def compile_draws(
    drawn: Mapping[pt.TensorVariable, np.ndarray],
    given: Mapping[pt.TensorVariable, np.ndarray],
    outputs: Sequence[pt.TensorVariable],
) -> DrawsFunction:
    """Return a function of many draws: by NumPy where that takes seconds, and else compiled.

    Nothing is compiled for few draws, of which each operation is called in turn.

    Parameters
    ----------
    drawn : mapping of TensorVariable to array, shape (draw, ...)
        Its variables, with the values for which it is wanted: as many draws, of this size.
    given : mapping of TensorVariable to array
        Those that are the same for all draws.
    outputs : sequence of TensorVariable

    Returns
    -------
    callable
        (values of those drawn, values of those given) -> the outputs of one draw after the other.
    """
    inputs, n_draws = [*drawn, *given], len(next(iter(drawn.values())))
    first = [*(of[0] for of in drawn.values()), *given.values()]
    try:
        expected, n_numbers = evaluate_once(
            inputs, outputs, first, min(SOON_BY_NUMPY // n_draws - PER_DRAW, MOST_BY_NUMPY)
        )
    except Exception as error:  # of any kind: not all that Numba compiles can be done by NumPy
        logger.debug("not by NumPy: %s: %s", type(error).__name__, error)
        return _one_by_one(compile_once(inputs, outputs))
    if n_draws <= FEW_DRAWS:
        return _one_by_one(lambda *values: evaluate_once(inputs, outputs, values)[0])
    function = _of_many(drawn, given, outputs, expected)
    if function is not None:
        return _in_blocks(function, max(AT_ONCE // (PER_DRAW + n_numbers), 1))
    return _one_by_one(compile_once(inputs, outputs, by_numpy=True))


def _one_by_one(function: Callable[..., Sequence[np.ndarray]]) -> DrawsFunction:
    return lambda draws, rest: (function(*draw, *rest) for draw in zip(*draws, strict=True))


def _of_many(
    drawn: Mapping[pt.TensorVariable, np.ndarray],
    given: Mapping[pt.TensorVariable, np.ndarray],
    outputs: Sequence[pt.TensorVariable],
    expected: Sequence[np.ndarray],
) -> Callable[..., list[np.ndarray]] | None:
    """Return a function by NumPy of draws at once, if there is one that gives what is expected of the first draw.

    There is none where PyTensor cannot do an operation for many draws.
    """
    some = [of[:2] for of in drawn.values()]
    try:
        many, of_many = _vectorize(drawn, outputs)
        function = compile_once([*many, *given], of_many, by_numpy=True)
        found = function(*some, *given.values())
    except Exception as error:  # of any kind
        logger.debug("one draw at a time: %s: %s", type(error).__name__, error)
        return None
    if [np.shape(of) for of in found] != [(len(some[0]), *np.shape(of)) for of in expected]:
        return None
    same = (np.allclose(of[0], one, equal_nan=True) for of, one in zip(found, expected, strict=True))
    return function if all(same) else None


def _in_blocks(function: Callable[..., list[np.ndarray]], at_once: int) -> DrawsFunction:
    def evaluate(draws: Sequence[np.ndarray], rest: Sequence[np.ndarray]) -> Iterator[Sequence[np.ndarray]]:
        for begin in range(0, len(draws[0]), at_once):
            some = [of[begin : begin + at_once] for of in draws]
            yield from zip(*function(*some, *rest), strict=True)

    return evaluate


def evaluate_draws(
    outputs: Sequence[pt.TensorVariable], draws: Mapping[pt.TensorVariable, np.ndarray]
) -> list[np.ndarray]:
    """Return functions of variables at many values of these at once, by NumPy: nothing is compiled for one use.

    Parameters
    ----------
    outputs : sequence of TensorVariable
    draws : mapping of TensorVariable to array
        Of each variable that the outputs are functions of, its values: shape (draw, ...).

    Returns
    -------
    list of array, shape (draw, ...) each
    """
    if not outputs:
        return []
    function = compile_once(*_vectorize(draws, outputs), by_numpy=True)
    values = [each.astype(one.dtype, copy=False) for one, each in draws.items()]
    n_draws = len(values[0])
    n_chunks = min(n_draws, 1 + sum(each.nbytes for each in values) // CHUNK_BYTES)
    chunks = np.array_split(np.arange(n_draws), n_chunks)
    found = [function(*(each[chunk[0] : chunk[-1] + 1] for each in values)) for chunk in chunks]
    return [np.concatenate(parts) for parts in zip(*found, strict=True)]


def _vectorize(
    drawn: Iterable[pt.TensorVariable], outputs: Sequence[pt.TensorVariable]
) -> tuple[list[pt.TensorVariable], list[pt.TensorVariable]]:
    """Return variables for many draws of those drawn, and the outputs of these."""
    from pytensor.graph import vectorize_graph
    from pytensor.tensor import TensorType

    many = {one: TensorType(one.dtype, shape=(None, *one.type.shape))(name=one.name) for one in drawn}
    return list(many.values()), vectorize_graph(list(outputs), many)


class _TooMuchError(Exception):
    """A draw has more numbers than it may."""


def precompute_data(
    inputs: Sequence[pt.TensorVariable], outputs: Sequence[pt.TensorVariable]
) -> list[pt.TensorVariable]:
    """Return the outputs as functions of the inputs and of data, where what rests on data alone is computed.

    A sampler asks ten thousand times, and what does not depend on where it is is the same each time. What is computed
    stays what it is where a graph's data change afterwards.
    """
    import pytensor
    from pytensor.graph import Constant, clone_replace
    from pytensor.tensor import TensorType

    from bayesanno.ground.private.pytensor import Reshape, toposort

    nodes = list(toposort(outputs))
    moving = set(inputs)
    for node in nodes:
        if any(one in moving for one in node.inputs):
            moving.update(node.outputs)
    read = [*(one for node in nodes if node.outputs[0] in moving for one in node.inputs), *outputs]
    shapes = {node.inputs[1] for node in nodes if isinstance(node.op, Reshape)}  # their length is a number of axes
    equal = _find_equal(nodes)
    computed: dict[Any, Any] = {}  # of the first of those that are equal
    for one in dict.fromkeys(read):
        first = equal.get(one)
        if first is None or first in computed or one in moving or not isinstance(one.type, TensorType):
            continue
        if all(isinstance(of, Constant) for of in one.owner.inputs):
            continue
        try:
            ((value,), _) = evaluate_once([], [one], [])
        except Exception as error:  # of any kind: not all that Numba compiles can be done by NumPy
            logger.debug("not computed beforehand: %s: %s", type(error).__name__, error)
            continue
        shape = one.type.shape if one in shapes else tuple(1 if length == 1 else None for length in one.type.shape)
        computed[first] = pytensor.shared(np.asarray(value, dtype=one.type.dtype), name="computed", shape=shape)
    anew = {one: computed[equal[one]] for one in read if equal.get(one) in computed and one not in moving}
    return list(clone_replace(list(outputs), anew, rebuild_strict=False))


def _find_equal(nodes: Sequence[Any]) -> dict[Any, Any]:
    """Return, for the outputs of each node, those of the first node of the same operation on the same inputs."""
    from pytensor.graph import Constant

    first: dict[Hashable, Any] = {}
    equal: dict[Any, Any] = {}

    def name(one: Any) -> Hashable:
        found: Hashable = one.signature() if isinstance(one, Constant) else equal.get(one, one)
        return found

    for node in nodes:
        same = first.setdefault((node.op, *map(name, node.inputs)), node)
        equal |= zip(node.outputs, same.outputs, strict=True)
    return equal


def evaluate_once(
    inputs: Sequence[pt.TensorVariable],
    outputs: Sequence[pt.TensorVariable],
    values: Sequence[np.ndarray],
    most: float = math.inf,
) -> tuple[list[np.ndarray], int]:
    """Return the outputs by NumPy, one operation after the other, and how many numbers were made for them.

    Raises _TooMuchError where these are more than `most`, and whatever an operation raises that NumPy cannot do.
    """
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph import Constant, graph_inputs

    from bayesanno.ground.private.pytensor import io_toposort

    known = dict(zip(inputs, values, strict=True))
    n_numbers = 0  # of those given, an operation may read a few of many, as of the answers of items that are alike
    for one in graph_inputs(outputs, blockers=inputs):
        if isinstance(one, Constant):
            known[one] = one.data
        elif isinstance(one, SharedVariable):
            known[one] = one.get_value(borrow=True)
    for node in io_toposort(inputs, outputs):
        found: list[list[Any]] = [[None] for _ in node.outputs]
        node.op.perform(node, [known[one] for one in node.inputs], found)
        known |= {one: value for one, (value,) in zip(node.outputs, found, strict=True)}
        n_numbers += sum(np.size(value) for (value,) in found)
        if n_numbers > most:
            raise _TooMuchError(f"{n_numbers:,}")
    return [known[one] for one in outputs], n_numbers


def _compile(
    inputs: Sequence[pt.TensorVariable], outputs: Sequence[pt.TensorVariable], *, by_numpy: bool
) -> Callable[..., list[np.ndarray]]:
    import pytensor

    mode = BY_NUMPY if by_numpy else None
    with exact_arithmetic():
        function = pytensor.function(list(inputs), list(outputs), mode=mode, on_unused_input="ignore")
    one_at_a_time = threading.Lock()  # a function of PyTensor's holds its inputs and outputs while it runs
    is_compiled = by_numpy

    def call(*values: np.ndarray) -> list[np.ndarray]:
        nonlocal is_compiled
        with one_at_a_time:
            if is_compiled:
                found: list[np.ndarray] = function(*values)
                return found
            with _lock, exact_arithmetic():  # by Numba, when it sees what values are like
                found, is_compiled = function(*values), True
            return found

    return call
