"""The objective of `find_modes`: a likelihood or a posterior density, over simplexes and half-lines.

The posterior density is that of the parameters on their own scale, without the Jacobian that samplers add for theirs.
The likelihood is that of the observed variable alone, including controls.

The invariant: coordinates of exactly 0, where a logarithm has no slope, are replaced by FLOOR when the function is
evaluated. If only this coordinate explains an item, the value is low there, and the slope steep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import batched, pairwise
from typing import Any, Literal

import numpy as np

from bayesanno._core.lazy import pm, xr
from bayesanno._core.messages import FitError, name_elements
from bayesanno.graph.flat import precompute_data
from bayesanno.graph.functions import add_deterministics, as_chains, compile_once

Target = Literal["ml", "map"]
FLOOR = 1e-15  # replaces a coordinate of 0: 1 minus this is below 1
KINDS = {  # by the name of the transform with which a variable is sampled, PyMC's or ours
    "logodds": "share",
    "probit": "share",
    "simplex": "simplex",
    "ascending": "ascending",
    "log": "positive",
}


@dataclass(frozen=True)
class Objective:
    """A function over simplexes and half-lines, with all coordinates in one vector.

    Parameters
    ----------
    function : callable
        A function of a point that returns a value and its gradient, in which all coordinates vary freely.
    sizes : tuple of int
        The number of coordinates of each simplex. Size 1 is a half-line, a number from 0 up. A number between 0 and 1
        is a simplex of 2: itself and its complement.
    """

    function: Callable[[np.ndarray], tuple[float, np.ndarray]]
    sizes: tuple[int, ...]

    def __call__(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient at a point; -inf if one of them is not finite."""
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
        """The simplex of each coordinate, shape (coordinate,)."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def half(self) -> np.ndarray:
        """Whether a coordinate is a half-line, shape (coordinate,)."""
        return np.asarray(np.array(self.sizes)[self.owner] == 1)

    @property
    def middle(self) -> np.ndarray:
        """The middle of all simplexes, and 1 on half-lines."""
        return 1 / np.repeat(self.sizes, self.sizes)

    def total(self, x: np.ndarray) -> np.ndarray:
        """Return the sum over the simplex of each coordinate."""
        return np.add.reduceat(x, self.first)[self.owner]

    def normalise(self, z: np.ndarray) -> np.ndarray:
        """Return a point rescaled to the simplexes."""
        return z / np.where(self.half, 1.0, self.total(z))

    def move_inside(self, z: np.ndarray, least: float = FLOOR) -> np.ndarray:
        """Return a point with all coordinates at a least distance from the boundary."""
        return self.normalise(np.maximum(z, least))

    def slope(self, z: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return the derivatives by the logs of coordinates, divided by the coordinates, within the simplexes."""
        return np.where(self.half, gradient, gradient - self.total(z * gradient))

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Draw a point from the uniform distribution, and half-lines from the exponential one."""
        return self.normalise(rng.exponential(size=self.owner.size))


@dataclass(frozen=True)
class FreeVariable:
    """A free variable and its coordinates.

    Attributes
    ----------
    name : str
    kind : {"simplex", "ascending", "positive"}
        "simplex": probabilities that add up to 1 in each row; "ascending": numbers that ascend from 0 to `top` in each
        row, with their gaps as coordinates; "positive": numbers from 0 up. A number between 0 and 1 is a row that
        ascends, and its coordinates are the number and its complement.
    shape : tuple of int
    row : int
        The numbers in a row.
    labels : tuple of str
        The names of its elements, such as `confusion[i, 1, 2]`.
    top : float
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    row: int
    labels: tuple[str, ...]
    top: float = 1.0

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of its simplexes."""
        return (self.row + (self.kind == "ascending"),) * (len(self.labels) // self.row)

    def to_value(self, z: np.ndarray) -> np.ndarray:
        """Return the value of the variable from its coordinates."""
        if self.kind == "ascending":
            gaps = z.reshape(-1, self.row + 1)
            below, above = np.cumsum(gaps, axis=1)[:, :-1], np.cumsum(gaps[:, :0:-1], axis=1)[:, ::-1]
            z = self.top * np.where(below < above, below, 1 - above)  # exact at both ends
        return z.reshape(self.shape)

    def to_coordinates(self, value: Any) -> np.ndarray:
        """Return the coordinates of a value."""
        rows = np.asarray(value, dtype=float).reshape(-1, self.row)
        return np.ravel(np.diff(rows / self.top, prepend=0.0, append=1.0) if self.kind == "ascending" else rows)

    def pull(self, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient by the coordinates from that by the value."""
        rows = gradient.reshape(-1, self.row)
        if self.kind == "ascending":
            rows = np.pad(self.top * np.cumsum(rows[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
        return rows.ravel()

    def edges(self) -> list[tuple[str, str]]:
        """Return the meaning of each coordinate at 0: a name, and what it is equal to."""
        if self.kind != "ascending":
            return [(name, "0") for name in self.labels]
        found: list[tuple[str, str]] = []
        for names in batched(self.labels, self.row):
            found += zip((*names, names[-1]), ("0", *names[:-1], f"{self.top:g}"), strict=True)
        return found


class Coordinates:
    """The free variables of a graph, with the coordinates of all in one vector.

    Parameters
    ----------
    graph : pymc.Model
        The graph of a model.

    Attributes
    ----------
    edges : list of tuple of str
        The meaning of each coordinate at 0.
    sizes : tuple of int
        The number of coordinates of each simplex, as in `Objective`.

    Raises
    ------
    FitError
        If a free variable has a support that `FreeVariable` does not cover.
    """

    def __init__(self, graph: pm.Model) -> None:
        self._graph = graph
        self._parts = [_find_part(variable, graph) for variable in graph.free_RVs]
        ends = np.cumsum([0, *(sum(part.sizes) for part in self._parts)])
        self._slices = [slice(*pair) for pair in pairwise(ends)]
        self.edges = [edge for part in self._parts for edge in part.edges()]
        self.sizes = tuple(size for part in self._parts for size in part.sizes)

    def values_at(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Return the free variables at coordinates."""
        return {part.name: part.to_value(z[where]) for part, where in zip(self._parts, self._slices, strict=True)}

    def coordinates_of(self, values: Mapping[str, Any]) -> np.ndarray:
        """Return the coordinates of values of free variables; those that are not given are in the middle."""
        values = self.values_at(1 / np.repeat(self.sizes, self.sizes)) | dict(values)
        return np.concatenate([part.to_coordinates(values[part.name]) for part in self._parts])

    def draws_at(self, points: Sequence[np.ndarray]) -> xr.Dataset:
        """Return parameters and deterministics at points, one chain per point."""
        return add_deterministics(self._graph, as_chains(self._graph, [self.values_at(point) for point in points]))

    def compile(self, target: Target) -> Objective:
        """Return the log of the likelihood ("ml") or of the posterior density ("map") as an objective."""
        import pytensor

        from bayesanno._core.private import remove_value_transforms

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

        return Objective(function, self.sizes)


def _find_part(variable: Any, graph: pm.Model) -> FreeVariable:
    transform = graph.rvs_to_transforms[variable]
    kind = KINDS.get(getattr(transform, "name", ""))
    if kind is None:
        why = "can be any number" if transform is None else "has other limits"
        raise FitError(
            f"find_modes takes shares, probabilities, rates and numbers from 0 up, and {variable.name} {why}: use a "
            "variant of the model without it"
        )
    coords = [list(graph.coords[dim]) for dim in graph.named_vars_to_dims.get(variable.name, ())]
    shape, labels = tuple(map(len, coords)), name_elements(variable.name, coords)
    row = shape[-1] if kind in ("simplex", "ascending") else 1
    kind = "ascending" if kind == "share" else kind
    return FreeVariable(variable.name, kind, shape, row, labels, float(getattr(transform, "top", 1.0)))
