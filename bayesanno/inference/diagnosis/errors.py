"""How the errors of annotators on an item correlate, and what an item's answers are then worth.

The errors of two annotators correlate by r, given the item's class, over all pairs of answers. A correlation r makes n
answers worth n / (1 + (n - 1) r) independent ones (Kish). By a model of independent errors r is 0. But estimated
classes are drawn to errors that several share: so r is the difference between the answers seen and answers that the
fit predicts, both measured by the same draw.

The invariant: two measures, of the same draws. The check asks whether r is 0, and takes classes as a model of
independent errors has them. The measure that labels are adjusted by takes classes as adjusted labels have them: their
log odds are divided by 1 + (n - 1) r, for the r that is measured so.

References
----------
L. Kish (1965), Survey Sampling, Wiley, section 5.4 (the design effect).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.inference.diagnosis.measures import count_independent

ROUNDS = 2  # of measuring r by the classes that follow from it: it hardly moves


@dataclass(frozen=True, eq=False)
class ErrorMeasure:
    """How errors correlate.

    Attributes
    ----------
    found : dict
        By classes as the model has them: `correlation` of those seen and `expected`, `z` of the difference and its `p`,
        `n_answers` of an item, and what these are `worth`.
    correlation : array, shape (draw,)
        r by classes as adjusted labels have them: one value for each draw of the posterior, by chance below 0 as well.
    informedness : array, shape (annotator,)
        The probability of the right answer, averaged over classes and draws, on the scale where 0 is chance and 1 is
        always right; in [0, 1].
    """

    found: dict[str, Any]
    correlation: np.ndarray
    informedness: np.ndarray


def measure_errors(data: AnnotationData, drawn: Iterable[tuple[np.ndarray, np.ndarray]]) -> ErrorMeasure | None:
    """Measure how errors correlate; None where no item has two answers.

    Parameters
    ----------
    data : AnnotationData
    drawn : iterable of (joint, answers)
        Of each draw: p(state, answer) of an item that an annotator alone answers, (annotator, response, state); and
        answers that it predicts, (annotation,).
    """
    n_answers = np.bincount(data.item, minlength=data.n_items)
    if not (n_answers > 1).any():
        return None
    seen, predicted, correlation, informed = [], [], [], []
    for joint, answers in drawn:
        seen.append(correlate_errors(data, data.label, joint))
        predicted.append(correlate_errors(data, answers, joint))
        more = seen[-1] - predicted[-1]
        for _ in range(ROUNDS):
            r = min(1.0, max(0.0, more))  # nan, of answers without errors, is 0
            more = correlate_errors(data, data.label, joint, r) - correlate_errors(data, answers, joint, r)
        correlation.append(more)
        informed.append(_measure_informedness(data, joint))
    excess = np.array(seen) - np.array(predicted)
    if not np.isfinite(excess).all() or not excess.std():
        return None
    n, mean = float(n_answers[n_answers > 1].mean()), float(excess.mean())
    found = {
        "correlation": float(np.mean(seen)),
        "expected": float(np.mean(predicted)),
        "z": float(mean / excess.std()),
        "p": float(((excess <= 0).sum() + 1) / (excess.size + 1)),
        "n_answers": n,
        "worth": float(count_independent(n, min(mean, 1.0))),
    }
    return ErrorMeasure(found, np.nan_to_num(correlation), np.mean(informed, axis=0))


def _measure_informedness(data: AnnotationData, joint: np.ndarray) -> np.ndarray:
    """Return how informed each annotator is, (annotator,); of a state in which nobody is right, by the mean of all."""
    classes = np.arange(data.n_classes)
    right = joint[:, data.class_codes, classes]  # (annotator, true_class)
    if joint.shape[2] == classes.size:
        share = joint.sum(axis=1)
        right = np.divide(right, share, out=np.zeros_like(right), where=share > 0).mean(axis=1)
    else:
        right = right.sum(axis=1)
    chance = 1 / max(2, classes.size)
    return np.clip((right - chance) / (1 - chance), 0, 1)


def correlate_errors(data: AnnotationData, label: np.ndarray, joint: np.ndarray, r: float = 0.0) -> float:
    """Return the correlation of two errors on the same item, given its class, over all pairs of answers.

    The class of an item has the posterior that answers independent given the class would give it, with the log
    likelihood of n answers divided by 1 + (n - 1) r. How often an annotator errs is the share seen.

    Parameters
    ----------
    data : AnnotationData
        The design.
    label : array of int, shape (annotation,)
    joint : array, shape (annotator, response, state)
        p(state, answer) of an item that the annotator alone answers.
    r : float
        The correlation that the classes take account of.
    """
    state = joint.sum(axis=(0, 1)) / len(joint)  # (state,)
    n_states = state.size
    with np.errstate(divide="ignore", invalid="ignore"):
        answer = np.nan_to_num(joint / joint.sum(axis=1, keepdims=True))  # p(answer | state)
        log_answer, log_state = np.log(answer), np.log(state)
    logp = np.stack([_sum_by_item(data, log_answer[data.annotator, label, k]) for k in range(n_states)], axis=1)
    if r:
        effect = 1 + np.maximum(np.bincount(data.item, minlength=data.n_items) - 1, 0) * r  # (item,)
        logp /= effect[:, None]
    logp += log_state
    known = data.control_codes
    logp[known >= 0] = np.where(np.arange(n_states) == known[known >= 0, None], 0.0, -np.inf)
    logp -= np.maximum(logp.max(axis=1, keepdims=True), np.finfo(float).min)
    weight = np.exp(logp)
    weight /= np.maximum(weight.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    together = possible = 0.0
    for k in range(n_states):
        right = data.class_codes[k] if k < data.n_classes else -1  # in the last state of some models nobody is right
        by_model = 1 - answer[:, right, k] if right >= 0 else np.ones(len(joint))  # that an annotator errs
        chance = _share(data, label != right, weight[data.item, k], by_model)
        away = (label != right) - chance[data.annotator]
        spread = np.sqrt(chance * (1 - chance))[data.annotator]
        together += weight[:, k] @ _pair_products(data, away)
        possible += weight[:, k] @ _pair_products(data, spread)
    return float(together / possible) if possible > 0 else float("nan")


def _share(data: AnnotationData, errs: np.ndarray, weight: np.ndarray, by_model: np.ndarray) -> np.ndarray:
    """Return how often each annotator errs, (annotator,): what the model says of it counts as one answer.

    By the model's word alone, all who err more often than it has it, or less, would seem to err together.
    """
    of, n = data.annotator, data.n_annotators
    seen = np.bincount(of, weights=weight * errs, minlength=n)
    return (seen + by_model) / (np.bincount(of, weights=weight, minlength=n) + 1)


def _sum_by_item(data: AnnotationData, values: np.ndarray) -> np.ndarray:
    return np.bincount(data.item, weights=values, minlength=data.n_items)


def _pair_products(data: AnnotationData, values: np.ndarray) -> np.ndarray:
    """Return twice the sum of products over the pairs of an item's answers, (item,)."""
    return _sum_by_item(data, values) ** 2 - _sum_by_item(data, values**2)
