"""How each kind of data enters a model's graph: its arrays, and their use in formula and generative process.

A kind is chosen by the data class that a model takes, never by a name. Each array declares the kind of its entries
(`Axis`), so that it can be cut to a chunk of patterns. Each array has a key: its role and, if there are several, its
dimension.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace
from typing import Any, NamedTuple, override

import numpy as np

from bayesanno._core.lazy import pt
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.counts import CountData
from bayesanno.data.described import split_dimensions
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.data.patterns import Layout, find_joint_patterns, find_patterns, lay_out
from bayesanno.modeling.arguments import Answers, CountDesign, Counts, Design, Dimensions, DimensionsDesign, Orders

Data = AnnotationData | CountData | MultiAnnotationData


class Axis(Enum):
    """The kind of entries of an array."""

    DATA = "anything else: it is never cut"
    PATTERN = "a pattern of equal items"
    ROW = "items with equal values for a class prior"
    KEPT = "an annotation of the first item of a pattern"


class ArrayName(NamedTuple):
    """The role of an array, and its dimension; "" if there is only one."""

    role: str
    dimension: str = ""

    @property
    def name(self) -> str:
        """The name of the array's data container in a graph."""
        return f"{self.role}__{self.dimension}" if self.dimension else self.role


@dataclass(frozen=True)
class IndexArray:
    """An array for a formula or a generative process."""

    values: np.ndarray
    axis: Axis = Axis.DATA


Arrays = dict[ArrayName, IndexArray]
RESPONSE, SUCCESSES = ArrayName("label"), ArrayName("positive")  # the observed values
ITEM_PATTERN, PATTERN_ITEM = ArrayName("item_pattern"), ArrayName("pattern_item")
CONTROL, TRIALS = ArrayName("control"), ArrayName("trials")
CLASS_ROW, ROW_OF_ITEM = ArrayName("class_row"), ArrayName("class_row_of_item")
ITEM_WEIGHT = ArrayName("item_weight")
SWAPPED, KEPT_SWAPPED = "annotation_swapped", "kept_swapped"  # roles


@dataclass(frozen=True)
class Patterns:
    """The equal items of data, and the way back from patterns to items or annotations.

    Attributes
    ----------
    layouts : mapping of dimension to Layout
        The layout of each table of annotations; a single one is under "".
    first : array of int, shape (pattern,)
        The first item of each pattern.
    of_item : array of int, shape (item,)
        The pattern of each item.
    class_rows : Arrays
        The arrays of a class prior, with one row for items with equal values; empty without a class prior.
    """

    layouts: Mapping[str, Layout]
    first: np.ndarray
    of_item: np.ndarray
    class_rows: Arrays = field(default_factory=dict)

    @property
    def n_patterns(self) -> int:
        """Number of distinct patterns."""
        return int(self.first.size)

    def expand_to_items(self, dim: str, dimension: str = "") -> np.ndarray:
        """Return for each item, or annotation of a dimension, the position of the equal one among the patterns'."""
        return self.of_item if dim == "item" else self.layouts[dimension].source

    def rows(self, dim: str, chunk: slice, dimension: str = "") -> np.ndarray:
        """Return the pattern of each item, or annotation, of a chunk of patterns, numbered from the chunk's first."""
        of = np.arange(self.n_patterns) if dim == "item" else self.layouts[dimension].kept_pattern
        begin, end = np.searchsorted(of, [chunk.start, chunk.stop])
        return of[begin:end] - chunk.start


class DataAdapter(ABC):
    """The interface of a kind of data for `bayesanno.modeling.likelihood`."""

    observed: str  # the name of the observed variable,
    values: ArrayName  # of the array that it observes,
    dim: str  # and of its dimension

    @abstractmethod
    def find_patterns(self, data: Any, *, collapse: bool = True) -> Patterns:
        """Find the items that are equal; without `collapse` all are treated as different."""

    @abstractmethod
    def arrays(self, data: Any, patterns: Patterns) -> Arrays:
        """Return the arrays for formula and generative process, including the observed values."""

    @abstractmethod
    def answers(self, data: Any, given: Mapping[ArrayName, pt.TensorVariable]) -> Any:
        """Return the argument of a formula; only names and sizes of the data are used."""

    @abstractmethod
    def design(self, data: Any, given: Mapping[ArrayName, pt.TensorVariable]) -> Any:
        """Return the argument of a generative process; only names and sizes of the data are used."""


