"""Columns of items, of names or of numbers, from a table with a row for each item."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bayesanno._core.errors import DataError
from bayesanno._core.wording import counted, nearest, option
from bayesanno.data.item_columns import ItemColumn
from bayesanno.io.columns import NamedAnswers
from bayesanno.io.names import warn_names
from bayesanno.io.pairs import Comparisons
from bayesanno.io.spelling import MISSING_CODES
from bayesanno.io.text_table import TextTable


def add_item_columns(answers: NamedAnswers, table: TextTable, comparisons: Comparisons | None) -> NamedAnswers:
    """Return answers with the columns of a table of items, and with its items that have no answers.

    The first column of the table names the items. If an item is a question with a pair of systems, its row may have
    either name, and no item is added, since its pair would be unknown.

    Raises
    ------
    DataError
        If a row has no item, two rows of an item differ, no item has answers, a column of numbers has a code for a
        missing one, or there is no column beside the item.

    Warns
    -----
    NamesWarning
        If items without comparisons are left out.
    """
    row_of = _find_rows(table)
    asked_of = comparisons.asked_of if comparisons is not None else {}
    rows = [row_of.get(item, row_of.get(asked_of.get(item, ""), -1)) for item in answers.items]
    if max(rows, default=-1) < 0:
        item = next(iter(row_of))
        raise DataError(
            f"{table.name}: no {table.header[0]}, such as {item!r}, is an item of the data: correct the names, or "
            f"rename the column of items to 'item'{nearest(item, answers.items)}"
        )
    known = {*answers.items, *asked_of.values()}
    new = [item for item in row_of if item not in known]
    if comparisons is not None and new:
        warn_names(f"{table.name}: left out {counted(len(new), 'item')} without comparisons, such as {new[0]!r}")
        new = []
    rows += [row_of[item] for item in new]
    found = {}
    for at, name in enumerate(table.header):
        if at == 0 or not name:
            continue
        if name in answers.item_columns:
            raise DataError(
                f"{table.name}: column {name!r} is also one of {option('pairs')}: rename it or leave it out"
            )
        found[name] = _column_of(table, at, rows)
    if not found:
        raise DataError(f"{table.name} has no column beside {table.header[0]!r}: add one that describes the items")
    said = f"columns of items {', '.join(map(repr, found))}; {len(new):,} items added, {rows.count(-1):,} without a row"
    return replace(
        answers,
        items=(*answers.items, *new),
        item_columns={**answers.item_columns, **found},
        read_as="; ".join(filter(None, (answers.read_as, said))),
    )


def _find_rows(table: TextTable) -> dict[str, int]:
    """Return the first row of each item."""
    row_of: dict[str, int] = {}
    for row, item in enumerate(table.columns[0]):
        if not item:
            raise DataError(f"{table.where(row)}: this row has no item: fill it in, or leave the row out")
        known = row_of.setdefault(item, row)
        for name, cells in zip(table.header, table.columns, strict=True):
            if cells[known] != cells[row]:
                raise DataError(
                    f"{table.where(row)}: item {item!r} has two values of {name!r}, {cells[known]!r} and "
                    f"{cells[row]!r}: keep one"
                )
    return row_of


def _column_of(table: TextTable, column: int, rows: Sequence[int]) -> ItemColumn:
    """Return a column of numbers if all non-empty cells are numbers, else of names."""
    cells = table.columns[column]
    numbers = {cell: _as_number(cell) for cell in {*cells} - {""}}
    odd = [cell for cell, number in numbers.items() if number is None]
    if not odd:
        return ItemColumn.of(np.array([numbers.get(cells[row], math.nan) if row >= 0 else math.nan for row in rows]))
    if len(odd) < len(numbers) and set(odd) <= {*MISSING_CODES}:
        row = next(row for row, cell in enumerate(cells) if cell in odd)
        what = f"{table.header[column]} is {cells[row]!r} in a column of numbers"
        raise DataError(f"{table.where(row)}: {what}: empty the cell if the number is missing")
    return ItemColumn.of([cells[row] if row >= 0 else "" for row in rows])


def _as_number(cell: str) -> float | None:
    """Return the finite number that a cell is."""
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in cell else None
