"""Adjustment of label probabilities for the problems found in the check of a fit, without true labels.

A model assumes that annotators' errors on an item are independent given its class. In real data they rarely are, and
then the labels come out overconfident. The check of a fit measures the correlation of errors, and whether annotators
agree more, or votes are distributed differently, than the model predicts. Labels are adjusted for this:

    p_i  ->  (1 - pi) p_i + pi ((1 - w) t_i + w v_i),    w = 2/3                                                  (1)

    log t_i(k)  =  c_k + (log p_i(k) - c_k) / (1 + (n_i - 1) r) - log(sum over labels of the same)                (2)

    v_i(k)  =  (sum of the weights of k's answers + b_k) / (sum of the weights of all answers + 1)                (3)

pi  The weight of the misfit, in [0, 1]: 0 if the model predicts the answers well, so that labels do not change; 1 if
    the misfit is beyond doubt.
t   The model's own probabilities, tempered: n_i answers with correlated errors are worth n_i / (1 + (n_i - 1) r) (Kish
    1965). c_k is the log of the model's share of items with label k, and r the correlation; t is averaged over its
    draws.
v   The vote. Answers are weighted by the informedness of their annotator, the probability of a right answer averaged
    over classes, on a scale with chance at 0. One more answer is added: half of it evenly, half by the shares of labels
    among all answers.

Why the vote: tempering assumes equal correlation for all pairs of annotators and all items, and errors common to all
answers of an item are invisible. The vote does not depend on the model's likelihood, and its confidence does not grow
exponentially with the number of votes. w was chosen on eleven tables with true labels, by leaving one out
(`tests/benchmarks/sureness.py`): from 1/2 to 4/5 the mean log score is the same to .01.

Assumptions: items are alike except for their answers. Errors shared by all annotators are invisible; true labels reveal
them (`bayesanno.recalibrate`, which starts from adjusted labels).

The invariant: the posterior in `latent` is the model's own, controls do not change, and nothing is exponentiated before
it is normalised.

References
----------
L. Kish (1965), Survey Sampling, Wiley, section 5.4 (the design effect).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.fits.parts import (
    FitPart,
    is_given,
    label_groups,
    log_label_posterior,
    split_data,
    with_posterior,
)
from bayesanno.fits.storage import groups_by_dimension, is_on_dask, read_by_dimension
from bayesanno.fits.view import ADJUSTMENT, FitView
from bayesanno.ground.lazy import xr
from bayesanno.inference.diagnosis.findings import DESIGN_EFFECT, agreement_is_off
from bayesanno.inference.diagnosis.measures import count_independent
from bayesanno.inference.diagnosis.misfit import Misfit
from bayesanno.modeling.weighing import average_logs

VOTE_WEIGHT = 2 / 3  # w: two parts vote, one part model
LEAST_SURE = 3.0  # log odds against a misfit if errors correlate as predicted
LEAST_WEIGHT = 0.1  # of a misfit: with less, labels do not change (z below 1.3)
REPEL = -2.0  # z of negatively correlated errors
LEAST_VOTE = 0.02  # weight of an annotator with answers no better than chance
MOST_LOG = -700.0  # upper bound for log probabilities of excluded labels, so that they can be tempered
CHUNK_BYTES = 64 * 2**20  # memory for probabilities over draws at a time
DRAW = "adjustment_draw"  # not "draw": a selection of draws or chains keeps all of these


class Votes(NamedTuple):
    """The number of answers to each item, (item,), and their weights for each label, (item, label)."""

    n_answers: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True, eq=False)
class Adjustment:
    """The adjustment of the labels of one table.

    Attributes
    ----------
    weight : float
        pi, the weight of the misfit.
    correlation : array, shape (draw,)
        r.
    informedness : array, shape (annotator,)
    log_share : array, shape (label,)
        c.
    label_share : array, shape (label,)
        b: the shares of the added answer.
    """

    weight: float
    correlation: np.ndarray
    informedness: np.ndarray
    log_share: np.ndarray
    label_share: np.ndarray

    def weigh(self, n_annotators: int, names_class: np.ndarray) -> np.ndarray:
        """Return the weight of each answer in the vote for each label, (annotator, response, label)."""
        n_new = n_annotators - self.informedness.size  # not in the fit
        weight = np.concatenate([self.informedness, np.full(n_new, self.informedness.mean())]).clip(LEAST_VOTE)
        return weight[:, None, None] * names_class.T

    def count(self, data: AnnotationData) -> Votes:
        """Return the number of answers to each item, and their weights for each label."""
        weight = self.weigh(data.n_annotators, data.names_class)[data.annotator, data.label]  # (annotation, label)
        votes = [np.bincount(data.item, of_label, minlength=data.n_items) for of_label in weight.T]
        return Votes(np.bincount(data.item, minlength=data.n_items), np.stack(votes, axis=1))

    def vote(self, votes: np.ndarray) -> np.ndarray:
        """Return the log of the vote from weights (item, label): equation (3)."""
        return np.log(votes + self.label_share) - np.log(votes.sum(axis=1, keepdims=True) + 1)

    def temper(self, logs: np.ndarray, n_answers: np.ndarray) -> np.ndarray:
        """Return log probabilities (item, label) tempered with each draw of r, (draw, item, label): equation (2)."""
        from scipy.special import log_softmax

        effect = 1 + np.maximum(n_answers - 1, 0) * self.correlation[:, None]  # (draw, item)
        odds = np.maximum(logs, MOST_LOG) - self.log_share
        return log_softmax(self.log_share + odds / effect[:, :, None], axis=2)

    def average(self, logs: np.ndarray, votes: Votes) -> np.ndarray:
        """Return the adjusted log probabilities of items from those of the model (item, label): equation (1)."""
        n_parts = 1 + 8 * logs.size * self.correlation.size // CHUNK_BYTES
        rows = np.array_split(np.arange(len(logs)), min(n_parts, max(1, len(logs))))
        tempered = np.concatenate([average_logs(self.temper(logs[each], votes.n_answers[each])) for each in rows])
        return _mix(logs, _mix(tempered, self.vote(votes.weight), VOTE_WEIGHT), self.weight)

    def draw(self, logs: np.ndarray, votes: Votes, n: int, rng: np.random.Generator) -> Iterator[Any]:
        """Yield n draws of log probabilities (item, label) for drawing labels, or None for the model's own."""
        vote = self.vote(votes.weight)
        for is_misfit in rng.random(n) < self.weight:
            one = replace(self, correlation=rng.choice(self.correlation, 1))
            yield _mix(one.temper(logs, votes.n_answers)[0], vote, VOTE_WEIGHT) if is_misfit else None

    def worth(self, n_answers: float) -> float:
        """Return the mean power of the likelihood of n answers, in (0, 1]; 1 without adjustment."""
        tempered = float(count_independent(n_answers, self.correlation).mean()) / n_answers
        return 1 - self.weight * (1 - tempered)


