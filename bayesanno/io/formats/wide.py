"""Wide tables: one row is one item, and one column is one annotator.

Grouped tables are wide, with a column `count`: each row stands for that many items with the same answers. Tables of
votes have a column for each label, with its number of answers. They do not name annotators, so that all answers belong
to one, `anyone`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bayesanno.data.labelled import ANYONE
from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed
from bayesanno.io.columns import MOST_ROWS, Format, NamedAnswers, check_distinct, expand_rows, filled, whole_numbers
from bayesanno.io.exports.paths import FIELD
from bayesanno.io.formats.long import read_rows
from bayesanno.io.guesses import ROLES
from bayesanno.io.layout import FEW_ROWS, find_layout, is_distinct
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.text_table import TextTable


def read_wide(table: TextTable, options: ReadOptions, count_column: int | None = None) -> NamedAnswers:
    """Read one row as one item, or as several items by a column of counts, and one column as one annotator.

    Raises
    ------
    DataError
        If the options name columns of a long table, a column has no name, no annotator is left, an answer lacks its
        item, a count is no whole number, or an item has two gold labels.
    """
    for role in ("annotator", "label"):
        if options.roles[role] is not None:
            raise DataError(
                f"{table.name}: {role}={options.roles[role]!r} names a column of a long table, but this table is "
                "read as wide: leave the option out or use format='long'"
            )
    item_column = _find_item(table, options)
    if count_column is not None and item_column is not None:
        raise DataError(
            f"{table.name}: a row with a count stands for several items, but column {table.header[item_column]!r} "
            "names one: leave out one of the two, or, if 'count' is an annotator, name all annotators with columns=..."
        )
    gold_column = table.find("gold", options.gold)
    check_distinct(table, {"item": item_column, "gold": gold_column, "count": count_column})
    if options.columns:
        answer_columns = [table.need("annotator", name) for name in options.columns]
    else:
        parts = [at for at, name in enumerate(table.header) if name in FIELD.findall(options.item or "")]
        answer_columns = _find_answer_columns(table, (item_column, gold_column, count_column, *parts))
    if options.format == "auto" and not options.columns and (count_column is None or table.n_rows >= FEW_ROWS):
        found_item, found = find_layout(table, options, item_column, answer_columns, gold_column)
        if count_column is not None and found != answer_columns:
            raise DataError(
                f"{table.name}: beside a column 'count' every column should be an annotator, but some of "
                f"{table.quote(answer_columns)} are not: name the annotators with "
                "columns=..., or the columns with item=..., annotator=... and label=..."
            )
        item_column, answer_columns = found_item, found
    gold = _read_gold(table, gold_column, options)
    answered = np.stack([filled(table.columns[column]) for column in answer_columns], axis=1)  # (row, annotator)
    said = answered.any(axis=1)  # (row,)
    rows = np.arange(table.n_rows)  # (item row,): the table's row that each item was read from
    if item_column is not None:
        rows = np.flatnonzero(filled(table.columns[item_column]) | said | filled(gold))
    elif count_column is not None:
        rows = expand_rows(table, count_column, ~filled(table.columns[count_column]) & ~said)
    items = _name_items(table, item_column, rows.size)
    mentioned = answered[rows]  # (item row, annotator): an item and an annotator without answers are mentioned once
    mentioned[:1] = True
    mentioned[~mentioned.any(axis=1), 0] = True
    row_of: list[int] = rows.tolist()
    cells = []
    for at, number in np.argwhere(mentioned).tolist():
        row, column = row_of[at], answer_columns[number]
        name = items[at if item_column is None else row]
        cells.append((row, name, table.header[column], table.columns[column][row]))
    answers = _read_cells(table, item_column, cells, gold, options)
    used = {*answer_columns, item_column, gold_column, count_column}
    rest = [name for column, name in enumerate(table.header) if column not in used and name]
    read_as = (
        f"items {_name(table, item_column)}; annotators {table.quote(answer_columns)}"
        + ("" if gold_column is None else f"; true labels in {table.header[gold_column]!r}")
        + (f"; left out {listed(rest)}" if rest else "")
    )
    return replace(answers, read_as=read_as, categories=_common_categories(table, answer_columns))


def _read_gold(table: TextTable, column: int | None, options: ReadOptions) -> list[str]:
    """Return the known labels of rows, unless a file has them."""
    return [""] * table.n_rows if column is None or options.gold_file is not None else table.columns[column]


def _name_items(table: TextTable, column: int | None, n_items: int) -> list[str]:
    """Return the names in a column, or else 1, 2, ..."""
    return list(map(str, range(1, n_items + 1))) if column is None else table.columns[column]


def _read_cells(
    table: TextTable,
    item: int | None,
    cells: Sequence[tuple[int, str, str, str]],
    gold: Sequence[str],
    options: ReadOptions,
) -> NamedAnswers:
    """Return answers, each with its row in a table, item, annotator and label; gold is by row of the table."""
    rows, *columns = map(list, zip(*cells, strict=True)) if cells else ([], [], [], [])
    long = TextTable(
        name=table.name,
        header=("item" if item is None else table.header[item], "annotator", "label", "gold"),
        columns=(*columns, [gold[row] for row in rows]),
        lines=[table.lines[row] for row in rows],
        unit=table.unit,
    )
    return read_rows(long, {role: column for column, role in enumerate((*ROLES, "gold"))}, options)


def _name(table: TextTable, item: int | None) -> str:
    """Return the source of the items' names, in words."""
    return "by row" if item is None else f"in {table.header[item]!r}" if table.header[item] else "in the first column"


