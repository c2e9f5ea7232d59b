"""Annotations as frozen values: validated once here, trusted everywhere after.

The invariant: every index array is in range and read-only. Every item, annotator and label has a unique name, which
stays attached to its index from the file to the last table.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, as_names, counted, enumerated, listed, option
from bayesanno.data.columns import hash_columns
from bayesanno.data.described import freeze
from bayesanno.data.frame import SIDES, collect_fields, tabulate
from bayesanno.data.labelled import (
    NO_ANNOTATION,
    Codes,
    Labelled,
    LongTable,
    check_known,
    check_unsure,
    count_cells,
    find_codes,
    name_labels,
    name_unsure,
    order_known,
    order_responses,
    share_votes,
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AnnotationData(LongTable, Labelled):
    """Annotations in long form: each entry of the arrays is one label that one annotator gave to one item.

    Designs may be unbalanced. An annotator may answer an item twice, an item may have no annotations, and labels that
    nobody used may be declared.

    Parameters
    ----------
    item, annotator, label : array of int, shape (annotation,)
        Positions in `items`, `annotators` and `labels`.
    items, annotators, labels : tuple of str
        The names, in the order of the indices. The labels are all that an annotator can give.
    unsure : str or sequence of str, optional
        Labels that cannot be true labels, such as "unsure" or "skip". The others are the `classes`.
    order_declared : bool, default False
        Whether `labels` are in a declared order from the lowest to the highest; hashes do not depend on it. The order
        of numbers and of words of a known scale needs no declaration.
    gold : mapping of item name to label, optional
        Known true labels, for evaluation only; models do not use them.
    controls : mapping of item name to label, optional
        Known true labels that enter the likelihood.
    item_columns : mapping of column name to values, shape (item,), or DataFrame, optional
        Further columns of items, names or numbers, for models with a `class_prior`.
    annotator_columns : mapping of column name to values, shape (annotator,), or DataFrame, optional
        Columns of annotators, names or numbers, for models of one's own; see `Columns.annotator_effects`.
    sides : tuple of two str, optional
        For comparisons of two systems: the labels for the first and the second side.
    swapped : array of bool, shape (annotation,), optional
        Whether the annotator saw the other order. Labels are still about the sides of the item.

    Raises
    ------
    DataError
        If there are no annotations or fewer than two classes, a name is empty or repeated, an index is out of range, a
        gold or control entry has an unknown item or an "unsure" label, or a control or a side is not among the labels.

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> data = AnnotationData.from_records([("s1", "ada", "yes"), ("s1", "bo", "no"), ("s2", "ada", "no")])
    >>> data
    AnnotationData: 3 annotations of 2 items by 2 annotators; labels no, yes
    >>> data.labels, data.n_items, data.n_annotations
    (('no', 'yes'), 2, 3)

    With a label that is not a class:

    >>> said = [("s1", "ada", "yes"), ("s1", "bo", "unsure"), ("s2", "ada", "no")]
    >>> data = AnnotationData.from_records(said, unsure="unsure")
    >>> data.labels, data.classes
    (('no', 'yes', 'unsure'), ('no', 'yes'))

    With ordered labels:

    >>> graded = [("s1", "ada", "B"), ("s1", "bo", "A"), ("s2", "ada", "C")]
    >>> data = AnnotationData.from_records(graded, labels=["C", "B", "A"])
    >>> data.labels_are_ordered, AnnotationData.from_records(graded).labels_are_ordered
    (True, False)
    """

    what: ClassVar = "who labelled which item how"
    reader: ClassVar = "read_annotations"

    item: Codes
    annotator: Codes
    label: Codes
    items: tuple[str, ...]
    annotators: tuple[str, ...]
    labels: tuple[str, ...]
    unsure: tuple[str, ...] = ()
    order_declared: bool = False
    gold: Mapping[str, str] = field(default_factory=dict)
    controls: Mapping[str, str] = field(default_factory=dict)
    item_columns: Mapping[str, Any] = field(default_factory=dict)
    annotator_columns: Mapping[str, Any] = field(default_factory=dict)
    sides: tuple[str, ...] = ()
    swapped: Any = ()

    def __post_init__(self) -> None:
        """Check every field and freeze the arrays."""
        if np.size(self.item) == 0:
            raise DataError(NO_ANNOTATION)
        self._check_long("label")
        unsure = name_unsure(self.unsure)
        check_unsure(unsure, self.labels)
        object.__setattr__(self, "unsure", tuple(name for name in self.labels if name in unsure))
        self._check_labels()
        for what in ("gold", "controls"):
            known = {str(item): str(label) for item, label in dict(getattr(self, what)).items()}
            check_known(what, known, self._item_index, None if what == "gold" else self.classes, self.unsure)
            object.__setattr__(self, what, known)
        self.check_sides()

    @classmethod
    def from_records(
        cls,
        records: Iterable[tuple[Any, Any, Any]],
        *,
        items: str | Sequence[str] | None = None,
        labels: str | Sequence[str] | None = None,
        unsure: str | Sequence[str] = (),
        gold: Mapping[str, str] | None = None,
        controls: Mapping[str, str] | None = None,
        item_columns: Mapping[str, Any] | pd.DataFrame | None = None,
        annotator_columns: Mapping[str, Any] | pd.DataFrame | None = None,
    ) -> Self:
        """Build from (item, annotator, label) triples.

        Items and annotators are numbered by first appearance. Labels are sorted (numbers and words of a known scale
        from the lowest to the highest, other words alphabetically), with `unsure` ones last. `items` and `labels` set
        the names and their order instead. They may include unused ones; `labels` must include all but unsure ones. With
        `labels`, the order counts as declared.

        Raises
        ------
        DataError
            If a label or an item is not among the declared ones; otherwise as for the class.
        """
        triples = [(str(item), str(annotator), str(label)) for item, annotator, label in records]
        of_item, by_annotator, given = zip(*triples, strict=True) if triples else ((), (), ())
        item_names = tuple(dict.fromkeys(of_item)) if items is None else as_names(items)
        annotator_names = tuple(dict.fromkeys(by_annotator))
        label_names = order_responses(given, name_unsure(unsure), labels)
        return cls(
            item=find_codes("item", of_item, item_names),
            annotator=find_codes("annotator", by_annotator, annotator_names),
            label=find_codes("label", given, label_names),
            items=item_names,
            annotators=annotator_names,
            labels=label_names,
            unsure=name_unsure(unsure),
            order_declared=labels is not None,
            gold=gold or {},
            controls=controls or {},
            item_columns={} if item_columns is None else dict(item_columns),
            annotator_columns={} if annotator_columns is None else dict(annotator_columns),
        )

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        labels: str | Sequence[str] | None = None,
        unsure: str | Sequence[str] = (),
        item_columns: Sequence[str] | None = None,
        annotator_columns: Sequence[str] | None = None,
        sides: Sequence[str] | None = None,
    ) -> Self:
        """Build from a long table: a row for each answer, with the columns item, annotator and label.

        Further columns are `gold` and `control`, the known true label of the item; `weight`, that of a comparison; and
        `row`, the place of a row, which messages give. A row without a label declares its item, its annotator, or a
        known label. Cells may be of any type, and become text: a whole number is written without decimals. If all
        labels are numbers, or all but one, `1`, `1.0` and `01` are one label. Other columns are left out, unless they
        are named.

        Parameters
        ----------
        frame : DataFrame
            `bayesanno.read_table` makes such a table of any file.
        labels : str or sequence of str, optional
            All possible labels, in order; a text is split at commas. By default those that occur, or the categories of
            the column if these are in order.
        unsure : str or sequence of str, optional
            Labels that are answers but no classes.
        item_columns, annotator_columns : sequence of str, optional
            The columns that describe items, and annotators. By default those of a table that `to_frame` made.
        sides : sequence of two str, optional
            For comparisons: the columns with the two systems that a row compares, in the order that was shown. The
            labels are the names of these columns and "tie", also as shown. By default those of a table that `to_frame`
            or `read_table` made, or else first and second, if there are such columns.

        Raises
        ------
        DataError
            If a row has a label but no item or no annotator, an item has two true labels or two values of a column, or
            a label is not declared; the message names the first such row. Otherwise as for the class.

        Examples
        --------
        >>> import pandas as pd
        >>> from bayesanno import AnnotationData
        >>> said = pd.DataFrame({"item": ["s1", "s1"], "annotator": ["ada", "bo"], "label": [1, 2.0], "gold": [2, 2]})
        >>> data = AnnotationData.from_frame(said)
        >>> data.labels, data.gold
        (('1', '2'), {'s1': '2'})
        >>> AnnotationData.from_frame(data.to_frame()).hash == data.hash
        True
        """
        about = getattr(frame, "attrs", {})
        columns = {
            "item": about.get("item_columns", ()) if item_columns is None else as_names(item_columns),
            "annotator": about.get("annotator_columns", ())
            if annotator_columns is None
            else as_names(annotator_columns),
        }
        usual = SIDES if {*SIDES} <= {*getattr(frame, "columns", ())} else ()
        pair = about.get("sides", usual) if sides is None else as_names(sides)
        fields = collect_fields(frame, None if labels is None else name_labels(labels), unsure, columns, tuple(pair))
        try:
            return cls(**fields)
        except DataError as error:
            name = about.get("name")
            raise DataError(f"{name}: {error}" if name else str(error)) from None

    @cached_property
    def gold_codes(self) -> Codes:
        """Position of each item's gold label in `classes`, (item,); -1 without gold or if it is not a class."""
        return self._class_codes(self.gold)

    @cached_property
    def control_codes(self) -> Codes:
        """Position of each item's control label in `classes`, (item,); -1 if it is not a control."""
        return self._class_codes(self.controls)

    @cached_property
    def known_codes(self) -> Codes:
        """Position of each item's true label, from its control or else its gold, (item,); -1 if unknown."""
        return freeze(np.where(self.control_codes >= 0, self.control_codes, self.gold_codes))

    def _class_codes(self, known: Mapping[str, str]) -> Codes:
        codes = np.full(self.n_items, -1, dtype=np.int64)  # (item,)
        index = {name: code for code, name in enumerate(self.classes)}
        for item, label in known.items():
            codes[self._item_index[item]] = index.get(label, -1)
        return freeze(codes)

    @cached_property
    def votes(self) -> np.ndarray:
        """How often each label was given to each item; shape (item, label)."""
        return freeze(count_cells(self.item, self.label, (self.n_items, self.n_labels)).astype(float))

    @cached_property
    def usage(self) -> np.ndarray:
        """How often each annotator gave each label, of sides as shown; shape (annotator, label)."""
        return freeze(count_cells(self.annotator, self.shown_label, (self.n_annotators, self.n_labels)).astype(float))

    @cached_property
    def class_shares(self) -> np.ndarray:
        """The share of each class among an item's votes, (item, true_class); uniform without votes.

        "Unsure" annotations are not votes.
        """
        return share_votes(self.votes[:, self.class_codes])

    @cached_property
    def unsure_by_annotator(self) -> Codes:
        """The number of "unsure" annotations by each annotator; shape (annotator,)."""
        return np.bincount(self.annotator[self._is_unsure], minlength=self.n_annotators)

    @cached_property
    def _is_unsure(self) -> np.ndarray:
        return np.isin(self.label, self.class_codes, invert=True)  # (annotation,)

    def without_unsure(self) -> Self:
        """Return the data without "unsure" answers and labels, so that all labels are classes.

        All items and annotators are kept, including those without other answers.

        Raises
        ------
        DataError
            If no answers are left.

        Examples
        --------
        >>> from bayesanno import AnnotationData
        >>> said = [("s1", "ada", "yes"), ("s1", "bo", "unsure"), ("s2", "ada", "no")]
        >>> AnnotationData.from_records(said, unsure="unsure").without_unsure()
        AnnotationData: 2 annotations of 2 items by 2 annotators; labels no, yes
        """
        if not self.unsure:
            return self
        kept = ~self._is_unsure  # (annotation,)
        if not kept.any():
            raise DataError(f"every annotation is {listed(self.unsure)}, declared as unsure: no annotation is left")
        code = np.full(self.n_labels, -1, dtype=np.int64)  # (label,)
        code[self.class_codes] = np.arange(self.n_classes)
        sure = take_rows(self, kept)
        return replace(sure, label=code[sure.label], labels=self.classes, unsure=())

    def in_order(self) -> Self:
        """Return the same annotations with labels in a known order: declared, of numbers, or of a known scale.

        Raises
        ------
        DataError
            If the labels are words of no known scale, such as none, mild, severe.

        Examples
        --------
        >>> from bayesanno import AnnotationData
        >>> said = [("s1", "ada", "severe"), ("s1", "bo", "mild"), ("s2", "bo", "none")]
        >>> AnnotationData.from_records(said).in_order().labels
        ('none', 'mild', 'severe')
        """
        if self.labels_are_ordered:
            return self
        known = order_known(self.classes)
        if known is None:
            raise DataError(
                f"the labels {listed(self.classes)} have no order that is known: declare them from the lowest to the "
                f"highest with {option('labels')}"
            )
        labels = (*known, *(label for label in self.labels if label in self.unsure))
        code = np.array([labels.index(label) for label in self.labels])
        return replace(self, label=code[self.label], labels=labels, order_declared=True)

    @cached_property
    def vote_shares(self) -> np.ndarray:
        """The share of each label among an item's annotations, (item, label); uniform without annotations."""
        return share_votes(self.votes)

    def coords(self, **more: Sequence[str]) -> dict[str, list[Any]]:
        """Return the named coordinates for a model of these annotations, and `more`."""
        return {"item": list(self.items), **super().coords(**more), "annotation": list(range(self.n_annotations))}

    @cached_property
    def hash(self) -> str:
        """A SHA-256 over everything that a model uses: the names, the annotations in order, and the controls."""
        digest = hashlib.sha256()
        named = [self.items, self.annotators, self.labels, dict(self.controls), *([self.unsure] if self.unsure else [])]
        digest.update(json.dumps(named).encode())
        for codes in (self.item, self.annotator, self.label):
            digest.update(codes.astype("<i8").tobytes())
        digest.update(hash_columns(self.item_columns))
        if self.annotator_columns:
            digest.update(b"annotators" + hash_columns(self.annotator_columns))
        if self.has_both_orders:
            digest.update(json.dumps(self.sides).encode() + self.swapped.tobytes())
        return digest.hexdigest()

    def _facts(self) -> list[tuple[str, str]]:
        known = {"gold": self.gold, "controls": self.controls}
        described = {"items": self.item_columns, "annotators": self.annotator_columns}
        return [
            *super()._facts(),
            *((what, f"of {counted(len(labels), 'item')}") for what, labels in known.items() if labels),
            *((f"columns of {of}", enumerated(tuple(columns))) for of, columns in described.items() if columns),
        ]

    def describe(self) -> str:
        """Return a one-line description of the annotations and the columns of items and annotators."""
        names = (*self.item_columns, *self.annotator_columns)
        return super().describe() + (f"; columns {enumerated(names)}" if names else "")

    def _count_unsure(self) -> str:
        return f" ({counted(int(self._is_unsure.sum()), 'annotation')})"

    def binarise(self, *, positive: str) -> Self:
        """Return the same annotations with two labels, one label against all others; the positive one is last.

        The negative label is the other one of two, or "not <positive>" if there are more. "Unsure" labels are kept,
        after these. The new labels have no declared order.

        Raises
        ------
        DataError
            If `positive` is not among the classes.

        Examples
        --------
        >>> from bayesanno import read_annotations
        >>> read_annotations("@crowd").binarise(positive="other").labels
        ('not other', 'other')
        """
        if positive not in self.classes:
            raise DataError(f"positive label {positive!r} is not among the labels {listed(self.classes)}")
        if self.has_both_orders:
            raise DataError(
                f"comparisons in both orders keep both sides, {listed(self.sides)}: they cannot be binarised"
            )
        others = [label for label in self.classes if label != positive]
        negative = others[0] if len(others) == 1 else f"not {positive}"
        name = dict.fromkeys(others, negative) | {positive: positive}
        labels = (negative, positive, *self.unsure)
        code = np.array([labels.index(name.get(label, label)) for label in self.labels])  # (label,)
        return replace(
            self,
            label=code[self.label],
            labels=labels,
            order_declared=self.order_declared and labels == self.labels,
            sides=(),
            gold={item: name.get(label, label) for item, label in self.gold.items()},
            controls={item: name[label] for item, label in self.controls.items()},
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the annotations as a long table, a row for each, of which `from_frame` makes equal data.

        The columns are item, annotator, label, gold and control if any is known, and the columns of items and of
        annotators. Those of the two systems of comparisons are in the order that the annotator saw. Items and
        annotators without annotations have no row.

        Examples
        --------
        >>> from bayesanno import AnnotationData
        >>> data = AnnotationData.from_records([("s1", "ada", "yes"), ("s1", "bo", "no")], gold={"s1": "yes"})
        >>> data.to_frame().to_csv(index=False).split()
        ['item,annotator,label,gold', 's1,ada,yes,yes', 's1,bo,no,yes']
        """
        return tabulate(self)


def take_rows[Table: AnnotationData](data: Table, rows: np.ndarray) -> Table:
    """Return some of the annotations, by mask or position; items, annotators and labels do not change."""
    by_row = {name: getattr(data, name)[rows] for name in ("item", "annotator", "label", "swapped")}
    return replace(data, **by_row)
