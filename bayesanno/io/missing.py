"""Codes of missing answers, which count as labels unless somebody says that they are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from bayesanno.data.names import read_numbers
from bayesanno.ground.errors import NamesWarning, warn
from bayesanno.ground.wording import counted, listed

MISSING_CODES = ("NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "None", "null", "NULL", "?", "-1")


def find_missing_codes(labels: Collection[str]) -> list[str]:
    """Return the labels that may stand for a missing answer; -1 does not where other labels are negative, or 1 alone.

    Examples
    --------
    >>> from bayesanno.io.missing import find_missing_codes
    >>> find_missing_codes(["yes", "no", "NA"]), find_missing_codes(["-1", "0", "1"]), find_missing_codes(["-1", "1"])
    (['NA'], ['-1'], [])
    """
    found = [code for code in MISSING_CODES if code in labels]
    others = read_numbers([label for label in labels if label not in found])
    if "-1" in found and others is not None and (others.size == 0 or others.min() < 0 or others.tolist() == [1]):
        found.remove("-1")
    return found


def warn_of_missing_codes(table: str, answers: Iterable[str], gold: Mapping[str, str]) -> None:
    """Warn of answers and known labels that may stand for missing ones."""
    count = Counter(answers)
    found = find_missing_codes(count)
    if found:
        n, total = sum(count[code] for code in found), sum(count.values())
        warn(
            f"{table}: {listed(found)} may stand for missing answers, and count as labels ({n:,} of "
            f"{counted(total, 'answer')}): if they are missing, say missing={','.join(found)!r}; if not, declare them "
            "with labels=...",
            NamesWarning,
        )
    known = [code for code in find_missing_codes({*gold.values(), *count}) if code not in found]
    if known:
        warn(
            f"{table}: {listed(known)} may stand for missing known labels: if so, say missing={','.join(known)!r}",
            NamesWarning,
        )


def explain_code(label: str) -> str:
    """Return the advice on a label that is not declared, if it may stand for a missing answer."""
    return f"; if it stands for a missing answer, say missing={label!r}" if label in MISSING_CODES else ""
