"""Votes: the majority, against which every model is measured; which items annotators answered together.

The rule for ties: of the labels that an item got most often, the one that all items together got most often; of those
that are level in that as well, the first in the order of the labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.described import require_kind
from bayesanno.ground.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


def majority_vote(data: AnnotationData) -> pd.DataFrame:
    """Return the label that most annotators gave to each item: the baseline of every model.

    Of labels that an item got equally often, the vote is for the one that all items together got most often; of those
    that are level in that as well, for the first. An answer that is unsure is no vote. A known label (a control) is
    taken for what it is.

    Parameters
    ----------
    data : AnnotationData

    Returns
    -------
    pandas.DataFrame
        One row per item, in the data's order: `item`, `label`, `share` (of the item's votes, for that label; nan where
        it has none), `n_annotations` (votes), `tied` (whether another label got as many), and `gold` where any is
        known.

    Examples
    --------
    >>> import bayesanno as ba
    >>> table = ba.majority_vote(ba.read_annotations("@crowd"))
    >>> round(float((table["label"] == table["gold"]).mean()), 3), int(table["tied"].sum())
    (0.923, 28)
    """
    import pandas as pd

    require_kind(data, AnnotationData, "majority_vote")
    votes = data.votes[:, data.class_codes]  # (item, true_class)
    code, total = vote_codes(data), votes.sum(axis=1)
    table = pd.DataFrame(
        {
            "item": pd.Series(list(data.items), dtype="str"),
            "label": pd.Series([data.classes[each] for each in code], dtype="str"),
            "share": np.divide(votes.max(axis=1), total, out=np.full(total.shape, np.nan), where=total > 0),
            "n_annotations": total.astype(int),
            "tied": (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1,
        }
    )
    if data.gold:
        table["gold"] = pd.Series([data.gold.get(item, "") for item in data.items], dtype="str")
    return table


def vote_codes(data: AnnotationData) -> np.ndarray:
    """Return what `majority_vote` is for, as positions in the classes; shape (item,)."""
    return np.where(data.control_codes >= 0, data.control_codes, most_voted(data.votes[:, data.class_codes]))


def most_voted(votes: np.ndarray) -> np.ndarray:
    """Return the position of each item's most frequent label, ties by the rule above; votes are (item, label).

    Examples
    --------
    >>> import numpy as np
    >>> most_voted(np.array([[1, 1, 0], [0, 2, 1]])).tolist()
    [1, 1]
    """
    overall = np.argsort(-votes.sum(axis=0), kind="stable")  # (label,), the most frequent first
    found: np.ndarray = overall[votes[:, overall].argmax(axis=1)]
    return found


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
    differ: np.ndarray = (votes > 0).sum(axis=1) >= 2
    return differ
