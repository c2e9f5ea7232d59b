"""The sum at the heart of every likelihood: each item's total over its annotations, and its gradient.

`total[i, s] = sum of table[annotator_n, response[kept_n], s] over the n with item_n = i` is linear in the table; `kept`
picks the annotations that count, as equal items count once. Written as gather and scatter it is most of what an
evaluation costs; as one loop, compiled by Numba, it runs about twice as fast, and with few states, where an item's
annotations follow one another, four times. The gradient is the same loop the other way round, so the two operations are
each other's pullback. JAX gets the plain gather and scatter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch import basic as numba_basic
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key

CODE_VERSION = 5  # part of the key under which compiled code is cached: raise it when a loop below changes
FEW_STATES = 3  # up to here a loop over annotations for each pair of states is faster than one over both


class SumByItem(Op):  # type: ignore[misc]  # PyTensor is not typed
    """(table (annotator, response, state), annotator, response, kept, item, n_items) -> (item, state)."""

    __props__ = ()

    def make_node(self, table: Any, annotator: Any, response: Any, kept: Any, item: Any, n_items: Any) -> Apply:
        """Check the inputs and name the output's type."""
        inputs = [pt.as_tensor(variable) for variable in (table, annotator, response, kept, item, n_items)]
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


class SpreadByItem(Op):  # type: ignore[misc]
    """(total (item, state), annotator, response, kept, item, n_annotators, n_responses) -> a table."""

    __props__ = ()

    def make_node(
        self, total: Any, annotator: Any, response: Any, kept: Any, item: Any, n_annotators: Any, n_responses: Any
    ) -> Apply:
        """Check the inputs and name the output's type."""
        given = (total, annotator, response, kept, item, n_annotators, n_responses)
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


sum_by_item = SumByItem()
spread_by_item = SpreadByItem()


def _add_rows(rows: np.ndarray, of: np.ndarray, n: int) -> np.ndarray:
    """Return the totals, shape (n, state), of rows (row, state); `of` says to which of them each row adds."""
    from scipy.sparse import csc_array

    ones, ends = np.ones(of.size, dtype=rows.dtype), np.arange(of.size + 1)  # a column per row, with one entry
    which = csc_array((ones, of, ends), shape=(n, of.size))
    total: np.ndarray = which @ rows
    return total


@register_funcify_default_op_cache_key(SumByItem)  # type: ignore[untyped-decorator]
def _sum_in_numba(op: SumByItem, node: Apply, **_: Any) -> Any:
    @numba_basic.numba_njit
    def sum_by_item_loop(table, annotator, response, kept, item, n_items):  # type: ignore[no-untyped-def]
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

    return sum_by_item_loop, CODE_VERSION


@register_funcify_default_op_cache_key(SpreadByItem)  # type: ignore[untyped-decorator]
def _spread_in_numba(op: SpreadByItem, node: Apply, **_: Any) -> Any:
    @numba_basic.numba_njit
    def spread_by_item_loop(total, annotator, response, kept, item, n_annotators, n_responses):  # type: ignore[no-untyped-def]
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

    return spread_by_item_loop, CODE_VERSION


def register_with_jax() -> None:
    """Register how JAX computes both; NumPyro and BlackJAX need that."""
    import jax.numpy as jnp
    from pytensor.link.jax.dispatch import jax_funcify

    @jax_funcify.register(SumByItem)  # type: ignore[untyped-decorator]
    def _sum_in_jax(op: SumByItem, **_: Any) -> Any:
        def total(table: Any, annotator: Any, response: Any, kept: Any, item: Any, n_items: Any) -> Any:
            return (
                jnp.zeros((n_items, table.shape[2]), dtype=table.dtype).at[item].add(table[annotator, response[kept]])
            )

        return total

    @jax_funcify.register(SpreadByItem)  # type: ignore[untyped-decorator]
    def _spread_in_jax(op: SpreadByItem, **_: Any) -> Any:
        def table(total: Any, annotator: Any, response: Any, kept: Any, item: Any, rows: Any, columns: Any) -> Any:
            zeros = jnp.zeros((rows, columns, total.shape[1]), dtype=total.dtype)
            return zeros.at[annotator, response[kept]].add(total[item])

        return table
