"""Rows with one special entry, that of the right response: taking it out of a row, and putting it back.

Each operation is the inverse of the other, and its pullback. Comparisons, switches and concatenations would be about
twenty operations in a graph, with their gradients, and take ten seconds longer to compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph import Apply

from bayesanno._core.private import LoopOp


class SplitRight(LoopOp):
    """(whole (..., row, R), right (row,)) -> wrong entries (..., row, R - 1), right ones (..., row)."""

    def make_node(self, whole: Any, right: Any) -> Apply:
        """Check the inputs and name the outputs' types."""
        whole, right = pt.as_tensor(whole), pt.as_tensor(right)
        if whole.ndim < 2 or right.ndim != 1 or not right.dtype.startswith("int"):
            raise TypeError("SplitRight takes an array of at least two dimensions and a vector of indices")
        *rows, last = whole.type.shape
        shapes = [(*rows, None if last is None else last - 1), rows]
        return Apply(self, [whole, right], [pt.tensor(dtype=whole.dtype, shape=shape) for shape in shapes])

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list[list[Any]]) -> None:
        """Compute with NumPy."""
        whole, right = inputs
        apart = np.arange(whole.shape[-1]) == right[:, None]  # (row, R)
        output_storage[0][0] = whole[..., ~apart].reshape(*whole.shape[:-1], whole.shape[-1] - 1)
        output_storage[1][0] = whole[..., apart]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Only the rows have a gradient."""
        return [[True, True], [False, False]]

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Put the two together."""
        filled = [
            pt.zeros_like(output) if isinstance(given.type, DisconnectedType) else given
            for output, given in zip(outputs, cotangents, strict=True)
        ]
        return [join_right(*filled, inputs[1]), disconnected_type()]

    @staticmethod
    def lengths(whole: Any, right: Any) -> Any:
        """Return (..., row, R - 1) and (..., row)."""
        return (*whole[:-1], whole[-1] - 1), whole[:-1]

    @staticmethod
    def loop(whole, right, wrong, own):  # type: ignore[no-untyped-def]
        """Go through the entries of each row."""
        n_entries = len(whole) // max(len(own), 1)
        to = 0
        for row in range(len(own)):
            apart = right[row % len(right)]
            for r in range(n_entries):
                if r == apart:
                    own[row] = whole[row * n_entries + r]
                else:
                    wrong[to] = whole[row * n_entries + r]
                    to += 1

    @staticmethod
    def in_jax(whole: Any, right: Any) -> Any:
        """Compute the same."""
        import jax.numpy as jnp

        at = jnp.arange(whole.shape[-1] - 1)
        wrong = jnp.where(at < right[:, None], whole[..., :-1], whole[..., 1:])
        own = jnp.take_along_axis(whole, jnp.broadcast_to(right[:, None], (*whole.shape[:-1], 1)), axis=-1)
        return wrong, own[..., 0]


class JoinRight(LoopOp):
    """(wrong entries (..., row, R - 1), right ones (..., row), right (row,)) -> whole (..., row, R)."""

    def make_node(self, wrong: Any, own: Any, right: Any) -> Apply:
        """Check the inputs and name the output's type."""
        wrong, own, right = pt.as_tensor(wrong), pt.as_tensor(own), pt.as_tensor(right)
        if wrong.ndim < 2 or own.ndim != wrong.ndim - 1 or right.ndim != 1 or not right.dtype.startswith("int"):
            raise TypeError("JoinRight takes an array, one of a dimension less, and a vector of indices")
        *rows, last = wrong.type.shape
        whole = pt.tensor(dtype=wrong.dtype, shape=(*rows, None if last is None else last + 1))
        return Apply(self, [wrong, own, right], [whole])

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list[list[Any]]) -> None:
        """Compute with NumPy."""
        wrong, own, right = inputs
        whole = np.empty((*wrong.shape[:-1], wrong.shape[-1] + 1), dtype=wrong.dtype)
        apart = np.arange(whole.shape[-1]) == right[:, None]  # (row, R)
        whole[..., ~apart] = wrong.reshape(*wrong.shape[:-2], wrong.shape[-2] * wrong.shape[-1])
        whole[..., apart] = own
        output_storage[0][0] = whole

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Only the entries have a gradient."""
        return [[True], [True], [False]]

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Take them apart."""
        return [*split_right(cotangents[0], inputs[2]), disconnected_type()]

    @staticmethod
    def lengths(wrong: Any, own: Any, right: Any) -> Any:
        """Return (..., row, R)."""
        return ((*wrong[:-1], wrong[-1] + 1),)

    @staticmethod
    def loop(wrong, own, right, whole):  # type: ignore[no-untyped-def]
        """Go through the entries of each row."""
        n_entries = len(whole) // max(len(own), 1)
        at = 0
        for row in range(len(own)):
            apart = right[row % len(right)]
            for r in range(n_entries):
                if r == apart:
                    whole[row * n_entries + r] = own[row]
                else:
                    whole[row * n_entries + r] = wrong[at]
                    at += 1

    @staticmethod
    def in_jax(wrong: Any, own: Any, right: Any) -> Any:
        """Compute the same."""
        import jax.numpy as jnp

        own = own[..., None]
        ahead, behind = jnp.concatenate([wrong, own], axis=-1), jnp.concatenate([own, wrong], axis=-1)
        at, apart = jnp.arange(ahead.shape[-1]), right[:, None]
        return jnp.where(at < apart, ahead, jnp.where(at > apart, behind, own))


split_right, join_right = SplitRight(), JoinRight()
