"""What can be asked: the factors of future answers in a fit, and the budgets of annotators.

The labels are those of the fit's tables, and annotators can be new to it. The invariant: the mean of the states over
draws is the posterior of labels in the fit's own tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import (
    DataError,
    FitError,
    MisfitWarning,
    PredictionWarning,
    as_names,
    nearest,
    option,
    warn,
)
from bayesanno._core.validate import check_count
from bayesanno.analysis.population import add_new_annotators
from bayesanno.analysis.recalibrate import known_items
from bayesanno.analysis.views import view_for_table
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.columns import extend_columns
from bayesanno.data.described import require_kind
from bayesanno.data.frame import name_winners
from bayesanno.fits.view import ADJUSTMENT, RECALIBRATION, FitView, find_positions, parts_of
from bayesanno.inference.diagnosis.findings import is_misfit
from bayesanno.inference.diagnosis.measures import count_independent
from bayesanno.inference.tempering import temperings_of
from bayesanno.modeling.arguments import PROBABILITY
from bayesanno.modeling.posterior import take_draws
from bayesanno.modeling.states import StatesAndAnswers, find_states


@dataclass(frozen=True, eq=False)
class CandidateAnswers:
    """The items and annotators of a fit, and the factors of their future answers.

    Parameters
    ----------
    data : AnnotationData
        The data of the fit; its annotators are followed by new ones.
    states : StatesAndAnswers
    is_known : array of bool, shape (item,)
        Whether the fit knows the item's true label, so that no answer can change it.
    draws : xarray.Dataset
        The draws of the parameters that correspond to the states.
    """

    data: AnnotationData
    states: StatesAndAnswers
    is_known: np.ndarray
    draws: xr.Dataset

    def find_open(self) -> np.ndarray:
        """Return which pairs can be asked, (item, viewer): without an answer, and with an unknown true label."""
        is_open = np.repeat(~self.is_known[:, None], self.data.n_viewers, axis=1)
        is_open[self.data.item, self.data.viewer] = False
        return is_open

    def describe(self, items: np.ndarray) -> pd.DataFrame:
        """Return the names of items, their current labels in the fit, and the probabilities of these."""
        probability = self.states.probability[items]  # (item, class)
        labels = [self.states.names[code] for code in probability.argmax(axis=1)]
        labels = name_winners(self.data, labels, items)
        table = pd.DataFrame({"item": [self.data.items[i] for i in items], "label_so_far": labels}, dtype="str")
        return table.assign(probability=probability.max(axis=1))


def find_candidates(
    fit: xr.DataTree | FitView, who: str, rng: np.random.Generator, annotators: str | Sequence[str] | None = None
) -> CandidateAnswers:
    """Return the factors of future answers in a fit, by its annotators and, if given, new ones.

    Warnings are raised for a fit that a user passes in, not for a view.

    Raises
    ------
    DataError
        If the fit is not of annotations.
    FitError
        If an annotator is new and the model has no population of annotators, or the model cannot predict one more
        answer.

    Warns
    -----
    MisfitWarning
        If the model does not predict the answers well, and the fit was neither adjusted nor recalibrated.
    PredictionWarning
        If the fit is a point estimate.
    """
    view = view_for_table(fit)
    require_kind(view.data, AnnotationData, who)
    if not isinstance(fit, FitView):
        _warn_of_basis(view, who)
    data, posterior = view.data, view.posterior
    new = [name for name in as_names(annotators or ()) if name not in set(data.annotators)]
    if new:
        if not view.has_population:
            raise FitError(
                f"annotator {new[0]!r} is not in this fit, and only a model with a population of annotators, such as "
                f"hierarchical_dawid_skene, can predict new ones{nearest(new[0], data.annotators)}"
            )
        columns = extend_columns(data.annotator_columns, data.n_annotators, data.n_annotators + len(new))
        data = replace(data, annotators=(*data.annotators, *new), annotator_columns=columns)
        posterior = add_new_annotators(view.model, data, posterior, rng)
    states = find_states(view.model, data, posterior, view.known)
    is_known = np.isin(data.items, list(data.controls))
    (part,) = parts_of(view)
    if part.labels is not None:
        states = _adjust(view, states, part.probabilities[PROBABILITY].values)
    if view.is_recalibrated:
        is_known |= np.isin(data.items, known_items(view, ""))
    return CandidateAnswers(data, states, is_known, take_draws(posterior, states.n_draws))


def _adjust(view: FitView, states: StatesAndAnswers, after: np.ndarray) -> StatesAndAnswers:
    """Return states with this posterior of labels (item, class) as mean, and answers that are informative to match."""
    power = 1.0
    n_answers = view.data.n_annotations / view.data.n_items + 1
    for adjustment in temperings_of(view, ADJUSTMENT).values():
        worth = count_independent(n_answers, adjustment.correlation).mean() / n_answers
        power *= 1 - adjustment.weight * (1 - float(worth))
    for recalibration in temperings_of(view, RECALIBRATION).values():
        power *= float((1 / recalibration.temperature).mean())
    before = states.probability
    ratio = np.divide(after, before, out=np.zeros_like(after), where=before > 0)
    state = states.state * ratio[:, :, None].astype(np.float32)
    unseen = (before == 0) & (after > 0)  # impossible in all draws, but not after adjustment
    state += (unseen * after)[:, :, None].astype(np.float32) / state.shape[3]
    answer = states.answer**power
    return replace(states, state=state, answer=answer / answer.sum(axis=2, keepdims=True))


def _warn_of_basis(view: FitView, who: str) -> None:
    if view.yields == "point":
        warn(
            f"this fit is one point, so {who} ignores the uncertainty about annotators: fit by nuts or vb instead",
            PredictionWarning,
        )
    if not (view.is_adjusted or view.is_recalibrated) and is_misfit(view):
        warn(
            f"this model does not predict the answers well, so {who} overestimates the value of more answers: "
            "adjust the fit (bayesanno.adjust), or recalibrate it with some true labels (bayesanno.recalibrate)",
            MisfitWarning,
        )


@dataclass(frozen=True, eq=False)
class Budget:
    """The largest number of answers of each annotator, and the cost of one answer: arrays of shape (annotator,)."""

    most: np.ndarray
    cost: np.ndarray


def make_budget(
    names: Sequence[str],
    annotators: str | Sequence[str] | None = None,
    per_annotator: int | Mapping[str, int] | None = None,
    costs: Mapping[str, float] | None = None,
) -> Budget:
    """Return the budgets of annotators by name; 0 for those who cannot be asked.

    Raises
    ------
    DataError
        If an annotator who can be asked has no number, or an invalid one.
    FitError
        If an annotator is not among the names.
    """
    who = list(names) if annotators is None else list(as_names(annotators))
    at = find_positions("annotator", who, names)
    most, cost = np.zeros(len(names)), np.ones(len(names))
    if per_annotator is None:
        most[at] = np.inf
    elif isinstance(per_annotator, Mapping):
        most[at] = _of_each("per_annotator", per_annotator, who, names, may_be_zero=True)
    else:
        check_count("per_annotator", per_annotator)
        most[at] = per_annotator
    if costs is not None:
        cost[at] = _of_each("costs", costs, who, names)
    return Budget(most, cost)


def _of_each(
    what: str, given: Mapping[str, float], who: Sequence[str], names: Sequence[str], *, may_be_zero: bool = False
) -> list[float]:
    find_positions("annotator", list(given), names)
    for name in who:
        if name not in given:
            raise DataError(
                f"{what} has no number for annotator {name!r}: give a number for everyone who can be asked, or name "
                f"them with {option('annotators')}"
            )
        value = given[name]
        is_number = isinstance(value, int | float | np.number) and np.isfinite(value)
        if not is_number or value < 0 or (value == 0 and not may_be_zero):
            least = "of 0 or more" if may_be_zero else "above 0"
            raise DataError(f"{what} of annotator {name!r} is {value!r}: it must be a number {least}")
    return [float(given[name]) for name in who]
