"""The log density that samplers see, as a function of points on the unconstrained scale, for data of any size.

It is compiled once per machine. Within a process, graphs of the same operations and scalar constants share their
functions, for all data and sizes, which are data here as well (`bayesanno.modeling.any_size`); between
processes they are kept on disk. Where PyTensor or Numba are not what is expected here, PyTensor's own functions do it,
slowly.

The invariant: a point is one vector, the free variables' unconstrained values one after the other, in the graph's
order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from bayesanno.ground.errors import CacheWarning, FitError, warn
from bayesanno.ground.lazy import pm
from bayesanno.ground.wording import name_error
from bayesanno.inference.graph.c_functions import CFunctions, FlatGraph, differentiate, flatten, lay_out, make_functions
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.capabilities import HasSpreads
from bayesanno.modeling.class_prior import start_of
from bayesanno.modeling.data_kinds import Data
from bayesanno.modeling.functions import BY_NUMPY, compile_once, exact_arithmetic, keep

Parts = Mapping[str, tuple[slice, tuple[int, ...]]]


@dataclass(eq=False)
class Density:
    """The log density of a graph, with its gradient, and the way from a point to the free variables.

    Parameters
    ----------
    logp : callable
        From a point (dimension,) to log p and its gradient; None where there is no density.
    kept : callable
        From a point to the values that `parts` names, in one vector; None where that cannot be computed.
    parts : mapping of name to slice and shape
        Which numbers each of the graph's values has in the vector of what is kept: first those that are sampled, which
        are the point, then the free variables that are sampled on another scale.
    names : sequence of str
        The free variables.
    start : array, shape (dimension,)
        The point that the graph was compiled with.
    functions : CFunctions, optional
        Where both are functions of C, what nutpie calls without Python.

    Attributes
    ----------
    n_calls : int
        How many gradients were computed so far.
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
        """How many numbers a point has."""
        return self.start.size

    def __call__(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Return log p of a point (dimension,), -inf where it is none, and its gradient (dimension,)."""
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
                "the model's parameters cannot be computed at a point that was sampled (a transform stops with "
                "an error there): another seed may do, and nuts_sampler='pymc' says where"
            )
        return {name: kept[self.parts[name][0]].reshape(self.parts[name][1]) for name in self.names}


def spreads_of(density: Density, model: Any, graph: pm.Model) -> np.ndarray:
    """Return which numbers (dimension,) are spreads of a model's parameters."""
    found = np.zeros(density.n_dim, dtype=bool)
    for name in model.spreads() if isinstance(model, HasSpreads) else ():
        found[density.parts[graph.rvs_to_values[graph[name]].name][0]] = True
    return found


# ------------------------------------------------------------------------------------------ compiling


def retry_without_cache[T](run: Callable[[], T]) -> T:
    """Return run(); where the cache of compiled code cannot be read or written, warn and run again without it."""
    import pytensor

    try:
        return run()
    except Exception as error:
        if not _is_of_cache(error):
            raise
        why = name_error(error)
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


def compile_model(model: AnnotationModel, data: Data, graph: pm.Model) -> Density:
    """Compile the graph of a model, to begin where the model starts."""
    return compile_graph(graph, {name: np.asarray(value, dtype=float) for name, value in start_of(model, data).items()})


def compile_graph(graph: pm.Model, start: Mapping[str, np.ndarray]) -> Density:
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
        except Exception as error:  # the insides of PyTensor and Numba may have changed in any way
            if _is_of_cache(error):
                raise
            why = name_error(error)
        density = Density(*_compile_plainly(flat, arrays), parts, names, point)
        density.values_at(point)  # what is wrong with the model itself is an error here, and no matter of libraries
        density(point)
        warn(
            f"this PyTensor or Numba is not the one that bayesanno was made for ({why}): the model is compiled by "
            "other means, and the fit is slower",
            CacheWarning,
        )
        return density


def _compile_plainly(flat: FlatGraph, arrays: Sequence[np.ndarray]) -> tuple[Any, Any]:
    """Return the log density with its gradient, and the values that are kept, as PyTensor compiles functions."""
    inputs, *outputs = differentiate(flat)
    logp, kept = (compile_once(inputs, each) for each in outputs)

    def call_logp(point: np.ndarray) -> tuple[float, np.ndarray] | None:
        value, gradient = logp(point, *arrays)
        return (float(value), gradient) if np.isfinite(value) and np.isfinite(gradient).all() else None

    return call_logp, lambda point: kept(point, *arrays)[0]


def shape_of(graph: pm.Model, name: str) -> tuple[int, ...]:
    """Return the shape of a variable of a graph, by its dimensions or else by computing it."""
    dims = graph.named_vars_to_dims.get(name)
    if dims is not None and all(graph.coords.get(dim) is not None for dim in dims):
        return tuple(len(graph.coords[dim]) for dim in dims)
    return tuple(map(int, graph[name].shape.eval(mode=BY_NUMPY)))
