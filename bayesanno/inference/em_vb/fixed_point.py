"""Fixed-point iteration: steps that never make an objective worse, from several starts, with acceleration.

Both EM and variational Bayes iterate: an E-step computes the posterior of every item's class at the present point, and
its expected counts give the next point. Near the top, steps may be very short, so two steps are extrapolated (SQUAREM,
scheme S3 of Varadhan and Roland 2008, Scandinavian Journal of Statistics 35:335-353,
doi:10.1111/j.1467-9469.2007.00585.x). If an extrapolated point is worse, the plain steps are kept.

The invariant: the result is a fixed point of plain steps up to the tolerance, or is marked as not converged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bayesanno._core.lazy import xr
from bayesanno._core.messages import FitError
from bayesanno._core.running import one_blas_thread, track
from bayesanno._core.validate import check_memory
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import Labelled
from bayesanno.inference.relabelling import align_classes
from bayesanno.inference.settings import FixedPointSettings, check_start
from bayesanno.modeling.expectation import (
    AddsUp,
    Items,
    Shares,
    count_differing,
    count_votes,
    make_blocks,
    read_items,
    read_log_posterior,
)
from bayesanno.modeling.independent import BetaParam, ConjugateModel
from bayesanno.modeling.registry import list_model_classes

LEAST_SHARE = 0.01  # in a start: closer to 0, steps take long to leave
GROWTH = 4.0  # factor of the longest extrapolation, up if it was taken and down if it failed
MANY = 100_000  # annotations: from here on, starts run in parallel; below, a step is mostly Python
REST = 0.1  # share of the distance to the end of its range that is left to a number that would leave it
COARSE = 1e-4  # tolerance to which all starts are followed first, with many annotations
OUT_OF_REACH = 1.0  # nats below the best start at this tolerance, beyond which starts are abandoned
TABLES, POINTS = 5, 15  # tables of annotator, response and true class, and sets of parameters, in memory at a time
SLACK = 1e-12  # relative rounding error of the objective

Point = Mapping[str, np.ndarray]  # for each parameter, numbers in the shape of its shares


class Step(NamedTuple):
    """A plain step: objective and log likelihood at a point, and the next point."""

    objective: float
    log_likelihood: float
    moved: dict[str, np.ndarray]


@dataclass(frozen=True)
class FixedPointResult:
    """The end of the climb from one start.

    Attributes
    ----------
    point : mapping of name to array
    objective, log_likelihood : float
        In nats.
    steps : int
        The number of E-steps, including those of an earlier phase.
    change : float
        The largest change of any probability in the last plain step.
    leaning : FixedPointResult or None
        The end of an earlier phase, if there was one.
    """

    point: Point
    objective: float
    log_likelihood: float
    steps: int
    change: float
    leaning: FixedPointResult | None = None


def require_updates(model: Any, method: str) -> ConjugateModel:
    """Return a model if EM and VB can fit it.

    Raises
    ------
    FitError
        If they cannot; the message names models that they can fit.
    """
    name = model.name
    if not isinstance(model, ConjugateModel):
        able = [name for name, found in list_model_classes().items() if issubclass(found, ConjugateModel)]
        raise FitError(f"{name} has no {method.upper()}: models that have are {', '.join(able)}; fit it by nuts")
    if without := model.without_updates():
        raise FitError(f"{name} has no {method.upper()} with {without}: fit it by nuts")
    return model


@singledispatch
def items_of(data: Labelled) -> AddsUp:
    """Return the items of annotations, in blocks; annotations outside memory are registered."""
    raise TypeError(f"no items of {type(data).__name__}")


@items_of.register
def _(data: AnnotationData) -> AddsUp:
    if data.has_both_orders:
        raise FitError("EM and VB take comparisons in one order, and these are in both: fit by nuts")
    return make_blocks(data)


class FixedPointProblem(ABC):
    """An objective of a model and some items. Each method is a subclass.

    Parameters
    ----------
    model : ConjugateModel
    data : Labelled
    items : AddsUp
        The annotations; in memory, the result of `make_blocks`.
    settings : FixedPointSettings
    """

    name: ClassVar[str]

    def __init__(self, model: ConjugateModel, data: Labelled, items: AddsUp, settings: FixedPointSettings) -> None:
        self.model, self.items, self.settings = model, items, settings
        self.prior = model.concentrations(data)
        numbers = TABLES * data.n_annotators * data.n_labels * data.n_classes
        numbers += POINTS * sum(values.size for values in self.prior.values())
        counted = f"the tables of {self.name} for {data.n_annotators:,} annotators and {data.n_labels:,} labels"
        check_memory((numbers,), counted, "fit a model of fewer parameters")
        self.records = model.parameters(model, items.names_class.T)
        self.dims = {name: record.dims for name, record in self.records.items()}

    @abstractmethod
    def step(self, point: Point) -> Step:
        """Take an E-step, and return the point that follows from its counts."""

    @abstractmethod
    def keep_inside(self, point: Point, last: Point) -> dict[str, np.ndarray]:
        """Return an extrapolated point within the range of points.

        A number that has left the range goes most of the way from the last point to the end of the range. Otherwise it
        would approach that end only by plain steps, which become shorter and shorter.
        """

    def e_step_shares(self, point: Point) -> Shares:
        """Return the shares for an E-step: by default the point itself."""
        return point

    def mean_shares(self, point: Point) -> Shares:
        """Return the probabilities that a step changes, parameters or their means: by default the point itself."""
        return point

    def begin(self, shares: Shares) -> FixedPointResult:
        """Return the beginning of a climb from parameters, after an earlier phase if there is one."""
        return FixedPointResult(shares, -np.inf, -np.inf, 0, np.inf)

    def distance(self, one: Point, other: Point) -> float:
        """Return the largest difference of any probability."""
        here, there = self.mean_shares(one), self.mean_shares(other)
        return max(float(np.abs(here[name] - there[name]).max()) for name in here)

    def draw(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw a start from the prior, with no share too close to 0."""
        drawn = {name: to_shares(rng.standard_gamma(values)) for name, values in self.prior.items()}
        return {name: away_from_zero(values) for name, values in drawn.items()}

    def as_shares(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return parameters on their own scale as shares: a probability is paired with its complement."""
        shares = {}
        for name in self.prior:
            of = np.asarray(values[name], dtype=float)
            shares[name] = np.stack([of, 1 - of], axis=-1) if self.is_pair(name) else of
        return shares

    def as_values(self, shares: Shares) -> dict[str, np.ndarray]:
        """Return parameters given as shares on their own scale."""
        return {name: values[..., 0] if self.is_pair(name) else values for name, values in shares.items()}

    def is_pair(self, name: str) -> bool:
        """Whether a parameter is a probability, whose two shares are itself and its complement."""
        return isinstance(self.records[name], BetaParam)


def to_shares(counts: np.ndarray) -> np.ndarray:
    """Divide counts (..., share) by their sum; if all are 0, shares are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.em_vb.fixed_point import to_shares
    >>> to_shares(np.array([[3.0, 1.0], [0.0, 0.0]])).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    total = counts.sum(axis=-1, keepdims=True)
    return np.divide(counts, total, out=np.full_like(counts, 1 / counts.shape[-1]), where=total > 0)


def away_from_zero(shares: np.ndarray) -> np.ndarray:
    """Return shares (..., share) mixed with even ones, so that none is too close to 0 for a start."""
    return (1 - LEAST_SHARE) * shares + LEAST_SHARE / shares.shape[-1]


def iterate(problem: FixedPointProblem, start: Shares, least_tolerance: float = 0.0) -> FixedPointResult:
    """Climb from parameters by pairs of plain steps, each followed by an extrapolation that is kept unless worse."""
    return _iterate_on(problem, problem.begin(start), max(least_tolerance, problem.settings.tolerance))


def _iterate_on(problem: FixedPointProblem, begun: FixedPointResult, tolerance: float) -> FixedPointResult:
    """Continue a climb until a plain step changes no probability by more than the tolerance."""
    most_steps = problem.settings.steps + (0 if begun.leaning is None else begun.leaning.steps)
    if begun.steps >= most_steps:
        return begun
    at = begun.point
    objective, log_likelihood, first = problem.step(at)
    steps, longest = begun.steps + 1, 1.0
    while True:
        change = problem.distance(at, first)
        if change <= tolerance or steps >= most_steps:
            return FixedPointResult(at, objective, log_likelihood, steps, change, begun.leaning)
        value, log_likelihood, second = problem.step(first)
        steps += 1
        change = problem.distance(first, second)
        if change <= tolerance or steps >= most_steps:
            return FixedPointResult(first, value, log_likelihood, steps, change, begun.leaning)
        length, moved = _extrapolate(problem, at, first, second, longest)
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
    problem: FixedPointProblem, at: Point, first: Point, second: Point, longest: float
) -> tuple[float, dict[str, np.ndarray] | None]:
    """Return the length of an extrapolation of two plain steps, and its point; None if that is the second one."""
    step = {name: first[name] - at[name] for name in at}
    bend = {name: second[name] - first[name] - step[name] for name in at}
    curved = sum(float((values**2).sum()) for values in bend.values())
    far = sum(float((values**2).sum()) for values in step.values())
    length = min(max(1.0, np.sqrt(far / curved)) if curved > 0 else 1.0, longest)
    if length == 1.0:
        return length, None
    moved = {name: at[name] + 2 * length * step[name] + length**2 * bend[name] for name in at}
    return length, problem.keep_inside(moved, second)


