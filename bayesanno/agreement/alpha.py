"""Krippendorff's alpha, from sums of the items' contributions: no label-by-label table is made.

    o_cd = sum over items of (how often c and d were both given) / (number of answers - 1)               coincidences
    alpha = 1 - (n - 1) sum_cd o_cd d_cd / sum_cd n_c n_d d_cd            with n_c = sum_d o_cd and n = sum_c n_c

Items with one answer are ignored. The distance d of two labels depends on the level of measurement.

References
----------
K. Krippendorff (2019), Content analysis, fourth edition, chapter 12.
A. F. Hayes and K. Krippendorff (2007), doi:10.1080/19312450709336664.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesanno.data.labelled import divide


def measure_alpha(observed: np.ndarray, n: np.ndarray, by_chance: np.ndarray) -> np.ndarray:
    """Return alpha from sum_cd o_cd d_cd, the number of answers compared, and sum_cd n_c n_d d_cd; nan if undefined."""
    return 1 - divide(observed * (n - 1), by_chance)


def nominal_alpha(observed: np.ndarray, given: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return nominal alpha from sum_cd o_cd over different labels, and label counts n_c along an axis."""
    n = given.sum(axis=axis)
    return measure_alpha(observed, n, n**2 - (given**2).sum(axis=axis))


def alpha_of_votes(votes: np.ndarray) -> np.ndarray:
    """Return nominal alpha of votes (..., item, label), nan where it is not defined; (...)."""
    n = votes.sum(axis=-1)  # (..., item)
    observed = find_disagreement(n, (votes**2).sum(axis=-1)).sum(axis=-1)
    return nominal_alpha(observed, (votes * (n >= 2)[..., None]).sum(axis=-2))


def find_disagreement(n: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return the items' contributions to sum_cd o_cd over different labels, from answers and sums of squared votes."""
    return (n**2 - squares) / np.maximum(n - 1, 1)  # 0 of one answer


def find_ranks(given: np.ndarray) -> np.ndarray:
    """Return the mean rank of the answers with each label, less that of all answers, from label counts (label, ...)."""
    return np.asarray(np.cumsum(given, axis=0) - given / 2 - given.sum(axis=0) / 2)


def compare_places(votes: Any, place: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return alpha, (resample,), of labels with positions on a line; the distance is the squared difference.

    `votes` is sparse, (item, label), with empty rows for items with one answer. `weights`, (item, resample), is how
    often each item counts, and `place` is (label, resample) or (label, 1).
    """
    given = votes.T @ weights  # (label, resample)
    place = place - divide(
        (given * place).sum(axis=0), given.sum(axis=0)
    )  # from their mean, so that no digits are lost
    return alpha_of_places(votes.sum(axis=1)[:, None], votes @ place, votes @ place**2, given, place, weights)


def alpha_of_places(
    n: np.ndarray, sums: np.ndarray, squares: np.ndarray, given: np.ndarray, place: np.ndarray, weights: Any = 1
) -> np.ndarray:
    """Return alpha, (...), of labels with positions on a line, from sums over the answers to each item, (item, ...).

    The sums are the number `n` of answers, and the `sums` and `squares` of the places of their labels. `given` are the
    counts of labels among compared answers, and `place` the places of labels, (label, ...).
    """
    apart = n * squares  # (item, ...)
    apart -= sums**2
    apart *= weights * (2 * (n >= 2) / np.maximum(n - 1, 1))
    total, used = given.sum(axis=0), given > 0
    differ = np.where(used, place, -np.inf).max(axis=0) > np.where(used, place, np.inf).min(axis=0)
    by_chance = 2 * (total * (given * place**2).sum(axis=0) - (given * place).sum(axis=0) ** 2)
    return measure_alpha(apart.sum(axis=0), total, np.where(differ, by_chance, 0))


def compare_sets(votes: Any, distance: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return alpha, (resample,), of labels with any distances, (label, label); otherwise as `compare_places`."""
    given, n = votes.T @ weights, votes.sum(axis=1)  # (label, resample), (item,)
    apart = (votes * (votes @ distance)).sum(axis=1) / np.maximum(n - 1, 1)  # (item,)
    return measure_alpha(apart @ weights, given.sum(axis=0), (given * (distance @ given)).sum(axis=0))


def beyond(observed: Any, expected: Any, most: Any = 1.0) -> np.ndarray:
    """Return agreement beyond chance, (observed - expected) / (most - expected); nan if no more is possible.

    Disagreement is negative agreement, of which the most is 0.
    """
    return divide(observed - expected, most - expected)
