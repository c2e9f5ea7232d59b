"""A graph's density, compiled once per machine, for data of any size.

Within a process, graphs of the same operations and scalar constants share their functions, whatever their data and
their sizes, which are data here as well (`bayesanno.modeling.any_size`); between processes they are kept on disk.

Where PyTensor or Numba are not what is expected here, PyTensor's own functions do it, slowly.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.ground.errors import CacheWarning, warn
from bayesanno.inference.graph.c_functions import CFunctions, FlatGraph, compile_flat, flatten, lay_out, make_functions
from bayesanno.inference.graph.density import Density
from bayesanno.modeling.functions import BY_NUMPY, exact_arithmetic, name_graph, read_data

if TYPE_CHECKING:
    import pymc

    from bayesanno.modeling.base import AnnotationModel
    from bayesanno.modeling.data_kinds import Data

MAX_KEPT = 32  # designs whose functions a process keeps

_functions: OrderedDict[Any, CFunctions] = OrderedDict()
_lock = threading.Lock()


def compile_anew_if_broken[T](run: Callable[[], T]) -> T:
    """Return run(); where the cache of compiled code cannot be read or written, warn and run again without it."""
    import pytensor

    try:
        return run()
    except Exception as error:
        if not _is_of_cache(error):
            raise
        why = f"{type(error).__name__}: {error}"
    from bayesanno.ground.private.pytensor import find_cache_folder

    warn(
        f"the cache of compiled code in {find_cache_folder()} cannot be used ({why}): compiling takes a minute each "
        "time until that folder can be written, or is deleted where its files are broken",
        CacheWarning,
    )
    with pytensor.config.change_flags(numba__cache=False):
        return run()


def _is_of_cache(error: Exception) -> bool:
    try:
        from bayesanno.ground.private.numba import is_of_cache
    except ImportError:
        return False
    return is_of_cache(error)


def compile_model(model: AnnotationModel, data: Data, graph: pymc.Model) -> Density:
    """Compile the graph of a model, to begin where the model starts."""
    return compile_graph(graph, {name: np.asarray(value, dtype=float) for name, value in model.start(data).items()})


def compile_graph(graph: pymc.Model, start: Mapping[str, np.ndarray]) -> Density:
    """Compile the log density of a graph.

    Parameters
    ----------
    graph : pymc.Model
    start : mapping of name to array
        Values of free variables, on their own scale: the density's start.
    """
    from bayesanno.ground.private.pymc import draw_initial_point

    with exact_arithmetic():
        flat = flatten(graph)
        inputs, outputs, shared = read_data(flat.values, [flat.logp, *flat.kept.values()])
        at_start = draw_initial_point(graph, start)(0)
        sampled = {value.name: np.shape(at_start[value.name]) for value in flat.values}
        shapes = sampled | {name: _shape_of(graph, name) for name in flat.kept}
        ends = np.cumsum([0, *map(math.prod, shapes.values())]).tolist()
        parts = {name: (slice(*at), shape) for at, (name, shape) in zip(pairwise(ends), shapes.items(), strict=True)}
        names = [variable.name for variable in graph.free_RVs]
        point = np.concatenate([np.ravel(at_start[name]).astype(float) for name in sampled])
        layout = lay_out(sampled.values())
        try:
            structure = (name_graph(inputs, outputs), graph.check_bounds)
            with _lock:
                found = _functions.pop(structure, None) or make_functions(graph, flat, shared)
                _functions[structure] = found
                while len(_functions) > MAX_KEPT:
                    _functions.popitem(last=False)
            functions = found.with_data([*(variable.get_value() for variable in shared), layout])
            return Density(
                functions.call_logp, lambda z: functions.call_kept(z, ends[-1]), parts, names, point, functions
            )
        except Exception as error:  # the insides of PyTensor and Numba may have changed in any way
            if _is_of_cache(error):
                raise
            warn(
                f"this PyTensor or Numba is not the one that bayesanno was made for ({type(error).__name__}: {error}): "
                "the model is compiled by other means, and the fit is slower",
                CacheWarning,
            )
        return Density(*_compile_plainly(graph, flat, layout), parts, names, point)


def _compile_plainly(graph: pymc.Model, flat: FlatGraph, layout: np.ndarray) -> tuple[Any, Any]:
    """Return the log density with its gradient, and the values that are kept, as PyTensor compiles functions."""
    logp, kept, of_layout = compile_flat(graph, flat)
    of_layout.set_value(layout)

    def call_logp(point: np.ndarray) -> tuple[float, np.ndarray] | None:
        value, gradient = logp(point)
        return (float(value), gradient) if np.isfinite(value) and np.isfinite(gradient).all() else None

    return call_logp, lambda point: kept(point)[0]


def _shape_of(graph: pymc.Model, name: str) -> tuple[int, ...]:
    """Return the shape of a variable of a graph, by its dimensions or else by computing it."""
    dims = graph.named_vars_to_dims.get(name)
    if dims is not None and all(graph.coords.get(dim) is not None for dim in dims):
        return tuple(len(graph.coords[dim]) for dim in dims)
    return tuple(map(int, graph[name].shape.eval(mode=BY_NUMPY)))
