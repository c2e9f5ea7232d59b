"""A graph as nutpie samples it, compiled once per machine, for data of any size.

nutpie calls a graph through two C functions: the log density with its gradient, and the values that are kept. Numba
can keep such functions on disk, as PyTensor has it do with its own, if nothing in them changes from run to run: here
they are made from source text, and data come in by pointer and shape. PyTensor's own name for the graph, that text, the
types of the data and the version of all that writes code are the name under which a function is kept; Numba adds the
CPU. Within a process, graphs of the same operations and scalar constants share their functions, whatever their data and
their sizes, which are data here as well (`bayesanno.modeling.any_size`).

Where nutpie, PyTensor or Numba are not what is expected here, `nutpie.compile_pymc_model` does it, slowly.
"""

from __future__ import annotations

import hashlib
import logging
import math
import threading
import traceback
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import batched, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.ground.errors import CacheWarning, warn
from bayesanno.inference.flat import compile_flat, flatten, lay_out, shape_of
from bayesanno.modeling import ops
from bayesanno.modeling.functions import exact_arithmetic, name_graph, read_data

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pymc

    from bayesanno.inference.flat import FlatGraph

logger = logging.getLogger(__name__)

MAX_KEPT = 32  # designs whose functions a process keeps
WRITERS = ("bayesanno", "nutpie", "pymc", "pytensor", "numba", "llvmlite")  # whose code ends up in compiled functions

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


def compile_anew_if_broken[T](run: Callable[[], T]) -> T:
    """Return run(); where the cache of compiled code cannot be read or written, warn and run again without it."""
    import pytensor
    from pytensor.link.numba.cache import NUMBA_CACHE_PATH

    try:
        return run()
    except Exception as error:
        if not _is_of_cache(error):
            raise
        why = f"{type(error).__name__}: {error}"
    warn(
        f"the cache of compiled code in {NUMBA_CACHE_PATH} cannot be used ({why}): compiling takes a minute each time "
        "until that folder can be written, or is deleted where its files are broken",
        CacheWarning,
    )
    with pytensor.config.change_flags(numba__cache=False):
        return run()


def _is_of_cache(error: Exception) -> bool:
    from numba.core import caching

    return any(frame.filename == caching.__file__ for frame in traceback.extract_tb(error.__traceback__))


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


_functions: OrderedDict[Any, Functions] = OrderedDict()
_lock = threading.Lock()


def compile_graph(graph: pymc.Model, start: Mapping[str, np.ndarray]) -> Any:
    """Compile a graph for nutpie, to keep draws of its free variables.

    Parameters
    ----------
    graph : pymc.Model
    start : mapping of name to array
        Values of free variables, on their own scale, where chains start unless its `initial_point_func` is replaced.

    Returns
    -------
    nutpie.compile_pymc.CompiledPyMCModel
    """
    import nutpie

    with exact_arithmetic():
        try:
            return _compile_cached(graph, start)
        except Exception as error:  # nutpie's insides may have changed in any way
            if _is_of_cache(error):
                raise
            logger.warning("compiling without bayesanno's cache: %s: %s", type(error).__name__, error)
        free = [variable.name for variable in graph.free_RVs]
        return nutpie.compile_pymc_model(graph, initial_points=dict(start), jitter_rvs=set(), var_names=free)


def flat_start(compiled: Any) -> np.ndarray:
    """Return where the chains of a compiled graph start, on the unconstrained scale: shape (dimension,)."""
    point: np.ndarray = compiled.initial_point_func(0)
    return point


