"""The two sums of every likelihood: of each item over its annotations, and over its states.

*Over annotations*: `total[i, s] = sum of table[annotator_n, response[kept_n], s] over the n with item_n = i` is linear
in the table; `kept` picks the annotations that count, as equal items count once. Written as gather and scatter it is
most of what an evaluation costs; as one loop, compiled by Numba, it runs about twice as fast, and with few states,
where an item's annotations follow one another, four times. The gradient is the same loop the other way round, so the
two operations are each other's pullback. JAX gets the plain gather and scatter.

*Over states*: `total[i] = log sum_s exp(logp[i, s])` and `probability[i, s] = exp(logp[i, s] - total[i])`. The second
is the gradient of the first, and the posterior of the states as well, so each exponential is computed once. PyTensor's
own logsumexp and its gradient take three times as long. A row of nothing but -inf has the total -inf and probabilities
0, never nan.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph import Apply

from bayesanno.ground.private.pytensor import LoopOp

FEW_STATES = 3  # up to here a loop over annotations for each pair of states is faster than one over both


class SumByItem(LoopOp):
    """(table (annotator, response, state), annotator, response, kept, item, n_items) -> (item, state)."""

    version = 5

    def make_node(self, *given: Any) -> Apply:
        """Check the inputs and name the output's type."""
        inputs = [pt.as_tensor(variable) for variable in given]
        if [variable.ndim for variable in inputs] != [3, 1, 1, 1, 1, 0]:
            raise TypeError("SumByItem takes a table of three dimensions, four vectors of indices and a number")
        inputs[5] = inputs[5].astype("int64")
        return Apply(self, inputs, [pt.matrix(dtype=inputs[0].dtype)])

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list[list[Any]]) -> None:
        """Compute with NumPy, where there is no Numba."""
        table, annotator, response, kept, item, n_items = inputs
        output_storage[0][0] = _add_rows(table[annotator, response[kept]], item, int(n_items))

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        """Return (n_items, n_states)."""
        return [(node.inputs[5], shapes[0][2])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Only the table has a gradient."""
        return [[True], *[[False]] * 5]

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Spread the gradient of each item's total over its annotations' cells."""
        table, *indices, _ = inputs
        spread = spread_by_item(cotangents[0], *indices, table.shape[0], table.shape[1])
        return [spread, *(disconnected_type() for _ in range(5))]

    @staticmethod
    def loop(table, annotator, response, kept, item, n_items):  # type: ignore[no-untyped-def]
        """Add up, annotation after annotation."""
        n_annotators, n_responses, n_states = table.shape
        cells = np.ascontiguousarray(table).reshape(n_annotators * n_responses * n_states)
        total = np.zeros(n_items.item() * n_states, dtype=table.dtype)
        if n_states > FEW_STATES:
            for n in range(item.shape[0]):
                # unsigned, so that Numba leaves out the test for indices counted from the end
                cell = np.uint64((annotator[n] * n_responses + response[np.uint64(kept[n])]) * n_states)
                place = np.uint64(item[n] * n_states)
                for s in range(np.uint64(n_states)):
                    total[place + s] += cells[cell + s]
            return total.reshape((n_items.item(), n_states))
        for first in range(0, n_states, 2):
            second = min(first + 1, n_states - 1)  # the last of an odd number is its own companion
            n = 0
            while n < item.shape[0]:
                here = item[n]  # whose annotations in a row are added up in registers
                one, other = np.uint64(here * n_states + first), np.uint64(here * n_states + second)
                sum_of_one, sum_of_other = total[one], total[other]
                while n < item.shape[0] and item[n] == here:
                    cell = (annotator[n] * n_responses + response[np.uint64(kept[n])]) * n_states
                    sum_of_one += cells[np.uint64(cell + first)]
                    sum_of_other += cells[np.uint64(cell + second)]
                    n += 1
                total[one], total[other] = sum_of_one, sum_of_other
        return total.reshape((n_items.item(), n_states))

    @staticmethod
    def in_jax(table: Any, annotator: Any, response: Any, kept: Any, item: Any, n_items: Any) -> Any:
        """Gather and scatter."""
        import jax.numpy as jnp

        return jnp.zeros((n_items, table.shape[2]), dtype=table.dtype).at[item].add(table[annotator, response[kept]])


class SpreadByItem(LoopOp):
    """(total (item, state), annotator, response, kept, item, n_annotators, n_responses) -> a table."""

    version = 5

    def make_node(self, *given: Any) -> Apply:
        """Check the inputs and name the output's type."""
        inputs = [pt.as_tensor(variable) for variable in given]
        if [variable.ndim for variable in inputs] != [2, 1, 1, 1, 1, 0, 0]:
            raise TypeError("SpreadByItem takes a matrix, four vectors of indices and two numbers")
        inputs[5:] = [number.astype("int64") for number in inputs[5:]]
        return Apply(self, inputs, [pt.tensor3(dtype=inputs[0].dtype)])

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list[list[Any]]) -> None:
        """Compute with NumPy, where there is no Numba."""
        total, annotator, response, kept, item, n_annotators, n_responses = inputs
        shape = (int(n_annotators), int(n_responses))
        cells = _add_rows(total[item], annotator * shape[1] + response[kept], shape[0] * shape[1])
        output_storage[0][0] = cells.reshape(*shape, total.shape[1])

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        """Return (n_annotators, n_responses, n_states)."""
        return [(node.inputs[5], node.inputs[6], shapes[0][1])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Only the totals have a gradient."""
        return [[True], *[[False]] * 6]

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Add up again."""
        total, *indices, _, _ = inputs
        back = sum_by_item(cotangents[0], *indices, total.shape[0])
        return [back, *(disconnected_type() for _ in range(6))]

    @staticmethod
    def loop(total, annotator, response, kept, item, n_annotators, n_responses):  # type: ignore[no-untyped-def]
        """Add up, annotation after annotation."""
        n_items, n_states = total.shape
        places = np.ascontiguousarray(total).reshape(n_items * n_states)
        rows, columns = n_annotators.item(), n_responses.item()
        table = np.zeros(rows * columns * n_states, dtype=total.dtype)
        if n_states > FEW_STATES:
            for n in range(item.shape[0]):
                cell = np.uint64((annotator[n] * columns + response[np.uint64(kept[n])]) * n_states)
                place = np.uint64(item[n] * n_states)
                for s in range(np.uint64(n_states)):
                    table[cell + s] += places[place + s]
            return table.reshape((rows, columns, n_states))
        for first in range(0, n_states, 2):
            second = min(first + 1, n_states - 1)
            n = 0
            while n < item.shape[0]:
                here = item[n]
                of_one = places[np.uint64(here * n_states + first)]
                of_other = places[np.uint64(here * n_states + second)]
                while n < item.shape[0] and item[n] == here:
                    cell = (annotator[n] * columns + response[np.uint64(kept[n])]) * n_states
                    one, other = np.uint64(cell + first), np.uint64(cell + second)
                    table[one], table[other] = table[one] + of_one, table[other] + of_other
                    n += 1
        return table.reshape((rows, columns, n_states))

    @staticmethod
    def in_jax(total: Any, annotator: Any, response: Any, kept: Any, item: Any, rows: Any, columns: Any) -> Any:
        """Gather and scatter."""
        import jax.numpy as jnp

        zeros = jnp.zeros((rows, columns, total.shape[1]), dtype=total.dtype)
        return zeros.at[annotator, response[kept]].add(total[item])


class SumOutStates(LoopOp):
    """logp (item, state) -> total (item,), probability (item, state)."""

    version = 1

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

    @staticmethod
    def loop(logp):  # type: ignore[no-untyped-def]
        """Go through each item's states three times: for the highest, the sum, and the shares."""
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

    @staticmethod
    def in_jax(logp: Any) -> Any:
        """Compute the same where the gradient does not go through the highest."""
        import jax.numpy as jnp
        from jax.lax import stop_gradient

        top = stop_gradient(logp.max(axis=1, keepdims=True, initial=-jnp.inf))  # (item, 1)
        possible = top > -jnp.inf
        weight = jnp.exp(logp - jnp.where(possible, top, 0))  # (item, state)
        total = jnp.where(possible, weight.sum(axis=1, keepdims=True), 1)  # (item, 1)
        return jnp.where(possible, jnp.log(total) + top, -jnp.inf)[:, 0], weight / total


sum_by_item, spread_by_item, sum_out_states = SumByItem(), SpreadByItem(), SumOutStates()


def _add_rows(rows: np.ndarray, of: np.ndarray, n: int) -> np.ndarray:
    """Return the totals, shape (n, state), of rows (row, state); `of` says to which of them each row adds."""
    from scipy.sparse import csc_array

    ones, ends = np.ones(of.size, dtype=rows.dtype), np.arange(of.size + 1)  # a column per row, with one entry
    which = csc_array((ones, of, ends), shape=(n, of.size))
    total: np.ndarray = which @ rows
    return total
