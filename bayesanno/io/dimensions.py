"""Tables with several label columns: one row per annotator and item, one column per dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bayesanno._core.errors import DataError
from bayesanno._core.wording import as_names, listed, nearest
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.data.names import sort_labels
from bayesanno.io.columns import make_annotations
from bayesanno.io.formats.long import find_long_columns, read_rows
from bayesanno.io.names import warn_of_alike, warn_of_missing_codes, warn_of_strange_gold
from bayesanno.io.read_options import ReadOptions, label_names
from bayesanno.io.sources import Source, open_source
from bayesanno.io.text_table import TextTable


def read_multi_annotations(
    source: Source,
    dimensions: str | Sequence[str],
    *,
    item: str | None = None,
    annotator: str | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    missing: str | Sequence[str] = (),
    strip: bool = False,
    ignore_case: bool = False,
) -> MultiAnnotationData:
    """Read annotations of several dimensions from a long table with a label column for each.

    Parameters
    ----------
    source : path, str or DataFrame
        As for `read_annotations`.
    dimensions : str or sequence of str
        The label columns, or the questions of an export, at least two; their names are the dimensions' names. An empty
        cell is no annotation of that dimension. A column gold_<dimension>, if there is one, has its known true labels,
        for evaluation.
    item, annotator : str, optional
        The columns' names, as for `read_annotations`.
    labels : mapping of dimension to sequence of str, optional
        All possible labels of a dimension, in order (grades from the lowest to the highest); may name some that nobody
        used. By default, and for a dimension that is not in the mapping, those found, sorted.
    missing, strip, ignore_case
        As for `read_annotations`.

    Returns
    -------
    MultiAnnotationData
        Items and annotators by first appearance, dimensions in the order given.

    Raises
    ------
    DataFileError, DataError
        As for `read_annotations`; if there are fewer than two columns, one is named twice, or labels are of what is no
        dimension.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesanno.io.dimensions import read_multi_annotations
    >>> columns = {"item": ["s1", "s1"], "annotator": ["ada", "bo"], "focus": ["A", "B"], "polarity": ["+", "-"]}
    >>> data = read_multi_annotations(pd.DataFrame(columns), ["focus", "polarity"], labels={"focus": ["A", "B", "C"]})
    >>> {name: part.labels for name, part in data.by_dimension.items()}
    {'focus': ('A', 'B', 'C'), 'polarity': ('+', '-')}
    """
    if labels is not None and not isinstance(labels, Mapping):
        raise DataError("labels of several dimensions must be a mapping: write {dimension: [label, ...]}")
    declared = {
        str(name): label_names(f"labels of dimension {name!r}", given) for name, given in (labels or {}).items()
    }
    options = ReadOptions(
        item=item,
        annotator=annotator,
        label=as_names(dimensions),
        labels_by_dimension=declared,
        missing=missing,
        strip=strip,
        ignore_case=ignore_case,
    )
    check_dimensions(options)
    return multi_annotations_from(*open_source(source, options))


def check_dimensions(options: ReadOptions) -> None:
    """Raise a DataError unless the options name several label columns, and labels only for these."""
    names = options.label
    if len(names) < 2:
        raise DataError("several dimensions need several label columns: name each one with dimensions=[...]")
    if len(set(names)) < len(names):
        raise DataError(f"a label column appears twice in {listed(names)}: name each one once")
    odd = next((name for name in options.labels_by_dimension if name not in names), None)
    if odd is not None:
        raise DataError(
            f"labels are given for {odd!r}, which is not a dimension: the dimensions are {listed(names)}"
            f"{nearest(odd, names)}"
        )


def multi_annotations_from(table: TextTable, options: ReadOptions) -> MultiAnnotationData:
    """Return the annotations of several dimensions in a table, as `read_multi_annotations` does.

    Raises
    ------
    DataFileError, DataError
        As for `read_multi_annotations`.
    """
    shared = {role: table.header[table.need(role, getattr(options, role))] for role in ("item", "annotator")}
    parts = {}
    for name in options.label:
        try:
            parts[name] = _read_dimension(table, shared, name, options)
        except DataError as error:
            raise DataError(f"dimension {name!r}: {error}") from None
    return MultiAnnotationData(by_dimension=parts)


def _read_dimension(table: TextTable, shared: Mapping[str, str], name: str, options: ReadOptions) -> AnnotationData:
    declared = options.labels_by_dimension.get(name)
    named = {**shared, "label": name, "gold": f"gold_{name}"}
    # A column named just "gold" does not show its dimension.
    answers = read_rows(
        table,
        find_long_columns(table, named, with_gold=named["gold"] in table.header),
        replace(options, labels=declared),
    )
    labels = sort_labels(answers.label) if declared is None else declared
    if len(labels) == 1:
        raise DataError(
            f"{table.name}: only one label, {labels[0]!r}: a model needs at least two; if others were possible but "
            f"never used, declare them with labels={{{name!r}: [...]}}"
        )
    data = make_annotations(answers, labels, gold=answers.gold, order_declared=declared is not None)
    if declared is None:
        warn_of_missing_codes(table.name, answers.label, answers.gold)
    if not warn_of_alike(table.name, labels=() if declared is not None else (*labels, *answers.gold.values())):
        warn_of_strange_gold(table.name, answers.gold, labels)
    return data
