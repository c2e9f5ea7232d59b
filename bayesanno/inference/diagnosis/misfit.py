"""The check of a fit: whether it predicts the answers, measured without true labels.

votes   How many items have 0, 1, 2, ... votes for a label (for counts: successes), compared with the fit's predictions.
statistics  The other statistics of `bayesanno.predictive_check`, each as a whole.
errors  The correlation of two annotators' errors on an item, given its class. In the model it is 0, unless items differ
        in more than their class. See `bayesanno.inference.diagnosis.residuals`.
pairs   The correlation of the errors of two annotators beyond the model's: copies and cliques. By known labels if there
        are enough, otherwise by the posterior, which takes errors that many share for the truth.

followed  A few annotators who determine the labels: are they right, or do they share errors? If errors are independent
        given the truth, the covariance of two annotators' answers, as numbers, is a product of one number for each (one
        common factor, Spearman 1904). Let w be the mean covariance within a group, g that between the group and the
        others, and o that among the others. Then w = g^2 / o, however precise each annotator is. Copies of one another,
        or of one source, have more. This uses only answers and labels, so it is available for any fit.

The invariant: predicted answers have the same design. Each replicate uses one draw of the parameters, with new classes
of the items. Observed and predicted answers are measured by the same function of answers and draw. So the bias of
estimated classes towards shared errors is the same in both.

References
----------
A. Gelman, X.-L. Meng and H. Stern (1996), Posterior predictive assessment of model fitness via realized discrepancies,
Statistica Sinica 6, 733-807.

C. Spearman (1904), "General intelligence," objectively determined and measured, The American Journal of Psychology
15(2):201-292, doi:10.2307/1412107.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

from bayesanno._core.messages import DataError, FitError
from bayesanno.data.annotations import AnnotationData
from bayesanno.fits.view import FitPart
from bayesanno.inference.diagnosis.residuals import (
    ErrorMeasure,
    MatchedErrors,
    add_up,
    correlate_sums,
    error_chances,
    mark,
    match_errors,
    measure_error_correlation,
)
from bayesanno.modeling.arguments import PROBABILITY
from bayesanno.modeling.findings import threshold_of
from bayesanno.modeling.kinds import kind_of
from bayesanno.modeling.kinds.base import AnswerTable, Statistic, measure_distance
from bayesanno.modeling.posterior import take_draws
from bayesanno.simulation.quantities import ModelDraws, ask, replicate, says_labels

REPLICATES = 100
MOST_ANSWERS = 20_000  # answers to replicate: of more, those to a random sample of items
LEAST_SHARED = 20  # items that two annotators both answered
ENOUGH_KNOWN = 20  # known labels, by which pairs are compared
PAIRS_P = 0.025  # probability that the interval of any pair is above the correlation
MOST_AWAY = 0.15  # variance of the differences to the labels, in grades: 85% are equal, where none is further off
ANSWERED = 0.5  # of the items, by each annotator whom the labels follow


class Misfit(NamedTuple):
    """The results of the check for one table of answers.

    Attributes
    ----------
    found : dict
        The results in the diagnostics of a fit.
    errors : ErrorMeasure or None
        The measures for adjusting labels, if the model and its data have errors of annotators.
    copies : Copies or None
        The pairs of annotators whose errors correlate like those of copies, if there are any.
    """

    found: dict[str, Any]
    errors: ErrorMeasure | None = None
    copies: Copies | None = None


class Copies(NamedTuple):
    """Pairs of annotators whose errors correlate like those of copies.

    Attributes
    ----------
    who : array of int, shape (pair, 2)
    correlation : array, shape (pair,)
        Of their errors, in (0, 1].
    of_all : float
        The pairs' answers as a share of all pairs of answers to an item.
    excess : float
        The same, weighted by `correlation`: what they add to the mean correlation of errors.
    """

    who: np.ndarray
    correlation: np.ndarray
    of_all: float
    excess: float


def measure_misfit(drawn: ModelDraws, parts: Sequence[FitPart], random_seed: int | Sequence[int]) -> list[Misfit]:
    """Compare the observed answers with predictions from the draws of a fit.

    Parameters
    ----------
    drawn : ModelDraws
        All draws of a fit, with its data.
    parts : sequence of FitPart
        The data in tables, with the posterior of their items.
    random_seed : int or sequence of int

    Returns
    -------
    list of Misfit
        For each table of answers, `dimension` and, as far as the data and the model have them:

        * `statistics`: for each other statistic its distance, relative to the mean of replicates (`spread`), and `p`;
        * `votes`: the distance of the whole statistic from the predictions, relative to the mean of replicates
          (`spread`), its `p`, and the largest difference between two cumulative shares of items, with these shares;
        * `errors`: the observed `correlation` and the `expected` one, `z` of the difference and its `p`, `n_answers`
          per item, and the number of independent answers that these are `worth`;
        * `unevenness` in `errors`: `observed` and `expected`, as in `ErrorDesign.measure_unevenness`, and `z`;
        * `pairs`: the number compared, how many are `close`, and the `groups` that these connect: all annotators of the
          `group`, its `share` of all, and of its most certain pair the `annotators`, the number of shared items (`n`)
          and the `correlation` of their errors.

        Empty for models of annotators alone, in which all items are alike.
    """
    if not any(latent.varies for latent in drawn.model.latents(drawn.data)):
        return []
    rng = np.random.default_rng(random_seed)
    has_parameters = "item" in drawn.draws.dims
    data = drawn.data if has_parameters else kind_of(drawn.model).take_items(drawn.data, MOST_ANSWERS, rng)
    some = drawn._replace(data=data, draws=take_draws(drawn.draws, REPLICATES))
    again = np.resize(np.arange(some.draws.sizes["draw"]), REPLICATES)  # a fit of one point has one draw
    replicates = [answers for answers, _ in replicate(some._replace(draws=some.draws.isel(draw=again)), rng)]
    found = [_measure_table(table, some, replicates) for table in kind_of(drawn.model).tables(data)]
    for at, part in enumerate(parts):
        pairs, copies = _measure_pairs(part, drawn)
        found[at] = found[at]._replace(found=found[at].found | pairs, copies=copies)
    return found


def _measure_table(table: AnswerTable, drawn: ModelDraws, replicates: list[np.ndarray]) -> Misfit:
    found: dict[str, Any] = {"dimension": table.dimension}
    own = [answers[table.own] for answers in replicates]
    with suppress(DataError):  # trials that differ have no histogram
        found["votes"] = _measure_votes(table, own)
    if drawn.draws.sizes["draw"] > 1:  # the uncertainty of one point is not known
        found["statistics"] = _measure_statistics(table, own)
    if not says_labels(drawn.model, drawn.data):
        return Misfit(found)
    errors = None
    with suppress(DataError, FitError):  # of a model that cannot take items of one annotation, or other items
        joints = ask(drawn, np.arange(table.data.n_annotators)[:, None], dimension=table.dimension)
        if drawn.draws.sizes["draw"] < len(own):
            joints = cycle(joints)
        errors = measure_error_correlation(table.data, zip(joints, own, strict=False))
    return Misfit(found if errors is None else found | {"errors": errors.found}, errors)


# --------------------------------------------------------------------------------------------- votes and statistics


def _compare(
    statistic: Statistic, seen: np.ndarray, replicates: list[np.ndarray]
) -> tuple[dict[str, float], np.ndarray, np.ndarray]:
    """Return how far a statistic is from its predictions, its observed values, and those of the replicates."""
    observed = np.asarray(statistic.measure(seen), dtype=float)
    replicated = np.array([statistic.measure(answers) for answers in replicates], dtype=float)
    far, of_replicates = measure_distance(observed, replicated, by_largest=statistic.by_largest)
    spread = float(far[0] / max(of_replicates.mean(), 1e-9))
    p = float(((of_replicates >= far[0]).sum() + 1) / (of_replicates.size + 1))
    return {"spread": spread, "p": p}, observed, replicated


def _measure_statistics(table: AnswerTable, replicates: list[np.ndarray]) -> dict[str, Any]:
    found = {}
    for name in table.statistics.keys() - {table.votes}:
        with suppress(DataError):  # no item has two answers
            statistic = table.statistics[name](table.data)
            far, observed, replicated = _compare(statistic, table.answers, replicates)
            found[name] = {**far, **({"rule": table.rules[name]} if name in table.rules else {})}
            if statistic.about:
                away = (observed - replicated.mean(axis=0)) / np.maximum(replicated.std(axis=0), 1e-9)
                found[name]["about"] = list(statistic.about[int(away.argmax())])
    return dict(sorted(found.items()))


def _measure_votes(table: AnswerTable, replicates: list[np.ndarray]) -> dict[str, Any]:
    statistic = table.statistics[table.votes](table.data)
    far, observed, replicated = _compare(statistic, table.answers, replicates)
    counts = np.stack([observed, replicated.mean(axis=0)]).reshape(2, -1, table.n_bins)
    shares = (counts.cumsum(axis=2) / counts.sum(axis=2, keepdims=True)).reshape(2, -1)  # observed and predicted
    at = int(np.abs(shares[0] - shares[1]).argmax())
    return far | {
        "at_most": statistic.of[at],
        "observed": float(shares[0][at]),
        "predicted": float(shares[1][at]),
    }


# ------------------------------------------------------------------------------------------------------------- pairs


def _measure_pairs(part: FitPart, drawn: ModelDraws) -> tuple[dict[str, Any], Copies | None]:
    """Return the pairs whose errors correlate; none if they share too few items, or are too many.

    They are listed by known labels, if there are enough, and those that share too few items with a known label by the
    posterior. Labels are adjusted by the posterior alone.
    """
    from scipy.sparse import csr_array

    data: Any = part.data
    if part.kind != "labels" or part.posterior.shape[1] != data.n_classes:
        return {}, None
    free = np.where((data.control_codes < 0)[:, None], part.posterior.values, 0.0)  # (item, true_class)
    known = np.equal.outer(data.gold_codes, np.arange(data.n_classes)).astype(float)
    try:
        chances = error_chances(drawn, part.dimension)
        by_posterior = listed = _find_pairs(match_errors(data, free, *chances, least=LEAST_SHARED))
        if known.sum() >= ENOUGH_KNOWN:
            listed = _find_pairs(match_errors(data, known, *chances, least=LEAST_SHARED)).join(by_posterior)
    except (DataError, FitError):  # too many answers, or a model that cannot take items of one annotation
        return {}, None
    names = [[data.annotators[code] for code in two] for two in listed.who]
    numbers = zip(names, listed.n.tolist(), listed.correlation.tolist(), strict=True)
    groups = join_pairs([{"annotators": two, "n": n, "correlation": r} for two, n, r in numbers])
    named = [{"group": group, "share": len(group) / data.n_annotators, **pair} for group, pair in groups]
    found = {"pairs": {"n": len(listed.compared), "close": len(names), "groups": named}} if len(listed.compared) else {}
    who, r = by_posterior.who, by_posterior.correlation
    if not r.size:
        return found, None
    shape = data.n_annotators, data.n_items
    answered = csr_array((np.ones(data.n_annotations), (data.annotator, data.item)), shape=shape)
    n = (answered[who[:, 0]] * answered[who[:, 1]]).sum(axis=1)
    each = np.bincount(data.item, minlength=data.n_items)
    of_all = n / (each * (each - 1) / 2).sum()
    return found, Copies(who, r, float(of_all.sum()), float(of_all @ r))


class _Pairs(NamedTuple):
    """The pairs whose errors correlate, the surest first: annotators (pair, 2), shared items, and correlations.

    `compared` has all pairs that share enough items to be compared, (all pairs, 2).
    """

    who: np.ndarray
    n: np.ndarray
    correlation: np.ndarray
    compared: np.ndarray

    def join(self, other: _Pairs) -> _Pairs:
        """Return these pairs, and those of another comparison that are not compared here."""
        here = set(map(tuple, self.compared.tolist()))
        is_new = np.array([tuple(two) not in here for two in other.who.tolist()], dtype=bool)
        also = np.array([tuple(two) not in here for two in other.compared.tolist()], dtype=bool)
        return _Pairs(
            np.concatenate([self.who, other.who[is_new]]),
            np.concatenate([self.n, other.n[is_new]]),
            np.concatenate([self.correlation, other.correlation[is_new]]),
            np.concatenate([self.compared, other.compared[also]]),
        )


def _find_pairs(matches: MatchedErrors) -> _Pairs:
    """Return the pairs whose errors correlate beyond the threshold of copies, of those that share enough items."""
    shape = len(matches.who), matches.n_items
    shared = np.diff(add_up(np.ones(matches.pair.size), matches.pair, matches.item, shape).indptr)
    often = np.flatnonzero(shared >= LEAST_SHARED)
    place = np.full(shared.size, -1)
    place[often] = np.arange(often.size)
    kept = place[matches.pair] >= 0
    row, item = place[matches.pair[kept]], matches.item[kept]
    sums = [add_up(each[kept], row, item, (often.size, matches.n_items)) for each in matches.products]
    found, low, _ = correlate_sums(sums, 1 - 2 * PAIRS_P / max(1, often.size)).T
    close = np.flatnonzero(low > threshold_of("copies"))
    close = close[np.argsort(-low[close], kind="stable")]
    return _Pairs(matches.who[often[close]], shared[often[close]], found[close], matches.who[often])


def join_pairs(pairs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[list[str], Mapping[str, Any]]]:
    """Yield the groups of annotators that pairs connect, each with its first pair."""
    groups: list[tuple[set[str], Mapping[str, Any]]] = []
    for pair in pairs:
        who = set(pair["annotators"])
        touching = [group for group in groups if not group[0].isdisjoint(who)]
        groups = [group for group in groups if group[0].isdisjoint(who)]
        groups.append((who.union(*(names for names, _ in touching)), touching[0][1] if touching else pair))
    yield from ((sorted(names), first) for names, first in groups)


# ---------------------------------------------------------------------------------------------------------- followed


def measure_copying(part: FitPart) -> dict[str, Any]:
    """Return the result of `label_copiers` for the most probable labels of a part under `followed`; may be empty."""
    if part.kind != "labels" or part.latent[PROBABILITY].shape[1] != part.data.n_classes:
        return {}
    found = label_copiers(part.data, part.data.class_codes[part.latent[PROBABILITY].values.argmax(axis=1)])
    return {} if found is None else {"followed": found}


def label_copiers(data: AnnotationData, labels: np.ndarray) -> dict[str, Any] | None:
    """Return the annotators with answers equal to the labels (item,), up to a shift, and what explains their agreement.

    Returns
    -------
    dict or None
        The annotators (`who`); how often two of them give the `same` answer; the share of their covariance that is
        `explained` by their agreement with the others; and `z`, the unexplained rest in standard errors. None if there
        are fewer than two, they gave most of the answers to their items, the others do not agree with each other, or
        labels cannot be treated as numbers (they must be ordered, or two).
    """
    if data.unsure or not (data.labels_are_ordered or data.n_labels == 2):
        return None
    who, by_item = data.annotator, mark(data.item, data.n_items)
    n = np.maximum(data.by_annotator, 1)
    average = mark(who, data.n_annotators) / n[:, None]  # (annotator, annotation)
    away = data.label - labels[data.item]  # (annotation,)
    copies = (average @ away**2 - (average @ away) ** 2 <= MOST_AWAY) & (n >= ANSWERED * data.n_items)  # (annotator,)
    is_own = copies[who]
    n_own, n_other = (by_item @ each.astype(int) for each in (is_own, ~is_own))  # (item,)
    if copies.sum() < 2 or n_own.sum() > n_other[n_own > 0].sum():
        return None
    number = data.label - (average @ data.label)[who]
    number *= np.where(is_own, 1, (average @ (number * labels[data.item]))[who])  # some turn the scale round
    (own, own2), (other, other2) = ((by_item @ (number * of), by_item @ (number**2 * of)) for of in (is_own, ~is_own))
    products = np.stack([own**2 - own2, own * other, other**2 - other2])  # within, across, outside: (3, item)
    pairs = np.stack([n_own * (n_own - 1), n_own * n_other, n_other * (n_other - 1)])
    total = np.maximum(pairs.sum(axis=1), 1)
    within, across, outside = mean = products.sum(axis=1) / total
    if within <= 0 or outside <= 0:
        return None
    moved = (products - mean[:, None] * pairs) / total[:, None]  # the means, by each item
    slope = across / outside
    error = np.sqrt(((np.array([1, -2 * slope, slope**2]) @ moved) ** 2).sum())
    same = np.bincount(data.item[is_own] * data.n_labels + data.label[is_own])  # (item and label,)
    return {
        "who": tuple(data.annotators[code] for code in np.flatnonzero(copies)),
        "same": float((same * (same - 1)).sum() / total[0]),
        "explained": float(across * slope / within),
        "z": float((within - across * slope) / max(error, np.finfo(float).tiny)),
    }
