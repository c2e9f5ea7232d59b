"""Variational Bayes as a method of `fit`: from a model and annotations to draws of q, without PyMC.

What is known of q in closed form is not averaged over draws: labels, entropies and views are those of q(latents). Draws
are for what reads draws: intervals, comparisons, predictions, leave-one-out.

The invariant: what a fit holds under a name means what it does in other fits. `lp` is the log density of a draw on the
scale that NUTS samples on, `log_ratio` its log density less that of q.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.fits.storage import MAX_GROUP_BYTES, warn_of_size
from bayesanno.ground.errors import SizeWarning, warn
from bayesanno.ground.lazy import xr
from bayesanno.ground.running import one_blas_thread
from bayesanno.inference.climbing.climb import require_updates, to_shares
from bayesanno.inference.climbing.fit_em import start_at_point
from bayesanno.inference.climbing.restarts import as_draws, find_best
from bayesanno.inference.climbing.vb import VB, VBSettings, draw_log_shares, log_dirichlet
from bayesanno.inference.climbing.without_graph import (
    describe_found,
    make_fit,
    of_draws,
    tabulate_e_step,
    tabulate_items,
    tabulate_parameters,
)
from bayesanno.inference.dask.annotations import items_of
from bayesanno.inference.diagnosis.measures import find_pareto_k
from bayesanno.modeling.capabilities import is_exchangeable
from bayesanno.modeling.expectation import Items, log_probabilities, sum_classes, sum_log_likelihood

if TYPE_CHECKING:
    from collections.abc import Mapping

    import xarray

    from bayesanno.data.labelled import Labelled
    from bayesanno.inference.climbing.climb import Point
    from bayesanno.modeling.base import AnnotationModel

MAX_BYTES = 320 * 2**20  # of the draws that are kept: their parameters, and a log likelihood of each item
MIN_DRAWS = 50  # are kept of any size
CHUNK_BYTES = 4 * 2**20  # of the classes' log probabilities, over draws, at a time
NEAREST = 1e-15  # how near to 0 and 1 a probability comes, as for a sampler: nearer, 1 - it is 0 in double precision


def fit_by_vb(
    model: AnnotationModel,
    data: Labelled,
    settings: VBSettings,
    *,
    initvals: Any,
    relabel: bool,
    random_seed: int,
    progressbar: bool,
) -> xarray.DataTree:
    """Fit a model by variational Bayes; the arguments are those of `fit`.

    Starts are those of EM; "em" begins at the best point that EM finds for the posterior density.
    """
    begin = time.perf_counter()
    start_seed, draw_seed = np.random.SeedSequence(random_seed).spawn(2)
    seed = int(start_seed.generate_state(1)[0])
    problem = VB(require_updates(model, "vb"), data, items_of(data), settings)
    if isinstance(initvals, str) and initvals == "em":
        initvals = start_at_point(model, data, seed)
    exchangeable = relabel and is_exchangeable(model, data)
    found = find_best(problem, data, initvals, exchangeable=exchangeable, random_seed=seed, progressbar=progressbar)
    q = found.best.point
    n_draws = _choose_n_draws(data, q, settings)
    drawn = draw_from(problem, q, n_draws, np.random.default_rng(draw_seed))
    keeps_items = isinstance(data, AnnotationData) and 8 * n_draws * data.n_items <= MAX_GROUP_BYTES
    log_likelihood, by_pattern = evaluate_draws(problem, drawn.values, keep=keeps_items)
    stats = of_draws(weigh_draws(problem, q, drawn.log_shares, log_likelihood))
    log_prior = {name: log_dirichlet(logs, problem.prior[name]) for name, logs in drawn.log_shares.items()}
    seconds = time.perf_counter() - begin

    posterior = tabulate_parameters(problem, data, drawn.values)
    if exchangeable:
        stats = stats.assign(permutation=_repeat(found.permutation, posterior))
    groups = {
        "posterior": posterior,
        "sample_stats": stats,
        "log_prior": as_draws(problem.model.parameter_dims, data, log_prior),
    }
    if isinstance(data, AnnotationData):
        groups["latent"] = tabulate_items(problem, data, found.probability, _values_for_views(problem, q))
    else:
        groups["e_step"] = tabulate_e_step(problem, data, q)
    if by_pattern is not None:
        assert isinstance(problem.items, Items)
        groups["log_likelihood"] = of_draws(
            {"annotations": by_pattern[:, problem.items.pattern]}, list(groups["latent"]["item"].values)
        )
    elif isinstance(data, AnnotationData):
        warn_of_size(data.n_items, n_draws)
    diagnostics = describe_found(found) | {
        "n_draws": n_draws,
        "pareto_k": find_pareto_k(stats["log_ratio"].values[0]),
        "vb": {"elbo": found.comparison["objective"], **found.comparison},
    }
    return make_fit(model, data, groups, seconds=seconds, random_seed=random_seed, diagnostics=diagnostics)


class Drawn(NamedTuple):
    """Draws of q: the logs of shares, (draw, ..., share) each, and parameters on their own scale, (draw, ...)."""

    log_shares: dict[str, np.ndarray]
    values: dict[str, np.ndarray]


def draw_from(problem: VB, q: Point, n_draws: int, rng: np.random.Generator) -> Drawn:
    """Draw from q."""
    logs = {name: draw_log_shares(concentrations, n_draws, rng) for name, concentrations in q.items()}
    values = problem.as_values({name: np.exp(each) for name, each in logs.items()})
    for name, value in values.items():
        if problem.is_pair(name):
            np.clip(value, NEAREST, 1 - NEAREST, out=value)
    return Drawn(logs, values)


def evaluate_draws(
    problem: VB, values: Mapping[str, np.ndarray], *, keep: bool = True
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the log likelihood of each draw (draw,), and if it is to be kept that of each pattern (draw, pattern)."""
    items = problem.items
    n_draws = len(next(iter(values.values())))
    n_chunks = min(n_draws, 1 + 8 * n_draws * items.largest * len(items.names_class) // CHUNK_BYTES)
    chunks = np.array_split(np.arange(n_draws), n_chunks)

    def evaluate(chunk: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        shares = [problem.as_shares({name: value[draw] for name, value in values.items()}) for draw in chunk]
        logs = [log_probabilities(problem.model, items.names_class, one) for one in shares]
        log_class = np.stack([of_class for of_class, _ in logs])  # (draw, true_class)
        log_answer = np.stack([of_answer for _, of_answer in logs], axis=-2)  # (annotator, response, draw, true_class)
        if not keep:
            return items.add_up(sum_log_likelihood, log_class, log_answer), None
        assert isinstance(items, Items)
        parts = [sum_classes(block.weigh_classes(log_class, log_answer)) for block in items.blocks]  # (pattern, draw)
        total = sum(block.weight @ part for block, part in zip(items.blocks, parts, strict=True))
        return np.asarray(total), np.concatenate(parts).T

    with one_blas_thread(), ThreadPoolExecutor(min(n_chunks, items.n_threads)) as pool:
        totals, parts = zip(*pool.map(evaluate, chunks), strict=True)
    return np.concatenate(totals), np.concatenate(parts) if keep else None


def weigh_draws(
    problem: VB, q: Point, log_shares: Mapping[str, np.ndarray], log_likelihood: np.ndarray
) -> dict[str, np.ndarray]:
    """Return `lp` and `log_ratio` of draws whose log likelihood is given; of shape (draw,) each."""
    log_density, log_ratio = log_likelihood.copy(), log_likelihood.copy()
    for name, logs in log_shares.items():
        of_prior, of_q = log_dirichlet(logs, problem.prior[name]), log_dirichlet(logs, q[name])  # (draw, ...)
        log_ratio += (of_prior - of_q).reshape(len(logs), -1).sum(axis=1)
        log_density += (of_prior + _log_jacobian(logs, pair=problem.is_pair(name))).reshape(len(logs), -1).sum(axis=1)
    return {"lp": log_density, "log_ratio": log_ratio}


def _log_jacobian(log_shares: np.ndarray, *, pair: bool) -> np.ndarray:
    """Return the log Jacobian of the scale that a sampler sees: the probit of a pair, PyMC's simplex transform else."""
    if not pair:
        found: np.ndarray = log_shares.sum(axis=-1) + np.log(log_shares.shape[-1])
        return found
    from scipy.special import ndtri_exp

    of_probit: np.ndarray = -0.5 * (ndtri_exp(log_shares.min(axis=-1)) ** 2 + np.log(2 * np.pi))
    return of_probit


def _choose_n_draws(data: Labelled, q: Point, settings: VBSettings) -> int:
    """Return how many draws are kept; warn if that is fewer than were asked for."""
    asked = settings.draws * settings.chains
    each = 8 * (sum(values.size for values in q.values()) + data.n_items)  # bytes
    n_draws = min(asked, max(MIN_DRAWS, MAX_BYTES // each))
    if n_draws < asked:
        warn(
            f"{n_draws} of {asked} draws are kept: a draw of {data.n_annotators} annotators and {data.n_items} items "
            f"takes {each / 2**20:.1f} MiB; labels and their probabilities do not depend on draws",
            SizeWarning,
        )
    return n_draws


def _values_for_views(problem: VB, q: Point) -> dict[str, np.ndarray]:
    """Return parameters under which a view is that of q(latents): what enters by its odds has those of q's shares."""
    shares = problem.e_step_shares(q)
    return problem.as_values({name: to_shares(s) if problem.is_pair(name) else s for name, s in shares.items()})


def _repeat(permutation: np.ndarray, posterior: xarray.Dataset) -> xarray.DataArray:
    """Return one permutation (true_class,) as that of every draw."""
    coords = {dim: posterior[dim].values for dim in ("chain", "draw", "true_class")}
    whole = np.broadcast_to(permutation, [values.size for values in coords.values()])
    return xr.DataArray(whole.copy(), dims=tuple(coords), coords=coords)
