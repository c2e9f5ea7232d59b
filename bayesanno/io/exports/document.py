"""The contents of a file before its tool is known: records, one after the other, each with its place.

The invariant: records are decoded one at a time, so that only the text and one record are in memory; an error names its
line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from bayesanno._core.errors import DataError
from bayesanno._core.lazy import pd
from bayesanno.io.cells import parse_cell, plain
from bayesanno.io.exports.paths import Rows
from bayesanno.io.exports.value import Value
from bayesanno.io.packed import MOST_BYTES, explain_size
from bayesanno.io.text_rows import decode
from bayesanno.io.text_table import TextTable, header_only, table_from_frame

_SPACE = re.compile(r"[ \t\r\n]*")


def _distinct(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, whose keys differ."""
    found = dict(fields)
    if len(found) < len(fields):
        twice = next(name for name in found if sum(name == each for each, _ in fields) > 1)
        raise DataError(f"an object has the key {twice!r} twice: keep one, or give each a name of its own")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct)


@dataclass(frozen=True, kw_only=True, eq=False)
class Document:
    """The contents of a file, or of a table or a list in memory.

    Parameters
    ----------
    name : str
        What messages call it.
    kind : {"records", "zip", "table"}
        JSON or JSONL; a zip of such files; or a table.
    records : callable
        () -> the records: the values of JSONL, of a list or of an object, or the rows of a table as objects.
    table : callable, optional
        () -> the table, if it is one. Records whose fields are flat are one too; see `flat`.
    files : mapping of str to Document
        The files of a zip, by name.
    whole : Value, optional
        The object, if it is one, of which the records are made.
    """

    name: str
    kind: str
    records: Callable[[], Iterator[Value]]
    table: Callable[[], TextTable] | None = None
    files: Mapping[str, Document] = field(default_factory=dict)
    whole: Value | None = None

    @cached_property
    def first(self) -> Mapping[str, Any]:
        """The first record, empty if it is missing or not an object; for a zip, that of its first file with one."""
        if self.files:
            return next((each.first for each in self.files.values() if each.first), {})
        value = next((each.given for each in self.records()), None)
        return value if isinstance(value, Mapping) else {}

    @cached_property
    def flat(self) -> tuple[TextTable | None, frozenset[str]]:
        """The table: a row for each record, a column for each field; and the fields that are nested, so left out."""
        if self.table is not None:
            return self.table(), frozenset()
        records = list(self.records())
        if not all(isinstance(record.given, Mapping) for record in records):
            return None, frozenset()
        cells = {
            (name, isinstance(parse_cell(part), list | Mapping)) for one in records for name, part in one.given.items()
        }
        nested = frozenset(name for name, is_nested in cells if is_nested)
        header = [name for name in dict.fromkeys(name for one in records for name in one.given) if name not in nested]
        if not header:
            return None, nested
        columns = tuple([record.get(name).as_text() for record in records] for name in header)
        more: dict[str, Any] = {"lines": [record.place for record in records], "unit": "row", "nested": nested}
        return TextTable(name=self.name, header=tuple(header), columns=columns, **more), nested

    @classmethod
    def from_json(cls, text: str, name: str) -> Self:
        """Return the document in the text of JSON or JSONL.

        Raises
        ------
        DataError
            If it is too large, or does not decode; the latter also while its records are read.
        """
        if len(text) > MOST_BYTES:
            raise DataError(explain_size(name, len(text)))
        start = _skip(text, 0)
        if not text.startswith("[", start):
            value, end = _decode_value(text, start, name)
            if _skip(text, end) == len(text):
                return cls.from_object(Value(f"{name}, line {_line(text, start)}", value), name)
        return cls(name=name, kind="records", records=lambda: _read_values(text, start, name))

    @classmethod
    def from_object(cls, whole: Value, name: str) -> Self:
        """Return the document of one object, which may hold the records by their names, or lists by column."""
        return cls(name=name, kind="records", records=lambda: _read_whole(whole, name), whole=whole)

    def records_with(self, paths: Iterable[str]) -> Callable[[], Iterator[Value]]:
        """Return what gives the records, or the whole object if only that has the fields of these paths."""
        each = [Rows({path: path}, self.first, inner=path) for path in paths]
        first, whole = next(self.records()), self.whole
        if whole is None or all(rows.fits(first) for rows in each) or not all(rows.fits(whole) for rows in each):
            return self.records
        return lambda: iter([whole])

    def changed(self, change: Callable[[Value], Value]) -> Document:
        """Return the document with changed records."""
        return replace(self, records=lambda: map(change, self.records()))

    @classmethod
    def from_zip(cls, contents: Mapping[str, bytes], name: str, encoding: str | None = None) -> Self:
        """Return the document of a zip's files of JSON and JSONL.

        Raises
        ------
        DataError
            If one is no text, or as for `from_json`.
        """
        files = {
            each: cls.from_json(decode(content, f"{name}, {each}", encoding), f"{name}, {each}")
            for each, content in contents.items()
            if content.strip()
        }
        return cls(name=name, kind="zip", records=lambda: iter(()), files=files)

    @classmethod
    def from_list(cls, values: list[Any], name: str) -> Self:
        """Return the document of records in memory.

        Raises
        ------
        DataError
            If there is none, or one is no dict.
        """
        odd = next((value for value in values if not isinstance(value, Mapping)), None)
        if odd is not None or not values:
            what = f" of {type(odd).__name__}" if values else " that is empty"
            raise DataError(f"cannot read annotations from a list{what}: give a list of dicts")
        return cls(
            name=name,
            kind="records",
            records=lambda: (Value(f"{name}, [{position}]", plain(value)) for position, value in enumerate(values)),
        )

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, name: str) -> Self:
        """Return the document of a DataFrame, whose cells may be nested."""
        levels = [level for level in frame.index.names if level is not None and level not in frame.columns]
        whole = frame.reset_index(levels)
        names = [str(column) for column in whole.columns]

        def records() -> Iterator[Value]:
            for row, cells in enumerate(whole.itertuples(index=False, name=None), 1):
                yield Value(f"{name}, row {row}", {each: plain(cell) for each, cell in zip(names, cells, strict=True)})

        return cls(name=name, kind="table", records=records, table=lambda: table_from_frame(frame, name))

    @classmethod
    def from_table(cls, table: TextTable) -> Self:
        """Return the document of a table of text."""

        def records() -> Iterator[Value]:
            for row, cells in enumerate(zip(*table.columns, strict=True)):
                yield Value(table.where(row), dict(zip(table.header, cells, strict=True)))

        return cls(name=table.name, kind="table", records=records, table=lambda: table)


