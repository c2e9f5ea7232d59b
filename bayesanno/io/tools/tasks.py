"""What a tool shows of each item: read from its own export, or from a table, and given back as it was.

The invariant: the values in a file are data; they are copied, and nothing in them is opened or executed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed, nearest
from bayesanno.io.text_table import ALIASES, decode, open_table, read_bytes

type Record = dict[str, Any]


@dataclass(frozen=True)
class Tasks:
    """The records of a file.

    Parameters
    ----------
    name : str
        What messages call the file.
    by_item : mapping of str to list of dict
        The records of each item, of which a tool that writes one for each answer has several.
    item : str
        The field that names the item.
    """

    name: str
    by_item: Mapping[str, list[Record]]
    item: str

    def first(self, item: str) -> Record:
        """Return the first record of an item."""
        return self.by_item[item][0]

    def __iter__(self) -> Iterator[Record]:
        """Give all records."""
        return (record for records in self.by_item.values() for record in records)


def read_tasks(path: str | os.PathLike[str], *, usual: str, item: str | None = None) -> Tasks:
    """Read the records of a JSON or JSON Lines file, or the rows of a table.

    Parameters
    ----------
    path : path
    usual : str
        The field that names an item in the tool's own exports; else an alias of a column of items does.
    item : str, optional
        The field that does, or a path to it, such as `data.ticket`.

    Raises
    ------
    DataFileError
        If there is no such file.
    DataError
        If it has no records, or one has no item.
    """
    records, name = _read_records(Path(path)), str(path)
    if not records:
        raise DataError(f"{name} holds no tasks: give the tool's own export, or a table of items")
    first = next(iter(records.values()))
    found = _find_item(first, usual, name) if item is None else str(item)
    by_item: dict[str, list[Record]] = {}
    for place, record in records.items():
        value = _look_up(record, found, place)
        if value in (None, "") or isinstance(value, dict | list):
            raise DataError(f"{place}: {found!r} names no item: it is {json.dumps(value)[:40]}")
        by_item.setdefault(str(value), []).append(record)
    return Tasks(name, by_item, found)


def _find_item(record: Record, usual: str, name: str) -> str:
    """Return the field that names the item."""
    by_folded = {field.casefold(): field for field in record}
    names = [*dict.fromkeys((usual, *ALIASES["item"], "id"))]
    found = next((by_folded[one] for one in names if one in by_folded), None)
    if found is None:
        raise DataError(
            f"{name}: no field names the item: looked for {listed(names)} among {listed([*record])}; name it with "
            "item=... (--item)"
        )
    return found


def _look_up(record: Record, path: str, place: str) -> Any:
    """Return the value of a field, or of one within others."""
    if path in record:
        return record[path]
    value: Any = record
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            raise DataError(f"{place}: there is no field {path!r} among {listed([*record])}{nearest(path, record)}")
        value = value[name]
    return value


def _read_records(path: Path) -> dict[str, Record]:
    """Return the records of a file by their places."""
    raw = read_bytes(path)
    if raw.startswith(b"PK"):
        raise DataError(f"{path} is a zip file: unpack it, and give one of its files")
    if raw.lstrip()[:1] in (b"[", b"{"):
        return _read_json(decode(raw, str(path)), str(path))
    table = open_table(path)
    rows = enumerate(zip(*table.columns, strict=True))
    return {table.where(row): dict(zip(table.header, cells, strict=True)) for row, cells in rows}


def _read_json(text: str, name: str) -> dict[str, Record]:
    """Return the records of a JSON list, of an object of columns, or of JSON Lines, each with its place."""
    if text.lstrip().startswith("["):
        found = _parse(text, name)
        return _checked({f"{name}, task {number}": one for number, one in enumerate(found, 1)})
    lines = {f"{name}, line {number}": line for number, line in enumerate(text.split("\n"), 1) if line.strip()}
    if len(lines) > 1 and not next(iter(lines.values())).rstrip().endswith("}"):  # one object on many lines
        lines = {name: text}
    if len(lines) > 1:
        return _checked({place: _parse(line, place) for place, line in lines.items()})
    columns = _parse(text, name)
    if all(isinstance(cells, list) for cells in columns.values()) and len({*map(len, columns.values())}) == 1:
        rows = zip(*columns.values(), strict=True)
        return {f"{name}, task {number}": dict(zip(columns, row, strict=True)) for number, row in enumerate(rows, 1)}
    return {name: columns}


def _parse(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: this is no JSON: {error}") from None


def _checked(records: Mapping[str, Any]) -> dict[str, Record]:
    wrong = next((place for place, record in records.items() if not isinstance(record, dict)), None)
    if wrong is not None:
        raise DataError(f"{wrong}: it is no object with fields, but {json.dumps(records[wrong])[:40]}")
    return dict(records)
