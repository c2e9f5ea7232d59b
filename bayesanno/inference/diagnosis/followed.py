"""Few annotators whose answers are the labels: whether they are right, or share errors.

Where errors are independent given the truth, two annotators' answers, as numbers, have a covariance that is a product
of a number of each (one common factor, Spearman 1904). Let w be the mean covariance within a group, g that between the
group and the others, o that among the others: then w = g^2 / o, however precise each annotator is. Copies of one
another, or of one source, have more.

The invariant: only answers and labels are read, so that it can be said after any fit.

References
----------
C. Spearman (1904), "General intelligence," objectively determined and measured, The American Journal of Psychology
15(2):201-292, doi:10.2307/1412107.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.wording import enumerated

MOST_AWAY = 0.15  # variance of the differences to the labels, in grades: 85% are equal, where none is further off
ANSWERED = 0.5  # of the items, by each of them
MUCH_MORE = 4.0  # standard errors by which their covariance is more than explained
EXPLAINED = 0.85  # of their covariance, at most


class Followed(NamedTuple):
    """Annotators whose answers are the labels, but for a shift, and how their agreement is explained.

    Attributes
    ----------
    who : tuple of str
    same : float
        How often two of them say the same of an item.
    explained : float
        The share of their covariance that their agreement with the others explains.
    z : float
        By how many standard errors the rest is above 0.
    """

    who: tuple[str, ...]
    same: float
    explained: float
    z: float


def find_followed(data: AnnotationData, labels: np.ndarray) -> Followed | None:
    """Return the annotators whose answers are the labels (item,), and how their agreement is explained.

    None where fewer than two are found, where they gave most of the answers to their items, where the others do not
    agree with each other, and where labels are no numbers: these are in order, or two.
    """
    if data.unsure or not (data.labels_are_ordered or data.n_labels == 2):
        return None
    who, item, n = data.annotator, data.item, np.maximum(data.by_annotator, 1)  # n: (annotator,)
    away = data.label - labels[item]  # (annotation,)
    variance = _mean(away**2, who, n) - _mean(away, who, n) ** 2  # (annotator,)
    is_one = (variance <= MOST_AWAY) & (n >= ANSWERED * data.n_items)
    theirs = is_one[who]
    n_own, n_other = (np.bincount(item[of], minlength=data.n_items) for of in (theirs, ~theirs))  # (item,)
    if is_one.sum() < 2 or n_own.sum() > n_other[n_own > 0].sum():
        return None
    number = data.label - _mean(data.label, who, n)[who]
    number = np.where(theirs, number, number * _mean(number * labels[item], who, n)[who])  # some turn the scale round
    own, other = (np.bincount(item[of], number[of], data.n_items) for of in (theirs, ~theirs))  # (item,)
    own2, other2 = (np.bincount(item[of], number[of] ** 2, data.n_items) for of in (theirs, ~theirs))
    products = np.stack([own**2 - own2, own * other, other**2 - other2])  # within, across, outside: (3, item)
    pairs = np.stack([n_own * (n_own - 1), n_own * n_other, n_other * (n_other - 1)])
    total = pairs.sum(axis=1)
    within, across, outside = mean = products.sum(axis=1) / np.maximum(total, 1)
    if within <= 0 or outside <= 0:
        return None
    moved = (products - mean[:, None] * pairs) / total[:, None]  # the means, by each item
    slope = across / outside
    error = np.sqrt(((np.array([1, -2 * slope, slope**2]) @ moved) ** 2).sum())
    same = np.bincount(item[theirs] * data.n_labels + data.label[theirs])  # (item and label,)
    return Followed(
        who=tuple(data.annotators[code] for code in np.flatnonzero(is_one)),
        same=float((same * (same - 1)).sum() / total[0]),
        explained=float(across * slope / within),
        z=float((within - across * slope) / max(error, np.finfo(float).tiny)),
    )


def explain_followed(data: AnnotationData, labels: np.ndarray) -> list[str]:
    """Say so where the labels (item,) are the answers of few, who agree with each other more than is explained.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesanno as ba
    >>> from bayesanno.inference.diagnosis.followed import explain_followed
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.integers(4, size=200)
    >>> heard = (truth + rng.integers(-1, 2, size=200)).clip(0, 3)  # by one, whom two others copy
    >>> said = [heard, heard, heard, *((truth + rng.integers(-2, 3, size=200)).clip(0, 3) for _ in range(6))]
    >>> records = [(f"i{i:03}", f"a{j}", str(grade)) for j, of in enumerate(said) for i, grade in enumerate(of)]
    >>> print(*explain_followed(ba.AnnotationData.from_records(records), heard))
    the labels follow a0, a1, a2, who say the same on 100% of the items that two of them answered, while independent \
errors explain 68% of what they have in common (z 5.3): either they share errors, as copies or prompts of one base \
model do, and the model takes these for the truth, or the others share theirs; leave all but one of them out and \
compare the labels, or let known labels decide (controls)
    """
    found = find_followed(data, labels)
    if found is None or found.z < MUCH_MORE or found.explained > EXPLAINED:
        return []
    return [
        f"the labels follow {enumerated(found.who)}, who say the same on {found.same:.0%} of the items that two of "
        f"them answered, while independent errors explain {max(found.explained, 0):.0%} of what they have in common "
        f"(z {found.z:.1f}): either they share errors, as copies or prompts of one base model do, and the model takes "
        "these for the truth, or the others share theirs; leave all but one of them out and compare the labels, or let "
        "known labels decide (controls)"
    ]


def _mean(values: np.ndarray, annotator: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return the mean over each annotator's `n` answers; (annotator,)."""
    mean: np.ndarray = np.bincount(annotator, weights=values, minlength=n.size) / n
    return mean
