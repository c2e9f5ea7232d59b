"""The log density that NUTS sees, as a function: of points on the unconstrained scale, by the code nutpie samples with.

The invariant: a point is one vector, the free variables' unconstrained values one after the other, in the graph's
order.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

HOLD = 0.1  # standard deviation of what is held
DOUBLES = ctypes.POINTER(ctypes.c_double)


class Density:
    """The log density of a compiled graph, with its gradient, and the way from a point to the free variables.

    Parameters
    ----------
    compiled : nutpie.compile_pymc.CompiledPyMCModel
        As `compile_graph` makes it.

    Attributes
    ----------
    n_dim : int
        How many numbers a point has.
    n_calls : int
        How many gradients were computed so far.
    """

    def __init__(self, compiled: Any) -> None:
        self.n_dim: int = compiled.n_dim
        self.n_calls = 0
        self._compiled = compiled  # holds the arrays that the code reads

    def __call__(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Return log p of a point (dimension,), -inf where it is none, and its gradient (dimension,)."""
        self.n_calls += 1
        point, gradient, value = np.ascontiguousarray(point, dtype=float), np.empty(self.n_dim), np.empty(1)
        failed = self._compiled.compiled_logp_func.ctypes(
            self.n_dim, _pointer(point), _pointer(gradient), _pointer(value), self._compiled.user_data.ctypes.data
        )
        return (-np.inf, np.zeros(self.n_dim)) if failed else (float(value[0]), gradient)

    @property
    def parts(self) -> dict[str, tuple[slice, tuple[int, ...]]]:
        """Which numbers of a point each of the graph's values has, and its shape; after them, those that are kept."""
        return {
            name: (part, tuple(map(int, shape))) for name, part, shape in zip(*self._compiled.shape_info, strict=True)
        }

    def values_at(self, point: np.ndarray) -> Mapping[str, np.ndarray]:
        """Return the free variables, each on its own scale, at a point (dimension,)."""
        compiled = self._compiled
        point, kept = np.ascontiguousarray(point, dtype=float), np.empty(compiled.n_expanded)
        compiled.compiled_expand_func.ctypes(
            self.n_dim, kept.size, _pointer(point), _pointer(kept), compiled.user_data.ctypes.data
        )
        values = {name: kept[part].reshape(shape) for name, (part, shape) in self.parts.items()}
        transformed = set(compiled.reparameterized_names)
        return {name: value for name, value in values.items() if name not in transformed}


class HeldDensity(Density):
    """The density with some numbers known: they are where they are held, whatever a point has.

    A normal density of their own keeps a climb there, so that it has a top, and a mass that is the same for all modes.

    Parameters
    ----------
    compiled : nutpie.compile_pymc.CompiledPyMCModel
    at : array, shape (dimension,)
        The point that has them.
    held : array of bool, shape (dimension,)
    """

    def __init__(self, compiled: Any, at: np.ndarray, held: np.ndarray) -> None:
        super().__init__(compiled)
        self._at, self._held = at, held

    def __call__(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Return log p of a point, and its gradient."""
        value, gradient = super().__call__(np.where(self._held, self._at, point))
        away = np.where(self._held, point - self._at, 0.0) / HOLD
        return value - 0.5 * float(away @ away), np.where(self._held, -away / HOLD, gradient)


def _pointer(array: np.ndarray) -> Any:
    return array.ctypes.data_as(DOUBLES)
