"""Find out from the names of its columns, and from options, what a table of annotations is.

The invariant: no cell decides what a column is. A table is long if it has columns for an annotator and a label, and
wide if each column of annotators has the name of an annotator with a number. Any other table is refused, and the
message has the options that read it, with its columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import numpy as np

from bayesanno._core.errors import DataError
from bayesanno._core.wording import listed, option
from bayesanno.io.read_options import ReadOptions, of_spans
from bayesanno.io.text_table import ALIASES, CONTENTS, TextTable

ROLES = ("item", "annotator", "label")
_ANNOTATORS = "|".join(name for name in ALIASES["annotator"] if name.isalpha())
_NUMBERED = re.compile(
    rf"({_ANNOTATORS}|ann|anno|annot|reviewer|expert|person|labell?er|lf|llm)(?:[\W_]*\d+|[\W_]+[a-z])"
)
_AGREED = re.compile(
    r"(final|adjudicated|consensus|majority|aggregated?|agreed|resolved|hard|gold|reference)"
    r"([\W_]*(label|vote|answer|class|rating|annotation))?|ground[\W_]*truth"
)
_OF_PROPERTIES = re.compile(
    r"(topic|theme|domain|genre|section|dataset|split|fold|language|country|difficulty|level|year|date|length|title|"
    r"source|url|link|file|filename|timestamp|comments?|notes?|remarks?)([\W_]*\d+)?"
)
_TOTALS = ("total", "sum", "all", "n_total", "n_annotators", "n_answers", "n_votes", "num_annotators", "num_votes")
_SIDES = re.compile(r"(.*?)(a|b|1|2|left|right|first|second)")
_OTHER_SIDE = {"a": "b", "1": "2", "left": "right", "first": "second"}
_RANGE = re.compile(r"(\d*):(\d*)")


def is_long(table: TextTable, options: ReadOptions) -> bool:
    """Return whether the names of columns, or options, say that a row is an answer.

    Raises
    ------
    DataError
        If there is a column of annotators or of labels, but not of both.
    """
    there = {role: options.roles[role] is not None or bool(table.matching(role)) for role in ROLES}
    if there["annotator"] and there["label"]:
        return True
    lacking = [role for role in ROLES if not there[role] and (role != "item" or not table.matching_loosely())]
    if not (there["annotator"] or there["label"]):
        return False
    people = table.find("annotator", options.annotator)
    left = {people, *others_than_annotators(table, options)}
    n_others = sum(at not in left and name != "" for at, name in enumerate(table.header))
    others, named = name_columns(table, left), " and ".join(map(option, lacking))
    ways = [
        f"{table.name} looks like a long table, but has no column for the {' and the '.join(lacking)} among "
        f"{listed(table.header)}: name {'it' if len(lacking) == 1 else 'them'} with {named}"
    ]
    if people is not None and n_others:
        ways.append(f"if a row is an annotator, use {option('transpose', True)} and {name_columns(table, [people])}")
        ways.append(f"if columns hold 1 where an answer has a label, use {option('multi_label', True)} and {others}")
    if n_others > 1:
        ways.append(f"if a column is an annotator, use {others}")
    raise DataError("; ".join(ways))


def name_columns(table: TextTable, others: Iterable[int | None]) -> str:
    """Return the option that names all columns except some, by their places if a name has a comma."""
    left_out = set(others)
    named = {at: name for at, name in enumerate(table.header) if name and at not in left_out}
    by_place = any("," in name for name in named.values())
    return option("columns", ",".join(f"{at + 1}:{at + 1}" if by_place else name for at, name in named.items()))


def others_than_annotators(table: TextTable, options: ReadOptions) -> list[int | None]:
    """Return the columns that are no annotator's, by their names."""
    of_items = [*table.matching("item"), *table.matching_loosely()]
    named = [table.header.index(name) for name in (options.item, options.gold) if name in table.header]
    of_answers = [*table.matching("label"), *table.matching("count")]
    return [*named, *of_items, *of_answers, *table.matching("gold"), *find_beside(table)]


def find_beside(table: TextTable) -> list[int]:
    """Return the columns whose names say that they are about the items, or labels that were agreed upon."""
    names = [name.casefold() for name in table.header]
    known = (_AGREED, _OF_PROPERTIES)
    return [at for at, name in enumerate(names) if name in CONTENTS or any(each.fullmatch(name) for each in known)]


def find_annotators(
    table: TextTable, options: ReadOptions, item: int | None, others: Sequence[int | None]
) -> list[int]:
    """Return the columns of annotators: those that options name, or those of one word with numbers.

    Parameters
    ----------
    table : TextTable
    options : ReadOptions
    item : int or None
        The column that names the items.
    others : sequence of int or None
        The columns of other roles.

    Raises
    ------
    DataError
        If names do not decide.
    """
    if options.columns:
        chosen = choose_columns(table, options.columns, [item, *others])
        names, said = [table.header[at] for at in chosen], {cell for at in chosen for cell in table.columns[at]}
        twice = [name for name in names if name in said and not options.no_header]  # all, or all but an item
        if len(twice) >= max(1, len(names) - 1) and not {*options.columns} <= {*table.header}:
            raise DataError(
                f"{table.name}: the names {listed(twice)} are labels too, so the first line may be data: if so, use "
                f"{option('no_header', True)}; if they are annotators, use {option('columns', ','.join(names))}"
            )
        return chosen
    left_out = {item, *others, *others_than_annotators(table, options)}
    columns = [at for at, name in enumerate(table.header) if at not in left_out and name]
    if not columns:
        raise DataError(f"{table.name} has no column left for annotators among {listed(table.header)}: add columns")
    found = [_NUMBERED.fullmatch(table.header[at].casefold()) for at in columns]
    if len({word[1] if word else None for word in found}) == 1 and found[0] is not None:
        return columns
    raise _ask(table, options, columns, item)


