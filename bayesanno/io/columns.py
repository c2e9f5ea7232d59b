"""From a table of text to answers: which column means what, and what each row says.

The invariant: whatever shape the table has, every cell that is an answer becomes one annotation of a named item by a
named annotator, with the row it came from; no answer is dropped, merged or renamed in silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed, nearest
from bayesanno.io.text_table import ALIASES, TextTable, open_table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from bayesanno.data.labelled import Codes

SNOW_COLUMNS = {"item": "orig_id", "annotator": "!amt_worker_ids", "label": "response"}

_LONG_ROLES = ("item", "annotator", "label")
_MOST_ITEMS = 10_000_000
# From so many rows on, a table whose columns look nothing like answers is not taken for a wide one unasked.
_ROWS_TO_JUDGE = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class NamedAnswers:
    """What the rows say: every answer by item, annotator and label name, and the row it came from."""

    item: Codes  # (annotation,)
    annotator: Codes  # (annotation,)
    label: list[str]  # (annotation,)
    row: Codes  # (annotation,)
    items: tuple[str, ...]
    annotators: tuple[str, ...]
    gold: dict[str, str]


def guess_format(table: TextTable, options: Mapping[str, str | None]) -> str:
    """Return the shape that the column names fit: snow, long, grouped or wide.

    Raises
    ------
    DataError
        If they fit a long table in part, or the only reading left is an implausible wide one.
    """
    names = {name.casefold() for name in table.header}
    if not any(options.values()) and names.issuperset(SNOW_COLUMNS.values()):
        return "snow"
    found = {role: options[role] is not None or bool(table.matching(role)) for role in _LONG_ROLES}
    if all(found.values()):
        return "long"
    if found["annotator"] or found["label"]:
        lacking = [role for role in _LONG_ROLES if not found[role]]
        raise DataError(
            f"{table.name}: it looks like a long table, but has no column for the {' and the '.join(lacking)} among "
            f"{listed(table.header)}: name it with {lacking[0]}=... (--{lacking[0]}), or say format='wide' (--format "
            "wide) if each column is an annotator"
        )
    if table.matching("count"):
        return "grouped"
    _check_guess_of_wide(table, options)
    return "wide"


def _check_guess_of_wide(table: TextTable, options: Mapping[str, str | None]) -> None:
    """Refuse to call a table wide that is more likely a long one with unknown column names."""
    if options["item"] is not None or 0 in table.matching("item"):
        return
    looked_for = (
        f"a long table has columns for {', '.join(_LONG_ROLES)} (name them with item=..., annotator=..., label=...), "
        "a wide one has a column per annotator (say format='wide')"
    )
    gold = table.find("gold", options["gold"])
    answers = [column for column in range(len(table.header)) if column != gold]
    if len(answers) < 2:
        raise DataError(
            f"{table.name}: no annotations can be found in the columns {listed(table.header)}: {looked_for}"
        )
    used = [set(filter(None, table.columns[column])) for column in answers]
    if len(used[0]) >= _ROWS_TO_JUDGE and len(used[0]) == len(list(filter(None, table.columns[answers[0]]))):
        raise DataError(
            f"{table.name}: no value of column {table.header[answers[0]]!r} occurs twice in it: if it names the "
            f"items, say item={table.header[answers[0]]!r} (--item); if it is an annotator, say format='wide' "
            "(--format wide)"
        )
    several = sum(map(bool, used)) > 1
    if several and table.n_rows >= _ROWS_TO_JUDGE and sum(map(len, used)) == len(set().union(*used)):
        raise DataError(
            f"{table.name}: no two of the columns {listed(table.header)} have a value in common, so they are no "
            f"annotators of the same items: {looked_for}"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class LongRows:
    """The item and the annotator of each row of a long table, which its label columns share."""

    table: TextTable
    columns: Mapping[str, int]  # of item and annotator
    item: Codes  # (row,), -1 where the cell is empty
    annotator: Codes  # (row,), likewise
    items: tuple[str, ...]
    annotators: tuple[str, ...]


def read_rows(table: TextTable, options: Mapping[str, str | None], *, defaults: Mapping[str, str]) -> LongRows:
    """Read the columns of items and of annotators of a long table.

    Raises
    ------
    DataError
        If one of them is not there.
    """
    columns = {role: table.need(role, options[role] or defaults.get(role)) for role in ("item", "annotator")}
    item, annotator = (table.columns[column] for column in columns.values())
    items, annotators = (tuple(dict.fromkeys(filter(None, cells))) for cells in (item, annotator))
    return LongRows(
        table=table,
        columns=columns,
        item=_positions(item, items),
        annotator=_positions(annotator, annotators),
        items=items,
        annotators=annotators,
    )


def read_label_column(rows: LongRows, label_column: int, gold_column: int | None) -> NamedAnswers:
    """Read one row as one annotation, or with a missing answer as the mention of an item and an annotator.

    Raises
    ------
    DataError
        If a column plays two roles, an answer lacks its item or annotator, or an item has two gold labels.
    """
    table = rows.table
    columns = {**rows.columns, "label": label_column}
    check_distinct(table, {**columns, "gold": gold_column})
    item, annotator, label = (table.columns[columns[role]] for role in _LONG_ROLES)
    gold = [""] * table.n_rows if gold_column is None else table.columns[gold_column]
    has_item, has_annotator, has_label = rows.item >= 0, rows.annotator >= 0, filled(label)  # (row,) each
    nameless = np.flatnonzero(~has_item & (has_annotator | has_label | filled(gold)))
    if nameless.size:
        row = int(nameless[0])
        role, cell = next(
            (role, cells[row])
            for role, cells in (("label", label), ("annotator", annotator), ("gold", gold))
            if cells[row]
        )
        raise DataError(
            f"{table.where(row)}: {role} {cell!r} has no item: fill in the column {table.header[columns['item']]!r}"
        )
    unsigned = np.flatnonzero(has_label & ~has_annotator)
    if unsigned.size:
        row = int(unsigned[0])
        raise DataError(
            f"{table.where(row)}: label {label[row]!r} of item {item[row]!r} has no annotator: fill in the column "
            f"{table.header[columns['annotator']]!r}"
        )
    answered = np.flatnonzero(has_label)  # (annotation,)
    return NamedAnswers(
        item=rows.item[answered],
        annotator=rows.annotator[answered],
        label=list(filter(None, label)),
        row=answered,
        items=rows.items,
        annotators=rows.annotators,
        gold={} if gold_column is None else _collect_gold(table, item, gold),
    )


def read_long(
    table: TextTable, options: Mapping[str, str | None], *, defaults: Mapping[str, str], with_gold: bool
) -> NamedAnswers:
    """Read a long table with one column of labels.

    Raises
    ------
    DataError
        If a column is not there, or as for `read_label_column`.
    """
    rows = read_rows(table, options, defaults=defaults)
    label_column = table.need("label", options["label"] or defaults.get("label"))
    return read_label_column(rows, label_column, table.find("gold", options["gold"]) if with_gold else None)


def read_wide(table: TextTable, options: Mapping[str, str | None], *, grouped: bool, with_gold: bool) -> NamedAnswers:
    """Read one row as one item, or if grouped as `count` items, and one column as one annotator.

    Raises
    ------
    DataError
        If the options name columns of a long table, a column has no name, no annotator is left, an answer lacks its
        item, a count is no whole number, or an item has two gold labels.
    """
    for role in ("annotator", "label"):
        if options[role] is not None:
            raise DataError(
                f"{table.name}: {role}={options[role]!r} names a column of a long table, but this one is read as wide: "
                "drop the option or say format='long' (--format long)"
            )
    first_is_item = options["item"] is None and 0 in table.matching("item")
    item_column = 0 if first_is_item else None if options["item"] is None else table.need("item", options["item"])
    count_column = table.need("count") if grouped else None
    if grouped and item_column is not None:
        raise DataError(
            f"{table.name}: a row with a count stands for many items, but column {table.header[item_column]!r} names "
            "one: drop one of the two, or say format='wide' (--format wide) if 'count' is an annotator"
        )
    gold_column = table.find("gold", options["gold"])
    check_distinct(table, {"item": item_column, "gold": gold_column, "count": count_column})
    answer_columns = [
        column for column in range(len(table.header)) if column not in (item_column, gold_column, count_column)
    ]
    for column in answer_columns:
        if not table.header[column] and any(table.columns[column]):
            raise DataError(
                f"{table.name}: column {column + 1} has no name: name it 'item' if it names the items, or name its "
                "annotator"
            )
    answer_columns = [column for column in answer_columns if table.header[column]]
    if not answer_columns:
        raise DataError(f"{table.name}: no column is left for an annotator among {listed(table.header)}")
    cells = np.array([table.columns[column] for column in answer_columns], dtype=object).T  # (row, annotator)
    gold = [""] * table.n_rows if gold_column is None or not with_gold else table.columns[gold_column]
    rows = np.arange(table.n_rows)  # (item row,): the table's row that each item was read from
    if item_column is not None:
        item = table.columns[item_column]
        nameless = np.flatnonzero(~filled(item) & ((cells != "").any(axis=1) | filled(gold)))
        if nameless.size:
            raise DataError(
                f"{table.where(int(nameless[0]))}: answers without an item: fill in the column "
                f"{table.header[item_column]!r}"
            )
        rows = np.flatnonzero(filled(item))
        names = [item[row] for row in rows]
    else:
        if count_column is not None:
            blank = ~filled(table.columns[count_column]) & ~(cells != "").any(axis=1)
            rows = expand_rows(table, count_column, blank)
        names = [str(number) for number in range(1, rows.size + 1)]
    items = tuple(dict.fromkeys(names))
    cells = cells[rows]  # (item row, annotator)
    answered, answered_by = np.nonzero(cells != "")  # (annotation,) each
    return NamedAnswers(
        item=_positions(names, items)[answered],
        annotator=answered_by.astype(np.int64),
        label=cells[answered, answered_by].tolist(),
        row=rows[answered],
        items=items,
        annotators=tuple(table.header[column] for column in answer_columns),
        gold=_collect_gold(table, names, [gold[row] for row in rows], rows),
    )


def expand_rows(table: TextTable, column: int, blank: np.ndarray) -> Codes:
    """Return each row's number as often as its count says; shape (item,).

    Raises
    ------
    DataError
        If a count is no whole number of 0 or more, or they add up to more items than could be meant.
    """
    counts = whole_numbers(table, column, blank)
    if int(counts.sum()) > _MOST_ITEMS:
        raise DataError(
            f"{table.name}: column {table.header[column]!r} adds up to {counts.sum()} items, more than {_MOST_ITEMS}: "
            "divide the counts or leave rows out"
        )
    return np.repeat(np.arange(table.n_rows), counts)


def whole_numbers(table: TextTable, column: int, blank: np.ndarray) -> Codes:
    """Return the counts of a column, 0 in the rows that are blank; shape (row,).

    Raises
    ------
    DataError
        If a cell is not a whole number, 0 or more.
    """
    cells = table.columns[column]
    for row, cell in enumerate(cells):
        if not blank[row] and not (cell.isascii() and cell.isdecimal() and len(cell) <= 15):
            raise DataError(
                f"{table.where(row)}: {table.header[column]} is {cell!r}: it must be a whole number, 0 or more, in "
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
                f"another with {role}=... (--{role})"
            )
        role_of[column] = role


def filled(cells: list[str]) -> np.ndarray:
    """Return which cells are not missing; shape (row,)."""
    return np.fromiter(map(bool, cells), dtype=bool, count=len(cells))  # (row,)


def _positions(cells: Sequence[str], names: tuple[str, ...]) -> Codes:
    """Return where each cell stands in the names, -1 for the empty cell; shape (row,)."""
    position = {name: code for code, name in enumerate(names)} | {"": -1}
    return np.fromiter(map(position.__getitem__, cells), dtype=np.int64, count=len(cells))


def encode_labels(table: TextTable, answers: NamedAnswers, labels: tuple[str, ...]) -> Codes:
    """Return where the label of each answer stands among the labels; shape (annotation,).

    Raises
    ------
    DataError
        If one is not among them.
    """
    undeclared = set(answers.label) - set(labels)
    if undeclared:
        first = next(position for position, label in enumerate(answers.label) if label in undeclared)
        label = answers.label[first]
        raise DataError(
            f"{table.where(int(answers.row[first]))}: label {label!r} of item {answers.items[answers.item[first]]!r} "
            f"is not among those declared, {listed(labels)}{nearest(label, labels)}"
        )
    return _positions(answers.label, labels)


def _collect_gold(
    table: TextTable, items: Sequence[str], gold: Sequence[str], rows: np.ndarray | None = None
) -> dict[str, str]:
    known: dict[str, str] = {}
    for item, label in dict.fromkeys(zip(items, gold, strict=True)):
        if label and known.setdefault(item, label) != label:
            first = next(row for row, pair in enumerate(zip(items, gold, strict=True)) if pair == (item, label))
            place = table.where(first if rows is None else int(rows[first]))
            raise DataError(f"{place}: item {item!r} has two gold labels, {known[item]!r} and {label!r}: keep one")
    return known


def read_known(
    path: str | os.PathLike[str], roles: Sequence[str], items: tuple[str, ...], labels: tuple[str, ...] | None
) -> dict[str, str]:
    """Read the true labels of some items from a file with a column for the item and one for the first role it has.

    Raises
    ------
    DataError
        If an item is unknown or has two labels, or a label is not among `labels`, where these are given.
    """
    table = open_table(path)
    item_column = table.need("item")
    by_role = (table.find(role) for role in roles)
    label_column = next((column for column in by_role if column is not None), None)
    if label_column is None:
        raise DataError(
            f"{table.name}: no column for the true label: looked for "
            f"{listed(ALIASES[roles[0]] + ALIASES[roles[1]], most=20)} among {listed(table.header)}: rename the "
            f"column to {roles[0]!r}"
        )
    known: dict[str, str] = {}
    annotated = set(items)
    for row, (item, label) in enumerate(zip(table.columns[item_column], table.columns[label_column], strict=True)):
        if not label:
            continue
        if item not in annotated:
            if not item:
                raise DataError(f"{table.where(row)}: label {label!r} has no item: name it or remove the row")
            raise DataError(
                f"{table.where(row)}: item {item!r} is not among the items of the data: correct or remove it"
                f"{nearest(item, items)}"
            )
        if labels is not None and label not in labels:
            raise DataError(
                f"{table.where(row)}: label {label!r} of item {item!r} is not among the labels {listed(labels)}"
                f"{nearest(label, labels)}; declare one that nobody used with labels=... (--labels)"
            )
        if known.setdefault(item, label) != label:
            raise DataError(
                f"{table.where(row)}: item {item!r} has two labels, {known[item]!r} and {label!r}: keep one"
            )
    return known
