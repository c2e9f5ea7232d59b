"""Warnings of answers that the fit does not predict, and of labels that known true labels contradict.

The invariant: as in `explain`, texts depend on a fit's diagnostics alone, so that a loaded fit gives the same warnings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayesanno.agreement.vote import vote_right
from bayesanno.fits.parts import FitPart
from bayesanno.ground.wording import counted, enumerated

MOST_P = 0.01  # largest p-value with a warning
# For statistics that are nearly normal in large tables and skewed in small ones: least z, and largest share of
# replicates above.
MOST_Z, MOST_SHARE = 2.33, 0.03
# With very many answers, differences may be significant but too small to matter:
SHARE_OFF = 0.05  # of the items
SURE = 0.95  # of the weight of a misfit
DESIGN_EFFECT = 1.1  # number of answers that are worth one independent answer
# Annotators whom the labels follow share errors if their covariance is more than explained by this many standard errors
MUCH_MORE = 4.0
EXPLAINED = 0.85  # and if at most this share of it is explained
MOST_P_VOTE = 0.05  # largest p-value at which labels count as worse than the vote
ENOUGH = 20  # with fewer known labels, no fit warns

CANNOT_SEE = (
    "This check cannot show errors that all annotators of an item share, nor errors hidden by few answers per item: "
    "only true labels can."
)


def explain_misfit(diagnostics: Mapping[str, Any]) -> list[str]:
    """Explain which answers the fit does not predict, the consequences, and a remedy; empty without misfit.

    Examples
    --------
    >>> from bayesanno.inference.diagnosis.explain_misfit import explain_misfit
    >>> errors = {"correlation": 0.21, "expected": 0, "z": 98.7, "p": 0.0099, "n_answers": 121.0, "worth": 4.6}
    >>> print(*explain_misfit({"misfit": [{"dimension": "", "errors": errors}]}))
    the answers are not as this model predicts them: errors on an item correlate by 0.21 (z 98.7), so that its 121 \
