"""Parts on the workers of a cluster: some items with all their annotations in blocks, and sums over them.

The invariant: a part depends only on its rows, not on their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError
from bayesanno.agreement.skew import LabelCounts, count_labels
from bayesanno.data.totals import CodedPart
from bayesanno.modeling.expectation import Items, PatternBlock, make_blocks


@dataclass(frozen=True)
class Part:
    """Some items with all their annotations, on a worker.

    Attributes
    ----------
    number : int
        The number of the part, from 0.
    items : Items
    names, gold : arrays of str, shape (item,)
        The names of the items, and their true labels for evaluation: "" if unknown, and None without gold.
    n_annotations : array of int, shape (item,)
    by_annotator : array of int, shape (annotator,)
    digest : int
        A digest of the annotations, in any order.
    """

    number: int
    items: Items
    names: Any
    gold: Any
    n_annotations: np.ndarray
    by_annotator: np.ndarray
    digest: int

    def __sizeof__(self) -> int:
        """Return its size in bytes, so that Dask moves work to the part and not the part to the work."""
        said = [block.answers for block in self.items.blocks]
        arrays = [
            self.items.pattern,
            self.n_annotations,
            self.names,
            *(m.data for m in said),
            *(m.indices for m in said),
        ]
        return sum(int(array.nbytes) for array in arrays)


@dataclass(frozen=True)
class PartTotals:
    """Totals of parts."""

    n_items: int
    by_annotator: np.ndarray
    n_gold: int
    digest: int
    n_different: int
    largest: int

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.n_items + other.n_items,
            self.by_annotator + other.by_annotator,
            self.n_gold + other.n_gold,
            (self.digest + other.digest) % 2**64,
            self.n_different + other.n_different,
            max(self.largest, other.largest),
        )


def make_part(frame: pd.DataFrame, number: int, n_annotators: int, labels: Sequence[str], name: str) -> Part:
    """Make a part from the annotations of some items, with columns `item`, `annotator`, `label` and maybe `gold`.

    Raises
    ------
    DataError
        If an item has two gold labels.
    """
    item, names = pd.factorize(frame["item"], sort=True)
    item = item.astype(np.int64)
    answered = frame["label"].to_numpy() >= 0
    coded = CodedPart(
        item=item[answered],
        annotator=frame["annotator"].to_numpy()[answered],
        label=frame["label"].to_numpy()[answered],
        n_items=len(names),
        n_annotators=n_annotators,
        n_labels=len(labels),
    )
    gold = _gold_of(frame, item, names, name) if "gold" in frame else None
    cells = coded.annotator * len(labels) + coded.label
    mixed = pd.util.hash_array(pd.util.hash_array(names.to_numpy(dtype=object))[coded.item] + cells.astype(np.uint64))
    return Part(
        number=number,
        items=make_blocks(coded),
        names=names.array,
        gold=gold,
        n_annotations=np.bincount(coded.item, minlength=coded.n_items),
        by_annotator=np.bincount(coded.annotator, minlength=n_annotators),
        digest=int(mixed.sum(dtype=np.uint64)),
    )


def _gold_of(frame: pd.DataFrame, item: np.ndarray, names: pd.Index[str], table: str) -> np.ndarray:
    """Return the true label of each item, or "" if unknown; shape (item,)."""
    codes, distinct = pd.factorize(frame["gold"])
    labels: np.ndarray = np.array([*distinct, ""], dtype=object)
    known = np.flatnonzero(labels[codes] != "")
    of_item = np.full(len(names), -1)
    of_item[item[known]] = codes[known]
    odd = np.flatnonzero(of_item[item[known]] != codes[known])
    if odd.size:
        row = known[odd[0]]
        one, other = labels[codes[row]], labels[of_item[item[row]]]
        raise DataError(f"{table}: item {names[item[row]]!r} has two gold labels, {one!r} and {other!r}: keep one")
    return labels[of_item]


def describe_part(part: Part) -> PartTotals:
    """Return the totals of a part."""
    n_gold = 0 if part.gold is None else int((part.gold != "").sum())
    return PartTotals(
        len(part.names), part.by_annotator, n_gold, part.digest, part.items.n_different, part.items.largest
    )


def take_some(part: Part, share: float, seed: Sequence[int]) -> list[tuple[Any, Any, np.ndarray, np.ndarray]]:
    """Return the names, the true labels and the answers of randomly drawn items of a part.

    Answers are given by the position of the item among those drawn, and the annotator and label as one number. Lists
    of several parts are added up.
    """
    from scipy.sparse import vstack

    rng = np.random.default_rng([*seed, part.number])
    chosen = np.flatnonzero(rng.random(len(part.names)) < share)
    answers = vstack([block.answers for block in part.items.blocks]).tocsr()[part.items.pattern[chosen]].tocoo()
    gold = np.full(chosen.size, "", dtype=object) if part.gold is None else part.gold[chosen]
    return [(np.asarray(part.names)[chosen], gold, answers.row, answers.col)]


def count_block_labels(block: PatternBlock) -> LabelCounts:
    """Return the counts that determine the skew of the answers."""
    return count_labels(block.votes, block.weight)


def add_up_part(part: Part, of_block: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return the sum of a function over the blocks of a part."""
    return part.items.add_up(of_block, *arguments)


def itself(value: Any) -> Any:
    """Return a value as a separate task, so that it is sent only once."""
    return value
