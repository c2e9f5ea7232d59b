"""Grades in order, counted from 0: their intervals, from -1/2 to K - 1/2, and severities and noise from votes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bayesanno._core.lazy import pt
from bayesanno._core.messages import counted
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import read_numbers
from bayesanno.modeling.arguments import Parameters
from bayesanno.modeling.expectation import Votes
from bayesanno.modeling.findings import Finding, check
from bayesanno.modeling.ops.intervals import STEEP, Noise, log_between

MANY = 10  # annotators: from here on severities are sampled together with the mean threshold
POOLED = 5  # answers that the median annotator counts for in an annotator's numbers


def first_grade(data: AnnotationData) -> float:
    """Return the grade of the lowest label: its own number where labels are consecutive numbers, else 1."""
    numbers = read_numbers(data.labels)
    return 1.0 if numbers is None or (np.diff(numbers) != 1).any() else float(numbers[0])


def ends_of(width: pt.TensorVariable) -> tuple[pt.TensorVariable, pt.TensorVariable]:
    """Return the lower and upper ends of the labels' intervals, (response,) each."""
    n_labels, total = width.shape[0], pt.cumsum(width)
    return n_labels * (total - width) - 0.5, n_labels * total - 0.5


def log_reported(p: Parameters, n_labels: int, z: Any, noise: Noise) -> pt.TensorVariable:
    """Return log P(response | true class, node), of each annotator: (annotator, response, true_class, node).

    `z` is the shared error of perception at each node, in units of `shared_spread`; positive is too high.
    """
    grade, shared_spread = np.arange(n_labels), p.get("shared_spread")
    seen = grade[:, None] + (pt.zeros_like(z) if shared_spread is None else shared_spread * z)  # (true_class, node)
    severity, sd = p.severity[:, None, None, None], p.sd[:, None, None, None]
    low, high = ((end[:, None, None] - seen + severity) / sd for end in ends_of(p.width))
    is_first, is_last = (np.equal(grade, end)[:, None, None] for end in (0, n_labels - 1))
    return log_between(low, high, noise, is_first=is_first, is_last=is_last)


def find_information(p: Parameters, noise: Noise) -> pt.TensorVariable:
    """Return the largest information of an answer of each annotator about the common error: (annotator,)."""
    ratio = (p.shared_spread / p.sd) ** 2
    if noise == "normal":
        return ratio
    narrowest = p.width.min() * pt.ones_like(p.width).sum()  # in grades
    return ratio * STEEP**2 / 4 * pt.clip(2 * p.sd / narrowest, 1, 2)  # an answer is near to one end, or to both


def measure_severity(votes: Votes, sd: float) -> tuple[np.ndarray, np.ndarray]:
    """Return how far each annotator is below the votes on average, in grades, and the root mean square; (annotator,).

    Both are shrunk towards an annotator with severity 0 and this sd.
    """
    grade = np.arange(votes.shares.size)
    above = grade[:, None] - grade  # (response, response): how much higher an answer is than a vote
    n = votes.answers.sum(axis=(1, 2)) + POOLED  # (annotator,)
    square = (votes.answers * above**2).sum(axis=(1, 2)) + POOLED * sd**2
    return -(votes.answers * above).sum(axis=(1, 2)) / n, np.sqrt(square / n)


def level_of(width: pt.TensorVariable, data: AnnotationData) -> pt.TensorVariable:
    """Return the mean threshold, but for a constant: severities of many are sampled together with it; else 0."""
    n_labels, is_crowd = data.n_labels, (data.by_annotator > 0).sum() >= MANY
    of_each = is_crowd * n_labels * np.arange(n_labels)[::-1] / (n_labels - 1)  # (response,)
    return (width * of_each).sum()


def find_few(data: AnnotationData, *, shared: bool) -> Iterator[Finding]:
    """Yield what cannot be learnt about ordered grades from so few labels, answers or annotators."""
    n, most = int((data.by_annotator > 0).sum()), int(np.bincount(data.item, minlength=1).max())
    yield from check("grades-two-labels", data.n_labels)
    yield from check("grades-one-answer", most)
    yield from check("grades-few-annotators", n, ["severity_spread", "sd_spread"], n=counted(n, "annotator"))
    if shared:
        yield from check("grades-few-answers", most, ["shared_spread"])
