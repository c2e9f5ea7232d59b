"""The labels of a fit against known true labels: how many errors are expected, and how many there are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesanno.agreement.vote import vote_right
from bayesanno.fits.parts import FitPart, parts_of
from bayesanno.fits.view import FitView


class Errors(NamedTuple):
    """Expected and actual numbers of wrong labels, on items with a known true label.

    Attributes
    ----------
    n : int
        The number of items with a known true label.
    expected, made : float
        The sum of 1 - p over the most probable labels, and the number of wrong ones.
    p : float
        The probability of at least this many errors if the probabilities were right, from a Poisson distribution, which
        is a little wider than that of the sum.
    vote : float
        The number of errors of the majority vote; ties count as fractions.
    p_vote : float
        The probability that labels are worse than the vote by at least this much if both were equally good, from a
        normal approximation over items.
    """

    n: int
    expected: float
    made: float
    p: float
    vote: float
    p_vote: float


def count_errors(part: FitPart) -> Errors | None:
    """Count expected and actual errors; None if no true label is known, or the states are item types.

    Examples
    --------
    >>> import bayesanno as ba
    >>> from bayesanno.inference.diagnosis.known_labels import count_errors
    >>> from bayesanno.fits.parts import part_of
    >>> from bayesanno.fits.view import view_of
    >>> fit = ba.fit("one_coin", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    >>> errors = count_errors(part_of(view_of(fit), None))
    >>> errors.n, errors.made, round(errors.vote)
    (300, 20.0, 28)
    """
    from scipy.stats import norm, poisson

    if not part.gold or part.is_of_types:
        return None
    right, probability = part.right, part.posterior.values.max(axis=1)
    known = np.isfinite(right)
    made, expected = float((1 - right[known]).sum()), float((1 - probability[known]).sum())
    by_vote = np.nan_to_num(vote_right(part.data)[known])
    worse = by_vote - right[known]
    p_vote = norm.sf(worse.sum() / np.sqrt((worse**2).sum())) if worse.any() else 1.0
    vote = float((1 - by_vote).sum())
    return Errors(int(known.sum()), expected, made, float(poisson.sf(made - 1, expected)), vote, float(p_vote))


def count_all_errors(view: FitView) -> dict[str, dict[str, float]]:
    """Return the errors of each dimension with known true labels, as a fit's diagnostics hold them."""
    counts = {part.dimension: count_errors(part) for part in parts_of(view)}
    return {dimension: errors._asdict() for dimension, errors in counts.items() if errors is not None}
