"""Variational Bayes: the approximation q(parameters) q(latents) nearest to the posterior.

The model's priors are Dirichlets, or Betas, which are Dirichlets with two shares. If q has this form, and the latents
of an item (its class; in MACE also who spams on it) are treated jointly, the best q of one part given the other is:

    q(shares)  = Dirichlet(c),   c = prior concentrations + expected counts
    q(latents) of an item ~ p(its latents, its answers | s),   s = exp(E log share) = exp(psi(c) - psi(sum c))

A step is therefore an E-step of EM with shares s, which add up to less than 1, followed by the resulting counts (Hovy
et al. 2013, section 2.1; in general Beal 2003, chapter 2, https://cse.buffalo.edu/faculty/mbeal/thesis). Each step
raises

    ELBO = sum over items of log sum over latents p(latents, answers | s)  -  sum KL(Dirichlet(c) || prior)

which is the log evidence log p(data) minus KL(q || posterior).

Quantities with a closed form under q are not averaged over draws: labels, entropies and views of a fit come from
q(latents). Draws are used for intervals, comparisons, predictions and leave-one-out.

The invariant: concentrations are at least those of the prior, and the ELBO is that of the best q(latents) for them. In
a fit, `lp` is the log density of a draw on the scale of NUTS, and `log_ratio` is `lp` minus the log density of q.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np

from bayesanno._core.lazy import xr
from bayesanno._core.messages import SizeWarning, warn
from bayesanno._core.running import one_blas_thread
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import Labelled
from bayesanno.fits.storage import MAX_GROUP_BYTES
from bayesanno.inference.diagnosis.measures import find_pareto_k
from bayesanno.inference.em_vb.em import start_at_point
from bayesanno.inference.em_vb.fixed_point import (
    REST,
    FixedPointProblem,
    FixedPointResult,
    Point,
    Step,
    as_draws,
    find_best,
    items_of,
    require_updates,
    to_shares,
)
from bayesanno.inference.em_vb.without_graph import make_fit, of_draws
from bayesanno.inference.settings import Results, VBSettings
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.expectation import Items, Shares, expect, sum_classes, sum_log_likelihood

LEAST = np.finfo(float).tiny  # of exp(E log share), which rounds to 0 for concentrations below 1/700
MAX_BYTES = 320 * 2**20  # memory for the kept draws: parameters, and a log likelihood of each item
MIN_DRAWS = 50  # kept of any size
CHUNK_BYTES = 4 * 2**20  # memory for log probabilities of classes over draws at a time
NEAREST = 1e-15  # least distance of a probability to 0 and 1, as for a sampler: closer, 1 - p rounds to 1 or 0


class VB(FixedPointProblem):
    """The objective of variational Bayes: the ELBO of a model and some items. A point is the concentrations of q."""

    name: ClassVar[str] = "VB"

    def step(self, point: Point) -> Step:
        """Take an E-step with q's shares, and add its counts to the prior; `log_likelihood` is of these shares."""
        logs = {name: expect_log(values) for name, values in point.items()}
        shares = _to_shares(logs)
        expected = expect(self.model, self.items, shares)
        counts = self.model.expected_counts(shares, expected, self.items.names_class)
        away = sum(
            float(measure_kl(values, self.prior[name], expected_log=logs[name]).sum()) for name, values in point.items()
        )
        moved = {name: prior + counts[name] for name, prior in self.prior.items()}
        return Step(expected.log_likelihood - away, expected.log_likelihood, moved)

    def keep_inside(self, point: Point, last: Point) -> dict[str, np.ndarray]:
        """Return concentrations, none below the prior's."""
        return {
            name: np.where(point[name] >= prior, point[name], prior + REST * (last[name] - prior))
            for name, prior in self.prior.items()
        }

    def e_step_shares(self, point: Point) -> Shares:
        """Return exp(E log share), which add up to less than 1."""
        return _to_shares({name: expect_log(values) for name, values in point.items()})

    def mean_shares(self, point: Point) -> Shares:
        """Return the means of the shares under q."""
        return {name: to_shares(values) for name, values in point.items()}

    def begin(self, shares: Shares) -> FixedPointResult:
        """Begin at the prior plus the counts that follow from the shares of the start."""
        counts = self.model.expected_counts(shares, expect(self.model, self.items, shares), self.items.names_class)
        return super().begin({name: prior + counts[name] for name, prior in self.prior.items()})


