"""Krippendorff's alpha: of any data, of some of the annotators, of a pair, of one label against all others.

    o_cd = sum over items of (how often c and d were both said of it) / (how many answers it has - 1)    coincidences
    alpha = 1 - (n - 1) sum_cd o_cd d_cd / sum_cd n_c n_d d_cd            with n_c = sum_d o_cd and n = sum_c n_c

An item with one answer is ignored. The distance d of two labels depends on the level of measurement: equal or not, or
the difference of two numbers.

References
----------
K. Krippendorff (2019), Content analysis, fourth edition, chapter 12.
A. F. Hayes and K. Krippendorff (2007), Answering the call for a standard reliability measure for coding data,
Communication Methods and Measures 1(1), 77-89, doi:10.1080/19312450709336664.
"""

from __future__ import annotations

import numpy as np


def count_coincidences(votes: np.ndarray, weight: np.ndarray | float = 1.0) -> np.ndarray:
    """Return the coincidences of labels, (..., label, label), of votes (..., item, label) of items that count so often.

    Examples
    --------
    >>> import numpy as np
    >>> count_coincidences(np.array([[3, 0], [2, 1], [0, 3], [1, 0]]))
    array([[4., 1.],
           [1., 3.]])
    """
    n = votes.sum(axis=-1)  # (..., item)
    shares = votes * (np.where(n >= 2, weight, 0) / np.maximum(n - 1, 1))[..., None]  # (..., item, label)
    together: np.ndarray = np.swapaxes(shares, -1, -2) @ votes
    labels = np.arange(votes.shape[-1])
    together[..., labels, labels] -= shares.sum(axis=-2)
    return together


def measure_alpha(coincidences: np.ndarray, distance: np.ndarray | None = None) -> np.ndarray:
    """Return alpha of coincidences (..., label, label), nan where it is not defined; (...).

    Parameters
    ----------
    coincidences : array, shape (..., label, label)
    distance : array, shape (..., label, label), optional
        Squared distances of labels; by default 1 for any two (nominal alpha).

    Examples
    --------
    >>> import numpy as np
    >>> round(float(measure_alpha(count_coincidences(np.array([[3, 0], [2, 1], [0, 3], [1, 0]])))), 3)
    0.6
    """
    distance = 1 - np.eye(coincidences.shape[-1]) if distance is None else distance
    n = coincidences.sum(axis=-1)  # (..., label)
    observed = (coincidences * distance).sum(axis=(-2, -1)) * (n.sum(axis=-1) - 1)
    expected = (n[..., :, None] * n[..., None, :] * distance).sum(axis=(-2, -1))
    alpha: np.ndarray = 1 - divide(observed, np.where(expected > 0, expected, 0))
    return alpha


def alpha_of_votes(votes: np.ndarray) -> np.ndarray:
    """Return nominal alpha of votes (..., item, label), nan where it is not defined; (...)."""
    return measure_alpha(count_coincidences(votes))


def divide(number: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Return a ratio, nan where the denominator is 0."""
    by = np.asarray(by, dtype=float)
    ratio: np.ndarray = np.divide(number, by, out=np.full(np.broadcast(number, by).shape, np.nan), where=by != 0)
    return ratio
