"""An index of variable length: the number of nodes that an integral needs depends on the parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph import Apply

from bayesanno._core.private import LengthOp


class CountUp(LengthOp):
    """last -> 0, 1, ..., last.

    JAX needs fixed lengths: there it always counts to `in_jax_to`, and the caller ignores the rest.
    """

    __props__ = ("in_jax_to",)  # type: ignore[assignment]

    def __init__(self, in_jax_to: int) -> None:
        self.in_jax_to = in_jax_to

    @property
    def constant_in_jax(self) -> np.ndarray:
        """Return the index for JAX, which always has the same length."""
        return np.arange(self.in_jax_to + 1)

    def make_node(self, last: Any) -> Apply:
        """Check the input and name the output's type."""
        last = pt.as_tensor(last).astype("int64")
        if last.ndim:
            raise TypeError("CountUp takes a number")
        return Apply(self, [last], [pt.lvector()])

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list[list[Any]]) -> None:
        """Compute with NumPy."""
        output_storage[0][0] = np.arange(int(inputs[0]) + 1)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Nothing has a gradient."""
        return [[False]]

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Return no gradient."""
        return [disconnected_type()]

    @staticmethod
    def lengths(last: Any) -> Any:
        """Return the number of the numbers."""
        return ((last + 1,),)

    @staticmethod
    def loop(last, index):  # type: ignore[no-untyped-def]
        """Count."""
        for at in range(last + 1):
            index[at] = at
