"""Answers that are skewed to one label, and annotators who nearly always give one label.

A label may be common because its class is, or because annotators repeat it. Repeaters give a label nine times in ten,
far more often than others do on the same items, and also where the others do not. If several repeat one label, they
must also disagree about the items where it is wrong. A habit that all annotators share looks like a class.

In 60 tables with a class of prevalence .01, able annotators were taken for repeaters in four; in 320 with .03 or more,
in none. Where five of eight annotators repeated a label in .90 to .97 of answers, all who did were found in 266 of 270.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple, Self

import numpy as np

from bayesanno.agreement.alpha import nominal_alpha
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.totals import AnnotationTotals

SKEWED = 1 / 2  # of the way from even answers to all the same: from there on, alpha is low if errors are rare
LOW_ALPHA = 0.4  # below it, annotators hardly agree on the items that have another label


class Skew(NamedTuple):
    """The commonest answer: its share, with equal weight for each item, and its alpha against all others.

    The alpha may be nan.
    """

    label: str
    share: float
    alpha: float

    def exceeds(self, part: float, n_labels: int) -> bool:
        """Whether the share is beyond a part of the way from even answers to `n_labels` to all the same."""
        return self.share > 1 / n_labels + (1 - 1 / n_labels) * part


@dataclass(frozen=True)
class LabelCounts:
    """Sums over items from which the shares and the alphas of labels are computed; arrays of shape (label,).

    Over the `n_items` with annotations, the `shares` of each label; over items with two or more annotations, how often
    it was `given`, and its coincidences with other labels (`apart`).
    """

    shares: np.ndarray
    n_items: float
    given: np.ndarray
    apart: np.ndarray

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    @property
    def average(self) -> np.ndarray:
        """The share of each label among the answers, with equal weight for each item; shape (label,)."""
        return self.shares / self.n_items

    @property
    def alphas(self) -> np.ndarray:
        """Krippendorff's alpha of each label against all others, nan if undefined; shape (label,)."""
        rest = self.given.sum() - self.given  # (label,): how often all other labels were given
        return nominal_alpha(2 * self.apart, np.stack([self.given, rest]), axis=0)


def count_labels(votes: np.ndarray, weight: np.ndarray) -> LabelCounts:
    """Count labels from patterns of answers, (pattern, label), weighted by their numbers of items, (pattern,)."""
    total = votes.sum(axis=1)  # (pattern,)
    answered, several = weight * (total > 0), weight * (total >= 2)
    shares = votes / np.maximum(total, 1)[:, None]
    apart = (several / np.maximum(total - 1, 1)) @ (votes * (total[:, None] - votes))
    return LabelCounts(answered @ shares, float(answered.sum()), several @ votes, apart)


def measure_skew(data: AnnotationData | AnnotationTotals) -> Skew:
    """Find the commonest answer, its share, and the agreement about the items that have it, without "unsure" answers.

    If annotators disagree about which items have another label, the commonest one may be a habit.
    """
    if isinstance(data, AnnotationTotals):
        labels, shares, alphas = data.labels, data.label_shares, data.label_alphas
    else:
        sure = data.without_unsure()
        counts = count_labels(sure.votes, np.ones(sure.n_items))
        labels, shares, alphas = sure.labels, counts.average, counts.alphas
    commonest = int(shares.argmax())
    return Skew(labels[commonest], float(shares[commonest]), float(alphas[commonest]))


MIN_ANSWERS = 10  # fewer answers that are all the same are no evidence
MIN_SHARE = 0.9  # least share of an annotator's answers with one label
MAX_OF_OTHERS = 0.75  # largest share of that label in the answers of others to the same items
MIN_ERRORS = 3.0  # standard errors between these two shares
MIN_KEPT = 0.8  # least share of the others' answers with another label to items where the annotator gives the label
MIN_AGREED = 0.1  # repeaters agree if another repeater matches this share of one's answers with another label,
MIN_ERRORS_ABOVE_CHANCE = 4.0  # and the share is that many standard errors above chance


class Repeaters(NamedTuple):
    """Annotators who nearly always give one label, the label, and their shares of all answers but "unsure" ones."""

    annotators: tuple[str, ...]
    labels: tuple[str, ...]
    shares: tuple[float, ...]


def find_repeaters(data: AnnotationData) -> Repeaters:
    """Find annotators who nearly always give one label, and far more often than others do on the same items.

    Examples
    --------
    >>> said = [(f"s{n}", who, ["no", "yes"][n % 2]) for n in range(20) for who in ("ada", "bo")]
    >>> find_repeaters(AnnotationData.from_records([*said, *((f"s{n}", "cy", "no") for n in range(20))])).annotators
    ('cy',)
    """
    if data.unsure_by_annotator.sum() == data.n_annotations:
        return Repeaters((), (), ())
    sure = data.without_unsure()
    counts = sure.usage  # (annotator, label)
    given, usual = counts.sum(axis=1), counts.argmax(axis=1)  # (annotator,)
    often = (given >= MIN_ANSWERS) & (counts.max(axis=1) >= MIN_SHARE * given)  # (annotator,)
    found = np.zeros_like(often)
    for label in np.unique(usual[often]).tolist():
        found |= _find_unlike_others(sure, label, often & (usual == label))
    who = np.flatnonzero(found).tolist()
    return Repeaters(
        tuple(sure.annotators[one] for one in who),
        tuple(sure.labels[usual[one]] for one in who),
        tuple((given[found] / given.sum()).tolist()),
    )


def _find_unlike_others(data: AnnotationData, label: int, group: np.ndarray) -> np.ndarray:
    """Return who in a group (annotator,) gives its common label regardless of others' answers; (annotator,)."""
    item, said = data.item, (data.label == label).astype(float)  # (annotation,)
    rest = ~group[data.annotator]  # (annotation,)
    n, n_said = (np.bincount(item[rest], of[rest], data.n_items)[item] for of in (np.ones_like(said), said))

    def add_up(values: np.ndarray) -> np.ndarray:
        return np.bincount(data.annotator, np.where(n > 0, values, 0.0), data.n_annotators)  # (annotator,)

    # If annotator and others were alike, each answer to the item would be equally likely to be the annotator's.
    chance = (n_said + said) / (n + 1)  # (annotation,)
    more, error = add_up(said - chance), np.sqrt(add_up(chance * (1 - chance)))
    others, theirs = add_up(n), add_up(n_said)  # (annotator,)
    kept = add_up(said * (n - n_said))
    unlike: np.ndarray = (
        group & (others > 0) & (theirs <= MAX_OF_OTHERS * others) & (kept >= MIN_KEPT * (others - theirs))
    )
    unlike &= more >= MIN_ERRORS * error
    return np.zeros_like(unlike) if _agree(data, said, unlike[data.annotator]) else unlike


def _agree(data: AnnotationData, said: np.ndarray, within: np.ndarray) -> bool:
    """Whether the annotators of the annotations `within` agree on the items that do not have their usual label."""
    item, other = data.item[within], 1 - said[within]  # (annotation,)
    _, own = np.unique(item * data.n_annotators + data.annotator[within], return_inverse=True)  # (annotation,)
    against = np.bincount(item, other, data.n_items)[item] - np.bincount(own, other)[own]  # answers by others of them
    together, all_of_them = float((other * against).sum()), float(against.sum())
    by_chance = all_of_them * other.mean() if other.size else 0.0
    error = np.sqrt(2 * by_chance)  # of a count that has every pair twice
    return together > MIN_AGREED * all_of_them and together > by_chance + MIN_ERRORS_ABOVE_CHANCE * error
