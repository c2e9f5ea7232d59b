"""Long tables: one row is one annotation, with columns for item, annotator and label."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bayesanno._core.errors import DataError
from bayesanno._core.wording import enumerated, option
from bayesanno.data.labelled import sort_labels
from bayesanno.io.columns import NamedAnswers, check_distinct, check_rows, collect_gold, find_positions
from bayesanno.io.layout import ROLES, refuse_sides
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.spelling import drop_codes, join_spellings
from bayesanno.io.text_table import LAST_ALIASES, TextTable, header_only, strip_id

_AS_THEY_ARE = ReadOptions()
_WORDS = {"item": "items", "annotator": "annotators", "label": "labels", "gold": "true labels"}
_OF_ANSWERS = re.compile(r"score|rating|label|predict|pred$|selected|chosen|correct|verdict|toxic")
_FLAGS = {"0", "1", "0.0", "1.0", "true", "false", "True", "False"}
_TEXTS = ("response", "answer")  # which a label may be about
ENOUGH = 20  # answers needed to judge whether labels are repeated


def find_long_columns(
    table: TextTable, named: Mapping[str, str | None], *, with_gold: bool = True, loosely: bool = True
) -> dict[str, int]:
    """Return the columns of item, annotator, label and, if there is one, gold, by option or by alias.

    The item may be named `loosely`, by an id of anything.

    Raises
    ------
    DataError
        If a column is missing, or one column has two roles.
    """
    found: dict[str, int | None] = {role: table.need(role, named.get(role), loosely=loosely) for role in ROLES}
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
    refuse_sides(table, options, columns["label"])
    answers = read_rows(table, columns, options)
    _doubt(answers, columns, options)
    categories = table.categories.get(table.header[columns["label"]], ())
    return replace(answers, read_as=_describe(answers, columns), categories=categories)


def _describe(answers: NamedAnswers, columns: Mapping[str, int]) -> str:
    """Return in words the role of each column, unless all have their roles' names, and the columns left out."""
    words, names = [], {role: answers.table.header[column] for role, column in columns.items()}
    if any(name != role for role, name in names.items()):
        words = [f"{_WORDS[role]} in {name!r}" for role, name in names.items()]
        words[2] += f": {enumerated(sort_labels(answers.label))}"
    return ("; ".join(words) + answers.table.name_rest(columns.values())).removeprefix("; ")


