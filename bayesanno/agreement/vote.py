"""Votes: the majority, against which every model is measured; which items annotators answered together."""

from __future__ import annotations

import numpy as np

from bayesanno.agreement.alpha import divide
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.described import require_kind
from bayesanno.ground.errors import DataError
from bayesanno.ground.lazy import pd


def majority_vote(data: AnnotationData) -> pd.DataFrame:
    """Return the label that most annotators gave to each item: the baseline of every model.

    An answer that is unsure is no vote. A known label (a control) replaces the vote. The rule for ties: labels that an
    item got equally often share the vote evenly, so that a tie of two is half right if one of them is true; a coin toss
    gives the same, and papers report it. Where one label must be named, it is the tied label that is most frequent over
    all items; if that is tied too, the first.

    Parameters
    ----------
    data : AnnotationData

    Returns
    -------
    pandas.DataFrame
        One row per item, in the data's order: `item`, `label`, `share` (of the item's votes, for that label; nan where
        it has none), `n_annotations` (votes), `tied` (whether other labels got as many), and, where any true label is
        known, `gold` and `right`: 1 or 0, for a tie the share that is right, nan where the truth is not known. The mean
        of `right` is the accuracy of the vote.

    Raises
    ------
    DataError
        If these are no annotations.

    Examples
    --------
    >>> import bayesanno as ba
    >>> table = ba.majority_vote(ba.read_annotations("@crowd"))
    >>> round(float(table["right"].mean()), 3), int(table["tied"].sum())
    (0.907, 28)
    """
    require_kind(data, AnnotationData, "majority_vote")
    votes, probability = data.votes[:, data.class_codes], split_vote(data)  # (item, true_class)
    overall = np.argsort(-votes.sum(axis=0), kind="stable")  # (true_class,), the most frequent first
    code = overall[probability[:, overall].argmax(axis=1)]
    table = pd.DataFrame({"item": list(data.items), "label": [data.classes[each] for each in code]}, dtype="str")
    table["share"] = divide(votes[np.arange(code.size), code], votes.sum(axis=1))
    table["n_annotations"] = votes.sum(axis=1).astype(int)
    table["tied"] = probability.max(axis=1) < 1
    if data.gold:
        table["gold"] = pd.Series([data.gold.get(item, "") for item in data.items], dtype="str")
        table["right"] = vote_right(data)
    return table


def vote_right(data: AnnotationData) -> np.ndarray:
    """Return how probably the majority vote is right, nan where the truth is not known; shape (item,)."""
    right = split_vote(data)[np.arange(data.n_items), data.gold_codes]
    return np.where(data.gold_codes >= 0, right, np.nan)


def split_vote(data: AnnotationData) -> np.ndarray:
    """Return the probability of each class under the majority vote, a tie being split; shape (item, true_class).

    A known label (a control) replaces the vote. An answer that is unsure is no vote. For an item without votes all
    classes are equally likely.

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.agreement.vote import split_vote
    >>> said = [("s1", "ada", "yes"), ("s1", "bo", "no"), ("s2", "ada", "no"), ("s2", "bo", "no")]
    >>> split_vote(AnnotationData.from_records(said)).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    votes = data.votes[:, data.class_codes]  # (item, true_class)
    most = votes == votes.max(axis=1, keepdims=True)
    by_vote = most / most.sum(axis=1, keepdims=True)
    return np.where(data.control_codes[:, None] >= 0, np.eye(data.n_classes)[data.control_codes], by_vote)


def require_sure(data: AnnotationData, who: str) -> AnnotationData:
    """Return annotations without answers that are unsure, or raise a DataError that says `who` needs annotations."""
    require_kind(data, AnnotationData, who)
    return data.without_unsure()


def require_shared(data: AnnotationData, who: str) -> AnnotationData:
    """Return annotations as `require_sure` does, or raise a DataError if no item has two of them."""
    sure = require_sure(data, who)
    shared_items(sure.votes)
    return sure


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
    return (votes > 0).sum(axis=1) >= 2
