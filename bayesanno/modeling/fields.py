"""What a model's options and priors are: fields with a type and a range, read from Python, JSON or typed text.

The invariant: an instance is valid (each field has its declared type and lies in its range), hashable, and equal to
what its JSON form gives back.
"""

from __future__ import annotations

import math
import types
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

from bayesanno.ground.errors import ModelError
from bayesanno.ground.wording import closest, html_table

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Range:
    """The open interval a number must lie in; `math.inf` and `-math.inf` leave a side free."""

    low: float
    high: float

    def __str__(self) -> str:
        if math.isinf(self.high):
            return "a number" if math.isinf(self.low) else f"a number > {self.low:g}"
        return f"a number between {self.low:g} and {self.high:g} (exclusive)"


Positive = Annotated[float, Range(0, math.inf)]
Fraction = Annotated[float, Range(0, 1)]


@dataclass(frozen=True, kw_only=True)
class Fields:
    """A frozen value whose fields are converted to their types and checked when it is made.

    Raises
    ------
    ModelError
        If a field has the wrong type or lies outside its range.
    """

    name: ClassVar[str]

    def __post_init__(self) -> None:
        """Convert and check every field."""
        hints = get_type_hints(type(self), include_extras=True)
        for field in fields(self):
            value = convert(getattr(self, field.name), hints[field.name], f"{self.name}: {field.name}")
            object.__setattr__(self, field.name, value)

    @classmethod
    def from_fields(cls, settings: Mapping[str, Any]) -> Self:
        """Build from a mapping of fields, whose values may be text (`"0.5:0.5"`, as typed on a command line) or JSON.

        Raises
        ------
        ModelError
            If a name is no field of this model (the nearest is suggested), or a value does not fit.
        """
        known = [field.name for field in fields(cls)]
        for name in settings:
            if name not in known:
                close = closest(name, known)
                hint = f"did you mean {close!r}?" if close else f"it has {', '.join(known) or 'none'}"
                raise ModelError(f"{cls.name} has no field {name!r}: {hint}")
        return cls(**settings)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields as plain values that JSON can hold; `from_fields` gives the model back."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, ((name, as_typed(value)) for name, value in self.to_fields().items()))

    @classmethod
    def default_fields(cls) -> dict[str, Any]:
        """Return each field's default."""
        return {field.name: field.default for field in fields(cls) if field.default is not MISSING}


def as_typed(value: Any) -> str:
    """Return a field's value as one types it on the command line: tuples are written 0.5:0.5.

    Examples
    --------
    >>> from bayesanno.modeling.fields import as_typed
    >>> as_typed((0.5, 10.0))
    '0.5:10'
    """
    if isinstance(value, tuple):
        return ":".join(map(as_typed, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def convert(value: Any, hint: Any, what: str) -> Any:
    """Return `value` as the type `hint` says, from text or JSON or Python, or raise a ModelError that names `what`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        number, bounds = arguments[0], arguments[1]
        converted = convert(value, number, what)
        if not bounds.low < converted < bounds.high:
            raise ModelError(f"{what} is {value}: it must be {bounds}")
        return converted
    if origin is Literal:
        if value not in arguments:
            raise ModelError(f"{what} is {value!r}: it must be one of {', '.join(map(repr, arguments))}")
        return value
    if origin is tuple:
        parts = value.split(":") if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or (arguments[-1] is not ... and len(parts) != len(arguments)):
            size = "some" if arguments[-1] is ... else str(len(arguments))
            raise ModelError(
                f"{what} is {value!r}: it must be {size} numbers (on the command line {_example(arguments)})"
            )
        kinds = [arguments[0]] * len(parts) if arguments[-1] is ... else arguments
        return tuple(convert(part, kind, what) for part, kind in zip(parts, kinds, strict=True))
    if origin in (Union, types.UnionType):
        return _convert_union(value, arguments, what)
    if hint is bool:
        if str(value).lower() in ("true", "false"):
            return str(value).lower() == "true"
    elif hint is str:
        return str(value)
    elif hint in (int, float) and not isinstance(value, bool):
        try:
            converted = hint(value)
        except (TypeError, ValueError):
            converted = math.nan
        if not math.isnan(converted) and (hint is float or converted == float(value)):
            return converted
    raise ModelError(f"{what} is {value!r}: it must be {'a number' if hint is float else 'of type ' + hint.__name__}")


def _convert_union(value: Any, kinds: tuple[Any, ...], what: str) -> Any:
    if value is None and type(None) in kinds:
        return None
    problems = []
    for kind in kinds:
        if kind is not type(None):
            try:
                return convert(value, kind, what)
            except ModelError as error:
                problems.append(str(error))
    words = [repr(word) for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    raise ModelError(f"{problems[0]}, or {' or '.join(words)}" if words else problems[-1])


def _example(kinds: tuple[Any, ...]) -> str:
    return ":".join(["0.5"] * (2 if kinds[-1] is ... else len(kinds)))
