"""Further annotations for existing data, such as the answers that were suggested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bayesanno._core.errors import DataError
from bayesanno._core.wording import option
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.columns import extend_columns
from bayesanno.data.described import require_kind
from bayesanno.data.labelled import Codes
from bayesanno.io.columns import find_positions
from bayesanno.io.names import refuse_label
from bayesanno.io.pairs import understand_added
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.sources import Source, open_beside
from bayesanno.io.spelling import join_spellings


def add_annotations(
    data: AnnotationData,
    source: Source,
    *,
    missing: str | Sequence[str] = (),
    strip: bool = False,
    ignore_case: bool = False,
    same: Mapping[str, str] | None = None,
    encoding: str | None = None,
    separator: str | None = None,
) -> AnnotationData:
    """Return the data with further answers, such as those that `suggest_annotations` asks for.

    Parameters
    ----------
    data : AnnotationData
    source : path, str or DataFrame
        Columns item, annotator and label. Rows without a label are left out, and other columns are ignored. Items and
        annotators may be new; the `item_columns` of new items are missing. For comparisons, columns with the names of
        the sides have the order that was shown, if it was not the item's; the label may be the name of a system.
    missing, strip, ignore_case, same, encoding, separator
        As for `read_annotations`.

    Raises
    ------
    DataFileError, DataError
        If the table cannot be read or lacks a column; if a label is not a label of the data, or an annotator has
        already answered the item.

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesanno as ba
    >>> data = ba.AnnotationData.from_records([("s1", "ada", "yes"), ("s2", "bo", "no")])
    >>> answered = pd.DataFrame({"item": ["s1", "s2"], "annotator": ["bo", "cy"], "label": ["yes", ""]})
    >>> ba.add_annotations(data, answered).describe()
    '3 annotations of 2 items by 2 annotators; labels no, yes'
    """
    require_kind(data, AnnotationData, "add_annotations")
    options = ReadOptions(
        missing=missing, strip=strip, ignore_case=ignore_case, same=same or {}, encoding=encoding, separator=separator
    )
    return add_from(data, source, options)


def add_from(data: AnnotationData, source: Source, options: ReadOptions) -> AnnotationData:
    """Return the data with further answers from a table, whose columns have the names in the options, or known ones.

    Raises
    ------
    DataFileError, DataError
        As for `add_annotations`.
    """
    table, item = open_beside(source, options)
    named = {role: name if name in table.header else None for role, name in options.roles.items()}
    columns = [item, *(table.need(role, named[role], may_be_named=False) for role in ("annotator", "label"))]
    items, annotators, labels = (table.columns[column] for column in columns)
    (labels,) = join_spellings([labels], options, data.labels)
    rows = [row for row, label in enumerate(labels) if label]
    swapped = [False] * len(labels)
    if data.has_systems:
        labels, swapped = understand_added(data, table, items, labels)
    codes = zip(data.item, data.annotator, data.swapped, strict=True)
    given = {(data.items[i], data.annotators[j], bool(turned)) for i, j, turned in codes}
    for row in rows:
        pair = items[row], annotators[row], swapped[row]
        if not all(pair[:2]):
            raise DataError(f"{table.where(row)}: label {labels[row]!r} has no item or no annotator: fill in both")
        if labels[row] not in data.labels:
            raise refuse_label(
                table.where(row), labels[row], data.labels, advice=f"; declare all with {option('labels')}"
            )
        if pair in given:
            raise DataError(f"{table.where(row)}: {pair[1]!r} has already answered item {pair[0]!r}: leave the row out")
        given.add(pair)
    new_items = tuple(dict.fromkeys([*data.items, *(items[row] for row in rows)]))
    new_annotators = tuple(dict.fromkeys([*data.annotators, *(annotators[row] for row in rows)]))

    def append(codes: Codes, cells: list[str], names: tuple[str, ...]) -> Codes:
        return np.append(codes, find_positions([cells[row] for row in rows], names))

    return replace(
        data,
        items=new_items,
        item_columns=extend_columns(data.item_columns, data.n_items, len(new_items)),
        annotators=new_annotators,
        annotator_columns=extend_columns(data.annotator_columns, data.n_annotators, len(new_annotators)),
        item=append(data.item, items, new_items),
        annotator=append(data.annotator, annotators, new_annotators),
        label=append(data.label, labels, data.labels),
        swapped=np.append(data.swapped, [swapped[row] for row in rows]),
    )
