"""Tools that take labels, each with a name, its options and a writer.

The data that a tool shows for an item come from its own export, or from a table, and are returned unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Self

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed, nearest
from bayesanno.io.registry import TOOLS
from bayesanno.io.sources import open_document
from bayesanno.io.text_table import ALIASES
from bayesanno.io.write import write_text

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
        raise DataError(f"{document.name} has no tasks: give the tool's own export, or a table of items")
    field = _find_item(records[0].as_object(), usual, document.name) if item is None else item
    by_item: dict[str, list[Record]] = {}
    for record in records:
        by_item.setdefault(record.name_item(field), []).append(record.as_object())
    return Tasks(document.name, by_item, field)


def _find_item(record: Record, usual: str, name: str) -> str:
    """Return the field that names the item."""
    names = [*dict.fromkeys((usual, *ALIASES["item"], "id"))]
    found = [field for one in names for field in record if field.casefold() == one]
    if not found:
        looked = f"looked for {listed(names)} among {listed([*record])}"
        raise DataError(f"{name} has no field for the item: {looked}; name it with item=...")
    return found[0]


@dataclass(frozen=True, kw_only=True)
class ToolOptions:
    """The options of an export to a tool; a tool refuses options that it does not take.

    Parameters
    ----------
    question : str, optional
        The tool's name of the question: a question of Argilla, a control of Label Studio.
    to_name : str, optional
        The object that a control of Label Studio labels.
    tasks : path, optional
        A file with the data to show for each item.
    item : str, optional
        The field of that file that names the item.
    agent : str, optional
        The name of the annotator of these labels.
    """

    question: str | None = None
    to_name: str | None = None
    tasks: Any = None
    item: str | None = None
    agent: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Labels:
    """The labels of items, as a tool takes them.

    Parameters
    ----------
    data : AnnotationData
        The answers that they are of.
    probability : ndarray, shape (item, true_class)
        Of each class of the data.
    row : ndarray of int, shape (labelled item,)
        The items that are labelled, in order.
    agent : str
        The name of the annotator of these labels.
    options : ToolOptions
    tasks : Tasks
        The data to show for each item; may be empty if the tool does not need them.
    """

    data: AnnotationData
    probability: np.ndarray
    row: np.ndarray
    agent: str
    options: ToolOptions
    tasks: Tasks

    @property
    def items(self) -> list[str]:
        """The names of the labelled items."""
        return [self.data.items[row] for row in self.row.tolist()]

    @property
    def code(self) -> np.ndarray:
        """The most probable label of each labelled item, as its position among the classes."""
        return self.probability[self.row].argmax(axis=1)

    @property
    def score(self) -> np.ndarray:
        """The probability of that label, at most 1 for any rounding."""
        return self.probability[self.row].max(axis=1).clip(max=1.0)

    def __iter__(self) -> Iterator[tuple[str, str, float]]:
        """Give the name, the label and the score of each labelled item."""
        labels = [self.data.classes[code] for code in self.code.tolist()]
        return zip(self.items, labels, self.score.tolist(), strict=True)

    def only(self, chosen: np.ndarray) -> Self:
        """Return the labels of some items: those for which this, (labelled item,), is true."""
        return replace(self, row=self.row[chosen])


@dataclass(frozen=True)
class Tool:
    """A tool that labels are exported to.

    Parameters
    ----------
    name : str
        As `export_labels(to=...)` and `--to` take it.
    write : callable
        (labels, path) -> None: writes the file, or the folder.
    takes : tuple of str
        Which of the fields of `ToolOptions` it has.
    needs_tasks : bool
        Whether it needs the data to show for each item.
    item : str
        The field of its own exports that names an item.
    shows : tuple of str
        The fields that it can show: a task has one or more of them.
    """

    name: str
    write: Callable[[Labels, Path], None]
    takes: tuple[str, ...] = ()
    needs_tasks: bool = False
    item: str = "id"
    shows: tuple[str, ...] = ()

    def check(self, options: ToolOptions) -> None:
        """Raise a DataError if an option is given that the tool does not take, or its tasks are lacking."""
        for name, value in vars(options).items():
            if value is not None and name not in self.takes:
                raise DataError(f"{name}=... does not apply to {self.name}: leave it out")
        if self.needs_tasks and options.tasks is None:
            raise DataError(
                f"{self.name} shows the text or other data of each item, and a fit does not hold them: give the tool's "
                "own export, or a table of items, with tasks=..."
            )
        if options.item is not None and options.tasks is None:
            raise DataError("item=... names a field of tasks: leave it out, or give tasks=...")

    def read_tasks(self, options: ToolOptions) -> Tasks:
        """Read the tasks, if there are any.

        Raises
        ------
        DataFileError, DataError
            As for `read_tasks`; if they have nothing that the tool shows.
        """
        if options.tasks is None:
            return NO_TASKS
        tasks = read_tasks(options.tasks, usual=self.item, item=options.item)
        if self.shows and not any(isinstance(task.get(name), str) for task in tasks for name in self.shows):
            raise DataError(
                f"{tasks.name} has nothing that {self.name} can show: add a field {' or '.join(self.shows)}"
            )
        return tasks


def find_tool(name: str) -> Tool:
    """Return the tool of this name.

    Raises
    ------
    DataError
        If there is none.
    """
    if name not in TOOLS:
        raise DataError(
            f"labels cannot be exported to {name!r}: choose one of {listed([*TOOLS])}{nearest(name, TOOLS)}"
        )
    return resolve_name(TOOLS[name])


def write_json(records: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write records as a JSON list, one on each line."""
    body = ",\n".join(_dump(record) for record in records)
    write_text(path, f"[\n{body}\n]\n")


def write_json_lines(records: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write records as JSON Lines."""
    write_text(path, "".join(f"{_dump(record)}\n" for record in records))


def _dump(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, default=str)  # dates of a table
