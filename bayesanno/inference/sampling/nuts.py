"""NUTS with several samplers: each takes a graph and a start, and returns draws of the free parameters.

The invariant: the same seed on the same machine gives the same draws, bit for bit. An interrupted run gives no draws.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from bayesanno._core.lazy import pm
from bayesanno._core.messages import FitError, name_error, option
from bayesanno._core.private import check_settings, import_nutpie, make_compiled_model
from bayesanno._core.running import hold_interrupts
from bayesanno.graph.density import Density
from bayesanno.graph.functions import name_draws
from bayesanno.inference.sampling.starts import Starts
from bayesanno.inference.settings import Draws, NUTSSettings

logger = logging.getLogger(__name__)


def sample_nuts(
    graph: pm.Model,
    start: Starts,
    settings: NUTSSettings,
    *,
    random_seed: int,
    progressbar: bool,
) -> Draws:
    """Draw from the posterior by NUTS, with starting points from `start`."""
    begin = time.perf_counter()
    if settings.nuts_sampler == "nutpie":
        tree = _sample_nutpie(start, settings, random_seed, progressbar)
    else:
        tree = _sample_pymc(graph, start, settings, random_seed, progressbar)
    elapsed = time.perf_counter() - begin
    stats = tree["sample_stats"].to_dataset()
    stats.attrs = tree["posterior"].attrs | stats.attrs  # the sampler's name and version are in one or the other
    plain = [name for name, variable in stats.data_vars.items() if variable.dtype.kind in "biuf"]
    sampling = float(stats.attrs.get("sampling_time", elapsed))  # as PyMC says it: what remains, it compiled in
    return Draws(
        posterior=name_draws(graph, {name: tree["posterior"][name].values for name in start.density.names}),
        sample_stats=stats[plain].rename({"logp": "lp"} if "logp" in plain else {}),  # ArviZ's name for it
        seconds_compile=max(0.0, elapsed - sampling),
        seconds_sample=sampling,
    )


def _sample_nutpie(start: Starts, settings: NUTSSettings, random_seed: int, progressbar: bool) -> Any:
    try:
        check_settings(own := dict(settings.nuts_sampler_kwargs))
    except (AttributeError, TypeError, ValueError) as error:
        raise FitError(f"nuts_sampler_kwargs: {error}: see nutpie.sample") from None
    if len(start.points) > 1:
        start = start.assign_chains(_find_seeds(start, settings.chains, random_seed))
    return _run_nutpie(
        start.density,
        start.draw,
        draws=settings.draws,
        tune=settings.tune,
        chains=settings.chains,
        target_accept=settings.target_accept,
        seed=random_seed,
        progress_bar=progressbar,
        **own,
    )


def _run_nutpie(density: Density, start: Callable[[int], np.ndarray], **settings: Any) -> Any:
    """Return nutpie's draws; an interrupted run gives none, although nutpie would return the draws so far.

    A sampler that is interrupted during its construction cannot be reached, and its threads would continue.
    """
    sampler = None
    try:
        with hold_interrupts():
            sampler = _make_sampler(density, start, save_warmup=False, blocking=False, **settings)
        return sampler.wait()
    except BaseException as problem:
        if sampler is not None:
            with suppress(BaseException):  # after a panic, its own error adds nothing
                sampler.cancel()
        if type(problem).__name__ == "PanicException":  # of Rust; it has no class that can be imported
            raise FitError(
                f"nutpie failed ({str(problem).splitlines()[0]}): try another seed, a stronger prior or another "
                f"sampler ({option('nuts_sampler', 'pymc')})"
            ) from problem
        raise


def _make_sampler(density: Density, start: Callable[[int], np.ndarray], **settings: Any) -> Any:
    """Let nutpie sample a density with C functions, or else with Python functions (two to three times as slow)."""
    nutpie = import_nutpie()
    try:
        return nutpie.sample(make_compiled_model(density.functions, density.parts, density.n_dim, start), **settings)
    except (AttributeError, ImportError, TypeError) as error:
        logger.warning("nutpie differs from the version that is expected (%s): sampling is slower", name_error(error))
    shapes = [density.parts[name][1] for name in density.names]
    model = nutpie.compiled_pyfunc.from_pyfunc(
        density.n_dim,
        make_logp_fn=lambda: density,
        make_expand_fn=lambda *_: density.values_at,
        expanded_dtypes=[np.dtype("float64")] * len(shapes),
        expanded_shapes=shapes,
        expanded_names=list(density.names),
        make_initial_point_fn=start,
    )
    return nutpie.sample(model, **settings)


def _find_seeds(start: Starts, chains: int, random_seed: int) -> list[int]:
    """Return the seeds with which nutpie's chains request their starts, since nutpie does not pass the chain's number.

    They depend only on its seed and the chain, so a very short run has the same ones. Nothing shorter is sound: chains
    ask from threads, in an order that differs from run to run; fewer threads than chains cannot wait for each other;
    and their seeds are the output of Rust's ChaCha8 after the steps of nutpie's own that come before.
    """
    seeds: list[int] = []

    def note(seed: int) -> np.ndarray:
        seeds.append(seed)
        return start.draw(seed)

    _run_nutpie(
        start.density,
        note,
        draws=chains,  # ArviZ warns of fewer draws than chains
        tune=1,
        chains=chains,
        seed=random_seed,
        maxdepth=1,
        progress_bar=False,
    )
    return seeds


def _sample_pymc(graph: pm.Model, start: Starts, settings: NUTSSettings, random_seed: int, progressbar: bool) -> Any:
    nuts: dict[str, object] = {"target_accept": settings.target_accept, **dict(settings.nuts_sampler_kwargs)}
    if settings.nuts_sampler != "pymc":
        from bayesanno._core.private import register_with_jax

        register_with_jax()
        nuts["chain_method"] = "vectorized"  # runs on any number of devices
    seeds = [int(seed) for seed in np.random.SeedSequence(random_seed).generate_state(settings.chains)]
    start = start.assign_chains(seeds)
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
    if tree["posterior"].sizes["draw"] < settings.draws:  # PyMC returns the draws so far
        raise KeyboardInterrupt
    return tree
