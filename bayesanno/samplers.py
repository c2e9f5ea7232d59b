"""The engines: each takes a PyMC model and a start, and returns draws of its free parameters.

The invariant: the same seed on the same machine gives the same draws, bit for bit, and an interrupted run gives none.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from bayesanno.errors import EngineError, FitError
from bayesanno.lazy import pm, xr

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pymc
    import xarray

Engine = Literal["nutpie", "pymc", "numpyro", "blackjax"]
Method = Literal["nuts", "advi", "fullrank_advi"]
JITTER = (
    1.0  # half-width of the uniform jitter of the chains' starts, on the unconstrained scale, as in PyMC and nutpie
)
ADVI_ROUND = 2_000  # steps between two looks at the ELBO
PARETO_DRAWS = 1_000


@dataclass(frozen=True)
class Draws:
    """What an engine gives back: draws of the free parameters, what it says of them, and how long it took."""

    posterior: xarray.Dataset
    sample_stats: xarray.Dataset
    seconds_compile: float
    seconds_sample: float
    diagnostics: dict[str, Any] = field(default_factory=dict)


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
    stats = tree["sample_stats"].to_dataset()
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
        idata_kwargs={"log_likelihood": False},
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


def approximate(
    model: pymc.Model,
    start: Mapping[str, np.ndarray],
    *,
    method: str,
    draws: int,
    steps: int,
    random_seed: int,
    progressbar: bool,
) -> Draws:
    """Fit a normal approximation on the unconstrained scale by ADVI and draw from it.

    Stops early once the ELBO of the last round is no better than that of the round before, given their noise.
    `diagnostics` holds `converged`, `advi_steps` and `pareto_k`, the tail shape of the importance ratios between
    posterior and approximation (Yao et al. 2018, arXiv:1802.02538).
    """
    begin = time.perf_counter()
    seeds = np.random.SeedSequence(random_seed).spawn(2)
    kind = {"advi": pm.ADVI, "fullrank_advi": pm.FullRankADVI}[method]
    advi_seed = int(seeds[0].generate_state(1)[0])
    advi = kind(model=model, start=dict(start), random_seed=advi_seed)
    optimiser = pm.adam(learning_rate=0.01)
    step_function = {"obj_optimizer": optimiser, "progressbar": progressbar}
    compiled_at: float | None = None
    done, converged, history = 0, False, np.empty(0)
    while done < steps and not converged:
        n = min(ADVI_ROUND, steps - done)
        advi.fit(n, **step_function) if done == 0 else advi.refine(n, progressbar=progressbar)
        compiled_at = compiled_at or time.perf_counter()
        history = np.asarray(advi.hist)
        if history.size < done + n:
            raise KeyboardInterrupt  # PyMC keeps the steps so far
        done += n
        converged = done >= 2 * ADVI_ROUND and not _still_improving(history[-2 * ADVI_ROUND :])
    rng = np.random.default_rng(seeds[1])
    z, log_q = _draw_normal(advi.approx, max(draws, PARETO_DRAWS), method, rng)
    posterior, log_p = _constrain(model, advi.approx, z)
    return Draws(
        posterior=posterior.isel(draw=slice(0, draws)),
        sample_stats=xr.Dataset(
            {"log_ratio": (("chain", "draw"), (log_p - log_q)[None, :draws])},
            coords={"chain": [0], "draw": np.arange(draws)},
        ),
        seconds_compile=0.0,
        seconds_sample=time.perf_counter() - begin,
        diagnostics={"converged": converged, "advi_steps": done, "pareto_k": _pareto_k(log_q - log_p)},
    )


def _still_improving(loss: np.ndarray) -> bool:
    """Compare the two halves of a stretch of losses by their means, in units of the means' standard error."""
    before, after = np.split(loss, 2)
    noise = np.sqrt(before.var() / before.size + after.var() / after.size)
    return bool(before.mean() - after.mean() > 3 * noise)


def _draw_normal(approx: Any, n: int, method: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return draws z (draw, dimension) of the fitted normal and log q(z) (draw,)."""
    from scipy.stats import multivariate_normal, norm

    mean = approx.mean.eval()  # (dimension,)
    if method == "advi":
        sd = approx.std.eval()  # (dimension,)
        z = mean + sd * rng.standard_normal((n, mean.size))
        return z, norm.logpdf(z, mean, sd).sum(axis=1)
    covariance = approx.cov.eval()  # (dimension, dimension)
    z = mean + rng.standard_normal((n, mean.size)) @ np.linalg.cholesky(covariance).T
    return z, np.asarray(multivariate_normal(mean, covariance).logpdf(z))


def _constrain(model: pymc.Model, approx: Any, z: np.ndarray) -> tuple[xarray.Dataset, np.ndarray]:
    """Return the free parameters at each z, and the log density of z on the unconstrained scale."""
    value_of = {variable.name: model.rvs_to_values[variable].name for variable in model.free_RVs}
    forward = model.compile_fn(model.unobserved_value_vars, inputs=model.value_vars, point_fn=True)
    logp = model.compile_logp()
    names = [variable.name for variable in model.unobserved_value_vars]
    values: dict[str, list[np.ndarray]] = {name: [] for name in value_of}
    log_p = np.empty(len(z))
    for sample, row in enumerate(z):
        point = {name: row[part].reshape(shape) for name, (_, part, shape, _) in approx.ordering.items()}
        log_p[sample] = logp(point)
        found = dict(zip(names, forward(point), strict=True))
        for name, kept in values.items():
            kept.append(found[name])
    coords = {name: list(model.coords[name]) for name in model.coords}
    variables = {
        name: (("chain", "draw", *model.named_vars_to_dims[name]), np.stack(kept)[None])
        for name, kept in values.items()
    }
    used = {dim for dims, _ in variables.values() for dim in dims}
    dataset = xr.Dataset(
        variables,
        coords={"chain": [0], "draw": np.arange(len(z))} | {dim: coords[dim] for dim in used & set(coords)},
    )
    return dataset, log_p


def _pareto_k(log_q_minus_log_p: np.ndarray) -> float:
    """Return the Pareto k of the ratios p/q; ArviZ's smoother negates its argument itself."""
    from arviz_stats.base import array_stats

    finite = log_q_minus_log_p[np.isfinite(log_q_minus_log_p)]
    return float(array_stats.psislw(finite)[1])
