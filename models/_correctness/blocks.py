"""Who agrees with whom, item by item: the index arrays that model A's formula looks up.

The annotators of an item who give the same label form a block. The states of an item are its blocks (that block is
right, and its label the truth) and "none of these". How probable it is that those who agree draw one label, and no
two groups the same, is a sum over distinct labels. For blocks b with weights w_b[x] (the probability that
all of b draw label x) the sum over ordered distinct labels

    D = sum over x_1, ..., x_B, all different, of prod_b w_b[x_b]

follows a recurrence over the labels that only adds and multiplies what is not negative, and so loses no digits:

    D_S(1..l) = D_S(1..l-1) + sum over b in S of w_b[l] D_{S without b}(1..l-1),      D_{}(...) = 1

Blocks of one kind have the same weights, so S is a multiset of kinds, and blocks of one kind are one term, taken as
often as they occur. The kind of a block is its size where all annotators draw alike, else who is in it. A `Recurrence`
lists the states S that occur, closed under leaving a block out; `distinct_sums` runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bayesanno._core.messages import DataError
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.patterns import Layout
from bayesanno.modeling.kinds.base import ArrayName, Arrays, Axis, IndexArray

type Kinds = tuple[int, ...]

MOST = 8  # annotations of an item; the number of ways in which they can agree grows as fast as 2**MOST
THREE = ((2,), (0, 1), (0, 0, 0))  # the blocks that three annotations can form, by size less one


def check_blocks(name: str, data: AnnotationData, *, exactly_three: bool = False) -> None:
    """Raise a DataError if an item has more annotations than can be summed over, or not the three it must have."""
    n_answers = np.bincount(data.item, minlength=data.n_items)  # (item,)
    wrong = (n_answers != 3) & (n_answers > 0) if exactly_three else n_answers > MOST
    if wrong.any():
        item = int(np.argmax(wrong))
        limit = "three (or none) with alpha='unnormalised'" if exactly_three else f"at most {MOST}"
        raise DataError(
            f"{name}: item {data.items[item]!r} has {n_answers[item]} annotations: it can have {limit}; leave some "
            "out, or take model_b"
        )


def block_arrays(
    name: str,
    data: AnnotationData,
    layout: Layout,
    dimension: str = "",
    *,
    by_annotator: bool,
    unnormalised: bool = False,
) -> Arrays:
    """Return what model A's formula looks up, of a table of annotations or of one dimension of several.

    Raises
    ------
    DataError
        As from `check_blocks`; `name` is that of the model.

    Returns
    -------
    Arrays of int
        `possible` (pattern, state): whether the state's label was said, 1 for "none of these"; `blocks` (pattern,)
        and `wrong` (pattern, state): the state of the recurrence of all blocks, and of the blocks that are wrong in
        each state; `part`, `child`, `times`: that recurrence. `block_member`
        (block, MOST), where annotators draw differently: who is in each block, filled up with `n_annotators`.
        `coincide` (recurrence state, recurrence state), for unnormalised alphas: how they are made of sums.
    """
    check_blocks(name, data, exactly_three=unnormalised)
    n_states = data.n_labels + 1
    blocks_of: list[dict[int, tuple[int, ...]]] = [{} for _ in range(layout.n_patterns)]  # label -> its annotators
    label_of = data.label[layout.kept]  # (kept,)
    for pattern, annotator, label in zip(layout.kept_pattern, data.annotator[layout.kept], label_of, strict=True):
        blocks_of[pattern][label] = (*blocks_of[pattern].get(label, ()), int(annotator))
    members = {block: code for code, block in enumerate(sorted({b for blocks in blocks_of for b in blocks.values()}))}

    def key(block: tuple[int, ...]) -> int:
        return members[block] if by_annotator else len(block) - 1

    keys = [{label: key(block) for label, block in blocks.items()} for blocks in blocks_of]
    occurring = [tuple(sorted(blocks.values())) for blocks in keys]
    recurrence = find_recurrence([*occurring, *(THREE if unnormalised else ())])
    possible = np.zeros((layout.n_patterns, n_states), dtype=np.int64)
    possible[:, -1] = 1
    possible[layout.kept_pattern, label_of] = 1
    wrong = np.zeros_like(possible)
    for pattern, blocks in enumerate(keys):
        wrong[pattern, -1] = recurrence.number[occurring[pattern]]
        for label in blocks:
            others = sorted(block for other, block in blocks.items() if other != label)
            wrong[pattern, label] = recurrence.number[tuple(others)]
    arrays = {
        "possible": IndexArray(possible, Axis.PATTERN),
        "blocks": IndexArray(wrong[:, -1].copy(), Axis.PATTERN),
        "wrong": IndexArray(wrong, Axis.PATTERN),
        "part": IndexArray(recurrence.part),
        "child": IndexArray(recurrence.child),
        "times": IndexArray(recurrence.times),
    }
    if by_annotator:
        member = np.full((len(members), MOST), data.n_annotators)
        for block, code in members.items():
            member[code, : len(block)] = block
        arrays["block_member"] = IndexArray(member)
    if unnormalised:
        state, total = recurrence.number, np.eye(len(recurrence.number), dtype=np.int64)
        total[state[0,], :] = total[0]  # a wrong annotator alone coincides with nobody,
        total[state[1,], :] = total[0] - total[state[0, 0]]  # two do so if they do not differ,
        total[state[2,], :] = total[0] - 3 * total[state[0, 1]] - total[state[0, 0, 0]]  # three if no one differs
        arrays["coincide"] = IndexArray(total)
    return {ArrayName(role, dimension): array for role, array in arrays.items()}


def pooled_shares(data: AnnotationData) -> np.ndarray:
    """Return the share of each label among all annotations, (response,), for omega.

    Raises
    ------
    DataError
        If all annotations have the same label.
    """
    shares = np.bincount(data.label, minlength=data.n_labels) / data.n_annotations
    if (shares > 0).sum() < 2:
        raise DataError(
            f"every annotation says {data.labels[int(shares.argmax())]!r}: with frequency='empirical' nobody could be "
            "wrong; learn the frequencies (frequency='shared'), or leave these items out"
        )
    return shares


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
    >>> from bayesanno.models._correctness.blocks import find_recurrence
    >>> list(find_recurrence([(1, 2)]).number)
    [(), (1,), (2,), (1, 2)]
    """
    states = {()} | {
        tuple(sorted(part)) for kinds in occurring for n in range(len(kinds) + 1) for part in combinations(kinds, n)
    }
    number = {state: code for code, state in enumerate(sorted(states, key=lambda state: (len(state), state)))}
    widest = max(1, *(len(set(state)) for state in states))
    part, child, times = np.zeros((3, len(number), widest), dtype=np.int64)
    for state, row in number.items():
        for term, kind in enumerate(sorted(set(state))):
            left = list(state)
            left.remove(kind)
            part[row, term], child[row, term], times[row, term] = kind, number[tuple(left)], state.count(kind)
    return Recurrence(number, part, child, times)