class CountAdapter(DataAdapter):
    """Positive answers out of all answers."""

    observed, values, dim = "successes", SUCCESSES, "item"

    def find_patterns(self, data: CountData, *, collapse: bool = True) -> Patterns:
        pattern = find_joint_patterns([data.successes, data.trials]) if collapse else np.arange(data.n_items)
        first = np.unique(pattern, return_index=True)[1]
        return Patterns({}, first, pattern)

    @override
    def arrays(self, data: CountData, patterns: Patterns) -> Arrays:
        return {SUCCESSES: IndexArray(data.successes), TRIALS: IndexArray(data.trials), **_of_patterns(patterns)}

    @override
    def answers(self, data: CountData, given: Mapping[ArrayName, pt.TensorVariable]) -> Counts:
        item = given[PATTERN_ITEM]
        own = {key.role: variable for key, variable in given.items()}
        return Counts(given[SUCCESSES][item], given[TRIALS][item], n_items=item.shape[0], index=own)

    @override
    def design(self, data: CountData, given: Mapping[ArrayName, pt.TensorVariable]) -> CountDesign:
        return CountDesign(trials=given[TRIALS], n_items=given[TRIALS].shape[0])


class LabelAdapter(DataAdapter):
    """One or several tables of annotations of the same items; patterns cover all of them together."""

    observed, values, dim = "annotations", RESPONSE, "annotation"

    @override
    def find_patterns(self, data: AnnotationData | MultiAnnotationData, *, collapse: bool = True) -> Patterns:
        tables = split_dimensions(data)
        pattern: np.ndarray = np.arange(data.n_items)
        if collapse:
            pattern = find_joint_patterns([find_patterns(table) for table in tables.values()])
        layouts = {name: lay_out(table, pattern) for name, table in tables.items()}
        first = np.unique(pattern, return_index=True)[1]
        return Patterns(layouts, first, pattern)

    @override
    def arrays(self, data: AnnotationData | MultiAnnotationData, patterns: Patterns) -> Arrays:
        arrays = {RESPONSE: IndexArray(data.label), **_of_patterns(patterns)}
        begin = 0
        for name, table in split_dimensions(data).items():
            arrays |= _of_annotations(table, patterns.layouts[name], name, begin)
            begin += table.n_annotations
        return arrays


class AnnotationAdapter(LabelAdapter):
    """One table of annotations."""

    @override
    def arrays(self, data: Any, patterns: Patterns) -> Arrays:
        return super().arrays(data, patterns) | {CONTROL: IndexArray(data.control_codes)}

    def answers(self, data: AnnotationData, given: Mapping[ArrayName, pt.TensorVariable]) -> Answers:
        return _answers(data, given, "")

    def design(self, data: AnnotationData, given: Mapping[ArrayName, pt.TensorVariable]) -> Design:
        return _design(data, given, "")


class DimensionsAdapter(LabelAdapter):
    """Several tables of annotations of the same items."""

    def answers(self, data: MultiAnnotationData, given: Mapping[ArrayName, pt.TensorVariable]) -> Dimensions:
        answers = {name: _answers(part, given, name) for name, part in data.by_dimension.items()}
        return Dimensions(answers, given[PATTERN_ITEM].shape[0], data.n_annotators)

    def design(self, data: MultiAnnotationData, given: Mapping[ArrayName, pt.TensorVariable]) -> DimensionsDesign:
        designs = {name: _design(part, given, name) for name, part in data.by_dimension.items()}
        return DimensionsDesign(designs, given[ITEM_PATTERN].shape[0])


DATA_ADAPTERS: dict[type[Data], DataAdapter] = {
    AnnotationData: AnnotationAdapter(),
    CountData: CountAdapter(),
    MultiAnnotationData: DimensionsAdapter(),
}