def _compile_cached(graph: pymc.Model, start: Mapping[str, np.ndarray]) -> Any:
    from nutpie.compile_pymc import CompiledPyMCModel, _prepare_dims_and_coords, _rv_dict_to_flat_array_wrapper
    from nutpie.compile_pymc import _wrap_with_lock as one_at_a_time
    from pymc.initial_point import make_initial_point_fn

    flat = flatten(graph)
    inputs, outputs, shared = read_data(flat.values, [flat.logp, *flat.kept.values()])
    structure = name_graph(inputs, outputs)
    with _lock:
        functions = _functions.pop(structure, None) or _make_functions(graph, flat, shared)
        _functions[structure] = functions
        while len(_functions) > MAX_KEPT:
            _functions.popitem(last=False)

    start_point = one_at_a_time(make_initial_point_fn(model=graph, overrides=dict(start)))
    at_start = start_point(0)
    sampled = {value.name: tuple(np.shape(at_start[value.name])) for value in flat.values}
    shapes = sampled | {name: shape_of(graph, name) for name in flat.kept}
    ends = np.cumsum([0, *(math.prod(shape) for shape in shapes.values())]).tolist()
    parts = (list(shapes), [slice(*ends) for ends in pairwise(ends)], list(shapes.values()))
    transformed = [value.name for value in flat.values if value.name not in graph.named_vars]
    every = [*(variable.get_value() for variable in shared), lay_out(sampled.values())]
    arrays = [np.array(every[which], order="C", copy=True) for which in functions.arrays]
    numbers = [number for array in arrays for number in (array.ctypes.data, *array.shape)]
    dims, coords = _prepare_dims_and_coords(graph, parts, transformed)
    return CompiledPyMCModel(
        _n_dim=ends[len(sampled)],
        dims=dims,
        _coords=coords,
        _shapes=shapes,
        compiled_logp_func=functions.logp,
        compiled_expand_func=functions.kept,
        initial_point_func=_rv_dict_to_flat_array_wrapper(
            start_point, names=list(sampled), shapes=list(sampled.values())
        ),
        shared_data={str(which): array for which, array in enumerate(arrays)},
        shared_var_keys={},
        user_data=np.array(numbers, dtype=np.int64),
        n_expanded=ends[-1],
        shape_info=parts,
        logp_func=None,
        expand_func=None,
        reparameterized_names=transformed,
    )


def _make_functions(graph: pymc.Model, flat: FlatGraph, shared: Sequence[Any]) -> Functions:
    logp, kept, layout = compile_flat(graph, flat)
    every = [*shared, layout]
    takes = [[every.index(variable) for variable in function.get_shared()] for function in (logp, kept)]
    arrays = tuple(dict.fromkeys([*takes[0], *takes[1]]))
    return Functions(
        logp=_compile_callback(logp.vm.jit_fn, LOGP, 1, every, arrays, takes[0]),
        kept=_compile_callback(kept.vm.jit_fn, KEPT, 2, every, arrays, takes[1]),
        arrays=arrays,
    )


def _compile_callback(
    inner: Any, template: str, n_sizes: int, shared: Sequence[Any], arrays: tuple[int, ...], takes: Sequence[int]
) -> Any:
    """Compile a function of pointers around one of arrays; it is kept on disk where PyTensor keeps its own."""
    import numba
    from nutpie.compile_pymc import address_as_void_pointer
    from pytensor.link.numba.cache import CACHED_SRC_FUNCTIONS, compile_numba_function_src

    types = {which: shared[which].type for which in arrays}
    begins = dict(zip(arrays, np.cumsum([0, *(1 + of.ndim for of in types.values())]).tolist(), strict=False))
    views = [_view(begins[which], types[which].ndim, f"type{which}") for which in takes]
    n_numbers = max(1, sum(1 + of.ndim for of in types.values()))
    # Python's own code for a tuple of more than thirty is not among what Numba knows
    tuples = [f"({', '.join(part)},)" for part in batched(["x", *views], 20)]
    source = template.format(n_numbers=n_numbers, arguments=" + ".join(tuples))
    number_types = {f"type{which}": np.dtype(types[which].dtype).type for which in takes}
    names = {"carray": numba.carray, "int64": np.int64, "isfinite": np.isfinite}
    names |= {"__name__": __name__, "pointer": address_as_void_pointer} | number_types
    doubles = [numba.types.CPointer(numba.types.double)] * (4 - n_sizes)
    signature = numba.types.int64(*[numba.types.uint64] * n_sizes, *doubles, numba.types.voidptr)
    graph_key = CACHED_SRC_FUNCTIONS.get(inner.py_func)
    # what PyTensor makes for Python is a layer around that, which LLVM would optimise and turn into code once more
    names["inner"] = inner.py_func.__globals__.get("jitable_func", inner)
    key = None
    if graph_key is not None:  # PyTensor can name the graph
        described = (graph_key, source, sorted((name, str(of)) for name, of in number_types.items()), _writers())
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
