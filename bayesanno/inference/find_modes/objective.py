"""The likelihood or the posterior density of a graph as a function over simplexes and half-lines, compiled.

Of the posterior it is the density of the parameters themselves: no Jacobian, as samplers add for the scale on which
they move. Of the likelihood it is the observed variable alone, controls included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any, Literal, get_args

import numpy as np

from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import pm
from bayesanno.inference.find_modes.maximise import Region

Target = Literal["ml", "map"]
INTERVALS = ("logodds", "probit")  # PyMC's transform of a number between 0 and 1, and ours


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


class Objective:
    """The likelihood of a graph, or its posterior density, over its free variables.

    Parameters
    ----------
    graph : pymc.Model
        As a model builds it.
    target : {"ml", "map"}

    Attributes
    ----------
    parts : tuple of FreeVariable
    region : Region

    Raises
    ------
    FitError
        If a free variable has another support than `FreeVariable` knows.
    """

    def __init__(self, graph: pm.Model, target: Target) -> None:
        from bayesanno.ground.private.pymc import remove_value_transforms

        self.parts = _find_parts(graph)
        self.region = Region(tuple(size for part in self.parts for size in part.sizes))
        ends = np.cumsum([0, *(sum(part.sizes) for part in self.parts)])
        self._slices = [slice(*pair) for pair in pairwise(ends)]
        self._function = _compile(remove_value_transforms(graph), [part.name for part in self.parts], target)

    def __call__(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log of the likelihood or density at coordinates inside, and its gradient in them."""
        value, *gradients = self._function(*self.values_at(z).values())
        pairs = zip(self.parts, gradients, strict=True)
        return float(value), np.concatenate([part.pull(gradient) for part, gradient in pairs])

    def values_at(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Return the free variables at coordinates."""
        return {part.name: part.to_value(z[where]) for part, where in zip(self.parts, self._slices, strict=True)}

    def coordinates_of(self, values: Mapping[str, Any]) -> np.ndarray:
        """Return the coordinates of values of all free variables."""
        return np.concatenate([part.to_coordinates(values[part.name]) for part in self.parts])

    @cached_property
    def edges(self) -> list[tuple[str, str]]:
        """What it means that a coordinate is 0, for each."""
        return [edge for part in self.parts for edge in part.edges()]


def check_target(target: Any) -> None:
    """Raise a FitError unless this can be maximised."""
    if target not in get_args(Target):
        raise FitError(f"objective is {target!r}: it must be 'ml' (the likelihood) or 'map' (the posterior density)")


def name_elements(name: str, coords: Sequence[Sequence[Any]]) -> tuple[str, ...]:
    """Return the names of a variable's elements, as ArviZ writes them.

    Examples
    --------
    >>> from bayesanno.inference.find_modes.objective import name_elements
    >>> name_elements("weight", [["type 1", "type 2"]]), name_elements("diligence", [])
    (('weight[type 1]', 'weight[type 2]'), ('diligence',))
    """
    inner = (", ".join(map(str, each)) for each in product(*coords))
    return tuple(f"{name}[{each}]" for each in inner) if coords else (name,)


def _find_parts(graph: pm.Model) -> tuple[FreeVariable, ...]:
    kinds = dict.fromkeys(INTERVALS, "share") | {"simplex": "simplex", "ascending": "ascending", "log": "positive"}
    parts = []
    for variable in graph.free_RVs:
        transform = graph.rvs_to_transforms[variable]
        kind = kinds.get(getattr(transform, "name", ""))
        if kind is None:
            why = "can be any number" if transform is None else "has limits of its own"
            raise FitError(
                f"modes are looked for among shares, probabilities, rates and numbers from 0 up, and {variable.name} "
                f"{why}: take a variant of the model without it"
            )
        dims = graph.named_vars_to_dims.get(variable.name, ())
        coords = [list(graph.coords[dim]) for dim in dims]
        top = float(getattr(transform, "top", 1.0))
        labels = name_elements(variable.name, coords)
        parts.append(FreeVariable(variable.name, kind, tuple(map(len, coords)), labels, top))
    return tuple(parts)


def _compile(graph: pm.Model, names: Sequence[str], target: Target) -> Any:
    """Return a function from the values of the named variables to the log of the target and its gradients."""
    import pytensor

    from bayesanno.modeling.functions import compile_once, precompute_data

    terms = graph.observed_RVs if target == "ml" else [*graph.free_RVs, *graph.observed_RVs]
    values = [graph.rvs_to_values[graph[name]] for name in names]
    (log_target,) = precompute_data(values, [graph.logp(vars=terms, jacobian=False)])
    gradients = pytensor.grad(log_target, values, disconnected_inputs="ignore")
    return compile_once(values, [log_target, *gradients])
