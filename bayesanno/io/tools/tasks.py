"""What a tool shows of each item: read from its own export, or from a table, and given back as it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed
from bayesanno.io.sources import open_document
from bayesanno.io.text_table import ALIASES

type Record = Mapping[str, Any]


@dataclass(frozen=True)
class Tasks:
    """The records of a file.

    Parameters
    ----------
    name : str
        What messages call the file.
    by_item : mapping of str to list of mappings
        The records of each item: several, where a tool writes one for each answer.
    item : str
        The field that names the item.
    """

    name: str
    by_item: Mapping[str, list[Record]]
    item: str

    def __bool__(self) -> bool:
        return bool(self.by_item)

    def first(self, item: str) -> Record:
        """Return the first record of an item."""
        return self.by_item[item][0]

    def __iter__(self) -> Iterator[Record]:
        """Give all records."""
        return (record for records in self.by_item.values() for record in records)


NO_TASKS = Tasks("", {}, "")


def read_tasks(source: Any, *, usual: str, item: str | None = None) -> Tasks:
    """Read the records of an export of a tool, or the rows of a table.

    Parameters
    ----------
    source : path, DataFrame or list of dict
    usual : str
        The field that names an item in the tool's own exports; else an alias of a column of items does.
    item : str, optional
        The field that does, a path to it, or a template over fields, as where annotations are read.

    Raises
    ------
    DataFileError
        If there is no such file.
    DataError
        If it has no records, or one has no item.
    """
    document = open_document(source)
    documents = document.files.values() or [document]
    records = [record for each in documents for record in each.records()]
    if not records:
        raise DataError(f"{document.name} holds no tasks: give the tool's own export, or a table of items")
    field = _find_item(records[0].as_object(), usual, document.name) if item is None else item
    by_item: dict[str, list[Record]] = {}
    for record in records:
        by_item.setdefault(record.name_item(field), []).append(record.as_object())
    return Tasks(document.name, by_item, field)


def _find_item(record: Record, usual: str, name: str) -> str:
    """Return the field that names the item."""
    by_folded = {field.casefold(): field for field in record}
    names = [*dict.fromkeys((usual, *ALIASES["item"], "id"))]
    found = next((by_folded[one] for one in names if one in by_folded), None)
    if found is None:
        raise DataError(
            f"{name}: no field names the item: looked for {listed(names)} among {listed([*record])}; name it with "
            "item=..."
        )
    return found
