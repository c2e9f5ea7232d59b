"""Labels that are as certain as the evidence allows: `adjust`, its formula, and what a fit stores of it.

A model assumes that annotators' errors on an item are independent given its class. In real data they rarely are, and
then its labels are overconfident. `adjust` mixes two things into the posterior: a weighted vote, as a contamination
prior does (with 2% the model is wrong about an item), and the posterior tempered to the effective number of answers.
Both follow from the check of the fit, which needs no true labels. True labels of a few items tell the temperature
directly (`bayesanno.recalibrate`).

Copies.  The check finds pairs of annotators whose errors correlate like those of copies. Let x_jk be this correlation,
and 0 for other pairs. For an answer by j to item i,

    e_ij  =  sum over the other annotators k of i of x_jk                                                          (1)

Tempered labels.  Let L_i be the log probabilities of the labels of item i, with n_i answers. r is the correlation of
the errors of all other pairs. In the sum of n answers, log odds vary as in n / D_i independent ones (Kish 1965),

    D_i  =  1 + (n_i - 1) r + (1 - r) (mean of e_ij over the answers to i)                                         (2)

    log t_i(k)  =  c_k + (L_ik - c_k) / (T D_i) + s_k - log(sum over labels of the same)                           (3)

averaged over draws of r. c_k is the log of the model's share of items with label k; for a model with a class prior, it
is the log of the item's own prior. Here T = 1 and s = 0. By known labels, D = 1, and T and s have a posterior
(temperature scaling, Guo et al. 2017, with shifts, Platt 1999).

The vote.  Equal correlation of all pairs is an approximation, and errors common to all answers of an item are
invisible. The vote does not depend on the model's likelihood, and its confidence does not grow exponentially:

    v_i(k)  =  (sum of the weights of k's answers + b_k) / (sum of the weights of all answers + 1)                 (4)

An answer is weighted by the informedness of its annotator (the probability of a right answer, averaged over classes,
on a scale with chance at 0), divided by 1 + e_ij. One more answer, b, is added: the item's own prior in a model with a
class prior, otherwise half of it evenly and half by the shares of labels among all answers.

Adjustment.  From the model's probabilities p,

    p'    =  (1 - a) p + a v              a = max(.02, .2 expit(3 (spread - 2.5)) min(1, off K / .1))              (5)
    p''   =  (1 - b) p' + b ((1 - w) t + w v)                                                                      (6)
    b_i   =  max(b, min(1, copied_i / .1))    b = max(0, 1 - 1 / z^2) min(1, (D - 1) / .1)                         (7)
    w_i   =  max(a, min(2/3, D - 1 + copied_i))                                                                    (8)

a   Evidence and size of votes that the model does not predict: their `spread`, as the check has it, and `off`, the
    largest difference between observed and predicted cumulative shares, times the number of labels K. 2% of the vote
    are always there, since no model is certain; EM's probabilities of 0 become small numbers.
b   Evidence and size of correlated errors: z of the correlation (at least 1), and D, the design effect without copies
    of the mean number of answers. Copies count where their own answers are: copied_i is the mean of e_ij.
w   The share of the vote in the tempered part grows with the same effect.

Tried and left out, on tables with true labels (`tests/benchmarks/sureness.py`; the numbers are on the page
"Benchmarks"): tempering without the vote, a temperature chosen by answers held out, a beta-binomial vote, two thirds of
the vote in all tempered labels, a pair of copies as evidence for the whole table, the unevenness of agreement as a part
of a or b.

An item without an answer that names a class keeps its posterior, and so does a control. `fit["latent"]` keeps the
model's own posterior.

The invariant: nothing is exponentiated before it is normalised, so log odds may be arbitrarily large. The mean of
single draws is the average that tables show.

References
----------
L. Kish (1965), Survey Sampling, Wiley, section 5.4 (the design effect).
J. Platt (1999), Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods,
in: Advances in Large Margin Classifiers, MIT Press, pages 61-74.
C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger (2017), On calibration of modern neural networks, ICML, pages 1321-1330,
arXiv:1706.04599.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np

from bayesanno._core.lazy import xr
from bayesanno._core.messages import FitError
from bayesanno.data.annotations import AnnotationData
from bayesanno.fits.storage import groups_by_dimension, is_on_dask, read_by_dimension
from bayesanno.fits.view import (
    ADJUSTMENT,
    CHECK,
    LABELS,
    Fit,
    FitPart,
    FitView,
    is_given,
    label_groups,
    log_label_posterior,
    split_data,
    view_of,
    with_posterior,
)
from bayesanno.inference.diagnosis.findings import MISFIT, read_findings, refresh_findings
from bayesanno.inference.diagnosis.measures import count_independent
from bayesanno.inference.diagnosis.misfit import Misfit
from bayesanno.modeling.class_prior import log_classes_of_items
from bayesanno.modeling.posterior import average_logs, take_draws

LEAST_VOTE, MOST_VOTE = 0.02, 0.2  # a, without and with votes that the model does not predict
FAR, SLOPE = 2.5, 3.0  # spread of votes at which the evidence is even, and how fast it grows
IMPORTANT = 0.1  # difference of cumulative shares, and design effect less 1, that count fully
MOST_SHARE = 2 / 3  # of the vote, beside tempered labels
LEAST_INFORMED = 0.02  # weight of an annotator with answers no better than chance
LEAST_LOG = float(np.log(1e-16))  # the largest log probability of a label that the fit excludes
PRIOR_DRAWS = 100  # for the prior of each item
CHUNK_BYTES = 64 * 2**20  # memory for probabilities over draws at a time


def adjust(fit: Fit, *, undo: bool = False) -> xr.DataTree:
    """Adjust the label probabilities of a fit by what its check found, so that they are as certain as they should be.

    `fit` returns the model's posterior, which is overconfident where annotators err together. Here it is mixed with a
    vote in which answers are weighted by how informed their annotators are: 2% of it always, and more where the numbers
    of votes are not as the model predicts. Where errors correlate, the log odds of an item are divided by the design
    effect, n answers being worth n / (1 + (n - 1) r) independent ones; answers of annotators who copy count less.
    The module `bayesanno.inference.tempering` has the formula, and the page "Benchmarks" what it does on real tables.

    All tables, decisions, draws, exports and predictions of labels use the adjusted probabilities. Parameters and
    annotators do not change, and `fit["latent"]` keeps the posterior. `label_table` has both.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit that was checked (`check=True`), in memory or on Dask.
    undo : bool
        Return the fit with the labels of its posterior again.

    Returns
    -------
    xarray.DataTree
        The fit with new `labels`, and the group `adjustment`. The attribute `adjustment` (JSON) says by how much and
        why, for each dimension ("" without dimensions): `weight` (b) and `vote_weight` (a); the `correlation` of
        errors; `temperature`, the mean by which log odds are divided in the tempered part; what the mean number of
        answers is `worth`; `expected_errors`, the numbers of wrong labels expected before and after; and `reasons`, the
        codes of the findings of the check. A fit that is adjusted already is returned as it is, and so is one without
        labels, such as one of item types.

    Raises
    ------
    FitError
        If the fit was not checked, or was recalibrated: recalibration starts from the labels that it finds.

    Examples
    --------
    >>> import json
    >>> import bayesanno as ba
    >>> fit = ba.fit("one_coin", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    >>> adjusted = ba.adjust(fit)
    >>> about = json.loads(adjusted.attrs["adjustment"])[""]
    >>> [round(errors) for errors in about["expected_errors"]]
    [18, 19]
    >>> ba.label_table(ba.adjust(adjusted, undo=True)).equals(ba.label_table(fit))
    True
    """
    view = view_of(fit)
    if view.is_recalibrated:
        raise FitError("this fit was recalibrated: adjust the fit that it came from, and recalibrate the result")
    if undo == view.is_adjusted:
        return _undo(view) if undo else _apply(view)
    return view.tree


def _apply(view: FitView) -> xr.DataTree:
    """Return a fit with the adjustment that its check stored."""
    if "misfit" not in view.diagnostics:
        raise FitError(
            "this fit was not checked, so nothing shows how certain its labels should be: fit with check=True"
        )
    if CHECK not in view.tree.children:
        return view.tree
    whole = view.tree.copy()
    reasons = [one.code for one in read_findings(view) if one.code in MISFIT]
    found = {one["dimension"]: one["adjustment"] for one in view.diagnostics["misfit"] if "adjustment" in one}
    whole.attrs |= {ADJUSTMENT: json.dumps({name: about | {"reasons": reasons} for name, about in found.items()})}
    whole[ADJUSTMENT] = view.tree[CHECK].copy()
    if not is_on_dask(whole):
        for path, group in label_groups([*adjusted_parts(FitView(whole)).values()]).items():
            whole[path] = xr.DataTree(group)
    refresh_findings(whole, view)
    return whole


def _undo(view: FitView) -> xr.DataTree:
    """Return an adjusted fit with the labels of its posterior; one of an earlier version keeps its check."""
    whole = view.tree.copy()
    if CHECK not in whole.children:
        whole[CHECK] = view.tree[ADJUSTMENT].copy()
    for name in (ADJUSTMENT, *([] if is_on_dask(whole) else [LABELS])):
        del whole[name]
    whole.attrs.pop(ADJUSTMENT, None)
    refresh_findings(whole)
    return whole


# --------------------------------------------------------------------------------------------------------- the formula


class CountedAnswers(NamedTuple):
    """The answers to each item.

    Attributes
    ----------
    n : array, shape (item,)
        Their number.
    weight : array, shape (item, label)
        The sum of their weights in the vote.
    copied : array, shape (item,)
        The mean of e over them: equation (1).
    log_prior : array, shape (item, label), optional
        The item's own prior, in a model with a class prior.
    """

    n: np.ndarray
    weight: np.ndarray
    copied: np.ndarray
    log_prior: np.ndarray | None = None


def _none() -> np.ndarray:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Tempering:
    """Tempering of the labels of one table: the quantities of the formulas above.

    Attributes
    ----------
    temperature, correlation : array, shape (draw,)
        T and r.
    shift : array, shape (draw, label)
        s; the shifts of a draw add up to 0.
    log_share : array, shape (label,)
        c.
    least : float
        The log probability of labels that the fit excludes, so that they can be tempered.
    weight, vote_weight, vote_share : float
        b, a and w without copies. If the tempering comes from known labels, b is 1, and there is no vote.
    informedness : array, shape (annotator,)
        The weight of each annotator's answers in the vote; empty without a vote.
    copy : array of int, shape (pair, 2)
        The codes of annotators whose errors correlate like those of copies.
    copy_share : array, shape (pair,)
        x.
    """

    temperature: np.ndarray
    correlation: np.ndarray
    shift: np.ndarray
    log_share: np.ndarray
    least: float
    weight: float
    vote_weight: float
    vote_share: float = MOST_SHARE  # as in fits of earlier versions, which do not store it
    informedness: np.ndarray = field(default_factory=_none)
    copy: np.ndarray = field(default_factory=_none)
    copy_share: np.ndarray = field(default_factory=_none)

    @classmethod
    def from_check(cls, logs: np.ndarray, misfit: Misfit, n_annotators: int) -> Self:
        """Make the adjustment of log probabilities (item, label) by what the check of the fit found."""
        r, informedness = np.zeros(1), np.ones(n_annotators)  # if errors could not be measured
        copies, more = misfit.copies, {}
        if misfit.errors is not None:
            r, informedness = misfit.errors.correlation, misfit.errors.informedness
        if copies is not None:
            r = (r - copies.excess) / max(1 - copies.of_all, LEAST_INFORMED)  # of all other pairs
            more = {"copy": copies.who, "copy_share": copies.correlation}
        r = r.clip(0, 1)
        effect = measure_effect(misfit.found, float(r.mean()))
        b, a = weigh_errors(misfit.found, effect), weigh_votes(misfit.found, logs.shape[1])
        log_share, least, _ = measure_logs(logs)
        return cls(
            temperature=np.ones(r.size),
            correlation=r,
            shift=np.zeros((r.size, logs.shape[1])),
            log_share=log_share,
            least=least,
            weight=b,
            vote_weight=a,
            vote_share=min(MOST_SHARE, effect),
            informedness=informedness,
            **more,
        )

    def count(
        self,
        row: np.ndarray,
        annotator: np.ndarray,
        label: np.ndarray,
        names_class: np.ndarray,
        n_rows: int,
        times: np.ndarray | None = None,
    ) -> CountedAnswers:
        """Return the answers to each item, from their items (`row`), annotators and labels, (answer,) each.

        Parameters
        ----------
        names_class : array, shape (label, response)
            Which label a response names.
        n_rows : int
            The number of items.
        times : array, shape (answer,), optional
            How often each answer was given.
        """
        times = np.ones(row.size) if times is None else times
        informedness = self.informedness  # annotators who are not in the fit are as the others on average
        n_new = max(0, int(annotator.max(initial=-1)) + 1 - informedness.size)
        informedness = np.append(informedness, np.full(n_new, informedness.mean())).clip(LEAST_INFORMED)
        more = self._measure_copied(row, annotator, times, (n_rows, informedness.size))  # (answer,), e
        n = np.bincount(row, times, minlength=n_rows)
        copied = np.bincount(row, times * more, minlength=n_rows) / np.maximum(n, 1)
        weight = times * informedness[annotator] / (1 + more)
        votes = [np.bincount(row, weight * names[label], minlength=n_rows) for names in names_class]
        return CountedAnswers(n, np.stack(votes, axis=1), copied)

    def _measure_copied(
        self, row: np.ndarray, annotator: np.ndarray, times: np.ndarray, shape: tuple[int, int]
    ) -> np.ndarray:
        """Return e of each answer, (answer,): equation (1)."""
        from scipy.sparse import coo_array

        if not self.copy_share.size:
            return np.zeros(row.size)
        first, second = self.copy.T
        ends = np.append(first, second), np.append(second, first)
        excess = coo_array((np.tile(self.copy_share, 2), ends), shape=(shape[1], shape[1])).tocsr()
        answered = coo_array((times, (row, annotator)), shape=shape).tocsr()
        return np.asarray((answered @ excess)[np.array(row), np.array(annotator)]).ravel()

    def temper(self, logs: np.ndarray, answers: CountedAnswers | None) -> Iterator[np.ndarray]:
        """Yield log probabilities tempered by each draw, (draw, item, label), of some items at a time: equation (3)."""
        prior = None if answers is None else answers.log_prior
        centre = np.broadcast_to(self.log_share if prior is None else prior, logs.shape)
        odds = find_odds(logs, centre, self.least)
        n_parts = 1 + 8 * logs.size * self.temperature.size // CHUNK_BYTES
        for rows in np.array_split(np.arange(len(logs)), min(n_parts, max(1, len(logs)))):
            effect = np.ones((1, rows.size)) if answers is None else self.find_effect(answers, rows)
            yield log_probabilities(self.temperature[:, None] * effect, self.shift, centre[rows], odds[rows])

    def find_effect(self, answers: CountedAnswers, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return D of each item in each draw, (draw, item): equation (2)."""
        r = self.correlation[:, None]
        return 1 + np.maximum(answers.n[rows] - 1, 0) * r + (1 - r) * answers.copied[rows]

    def average(self, logs: np.ndarray, answers: CountedAnswers | None = None) -> np.ndarray:
        """Return tempered log probabilities (item, label), averaged: equation (6), or (3) without answers."""
        tempered = np.concatenate([*map(average_logs, self.temper(logs, answers))])
        return tempered if answers is None else self._mix(logs, tempered, answers, self.weigh(answers))

    def weigh(self, answers: CountedAnswers) -> np.ndarray:
        """Return b of each item, (item,): equation (7)."""
        return np.maximum(self.weight, np.minimum(1, answers.copied / IMPORTANT))

    def draw(
        self, own: Iterable[np.ndarray], logs: np.ndarray, answers: CountedAnswers | None, rng: np.random.Generator
    ) -> Iterator[tuple[np.ndarray, bool, np.ndarray]]:
        """Yield draws of log probabilities (item, label), whether all are of the model, and which items have the vote.

        `own` are the model's log probabilities in single draws, and `logs` those averaged over them. Items with a
        larger weight b are tempered in more of the draws. In each draw some items, (item,), have the vote instead, in
        proportion to its share; its prior is `log_vote_prior`, not the model's prevalence.
        """
        b, votes = np.ones(len(logs)), np.zeros(len(logs), dtype=bool)
        if answers is not None:
            b, (vote, share_own, share_tempered) = self.weigh(answers), self._vote(answers)
        for each in own:
            is_own = b <= rng.random()  # (item,)
            drawn = each
            if not is_own.all():
                at = [rng.integers(self.temperature.size)]
                draws = {name: getattr(self, name)[at] for name in ("temperature", "correlation", "shift")}
                (tempered,) = np.concatenate([*replace(self, **draws).temper(logs, answers)], axis=1)
                drawn = np.where(is_own[:, None], each, tempered)
            if answers is not None:
                votes = rng.random(len(logs)) < np.where(is_own, share_own, share_tempered)
                drawn = np.where(votes[:, None], vote, drawn)
            yield drawn, bool(is_own.all()), votes

    @property
    def log_vote_prior(self) -> np.ndarray:
        """The log of b in equation (4), (label,), without a class prior."""
        return np.log(np.exp(self.log_share) / 2 + 1 / (2 * self.log_share.size))

    def _vote(self, answers: CountedAnswers) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the log vote (item, label), equation (4), and its shares (item,) in p' and in the tempered part.

        They are 0 for items without answers that name a class.
        """
        added = np.exp(self.log_vote_prior if answers.log_prior is None else answers.log_prior)
        total = answers.weight.sum(axis=1)  # (item,)
        w = np.maximum(self.vote_weight, np.minimum(MOST_SHARE, self.vote_share + answers.copied))  # (item,)
        vote = np.log(answers.weight + added) - np.log(total + 1)[:, None]
        return vote, np.where(total > 0, self.vote_weight, 0), np.where(total > 0, w, 0)

    def _mix(self, logs: np.ndarray, tempered: np.ndarray, answers: CountedAnswers, b: np.ndarray) -> np.ndarray:
        """Return the model's, tempered and vote's log probabilities (item, label) together: equations (5) to (8)."""
        from scipy.special import logsumexp

        vote, a, w = self._vote(answers)
        share = np.array([(1 - b) * (1 - a), b * (1 - w), (1 - b) * a + b * w])  # (3, item)
        mixed = logsumexp([logs, tempered, vote], axis=0, b=share[:, :, None])
        return np.where(answers.weight.any(axis=1, keepdims=True), mixed, logs)


def log_probabilities(effect: np.ndarray, shift: np.ndarray, centre: np.ndarray, odds: np.ndarray) -> np.ndarray:
    """Return tempered log probabilities (draw, item, label): equation (3).

    Parameters
    ----------
    effect : array, shape (draw, item) or (draw, 1)
        The divisor of log odds.
    shift : array, shape (draw, label)
    centre : array, shape (label,) or (item, label)
    odds : array, shape (item, label)
        L - c.
    """
    from scipy.special import log_softmax

    return log_softmax(odds / effect[:, :, None] + (centre + shift[:, None, :]), axis=2)


def measure_effect(found: Mapping[str, Any], correlation: float) -> float:
    """Return the design effect less 1, from the check of a table and the correlation of errors."""
    return float(max(0.0, (found.get("errors", {"n_answers": 1.0})["n_answers"] - 1) * correlation))


def weigh_errors(found: Mapping[str, Any], effect: float) -> float:
    """Return b, the weight of correlated errors, from the check of a table and the design effect less 1.

    Examples
    --------
    >>> from bayesanno.inference.tempering import weigh_errors
    >>> [round(weigh_errors({"errors": {"z": z}}, 0.5), 2) for z in (0, 2, 4)]
    [0.0, 0.75, 0.94]
    """
    z = max(1.0, found.get("errors", {"z": 0.0})["z"])
    return (1 - 1 / z**2) * min(1.0, effect / IMPORTANT)


def weigh_votes(found: Mapping[str, Any], n_labels: int) -> float:
    """Return a, the weight of the vote beside the model's labels, from the check of a table.

    Examples
    --------
    >>> from bayesanno.inference.tempering import weigh_votes
    >>> [round(weigh_votes({"votes": {"spread": x, "observed": 0.2, "predicted": 0.3}}, 2), 2) for x in (1, 2.5, 4)]
    [0.02, 0.1, 0.2]
    """
    from scipy.special import expit

    votes = found.get("votes", {"spread": 0.0, "observed": 0.0, "predicted": 0.0})
    off = abs(votes["observed"] - votes["predicted"]) * n_labels
    return max(LEAST_VOTE, float(MOST_VOTE * expit(SLOPE * (votes["spread"] - FAR)) * min(1.0, off / IMPORTANT)))


def measure_logs(logs: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return the log shares of labels, the log of what the fit excludes, and the size of log odds, from (item, label).

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.tempering import measure_logs
    >>> round(measure_logs(np.log([[0.9, 0.1], [0.1, 0.9]]))[2], 3)  # half of log 9
    1.099
    """
    counts = np.nansum(np.exp(logs), axis=0) + 1  # (label,): one more, so that unused labels stay possible
    least = min(LEAST_LOG, float(logs[np.isfinite(logs)].min(initial=0.0)))
    held = find_odds(logs, 0.0, least)
    size = float((held - held.mean(axis=1, keepdims=True)).std())
    return np.log(counts / counts.sum()), least, max(size, 1e-6)


def find_odds(logs: np.ndarray, centre: np.ndarray | float, least: float) -> np.ndarray:
    """Return L - c, (item, label); 0 for items that the fit cannot explain."""
    found: np.ndarray = np.nan_to_num(np.where(np.isneginf(logs), least, logs) - centre)
    return found


# ------------------------------------------------------------------------------------------------- the items of a fit


def check_labels(view: FitView, parts: Sequence[FitPart], misfits: Sequence[Misfit]) -> dict[str, xr.Dataset]:
    """Return the groups of a fit that store the adjustments that its check suggests.

    What they would do is added to the results of the check. `parts` have the items that were checked.
    """
    checked, stored = {misfit.found["dimension"]: misfit for misfit in misfits}, {}
    for part in parts:
        misfit = checked.get(part.dimension)
        if misfit is None or part.kind != "labels":
            continue
        tempering = Tempering.from_check(log_label_posterior(part), misfit, part.data.n_annotators)
        answers = count_answers(view, part, tempering)
        effect = 1.0 if answers is None else float(tempering.find_effect(answers).mean())
        r, n = float(tempering.correlation.mean()), misfit.found.get("errors", {"n_answers": 1.0})["n_answers"]
        of_all = view.named_data.n_items / part.data.n_items  # on a cluster, some items are checked
        misfit.found["adjustment"] = {
            "weight": tempering.weight,
            "vote_weight": tempering.vote_weight,
            "correlation": r,
            "temperature": effect,
            "worth": float(count_independent(n, r)),
            "expected_errors": [of_all * _expect_errors(one) for one in (part, temper_part(view, part, tempering))],
        }
        stored[part.dimension] = store(part, tempering, CHECK)
    return groups_by_dimension(CHECK, stored)


def _expect_errors(part: FitPart) -> float:
    """Return the expected number of wrong labels, except those of controls."""
    return float(np.nansum(1 - part.posterior.values[~is_given(part)].max(axis=1)))


def count_answers(view: FitView, part: FitPart, tempering: Tempering) -> CountedAnswers | None:
    """Return the answers to the items of a part, with their own priors in a model with a class prior.

    None for a recalibration, which has no vote.
    """
    if not tempering.informedness.size:
        return None
    data: AnnotationData = part.data
    each = log_classes_of_items(view.model, data, take_draws(view.posterior, PRIOR_DRAWS))
    log_prior = None if each is None else average_logs(np.stack(list(each)))
    counted = tempering.count(data.item, data.annotator, data.label, data.names_class, data.n_items)
    return counted._replace(log_prior=log_prior)


def temper_part(view: FitView, part: FitPart, tempering: Tempering) -> FitPart:
    """Return a part of a fit, or of new items, with tempered probabilities."""
    return with_posterior(part, tempering.average(log_label_posterior(part), count_answers(view, part, tempering)))


def temper_parts(view: FitView, parts: Sequence[FitPart], *groups: str) -> list[FitPart]:
    """Return parts of a fit, or of new items, tempered by what these groups of the fit store."""
    found = list(parts)
    for stored in (temperings_of(view, group) for group in groups):
        found = [
            temper_part(view, part, stored[part.dimension]) if part.dimension in stored else part for part in found
        ]
    return found


def adjusted_parts(view: FitView) -> dict[str, FitPart]:
    """Return the parts of a fit by dimension, adjusted if the fit was, but not recalibrated."""
    return {part.dimension: part for part in temper_parts(view, split_data(view.data, view.latents), ADJUSTMENT)}


def store(part: FitPart, tempering: Tempering, group: str, **coords: Any) -> xr.Dataset:
    """Return the variables of the group that stores a tempering, with further coordinates."""
    draw, label = f"{group}_draw", str(part.posterior.dims[1])  # a selection of draws or chains keeps all of these
    dims = {"temperature": [draw], "correlation": [draw], "shift": [draw, label], "log_share": [label]}
    dims |= {"informedness": ["annotator"], "copy": ["pair", "side"], "copy_share": ["pair"]}
    coords |= {"annotator": list(part.data.annotators)} if tempering.informedness.size else {}
    variables = {name: (dims.get(name, []), value) for name, value in vars(tempering).items() if np.size(value)}
    return xr.Dataset(variables, coords={label: part.states, **coords})


def temperings_of(view: FitView, group: str) -> dict[str, Tempering]:
    """Return the adjustments or recalibrations of a fit by dimension ("" without dimensions); empty if it has none."""
    if group not in view.tree.children:
        return {}
    names = [one.name for one in fields(Tempering)]
    return {
        dimension: Tempering(**{name: found[name].values[()] for name in names if name in found})  # type: ignore[arg-type]
        for dimension, found in read_by_dimension(view.tree, group).items()
    }
