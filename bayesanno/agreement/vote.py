"""Votes: the majority, ties split, against which every model is measured; which items two annotators answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesanno.ground.errors import DataError

if TYPE_CHECKING:
    from bayesanno.data.annotations import AnnotationData


def split_vote(data: AnnotationData) -> np.ndarray:
    """Return the probability of each label under the majority vote, a tie being split at random.

    A known label (a control) is taken for what it is. An answer that is unsure is no vote. Of an item that has none
    every class is as likely.

    Returns
    -------
    array, shape (item, true_class)

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.agreement.vote import split_vote
    >>> said = [("s1", "ada", "yes"), ("s1", "bo", "no"), ("s2", "ada", "no"), ("s2", "bo", "no")]
    >>> split_vote(AnnotationData.from_records(said)).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    votes = data.class_shares  # (item, true_class)
    most = (votes == votes.max(axis=1, keepdims=True)).astype(float)
    known = np.flatnonzero(data.control_codes >= 0)
    most[known] = 0.0
    most[known, data.control_codes[known]] = 1.0
    shares: np.ndarray = most / most.sum(axis=1, keepdims=True)
    return shares


def shared_items(votes: np.ndarray) -> np.ndarray:
    """Return which items have two annotations or more, shape (item,), from votes of shape (item, label).

    Raises
    ------
    DataError
        If there is none.
    """
    shared: np.ndarray = votes.sum(axis=1) >= 2
    if not shared.any():
        raise DataError("no item has two annotations: agreement is between at least two")
    return shared


def disagreed_items(votes: np.ndarray) -> np.ndarray:
    """Return which items have two labels or more, shape (item,), from votes of shape (item, label)."""
    differ: np.ndarray = (votes > 0).sum(axis=1) >= 2
    return differ
