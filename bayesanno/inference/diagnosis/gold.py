"""Where true labels are known: how many errors the probabilities of labels lead us to expect, and how many are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayesanno.agreement.vote import vote_right
from bayesanno.fits.parts import FitPart
from bayesanno.ground.wording import counted

MOST_P = 0.01  # that labels are overconfident by chance
MOST_P_VOTE = 0.05  # that they are worse than the vote by chance
ENOUGH = 20  # known labels: of fewer, no fit warns


class Errors(NamedTuple):
    """Expected and actual numbers of wrong labels, on items whose true label is known.

    Attributes
    ----------
    n : int
        Items whose true label is known.
    expected, made : float
        The sum of 1 - p over the most probable labels, and how many of these are wrong.
    p : float
        The chance of this many errors, or more, if the probabilities were right: by a Poisson distribution, which is a
        little wider than that of the sum.
    vote : float
        The number of errors of the majority vote; a tie counts as a share of one.
    p_vote : float
        The chance that labels are worse than the vote by this much, or more, if both were equally good: by the normal
        distribution, over items.
    """

    n: int
    expected: float
    made: float
    p: float
    vote: float
    p_vote: float


def count_errors(part: FitPart) -> Errors | None:
    """Count errors that are expected and made; None where no true label is known, or the states are types.

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
    """Explain how the labels of a fit contradict true labels, if enough of these are known."""
    each = {dimension: Errors(**found) for dimension, found in diagnostics.get("gold", {}).items()}
    return [text for dimension, one in each.items() if one.n >= ENOUGH for text in explain_errors(one, dimension)]


def explain_errors(errors: Errors, dimension: str = "") -> list[str]:
    """Explain how labels are wrong beyond chance; empty if they are as sure as they should be, and beat the vote."""
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
