"""Where chains start: what several models take from the majority vote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesanno.modeling.expectation import count_votes, make_blocks

if TYPE_CHECKING:
    from bayesanno.data.annotations import AnnotationData
    from bayesanno.modeling.expectation import Votes


def votes_of(data: AnnotationData) -> Votes:
    """Return what the majority vote adds up to over the items of a table."""
    items = make_blocks(data)
    return items.add_up(count_votes, items.names_class)


def agreement_with_vote(data: AnnotationData) -> tuple[np.ndarray, np.ndarray]:
    """Return how much of the vote each annotator had with them, added up, and of how many annotations.

    An annotation counts as the share of its item's annotations that give the same label, itself included.

    Returns
    -------
    array, array of int, shape (annotator,)
    """
    share = data.vote_shares[data.item, data.label]  # (annotation,)
    n_annotations = np.bincount(data.annotator, minlength=data.n_annotators)
    return np.bincount(data.annotator, weights=share, minlength=data.n_annotators), n_annotations


def in_proportion(weights: np.ndarray) -> np.ndarray:
    """Divide by the sum over the last axis, so that it becomes 1."""
    shares: np.ndarray = weights / weights.sum(axis=-1, keepdims=True)
    return shares
