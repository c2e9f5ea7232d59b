"""Tables with several label columns: one row per annotator and item, one column per dimension."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed
from bayesanno.io.annotations import check_names_survive, quoted, read_annotations, text_path, write_rows
from bayesanno.io.datasets import load_named
from bayesanno.io.text_table import read_table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from bayesanno.data.annotations import AnnotationData
    from bayesanno.io.annotations import Source


def read_dimensions(source: Source, dimensions: Sequence[str], **options: Any) -> MultiAnnotationData:
    """Read annotations of several dimensions from a long table with a label column for each.

    Parameters
    ----------
    source : path, str or DataFrame
        As for `read_annotations`.
    dimensions : sequence of str
        The label columns, at least two; their names are the dimensions' names. An empty cell is no annotation of that
        dimension. A column gold_<dimension>, if there is one, has its known true labels, for evaluation.
    **options
        `item` and `annotator` of `read_annotations`.

    Raises
    ------
    DataFileError, DataError
        As for `read_annotations`; if there are fewer than two columns, or one is named twice.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesanno.io.dimensions import read_dimensions
    >>> columns = {"item": ["s1", "s1"], "annotator": ["ada", "bo"], "focus": ["A", "B"], "polarity": ["+", "-"]}
    >>> read_dimensions(pd.DataFrame(columns), ["focus", "polarity"]).dimensions
    ('focus', 'polarity')
    """
    if len(dimensions) < 2:
        raise DataError("several dimensions need several label columns: name each of them (--label A --label B)")
    if len(set(dimensions)) < len(dimensions):
        raise DataError(f"a label column is named twice among {listed(dimensions)}")
    table = read_table(load_named(source) if isinstance(source, str) and source.startswith("@") else source)
    parts = {}
    for name in dimensions:
        gold = f"gold_{name}" if f"gold_{name}" in table.header else None
        try:
            part = read_annotations(source, format="long", label=name, gold=gold, **options)
        except DataError as error:
            raise DataError(f"dimension {name!r}: {error}") from None
        # which dimension a column that is just called gold is of, nobody knows
        parts[name] = replace(part, gold={}) if gold is None else part
    return MultiAnnotationData(by_dimension=parts)


def write_dimensions(data: MultiAnnotationData, path: str | os.PathLike[str]) -> None:
    """Write annotations of several dimensions so that `read_dimensions` gives them back; replaces a file that is there.

    One row per item and annotator, item by item, with a column for each dimension and, where any is known, its gold as
    gold_<dimension>. An item without annotations has a row of its own, and so has an annotator without any. What a file
    does not keep is as for `write_annotations`.

    Raises
    ------
    DataError
        If an annotator answered an item twice in a dimension, a dimension has the name of another column, or a name
        would not read back the same.
    DataFileError
        If the file cannot be written.

    Examples
    --------
    >>> from bayesanno.io.dimensions import write_dimensions
    >>> write_dimensions(data, "fragments.csv")  # doctest: +SKIP
    """
    path = text_path(path)
    gold = {f"gold_{name}": part.gold for name, part in data.by_dimension.items() if part.gold}
    for name in data.dimensions:
        if name.casefold() in ("item", "annotator") or name in {f"gold_{other}" for other in data.dimensions}:
            raise DataError(f"dimension {name!r} has the name of a column with another meaning: call it something else")
    parts = data.by_dimension.values()
    check_names_survive(
        {
            "item": data.items,
            "annotator": data.annotators,
            "dimension": data.dimensions,
            "label": [label for part in parts for label in part.labels],
            "gold label": [label for part in parts for label in part.gold.values()],
        }
    )
    cells = _cells(data)
    said, spoke = ({key[place] for key in cells} for place in (0, 1))
    some_item = next(iter(cells))[0]
    rows = [
        *sorted(cells, key=lambda key: key[0]),
        *((item, None) for item in range(data.n_items) if item not in said),
        *((some_item, annotator) for annotator in range(data.n_annotators) if annotator not in spoke),
    ]
    table = [["item", "annotator", *data.dimensions, *gold]]
    for item, annotator in rows:
        answers = cells.get((item, annotator), {}) if annotator is not None else {}
        table.append(
            [
                data.items[item],
                "" if annotator is None else data.annotators[annotator],
                *(answers.get(name, "") for name in data.dimensions),
                *(known.get(data.items[item], "") for known in gold.values()),
            ]
        )
    write_rows(path, map(quoted, table))


def _cells(data: MultiAnnotationData) -> dict[tuple[int, int], dict[str, str]]:
    """Return what each annotator said of each item: (item, annotator) -> dimension -> label."""
    cells: dict[tuple[int, int], dict[str, str]] = {}
    for name, part in data.by_dimension.items():
        for item, annotator, label in _triples(part):
            of_row = cells.setdefault((item, annotator), {})
            if name in of_row:
                raise DataError(
                    f"annotator {data.annotators[annotator]!r} answered item {data.items[item]!r} twice in dimension "
                    f"{name!r}, and a row has one cell for it"
                )
            of_row[name] = part.labels[label]
    return cells


def _triples(data: AnnotationData) -> Iterable[tuple[int, int, int]]:
    return zip(data.item.tolist(), data.annotator.tolist(), data.label.tolist(), strict=True)