def _ask(table: TextTable, options: ReadOptions, columns: Sequence[int], item: int | None) -> DataError:
    """Return the error that the names of columns do not say which are annotators."""
    header = table.header
    if len(header) > 1 and re.fullmatch(r"[TERAN]\d+", header[0]) and re.match(r"\S+ \d+ \d+", header[1]):
        return DataError(f"{table.name} holds annotations of brat, which mark spans: {of_spans()}")
    if len(header) == 1:
        return DataError(f"{table.name} has one column, {header[0]!r}: a table needs several{table.explain_width()}")
    numbered = [at for at in columns if _NUMBERED.fullmatch(header[at].casefold())]
    meant = numbered if len(numbered) > 1 else columns or range(len(header))
    meant = [at for at in meant if header[at].casefold() not in _TOTALS] or meant
    annotators = name_columns(table, set(range(len(header))).difference(meant))
    long = " and ".join(option(role) for role in ROLES if role != "item" or item is None)
    of_item = "" if item is not None else f", and {option('item')} if one names the items"
    who = f", {option('annotator', header[0])}" if header[0] and not table.matching("annotator") else ""
    turned = name_columns(table, [0])
    no_header = (
        ""
        if options.no_header
        else f"; if the first line is data, use {option('no_header', True)}: columns are 1, 2, ..."
    )
    return DataError(
        f"{table.name}: the names {listed(header)} do not say which columns are annotators: if each column is one, "
        f"use {annotators}{of_item}; if each row is an answer, use {long}; if columns are labels with their numbers "
        f"of answers, use {option('format', 'votes')} and {annotators}; if each row is an annotator, use "
        f"{option('transpose', True)}{who} and {turned}{no_header}"
    )


def choose_columns(table: TextTable, chosen: Sequence[str], others: Iterable[int | None]) -> list[int]:
    """Return the columns that names, patterns such as `rater_*`, and positions such as `2:` stand for.

    Patterns and positions leave out the columns of other roles, and columns without a name.

    Raises
    ------
    DataError
        If one stands for no column.

    Examples
    --------
    >>> from bayesanno.io.layout import choose_columns
    >>> from bayesanno.io.text_table import header_only
    >>> table = header_only("a table", ["id", "rater_1", "rater_2", "gold"])
    >>> choose_columns(table, ["rater_*"], []), choose_columns(table, ["2:"], [3])
    ([1, 2], [1, 2])
    """
    found: list[int] = []
    left_out = set(others)
    for each in chosen:
        bounds = _RANGE.fullmatch(each)
        if each in table.header:
            matching = [table.header.index(each)]
        elif bounds:
            first, last = int(bounds[1] or 1), int(bounds[2] or len(table.header))
            if first == 0:
                raise DataError(f"{option('columns', each)}: positions count from 1, as in {option('columns', '1:')}")
            matching = [at for at in range(first - 1, min(last, len(table.header))) if at not in left_out]
        else:
            matching = [at for at, name in enumerate(table.header) if fnmatchcase(name, each) and at not in left_out]
        if not matching:
            table.need("annotator", each)  # which refuses it
            raise DataError(f"{table.name}: {option('columns', each)} stands for no column of {listed(table.header)}")
        found += [at for at in matching if at not in found and (table.header[at] or each in table.header)]
    return found


def refuse_sides(table: TextTable, options: ReadOptions, label: int) -> None:
    """Raise a DataError if a long table compares two systems, and no option says that its labels are no sides."""
    if options.label or options.pairs:
        return
    names, said = {name.casefold(): name for name in table.header}, {*(table.columns[label] if table.columns else ())}
    sides = [name for name in table.header if name in said]  # labels that are the names of columns
    for name in names:
        side = _SIDES.fullmatch(name)
        other = side[1] + _OTHER_SIDE.get(side[2], "") if side else ""
        if other in names and side is not None and side[2] in _OTHER_SIDE:
            sides = [names[name], names[other]]
    if len(sides) == 2:
        raise DataError(
            f"{table.name}: the columns {sides[0]!r} and {sides[1]!r} may be two systems, of which the label is the "
            f"better: if so, use {option('pairs', ','.join(sides[:2]))}; if not, use "
            f"{option('label', table.header[label])}"
        )


def refuse_totals(table: TextTable, columns: Sequence[int], votes: np.ndarray) -> None:
    """Raise a DataError if a column of votes (row, column) is the number of all, by its name or as their sum."""
    for place, at in enumerate(columns):
        rest = [other for other in columns if other != at]
        named = table.header[at].casefold() in _TOTALS
        if rest and (named or (len(rest) > 1 and (2 * votes[:, place] == votes.sum(axis=1)).all())):
            why = "is named like" if named else "is"
            without, every = (
                name_columns(table, {*range(len(table.header))}.difference(some)) for some in (rest, columns)
            )
            raise DataError(
                f"{table.name}: column {table.header[at]!r} {why} the sum of the others, and so may be no label: if it "
                f"is none, use {without}; if it is one, use {every}"
            )
