"""Readers and writers: every outside shape becomes one `AnnotationData` or `CountData`.

The invariant: what `write_annotations` wrote, `read_annotations` reads back as the same annotations, items, annotators
and gold labels, without being told the format.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from bayesanno.data.annotations import AnnotationData, CountData, sort_labels
from bayesanno.ground.errors import DataError, DataFileError
from bayesanno.ground.wording import listed, nearest
from bayesanno.io.columns import (
    SNOW_COLUMNS,
    check_distinct,
    encode_labels,
    expand_rows,
    filled,
    guess_format,
    read_known,
    read_long,
    read_wide,
    whole_numbers,
)
from bayesanno.io.datasets import load_named
from bayesanno.io.text_table import ALIASES, SEPARATORS, read_table

if TYPE_CHECKING:
    import pandas as pd

    Source = str | os.PathLike[str] | pd.DataFrame
    Format = Literal["auto", "long", "wide", "grouped", "snow"]

FORMATS = ("auto", "long", "wide", "grouped", "snow")

_RESERVED = frozenset(name for role in ("item", "annotator", "label", "gold", "count") for name in ALIASES[role])


def read_annotations(
    source: Source,
    *,
    format: Format = "auto",  # noqa: A002 -- the name of the command line's option
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    gold: str | None = None,
    labels: Sequence[str] | None = None,
    controls: Mapping[str, str] | str | os.PathLike[str] | None = None,
    gold_file: str | os.PathLike[str] | None = None,
) -> AnnotationData:
    """Read annotations from a CSV, TSV or Parquet file, a DataFrame, or a named data set.

    Cells are text: `NA`, `01` and `1` are three different names or labels. Whitespace around a cell is removed, and a
    cell that is then empty is missing. A row with a missing answer still says that its item, and its annotator, exist.

    Parameters
    ----------
    source : path, str or DataFrame
        A file, `"@name"` for a named data set (see `list_datasets`), or a table in memory.
    format : {"auto", "long", "wide", "grouped", "snow"}
        The shape of the table; its separator is found from the header.

        * long: one row per annotation, with columns for item, annotator and label. Other columns are ignored.
        * wide: one row per item, one column per annotator. The first column names the item exactly when its name is an
          alias of item (or `item` says which column does); else the items are named 1, 2, ... by row.
        * grouped: as wide without an item column, plus a column `count`: so many items were answered in this way. Read
          as that many items, named 1, 2, ...
        * snow: the columns !amt_annotation_ids, !amt_worker_ids, orig_id, response and gold of Snow et al. (2008).
        * auto: whichever of these the column names fit.
    item, annotator, label, gold : str, optional
        The columns' names. Without them a column is known by its name, whatever its case:
        item, task, question, unit, instance_id, doc, example; annotator, worker, rater, coder, judge, user, performer;
        label, rating, answer, response, annotation, category; gold, true_label, truth.
    labels : sequence of str, optional
        All possible labels, in order; may name some that nobody used. By default those found, sorted.
    controls : mapping of item to label, or path, optional
        Known true labels that enter the likelihood; a file has columns item and label.
    gold_file : path, optional
        Known true labels for evaluation, in a file with columns item and gold (or label). It takes the place of a gold
        column.

    Returns
    -------
    AnnotationData
        Items and annotators by first appearance.

    Raises
    ------
    DataFileError
        If a file is missing or cannot be opened or fetched.
    DataError
        If a table cannot be read, or its contents do not fit together; the message names the place and the value.

    References
    ----------
    Snow, O'Connor, Jurafsky & Ng (2008). Cheap and fast, but is it good? EMNLP. https://aclanthology.org/D08-1027

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesanno.io.annotations import read_annotations
    >>> table = pd.DataFrame({"item": ["s1", "s2"], "ada": ["yes", "no"], "bo": ["no", None]})
    >>> data = read_annotations(table)
    >>> data.items, data.annotators, data.labels, data.n_annotations
    (('s1', 's2'), ('ada', 'bo'), ('no', 'yes'), 3)
    """
    if format not in FORMATS:
        raise DataError(f"there is no format {format!r}: there are {listed(FORMATS)}{nearest(str(format), FORMATS)}")
    if isinstance(labels, str):
        raise DataError(f"labels must be a sequence of names, not the text {labels!r}: write [{labels!r}, ...]")
    if gold is not None and gold_file is not None:
        raise DataError(f"gold is given twice, as column {gold!r} and as file {str(gold_file)!r}: give one of them")
    table = read_table(_located(source))
    options = {"item": item, "annotator": annotator, "label": label, "gold": gold}
    shape = guess_format(table, options) if format == "auto" else format
    if shape in ("long", "snow"):
        answers = read_long(
            table, options, defaults=SNOW_COLUMNS if shape == "snow" else {}, with_gold=gold_file is None
        )
    else:
        answers = read_wide(table, options, grouped=shape == "grouped", with_gold=gold_file is None)
    label_names = sort_labels(answers.label) if labels is None else tuple(str(name).strip() for name in labels)
    codes = encode_labels(table, answers, label_names)
    known_gold = answers.gold
    if gold_file is not None:
        known_gold = read_known(gold_file, ("gold", "label"), answers.items, None)
    if controls is None or isinstance(controls, Mapping):
        known_controls = dict(controls or {})
    else:
        known_controls = read_known(controls, ("label", "gold"), answers.items, label_names)
    try:
        return AnnotationData(
            item=answers.item,
            annotator=answers.annotator,
            label=codes,
            items=answers.items,
            annotators=answers.annotators,
            labels=label_names,
            gold=known_gold,
            controls=known_controls,
        )
    except DataError as error:
        raise DataError(f"{table.name}: {error}") from None


def _located(source: Source) -> Source:
    return load_named(source) if isinstance(source, str) and source.startswith("@") else source


def read_counts(
    source: Source,
    *,
    item: str | None = None,
    successes: str | None = None,
    trials: str | None = None,
) -> CountData:
    """Read how many answers of each item were positive, from a CSV, TSV or Parquet file or a DataFrame.

    A table has one row per item, with columns item, successes and trials (without an item column the items are named 1,
    2, ... by row); or it is a histogram with columns successes, trials and count, read as `count` items for each row,
    named 1, 2, ... Cells are read as by `read_annotations`; rows that are wholly empty are skipped.

    Parameters
    ----------
    source : path, str or DataFrame
        As for `read_annotations`.
    item, successes, trials : str, optional
        The columns' names. Without them a column is known by its name, whatever its case: the aliases of item in
        `read_annotations`; successes, positive, positives, x; trials, n, total.

    Raises
    ------
    DataFileError
        If the file is missing or cannot be opened.
    DataError
        If the table cannot be read, a count is no whole number of 0 or more, successes exceed trials, or an item
        appears twice.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesanno.io.annotations import read_counts
    >>> data = read_counts(pd.DataFrame({"successes": [0, 7], "trials": [10, 10], "count": [2, 1]}))
    >>> data.items, data.successes
    (('1', '2', '3'), array([0, 0, 7]))
    """
    table = read_table(_located(source))
    columns = {"successes": table.need("successes", successes), "trials": table.need("trials", trials)}
    item_column, count_column = table.find("item", item), table.find("count")
    check_distinct(table, {**columns, "item": item_column, "count": count_column})
    if item_column is not None and count_column is not None:
        raise DataError(
            f"{table.name}: a row with a count stands for many items, but column {table.header[item_column]!r} names "
            "one: drop one of the two"
        )
    used = [column for column in (*columns.values(), item_column, count_column) if column is not None]
    blank = ~np.any([filled(table.columns[column]) for column in used], axis=0)  # (row,)
    positive = whole_numbers(table, columns["successes"], blank)
    answered = whole_numbers(table, columns["trials"], blank)
    more = np.flatnonzero(positive > answered)
    if more.size:
        row = int(more[0])
        raise DataError(
            f"{table.where(row)}: {positive[row]} successes in {answered[row]} trials: there cannot be more"
        )
    rows = np.flatnonzero(~blank)
    if count_column is not None:
        rows = expand_rows(table, count_column, blank)
    if item_column is None:
        names = [str(number) for number in range(1, rows.size + 1)]
    else:
        names = [table.columns[item_column][row] for row in rows]
        first_row: dict[str, int] = {}
        for row, name in zip(rows.tolist(), names, strict=True):
            if not name:
                raise DataError(f"{table.where(row)}: counts without an item: name it or remove the row")
            if first_row.setdefault(name, row) != row:
                raise DataError(
                    f"{table.where(row)}: item {name!r} has counts already, in {table.unit} "
                    f"{table.lines[first_row[name]]}: keep one row per item"
                )
    try:
        return CountData(items=tuple(names), successes=positive[rows], trials=answered[rows])
    except DataError as error:
        raise DataError(f"{table.name}: {error}") from None


def write_annotations(
    data: AnnotationData,
    path: str | os.PathLike[str],
    *,
    format: Literal["long", "wide"] = "long",  # noqa: A002
) -> None:
    """Write annotations so that `read_annotations` gives them back; a file that is there is replaced.

    Long: item, annotator, label and, where any is known, gold; an item without annotations has a row of its own, and so
    has an annotator without any. Wide: item, one column per annotator and, where any is known, gold. The separator is a
    comma, or a tab if the name ends in `.tsv`.

    What a file does not keep: labels that nobody used (`read_annotations(..., labels=...)` brings them back),
    controls, and in long form the order of items and annotators without annotations.

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
        If a name would not read back the same (it has whitespace around it or is not valid text); in wide form if an
        annotator answered an item twice, or has the name of another column.
    DataFileError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.io.annotations import read_annotations, write_annotations
    >>> data = AnnotationData.from_records([("s1", "ada", "yes"), ("s1", "bo", "no")], items=["s1", "s2"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_annotations(data, f"{folder}/answers.csv", format="wide")
    ...     read_annotations(f"{folder}/answers.csv").items
    ('s1', 's2')
    """
    if format not in ("long", "wide"):
        raise DataError(f"annotations cannot be written in format {format!r}: give 'long' or 'wide'")
    path = text_path(path)
    names = {"item": data.items, "annotator": data.annotators, "label": data.labels, "gold label": data.gold.values()}
    check_names_survive(names)
    write_rows(path, _long_rows(data) if format == "long" else _wide_rows(data))


def write_counts(data: CountData, path: str | os.PathLike[str]) -> None:
    """Write counts (item, successes, trials) so that `read_counts` gives them back; a file that is there is replaced.

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
    >>> from bayesanno.io.annotations import read_counts, write_counts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_counts(CountData(items=("s1", "s2"), successes=[3, 0], trials=[5, 5]), f"{folder}/counts.csv")
    ...     read_counts(f"{folder}/counts.csv").successes
    array([3, 0])
    """
    path = text_path(path)
    check_names_survive({"item": data.items})
    rows = zip(quoted(data.items), data.successes.tolist(), data.trials.tolist(), strict=True)
    write_rows(path, [["item", "successes", "trials"], *([name, str(x), str(n)] for name, x, n in rows)])


def text_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a table of text, or raise a DataError if its name is one of another kind of table."""
    path = Path(path)
    if path.suffix.lower() in (".parquet", ".pq"):
        raise DataError(f"{path} would not be Parquet but text: give a name in .csv or .tsv")
    return path


def write_rows(path: Path, rows: Iterable[list[str]]) -> None:
    """Write rows of cells, the header first, whole or not at all; a file that is there is replaced."""
    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    _write_text(path, "".join(f"{separator.join(row)}\n" for row in rows))


def check_names_survive(named: Mapping[str, Iterable[str]]) -> None:
    """Raise a DataError if a name would not read back the same; the keys say what the names are of."""
    for what, names in named.items():
        for name in names:
            if not name or name != name.strip() or "\0" in name or not _is_text(name):
                raise DataError(
                    f"{what} {name!r} would not read back the same: names in a file are UTF-8 text, not empty, without "
                    "whitespace around them"
                )


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def _long_rows(data: AnnotationData) -> Iterable[list[str]]:
    items, annotators, labels = quoted(data.items), quoted(data.annotators), quoted(data.labels)
    gold = quoted([data.gold.get(name, "") for name in data.items])
    triples = [*zip(data.item.tolist(), data.annotator.tolist(), data.label.tolist(), strict=True)]
    rows = [[items[item], annotators[annotator], labels[label], gold[item]] for item, annotator, label in triples]
    silent_items = sorted(set(range(data.n_items)) - set(data.item.tolist()))
    rows += [[items[item], "", "", gold[item]] for item in silent_items]
    silent_annotators = sorted(set(range(data.n_annotators)) - set(data.annotator.tolist()))
    some_item = triples[0][0]
    rows += [[items[some_item], annotators[annotator], "", gold[some_item]] for annotator in silent_annotators]
    width = 4 if data.gold else 3
    return [row[:width] for row in [["item", "annotator", "label", "gold"], *rows]]


def _wide_rows(data: AnnotationData) -> Iterable[list[str]]:
    taken = next((name for name in data.annotators if name.casefold() in _RESERVED), None)
    if taken is not None:
        raise DataError(
            f"annotator {taken!r} has the name of a column with another meaning and would be misread in a wide "
            "table: write format='long'"
        )
    cells = [[""] * data.n_annotators for _ in data.items]  # (item, annotator)
    labels = quoted(data.labels)
    for item, annotator, label in zip(data.item.tolist(), data.annotator.tolist(), data.label.tolist(), strict=True):
        if cells[item][annotator]:
            raise DataError(
                f"annotator {data.annotators[annotator]!r} answered item {data.items[item]!r} more than once, and a "
                "wide table has one cell for it: write format='long'"
            )
        cells[item][annotator] = labels[label]
    gold = quoted([data.gold.get(name, "") for name in data.items])
    rows = [["item", *quoted(data.annotators), "gold"]]
    rows += [[name, *row, known] for name, row, known in zip(quoted(data.items), cells, gold, strict=True)]
    return rows if data.gold else [row[:-1] for row in rows]


def quoted(names: Sequence[str]) -> list[str]:
    """Quote the names that hold anything a reader may take for a separator, whichever the file's own is."""
    special = frozenset(SEPARATORS + '"\r\n')
    return [name if special.isdisjoint(name) else '"' + name.replace('"', '""') + '"' for name in names]


def _write_text(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(text.encode("utf-8"))
        temporary.replace(path)
    except OSError as error:
        raise DataFileError(f"{str(path)!r} cannot be written: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)
