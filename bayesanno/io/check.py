"""What looks like a mistake in a long table, but may be right: a table of doubts; spellings are joined here, too.

The invariant: without such an option no label changes.

The invariant: sentences and levels are in `doubts.toml`, each once; a name has one doubt, the one that explains most.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from importlib.resources import files
from shlex import quote
from typing import Any, Self

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, as_line, counted, enumerated, listed, nearest, option, spell
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.described import split_dimensions
from bayesanno.data.frame import TIE, as_text, find_faults, place_of
from bayesanno.data.labelled import ANYONE, MISSING_CODES, SCALES, is_number, read_numbers, spell_numbers
from bayesanno.io.comparisons import CODES
from bayesanno.io.names import split_names
from bayesanno.io.paths import parse_cell


@dataclass(frozen=True)
class Spelling:
    """How labels are spelt: codes of missing ones, joined spellings, labels read as others, and spellings to keep."""

    missing: tuple[str, ...] = ()
    strip: bool = False
    ignore_case: bool = False
    same: Mapping[str, str] = field(default_factory=dict)
    first: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any], first: Sequence[str] = ()) -> Self:
        """Return the spelling that options ask for.

        Raises
        ------
        DataError
            If labels are not mapped to labels, or one is to be written as two.
        """
        same = given.get("same", {})
        if not isinstance(same, Mapping):
            raise DataError(f"same is {same!r}, but must map labels to labels, as in same={{'y': 'yes'}}")
        same = {str(one).strip(): str(other).strip() for one, other in same.items()}
        twice = next((one for one, other in same.items() if other in same or not (one and other)), None)
        if twice is not None:
            raise DataError(f"same: {twice!r} is to be written as {same[twice]!r}, which is empty or to be written "
                            "otherwise: "
                            "name the label that is kept")  # fmt: skip
        flags = {name: bool(given.get(name, False)) for name in ("strip", "ignore_case")}
        return cls(missing=tuple(split_names(given.get("missing"))), same=same, first=tuple(first), **flags)

    def join(self, columns: Sequence[pd.Series[str]]) -> dict[str, str]:
        """Return how each name in some columns is written, of those that are written otherwise; "" if it is missing."""
        if not (self.missing or self.strip or self.ignore_case or self.same):
            return {}
        counts = pd.concat([column[column != ""] for column in columns]).value_counts()
        names = [str(name) for name in counts.index]
        same, kept = {self._value(one): other for one, other in self.same.items()}, dict[str, str]()
        for name in (*self.first, *self.same.values(), *names):
            kept.setdefault(self._key(name), normalize_text(name) if self.strip else name)
        gone, written = {*map(self._value, self.missing)}, dict[str, str]()
        for name in names:
            label = same.get(self._value(name), name)
            written[name] = "" if gone & {self._value(name), self._value(label)} else kept[self._key(label)]
        return {name: label for name, label in written.items() if name != label}

    def spell(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a long table with labels as they are written, without codes of missing items and annotators."""
        roles = [role for role in ("label", "gold", "control") if role in table]
        attrs = table.attrs
        sides = {*attrs.get("sides", ())}
        written = self.join([as_text(table[role]) for role in roles]) if not sides else {}
        codes = {*MISSING_CODES} & {*self.missing}
        for role in roles if written else ():
            table = table.assign(**{role: as_text(table[role]).replace(written)})
        for role in ("item", "annotator") if codes else ():
            table = table.assign(**{role: table[role].where(~table[role].isin(codes), "")})
        table.attrs |= attrs
        return table

    def _key(self, name: str) -> str:
        name = normalize_text(name) if self.strip else name
        return name.casefold() if self.ignore_case else name

    def _value(self, name: str) -> str | Decimal:
        """Return what an option that names a label means: a number however it is written, or a text."""
        return Decimal(name) if is_number(name) else self._key(name)


