"""What the command line makes of its options for a model: data, or a design to simulate, of the kind that it takes.

The invariant: an option that the model has no use for is refused, not ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bayesanno.cli.options import parse_labels, parse_labels_by_dimension, split_names
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.counts import CountData
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import counted, listed
from bayesanno.io.annotations import annotations_from
from bayesanno.io.count_tables import counts_from, holds_counts
from bayesanno.io.dimensions import check_dimensions, multi_annotations_from
from bayesanno.io.text_table import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bayesanno.io.read_options import ReadOptions
    from bayesanno.modeling.base import AnnotationModel


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asks to read, and for which model.

    Parameters
    ----------
    model : AnnotationModel
    source : str
        A file or a named data set.
    options : ReadOptions
        The options of reading, but for the labels that are declared.
    labels : sequence of str
        What was given with --labels, each time it was given.
    positive : str, optional
        The label to count, or to set against all others.
    """

    model: AnnotationModel
    source: str
    options: ReadOptions
    labels: Sequence[str] = ()
    positive: str | None = None

    @property
    def given(self) -> dict[str, bool]:
        """Which options were given, by their names; of --format, one that is not of a long table."""
        found = self.options
        return {
            "--gold": found.gold is not None,
            "--gold-file": found.gold_file is not None,
            "--controls": found.controls is not None,
            "--successes": found.successes is not None,
            "--trials": found.trials is not None,
            "--positive": self.positive is not None,
            "--unsure": bool(found.unsure),
            "--format": found.format not in ("auto", "long"),
        }


def read_for(
    model: AnnotationModel,
    source: str,
    options: ReadOptions,
    *,
    labels: Sequence[str] = (),
    positive: str | None = None,
) -> tuple[Any, str]:
    """Read the data that a model takes, and describe them in one line.

    A model of counts takes a table of counts (see `read_counts`), or annotations, in which a label is counted, and
    unsure answers are left out. For a model of two labels, one is set against all others.

    Parameters
    ----------
    model : AnnotationModel
    source : str
        A file or a named data set.
    options : ReadOptions
        The options of reading; `label` has one column for each dimension.
    labels : sequence of str
        Declared labels as on the command line: "A,B,..." once, or for several dimensions "NAME=A,B,..." for each.
    positive : str, optional
        The label to count; of two labels by default the last.

    Raises
    ------
    DataFileError, DataError
        As for the readers; if an option does not suit the model; or if there are more than two labels and none of them
        is said to be the positive one.
    """
    request = Request(model=model, source=source, options=options, labels=labels, positive=positive)
    kind = _KINDS[model.data_class]
    for option, reason in kind.refused.items():
        if request.given[option]:
            raise DataError(reason.format(option=option, model=model.name))
    return kind.read(request)


def _read_annotations(request: Request) -> tuple[AnnotationData, str]:
    model, positive = request.model, request.positive
    if positive is not None and not model.two_labels:
        raise DataError(_EVERY_LABEL.format(option="--positive", model=model.name))
    data = annotations_from(open_table(request.source), _with_labels(request))
    if model.two_labels:
        data = data.binarise(positive=_last_of_two(data) if positive is None else positive)
    return data, data.describe()


def _read_counts(request: Request) -> tuple[CountData, str]:
    options, positive = _with_labels(request), request.positive
    table = open_table(request.source)
    of_counts = any(option is not None for option in (options.successes, options.trials))
    of_annotations = any((options.annotator, options.label, options.labels, options.unsure, options.format != "auto"))
    if of_counts or (not of_annotations and holds_counts(table)):
        if of_annotations:
            raise DataError(
                "--successes and --trials name columns of counts, and --annotator, --label, --labels, --unsure and "
                "--format are for annotations: give those of one kind"
            )
        if positive is not None:
            raise DataError(f"{table.name} has columns of successes and trials, counted already: leave out --positive")
        data = counts_from(table, options)
        return data, data.describe()
    annotations = annotations_from(table, options)
    what = repr(positive)
    if positive is None:
        positive = _last_of_two(annotations)
        what = f"{positive!r} (taken as positive; --positive takes another)"
    data = CountData.from_annotations(annotations, positive=positive)
    n_unsure = int(annotations.unsure_by_annotator.sum())
    left_out = f"; {counted(n_unsure, 'unsure answer')} left out" if n_unsure else ""
    return data, data.describe(positive=what) + left_out


