"""Names that may be a mistake: "Yes" and "yes", a misspelling, or a code for a missing answer such as NA.

They are kept, with a warning, unless an option joins them or leaves them out.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from shlex import quote

from bayesanno._core.errors import DataError, NamesWarning, warn
from bayesanno._core.wording import counted, listed, nearest, option, spell
from bayesanno.data.labelled import is_number, read_numbers
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.spelling import MISSING_CODES, are_numbers, find_odd_numbers, normalize_text, value_of
from bayesanno.io.text_rows import SEPARATORS

_BEGIN_NUMBERS = "+-.0123456789"
_DECIMAL = re.compile(r"-?\d+,\d\d?")  # with a comma; "1,000" is a thousand
_BESIDE = {"*": "**", "-": "+"}  # codes that are labels beside others
_SUMS = ("total", "totals", "sum", "grand total")
_MOST_CLASSES = 20  # numeric labels; more are probably points of a scale
_LONG_NAME, _MANY_TIMES = 5, 10  # the least letters of a misspelt name, and how much rarer it is than the right one
_RARE, _FEW = 0.005, 2  # the share of answers under which a label is rare, and the answers that may be slips


def find_alike(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return groups of names that differ only in capitals, spaces, the encoding of accents or the spelling of a number.

    Examples
    --------
    >>> from bayesanno.io.names import find_alike
    >>> find_alike(["yes", "1", "Yes", "no", "1.0"])
    [('yes', 'Yes'), ('1', '1.0')]
    """
    groups = defaultdict(list)
    for name in dict.fromkeys(names):
        groups[normalize_name(name)].append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def normalize_name(name: str) -> str | float:
    """Return the common form of names that differ only in spelling: a number, or text in lower case.

    Examples
    --------
    >>> from bayesanno.io.names import normalize_name
    >>> normalize_name("Yes "), normalize_name("1.0"), normalize_name("01")
    ('yes', 1.0, 1.0)
    """
    text = name.lower() if name.isascii() and " " not in name else normalize_text(name).casefold()
    if text[:1] not in _BEGIN_NUMBERS:
        return text
    number = text.replace(",", ".") if _DECIMAL.fullmatch(text) else text
    return float(number) if is_number(number) else text


def warn_names(message: str) -> None:
    """Warn of names that may be a mistake."""
    warn(message, NamesWarning)


def warn_of_alike(table: str, **names: Iterable[str]) -> bool:
    """Warn of names that differ only in spelling, by what they name; return whether there are any."""
    found = explain_alike(**names)
    for said in found:
        warn_names(f"{table}: {said}")
    return bool(found)


def warn_of_unused(table: str, answers: Iterable[str], options: ReadOptions) -> None:
    """Warn of spellings and codes of missing answers that options name, but no answer and no other file may have."""
    named = [*(("same", code) for code in options.same), *(("missing", code) for code in options.missing)]
    if named and options.gold_file is None and not options.controls:
        said = {*answers, *options.same.values()}
        found = {value_of(name, options) for name in said}
        for role, code in named:
            if value_of(code, options) not in found:
                close = nearest(code, said) if role == "same" else ""
                warn_names(f"{table}: {option(role)} names {code!r}, which is no answer here{close}")


def warn_of_doubtful_names(table: str, *, quoted: bool, **names: Iterable[str]) -> None:
    """Warn of names of items and others that may stand for a missing one, or for a sum, by what they name.

    Where cells can be `quoted`, names with a line break may be rows; but items may be texts, unless only one has a line
    break.
    """
    for what, several in names.items():
        given = {*several}
        rows = [name for name in given if "\n" in name and any(mark in name for mark in SEPARATORS)]
        if quoted and rows and (what != "items" or len(rows) == 1):
            why = "a stray quote may have joined rows: if so, delete the quote"
            warn_names(f"{table}: there are line breaks in {what}, {listed(rows)}, so {why}")
        odd = [*find_missing_codes(given), *sorted(name for name in given if name.casefold() in _SUMS)]
        if odd and what != "labels":
            why = "may stand for missing ones, or for sums: if so, name them, or leave their answers out"
            warn_names(f"{table}: the {what} {listed(odd)} {why}")


