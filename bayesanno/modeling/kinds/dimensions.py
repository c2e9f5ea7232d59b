"""Several dimensions annotated together: the same items, the same annotators, one table of annotations each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, override

import numpy as np

from bayesanno._core.lazy import pt, xr
from bayesanno._core.messages import DataError, listed
from bayesanno.data.described import require_kind
from bayesanno.data.dimensions import MultiAnnotationData, name_own
from bayesanno.modeling.arguments import Dimensions, DimensionsDesign
from bayesanno.modeling.kinds.annotations import (
    IN_ORDER,
    KNOWN,
    AnnotationKind,
    LabelKind,
    answers_of,
    design_of,
    known_of,
    read_names,
    read_table,
    store_tables,
)  # fmt: skip
from bayesanno.modeling.kinds.base import ITEM_PATTERN, PATTERN_ITEM, ArrayName
from bayesanno.modeling.kinds.counts import OF_ITEMS


class DimensionsKind(LabelKind):
    """Several tables of annotations of the same items."""

    data_class = MultiAnnotationData
    reads = "a label column for each dimension, of which no answer may be unsure"
    refused = (*OF_ITEMS, "positive", "columns", "count", "transpose", "unsure")

    @override
    def answers(self, data: MultiAnnotationData, given: Mapping[ArrayName, pt.TensorVariable]) -> Dimensions:
        answers = {name: answers_of(part, given, name) for name, part in data.by_dimension.items()}
        return Dimensions(answers, given[PATTERN_ITEM].shape[0], data.n_annotators)

    @override
    def design(self, data: MultiAnnotationData, given: Mapping[ArrayName, pt.TensorVariable]) -> DimensionsDesign:
        designs = {name: design_of(part, given, name) for name, part in data.by_dimension.items()}
        return DimensionsDesign(designs, given[ITEM_PATTERN].shape[0])

    @override
    def to_groups(self, data: MultiAnnotationData) -> dict[str, xr.Dataset]:
        names, parts = data.dimensions, list(data.by_dimension.values())
        of = np.repeat(np.arange(len(parts)), [part.n_annotations for part in parts])
        known = {
            name: (("dimension", "item"), [known_of(part, field) for part in parts]) for name, field in KNOWN.items()
        }
        responses = {name_own("response", name): list(part.labels) for name, part in data.by_dimension.items()}
        variables: dict[str, Any] = {"annotation_dimension": ("annotation", of), **known}
        if any(part.order_declared for part in parts):
            variables[IN_ORDER] = ("dimension", [part.order_declared for part in parts])
        return store_tables(parts, variables, {"dimension": list(names), **responses})

    @override
    def from_groups(self, groups: Mapping[str, xr.Dataset]) -> MultiAnnotationData:
        observed, constant = groups["observed_data"], groups["constant_data"]
        dimension = constant["annotation_dimension"].values  # (annotation,)
        parts = {}
        for code, name in enumerate(read_names(constant, "dimension")):
            own = {"annotation": np.flatnonzero(dimension == code)}
            labels = read_names(constant, name_own("response", name))
            parts[name] = read_table(observed.isel(own), constant.isel(own | {"dimension": code}), labels)
        return MultiAnnotationData(by_dimension=parts)

    @override
    def make_design(self, **asked: Any) -> MultiAnnotationData:
        names = asked["dimensions"]
        if len(set(names)) < len(names):
            raise DataError(f"a dimension is named twice among {listed(names)}")
        return MultiAnnotationData(by_dimension=dict.fromkeys(names, AnnotationKind().make_design(**asked)))

    @override
    def make_smallest(self, more: int = 0) -> MultiAnnotationData:
        one = AnnotationKind().make_smallest(more)
        return MultiAnnotationData(by_dimension=dict.fromkeys(("first", "second"), one))

    @override
    def read_any(self, source: Any) -> MultiAnnotationData:
        require_kind(source, MultiAnnotationData, "a model of several dimensions")  # the names of columns are needed
        return source

    @override
    def read(self, model: Any, source: Any, options: Any) -> tuple[MultiAnnotationData, str]:
        from bayesanno.io.read import SHAPES, read_multi_annotations

        if options.get("format") in SHAPES:
            options.refuse(("format",), f"{model.name} reads a long table or an export")
        reading = {name: value for name, value in options.reading.items() if name != "label"}
        data = read_multi_annotations(source, options.label, labels=options.labels_by_dimension, **reading)
        return data, data.describe()
