"""Sums over distinct labels: how probable it is that those who agree draw one label, and no two groups the same.

The annotators of an item who give the same label form a block. For blocks b with weights w_b[x] (the probability that
all of b draw label x) the sum over ordered distinct labels

    D = sum over x_1, ..., x_B, all different, of prod_b w_b[x_b]

follows a recurrence over the labels that only adds and multiplies what is not negative, and so loses no digits:

    D_S(1..l) = D_S(1..l-1) + sum over b in S of w_b[l] D_{S without b}(1..l-1),      D_{}(...) = 1

Blocks of one kind have the same weights, so S is a multiset of kinds, and blocks of one kind are one term, taken as
often as they occur. The kind of a block is its size where all annotators draw alike, else who is in it. A `Recurrence`
lists the states S that occur, closed under leaving a block out; `distinct_sums` runs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from bayesanno.ground.lazy import pt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytensor.tensor.variable import TensorVariable

    Kinds = tuple[int, ...]


@dataclass(frozen=True)
class Recurrence:
    """The states of a recurrence; state 0 has no block.

    Attributes
    ----------
    number : mapping of tuple of ints to int
        The states, numbered so that leaving a block out leads to a smaller number.
    part, child, times : array, shape (state, term)
        Each term of the recurrence: the row of the weights, the state that is left, and how often it is taken (0 fills
        up).
    """

    number: Mapping[tuple[int, ...], int]
    part: np.ndarray
    child: np.ndarray
    times: np.ndarray


def find_recurrence(occurring: Iterable[Kinds]) -> Recurrence:
    """Return the recurrence over these multisets of kinds of blocks, and over whatever leaving blocks out leads to.

    Parameters
    ----------
    occurring : iterable of tuples of int
        The kinds of the blocks of an item: rows of the weights.

    Examples
    --------
    >>> from bayesanno.models._correctness.recurrence import find_recurrence
    >>> list(find_recurrence([(1, 2)]).number)
    [(), (1,), (2,), (1, 2)]
    """
    states = {()} | {
        tuple(sorted(part)) for kinds in occurring for n in range(len(kinds) + 1) for part in combinations(kinds, n)
    }
    number = {state: code for code, state in enumerate(sorted(states, key=lambda state: (len(state), state)))}
    terms = [
        [(kind, number[_without(state, kind)], state.count(kind)) for kind in sorted(set(state))] for state in number
    ]
    return _pack(number, terms)


def _without(kinds: Kinds, kind: int) -> Kinds:
    left = list(kinds)
    left.remove(kind)
    return tuple(left)


def _pack(number: Mapping[tuple[int, ...], int], terms: Sequence[Sequence[tuple[int, int, int]]]) -> Recurrence:
    widest = max(1, *(len(row) for row in terms))
    packed = np.zeros((len(terms), widest, 3), dtype=np.int64)  # (state, term, [part, child, times])
    for state, row in enumerate(terms):
        packed[state, : len(row)] = np.array(row).reshape(len(row), 3)
    part, child, times = (np.ascontiguousarray(packed[:, :, column]) for column in range(3))
    return Recurrence(number, part, child, times)


def distinct_sums(
    weights: TensorVariable, part: TensorVariable, child: TensorVariable, times: TensorVariable, n_labels: int
) -> TensorVariable:
    """Run a recurrence over the labels.

    Parameters
    ----------
    weights : TensorVariable, shape (kind, row, label)
        The weight of each kind of block at each label, for several rows of frequencies at once.
    part, child, times : TensorVariable of int, shape (state, term)
        A `Recurrence`.
    n_labels : int

    Returns
    -------
    TensorVariable, shape (state, row)
    """
    n_states, n_rows = part.shape[0], weights.shape[1]
    added = times.flatten()[:, None, None] * weights[part.flatten()]  # (state x term, row, label)
    at_start = pt.eq(pt.arange(n_states), 0).astype(weights.dtype)  # (state,), state 0 has no block
    total = at_start[:, None] * pt.ones((1, n_rows))  # (state, row)
    for label in range(n_labels):
        more = added[:, :, label] * total[child.flatten()]  # (state x term, row)
        total = total + more.reshape((n_states, part.shape[1], n_rows)).sum(axis=1)
    return total
