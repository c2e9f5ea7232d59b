"""Tables of comparisons: each row names two systems, and its label is the better one or a tie.

Such tables come from arenas of language models (model_a, model_b, winner) and from crowds (left, right, label). The
labels of the data are the names of the two columns and, if there are ties, "tie".

The invariant: a label is a side only where it has the name of its column, of its system in that row, or of a side, as A
and B; and an item has one ordered pair of systems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bayesanno.data.item_columns import ItemColumn
from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import counted, listed, nearest
from bayesanno.io.columns import NamedAnswers, check_distinct
from bayesanno.io.names import warn_names
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.spelling import join_names
from bayesanno.io.text_table import TextTable

TIE = "tie"
_CODES = {"a": 0, "1": 0, "left": 0, "first": 0, "b": 1, "2": 1, "right": 1, "second": 1}  # of the sides

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
        The labels that are ties; if there is none here, those that begin with "tie".
    unsure : tuple of str
        Labels that are not classes, which stay unchanged.
    """

    sides: Pair
    systems: tuple[str, ...]
    ties: tuple[str, ...]
    unsure: tuple[str, ...]

    def understand(self, label: str, pair: Pair, where: str) -> str:
        """Return the side that a label names, or "tie"; empty and unsure labels stay unchanged.

        Raises
        ------
        DataError
            If it is none of these, or could be either side.
        """
        of_each = zip(self.sides, pair, strict=True)  # a field may be named by its path: data.model_a
        named = [side for side, system in of_each if label in (side, side.rpartition(".")[2], system)]
        if len(named) == 2:
            raise DataError(
                f"{where}: label {label!r} names both a column and the system in the other column: rename the column"
            )
        if named or not label:
            return named[0] if named else ""
        if label in self.unsure and label != TIE:
            return label
        is_system = label in self.systems
        if label.casefold() in _CODES and not is_system and label not in self.ties:
            return self.sides[_CODES[label.casefold()]]
        if label in self.ties if self.ties else label.casefold().startswith(TIE) and not is_system:
            return TIE
        first, second = (f"{system!r} ({side})" for system, side in zip(pair, self.sides, strict=True))
        advice = "correct it"
        if not is_system:
            advice = f"for a side use same={{{label!r}: ...}}, for a tie tie=..., for a missing answer missing=..."
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
    asked_of : mapping of item to str
        The item column's name of each item, "" without such a column.
    read_as : str
        The contents in words.
    """

    words: Words
    labels: tuple[str, ...]
    pair_of: Mapping[str, Pair]
    asked_of: Mapping[str, str]
    read_as: str

    def understand_known(self, known: Mapping[str, str], what: str) -> dict[str, str]:
        """Return known labels of items as sides or ties; labels of other items stay unchanged."""
        return {
            item: self.words.understand(label, self.pair_of[item], f"{what}: item {item!r}")
            if item in self.pair_of
            else label
            for item, label in known.items()
        }

    def understand_gold(self, gold: Mapping[str, str]) -> dict[str, str]:
        """Return known labels for evaluation as sides or ties; unsure ties are left out with a warning."""
        known = self.understand_known(gold, "gold")
        kept = {item: label for item, label in known.items() if label != TIE or TIE not in self.words.unsure}
        if len(kept) < len(known):
            n, of = len(known) - len(kept), counted(len(known), "known label")
            warn_names(f"{n:,} of {of} are left out because they are ties, which are declared as unsure")
        return kept

    def put_into(self, answers: NamedAnswers) -> NamedAnswers:
        """Return answers whose items have the two systems as columns."""
        pairs = [self.pair_of[item] for item in answers.items]
        columns = {
            side: ItemColumn.of([pair[at] for pair in pairs], self.words.systems)
            for at, side in enumerate(self.words.sides)
        }
        said = "; ".join(filter(None, (answers.read_as, self.read_as)))
        return replace(answers, item_columns=columns, read_as=said)


def read_pairs(table: TextTable, options: ReadOptions) -> tuple[TextTable, ReadOptions, Comparisons]:
    """Return a table of comparisons as a long one whose labels are sides, and the options to read it by.

    Raises
    ------
    DataError
        If a column is missing or plays two roles; if a row lacks a system, or compares one with itself; if a label is
        neither a side nor a tie; or if a pair of systems is an item, and somebody compares it twice.
    """
    item = table.find_item(options.item)
    annotator, label = (table.need(role, options.roles[role]) for role in ("annotator", "label"))
    gold = None if options.gold_file is not None else table.find("gold", options.gold)
    systems = [table.need("system", name) for name in options.pairs]
    for column in systems:
        check_distinct(table, {"item": item, "annotator": annotator, "label": label, "gold": gold, "pairs": column})
    labelled = (label, gold) if gold is not None else (label,)
    named = [table.columns[column] for column in (*systems, *labelled)]
    spelt = join_names(named, replace(options, missing=()), options.pairs)
    first, second, *told = ([spelt[name] for name in column] for column in named)
    pairs = list(zip(first, second, strict=True))  # (row,)
    words = Words(
        sides=(options.pairs[0], options.pairs[1]),
        systems=tuple(sorted({*first, *second})),
        ties=tuple(options.tie),
        unsure=options.unsure,
    )
    _check_pairs(table, pairs, words.sides)
    columns, ties = dict(enumerate(table.columns)), dict[str, None]()
    for column, cells in zip(labelled, told, strict=True):
        missing = join_names([cells], options)
        said = ["" if missing[cell] == "" else cell for cell in cells]
        each = enumerate(zip(said, pairs, strict=True))
        columns[column] = [words.understand(one, pair, table.where(row)) for row, (one, pair) in each]
        ties |= {one: None for one, side in zip(said, columns[column], strict=True) if side == TIE}
    asked, header = [""] * table.n_rows, table.header
    if item is None:
        _check_once(table, pairs, columns[annotator], columns[label])
        item, header = len(header), (*header, "item")
        columns[item], item_is = [" | ".join(pair) for pair in pairs], "; an item is one pair"
    else:
        asked = columns[item]
        columns[item], item_is = _name_items(pairs, asked, header[item])
    known = dict(zip(columns[item], zip(pairs, asked, strict=True), strict=True))
    for row, (name, *own) in enumerate(zip(columns[item], pairs, asked, strict=True)):
        if name and tuple(own) != known[name]:
            raise DataError(f"{table.where(row)}: two items would be named {name!r}: rename systems with ' | '")
    labels = (*words.sides, *((TIE,) if ties else ()))
    joined = [one for one in ties if one != TIE]
    comparisons = Comparisons(
        words=words,
        labels=labels,
        pair_of={name: pair for name, (pair, _) in known.items()},
        asked_of={name: one for name, (_, one) in known.items()},
        read_as=f"pairs {words.sides[0]!r} and {words.sides[1]!r} of {counted(len(words.systems), 'system')}"
        f"{f'; ties are {listed(joined)}' if joined else ''}{item_is}",
    )
    used = [item, annotator, label, *([] if gold is None else [gold])]
    names, kept = tuple(header[column] for column in used), tuple(columns[column] for column in used)
    long = replace(table, header=names, columns=kept, categories={})
    return long, replace(options, format="long", item=header[item], pairs=(), tie=()), comparisons


def _check_pairs(table: TextTable, pairs: Sequence[Pair], sides: Pair) -> None:
    """Raise a DataError if a row lacks a system, or compares one with itself."""
    for row, (first, second) in enumerate(pairs):
        if not (first and second):
            side = sides[1] if first else sides[0]
            raise DataError(f"{table.where(row)}: {side!r} is missing: fill in the system, or leave the row out")
        if first == second:
            raise DataError(f"{table.where(row)}: {first!r} is compared with itself: correct it, or leave the row out")


def _check_once(table: TextTable, pairs: Sequence[Pair], annotators: Sequence[str], labels: Sequence[str]) -> None:
    """Raise a DataError if an annotator answers an ordered pair twice, so that it cannot be an item."""
    seen = set()
    for row, (pair, annotator, label) in enumerate(zip(pairs, annotators, labels, strict=True)):
        if label and (pair, annotator) in seen:
            raise DataError(
                f"{table.where(row)}: {annotator!r} compares {pair[0]!r} with {pair[1]!r} again, but without an item "
                "column each pair is one item: name the column of items with item=..."
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
