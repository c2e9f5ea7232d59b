"""Options and priors as fields with a type and a range, read from Python, JSON or typed text.

The invariant: an instance is valid (each field has its declared type and is in its range), hashable, and unchanged by a
round trip through JSON.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

from bayesanno._core.messages import BayesannoError, ModelError, closest, html_table


@dataclass(frozen=True)
class Range:
    """An open interval for a number; `math.inf` and `-math.inf` leave a side open."""

    low: float
    high: float

    def __contains__(self, number: float) -> bool:
        return self.low < number < self.high

    def __str__(self) -> str:
        if math.isinf(self.high):
            return "a number" if math.isinf(self.low) else f"a number > {self.low:g}"
        return f"a number between {self.low:g} and {self.high:g} (exclusive)"


@dataclass(frozen=True)
class AtLeast:
    """The smallest allowed number; infinity is not allowed."""

    low: float

    def __contains__(self, number: float) -> bool:
        return self.low <= number < math.inf

    def __str__(self) -> str:
        return f"at least {self.low:g}"


Positive = Annotated[float, Range(0, math.inf)]
Fraction = Annotated[float, Range(0, 1)]


@dataclass(frozen=True, kw_only=True)
class Fields:
    """A frozen value with fields that are converted to their types and checked when it is created.

    A field is a `bool`, `str`, `int` or `float`, the last two with a `Range` or `AtLeast` if they are `Annotated`; a
    tuple of these, a `Literal`, or a union. Values may be text, as typed on a command line (`"0.5:0.5"`).

    Attributes
    ----------
    error : type
        The exception for a field of the wrong type or out of range.
    """

    name: ClassVar[str]
    error: ClassVar[type[BayesannoError]] = ModelError

    def __new__(cls, *_: Any, **settings: Any) -> Self:
        """Check that there are fields of these names."""
        cls._check_names(settings)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Convert and check every field."""
        hints = get_type_hints(type(self), include_extras=True)
        of = f"{self.name}: " if hasattr(self, "name") else ""
        for field in fields(self):
            try:
                value = _convert(getattr(self, field.name), hints[field.name])
            except UnfitError as error:
                raise self.error(f"{of}{field.name} {error}") from None
            object.__setattr__(self, field.name, value)

    @classmethod
    def from_fields(cls, settings: Mapping[str, Any]) -> Self:
        """Build from a mapping of fields with values that may be text (`"0.5:0.5"`, as on a command line) or JSON.

        Raises
        ------
        ModelError
            If the model has no such field (the nearest name is suggested), or a value is invalid.
        """
        return cls(**settings)

    @classmethod
    def _check_names(cls, settings: Mapping[str, Any]) -> None:
        known = [field.name for field in fields(cls)]
        for name in settings:
            if name not in known:
                close = closest(name, known)
                hint = f"did you mean {close!r}?" if close else f"it has {', '.join(known) or 'none'}"
                raise cls.error(f"{getattr(cls, 'name', cls.__name__)} has no field {name!r}: {hint}")

    def to_fields(self) -> dict[str, Any]:
        """Return the fields as values for JSON; `from_fields` restores the model."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: to() if (to := getattr(value, "to_fields", None)) else value for name, value in values.items()}

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, ((name, as_typed(getattr(self, name))) for name in self.to_fields()))

    @classmethod
    def default_fields(cls) -> dict[str, Any]:
        """Return each field's default."""
        return {field.name: field.default for field in fields(cls) if field.default is not MISSING}


def as_typed(value: Any) -> str:
    """Return a field's value as typed on the command line: tuples are written 0.5:0.5.

    Examples
    --------
    >>> from bayesanno._core.fields import as_typed
    >>> as_typed((0.5, 10.0))
    '0.5:10'
    """
    if isinstance(value, tuple):
        return ":".join(map(as_typed, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


KINDS = "float, int, bool, str, a Literal, or a tuple or a union of these"


class UnfitError(ValueError):
    """A message with the actual value and the requirement."""


def _convert(value: Any, hint: Any) -> Any:
    """Return `value`, from text, JSON or Python, converted to the type `hint`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hasattr(hint, "convert"):  # a type with its own conversion
        return hint.convert(value)
    if origin is Annotated:
        converted, limits = _convert(value, arguments[0]), arguments[1]
        if converted not in limits:
            raise UnfitError(f"is {value}: it must be {limits}")
        return converted
    if origin is Literal:
        if value not in arguments:
            raise UnfitError(f"is {value!r}: it must be one of {', '.join(map(repr, arguments))}")
        return value
    if origin is tuple:
        parts = value.split(":") if isinstance(value, str) else value
        of_any_size = arguments[-1] is ...
        if not isinstance(parts, list | tuple) or not (of_any_size or len(parts) == len(arguments)):
            size, example = ("some", 2) if of_any_size else (len(arguments), len(arguments))
            typed = ":".join(["0.5"] * example)
            raise UnfitError(f"is {value!r}: it must be {size} numbers (on the command line {typed})")
        kinds = [arguments[0]] * len(parts) if of_any_size else arguments
        return tuple(_convert(part, kind) for part, kind in zip(parts, kinds, strict=True))
    if origin in (Union, types.UnionType):
        return _convert_union(value, arguments)
    if hint is str:
        return str(value)
    if hint is bool:
        if str(value).lower() in ("true", "false"):
            return str(value).lower() == "true"
    elif not isinstance(value, bool):
        with suppress(TypeError, ValueError, OverflowError):
            converted = hint(value)
            if not math.isnan(converted) and (hint is float or converted == float(value)):
                return converted
    words = {bool: "true or false", int: "a whole number", float: "a number"}
    if hint not in words:
        raise UnfitError(f"has the type {getattr(hint, '__name__', hint)}: a field is {KINDS}")
    raise UnfitError(f"is {value!r}: it must be {words[hint]}")


def _convert_union(value: Any, kinds: tuple[Any, ...]) -> Any:
    if value is None and type(None) in kinds:
        return None
    problems = []
    for kind in kinds:
        if kind is not type(None):
            try:
                return _convert(value, kind)
            except UnfitError as error:
                problems.append(str(error))
    words = [repr(word) for kind in kinds[1:] if get_origin(kind) is Literal for word in get_args(kind)]
    words += [kind.wanted() for kind in kinds[1:] if hasattr(kind, "wanted")]
    raise UnfitError(f"{problems[0]}, or {' or '.join(words)}" if words else problems[-1])
