"""Who agrees with whom, item by item: the index arrays that model A's formula looks up.

The annotators of an item who give the same label form a block. The states of an item are its blocks (that block is
right, and its label the truth) and "none of those said".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesanno.ground.errors import DataError
from bayesanno.modeling.data_kinds import Arrays, IndexArray, Key, Per
from bayesanno.models._correctness.recurrence import find_recurrence

if TYPE_CHECKING:
    from bayesanno.data.annotations import AnnotationData
    from bayesanno.data.patterns import Layout

MOST = 8  # annotations of an item; the number of ways in which they can agree grows as fast as 2**MOST
THREE = ((2,), (0, 1), (0, 0, 0))  # the blocks that three annotations can form, by size less one

MIRRORED = (
    "with two labels, accuracies a and 1 - a explain the answers equally well, and only the prior tells them apart: "
    "where it does not rule out 1 - a, the posterior has two modes; known labels (controls) tell"
)


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
        `possible` (pattern, state): whether the state's label was said, 1 for "none of those said"; `blocks` (pattern,)
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
        "possible": IndexArray(possible, Per.PATTERN),
        "blocks": IndexArray(wrong[:, -1].copy(), Per.PATTERN),
        "wrong": IndexArray(wrong, Per.PATTERN),
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
    return {Key(role, dimension): array for role, array in arrays.items()}
