"""How far answers lean to one label, and whether annotators agree on where it is not the truth."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayesanno.data.annotations import AnnotationData


class Skew(NamedTuple):
    """The commonest answer.

    Attributes
    ----------
    label : str
    share : float
        Of the answers, each item's counting as one.
    alpha : float
        Krippendorff's alpha of this label against all others; nan where nothing else was said, or no item has two
        answers.
    """

    label: str
    share: float
    alpha: float


@dataclass(frozen=True)
class LabelCounts:
    """What the shares and the alphas of labels add up from, of some items or of all.

    Attributes
    ----------
    shares : array, shape (label,)
        Of items with annotations, the shares that a label has of each, added up.
    n_items : float
        How many these are.
    split, given : array, shape (label,)
        Of items with two annotations or more: how far a label and the others split them, n (m - n) / (m - 1) of n out
        of m annotations; and how often it was given.
    n_given : float
        How many annotations these items have.
    """

    shares: np.ndarray
    n_items: float
    split: np.ndarray
    given: np.ndarray
    n_given: float

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    @property
    def average(self) -> np.ndarray:
        """The share of each label among the answers, each item's counting as one; shape (label,)."""
        found: np.ndarray = self.shares / self.n_items
        return found

    @property
    def alphas(self) -> np.ndarray:
        """Krippendorff's alpha of each label against all others, nan where it cannot be told; shape (label,).

        1 - (n - 1) sum over items of n_i (m_i - n_i) / (m_i - 1)  /  (n_label n_others), the nominal alpha of two
        values (Krippendorff 2011, https://repository.upenn.edu/asc_papers/43).
        """
        others = self.given * (self.n_given - self.given)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(others > 0, 1 - (self.n_given - 1) * self.split / others, np.nan)


def count_labels(votes: np.ndarray, weight: np.ndarray) -> LabelCounts:
    """Count labels of patterns of answers, (pattern, label), each of so many items, (pattern,)."""
    total = votes.sum(axis=1)  # (pattern,)
    some, several = total > 0, total > 1
    shares = votes[some] / total[some, None]
    n, m, items = votes[several], total[several, None], weight[several]
    return LabelCounts(
        shares=weight[some] @ shares,
        n_items=float(weight[some].sum()),
        split=items @ (n * (m - n) / (m - 1)),
        given=items @ n,
        n_given=float(items @ total[several]),
    )


def skew_of(labels: Sequence[str], shares: np.ndarray, alphas: np.ndarray) -> Skew:
    """Return the commonest answer, of the shares and alphas of all labels, (label,)."""
    commonest = int(shares.argmax())
    return Skew(str(labels[commonest]), float(shares[commonest]), float(alphas[commonest]))


def measure_skew(data: AnnotationData) -> Skew:
    """Find the commonest answer, its share, and how far annotators agree on which items have it; without unsure ones.

    Two annotators in three say "no", and agree on where the truth is "yes": the class is common. Nobody agrees on where
    it is "yes": it may be a habit.

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
    sure = data.without_unsure()
    counts = count_labels(sure.votes, np.ones(sure.n_items))
    return skew_of(sure.labels, counts.average, counts.alphas)
