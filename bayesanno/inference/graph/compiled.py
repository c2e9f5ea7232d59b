"""A graph as nutpie samples it, compiled once per machine, for data of any size.

Within a process, graphs of the same operations and scalar constants share their functions, whatever their data and
their sizes, which are data here as well (`bayesanno.modeling.any_size`); between processes, `callbacks` keeps them.

Where nutpie, PyTensor or Numba are not what is expected here, `nutpie.compile_pymc_model` does it, slowly.
"""

from __future__ import annotations

import logging
import math
import threading
import traceback
from collections import OrderedDict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.ground.errors import CacheWarning, warn
from bayesanno.inference.graph.c_functions import make_functions
from bayesanno.inference.graph.flat import flatten, lay_out, shape_of
from bayesanno.modeling.functions import exact_arithmetic, name_graph, read_data

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pymc

    from bayesanno.inference.graph.c_functions import Functions

logger = logging.getLogger(__name__)

MAX_KEPT = 32  # designs whose functions a process keeps


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
    structure = (name_graph(inputs, outputs), graph.check_bounds)
    with _lock:
        functions = _functions.pop(structure, None) or make_functions(graph, flat, inputs, outputs, shared)
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
