"""The states of items and the answers of annotators, draw by draw: the two factors of a future answer.

Given a draw of the parameters, an item's answers are independent given its state: its class (or type) and, in models
with a number for each item, the node of that number. So

    p(answer v of annotator j | answers so far)  =  mean over draws of  sum_s p(s | answers so far) p(v | s, j)

and the label after that answer follows from the same two factors, without a new fit.

The invariant: models without independent answers given the state are refused, since the product would be silently
wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesanno._core.lazy import xr
from bayesanno._core.messages import FitError
from bayesanno.data.annotations import AnnotationData
from bayesanno.modeling.arguments import Discrete
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.class_prior import log_classes_of_items, without_items
from bayesanno.modeling.item_effects import ItemEffectModel, answers_by_node, number_of_nodes
from bayesanno.modeling.posterior import compile_formula, take_draws

MOST_DRAWS = 2000  # of a posterior, evenly spaced; and nodes times draws, if that leaves at least LEAST_DRAWS
LEAST_DRAWS = 200
MOST_BYTES = 256 * 2**20  # of both factors, which are stored in single precision
CLOSE = 1e-6  # nats between an item's likelihood and the product of its answers' probabilities


@dataclass(frozen=True, eq=False)
class StatesAndAnswers:
    """The two factors.

    Attributes
    ----------
    names : tuple of str
        The classes, or the types.
    state : array, shape (draw, item, class, node)
        p(class, node | the item's answers, draw); these add up to 1.
    answer : array, shape (draw, viewer, response, class, node)
        p(response | class, node, draw); these add up to 1 over responses. Viewers are annotators; with both orders of
        comparisons, annotators in each order (`bayesanno.data.orders`).
    """

    names: tuple[str, ...]
    state: np.ndarray
    answer: np.ndarray

    @property
    def n_draws(self) -> int:
        """The number of posterior draws."""
        return int(self.state.shape[0])

    @property
    def probability(self) -> np.ndarray:
        """The posterior of each item's class or type: (item, class)."""
        return self.state.sum(axis=3).mean(axis=0, dtype=float)


def find_states(
    model: AnnotationModel, data: AnnotationData, posterior: xr.Dataset, known: Mapping[str, np.ndarray]
) -> StatesAndAnswers:
    """Return the states of items and the answers of their annotators, for evenly spaced draws of a posterior.

    Raises
    ------
    FitError
        If items have several latents or their own parameters, or an item's answers are not independent given its state.
    """
    latents = model.latents(data)
    if len(latents) != 1 or not isinstance(latents[0], Discrete) or not model.collapse_items:
        raise FitError(f"{model.name} has no single state of an item that explains its answers: fit another model")
    names = latents[0].states
    n_nodes = number_of_nodes(model, data, posterior) if isinstance(model, ItemEffectModel) else 1
    n_cells = (data.n_items + data.n_annotators * data.n_labels) * len(names) * n_nodes
    most = max(MOST_DRAWS // n_nodes, LEAST_DRAWS)
    thinned = take_draws(posterior, min(most, max(1, MOST_BYTES // (4 * n_cells))))
    by_draw = _by_node if isinstance(model, ItemEffectModel) else _by_class
    states, answers = zip(*by_draw(model, data, thinned, known), strict=True)
    return StatesAndAnswers(names, np.stack(states), np.stack(answers))


Factors = Iterator[tuple[np.ndarray, np.ndarray]]  # of each draw: (item, class, node), (viewer, response, ...)


def _by_node(model: Any, data: AnnotationData, posterior: xr.Dataset, known: Any) -> Factors:  # noqa: ARG001
    counts = _count_answers(data)  # (item, viewer and response)
    log_classes = log_classes_of_items(model, data, posterior)
    if log_classes is None:
        log_classes = (np.log(share)[None] for share in posterior["prevalence"].values[0])
    allowed = _allow(data)
    each, log_weight = answers_by_node(model, data, posterior)
    for log_answer, log_class in zip(each, log_classes, strict=True):
        by_item = (counts @ log_answer.reshape(counts.shape[1], -1)).reshape(data.n_items, *log_answer.shape[2:])
        with np.errstate(divide="ignore"):
            logs = by_item + log_class[:, :, None] + log_weight + allowed[:, :, None]
        state = np.exp(logs - logs.max(axis=(1, 2), keepdims=True))
        yield _short(state / state.sum(axis=(1, 2), keepdims=True)), _short(np.exp(log_answer))


def _by_class(model: AnnotationModel, data: AnnotationData, posterior: xr.Dataset, known: Any) -> Factors:
    formula = compile_formula(model, data, posterior, known)
    one_each = _ask_each_once(data)
    each_once = compile_formula(without_items(model), one_each, posterior, known)
    log_classes = log_classes_of_items(model, data, posterior)
    counts, shape = _count_answers(data), (data.n_annotators, data.n_labels, -1)
    for draw, (joint, once) in enumerate(zip(formula.log_joint(), each_once.log_joint(), strict=True)):
        prior, possible = once[0], np.isfinite(once[0])
        log_answer = np.where(possible, once[1:] - np.where(possible, prior, 0.0), -np.log(data.n_labels))
        log_answer = data.of_viewers(log_answer.reshape(shape)).reshape(counts.shape[1], -1)
        if draw == 0:
            of_items = prior if log_classes is None else next(log_classes)
            _check_independence(model, data, joint, of_items + _sum_over_answers(counts, log_answer))
        state = np.exp(joint - joint.max(axis=1, keepdims=True))  # (item, class)
        state /= state.sum(axis=1, keepdims=True)
        yield _short(state[..., None]), _short(np.exp(log_answer).reshape(data.n_viewers, *shape[1:])[..., None])


def _ask_each_once(data: AnnotationData) -> AnnotationData:
    """Return an item without answers, and one item with a single answer for each annotator and response."""
    n_cells = data.n_annotators * data.n_labels
    cell = np.arange(n_cells)
    return replace(
        data,
        items=tuple(str(number) for number in range(n_cells + 1)),
        item=cell + 1,
        annotator=cell // data.n_labels,
        label=cell % data.n_labels,
        swapped=(),
        gold={},
        controls={},
        item_columns={},
    )


def _count_answers(data: AnnotationData) -> Any:
    """Return how often each viewer gave each response to an item: sparse, (item, viewer and response)."""
    from scipy.sparse import csr_array

    cell = data.viewer * data.n_labels + data.label
    return csr_array((np.ones(cell.size), (data.item, cell)), shape=(data.n_items, data.n_viewers * data.n_labels))


def _sum_over_answers(counts: Any, logs: np.ndarray) -> np.ndarray:
    """Add up logs (cell, class) over an item's answers, (item, class); one impossible answer gives -inf."""
    impossible = np.isneginf(logs)
    total: np.ndarray = counts @ np.where(impossible, 0.0, logs)
    return np.where(counts @ impossible.astype(float) > 0, -np.inf, total)


def _check_independence(model: AnnotationModel, data: AnnotationData, joint: np.ndarray, product: np.ndarray) -> None:
    free = data.control_codes < 0  # a known label is a separate factor
    if not np.allclose(joint[free], product[free], rtol=CLOSE, atol=CLOSE):
        raise FitError(
            f"in {model.name} an item's answers depend on each other given its state, so that one more answer cannot "
            "be weighed by itself: fit another model, such as model_b"
        )


def _allow(data: AnnotationData) -> np.ndarray:
    """Return 0 where an item may have a class and -inf where its known label is another: (item, class)."""
    allowed = np.zeros((data.n_items, data.n_classes))
    if data.controls:
        given = data.control_codes
        allowed[given >= 0] = -np.inf
        allowed[given >= 0, given[given >= 0]] = 0.0
    return allowed


def _short(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32)
