"""Writers: each kind of data becomes a table of text that its reader restores; a file is complete or absent."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, singledispatch
from pathlib import Path
from typing import Any, Literal

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.counts import CountData
from bayesanno.data.described import require_kind
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.ground.errors import DataError
from bayesanno.ground.files import write_whole
from bayesanno.ground.lazy import pd
from bayesanno.io.text_rows import SEPARATORS
from bayesanno.io.text_table import header_only

# An annotator's column with an alias of these roles would be misread.
_OTHER_ROLES = ("item", "annotator", "label", "gold", "count")
_SPECIAL = frozenset(SEPARATORS + '"\r\n')


@singledispatch
def write_data(data: Any, path: str | os.PathLike[str]) -> None:
    """Write data of any kind by the writer of that kind; an existing file is replaced.

    Raises
    ------
    DataError
        If there is no writer for it, or as for `write_annotations`.
    DataFileError
        If the file cannot be written.
    """
    raise DataError(f"{path} cannot be written: {type(data).__name__} is not a kind of data that has a table")


def write_annotations(
    data: AnnotationData,
    path: str | os.PathLike[str],
    *,
    format: Literal["long", "wide"] = "long",  # noqa: A002
) -> None:
    """Write annotations so that `read_annotations` restores them; an existing file is replaced.

    The long form has the columns item, annotator, label and, if any true label is known, gold. An item or an annotator
    without annotations has a row of its own. The wide form has the columns item, one for each annotator and, if any
    true label is known, gold. The separator is a comma, or a tab if the name ends in `.tsv`.

    A file does not keep unused labels (`read_annotations(..., labels=...)` restores them), unsure labels
    (`unsure=...`), controls and, in long form, the order of items and annotators without annotations. To read a wide
    table whose annotators share few labels, name them with `columns=...`.

    Parameters
    ----------
    data : AnnotationData
        What to write.
    path : path
        Where to.
    format : {"long", "wide"}
        The shape of the table.

    Raises
    ------
    DataError
        If a name would not read back the same (it has whitespace around it or is not valid text); in wide form, if an
        annotator answered an item twice, or has the name of another column.
    DataFileError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.io.annotations import read_annotations
    >>> from bayesanno.io.write import write_annotations
    >>> answers = [("s1", "ada", "yes"), ("s1", "bo", "no"), ("s2", "ada", "no"), ("s2", "bo", "yes")]
    >>> data = AnnotationData.from_records(answers, items=["s1", "s2", "s3"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_annotations(data, f"{folder}/answers.csv", format="wide")
    ...     read_annotations(f"{folder}/answers.csv").items
    ('s1', 's2', 's3')
    """
    require_kind(data, AnnotationData, "write_annotations")
    if format not in ("long", "wide"):
        raise DataError(f"annotations cannot be written in format {format!r}: choose 'long' or 'wide'")
    names = {"item": data.items, "annotator": data.annotators, "label": data.labels, "gold label": data.gold.values()}
    _check_names_survive(names)
    if format == "wide":
        _save(path, _wide_rows(data))
    else:
        answers = [(item, annotator, [data.labels[label]]) for item, annotator, label in _triples(data)]
        _save(path, _long_rows(data, answers, ["label"], {"gold": data.gold} if data.gold else {}))


def write_counts(data: CountData, path: str | os.PathLike[str]) -> None:
    """Write counts (item, successes, trials) so that `read_counts` restores them; an existing file is replaced.

    Raises
    ------
    DataError
        If a name would not read back the same, as for `write_annotations`.
    DataFileError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from bayesanno import CountData
    >>> from bayesanno.io.count_tables import read_counts
    >>> from bayesanno.io.write import write_counts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_counts(CountData(items=("s1", "s2"), successes=[3, 0], trials=[5, 5]), f"{folder}/counts.csv")
    ...     read_counts(f"{folder}/counts.csv").successes
    array([3, 0])
    """
    require_kind(data, CountData, "write_counts")
    _check_names_survive({"item": data.items})
    counts = (map(str, each.tolist()) for each in (data.successes, data.trials))
    _save(path, [("item", "successes", "trials"), *zip(data.items, *counts, strict=True)])


def write_multi_annotations(data: MultiAnnotationData, path: str | os.PathLike[str]) -> None:
    """Write annotations of several dimensions so that `read_multi_annotations` restores them.

    An existing file is replaced. One row per item and annotator, item by item, with a column for each dimension
    and, where any is known, its gold as gold_<dimension>. An item without annotations has a row of its own, and so has
    an annotator without any. A file does not keep what `write_annotations` does not keep.

    Raises
    ------
    DataError
        If an annotator answered an item twice in a dimension, a dimension has the name of another column, or a name
        would not read back the same.
    DataFileError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from bayesanno import AnnotationData, MultiAnnotationData
    >>> from bayesanno.io.dimensions import read_multi_annotations
    >>> from bayesanno.io.write import write_multi_annotations
    >>> focus = AnnotationData.from_records([("s1", "ada", "method"), ("s1", "bo", "result")])
    >>> polarity = AnnotationData.from_records([("s1", "ada", "+"), ("s1", "bo", "-")])
    >>> data = MultiAnnotationData(by_dimension={"focus": focus, "polarity": polarity})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_multi_annotations(data, f"{folder}/fragments.csv")
    ...     read_multi_annotations(f"{folder}/fragments.csv", ["focus", "polarity"]).hash == data.hash
    True
    """
    require_kind(data, MultiAnnotationData, "write_multi_annotations")
    gold = {f"gold_{name}": part.gold for name, part in data.by_dimension.items() if part.gold}
    for name in data.dimensions:
        if name.casefold() in ("item", "annotator") or name in {f"gold_{other}" for other in data.dimensions}:
            raise DataError(f"dimension {name!r} has the name of a column with another meaning: rename it")
    parts = data.by_dimension.values()
    _check_names_survive(
        {
            "item": data.items,
            "annotator": data.annotators,
            "dimension": data.dimensions,
            "label": [label for part in parts for label in part.labels],
            "gold label": [label for part in parts for label in part.gold.values()],
        }
    )
    said = {
        name: _cells(part, f"twice in dimension {name!r}, but a row has one cell for it: keep one answer")
        for name, part in data.by_dimension.items()
    }
    cells = sorted({cell: None for of_dimension in said.values() for cell in of_dimension}, key=lambda cell: cell[0])
    answers = [(*cell, [of_dimension.get(cell, "") for of_dimension in said.values()]) for cell in cells]
    _save(path, _long_rows(data, answers, data.dimensions, gold))


write_data.register(AnnotationData, write_annotations)
write_data.register(CountData, write_counts)
write_data.register(MultiAnnotationData, write_multi_annotations)


def write_table(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table of results with all its digits, without its index; an existing file is replaced.

    Raises
    ------
    DataError
        If the name is one of Parquet.
    DataFileError
        If the file cannot be written.
    """
    path, separator = _text_file(path)
    write_text(path, table.to_csv(index=False, sep=separator, lineterminator="\n"))


def _text_file(path: str | os.PathLike[str]) -> tuple[Path, str]:
    """Return the path and the separator of a table of text; a name of Parquet is refused."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind in (".parquet", ".pq"):
        raise DataError(f"{path} would be text, not Parquet: give a name that ends in .csv or .tsv")
    return path, "\t" if kind == ".tsv" else ","


def _save(path: str | os.PathLike[str], rows: Iterable[Sequence[str]]) -> None:
    """Write rows of cells, the header first; the file is complete or absent."""
    (path, separator), quoted = _text_file(path), cache(_quote)
    lines = [separator.join(map(quoted, row)) + "\n" for row in rows]
    if separator == "\t" and any('"' in line for line in lines) and '"' not in lines[0]:
        lines[0] = (
            '"' + lines[0].strip().replace("\t", '"\t"') + '"\n'
        )  # a quoted header marks quotes between tabs as quotes
    write_text(path, "".join(lines))


def _quote(cell: str) -> str:
    """Quote a cell that holds any separator, quote or line break."""
    return cell if _SPECIAL.isdisjoint(cell) else '"' + cell.replace('"', '""') + '"'


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8, whole or not at all.

    Raises
    ------
    DataError
        If it has half of a surrogate pair.
    DataFileError
        If the file cannot be written.
    """
    try:
        raw = text.encode("utf-8")
    except UnicodeEncodeError as error:
        near = text[max(0, error.start - 20) : error.end]
        raise DataError(
            f"{path} cannot be written: {near!r} holds half of a surrogate pair, which is not valid text"
        ) from None
    with write_whole(path) as unfinished:
        unfinished.write_bytes(raw)


def _check_names_survive(named: Mapping[str, Iterable[str]]) -> None:
    """Raise a DataError if a name would not read back the same; the keys are what is named."""
    for what, names in named.items():
        for name in names:
            text = name.encode(errors="ignore").decode()  # without halves of surrogate pairs
            if not name or "\0" in name or name != text.strip():
                raise DataError(
                    f"{what} {name!r} would not read back the same: rename it (names are UTF-8 text, not empty, "
                    "without whitespace around them)"
                )


def _long_rows(
    data: AnnotationData | MultiAnnotationData,
    answers: Sequence[tuple[int, int, Sequence[str]]],
    columns: Sequence[str],
    gold: Mapping[str, Mapping[str, str]],
) -> Iterator[Sequence[str]]:
    """Yield a header, a row for each answer, and a row for each item and annotator without answers.

    Answers have a label, or "", for each of the columns.
    """
    yield ["item", "annotator", *columns, *gold]
    annotators = [*data.annotators, ""]  # -1 is nobody, ""
    known = [[of_item.get(name, "") for of_item in gold.values()] for name in data.items]
    answered, active = ({answer[place] for answer in answers} for place in (0, 1))
    nothing = [""] * len(columns)
    silent = [(item, -1, nothing) for item in range(data.n_items) if item not in answered]
    silent += [(answers[0][0], one, nothing) for one in range(data.n_annotators) if one not in active]
    for item, annotator, said in (*answers, *silent):
        yield [data.items[item], annotators[annotator], *said, *known[item]]


def _wide_rows(data: AnnotationData) -> Iterator[Sequence[str]]:
    taken = next((name for name in data.annotators if any(map(header_only("", [name]).matching, _OTHER_ROLES))), None)
    if taken is not None:
        raise DataError(
            f"annotator {taken!r} would be misread in a wide table, where a column of this name has another meaning: "
            "use format='long'"
        )
    cells = _cells(data, "more than once, but a wide table has one cell for it: use format='long'")
    yield ["item", *data.annotators, *(["gold"] if data.gold else [])]
    for item, name in enumerate(data.items):
        gold = [data.gold.get(name, "")] if data.gold else []
        yield [name, *(cells.get((item, one), "") for one in range(data.n_annotators)), *gold]


def _cells(data: AnnotationData, twice: str) -> dict[tuple[int, int], str]:
    """Return the label that each annotator gave to each item, by the numbers of the item and the annotator."""
    cells: dict[tuple[int, int], str] = {}
    for item, annotator, label in _triples(data):
        if (item, annotator) in cells:
            raise DataError(f"annotator {data.annotators[annotator]!r} answered item {data.items[item]!r} {twice}")
        cells[item, annotator] = data.labels[label]
    return cells


def _triples(data: AnnotationData) -> Iterable[tuple[int, int, int]]:
    return zip(data.item.tolist(), data.annotator.tolist(), data.label.tolist(), strict=True)