def _to_shares(logs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.maximum(np.exp(values), LEAST) for name, values in logs.items()}


def expect_log(concentrations: np.ndarray) -> np.ndarray:
    """Return E log share of Dirichlets (..., share).

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.em_vb.vb import expect_log
    >>> np.exp(expect_log(np.array([2.0, 1.0]))).round(4)
    array([0.6065, 0.2231])
    """
    from scipy.special import psi

    return psi(concentrations) - psi(concentrations.sum(axis=-1, keepdims=True))


def log_normaliser(concentrations: np.ndarray) -> np.ndarray:
    """Return the log normalising constant of Dirichlets (..., share); shape (...)."""
    from scipy.special import gammaln

    return gammaln(concentrations).sum(axis=-1) - gammaln(concentrations.sum(axis=-1))


def measure_kl(one: np.ndarray, other: np.ndarray, *, expected_log: np.ndarray | None = None) -> np.ndarray:
    """Return KL(Dirichlet(one) || Dirichlet(other)) of Dirichlets (..., share), in nats; shape (...).

    `expected_log` is `expect_log(one)`, if it is known.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.em_vb.vb import measure_kl
    >>> measure_kl(np.array([2.0, 1.0]), np.array([1.0, 1.0])).round(6).item()  # log 2 - 1/2
    0.193147
    """
    logs = expect_log(one) if expected_log is None else expected_log
    return log_normaliser(other) - log_normaliser(one) + ((one - other) * logs).sum(axis=-1)


def log_dirichlet(log_shares: np.ndarray, concentrations: np.ndarray) -> np.ndarray:
    """Return log densities of Dirichlets at the logs of shares, (draw, ..., share); shape (draw, ...)."""
    return ((concentrations - 1) * log_shares).sum(axis=-1) - log_normaliser(concentrations)


