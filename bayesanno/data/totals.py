"""Annotations on a cluster: their totals, and the parts that hold them.

The invariant: the totals have no dimension of items or annotations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bayesanno._core.messages import DataError
from bayesanno.data.labelled import NO_ANNOTATION, Codes, Labelled, check_names
from bayesanno.data.orders import InEitherOrder


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedPart(InEitherOrder):
    """Some items of a table with all their annotations, as codes of the names of the whole table.

    Attributes
    ----------
    item, annotator, label : array of int, shape (annotation,)
    n_items, n_annotators, n_labels : int
        The number of items in this part, and of annotators and labels in the whole table.
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
        """-1 for each item, since there are no controls; shape (item,)."""
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
        The number of annotations by each annotator.
    label_shares, label_alphas : array, shape (label,)
        The share of each label among the answers, with equal weight for each item; and Krippendorff's alpha of the
        label against all others, nan if unknown.
    n_gold : int
        The number of items with a known true label, for evaluation.
    hash : str
        A hash of the annotations, independent of their order.
    order_declared : bool
        Whether the order of the labels was declared.

    Raises
    ------
    DataError
        If there are no annotations, or fewer than two labels.
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
    controls: Mapping[str, str] = field(default_factory=dict)  # always empty; models look it up

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