def _doubt(answers: NamedAnswers, columns: Mapping[str, int], options: ReadOptions) -> None:
    """Raise a DataError if a column that was found by its name may not have the role, and no option says that it has.

    Ids may name rows, or groups of items such as documents; answers may be free text; models may be labels.
    """
    table, n = answers.table, len(answers.label)
    names = {role: table.header[column] for role, column in columns.items()} | dict(table.called)
    is_loose = options.item is None and not header_only("", [names["item"]]).matching("item")
    pairs = np.unique(answers.item * len(answers.annotators) + answers.annotator).size
    if options.item is None and names["item"].casefold() not in ("item", "item_id"):
        n_items, n_people = np.unique(answers.item).size, len(answers.annotators)
        others = {*table.matching_loosely()} - {*columns.values()}
        why = ""
        if pairs < n if others or is_loose else 2 * pairs <= n:
            why = "annotators answer some of its names again"
        elif is_loose and n_items == n > 1 and n_people > 1 and not table.called:
            why = "no name in it has two answers"
        elif others and n_items == 1 < n and strip_id(names["item"]) == names["item"].casefold():
            why = "it has one name alone"
        if why:
            raise DataError(
                f"{table.name}: the column {names['item']!r} may not name the items, since {why}: name the column of "
                f"items with {option('item')}, or use {option('item', names['item'])}"
            )
    weak = [role for role in ROLES[1:] if names[role].casefold() in LAST_ALIASES[role] and not options.roles[role]]
    if weak and {*answers.annotators} & {*answers.label}:
        raise DataError(
            f"{table.name}: the columns {names['annotator']!r} and {names['label']!r} have values in common: if they "
            f"are annotator and label, use {option('annotator', names['annotator'])} and "
            f"{option('label', names['label'])}; if both are annotators, use "
            f"{option('columns', names['annotator'] + ',' + names['label'])}"
        )
    if "annotator" in weak and pairs < n:
        raise DataError(
            f"{table.name}: the column {names['annotator']!r} may not name the annotators, since some of its names "
            f"answer an item again: name the column of annotators with {option('annotator')}, or use "
            f"{option('annotator', names['annotator'])}"
        )
    if not options.label and 2 * pairs <= n:
        used, cells = {*columns.values()}, dict(zip(table.header, table.columns, strict=True))
        flags = [name for at, name in enumerate(table.header) if at not in used and {*cells[name]} <= _FLAGS]
        if flags:
            item = f"{{{names['item']}}} / {{{names['label']}}}"
            raise DataError(
                f"{table.name}: each annotator answers an item again, and the column {flags[0]!r} has 0 and 1: if a "
                f"row says whether an answer has a label, use {option('item', item)} and {option('label', flags[0])}; "
                f"if not, use {option('label', names['label'])}"
            )
    for at, name in enumerate(table.header if options.item is None and pairs < n else ()):
        parts = [(table.columns[at][row], one) for row, one in zip(answers.row.tolist(), answers.item, strict=True)]
        is_apart = len({*zip(parts, answers.annotator, strict=True)}) == n and 2 * len({*parts}) <= n
        if name and at not in columns.values() and is_apart:
            both = option("item", f"{{{name}}}/{{{names['item']}}}")
            raise DataError(
                f"{table.name}: annotators answer a name in {names['item']!r} again, but not with the same "
                f"{name!r}: if both name an item, use {both}; if not, use "
                f"{option('item', names['item'])}"
            )
    counts = [at for at in table.matching("count") if at not in columns.values() and not options.label]
    for at in (at for at in counts if table.header[at].casefold() not in LAST_ALIASES["count"]):
        if {*table.columns[at]} - {"0", "1", ""} and all(map(str.isdecimal, filter(None, table.columns[at]))):
            raise DataError(
                f"{table.name}: the column {table.header[at]!r} may say how often an answer was given, and a row is "
                f"one answer: repeat the rows, or if it says something else, use {option('label', names['label'])}"
            )
    n_labels, score = len(set(answers.label)), [one for one in table.header if one.casefold() in LAST_ALIASES["label"]]
    why = ""
    if n >= (3 if "label" in weak else ENOUGH) and n_labels > n / 2:
        why = "most answers in it occur once"
    elif names["label"].casefold() in _TEXTS and score and "label" not in weak:
        why = f"there is a column {score[0]!r}"
    elif names["label"].casefold() in _TEXTS and pairs > n_labels >= max(3, np.unique(answers.item).size):
        why = "each item has one of its own"
    elif (other := _find_other_labels(answers, columns)) is not None:
        why = f"an item has the same for all annotators, and the column {other!r} has not"
    if why and not options.label:
        raise DataError(
            f"{table.name}: the column {names['label']!r} may not hold labels, since {why}: name the column of labels "
            f"with {option('label')}, or use {option('label', names['label'])}"
        )


def _find_other_labels(answers: NamedAnswers, columns: Mapping[str, int]) -> str | None:
    """Return an unused column that may hold the labels, where the column of labels is a property of the items."""
    table, item = answers.table, answers.item.tolist()
    n_answers, first = np.bincount(answers.item), dict[int, str]()
    n_items = np.count_nonzero(n_answers)
    is_other = any(first.setdefault(at, label) != label for at, label in zip(item, answers.label, strict=True))
    if is_other or np.count_nonzero(n_answers > 1) < 2:
        return None
    for at, name in enumerate(table.header):
        cells = [table.columns[at][row] for row in answers.row.tolist()]
        is_named = _OF_ANSWERS.search(name.casefold()) is not None
        repeats = len(cells) >= ENOUGH and 2 * len({*cells}) <= len(cells)
        varies = all(cells) and len({*zip(item, cells, strict=True)}) > n_items
        if name and at not in columns.values() and varies and (is_named or repeats):
            return name
    return None


def read_rows(table: TextTable, columns: Mapping[str, int], options: ReadOptions = _AS_THEY_ARE) -> NamedAnswers:
    """Read one row as one annotation; a row without an answer declares its item and annotator.

    The options declare missing labels and join spellings.

    Raises
    ------
    DataError
        If an answer lacks its item or annotator, or an item has two gold labels.
    """
    cells = {role: table.columns[column] for role, column in columns.items()}
    cells |= {role: drop_codes(cells[role], options) for role in ("item", "annotator")}
    of_labels = [role for role in ("label", "gold") if role in cells]
    first = (*(options.labels or ()), *options.unsure)
    cells |= dict(zip(of_labels, join_spellings([cells[role] for role in of_labels], options, first), strict=True))
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
