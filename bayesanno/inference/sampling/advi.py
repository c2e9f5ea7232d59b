"""ADVI: a normal approximation to the posterior on the unconstrained scale, with its distance from the posterior.

The density and its gradient are those of NUTS, compiled once per process. PyMC's own ADVI compiles the sizes of the
data into its code, so each table is compiled separately. Comparison with `pymc.fit` (20,000 steps of Adam, from the
same start) for model_b, in CPU seconds:

    table and method              seconds         ELBO                 Pareto k      accuracy
                                  ours   PyMC     ours      PyMC       ours  PyMC    ours   PyMC
    RTE, nothing compiled         26.5   54.1     -4348.1   -4352.4     .8   1.5     .923   .921
    RTE, in a new process          2.6    8.7     the same
    @crowd, after RTE              1.7   20.4     -1755.7   -1758.8    3.3   4.0     .950   .950
    RTE, full rank, after these    8.3   34.7     -4348.9   -4408.7    1.1   4.2     .923   .921

The full-rank approximation starts from the fitted independent one; from scratch, its steps wander on models of this
size. Both stop when the ELBO stops rising, average the last steps, and are assessed by the Pareto k of the importance
ratios.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

import numpy as np

from bayesanno._core.lazy import pm, xr
from bayesanno._core.messages import FitError, option
from bayesanno._core.running import track
from bayesanno.graph.density import Density
from bayesanno.graph.functions import as_one_chain
from bayesanno.inference.diagnosis.measures import find_pareto_k
from bayesanno.inference.sampling.starts import Starts
from bayesanno.inference.settings import ADVISettings, Draws

ROUND = 2_000  # steps between checks of the ELBO
LEARNING_RATE = 1e-2
LEARNING_RATE_FULL_RANK = 3e-4
INITIAL_SD = 0.7  # on the unconstrained scale
TRIES = 100  # draws, at least one of them with a density
PARETO_DRAWS = 1_000
MOST_FULL_RANK = 9_000  # parameters: six matrices of them squared are in memory, 4 GB


def approximate(
    graph: pm.Model,
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
        `diagnostics` has `converged` (whether the ELBO stopped rising), `steps` (their number), and `pareto_k`, the
        tail shape of the ratios between posterior and approximation (Yao et al. 2018, arXiv:1802.02538).

    Raises
    ------
    FitError
        If there are too many parameters for full rank, or the approximation moves to a region without density.
    """
    begin = time.perf_counter()
    rng = np.random.default_rng(random_seed)
    density = start.density
    if full_rank and density.n_dim > MOST_FULL_RANK:
        raise FitError(
            f"fullrank_advi: {density.n_dim:,} parameters have {density.n_dim**2:,} covariances, too many to hold (at "
            f"most {MOST_FULL_RANK:,} parameters): take {option('method', 'advi')}, or 'nuts'"
        )
    normal = Normal(start.centre, np.full(density.n_dim, INITIAL_SD))
    done, converged = _ascend(density, normal, LEARNING_RATE, settings.steps, rng, "ADVI", progressbar)
    if full_rank:
        normal = Normal(normal.mean, np.diag(normal.sd))
        more, converged = _ascend(
            density, normal, LEARNING_RATE_FULL_RANK, settings.steps, rng, "full-rank ADVI", progressbar
        )
        done += more
    draws = settings.draws * settings.chains
    standard = rng.standard_normal((max(draws, PARETO_DRAWS), density.n_dim))  # (draw, dimension)
    z = normal.at(standard)
    log_p = density.log_at(z)
    log_ratio = log_p - normal.log_density(standard)
    stats = xr.Dataset(
        {"lp": (("chain", "draw"), log_p[None, :draws]), "log_ratio": (("chain", "draw"), log_ratio[None, :draws])},
        coords={"chain": [0], "draw": np.arange(draws)},
    )
    return Draws(
        posterior=as_one_chain(graph, [density.values_at(one) for one in z[:draws]]),
        sample_stats=stats,
        seconds_compile=0.0,
        seconds_sample=time.perf_counter() - begin,
        diagnostics={"converged": converged, "steps": done, "pareto_k": find_pareto_k(log_ratio)},
    )


