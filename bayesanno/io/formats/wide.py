"""Wide tables: one row is one item, and one column is one annotator.

In a table of patterns a column counts the items with the answers of a row. Tables of votes have a column for each
label, with its number of answers. They do not name annotators, so that all answers belong to one, `anyone`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bayesanno._core.errors import DataError
from bayesanno._core.wording import listed, option
from bayesanno.data.labelled import ANYONE
from bayesanno.io.columns import MOST_ROWS, NamedAnswers, check_distinct, expand_rows, filled, whole_numbers
from bayesanno.io.exports.paths import FIELD
from bayesanno.io.formats.long import ENOUGH, read_rows
from bayesanno.io.layout import (
    ROLES,
    choose_columns,
    find_annotators,
    find_beside,
    name_columns,
    others_than_annotators,
    refuse_totals,
)
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.text_table import CONTENTS, TextTable

_ROWS = 3  # of different values that may name items


def read_wide(table: TextTable, options: ReadOptions) -> NamedAnswers:
    """Read one row as one item, or as several items by a column of counts, and one column as one annotator.

    Raises
    ------
    DataError
        If the options name columns of a long table, names do not say which columns are annotators, an answer lacks its
        item, a count is no whole number, or an item has two gold labels.
    """
    for role in ("annotator", "label"):
        if options.roles[role] is not None:
            raise DataError(
                f"{table.name}: {option(role, options.roles[role])} names a column of a long table, but this table is "
                f"read as wide: leave the option out or use {option('format', 'long')}"
            )
    count_column, item_column = _find_count(table, options), _find_item(table, options)
    if options.count is not None and options.item is None:
        item_column = None
    if count_column is not None and item_column is not None:
        number, named = table.header[count_column], table.header[item_column]
        annotators = name_columns(table, (count_column, *others_than_annotators(table, options)))
        raise DataError(
            f"{table.name}: column {named!r} names one item, but a row with a number {number!r} stands for several: "
            f"to leave out the number, use {option('format', 'wide')} and {annotators}; to leave out the names, use "
            f"{option('count', number)}"
        )
    gold_column = table.find("gold", options.gold)
    if options.gold is None and gold_column is not None and table.header[gold_column] in options.columns:
        gold_column = None
    check_distinct(table, {"item": item_column, "gold": gold_column, "count": count_column})
    others = (gold_column, count_column, table.index, *_find_parts(table, options))
    answer_columns = find_annotators(table, options, item_column, others)
    twin = item_column if item_column in answer_columns else None
    check_distinct(table, {"annotator": twin, "item": item_column})
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
    for at, who in np.argwhere(mentioned).tolist():
        row, column = row_of[at], answer_columns[who]
        name = items[at if item_column is None else row]
        cells.append((row, name, table.header[column], table.columns[column][row]))
    answers = _read_cells(table, item_column, cells, gold, options)
    used = {*answer_columns, item_column, *others}
    rest = [name for column, name in enumerate(table.header) if column not in used and name]
    _doubt(table, options, answers, answer_columns, rest, count_column)
    read_as = (
        f"items {_name(table, item_column)}; annotators {table.quote(answer_columns)}"
        + ("" if gold_column is None else f"; true labels in {table.header[gold_column]!r}")
        + ("" if count_column is None else f"; each row counts {table.header[count_column]!r} times")
        + table.name_rest(used)
    )
    return replace(answers, read_as=read_as, categories=_common_categories(table, answer_columns))


def _doubt(
    table: TextTable,
    options: ReadOptions,
    answers: NamedAnswers,
    columns: Sequence[int],
    rest: Sequence[str],
    count: int | None,
) -> None:
    """Raise a DataError if columns that were found by their names may be no annotators, or no number of items."""
    annotators = name_columns(table, {*range(len(table.header))}.difference(columns))
    if count is not None and options.count is None:
        number = table.header[count]
        in_turn = table.columns[count] == list(map(str, range(1, table.n_rows + 1)))
        if in_turn or rest:
            why = "numbers the rows" if in_turn else f"stands beside {listed(rest)}"
            raise DataError(
                f"{table.name}: the column {number!r} {why}, so it may not say how many items have the answers of a "
                f"row: if it does, use {option('count', number)}; if not, use {option('format', 'wide')} and "
                f"{annotators}"
            )
    n = len(answers.label)
    if n >= ENOUGH and 2 * len(set(answers.label)) > n and not options.columns:
        raise DataError(
            f"{table.name}: the columns {table.quote(columns)} may not hold labels, since most answers in them occur "
            f"once: if they do, use {annotators}"
        )


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


def _find_parts(table: TextTable, options: ReadOptions) -> list[int]:
    """Return the columns that a template of items joins."""
    return [at for at, name in enumerate(table.header) if name in FIELD.findall(options.item or "")]


def _find_count(table: TextTable, options: ReadOptions) -> int | None:
    """Return the column that counts the items of each row, if there is one."""
    if options.count is not None:
        found, is_long = table.need("count", options.count), all(map(table.matching, ROLES[1:]))
        if is_long and not options.columns:
            raise DataError(
                f"{table.name}: {option('count')} is for wide tables: repeat each row {options.count!r} times"
            )
        return found
    named = () if options.format == "wide" else table.matching("count")
    return next((at for at in named if table.header[at] not in options.columns), None)


def _find_item(table: TextTable, options: ReadOptions) -> int | None:
    """Return the column that names the items, if a name or the index shows it.

    A text that repeats does not name the items, which are then numbered; an id that repeats is refused.
    """
    if options.item is not None:
        return table.need("item", options.item)
    found = table.find("item")
    loose = [at for at in table.matching_loosely() if table.header[at] not in options.columns]
    for texts in (False, True):
        some = [at for at in loose if (table.header[at].casefold() in CONTENTS) == texts]
        if found is None and (len(some) == 1 or (some and not texts)):
            found = some[0] if len(some) == 1 else table.find_item()
    if found is None and (table.index is not None or not table.header[0]):
        found = 0
    if found is None or table.header[found].casefold() == "item":
        return found
    name, cells = table.header[found], table.columns[found]
    there = [cell for cell in cells if cell]
    if len(set(there)) == len(there):
        return found
    if name.casefold() in CONTENTS:
        return None
    what, how = f"column {name!r}", f"use {option('item', name)}"
    if not name or found == table.index:
        what, how = "index" if found == table.index else "first column", "leave it out"
    raise DataError(
        f"{table.name}: the {what} repeats a name, so it may not name the items: name the column of items with "
        f"{option('item')}, or {how}"
    )


def _common_categories(table: TextTable, columns: Sequence[int]) -> tuple[str, ...]:
    """Return the categories in order that all annotators' columns have."""
    found = {table.categories.get(table.header[column], ()) for column in columns}
    return found.pop() if len(found) == 1 else ()


