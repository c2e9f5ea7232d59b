"""EM: the parameters of maximum likelihood or maximum posterior density, and a fit with this point, without PyMC.

An E-step computes the posterior of every item's class under the present parameters. An M-step computes the best
parameters for the resulting counts. `bayesanno.inference.em_vb.fixed_point` combines the steps.

The invariant: parameters are distributions at every step, and no count is negative. A fit by EM has the same form as
other fits, without the parts that were not computed (intervals, convergence).
"""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import Labelled
from bayesanno.inference.em_vb.fixed_point import (
    REST,
    FixedPointProblem,
    FixedPointResult,
    Found,
    Point,
    Step,
    away_from_zero,
    find_best,
    items_of,
    require_updates,
    to_shares,
)
from bayesanno.inference.em_vb.without_graph import make_fit, of_draws
from bayesanno.inference.settings import EMSettings, Results
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.expectation import AddsUp, Shares, expect
from bayesanno.modeling.independent import ConjugateModel


class EM(FixedPointProblem):
    """The objective of EM: a model's likelihood of some items, with additions to the counts of an M-step.

    A point consists of the parameters.
    """

    name: ClassVar[str] = "EM"
    settings: EMSettings

    def __init__(self, model: ConjugateModel, data: Labelled, items: AddsUp, settings: EMSettings) -> None:
        super().__init__(model, data, items, settings)
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

    def step(self, point: Point, *, epsilon: float = 0.0) -> Step:
        """Take an E-step, leaning to the votes by epsilon, and an M-step."""
        from scipy.special import xlogy

        expected = expect(self.model, self.items, point, epsilon=epsilon)
        counts = self.model.expected_counts(point, expected, self.items.names_class)
        moved = {name: to_shares(counts[name] + added) for name, added in self.added.items()}
        penalty = sum(float(xlogy(added, point[name]).sum()) for name, added in self.added.items())
        return Step(expected.log_likelihood + penalty + self.constant, expected.log_likelihood, moved)

    def keep_inside(self, point: Point, last: Point) -> dict[str, np.ndarray]:
        """Return shares, none below 0."""
        return {name: to_shares(np.where(values > 0, values, REST * last[name])) for name, values in point.items()}

    def begin(self, shares: Shares) -> FixedPointResult:
        """Climb first by plain steps with the posterior leaning to the votes, if epsilon is above 0."""
        epsilon, settings = self.settings.epsilon, self.settings
        if not epsilon:
            return super().begin(shares)
        at, change, steps = shares, np.inf, 0
        while steps < settings.steps and change > settings.tolerance:
            moved = self.step(at, epsilon=epsilon).moved
            change, at = self.distance(at, moved), moved
            steps += 1
        objective, log_likelihood, _ = self.step(at)
        leaning = FixedPointResult(at, objective, log_likelihood, steps, change)
        return FixedPointResult(at, objective, log_likelihood, steps, change, leaning)


def fit_by_em(
    model: AnnotationModel,
    data: Labelled,
    settings: EMSettings,
    *,
    random_seed: int,
    **how: Any,
) -> Results:
    """Fit a model by EM; the arguments are those of `fit`.

    The first start is near the majority vote ("auto", "vote"), the given point, or with "prior" drawn from the prior,
    like all others.
    """
    begin = time.perf_counter()
    problem, found = find_point(model, data, settings, random_seed=random_seed, **how)
    seconds = time.perf_counter() - begin
    values = problem.as_values(found.best.point)
    return make_fit(
        found,
        data,
        {name: value[None] for name, value in values.items()},
        of_draws({"lp": np.array([found.best.objective])}),
        views_at=values,
        log_likelihood=found.log_likelihood[None] if isinstance(data, AnnotationData) else None,
        seconds=seconds,
        random_seed=random_seed,
        diagnostics={"climb": {"method": "EM"} | found.comparison},
    )


def find_point(
    model: AnnotationModel,
    data: Labelled,
    settings: EMSettings,
    *,
    initvals: Any = "auto",
    relabel: bool = True,
    random_seed: int,
    progressbar: bool = False,
) -> tuple[EM, Found]:
    """Run EM from all starts, and compare their ends."""
    problem = EM(require_updates(model, "em"), data, items_of(data), settings)
    exchangeable = relabel and (
        model.is_exchangeable(data) if settings.objective == "map" else model.is_exchangeable(data, by_likelihood=True)
    )
    found = find_best(
        problem, data, initvals, exchangeable=exchangeable, random_seed=random_seed, progressbar=progressbar
    )
    return problem, found


def start_at_point(model: AnnotationModel, data: Any, random_seed: int) -> dict[str, np.ndarray]:
    """Return the best point that EM finds for the posterior density, away from the edges, as a start for chains."""
    problem, found = find_point(model, data, EMSettings(objective="map"), random_seed=random_seed)
    return problem.as_values({name: away_from_zero(values) for name, values in found.best.point.items()})
