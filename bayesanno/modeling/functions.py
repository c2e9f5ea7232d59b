"""Formulas as functions: each is compiled once per process, for all data and draws that it is evaluated for.

What is kept is named by the graph itself, as PyTensor compares graphs: operations, constants and types, and by what
decides how they are compiled. A formula that differs in any of them is another one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from pytensor.tensor.variable import TensorVariable

MAX_KEPT = 32  # formulas whose functions a process keeps

_functions: OrderedDict[Any, Callable[..., list[np.ndarray]]] = OrderedDict()
_lock = threading.Lock()


def compile_once(
    inputs: Sequence[TensorVariable], outputs: Sequence[TensorVariable]
) -> Callable[..., list[np.ndarray]]:
    """Return a function from the inputs to the outputs, the one from before if there is one of the same graph.

    The graph may have no shared variables. Threads may call the function at once: it takes them one after another.
    """
    from pytensor import config
    from pytensor.graph.fg import FrozenFunctionGraph

    compiled_by = (config.mode, config.linker, config.optimizer, config.numba__fastmath, config.numba__cache)
    with _lock:
        key = (FrozenFunctionGraph.from_io(inputs, outputs), compiled_by)
        function = _functions.pop(key, None) or _compile(inputs, outputs)
        _functions[key] = function
        while len(_functions) > MAX_KEPT:
            _functions.popitem(last=False)
    return function


def _compile(
    inputs: Sequence[TensorVariable], outputs: Sequence[TensorVariable]
) -> Callable[..., list[np.ndarray]]:
    import pytensor

    function = pytensor.function(list(inputs), list(outputs), on_unused_input="ignore")
    one_at_a_time = threading.Lock()  # a function of PyTensor's holds its inputs and outputs while it runs

    def call(*values: np.ndarray) -> list[np.ndarray]:
        with one_at_a_time:
            found: list[np.ndarray] = function(*values)
        return found

    return call