def iterate_from_all(
    problem: FixedPointProblem, start: Shares | None, random_seed: int, *, progressbar: bool = False
) -> list[FixedPointResult]:
    """Climb from all starts, the given one and draws from the prior, and return their ends in this order.

    With many annotations, starts are first followed until their steps are small. Starts that are then a nat or more
    below the best one are abandoned, and count as not converged: they will hardly become the best, and most steps are
    still to come.
    """
    rng = np.random.default_rng(random_seed)
    given = [] if start is None else [start]
    starts = given + [problem.draw(rng) for _ in range(problem.settings.restarts - len(given))]
    if problem.items.n_different < MANY:
        return [iterate(problem, one) for one in track(starts, problem.name, show=progressbar)]
    tolerance = problem.settings.tolerance
    with ThreadPoolExecutor(min(len(starts), problem.items.n_threads)) as pool:
        try:
            begun = [pool.submit(iterate, problem, one, COARSE) for one in starts]
            ends = [end.result() for end in track(begun, problem.name, show=progressbar)]
            highest = max(end.objective for end in ends)
            near = [
                at for at, end in enumerate(ends) if end.change > tolerance and end.objective > highest - OUT_OF_REACH
            ]
            finished = [pool.submit(_iterate_on, problem, ends[at], tolerance) for at in near]
            for at, end in zip(near, track(finished, problem.name, show=progressbar), strict=True):
                ends[at] = end.result()
        except BaseException:  # an interrupted run waits only for the starts in progress
            pool.shutdown(cancel_futures=True)
            raise
    return ends


