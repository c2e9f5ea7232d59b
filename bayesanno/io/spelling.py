"""Join the spellings of a label: those of a number, and those that the options name.

The invariant: without such an option no label changes, except for numbers and codes of missing answers.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal

from bayesanno.data.labelled import is_number
from bayesanno.io.read_options import ReadOptions

MISSING_CODES = (
    "NA", "N/A", "n/a", "na", "#N/A", "<NA>", "NaN", "nan", "None", "null", "NULL", "?", ".", "-1", "-9", "-99", "-999",
    "Na", "N/a", "#n/a", "NAN", "Nan", "NONE", "Null", "N.A.", "n.a.", "N.a.", "#VALUE!", "*", "-", "\u2014",
)  # fmt: skip
# of category Cf, but not the tags of flags
_UNSEEN = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")


def normalize_text(name: str) -> str:
    """Return a name with single spaces, with characters in their usual form, and without those that nobody sees.

    Examples
    --------
    >>> from bayesanno.io.spelling import normalize_text
    >>> normalize_text("very\u00a0  good"), normalize_text("cafe\u0301") == "caf\u00e9"
    ('very good', True)
    """
    return " ".join(_UNSEEN.sub("", unicodedata.normalize("NFKC", name)).split())


def join_spellings(
    columns: Sequence[Sequence[str]], options: ReadOptions, first: Iterable[str] = ()
) -> list[list[str]]:
    """Return columns of labels with one spelling of each, and "" for those that are missing.

    The spelling in `first` is kept, or else the most frequent; of a number the shortest.
    """
    given = list(dict.fromkeys(filter(None, first)))
    written = join_names(columns, options, given)
    numbers = join_numbers({*written.values()}, options, given)
    chosen = {name: numbers.get(label, label) for name, label in written.items()}
    if all(name == label for name, label in chosen.items()):
        return [list(column) for column in columns]
    return [[chosen[name] for name in column] for column in columns]


def drop_codes(names: Sequence[str], options: ReadOptions) -> list[str]:
    """Return names of items, annotators or systems, "" for usual codes of missing ones that options name."""
    gone = {*MISSING_CODES} & {*options.missing}
    return ["" if name in gone else name for name in names] if gone else list(names)


def join_names(columns: Sequence[Sequence[str]], options: ReadOptions, first: Iterable[str] = ()) -> dict[str, str]:
    """Return how each name in some columns is written by the options, "" for those that are missing."""
    if not options.gives("missing", "strip", "ignore_case", "same"):
        return {name: name for name in set[str]().union(*map(set, columns))}
    names = [name for name, _ in Counter(name for column in columns for name in column).most_common()]
    same = {value_of(name, options): label for name, label in options.same.items()}
    missing, kept = {value_of(name, options) for name in options.missing}, dict[str, str]()
    for name in (*first, *same.values(), *names):
        kept.setdefault(_key(name, options), normalize_text(name) if options.strip else name)
    label_of = {name: same.get(value_of(name, options), name) for name in names}
    gone = {name for name, label in label_of.items() if missing & {value_of(name, options), value_of(label, options)}}
    return {name: "" if name in gone else kept[_key(label, options)] for name, label in label_of.items()}


def _key(name: str, options: ReadOptions) -> str:
    name = normalize_text(name) if options.strip else name
    return name.casefold() if options.ignore_case else name


def value_of(name: str, options: ReadOptions) -> str | Decimal:
    """Return what an option that names a label means: a number however it is written, or a text."""
    return Decimal(name) if is_number(name) else _key(name, options)


def join_numbers(names: Iterable[str], options: ReadOptions, first: Sequence[str] = ()) -> Mapping[str, str]:
    """Return how the labels that are numbers are written, if `are_numbers`.

    Numbers in `first` keep their spelling; if two of these are equal, no number is changed.

    Examples
    --------
    >>> from bayesanno.io.read_options import ReadOptions
    >>> from bayesanno.io.spelling import join_numbers
    >>> join_numbers(["1", "1.0", "01", "-0", "0", "2.50"], ReadOptions())
    {'1': '1', '1.0': '1', '01': '1', '-0': '0', '0': '0', '2.50': '2.5'}
    >>> join_numbers(["1", "1.0", "low", "high"], ReadOptions())
    {}
    """
    judged = [name for name in names if name and name not in options.unsure]
    numbers = [name for name in judged if is_number(name)]
    known = {Decimal(name): name for name in first if is_number(name)}
    if not are_numbers(judged) or len(known) < sum(map(is_number, first)):
        return {}
    shortest = dict(known)
    for name in sorted(map(_without_zeros, numbers), key=lambda name: (len(name), name)):
        shortest.setdefault(Decimal(name), name)
    return {name: shortest[Decimal(name)] for name in numbers}


def are_numbers(names: Collection[str]) -> bool:
    """Return whether labels are numbers, apart from missing codes and one other, or a minority with digits as "3-4".

    Examples
    --------
    >>> from bayesanno.io.spelling import are_numbers
    >>> are_numbers(["1", "2", "none"]), are_numbers(["1", "2", "3", "4", "1-2"]), are_numbers(["1", "low", "high"])
    (True, True, False)
    """
    odd = find_odd_numbers(names)
    return len(odd) <= 1 or (2 * len(odd) < len(names) and all(re.search(r"\d", name) for name in odd))


def find_odd_numbers(names: Iterable[str]) -> list[str]:
    """Return the names that are neither numbers nor codes for missing answers."""
    return [name for name in names if not is_number(name) and name not in MISSING_CODES]


def _without_zeros(number: str) -> str:
    """Return a number without a plus, the minus of zero, and zeros at the end of decimals."""
    text = number.removeprefix("+")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
        sign = "-" * text.startswith("-")
        text = f"{sign}{text.removeprefix('-') or '0'}"
    return text.removeprefix("-") if not Decimal(text) else text