def draw_log_shares(concentrations: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the logs of shares from Dirichlets (..., share), shape (draw, ..., share).

    A share with a small concentration may round to 0, but its log is finite: Gamma(c) is Gamma(c + 1) times a uniform
    number to the power of 1 / c.
    """
    shape = (n, *concentrations.shape)
    log_gamma = np.log(rng.standard_gamma(concentrations + 1, shape))
    log_gamma -= rng.standard_exponential(shape) / concentrations
    log_gamma -= log_gamma.max(axis=-1, keepdims=True)
    log_gamma -= np.log(np.exp(log_gamma).sum(axis=-1, keepdims=True))
    return log_gamma


# -------------------------------------------------------------------------------- as a method of fit


def fit_by_vb(
    model: AnnotationModel,
    data: Labelled,
    settings: VBSettings,
    *,
    initvals: Any,
    relabel: bool,
    random_seed: int,
    progressbar: bool,
) -> Results:
    """Fit a model by variational Bayes; the arguments are those of `fit`.

    Starts are those of EM. "em" begins at the best point that EM finds for the posterior density.
    """
    begin = time.perf_counter()
    start_seed, draw_seed = np.random.SeedSequence(random_seed).spawn(2)
    seed = int(start_seed.generate_state(1)[0])
    problem = VB(require_updates(model, "vb"), data, items_of(data), settings)
    if isinstance(initvals, str) and initvals == "em":
        initvals = start_at_point(model, data, seed)
    exchangeable = relabel and model.is_exchangeable(data)
    found = find_best(problem, data, initvals, exchangeable=exchangeable, random_seed=seed, progressbar=progressbar)
    q = found.best.point
    n_draws = _choose_n_draws(data, q, settings)
    log_shares, values = draw_from(problem, q, n_draws, np.random.default_rng(draw_seed))
    keeps_items = isinstance(data, AnnotationData) and 8 * n_draws * data.n_items <= MAX_GROUP_BYTES
    log_likelihood, by_pattern = evaluate_draws(problem, values, keep=keeps_items)
    stats = of_draws(weigh_draws(problem, q, log_shares, log_likelihood))
    log_prior = {name: log_dirichlet(logs, problem.prior[name]) for name, logs in log_shares.items()}
    seconds = time.perf_counter() - begin

    if exchangeable:
        stats = stats.assign(permutation=_repeat(found.permutation, stats.sizes["draw"], data.classes))
    return make_fit(
        found,
        data,
        values,
        stats,
        views_at=_values_for_views(problem, q),
        log_likelihood=None if by_pattern is None else by_pattern[:, found.pattern],
        seconds=seconds,
        random_seed=random_seed,
        groups={"log_prior": as_draws(problem.dims, data, log_prior)},
        diagnostics={
            "pareto_k": find_pareto_k(stats["log_ratio"].values[0]),
            "climb": {"method": "VB", "elbo": found.comparison["objective"]} | found.comparison,
        },
    )


def draw_from(
    problem: VB, q: Point, n_draws: int, rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Draw from q: the logs of shares, (draw, ..., share) each, and parameters on their own scale, (draw, ...)."""
    logs = {name: draw_log_shares(concentrations, n_draws, rng) for name, concentrations in q.items()}
    values = problem.as_values({name: np.exp(each) for name, each in logs.items()})
    for name, value in values.items():
        if problem.is_pair(name):
            np.clip(value, NEAREST, 1 - NEAREST, out=value)
    return logs, values


def evaluate_draws(
    problem: VB, values: Mapping[str, np.ndarray], *, keep: bool = True
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the log likelihood of each draw (draw,), and that of each pattern (draw, pattern) if `keep`."""
    items = problem.items
    n_draws = len(next(iter(values.values())))
    n_chunks = min(n_draws, 1 + 8 * n_draws * items.largest * len(items.names_class) // CHUNK_BYTES)
    chunks = np.array_split(np.arange(n_draws), n_chunks)

    def evaluate(chunk: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        shares = [problem.as_shares({name: value[draw] for name, value in values.items()}) for draw in chunk]
        logs = [problem.model.log_probabilities(one, items.names_class) for one in shares]
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
    """Return `lp` and `log_ratio` of draws with a given log likelihood, each (draw,)."""
    log_density, log_ratio = log_likelihood.copy(), log_likelihood.copy()
    for name, logs in log_shares.items():
        of_prior, of_q = log_dirichlet(logs, problem.prior[name]), log_dirichlet(logs, q[name])  # (draw, ...)
        log_ratio += (of_prior - of_q).reshape(len(logs), -1).sum(axis=1)
        log_density += (of_prior + _log_jacobian(logs, pair=problem.is_pair(name))).reshape(len(logs), -1).sum(axis=1)
    return {"lp": log_density, "log_ratio": log_ratio}


def _log_jacobian(log_shares: np.ndarray, *, pair: bool) -> np.ndarray:
    """Return the log Jacobian of a sampler's scale: probit for a pair, otherwise PyMC's simplex transform."""
    if not pair:
        return log_shares.sum(axis=-1) + np.log(log_shares.shape[-1])
    from scipy.special import ndtri_exp

    return -0.5 * (ndtri_exp(log_shares.min(axis=-1)) ** 2 + np.log(2 * np.pi))


def _choose_n_draws(data: Labelled, q: Point, settings: VBSettings) -> int:
    """Return the number of draws to keep, with a warning if it is smaller than requested."""
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
    """Return parameters that give the views of q(latents): those that enter by their odds have the odds of q."""
    shares = problem.e_step_shares(q)
    return problem.as_values({name: to_shares(s) if problem.is_pair(name) else s for name, s in shares.items()})


def _repeat(permutation: np.ndarray, n_draws: int, classes: Sequence[str]) -> xr.DataArray:
    """Repeat one permutation (true_class,) for every draw."""
    coords = {"chain": [0], "draw": np.arange(n_draws), "true_class": list(classes)}
    return xr.DataArray(np.tile(permutation, (1, n_draws, 1)), dims=tuple(coords), coords=coords)
