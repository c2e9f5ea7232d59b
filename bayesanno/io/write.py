"""Writers of tables and text: a file is complete or absent."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from bayesanno._core.errors import DataError
from bayesanno._core.files import write_whole
from bayesanno._core.lazy import pd


def write_table(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table with all its digits, without its index; an existing file is replaced.

    The separator is a comma, or a tab if the name ends in `.tsv`.

    Raises
    ------
    DataError
        If the name is one of Parquet.
    DataFileError
        If the file cannot be written.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind in (".parquet", ".pq"):
        raise DataError(f"{path} would be text, not Parquet: give a name that ends in .csv or .tsv")
    text = table.to_csv(index=False, sep="\t" if kind == ".tsv" else ",", lineterminator="\n")
    if kind == ".tsv" and '"' in text:  # which between tabs may be part of a cell, unless all cells are in quotes
        text = table.to_csv(index=False, sep="\t", lineterminator="\n", quoting=csv.QUOTE_ALL)
    write_text(path, text)


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
