"""The functions of a graph as nutpie calls them, kept on disk under a name of the graph.

nutpie calls a graph through two C functions: the log density with its gradient, and the values that are kept. Numba
can keep such functions on disk, as PyTensor has it do with its own, if nothing in them changes from run to run: here
they are made from source text, and data come in by pointer and shape. PyTensor's own name for the graph it has
rewritten, that text, the types of the data and the version of all that writes code are the name under which a function
is kept; Numba adds the CPU. Rewriting takes seconds, so beside the functions there is a note, under a name of the graph
as it was, of what it became.
"""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import batched
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.inference.graph import flat as of_flat
from bayesanno.inference.graph.flat import compile_flat
from bayesanno.modeling import ops
from bayesanno.modeling.graph_text import describe_graph

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pymc

    from bayesanno.inference.graph.flat import FlatGraph

logger = logging.getLogger(__name__)

WRITERS = ("bayesanno", "nutpie", "pymc", "pytensor", "numba", "llvmlite")  # whose code ends up in compiled functions
FLAGS = ("floatX", "optimizer", "optimizer_excluding", "optimizer_including", "numba__fastmath")  # of PyTensor

# within `try` Numba asks after each call whether it failed, and takes long over many of them
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
class Functions:
    """What is compiled of a graph without its sizes.

    Attributes
    ----------
    logp, kept : numba.core.ccallback.CFunc
        The log density with its gradient, and the values to keep.
    arrays : tuple of int
        Which arrays they take: of the shared variables in the order of `read_data`, and the layout after them.
    """

    logp: Any
    kept: Any
    arrays: tuple[int, ...]


def make_functions(
    graph: pymc.Model, flat: FlatGraph, inputs: Sequence[Any], outputs: Sequence[Any], shared: Sequence[Any]
) -> Functions:
    """Find the functions of a graph on disk, or compile them.

    Parameters
    ----------
    graph : pymc.Model
    flat : FlatGraph
        As `flatten` makes it.
    inputs, outputs, shared : sequence
        As `read_data` makes them of it.
    """
    from numba.core.errors import NumbaError
    from pytensor.link.numba.cache import CACHED_SRC_FUNCTIONS
    from pytensor.tensor.type import TensorType

    types = [*(variable.type for variable in shared), TensorType("int64", (None,))]  # and the layout
    note = _find_note(describe_graph(inputs, outputs), check_bounds=graph.check_bounds)
    known = None if note is None else _read_note(note)
    if known is not None:
        try:
            return _wrap(types, *known, inner=(None, None))
        except NumbaError:
            logger.debug("the code of %s is of another CPU, or gone", note)
    *functions, layout = compile_flat(graph, flat)
    every = [*shared, layout]
    takes = [[every.index(variable) for variable in function.get_shared()] for function in functions]
    called = [function.vm.jit_fn for function in functions]
    names = [CACHED_SRC_FUNCTIONS.get(function.py_func) for function in called]
    # what PyTensor makes for Python is a layer around these, which LLVM would optimise and turn into code once more
    inner = [function.py_func.__globals__.get("jitable_func", function) for function in called]
    made = _wrap(types, names, takes, inner)
    if note is not None and None not in names:
        _write_note(note, names, takes)
    return made


def _find_note(described: str | None, *, check_bounds: bool) -> Path | None:
    """Return the path of the note of a graph, or None where there is to be none."""
    from pytensor import config
    from pytensor.link.numba import cache as of_numba

    if described is None or not config.numba__cache:
        return None
    flags = [getattr(config, flag) for flag in FLAGS]
    rewriters = [Path(path).read_bytes() for path in (__file__, of_flat.__file__)]
    name = hashlib.sha256(repr((described, check_bounds, flags, rewriters, _writers())).encode()).hexdigest()
    folder: Path = of_numba.NUMBA_CACHE_PATH
    return folder / f"bayesanno-{name}.json"


