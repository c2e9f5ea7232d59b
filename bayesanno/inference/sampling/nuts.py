"""NUTS, by several samplers: each takes a graph and a start, and returns draws of its free parameters.

The invariant: the same seed on the same machine gives the same draws, bit for bit, and an interrupted run gives none.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from bayesanno.ground.errors import FitError, SamplerError
from bayesanno.ground.fields import AtLeast, Range
from bayesanno.ground.interrupts import hold_interrupts
from bayesanno.ground.lazy import pm
from bayesanno.inference.settings import Draws, GraphSettings

if TYPE_CHECKING:
    import pymc

    from bayesanno.inference.sampling.starts import Starts

PER_DRAW = 15  # gradients, where a posterior is well-behaved
NUTSSampler = Literal["nutpie", "pymc", "numpyro", "blackjax"]


@dataclass(frozen=True, kw_only=True)
class NUTSSettings(GraphSettings):
    """The settings of NUTS: those of `fit`.

    Raises
    ------
    FitError
        If a value has the wrong type or lies outside its range.
    SamplerError
        If the sampler is not installed.
    """

    draws: Annotated[int, AtLeast(4)] = 1000  # fewer have no effective sample size
    tune: Annotated[int, AtLeast(1)] = 1000
    chains: Annotated[int, AtLeast(1)] = 4
    target_accept: Annotated[float, Range(0, 1)] = 0.8
    nuts_sampler: NUTSSampler = "nutpie"

    @property
    def n_gradients(self) -> int:
        """How many gradients sampling takes, roughly."""
        return PER_DRAW * self.chains * (self.tune + self.draws)

    def __post_init__(self) -> None:
        super().__post_init__()
        name = self.nuts_sampler
        if find_spec(name) is None:
            raise SamplerError(f"the sampler {name!r} is not installed: pip install 'bayesanno[{name}]', or use nutpie")


def sample_nuts(
    graph: pymc.Model,
    start: Starts,
    settings: NUTSSettings,
    *,
    random_seed: int,
    progressbar: bool,
) -> Draws:
    """Draw from the posterior by NUTS; each chain starts where `start` says."""
    if settings.nuts_sampler in ("numpyro", "blackjax"):
        from bayesanno.ground.private.pytensor import register_with_jax

        register_with_jax()
    sample = _sample_nutpie if settings.nuts_sampler == "nutpie" else _sample_pymc
    return sample(graph, start, settings, random_seed, progressbar)


def _sample_nutpie(
    graph: pymc.Model, start: Starts, settings: NUTSSettings, random_seed: int, progressbar: bool
) -> Draws:
    free = [variable.name for variable in graph.free_RVs]
    begin = time.perf_counter()
    if start.among is not None:
        start = start.share_out(_find_seeds(start, settings.chains, random_seed))
    tree = _run_nutpie(
        replace(start.compiled, initial_point_func=start.draw),
        draws=settings.draws,
        tune=settings.tune,
        chains=settings.chains,
        target_accept=settings.target_accept,
        seed=random_seed,
        progress_bar=progressbar,
    )
    stats = tree["sample_stats"].to_dataset().rename(logp="lp")  # ArviZ's name for it
    plain = [name for name, variable in stats.data_vars.items() if variable.dtype.kind in "biuf"]
    return Draws(
        posterior=tree["posterior"].to_dataset()[free],
        sample_stats=stats[plain],
        seconds_compile=0.0,
        seconds_sample=time.perf_counter() - begin,
    )


def _run_nutpie(compiled: Any, **settings: Any) -> Any:
    """Return what nutpie drew; an interrupted run keeps nothing, where nutpie would hand back the draws so far.

    A sampler that is interrupted while it is made is out of reach, and its threads would go on drawing.
    """
    import nutpie

    sampler = None
    try:
        with hold_interrupts():
            sampler = nutpie.sample(compiled, save_warmup=False, blocking=False, **settings)
        return sampler.wait()
    except BaseException as problem:
        if sampler is not None:
            with suppress(BaseException):  # whose own error is no news after a panic
                sampler.cancel()
        if type(problem).__name__ == "PanicException":  # of Rust; it has no class that can be imported
            raise FitError(
                f"nutpie stopped with an error of its own ({str(problem).splitlines()[0]}): another seed, a stronger "
                "prior or another sampler (nuts_sampler='pymc') may do"
            ) from problem
        raise


def _find_seeds(start: Starts, chains: int, random_seed: int) -> list[int]:
    """Return the seeds by which nutpie's chains ask for their starts: it does not say which chain asks.

    They depend on its seed and the chain alone, so that a run of next to no steps is asked with the same ones.
    """
    seeds: list[int] = []

    def note(seed: int) -> np.ndarray:
        seeds.append(seed)
        return start.draw(seed)

    _run_nutpie(
        replace(start.compiled, initial_point_func=note),
        draws=chains,  # ArviZ warns of fewer draws than chains
        tune=1,
        chains=chains,
        seed=random_seed,
        maxdepth=1,
        progress_bar=False,
    )
    return seeds


def _sample_pymc(
    graph: pymc.Model, start: Starts, settings: NUTSSettings, random_seed: int, progressbar: bool
) -> Draws:
    begin = time.perf_counter()
    nuts: dict[str, object] = {"target_accept": settings.target_accept}
    if settings.nuts_sampler != "pymc":
        nuts["chain_method"] = "vectorized"  # runs on any number of devices
    seeds = [int(seed) for seed in np.random.SeedSequence(random_seed).generate_state(settings.chains)]
    start = start.share_out(seeds)
    tree = pm.sample(
        model=graph,
        nuts_sampler=settings.nuts_sampler,
        draws=settings.draws,
        tune=settings.tune,
        chains=settings.chains,
        nuts=nuts,
        initvals=[dict(start.draw_values(seed)) for seed in seeds],
        random_seed=random_seed,
        progressbar=progressbar,
        compute_convergence_checks=False,
        quiet=not progressbar,
    )
    if tree["posterior"].sizes["draw"] < settings.draws:  # PyMC hands back the draws so far
        raise KeyboardInterrupt
    free = [variable.name for variable in graph.free_RVs]
    stats = tree["sample_stats"].to_dataset()
    plain = [name for name, variable in stats.data_vars.items() if variable.dtype.kind in "biuf"]
    elapsed = time.perf_counter() - begin
    sampling = float(tree["sample_stats"].attrs.get("sampling_time", elapsed))
    return Draws(
        posterior=tree["posterior"].to_dataset()[free],
        sample_stats=stats[plain],
        seconds_compile=max(0.0, elapsed - sampling),
        seconds_sample=sampling,
    )
