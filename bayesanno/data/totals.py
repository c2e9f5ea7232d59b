"""Annotations on a cluster: their totals, and the parts that hold them.

The invariant: what is here of the whole has no dimension of items or annotations, however many there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bayesanno.data.labelled import NO_ANNOTATION, Codes, Labelled
from bayesanno.data.names import check_names
from bayesanno.ground.errors import DataError


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
class AnnotationTotals(Labelled):
    """The totals of annotations on a cluster: annotators, labels and numbers of answers.

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
        against all others, nan where it is unknown.
    n_gold : int
        Of how many items the true label is known, for evaluation.
    hash : str
        Of the annotations, independent of their order.
    order_declared : bool
        Whether the labels are in an order that somebody declared.

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
    order_declared: bool = False
    controls: Mapping[str, str] = field(default_factory=dict)  # none: a model asks whether there are any

    def __post_init__(self) -> None:
        """Check the names."""
        if not self.n_annotations:
            raise DataError(NO_ANNOTATION)
        check_names("annotators", self.annotators)
        check_names("labels", self.labels)
        self._check_labels()

    @property
    def n_annotations(self) -> int:
        """Number of annotations."""
        return int(self.by_annotator.sum())
