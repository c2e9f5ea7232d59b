"""From a table of text to answers: the meaning of its columns, and the content of its rows.

The invariant: in tables of every shape, each answer becomes one annotation of a named item by a named annotator, with
its row; no answer is dropped, merged or renamed silently.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayesanno._core.errors import DataError
from bayesanno._core.wording import counted, listed, nearest, option
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.columns import Column
from bayesanno.data.labelled import Codes
from bayesanno.io.cells import find_several
from bayesanno.io.names import refuse_label, warn_names
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.sources import open_beside
from bayesanno.io.spelling import join_spellings
from bayesanno.io.text_table import ALIASES, TextTable

_AS_THEY_ARE = ReadOptions()
MOST_ROWS = 10_000_000  # the limit of items or answers that counts expand to


@dataclass(frozen=True, kw_only=True, eq=False)
class NamedAnswers:
    """The answers in a long table, each with its item, annotator, label and row."""

    table: TextTable
    item: Codes  # (annotation,)
    annotator: Codes  # (annotation,)
    label: list[str]  # (annotation,)
    row: Codes  # (annotation,)
    items: tuple[str, ...]
    annotators: tuple[str, ...]
    gold: dict[str, str]
    read_as: str = ""  # the columns that were read, in words
    categories: tuple[str, ...] = ()  # labels in the order of an ordered categorical column
    item_columns: Mapping[str, Column] = field(default_factory=dict)
    annotator_columns: Mapping[str, Column] = field(default_factory=dict)
    sides: tuple[str, ...] = ()  # of comparisons,
    swapped: Any = ()  # and which answers are to the other order, (annotation,)


def expand_rows(table: TextTable, column: int, blank: np.ndarray) -> Codes:
    """Repeat each row's number by its count; shape (item,).

    Raises
    ------
    DataError
        If a count is not a whole number of 0 or more, or the counts add up to too many items.
    """
    counts = whole_numbers(table, column, blank)
    if int(counts.sum()) > MOST_ROWS:
        raise DataError(
            f"{table.name}: column {table.header[column]!r} adds up to {counts.sum():,} items, and the limit is "
            f"{MOST_ROWS:,}: divide the counts or leave rows out"
        )
    return np.repeat(np.arange(table.n_rows), counts)


def whole_numbers(table: TextTable, column: int, blank: np.ndarray) -> Codes:
    """Return the counts of a column, 0 in the rows that are blank; shape (row,).

    Raises
    ------
    DataError
        If a cell is not a whole number, 0 or more.
    """
    cells = [cell.removesuffix(".0") for cell in table.columns[column]]  # as pandas writes whole numbers
    for row, cell in enumerate(cells):
        if not blank[row] and not (cell.isascii() and cell.isdecimal() and len(cell) <= 15):
            raise DataError(
                f"{table.where(row)}: {table.header[column]} is {cell!r}, but must be a whole number, 0 or more, in "
                "plain digits"
            )
    return np.array([0 if skip else int(cell) for cell, skip in zip(cells, blank, strict=True)], dtype=np.int64)


def check_distinct(table: TextTable, columns: Mapping[str, int | None]) -> None:
    """Raise a DataError if one column plays two roles."""
    role_of: dict[int, str] = {}
    for role, column in columns.items():
        if column is None:
            continue
        if column in role_of:
            raise DataError(
                f"{table.name}: column {table.header[column]!r} cannot be both {role_of[column]} and {role}: name "
                f"another with {option(role)}"
            )
        role_of[column] = role


def check_rows(cells: Mapping[str, Any], names: Mapping[str, str], where: Callable[[int], str]) -> np.ndarray:
    """Check the rows of a long table, and return which of them are answers; shape (row,).

    Parameters
    ----------
    cells : mapping of role to list or array of str, shape (row,)
        Those of item, annotator, label and, where there is one, gold; "" where one is missing.
    names : mapping of role to str
        The names of the columns.
    where : callable
        The place of a row, for the start of a message.

    Raises
    ------
    DataError
        If an answer, an annotator or a gold label lacks its item, or an answer its annotator.
    """
    there = {role: filled(of_role) for role, of_role in cells.items()}
    said = [role for role in ("label", "annotator", "gold") if role in cells]
    nameless = np.flatnonzero(~there["item"] & np.any([there[role] for role in said], axis=0))
    if nameless.size:
        row = int(nameless[0])
        role = next(role for role in said if there[role][row])
        raise DataError(
            f"{where(row)}: {role} {str(cells[role][row])!r} has no item: fill in the column {names['item']!r}"
        )
    unsigned = np.flatnonzero(there["label"] & ~there["annotator"])
    if unsigned.size:
        row = int(unsigned[0])
        label, item = (str(cells[role][row]) for role in ("label", "item"))
        raise DataError(
            f"{where(row)}: label {label!r} of item {item!r} has no annotator: fill in the column "
            f"{names['annotator']!r}"
        )
    return there["label"]


def filled(cells: Any) -> np.ndarray:
    """Return which cells of a list or an array are not missing; shape (row,)."""
    if isinstance(cells, list):
        return np.fromiter(map(bool, cells), dtype=bool, count=len(cells))
    return np.asarray(cells != "", dtype=bool)


def find_positions(cells: Sequence[str], names: tuple[str, ...]) -> Codes:
    """Return the position of each cell in the names, -1 for the empty cell; shape (row,)."""
    position = {name: code for code, name in enumerate(names)} | {"": -1}
    return np.fromiter(map(position.__getitem__, cells), dtype=np.int64, count=len(cells))


def make_annotations(
    answers: NamedAnswers,
    labels: tuple[str, ...],
    *,
    gold: Mapping[str, str],
    unsure: tuple[str, ...] = (),
    order_declared: bool = False,
    controls: Mapping[str, str] | None = None,
) -> AnnotationData:
    """Return the answers of a table as data with these labels.

    Raises
    ------
    DataError
        If an answer is not among the labels or is several labels in one cell, or the answers contradict each other.
    """
    given = {} if order_declared else dict(zip(answers.label, answers.annotator.tolist(), strict=True))
    several = find_several({label: answers.annotators[annotator] for label, annotator in given.items()})
    if several is not None:
        raise DataError(_explain_several(answers, *several))
    undeclared = set(answers.label) - set(labels)
    if undeclared:
        first = next(position for position, label in enumerate(answers.label) if label in undeclared)
        label, item = answers.label[first], answers.items[answers.item[first]]
        raise refuse_label(answers.table.where(int(answers.row[first])), label, labels, item=item)
    try:
        return AnnotationData(
            item=answers.item,
            annotator=answers.annotator,
            label=find_positions(answers.label, labels),
            items=answers.items,
            annotators=answers.annotators,
            labels=labels,
            unsure=unsure,
            order_declared=order_declared,
            gold=gold,
            controls=controls or {},
            item_columns=answers.item_columns,
            annotator_columns=answers.annotator_columns,
            sides=answers.sides,
            swapped=answers.swapped,
        )
    except DataError as error:
        raise DataError(f"{answers.table.name}: {error}") from None


def _explain_several(answers: NamedAnswers, label: str, separator: str) -> str:
    first = answers.label.index(label)
    annotator, item = answers.annotators[answers.annotator[first]], answers.items[answers.item[first]]
    apart = option("split", separator) if separator else ""
    if separator and annotator.count(separator) == label.count(separator):
        remedy = f"if each is the label of another annotator, use {apart}"
    else:
        remedy = f"make each a yes-or-no question with {option('multi_label', True)}{' and ' * bool(apart)}{apart}"
    return (
        f"{answers.table.where(int(answers.row[first]))}: label {label!r} of item {item!r} looks like several "
        f"labels in one cell: {remedy}; if it is one label, declare it with {option('labels')}"
    )


def collect_gold(
    table: TextTable, items: Sequence[str], gold: Sequence[str], *, what: str = "gold labels"
) -> dict[str, str]:
    """Return the true labels of items; each row of the table has one or none.

    Raises
    ------
    DataError
        If an item has two.
    """
    known: dict[str, str] = {}
    for item, label in dict.fromkeys(zip(items, gold, strict=True)):
        if label and known.setdefault(item, label) != label:
            first = next(row for row, pair in enumerate(zip(items, gold, strict=True)) if pair == (item, label))
            raise DataError(
                f"{table.where(first)}: item {item!r} has two {what}, {known[item]!r} and {label!r}: keep one"
            )
    return known


def read_known(
    path: str | os.PathLike[str],
    roles: Sequence[str],
    items: tuple[str, ...],
    labels: tuple[str, ...] | None,
    options: ReadOptions = _AS_THEY_ARE,
    spelt: Sequence[str] = (),
) -> dict[str, str]:
    """Read the true labels of some items from a file with a column for the item and one for the first role it has.

    The options declare missing labels and join spellings, where those in `spelt` are kept. Rows with items outside the
    data are left out.

    Raises
    ------
    DataError
        If no item is among the data's or one has two labels, or a label is not among `labels`, where these are given.

    Warns
    -----
    NamesWarning
        If some items are not among the data's.
    """
    table, item_column = open_beside(path, options)
    named = options.gold if options.gold in table.header else None
    by_role = (table.find(role, named if role == "gold" else None) for role in roles)
    label_column = next((column for column in by_role if column is not None), None)
    if label_column is None:
        raise DataError(
            f"{table.name} has no column of true labels: looked for "
            f"{listed(ALIASES[roles[0]] + ALIASES[roles[1]], most=20)} among {listed(table.header)}: rename the "
            f"column to {roles[0]!r}"
        )
    annotated, strange = set(items), dict[str, int]()
    names = table.columns[item_column]
    (known,) = join_spellings([table.columns[label_column]], options, spelt or labels or ())
    for row in np.flatnonzero(filled(known)).tolist():
        item, label = names[row], known[row]
        if not item:
            raise DataError(f"{table.where(row)}: label {label!r} has no item: fill it in or remove the row")
        if item not in annotated:
            strange.setdefault(item, row)
            known[row] = ""
        elif labels is not None and label not in labels:
            advice = f"; declare unused labels with {option('labels')} when reading annotations"
            raise refuse_label(table.where(row), label, labels, item=item, advice=advice)
    found = collect_gold(table, names, known, what="labels")
    if strange:
        item, row = next(iter(strange.items()))
        if not found:
            raise DataError(
                f"{table.where(row)}: no item of this file, such as {item!r}, is in the data: correct the names or "
                f"choose another column of items{nearest(item, items)}"
            )
        warn_names(
            f"{table.name}: {len(strange):,} of {counted(len(strange) + len(found), 'known label')} are left out, as "
            f"their items are not in the data; the first is {item!r} in {table.unit} {table.lines[row]}"
        )
    return found
