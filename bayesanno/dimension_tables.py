"""Tables with several label columns: one row per annotator and item, one column per dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayesanno.data import listed
from bayesanno.dimensions import MultiAnnotationData
from bayesanno.errors import DataError, DataFileError
from bayesanno.formats import read_annotations

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from bayesanno.formats import Source


def read_dimensions(source: Source, dimensions: Sequence[str], **options: Any) -> MultiAnnotationData:
    """Read annotations of several dimensions from a long table with a label column for each.

    Parameters
    ----------
    source : path, str or DataFrame
        As for `read_annotations`.
    dimensions : sequence of str
        The label columns, at least two; their names are the dimensions' names. An empty cell is no annotation of that
        dimension.
    **options
        `item` and `annotator` of `read_annotations`.

    Raises
    ------
    DataFileError, DataError
        As for `read_annotations`; if there are fewer than two columns, or one is named twice.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesanno.dimension_tables import read_dimensions
    >>> columns = {"item": ["s1", "s1"], "annotator": ["ada", "bo"], "focus": ["A", "B"], "polarity": ["+", "-"]}
    >>> read_dimensions(pd.DataFrame(columns), ["focus", "polarity"]).dimensions
    ('focus', 'polarity')
    """
    if len(dimensions) < 2:
        raise DataError("several dimensions need several label columns: name each of them (--label A --label B)")
    if len(set(dimensions)) < len(dimensions):
        raise DataError(f"a label column is named twice among {listed(dimensions)}")
    parts = {}
    for name in dimensions:
        try:
            parts[name] = read_annotations(source, format="long", label=name, **options)
        except DataError as error:
            raise DataError(f"dimension {name!r}: {error}") from None
    return MultiAnnotationData(by_dimension=parts)


def write_dimensions(data: MultiAnnotationData, path: str | os.PathLike[str]) -> None:
    """Write annotations of several dimensions so that `read_dimensions` gives them back, gold as gold_<dimension>.

    Raises
    ------
    DataError
        If an annotator answered an item twice in a dimension.
    DataFileError
        If the file cannot be written.

    Examples
    --------
    >>> from bayesanno.dimension_tables import write_dimensions
    >>> write_dimensions(data, "fragments.csv")  # doctest: +SKIP
    """
    import pandas as pd

    rows: dict[tuple[int, int], dict[str, str]] = {}
    for name, part in data.by_dimension.items():
        triples = zip(part.item.tolist(), part.annotator.tolist(), part.label.tolist(), strict=True)
        for item, annotator, label in triples:
            cells = rows.setdefault((item, annotator), {})
            if name in cells:
                raise DataError(
                    f"annotator {data.annotators[annotator]!r} answered item {data.items[item]!r} twice in dimension "
                    f"{name!r}, and a row has one cell for it"
                )
            cells[name] = part.labels[label]
    known = {f"gold_{name}": part.gold for name, part in data.by_dimension.items() if part.gold}
    table = []
    for (item, annotator), cells in sorted(rows.items()):
        of_item = [gold.get(data.items[item], "") for gold in known.values()]
        said = [cells.get(name, "") for name in data.dimensions]
        table.append([data.items[item], data.annotators[annotator], *said, *of_item])
    frame = pd.DataFrame(table, columns=["item", "annotator", *data.dimensions, *known])
    try:
        frame.to_csv(path, index=False)
    except OSError as error:
        raise DataFileError(f"{str(path)!r} cannot be written: {error.strerror}") from None