answers are worth 4.6 independent ones; the labels are then overconfident: recalibrate them by some true labels \
(bayesanno.recalibrate), or see whether another model fits better (bayesanno.compare; in shared_errors, annotators err \
together)
    """
    found = diagnostics.get("misfit", [])
    return [text for one in found for text in (_explain(one), _explain_followed(one.get("followed"))) if text]


def agreement_is_off(found: Mapping[str, Any]) -> bool:
    """Return whether a fit fails to predict the agreement of pairs, or the votes."""
    return bool(_explain_votes(found.get("votes")) or _explain_pairs(found.get("pairs")))


def errors_correlate(found: Mapping[str, Any]) -> bool:
    """Return whether errors on an item correlate more than a fit predicts, in the misfit of a dimension."""
    return bool(_explain_errors(found.get("errors")))


def _explain(found: Mapping[str, Any]) -> str:
    errors, votes = _explain_errors(found.get("errors")), _explain_votes(found.get("votes"))
    pairs = _explain_pairs(found.get("pairs"))
    if not (errors or votes or pairs):
        return ""
    of = f" to {found['dimension']!r}" if found["dimension"] else ""
    off = f"the answers{of} are not as this model predicts them: {'; '.join(filter(None, [errors, votes, pairs]))}"
    if "errors" not in found:
        return (
            f"{off}; results for items depend on that: bayesanno.predictive_check(fit) shows more, and "
            "bayesanno.compare shows whether another model predicts better"
        )
    if "adjustment" in found:
        then, remedy = "the probabilities of labels are adjusted for that", "improve them by some true labels"
    else:
        then = "the labels are then overconfident" if errors else "the labels may be overconfident"
        remedy = "recalibrate them by some true labels"
    return (
        f"{off}; {then}: {remedy} (bayesanno.recalibrate), or see whether another model fits better "
        "(bayesanno.compare; in shared_errors, annotators err together)"
    )


def _explain_errors(errors: Mapping[str, Any] | None) -> str:
    if (
        not errors
        or errors["z"] <= MOST_Z
        or errors["p"] >= MOST_SHARE
        or errors["n_answers"] < DESIGN_EFFECT * errors["worth"]
    ):
        return ""
    more = errors["correlation"] - errors["expected"]
    return (
        f"errors on an item correlate by {min(more, 1.0):.2g} (z {errors['z']:.1f}), so that its "
        f"{errors['n_answers']:.3g} answers are worth {errors['worth']:.2g} independent ones"
    )


def _explain_votes(votes: Mapping[str, Any] | None) -> str:
    if not votes or votes["p"] >= MOST_P or abs(votes["observed"] - votes["predicted"]) < SHARE_OFF:
        return ""
    number, _, label = votes["at_most"].partition(" x ")
    what = ("vote" if number == "1" else "votes") + f" for {label!r}" if label else "successes"
    return f"{votes['observed']:.0%} of the items have at most {number} {what} ({votes['predicted']:.0%} are predicted)"


def _explain_pairs(pairs: Mapping[str, Any] | None) -> str:
    if not pairs or not pairs["close"]:
        return ""
    first = pairs["named"][0]
    one, other = first["annotators"]
    return (
        f"{pairs['close']} of {pairs['n']} pairs of annotators agree beyond what their labels explain, most of all "
        f"{one!r} and {other!r} (on {first['observed']:.0%} of {first['n']} items; {first['predicted']:.0%} are "
        "predicted): either they copy each other, or the others do"
    )


def describe_adjustment(found: Mapping[str, Any]) -> str:
    """Describe how the labels of a table were adjusted; "" if they were not.

    Examples
    --------
    >>> from bayesanno.inference.diagnosis.explain_misfit import describe_adjustment
    >>> done = {"weight": 1.0, "correlation": 0.05, "worth": 13.4}
    >>> describe_adjustment({"dimension": "", "errors": {"n_answers": 39.0}, "adjustment": done})
    'labels are adjusted: 39 answers an item count as 13.4 (errors correlate by 0.05), averaged with the vote'
    """
    if "adjustment" not in found:
        return ""
    done, of = found["adjustment"], f"{found['dimension']}: " if found["dimension"] else ""
    little = f" (with weight {done['weight']:.2g}, as this is uncertain)" if done["weight"] < SURE else ""
    return (
        f"{of}labels are adjusted: {found['errors']['n_answers']:.3g} answers an item count as {done['worth']:.3g} "
        f"(errors correlate by {done['correlation']:.2g}), averaged with the vote{little}"
    )


def names_followed(followed: Mapping[str, Any] | None) -> list[str]:
    """Return the annotators whom the labels follow, if they share more than independent errors explain."""
    if followed is None or followed["z"] < MUCH_MORE or followed["explained"] > EXPLAINED:
        return []
    return list(followed["who"])


def _explain_followed(followed: Mapping[str, Any] | None) -> str:
    if followed is None or not (names := names_followed(followed)):
        return ""
    return (
        f"the labels follow {enumerated(names)}, who say the same on {followed['same']:.0%} of the items "
        f"that two of them answered, while independent errors explain {max(followed['explained'], 0):.0%} of what they "
        f"have in common (z {followed['z']:.1f}): either they share errors, as copies or prompts of one base model do, "
        "and the model takes these for the truth, or the others share theirs; leave all but one of them out and "
        "compare the labels, or let known labels decide (controls)"
    )


def describe_misfit(found: Mapping[str, Any]) -> str:
    """Describe how close answers are to the predictions, if there is no misfit."""
    said = []
    if votes := found.get("votes"):
        said.append(f"votes per item, p {votes['p']:.2f}")
    if errors := found.get("errors"):
        said.append(
            f"errors on an item correlate by {errors['correlation'] - errors['expected']:.2f}, z {errors['z']:.1f}"
        )
    if pairs := found.get("pairs"):
        said.append(f"none of {pairs['n']} pairs of annotators agrees beyond its labels")
    of = f"{found['dimension']}: " if found["dimension"] else ""
    return f"{of}{'; '.join(said)}" if said else ""


# ------------------------------------------------------------------------------------------------- known true labels


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
    >>> from bayesanno.inference.diagnosis.explain_misfit import count_errors
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
