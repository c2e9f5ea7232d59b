"""`Tempering`: draws of temperature, correlation and shifts, from the check of a fit or from known labels.

The invariant: nothing is exponentiated before it is normalised, so log odds may be arbitrarily large. The mean of
single draws is the average that tables show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.inference.diagnosis.misfit import Misfit
from bayesanno.inference.tempering.grid import find_posterior, log_probabilities
from bayesanno.modeling.importance_weights import average_logs

VOTE_SHARE = 2 / 3  # of the vote, beside tempered labels, where errors correlate
LEAST_VOTE, MOST_VOTE = 0.02, 0.2  # a, without and with votes that the model does not predict
FAR = 2.5  # spread of votes at which the evidence is even
SURE = 5.0  # log odds against correlated errors where they correlate as predicted
IMPORTANT = 0.1  # difference of cumulative shares, and design effect less 1, that count fully
REPEL = -2.0  # z of negatively correlated errors
LEAST_INFORMED = 0.02  # weight of an annotator with answers no better than chance
LEAST_LOG = float(np.log(1e-16))  # the largest log probability of a label that the fit excludes
SIZE_PRIOR = (-float(np.log(2.0)), 1.25)  # mean and standard deviation of log(T / s)
TEMPERED_PRIOR = (0.0, 0.6)  # of log T, if labels were tempered before
N_DRAWS = 2000
CHUNK_BYTES = 64 * 2**20  # memory for probabilities over draws at a time


class Answers(NamedTuple):
    """The answers to each item: their number (item,), their weights for each label (item, label), and the item's prior.

    `log_prior` (item, label) is None unless the model has a class prior.
    """

    n: np.ndarray
    weight: np.ndarray
    log_prior: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Tempering:
    """Tempering of the labels of one table. The formulas are in `bayesanno.inference.tempering`.

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
    weight : float
        b, the weight of tempered labels and the vote; 1 if they come from known labels.
    vote_weight : float
        a, the weight of the vote beside the model's labels.
    informedness : array, shape (annotator,)
        The weight of each annotator's answers in the vote.
    """

    temperature: np.ndarray
    correlation: np.ndarray
    shift: np.ndarray
    log_share: np.ndarray
    least: float
    weight: float
    vote_weight: float
    informedness: np.ndarray

    @classmethod
    def from_check(cls, logs: np.ndarray, misfit: Misfit, n_annotators: int) -> Self:
        """Make the adjustment of log probabilities (item, label) by what the check of the fit found."""
        r, informedness = np.zeros(1), np.ones(n_annotators)  # if errors could not be measured
        if misfit.errors is not None:
            r, informedness = misfit.errors.correlation.clip(0, 1), misfit.errors.informedness
        b, a = weigh_errors(misfit.found, float(r.mean())), weigh_votes(misfit.found, logs.shape[1])
        log_share, least, _ = measure_logs(logs)
        return cls(np.ones(r.size), r, np.zeros((r.size, logs.shape[1])), log_share, least, b, a, informedness)

    @classmethod
    def from_labels(
        cls, logs: np.ndarray, known: np.ndarray, truth: np.ndarray, *, was_tempered: bool
    ) -> tuple[Self, np.ndarray]:
        """Make the recalibration of log probabilities by true labels of known items.

        Parameters
        ----------
        logs : array, shape (item, label)
            Of all items that were no controls; they tell the scale of log odds.
        known : array, shape (known, label)
            Of the items with known labels.
        truth : array of int, shape (known,)
        was_tempered : bool
            Whether labels were tempered before, so that the prior of the temperature has median 1.

        Returns
        -------
        Tempering, and array of shape (known, label)
            The log probabilities of the known items, each without its own true label.
        """
        log_share, least, size = measure_logs(logs)
        odds, (mean, sd) = _find_odds(known, log_share, least), SIZE_PRIOR
        prior = TEMPERED_PRIOR if was_tempered else (float(np.log(size)) + mean, sd)
        points = find_posterior(odds, log_share, truth, prior)
        temperature, shift = points.draw(N_DRAWS)
        found = cls(temperature, np.zeros(N_DRAWS), shift, log_share, least, 1.0, 0.0, np.ones(0))
        return found, points.leave_each_out(odds, log_share, truth)

    def weigh(self, n_annotators: int, names_class: np.ndarray) -> np.ndarray:
        """Return the weight of each answer in the vote for each label, (annotator, response, label)."""
        n_new = n_annotators - self.informedness.size  # not in the fit
        weight = np.concatenate([self.informedness, np.full(n_new, self.informedness.mean())]).clip(LEAST_INFORMED)
        return weight[:, None, None] * names_class.T

    def count(self, data: AnnotationData, log_prior: np.ndarray | None = None) -> Answers:
        """Return the answers to each item, as `average` and `draw` take them."""
        weight = self.weigh(data.n_annotators, data.names_class)[data.annotator, data.label]  # (annotation, label)
        votes = [np.bincount(data.item, of_label, minlength=data.n_items) for of_label in weight.T]
        return Answers(np.bincount(data.item, minlength=data.n_items), np.stack(votes, axis=1), log_prior)

    def temper(self, logs: np.ndarray, answers: Answers | None) -> Iterator[np.ndarray]:
        """Yield log probabilities tempered by each draw, (draw, item, label), of some items at a time: equation (1)."""
        n = np.ones(len(logs)) if answers is None else answers.n
        prior = None if answers is None else answers.log_prior
        centre = np.broadcast_to(self.log_share if prior is None else prior, logs.shape)
        odds = _find_odds(logs, centre, self.least)
        n_parts = 1 + 8 * logs.size * self.temperature.size // CHUNK_BYTES
        for rows in np.array_split(np.arange(len(logs)), min(n_parts, max(1, len(logs)))):
            effect = 1 + np.maximum(n[rows] - 1, 0) * self.correlation[:, None]  # (draw, item)
            yield log_probabilities(self.temperature[:, None] * effect, self.shift, centre[rows], odds[rows])

    def average(self, logs: np.ndarray, answers: Answers | None = None) -> np.ndarray:
        """Return tempered log probabilities (item, label), averaged: equation (4), or (1) without answers."""
        return self._mix(logs, np.concatenate([*map(average_logs, self.temper(logs, answers))]), answers, self.weight)

    def draw(
        self, own: Iterable[np.ndarray], logs: np.ndarray, answers: Answers | None, rng: np.random.Generator
    ) -> Iterator[tuple[np.ndarray, bool]]:
        """Yield draws of log probabilities (item, label), and whether each is a draw of the model's own.

        `own` are the model's log probabilities in single draws, and `logs` those averaged over them.
        """
        for each in own:
            if answers is not None and rng.random() >= self.weight:
                yield self._mix(each, each, answers, 0.0), True
                continue
            at = [rng.integers(self.temperature.size)]
            draws = {name: getattr(self, name)[at] for name in ("temperature", "correlation", "shift")}
            (tempered,) = np.concatenate([*replace(self, **draws).temper(logs, answers)], axis=1)
            yield self._mix(logs, tempered, answers, 1.0), False

    def _mix(self, logs: np.ndarray, tempered: np.ndarray, answers: Answers | None, b: float) -> np.ndarray:
        """Return the model's, tempered and vote's log probabilities (item, label) together: equations (3) and (4)."""
        from scipy.special import logsumexp

        if answers is None:
            return tempered
        even, a = 1 / self.log_share.size, self.vote_weight
        added = (even + np.exp(self.log_share)) / 2 if answers.log_prior is None else np.exp(answers.log_prior)
        total = answers.weight.sum(axis=1, keepdims=True)  # (item, 1)
        vote = np.log(answers.weight + added) - np.log(total + 1)
        share = np.array([(1 - b) * (1 - a), b * (1 - VOTE_SHARE), (1 - b) * a + b * VOTE_SHARE])
        mixed = logsumexp([logs, tempered, vote], axis=0, b=share[:, None, None])
        return np.where(total > 0, mixed, logs)


def weigh_errors(found: Mapping[str, Any], correlation: float) -> float:
    """Return b, the weight of correlated errors, from the check of a table and the correlation of errors.

    Examples
    --------
    >>> from bayesanno.inference.tempering.rule import weigh_errors
    >>> [round(weigh_errors({"errors": {"z": z, "n_answers": 10.0}}, 0.05), 2) for z in (0, 2, 4)]
    [0.01, 0.05, 0.95]
    """
    from scipy.special import expit

    errors = found.get("errors", {"z": 0.0, "n_answers": 1.0})
    if errors["z"] > REPEL and found.get("pairs", {"close": 0})["close"]:
        return 1.0
    effect = max(0.0, (errors["n_answers"] - 1) * correlation)
    return float(expit(max(0.0, errors["z"]) ** 2 / 2 - SURE) * min(1.0, effect / IMPORTANT))


def weigh_votes(found: Mapping[str, Any], n_labels: int) -> float:
    """Return a, the weight of the vote beside the model's labels, from the check of a table.

    Examples
    --------
    >>> from bayesanno.inference.tempering.rule import weigh_votes
    >>> [round(weigh_votes({"votes": {"spread": x, "observed": 0.2, "predicted": 0.3}}, 2), 2) for x in (1, 2.5, 4)]
    [0.02, 0.1, 0.2]
    """
    from scipy.special import expit

    votes = found.get("votes", {"spread": 0.0, "observed": 0.0, "predicted": 0.0})
    off = abs(votes["observed"] - votes["predicted"]) * n_labels
    return max(LEAST_VOTE, float(MOST_VOTE * expit(6 * (votes["spread"] - FAR)) * min(1.0, off / IMPORTANT)))


def measure_logs(logs: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return the log shares of labels, the log of what the fit excludes, and the size of log odds, from (item, label).

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.tempering.rule import measure_logs
    >>> round(measure_logs(np.log([[0.9, 0.1], [0.1, 0.9]]))[2], 3)  # half of log 9
    1.099
    """
    counts = np.nansum(np.exp(logs), axis=0) + 1  # (label,): one more, so that unused labels stay possible
    least = min(LEAST_LOG, float(logs[np.isfinite(logs)].min(initial=0.0)))
    held = _find_odds(logs, 0.0, least)
    size = float((held - held.mean(axis=1, keepdims=True)).std())
    return np.log(counts / counts.sum()), least, max(size, 1e-6)


def _find_odds(logs: np.ndarray, centre: np.ndarray | float, least: float) -> np.ndarray:
    """Return L - c, (item, label); 0 for items that the fit cannot explain."""
    found: np.ndarray = np.nan_to_num(np.where(np.isneginf(logs), least, logs) - centre)
    return found
