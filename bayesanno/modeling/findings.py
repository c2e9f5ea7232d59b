"""A finding: what was found of data or of a fit, how serious it is, and one thing to do about it.

The invariant: the sentences, levels and thresholds of the package's own findings are in `rules.toml`, each once, and
what to do is in `remedies.toml`, in Python and on the command line. Code measures, and names a rule by its code. A
finding holds both forms of its remedy; a reader sees the form that applies where they are.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib.resources import files
from shlex import quote
from types import MappingProxyType
from typing import Any, Literal, Self, SupportsFloat

from bayesanno._core import messages
from bayesanno._core.messages import as_line, counted, enumerated, spell, warn

Level = Literal["stop", "care", "note"]
LEVELS: tuple[Level, ...] = ("stop", "care", "note")
MOST_NAMED = 4  # names in a message


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What is said when a measure is beyond its threshold: a table of `rules.toml`, which explains its keys."""

    level: Level
    message: str
    measured: str
    why: str
    remedy: str = ""
    do: str = ""
    covers: tuple[str, ...] = ()
    example: Mapping[str, Any] = field(default_factory=dict)
    threshold: float | None = None
    beyond: Literal["above", "below", "from", ""] = ""
    warning: str = ""


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """What to do, in Python and on the command line: a table of `remedies.toml`, which explains its keys."""

    say: str
    python: str
    command: str
    of: Literal["read", "fit", "field", "call"]


