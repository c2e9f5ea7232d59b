"""Items of a table with the same answers, and answers to the same item: pure NumPy.

Items with the same answers by the same annotators have the same likelihood: they form one *pattern*, which is evaluated
once and gathered back per item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from bayesanno._core.messages import DataError
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.totals import CodedPart

type Coded = AnnotationData | CodedPart
type Index = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

MOST_MATCHES = 50_000_000  # pairs of answers, about 5 GB


@dataclass(frozen=True)
class Layout:
    """The distinct patterns of a table of annotations, and the way back to its items.

    Attributes
    ----------
    pattern : array of int, shape (item,)
        The pattern of each item.
    first : array of int, shape (pattern,)
        The first item of each pattern, which stands for all of them.
    kept : array of int, shape (kept,)
        The annotations of those first items.
    kept_pattern : array of int, shape (kept,)
        The pattern each kept annotation belongs to.
    source : array of int, shape (annotation,)
        For every annotation, the position in `kept` of the equal one in the first item of the pattern.
    """

    pattern: Index
    first: Index
    kept: Index
    kept_pattern: Index
    source: Index

    @property
    def n_patterns(self) -> int:
        """Number of distinct patterns."""
        return int(self.first.size)


def _sort_answers(data: Coded) -> tuple[Index, Index, Index]:
    answer = (data.item * data.n_viewers + data.viewer) * data.n_labels + data.label  # (annotation,)
    order = np.argsort(answer, kind="stable")  # (annotation,), each item's answers in a fixed order
    n_answers = np.bincount(data.item, minlength=data.n_items)  # (item,)
    begin = np.cumsum(n_answers) - n_answers  # (item,), where its answers begin in `order`
    return order, n_answers, begin


def find_patterns(data: Coded) -> Index:
    """Assign the same number to items with the same answers, in any order, and the same controls."""
    order, n_answers, begin = _sort_answers(data)
    code = (data.viewer * data.n_labels + data.label)[order]  # (annotation,)
    seen: dict[tuple[int, bytes], int] = {}
    pattern = np.empty(data.n_items, dtype=np.int64)  # (item,)
    for item, (start, n) in enumerate(zip(begin, n_answers, strict=True)):
        key = (int(data.control_codes[item]), code[start : start + n].tobytes())
        pattern[item] = seen.setdefault(key, len(seen))
    return pattern


def find_joint_patterns(columns: Sequence[Index]) -> Index:
    """Assign the same number to items that are equal in every column (item,), by first appearance."""
    seen: dict[tuple[int, ...], int] = {}
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return np.array([seen.setdefault(row, len(seen)) for row in rows], dtype=np.int64)


def lay_out(data: Coded, pattern: Index | None = None) -> Layout:
    """Lay out a table by its patterns, or by finer ones (`pattern`, of shape (item,)).

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.data.patterns import lay_out
    >>> records = [("s1", "ada", "yes"), ("s1", "bo", "no"), ("s2", "bo", "no"), ("s2", "ada", "yes")]
    >>> lay_out(AnnotationData.from_records(records)).pattern
    array([0, 0])
    """
    pattern = find_patterns(data) if pattern is None else pattern
    order, n_answers, begin = _sort_answers(data)
    first = np.unique(pattern, return_index=True)[1]  # (pattern,)

    kept_pattern = np.repeat(np.arange(first.size), n_answers[first])  # (kept,)
    kept_begin = np.cumsum(n_answers[first]) - n_answers[first]  # (pattern,)
    rank = np.arange(kept_pattern.size) - kept_begin[kept_pattern]  # (kept,), position within the pattern
    kept = order[begin[first][kept_pattern] + rank]

    source = np.empty(data.n_annotations, dtype=np.int64)  # (annotation,)
    item_of = data.item[order]
    source[order] = kept_begin[pattern[item_of]] + np.arange(order.size) - begin[item_of]
    return Layout(
        pattern=pattern,
        first=first,
        kept=kept,
        kept_pattern=kept_pattern,
        source=source,
    )


def match_answers(item: np.ndarray, annotator: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of answers to the same item by different annotators, as positions among the answers.

    Parameters
    ----------
    item, annotator : array of int, shape (answer,)

    Returns
    -------
    left, right : array of int, shape (match,)
        The annotator of the left answer comes before that of the right one in the data.

    Raises
    ------
    DataError
        If there are too many pairs for memory.
    """
    order = np.lexsort([annotator, item])  # answers to an item together, its annotators ascending
    item, annotator = item[order], annotator[order]
    last = np.searchsorted(item, item, side="right")  # for each answer, where its item ends
    after = last - np.arange(item.size) - 1  # answers to its item that follow
    if (total := int(after.sum())) > MOST_MATCHES:
        raise DataError(
            f"with up to {int(after.max()) + 1:,} answers to an item there are {total:,} pairs of answers, and the "
            f"limit is {MOST_MATCHES:,}: leave annotators or items out"
        )
    left = np.repeat(np.arange(item.size), after)
    right = left + 1 + np.arange(left.size) - np.repeat(np.cumsum(after) - after, after)
    other = annotator[left] != annotator[right]
    return order[left[other]], order[right[other]]


@dataclass(frozen=True)
class Links:
    """Which annotators are linked by shared items, among some items or all.

    Attributes
    ----------
    leader : array of int, shape (annotator,)
        The first annotator in an annotator's group.
    checks : bool
        Whether any item has more than one annotator.
    """

    leader: np.ndarray
    checks: bool

    def __add__(self, other: Self) -> Self:
        everybody = np.arange(self.leader.size)
        edges = np.concatenate([everybody, everybody]), np.concatenate([self.leader, other.leader])
        return type(self)(_find_leaders(*edges, self.leader.size), self.checks or other.checks)


def link_annotators(item: np.ndarray, annotator: np.ndarray, n_items: int, n_annotators: int) -> Links:
    """Return which annotators are linked by annotations (annotation,)."""
    of_item = np.full(n_items, -1)
    of_item[item] = annotator  # one annotator of each item, to whom its others are linked
    links = annotator != of_item[item]
    leader = _find_leaders(annotator[links], of_item[item[links]], n_annotators)
    return Links(leader, bool(links.any()))


def _find_leaders(one: np.ndarray, other: np.ndarray, size: int) -> np.ndarray:
    """Return the first node that is connected to each node."""
    import scipy.sparse as sp

    graph = sp.coo_array((np.ones(one.size), (one, other)), shape=(size, size))
    piece = sp.csgraph.connected_components(graph, directed=False)[1]
    return np.unique(piece, return_index=True)[1][piece]