LEVELS = ("stop", "care", "note")
_BESIDE = {"*": "**", "-": "+"}  # codes that are labels beside others
_SUMS = ("total", "totals", "sum", "grand total")
_DECIMAL = re.compile(r"-?\d+,\d\d?")  # with a comma; "1,000" is a thousand
_PRINTED = re.compile(r"""\[\s*(?:(?:'[^']*'|"[^"]*"|-?[\d.]+)\s+)+(?:'[^']*'|"[^"]*"|-?[\d.]+)\s*\]""")  # by NumPy
_MANY_TIMES = 10  # how much rarer a misspelt label is than the right one
_SHORT_WORD, _LONG_WORD = 3, 5  # the least letters of a word that may be misspelt, and of one that has few like it
_RARE = 0.005  # the share of answers under which a label is very rare
_SAME = 0.9  # if more than this share of repeated answers keep the label, rows may be duplicates by mistake
_FEW_LABELS = 10  # that may each be given once
_NAMED = 4  # names in a message
# of category Cf, but not the tags of flags
_UNSEEN = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")

_OPTIONS = ("labels", "label", "gold", "order", "without", "missing", "columns")  # that remedies name

type Doubt = tuple[str, Sequence[str], int, dict[str, Any]]  # its code, the names, how much, and other words


@cache
def read_doubts() -> Mapping[str, Mapping[str, str]]:
    """Return the rules by their codes.

    Examples
    --------
    >>> from bayesanno.io.check import read_doubts
    >>> read_doubts()["typo"]["level"]
    'care'
    """
    return tomllib.loads((files("bayesanno.io") / "doubts.toml").read_text(encoding="utf-8"))


def check_table(frame: pd.DataFrame, *, labels: Sequence[str] | None = None) -> pd.DataFrame:
    """List what looks like a mistake in a long table, the gravest first; nothing is changed.

    Parameters
    ----------
    frame : DataFrame
        A long table, as `read_table` makes it.
    labels : sequence of str, optional
        Declared labels, which are not doubted.

    Returns
    -------
    DataFrame
        `code`, `level` ("stop", "care", "note"), `about` (names), `n` (rows, answers or items), `message` and `remedy`.
        `read_annotations` refuses a table with a doubt of level "stop", and warns of the others.

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesanno as ba
    >>> said = pd.DataFrame({"item": ["s1", "s1"], "annotator": ["ada", "bo"], "label": ["joy", "JOY"]})
    >>> ba.check_table(said)[["code", "message"]].iloc[0].tolist()
    ['spelling', "'joy' and 'JOY' are different labels."]
    """
    roles = [role for role in ("item", "annotator", "label", "gold", "control") if role in frame]
    table = pd.DataFrame({role: as_text(frame[role]) for role in roles}).reset_index(drop=True)
    answers: Any = table["label"][table["label"] != ""].value_counts(sort=False)
    golds = [name for name in table["gold"].unique() if name] if "gold" in table else []
    known = table.drop(columns=["gold", "control"], errors="ignore") if frame.attrs.get("sides") else table
    faults = find_faults(frame, {str(role): cells for role, cells in known.items()})
    found: list[Doubt] = [(code, [], len(rows), {"where": said}) for code, rows, said in faults]
    found += [*_doubt_labels(frame, table, answers, golds, labels), *_doubt_names(frame, table)]
    found += _doubt_repeats(frame, table)
    rows = [_write(*one) for one in found]
    made = pd.DataFrame(rows, columns=["code", "level", "about", "n", "message", "remedy"])
    made.attrs["ways"] = {code: words["ways"] for code, *_, words in found if "ways" in words}
    return made.sort_values("level", key=lambda levels: levels.map(LEVELS.index), kind="stable", ignore_index=True)


