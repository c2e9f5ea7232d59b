"""Comparisons that annotators see in either order: an item is a pair of systems, and the order belongs to the answer.

An annotator in one of the two orders is a *viewer*. A table of p(answer | annotator, class) is about sides as they are
shown, since habits are: somebody who likes the first side likes it in both orders. The answers of the data are about
the sides of the item. So the table of viewers is that of annotators, and again with the two sides exchanged.

The invariant: labels, gold and classes are those of the item, in whichever order it was shown.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno._core.messages import DataError, listed
from bayesanno.data.described import freeze

type Codes = np.ndarray[tuple[int], np.dtype[np.int64]]


class InEitherOrder:
    """Annotations of which some may have been made with the two sides of the item in the other order.

    Attributes
    ----------
    sides : tuple of str
        The labels for the first and the second side of an item; empty if items are no comparisons.
    swapped : array of bool, shape (annotation,)
        Whether the annotator saw the other order.
    """

    if TYPE_CHECKING:  # fields or properties of subclasses
        annotator: Codes
        label: Codes
        annotators: tuple[str, ...]
        labels: tuple[str, ...]

        @property
        def n_annotators(self) -> int:
            """Number of annotators."""

        @property
        def class_codes(self) -> Codes:
            """Index of each class among the labels; shape (true_class,)."""

    sides: tuple[str, ...] = ()
    swapped: Any = np.False_

    def check_sides(self) -> None:
        """Freeze the orders, or raise a DataError if these, or the sides, do not suit the annotations."""
        n = self.annotator.size
        swapped = np.array(self.swapped if np.any(self.swapped) else np.zeros(n), dtype=bool)
        if swapped.shape != (n,):
            raise DataError(f"swapped must have one entry per annotation, shape ({n},), not {swapped.shape}")
        sides = tuple(self.sides)
        classes = [self.labels[code] for code in self.class_codes] if sides or swapped.any() else []
        if classes and (len(sides) != 2 or len({*sides}) != 2 or not {*sides} <= {*classes}):
            raise DataError(f"sides must be two of the labels {listed(classes)}, not {listed(sides)}")
        object.__setattr__(self, "sides", sides)
        object.__setattr__(self, "swapped", freeze(swapped))

    @cached_property
    def has_both_orders(self) -> bool:
        """Whether an annotator saw the other order."""
        return bool(self.swapped.any())

    @property
    def has_systems(self) -> bool:
        """Whether items have columns with the names of the two systems that they compare."""
        return bool(self.sides) and {*self.sides} <= {*getattr(self, "item_columns", ())}

    @property
    def other_side(self) -> dict[str, str]:
        """The label for the other side, by that of a side."""
        return dict(zip(self.sides, reversed(self.sides), strict=True))

    @property
    def n_viewers(self) -> int:
        """Number of viewers: the annotators, and with both orders as many again."""
        return self.n_annotators * (1 + self.has_both_orders)

    @cached_property
    def viewer(self) -> Codes:
        """The viewer of each annotation, (annotation,); in the order of the item, they are as the annotators."""
        return freeze(self.annotator + self.n_annotators * self.swapped)

    def name_viewer(self, code: int) -> str:
        """Return the name of a viewer."""
        swapped, annotator = divmod(code, self.n_annotators)
        return self.annotators[annotator] + " (other order)" * swapped

    @property
    def shown_label(self) -> Codes:
        """The label of each annotation, of the sides in the order that was shown; shape (annotation,)."""
        return np.where(self.swapped, self.exchange[0][self.label], self.label) if self.has_both_orders else self.label

    @cached_property
    def exchange(self) -> tuple[Codes, Codes]:
        """The positions of labels, (label,), and of classes, (true_class,), after the two sides are exchanged."""
        other = self.other_side
        place = {label: code for code, label in enumerate(self.labels)}
        labels = np.array([place[other.get(label, label)] for label in self.labels], dtype=np.int64)
        return freeze(labels), freeze(np.searchsorted(self.class_codes, labels[self.class_codes]))

    def of_viewers(self, table: np.ndarray) -> np.ndarray:
        """Return a table of viewers (viewer, response, true_class, ...) from that of annotators."""
        if not self.has_both_orders:
            return table
        labels, classes = self.exchange
        return np.concatenate([table, table[:, labels][:, :, classes]])
