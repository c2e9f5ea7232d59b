"""A finding: what was found of data or of a fit, how serious it is, and one thing to do about it.

The invariant: the sentences, levels and thresholds of the package's own findings are in `rules.toml`, each once. Code
measures, and names a rule by its code.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal, Self, SupportsFloat

from bayesanno._core import messages
from bayesanno._core.messages import as_line, enumerated, spell, warn

Level = Literal["stop", "care", "note"]
LEVELS: tuple[Level, ...] = ("stop", "care", "note")
MOST_NAMED = 4  # names in a message


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What is said when a measure is beyond its threshold: a table of `rules.toml`, which explains its keys."""

    level: Level
    message: str
    remedy: str
    measured: str
    why: str
    example: Mapping[str, Any] = field(default_factory=dict)
    threshold: float | None = None
    beyond: Literal["above", "below", "from", ""] = ""
    warning: str = ""


@dataclass(frozen=True)
class Finding:
    """Something found of data or of a fit. A model may yield its own, with a code that no rule has.

    Attributes
    ----------
    code : str
    message, remedy : str
        A sentence each: what and how much, and one thing to do.
    level : {"stop", "care", "note"}
        Do not use the results as they are; read this first; good to know.
    about : tuple of str
        The annotators, items, chains or parameters that it is about.
    value, threshold : float, optional
        What was measured, and what it was compared with.
    warning : str
        The name of the category of its warning; "" if it raises none.

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

    @property
    def text(self) -> str:
        """The finding on one line."""
        return f"{self.code}: {self.message} {self.remedy}"

    def to_record(self) -> dict[str, Any]:
        """Return the finding as JSON holds it."""
        return asdict(self) | {"about": list(self.about)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the finding of a record, which a newer version may have written with more keys."""
        known = {one.name: record[one.name] for one in fields(cls) if one.name in record}
        return cls(**known | {"about": tuple(record.get("about", ()))})


# What templates name, in Python and on the command line.
OPTIONS = {
    "nuts": ("method='nuts'", "--method nuts"),
    "steps": ("method_options={'steps': ...}", "--method-option steps=..."),
    "restarts": ("method_options={'restarts': ...}", "--method-option restarts=..."),
    "labels": ("labels=[...]", "--labels A,B,..."),
    "pairs": ("pairs='a,b'", "--pairs A,B"),
    "without": ("without=[...] when reading", "--without A,B,..."),
    "judges_err": ("Pairs(judges_err=True)", "--judges-err"),
    "adjust": ("Adjust them: bayesanno.adjust(fit)", "Leave out --no-adjust"),
    **{
        field: (f"{field}={given!r}", f"--set {field}={given}")
        for field, given in {"ends": "censored", "noise": "student", "slope": True, "ambiguity": True}.items()
    },
}


@cache
def read_rules() -> Mapping[str, Rule]:
    """Return the rules by their codes.

    Examples
    --------
    >>> from bayesanno.modeling.findings import read_rules
    >>> read_rules()["rhat"].threshold
    1.01
    """
    tables = tomllib.loads((files("bayesanno.modeling") / "rules.toml").read_text(encoding="utf-8"))
    return MappingProxyType({code: Rule(**table) for code, table in tables.items()})


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
    >>> find("bfmi", value=0.2).text
    'bfmi: E-BFMI is 0.20 (at least 0.3): the tails are hardly explored. Choose a narrower prior.'
    """
    rule, names = read_rules()[code], tuple(about)
    limit = rule.threshold if threshold is None else threshold
    measured = None if value is None or float(value) != float(value) else float(value)
    words |= {"about": enumerated(names, most=MOST_NAMED), "n_about": len(names), "value": value, "threshold": limit}
    words |= {f"option_{name}": spell(*spelt) for name, spelt in OPTIONS.items()}
    message, remedy = (as_line(template.format(**words)) for template in (rule.message, rule.remedy))
    return Finding(code, message, remedy, level or rule.level, names, measured, limit, rule.warning)


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


def sort_findings(found: Iterable[Finding]) -> list[Finding]:
    """Return findings by level, the most serious first; each once."""
    return sorted(dict.fromkeys(found), key=lambda one: LEVELS.index(one.level))


def warn_of(found: Iterable[Finding]) -> None:
    """Raise the warning of each finding that has one."""
    for one in found:
        if one.warning:
            warn(one.text, getattr(messages, one.warning, UserWarning), level=one.level)
