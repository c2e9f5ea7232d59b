"""How the annotations of a table are laid out for fast summation: pure NumPy, computed once per table.

Two facts save most of the work. Items with the same answers by the same annotators have the same likelihood: they form
one *pattern*, evaluated once and gathered back per item. And sums over an item's annotations run fastest over a
rectangle: each pattern's annotations fill rows of a fixed width (padded), and the few rows of a pattern are added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bayesanno.data import AnnotationData

    Index = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


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
    slots : array of int, shape (row, slot)
        Positions in `kept`, one row after another; -1 marks an empty slot.
    row_pattern : array of int, shape (row,)
        The pattern each row belongs to.
    source : array of int, shape (annotation,)
        For every annotation the position in `kept` of its equal in the first item of the pattern.
    """

    pattern: Index
    first: Index
    kept: Index
    kept_pattern: Index
    slots: Index
    row_pattern: Index
    source: Index

    @property
    def n_patterns(self) -> int:
        """Number of distinct patterns."""
        return int(self.first.size)


def lay_out(data: AnnotationData) -> Layout:
    """Find the patterns of a table and arrange their annotations in rows.

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.design import lay_out
    >>> records = [("s1", "ada", "yes"), ("s1", "bo", "no"), ("s2", "bo", "no"), ("s2", "ada", "yes")]
    >>> lay_out(AnnotationData.from_records(records)).pattern
    array([0, 0])
    """
    order = np.lexsort((data.label, data.annotator, data.item))  # (annotation,), each item's answers in a fixed order
    n_answers = np.bincount(data.item, minlength=data.n_items)  # (item,)
    begin = np.concatenate([[0], np.cumsum(n_answers)[:-1]])  # (item,), where its answers begin in `order`
    code = (data.annotator * data.n_labels + data.label)[order]  # (annotation,)

    seen: dict[tuple[int, bytes], int] = {}
    pattern = np.empty(data.n_items, dtype=np.int64)  # (item,)
    for item, (start, n) in enumerate(zip(begin, n_answers, strict=True)):
        key = (int(data.control_codes[item]), code[start : start + n].tobytes())
        pattern[item] = seen.setdefault(key, len(seen))
    first = np.unique(pattern, return_index=True)[1]  # (pattern,)

    width = best_width(n_answers[first])
    n_rows = -(-n_answers[first] // width)  # (pattern,)
    kept_pattern = np.repeat(np.arange(first.size), n_answers[first])  # (kept,)
    kept_begin = np.concatenate([[0], np.cumsum(n_answers[first])[:-1]])  # (pattern,)
    rank = np.arange(kept_pattern.size) - kept_begin[kept_pattern]  # (kept,), position within the pattern
    kept = order[begin[first][kept_pattern] + rank]

    slots = np.full((int(n_rows.sum()), width), -1, dtype=np.int64)  # (row, slot)
    row_begin = np.concatenate([[0], np.cumsum(n_rows)[:-1]])  # (pattern,)
    slots[row_begin[kept_pattern] + rank // width, rank % width] = np.arange(kept.size)

    source = np.empty(data.n_annotations, dtype=np.int64)  # (annotation,)
    item_of = data.item[order]
    source[order] = kept_begin[pattern[item_of]] + np.arange(order.size) - begin[item_of]
    return Layout(
        pattern=pattern,
        first=first,
        kept=kept,
        kept_pattern=kept_pattern,
        slots=slots,
        row_pattern=np.repeat(np.arange(first.size), n_rows),
        source=source,
    )


def best_width(lengths: Index) -> int:
    """Return a row width that makes the rectangle cheap, counting a row's overhead as two slots.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.design import best_width
    >>> best_width(np.array([10, 10, 10])), best_width(np.array([1, 1, 1, 1, 1, 400]))
    (10, 10)
    """
    values, counts = np.unique(lengths[lengths > 0], return_counts=True)
    widths = np.unique(np.concatenate([np.arange(1, 65), values]))  # (width,)
    rows = -(-values[None, :] // widths[:, None])  # (width, length)
    cost = (rows * counts).sum(axis=1) * (widths + 2)  # (width,)
    return int(widths[np.argmin(cost)])