def _find_item(table: TextTable, options: ReadOptions) -> int | None:
    """Return the column that names the items, if the header or the index shows it."""
    if options.item is not None:
        return table.need("item", options.item)
    named = table.matching("item")
    if 0 in named:
        return 0
    others = [at for at in named if options.format == "auto" and is_distinct(table.columns[at])]
    if len(others) == 1:
        return others[0]
    first = table.columns[0]
    if table.index is not None or not table.header[0]:
        if len(set(first)) == len(first):
            return 0
        if table.index is not None:
            raise DataError(
                f"{table.name}: the index repeats a name, so it cannot name the items: name the column of items with "
                "item=..., or reset the index"
            )
    return None


def _common_categories(table: TextTable, columns: Sequence[int]) -> tuple[str, ...]:
    """Return the categories in order that all annotators' columns have."""
    found = {table.categories.get(table.header[column], ()) for column in columns}
    return found.pop() if len(found) == 1 else ()


def _find_answer_columns(table: TextTable, others: tuple[int | None, ...]) -> list[int]:
    """Return the columns of annotators: all named columns without another role."""
    columns = [column for column in range(len(table.header)) if column not in (*others, table.index)]
    for column in columns:
        if not table.header[column] and any(table.columns[column]):
            raise DataError(
                f"{table.name}: column {column + 1} has no name: name it 'item' if it names the items, or after its "
                "annotator"
            )
    named = [column for column in columns if table.header[column]]
    if not named:
        raise DataError(f"{table.name} has no column left for annotators among {listed(table.header)}: add columns")
    return named


def read_grouped(table: TextTable, options: ReadOptions) -> NamedAnswers:
    """Read one row as `count` items.

    Raises
    ------
    DataError
        As for `read_wide`; if there is a column of items as well, or a count is no whole number.
    """
    return read_wide(table, options, table.need("count"))


def read_votes(table: TextTable, options: ReadOptions) -> NamedAnswers:
    """Read one row as one item, and each number as the number of answers with the label of its column.

    Raises
    ------
    DataError
        If a number of answers is no whole number of 0 or more, or as for `read_wide`.
    """
    item_column, gold_column = _find_item(table, options), table.find("gold", options.gold)
    labels = [table.need("label", name) for name in options.columns]
    labels = labels or _find_answer_columns(table, (item_column, gold_column))
    if item_column is None and is_distinct(table.columns[labels[0]]) and not options.columns:
        item_column, labels = labels[0], labels[1:]
    blank = np.zeros(table.n_rows, dtype=bool)
    votes = np.stack([whole_numbers(table, column, blank) for column in labels], axis=1)  # (row, label)
    if votes.sum() > MOST_ROWS:
        raise DataError(f"{table.name}: the counts add up to {votes.sum():,} answers, and the limit is {MOST_ROWS:,}")
    votes = np.column_stack([votes, ~votes.any(axis=1)])  # an item without answers is kept
    items = _name_items(table, item_column, table.n_rows)
    names = [table.header[column] for column in labels]
    cells = [
        (row, items[row], ANYONE, [*names, ""][at])
        for row, at in np.argwhere(votes).tolist()
        for _ in range(votes[row, at])
    ]
    answers = _read_cells(table, item_column, cells, _read_gold(table, gold_column, options), options)
    read_as = f"items {_name(table, item_column)}; numbers of answers {listed(names)}, by nobody who is named"
    return replace(answers, read_as=read_as, categories=tuple(names))


GROUPED = Format("grouped", lambda table, _: bool(table.matching("count")), read_grouped)
VOTES = Format("votes", lambda *_: False, read_votes)
WIDE = Format("wide", lambda *_: True, read_wide)
