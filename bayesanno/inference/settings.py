"""The input and output of a method of fitting: validated settings, and draws or complete results.

The invariant: the values in an instance of a settings class have the declared types and are in range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from bayesanno.ground.errors import BayesannoError, FitError
from bayesanno.ground.fields import AtLeast, Fields, Range
from bayesanno.ground.lazy import xr


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
class ClimbSettings(Settings):
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
class EMSettings(ClimbSettings):
    """The settings of EM: those of `ClimbSettings`, and the following.

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
        Rzhetsky et al. (2008), who use 0.1, and then continues without. Each phase has at most `steps` steps.

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
class VBSettings(ClimbSettings):
    """The settings of variational Bayes: those of `ClimbSettings`, with `draws * chains` draws in one chain.

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
