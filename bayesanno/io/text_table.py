"""From a file or a DataFrame to a table of text, before its columns are interpreted.

The invariant: every cell of a `TextTable` is text without surrounding whitespace, a missing cell is the empty text,
every row is as wide as the header, no two columns share a name, and each row knows the line it came from. Nothing is
guessed from the cells: `NA`, `007` and `1e3` stay what they are.

pandas is imported for DataFrames and Parquet only, because its import takes longer than reading most text files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bayesanno.ground.errors import DataError
from bayesanno.ground.lazy import pd
from bayesanno.ground.wording import listed, nearest
from bayesanno.io.text_rows import SEPARATORS, Rows, split_text

_OF_REVIEW = ["Approve", "Reject"]  # a batch of Mechanical Turk ends in these; rows without a review leave them out

ALIASES = {
    "item": ("item", "task", "question", "unit", "instance_id", "doc", "example"),
    "annotator": (
        "annotator",
        "worker",
        "rater",
        "coder",
        "judge",
        "grader",
        "user",
        "performer",
        "participant",
        "respondent",
    ),
    "label": (
        "label",
        "rating",
        "answer",
        "response",
        "annotation",
        "category",
        "winner",
        "verdict",
        "preference",
    ),
    "gold": ("gold", "true_label", "truth", "human_label"),
    "successes": ("successes", "positive", "positives", "x"),
    "trials": ("trials", "n", "total"),
    "count": ("count",),
}
WEAK_ALIASES = {"annotator": ("model",), "label": ("score",)}  # used if the rows fit and no column has an alias above
_NAMED_BY_ID = ("item", "annotator")  # roles whose column may be named task_id, _worker_id or WorkerId
_ID = re.compile(r"(?i:(.*[\W_])?ids?)|.*[a-z]I[dD]s?")


@dataclass(frozen=True, kw_only=True, eq=False)
class TextTable:
    """A table of text that remembers where each row stood.

    Parameters
    ----------
    name : str
        What messages call the table: the path of its file, or "the DataFrame".
    header : tuple of str, shape (column,)
        The column names; "" for a column without one.
    columns : tuple of lists of str, shape (column, row)
        The cells.
    lines : sequence of int or str, shape (row,)
        Where each row begins: a line of the file, or for a table without lines the row's number from 1; of an export
        its whole place in words.
    unit : {"line", "row", "column"}
        What the numbers are.
    index : int, optional
        The column that was the index of a DataFrame: it names the items of a wide table.
    categories : mapping of column name to tuple of str
        The categories of columns whose categories are in order, the lowest first.
    """

    name: str
    header: tuple[str, ...]
    columns: tuple[list[str], ...]
    lines: Sequence[int | str]
    unit: str
    index: int | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def where(self, row: int) -> str:
        """Return the place of a row, to begin a message with."""
        line = self.lines[row]
        return line if isinstance(line, str) else f"{self.name}, {self.unit} {line}"

    def quote(self, columns: Iterable[int]) -> str:
        """Return the names of columns, for a message."""
        return listed([self.header[column] for column in columns])

    @property
    def n_rows(self) -> int:
        """Number of rows under the header."""
        return len(self.lines)

    def matching(self, role: str) -> list[int]:
        """Return the columns whose name is an alias of a role, else those of its ids, as `worker_id`."""
        exact = [column for column, name in enumerate(self.header) if name.casefold() in ALIASES[role]]
        if exact or role not in _NAMED_BY_ID:
            return exact
        return [column for column, name in enumerate(self.header) if strip_id(name) in ALIASES[role]]

    def matching_weakly(self, role: str) -> list[int]:
        """Return the columns whose name fits a role but may mean another: ids of anything, `model` and `score`."""
        if role != "item":
            names = WEAK_ALIASES.get(role, ())
            return [column for column, name in enumerate(self.header) if name.casefold() in names]
        others = {name for other in ("annotator", "gold") for name in ALIASES[other]} | {*WEAK_ALIASES["annotator"]}
        ids = (column for column, name in enumerate(self.header) if _ID.fullmatch(name))
        return [column for column in ids if strip_id(self.header[column]) not in others]

    def find(self, role: str, option: str | None = None) -> int | None:
        """Return the column that plays a role: the one the option names, else the one with the role's name or an alias.

        Raises
        ------
        DataError
            If the option names no column, or two columns have an alias of the role and none its own name.
        """
        if option is not None:
            if str(option) not in self.header:
                raise DataError(
                    f"{self.name} has no column {str(option)!r} to use as {role}; its columns are "
                    f"{listed(self.header)}{nearest(str(option), self.header)}"
                )
            return self.header.index(str(option))
        matching = self.matching(role)
        canonical = [column for column in matching if self.header[column].casefold() == role]
        if len(matching) > 1 and len(canonical) != 1:
            names = " and ".join(repr(self.header[column]) for column in matching)
            raise DataError(
                f"{self.name}: the columns {names} could each be the {role}: "
                + (f"choose one with {role}=..." if role != "count" else "rename one of them")
            )
        return next(iter(canonical or matching), None)

    def need(self, role: str, option: str | None = None, *, may_be_named: bool = True) -> int:
        """Return the column that plays a role; the message names its option, if it may be named.

        Raises
        ------
        DataError
            As for `find`, or if there is none.
        """
        column = self.find(role, option)
        if column is None:
            raise DataError(
                f"{self.name} has no column for the {role}: looked for {listed(ALIASES[role])} among "
                f"{listed(self.header)}" + (f"; name it with {role}=..." if may_be_named and role != "count" else "")
            )
        return column

    def need_item(self, option: str | None = None) -> int:
        """Return the column that names the items of a table about items: as named, or else the only column of ids.

        Raises
        ------
        DataError
            As for `need`.
        """
        ids = self.matching_weakly("item")
        by_id = option is None and len(ids) == 1 and not self.matching("item")
        return ids[0] if by_id else self.need("item", option)


def strip_id(name: str) -> str:
    """Return the name of a column of ids without "id", in lower case.

    Examples
    --------
    >>> from bayesanno.io.text_table import strip_id
    >>> [strip_id(name) for name in ("_unit_id", "WorkerId", "rater", "id")]
    ['unit', 'worker', 'rater', '']
    """
    return re.sub(r"[\s_-]?ids?$", "", name.casefold()).strip("_ ")


def header_only(name: str, header: Iterable[Any]) -> TextTable:
    """Return a table without rows, in whose header columns are looked for."""
    return TextTable(name=name, header=tuple(map(str, header)), columns=(), lines=(), unit="row")


def table_from_text(text: str, name: str, *, no_header: bool = False) -> TextTable:
    """Return the table in the text of a file; see `split_text`.

    Raises
    ------
    DataError
        As for `split_text` and `table_from_rows`.
    """
    rows, separator = split_text(text, name)
    return table_from_rows(rows, name, "line", separator, no_header=no_header)


def table_from_rows(rows: Rows, name: str, unit: str, separator: str = "", *, no_header: bool = False) -> TextTable:
    """Return the table whose header is the first row, or whose columns are named 1, 2, ... if there is no header.

    Raises
    ------
    DataError
        If it is empty, has only a header, has rows of unequal width or two columns of one name.
    """
    if not rows:
        raise DataError(f"{name} is empty: give a table with a header line and rows")
    (first, header), *rest = rows.items()
    if no_header:
        header, rest = list(map(str, range(1, len(header) + 1))), [*rows.items()]
    width = len(header)
    if header[-2:] == _OF_REVIEW:
        rest = [(at, [*cells, "", ""] if len(cells) == width - 2 else cells) for at, cells in rest]
    wrong = next(((at, cells) for at, cells in rest if len(cells) != width), None)
    if wrong is not None:
        raise DataError(f"{name}, {unit} {wrong[0]}: {_width_error(wrong[1], width, separator, first)}")
    columns = zip(*(cells for _, cells in rest), strict=True) if rest else ([] for _ in header)
    return _checked(name, header, [list(map(str.strip, column)) for column in columns], [at for at, _ in rest], unit)


def _width_error(record: list[str], width: int, separator: str, line: int) -> str:
    of_separator = f", with {separator!r} as separator" if separator else ""
    found = "1 column" if len(record) == 1 else f"{len(record)} columns"
    message = f"{found} where the header (line {line}) has {width}{of_separator}"
    other = next((mark for mark in SEPARATORS if mark != separator and record[0].count(mark) > 0), None)
    if len(record) == 1 and other is not None:
        return f"{message}: this line seems to use {other!r}; use one separator throughout"
    return f"{message}: give every line the same number, and put a cell that holds the separator in quotes"


def table_from_frame(frame: pd.DataFrame, name: str) -> TextTable:
    """Return a DataFrame as a table of text.

    The index levels that have names are columns too, and so is an index that is not 0, 1, ...: it names the items of a
    wide table. Numbers are written as Python does, except that a column of floats
    that are all whole is written without decimals: pandas makes such a column from whole numbers among which one is
    missing.

    Raises
    ------
    DataError
        If there is no row, or two columns have one name.
    """
    index = frame.index
    levels = [level for level, level_name in enumerate(index.names) if level_name is not None]
    if not levels and not index.equals(pd.RangeIndex(len(index))) and index.nlevels == 1:
        levels = [0]
    series = [index.get_level_values(level).to_series() for level in levels]
    series += [frame.iloc[:, column] for column in range(frame.shape[1])]
    header = [str(index.names[level] or "") for level in levels] + [str(column) for column in frame.columns]
    table = _checked(name, header, list(map(as_text, series)), range(1, len(frame) + 1), "row")
    ordered = {
        column: tuple(as_text(each.cat.categories.to_series()))
        for column, each in zip(table.header, series, strict=True)
        if isinstance(each.dtype, pd.CategoricalDtype) and each.cat.ordered
    }
    return replace(table, index=0 if len(levels) == 1 else None, categories=ordered)


def is_whole(series: pd.Series[Any]) -> bool:
    """Whether all numbers of a column of floats are whole."""
    return all(float(value).is_integer() for value in series.dropna().tolist())


def as_text(series: pd.Series[Any], *, whole: bool | None = None) -> list[str]:
    """Return the cells of a column as text, "" for missing ones.

    `whole` says of a part of a column of floats whether all of the column's numbers are whole.
    """
    if series.dtype == object:
        series = series.infer_objects()
    missing = series.isna().to_numpy(dtype=bool)
    values = series.tolist()
    if series.dtype.kind == "f" and (is_whole(series) if whole is None else whole):
        return ["" if absent else str(int(value)) for value, absent in zip(values, missing, strict=True)]
    return ["" if absent else str(value).strip() for value, absent in zip(values, missing, strict=True)]


def _checked(name: str, header: Sequence[str], columns: list[list[str]], lines: Sequence[int], unit: str) -> TextTable:
    names = tuple(column.strip() for column in header)
    seen: dict[str, int] = {}
    for position, column in enumerate(names):
        if column and column in seen:
            raise DataError(
                f"{name}: two columns, {seen[column] + 1} and {position + 1}, are named {column!r}: give each its own "
                "name, or, if the file has no header line, use no_header=True"
            )
        seen[column] = position
    if not names:
        raise DataError(f"{name} has no columns: give a table with a header line and rows")
    if not lines:
        raise DataError(f"{name} has no rows below its header {listed(names)}: add rows")
    return TextTable(name=name, header=names, columns=tuple(columns), lines=lines, unit=unit)
