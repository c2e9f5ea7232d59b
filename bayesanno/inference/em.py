"""EM: the parameters that make the data, or data and prior, most probable; from several starts, and accelerated.

An E-step gives every item the posterior of its class under the parameters so far, an M-step the parameters that would
be best if those were counts. Neither ever makes the objective worse, but near the top steps may be very short, so that
two are extrapolated (SQUAREM, scheme S3 of Varadhan and Roland 2008, Scandinavian Journal of Statistics 35:335-353,
doi:10.1111/j.1467-9469.2007.00585.x). Where an extrapolated point is worse, the plain steps are kept.

The invariant: what is returned is a fixed point of plain EM to the tolerance, or says that it is not; parameters are
distributions at every step; no count is negative.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from bayesanno.ground.errors import FitError
from bayesanno.ground.progress import track
from bayesanno.inference.settings import AtLeast, Between, NotBelow, Settings
from bayesanno.modeling.capabilities import HasUpdates
from bayesanno.modeling.expectation import Items, expect
from bayesanno.modeling.registry import list_model_classes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayesanno.data.annotations import AnnotationData
    from bayesanno.modeling.expectation import Shares

LEAST_SHARE = 0.01  # in a start: from nearer to 0, EM takes long to come away
GROWTH = 4.0  # of the longest extrapolation, where it was taken, and where it failed
MANY = 100_000  # annotations, from which on starts share the cores: below, a step is mostly Python
SLACK = 1e-12  # of the objective, relative: rounding


@dataclass(frozen=True, kw_only=True)
class EMSettings(Settings):
    """The settings of EM.

    Attributes
    ----------
    objective : {"ml", "map"}
        "ml" maximises the likelihood: of the model's priors it takes random starts, nothing else. "map" maximises the
        posterior density of the parameters on their own scale. A concentration below 1, where the density grows without
        bound towards 0, counts as 1, so that it adds nothing to the counts and takes nothing away.
    restarts : int
        How many points to start from: the majority vote, then draws from the prior.
    steps : int
        The most E-steps from one start; with epsilon, of each of its two phases.
    tolerance : float
        A start has converged when a plain step moves no probability by more.
    smoothing : float, optional
        Of "ml": this over the number of labels is added to every count of an M-step. By default what the model's paper
        has: 0.1 for MACE (Hovy et al. 2013), 0 for others.
    epsilon : float
        Above 0, each start first converges with every item's posterior leaning to its votes, as in (52) of Rzhetsky et
        al. (2008), who take 0.1; and goes on from there without.

    Raises
    ------
    FitError
        If a value has the wrong type or lies outside its range, or "map" is to be smoothed, which its priors do.
    """

    objective: Literal["ml", "map"] = "ml"
    restarts: Annotated[int, AtLeast(1)] = 10
    steps: Annotated[int, AtLeast(1)] = 5_000
    tolerance: Annotated[float, Between(0, 1)] = 1e-6
    smoothing: Annotated[float | None, NotBelow(0)] = None
    epsilon: Annotated[float, NotBelow(0)] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.objective == "map" and self.smoothing is not None:
            raise FitError("smoothing is of objective='ml': with 'map' the model's priors smooth, so leave it out")


@dataclass(frozen=True)
class Ascent:
    """Where EM from one start ended.

    Attributes
    ----------
    shares : mapping of name to array
        The parameters.
    objective, log_likelihood : float
        In nats.
    steps : int
        E-steps taken, those of the leaning phase included.
    change : float
        By how much the last plain step moved the probability that it moved most.
    leaning : Ascent or None
        Where the phase with epsilon ended, if there was one.
    """

    shares: Shares
    objective: float
    log_likelihood: float
    steps: int
    change: float
    leaning: Ascent | None = None


def require_updates(model: Any) -> HasUpdates:
    """Return a model if EM can fit it.

    Raises
    ------
    FitError
        If it cannot; those that it can fit are named.
    """
    if not isinstance(model, HasUpdates):
        able = [name for name, found in list_model_classes().items() if issubclass(found, HasUpdates)]
        raise FitError(f"{model.name} has no EM: models that have are {', '.join(able)}; fit it by nuts")
    return model


class Problem:
    """What EM maximises: a model's likelihood of some items, and what is added to the counts of an M-step.

    Parameters
    ----------
    model : HasUpdates
    data : AnnotationData
    items : Items
        The annotations as `make_blocks` lays them out.
    settings : EMSettings
    """

    def __init__(self, model: HasUpdates, data: AnnotationData, items: Items, settings: EMSettings) -> None:
        self.model, self.items, self.settings = model, items, settings
        self.prior = model.concentrations(data)
        self.constant = 0.0
        if settings.objective == "map":
            from scipy.special import gammaln

            bounded = {name: np.maximum(values, 1.0) for name, values in self.prior.items()}
            self.added = {name: values - 1 for name, values in bounded.items()}
            for values in bounded.values():
                self.constant += float((gammaln(values.sum(axis=-1)) - gammaln(values).sum(axis=-1)).sum())
        else:
            smoothing = model.own_smoothing if settings.smoothing is None else settings.smoothing
            self.added = {name: np.full(values.shape, smoothing / data.n_labels) for name, values in self.prior.items()}

    def step(self, shares: Shares, *, epsilon: float = 0.0) -> tuple[float, float, dict[str, np.ndarray]]:
        """Take an E-step and an M-step; return objective and log likelihood before it, and the parameters after it."""
        from scipy.special import xlogy

        expected = expect(self.model, self.items, shares, epsilon=epsilon)
        counts = self.model.expected_counts(shares, expected, self.items.names_class)
        moved = {name: to_shares(counts[name] + added) for name, added in self.added.items()}
        penalty = sum(float(xlogy(added, shares[name]).sum()) for name, added in self.added.items())
        return expected.log_likelihood + penalty + self.constant, expected.log_likelihood, moved

    def draw(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw a start from the prior, no share of it too near to 0."""
        drawn = {name: to_shares(rng.standard_gamma(values)) for name, values in self.prior.items()}
        return {name: away_from_zero(values) for name, values in drawn.items()}

    def as_shares(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return parameters, each on its own scale, as shares: a probability has what is left of 1 beside it."""
        return {
            name: np.stack([values[name], 1 - values[name]], axis=-1)
            if np.ndim(values[name]) < prior.ndim
            else np.asarray(values[name], dtype=float)
            for name, prior in self.prior.items()
        }

    def as_values(self, shares: Shares) -> dict[str, np.ndarray]:
        """Return parameters that are shares on their own scale."""
        dims = self.model.parameter_dims
        return {name: values[..., 0] if len(dims[name]) < values.ndim else values for name, values in shares.items()}


def to_shares(counts: np.ndarray) -> np.ndarray:
    """Divide counts (..., share) by their sum; of none at all, every share is the same.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.em import to_shares
    >>> to_shares(np.array([[3.0, 1.0], [0.0, 0.0]])).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    total = counts.sum(axis=-1, keepdims=True)
    shares: np.ndarray = np.divide(counts, total, out=np.full_like(counts, 1 / counts.shape[-1]), where=total > 0)
    return shares


def away_from_zero(shares: np.ndarray) -> np.ndarray:
    """Return shares (..., share) mixed with even ones, so that none is nearer to 0 than a start may be."""
    mixed: np.ndarray = (1 - LEAST_SHARE) * shares + LEAST_SHARE / shares.shape[-1]
    return mixed


def ascend(problem: Problem, start: Shares) -> Ascent:
    """Run EM from a start: with the posterior leaning first, if it is to, then to a fixed point of plain EM."""
    epsilon, settings = problem.settings.epsilon, problem.settings
    if not epsilon:
        return _accelerate(problem, start, settings.steps)
    at, change = dict(start), np.inf
    steps = 0
    while steps < settings.steps and change > settings.tolerance:
        objective, log_likelihood, moved = problem.step(at, epsilon=epsilon)
        change, at = _distance(at, moved), moved
        steps += 1
    objective, log_likelihood, _ = problem.step(at)
    leaning = Ascent(at, objective, log_likelihood, steps, change)
    found = _accelerate(problem, at, settings.steps)
    return Ascent(
        found.shares, found.objective, found.log_likelihood, found.steps + steps, found.change, leaning=leaning
    )


def _accelerate(problem: Problem, start: Shares, most_steps: int) -> Ascent:
    """Climb by pairs of plain steps, each followed by an extrapolation that is kept unless it is worse."""
    at: Shares = start
    objective, log_likelihood, first = problem.step(at)
    steps, longest = 1, 1.0
    while True:
        change = _distance(at, first)
        if change <= problem.settings.tolerance or steps >= most_steps:
            return Ascent(at, objective, log_likelihood, steps, change)
        value, log_likelihood, second = problem.step(first)
        steps += 1
        change = _distance(first, second)
        if change <= problem.settings.tolerance or steps >= most_steps:
            return Ascent(first, value, log_likelihood, steps, change)
        length, moved = _extrapolate(at, first, second, longest)
        taken = False
        if moved is not None:
            objective, log_likelihood, after = problem.step(moved)
            steps += 1
            taken = bool(objective >= value - SLACK * abs(value))
        if taken and moved is not None:
            at, first = moved, after
        else:
            at = second
            objective, log_likelihood, first = problem.step(at)
            steps += 1
        if length == longest:
            longest = longest * GROWTH if taken or moved is None else max(1.0, longest / GROWTH)


def _extrapolate(
    at: Shares, first: Shares, second: Shares, longest: float
) -> tuple[float, dict[str, np.ndarray] | None]:
    """Return how far to go along two plain steps, and the point there; None where that is the second one.

    A share that would leave its range is left where the second step put it.
    """
    step = {name: first[name] - at[name] for name in at}
    bend = {name: second[name] - first[name] - step[name] for name in at}
    curved = sum(float((values**2).sum()) for values in bend.values())
    far = sum(float((values**2).sum()) for values in step.values())
    length = min(max(1.0, np.sqrt(far / curved)) if curved > 0 else 1.0, longest)
    if length == 1.0:
        return length, None
    moved = {name: at[name] + 2 * length * step[name] + length**2 * bend[name] for name in at}
    inside = {name: np.where(values > 0, values, second[name]) for name, values in moved.items()}
    return length, {name: to_shares(values) for name, values in inside.items()}


def _distance(one: Shares, other: Shares) -> float:
    return max(float(np.abs(one[name] - other[name]).max()) for name in one)


def climb_from_all(
    problem: Problem, start: Shares | None, random_seed: int, *, progressbar: bool = False
) -> list[Ascent]:
    """Run EM from all starts: the given one, and draws from the prior; in the order of the starts."""
    rng = np.random.default_rng(random_seed)
    given = [] if start is None else [start]
    starts = given + [problem.draw(rng) for _ in range(problem.settings.restarts - len(given))]
    if sum(block.answers.nnz for block in problem.items.blocks) < MANY:
        return [ascend(problem, one) for one in track(starts, "EM", show=progressbar)]
    with ThreadPoolExecutor(min(len(starts), os.cpu_count() or 1)) as pool:
        ends = [pool.submit(ascend, problem, one) for one in starts]
        try:
            return [end.result() for end in track(ends, "EM", show=progressbar)]
        except BaseException:  # an interrupted run waits for the starts that are under way, and for no others
            pool.shutdown(cancel_futures=True)
            raise
