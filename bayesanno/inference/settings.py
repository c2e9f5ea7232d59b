"""The input and output of a method of fitting: validated settings, and draws.

The invariant: an instance of a settings class has values of the types that its fields declare, each in its range.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from bayesanno.ground.errors import BayesannoError, FitError
from bayesanno.ground.fields import AtLeast, Fields
from bayesanno.ground.lazy import xr


@dataclass(frozen=True, kw_only=True)
class Settings(Fields):
    """The settings of a method of fitting: a subclass is one frozen, keyword-only dataclass, beside its method."""

    error: ClassVar[type[BayesannoError]] = FitError


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

    posterior: xr.Dataset
    sample_stats: xr.Dataset
    seconds_compile: float
    seconds_sample: float
    diagnostics: dict[str, Any] = field(default_factory=dict)
