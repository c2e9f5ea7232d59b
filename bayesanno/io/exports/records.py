"""The values of a record: names and labels as text, lists and objects as such, and fields by their path.

The invariant: what is not of the kind that is expected is refused with its place, and no value is made up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed, nearest

_FIELD = re.compile(r"\{([^{}]*)\}")
_LONGEST = 100_000


def as_text(value: Any, what: str, place: str) -> str:
    """Return a name or a label as text, "" where it is missing: numbers as they are written, true and false as words.

    Raises
    ------
    DataError
        If it is a list or an object, a number that is none (NaN), or text that is not Unicode.
    """
    if isinstance(value, str):
        return _checked(value, what, place)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _number_as_text(value, what, place)
    raise DataError(f"{place}: {what} is {kind_of(value)}, where a text or a number is expected")


def _checked(text: str, what: str, place: str) -> str:
    if not text.isprintable() and any("\ud800" <= sign <= "\udfff" for sign in text):
        raise DataError(f"{place}: {what} {text[:40]!r} is no Unicode text: it has half of a pair of characters")
    if "\0" in text or len(text) > _LONGEST:
        odd = "has a zero byte" if "\0" in text else f"has {len(text):,} characters"
        raise DataError(f"{place}: {what} {text[:40]!r} {odd}: give it another name")
    return text.strip()


def _number_as_text(value: float, what: str, place: str) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"{place}: {what} is {value}: leave out what is missing, or write null")
    try:
        return str(int(value)) if float(value).is_integer() else str(value)
    except (OverflowError, ValueError):
        raise DataError(f"{place}: {what} is a number of hundreds of digits: write it as text") from None


def is_rejected(record: Mapping[str, Any], status: str, place: str) -> bool:
    """Return whether this field, if the record has it, says that the answer was rejected."""
    return as_text(record.get(status), status, place).casefold() == "rejected"


def as_labels(value: Any, place: str) -> tuple[str, ...] | None:
    """Return the labels of an answer, None where there is none: one value, or a list of them; blank ones left out."""
    if value is None:
        return None
    if isinstance(value, list):
        return tuple(dict.fromkeys(filter(None, (as_text(each, "a label", place) for each in value))))
    label = as_text(value, "the label", place)
    return (label,) if label else None


def as_list(value: Any, what: str, place: str) -> list[Any]:
    """Return a list, empty where it is missing."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise DataError(f"{place}: {what} is {kind_of(value)}, where a list is expected")
    return value


def as_object(value: Any, place: str) -> Mapping[str, Any]:
    """Return an object: a value with names for its parts."""
    if not isinstance(value, dict | Mapping):  # a dict most often, which is seen at once
        raise DataError(f"{place}: this is {kind_of(value)}, where an object, {{...}}, is expected")
    return value


def as_flag(value: Any, what: str, place: str) -> bool:
    """Return true or false; what is missing is false."""
    if value is None or isinstance(value, bool):
        return bool(value)
    raise DataError(f"{place}: {what} is {kind_of(value)}, where true or false is expected")


def kind_of(value: Any) -> str:
    """Return what kind of a value in JSON this is, in words."""
    if value is None:
        return "null"
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list"}
    return kinds.get(type(value), "an object" if isinstance(value, Mapping) else f"a {type(value).__name__}")


def check_new(item: str, seen: dict[str, str], place: str) -> None:
    """Raise a DataError if an item is there already; what is seen of items are their places.

    Raises
    ------
    DataError
        If it is.
    """
    if seen.setdefault(item, place) != place:
        raise DataError(
            f"{place}: item {item!r} is there already, at {seen[item]}: keep one, or name items by a field that tells "
            "them apart with --item"
        )


def look_up(record: Mapping[str, Any], path: str, place: str) -> Any:
    """Return the field of a record: by its name, or by the names on the way to it, as in `data.id`.

    Raises
    ------
    DataError
        If it has no such field.
    """
    if path in record:
        return record[path]
    value: Any = record
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            names = [str(each) for each in record]
            raise DataError(f"{place}: there is no field {path!r} among {listed(names)}{nearest(path, names)}")
        value = value[name]
    return value


def fill_in(template: str, record: Mapping[str, Any], what: str, place: str) -> str:
    """Return the text of a field, or of a template such as `{model}/{prompt}` over fields.

    Raises
    ------
    DataError
        As for `look_up`; if one of several fields is missing.
    """
    fields = _FIELD.findall(template)
    if not fields:
        return as_text(look_up(record, template, place), what, place)
    values = {name: as_text(look_up(record, name.strip(), place), what, place) for name in fields}
    missing = next((name for name, value in values.items() if not value), None)
    if missing is not None:
        raise DataError(f"{place}: field {missing!r} of the {what} {template!r} is missing: fill it in")
    return _FIELD.sub(lambda found: values[found[1]], template)
