"""The common part of annotations in memory and on a cluster: annotators, labels and numbers of answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno._core.errors import DataError
from bayesanno._core.wording import counted, enumerated, listed, option
from bayesanno.data.described import Described, freeze
from bayesanno.data.names import read_numbers
from bayesanno.data.orders import InEitherOrder

type Codes = np.ndarray[tuple[int], np.dtype[np.int64]]

ANYONE = "anyone"  # the annotator in a table of votes, where nobody is named
NO_ANNOTATION = "there is no annotation: the table has no row with an item, an annotator and a label"


def count_cells(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return a contingency table of the given shape from the codes of rows and columns.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.data.labelled import count_cells
    >>> count_cells(np.array([0, 0, 1]), np.array([1, 1, 0]), (2, 2)).tolist()
    [[0, 2], [1, 0]]
    """
    return np.bincount(rows * shape[1] + columns, minlength=shape[0] * shape[1]).reshape(shape)


def share_votes(votes: np.ndarray) -> np.ndarray:
    """Return the share of each label among an item's votes, uniform without votes; both (item, label)."""
    total = votes.sum(axis=1, keepdims=True)  # (item, 1)
    return freeze(np.where(total > 0, votes / np.maximum(total, 1), 1 / votes.shape[1]))


class Labelled(InEitherOrder, Described):
    """Annotations of items with labels: names for the parameters of a model, and counts.

    Attributes
    ----------
    annotators, labels : tuple of str
        The names, in the order of the indices. The labels are all that an annotator can give.
    unsure : tuple of str
        Labels that cannot be true labels, such as "unsure"; in the order of the labels.
    order_declared : bool
        Whether the order of the labels was declared. Otherwise they are sorted.
    """

    annotators: tuple[str, ...]
    labels: tuple[str, ...]
    unsure: tuple[str, ...] = ()
    order_declared: bool = False

    if TYPE_CHECKING:  # fields in one subclass, properties in the other: here a property would become a default

        @property
        def n_items(self) -> int:
            """Number of items, those without annotations included."""

        @property
        def by_annotator(self) -> Codes:
            """The number of annotations by each annotator; shape (annotator,)."""

        @property
        def controls(self) -> Mapping[str, str]:
            """Known true labels that enter the likelihood as constraints."""

        @property
        def hash(self) -> str:
            """A digest of everything that a model uses."""

    @property
    @abstractmethod
    def n_annotations(self) -> int:
        """Number of annotations."""

    @property
    def n_annotators(self) -> int:
        """Number of annotators."""
        return len(self.annotators)

    @property
    def n_labels(self) -> int:
        """Number of labels that annotators can give, including unused ones."""
        return len(self.labels)

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels that can be true labels: all but `unsure`, in the order of the labels."""
        return tuple(name for name in self.labels if name not in self.unsure) if self.unsure else self.labels

    @property
    def n_classes(self) -> int:
        """Number of labels that can be true labels."""
        return len(self.classes)

    @property
    def labels_are_ordered(self) -> bool:
        """Whether the order of the classes is known: it was declared, or they are increasing numbers."""
        if self.order_declared:
            return True
        numbers = read_numbers(self.classes)
        return numbers is not None and bool((np.diff(numbers) > 0).all())

    @cached_property
    def class_codes(self) -> Codes:
        """Index of each class among the labels; shape (true_class,)."""
        place = {name: code for code, name in enumerate(self.labels)}
        return np.array([place[name] for name in self.classes], dtype=np.int64)

    @property
    def names_class(self) -> np.ndarray:
        """Whether a label names a class; shape (true_class, response)."""
        return np.equal.outer(self.class_codes, np.arange(self.n_labels))

    def coords(self, **more: Sequence[str]) -> dict[str, list[Any]]:
        """Return the named coordinates for the parameters of a model of these annotations, and `more`."""
        named = {"annotator": self.annotators, "response": self.labels, **more}
        return {dim: list(names) for dim, names in named.items()}

    def describe(self) -> str:
        """Return a one-line description.

        Examples
        --------
        >>> from bayesanno import read_annotations
        >>> read_annotations("@table9").describe()
        '30,000 annotations of 10,000 items by 3 annotators; labels 1, 2, 3'
        """
        return (
            f"{counted(self.n_annotations, 'annotation')} of {counted(self.n_items, 'item')} by "
            f"{counted(self.n_annotators, 'annotator')}; labels {enumerated(self.classes)}"
            + (f"; unsure: {enumerated(self.unsure)}{self._count_unsure()}" if self.unsure else "")
        )

    def _count_unsure(self) -> str:
        """Return the number of "unsure" annotations in words, if it is known."""
        return ""

    def _check_labels(self) -> None:
        """Raise a DataError if there is only one class."""
        if len(self.labels) < 2:
            raise DataError(
                f"only one label, {self.labels[0]!r}: a model needs at least two; "
                f"if others were possible but never used, declare them with {option('labels')}"
            )
        if len(self.classes) < 2:
            left = f"only one class is left, {self.classes[0]!r}" if self.classes else "no class is left"
            verb = "is" if len(self.unsure) == 1 else "are"
            raise DataError(
                f"{left}, since {listed(self.unsure)} {verb} declared as unsure: a model needs at least two; if "
                f"others were possible but never used, declare them with {option('labels')}"
            )

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("annotations", f"{self.n_annotations:,}"),
            ("items", f"{self.n_items:,}"),
            ("annotators", f"{self.n_annotators:,}"),
            ("labels", enumerated(self.classes)),
            *([("unsure labels", enumerated(self.unsure) + self._count_unsure())] if self.unsure else []),
        ]


def divide(number: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Return a ratio, nan where the denominator is 0."""
    by = np.asarray(by, dtype=float)
    return np.divide(number, by, out=np.full(np.broadcast(number, by).shape, np.nan), where=by != 0)