AGREE = 1e-2  # largest difference, in nats, between ends at the same maximum: more than the tolerance leaves


@dataclass(frozen=True)
class Found:
    """The results of all starts: the best end, and the comparison of all ends.

    Attributes
    ----------
    problem : FixedPointProblem
        The objective.
    best : FixedPointResult
        The best end, with classes under their own names.
    permutation : array of int, shape (true_class,)
        `[i]` is the class of the original end that is now called i.
    comparison : dict
        The result of `compare_ends`.
    """

    problem: FixedPointProblem
    best: FixedPointResult
    permutation: np.ndarray
    comparison: dict[str, Any]

    @property
    def probability(self) -> np.ndarray:
        """The posterior of each item's class at the best end, (item, true_class); only for items in memory."""
        return self._items[0]

    @property
    def log_likelihood(self) -> np.ndarray:
        """The log likelihood of each item at the best end, (item,); only for items in memory."""
        return self._items[1]

    @property
    def log_probability(self) -> np.ndarray:
        """The logs of `probability`, (item, true_class)."""
        items = self.problem.items
        assert isinstance(items, Items)
        shares = self.problem.e_step_shares(self.best.point)
        return read_log_posterior(items, self.problem.model.log_probabilities(shares, items.names_class))

    @property
    def pattern(self) -> np.ndarray:
        """The pattern of each item, (item,); only for items in memory."""
        assert isinstance(self.problem.items, Items)
        return self.problem.items.pattern

    @cached_property
    def _items(self) -> tuple[np.ndarray, np.ndarray]:
        items = self.problem.items
        assert isinstance(items, Items)
        with one_blas_thread():
            return read_items(self.problem.model, items, self.problem.e_step_shares(self.best.point))


def find_best(
    problem: FixedPointProblem,
    data: Labelled,
    initvals: str | Mapping[str, Any],
    *,
    exchangeable: bool,
    random_seed: int,
    progressbar: bool,
) -> Found:
    """Climb from all starts, and compare their ends.

    Parameters
    ----------
    problem : FixedPointProblem
    data : Labelled
    initvals : str or mapping of name to array
        The first start: a mapping is the point itself; "prior" is a draw like the others; otherwise it is near the
        majority vote.
    exchangeable : bool
        Whether the objective does not distinguish the classes, so that the classes of each end are named by eq. 56 of
        Rzhetsky et al. (2009).
    random_seed : int
    progressbar : bool
    """
    first = None
    if not (isinstance(initvals, str) and initvals == "prior"):
        given = {} if isinstance(initvals, str) else initvals
        vote = problem.model.start_from(problem.items.add_up(count_votes, problem.items.names_class), data)
        start = problem.as_shares(_checked(problem, {**vote, **given}))
        first = start if given else {name: away_from_zero(values) for name, values in start.items()}
    with one_blas_thread():
        ends = iterate_from_all(problem, first, random_seed, progressbar=progressbar)
        ends.sort(key=lambda end: -end.objective)
        named = [
            _name_classes(problem, data, end) if exchangeable else (end, np.arange(data.n_classes)) for end in ends
        ]
        points = [problem.e_step_shares(end.point) for end, _ in named]
        logs = [problem.model.log_probabilities(point, problem.items.names_class) for point in points]
        differ = problem.items.add_up(count_differing, logs)
    comparison = compare_ends(ends, differ, problem.settings.tolerance)
    best, permutation = named[0]
    return Found(problem, best, permutation, comparison)