def outline_of(data: Any) -> SimpleNamespace:
    """Return the parts of data that `answers` and `design` use: numbers of annotators and labels, and classes."""
    used = ("n_annotators", "n_labels", "class_codes", "exchange")
    sizes = {name: getattr(data, name) for name in used if hasattr(data, name)}
    parts = {name: outline_of(part) for name, part in getattr(data, "by_dimension", {}).items()}
    return SimpleNamespace(**sizes, by_dimension=parts)


def slice_patterns(arrays: Mapping[ArrayName, IndexArray], chunk: slice) -> dict[ArrayName, np.ndarray]:
    """Cut a chunk of patterns out of arrays, renumbered from zero; arrays without patterns stay whole."""
    within = {}  # the annotations of the chunk, in each dimension
    for key, array in arrays.items():
        if key.role == "kept_pattern":
            within[key.dimension] = slice(*np.searchsorted(array.values, [chunk.start, chunk.stop]))
    renumbered = {}
    where: dict[Axis, Any] = {Axis.DATA: slice(None), Axis.PATTERN: chunk}
    if CLASS_ROW in arrays:
        where[Axis.ROW], renumbered[CLASS_ROW] = np.unique(arrays[CLASS_ROW].values[chunk], return_inverse=True)
    parts = {}
    for key, array in arrays.items():
        part = array.values[within[key.dimension] if array.axis is Axis.KEPT else where[array.axis]]
        parts[key] = renumbered.get(key, part - (chunk.start if key.role == "kept_pattern" else 0))
    return parts


def _of_patterns(patterns: Patterns) -> Arrays:
    return {ITEM_PATTERN: IndexArray(patterns.of_item), PATTERN_ITEM: IndexArray(patterns.first, Axis.PATTERN)}


def _of_annotations(data: AnnotationData, layout: Layout, dimension: str, begin: int) -> Arrays:
    """Return the arrays of annotators and items; `begin` is the position of the first annotation among all."""
    arrays = {
        "annotation_annotator": IndexArray(data.annotator),
        "annotation_item": IndexArray(data.item),
        "kept_annotation": IndexArray(layout.kept + begin, Axis.KEPT),
        "kept_annotator": IndexArray(data.annotator[layout.kept], Axis.KEPT),
        "kept_pattern": IndexArray(layout.kept_pattern, Axis.KEPT),
    }
    if data.has_both_orders:
        swapped = data.swapped.astype(np.int64)
        arrays |= {SWAPPED: IndexArray(swapped), KEPT_SWAPPED: IndexArray(swapped[layout.kept], Axis.KEPT)}
    return {ArrayName(role, dimension): array for role, array in arrays.items()}


def _answers(data: AnnotationData, given: Mapping[ArrayName, pt.TensorVariable], dimension: str) -> Answers:
    own = {key.role: variable for key, variable in given.items() if key.dimension == dimension}
    return Answers(
        annotator=own["kept_annotator"],
        item=own["kept_pattern"],
        n_items=given[PATTERN_ITEM].shape[0],
        all_responses=given[RESPONSE],
        kept=own["kept_annotation"],
        control=given[CONTROL][given[PATTERN_ITEM]] if CONTROL in given else None,
        n_annotators=data.n_annotators,
        n_responses=data.n_labels,
        names_class=_names_class(data),
        index=own,
        orders=Orders(own[KEPT_SWAPPED], *data.exchange) if KEPT_SWAPPED in own else None,
    )


def _names_class(data: AnnotationData) -> np.ndarray:
    return np.equal.outer(data.class_codes, np.arange(data.n_labels))


def _design(data: AnnotationData, given: Mapping[ArrayName, pt.TensorVariable], dimension: str) -> Design:
    swapped = given.get(ArrayName(SWAPPED, dimension))
    return Design(
        annotator=given[ArrayName("annotation_annotator", dimension)],
        item=given[ArrayName("annotation_item", dimension)],
        n_items=given[ITEM_PATTERN].shape[0],
        names_class=_names_class(data),
        control=given.get(CONTROL),
        class_row=given.get(ROW_OF_ITEM),
        orders=Orders(swapped, *data.exchange) if swapped is not None else None,
    )
