"""A value of JSON with its place: names and labels as text, lists and objects as such, and fields by their path.

The invariant: a value of an unexpected kind is refused with its place, and no value is invented.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed, nearest
from bayesanno.io.cells import unpack

FIELD = re.compile(r"\{([^{}]*)\}")
_LONGEST = 100_000


class Value(NamedTuple):
    """A value, and where it is.

    Attributes
    ----------
    place : str
        The file, and a line, a row, or a path inside the JSON; of a field, the place of the object that has it.
    given : object
        The value itself.
    name : str
        The name of a field; "" of anything else.
    """

    place: str
    given: Any
    name: str = ""

    @property
    def whole_place(self) -> str:
        """The place with the name of a field."""
        between = ", " if self.place[-1:].isdigit() else "."
        return f"{self.place}{between}{self.name}" if self.name else self.place

    @property
    def kind(self) -> str:
        """What kind of a value this is, in words."""
        kinds = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list"}
        if self.given is None or isinstance(self.given, Mapping):
            return "null" if self.given is None else "an object"
        return kinds.get(type(self.given), f"a {type(self.given).__name__}")

    def refuse(self, expected: str) -> DataError:
        """Return the error that this is not of the expected kind."""
        return DataError(f"{self.place}: {self.name or 'this'} is {self.kind}, but must be {expected}")

    def as_object(self) -> Mapping[str, Any]:
        """Return an object: a value with names for its parts."""
        if not isinstance(self.given, dict | Mapping):  # checks the common type first, which is fast
            raise Value(self.whole_place, self.given).refuse("an object, {...}")
        return self.given

    def get(self, name: str) -> Value:
        """Return a field of an object; its value is None if it is missing."""
        return Value(self.whole_place, self.as_object().get(name), name)

    def fields(self) -> Iterator[tuple[str, Value]]:
        """Yield the fields of an object, by name; nothing if it is missing."""
        for name in self.as_object() if self.given is not None else ():
            yield name, self.get(name)

    def as_list(self) -> list[Any]:
        """Return a list, empty if it is missing."""
        if self.given is not None and not isinstance(self.given, list):
            raise self.refuse("a list")
        return self.given or []

    def elements(self) -> Iterator[Value]:
        """Yield the elements of a list; nothing if it is missing."""
        for number, each in enumerate(self.as_list()):
            yield Value(f"{self.whole_place}[{number}]", each)

    @property
    def has_parts(self) -> bool:
        """Whether it is a list of lists or objects, like marks of spans and places, not a list of labels."""
        return isinstance(self.given, list) and any(isinstance(each, list | Mapping) for each in self.given)

    def decode(self) -> Value:
        """Return the value of JSON in a text; None if the text is missing.

        Raises
        ------
        DataError
            If it is not JSON.
        """
        text = self.as_text()
        try:
            return self._replace(given=json.loads(text) if text else None)
        except (ValueError, RecursionError):
            raise DataError(f"{self.whole_place}: this is not JSON: {text[:60]!r}; download the file again") from None

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
        value, what = self.given, what or self.name or "this"
        if isinstance(value, str):
            return _check_text(value, what, self.place)
        if value is None:
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            return _number_as_text(value, what, self.place)
        raise self._replace(name=what).refuse("a text or a number")

    def as_labels(self) -> tuple[str, ...] | None:
        """Return the labels of an answer, one value or a list, without blank ones; None for a missing answer."""
        here = Value(self.whole_place, unpack(self.given))
        if isinstance(here.given, list):
            labels = (here._replace(given=each).as_text("a label") for each in here.given)
            return tuple(dict.fromkeys(filter(None, labels)))
        label = here.as_text("the label")
        return (label,) if label else None

    def look_up(self, path: str) -> Value:
        """Return a field of an object by its name or its path, as in `data.id`.

        Raises
        ------
        DataError
            If there is no such field.
        """
        record = self.as_object()
        value: Any = record
        for name in [path] if path in record else path.split("."):
            if not isinstance(value, Mapping) or name not in value:
                names = [str(each) for each in record]
                raise DataError(f"{self.place}: there is no field {path!r} among {listed(names)}{nearest(path, names)}")
            value = value[name]
        return Value(self.place, value, path)

    def fill_in(self, template: str, what: str) -> str:
        """Return the text of a field, or of a template such as `{model}/{prompt}` over fields.

        Raises
        ------
        DataError
            As for `look_up`; if one of several fields is missing.
        """
        fields = FIELD.findall(template)
        if not fields:
            return self.look_up(template).as_text(what)
        values = {name: self.look_up(name.strip()).as_text(what) for name in fields}
        missing = next((name for name, value in values.items() if not value), None)
        if missing is not None:
            raise DataError(f"{self.place}: field {missing!r} of the {what} {template!r} is missing: fill it in")
        return FIELD.sub(lambda found: values[found[1]], template)

    def name_item(self, field: str, seen: dict[str, str] | None = None) -> str:
        """Return the item of a record, by a field or a template; with `seen`, an item may occur once.

        Raises
        ------
        DataError
            As for `fill_in`; if the item is missing, or already in `seen`, which holds the places of items.
        """
        item = self.fill_in(field, "item")
        if not item:
            raise DataError(f"{self.place}: {field} is missing: fill it in, or name another field with item=...")
        if seen is not None and seen.setdefault(item, self.place) != self.place:
            raise DataError(
                f"{self.place}: item {item!r} already occurs at {seen[item]}: keep one of the two, or name a field "
                "that distinguishes items with item=..."
            )
        return item


def _check_text(text: str, what: str, place: str) -> str:
    if not text.isprintable() and any("\ud800" <= sign <= "\udfff" for sign in text):
        raise DataError(f"{place}: {what} {text[:40]!r} is not valid Unicode: it holds half of a surrogate pair")
    if "\0" in text or len(text) > _LONGEST:
        odd = "has a zero byte" if "\0" in text else f"has {len(text):,} characters"
        raise DataError(f"{place}: {what} {text[:40]!r} {odd}: give it another name")
    return text.strip()


def _number_as_text(value: float, what: str, place: str) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"{place}: {what} is {value}: leave the field out if it is missing, or write null")
    try:
        return str(int(value)) if float(value).is_integer() else str(value)
    except (OverflowError, ValueError):
        raise DataError(f"{place}: {what} is a number with hundreds of digits: write it as text") from None
