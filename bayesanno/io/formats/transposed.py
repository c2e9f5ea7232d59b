"""Tables with a row for each annotator and a column for each item, as surveys have, turned into wide ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from bayesanno.data.names import read_numbers
from bayesanno.ground.errors import DataError
from bayesanno.io.layout import is_of_text, names_people, warn_of_others
from bayesanno.io.names import find_missing_codes, fold
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.text_table import TextTable


def transpose(table: TextTable, options: ReadOptions) -> tuple[TextTable, ReadOptions]:
    """Turn a table with a row for each annotator into one with a row for each item, with the options to read it.

    The items are the columns that the options name, or those that share values with other items.

    Raises
    ------
    DataError
        If there is no such column, an annotator has no name or the name of another, or a column may be an item.
    """
    people = [column for column in range(len(table.header)) if names_people(table, column)]
    column = next(iter(people), 0) if options.annotator is None else table.need("annotator", options.annotator)
    names, first_row = table.columns[column], dict[str, int]()
    for row, name in enumerate(names):
        if not name:
            raise DataError(
                f"{table.where(row)}: this row has no annotator: fill in the column {table.header[column]!r}"
            )
        if first_row.setdefault(name, row) != row:
            raise DataError(
                f"{table.where(row)}: {name!r} already has a row: name the column of annotators with annotator=..., "
                "or keep one row for each annotator"
            )
    items = [table.need("item", name) for name in options.columns]
    if not items:
        others = [other for other, name in enumerate(table.header) if other != column and name]
        items = _find_items(table, others, {*options.missing, *options.unsure}, options.labels or ())
    rows = zip(*(table.columns[item] for item in items), strict=True)
    turned = TextTable(
        name=table.name,
        header=("item", *names),
        columns=([table.header[item] for item in items], *map(list, rows)),
        lines=[item + 1 for item in items],
        unit="column",
    )
    return turned, replace(options, format="wide", item="item", annotator=None, columns=(), transpose=False)


def _find_items(
    table: TextTable, columns: Sequence[int], no_class: Collection[str], labels: Collection[str]
) -> list[int]:
    """Return the columns that share values with others, have numbers in their range, or have only one word."""
    values = {column: set(table.columns[column]) - {"", *no_class} for column in columns}
    codes = find_missing_codes(set().union(*values.values()))
    values = {column: {str(fold(value)) for value in own.difference(codes)} for column, own in values.items()}
    groups: list[tuple[list[int], set[str]]] = (
        [([], {str(fold(label)) for label in labels})] if labels else []
    )  # columns, and their values
    for column in columns:
        joined = [group for group in groups if group[1] & values[column]]
        members = [member for group in joined for member in group[0]]
        groups = [group for group in groups if group not in joined]
        groups.append(([*members, column], values[column].union(*(group[1] for group in joined))))
    items, known = max(groups, key=lambda group: len(group[0]))
    numbers = read_numbers(list(known))
    odd, left_out = [], []
    for column in columns:
        if column in items:
            continue
        own = read_numbers(list(values[column]))
        between = (
            own is not None and numbers is not None and (numbers.min() <= own).all() and (own <= numbers.max()).all()
        )
        if between or (own is None and numbers is None and len(values[column]) == 1):
            items.append(column)
        elif (own is None) != (numbers is None) or is_of_text(table.columns[column]):
            left_out.append(column)
        elif values[column]:
            odd.append(column)
    if odd:
        raise DataError(
            f"{table.name}: the columns {table.quote(odd)} share no values with other "
            "columns: name the columns of items with columns=..."
        )
    warn_of_others(table, left_out, "items")
    return sorted(items)