def read_votes(table: TextTable, options: ReadOptions) -> NamedAnswers:
    """Read one row as one item, and each number as the number of answers with the label of its column.

    Raises
    ------
    DataError
        If a number of answers is no whole number of 0 or more, or as for `read_wide`.
    """
    item_column, gold_column = _find_item(table, options), table.find("gold", options.gold)
    others = (item_column, gold_column, table.index, *_find_parts(table, options), *find_beside(table))
    labels = choose_columns(table, options.columns or ("1:",), others)
    if not options.columns:
        _doubt_labels(table, labels, item_column)
    votes = np.stack([whole_numbers(table, at, ~filled(table.columns[at])) for at in labels], axis=1)  # (row, label)
    if not options.columns:
        refuse_totals(table, labels, votes)
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
    read_as += table.name_rest({*labels, item_column, gold_column, *_find_parts(table, options)})
    return replace(answers, read_as=read_as, categories=tuple(names))


def _doubt_labels(table: TextTable, labels: Sequence[int], item: int | None) -> None:
    """Raise a DataError if a column of votes may be no label: by its name, or as no number in the first one repeats."""
    roles = {*table.matching("annotator"), *table.matching("label"), *table.matching_loosely()}
    first = labels[0]
    names_items = item is None and table.n_rows >= _ROWS and len(set(table.columns[first])) == table.n_rows
    odd = next((at for at in labels if at in roles), first if names_items else None)
    if odd is None or len(labels) == 1:
        return
    rest = name_columns(table, {*range(len(table.header))}.difference(labels) | {odd})
    every = name_columns(table, {*range(len(table.header))}.difference(labels))
    names = f"{option('item', table.header[odd])} and {rest}" if names_items or item is None else rest
    raise DataError(
        f"{table.name}: the column {table.header[odd]!r} may be no label: if so, use {names}; if it is one, use {every}"
    )