def _mix(logs: np.ndarray, other: np.ndarray, share: float) -> np.ndarray:
    """Return the logs of a mixture in which `other` has weight `share`."""
    with np.errstate(divide="ignore"):
        mixed: np.ndarray = np.logaddexp(np.log1p(-share) + logs, np.log(share) + other)
    return mixed


def weigh_misfit(found: Mapping[str, Any], correlation: np.ndarray) -> float:
    """Return the weight of a misfit: the logistic of z^2 / 2 - 3, times its importance; 1 for votes or pairs.

    Votes and pairs count unless errors are negatively correlated, which does not indicate overconfident labels.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.adjust import weigh_misfit
    >>> [round(weigh_misfit({"errors": {"z": z, "n_answers": 10.0}}, np.array([0.05])), 2) for z in (0, 2, 4)]
    [0.05, 0.27, 0.99]
    """
    from scipy.special import expit

    errors = found["errors"]
    if errors["z"] > REPEL and agreement_is_off(found):
        return 1.0
    effect = max(0.0, (errors["n_answers"] - 1) * correlation.mean())
    evidence = expit(max(0.0, errors["z"]) ** 2 / 2 - LEAST_SURE)
    return float(evidence * min(1.0, effect / (DESIGN_EFFECT - 1)))


def find_adjustment(part: FitPart, misfit: Misfit) -> Adjustment | None:
    """Return the adjustment of the labels of a table; None if the model predicts its answers well."""
    if misfit.errors is None:
        return None
    weight = weigh_misfit(misfit.found, misfit.errors.correlation)
    if weight < LEAST_WEIGHT:
        return None
    shares = np.nansum(np.exp(log_label_posterior(part)), axis=0) + 1  # unused labels stay possible
    votes = part.data.votes[:, part.data.class_codes].sum(axis=0) + 1
    label_share = (1 / votes.size + votes / votes.sum()) / 2
    correlation = misfit.errors.correlation.clip(0, 1)
    return Adjustment(weight, correlation, misfit.errors.informedness, np.log(shares / shares.sum()), label_share)


