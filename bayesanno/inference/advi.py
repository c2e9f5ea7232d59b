"""ADVI: a normal approximation to the posterior on the unconstrained scale, and how far it is from the posterior.

The full-rank approximation starts from the fitted independent one; started from scratch it wanders on models of this
size. Both stop once the ELBO has stopped rising, and both are judged by the Pareto k of the importance ratios.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from bayesanno.ground.lazy import pm, xr
from bayesanno.ground.quiet import quiet_logger
from bayesanno.inference.diagnostics import find_pareto_k
from bayesanno.inference.settings import AtLeast, Draws, GraphSettings
from bayesanno.inference.unconstrained import constrain, density_of
from bayesanno.modeling.functions import BY_NUMPY

if TYPE_CHECKING:
    import pymc

    from bayesanno.inference.starts import Starts

ROUND = 2_000  # steps between two looks at the ELBO
LEARNING_RATE = 1e-2
LEARNING_RATE_FULL_RANK = 1e-3
PARETO_DRAWS = 1_000


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


def approximate(
    graph: pymc.Model,
    start: Starts,
    settings: ADVISettings,
    *,
    full_rank: bool,
    random_seed: int,
    progressbar: bool,
) -> Draws:
    """Fit a normal approximation by ADVI (Kucukelbir et al. 2017) and draw from it.

    Returns
    -------
    Draws
        `diagnostics` holds `converged` (the ELBO had stopped rising), `steps` (how many were taken), and `pareto_k`,
        the tail shape of the ratios between posterior and approximation (Yao et al. 2018, arXiv:1802.02538).
    """
    begin = time.perf_counter()
    *fit_seeds, draw_seed = np.random.SeedSequence(random_seed).spawn(3)
    seeds = [int(seed.generate_state(1)[0]) for seed in fit_seeds]
    with quiet_logger("pymc", logging.WARNING):  # PyMC reports every round
        advi = pm.ADVI(model=graph, start=dict(start.values), random_seed=seeds[0])
        converged, done = _climb(advi, settings.steps, LEARNING_RATE, progressbar)
        mean, scale = advi.approx.mean.eval(mode=BY_NUMPY), advi.approx.std.eval(mode=BY_NUMPY)  # (dimension,)
        if full_rank:
            full = pm.FullRankADVI(model=graph, random_seed=seeds[1])
            _start_full_rank(full.approx.groups[0], mean, scale)
            converged, more = _climb(full, settings.steps, LEARNING_RATE_FULL_RANK, progressbar)
            done += more
            mean, scale = full.approx.mean.eval(mode=BY_NUMPY), full.approx.groups[0].L.eval(mode=BY_NUMPY)
            advi = full
    draws = settings.draws * settings.chains
    z, log_q = _draw_normal(mean, scale, max(draws, PARETO_DRAWS), np.random.default_rng(draw_seed))
    parts = {name: (part, shape) for name, (_, part, shape, _) in advi.approx.ordering.items()}
    log_p = density_of(graph, parts)(z)
    stats = xr.Dataset(
        {
            "lp": (("chain", "draw"), log_p[None, :draws]),
            "log_ratio": (("chain", "draw"), (log_p - log_q)[None, :draws]),
        },
        coords={"chain": [0], "draw": np.arange(draws)},
    )
    return Draws(
        posterior=constrain(graph, parts, z[:draws]),
        sample_stats=stats,
        seconds_compile=0.0,
        seconds_sample=time.perf_counter() - begin,
        diagnostics={"converged": converged, "steps": done, "pareto_k": find_pareto_k(log_p - log_q)},
    )


def _climb(advi: Any, steps: int, learning_rate: float, progressbar: bool) -> tuple[bool, int]:
    """Take rounds of steps until the ELBO no longer rises; return whether that was so, and how many were taken."""
    done, converged = 0, False
    while done < steps and not converged:
        n = min(ROUND, steps - done)
        if done == 0:
            advi.fit(n, obj_optimizer=pm.adam(learning_rate=learning_rate), progressbar=progressbar)
        else:
            advi.refine(n, progressbar=progressbar)
        done += n
        if advi.hist.size < done:
            raise KeyboardInterrupt  # PyMC keeps the steps so far; an interrupted fit is none
        converged = done >= 2 * ROUND and not still_improving(advi.hist[-2 * ROUND :])
    return converged, done


def still_improving(loss: np.ndarray) -> bool:
    """Return whether the second half of some losses is lower than the first, beyond the noise of their means."""
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