def warn_of_strange_gold(table: str, gold: Mapping[str, str], labels: Sequence[str]) -> None:
    """Warn of true labels that are no labels: another column may be meant if all are."""
    strange = sorted(set(gold.values()) - {*labels, *MISSING_CODES})
    if strange and not set(gold.values()) & set(labels):
        warn_names(
            f"{table}: none of the true labels {listed(strange)} is among the labels {listed(labels)}, so all count "
            f"as errors: name the column of labels with {option('label')}, or the column of true labels with "
            f"{option('gold')}"
        )
        return
    if strange:
        n, close = sum(map(strange.__contains__, gold.values())), [nearest(label, labels) for label in strange]
        what = f"{listed(strange)} ({counted(n, 'item')}) among the true labels are no labels"
        warn_names(f"{table}: {what}, so no answer to these is right{next(filter(None, close), '')}")


def warn_of_scale(table: str, labels: Sequence[str]) -> None:
    """Warn of many numeric labels, which may be points of a scale; a model treats each as a class."""
    if len(labels) > _MOST_CLASSES and read_numbers(labels) is not None:
        warn_names(
            f"{table}: the {len(labels)} labels are numbers, and each counts as a class: if they are points on a "
            "scale, group them into at most a dozen grades, for ordinal_dawid_skene (no model takes continuous "
            f"ratings); if they are classes, declare them with {option('labels')}"
        )


def explain_alike(**names: Iterable[str]) -> list[str]:
    """Return a message for each kind of name with names that differ only in spelling.

    Examples
    --------
    >>> from bayesanno.io.names import explain_alike
    >>> explain_alike(labels=["yes", "Yes", "no"], annotators=["ada", "bo"])
    ["'yes' and 'Yes' are different labels; make the spelling identical, or use ignore_case=True"]
    """
    said = []
    for what, several in names.items():
        found = find_alike(several)
        if found:
            first, second = found[0][:2]
            others = sum(len(group) for group in found) - 2
            more = f" ({counted(others, 'more case')})" if others else ""
            options = "".join(f", or use {one}" for one in [_find_options(found)] if one and what == "labels")
            said.append(f"{first!r} and {second!r} are different {what}{more}; make the spelling identical{options}")
    return said


def _find_options(alike: Iterable[Sequence[str]]) -> str:
    """Return the options that join spellings, or "" if none does, as for numbers."""
    needed: set[str] = set()
    for first, *others in alike:
        for other in others:
            if normalize_text(first).casefold() != normalize_text(other).casefold():
                continue
            needed |= {option("ignore_case", True)} if normalize_text(first) != normalize_text(other) else set()
            needed |= {option("strip", True)} if first.casefold() != other.casefold() else set()
    return " and ".join(sorted(needed))


def _option_same(same: Mapping[str, str | None]) -> str:
    """Return the option that reads some labels as others; None stands for another that the user knows."""
    pairs = [(name, right or "...") for name, right in same.items()]
    in_python = ", ".join(f"{name!r}: {right if right == '...' else repr(right)}" for name, right in pairs)
    return spell(f"same={{{in_python}}}", " ".join(f"--same {quote(f'{name}={right}')}" for name, right in pairs))


def warn_of_odd_number(table: str, answers: Iterable[str], unsure: Collection[str] = ()) -> None:
    """Warn of a label that is no number, or of a few, if all others are."""
    count = Counter(answers)
    judged = [name for name in count if name not in MISSING_CODES and name not in unsure]
    odd = find_odd_numbers(judged)
    if odd and all(map(_DECIMAL.fullmatch, odd)) and not find_alike(count):
        same = {name: name.replace(",", ".") for name in odd}
        warn_names(
            f"{table}: {listed(odd)} may be numbers with a decimal comma, but are texts: if so, use "
            f"{_option_same(same)}"
        )
    elif odd and len(judged) > 2 and are_numbers(judged):
        n = counted(sum(count[name] for name in odd), "answer")
        what = f"{listed(odd)} are no numbers ({n}): if they are no labels"
        if len(odd) == 1:
            what = f"{odd[0]!r} is the only label that is no number ({n}): if it is no label"
        warn_names(
            f"{table}: {what}, use {option('missing', ','.join(odd))}; if not, declare all labels with "
            f"{option('labels')}"
        )


