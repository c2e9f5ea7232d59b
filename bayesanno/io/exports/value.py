"""A value of JSON with its place: names and labels as text, lists and objects as such.

The invariant: a value of an unexpected kind is refused with its place, and no value is invented.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayesanno._core.errors import DataError
from bayesanno.io.cells import parse_cell

_LONGEST = 100_000
_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"}


class Value(NamedTuple):
    """A value, and where it is.

    Attributes
    ----------
    parent : Value or str
        The object or the list that has it; or the place of a record: the file, and a line, a row, or a number.
    given : object
        The value itself.
    key : str or int
        The name of a field, or the number of an element from 0; "" of anything else.
    """

    parent: Any
    given: Any
    key: str | int = ""

    @property
    def name(self) -> str:
        """The name of a field."""
        return self.key if isinstance(self.key, str) else ""

    @property
    def place(self) -> str:
        """The place of the value, or of the object that has the field, for a message."""
        place = self.parent if isinstance(self.parent, str) else self.parent.whole_place
        return place if isinstance(self.key, str) else f"{place}[{self.key}]"

    @property
    def whole_place(self) -> str:
        """The place with the name of a field."""
        place, name = self.place, self.name
        return f"{place}{', ' if place[-1:].isdigit() else '.'}{name}" if name else place

    def put(self, given: Any) -> Value:
        """Return another value at this place."""
        return Value(self.parent, given, self.key)

    def refuse(self, expected: str) -> DataError:
        """Return the error that this is not of the expected kind."""
        kind = "null" if self.given is None else _KINDS.get(type(self.given), f"a {type(self.given).__name__}")
        return DataError(f"{self.place}: {self.name or 'this'} is {kind}, but must be {expected}")

    def as_object(self) -> Mapping[str, Any]:
        """Return an object: a value with names for its parts."""
        if not isinstance(self.given, dict):
            raise Value(self.whole_place, self.given).refuse("an object, {...}")
        return self.given

    def get(self, name: str) -> Value:
        """Return a field of an object; its value is None if it is missing. A part may have a place of its own."""
        part = (self.given if self.given.__class__ is dict else self.as_object()).get(name)
        return part if part.__class__ is Value else Value(self, part, name)

    def as_list(self) -> list[Any]:
        """Return a list, empty if it is missing."""
        if self.given is not None and not isinstance(self.given, list):
            raise self.refuse("a list")
        return self.given or []

    def elements(self) -> Iterator[tuple[int, Value]]:
        """Yield the elements of a list with their numbers from 1; nothing if it is missing."""
        for number, each in enumerate(self.as_list()):
            yield number + 1, each if isinstance(each, Value) else Value(self, each, number)

    def fields(self) -> Iterator[tuple[str, Value]]:
        """Yield the fields of an object, by name; nothing if it is missing."""
        for name in self.as_object() if self.given is not None else ():
            yield name, self.get(name)

    def opened(self) -> Value:
        """Return the list or object in a text of JSON, None if the text is empty; anything else as it is.

        Raises
        ------
        DataError
            If the text begins like JSON, but is none.
        """
        if not isinstance(self.given, str):
            return self
        given = parse_cell(self.given.strip()) or None
        if isinstance(given, str) and given[0] in "[{":
            raise DataError(f"{self.whole_place}: this is not JSON: {given[:60]!r}; download the file again")
        return self.put(given)

    @property
    def has_parts(self) -> bool:
        """Whether it is a list of lists or objects, like marks of spans and places, not a list of labels."""
        return isinstance(self.given, list) and any(each and isinstance(each, list | Mapping) for each in self.given)

    def as_flag(self) -> bool:
        """Return true or false; false if it is missing."""
        if self.given is not None and not isinstance(self.given, bool):
            raise self.refuse("true or false")
        return bool(self.given)

    def as_text(self, what: str = "") -> str:
        """Return a name or a label as text, "" if it is missing.

        Numbers keep their spelling, and true and false become words. Messages call the value `what`, or its name.

        Raises
        ------
        DataError
            If it is a list or an object, NaN or infinite, or not valid Unicode.
        """
        value = self.given
        if isinstance(value, str):
            if len(value) > _LONGEST or not value.isprintable():
                self._check_text(value, what or self.name or "this")
            return value.strip()
        if value is None:
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            return self._number_as_text(value, what or self.name or "this")
        raise Value(self.place, value, what or self.name or "this").refuse("a text or a number")

    def as_labels(self) -> tuple[str, ...] | None:
        """Return the labels of an answer, one value or a list, without blank ones; None for a missing answer."""
        here = Value(self, parse_cell(self.given))
        if isinstance(here.given, list):
            labels = (here.put(each).as_text("a label") for each in here.given)
            return tuple(dict.fromkeys(filter(None, labels)))
        label = here.as_text("the label")
        return (label,) if label else None

    def _check_text(self, text: str, what: str) -> None:
        if any("\ud800" <= sign <= "\udfff" for sign in text):
            raise DataError(
                f"{self.place}: {what} {text[:40]!r} is not valid Unicode: it holds half of a surrogate pair"
            )
        if "\0" in text or len(text) > _LONGEST:
            odd = "has a zero byte" if "\0" in text else f"has {len(text):,} characters"
            raise DataError(f"{self.place}: {what} {text[:40]!r} {odd}: give it another name")

    def _number_as_text(self, value: float, what: str) -> str:
        if isinstance(value, float) and not math.isfinite(value):
            raise DataError(f"{self.place}: {what} is {value}: leave the field out if it is missing, or write null")
        try:
            return str(int(value)) if float(value).is_integer() else str(value)
        except (OverflowError, ValueError):
            raise DataError(f"{self.place}: {what} is a number with hundreds of digits: write it as text") from None
