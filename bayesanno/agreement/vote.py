"""Votes: the majority vote, the baseline for every model; items that several annotators answered."""

from __future__ import annotations

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError
from bayesanno.data.annotations import AnnotationData, take_rows
from bayesanno.data.described import require_kind
from bayesanno.data.labelled import ANYONE, divide


def majority_vote(data: AnnotationData) -> pd.DataFrame:
    """Return the label that most annotators gave to each item: the baseline for every model.

    "Unsure" answers are not votes. A known label (a control) replaces the vote. Tied labels share the vote evenly, so a
    tie of two counts as half right if one of them is true. The column `label` has the tied label that is most frequent
    over all items, or else the first.

    Parameters
    ----------
    data : AnnotationData

    Returns
    -------
    pandas.DataFrame
        One row per item: `item`; `label`; `share` of the item's votes (nan without votes); `n_annotations`, the votes;
        `tied`; and, if any true label is known, `gold` and `right`: 1, 0, a fraction for ties, or nan.

    Raises
    ------
    DataError
        If the data are not annotations.

    Examples
    --------
    >>> import bayesanno as ba
    >>> table = ba.majority_vote(ba.read_annotations("@crowd"))
    >>> round(float(table["right"].mean()), 3), int(table["tied"].sum())
    (0.907, 28)
    """
    require_kind(data, AnnotationData, "majority_vote")
    votes, probability = data.votes[:, data.class_codes], split_vote(data)  # (item, true_class)
    code = choose_votes(probability, votes.sum(axis=0))
    table = pd.DataFrame({"item": list(data.items), "label": [data.classes[each] for each in code]}, dtype="str")
    table["share"] = divide(votes[np.arange(code.size), code], votes.sum(axis=1))
    table["n_annotations"] = votes.sum(axis=1).astype(int)
    table["tied"] = probability.max(axis=1) < 1
    if data.gold:
        table["gold"] = pd.Series([data.gold.get(item, "") for item in data.items], dtype="str")
        table["right"] = vote_right(data)
    return table


def choose_votes(probability: np.ndarray, frequency: np.ndarray) -> np.ndarray:
    """Return the class with the most votes of each item, (item,), from shares of votes, or votes, (item, true_class).

    Of tied classes it is the one with the largest `frequency` over all items, (true_class,), or else the first.
    """
    overall = np.argsort(-frequency, kind="stable")
    code: np.ndarray = overall[probability[:, overall].argmax(axis=1)]
    return code


def name_votes(data: AnnotationData) -> np.ndarray:
    """Return the label with the most votes of each item, (item,), as `majority_vote` does; "" without votes."""
    votes, probability = data.votes[:, data.class_codes], split_vote(data)
    codes = choose_votes(probability, votes.sum(axis=0))
    is_known = (votes.sum(axis=1) > 0) | (data.control_codes >= 0)
    return np.where(is_known, np.array(data.classes, dtype=object)[codes], "")


def vote_right(data: AnnotationData) -> np.ndarray:
    """Return the probability that the majority vote is right, (item,); nan if the truth is unknown."""
    right = split_vote(data)[np.arange(data.n_items), data.gold_codes]
    return np.where(data.gold_codes >= 0, right, np.nan)


def split_vote(data: AnnotationData) -> np.ndarray:
    """Return the probability of each class under the majority vote, (item, true_class); ties are split.

    A known label replaces the vote. For an item without votes, all classes are equally likely.
    """
    votes = data.votes[:, data.class_codes]  # (item, true_class)
    most = votes == votes.max(axis=1, keepdims=True)
    by_vote = most / most.sum(axis=1, keepdims=True)
    return np.where(data.control_codes[:, None] >= 0, np.eye(data.n_classes)[data.control_codes], by_vote)


def require_sure(data: AnnotationData, who: str) -> AnnotationData:
    """Return annotations without "unsure" answers; raise a DataError that names `who` for data of another kind."""
    require_kind(data, AnnotationData, who)
    return data.without_unsure()


def require_shared(data: AnnotationData, who: str) -> AnnotationData:
    """Return annotations like `require_once`; raise a DataError if no item has two of them."""
    once = require_once(data, who)
    shared_items(once.votes)
    return once


def require_once(data: AnnotationData, who: str) -> AnnotationData:
    """Return annotations like `require_sure`, the first by each annotator of each item: agreement is between people.

    Answers without names of annotators are all kept, as each may be another person's.
    """
    sure = require_sure(data, who)
    if sure.annotators == (ANYONE,):
        return sure
    _, first = np.unique(sure.item * sure.n_annotators + sure.annotator, return_index=True)
    return sure if first.size == sure.n_annotations else take_rows(sure, np.sort(first))


def shared_items(votes: np.ndarray) -> np.ndarray:
    """Return which items have two or more annotations, (item,), from votes (item, label); a DataError if none has."""
    shared: np.ndarray = votes.sum(axis=1) >= 2
    if not shared.any():
        raise DataError("no item has answers by two annotators: agreement is between at least two")
    return shared


def disagreed_items(votes: np.ndarray) -> np.ndarray:
    """Return which items have two or more different labels, (item,), from votes (item, label)."""
    return (votes > 0).sum(axis=1) >= 2
