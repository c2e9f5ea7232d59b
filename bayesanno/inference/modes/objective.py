"""What `find_modes` maximises: a likelihood or a posterior density, over simplexes and half-lines.

Of the posterior it is the density of the parameters themselves: no Jacobian, as samplers add for the scale on which
they move. Of the likelihood it is the observed variable alone, controls included.

The invariant: the function is never asked for its value at a coordinate of exactly 0, where a logarithm has no slope,
but at FLOOR. An item that only this coordinate explains makes the value low there, and the slope steep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import pm
from bayesanno.ground.wording import name_elements

Target = Literal["ml", "map"]
FLOOR = 1e-15  # what a coordinate at 0 is taken for: 1 less this is not yet 1
KINDS = {  # by the name of the transform, PyMC's or ours, of the scale on which a variable is sampled
    "logodds": "share",
    "probit": "share",
    "simplex": "simplex",
    "ascending": "ascending",
    "log": "positive",
}


@dataclass(frozen=True)
class Objective:
    """A function over simplexes and half-lines, their coordinates one after the other in one vector.

    Parameters
    ----------
    function : callable
        From a point to a value and its gradient, each coordinate taken for itself.
    sizes : tuple of int
        How many coordinates each simplex has; one of 1 is no simplex but a number from 0 up. A number between 0 and 1
        is a simplex of 2: itself and what it leaves.
    """

    function: Callable[[np.ndarray], tuple[float, np.ndarray]]
    sizes: tuple[int, ...]

    def __call__(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient at a point; -inf where either is none."""
        value, gradient = self.function(self.move_inside(z))
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return -np.inf, np.zeros_like(z)
        return float(value), gradient

    @cached_property
    def first(self) -> np.ndarray:
        """The first coordinate of each simplex, shape (simplex,)."""
        return np.cumsum([0, *self.sizes[:-1]])

    @cached_property
    def owner(self) -> np.ndarray:
        """Which simplex a coordinate is of, shape (coordinate,)."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def half(self) -> np.ndarray:
        """Whether a coordinate is a half-line, shape (coordinate,)."""
        return np.asarray(np.array(self.sizes)[self.owner] == 1)

    @property
    def middle(self) -> np.ndarray:
        """The middle of all simplexes, and 1 on half-lines."""
        return self.normalise(np.ones(self.owner.size))

    def total(self, x: np.ndarray) -> np.ndarray:
        """Return the sum over a coordinate's simplex, for each coordinate."""
        return np.add.reduceat(x, self.first)[self.owner]

    def normalise(self, z: np.ndarray) -> np.ndarray:
        """Bring points back to the simplexes."""
        return z / np.where(self.half, 1.0, self.total(z))

    def move_inside(self, z: np.ndarray, least: float = FLOOR) -> np.ndarray:
        """Return the point that stands for one that is nearer to the boundary."""
        return self.normalise(np.maximum(z, least))

    def pivots(self, z: np.ndarray) -> np.ndarray:
        """Return the greatest coordinate of a coordinate's simplex, for each coordinate."""
        order = np.lexsort((-z, self.owner))
        return np.asarray(order[self.first][self.owner])

    def slope(self, z: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return how the function changes as a coordinate grows at the expense of its simplex, and their scale."""
        return np.where(self.half, gradient, gradient - self.total(z * gradient))

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return a point from the uniform distribution; half-lines from the exponential one."""
        return self.normalise(rng.exponential(size=self.owner.size))


@dataclass(frozen=True)
class FreeVariable:
    """A free variable, and what its coordinates are.

    Attributes
    ----------
    name : str
    kind : {"share", "simplex", "ascending", "positive"}
        Numbers between 0 and 1, each with what it leaves as a second coordinate; probabilities that add up to 1 along
        the last axis; numbers that ascend from 0 to `top`, by their gaps; numbers from 0 up.
    shape : tuple of int
    labels : tuple of str
        The names of its elements, as `confusion[i, 1, 2]`.
    top : float
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    labels: tuple[str, ...]
    top: float = 1.0

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of its simplexes."""
        count = len(self.labels)
        if self.kind == "share":
            return (2,) * count
        if self.kind == "simplex":
            return (self.shape[-1],) * (count // self.shape[-1])
        return (count + 1,) if self.kind == "ascending" else (1,) * count

    def to_value(self, z: np.ndarray) -> np.ndarray:
        """Return the variable's value at its coordinates."""
        if self.kind == "share":
            z = z[::2]
        elif self.kind == "ascending":
            below, above = np.cumsum(z)[:-1], np.cumsum(z[:0:-1])[::-1]
            z = self.top * np.where(below < above, below, 1 - above)  # exact at both ends
        return z.reshape(self.shape)

    def to_coordinates(self, value: Any) -> np.ndarray:
        """Return the coordinates of a value."""
        flat = np.ravel(np.asarray(value, dtype=float))
        if self.kind == "share":
            return np.column_stack([flat, 1 - flat]).ravel()
        return np.diff(flat / self.top, prepend=0.0, append=1.0) if self.kind == "ascending" else flat

    def pull(self, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient in the coordinates from that in the value."""
        flat = gradient.ravel()
        if self.kind == "share":
            return np.column_stack([flat, np.zeros_like(flat)]).ravel()
        return self.top * np.append(np.cumsum(flat[::-1])[::-1], 0.0) if self.kind == "ascending" else flat

    def edges(self) -> list[tuple[str, str]]:
        """Return what it means that a coordinate is 0: a name, and what it is equal to."""
        names, top = self.labels, f"{self.top:g}"
        if self.kind == "share":
            return [edge for name in names for edge in ((name, "0"), (name, "1"))]
        if self.kind == "ascending":
            return list(zip((names[0], *names[1:], names[-1]), ("0", *names[:-1], top), strict=True))
        return [(name, "0") for name in names]


class Parameters:
    """The free variables of a graph, and the coordinates of all of them in one vector.

    Parameters
    ----------
    graph : pymc.Model
        As a model builds it.

    Attributes
    ----------
    edges : list of tuple of str
        What it means that a coordinate is 0, for each.

    Raises
    ------
    FitError
        If a free variable has another support than `FreeVariable` knows.
    """

    def __init__(self, graph: pm.Model) -> None:
        self._graph = graph
        self._parts = [_find_part(variable, graph) for variable in graph.free_RVs]
        ends = np.cumsum([0, *(sum(part.sizes) for part in self._parts)])
        self._slices = [slice(*pair) for pair in pairwise(ends)]
        self.edges = [edge for part in self._parts for edge in part.edges()]

    def values_at(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Return the free variables at coordinates."""
        return {part.name: part.to_value(z[where]) for part, where in zip(self._parts, self._slices, strict=True)}

    def coordinates_of(self, values: Mapping[str, Any]) -> np.ndarray:
        """Return the coordinates of values of all free variables."""
        return np.concatenate([part.to_coordinates(values[part.name]) for part in self._parts])

    def compile(self, target: Target) -> Objective:
        """Return the log of the likelihood ("ml") or of the posterior density ("map") as an objective."""
        import pytensor

        from bayesanno.ground.private.pymc import remove_value_transforms
        from bayesanno.modeling.functions import compile_once, precompute_data

        graph = remove_value_transforms(self._graph)
        terms = graph.observed_RVs if target == "ml" else [*graph.free_RVs, *graph.observed_RVs]
        values = [graph.rvs_to_values[graph[part.name]] for part in self._parts]
        (log_target,) = precompute_data(values, [graph.logp(vars=terms, jacobian=False)])
        gradients = pytensor.grad(log_target, values, disconnected_inputs="ignore")
        compiled = compile_once(values, [log_target, *gradients])

        def function(z: np.ndarray) -> tuple[float, np.ndarray]:
            value, *by_part = compiled(*self.values_at(z).values())
            pairs = zip(self._parts, by_part, strict=True)
            return float(value), np.concatenate([part.pull(gradient) for part, gradient in pairs])

        return Objective(function, tuple(size for part in self._parts for size in part.sizes))


def check_target(target: Any) -> None:
    """Raise a FitError unless this can be maximised."""
    if target not in get_args(Target):
        raise FitError(f"objective is {target!r}: it must be 'ml' (the likelihood) or 'map' (the posterior density)")


def _find_part(variable: Any, graph: pm.Model) -> FreeVariable:
    transform = graph.rvs_to_transforms[variable]
    kind = KINDS.get(getattr(transform, "name", ""))
    if kind is None:
        why = "can be any number" if transform is None else "has limits of its own"
        raise FitError(
            f"modes are looked for among shares, probabilities, rates and numbers from 0 up, and {variable.name} "
            f"{why}: take a variant of the model without it"
        )
    coords = [list(graph.coords[dim]) for dim in graph.named_vars_to_dims.get(variable.name, ())]
    labels = name_elements(variable.name, coords)
    return FreeVariable(variable.name, kind, tuple(map(len, coords)), labels, float(getattr(transform, "top", 1.0)))
