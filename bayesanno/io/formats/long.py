"""Long tables: one row is one annotation, with columns for item, annotator and label.

The files of Snow et al. (2008) are such tables, with the names of columns of Amazon Mechanical Turk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bayesanno.data.names import sort_labels
from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import enumerated, listed
from bayesanno.io.columns import Format, NamedAnswers, check_distinct, check_rows, collect_gold, find_positions
from bayesanno.io.guesses import ROLES, suggest_columns
from bayesanno.io.layout import ENOUGH, find_flags
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.spelling import join_spellings
from bayesanno.io.text_table import TextTable, strip_id

_AS_THEY_ARE = ReadOptions()
_WORDS = {"item": "items", "annotator": "annotators", "label": "labels", "gold": "true labels"}
SNOW_COLUMNS = dict(zip(ROLES, ("orig_id", "!amt_worker_ids", "response"), strict=True))


def looks_long(table: TextTable, options: ReadOptions) -> bool:
    """Return whether there is a column of each role.

    Raises
    ------
    DataError
        If there is a column of annotators or labels, but not of the other roles.
    """
    lacking = [role for role in ROLES if options.roles[role] is None and not table.matching(role)]
    if options.columns or ("annotator" in lacking and "label" in lacking):
        return False
    if lacking == ["item", "label"] and table.matching("annotator") == [0]:
        return False  # it may have a row for each annotator
    others = [column for role in ROLES for column in table.matching(role)]
    flags = find_flags(table, others) if "label" in lacking and "annotator" not in lacking else []
    if flags:
        raise DataError(
            f"{table.name}: the columns {listed(flags)} look like labels, with 1 where an answer has the label: use "
            f"multi_label=True to make each a yes-or-no question, or name one of them, as in label={flags[0]!r}"
            + ("; and name the column of the item with item=..." if "item" in lacking else "")
        )
    if lacking:
        raise DataError(
            f"{table.name} looks like a long table, but has no column for the {' and the '.join(lacking)} among "
            f"{listed(table.header)}: name {'it' if len(lacking) == 1 else 'them'} with "
            f"{' and '.join(suggest_columns(table, options, lacking))}, or, if each column is an annotator, name the "
            "annotators with columns=..."
        )
    return True


def find_long_columns(table: TextTable, named: Mapping[str, str | None], *, with_gold: bool = True) -> dict[str, int]:
    """Return the columns of item, annotator, label and, if there is one, gold, by option or by alias.

    Raises
    ------
    DataError
        If a column is missing, or one column has two roles.
    """
    found: dict[str, int | None] = {role: table.need(role, named.get(role)) for role in ROLES}
    found["gold"] = table.find("gold", named.get("gold")) if with_gold else None
    check_distinct(table, found)
    return {role: column for role, column in found.items() if column is not None}


def read_long(table: TextTable, options: ReadOptions) -> NamedAnswers:
    """Read a long table with one column of labels.

    Raises
    ------
    DataError
        As for `find_long_columns` and `read_rows`.
    """
    columns = find_long_columns(table, options.roles, with_gold=options.gold_file is None)
    names = {role: table.header[column] for role, column in columns.items()}
    answers = read_rows(table, columns, options)
    _check_guesses(answers, names, options)
    return replace(answers, read_as=_describe(answers, names), categories=table.categories.get(names["label"], ()))


def _describe(answers: NamedAnswers, names: Mapping[str, str]) -> str:
    """Return in words the role of each column; nothing if the columns have the names of their roles."""
    if all(name == role for role, name in names.items()):
        return ""
    words = [f"{_WORDS[role]} in {name!r}" for role, name in names.items()]
    words[2] += f": {enumerated(sort_labels(answers.label))}"
    rest = [name for name in answers.table.header if name and name not in names.values()]
    return "; ".join([*words, *([f"left out {listed(rest)}"] if rest else [])])


def _check_guesses(answers: NamedAnswers, names: Mapping[str, str], options: ReadOptions) -> None:
    """Raise a DataError if a column that was found by its name does not hold the role's values.

    Ids may name groups of items, such as documents, and answers may be free text.
    """
    n, name = len(answers.label), answers.table.name
    pairs = len({*zip(answers.item.tolist(), answers.annotator.tolist(), strict=True)})
    if options.item is None and strip_id(names["item"]) != names["item"].casefold() and 2 * pairs < n:
        raise DataError(
            f"{name}: annotators answer each {names['item']!r} {n / pairs:.0f} times, so it may not name the items: "
            f"name the column of items with item=..., or use item={names['item']!r}"
        )
    if not options.label and n >= ENOUGH and len(set(answers.label)) > n / 2:
        raise DataError(
            f"{name}: most answers in the column {names['label']!r} occur once, so they may not be labels: name the "
            f"column of labels with label=..., or use label={names['label']!r}"
        )


def read_rows(table: TextTable, columns: Mapping[str, int], options: ReadOptions = _AS_THEY_ARE) -> NamedAnswers:
    """Read one row as one annotation; a row without an answer declares its item and annotator.

    The options declare missing labels and join spellings.

    Raises
    ------
    DataError
        If an answer lacks its item or annotator, or an item has two gold labels.
    """
    cells = {role: table.columns[column] for role, column in columns.items()}
    of_labels = [role for role in ("label", "gold") if role in cells]
    if options.gives("missing", "strip", "ignore_case"):
        joined = join_spellings(
            [cells[role] for role in of_labels], options, (*(options.labels or ()), *options.unsure)
        )
        cells |= dict(zip(of_labels, joined, strict=True))
    answered = check_rows(cells, {role: table.header[column] for role, column in columns.items()}, table.where)
    items, annotators = (tuple(dict.fromkeys(filter(None, cells[role]))) for role in ("item", "annotator"))
    row = np.flatnonzero(answered)  # (annotation,)
    return NamedAnswers(
        table=table,
        item=find_positions(cells["item"], items)[row],
        annotator=find_positions(cells["annotator"], annotators)[row],
        label=list(filter(None, cells["label"])),
        row=row,
        items=items,
        annotators=annotators,
        gold=collect_gold(table, cells["item"], cells["gold"]) if "gold" in cells else {},
    )


def looks_like_snow(table: TextTable, options: ReadOptions) -> bool:
    """Return whether the columns are those of Snow et al., and none is named by an option."""
    return not any(options.roles.values()) and {*SNOW_COLUMNS.values()} <= {name.casefold() for name in table.header}


def read_snow(table: TextTable, options: ReadOptions) -> NamedAnswers:
    """Read a long table with the columns of Snow et al., unless options name others.

    Raises
    ------
    DataError
        As for `read_long`.
    """
    item, annotator, label = (options.roles[role] or usual for role, usual in SNOW_COLUMNS.items())
    return read_long(table, replace(options, item=item, annotator=annotator, label=(label,)))


LONG = Format("long", looks_long, read_long)
SNOW = Format("snow", looks_like_snow, read_snow)
