"""What DATA on the command line becomes: the kind of data that the model takes.

The invariant: an option that the model has no use for is refused, not ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayesanno.data.annotations import CountData
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed
from bayesanno.io.annotations import read_annotations, read_counts
from bayesanno.io.datasets import load_named
from bayesanno.io.dimensions import read_dimensions
from bayesanno.io.text_table import read_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayesanno.data.annotations import AnnotationData
    from bayesanno.modeling.base import AnnotationModel


def read_for(
    entry: AnnotationModel, source: str, *, reading: Mapping[str, Any], positive: str | None = None
) -> tuple[Any, str]:
    """Read the data that a model takes, and describe them in a few words.

    A model of counts takes a table of counts (see `read_counts`), or annotations, in which a label is counted. For a
    model of two labels, one is set against all others.

    Parameters
    ----------
    entry : AnnotationModel
    source : str
        A file or a named data set.
    reading : mapping
        The options of `read_annotations`; what is None is not given. `label` is a list, of one column for each
        dimension.
    positive : str, optional
        The label to count; of two labels by default the last.

    Raises
    ------
    DataFileError, DataError
        As for the readers; if an option does not suit the model; or if there are more than two labels and none of them
        is said to be the positive one.
    """
    columns = reading.get("label") or []
    if entry.data_class is MultiAnnotationData:
        return _read_dimensions(entry, source, reading, positive)
    if len(columns) > 1:
        raise DataError(f"{entry.name} is of one label column, not {len(columns)}: name one, or take model_a_multi")
    reading = {**reading, "label": columns[0] if columns else None}
    if entry.data_class is CountData:
        return _read_counts(entry, source, reading, positive)
    if not entry.two_labels:
        _refuse_positive(entry, positive)
    data = read_annotations(source, **reading)
    if entry.two_labels:
        data = data.binarise(positive=_last_of_two(data) if positive is None else positive)
    return data, _describe(data)


def _refuse_positive(entry: AnnotationModel, positive: str | None) -> None:
    if positive is not None:
        raise DataError(f"--positive is for models of counts or of two labels: {entry.name} takes every label as it is")


def _read_dimensions(
    entry: AnnotationModel, source: str, reading: Mapping[str, Any], positive: str | None
) -> tuple[MultiAnnotationData, str]:
    _refuse_positive(entry, positive)
    for option in ("labels", "gold", "gold_file", "controls"):
        if reading.get(option) is not None:
            name = option.replace("_", "-")
            raise DataError(f"--{name} is for one label column: {entry.name} reads several, so leave it out")
    if reading.get("format", "auto") not in ("auto", "long"):
        raise DataError(f"{entry.name} reads a long table, with a label column for each dimension: leave out --format")
    own = {option: reading.get(option) for option in ("item", "annotator")}
    data = read_dimensions(source, reading.get("label") or [], **own)
    return data, (
        f"{data.n_annotations} annotations of {data.n_items} items by {data.n_annotators} annotators in "
        f"{len(data.dimensions)} dimensions, {', '.join(data.dimensions)}"
    )


def _describe(data: AnnotationData) -> str:
    return (
        f"{data.n_annotations} annotations of {data.n_items} items by {data.n_annotators} annotators, "
        f"{data.n_labels} labels"
    )


def _read_counts(
    entry: AnnotationModel, source: str, reading: Mapping[str, Any], positive: str | None
) -> tuple[CountData, str]:
    for option in ("gold", "gold_file", "controls"):
        if reading.get(option) is not None:
            raise DataError(f"{entry.name} has no true labels: leave out --{option.replace('_', '-')}")
    unnamed = all(reading.get(option) is None for option in ("annotator", "label", "labels"))
    if unnamed and reading.get("format", "auto") == "auto" and _holds_counts(source):
        if positive is not None:
            raise DataError(f"{source} has columns of successes and trials, counted already: leave out --positive")
        data, what = read_counts(source, item=reading.get("item")), "positive"
    else:
        annotations = read_annotations(source, **reading)
        what = repr(positive)
        if positive is None:
            positive = _last_of_two(annotations)
            what = f"{positive!r} (taken as positive; --positive takes another)"
        data = CountData.from_annotations(annotations, positive=positive)
    return data, f"{data.trials.sum()} answers to {data.n_items} items, {data.successes.sum()} of them {what}"


def _holds_counts(source: str) -> bool:
    """Tell whether a table is one of counts: it has columns for successes and for trials, and none for a label."""
    table = read_table(load_named(source) if source.startswith("@") else source)
    return all(table.matching(role) for role in ("successes", "trials")) and not table.matching("label")


def _last_of_two(data: AnnotationData) -> str:
    if data.n_labels > 2:
        raise DataError(
            f"there are {data.n_labels} labels, {listed(data.labels)}: say with --positive which of them to count"
        )
    return data.labels[-1]
