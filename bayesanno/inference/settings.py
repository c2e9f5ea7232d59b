"""The settings of the methods of fitting, and what methods return.

The invariant: the values in an instance of a settings class have the declared types and are in range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from bayesanno._core.fields import AtLeast, Fields, Range, UnfitError
from bayesanno._core.lazy import xr
from bayesanno._core.messages import BayesannoError, FitError, SamplerError

ARGUMENTS = (
    "draws",
    "tune",
    "chains",
    "target_accept",
    "nuts_sampler",
    "nuts_sampler_kwargs",
)  # the settings that are arguments of `fit`
PER_DRAW = 15  # gradients, for a well-behaved posterior
SHARE_OF_GRADIENTS = 0.1  # budget of the search for modes, as a share of the method's gradients
LEAST_GRADIENTS = 3_000
NUTSSampler = Literal["nutpie", "pymc", "numpyro", "blackjax"]


@dataclass(frozen=True, kw_only=True)
class Settings(Fields):
    """The settings of a method of fitting: a subclass is one frozen, keyword-only dataclass."""

    error: ClassVar[type[BayesannoError]] = FitError


@dataclass(frozen=True, kw_only=True)
class GraphSettings(Settings):
    """The settings of a method that fits a graph.

    All such methods have `starts`, the number of random starting points in the search for modes of the posterior.
    """

    starts: Annotated[int, AtLeast(0)] = 20

    @property
    def n_gradients(self) -> int:
        """The approximate number of gradients; 0 if there are none, or the number is unknown."""
        return 0

    @property
    def n_gradients_of_search(self) -> int:
        """The budget of gradients of the search for modes: on small data it costs almost nothing."""
        return max(LEAST_GRADIENTS, int(SHARE_OF_GRADIENTS * self.n_gradients))


class Keywords(tuple[tuple[str, Any], ...]):
    """Keyword arguments as pairs of name and value, which can be hashed."""

    @classmethod
    def convert(cls, value: Any) -> Self:
        """Return the pairs of a mapping."""
        if value is not None and not isinstance(value, Mapping | cls):
            raise UnfitError(f"is {value!r}: it must be a mapping of the sampler's own settings")
        return cls(dict(value or ()).items())

    def to_fields(self) -> dict[str, Any]:
        """Return the arguments as values for JSON."""
        return dict(self)


NOTHING = Keywords()


@dataclass(frozen=True, kw_only=True)
class NUTSSettings(GraphSettings):
    """The settings of NUTS, as arguments of `fit`.

    Raises
    ------
    FitError
        If a value has the wrong type or lies outside its range.
    SamplerError
        If the sampler is not installed.
    """

    draws: Annotated[int, AtLeast(4)] = 1000  # fewer have no effective sample size
    tune: Annotated[int, AtLeast(1)] = 500
    chains: Annotated[int, AtLeast(1)] = 4
    target_accept: Annotated[float, Range(0, 1)] = 0.8
    nuts_sampler: NUTSSampler = "nutpie"
    nuts_sampler_kwargs: Keywords = NOTHING

    @property
    def n_gradients(self) -> int:
        """The approximate number of gradients in sampling."""
        return PER_DRAW * self.chains * (self.tune + self.draws)

    def __post_init__(self) -> None:
        super().__post_init__()
        name = self.nuts_sampler
        if find_spec(name) is None:
            raise SamplerError(f"the sampler {name!r} is not installed: pip install 'bayesanno[{name}]', or use nutpie")


@dataclass(frozen=True, kw_only=True)
class ADVISettings(GraphSettings):
    """The settings of ADVI: `draws * chains` draws in one chain, after at most `steps` steps.

    Full-rank ADVI takes at most `steps` steps in each of its two stages, the independent one first.

    Raises
    ------
    FitError
        If a value has the wrong type or lies outside its range.
    """

    draws: Annotated[int, AtLeast(4)] = 1000
    chains: Annotated[int, AtLeast(1)] = 4
    steps: Annotated[int, AtLeast(1)] = 50_000

    @property
    def n_gradients(self) -> int:
        """The largest number of gradients."""
        return self.steps


@dataclass(frozen=True, kw_only=True)
class FixedPointSettings(Settings):
    """The settings of a method that climbs.

    Attributes
    ----------
    restarts : int
        The number of starting points: the majority vote, then draws from the prior.
    steps : int
        The largest number of E-steps per start.
    tolerance : float
        The largest change of any probability in a plain step at convergence.

    Raises
    ------
    FitError
        If a value has the wrong type or lies outside its range.
    """

    restarts: Annotated[int, AtLeast(1)] = 10
    steps: Annotated[int, AtLeast(1)] = 5_000
    tolerance: Annotated[float, Range(0, 1)] = 1e-6


@dataclass(frozen=True, kw_only=True)
class EMSettings(FixedPointSettings):
    """The settings of EM: those of `FixedPointSettings`, and the following.

    Attributes
    ----------
    objective : {"ml", "map"}
        "ml" maximises the likelihood; the model's priors are used only for random starts. "map" maximises the posterior
        density of the parameters on their own scale. Concentrations below 1, for which the density grows without bound
        towards 0, are treated as 1, so that they do not change the counts.
    smoothing : float, optional
        For "ml": this value divided by the number of labels is added to every count of an M-step. The default is that
        of the model's paper: 0.1 for MACE (Hovy et al. 2013), 0 for others.
    epsilon : float
        If above 0, each start first converges with every item's posterior pulled towards its votes, as in (52) of
        Rzhetsky et al. (2009), who use 0.1, and then continues without. Each phase has at most `steps` steps.

    Raises
    ------
    FitError
        If a value has the wrong type or is out of range, or smoothing is used with "map", where priors smooth.
    """

    objective: Literal["ml", "map"] = "ml"
    smoothing: Annotated[float, AtLeast(0)] | None = None
    epsilon: Annotated[float, AtLeast(0)] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.objective == "map" and self.smoothing is not None:
            raise FitError("smoothing is of objective='ml': with 'map' the model's priors smooth, so leave it out")


@dataclass(frozen=True, kw_only=True)
class VBSettings(FixedPointSettings):
    """The settings of variational Bayes: those of `FixedPointSettings`, with `draws * chains` draws in one chain.

    Raises
    ------
    FitError
        If a value has the wrong type or lies outside its range.
    """

    draws: Annotated[int, AtLeast(4)] = 1000
    chains: Annotated[int, AtLeast(1)] = 4


@dataclass(frozen=True)
class Draws:
    """The result of a method: draws of the free parameters, diagnostics, and times.

    Attributes
    ----------
    posterior : xarray.Dataset
        The free parameters, dims (chain, draw, ...).
    sample_stats : xarray.Dataset
        Includes `lp`, the log density of each draw on the unconstrained scale, dims (chain, draw).
    diagnostics : dict
        The method's own diagnostics, in addition to those of every fit.
    """

    posterior: xr.Dataset
    sample_stats: xr.Dataset
    seconds_compile: float
    seconds_sample: float
    diagnostics: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Results:
    """The computed results of a fit, before warnings.

    Attributes
    ----------
    groups : mapping of str to xarray.Dataset
        The groups of the tree.
    attrs : mapping
        The origin of the draws, including `random_seed` and seconds.
    diagnostics : mapping
    """

    groups: Mapping[str, xr.Dataset]
    attrs: Mapping[Any, Any]
    diagnostics: Mapping[str, Any]


def check_start(start: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Return starting values as arrays.

    Raises
    ------
    FitError
        If the model has no such free variable, or it has another shape.
    """
    values = {}
    for name, value in start.items():
        if name not in shapes:
            raise FitError(f"initvals: the model has no free variable {name!r}: it has {', '.join(shapes)}")
        values[name] = np.asarray(value, dtype=float)
        if values[name].shape != shapes[name]:
            raise FitError(f"initvals: {name} has shape {values[name].shape}, the model's is {shapes[name]}")
    return values
