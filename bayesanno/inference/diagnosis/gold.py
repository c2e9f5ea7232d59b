"""Expected and actual numbers of errors among items with known true labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayesanno.agreement.vote import vote_right
from bayesanno.fits.parts import FitPart
from bayesanno.ground.wording import counted

MOST_P = 0.01  # p-value below which labels count as overconfident
MOST_P_VOTE = 0.05  # p-value below which they count as worse than the vote
ENOUGH = 20  # with fewer known labels, no fit warns


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
    >>> from bayesanno.inference.diagnosis.gold import count_errors
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


def explain_gold(diagnostics: Mapping[str, Any]) -> list[str]:
    """Explain how the labels of a fit contradict known true labels, if there are enough."""
    each = {dimension: Errors(**found) for dimension, found in diagnostics.get("gold", {}).items()}
    return [text for dimension, one in each.items() if one.n >= ENOUGH for text in explain_errors(one, dimension)]


def explain_errors(errors: Errors, dimension: str = "") -> list[str]:
    """Explain how labels are wrong beyond chance; empty if they are well calibrated, and not worse than the vote."""
    where = f"in {dimension!r}, " if dimension else ""
    said = []
    if errors.p < MOST_P:
        said.append(
            f"{where}{errors.made:,.0f} of {counted(errors.n, 'item')} whose true label is known are labelled wrongly, "
            f"where {errors.expected:,.1f} were expected: the labels are overconfident"
        )
    if errors.p_vote < MOST_P_VOTE:
        said.append(
            f"{where}the majority vote makes fewer errors ({errors.vote:,.1f}) than these labels ({errors.made:,.0f}): "
            "use the vote, or compare with another model (bayesanno.compare)"
        )
    return said
