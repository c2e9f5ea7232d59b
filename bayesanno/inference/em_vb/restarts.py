"""From a model and annotations to the best of several climbs: starts, ends, and their comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayesanno._core.errors import FitError
from bayesanno._core.lazy import xr
from bayesanno._core.running import one_blas_thread
from bayesanno.data.labelled import Labelled
from bayesanno.inference.em_vb.fixed_point import (
    FixedPointProblem,
    FixedPointResult,
    Point,
    away_from_zero,
    iterate_from_all,
)
from bayesanno.inference.methods import check_start
from bayesanno.inference.relabelling import align_classes
from bayesanno.modeling.expectation import (
    Items,
    count_differing,
    count_votes,
    read_items,
    read_log_posterior,
)

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
