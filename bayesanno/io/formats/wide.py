"""Wide tables: one row is one item, and one column is one annotator.

Grouped tables are wide, with a column `count`: a row stands for so many items, which were answered in the same way.
"""

from __future__ import annotations

import numpy as np

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed
from bayesanno.io.columns import NamedAnswers, check_distinct, expand_rows, filled
from bayesanno.io.formats.format import Format
from bayesanno.io.formats.long import ROLES, read_rows
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.text_table import TextTable

# From so many rows on, a table whose columns look nothing like answers is not taken for a wide one unasked.
_ROWS_TO_JUDGE = 10


def looks_wide(table: TextTable, options: ReadOptions) -> bool:
    """Return that a table is wide, as no other format is left.

    Raises
    ------
    DataError
        If it is more likely a long one with unknown names of columns.
    """
    if options.item is not None or 0 in table.matching("item"):
        return True
    looked_for = (
        "a long table has columns for item, annotator, label (name them with item=..., annotator=..., label=...), "
        "a wide one has a column per annotator (say format='wide')"
    )
    gold = table.find("gold", options.gold)
    answers = [column for column in range(len(table.header)) if column != gold]
    if len(answers) < 2:
        raise DataError(
            f"{table.name}: no annotations can be found in the columns {listed(table.header)}: {looked_for}"
        )
    used = [set(filter(None, table.columns[column])) for column in answers]
    if len(used[0]) >= _ROWS_TO_JUDGE and len(used[0]) == len(list(filter(None, table.columns[answers[0]]))):
        raise DataError(
            f"{table.name}: no value of column {table.header[answers[0]]!r} occurs twice in it: if it names the "
            f"items, say item={table.header[answers[0]]!r}; if it is an annotator, say format='wide'"
        )
    several = sum(map(bool, used)) > 1
    if several and table.n_rows >= _ROWS_TO_JUDGE and sum(map(len, used)) == len(set().union(*used)):
        raise DataError(
            f"{table.name}: no two of the columns {listed(table.header)} have a value in common, so they are no "
            f"annotators of the same items: {looked_for}"
        )
    return True


def read_wide(table: TextTable, options: ReadOptions, count_column: int | None = None) -> NamedAnswers:
    """Read one row as one item, or as so many items as a column of counts says, and one column as one annotator.

    Raises
    ------
    DataError
        If the options name columns of a long table, a column has no name, no annotator is left, an answer lacks its
        item, a count is no whole number, or an item has two gold labels.
    """
    for role in ("annotator", "label"):
        if options.roles[role] is not None:
            raise DataError(
                f"{table.name}: {role}={options.roles[role]!r} names a column of a long table, but this one is read "
                "as wide: drop the option or say format='long'"
            )
    first_is_item = options.item is None and 0 in table.matching("item")
    item_column = 0 if first_is_item else None if options.item is None else table.need("item", options.item)
    if count_column is not None and item_column is not None:
        raise DataError(
            f"{table.name}: a row with a count stands for many items, but column {table.header[item_column]!r} names "
            "one: drop one of the two, or say format='wide' if 'count' is an annotator"
        )
    gold_column = table.find("gold", options.gold)
    check_distinct(table, {"item": item_column, "gold": gold_column, "count": count_column})
    answer_columns = _find_answer_columns(table, (item_column, gold_column, count_column))
    gold = [""] * table.n_rows if gold_column is None or options.gold_file is not None else table.columns[gold_column]
    answered = np.stack([filled(table.columns[column]) for column in answer_columns], axis=1)  # (row, annotator)
    said = answered.any(axis=1)  # (row,)
    rows = np.arange(table.n_rows)  # (item row,): the table's row that each item was read from
    if item_column is not None:
        item = table.columns[item_column]
        nameless = np.flatnonzero(~filled(item) & (said | filled(gold)))
        if nameless.size:
            raise DataError(
                f"{table.where(int(nameless[0]))}: answers without an item: fill in the column "
                f"{table.header[item_column]!r}"
            )
        rows = np.flatnonzero(filled(item))
    elif count_column is not None:
        rows = expand_rows(table, count_column, ~filled(table.columns[count_column]) & ~said)
    kept: list[int] = rows.tolist()
    names = map(str, range(1, rows.size + 1))
    if item_column is not None:
        names = map(table.columns[item_column].__getitem__, kept)
    mentioned = answered[rows]  # (item row, annotator): an item and an annotator without answers are mentioned once
    mentioned[:1] = True
    mentioned[~mentioned.any(axis=1), 0] = True
    cells = [(at, answer_columns[number]) for at, number in np.argwhere(mentioned).tolist()]
    item_names = list(names)
    long = TextTable(
        name=table.name,
        header=(*ROLES, "gold"),
        columns=(
            [item_names[at] for at, _ in cells],
            [table.header[column] for _, column in cells],
            [table.columns[column][kept[at]] for at, column in cells],
            [gold[kept[at]] for at, _ in cells],
        ),
        lines=[table.lines[kept[at]] for at, _ in cells],
        unit=table.unit,
    )
    return read_rows(long, {role: column for column, role in enumerate(long.header)})


def _find_answer_columns(table: TextTable, others: tuple[int | None, ...]) -> list[int]:
    """Return the columns of annotators: those that have a name, and are none of the others."""
    columns = [column for column in range(len(table.header)) if column not in others]
    for column in columns:
        if not table.header[column] and any(table.columns[column]):
            raise DataError(
                f"{table.name}: column {column + 1} has no name: name it 'item' if it names the items, or name its "
                "annotator"
            )
    named = [column for column in columns if table.header[column]]
    if not named:
        raise DataError(f"{table.name}: no column is left for an annotator among {listed(table.header)}")
    return named


def looks_grouped(table: TextTable, _: ReadOptions) -> bool:
    """Return whether there is a column of counts."""
    return bool(table.matching("count"))


def read_grouped(table: TextTable, options: ReadOptions) -> NamedAnswers:
    """Read one row as `count` items.

    Raises
    ------
    DataError
        As for `read_wide`; if there is a column of items as well, or a count is no whole number.
    """
    return read_wide(table, options, table.need("count"))


GROUPED = Format("grouped", looks_grouped, read_grouped)
WIDE = Format("wide", looks_wide, read_wide)
