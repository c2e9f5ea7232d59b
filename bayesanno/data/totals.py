"""Annotations that lie elsewhere: what is known of the whole of them, and the parts that they lie in.

The invariant: what is here of the whole has no dimension of items or annotations, however many there are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.described import Described
from bayesanno.data.names import check_names
from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import counted, enumerated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bayesanno.data.annotations import Codes


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedPart:
    """Some items of a table with all of their annotations, by numbers; the names are those of the whole.

    Attributes
    ----------
    item, annotator, label : array of int, shape (annotation,)
    n_items, n_annotators, n_labels : int
        Of the part's own items; of all annotators and labels of the whole.
    """

    item: Codes
    annotator: Codes
    label: Codes
    n_items: int
    n_annotators: int
    n_labels: int

    @property
    def n_annotations(self) -> int:
        """Number of annotations."""
        return int(self.item.size)

    @cached_property
    def class_codes(self) -> Codes:
        """Index of each class among the labels; shape (true_class,)."""
        return np.arange(self.n_labels)

    @cached_property
    def control_codes(self) -> Codes:
        """No item has a known class that a model sees: -1 of each; shape (item,)."""
        return np.full(self.n_items, -1)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AnnotationTotals(Described):
    """What is known of annotations that lie elsewhere: who annotated, with which labels, and how much.

    Parameters
    ----------
    annotators, labels : tuple of str
        The names, in the order of the indices.
    n_items : int
        Number of items, those without annotations included.
    by_annotator : array of int, shape (annotator,)
        How many annotations each annotator made.
    label_shares, label_alphas : array, shape (label,)
        The share of each label among the answers, each item's counting as one; and Krippendorff's alpha of the label
        against all others, nan where it cannot be told.
    n_gold : int
        Of how many items the true label is known, for evaluation.
    hash : str
        Of the annotations, in whatever order they came.

    Raises
    ------
    DataError
        If there is no annotation, or fewer than two labels.
    """

    annotators: tuple[str, ...]
    labels: tuple[str, ...]
    n_items: int
    by_annotator: Codes
    label_shares: np.ndarray
    label_alphas: np.ndarray
    n_gold: int = 0
    hash: str = ""
    controls: Mapping[str, str] = field(default_factory=dict)  # none: a model asks whether there are any

    def __post_init__(self) -> None:
        """Check the names."""
        if not self.n_annotations:
            raise DataError("there is no annotation: the table has no row with an item, an annotator and a label")
        check_names("annotators", self.annotators)
        check_names("labels", self.labels)
        if len(self.labels) < 2:
            raise DataError(
                f"only one label, {self.labels[0]!r}: a model needs at least two; "
                "if others were possible but never used, declare them (labels=..., --labels)"
            )

    @property
    def n_annotations(self) -> int:
        """Number of annotations."""
        return int(self.by_annotator.sum())

    @property
    def n_annotators(self) -> int:
        """Number of annotators."""
        return len(self.annotators)

    @property
    def n_labels(self) -> int:
        """Number of labels that annotators can give."""
        return len(self.labels)

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels that an item can truly have: all."""
        return self.labels

    @property
    def n_classes(self) -> int:
        """Number of labels that an item can truly have."""
        return len(self.classes)

    @cached_property
    def class_codes(self) -> Codes:
        """Index of each class among the labels; shape (true_class,)."""
        return np.arange(self.n_labels)

    def coords(self, **more: Sequence[str]) -> dict[str, list[Any]]:
        """Return the named coordinates of the parameters of a model of these annotations, and `more`."""
        named = {"annotator": self.annotators, "response": self.labels, **more}
        return {dim: list(names) for dim, names in named.items()}

    def describe(self) -> str:
        """Return in one line how many annotations of what these are.

        Examples
        --------
        >>> import numpy as np
        >>> from bayesanno.data.totals import AnnotationTotals
        >>> AnnotationTotals(
        ...     annotators=("ada", "bo"),
        ...     labels=("no", "yes"),
        ...     n_items=8,
        ...     by_annotator=np.array([8, 3]),
        ...     label_shares=np.array([0.6, 0.4]),
        ...     label_alphas=np.array([0.2, 0.2]),
        ... ).describe()
        '11 annotations of 8 items by 2 annotators; labels no, yes'
        """
        return (
            f"{counted(self.n_annotations, 'annotation')} of {counted(self.n_items, 'item')} by "
            f"{counted(self.n_annotators, 'annotator')}; labels {enumerated(self.labels)}"
        )

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("annotations", f"{self.n_annotations:,}"),
            ("items", f"{self.n_items:,}"),
            ("annotators", f"{self.n_annotators:,}"),
            ("labels", enumerated(self.labels)),
        ]


Named = AnnotationData | AnnotationTotals  # what has the names that parameters are of
