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

from typing import Any, NamedTuple

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.lazy import xr

MOST_AWAY = 0.15  # variance of the differences to the labels, in grades: 85% are equal, where none is further off
ANSWERED = 0.5  # of the items, by each of them


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


def measure_followed(data: object, latent: xr.Dataset) -> dict[str, Any]:
    """Return, under `followed`, what is found of the most probable labels of a fit; nothing where nothing is.

    Parameters
    ----------
    data : AnnotationData, or data of another kind, which have nothing
    latent : xarray.Dataset
        Of a fit: `probability` (item, true_class).
    """
    if not isinstance(data, AnnotationData) or latent["probability"].sizes.get("true_class") != data.n_classes:
        return {}
    labels = data.class_codes[latent["probability"].transpose("item", "true_class").values.argmax(axis=1)]
    found = find_followed(data, labels)
    return {} if found is None else {"followed": found._asdict()}


def _mean(values: np.ndarray, annotator: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return the mean over each annotator's `n` answers; (annotator,)."""
    return np.bincount(annotator, weights=values, minlength=n.size) / n
