"""Formulas as functions: each is compiled once per process, for all data and draws that it is evaluated for.

What is kept is named by the graph itself without its sizes, as PyTensor compares graphs: operations, numbers and types,
and by what decides how they are compiled. A formula that differs in any of them is another one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from bayesanno.modeling.any_size import forget_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    import numpy as np
    from pytensor.tensor.variable import TensorVariable

MAX_KEPT = 64  # formulas whose functions a process keeps
CHUNK_BYTES = 64 * 2**20  # of draws that are evaluated at a time
BY_NUMPY = "FAST_COMPILE"  # PyTensor's mode in which NumPy evaluates a graph: for what is evaluated once, or few times

_functions: OrderedDict[Any, Callable[..., list[np.ndarray]]] = OrderedDict()
_lock = threading.Lock()


def compile_once(
    inputs: Sequence[TensorVariable], outputs: Sequence[TensorVariable], *, by_numpy: bool = False
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
    compiled_by = (config.mode, config.linker, config.optimizer, config.numba__fastmath, config.numba__cache, by_numpy)
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
    inputs: Sequence[TensorVariable], outputs: Sequence[TensorVariable]
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the inputs and those for the graph's data, the outputs as functions of them, and the shared variables."""
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph.replace import clone_replace
    from pytensor.graph.traversal import graph_inputs

    data = [variable for variable in graph_inputs(outputs) if isinstance(variable, SharedVariable)]
    read = {variable: variable.type(name=variable.name) for variable in data}
    return [*inputs, *read.values()], clone_replace(list(outputs), read), data


def name_graph(inputs: Sequence[TensorVariable], outputs: Sequence[TensorVariable]) -> Hashable:
    """Return what is equal for two graphs of the same operations, numbers and types, and has a hash."""
    from pytensor.graph.fg import FrozenFunctionGraph

    graph: Hashable = FrozenFunctionGraph.from_io(inputs, outputs)
    return graph


def evaluate_draws(outputs: Sequence[TensorVariable], draws: Mapping[TensorVariable, np.ndarray]) -> list[np.ndarray]:
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
    import numpy as np
    from pytensor.graph.replace import vectorize_graph
    from pytensor.tensor import TensorType

    if not outputs:
        return []
    many = {one: TensorType(one.dtype, shape=(None, *one.type.shape))(name=one.name) for one in draws}
    function = compile_once(list(many.values()), vectorize_graph(list(outputs), many), by_numpy=True)
    values = [each.astype(one.dtype, copy=False) for one, each in draws.items()]
    n_draws = len(values[0])
    n_chunks = min(n_draws, 1 + sum(each.nbytes for each in values) // CHUNK_BYTES)
    chunks = np.array_split(np.arange(n_draws), n_chunks)
    found = [function(*(each[chunk[0] : chunk[-1] + 1] for each in values)) for chunk in chunks]
    return [np.concatenate(parts) for parts in zip(*found, strict=True)]


def _compile(
    inputs: Sequence[TensorVariable], outputs: Sequence[TensorVariable], *, by_numpy: bool
) -> Callable[..., list[np.ndarray]]:
    import pytensor

    mode = BY_NUMPY if by_numpy else None
    function = pytensor.function(list(inputs), list(outputs), mode=mode, on_unused_input="ignore")
    one_at_a_time = threading.Lock()  # a function of PyTensor's holds its inputs and outputs while it runs

    def call(*values: np.ndarray) -> list[np.ndarray]:
        with one_at_a_time:
            found: list[np.ndarray] = function(*values)
        return found

    return call