def adjust_labels(tree: xr.DataTree, parts: Sequence[FitPart], misfits: Sequence[Misfit]) -> None:
    """Add adjustments, if any, to a fit, with the adjusted labels of its items.

    The adjustment is also added to the results of the check. `parts` have the items that were checked.
    """
    adjusted, adjustments = [], {}
    for misfit in misfits:
        (part,) = (one for one in parts if one.dimension == misfit.found["dimension"])
        adjustment = find_adjustment(part, misfit)
        if adjustment is None:
            continue
        r = float(adjustment.correlation.mean())
        worth = float(count_independent(misfit.found["errors"]["n_answers"], r))
        misfit.found["adjustment"] = {"weight": adjustment.weight, "correlation": r, "worth": worth}
        adjusted += [] if is_on_dask(tree) else [adjust_part(part, adjustment)]
        adjustments[part.dimension] = tabulate_adjustment(part, adjustment)
    for path, group in (label_groups(adjusted) | groups_by_dimension(ADJUSTMENT, adjustments)).items():
        tree[path] = xr.DataTree(group)


def adjust_part(part: FitPart, adjustment: Adjustment) -> FitPart:
    """Return a part with adjusted probabilities."""
    before = log_label_posterior(part)
    after = np.where(is_given(part)[:, None], before, adjustment.average(before, adjustment.count(part.data)))
    return replace(part, latent=with_posterior(part, after))


# -------------------------------------------------------------------------------------------- what a fit holds


def adjusted_parts(view: FitView) -> dict[str, FitPart]:
    """Return the parts of a fit by dimension, adjusted but not recalibrated."""
    adjustments = adjustments_of(view)
    parts = {part.dimension: part for part in split_data(view.data, view.latents)}
    return {name: adjust_part(part, adjustments[name]) if name in adjustments else part for name, part in parts.items()}


def tabulate_adjustment(part: FitPart, adjustment: Adjustment) -> xr.Dataset:
    """Return the variables of the group that stores an adjustment."""
    dim = str(part.posterior.dims[1])
    variables: dict[str, Any] = {
        "weight": ((), adjustment.weight),
        "correlation": ((DRAW,), adjustment.correlation),
        "informedness": (("annotator",), adjustment.informedness),
        "log_share": ((dim,), adjustment.log_share),
        "label_share": ((dim,), adjustment.label_share),
    }
    return xr.Dataset(variables, coords={dim: part.states, "annotator": list(part.data.annotators)})


def adjustments_of(view: FitView) -> dict[str, Adjustment]:
    """Return the adjustments by dimension ("" without dimensions)."""
    if ADJUSTMENT not in view.tree.children:
        return {}
    names = ("correlation", "informedness", "log_share", "label_share")
    return {
        dimension: Adjustment(float(group["weight"]), *(group[name].values for name in names))
        for dimension, group in read_by_dimension(view.tree, ADJUSTMENT).items()
    }
