"""The input and output of a method of fitting: validated settings, and draws, or all that a fit is made of.

The invariant: an instance of a settings class has values of the types that its fields declare, each in its range.
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
    """The settings of a method that a graph is fitted by.

    All such methods have `starts`: from how many random points the posterior's modes are looked for.
    """

    starts: Annotated[int, AtLeast(0)] = 20

    @property
    def n_gradients(self) -> int:
        """How many gradients the method takes, roughly; 0 if it takes none, or cannot say."""
        return 0


@dataclass(frozen=True, kw_only=True)
class ADVISettings(GraphSettings):
    """The settings of ADVI: `draws * chains` are drawn, in one chain, after `steps` steps at the most.

    Full rank takes as many at the most in each of its two stages, independent first.

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
        """How many gradients are taken at the most."""
        return self.steps


@dataclass(frozen=True, kw_only=True)
class ClimbSettings(Settings):
    """The settings of a method that climbs.

    Attributes
    ----------
    restarts : int
        How many points to start from: the majority vote, then draws from the prior.
    steps : int
        The most E-steps from one start.
    tolerance : float
        A start has converged when a plain step moves no probability by more.

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
    """The settings of EM: those of `ClimbSettings`, and these.

    Attributes
    ----------
    objective : {"ml", "map"}
        "ml" maximises the likelihood: of the model's priors it takes random starts, nothing else. "map" maximises the
        posterior density of the parameters on their own scale. A concentration below 1, where the density grows without
        bound towards 0, counts as 1, so that it adds nothing to the counts and takes nothing away.
    smoothing : float, optional
        Of "ml": this over the number of labels is added to every count of an M-step. By default what the model's paper
        has: 0.1 for MACE (Hovy et al. 2013), 0 for others.
    epsilon : float
        Above 0, each start first converges with every item's posterior leaning to its votes, as in (52) of Rzhetsky et
        al. (2008), who take 0.1; and goes on from there without. Each of the two phases takes `steps` at the most.

    Raises
    ------
    FitError
        If a value has the wrong type or lies outside its range, or "map" is to be smoothed, which its priors do.
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
    """The settings of variational Bayes: those of `ClimbSettings`, and `draws * chains` are drawn, in one chain.

    Raises
    ------
    FitError
        If a value has the wrong type or lies outside its range.
    """

    draws: Annotated[int, AtLeast(4)] = 1000
    chains: Annotated[int, AtLeast(1)] = 4


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


@dataclass(frozen=True)
class Results:
    """What was computed of a fit, before anything is said of it.

    Attributes
    ----------
    groups : mapping of str to xarray.Dataset
        The groups of the tree.
    attrs : mapping
        How the draws came about: `random_seed` and seconds among others.
    diagnostics : mapping
    """

    groups: Mapping[str, xr.Dataset]
    attrs: Mapping[Any, Any]
    diagnostics: Mapping[str, Any]
