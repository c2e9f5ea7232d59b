"""Find the annotators' columns of a wide table by the values that they share.

The invariant: a column is an annotator only if most of its answers are also answers of other annotators, or if the
options name it. A table without two such columns, or with many other columns of repeated values, is refused; the
message names its probable shape and the option that reads it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import combinations

import numpy as np

from bayesanno.data.names import read_numbers
from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed
from bayesanno.io.names import find_missing_codes, fold, warn_names
from bayesanno.io.read_options import OF_SPANS, ReadOptions
from bayesanno.io.text_table import ALIASES, WEAK_ALIASES, TextTable, strip_id

ENOUGH = 20  # answers needed to judge whether values are repeated
_MOST, _SOME = 0.5, 0.25  # shares of answers that two columns have in common, the larger and the smaller
FEW_ROWS = 3  # fewer rows do not show the shape of a table
_OFTEN = 0.95  # the share of rows that differ
_MOST_TRIED = 20  # columns whose pairs are compared
_NUMBERED = re.compile(
    r"(an|ann|anno|annot|annotator|worker|rater|coder|judge|grader|reviewer|lf|a|r|w)[\W_]*(\d+|[a-z])"
)
_OF_ITEMS = re.compile(
    r"(.*[\W_])?(id|uid|idx|index|key|nr|number|row)|#|"
    r"text|sentence|word|phrase|tweet|document|image|file|filename|url|title|subject|sample|segment"
)
_PEOPLE = ("name", "first name", "username", "user name", "user_name", "email", "email address", "e-mail", "student")
_QUESTION = re.compile(r"(q|question|item|task|stimulus)[\W_]*\d+[a-z]?|.*\?")
_AGREED = re.compile(
    r"(final|adjudicated|consensus|majority|aggregated?|agreed|resolved|hard|gold|reference)"
    r"([\W_]*(label|vote|answer|class|rating|annotation))?|ground[\W_]*truth"
)
_OF_PROPERTIES = re.compile(
    r"(topic|theme|domain|genre|section|dataset|split|fold|language|country|difficulty|level|year|date|length)"
    r"([\W_]*\d+)?"
)
LOOKED_FOR = (
    "a long table has columns for item, annotator and label (name them with item=..., annotator=..., label=...), and "
    "a wide table has a column for each annotator (name them with columns=...)"
)


def find_layout(
    table: TextTable, options: ReadOptions, item: int | None, candidates: Sequence[int], gold: int | None
) -> tuple[int | None, list[int]]:
    """Return the column of items, if there is one, and the columns of annotators, judged by their values.

    Parameters
    ----------
    table : TextTable
    options : ReadOptions
        They name missing and unsure answers, which do not count; declared labels, which annotators' columns must hold;
        and whether columns have names, since numbers do not show the shape of the table.
    item : int or None
        The column that names the items, if it is known.
    candidates : sequence of int
        The columns that may be annotators.
    gold : int or None
        The column of known labels, whose values annotators' columns share.

    Raises
    ------
    DataError
        If the table seems to have another shape, or no two columns share most of their values.

    Warns
    -----
    NamesWarning
        If a column with repeated values, like those of an annotator, is left out.
    """
    agreed = [column for column in candidates if _AGREED.fullmatch(table.header[column].casefold())]
    rest = [column for column in candidates if column not in agreed]
    problem = None if options.no_header else _explain_other(table, item, rest)
    if problem is not None:
        raise DataError(f"{table.name}: {problem}")
    labels = options.labels or ()
    ids = [column for column in rest if _names_items(table, column)] if item is None or not labels else []
    rest = [column for column in rest if column not in ids]
    item = ids[0] if item is None and ids else item
    if item is not None and len(candidates) == 1 and not is_of_text(table.columns[candidates[0]]):
        return item, list(candidates)  # a single annotator shares values with nobody
    values = {column: set(table.columns[column]) - {""} for column in rest}
    codes = find_missing_codes(set().union(*values.values()))
    no_class = {*options.missing, *options.unsure, *codes}.difference(labels)
    empty = [column for column in rest if values[column] <= no_class]
    rest = [column for column in rest if column not in empty]
    if labels:
        known = {*labels, *no_class}
        annotators = [column for column in rest if _count_known(table.columns[column], known) >= _MOST]
        if not annotators:
            raise DataError(
                f"{table.name}: no column of {listed(table.header)} holds mostly the declared labels, "
                f"{listed(list(labels))}: {LOOKED_FOR}"
            )
    else:
        words = {name for name in no_class if read_numbers([name]) is None}  # these occur in columns of every kind
        annotators = _find_group(table, rest, gold, words)
    if len(annotators) == len(rest):  # empty columns are annotators if all others are
        annotators = sorted([*annotators, *empty])
    others = [column for column in rest if column not in annotators]
    described = next((table.header[at] for at in annotators if _describes_items(table, at)), None)
    if described is not None:
        raise DataError(
            f"{table.name}: column {described!r} has the values of annotators and the name of a property of items: "
            "name the annotators with columns=..."
        )
    _refuse_long(table, item, annotators, others)
    if item is None and others and others[0] == rest[0]:
        if not is_distinct(table.columns[others[0]]):
            name = table.header[others[0]]
            raise DataError(
                f"{table.name}: the first column, {name!r}, repeats values that annotators do not use: if it names the "
                f"items, use item={name!r}; if not, name the annotators with columns=..."
            )
        item, others = others[0], others[1:]
    if agreed:
        name = table.header[agreed[0]]
        warn_names(
            f"{table.name}: column {name!r} is left out because its name suggests an agreed label: read it as known "
            f"labels with gold={name!r}, or name all annotators with columns=..., including this one"
        )
    warn_of_others(table, others, "annotators")
    return item, annotators


def _refuse_long(table: TextTable, item: int | None, annotators: Sequence[int], others: Sequence[int]) -> None:
    """Raise a DataError if a table may be long, with columns that share values by chance.

    In a wide table most columns are annotators, no two columns identify its rows, and no item occurs twice. Numbered
    annotators may have more columns beside them, and all may have columns with the name of a property, such as topic.
    """
    numbered = all(_NUMBERED.fullmatch(table.header[column].casefold()) for column in annotators)
    if numbered or table.n_rows < FEW_ROWS:
        return
    odd = [column for column in others if not (is_of_text(table.columns[column]) or _describes_items(table, column))]
    repeated = item is not None and _answers_again(table, item, annotators)
    keys = [*odd, *([item] if item is not None and repeated else [])]
    key = _find_key(table, keys) or _find_key(table, annotators, crossed=True)
    if key is None and not repeated and 2 * len(odd) < len(annotators):
        return
    shared = table.quote(annotators)
    what = f"few values of {table.quote(odd)} occur in {shared}"
    if key is not None:
        first, second = (table.header[column] for column in sorted(key, key=lambda at: -len(set(table.columns[at]))))
        what = f"each row has its own pair of {first!r} and {second!r}, like item and annotator"
    elif repeated:
        what = f"{table.header[item or 0]!r} has the same name in several rows"
    raise DataError(
        f"{table.name} may have a row for each answer or a column for each annotator: {what}; for a row, name "
        f"item=..., annotator=... and label=...; for a column, such as {shared}, name the annotators with columns=..."
    )


def _answers_again(table: TextTable, item: int, annotators: Sequence[int]) -> bool:
    """Return whether columns often have several answers to one item."""
    answers = [
        (name, at)
        for at in annotators
        for name, cell in zip(table.columns[item], table.columns[at], strict=True)
        if cell
    ]
    return len(set(answers)) < _OFTEN * len(answers)


def _find_key(table: TextTable, columns: Sequence[int], *, crossed: bool = False) -> tuple[int, int] | None:
    """Return two columns of repeated values that together identify nearly all rows, if there are any.

    With `crossed`, they identify all rows, and at least half of all pairs of their values occur.
    """
    if table.n_rows < ENOUGH or len(columns) > _MOST_TRIED:
        return None
    for pair in combinations(columns, 2):
        cells = [table.columns[column] for column in pair]
        sizes, n = [len(set(each)) for each in cells], len({*zip(*cells, strict=True)})
        enough = (n == table.n_rows and 2 * n >= sizes[0] * sizes[1]) if crossed else n >= _OFTEN * table.n_rows
        if enough and 2 * max(sizes) <= table.n_rows:
            return pair
    return None


def warn_of_others(table: TextTable, others: Sequence[int], what: str) -> None:
    """Warn of left-out columns, except columns of text."""
    odd = [table.header[column] for column in others if not is_of_text(table.columns[column])]
    if odd:
        warn_names(
            f"{table.name}: left out {listed(odd)}: few values in common with {what}; name the columns of {what} "
            "with columns=... to be sure"
        )


def _find_group(table: TextTable, given: Sequence[int], gold: int | None, no_class: Collection[str]) -> list[int]:
    """Return the columns that share most of their values with each other and with known labels."""
    from scipy.sparse import csgraph, csr_array

    names = [table.header[column] for column in given]
    if len(given) < 2:
        raise DataError(f"{table.name}: the columns {listed(table.header)} do not look like annotations: {LOOKED_FOR}")
    columns = [*given, *([] if gold is None else [gold])]
    counts: list[Counter[str | float]] = [Counter() for _ in columns]
    for column, each in zip(columns, counts, strict=True):
        for value, times in Counter(table.columns[column]).items():
            if value and value not in no_class:
                each[fold(value)] += times  # joins 1 and 1.0
    code_of = {value: code for code, value in enumerate(dict.fromkeys(value for each in counts for value in each))}
    pointers = np.cumsum([0, *map(len, counts)])
    stored = np.fromiter((n for each in counts for n in each.values()), dtype=float, count=pointers[-1])
    codes = np.fromiter((code_of[value] for each in counts for value in each), dtype=int, count=pointers[-1])
    answers = csr_array((stored, codes, pointers), shape=(len(columns), max(len(code_of), 1)))  # (column, value)
    n = np.maximum(answers.sum(axis=1), 1)  # (column,)
    share = (answers @ (answers > 0).astype(float).T).toarray() / n[:, None]  # (column, of another column)
    alike = (np.maximum(share, share.T) >= _MOST) & (np.minimum(share, share.T) >= _SOME)
    _, group = csgraph.connected_components(csr_array(alike), directed=False)
    sizes = np.bincount(group)
    chosen = group == sizes.argmax()  # (column,)
    known = answers[chosen].sum(axis=0) > 0  # (value,)
    chosen |= (answers @ known.astype(float)) / n >= _MOST
    n_answers, n_values = answers[chosen].sum(), answers[chosen].nnz
    chosen, group = chosen[: len(given)], group[: len(given)]
    repeated = n_answers < ENOUGH or n_values <= n_answers / 2
    if chosen.sum() < 2 or not repeated:
        why = "share most of their values, like annotators of the same items"
        if not repeated:
            why = "have values that are repeated often enough to be labels"
        raise DataError(
            f"{table.name}: no two of the columns {listed(names)} {why}: {LOOKED_FOR}; for a file without a header, "
            "use no_header=True"
        )
    others = np.bincount(group[~chosen], minlength=sizes.size)
    if others.max() > 1 and 2 * others.max() >= chosen.sum():
        first, second = (
            listed([name for name, there in zip(names, which, strict=True) if there])
            for which in (chosen, group == others.argmax())
        )
        raise DataError(
            f"{table.name}: two groups of columns share values, {first} and {second}: name the annotators with "
            "columns=..."
        )
    return [column for column, there in zip(given, chosen, strict=True) if there]


def _count_known(cells: Sequence[str], labels: Collection[str]) -> float:
    """Return the share of answers that are among the labels."""
    known = {fold(label) for label in labels}
    return sum(fold(cell) in known for cell in cells) / len(list(filter(None, cells)))


def _names_items(table: TextTable, column: int) -> bool:
    """Return whether a column names the items by its own name."""
    name = table.header[column].casefold()
    named = _OF_ITEMS.fullmatch(name) or strip_id(name) in ALIASES["item"]
    return bool(named) and is_distinct(table.columns[column])


def _describes_items(table: TextTable, column: int) -> bool:
    """Return whether a column has the name of a property of items, which no annotator or label has."""
    return bool(_OF_PROPERTIES.fullmatch(table.header[column].casefold()))


def names_people(table: TextTable, column: int, *, surely: bool = False) -> bool:
    """Return whether a column names annotators, one in each row; `surely`, not items, as `name` may do."""
    name = strip_id(table.header[column])
    named = name in ALIASES["annotator"] or (name in (*_PEOPLE, *WEAK_ALIASES["annotator"]) and not surely)
    return named and is_distinct(table.columns[column])


def is_distinct(cells: Sequence[str]) -> bool:
    """Return whether no cell is missing or repeated."""
    return all(cells) and len(set(cells)) == len(cells)


def is_of_text(cells: Sequence[str]) -> bool:
    """Return whether most cells occur once, like texts and ids."""
    there = list(filter(None, cells))
    return len(there) > 2 and len(set(there)) > 0.75 * len(there)


def _explain_other(table: TextTable, item: int | None, candidates: Sequence[int]) -> str | None:
    """Return what a table looks like that is neither long nor wide, and the option that reads it."""
    header = table.header
    if len(header) > 1 and re.fullmatch(r"[TERAN]\d+", header[0]) and re.match(r"\S+ \d+ \d+", header[1]):
        return f"it holds annotations of brat, which mark spans: {OF_SPANS}"
    counts = _count_labels(table, candidates if item is not None else candidates[1:])
    if counts:
        return (
            f"the columns {listed(counts)} look like numbers of answers, one column for each label: if so, use "
            "format='votes'; if they are annotators, name them with columns=..."
        )
    named = item is not None or any(_names_items(table, column) for column in candidates)
    if not named and any(name and name in set(table.columns[at]) for at, name in enumerate(header)):
        return (
            f"the first line, {listed(header)}, looks like data, not like a header: if it is data, use "
            "no_header=True and name the columns 1, 2, ... with item=..., annotator=... and label=...; if it names "
            "the annotators, use columns=..."
        )
    by_name = (at for at in range(len(header)) if names_people(table, at, surely=named))
    people = next((header[at] for at in by_name), None)
    asked = [name for name in header[1:] if _QUESTION.fullmatch(name.casefold())]
    if people or (len(asked) > 1 and len(asked) >= (len(header) - 1) / 2):
        return (
            f"it looks like a row for each annotator, {people or header[0]!r}, and a column for each item, "
            f"{listed(asked or header[1:])}: if so, use transpose=True; if columns are annotators, name them with "
            "columns=..."
        )
    return None


def _count_labels(table: TextTable, columns: Sequence[int]) -> list[str]:
    """Return the labels of a table of counts: whole numbers with the same sum in each row; empty for other tables."""
    if len(columns) < 2 or table.n_rows < 2:
        return []
    cells = [table.columns[column] for column in columns]
    if not all(cell.isascii() and cell.isdecimal() and len(cell) < 10 for column in cells for cell in column):
        return []
    numbers = np.array(cells, dtype=np.int64)  # (column, row)
    sums = numbers.sum(axis=0)
    least = 2 if len(columns) > 2 and table.n_rows > 2 else 3
    one_sum = sums.min() == sums.max() and sums[0] + 1 >= least and numbers.min() == 0
    return [table.header[column] for column in columns] if one_sum else []


def find_flags(table: TextTable, others: Collection[int]) -> list[str]:
    """Return the columns of 0 and 1 that may be labels of one answer; at least two, or none."""
    flags = [
        table.header[column]
        for column in range(len(table.header))
        if column not in others and all(table.columns[column]) and set(table.columns[column]) <= {"0", "1"}
    ]
    return flags if len(flags) > 1 else []
