"""Tables with several label columns: one row per annotator and item, one column per dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bayesanno._core.errors import DataError
from bayesanno._core.wording import as_names, listed, nearest, option, spell
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.io.annotations import annotations_from
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
        raise DataError(
            "several dimensions need several label columns: name each one with "
            f"{spell('dimensions=[...]', '--label A --label B')}"
        )
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
    parts, known = {}, [table.header[at] for at in table.matching("gold")]
    shared = {table.header[table.need(role, getattr(options, role))] for role in ("item", "annotator")}
    for name in options.label:
        gold = f"gold_{name}" if f"gold_{name}" in table.header else None
        # A column named just "gold" does not show its dimension.
        others = {*options.label, *(f"gold_{other}" for other in options.label), *known} - {name, gold, *shared}
        own = table.without([at for at, other in enumerate(table.header) if other in others])
        labels = options.labels_by_dimension.get(name)
        try:
            parts[name] = annotations_from(
                own, replace(options, format="long", label=(name,), labels=labels, gold=gold, labels_by_dimension={})
            )
        except DataError as error:
            said = str(error).replace(
                option("labels"), spell(f"labels={{{name!r}: [...]}}", f"--labels {name}=A,B,...")
            )
            raise DataError(f"dimension {name!r}: {said}") from None
    return MultiAnnotationData(by_dimension=parts)