def _checked(problem: FixedPointProblem, start: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return a start if it has parameters of the model, in their shapes, and they are probabilities."""
    values = check_start(start, {name: one.shape[: len(problem.dims[name])] for name, one in problem.prior.items()})
    shares = problem.as_shares(values)
    for name, value in shares.items():
        if not (value >= 0).all() or not np.allclose(value.sum(axis=-1), 1):
            raise FitError(f"initvals: {name} must hold probabilities, and distributions must add up to 1")
    return values


def _name_classes(
    problem: FixedPointProblem, data: Labelled, end: FixedPointResult
) -> tuple[FixedPointResult, np.ndarray]:
    """Return an end with classes named by eq. 56 of Rzhetsky et al. (2009), and the permutation."""
    values = problem.as_values(problem.mean_shares(end.point))
    draw = as_draws(problem.dims, data, {name: value[None] for name, value in values.items()})
    permutation = align_classes(draw)[1].values[0, 0]
    dims = problem.dims
    point: Point = {
        name: values.take(permutation, axis=dims[name].index("true_class")) if "true_class" in dims[name] else values
        for name, values in end.point.items()
    }
    return replace(end, point=point), permutation


def as_draws(dims: Mapping[str, Sequence[str]], data: Labelled, values: Mapping[str, np.ndarray]) -> xr.Dataset:
    """Return values (draw, ...) of parameters as the draws of one chain, variables with most dimensions first.

    In another order, ArviZ 1.3's summary mixes up the rows of a variable: see `bayesanno.inference.assemble`.
    """
    names = sorted(values, key=lambda name: -values[name].ndim)
    of = {name: tuple(dims[name][: values[name].ndim - 1]) for name in names}
    coords = data.coords(true_class=data.classes)
    used = {dim for each in of.values() for dim in each}
    n_draws = len(next(iter(values.values())))
    return xr.Dataset(
        {name: (("chain", "draw", *of[name]), values[name][None]) for name in names},
        coords={"chain": [0], "draw": np.arange(n_draws)} | {dim: coords[dim] for dim in coords if dim in used},
    )


def compare_ends(ends: Sequence[FixedPointResult], items_differ: np.ndarray, tolerance: float) -> dict[str, Any]:
    """Count the starts that agree with the best one, and describe the ends of the others.

    Parameters
    ----------
    ends : sequence of FixedPointResult
        All ends, the highest first.
    items_differ : array, shape (end,)
        The number of items with another most probable class than at the first end.
    tolerance : float

    Returns
    -------
    dict
        `objective`, `log_likelihood`, `change` and `converged` of the best end; `steps`, its number of E-steps, and
        `total_steps`, that of all starts; `restarts`, the number of starts; `agreed`, the number that ended equally
        high, to a hundredth of a nat; `unfinished`, the number that did not converge; and `others`, one entry for each
        lower end, the highest first, with `nats_lower`, `items_differ` (with another most probable class) and `starts`.
    """
    best = ends[0]
    lower = [best.objective - end.objective for end in ends]
    others: list[dict[str, Any]] = []
    for at, nats in enumerate(lower):
        if nats <= AGREE:
            continue
        if others and nats - others[-1]["nats_lower"] <= AGREE:
            others[-1]["starts"] += 1
        else:
            others.append({"nats_lower": float(nats), "items_differ": int(items_differ[at]), "starts": 1})
    return {
        "objective": float(best.objective),
        "log_likelihood": float(best.log_likelihood),
        "steps": best.steps,
        "total_steps": sum(end.steps for end in ends),
        "change": float(best.change),
        "converged": best.change <= tolerance,
        "restarts": len(ends),
        "agreed": sum(nats <= AGREE for nats in lower),
        "unfinished": sum(end.change > tolerance for end in ends),
        "others": others,
    }
