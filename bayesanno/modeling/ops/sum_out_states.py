"""The end of every likelihood: the log of a sum over states, and the states' probabilities, in one pass.

`total[i] = log sum_s exp(logp[i, s])` and `probability[i, s] = exp(logp[i, s] - total[i])`. The second is the gradient
of the first, and the posterior of the states as well, so each exponential is computed once. PyTensor's own logsumexp
and its gradient take three times as long. A row of nothing but -inf has the total -inf and probabilities 0, never nan.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch import basic as numba_basic
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key

CODE_VERSION = 1  # part of the key under which compiled code is cached: raise it when the loop below changes


class SumOutStates(Op):  # type: ignore[misc]  # PyTensor is not typed
    """logp (item, state) -> total (item,), probability (item, state)."""

    __props__ = ()

    def make_node(self, logp: Any) -> Apply:
        """Check the input and name the outputs' types."""
        logp = pt.as_tensor(logp)
        if logp.ndim != 2 or logp.dtype not in ("float32", "float64"):
            raise TypeError(f"SumOutStates takes a matrix of floats, not {logp.type}")
        shape = logp.type.shape
        return Apply(self, [logp], [pt.tensor(dtype=logp.dtype, shape=shape[:1]), logp.type()])

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list[list[Any]]) -> None:
        """Compute with NumPy, where there is no Numba."""
        (logp,) = inputs
        top = logp.max(axis=1, keepdims=True, initial=-np.inf)  # (item, 1)
        weight = np.exp(logp - np.where(top == -np.inf, 0, top))  # (item, state)
        total = weight.sum(axis=1, keepdims=True)  # (item, 1)
        with np.errstate(divide="ignore"):
            output_storage[0][0] = (np.log(total) + top)[:, 0]
        output_storage[1][0] = weight / np.where(total == 0, 1, total)

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        """Return (n_items,) and (n_items, n_states)."""
        return [shapes[0][:1], shapes[0]]

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Share out the gradient of each total by probability; that of the probabilities is the softmax's."""
        probability, (of_total, of_probability) = outputs[1], cotangents
        back = pt.zeros_like(probability)
        if not isinstance(of_total.type, DisconnectedType):
            back = of_total[:, None] * probability
        if not isinstance(of_probability.type, DisconnectedType):
            mean = (of_probability * probability).sum(axis=1, keepdims=True)
            back = back + probability * (of_probability - mean)
        return [back]


sum_out_states = SumOutStates()


@register_funcify_default_op_cache_key(SumOutStates)  # type: ignore[untyped-decorator]
def _sum_out_in_numba(op: SumOutStates, node: Apply, **_: Any) -> Any:
    @numba_basic.numba_njit
    def sum_out_states_loop(logp):  # type: ignore[no-untyped-def]
        n_items, n_states = logp.shape
        total = np.empty(n_items, dtype=logp.dtype)
        probability = np.empty((n_items, n_states), dtype=logp.dtype)
        for i in range(n_items):
            top, best = -np.inf, 0
            for s in range(n_states):
                if logp[i, s] > top:
                    top, best = logp[i, s], s
            if top == -np.inf:
                total[i] = top
                for s in range(n_states):
                    total[i] += logp[i, s]  # still -inf, unless there is a nan
                    probability[i, s] = 0
                continue
            weights = 0.0
            for s in range(n_states):
                probability[i, s] = 1.0 if s == best else np.exp(logp[i, s] - top)
                weights += probability[i, s]
            total[i] = top + np.log(weights)
            for s in range(n_states):
                probability[i, s] /= weights
        return total, probability

    return sum_out_states_loop, CODE_VERSION


def register_with_jax() -> None:
    """Register how JAX computes it; NumPyro and BlackJAX need that, and differentiate it themselves."""
    import jax.numpy as jnp
    from jax.lax import stop_gradient
    from pytensor.link.jax.dispatch import jax_funcify

    @jax_funcify.register(SumOutStates)  # type: ignore[untyped-decorator]
    def _sum_out_in_jax(op: SumOutStates, **_: Any) -> Any:
        def total_and_probability(logp: Any) -> Any:
            top = stop_gradient(logp.max(axis=1, keepdims=True, initial=-jnp.inf))  # (item, 1)
            possible = top > -jnp.inf
            weight = jnp.exp(logp - jnp.where(possible, top, 0))  # (item, state)
            total = jnp.where(possible, weight.sum(axis=1, keepdims=True), 1)  # (item, 1)
            return jnp.where(possible, jnp.log(total) + top, -jnp.inf)[:, 0], weight / total

        return total_and_probability
