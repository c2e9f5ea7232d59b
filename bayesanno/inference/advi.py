"""ADVI: a normal approximation to the posterior on the unconstrained scale, and how far it is from the posterior.

The full-rank approximation starts from the fitted independent one; started from scratch it wanders on models of this
size. Both stop once the ELBO has stopped rising, and both are judged by the Pareto k of the importance ratios.
"""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bayesanno.ground.lazy import pm, xr
from bayesanno.inference.nuts import Draws

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pymc
    import xarray

Method = Literal["advi", "fullrank_advi"]
ROUND = 2_000  # steps between two looks at the ELBO
LEARNING_RATE = {"advi": 1e-2, "fullrank_advi": 1e-3}
PARETO_DRAWS = 1_000


def approximate(
    model: pymc.Model,
    start: Mapping[str, np.ndarray],
    *,
    method: Method,
    draws: int,
    steps: int,
    random_seed: int,
    progressbar: bool,
) -> Draws:
    """Fit a normal approximation by ADVI (Kucukelbir et al. 2017) and draw from it.

    Returns
    -------
    Draws
        `diagnostics` holds `converged` (the ELBO had stopped rising), `advi_steps`, and `pareto_k`, the tail shape of
        the ratios between posterior and approximation (Yao et al. 2018, arXiv:1802.02538).
    """
    begin = time.perf_counter()
    *fit_seeds, draw_seed = np.random.SeedSequence(random_seed).spawn(3)
    seeds = [int(seed.generate_state(1)[0]) for seed in fit_seeds]
    with _quiet_pymc():
        advi = pm.ADVI(model=model, start=dict(start), random_seed=seeds[0])
        converged, done = _climb(advi, steps, "advi", progressbar)
        mean, scale = advi.approx.mean.eval(), advi.approx.std.eval()  # (dimension,)
        if method == "fullrank_advi":
            full = pm.FullRankADVI(model=model, random_seed=seeds[1])
            _start_full_rank(full.approx.groups[0], mean, scale)
            converged, more = _climb(full, steps, method, progressbar)
            done += more
            mean, scale = full.approx.mean.eval(), full.approx.groups[0].L.eval()
            advi = full
    z, log_q = _draw_normal(mean, scale, max(draws, PARETO_DRAWS), np.random.default_rng(draw_seed))
    posterior, log_p = _constrain(model, advi.approx, z)
    stats = xr.Dataset(
        {
            "lp": (("chain", "draw"), log_p[None, :draws]),
            "log_ratio": (("chain", "draw"), (log_p - log_q)[None, :draws]),
        },
        coords={"chain": [0], "draw": np.arange(draws)},
    )
    return Draws(
        posterior=posterior.isel(draw=slice(0, draws)),
        sample_stats=stats,
        seconds_compile=0.0,
        seconds_sample=time.perf_counter() - begin,
        diagnostics={"converged": converged, "advi_steps": done, "pareto_k": _pareto_k(log_p - log_q)},
    )


def _climb(advi: Any, steps: int, method: str, progressbar: bool) -> tuple[bool, int]:
    """Take rounds of steps until the ELBO no longer rises; return whether that was so, and how many were taken."""
    done, converged = 0, False
    while done < steps and not converged:
        n = min(ROUND, steps - done)
        if done == 0:
            optimiser = pm.adam(learning_rate=LEARNING_RATE[method])
            advi.fit(n, obj_optimizer=optimiser, progressbar=progressbar)
        else:
            advi.refine(n, progressbar=progressbar)
        done += n
        if advi.hist.size < done:
            raise KeyboardInterrupt  # PyMC keeps the steps so far; an interrupted fit is none
        converged = done >= 2 * ROUND and not still_improving(advi.hist[-2 * ROUND :])
    return converged, done


def still_improving(loss: np.ndarray) -> bool:
    """Tell whether the second half of a stretch of losses is lower than the first, beyond the noise of their means."""
    before, after = np.split(loss, 2)
    noise = np.sqrt(before.var() / before.size + after.var() / after.size)
    return bool(before.mean() - after.mean() > 3 * noise)


def _start_full_rank(group: Any, mean: np.ndarray, sd: np.ndarray) -> None:
    """Put a full-rank normal where an independent one is: PyMC holds the diagonal as the inverse of its softplus."""
    rows, columns = group.tril_indices
    lower = np.where(rows == columns, np.log(np.expm1(sd))[rows], 0.0)
    group.params_dict["mu"].set_value(mean)
    group.params_dict["L_tril"].set_value(lower)


def _draw_normal(
    mean: np.ndarray, scale: np.ndarray, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return draws z (draw, dimension) and log q(z) (draw,); `scale` holds standard deviations or a Cholesky factor."""
    standard = rng.standard_normal((n, mean.size))  # (draw, dimension)
    sd = scale if scale.ndim == 1 else np.diag(scale)
    z = mean + (standard * scale if scale.ndim == 1 else standard @ scale.T)
    log_q = -0.5 * (standard**2 + np.log(2 * np.pi)).sum(axis=1) - np.log(sd).sum()
    return z, log_q


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
        name: (("chain", "draw", *model.named_vars_to_dims.get(name, ())), np.stack(kept)[None])
        for name, kept in values.items()
    }
    used = {dim for dims, _ in variables.values() for dim in dims}
    dataset = xr.Dataset(
        variables,
        coords={"chain": [0], "draw": np.arange(len(z))} | {dim: coords[dim] for dim in used & set(coords)},
    )
    return dataset, log_p


@contextmanager
def _quiet_pymc() -> Iterator[None]:
    """Keep PyMC from reporting every round."""
    logger = logging.getLogger("pymc")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def _pareto_k(log_ratio: np.ndarray) -> float:
    """Return the Pareto k of the ratios exp(log_ratio) = p/q; ArviZ's smoother negates its argument itself."""
    from arviz_stats.base import array_stats

    return float(array_stats.psislw(-log_ratio[np.isfinite(log_ratio)])[1])
