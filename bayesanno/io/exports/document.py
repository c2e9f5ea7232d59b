"""What a file holds before it is known which tool wrote it: records, one after the other, each with its place.

The invariant: records are decoded one at a time, so that memory is that of the text and of one record, and whatever
does not decode is refused with its line. Nothing in a file is executed, opened or fetched: the parts of a zip are read
by their names from its list, up to a number and a size.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayesanno.ground.errors import DataError
from bayesanno.ground.lazy import pd
from bayesanno.ground.wording import counted, listed
from bayesanno.io.exports.records import Value
from bayesanno.io.text_table import TextTable, decode, table_from_frame

MOST_BYTES = 500 * 2**20  # of JSON, alone or unpacked
MOST_FILES = 1000  # in a zip

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, kw_only=True, eq=False)
class Document:
    """What a file, or a table or a list in memory, holds.

    Parameters
    ----------
    name : str
        What messages call it.
    kind : {"records", "object", "zip", "table"}
        JSONL or a list in JSON; one object in JSON; a zip of such files; or a table.
    records : callable
        () -> the records, from the first on. A row of a table is an object too.
    table : callable, optional
        () -> the table; of a table only.
    files : mapping of str to Document
        What is in a zip, by the names of its files.
    """

    name: str
    kind: str
    records: Callable[[], Iterator[Value]]
    table: Callable[[], TextTable] | None = None
    files: Mapping[str, Document] = field(default_factory=dict)

    @cached_property
    def first(self) -> Mapping[str, Any]:
        """The first record, empty if there is none or it is no object; of a zip, that of its first file with one."""
        if self.files:
            return next((each.first for each in self.files.values() if each.first), {})
        value = next((each.given for each in self.records()), None)
        return value if isinstance(value, Mapping) else {}

    @classmethod
    def from_json(cls, raw: bytes, name: str) -> Self:
        """Return the document in a file of JSON or JSONL.

        Raises
        ------
        DataError
            If the file is too large, no UTF-8, or does not decode; the latter also while its records are read.
        """
        if len(raw) > MOST_BYTES:
            raise DataError(explain_size(name, len(raw)))
        text = decode(raw, name)
        start = _skip(text, 0)
        if text.startswith("[", start):
            return cls(name=name, kind="records", records=lambda: _read_list(text, start, name))
        _, end = _decode_value(text, start, name)
        kind = "object" if _skip(text, end) == len(text) else "records"
        return cls(name=name, kind=kind, records=lambda: _read_lines(text, name))

    @classmethod
    def from_zip(cls, raw: bytes, name: str) -> Self:
        """Return the document in a zip: its files of JSON and JSONL.

        Raises
        ------
        DataError
            If it cannot be unpacked, has none of these, or too many or too large ones, or as for `from_json`.
        """
        files = {
            each: cls.from_json(content, f"{name}, {each}")
            for each, content in _unpack(raw, name).items()
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
            raise DataError(f"cannot read annotations from a list{what}: its elements must be records, that is dicts")
        return cls(
            name=name,
            kind="records",
            records=lambda: (Value(f"{name}, [{position}]", plain(value)) for position, value in enumerate(values)),
        )

    @classmethod
    def from_object(cls, value: Mapping[str, Any], name: str) -> Self:
        """Return the document of one object in memory."""
        return cls(name=name, kind="object", records=lambda: iter([Value(name, plain(value))]))

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, name: str) -> Self:
        """Return the document of a DataFrame, whose cells may be nested."""
        names = [str(column) for column in frame.columns]

        def records() -> Iterator[Value]:
            for row, cells in enumerate(frame.itertuples(index=False, name=None), 1):
                yield Value(f"{name}, row {row}", {each: plain(cell) for each, cell in zip(names, cells, strict=True)})

        return cls(name=name, kind="table", records=records, table=lambda: table_from_frame(frame, name))

    @classmethod
    def from_table(cls, table: TextTable) -> Self:
        """Return the document of a table of text."""

        def records() -> Iterator[Value]:
            for row, cells in enumerate(zip(*table.columns, strict=True)):
                yield Value(table.where(row), dict(zip(table.header, cells, strict=True)))

        return cls(name=table.name, kind="table", records=records, table=lambda: table)


def plain(value: Any) -> Any:
    """Return a value in memory as JSON would have it: lists and objects, and None where one is missing."""
    if isinstance(value, str | bool | int) or value is None:
        return value
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    return None if pd.api.types.is_scalar(value) and pd.isna(value) else value


def explain_size(name: str, size: int) -> str:
    """Return the message for a file of JSON that is too large."""
    return (
        f"{name} has {size / 2**20:,.0f} MiB of JSON, more than the {MOST_BYTES // 2**20} that are read: export a part "
        "of the project at a time, or a table in CSV or Parquet"
    )


def _unpack(raw: bytes, name: str) -> dict[str, bytes]:
    """Return the files of JSON in a zip, by name, read one after the other up to the limits."""
    left, found = MOST_BYTES, {}
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            listing = [each for each in archive.infolist() if not each.is_dir()]
            names = [each.filename for each in listing]
            if len(listing) > MOST_FILES:
                raise DataError(f"{name} is a zip of {counted(len(listing), 'file')}: {MOST_FILES:,} are read at most")
            for each in listing:
                if not each.filename.casefold().endswith((".json", ".jsonl")) or each.filename.startswith("__MACOSX/"):
                    continue
                if each.filename in found:
                    raise DataError(f"{name} holds {each.filename!r} twice: export it again")
                with archive.open(each) as packed:
                    found[each.filename] = packed.read(left + 1)
                left -= len(found[each.filename])
                if left < 0:
                    raise DataError(explain_size(f"{name}, unpacked,", max(each.file_size, MOST_BYTES + 1)))
    except RuntimeError:  # what zipfile raises of a file with a password
        raise DataError(f"{name} is a zip with a password: unpack it, and pack it again without one") from None
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, ValueError, KeyError) as error:
        if isinstance(error, DataError):
            raise
        reason = " ".join(str(error).split())
        raise DataError(f"{name} cannot be unpacked ({reason}): export or copy it again") from None
    if not found:
        raise DataError(
            f"{name} is a zip without a file of JSON or JSONL"
            + (f": it holds {listed(names, most=5)}" if names else ", and is empty")
            + ("; a table of Excel can be saved as CSV" if any(each.startswith("xl/") for each in names) else "")
        )
    return found


def _skip(text: str, position: int) -> int:
    """Return where the next character stands that is no white space."""
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _decode_value(text: str, position: int, name: str) -> tuple[Any, int]:
    """Return the JSON value that begins at a position, and where it ends."""
    try:
        return _DECODER.raw_decode(text, position)
    except json.JSONDecodeError as error:
        cut = _skip(text, error.pos) >= len(text) or (
            error.msg.startswith("Unterminated") and "\n" not in text[error.pos :].rstrip()
        )
        ends = " (the file ends here: is it whole?)" if cut else ""
        raise DataError(
            f"{name}, line {error.lineno}: this is not JSON: {error.msg[:1].lower()}{error.msg[1:]}, column "
            f"{error.colno}{ends}; export the file again"
        ) from None
    except RecursionError:
        raise DataError(f"{name}, line {_line(text, position)}: this JSON is nested too deep to be read") from None
    except ValueError:  # Python refuses to read such a number
        raise DataError(
            f"{name}, line {_line(text, position)}: a number here or below has thousands of digits: write it as text"
        ) from None


def _read_list(text: str, start: int, name: str) -> Iterator[Value]:
    """Yield the elements of a list in JSON."""
    position, number = _skip(text, start + 1), 0
    closed = text.startswith("]", position)
    while not closed:
        value, end = _decode_value(text, position, name)
        yield Value(f"{name}, [{number}]", value)
        end = _skip(text, end)
        closed = text.startswith("]", end)
        if not closed and not text.startswith(",", end):
            raise DataError(
                f"{name}, line {_line(text, end)}: this is not JSON: after [{number}] of the list a comma or the end "
                "of the list is missing (is the file whole?); export it again"
            )
        position, number = (end if closed else _skip(text, end + 1)), number + 1
    if _skip(text, position + 1) != len(text):
        raise DataError(
            f"{name}, line {_line(text, _skip(text, position + 1))}: there is more after the end of the list: one "
            "list, or one object on each line, is read"
        )


def _read_lines(text: str, name: str) -> Iterator[Value]:
    """Yield the values of JSONL, with the lines that they begin in."""
    position, line, counted_to = _skip(text, 0), 1, 0
    while position < len(text):
        line += text.count("\n", counted_to, position)
        counted_to = position
        value, end = _decode_value(text, position, name)
        yield Value(f"{name}, line {line}", value)
        position = _skip(text, end)