@dataclass(frozen=True)
class Finding:
    """Something found of data or of a fit. A model may yield its own, with a code that no rule has.

    Attributes
    ----------
    code : str
    message, remedy : str
        A sentence each: what and how much, and one thing to do, in Python.
    level : {"stop", "care", "note"}
        Do not use the results as they are; read this first; good to know.
    about : tuple of str
        The annotators, items, chains or parameters that it is about.
    value, threshold : float, optional
        What was measured, and what it was compared with.
    warning : str
        The name of the category of its warning; "" if it raises none.
    command : str
        The remedy on the command line, if it differs.

    Examples
    --------
    >>> from bayesanno.modeling.findings import Finding
    >>> Finding("too-few-raters", "Two raters cannot show who is right.", "Ask a third.").text
    'too-few-raters: Two raters cannot show who is right. Ask a third.'
    """

    code: str
    message: str
    remedy: str
    level: Level = "care"
    about: tuple[str, ...] = ()
    value: float | None = None
    threshold: float | None = None
    warning: str = "IdentifiabilityWarning"
    command: str = ""

    @property
    def advice(self) -> str:
        """The remedy, in the language of the reader."""
        return spell(self.remedy, self.command or self.remedy)

    @property
    def text(self) -> str:
        """The finding on one line."""
        return f"{self.code}: {self.message} {self.advice}"

    def to_record(self) -> dict[str, Any]:
        """Return the finding as JSON holds it."""
        return asdict(self) | {"about": list(self.about)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the finding of a record, which a newer version may have written with more keys."""
        known = {one.name: record[one.name] for one in fields(cls) if one.name in record}
        return cls(**known | {"about": tuple(record.get("about", ()))})


MOST_TYPED = 20  # names in a remedy
MOST_WARNINGS = 5  # of a fit


@cache
def read_rules() -> Mapping[str, Rule]:
    """Return the rules by their codes.

    Examples
    --------
    >>> from bayesanno.modeling.findings import read_rules
    >>> read_rules()["rhat"].threshold
    1.01
    """
    return MappingProxyType({code: Rule(**table) for code, table in _read_tables("rules.toml").items()})


@cache
def read_remedies() -> Mapping[str, Remedy]:
    """Return the remedies by their names.

    Examples
    --------
    >>> from bayesanno.modeling.findings import read_remedies
    >>> read_remedies()["recalibrate"].command
    'bayesanno recalibrate DIR --gold gold.csv --out NEW'
    """
    return MappingProxyType({name: Remedy(**table) for name, table in _read_tables("remedies.toml").items()})


def _read_tables(name: str) -> dict[str, Any]:
    return tomllib.loads((files("bayesanno.modeling") / name).read_text(encoding="utf-8"))


def threshold_of(code: str) -> float:
    """Return the threshold of a rule."""
    threshold = read_rules()[code].threshold
    if threshold is None:
        raise ValueError(f"the rule {code} has no threshold")
    return threshold


def find(
    code: str,
    about: Iterable[str] = (),
    value: SupportsFloat | None = None,
    *,
    level: Level | None = None,
    threshold: float | None = None,
    **words: Any,
) -> Finding:
    """Return what was found by a rule.

    Parameters
    ----------
    code : str
        The rule.
    about : iterable of str
        The names that the finding is about.
    value : float, optional
        What was measured.
    level, threshold : optional
        In place of the rule's own.
    **words
        The other values of its templates.

    Examples
    --------
    >>> from bayesanno.modeling.findings import find
    >>> found = find("one-chain", value=1)
    >>> found.message, found.remedy, found.command
    ('One chain has no R-hat, and shows no mode but its own.', 'Fit several chains: chains=4.', 'Fit several chains: \
--chains 4.')
    """
    rule, names = read_rules()[code], tuple(about)
    limit = rule.threshold if threshold is None else threshold
    measured = None if value is None or float(value) != float(value) else float(value)
    words |= {"about": enumerated(names, most=MOST_NAMED), "n_about": len(names), "value": value, "threshold": limit}
    of_python, of_command = _tell(rule, {"names": names, "others": names[1:], **words})
    message = as_line(rule.message.format(**words))
    return Finding(code, message, of_python, level or rule.level, names, measured, limit, rule.warning, of_command)


def _tell(rule: Rule, words: dict[str, Any]) -> tuple[str, str]:
    """Return the remedy of a rule in Python, and on the command line."""
    if not rule.do:
        told = as_line(rule.remedy.format(**words))
        return told, told
    remedy = read_remedies()[rule.do]
    lists = {name: list(value) for name, value in words.items() if isinstance(value, list | tuple)}
    python = remedy.python.format(**words | lists) + (" where data are read" if remedy.of == "read" else "")
    command = remedy.command.format(**words | {name: _type_names(each) for name, each in lists.items()})
    said = rule.remedy or remedy.say
    return as_line(said.format(**words, how=python)), as_line(said.format(**words, how=command))


def _type_names(names: Sequence[object]) -> str:
    """Return names as an option takes them, of very many the first."""
    more = ",..." if len(names) > MOST_TYPED else ""
    return quote(",".join(map(str, names[:MOST_TYPED])) + more)


def check(code: str, value: SupportsFloat | None, about: Iterable[str] = (), **words: Any) -> list[Finding]:
    """Return what `find` does, in a list, if a value is beyond the threshold of its rule; nan is, and None is not.

    Examples
    --------
    >>> from bayesanno.modeling.findings import check
    >>> len(check("bfmi", 0.29)), check("bfmi", 0.3), check("bfmi", None)
    (1, [], [])
    """
    if value is None:
        return []
    number, limit = float(value), threshold_of(code)
    side = read_rules()[code].beyond
    is_within = number <= limit if side == "above" else number >= limit if side == "below" else number < limit
    return [] if is_within else [find(code, about, number, **words)]


def drop_covered(found: Iterable[Finding]) -> list[Finding]:
    """Return findings without those of a cause that another one names.

    Examples
    --------
    >>> from bayesanno.modeling.findings import drop_covered, find
    >>> alone = find("design-one-answer")
    >>> [one.code for one in drop_covered([find("difficulty-one-answer"), alone])]
    ['design-one-answer']
    """
    listed = list(found)
    rules = read_rules()
    covered = {code for one in listed if one.code in rules for code in rules[one.code].covers}
    return [one for one in listed if one.code not in covered]


def sort_findings(found: Iterable[Finding]) -> list[Finding]:
    """Return findings by level, the most serious first; each once."""
    return sorted(dict.fromkeys(found), key=lambda one: LEVELS.index(one.level))


def warn_of(found: Iterable[Finding], *, said: int = 0) -> None:
    """Raise the warnings of findings that have one, the most serious first; one warning counts those beyond a few.

    `said` is how many warnings were raised of the same fit before.
    """
    listed = sort_findings(one for one in found if one.warning)
    most = len(listed) if len(listed) + said <= MOST_WARNINGS else max(MOST_WARNINGS - said - 1, 0)
    for one in listed[:most]:
        warn(one.text, _category_of(one), level=one.level)
    if rest := listed[most:]:
        codes = ", ".join(dict.fromkeys(one.code for one in rest))
        warn(
            f"{counted(len(rest), 'more finding')} ({codes}): see bayesanno.findings(fit)",
            _category_of(rest[0]),
            level=rest[0].level,
        )


def _category_of(one: Finding) -> type[Warning]:
    category: type[Warning] = getattr(messages, one.warning, UserWarning)
    return category
