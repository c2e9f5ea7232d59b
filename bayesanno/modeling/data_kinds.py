"""How each kind of data enters a model's graph: which arrays, and what formula and story make of them.

A kind is chosen by the class of the data, never by the model. Arrays are named by what they have one entry of:
`pattern_...` per pattern, `kept_...` per annotation of the patterns; those can be cut into blocks of patterns. A
model's own `index_arrays` follow the same rule. The arrays of one dimension of several end in `__<dimension>`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.counts import CountData
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.data.patterns import Layout, find_joint_patterns, find_patterns, lay_out
from bayesanno.modeling.observations import Answers, CountDesign, Counts, Design, Dimensions, DimensionsDesign

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytensor.tensor.variable import TensorVariable

Arrays = dict[str, np.ndarray]
Data = AnnotationData | CountData | MultiAnnotationData


@dataclass(frozen=True)
class Patterns:
    """The items of any data that are equal, and the way back from patterns to whatever has a value per pattern.

    Attributes
    ----------
    layouts : mapping of dimension to Layout
        The layout of each table of annotations; the only one is under "".
    first : array of int, shape (pattern,)
        The first item of each pattern.
    back : mapping of dimension name to array of int
        For each item, and each annotation, the position of its equal among the patterns'.
    """

    layouts: Mapping[str, Layout]
    first: np.ndarray
    back: Mapping[str, np.ndarray]

    @property
    def n_patterns(self) -> int:
        """Number of distinct patterns."""
        return int(self.first.size)

    @property
    def layout(self) -> Layout:
        """The layout of the only table of annotations."""
        return self.layouts[""]


class Kind(ABC):
    """What the mechanism in `bayesanno.modeling.likelihood` asks of a kind of data."""

    observed: str  # the name of the observed variable,
    values: str  # of the array that it observes,
    dim: str  # and of its dimension

    @abstractmethod
    def find_patterns(self, data: Any) -> Patterns:
        """Find the items that are equal."""

    @abstractmethod
    def arrays(self, data: Any, patterns: Patterns, *, controlled: bool) -> Arrays:
        """Return the arrays that formula and story depend on, the observed values among them."""

    @abstractmethod
    def evidence(self, data: Any, given: Mapping[str, TensorVariable]) -> Any:
        """Return what a formula sees; of the data only names and sizes are used."""

    @abstractmethod
    def design(self, data: Any, given: Mapping[str, TensorVariable]) -> Any:
        """Return what a story sees; of the data only names and sizes are used."""


class AnnotationKind(Kind):
    """One table of annotations."""

    observed, values, dim = "annotations", "said", "annotation"

    def find_patterns(self, data: AnnotationData) -> Patterns:
        layout = lay_out(data)
        return Patterns({"": layout}, layout.first, {"item": layout.pattern, "annotation": layout.source})

    def arrays(self, data: AnnotationData, patterns: Patterns, *, controlled: bool) -> Arrays:
        arrays = {
            "said": data.label,
            "item_pattern": patterns.layout.pattern,
            "pattern_item": patterns.first,
            **_annotation_arrays(data, patterns.layout),
        }
        return arrays | {"control": data.control_codes} if data.controls or controlled else arrays

    def evidence(self, data: AnnotationData, given: Mapping[str, TensorVariable]) -> Answers:
        return _answers(data, given)

    def design(self, data: AnnotationData, given: Mapping[str, TensorVariable]) -> Design:  # noqa: ARG002
        return _design(given)


class CountKind(Kind):
    """Positive answers out of all answers."""

    observed, values, dim = "successes", "positive", "item"

    def find_patterns(self, data: CountData) -> Patterns:
        pattern = find_joint_patterns([data.successes, data.trials])
        first = np.unique(pattern, return_index=True)[1]
        return Patterns({}, first, {"item": pattern})

    def arrays(self, data: CountData, patterns: Patterns, *, controlled: bool) -> Arrays:  # noqa: ARG002
        return {
            "positive": data.successes,
            "trials": data.trials,
            "item_pattern": patterns.back["item"],
            "pattern_item": patterns.first,
        }

    def evidence(self, data: CountData, given: Mapping[str, TensorVariable]) -> Counts:  # noqa: ARG002
        item = given["pattern_item"]
        return Counts(successes=given["positive"][item], trials=given["trials"][item], index=given)

    def design(self, data: CountData, given: Mapping[str, TensorVariable]) -> CountDesign:  # noqa: ARG002
        return CountDesign(trials=given["trials"], n_items=given["trials"].shape[0])


class DimensionsKind(Kind):
    """Several tables of annotations of the same items; a pattern is of all of them together."""

    observed, values, dim = "annotations", "said", "annotation"

    def find_patterns(self, data: MultiAnnotationData) -> Patterns:
        pattern = find_joint_patterns([find_patterns(part) for part in data.by_dimension.values()])
        layouts = {name: lay_out(part, pattern) for name, part in data.by_dimension.items()}
        back = {f"annotation_{name}": layout.source for name, layout in layouts.items()}
        first = np.unique(pattern, return_index=True)[1]
        return Patterns(layouts, first, {"item": pattern, **back})

    def arrays(self, data: MultiAnnotationData, patterns: Patterns, *, controlled: bool) -> Arrays:  # noqa: ARG002
        arrays = {
            "said": data.label,
            "item_pattern": patterns.back["item"],
            "pattern_item": patterns.first,
        }
        begin = 0
        for name, part in data.by_dimension.items():
            for what, array in _annotation_arrays(part, patterns.layouts[name]).items():
                arrays[f"{what}__{name}"] = array + begin if what == "kept_annotation" else array
            begin += part.n_annotations
        return arrays

    def evidence(self, data: MultiAnnotationData, given: Mapping[str, TensorVariable]) -> Dimensions:
        answers = {name: _answers(part, _of_dimension(given, name)) for name, part in data.by_dimension.items()}
        return Dimensions(answers, given["pattern_item"].shape[0], data.n_annotators, given)

    def design(self, data: MultiAnnotationData, given: Mapping[str, TensorVariable]) -> DimensionsDesign:
        designs = {name: _design(_of_dimension(given, name)) for name in data.dimensions}
        return DimensionsDesign(designs, given["item_pattern"].shape[0])


def kind_of(data_class: type[Data]) -> Kind:
    """Return how data of this class enter a graph."""
    return {AnnotationData: AnnotationKind(), CountData: CountKind(), MultiAnnotationData: DimensionsKind()}[data_class]


def cut(arrays: Mapping[str, np.ndarray], block: slice) -> Arrays:
    """Cut a block of patterns out of arrays, renumbered from zero; what is not of patterns stays whole."""
    blocks = {}
    for name, array in arrays.items():
        stem, separator, dimension = name.partition("__")
        if stem.startswith("pattern_"):
            blocks[name] = array[block]
        elif stem.startswith("kept_"):
            begin, end = np.searchsorted(arrays[f"kept_pattern{separator}{dimension}"], [block.start, block.stop])
            blocks[name] = array[begin:end] - (block.start if stem == "kept_pattern" else 0)
        else:
            blocks[name] = array
    return blocks


def _annotation_arrays(data: AnnotationData, layout: Layout) -> Arrays:
    return {
        "annotation_annotator": data.annotator,
        "annotation_item": data.item,
        "kept_annotation": layout.kept,
        "kept_annotator": data.annotator[layout.kept],
        "kept_pattern": layout.kept_pattern,
    }


def _of_dimension(given: Mapping[str, TensorVariable], dimension: str) -> dict[str, TensorVariable]:
    ending = f"__{dimension}"
    own = {name.removesuffix(ending): variable for name, variable in given.items() if name.endswith(ending)}
    return {**given, **own}


def _answers(data: AnnotationData, given: Mapping[str, TensorVariable]) -> Answers:
    return Answers(
        annotator=given["kept_annotator"],
        item=given["kept_pattern"],
        n_items=given["pattern_item"].shape[0],
        all_said=given["said"],
        kept=given["kept_annotation"],
        control=given["control"][given["pattern_item"]] if "control" in given else None,
        n_annotators=data.n_annotators,
        n_labels=data.n_labels,
        index=given,
    )


def _design(given: Mapping[str, TensorVariable]) -> Design:
    return Design(
        annotator=given["annotation_annotator"],
        item=given["annotation_item"],
        n_items=given["item_pattern"].shape[0],
        control=given.get("control"),
    )