def _skip(text: str, position: int) -> int:
    """Return the position of the next character that is not whitespace."""
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _decode_value(text: str, position: int, name: str) -> tuple[Any, int]:
    """Return the JSON value at a position, and its end."""
    try:
        return _DECODER.raw_decode(text, position)
    except json.JSONDecodeError as error:
        cut = _skip(text, error.pos) >= len(text) or (
            error.msg.startswith("Unterminated") and "\n" not in text[error.pos :].rstrip()
        )
        ends = " (the file ends here, and may be cut off)" if cut else ""
        raise DataError(
            f"{name}, line {error.lineno}: this is not JSON: {error.msg[:1].lower()}{error.msg[1:]}, column "
            f"{error.colno}{ends}; export the file again"
        ) from None
    except RecursionError:
        raise DataError(f"{name}, line {_line(text, position)}: this JSON is nested too deeply: flatten it") from None
    except DataError as error:
        raise DataError(f"{name}, line {_line(text, position)}: {error}") from None
    except ValueError:  # Python limits the digits of a number
        raise DataError(
            f"{name}, line {_line(text, position)}: a number here or below has thousands of digits: write it as text"
        ) from None


def _read_values(text: str, start: int, name: str) -> Iterator[Value]:
    """Yield the elements of a list in JSON, or the values of JSONL, each with its first line."""
    is_list = text.startswith("[", start)
    position, number, line, counted_to = _skip(text, start + is_list), 0, 1, 0
    is_empty = is_list and text.startswith("]", position)
    while not is_empty and (is_list or position < len(text)):
        value, end = _decode_value(text, position, name)
        line, counted_to = line + text.count("\n", counted_to, position), position
        yield Value(f"{name}, [{number}]" if is_list else f"{name}, line {line}", value)
        position, number = _skip(text, end), number + 1
        if is_list and not text.startswith(",", position):
            break
        position = _skip(text, position + is_list)
    if not is_list:
        return
    if not text.startswith("]", position):
        raise DataError(
            f"{name}, line {_line(text, position)}: this is not JSON: a comma or the end of the list is missing after "
            f"[{number - 1}] (the file may be cut off); export it again"
        )
    after = _skip(text, position + 1)
    if after != len(text):
        raise DataError(
            f"{name}, line {_line(text, after)}: text follows the end of the list: write one list, or one object on "
            "each line"
        )


def _read_whole(whole: Value, name: str) -> Iterator[Value]:
    """Yield the records in one object: its only list, rows of columns, records by id, or the object.

    Columns are lists side by side, or objects by row, as pandas writes them.
    """
    parts = whole.given if isinstance(whole.given, Mapping) else {}
    if all(isinstance(part, Mapping) for part in parts.values()):
        names, rows = header_only(name, parts), [list(part) for part in parts.values()]
        if names.matching("annotator") and names.matching("label") and all(each == rows[0] for each in rows):
            parts = {field: list(part.values()) for field, part in parts.items()}
    lists = [part for part in parts.values() if isinstance(part, list)]
    of_objects = bool(lists) and all(part and isinstance(part[0], Mapping) for part in lists)
    if of_objects and len(parts) == 1:
        for row, each in enumerate(lists[0]):
            yield Value(f"{name}, {next(iter(parts))}[{row}]", each)
    elif any(lists) and len(lists) == len(parts) and not of_objects:
        lengths = {field: len(part) for field, part in parts.items()}
        shortest = min(lengths, key=lengths.__getitem__)
        for row in range(lengths[shortest]):
            yield Value(f"{name}, [{row}]", {field: part[row] for field, part in parts.items()})
        if len(set(lengths.values())) > 1:
            raise DataError(f"{name}: {shortest!r} is shorter than other lists: give each list a value for each record")
    elif parts and all(isinstance(part, Mapping) for part in parts.values()) and "responses" not in parts:
        for key, part in parts.items():
            yield Value(f"{name}, [{key!r}]", {"id": key, **part})
    else:
        yield whole