def _read_note(note: Path) -> tuple[list[str], list[list[int]]] | None:
    """Return PyTensor's names for the two functions that a graph became, and which arrays they take, if known."""
    try:
        read = json.loads(note.read_bytes())
        return read["names"], read["takes"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        logger.debug("no note %s: %s", note, error)
        return None


def _write_note(note: Path, names: Sequence[str], takes: Sequence[Sequence[int]]) -> None:
    temporary = note.with_name(f"{note.name}.{token_hex(4)}")
    try:
        temporary.write_text(json.dumps({"names": names, "takes": takes}), encoding="utf-8")
        temporary.replace(note)
    except OSError as error:  # it would have saved seconds
        logger.debug("%s cannot be written: %s", note, error)


def _wrap(
    types: Sequence[Any], names: Sequence[str | None], takes: Sequence[Sequence[int]], inner: Sequence[Any]
) -> Functions:
    arrays = tuple(dict.fromkeys([*takes[0], *takes[1]]))
    return Functions(
        logp=_compile_callback(inner[0], names[0], LOGP, 1, types, arrays, takes[0]),
        kept=_compile_callback(inner[1], names[1], KEPT, 2, types, arrays, takes[1]),
        arrays=arrays,
    )


def _compile_callback(
    inner: Any,
    graph_name: str | None,
    template: str,
    n_sizes: int,
    of_all: Sequence[Any],
    arrays: tuple[int, ...],
    takes: Sequence[int],
) -> Any:
    """Compile a function of pointers around one of arrays; it is kept on disk where PyTensor keeps its own.

    Without the one of arrays it is found there, or a NumbaError is raised.
    """
    import numba
    from nutpie.compile_pymc import address_as_void_pointer
    from pytensor.link.numba.cache import compile_numba_function_src

    types = {which: of_all[which] for which in arrays}
    begins = dict(zip(arrays, np.cumsum([0, *(1 + of.ndim for of in types.values())]).tolist(), strict=False))
    views = [_view(begins[which], types[which].ndim, f"type{which}") for which in takes]
    n_numbers = max(1, sum(1 + of.ndim for of in types.values()))
    # Python's own code for a tuple of more than thirty is not among what Numba knows
    tuples = [f"({', '.join(part)},)" for part in batched(["x", *views], 20)]
    source = template.format(n_numbers=n_numbers, arguments=" + ".join(tuples))
    number_types = {f"type{which}": np.dtype(types[which].dtype).type for which in takes}
    names = {"carray": numba.carray, "int64": np.int64, "isfinite": np.isfinite}
    names |= {"__name__": __name__, "pointer": address_as_void_pointer} | number_types
    names |= {} if inner is None else {"inner": inner}
    doubles = [numba.types.CPointer(numba.types.double)] * (4 - n_sizes)
    signature = numba.types.int64(*[numba.types.uint64] * n_sizes, *doubles, numba.types.voidptr)
    key = None
    if graph_name is not None:  # PyTensor can name the graph
        described = (__name__, graph_name, source, sorted((name, str(of)) for name, of in number_types.items()), _writers())
        key = hashlib.sha256(repr(described).encode()).hexdigest()
    function = compile_numba_function_src(source, "wrapped", names, cache_key=key)
    return numba.cfunc(signature, cache=key is not None)(function)


def _view(begin: int, n_dims: int, of: str) -> str:
    """Return the source of an array, of whose pointer and shape the numbers in `data` begin at `begin`."""
    shape = "".join(f"data[{begin + 1 + axis}], " for axis in range(n_dims)) or "1,"
    array = f"carray(pointer(data[{begin}]), ({shape.strip()}), {of})"
    return array if n_dims else f"{array}.reshape(())"


@cache
def _writers() -> tuple[str, ...]:
    """Return the versions of all that writes code, and the text of our own operations."""
    (folder,) = ops.__path__
    own = b"".join(path.read_bytes() for path in sorted(Path(folder).glob("*.py")))
    return (*(f"{name} {version(name)}" for name in WRITERS), hashlib.sha256(own).hexdigest())
