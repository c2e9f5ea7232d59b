"""Residual agreement: how far annotators' errors on the same item correlate, given its class, beyond expectation.

A model assumes that errors are independent given an item's class. Let e be 1 where annotator j errs on item i, and let
p be the chance of an error on an item of its class. The residual is e - p, with variance s^2 = p (1 - p). The
correlation over any set of pairs of answers to the same items is

    r = sum (e_j - p_j) (e_k - p_k) / sum s_j s_k,

with sums over classes weighted by their probabilities. If errors correlate by rho in every class, r estimates rho. The
denominator is expected, not observed: else two annotators who hardly ever err would correlate by 1 where neither errs.

p combines the model's chance, counted as one answer, and the annotator's own errors on items of that class:
(errors + chance) / (answers + 1). Without this, annotators who all err more often than the model expects, due to its
prior or a wrong majority, would seem to err together.

n answers with errors that correlate by r are worth n / (1 + (n - 1) r) independent ones (Kish). Classes estimated from
the same answers are biased towards shared errors. So the check of a fit measures r as the difference between observed
answers and answers predicted by the fit, both with the same draw.

Of chosen pairs of annotators, the products of residuals are compared item by item. If a model expects errors to be
shared, because items differ in more than their class, the expected products are subtracted. The denominator of such a
correlation is at least the sum of the absolute products, so that few items give a correlation within -1 and 1. It is a
ratio of sums over items, and has the standard error of such a ratio.

The invariant: this is the only definition, for the check of a fit and for `bayesanno.dependence_table`.

References
----------
L. Kish (1965), Survey Sampling, Wiley, section 5.4 (the design effect) and section 6.3 (the variance of a ratio).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.described import split_dimensions
from bayesanno.data.labelled import divide
from bayesanno.data.patterns import match_answers
from bayesanno.inference.diagnosis.measures import count_independent
from bayesanno.modeling.item_effects import ItemEffectModel, find_errors
from bayesanno.modeling.posterior import take_draws
from bayesanno.simulation.quantities import ModelDraws, ask

MOST_DRAWS = 100  # posterior draws over which the chances of errors are averaged
ROUNDS = 2  # of measuring r with the classes that result from it: it converges quickly
TINY = np.finfo(float).tiny


class Residuals(NamedTuple):
    """The residual of each answer and its standard deviation, for each class that the item may have.

    Attributes
    ----------
    error, scale : array, shape (annotation, true_class)
    weight : array, shape (item, true_class)
        The class probabilities; items with zeros do not count.
    """

    error: np.ndarray
    scale: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True, eq=False)
class ErrorDesign:
    """The design of a table, from which residuals of observed and of predicted answers are computed."""

    data: AnnotationData

    @cached_property
    def by_item(self) -> Any:
        """Ones for the answers to each item: a sparse array (item, annotation)."""
        return mark(self.data.item, self.data.n_items)

    @cached_property
    def several(self) -> np.ndarray:
        """The answers to items with several, controls left out: positions (answer,)."""
        n = np.bincount(self.data.item, minlength=self.data.n_items)
        return np.flatnonzero(((n > 1) & (self.data.control_codes < 0))[self.data.item])

    @cached_property
    def by_viewer(self) -> Any:
        """Ones for the answers of each viewer: a sparse array (viewer, annotation)."""
        return mark(self.data.viewer, self.data.n_viewers)

    def classify(self, label: np.ndarray, of_class: np.ndarray, answer: np.ndarray, r: float = 0.0) -> np.ndarray:
        """Return the class probabilities of items, (item, true_class), from answers independent given the class.

        The log likelihood of n answers is divided by 1 + (n - 1) r. Controls keep their class.

        Parameters
        ----------
        label : array of int, shape (annotation,)
        of_class : array, shape (true_class,)
        answer : array, shape (viewer, response, true_class)
            p(answer | class).
        """
        data, logs = self.data, self.by_item @ self.log_answers(label, answer)
        if r:
            logs /= 1 + np.maximum(np.bincount(data.item, minlength=data.n_items) - 1, 0)[:, None] * r
        logs += np.log(np.maximum(of_class, TINY))
        weight: np.ndarray = np.exp(logs - logs.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        known = data.control_codes
        weight[known >= 0] = np.eye(data.n_classes)[known[known >= 0]]
        return weight

    def log_answers(self, label: np.ndarray, answer: np.ndarray) -> np.ndarray:
        """Return log p(answer | class) of each answer, (annotation, true_class)."""
        table = np.log(np.maximum(answer, TINY)).reshape(-1, answer.shape[2])
        return table.take(self.data.viewer * self.data.n_labels + label, axis=0)

    def measure_unevenness(self, label: np.ndarray, of_class: np.ndarray, answer: np.ndarray) -> float:
        """Return how unevenly answers agree with the other answers to their items.

        Each answer is compared with the most probable class by the others. The agreement less its expectation is
        averaged over the answers for which the others are more certain than the median, and over the rest; the
        difference of the two is returned. It is above 0 where items differ in difficulty.
        """
        data, rows = self.data, self.several
        own = self.log_answers(label, answer)
        logs = (self.by_item @ own).take(data.item, axis=0)[rows] - own[rows] + np.log(np.maximum(of_class, TINY))
        rest = np.exp(logs - logs.max(axis=1, keepdims=True))
        rest /= rest.sum(axis=1, keepdims=True)  # (answer, true_class)
        best, certain = rest.argmax(axis=1), rest.max(axis=1)
        chance = answer[data.viewer[rows], data.class_codes[best]]  # p(the answer is the best class | class)
        excess = (label[rows] == data.class_codes[best]) - (rest * chance).sum(axis=1)
        unsure, sure = np.split(excess[np.argsort(certain, kind="stable")], [certain.size // 2])
        return float(sure.mean() - unsure.mean())

    def find_residuals(self, label: np.ndarray, weight: np.ndarray, chance: np.ndarray) -> Residuals:
        """Return the residuals of answers.

        Parameters
        ----------
        label : array of int, shape (annotation,)
            The answers, observed or predicted.
        weight : array, shape (item, true_class)
            The class probabilities of each item; all 0 for items that are left out.
        chance : array, shape (viewer, true_class)
            The model's probability of an error.
        """
        wrong = label[:, None] != self.data.class_codes
        of_answer, who = weight.take(self.data.item, axis=0), self.data.viewer
        n_wrong, n_seen = (self.by_viewer @ each for each in (of_answer * wrong, of_answer))
        own = (n_wrong + chance) / (n_seen + 1)  # (viewer, true_class)
        scale = np.sqrt(own * (1 - own))
        return Residuals(wrong - own.take(who, axis=0), scale.take(who, axis=0), weight)

    def correlate(self, residuals: Residuals) -> float:
        """Return r over all pairs of answers to the same item; nan if no errors are possible."""
        error, scale, weight = residuals
        of_answer = weight.take(self.data.item, axis=0)
        together, expected = (
            # not np.vdot, for which BLAS starts threads: where cores are busy, it takes ten times as long
            np.einsum("ic,ic", weight, (self.by_item @ each) ** 2) - np.einsum("ac,ac", of_answer, each**2)
            for each in (error, scale)
        )
        return float(together / expected) if expected > 0 else float("nan")


def mark(code: np.ndarray, n: int) -> Any:
    """Return a sparse array (n, answer) with ones where an answer has a code."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(code.size), code, np.arange(code.size + 1)), shape=(code.size, n)).T.tocsr()


