"""A graph as text that is the same in every process, whatever variables are called: its code on disk is named by it.

Text that leaves something out would give a graph the code of another one. So it tells operations by what PyTensor
compares them by, of packages alone whose versions are known, and there is none of a graph that has anything else.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytensor.graph.basic import Variable

logger = logging.getLogger(__name__)

PACKAGES = ("bayesanno", "pymc", "pytensor")
SHOWN_BY_TYPES = {"name", "output_types_preference", "bool", "o_type", "ctor"}  # what operations on numbers may hold


class _UntoldError(Exception):
    """Something has no text of its own."""


def describe_graph(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> str | None:
    """Return text that two graphs share if they are of the same operations, constants and types, and else do not.

    Parameters
    ----------
    inputs, outputs : sequence of Variable
        Of the graph; nothing else may be read but constants.

    Returns
    -------
    str or None
        None where there is an operation that PyTensor does not compare by its properties, or one of another package.
    """
    try:
        return "\n".join(_list_lines(inputs, outputs))
    except _UntoldError as error:
        logger.debug("a graph without text: %s", error)
        return None


def _list_lines(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Iterator[str]:
    from pytensor.graph.traversal import io_toposort

    names = {one: f"input {number}" for number, one in enumerate(inputs)}
    for one, name in names.items():
        yield f"{name}: {_tell(one.type)}"
    for number, node in enumerate(io_toposort(inputs, outputs)):
        read = ", ".join(names.get(one) or _tell_constant(one) for one in node.inputs)
        yield f"{number}: {_tell(node.op)} of {read} is {[_tell(one.type) for one in node.outputs]}"
        names |= {one: f"{number}[{which}]" for which, one in enumerate(node.outputs)}
    yield ", ".join(names.get(one) or _tell_constant(one) for one in outputs)


def _tell_constant(one: Variable) -> str:
    from pytensor.graph.basic import Constant

    if not isinstance(one, Constant):
        raise _UntoldError(f"{one} is neither an input nor computed")
    if not isinstance(one.data, np.ndarray | np.generic) or one.data.dtype.hasobject:
        return _tell(one.data)
    value = np.asarray(one.data)
    return f"{_tell(one.type)} {value.dtype.str} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"


def _tell(of: Any) -> str:
    from pytensor.graph.op import HasMultipleInnerGraph, Op
    from pytensor.scalar.basic import ScalarOp, ScalarType
    from pytensor.tensor.type import TensorType

    if of is None or type(of) in (bool, int, float, str):
        return repr(of)
    if type(of) in (tuple, list):
        return f"({', '.join(map(_tell, of))})"
    if type(of) is slice:
        return f"slice({_tell(of.start)}, {_tell(of.stop)}, {_tell(of.step)})"
    if type(of) is TensorType:
        return f"tensor({of.dtype}, {_tell(of.shape)})"
    if type(of) is ScalarType:
        return f"scalar({of.dtype})"
    if isinstance(of, Mapping):
        return f"{{{', '.join(sorted(f'{_tell(key)}: {_tell(value)}' for key, value in of.items()))}}}"
    if isinstance(of, type) and of.__module__.partition(".")[0] in (*PACKAGES, "builtins"):
        return f"{of.__module__}.{of.__qualname__}"
    if isinstance(of, Op) and not isinstance(of, HasMultipleInnerGraph):
        properties = getattr(of, "__props__", None)
        if properties is not None:
            return f"{_tell(type(of))}({', '.join(f'{name}={_tell(getattr(of, name))}' for name in properties)})"
        if isinstance(of, ScalarOp) and vars(of).keys() <= SHOWN_BY_TYPES:
            return _tell(type(of))
    raise _UntoldError(f"{type(of).__module__}.{type(of).__qualname__}")
