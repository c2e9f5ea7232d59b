"""Tables of comparisons: each row names two systems, and its label is the better one or a tie.

Such tables come from arenas of language models (model_a, model_b, winner) and from crowds (left, right, label). The
labels of the data are the names of the two columns and, if there are ties, "tie".

An item is what was asked with two systems, in whichever order they are shown. Its sides are those that were shown, or
if both orders were, those in the order of the systems' names. So two annotators who prefer the same system give the
same label, and `swapped` says who saw the other order.

The invariant: a label is a side only where it has the name of its column, of its system in that row, or of a side, as A
and B; if one label names a system and the other side, an option decides; and no item has other systems in another row.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bayesanno._core.errors import DataError
from bayesanno._core.wording import counted, enumerated, listed, nearest, option
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.columns import Column
from bayesanno.io.columns import NamedAnswers, check_distinct, collect_gold
from bayesanno.io.names import warn_names, warn_of_unused
from bayesanno.io.rankings import TIE
from bayesanno.io.read_options import RANKED, WEIGHT, ReadOptions
from bayesanno.io.spelling import drop_codes, join_names
from bayesanno.io.text_table import TextTable

_TIE = re.compile(rf"{TIE}|draw$", re.IGNORECASE)
_CODES: Mapping[str, int] = {  # of the sides
    **dict.fromkeys(("a", "1", "left", "first", "win"), 0),
    **dict.fromkeys(("b", "2", "right", "second", "loss", "lose"), 1),
}

type Pair = tuple[str, str]  # two systems, or the two columns that name them


@dataclass(frozen=True, kw_only=True)
class Words:
    """The words of a table of comparisons.

    Parameters
    ----------
    sides : pair of str
        The names of the columns, which become labels.
    systems : tuple of str
        The names in both columns, sorted.
    ties : tuple of str
        The labels that are ties; if there is none here, "draw" and those that begin with "tie".
    unsure : tuple of str
        Labels that are not classes, which stay unchanged.
    codes : mapping of str to int
        The labels that are sides, 0 for the first and 1 for the second; if there is none here, the usual ones, and the
        last word of a column's name.
    """

    sides: Pair
    systems: tuple[str, ...]
    ties: tuple[str, ...]
    unsure: tuple[str, ...]
    codes: Mapping[str, int] = field(default_factory=dict)

    def find_side(self, label: str) -> str | None:
        """Return the side that a label names whichever systems are compared, by its column or by a code."""
        if label in self.codes:
            return self.sides[self.codes[label]]
        words = [re.split(r"[\W_]+", side.casefold())[-1] for side in self.sides]
        names = {side.rpartition(".")[2]: side for side in self.sides} | {side: side for side in self.sides}
        if label in names or self.codes:
            return names.get(label)
        if words[0] != words[1] and label.casefold() in words:
            return self.sides[words.index(label.casefold())]
        return self.sides[_CODES[label.casefold()]] if label.casefold() in _CODES else None

    def understand_known(
        self, known: Mapping[str, str], pair_of: Mapping[str, Pair], in_both: Container[str], what: str
    ) -> dict[str, str]:
        """Return known labels of items as sides or ties; labels of other items stay unchanged.

        Raises
        ------
        DataError
            As for `understand`, or if a side is named of an item that was shown in both orders.
        """
        for item, label in known.items():
            if item in in_both and label not in self.systems and self.find_side(label) is not None:
                raise DataError(
                    f"{what}: item {item!r} was shown in both orders, so {label!r} may be either of "
                    f"{listed(pair_of[item])}: give the name of the system"
                )
        return {
            item: self.understand(label, pair_of[item], f"{what}: item {item!r}") if item in pair_of else label
            for item, label in known.items()
        }

    def turn(self, label: str) -> str:
        """Return the label for the other order."""
        return dict(zip(self.sides, reversed(self.sides), strict=True)).get(label, label)

    def understand(self, label: str, pair: Pair, where: str) -> str:
        """Return the side that a label names, or "tie"; empty and unsure labels stay unchanged.

        Raises
        ------
        DataError
            If it is none of these, or could be either side.
        """
        of_each = zip(self.sides, pair, strict=True)  # a field may be named by its path: data.model_a
        named = [side for side, system in of_each if label in (side, side.rpartition(".")[2], system)]
        code, is_declared = self.find_side(label), len({*self.codes.values()}) == 2
        if named and code not in (None, *named) and not is_declared and self.sides != RANKED:
            raise DataError(
                f"{where}: label {label!r} may be a system ({named[0]}) or a side ({code}): if it is the system, use "
                f"{option('first', self.sides[0])} and {option('second', self.sides[1])}; if it is the side, use "
                f"{option('first', pair[1])} and {option('second', pair[0])}"
            )
        if label in self.codes:
            return self.sides[self.codes[label]]
        if len(named) == 2:
            raise DataError(
                f"{where}: label {label!r} names both a column and the system in the other column: rename the column"
            )
        if named or not label:
            return named[0] if named else ""
        if label in self.unsure and label != TIE:
            return label
        is_system = label in self.systems
        if not (is_system or label in self.ties) and (side := self.find_side(label)) is not None:
            return side
        if label in self.ties if self.ties else _TIE.match(label) and not is_system:
            return TIE
        first, second = (f"{system!r} ({side})" for system, side in zip(pair, self.sides, strict=True))
        advice = "correct it"
        if not is_system:
            ties = ",".join((*(self.ties or (TIE,)), label))
            advice = (
                f"for a side use {option('first', label)} or {option('second', label)}, for a tie "
                f"{option('tie', ties)}, for no answer {option('missing', label)}"
            )
        close = nearest(label, (*self.sides, *pair, *self.ties))
        raise DataError(f"{where}: label {label!r} is neither {first} nor {second}, nor a tie: {advice}{close}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparisons:
    """The contents of a table of comparisons.

    Parameters
    ----------
    words : Words
    labels : tuple of str
        The sides and, if there are ties, "tie".
    pair_of : mapping of item to pair
    swapped : array of bool, shape (row,)
        Whether a row has the other order of its item's pair.
    in_both : frozenset of str
        The items that were shown in both orders.
    asked_of : mapping of item to str
        The item column's name of each item, "" without such a column.
    read_as : str
        The contents in words.
    weights : array, shape (row,), or None
        The weight of each comparison, if they come from rankings.
    by : mapping of column to mapping of item to str
        The subset of each item, if a column has them.
    """

    words: Words
    labels: tuple[str, ...]
    pair_of: Mapping[str, Pair]
    swapped: np.ndarray
    in_both: frozenset[str]
    asked_of: Mapping[str, str]
    read_as: str
    weights: np.ndarray | None
    by: Mapping[str, Mapping[str, str]]

    def understand_known(self, known: Mapping[str, str], what: str) -> dict[str, str]:
        """Return known labels of items as sides or ties; see `Words.understand_known`."""
        return self.words.understand_known(known, self.pair_of, self.in_both, what)

    def understand_gold(self, gold: Mapping[str, str], *, from_file: bool) -> dict[str, str]:
        """Return known labels for evaluation as sides or ties; unsure ties are left out with a warning."""
        known = self.understand_known(gold, "gold") if from_file else gold  # in the table they were understood
        kept = {item: label for item, label in known.items() if label != TIE or TIE not in self.words.unsure}
        if len(kept) < len(known):
            n, of = len(known) - len(kept), counted(len(known), "known label")
            warn_names(f"{n:,} of {of} are left out because they are ties, which are declared as unsure")
        return kept

    def put_into(self, answers: NamedAnswers) -> NamedAnswers:
        """Return answers whose items have the two systems as columns."""
        pairs = [self.pair_of[item] for item in answers.items]
        columns = {
            side: Column.of([pair[at] for pair in pairs], self.words.systems)
            for at, side in enumerate(self.words.sides)
        }
        if self.weights is not None:
            of_item, weight = answers.item, self.weights[answers.row]
            total, n = (
                np.bincount(of_item, each, minlength=len(answers.items)) for each in (weight, np.ones(weight.size))
            )
            columns[WEIGHT] = Column.of(total / np.maximum(n, 1))
        for name, cells in self.by.items():
            columns[name] = Column.of([cells.get(item, "") for item in answers.items])
        said = "; ".join(filter(None, (answers.read_as, self.read_as)))
        swapped = self.swapped[answers.row]
        return replace(answers, item_columns=columns, read_as=said, sides=self.words.sides, swapped=swapped)


def read_pairs(
    table: TextTable, options: ReadOptions, weights: np.ndarray | None = None
) -> tuple[TextTable, ReadOptions, Comparisons]:
    """Return a table of comparisons as a long one whose labels are sides, and the options to read it by.

    Comparisons from rankings have weights, (row,).

    Raises
    ------
    DataError
        If a column is missing or plays two roles; if a row lacks a system, or compares one with itself; if a label is
        neither a side nor a tie; or if a pair of systems is an item, and somebody compares it twice.
    """
    if options.baseline is not None:
        cells = [options.baseline] * table.n_rows
        table = replace(table, header=(*table.header, options.sides[1]), columns=(*table.columns, cells))
        options = replace(options, pairs=options.sides, baseline=None)
    systems = [table.need("system", name) for name in options.pairs]
    subset = None if options.by is None else table.need("subset", options.by)
    rest = table.without({subset})
    annotator, label = (rest.need(role, options.roles[role]) for role in ("annotator", "label"))
    gold = None if options.gold_file is not None else table.find("gold", options.gold)
    rest = table if options.item is not None else rest.without({annotator, label, *systems, subset})
    item = rest.find_item(options.item)
    for column in systems:
        check_distinct(table, {"item": item, "annotator": annotator, "label": label, "gold": gold, "pairs": column})
    labelled = (label, gold) if gold is not None else (label,)
    warn_of_unused(table.name, {cell for column in table.columns for cell in column}, options)
    named = [*(drop_codes(table.columns[at], options) for at in systems), *(table.columns[at] for at in labelled)]
    spelt = join_names(named, replace(options, missing=()), options.pairs)
    first, second, *told = ([spelt[name] for name in column] for column in named)
    shown = list(zip(first, second, strict=True))  # (row,)
    words = Words(
        sides=(options.pairs[0], options.pairs[1]),
        systems=tuple(sorted({*first, *second})),
        ties=tuple(options.tie),
        unsure=options.unsure,
        codes=dict.fromkeys(options.first, 0) | dict.fromkeys(options.second, 1),
    )
    _check_pairs(table, shown, words.sides)
    asked = [""] * table.n_rows if item is None else table.columns[item]
    orders = {(one, *pair) for one, pair in zip(asked, shown, strict=True)}
    pairs = [
        pair if (one, *pair[::-1]) not in orders else (min(pair), max(pair))
        for one, pair in zip(asked, shown, strict=True)
    ]  # of items shown in both orders, that of the names
    swapped = np.array([pair != one for pair, one in zip(pairs, shown, strict=True)], dtype=bool)
    columns, ties = dict(enumerate(table.columns)), dict[str, None]()
    for column, cells in zip(labelled, told, strict=True):
        missing = join_names([cells], options)
        said = ["" if missing[cell] == "" else cell for cell in cells]
        each = enumerate(zip(said, shown, strict=True))
        sides = [words.understand(one, pair, table.where(row)) for row, (one, pair) in each]
        columns[column] = [words.turn(side) if turned else side for side, turned in zip(sides, swapped, strict=True)]
        ties |= {one: None for one, side in zip(said, columns[column], strict=True) if side == TIE}
    header = table.header
    if item is None:
        _check_once(table, shown, columns[annotator], columns[label])
        item, header = len(header), (*header, "item")
        columns[item], item_is = [" | ".join(pair) for pair in pairs], "; an item is one pair"
    else:
        columns[item], item_is = _name_items(pairs, asked, header[item])
    known = dict(zip(columns[item], zip(pairs, asked, strict=True), strict=True))
    for row, (name, *own) in enumerate(zip(columns[item], pairs, asked, strict=True)):
        if name and tuple(own) != known[name]:
            raise DataError(f"{table.where(row)}: two items would be named {name!r}: rename systems with ' | '")
    by = {}
    if subset is not None:
        name = table.header[subset]
        by = {name: collect_gold(table, columns[item], table.columns[subset], what=f"values of {name!r}")}
    labels = (*words.sides, *((TIE,) if ties else ()))
    joined = [one for one in ties if one != TIE]
    comparisons = Comparisons(
        words=words,
        labels=labels,
        pair_of={name: pair for name, (pair, _) in known.items()},
        swapped=swapped,
        in_both=frozenset(name for name, turned in zip(columns[item], swapped, strict=True) if turned),
        asked_of={name: one for name, (_, one) in known.items()},
        read_as=f"pairs {words.sides[0]!r} and {words.sides[1]!r} of {counted(len(words.systems), 'system')}"
        f" ({enumerated(words.systems, most=5)})"
        f"{f'; ties are {listed(joined)}' if joined else ''}{item_is}"
        f"{'; they follow from rankings' if weights is not None else ''}"
        f"{f'; {counted(int(swapped.sum()), "row")} in the other order of an item' if swapped.any() else ''}",
        weights=weights,
        by=by,
    )
    used = [item, annotator, label, *([] if gold is None else [gold])]
    names, kept = tuple(header[column] for column in used), tuple(columns[column] for column in used)
    left_out = frozenset(table.list_rest({*used, *systems, subset}))
    long = replace(table, header=names, columns=kept, categories={}, nested=left_out)
    return (
        long,
        replace(options, format="long", item=header[item], pairs=(), first=(), second=(), tie=(), by=None),
        comparisons,
    )


def understand_added(
    data: AnnotationData, table: TextTable, items: Sequence[str], labels: Sequence[str]
) -> tuple[list[str], list[bool]]:
    """Return further answers to comparisons as sides or ties, and whether each is to the other order of its item.

    Raises
    ------
    DataError
        If a label cannot be understood, or a row has an item that is new or compares other systems.
    """
    words, pair_of = _find_words(data)
    columns = [table.columns[table.header.index(side)] for side in data.sides if side in table.header]
    found = [("", False)] * len(labels)
    for row, (item, label) in enumerate(zip(items, labels, strict=True)):
        if not (label and item):
            continue
        if item not in pair_of:
            raise DataError(f"{table.where(row)}: item {item!r} is new: read its answers together with the others")
        shown = (columns[0][row], columns[1][row]) if len(columns) == len(data.sides) else pair_of[item]
        if {*shown} != {*pair_of[item]}:
            raise DataError(f"{table.where(row)}: item {item!r} compares {listed(pair_of[item])}, not {listed(shown)}")
        side, turned = words.understand(label, shown, table.where(row)), shown != pair_of[item]
        found[row] = words.turn(side) if turned else side, turned
    return [label for label, _ in found], [turned for _, turned in found]


def understand_winners(data: AnnotationData, known: Mapping[str, str], what: str) -> dict[str, str]:
    """Return known labels of comparisons that are data already as sides or ties; see `Words.understand_known`."""
    words, pair_of = _find_words(data)
    in_both = {data.items[code] for code in data.item[data.swapped]}
    return words.understand_known(known, pair_of, in_both, what)


def _find_words(data: AnnotationData) -> tuple[Words, dict[str, Pair]]:
    """Return the words of comparisons that are data already, and the pair of each item."""
    first, second = (data.item_columns[side].names for side in data.sides)
    sides, systems = (data.sides[0], data.sides[1]), tuple(sorted({*first, *second}))
    words = Words(sides=sides, systems=systems, ties=(), unsure=data.unsure)
    return words, dict(zip(data.items, zip(first, second, strict=True), strict=True))


def _check_pairs(table: TextTable, pairs: Sequence[Pair], sides: Pair) -> None:
    """Raise a DataError if a row lacks a system, or compares one with itself."""
    for row, (first, second) in enumerate(pairs):
        if not (first and second):
            side = sides[1] if first else sides[0]
            raise DataError(f"{table.where(row)}: {side!r} is missing: fill in the system, or leave the row out")
        if first == second:
            raise DataError(f"{table.where(row)}: {first!r} is compared with itself: correct it, or leave the row out")


def _check_once(table: TextTable, pairs: Sequence[Pair], annotators: Sequence[str], labels: Sequence[str]) -> None:
    """Raise a DataError if an annotator answers a pair in the same order twice, so that it cannot be an item."""
    seen = set()
    for row, (pair, annotator, label) in enumerate(zip(pairs, annotators, labels, strict=True)):
        if label and (pair, annotator) in seen:
            raise DataError(
                f"{table.where(row)}: {annotator!r} compares {pair[0]!r} with {pair[1]!r} again, but without an item "
                f"column each pair is one item: name the column of items with {option('item')}"
            )
        if label:
            seen.add((pair, annotator))


def _name_items(pairs: Sequence[Pair], asked: Sequence[str], column: str) -> tuple[list[str], str]:
    """Return the item of each row, with its pair if the column alone is ambiguous, and then a note in words."""
    pair_of: dict[str, Pair] = {}
    if all(pair_of.setdefault(one, pair) == pair for one, pair in zip(asked, pairs, strict=True) if one):
        return list(asked), ""
    named = [one and f"{one}: {' | '.join(pair)}" for one, pair in zip(asked, pairs, strict=True)]
    return named, f"; an item is one {column!r} with one pair"
