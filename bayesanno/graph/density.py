"""The log density that samplers see, and draws of a graph's variables, for data of any size.

The density is a function of points on the unconstrained scale, compiled once per machine. Within a process, graphs with
the same operations and scalar constants share their functions, since data and sizes are inputs
(`bayesanno.graph.symbolic_shapes`). Between processes, functions are kept on disk. If PyTensor or Numba differ from
what is expected here, PyTensor's own functions are used, which are slow.

The invariant: a point is one vector: the unconstrained values of the free variables, in the graph's order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from bayesanno._core.errors import CacheWarning, FitError, warn
from bayesanno._core.lazy import import_when_called, pm
from bayesanno._core.wording import name_error, option
from bayesanno.graph.c_functions import CFunctions, FlatGraph, differentiate, flatten, lay_out, make_functions
from bayesanno.graph.functions import BY_NUMPY, compile_once, exact_arithmetic, keep

remove_value_transforms = import_when_called("bayesanno._core.private.pymc:remove_value_transforms")

Parts = Mapping[str, tuple[slice, tuple[int, ...]]]


@dataclass(eq=False)
class Density:
    """The log density of a graph, with its gradient, and the transformation of points to the free variables.

    Parameters
    ----------
    logp : callable
        A function of a point (dimension,) that returns log p and its gradient, or None without a density.
    kept : callable
        A function of a point that returns the values in `parts` as one vector, or None if they cannot be computed.
    parts : mapping of name to slice and shape
        The place of each of the graph's values in this vector: first the sampled ones, which are the point, then the
        free variables that are sampled on another scale.
    names : sequence of str
        The free variables.
    start : array, shape (dimension,)
        The point with which the graph was compiled.
    functions : CFunctions, optional
        If both are C functions: those that nutpie calls without Python.

    Attributes
    ----------
    n_calls : int
        The number of gradients computed so far.
    """

    logp: Callable[[np.ndarray], tuple[float, np.ndarray] | None]
    kept: Callable[[np.ndarray], np.ndarray | None]
    parts: Parts
    names: Sequence[str]
    start: np.ndarray
    functions: CFunctions | None = None
    n_calls: int = 0

    @property
    def n_dim(self) -> int:
        """The number of dimensions of a point."""
        return self.start.size

    def __call__(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Return log p of a point (dimension,), -inf without a density, and its gradient (dimension,)."""
        self.n_calls += 1
        return self.logp(np.ascontiguousarray(point, dtype=float)) or (-np.inf, np.zeros(self.n_dim))

    def log_at(self, points: np.ndarray) -> np.ndarray:
        """Return log p of each point (point, dimension): shape (point,)."""
        return np.array([self(point)[0] for point in points])

    def values_at(self, point: np.ndarray) -> dict[str, np.ndarray]:
        """Return the free variables, each on its own scale, at a point (dimension,).

        Raises
        ------
        FitError
            If they cannot be computed there.
        """
        kept = self.kept(np.ascontiguousarray(point, dtype=float))
        if kept is None:
            raise FitError(
                "the model's parameters cannot be computed at a sampled point (a transform fails there): try another "
                f"seed; {option('nuts_sampler', 'pymc')} shows where it fails"
            )
        return {name: kept[self.parts[name][0]].reshape(self.parts[name][1]) for name in self.names}


# ------------------------------------------------------------------------------------------ compiling


def retry_without_cache[T](run: Callable[[], T]) -> T:
    """Return run(); if the cache of compiled code cannot be read or written, warn and run again without it."""
    import pytensor

    try:
        return run()
    except Exception as error:
        if not _is_of_cache(error):
            raise
        why = name_error(error)
    from bayesanno._core.private.pytensor import find_cache_folder

    warn(
        f"the cache of compiled code in {find_cache_folder()} cannot be used ({why}), so that compiling takes a minute "
        "each time: make the folder writable, or delete it if its files are broken",
        CacheWarning,
    )
    with pytensor.config.change_flags(numba__cache=False):
        return run()


def _is_of_cache(error: Exception) -> bool:
    try:
        from bayesanno._core.private.numba import is_of_cache
    except ImportError:
        return False
    return is_of_cache(error)


def compile_graph(graph: pm.Model, start: Mapping[str, np.ndarray]) -> Density:
    """Compile the log density of a graph.

    Parameters
    ----------
    graph : pymc.Model
    start : mapping of name to array
        Values of free variables, on their own scale: the density's start.
    """
    from bayesanno._core.private.pymc import draw_initial_point

    with exact_arithmetic():
        flat = flatten(graph)
        at_start = draw_initial_point(graph, start)(0)
        sampled = {value.name: np.shape(at_start[value.name]) for value in flat.values}
        shapes = sampled | {name: shape_of(graph, name) for name in flat.kept}
        ends = np.cumsum([0, *map(math.prod, shapes.values())]).tolist()
        parts = {name: (slice(*at), shape) for at, (name, shape) in zip(pairwise(ends), shapes.items(), strict=True)}
        names = [variable.name for variable in graph.free_RVs]
        point = np.concatenate([np.ravel(at_start[name]).astype(float) for name in sampled])
        arrays = (lay_out(sampled.values()), *flat.arrays)
        try:
            functions = CFunctions(*keep(flat.name, lambda: make_functions(flat)), arrays)
            kept = partial(functions.call_kept, n_kept=ends[-1])
            return Density(functions.call_logp, kept, parts, names, point, functions)
        except Exception as error:  # private parts of PyTensor and Numba may have changed in any way
            if _is_of_cache(error):
                raise
            why = name_error(error)
        density = Density(*_compile_plainly(flat, list(sampled.values())), parts, names, point)
        density.values_at(point)  # an error of the model itself is raised here, before the warning about libraries
        density(point)
        warn(
            f"this version of PyTensor or Numba differs from the one that bayesanno expects ({why}): the model is "
            "compiled in another way, and the fit is slower",
            CacheWarning,
        )
        return density


def _compile_plainly(flat: FlatGraph, shapes: Sequence[tuple[int, ...]]) -> tuple[Any, Any]:
    """Return the log density with its gradient, and the kept values, as functions compiled by PyTensor."""
    of_logp, of_kept = (compile_once([*flat.values, *flat.data], each) for each in differentiate(flat))
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]

    def cut(point: np.ndarray) -> list[np.ndarray]:
        return [part.reshape(shape) for part, shape in zip(np.split(point, ends), shapes, strict=True)] + flat.arrays

    def call_logp(point: np.ndarray) -> tuple[float, np.ndarray] | None:
        value, *slopes = of_logp(*cut(point))
        gradient = np.concatenate([np.ravel(slope) for slope in slopes])
        return (float(value), gradient) if np.isfinite(value) and np.isfinite(gradient).all() else None

    return call_logp, lambda point: np.concatenate([point, *(np.ravel(each) for each in of_kept(*cut(point)))])


def shape_of(graph: pm.Model, name: str) -> tuple[int, ...]:
    """Return the shape of a variable of a graph, from its dimensions or by computing it."""
    dims = graph.named_vars_to_dims.get(name)
    if dims is not None and all(graph.coords.get(dim) is not None for dim in dims):
        return tuple(len(graph.coords[dim]) for dim in dims)
    return tuple(map(int, graph[name].shape.eval(mode=BY_NUMPY)))
