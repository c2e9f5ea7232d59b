"""Krippendorff's alpha for some of the annotators: for each subset, for all but one, for all but the outliers.

"Unsure" answers are missing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, compress
from typing import Any

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError
from bayesanno.agreement.alpha import alpha_of_places, alpha_of_votes, find_disagreement, find_ranks, nominal_alpha
from bayesanno.agreement.behaviour import usage_table
from bayesanno.agreement.resampling import split_rows
from bayesanno.agreement.vote import require_once, require_shared
from bayesanno.data.annotations import AnnotationData, take_rows
from bayesanno.data.columns import take_columns

MAX_EXHAUSTIVE = 15  # with more annotators, not all subsets are searched
BEAM_WIDTH = 50  # subsets of each size that the search keeps
ARRAYS = 4  # arrays over answers in memory at a time
MOST_SEARCHED = 400_000_000  # annotators times labels given to items
LARGEST_OF_SEARCH = 10  # annotators in the largest subset of the search


def subset_table(
    data: AnnotationData, *, least_items: int = 30, largest: int | None = None, ordered: bool = False
) -> pd.DataFrame:
    """Return the agreement within subsets of annotators, by nominal or ordinal alpha.

    With up to 15 annotators, all subsets are searched. With more, a beam search adds one annotator at a time to each of
    the 50 best subsets so far, and may miss the best one.

    Parameters
    ----------
    data : AnnotationData
    least_items : int, default 30
        The least number of items that each member must share with others; with few, alpha is mostly chance.
    largest : int, optional
        The size of the largest subsets; by default the number of annotators, or 10 with a beam search.
    ordered : bool, default False
        Whether alpha is ordinal, for labels in order.

    Returns
    -------
    pandas.DataFrame
        By size, the best first: `size`; `annotators`, separated by "; "; `n_items` that two of them answered; `alpha`;
        and `search`: "all" or "beam". The best of many subsets is so partly by chance.

    Raises
    ------
    DataError
        If no item has two annotations, or an argument is out of its range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> ba.agreement.subset_table(ba.read_annotations("@table9"))["annotators"].tolist()
    ['i; j', 'j; k', 'i; k', 'i; j; k']
    """
    data = require_shared(data.in_order() if ordered else data, "subset_table")
    n = data.n_annotators
    if least_items < 1:
        raise DataError(f"least_items is {least_items}: it must be 1 or more")
    if largest is not None and not 2 <= largest <= n:
        raise DataError(f"largest is {largest}: it must be 2 to {n}, the number of annotators")
    answers = _count_answers(data, ordered=ordered)
    if math.prod(answers.counts.shape) > MOST_SEARCHED:
        raise DataError(
            f"subsets of {n:,} annotators of {answers.begin.size:,} items are too many to search: leave out annotators "
            "with few annotations"
        )
    if n <= MAX_EXHAUSTIVE:
        sizes = range(2, (largest or n) + 1)
        table = _measure(answers, [subset for size in sizes for subset in combinations(range(n), size)], least_items)
    else:
        table = _search(answers, largest or min(LARGEST_OF_SEARCH, n), least_items)
    names = ["; ".join(data.annotators[who] for who in subset) for subset in table["annotators"]]
    table = table.assign(annotators=pd.Series(names, dtype="str"), search="all" if n <= MAX_EXHAUSTIVE else "beam")
    return table.sort_values(["size", "alpha"], ascending=[True, False], kind="stable", ignore_index=True)


@dataclass(frozen=True)
class _Answers:
    """Answers to items with two or more, by cells. A cell is a label given to an item; cells are sorted by item.

    How often each annotator gave each cell's label is in `counts`, (annotator, cell). Who `answered` is 1, (annotator,
    item). `begin` is the first cell of each item, `item` that of each cell, and `label` 1 for its label, (cell, label).
    """

    counts: Any
    answered: Any
    begin: np.ndarray
    item: np.ndarray
    label: Any
    ordered: bool

    def alpha(self, said: np.ndarray) -> np.ndarray:
        """Return nominal or ordinal alpha from counts of cells (cell, subset); nan if undefined."""
        n, squares = (np.add.reduceat(each, self.begin) for each in (said, said**2))  # (item, subset)
        given = self.label.T @ (said * (n >= 2)[self.item])  # (label, subset)
        if not self.ordered:
            return nominal_alpha(find_disagreement(n, squares).sum(axis=0), given, axis=0)
        place = find_ranks(given)  # (label, subset)
        by_cell = self.label @ place  # (cell, subset)
        sums, squares = (np.add.reduceat(said * by_cell**power, self.begin) for power in (1, 2))
        return alpha_of_places(n, sums, squares, given, place)


def _count_answers(data: AnnotationData, *, ordered: bool) -> _Answers:
    from scipy.sparse import csr_array

    kept = np.bincount(data.item, minlength=data.n_items)[data.item] >= 2  # (annotation,)
    codes, cell = np.unique(data.item[kept] * data.n_labels + data.label[kept], return_inverse=True)
    item, n_cells = codes // data.n_labels, codes.size
    _, begin, item = np.unique(item, return_index=True, return_inverse=True)
    counts = csr_array((np.ones(cell.size), (data.annotator[kept], cell)), shape=(data.n_annotators, n_cells))
    of_cell = np.arange(n_cells)
    of_item, of_label = (
        csr_array((np.ones(n_cells), (of_cell, code)), shape=(n_cells, n))
        for code, n in ((item, begin.size), (codes % data.n_labels, data.n_labels))
    )
    return _Answers(counts, (counts @ of_item > 0).astype(float), begin, item, of_label, ordered)


def _measure(answers: _Answers, subsets: Sequence[tuple[int, ...]], least_items: int) -> pd.DataFrame:
    """Return the subsets in which each member shares enough items with the others, with their alpha."""
    from scipy.sparse import csr_array

    size = np.array([len(subset) for subset in subsets], dtype=int)
    members, n = np.fromiter(chain.from_iterable(subsets), dtype=int, count=size.sum()), len(subsets)
    member = csr_array((np.ones(members.size), (np.repeat(np.arange(n), size), members)), (n, answers.counts.shape[0]))
    enough, n_items, alpha = (np.zeros(n, dtype=kind) for kind in (bool, int, float))
    for rows in split_rows(n, ARRAYS * sum(answers.counts.shape)):
        own = member[rows]
        shared = (own @ answers.answered).toarray() >= 2  # (subset, item)
        fewest = np.where(own.toarray() > 0, shared @ answers.answered.T, np.inf).min(axis=1)
        enough[rows], n_items[rows] = fewest >= least_items, shared.sum(axis=1)
        kept = np.flatnonzero(enough[rows]) + rows.start
        alpha[kept] = answers.alpha((member[kept] @ answers.counts).T.toarray())
    table = pd.DataFrame({"size": size, "annotators": list(subsets), "n_items": n_items})
    return table.assign(alpha=alpha)[enough].reset_index(drop=True)


def _search(answers: _Answers, largest: int, least_items: int) -> pd.DataFrame:
    """Return the best subsets of each size in a beam search that starts from all pairs with enough shared items."""
    from scipy.sparse import triu

    everyone, found = range(answers.counts.shape[0]), []
    together = triu(answers.answered @ answers.answered.T, 1)  # (annotator, annotator): items that both answered
    one, other = (together >= least_items).nonzero()
    subsets = sorted(zip(one.tolist(), other.tolist(), strict=True))
    for _ in range(2, largest + 1):
        best = _measure(answers, subsets, least_items).nlargest(BEAM_WIDTH, "alpha")
        found.append(best.dropna(subset="alpha"))
        grown = ((*subset, who) for subset in found[-1]["annotators"] for who in everyone if who not in subset)
        subsets = sorted({tuple(sorted(subset)) for subset in grown})
    return pd.concat(found, ignore_index=True)


def alpha_without_each(data: AnnotationData, *, ordered: bool = False) -> np.ndarray:
    """Return nominal or ordinal alpha without each annotator, (annotator,); nan if undefined."""
    answers = _count_answers(require_once(data.in_order() if ordered else data, "alpha"), ordered=ordered)
    everything, found = answers.counts.sum(axis=0)[:, None], np.empty(data.n_annotators)
    for who in split_rows(data.n_annotators, ARRAYS * max(1, everything.size)):
        found[who] = answers.alpha(everything - answers.counts[who].T.toarray())
    return found


def outlier_table(data: AnnotationData, *, most: int = 5) -> pd.DataFrame:
    """Return nominal alpha as annotators with unusual use of labels are left out, one at a time.

    Each step drops the outlier of `usage_table` with the largest `jsd_mean`, until there is none (Bhardwaj et al. 2010,
    Table 3, https://aclanthology.org/W10-1806).

    Parameters
    ----------
    data : AnnotationData
    most : int, default 5
        The largest number of annotators to drop.

    Returns
    -------
    pandas.DataFrame
        `n_dropped`; `dropped`, the annotator (empty at first); `alpha` of the others, which rises without those who
        disagree, whether they are right or wrong.

    Raises
    ------
    DataError
        If no item has two annotations, or an argument is out of its range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> ba.agreement.outlier_table(ba.read_annotations("@crowd"))["dropped"].tolist()
    ['', 'viktor', 'wanda', 'xavier']
    """
    require_shared(data, "outlier_table")
    if most < 0:
        raise DataError(f"most is {most}: it must be 0 or more")
    rows, rest = [{"n_dropped": 0, "dropped": "", "alpha": _alpha_of(data)}], data
    while len(rows) <= most:
        table = usage_table(rest)
        outliers = table[table["outlier"]]
        if outliers.empty or rest.n_annotators <= 3:
            break
        name = str(outliers["annotator"].iloc[int(outliers["jsd_mean"].argmax())])
        rest = leave_out(rest, [name])
        rows.append({"n_dropped": len(rows), "dropped": name, "alpha": _alpha_of(rest)})
    return pd.DataFrame(rows)


def _alpha_of(data: AnnotationData) -> float:
    return float(alpha_of_votes(require_once(data, "alpha").votes))


def leave_out(data: AnnotationData, annotators: Collection[str]) -> AnnotationData:
    """Return the annotations by all other annotators; items and labels do not change."""
    kept = np.array([name not in annotators for name in data.annotators])  # (annotator,)
    rest = take_rows(data, kept[data.annotator])
    code, names = kept.cumsum() - 1, tuple(compress(data.annotators, kept))  # (annotator,)
    columns = take_columns(data.annotator_columns, np.flatnonzero(kept))
    return replace(rest, annotator=code[rest.annotator], annotators=names, annotator_columns=columns)