class Normal:
    """A normal distribution, z = mean + scale * standard, with mean and scale to optimise.

    Parameters
    ----------
    mean : array, shape (dimension,)
    scale : array, shape (dimension,) or (dimension, dimension)
        Standard deviations, or a Cholesky factor.

    Attributes
    ----------
    mean : array, shape (dimension,)
    log_sd : array, shape (dimension,)
        Logarithms of the standard deviations, or of the factor's diagonal.
    below : array, shape (dimension, dimension), or None
        The factor below its diagonal.
    """

    def __init__(self, mean: np.ndarray, scale: np.ndarray) -> None:
        self.mean = np.array(mean, dtype=float)
        self.log_sd = np.log(scale if scale.ndim == 1 else np.diag(scale))
        self.below = np.tril(scale, -1) if scale.ndim == 2 else None

    @property
    def sd(self) -> np.ndarray:
        """Standard deviations, or the diagonal of the Cholesky factor."""
        return np.exp(self.log_sd)

    @property
    def numbers(self) -> list[np.ndarray]:
        """The numbers to optimise, changed in place."""
        return [self.mean, self.log_sd, *([] if self.below is None else [self.below])]

    def at(self, standard: np.ndarray) -> np.ndarray:
        """Return z (..., dimension) of standard normal numbers (..., dimension)."""
        z: np.ndarray = self.mean + self.sd * standard
        return z if self.below is None else z + standard @ self.below.T

    def log_density(self, standard: np.ndarray) -> np.ndarray:
        """Return log q(z) of standard normal numbers (..., dimension): shape (...)."""
        return -0.5 * (standard**2 + np.log(2 * np.pi)).sum(axis=-1) - self.log_sd.sum()

    def slopes(self, standard: np.ndarray, gradient: np.ndarray) -> list[np.ndarray]:
        """Return the gradient of log p(z) - log q(z) at z = `at(standard)` with respect to all `numbers`, through z.

        The direct gradient for fixed z is 0 on average and omitted: near the optimum it is the only noise (Roeder, Wu
        and Duvenaud 2017, arXiv:1703.09194). `gradient` is that of log p at z, (dimension,).
        """
        from scipy.linalg import solve_triangular

        if self.below is None:
            by_z = gradient + standard / self.sd
            return [by_z, by_z * standard * self.sd]
        factor = self.below + np.diag(self.sd)
        by_z = gradient + solve_triangular(factor, standard, trans="T", lower=True, check_finite=False)
        return [by_z, by_z * standard * self.sd, np.tril(np.outer(by_z, standard), -1)]


def _ascend(
    density: Density,
    normal: Normal,
    learning_rate: float,
    steps: int,
    rng: np.random.Generator,
    message: str,
    progressbar: bool,
) -> tuple[int, bool]:
    """Climb until the ELBO no longer rises; return the number of steps, and whether it converged.

    The result is the mean of the last round, around which the steps oscillate (Dhaka et al. 2020, arXiv:2009.00666).
    """
    loss: deque[float] = deque(maxlen=2 * ROUND)
    climb, rose, step = Adam(learning_rate, normal.numbers), True, 0
    for step in track(range(1, steps + 1), message, show=progressbar):
        if step % ROUND == 1:
            means = [number.copy() for number in normal.numbers]
        standard, log_p, gradient = _draw_where_dense(density, normal, rng)
        loss.append(float(normal.log_density(standard)) - log_p)
        climb.up(normal.slopes(standard, gradient))
        for mean, number in zip(means, normal.numbers, strict=True):
            mean += (number - mean) / ((step - 1) % ROUND + 1)
        if step % ROUND == 0 and len(loss) == 2 * ROUND and not (rose := still_improving(np.array(loss))):
            break
    for mean, number in zip(means, normal.numbers, strict=True):
        number[...] = mean
    return step, not rose


def _draw_where_dense(
    density: Density, normal: Normal, rng: np.random.Generator
) -> tuple[np.ndarray, float, np.ndarray]:
    """Return standard normal numbers, with the log density and its gradient at z, such that the density is finite.

    Raises
    ------
    FitError
        If none of many draws has a density.
    """
    for _ in range(TRIES):
        standard = rng.standard_normal(normal.mean.size)
        value, gradient = density(normal.at(standard))
        if np.isfinite(value):
            return standard, value, gradient
    raise FitError(
        f"ADVI: {TRIES} draws of the approximation are where the posterior has no density; another seed, a stronger "
        f"prior or {option('method', 'nuts')} may do"
    )


class Adam:
    """Steps uphill as long as slopes agree from step to step (Kingma and Ba 2015, arXiv:1412.6980, algorithm 1)."""

    def __init__(self, rate: float, numbers: Sequence[np.ndarray], keep: tuple[float, float] = (0.9, 0.999)) -> None:
        self.rate, self.numbers, self.keep, self.n_steps = rate, numbers, keep, 0
        self.mean, self.square = ([np.zeros_like(one) for one in numbers] for _ in range(2))

    def up(self, slopes: Sequence[np.ndarray]) -> None:
        """Change the numbers in place, by their slopes."""
        self.n_steps += 1
        old, older = self.keep
        rate = self.rate * np.sqrt(1 - older**self.n_steps) / (1 - old**self.n_steps)
        for number, slope, mean, square in zip(self.numbers, slopes, self.mean, self.square, strict=True):
            mean += (1 - old) * (slope - mean)
            square += (1 - older) * (slope**2 - square)
            number += rate * mean / (np.sqrt(square) + 1e-8)


def still_improving(loss: np.ndarray) -> bool:
    """Return whether the second half of some losses is lower than the first, beyond the noise of their means."""
    before, after = np.split(loss, 2)
    noise = np.sqrt(before.var() / before.size + after.var() / after.size)
    return bool(before.mean() - after.mean() > 3 * noise)
