"""Join the spellings of a label that options name, and leave out codes of missing answers.

The invariant: without such an option no label changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Self

from bayesanno._core.errors import DataError
from bayesanno._core.lazy import pd
from bayesanno.data.frame import as_text
from bayesanno.data.labelled import MISSING_CODES, is_number
from bayesanno.io.check import normalize_text
from bayesanno.io.names import split_names


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
