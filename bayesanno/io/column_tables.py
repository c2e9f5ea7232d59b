"""Columns of items or annotators, of names or of numbers, from a table with a row for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bayesanno._core.errors import DataError
from bayesanno._core.wording import counted, nearest, option
from bayesanno.data.columns import Column
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
    row_of = _find_rows(table, "item")
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
    found = _read_columns(table, rows, "item")
    twice = next((name for name in found if name in answers.item_columns), None)
    if twice is not None:
        raise DataError(f"{table.name}: column {twice!r} is also one of {option('pairs')}: rename it or leave it out")
    said = f"columns of items {', '.join(map(repr, found))}; {len(new):,} items added, {rows.count(-1):,} without a row"
    return replace(
        answers,
        items=(*answers.items, *new),
        item_columns={**answers.item_columns, **found},
        read_as="; ".join(filter(None, (answers.read_as, said))),
    )


def add_annotator_columns(answers: NamedAnswers, table: TextTable) -> NamedAnswers:
    """Return answers with the columns of a table of annotators, whose first column names them.

    Raises
    ------
    DataError
        If a row has no annotator, two rows of one differ, none has answers, a column of numbers has a code for a
        missing one, or there is no column beside the annotator.
    """
    row_of = _find_rows(table, "annotator")
    rows = [row_of.get(annotator, -1) for annotator in answers.annotators]
    if max(rows) < 0:
        one = next(iter(row_of))
        raise DataError(
            f"{table.name}: no {table.header[0]}, such as {one!r}, is an annotator of the data: correct the names, or "
            f"rename the column of annotators to 'annotator'{nearest(one, answers.annotators)}"
        )
    found, others = _read_columns(table, rows, "annotator"), len(row_of.keys() - {*answers.annotators})
    said = f"columns of annotators {', '.join(map(repr, found))}; left out {counted(others, 'annotator')} without "
    said += f"answers, {rows.count(-1):,} without a row"
    read_as = "; ".join(filter(None, (answers.read_as, said)))
    return replace(answers, annotator_columns=found, read_as=read_as)


def _read_columns(table: TextTable, rows: Sequence[int], of: str) -> dict[str, Column]:
    """Return all columns beside the first one, for rows by position; -1 is no row."""
    found = {name: _column_of(table, at, rows) for at, name in enumerate(table.header) if at and name}
    if not found:
        raise DataError(f"{table.name} has no column beside {table.header[0]!r}: add one that describes the {of}s")
    return found


def _find_rows(table: TextTable, of: str) -> dict[str, int]:
    """Return the first row of each item or annotator."""
    row_of: dict[str, int] = {}
    for row, one in enumerate(table.columns[0]):
        if not one:
            raise DataError(f"{table.where(row)}: this row has no {of}: fill it in, or leave the row out")
        known = row_of.setdefault(one, row)
        for name, cells in zip(table.header, table.columns, strict=True):
            if cells[known] != cells[row]:
                raise DataError(
                    f"{table.where(row)}: {of} {one!r} has two values of {name!r}, {cells[known]!r} and "
                    f"{cells[row]!r}: keep one"
                )
    return row_of


def _column_of(table: TextTable, column: int, rows: Sequence[int]) -> Column:
    """Return a column of numbers if all non-empty cells are numbers, else of names."""
    cells = table.columns[column]
    numbers = {cell: _as_number(cell) for cell in {*cells} - {""}}
    odd = [cell for cell, number in numbers.items() if number is None]
    if not odd:
        return Column.of(np.array([numbers.get(cells[row], math.nan) if row >= 0 else math.nan for row in rows]))
    if len(odd) < len(numbers) and set(odd) <= {*MISSING_CODES}:
        row = next(row for row, cell in enumerate(cells) if cell in odd)
        what = f"{table.header[column]} is {cells[row]!r} in a column of numbers"
        raise DataError(f"{table.where(row)}: {what}: empty the cell if the number is missing")
    return Column.of([cells[row] if row >= 0 else "" for row in rows])


def _as_number(cell: str) -> float | None:
    """Return the finite number that a cell is."""
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in cell else None
