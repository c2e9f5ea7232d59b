"""The log density that samplers see, as a function of points on the unconstrained scale.

The invariant: a point is one vector, the free variables' unconstrained values one after the other, in the graph's
order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.ground.errors import FitError
from bayesanno.modeling.capabilities import HasSpreads

if TYPE_CHECKING:
    import pymc

    from bayesanno.inference.graph.c_functions import CFunctions

HOLD = 0.1  # standard deviation of what is held
Parts = Mapping[str, tuple[slice, tuple[int, ...]]]


class Density:
    """The log density of a graph, with its gradient, and the way from a point to the free variables.

    Parameters
    ----------
    logp : callable
        From a point (dimension,) to log p and its gradient; None where there is no density.
    kept : callable
        From a point to all that `parts` names, in one vector; None where that cannot be computed.
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

    def __init__(
        self,
        logp: Callable[[np.ndarray], tuple[float, np.ndarray] | None],
        kept: Callable[[np.ndarray], np.ndarray | None],
        parts: Parts,
        names: Sequence[str],
        start: np.ndarray,
        functions: CFunctions | None = None,
    ) -> None:
        self._logp, self._kept = logp, kept
        self.parts, self.names, self.start, self.functions = parts, names, start, functions
        self.n_calls = 0

    @property
    def n_dim(self) -> int:
        """How many numbers a point has."""
        return self.start.size

    def __call__(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Return log p of a point (dimension,), -inf where it is none, and its gradient (dimension,)."""
        self.n_calls += 1
        return self._logp(np.ascontiguousarray(point, dtype=float)) or (-np.inf, np.zeros(self.n_dim))

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
        kept = self._kept(np.ascontiguousarray(point, dtype=float))
        if kept is None:
            raise FitError(
                "the model's parameters cannot be computed at a point that was sampled (a transform stops with "
                "an error there): another seed may do, and nuts_sampler='pymc' says where"
            )
        return {name: kept[self.parts[name][0]].reshape(self.parts[name][1]) for name in self.names}


class HeldDensity(Density):
    """The density with some numbers known: they are where they are held, whatever a point has.

    A normal density of their own keeps a climb there, so that it has a top, and a mass that is the same for all modes.

    Parameters
    ----------
    density : Density
        Whose start has them.
    held : array of bool, shape (dimension,)
    """

    def __init__(self, density: Density, held: np.ndarray) -> None:
        super().__init__(density._logp, density._kept, density.parts, density.names, density.start)
        self._held = held

    def __call__(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Return log p of a point, and its gradient."""
        value, gradient = super().__call__(np.where(self._held, self.start, point))
        away = np.where(self._held, point - self.start, 0.0) / HOLD
        return value - 0.5 * float(away @ away), np.where(self._held, -away / HOLD, gradient)


def hold_spreads(density: Density, model: Any, graph: pymc.Model) -> Density:
    """Return a density that has its modes where its mass is: how far a model's parameters lie apart is held."""
    if not isinstance(model, HasSpreads) or not model.spreads():
        return density
    held = np.zeros(density.n_dim, dtype=bool)
    for name in model.spreads():
        held[density.parts[graph.rvs_to_values[graph[name]].name][0]] = True
    return HeldDensity(density, held)
