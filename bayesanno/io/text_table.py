"""From a file or a DataFrame to a table of text, before its columns are interpreted.

The invariant: every cell of a `TextTable` is text without surrounding whitespace, a missing cell is the empty text,
every row is as wide as the header, no two columns share a name, and each row knows the line it came from. Nothing is
guessed from the cells: `NA`, `007` and `1e3` stay what they are.

pandas is imported for DataFrames and Parquet only, because its import takes longer than reading most text files.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bayesanno._core.errors import DataError
from bayesanno._core.lazy import pd
from bayesanno._core.wording import listed, nearest, option
from bayesanno.io.cells import write_cell
from bayesanno.io.text_rows import SEPARATORS, Rows, split_text

_RULE = re.compile(r"\s*(:?-{2,}:?)?\s*")  # under the header of a table in Markdown
_OF_REVIEW = ["Approve", "Reject"]  # a batch of Mechanical Turk ends in these; rows without a review leave them out

_OTHER_SEPARATORS = " :^~&"  # which are not detected
CONTENTS = ("image", "text", "sentence", "prompt", "document")  # what an item is, which names it as well
ALIASES = {
    "item": ("item", "task", "question", "unit", "instance_id", "doc", "example", "orig_id"),
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
        "evaluator",
        "assessor",
        "judge_model",
        "evaluated_by",
        *(f"{who}_name" for who in ("annotator", "worker", "rater", "coder", "judge", "grader", "evaluator")),
        "!amt_worker_ids",
    ),
    "label": ("label", "rating", "answer", "response", "annotation", "category", "winner", "verdict", "preference"),
    "gold": ("gold", "true_label", "truth", "human_label", "human"),
    "successes": ("successes", "positive", "positives", "x"),
    "trials": ("trials", "n", "total"),
    "count": ("count", "counts", "freq", "frequency"),
}
LAST_ALIASES = {"annotator": ("model",), "label": ("score",), "count": ("n", "weight")}  # if none above is there
_NAMED_BY_ID = {"item": (*ALIASES["item"], *CONTENTS), "annotator": ALIASES["annotator"]}  # as task_id or WorkerId
_ID = re.compile(r"(?i:(.*[\W_])?ids?)|.*[a-z]I[dD]s?|(?i:uid|uuid|guid|idx|index|nr|number|row|key)|#")


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
    called : mapping of role to str
        The names of fields of an export, or of its question, of which columns were made.
    nested : frozenset of str
        The fields of records that hold lists or objects, and so are no columns.
    """

    name: str
    header: tuple[str, ...]
    columns: tuple[list[str], ...]
    lines: Sequence[int | str]
    unit: str
    index: int | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)
    nested: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Check that no row repeats the header, unless its names are numbers."""
        named = {at: name.casefold() for at, name in enumerate(self.header) if name and not name.isdecimal()}
        first = min(named, default=0)
        for row, cell in enumerate(self.columns[first] if len(named) > 1 and self.columns else ()):
            if cell.casefold() == named[first] and all(self.columns[at][row].casefold() == named[at] for at in named):
                raise DataError(f"{self.where(row)} repeats the header: delete it")

    def where(self, row: int) -> str:
        """Return the place of a row, to begin a message with."""
        line = self.lines[row]
        return line if isinstance(line, str) else f"{self.name}, {self.unit} {line}"

    def quote(self, columns: Iterable[int]) -> str:
        """Return the names of columns, for a message."""
        return listed([self.header[column] for column in columns])

    def name_rest(self, used: Container[int | None]) -> str:
        """Return the columns and fields that are not used, to end a description; empty if there are none."""
        rest = self.list_rest(used)
        return f"; left out {listed(rest)}" if rest else ""

    def list_rest(self, used: Container[int | None]) -> list[str]:
        """Return the columns and fields that are not used; a column without a name has its number."""
        filled = {at for at, cells in enumerate(self.columns) if any(cells)} - {self.index}
        rest = [at for at, name in enumerate(self.header) if at not in used and (name or at in filled)]
        return [self.header[at] or f"column {at + 1}" for at in rest] + sorted(self.nested)

    @property
    def n_rows(self) -> int:
        """Number of rows under the header."""
        return len(self.lines)

    def without(self, columns: Container[int | None]) -> TextTable:
        """Return the table with columns that have no name and no cells, so that no name gives them a role."""
        cells = tuple([""] * self.n_rows if at in columns else each for at, each in enumerate(self.columns))
        header = tuple("" if at in columns else name for at, name in enumerate(self.header))
        return replace(self, header=header, columns=cells)

    def matching(self, role: str) -> list[int]:
        """Return the columns whose name is an alias of a role, or of its ids, as `worker_id`; else `model` or `score`.

        An id is left out if the column that it is the id of is there.
        """
        names = [name.casefold() for name in self.header]
        found = [at for at, name in enumerate(names) if name in ALIASES[role]]
        known = {"", *(names[at] for at in found)}
        stems = ["" if strip_id(name) == name or at in found else strip_id(name) for at, name in enumerate(names)]
        by_id = [at for at, stem in enumerate(stems) if stem in _NAMED_BY_ID.get(role, ()) and stem not in known]
        last = (at for at, name in enumerate(names) if name in LAST_ALIASES.get(role, ()))
        return sorted([*found, *by_id]) or [*last]

    def matching_loosely(self) -> list[int]:
        """Return the columns that may name the items: ids of anything, and texts and images themselves."""
        others = {name for role in ("annotator", "gold") for name in (*ALIASES[role], *LAST_ALIASES.get(role, ()))}
        return [
            at
            for at, name in enumerate(self.header)
            if name.casefold() in CONTENTS or (_ID.fullmatch(name) and strip_id(name) not in others)
        ]

    def find(self, role: str, given: str | None = None) -> int | None:
        """Return the column that plays a role: the one the given names, else the one with the role's name or an alias.

        Raises
        ------
        DataError
            If the given names no column, or two columns have an alias of the role and none its own name.
        """
        if given is not None:
            if str(given) not in self.header:
                raise DataError(
                    f"{self.name} has no column {str(given)!r} to use as {role}; its columns are "
                    f"{listed(self.header)}{nearest(str(given), self.header)}{self.explain_width()}"
                )
            return self.header.index(str(given))
        matching = self.matching(role)
        canonical = [column for column in matching if self.header[column].casefold() == role]
        if role == "annotator" and canonical and self.columns:  # it may name groups, and another one the people
            n_names = {column: len({*self.columns[column]}) for column in matching}
            canonical = canonical if n_names[canonical[0]] == max(n_names.values()) else []
        return self.only(role, canonical if len(canonical) == 1 else matching)

    def find_item(self, given: str | None = None) -> int | None:
        """Return the column that names the items: as `find`, or else the only id of anything, text or image.

        Raises
        ------
        DataError
            As for `find`, or if there are several.
        """
        found = self.find("item", given)
        return self.only("item", self.matching_loosely()) if found is None else found

    def only(self, role: str, columns: Sequence[int]) -> int | None:
        """Return the only one of some columns, None if there is none; raise a DataError if there are several."""
        if len(columns) > 1:
            names = " and ".join(repr(self.header[column]) for column in columns)
            raise DataError(
                f"{self.name}: the columns {names} could each be the {role}: choose one with "
                f"{option(role, self.header[columns[0]])} or {option(role, self.header[columns[1]])}"
            )
        return next(iter(columns), None)

    def explain_width(self) -> str:
        """Return the separator that may divide the only column, for the end of a message; empty for other tables."""
        cell = self.columns[0][0] if len(self.header) == 1 and self.n_rows else ""
        mark = next((mark for mark in _OTHER_SEPARATORS if mark in cell), None)
        return f"; if {mark!r} separates its cells, use {option('separator', mark)}" if mark else ""

    def need(self, role: str, given: str | None = None, *, may_be_named: bool = True, loosely: bool = True) -> int:
        """Return the column that plays a role; the message names its option, if it may be named.

        An item may be named `loosely`, by an id of anything.

        Raises
        ------
        DataError
            As for `find`, or if there is none.
        """
        column = self.find_item(given) if role == "item" and loosely else self.find(role, given)
        if column is None:
            raise DataError(
                f"{self.name} has no column for the {role}: looked for {listed(ALIASES[role])} among "
                f"{listed(self.header)}; {f'name it with {option(role)}' if may_be_named else f'rename it to {role!r}'}"
            )
        return column


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


def table_from_text(text: str, name: str, separator: str | None = None, *, no_header: bool = False) -> TextTable:
    """Return the table in the text of a file; see `split_text`.

    Raises
    ------
    DataError
        As for `split_text` and `table_from_rows`.
    """
    rows, used = split_text(text, name, separator)
    return table_from_rows(rows, name, "line", used, no_header=no_header)


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
    rule = next((at for at, cells in rest if _is_rule(cells)), None)
    if rule is not None:
        raise DataError(f"{name}, {unit} {rule} is a rule: delete it")
    if header[-2:] == _OF_REVIEW:
        rest = [(at, [*cells, "", ""] if len(cells) == width - 2 else cells) for at, cells in rest]
    wrong = next(((at, cells) for at, cells in rest if len(cells) != width), None)
    if wrong is not None:
        raise DataError(f"{name}, {unit} {wrong[0]}: {_width_error(wrong[1], width, separator, first)}")
    columns = zip(*(cells for _, cells in rest), strict=True) if rest else ([] for _ in header)
    return _checked(name, header, [list(map(str.strip, column)) for column in columns], [at for at, _ in rest], unit)


def _is_rule(cells: Sequence[str]) -> bool:
    """Return whether a row has dashes alone, as under the header of a table in Markdown."""
    return "--" in cells[len(cells) // 2] and all(map(_RULE.fullmatch, cells))


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
    wide table. Whole numbers are written without decimals, also among others: pandas makes floats of whole numbers
    among which one is missing.

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


def as_text(series: pd.Series[Any]) -> list[str]:
    """Return the cells of a column as text, "" for missing ones, and whole numbers without decimals."""
    if series.dtype == object:
        series = series.infer_objects()
    missing = series.isna().to_numpy(dtype=bool)
    write = write_cell if series.dtype.kind in "fO" else str
    return ["" if absent else write(cell).strip() for cell, absent in zip(series.tolist(), missing, strict=True)]


def _checked(name: str, header: Sequence[str], columns: list[list[str]], lines: Sequence[int], unit: str) -> TextTable:
    names = tuple(column.strip() for column in header)
    seen: dict[str, int] = {}
    for position, column in enumerate(names):
        if column and column in seen:
            raise DataError(
                f"{name}: two columns, {seen[column] + 1} and {position + 1}, are named {column!r}: give each its own "
                f"name, or, if the file has no header line, use {option('no_header', True)}"
            )
        seen[column] = position
    if not names:
        raise DataError(f"{name} has no columns: give a table with a header line and rows")
    if not lines:
        raise DataError(f"{name} has no rows below its header {listed(names)}: add rows")
    return TextTable(name=name, header=names, columns=tuple(columns), lines=lines, unit=unit)
