"""What a method of fitting takes and gives back: settings that are valid once they exist, and draws.

The invariant: an instance of a settings class has values of the types that its fields declare, each in its range.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

from bayesanno.ground.errors import FitError

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True)
class AtLeast:
    """The smallest whole number that a setting may be."""

    least: int


@dataclass(frozen=True)
class Between:
    """The open interval that a setting must lie in."""

    low: float
    high: float


@dataclass(frozen=True)
class NotBelow:
    """The smallest number that a setting may be."""

    least: float


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a method of fitting: a subclass is one frozen, keyword-only dataclass, beside its method.

    A field is `Annotated[int, AtLeast(...)]`, `Annotated[float, Between(...)]`, `Annotated[float, NotBelow(...)]` or a
    `Literal` of names; `float | None` where a number may be left to the method. Numbers may be given as text, as typed
    on a command line.

    Raises
    ------
    FitError
        If a value has the wrong type or lies outside its range.
    """

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self), include_extras=True)
        for setting in fields(self):
            value = _convert(getattr(self, setting.name), hints[setting.name], setting.name)
            object.__setattr__(self, setting.name, value)


@dataclass(frozen=True, kw_only=True)
class GraphSettings(Settings):
    """The settings of a method that a graph is fitted by.

    All such methods have `starts`: from how many random points the posterior's modes are looked for.
    """

    starts: Annotated[int, AtLeast(0)] = 20

    @property
    def n_gradients(self) -> int:
        """How many gradients the method takes, roughly; 0 if it takes none, or cannot say."""
        return 0


def _convert(value: Any, hint: Any, name: str) -> Any:
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise FitError(f"there is no {name} {value!r}: choose one of {', '.join(get_args(hint))}")
        return value
    assert get_origin(hint) is Annotated, f"{name} has no range"
    if value is None and type(None) in get_args(get_args(hint)[0]):
        return None
    limits = hint.__metadata__[0]
    whole = isinstance(limits, AtLeast)
    try:
        number = int(value) if whole and isinstance(value, str) else operator.index(value) if whole else float(value)
    except (TypeError, ValueError):
        raise FitError(f"{name} is {value!r}: it must be a {'whole ' if whole else ''}number") from None
    if whole and number < limits.least:
        raise FitError(f"{name} is {value}: it must be at least {limits.least}")
    if isinstance(limits, NotBelow):
        if not limits.least <= number < math.inf:
            raise FitError(f"{name} is {value}: it must be a number from {limits.least:g} up")
        return number
    if not whole and not limits.low < number < limits.high:  # nan is refused too
        raise FitError(f"{name} is {value}: it must be between {limits.low:g} and {limits.high:g} (exclusive)")
    return number


@dataclass(frozen=True)
class Draws:
    """What a method gives back: draws of the free parameters, what it says of them, and how long it took.

    Attributes
    ----------
    posterior : xarray.Dataset
        The free parameters, dims (chain, draw, ...).
    sample_stats : xarray.Dataset
        Among others `lp`, the log density of each draw on the unconstrained scale, dims (chain, draw).
    diagnostics : dict
        The method's own diagnostics, beside those of every fit.
    """

    posterior: xarray.Dataset
    sample_stats: xarray.Dataset
    seconds_compile: float
    seconds_sample: float
    diagnostics: dict[str, Any] = field(default_factory=dict)
