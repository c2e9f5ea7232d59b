"""Who agrees with whom, item by item: the index arrays that model A's formula reads, and its story told in NumPy.

The annotators of an item who say the same form a block. The states of an item are its blocks (that block is right, and
its label the truth) and "none of those said".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from bayesanno.ground.errors import DataError
from bayesanno.models._correctness.blocks import find_recurrence

if TYPE_CHECKING:
    from bayesanno.data.annotations import AnnotationData
    from bayesanno.data.patterns import Layout

NONE_SAID = "(none of those said)"
MOST = 8  # annotations of an item; the number of ways in which they can agree grows as fast as 2**MOST
TRIES = 100_000  # of an item whose true label is known, before its story is given up
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


def pattern_arrays(
    data: AnnotationData, layout: Layout, *, by_annotator: bool, unnormalised: bool = False
) -> dict[str, np.ndarray]:
    """Return what model A's formula looks up.

    Returns
    -------
    dict of arrays of int
        `pattern_possible` (pattern, state): whether the state's label was said, 1 for "none of those said";
        `pattern_blocks` (pattern,) and `pattern_wrong` (pattern, state): the state of the recurrence of all blocks, and
        of the blocks that are wrong in each state; `part`, `child`, `times`: that recurrence. `block_member`
        (block, MOST), where annotators draw differently: who is in each block, filled up with `n_annotators`.
        `coincide` (recurrence state, recurrence state), for unnormalised alphas: how they are made of sums.
    """
    n_states = data.n_labels + 1
    blocks_of: list[dict[int, tuple[int, ...]]] = [{} for _ in range(layout.n_patterns)]  # label -> its annotators
    said = data.label[layout.kept]
    for pattern, annotator, label in zip(layout.kept_pattern, data.annotator[layout.kept], said, strict=True):
        blocks_of[pattern][label] = (*blocks_of[pattern].get(label, ()), int(annotator))
    members = {block: code for code, block in enumerate(sorted({b for blocks in blocks_of for b in blocks.values()}))}

    def key(block: tuple[int, ...]) -> int:
        return members[block] if by_annotator else len(block) - 1

    keys = [{label: key(block) for label, block in blocks.items()} for blocks in blocks_of]
    occurring = [tuple(sorted(blocks.values())) for blocks in keys]
    recurrence = find_recurrence([*occurring, *(THREE if unnormalised else ())])
    possible = np.zeros((layout.n_patterns, n_states), dtype=np.int64)
    possible[:, -1] = 1
    possible[layout.kept_pattern, said] = 1
    wrong = np.zeros_like(possible)
    for pattern, blocks in enumerate(keys):
        wrong[pattern, -1] = recurrence.number[occurring[pattern]]
        for label in blocks:
            others = sorted(block for other, block in blocks.items() if other != label)
            wrong[pattern, label] = recurrence.number[tuple(others)]
    arrays = {
        "pattern_possible": possible,
        "pattern_blocks": wrong[:, -1].copy(),
        "pattern_wrong": wrong,
        "part": recurrence.part,
        "child": recurrence.child,
        "times": recurrence.times,
    }
    if by_annotator:
        arrays["block_member"] = np.full((len(members), MOST), data.n_annotators)
        for block, code in members.items():
            arrays["block_member"][code, : len(block)] = block
    if unnormalised:
        state, total = recurrence.number, np.eye(len(recurrence.number), dtype=np.int64)
        total[state[0,], :] = total[0]  # a wrong annotator alone coincides with nobody,
        total[state[1,], :] = total[0] - total[state[0, 0]]  # two do so if they do not differ,
        total[state[2,], :] = total[0] - 3 * total[state[0, 1]] - total[state[0, 0, 0]]  # three if no one differs
        arrays["coincide"] = total
    return arrays


# ------------------------------------------------------------------------------------------------------- the story


@dataclass(frozen=True)
class Story:
    """Model A told outright, without a formula for how probable anything is.

    Called with the probability that each annotation is right, frequency (annotator, label), truth (label,), the
    annotator and item of each annotation, and the known label of each item (-1: none), it returns the items' states,
    then what was said.
    """

    alpha: Literal["normalised", "unnormalised"] = "normalised"

    def __call__(
        self,
        theta: np.ndarray,
        frequency: np.ndarray,
        truth: np.ndarray,
        annotator: np.ndarray,
        item: np.ndarray,
        control: np.ndarray,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Tell the story of every item; shapes (item,) and (annotation,)."""
        n_labels = truth.size
        state = np.full(control.size, n_labels)  # (item,), nobody said anything yet
        said = np.zeros(annotator.size, dtype=np.int64)  # (annotation,)
        order = np.argsort(item, kind="stable")
        n_answers = np.bincount(item, minlength=control.size)
        begin = np.concatenate([[0], np.cumsum(n_answers)[:-1]])
        for k in sorted(set(n_answers[n_answers > 0].tolist())):
            pending = np.flatnonzero(n_answers == k)
            for _ in range(TRIES):
                place = order[begin[pending][:, None] + np.arange(k)]  # (item, slot), where its annotations are
                state[pending], said[place] = self.tell(theta[place], frequency[annotator[place]], truth, rng)
                known = control[pending]
                label = _name_truth(state[pending], said[place], truth, rng)
                pending = pending[(known >= 0) & (known != label)]  # told again until the truth is the known one
                if not pending.size:
                    break
            else:
                raise DataError(f"a known label is so improbable that {TRIES} stories had another truth")
        return state, said

    def tell(
        self, theta: np.ndarray, omega: np.ndarray, truth: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Tell items with the same number of annotations: theta (item, slot), omega (item, slot, label)."""
        n_items, k, n_labels = omega.shape
        psi = _draw(np.tile(truth, (n_items, 1, 1)), rng)[:, 0]  # (item,)
        right = rng.uniform(size=(n_items, k)) < theta  # (item, slot)
        true = np.arange(n_labels) == psi[:, None, None]  # (item, 1, label)
        if self.alpha == "normalised":
            ghost = _draw(np.where(true, 0.0, omega), rng)  # (item, slot)
        else:
            ghost = _draw(omega, rng)
            together = ((ghost == psi[:, None]) & ~right).any(axis=1) | ((~right).sum(axis=1) == 1)
            ghost = np.where(together[:, None], n_labels, ghost)
        ghost = np.where(right, psi[:, None], ghost)
        block = (ghost[:, :, None] == ghost[:, None, :]).argmax(axis=2)  # (item, slot), named after its first member
        label = draw_distinct(_block_weights(block, omega), rng)  # (item, block)
        said = np.take_along_axis(label, block, axis=1)  # (item, slot)
        first_right = np.take_along_axis(said, right.argmax(axis=1)[:, None], axis=1)[:, 0]
        return np.where(right.any(axis=1), first_right, n_labels), said


def _name_truth(state: np.ndarray, said: np.ndarray, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Name the true label of each item; where nobody said it, one of the others in proportion to their frequency."""
    unsaid = np.where((said[:, :, None] == np.arange(truth.size)).any(axis=1), 0.0, truth)  # (item, label)
    if not unsaid.size:
        return state
    return np.where(state < truth.size, state, _draw(unsaid[:, None, :], rng)[:, 0])


def _draw(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a label per row of weights (item, slot, label), which need not sum to one."""
    below = weights.cumsum(axis=2)
    u = rng.uniform(size=(*weights.shape[:2], 1)) * below[:, :, -1:]
    label: np.ndarray = np.minimum((u >= below).sum(axis=2), weights.shape[2] - 1)
    return label


def _block_weights(block: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Multiply the frequencies of each block's members: (item, block, label); 0 where there is no such block."""
    n_items, k, n_labels = omega.shape
    weights = np.zeros((n_items, k, n_labels))
    for name in range(k):
        member = block == name  # (item, slot)
        product = np.where(member[:, :, None], omega, 1.0).prod(axis=1)
        weights[:, name] = np.where(member.any(axis=1)[:, None], product, 0.0)
    return weights


def draw_distinct(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw different labels for an item's blocks, with probability proportional to the product of their weights.

    The recurrence of `bayesanno.models._correctness.blocks` is run forwards, over sets of blocks, and walked back from the last label:
    nothing is drawn that would have to be rejected.

    Parameters
    ----------
    weights : array, shape (item, block, label)
        A block that does not exist has weight 0 everywhere.

    Returns
    -------
    array of int, shape (item, block)
    """
    n_items, k, n_labels = weights.shape
    sets = np.arange(2**k)
    with_block = [np.flatnonzero(sets >> block & 1) for block in range(k)]
    sums = np.zeros((n_labels + 1, n_items, sets.size))  # (labels used, item, set of blocks)
    sums[0, :, 0] = 1.0
    for label in range(n_labels):
        sums[label + 1] = sums[label]
        for block, members in enumerate(with_block):
            sums[label + 1][:, members] += weights[:, block, label, None] * sums[label][:, members ^ (1 << block)]
    rows = np.arange(n_items)
    left = ((weights > 0).any(axis=2) << np.arange(k)).sum(axis=1)  # (item,), the set of all its blocks
    label_of = np.zeros((n_items, k), dtype=np.int64)  # (item, block)
    for label in range(n_labels - 1, -1, -1):
        choices = np.zeros((n_items, 1, k + 1))  # nobody gets this label, or one of the blocks that are left
        choices[:, 0, 0] = sums[label][rows, left]
        for block in range(k):
            has = left >> block & 1
            choices[:, 0, block + 1] = has * weights[:, block, label] * sums[label][rows, left & ~(1 << block)]
        chosen = _draw(choices, rng)[:, 0] - 1  # (item,), -1 for nobody
        taken = np.flatnonzero(chosen >= 0)
        label_of[taken, chosen[taken]] = label
        left[taken] &= ~(1 << chosen[taken])
    return label_of
