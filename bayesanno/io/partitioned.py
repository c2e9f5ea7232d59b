"""Annotations in many files: a folder of Parquet files, or a Dask DataFrame, read part by part on the workers.

The invariant: every part reads a cell as `read_annotations` does; annotators are numbered by first appearance, part by
part, and labels in their order, so that the numbers equal those of the whole table.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, DataFileError, ExtraError, listed, nearest
from bayesanno.data.frame import as_text, find_faults
from bayesanno.data.labelled import sort_labels, spell_numbers
from bayesanno.io.names import Question, matching, sides_among
from bayesanno.io.shapes import find_roles


def require_dask() -> None:
    """Raise an ExtraError unless Dask, its DataFrames and its distributed scheduler are installed."""
    if any(find_spec(name) is None for name in ("dask", "distributed", "pyarrow")):
        raise ExtraError("Dask is not installed: pip install 'bayesanno[dask]'")


@dataclass(frozen=True)
class PartitionedTable:
    """A long table in partitions, with the columns that annotations are read from.

    Attributes
    ----------
    name : str
        What messages call the table.
    frame : dask.dataframe.DataFrame
        Its columns of annotations.
    columns : mapping of role to str
        The names of these, of item, annotator, label and, where there is one, gold.
    header : tuple of str
        The names of all columns of the table.
    """

    name: str
    frame: Any
    columns: Mapping[str, str]
    header: tuple[str, ...] = ()


def open_partitions(source: Any, columns: Mapping[str, str | None]) -> PartitionedTable:
    """Open a folder of Parquet files, a Parquet file, or a Dask DataFrame; nothing is read but headers.

    Parameters
    ----------
    source : path or dask.dataframe.DataFrame
        A folder stands for all its files ending in `.parquet` or `.pq`, including subfolders, in natural order of their
        names.
    columns : mapping of role to str or None
        The columns' names, if they have no alias; see `read_annotations`.

    Raises
    ------
    ExtraError
        If Dask is not installed.
    DataFileError
        If there is no such folder, or no Parquet file in it.
    DataError
        If a file is no Parquet file, files differ in the columns of annotations, or a column is not found.
    """
    require_dask()
    import dask.dataframe as dd

    if isinstance(source, dd.DataFrame):
        name, header, read = "the Dask DataFrame", [str(column) for column in source.columns], source
        chosen = _find_columns(name, header, columns)
        return PartitionedTable(name, read.rename(columns=str)[list(chosen.values())], chosen, tuple(header))
    if not isinstance(source, str | os.PathLike):
        raise DataError(
            f"cannot read parts of annotations from {type(source).__name__}: give a folder of Parquet files or a "
            "dask.dataframe"
        )
    files = _list_files(Path(source))
    chosen = _find_common(files, columns)
    frame = dd.read_parquet([str(path.absolute()) for path in files], columns=list(chosen.values()), index=False)
    return PartitionedTable(str(source), frame, chosen, tuple(_read_schema(files[0])))


def _list_files(path: Path) -> list[Path]:
    from dask.utils import natural_sort_key

    if path.is_file():
        return [path]
    if not path.is_dir():
        raise DataFileError(f"there is no folder {str(path)!r}: check the path")
    files = [file for file in path.rglob("*") if file.suffix.lower() in (".parquet", ".pq") and file.is_file()]
    if not files:
        others = sum(1 for _ in path.iterdir())
        what = f"none of its {others} files and folders ends in .parquet or .pq" if others else "it is empty"
        raise DataFileError(f"folder {str(path)!r} has no Parquet files: {what}")
    return sorted(files, key=lambda file: natural_sort_key(str(file)))


def _read_schema(path: Path) -> dict[str, str]:
    """Return the columns of a file and the kind of value of each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path} cannot be read as Parquet: {' '.join(str(error).split())}") from None
    return {column.name: _kind_of(column.type) for column in schema}


def _kind_of(kind: Any) -> str:
    import pyarrow.types as kinds

    value = kind.value_type if kinds.is_dictionary(kind) else kind
    of_text = kinds.is_string(value) or kinds.is_large_string(value) or kinds.is_string_view(value)
    return "string" if of_text else str(value)


def _find_columns(name: str, header: Sequence[str], options: Mapping[str, str | None]) -> dict[str, str]:
    """Return the column of each role, found as in any long table."""
    several = [] if options.get("annotator") else matching(header, "annotator")
    if len(several) > 1:
        raise Question(f"{name}: {' and '.join(map(repr, several))} could each be the annotator: name one")
    table = pd.DataFrame(columns=list(header), dtype="str")
    table.attrs["name"] = name
    if options.get("item") is None and not matching(header, "item"):
        raise DataError(f"{name} has no column for the item among {listed(header)}")
    given = {role: options.get(role) for role in ("item", "annotator", "label", "gold")}
    roles = find_roles(table, anonymous=False, **given)
    roles.pop("control", None)
    sides = sides_among(each for each in header if each not in roles.values())
    if sides and options.get("label") is None:
        raise DataError(f"{name}: the columns {sides[0]!r} and {sides[1]!r} may be two systems, which are read in "
                        "memory: "
                        f"if they are none, name the label, {roles['label']!r}")  # fmt: skip
    return {role: roles[role] for role in ("item", "annotator", "label", "gold") if role in roles}


