"""How far answers lean to one label, and whether annotators agree on where it is not the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
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


def measure_skew(data: AnnotationData) -> Skew:
    """Find the commonest answer, its share, and how far annotators agree on which items have it.

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
    import krippendorff

    shares = data.vote_shares[np.bincount(data.item, minlength=data.n_items) > 0]
    average = shares.mean(axis=0)  # (label,)
    commonest = int(average.argmax())
    is_it = data.label == commonest
    counts = np.stack([np.bincount(data.item, weights=w, minlength=data.n_items) for w in (is_it, ~is_it)], axis=1)
    varies = counts.sum(axis=0).all() and (counts.sum(axis=1) > 1).any()
    alpha = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal") if varies else np.nan
    return Skew(str(data.labels[commonest]), float(average[commonest]), float(alpha))