def _write(code: str, about: Sequence[str], n: int, words: Mapping[str, Any]) -> tuple[Any, ...]:
    rule = read_doubts()[code]
    known = {f"option_{name}": option(name) for name in _OPTIONS}
    shown = enumerated(about, most=_NAMED) if code in ("orders", "contradiction") else listed(about, most=_NAMED)
    known |= {"about": " and ".join(map(repr, about[:2])) if code == "spelling" else shown, "n": f"{n:,}", **words}
    message, remedy = (as_line(rule[part].format(**known)) for part in ("message", "remedy"))
    return code, rule["level"], tuple(about), n, message.replace("1 answers", "1 answer"), remedy


def normalize_text(name: str) -> str:
    """Return a name with single spaces, with characters in their usual form, and without those that nobody sees.

    Examples
    --------
    >>> from bayesanno.io.check import normalize_text
    >>> normalize_text("very\u00a0  good"), normalize_text("cafe\u0301") == "caf\u00e9"
    ('very good', True)
    """
    return " ".join(_UNSEEN.sub("", unicodedata.normalize("NFKC", name)).split())


def find_alike(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return groups of names that differ only in capitals, spaces, the encoding of accents or the spelling of a number.

    Examples
    --------
    >>> from bayesanno.io.check import find_alike
    >>> find_alike(["yes", "1", "Yes", "no", "1.0"])
    [('yes', 'Yes'), ('1', '1.0')]
    """
    groups = defaultdict(list)
    for name in dict.fromkeys(names):
        text = name.lower() if name.isascii() and " " not in name else normalize_text(name).casefold()
        number = text.replace(",", ".") if _DECIMAL.fullmatch(text) else text
        groups[float(number) if is_number(number) else text].append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def doubt_names(*, labels: Mapping[str, int], annotators: Iterable[str]) -> list[str]:
    """Return what is doubted of labels, with their numbers of answers, and of annotators, without a long table."""
    table = pd.DataFrame({role: pd.Series([], dtype="str") for role in ("item", "annotator", "label")})
    people = pd.DataFrame({"item": "", "label": "", "annotator": pd.Series([*annotators], dtype="str")})
    found = [*_doubt_labels(table, table, dict(labels), [], None), *_doubt_names(people, people)]
    return [f"{code}: {message} {remedy}" for code, *_, message, remedy in (_write(*one) for one in found)]


def doubt_data(data: Any) -> list[str]:
    """Return what is doubted of the names in data, as when they were read; of labels only if they are not declared."""
    labels, annotators = Counter[str](), set[str]()
    for table in split_dimensions(data).values():
        annotators |= {*getattr(table, "annotators", ())}
        if isinstance(table, AnnotationData) and not table.order_declared:
            n = np.bincount(table.label, minlength=table.n_labels).tolist()
            labels += Counter(dict(zip(table.labels, n, strict=True)))
    return doubt_names(labels=labels, annotators=sorted(annotators))


def _doubt_spelling(what: str, names: Iterable[str]) -> Iterator[Doubt]:
    groups = find_alike(names)
    if not groups:
        return
    others = len(groups) - 1
    joined = set[str]()
    for one, *rest in groups:
        for other in rest:
            if normalize_text(one).casefold() == normalize_text(other).casefold():
                joined |= {option("ignore_case", True)} if normalize_text(one) != normalize_text(other) else set()
                joined |= {option("strip", True)} if one.casefold() != other.casefold() else set()
    how = f", or use {' and '.join(sorted(joined))}" if joined and what == "labels" else ""
    more = f" ({counted(others, 'more case')})" if others else ""
    yield ("spelling", [name for group in groups for name in group], len(groups),
           {"what": what, "more": more, "how": f"Make the spelling identical{how}"})  # fmt: skip


def _doubt_labels(
    frame: pd.DataFrame,
    table: pd.DataFrame,
    answers: Any,
    golds: Sequence[str],
    declared: Sequence[str] | None,
) -> Iterator[Doubt]:
    """Yield what is doubted of labels, each of them once; of declared ones nothing but true labels that are none."""
    count = {str(name): int(n) for name, n in answers.items()}
    if declared is None:
        first = table[table["label"] != ""].drop_duplicates("label").set_index("label")["annotator"].to_dict()
        several = find_several({str(name): str(who) for name, who in first.items()}) if len(table) else None
        if several is not None:
            label, mark, who = *several, str(first[several[0]])
            apart = option("split", mark) if mark else ""
            beside = mark and who.count(mark) == label.count(mark)
            both = apart if beside else " and ".join(filter(None, [option("multi_label", True), apart]))
            at = int((table["label"] == label).to_numpy().argmax())
            ways = [{"split": mark}] if beside else [{"multi_label": True} | ({"split": mark} if mark else {})]
            words = {"where": f"{place_of(frame, at)}: ", "option_several": both, "ways": ways}
            yield "several-labels", [label], count[label], words
        codes = find_missing_codes(count)
        if codes:
            yield ("missing-code", codes, sum(count[code] for code in codes),
                   {"option_missing": option("missing", ",".join(codes))})  # fmt: skip
        numbers = spell_numbers([*count, *golds])
        spelt = [one for one in dict.fromkeys(numbers.get(name, name) for name in (*count, *golds)) if one not in codes]
        alike = list(_doubt_spelling("labels", spelt))
        yield from alike
        known = {*codes, *(name for _, about, *_ in alike for name in about)}
        if are_no_labels(table) and not frame.attrs.get("sides"):
            yield "no-labels", list(count), len(count), {"answers": f"{sum(count.values()):,}"}
            known |= {*count}
        commas = [name for name in count if _DECIMAL.fullmatch(name) and name not in known]
        if commas and all(is_number(name) or name in commas for name in count):
            same = {name: name.replace(",", ".") for name in commas}
            yield "decimal-comma", commas, len(commas), {"option_same": _option_same(same)}
            known |= {*commas}
        for name, right in _find_typos({name: n for name, n in count.items() if name not in known}).items():
            yield ("typo", [name], count[name], {"right": repr(right), "often": f"{count[right]:,}",
                   "option_same": _option_same({name: right}), "option_missing": option("missing", name)})  # fmt: skip
        of_gold = [code for code in find_missing_codes({*golds, *count}) if code in golds and code not in codes]
        if of_gold:
            yield "missing-gold", of_gold, len(of_gold), {"option_missing": option("missing", ",".join(of_gold))}
    else:
        alike, of_gold = [], []
    labels = list(declared) if declared is not None else list(count)
    written = spell_numbers([*labels, *golds], (), declared)
    names = {*(written.get(name, name) for name in labels), *frame.attrs.get("sides", ()), TIE}
    strange = sorted({name for name in golds if written.get(name, name) not in names} - {*MISSING_CODES})
    if strange and not (alike and {*strange} <= {name for _, about, *_ in alike for name in about}):
        odd = table["gold"].isin(strange)
        close = next(filter(None, (nearest(one, labels) for one in strange)), "").rstrip("?")
        words = {"of": "is no label" if len(strange) == 1 else "are no labels", "close": close}
        yield "strange-gold", strange, table["item"][odd].nunique(), words


def are_no_labels(table: pd.DataFrame) -> bool:
    """Return whether the labels of a long table look like texts, ids or the annotators' names, which are no labels.

    Labels repeat: half of the answers do not have a label of their own.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesanno.io.check import are_no_labels
    >>> answers = pd.DataFrame({"annotator": ["ada", "bo"] * 10, "label": ["yes", "no", "no", "yes"] * 5})
    >>> are_no_labels(answers), are_no_labels(answers.assign(label=[f"text {n}" for n in range(20)]))
    (False, True)
    """
    given = table[table["label"] != ""]
    distinct, people = {*given["label"]}, {*given["annotator"]}
    are_names = len(distinct) > 1 and distinct <= people and not any(map(is_number, distinct))
    return are_names or len(distinct) > max(_FEW_LABELS, len(given) / 2)


def _doubt_names(frame: pd.DataFrame, table: pd.DataFrame) -> Iterator[Doubt]:
    """Yield what is doubted of annotators, items and systems."""
    people, items = ([name for name in table[role].unique() if name] for role in ("annotator", "item"))
    systems = {
        name for side in frame.attrs.get("sides", ()) if side in frame for name in as_text(frame[side]).unique() if name
    }
    yield from _doubt_spelling("annotators", people)
    yield from _doubt_spelling("items", _find_doubtful(table, items))
    yield from _doubt_spelling("systems", systems)
    if odd := [name for name in frame.attrs.get("odd", ()) if name in people]:
        read_as = "is read as an annotator" if len(odd) == 1 else "are read as annotators"
        yield "column-name", odd, len(odd), {"read": read_as}
    for what, names in (("annotators", people), ("items", items), ("systems", sorted(systems))):
        odd = [*find_missing_codes(names), *(name for name in names if name.casefold() in _SUMS)]
        if odd:
            yield "nameless", odd, len(odd), {"what": what}


def _find_doubtful(table: pd.DataFrame, items: Sequence[str]) -> list[str]:
    """Return the items whose names differ in spelling alone, and which no annotator has answered both."""
    doubtful: list[str] = []
    for group in find_alike(items):
        said = table[table["item"].isin(group) & (table["label"] != "")][["item", "annotator"]].drop_duplicates()
        if said["item"].nunique() == len(group) and not said["annotator"].duplicated().any():
            doubtful += group
    return doubtful


def _doubt_repeats(frame: pd.DataFrame, table: pd.DataFrame) -> Iterator[Doubt]:
    """Yield who answers items again, and with which label."""
    sides = [side for side in frame.attrs.get("sides", ()) if side in frame]
    said = table.loc[table["label"] != "", ["item", "annotator", "label"]]
    said = said.assign(**{f"side {at}": as_text(frame[side]).to_numpy()[said.index] for at, side in enumerate(sides)})
    key = [name for name in said.columns if name != "label"]
    said = said[said.duplicated(key, keep=False)]
    if said.empty or {*said["annotator"]} == {ANYONE}:
        return
    groups = said.groupby(key, sort=False)["label"]
    differ = groups.nunique() > 1
    n_again = int((groups.size() - 1).sum())
    same = said.duplicated([*key, "label"])
    if differ.any():
        times = differ[differ].groupby("annotator").size().sort_values(ascending=False, kind="stable")
        about = [f"{name} ({n:,})" for name, n in times.items()]
        opposite = bool(sides) or {*said["label"].str.casefold()} <= {*CODES, TIE}
        most = bool(differ.mean() > 0.5) and len(differ) > 1 and opposite
        yield "orders" if most else "contradiction", about, int(differ.sum()), {}
    if same.sum() > _SAME * n_again:
        yield (
            "duplicates",
            [],
            int(same.sum()),
            {"where": place_of(frame, int(same[same].index[0])).removeprefix(f"{frame.attrs.get('name')}, ")},
        )


def find_missing_codes(labels: Collection[str]) -> list[str]:
    """Return the labels that may stand for a missing answer; not -1 if another is negative, or the only other is 1.

    Examples
    --------
    >>> from bayesanno.io.check import find_missing_codes
    >>> find_missing_codes(["yes", "no", "NA"]), find_missing_codes(["-1", "0", "1"]), find_missing_codes(["-1", "1"])
    (['NA'], ['-1'], [])
    """
    found = [code for code in MISSING_CODES if code in labels and _BESIDE.get(code) not in labels]
    others = read_numbers([label for label in labels if label not in found]) if found else None
    if others is not None and (others.size == 0 or others.min() < 0 or others.tolist() == [1]):
        found = [code for code in found if not is_number(code)]
    return found


def _option_same(same: Mapping[str, str]) -> str:
    in_python = ", ".join(f"{name!r}: {right!r}" for name, right in same.items())
    return spell(f"same={{{in_python}}}", " ".join(f"--same {quote(f'{one}={other}')}" for one, other in same.items()))


def _find_typos(count: Mapping[str, int]) -> dict[str, str]:
    """Return labels that look like a misspelling of another with ten times as many answers or more, each with that.

    They differ by one letter in a word of three letters or more, after its first letter. Another letter in a short word
    is another word, as in cat and car, unless its label is very rare. Numbers, codes such as B-PER and NNP, and words
    of known scales are no misspellings.
    """
    if all(map(is_number, count)) or len(count) > 2000:
        return {}
    total, near, meant = sum(count.values()), dict[str, str](), {word for scale in SCALES for word in scale}
    for name, n in count.items():
        if name.casefold() in meant:
            continue
        often = [other for other, m in count.items() if m >= _MANY_TIMES * n and _is_misspelt(name, other, n / total)]
        if often:
            near[name] = max(often, key=count.__getitem__)
    return near


def _is_misspelt(name: str, right: str, share: float) -> bool:
    """Return whether a name, with this share of the answers, has one word that may be misspelt for another name's."""
    words, others = (re.split(r"[\W_]+", one) for one in (name, right))
    differing = [pair for pair in zip(words, others, strict=False) if pair[0] != pair[1]]
    if len(words) != len(others) or len(differing) != 1:
        return False
    word, other = differing[0]
    shorter = min(word, other, key=len)
    is_word = word.isalpha() and other.isalpha() and len(shorter) >= _SHORT_WORD
    if not is_word or not _is_a_letter_away(word, other):
        return False
    if len(shorter) < _LONG_WORD and (other.isupper() or (len(word) == len(other) and sorted(word) != sorted(other))):
        return share < _RARE and not other.isupper()
    return word[0] == other[0] or share < _RARE


def _is_a_letter_away(one: str, other: str) -> bool:
    """Return whether two words differ in one letter: left out, put in, another one, or two that changed places."""
    short, long = sorted((one, other), key=len)
    if len(long) > len(short) + 1:
        return False
    at = next((at for at, pair in enumerate(zip(short, long, strict=False)) if pair[0] != pair[1]), len(short))
    rest, longer = short[at:], long[at:]
    if len(short) < len(long):
        return rest == longer[1:]
    return rest[1:] == longer[1:] or (rest[2:] == longer[2:] and rest[:2] == longer[1::-1])


def find_several(given: Mapping[str, str]) -> tuple[str, str] | None:
    """Return a label that seems to be several in one cell, and their separator, "" for a list or an object.

    `given` maps each label to an annotator. Labels are several if one has a part twice, if all parts of one are also
    parts of others, or if annotators have as many parts.

    Examples
    --------
    >>> from bayesanno.io.check import find_several
    >>> find_several({"['joy']": "ada"}), find_several({"0,1": "ada,bo"}), find_several({"0|1|0": "ada"})
    (("['joy']", ''), ('0,1', ','), ('0|1|0', '|'))
    >>> find_several(dict.fromkeys(("joy", "joy;anger", "anger"), "ada"))
    ('joy;anger', ';')
    >>> find_several(dict.fromkeys(("yes, but", "yes", "2,5", "2,2"), "ada"))
    """
    lists = (name for name in given if name[:1] in ("[", "{"))
    as_list = next((name for name in lists if _PRINTED.fullmatch(name) or not isinstance(parse_cell(name), str)), None)
    if as_list is not None:
        return as_list, ""
    for mark in ",|;":
        parts = {name: [part.strip() for part in name.split(mark) if part.strip()] for name in given if mark in name}
        several = [name for name in parts if len(parts[name]) > 1]
        plain = [name for name in several if not re.fullmatch("[0-9]+,[0-9]+", name)]
        times = defaultdict[str, int](int)
        for name in given:
            for part in parts.get(name, [name]):
                times[part] += 1
        twice = any(len(set(parts[name])) < len(parts[name]) for name in plain)
        elsewhere = any(all(times[part] > 1 for part in parts[name]) for name in plain)
        if several and (twice or elsewhere or all(given[name].count(mark) == name.count(mark) for name in several)):
            return several[0], mark
    return None
