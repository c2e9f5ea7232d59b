"""The two sums of every likelihood: over an item's annotations, and over its states.

*Over annotations*: `total[target_n, s] = sum of rows[source_n, s] over n`. The source of an annotation is the cell of
its annotator and response in a table, and the target is its item. The sum is linear in the rows. As gather and scatter
it would take most of the time of an evaluation. One compiled loop is about twice as fast, and four times with
few states if an item's annotations are adjacent. With many states, and rows that fit into the cache, four rows of a
target are added at a time, which takes two thirds to three quarters of the time. The gradient is the same sum with
source and target exchanged, so the operation is its own pullback. JAX uses the plain gather and scatter.

Every loop adds up the rows of a target in the given order, so all give the same number. A product of matrices, counts
(target, source) times rows, is hardly faster even if every annotator answers every item, and 0 times -inf would be nan.

*Over states*: `total[i] = log sum_s exp(logp[i, s])` and `probability[i, s] = exp(logp[i, s] - total[i])`. The second
is the gradient of the first and the posterior of the states, so each exponential is computed once. PyTensor's logsumexp
and its gradient take three times as long. A row of only -inf has the total -inf and probabilities 0, never nan.
"""

from __future__ import annotations

from math import exp, inf, log
from typing import Any

import numpy as np
import pytensor.tensor as pt
from numpy import empty, int64
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph import Apply

from bayesanno._core.private import LoopOp

FEW_STATES = 3  # with at most so many states, a loop over annotations for each pair of states is faster
MANY_STATES = 50  # with at least so many, it is faster to order annotations by target and add four rows at a time,
IN_CACHE = 2**17  # if the rows have at most so many numbers, which fit into the cache of a processor


class AddRows(LoopOp):
    """(rows (row, state), source (n,), target (n,), n_targets) -> (target, state): the sum of each target's sources."""

    def make_node(self, *given: Any) -> Apply:
        """Check the inputs and return the node."""
        inputs = [pt.as_tensor(variable) for variable in given]
        if [variable.ndim for variable in inputs] != [2, 1, 1, 0]:
            raise TypeError("AddRows takes a matrix, two vectors of indices and a number")
        inputs[3] = inputs[3].astype("int64")
        return Apply(self, inputs, [pt.matrix(dtype=inputs[0].dtype)])

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list[list[Any]]) -> None:
        """Compute with NumPy."""
        from scipy.sparse import csc_array

        rows, source, target, n_targets = inputs
        # a column per term, with one entry
        which = csc_array(
            (np.ones(target.size, dtype=rows.dtype), target, np.arange(target.size + 1)),
            shape=(int(n_targets), target.size),
        )
        output_storage[0][0] = which @ rows[source]

    @staticmethod
    def lengths(rows: Any, source: Any, target: Any, n_targets: Any) -> Any:
        """Return (n_targets, n_states)."""
        return ((n_targets, rows[1]),)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Only the rows have a gradient."""
        return [[True], [False], [False], [False]]

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Add to each source the gradients of its targets."""
        rows, source, target, _ = inputs
        return [add_rows(cotangents[0], target, source, rows.shape[0]), *(disconnected_type() for _ in range(3))]

    @staticmethod
    def loop(rows, source, target, n_targets, total):  # type: ignore[no-untyped-def]
        """Add up the terms in their order."""
        n_states = len(total) // max(n_targets, 1)
        n_terms = len(source)
        for place in range(len(total)):
            total[place] = 0.0
        if n_states >= MANY_STATES and len(rows) <= IN_CACHE:
            begin = empty(n_targets + 1, int64)  # of each target's terms, in the order of targets
            free = empty(n_targets + 1, int64)
            in_order = empty(n_terms, int64)
            for t in range(n_targets + 1):
                begin[t] = 0
            for n in range(n_terms):
                begin[target[n] + 1] += 1
            for t in range(n_targets):
                begin[t + 1] += begin[t]
                free[t] = begin[t]
            for n in range(n_terms):
                in_order[free[target[n]]] = source[n] * n_states
                free[target[n]] += 1
            for t in range(n_targets):
                to, n, end = t * n_states, begin[t], begin[t + 1]
                while n + 4 <= end:
                    a, b, c, d = in_order[n], in_order[n + 1], in_order[n + 2], in_order[n + 3]
                    for s in range(n_states):  # from left to right: the same rounding
                        total[to + s] = total[to + s] + rows[a + s] + rows[b + s] + rows[c + s] + rows[d + s]
                    n += 4
                while n < end:
                    for s in range(n_states):
                        total[to + s] += rows[in_order[n] + s]
                    n += 1
        elif n_states > FEW_STATES:
            for n in range(n_terms):
                here, to = source[n] * n_states, target[n] * n_states
                for s in range(n_states):
                    total[to + s] += rows[here + s]
        else:
            for first in range(0, n_states, 2):
                second = min(first + 1, n_states - 1)  # if the number of states is odd, the last is its own companion
                n = 0
                while n < n_terms:
                    t = target[n]  # adjacent terms of one target are added up in registers
                    one, other = t * n_states + first, t * n_states + second
                    sum_of_one, sum_of_other = total[one], total[other]
                    while n < n_terms and target[n] == t:
                        here = source[n] * n_states
                        sum_of_one += rows[here + first]
                        sum_of_other += rows[here + second]
                        n += 1
                    total[one] = sum_of_one
                    total[other] = sum_of_other

    @staticmethod
    def in_jax(rows: Any, source: Any, target: Any, n_targets: Any) -> Any:
        """Gather and scatter."""
        import jax.numpy as jnp

        return jnp.zeros((n_targets, rows.shape[1]), dtype=rows.dtype).at[target].add(rows[source])