def condition_on_class(data: AnnotationData, joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return p(class), (true_class,), and p(answer | class), (annotator, response, true_class).

    In a model in which possibly nobody is right (its last state), annotators are right as often for each class, and
    give wrong labels in proportion to their use of labels.

    Parameters
    ----------
    joint : array, shape (annotator, response, state)
        p(state, answer) of an item that only this annotator answers.
    """
    share = joint.sum(axis=1, keepdims=True)  # (annotator, 1, state)
    of_class = share[:, 0, : data.n_classes].sum(axis=0)
    if joint.shape[2] == data.n_classes:
        return of_class / of_class.sum(), np.divide(joint, share, out=np.zeros_like(joint), where=share > 0)
    use, right = joint.sum(axis=2), np.trace(joint, axis1=1, axis2=2)[:, None, None]
    wrong = (1 - right) * use[:, :, None] / np.maximum(1 - use, TINY)[:, None]
    return of_class / of_class.sum(), np.where(np.eye(data.n_labels) == 1, right, wrong)


def find_chances(data: AnnotationData, answer: np.ndarray) -> np.ndarray:
    """Return the chance of an error, (annotator, true_class), from p(answer | class), or that of viewers."""
    return 1 - answer[:, data.class_codes, np.arange(data.n_classes)]


# -------------------------------------------------------------------------------------------- observed and predicted


@dataclass(frozen=True, eq=False)
class ErrorMeasure:
    """The correlation of errors beyond what a fit predicts.

    Attributes
    ----------
    found : dict
        With the model's classes: the observed `correlation` and the `expected` one, `z` of the difference and its `p`,
        `n_answers` per item, and the number of independent answers that these are `worth`.
    correlation : array, shape (draw,)
        r with the classes of adjusted labels, whose log odds are divided by 1 + (n - 1) r: one value for each draw of
        the posterior, by chance also below 0.
    informedness : array, shape (annotator,)
        The probability of the right answer, averaged over classes and draws, on the scale where 0 is chance and 1 is
        always right; in [0, 1].
    """

    found: dict[str, Any]
    correlation: np.ndarray
    informedness: np.ndarray


def measure_error_correlation(
    data: AnnotationData, drawn: Iterable[tuple[np.ndarray, np.ndarray]]
) -> ErrorMeasure | None:
    """Measure the correlation of errors; None if no item has two answers.

    Parameters
    ----------
    data : AnnotationData
    drawn : iterable of (joint, answers)
        For each draw: p(state, answer) as in `condition_on_class`, and predicted answers, (annotation,).
    """
    n_answers = np.bincount(data.item, minlength=data.n_items)
    if not (n_answers > 1).any():
        return None
    design, own, adjusted, informed, uneven = ErrorDesign(data), [], [], [], []
    for joint, answers in drawn:
        of_class, answer = condition_on_class(data, joint)
        answer = data.of_viewers(answer)
        chance, r = find_chances(data, answer), 0.0
        for round_ in range(ROUNDS + 1):
            both = []
            for label in (data.label, answers):
                weight = design.classify(label, of_class, answer, r)
                both.append(design.correlate(design.find_residuals(label, weight, chance)))
            if not round_:
                own.append(both)
            r = min(1.0, max(0.0, both[0] - both[1]))  # nan, for answers without errors, becomes 0
        adjusted.append(both[0] - both[1])
        if design.several.size > 1:
            uneven.append([design.measure_unevenness(one, of_class, answer) for one in (data.label, answers)])
        by_guess = 1 - 1 / max(2, data.n_classes)
        informed.append(np.clip(1 - chance[: data.n_annotators].mean(axis=1) / by_guess, 0, 1))
    seen, predicted = np.array(own).T
    excess = seen - predicted
    if not np.isfinite(excess).all() or not excess.std():
        return None
    n, mean = float(n_answers[n_answers > 1].mean()), float(excess.mean())
    found: dict[str, Any] = {
        "correlation": float(seen.mean()),
        "expected": float(predicted.mean()),
        "z": float(mean / excess.std()),
        "p": float(((excess <= 0).sum() + 1) / (excess.size + 1)),
        "n_answers": n,
        "worth": float(count_independent(n, min(mean, 1.0))),
    }
    if uneven:
        beyond = np.subtract(*np.transpose(uneven))
        found["unevenness"] = {
            "observed": float(np.mean(uneven, axis=0)[0]),
            "expected": float(np.mean(uneven, axis=0)[1]),
            "z": float(beyond.mean() / max(beyond.std(), 1e-9)),
        }
    return ErrorMeasure(found, np.nan_to_num(adjusted), np.mean(informed, axis=0))


# -------------------------------------------------------------------------------------------------- pairs of annotators


class MatchedErrors(NamedTuple):
    """All pairs of answers to the same item by different annotators.

    Attributes
    ----------
    item : array of int, shape (match,)
    n_items : int
    pair : array of int, shape (match,)
        The pair of annotators.
    who : array of int, shape (pair, 2)
    products : array, shape (4, match)
        Of residuals, less what the model expects; of their standard deviations; of their absolute values; and of their
        variances, which is the variance of the first if errors are independent.
    """

    item: np.ndarray
    n_items: int
    pair: np.ndarray
    who: np.ndarray
    products: np.ndarray


def match_errors(
    data: AnnotationData, weight: np.ndarray, chance: np.ndarray, away: np.ndarray, *, least: int = 1
) -> MatchedErrors:
    """Return the pairs of answers, without "unsure" ones, to items with class probabilities (item, true_class).

    `chance` and `away` are those of `error_chances`. Annotators with fewer than the `least` pairs of answers are no
    pair: in a large table most have few, and there are very many.
    """
    data = data.without_unsure()
    known = np.flatnonzero(weight.any(axis=1)[data.item])
    left, right = (known[each] for each in match_answers(data.item[known], data.annotator[known]))
    is_matched = np.bincount(data.item[left], minlength=data.n_items) > 0
    items, item = np.flatnonzero(is_matched), (np.cumsum(is_matched) - 1)[data.item[left]]
    code, pair, n = np.unique(
        data.annotator[left] * data.n_annotators + data.annotator[right], return_inverse=True, return_counts=True
    )
    often = n >= least
    kept = often[pair]
    left, right, item, pair, code = left[kept], right[kept], item[kept], (np.cumsum(often) - 1)[pair[kept]], code[often]
    seen_by = data.viewer[left], data.viewer[right]
    used = np.zeros_like(weight)
    used[items] = weight[items]
    error, scale, _ = ErrorDesign(data).find_residuals(data.label, used, chance)
    products = np.zeros((4, left.size))
    for k, of_class in enumerate(used.T):
        for total, values in zip(products, (error, scale, abs(error), scale**2), strict=True):
            total += of_class[data.item[left]] * values[left, k] * values[right, k]
        if away.shape[2]:
            products[0] -= of_class[data.item[left]] * (away[:, k] @ away[:, k].T)[seen_by]
    return MatchedErrors(item, items.size, pair, np.stack(np.divmod(code, data.n_annotators), axis=1), products)


def error_chances(drawn: ModelDraws, dimension: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Return the chances of errors (viewer, true_class), and their differences at each quadrature node.

    The second has the shape (viewer, true_class, node), without nodes if the model has none. The sum of the products
    of two viewers is the covariance of their errors, given the class, that the model expects.
    """
    some = drawn._replace(draws=take_draws(drawn.draws, MOST_DRAWS))
    if isinstance(some.model, ItemEffectModel):
        wrong, of_node = find_errors(some.model, some.data, some.draws)
        chance = wrong @ of_node
        return chance, (wrong - chance[:, :, None]) * np.sqrt(of_node)
    data = split_dimensions(some.data)[dimension]
    sure = data.without_unsure()
    joints = ask(some, np.arange(data.n_annotators)[:, None], dimension=dimension)
    answers = (condition_on_class(sure, joint[:, data.class_codes])[1] for joint in joints)
    chance = np.mean([find_chances(sure, sure.of_viewers(answer)) for answer in answers], axis=0)
    return chance, np.zeros((*chance.shape, 0))


def add_up(values: np.ndarray, row: np.ndarray, item: np.ndarray, shape: tuple[int, int]) -> Any:
    """Return the sums of values by row and item, a sparse array."""
    from scipy.sparse import csr_array

    return csr_array((values, (row, item)), shape=shape)


def correlate_sums(sums: list[Any], ci_prob: float) -> np.ndarray:
    """Return correlations and the ends of their intervals, (row, 3), from `MatchedErrors.products` by row and item.

    The standard error is that of a ratio of sums over items, and at least that of independent errors: if two annotators
    both rarely err, no item shows a shared error.
    """
    from scipy.special import stdtrit

    together, scale, size, variance = (each.sum(axis=1) for each in sums)
    total, n = np.maximum(scale, size), np.diff(sums[0].indptr)  # n: items of each row
    found, row = divide(together, total), np.repeat(np.arange(n.size), n)  # row: of each sum
    expected = np.where((scale >= size)[row], sums[1].data, sums[2].data)
    squares = np.bincount(row, (sums[0].data - found[row] * expected) ** 2, minlength=n.size)
    error = divide(np.sqrt(np.maximum(squares * n / np.maximum(n - 1, 1), variance)), total)
    away = stdtrit(np.maximum(n - 1, 1), (1 + ci_prob) / 2) * error
    return np.stack([found, (found - away).clip(-1), (found + away).clip(max=1)], axis=1)
