"""Dimensions annotated together: who shares items, and the story of correlated correctness, in NumPy."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.ground.errors import DataError
from bayesanno.models._correctness.agreement_patterns import Story, check_blocks

if TYPE_CHECKING:
    from bayesanno.data.annotations import AnnotationData
    from bayesanno.data.dimensions import MultiAnnotationData


def check_dimension(model: str, name: str, data: AnnotationData) -> None:
    """Raise a DataError if a dimension has repeats, controls or too many annotations of an item."""
    check_blocks(f"{model}, dimension {name!r}", data)
    if data.controls:
        raise DataError(f"{model}, dimension {name!r}: known labels cannot be used as controls: take model_a, or gold")
    pairs, counts = np.unique(np.stack([data.item, data.annotator]), axis=1, return_counts=True)
    if counts.max() > 1:
        item, annotator = pairs[:, counts.argmax()]
        raise DataError(
            f"{model}, dimension {name!r}: annotator {data.annotators[annotator]!r} answered item {data.items[item]!r} "
            f"{counts.max()} times: keep one answer, as it cannot be told which goes with which in other dimensions"
        )


def maximal_sets(data: MultiAnnotationData) -> np.ndarray:
    """Return the sets of annotators who share an item, those within others left out; 0 or 1, (set, annotator)."""
    shared: dict[int, set[int]] = {}
    for part in data.by_dimension.values():
        for item, annotator in zip(part.item.tolist(), part.annotator.tolist(), strict=True):
            shared.setdefault(item, set()).add(annotator)
    maximal: list[frozenset[int]] = []
    for one in sorted(set(map(frozenset, shared.values())), key=lambda members: (-len(members), sorted(members))):
        if not any(one <= other for other in maximal):
            maximal.append(one)
    sets = np.zeros((len(maximal), data.n_annotators))
    for row, members in enumerate(maximal):
        sets[row, list(members)] = 1.0
    return sets


def draw_correct(accuracy: np.ndarray, rho: np.ndarray, present: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw who is right in which dimension of each item, by eq. 21-28 of the card of `model_a_multi`.

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


def tell_together(accuracy: np.ndarray, rho: np.ndarray, *arrays_and_rng: Any) -> tuple[np.ndarray, np.ndarray]:
    """Tell the story of `model_a_multi`: who is right, then each dimension as in `model_a`.

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
    told = [
        Story()(
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
    return np.concatenate([state for state, _ in told]), np.concatenate([said for _, said in told])
