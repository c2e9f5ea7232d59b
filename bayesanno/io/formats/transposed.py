"""Tables with a row for each annotator and a column for each item, as surveys have."""

from __future__ import annotations

import re
from dataclasses import replace

from bayesanno._core.errors import DataError
from bayesanno._core.wording import listed, option
from bayesanno.io.columns import NamedAnswers
from bayesanno.io.formats.long import read_rows
from bayesanno.io.layout import ROLES, choose_columns
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.text_table import TextTable

_NUMBERED = re.compile(r"(.*?)[\W_]*\d+")  # the items 1, 2, ... or Q1, Q2, ...


def read_transposed(table: TextTable, options: ReadOptions) -> NamedAnswers:
    """Read one row as one annotator and one column as one item.

    The items are the columns that the options name, or all other columns if they have one word with numbers.

    Raises
    ------
    DataError
        If no column names the annotators, one has no name or the name of another, or a column may not be an item.
    """
    people = _find_people(table, options)
    names, first_row = table.columns[people], dict[str, int]()
    for row, name in enumerate(names):
        if not name:
            raise DataError(
                f"{table.where(row)}: this row has no annotator: fill in the column {table.header[people]!r}"
            )
        if first_row.setdefault(name, row) != row:
            raise DataError(
                f"{table.where(row)}: {name!r} already has a row: name the column of annotators with "
                f"{option('annotator')}, or keep one row for each annotator"
            )
    items = choose_columns(table, options.columns or ("1:",), [people])
    words = [_NUMBERED.fullmatch(table.header[at].casefold()) for at in items]
    if not options.columns and (None in words or len({word[1] for word in words if word}) > 1):
        asked = ",".join(table.header[at] for at in items)
        raise DataError(
            f"{table.name}: the names {listed([table.header[at] for at in items])} do not say which columns are items: "
            f"name them, as in {option('columns', asked)}"
        )
    cells = [(table.header[at], names[row], table.columns[at][row]) for at in items for row in range(table.n_rows)]
    long = TextTable(
        name=table.name,
        header=ROLES,
        columns=tuple(map(list, zip(*cells, strict=True))),
        lines=[at + 1 for at in items for _ in range(table.n_rows)],
        unit="column",
    )
    read_as = f"items {table.quote(items)}; annotators in {table.header[people]!r}"
    answers = read_rows(long, {role: at for at, role in enumerate(ROLES)}, options)
    return replace(answers, read_as=read_as + table.name_rest((people, *items)))


def _find_people(table: TextTable, options: ReadOptions) -> int:
    """Return the column that names the annotators."""
    found = table.find("annotator", options.annotator)
    if found is None and not table.header[0]:
        found = 0
    if found is None:
        raise DataError(
            f"{table.name} has no column for the annotator among {listed(table.header)}: with "
            f"{option('transpose', True)} name it, as in {option('annotator', table.header[0])}"
        )
    return found