def warn_of_rare(table: str, answers: Iterable[str]) -> None:
    """Warn of rare labels that are a letter away from a frequent one, or have one or two answers of very many."""
    count = Counter(answers)
    total, near = count.total(), dict[str, str]()
    few = [name for name, n in count.items() if n <= _FEW and n < _RARE * total]
    if len(few) > max(_FEW, len(count) / 2):  # such as texts
        few = []
    numbers = all(map(is_number, count))
    for name, n in count.items():
        is_long = len(name) >= _LONG_NAME and name.isalpha()
        often = [other for other, m in count.items() if m >= _MANY_TIMES * n and _is_a_letter_away(name, other)]
        often = [other for other in often if n < _RARE * total or (is_long and other[:1] == name[:1])]
        if often and not numbers:
            near[name] = max(often, key=lambda other: count[other])
    for name in (*near, *(name for name in few if name not in near)):
        right = near.get(name)
        what = f"may be a misspelling of {right!r} ({count[right]:,})" if right else "is rare"
        warn_names(
            f"{table}: label {name!r} ({counted(count[name], 'answer')}) {what}: if it is another label, use "
            f"{_option_same({name: right})}; if it is no label, use {option('missing', name)}; if it is right, "
            f"declare all labels with {option('labels')}"
        )


def _is_a_letter_away(one: str, other: str) -> bool:
    """Return whether two names differ in one letter: left out, put in, another one, or two that changed places."""
    short, long = sorted((one, other), key=len)
    if len(long) < 2 or len(long) > len(short) + 1:  # single letters have nothing in common
        return False
    at = next((at for at, pair in enumerate(zip(short, long, strict=False)) if pair[0] != pair[1]), len(short))
    rest, longer = short[at:], long[at:]
    if len(short) < len(long):
        return rest == longer[1:]
    return rest[1:] == longer[1:] or (rest[2:] == longer[2:] and rest[:2] == longer[1::-1])


def find_missing_codes(labels: Collection[str]) -> list[str]:
    """Return the labels that may stand for a missing answer; not -1 if another is negative, or the only other is 1.

    Examples
    --------
    >>> from bayesanno.io.names import find_missing_codes
    >>> find_missing_codes(["yes", "no", "NA"]), find_missing_codes(["-1", "0", "1"]), find_missing_codes(["-1", "1"])
    (['NA'], ['-1'], [])
    """
    found = [code for code in MISSING_CODES if code in labels and _BESIDE.get(code) not in labels]
    others = read_numbers([label for label in labels if label not in found]) if found else None
    if others is not None and (others.size == 0 or others.min() < 0 or others.tolist() == [1]):
        found = [code for code in found if not is_number(code)]
    return found


def warn_of_missing_codes(table: str, answers: Iterable[str], gold: Mapping[str, str]) -> None:
    """Warn of answers and known labels that may stand for missing ones."""
    count = Counter(answers)
    found = find_missing_codes(count)
    if found:
        n, total = sum(count[code] for code in found), sum(count.values())
        warn_names(
            f"{table}: {listed(found)} may stand for missing answers, but count as labels ({n:,} of "
            f"{counted(total, 'answer')}): if so, use {option('missing', ','.join(found))}; if not, declare them "
            f"with {option('labels')}"
        )
    known = [code for code in find_missing_codes({*gold.values(), *count}) if code not in found]
    if known:
        warn_names(
            f"{table}: {listed(known)} may stand for missing known labels: if so, use "
            f"{option('missing', ','.join(known))}"
        )


def refuse_label(place: str, label: str, labels: Sequence[str], *, item: str = "", advice: str = "") -> DataError:
    """Return the error that a label is not declared; it may stand for a missing answer."""
    if label in MISSING_CODES:
        advice = f"; if it stands for a missing answer, use {option('missing', label)}{advice}"
    name = f"{place}: label {label!r}" + (f" of item {item!r}" if item else "")
    return DataError(f"{name} is not among the declared labels, {listed(labels)}{nearest(label, labels)}{advice}")
