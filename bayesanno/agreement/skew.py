"""How far answers are skewed to one label, and whether annotators agree on the items where it is wrong."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple, Self

import numpy as np

from bayesanno.agreement.alpha import nominal_alpha
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.totals import AnnotationTotals


class Skew(NamedTuple):
    """The commonest answer.

    Attributes
    ----------
    label : str
    share : float
        Its share of the answers, with equal weight for each item.
    alpha : float
        Krippendorff's alpha of this label against all others; nan if no other label was given, or no item has two
        answers.
    """

    label: str
    share: float
    alpha: float


@dataclass(frozen=True)
class LabelCounts:
    """Sums over items from which the shares and the alphas of labels are computed.

    Attributes
    ----------
    shares : array, shape (label,)
        The sum, over items with annotations, of each label's share of the item's answers.
    n_items : float
        The number of these items.
    given : array, shape (label,)
        How often each label was given to items with two or more annotations.
    apart : array, shape (label,)
        Its coincidences with other labels on these items.
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

    If two answers in three are "no" and annotators agree on which items are "yes", the class is common. If they
    disagree, "no" may be a habit.

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.agreement.skew import measure_skew
    >>> said = {"s1": "yes yes", "s2": "no no", "s3": "no no", "s4": "no yes"}
    >>> records = [(item, who, label) for item, both in said.items() for who, label in zip("ab", both.split())]
    >>> skew = measure_skew(AnnotationData.from_records(records))
    >>> skew.label, skew.share, round(skew.alpha, 3)
    ('no', 0.625, 0.533)
    """
    if isinstance(data, AnnotationTotals):
        labels, shares, alphas = data.labels, data.label_shares, data.label_alphas
    else:
        sure = data.without_unsure()
        counts = count_labels(sure.votes, np.ones(sure.n_items))
        labels, shares, alphas = sure.labels, counts.average, counts.alphas
    commonest = int(shares.argmax())
    return Skew(labels[commonest], float(shares[commonest]), float(alphas[commonest]))
