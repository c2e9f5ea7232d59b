"""The engines: each takes a PyMC model and a start, and returns draws of its free parameters.

The invariant: the same seed on the same machine gives the same draws, bit for bit, and an interrupted run gives none.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, get_args

from bayesanno.ground.errors import EngineError, FitError
from bayesanno.ground.lazy import pm
from bayesanno.ground.progress import status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    import pymc
    import xarray

Engine = Literal["nutpie", "pymc", "numpyro", "blackjax"]
JITTER = (
    1.0  # half-width of the uniform jitter of the chains' starts, on the unconstrained scale, as in PyMC and nutpie
)


@dataclass(frozen=True)
class Draws:
    """What an engine gives back: draws of the free parameters, what it says of them, and how long it took."""

    posterior: xarray.Dataset
    sample_stats: xarray.Dataset
    seconds_compile: float
    seconds_sample: float
    diagnostics: dict[str, Any] = field(default_factory=dict)


@contextmanager
def exact_arithmetic() -> Iterator[None]:
    """Compile without reordering floating-point operations, at the cost of about a tenth of the speed.

    With PyTensor's fast-math flags, code that is compiled and code that is found in the cache round differently in the
    last bit, and the same seed gives other draws in the first run than in the second.
    """
    import pytensor

    with pytensor.config.change_flags(numba__fastmath=False):
        yield


def check_engine(engine: str) -> None:
    """Raise unless the engine exists and is installed.

    Raises
    ------
    FitError
        If there is no such engine.
    EngineError
        If it is not installed.
    """
    if engine not in get_args(Engine):
        raise FitError(f"there is no engine {engine!r}: choose one of {', '.join(get_args(Engine))}")
    if find_spec(engine) is None:
        raise EngineError(f"the engine {engine!r} is not installed: pip install 'bayesanno[{engine}]', or use nutpie")


def sample_nuts(
    model: pymc.Model,
    start: Mapping[str, np.ndarray],
    *,
    engine: str,
    draws: int,
    tune: int,
    chains: int,
    target_accept: float,
    random_seed: int,
    progressbar: bool,
) -> Draws:
    """Draw from the posterior by NUTS; each chain starts at a jittered `start`."""
    check_engine(engine)
    if engine in ("numpyro", "blackjax"):
        from bayesanno.modeling.ops import sum_by_item as tally
        from bayesanno.modeling.ops import sum_out_states as logsumexp

        for operations in (logsumexp, tally):
            operations.register_with_jax()
    settings = {"draws": draws, "tune": tune, "chains": chains, "target_accept": target_accept}
    sampler = _sample_nutpie if engine == "nutpie" else _sample_pymc
    return sampler(model, dict(start), engine, settings, random_seed, progressbar)


def _sample_nutpie(
    model: pymc.Model,
    start: dict[str, np.ndarray],
    engine: str,  # noqa: ARG001
    settings: dict[str, Any],
    random_seed: int,
    progressbar: bool,
) -> Draws:
    import nutpie

    begin = time.perf_counter()
    free = [variable.name for variable in model.free_RVs]
    with status("compiling (a minute for the first model on a machine, less later)", show=progressbar):
        compiled = nutpie.compile_pymc_model(model, initial_points=start, var_names=free)
    compiled_at = time.perf_counter()
    sampler = nutpie.sample(
        compiled, **settings, seed=random_seed, progress_bar=progressbar, save_warmup=False, blocking=False
    )
    try:
        tree = sampler.wait()
    except BaseException:  # an interrupted run keeps nothing: nutpie would hand back the draws so far
        sampler.cancel()
        raise
    stats = tree["sample_stats"].to_dataset().rename(logp="lp")  # ArviZ's name for it
    plain = [name for name, variable in stats.data_vars.items() if variable.dtype.kind in "biuf"]
    return Draws(
        posterior=tree["posterior"].to_dataset()[free],
        sample_stats=stats[plain],
        seconds_compile=compiled_at - begin,
        seconds_sample=time.perf_counter() - compiled_at,
    )


def _sample_pymc(
    model: pymc.Model,
    start: dict[str, np.ndarray],
    engine: str,
    settings: dict[str, Any],
    random_seed: int,
    progressbar: bool,
) -> Draws:
    begin = time.perf_counter()
    tree = pm.sample(
        model=model,
        nuts_sampler=engine,
        initvals=start,
        random_seed=random_seed,
        progressbar=progressbar,
        compute_convergence_checks=False,
        quiet=not progressbar,
        nuts={"target_accept": settings.pop("target_accept")}
        | ({} if engine == "pymc" else {"chain_method": "vectorized"}),  # runs on any number of devices
        **settings,
    )
    if tree["posterior"].sizes["draw"] < settings["draws"]:  # PyMC hands back the draws so far
        raise KeyboardInterrupt
    free = [variable.name for variable in model.free_RVs]
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