def _find_common(files: Sequence[Path], options: Mapping[str, str | None]) -> dict[str, str]:
    """Return the column of each role, if all files have the same ones, with the same kind of values."""
    first: dict[str, str] = {}
    kinds: dict[str, str] = {}
    for file in files:
        schema = _read_schema(file)
        lacking = next((column for column in first.values() if column not in schema), None)
        found = _find_columns(str(file), list(schema), options) if lacking is None else {}
        first, kinds = first or found, kinds or schema
        odd = next((role for role in found if found[role] != first.get(role)), None)
        if lacking is not None or odd is not None:
            what = f"no column {lacking!r}" if odd is None else f"a column {found[odd]!r} for the {odd}"
            raise DataError(f"{file} has {what}, unlike {files[0]}: give all files of a folder the same columns")
        other = next((column for column in found.values() if schema[column] != kinds[column]), None)
        if other is not None:
            raise DataError(
                f"column {other!r} is {schema[other]} in {file} and {kinds[other]} in {files[0]}: write it with one "
                "type in all files"
            )
    return first


@dataclass(frozen=True)
class FoundNames:
    """The names in some parts: annotators, and labels with their numbers of answers, by first appearance."""

    annotators: dict[str, None]
    labels: Counter[str]
    n_rows: int

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.annotators | other.annotators, self.labels + other.labels, self.n_rows + other.n_rows
        )  # dictionaries keep the order of the first appearance


def find_names(frame: pd.DataFrame, table: PartitionedTable) -> FoundNames:
    """Check the rows of a part, and return its names.

    Raises
    ------
    DataError
        If an answer lacks its item or annotator.
    """
    cells = {role: read_names(frame[column]).array for role, column in table.columns.items()}
    text = {role: pd.Series(of_role) for role, of_role in cells.items() if role != "gold"}
    for *_, message in find_faults(pd.DataFrame(), text):
        raise DataError(f"{table.name}: {message.partition(': ')[2]}: fill it in")
    annotators, labels = cells["annotator"].unique().tolist(), Counter(cells["label"].tolist())
    del labels[""]
    return FoundNames(dict.fromkeys(filter(None, annotators)), labels, len(frame))


def read_names(column: pd.Series[Any]) -> pd.Series[str]:
    """Return the cells of a column as text, "" for missing ones; see `as_text`."""
    if isinstance(column.dtype, pd.StringDtype):  # a column of Parquet, without a Python object for each cell
        return as_text(column)
    codes, values = pd.factorize(column)
    texts = [*as_text(pd.Series(values)), ""]  # a missing cell has code -1
    return pd.Series(np.array(texts, dtype=object)[codes], index=column.index, dtype="str")


def spell_labels(
    found: FoundNames, declared: Sequence[str] | None, name: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return how each label that was found is written, and all possible labels in order, declared or found.

    Raises
    ------
    DataError
        If a label is not declared.
    """
    numbers = spell_numbers(found.labels, (), declared)
    spelt = {label: numbers.get(label, label) for label in found.labels}
    if declared is None:
        return spelt, sort_labels(spelt.values())
    odd = next((label for label in spelt.values() if label not in declared), None)
    if odd is not None:
        raise DataError(
            f"{name}: label {odd!r} is not among the declared labels, {listed(declared)}{nearest(odd, declared)}"
        )
    return spelt, tuple(declared)


def encode(
    frame: pd.DataFrame,
    table: PartitionedTable,
    annotators: Mapping[str, int],
    spelt: Mapping[str, str],
    labels: Sequence[str],
) -> pd.DataFrame:
    """Return a part with items and gold as text, annotators and labels by number, -1 where missing."""
    code = {label: code for code, label in enumerate(labels)}
    numbers = {"annotator": annotators, "label": {name: code[label] for name, label in spelt.items()}}
    made: dict[str, Any] = {}
    for role, column in table.columns.items():
        names: Any = read_names(frame[column])
        if role in numbers:
            codes, distinct = pd.factorize(names)
            names = np.array([numbers[role].get(name, -1) for name in distinct], dtype=np.int64)[codes]
        elif role == "gold":
            names = names.replace(spell_numbers(names.unique(), (), labels))
        made[role] = names
    coded = pd.DataFrame(made).astype(coded_types(table))
    return coded[coded["item"] != ""].reset_index(drop=True)  # without blank rows


def coded_types(table: PartitionedTable) -> dict[str, str]:
    """Return the columns that `encode` makes, and their types."""
    types = {"item": "str", "annotator": "int64", "label": "int64", "gold": "str"}
    return {role: kind for role, kind in types.items() if role in table.columns}
