"""The generative process of model A and its relatives, in NumPy: who is right, and what everybody then says."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from bayesanno._core.messages import DataError
from bayesanno.modeling.posterior import draw_codes

TRIES = 100_000  # of an item whose true label is known, before its simulation is given up


@dataclass(frozen=True)
class Process:
    """Model A simulated outright, without a formula for how probable anything is.

    Called with the probability that each annotation is right, frequency (annotator, label), truth (label,), the
    annotator and item of each annotation, and the known label of each item (-1: none), it returns the items' states,
    then the responses.
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
        """Simulate every item; shapes (item,) and (annotation,)."""
        n_labels = truth.size
        state = np.full(control.size, n_labels)  # (item,), nobody has labelled anything yet
        response = np.zeros(annotator.size, dtype=np.int64)  # (annotation,)
        order = np.argsort(item, kind="stable")
        n_answers = np.bincount(item, minlength=control.size)
        begin = np.concatenate([[0], np.cumsum(n_answers)[:-1]])
        for k in sorted(set(n_answers[n_answers > 0].tolist())):
            pending = np.flatnonzero(n_answers == k)
            for _ in range(TRIES):
                place = order[begin[pending][:, None] + np.arange(k)]  # (item, slot), where its annotations are
                state[pending], response[place] = self.simulate(theta[place], frequency[annotator[place]], truth, rng)
                known = control[pending]
                label = _name_truth(state[pending], response[place], truth, rng)
                pending = pending[(known >= 0) & (known != label)]  # simulated again until the truth is the known one
                if not pending.size:
                    break
            else:
                raise DataError(f"a known label is so improbable that {TRIES} simulations had another truth")
        return state, response

    def simulate(
        self, theta: np.ndarray, omega: np.ndarray, truth: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Simulate items with the same number of annotations: theta (item, slot), omega (item, slot, label)."""
        n_items, k, n_labels = omega.shape
        psi = draw_codes(np.tile(truth, (n_items, 1, 1)), rng)[:, 0]  # (item,)
        right = rng.uniform(size=(n_items, k)) < theta  # (item, slot)
        true = np.arange(n_labels) == psi[:, None, None]  # (item, 1, label)
        if self.alpha == "normalised":
            ghost = draw_codes(np.where(true, 0.0, omega), rng)  # (item, slot)
        else:
            ghost = draw_codes(omega, rng)
            together = ((ghost == psi[:, None]) & ~right).any(axis=1) | ((~right).sum(axis=1) == 1)
            ghost = np.where(together[:, None], n_labels, ghost)
        ghost = np.where(right, psi[:, None], ghost)
        block = (ghost[:, :, None] == ghost[:, None, :]).argmax(axis=2)  # (item, slot), named after its first member
        label = draw_distinct(_block_weights(block, omega), rng)  # (item, block)
        response = np.take_along_axis(label, block, axis=1)  # (item, slot)
        first_right = np.take_along_axis(response, right.argmax(axis=1)[:, None], axis=1)[:, 0]
        return np.where(right.any(axis=1), first_right, n_labels), response


def _name_truth(state: np.ndarray, response: np.ndarray, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Name the true label of each item; where nobody named it, one of the others in proportion to their frequency."""
    unsaid = np.where((response[:, :, None] == np.arange(truth.size)).any(axis=1), 0.0, truth)  # (item, label)
    if not unsaid.size:
        return state
    return np.where(state < truth.size, state, draw_codes(unsaid[:, None, :], rng)[:, 0])


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

    The recurrence of `find_recurrence` is run forwards, over sets of blocks, and walked back from the last label:
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
        chosen = draw_codes(choices, rng)[:, 0] - 1  # (item,), -1 for nobody
        taken = np.flatnonzero(chosen >= 0)
        label_of[taken, chosen[taken]] = label
        left[taken] &= ~(1 << chosen[taken])
    return label_of


def draw_correct(accuracy: np.ndarray, rho: np.ndarray, present: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw who is right in which dimension of each item, by eq. 21 to 28 of the supplement to Rzhetsky et al. (2009).

    One Bernoulli after the other: given what was drawn before, the law of the next is linear in its u.

    Parameters
    ----------
    accuracy : array, shape (annotator, dimension)
    rho : array, shape (dimension_pair,)
        Admissible for these accuracies.
    present : array of bool, shape (item, annotator, dimension)
        Who answers what.

    Returns
    -------
    array of bool, shape (item, annotator, dimension)
    """
    n_items, n_annotators, n_dimensions = present.shape
    pairs = dict(zip(combinations(range(n_dimensions), 2), rho.tolist(), strict=True))
    with np.errstate(divide="ignore"):
        if_right, if_wrong = np.sqrt((1 - accuracy) / accuracy), -np.sqrt(accuracy / (1 - accuracy))
    u = np.zeros(present.shape)
    right = np.zeros(present.shape, dtype=bool)
    so_far = np.ones(n_items)  # Xi of what was drawn
    for x in range(n_dimensions):
        for who in range(n_annotators):
            pull = sum((pairs[y, x] * u[:, who, y] for y in range(x)), np.zeros(n_items))
            uncertain = 0 < accuracy[who, x] < 1
            tilt = 1 + (if_right[who, x] * pull / so_far if uncertain else 0.0)
            right[:, who, x] = rng.uniform(size=n_items) < accuracy[who, x] * tilt
            if uncertain:
                drawn = np.where(right[:, who, x], if_right[who, x], if_wrong[who, x])
                u[:, who, x] = np.where(present[:, who, x], drawn, 0.0)
                so_far = so_far + u[:, who, x] * pull
    return right


def generate_together(accuracy: np.ndarray, rho: np.ndarray, *arrays_and_rng: Any) -> tuple[np.ndarray, np.ndarray]:
    """Simulate several dimensions: who is right, then each dimension as in `model_a`.

    After accuracy and correlation come each dimension's frequency, annotators and items, then a vector with one entry
    per item, and the generator. States and answers are those of one dimension after the other.
    """
    *arrays, items, rng = arrays_and_rng
    each = [arrays[begin : begin + 3] for begin in range(0, len(arrays), 3)]
    n_items = np.shape(items)[0]
    present = np.zeros((n_items, *accuracy.shape), dtype=bool)  # (item, annotator, dimension)
    for x, (_, annotator, item) in enumerate(each):
        present[item, annotator, x] = True
    right = draw_correct(accuracy, rho, present, rng)
    unknown = np.full(n_items, -1)
    drawn = [
        Process()(
            right[item, annotator, x].astype(float),
            np.tile(frequency, (accuracy.shape[0], 1)),
            frequency,
            annotator,
            item,
            unknown,
            rng,
        )
        for x, (frequency, annotator, item) in enumerate(each)
    ]
    return np.concatenate([state for state, _ in drawn]), np.concatenate([response for _, response in drawn])
