"""The log density that samplers see, for data of any size.

The density is a function of points on the unconstrained scale. Within a process, graphs with the same operations and
scalar constants share their functions, since data and sizes are inputs (`bayesanno.graph.flat`). A graph
with an operation that has no loop here is compiled by nutpie, which takes longer.

The invariant: a point is one vector: the unconstrained values of the free variables, in the graph's order.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bayesanno._core.lazy import pm
from bayesanno._core.messages import FitError, name_error, option
from bayesanno.graph.compiler import CFunction
from bayesanno.graph.flat import flatten, lay_out
from bayesanno.graph.functions import BY_NUMPY, CFunctions, describe, keep, make_functions, plain_compiling
from bayesanno.graph.source import NotWrittenError

logger = logging.getLogger(__name__)

Parts = Mapping[str, tuple[slice, tuple[int, ...]]]


@dataclass(eq=False)
class Density:
    """The log density of a graph, with its gradient, and the transformation of points to the free variables.

    Parameters
    ----------
    functions : CFunctions
        The functions that nutpie calls without Python. The first returns log p of a point (dimension,) and its
        gradient, the second the values in `parts` as one vector.
    parts : mapping of name to slice and shape
        The place of each of the graph's values in this vector: first the sampled ones, which are the point, then the
        free variables that are sampled on another scale.
    names : sequence of str
        The free variables.
    start : array, shape (dimension,)
        The point with which the graph was compiled.

    Attributes
    ----------
    n_calls : int
        The number of gradients computed so far.
    """

    functions: CFunctions
    parts: Parts
    names: Sequence[str]
    start: np.ndarray
    n_calls: int = 0

    @property
    def n_dim(self) -> int:
        """The number of dimensions of a point."""
        return self.start.size

    def __call__(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Return log p of a point (dimension,), -inf without a density, and its gradient (dimension,)."""
        self.n_calls += 1
        found = self.functions.call_logp(np.ascontiguousarray(point, dtype=float))
        return found or (-np.inf, np.zeros(self.n_dim))

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
        n_kept = max(part.stop for part, _ in self.parts.values())
        kept = self.functions.call_kept(np.ascontiguousarray(point, dtype=float), n_kept)
        if kept is None:
            raise FitError(
                "the model's parameters cannot be computed at a sampled point (a transform fails there): try another "
                f"seed; {option('nuts_sampler', 'pymc')} shows where it fails"
            )
        return {name: kept[self.parts[name][0]].reshape(self.parts[name][1]) for name in self.names}


# ------------------------------------------------------------------------------------------ compiling


def compile_graph(graph: pm.Model, start: Mapping[str, np.ndarray]) -> Density:
    """Compile the log density of a graph.

    Parameters
    ----------
    graph : pymc.Model
    start : mapping of name to array
        Values of free variables, on their own scale: the density's start.
    """
    from bayesanno._core.private import compile_by_nutpie, draw_initial_point

    with plain_compiling():
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
            functions = CFunctions(*keep(flat.name, lambda: make_functions(flat)), arrays, describe(arrays))
        except Exception as why:  # of any kind: private parts of PyTensor may have changed
            logp, kept, read, pointers = compile_by_nutpie(graph, names)  # an error of the model itself is raised here
            functions = CFunctions(CFunction(logp.address, 5, logp), CFunction(kept.address, 5, kept), read, pointers)
            if isinstance(why, NotWrittenError):
                logger.info("compiled by nutpie, which takes longer: %s", why)
            else:
                logger.warning("compiled by nutpie: PyTensor or llvmlite is not as expected (%s)", name_error(why))
        return Density(functions, parts, names, point)


def shape_of(graph: pm.Model, name: str) -> tuple[int, ...]:
    """Return the shape of a variable of a graph, from its dimensions or by computing it."""
    dims = graph.named_vars_to_dims.get(name)
    if dims is not None and all(graph.coords.get(dim) is not None for dim in dims):
        return tuple(len(graph.coords[dim]) for dim in dims)
    return tuple(map(int, graph[name].shape.eval(mode=BY_NUMPY)))
