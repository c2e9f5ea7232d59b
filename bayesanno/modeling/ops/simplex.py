"""Probabilities that add up to 1, in the coordinates that PyMC gives them, and their logarithms in one pass.

PyMC's coordinates of p_1 ... p_K are y_1 ... y_{K-1}, with p = softmax(w) and w = (y, -(y_1 + ... + y_{K-1})). Priors
and likelihoods take log p_k = w_k - s, with s = log sum_k exp w_k, and the log-Jacobian is log K - K s, as the w_k add
up to 0. Here both come from one loop over each row, and p is exp(log p). Written as PyTensor's own operations it is a
dozen of them, which take longer to run and, in every graph anew, much longer to compile. Values, draws and names of
variables are as without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType
from pytensor.graph import Apply

from bayesanno.ground.private.pymc import SimplexTransform
from bayesanno.ground.private.pytensor import LoopOp

if TYPE_CHECKING:
    import pymc as pm


class LogSimplex(LoopOp):
    """y (..., K - 1) -> log p (..., K), s (...)."""

    version = 1

    def make_node(self, y: Any) -> Apply:
        """Check the input and name the outputs' types."""
        y = pt.as_tensor(y)
        if y.ndim == 0 or y.dtype not in ("float32", "float64"):
            raise TypeError(f"LogSimplex takes rows of floats, not {y.type}")
        *rows, last = y.type.shape
        shapes = [(*rows, None if last is None else last + 1), rows]
        return Apply(self, [y], [pt.tensor(dtype=y.dtype, shape=shape) for shape in shapes])

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list[list[Any]]) -> None:
        """Compute with NumPy, where there is no Numba."""
        (y,) = inputs
        whole = np.concatenate([y, -y.sum(axis=-1, keepdims=True)], axis=-1)  # (..., K)
        top = whole.max(axis=-1, keepdims=True)
        s = top + np.log(np.exp(whole - top).sum(axis=-1, keepdims=True))
        output_storage[0][0], output_storage[1][0] = whole - s, s[..., 0]

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Of w it is g - p (sum g - h), with g that of log p and h that of s; y_j adds to w_j and takes from w_K."""
        (log_p, _), (g, h) = outputs, cotangents
        total: Any = 0.0
        if not isinstance(g.type, DisconnectedType):
            total = g.sum(axis=-1)
        if not isinstance(h.type, DisconnectedType):
            total = total - h
        of_whole = -pt.exp(log_p) * total[..., None]
        if not isinstance(g.type, DisconnectedType):
            of_whole = g + of_whole
        return [of_whole[..., :-1] - of_whole[..., -1, None]]

    @staticmethod
    def loop(y):  # type: ignore[no-untyped-def]
        """Go through each row: put it together, and take off the log of the sum of its exponentials."""
        n_free = y.shape[-1]
        n_rows = y.size // max(n_free, 1)
        free = np.ascontiguousarray(y).reshape(n_rows * n_free)
        log_p = np.empty(n_rows * (n_free + 1), dtype=y.dtype)
        s = np.empty(n_rows, dtype=y.dtype)
        for row in range(n_rows):
            begin, end = row * (n_free + 1), row * (n_free + 1) + n_free
            last = 0.0
            for k in range(n_free):
                log_p[begin + k] = free[row * n_free + k]
                last -= log_p[begin + k]
            log_p[end] = last
            top = last
            for k in range(begin, end):
                top = max(top, log_p[k])
            weights = 0.0
            for k in range(begin, end + 1):
                weights += np.exp(log_p[k] - top)
            s[row] = top + np.log(weights)
            for k in range(begin, end + 1):
                log_p[k] -= s[row]
        return log_p.reshape((*y.shape[:-1], n_free + 1)), s.reshape(y.shape[:-1])

    @staticmethod
    def in_jax(y: Any) -> Any:
        """Compute the same."""
        import jax.numpy as jnp
        from jax.scipy.special import logsumexp

        whole = jnp.concatenate([y, -y.sum(axis=-1, keepdims=True)], axis=-1)  # (..., K)
        s = logsumexp(whole, axis=-1, keepdims=True)
        return whole - s, s[..., 0]


log_simplex = LogSimplex()


class LogSimplexTransform(SimplexTransform):  # type: ignore[misc]  # PyMC is not typed
    """PyMC's transform, with `backward` and the log-Jacobian from the same logarithms."""

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return p, whose logarithm PyTensor knows."""
        return pt.exp(log_simplex(value)[0])

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return log K - K s."""
        log_p, s = log_simplex(value)
        n_classes = log_p.shape[-1].astype(s.dtype)
        return pt.log(n_classes) - n_classes * s


def use_log_simplex(model: pm.Model) -> None:
    """Give every variable of a model that lives on a simplex the cheaper transform."""
    for variable, transform in model.rvs_to_transforms.items():
        if type(transform) is SimplexTransform:
            model.rvs_to_transforms[variable] = LogSimplexTransform()