def _read_dimensions(request: Request) -> tuple[MultiAnnotationData, str]:
    options = replace(request.options, labels_by_dimension=parse_labels_by_dimension(request.labels))
    check_dimensions(options)
    data = multi_annotations_from(open_table(request.source), options)
    return data, data.describe()


def _with_labels(request: Request) -> ReadOptions:
    """Return the options of reading one label column."""
    columns = request.options.label
    if len(columns) > 1:
        raise DataError(
            f"{request.model.name} is of one label column, not {len(columns)}: name one, or take model_a_multi"
        )
    return replace(request.options, labels=parse_labels(request.labels))


def _last_of_two(data: AnnotationData) -> str:
    if data.n_classes > 2:
        raise DataError(
            f"there are {data.n_classes} labels, {listed(data.classes)}: say with --positive which of them to count"
        )
    return data.classes[-1]


@dataclass(frozen=True, kw_only=True)
class Design:
    """What the command line asks to simulate.

    Parameters
    ----------
    items, annotators, per_item, random_seed
        As for `make_design`.
    labels : str
        The number of labels, or their names, "A,B,...".
    dimensions : str
        The names of the dimensions, "A,B,...".
    unsure : sequence of str
        Names of further labels, which are no class.
    """

    items: int
    annotators: int
    per_item: int | tuple[int, int]
    labels: str
    dimensions: str
    random_seed: int
    unsure: Sequence[str] = ()


def design_for(model: AnnotationModel, design: Design) -> Any:
    """Return a design of the kind of data that a model takes, for it to simulate answers to.

    Raises
    ------
    DataError
        As for `make_design`; if a dimension is named twice, or the model takes no answers that are no class.
    """
    if design.unsure and not model.takes_other_labels:
        raise DataError(f"{model.name} makes no answers that are no class: leave out --unsure")
    return _KINDS[model.data_class].design(design)


def _design_annotations(design: Design) -> AnnotationData:
    from bayesanno.simulation.designs import make_design

    return make_design(
        items=design.items,
        annotators=design.annotators,
        labels=int(design.labels) if design.labels.isdecimal() else split_names(design.labels),
        unsure=design.unsure,
        per_item=design.per_item,
        random_seed=design.random_seed,
    )


def _design_counts(design: Design) -> CountData:
    from bayesanno.simulation.designs import make_count_design

    return make_count_design(items=design.items, per_item=design.per_item, random_seed=design.random_seed)


def _design_dimensions(design: Design) -> MultiAnnotationData:
    shared, names = _design_annotations(design), split_names(design.dimensions)
    if len(set(names)) < len(names):
        raise DataError(f"a dimension is named twice among {listed(names)}")
    return MultiAnnotationData(by_dimension=dict.fromkeys(names, shared))


@dataclass(frozen=True, kw_only=True)
class _Kind:
    """How a kind of data is read and designed, and the message that refuses an option which it has no use for."""

    read: Callable[[Request], tuple[Any, str]]
    design: Callable[[Design], Any]
    refused: Mapping[str, str]


_FOR_COUNTS = dict.fromkeys(
    ("--successes", "--trials"), "{option} is for models of counts: {model} reads annotations, so leave it out"
)
_EVERY_LABEL = "{option} is for models of counts or of two labels: {model} takes every label as it is, so leave it out"
_KNOWN = ("--gold", "--gold-file", "--controls")
_NO_TRUTH = "{model} has no true labels: leave out {option}"
_ONE_COLUMN = "{option} is for one label column: {model} reads several, so leave it out"

_KINDS: Mapping[type, _Kind] = {
    AnnotationData: _Kind(read=_read_annotations, design=_design_annotations, refused=_FOR_COUNTS),
    CountData: _Kind(
        read=_read_counts,
        design=_design_counts,
        refused=dict.fromkeys(_KNOWN, _NO_TRUTH),
    ),
    MultiAnnotationData: _Kind(
        read=_read_dimensions,
        design=_design_dimensions,
        refused={
            **_FOR_COUNTS,
            **dict.fromkeys(_KNOWN, _ONE_COLUMN),
            "--positive": _EVERY_LABEL,
            "--unsure": "{option} is for one label column, and {model} reads several, where no answer may be unsure: "
            "empty those cells, which are then no answers",
            "--format": "{model} reads a long table, with a label column for each dimension: leave out {option}",
        },
    ),
}
