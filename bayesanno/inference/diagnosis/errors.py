"""The correlation of annotators' errors on an item, and the equivalent number of independent answers.

Let the errors of two annotators have correlation r, given the item's class, over all pairs of answers. Then n answers
are worth n / (1 + (n - 1) r) independent ones (Kish). In a model of independent errors, r is 0. But estimated classes
are biased towards errors that several annotators share. So r is measured as the difference between observed answers and
answers predicted by the fit, both with the same draw.

The invariant: there are two measures from the same draws. The check tests whether r is 0, with classes from a model of
independent errors. The measure for adjusting labels uses the classes of adjusted labels: their log odds are divided by
1 + (n - 1) r, with the r measured in this way.

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

ROUNDS = 2  # of measuring r with the classes that result from it: it converges quickly


@dataclass(frozen=True, eq=False)
class ErrorMeasure:
    """The correlation of errors.

    Attributes
    ----------
    found : dict
        With the model's classes: the observed `correlation` and the `expected` one, `z` of the difference and its `p`,
        `n_answers` per item, and the number of independent answers that these are `worth`.
    correlation : array, shape (draw,)
        r with the classes of adjusted labels: one value for each draw of the posterior, by chance also below 0.
    informedness : array, shape (annotator,)
        The probability of the right answer, averaged over classes and draws, on the scale where 0 is chance and 1 is
        always right; in [0, 1].
    """

    found: dict[str, Any]
    correlation: np.ndarray
    informedness: np.ndarray


def measure_errors(data: AnnotationData, drawn: Iterable[tuple[np.ndarray, np.ndarray]]) -> ErrorMeasure | None:
    """Measure the correlation of errors; None if no item has two answers.

    Parameters
    ----------
    data : AnnotationData
    drawn : iterable of (joint, answers)
        For each draw: p(state, answer) of an item that only one annotator answers, (annotator, response, state); and
        predicted answers, (annotation,).
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
            r = min(1.0, max(0.0, more))  # nan, for answers without errors, becomes 0
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
    """Return the informedness of annotators, (annotator,); in a state where nobody is right, the mean is used."""
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

    The posterior of an item's class is that of answers independent given the class, with the log likelihood of n
    answers divided by 1 + (n - 1) r. An annotator's error rate is the observed share.

    Parameters
    ----------
    data : AnnotationData
        The design.
    label : array of int, shape (annotation,)
    joint : array, shape (annotator, response, state)
        p(state, answer) of an item that only this annotator answers.
    r : float
        The correlation assumed for the classes.
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
        by_model = 1 - answer[:, right, k] if right >= 0 else np.ones(len(joint))  # the probability of an error
        chance = _share(data, label != right, weight[data.item, k], by_model)
        away = (label != right) - chance[data.annotator]
        spread = np.sqrt(chance * (1 - chance))[data.annotator]
        together += weight[:, k] @ _pair_products(data, away)
        possible += weight[:, k] @ _pair_products(data, spread)
    return float(together / possible) if possible > 0 else float("nan")


def _share(data: AnnotationData, errs: np.ndarray, weight: np.ndarray, by_model: np.ndarray) -> np.ndarray:
    """Return the error rate of each annotator, (annotator,); the model's prediction counts as one answer.

    With the model's error rates alone, annotators who all err more often, or less often, would seem to err together.
    """
    of, n = data.annotator, data.n_annotators
    seen = np.bincount(of, weights=weight * errs, minlength=n)
    return (seen + by_model) / (np.bincount(of, weights=weight, minlength=n) + 1)


def _sum_by_item(data: AnnotationData, values: np.ndarray) -> np.ndarray:
    return np.bincount(data.item, weights=values, minlength=data.n_items)


def _pair_products(data: AnnotationData, values: np.ndarray) -> np.ndarray:
    """Return twice the sum of products over the pairs of an item's answers, (item,)."""
    return _sum_by_item(data, values) ** 2 - _sum_by_item(data, values**2)