class SumOutStates(LoopOp):
    """logp (item, state) -> total (item,), probability (item, state)."""

    def make_node(self, logp: Any) -> Apply:
        """Check the input and name the outputs' types."""
        logp = pt.as_tensor(logp)
        if logp.ndim != 2 or logp.dtype not in ("float32", "float64"):
            raise TypeError(f"SumOutStates takes a matrix of floats, not {logp.type}")
        shape = logp.type.shape
        return Apply(self, [logp], [pt.tensor(dtype=logp.dtype, shape=shape[:1]), logp.type()])

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list[list[Any]]) -> None:
        """Compute with NumPy."""
        (logp,) = inputs
        top = logp.max(axis=1, keepdims=True, initial=-np.inf)  # (item, 1)
        weight = np.exp(logp - np.where(top == -np.inf, 0, top))  # (item, state)
        total = weight.sum(axis=1, keepdims=True)  # (item, 1)
        with np.errstate(divide="ignore"):
            output_storage[0][0] = (np.log(total) + top)[:, 0]
        output_storage[1][0] = weight / np.where(total == 0, 1, total)

    @staticmethod
    def lengths(logp: Any) -> Any:
        """Return (n_items,) and (n_items, n_states)."""
        return logp[:1], logp

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Distribute the gradient of each total by probability; the probabilities have the gradient of a softmax."""
        probability, (of_total, of_probability) = outputs[1], cotangents
        back = pt.zeros_like(probability)
        if not isinstance(of_total.type, DisconnectedType):
            back = of_total[:, None] * probability
        if not isinstance(of_probability.type, DisconnectedType):
            mean = (of_probability * probability).sum(axis=1, keepdims=True)
            back = back + probability * (of_probability - mean)
        return [back]

    @staticmethod
    def loop(logp, total, probability):  # type: ignore[no-untyped-def]
        """Pass over each item's states three times: for the highest, the sum, and the shares."""
        n_states = len(logp) // max(len(total), 1)
        for i in range(len(total)):
            begin = i * n_states
            top, best = -inf, 0
            for s in range(n_states):
                if logp[begin + s] > top:
                    top, best = logp[begin + s], s
            if top == -inf:
                for s in range(n_states):
                    top += logp[begin + s]  # still -inf, unless there is a nan
                    probability[begin + s] = 0.0
                total[i] = top
            else:
                weights = 0.0
                for s in range(n_states):
                    weight = 1.0
                    if s != best:
                        weight = exp(logp[begin + s] - top)
                    probability[begin + s] = weight
                    weights += weight
                total[i] = top + log(weights)
                for s in range(n_states):
                    probability[begin + s] /= weights

    @staticmethod
    def in_jax(logp: Any) -> Any:
        """Compute the same; the gradient does not go through the highest."""
        import jax.numpy as jnp
        from jax.lax import stop_gradient

        top = stop_gradient(logp.max(axis=1, keepdims=True, initial=-jnp.inf))  # (item, 1)
        possible = top > -jnp.inf
        weight = jnp.exp(logp - jnp.where(possible, top, 0))  # (item, state)
        total = jnp.where(possible, weight.sum(axis=1, keepdims=True), 1)  # (item, 1)
        return jnp.where(possible, jnp.log(total) + top, -jnp.inf)[:, 0], weight / total


add_rows, sum_out_states = AddRows(), SumOutStates()
