"""Statistics of observed and simulated answers, by name.

The invariant: for a fixed design, a statistic is a function of the answers alone, and is defined for all answers.
Numbers that are undefined for a design (agreement of two annotators without a common item) are left out. "Unsure"
answers are treated like others here, since models that take them also predict them: they count as votes, and two of
them agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from bayesanno._core.messages import DataError
from bayesanno.agreement.vote import disagreed_items, shared_items
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.counts import CountData
from bayesanno.data.described import split_dimensions
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.data.labelled import count_cells
from bayesanno.data.patterns import match_answers

MOST_PAIRS = 5_000  # pairs of annotators with rows: a crowd has millions, and replicates of each are in memory


@dataclass(frozen=True)
class Statistic:
    """One or several numbers computed from the answers to a design.

    Attributes
    ----------
    of : tuple of str
        The label, annotator or pair of each number; ("",) for a single number about all data.
    measure : callable
        A function of answers (annotation,), or successes (item,), that returns the numbers, (of,).
    """

    of: tuple[str, ...]
    measure: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class AnswerTable:
    """One table of answers: its part of a design's answers, and its statistics.

    Attributes
    ----------
    data : AnnotationData or CountData
    own : slice
        The positions of its answers among all answers of the design.
    statistics : mapping of name to callable
        Functions from the data to a statistic; they raise a DataError if it is undefined for such data.
    dimension : str
        The dimension; empty if there is only one table.
    """

    data: Any
    own: slice
    statistics: Mapping[str, Callable[[Any], Statistic]]
    dimension: str = ""


@singledispatch
def tables_of(data: Any) -> list[AnswerTable]:
    """Return the tables of answers in data."""
    raise NotImplementedError(f"{type(data).__name__} has no statistics: register it here")  # abstract


@tables_of.register(CountData)
def _(data: CountData) -> list[AnswerTable]:
    return [AnswerTable(data, slice(None), OF_COUNTS)]


@tables_of.register(AnnotationData)
@tables_of.register(MultiAnnotationData)
def _(data: Any) -> list[AnswerTable]:
    tables, begin = [], 0
    for dimension, part in split_dimensions(data).items():
        tables.append(AnswerTable(part, slice(begin, begin + part.n_annotations), OF_ANNOTATIONS, dimension))
        begin += part.n_annotations
    return tables


def measure_distance(observed: np.ndarray, replicated: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the joint distance from the mean over all, of the observed numbers (1,) and of replicates (replicate,).

    Means and standard deviations include the observed numbers, so that all are treated alike.
    """
    every = np.vstack([observed, replicated])
    spread = every.std(axis=0)
    varies = spread > 0
    away = (every - every.mean(axis=0))[:, varies] / spread[varies]
    far = (away**2).mean(axis=1) if varies.any() else every[:, 0]
    return far[:1], far[1:]


# --------------------------------------------------------------------------------------------------- of annotations


def _find_counted_labels(data: AnnotationData) -> list[int]:
    """Return the labels with counts that are not redundant: of two labels, only the last."""
    return list(range(data.n_labels)) if data.n_labels > 2 else [1]


def _count_votes(data: AnnotationData, label: np.ndarray) -> np.ndarray:
    """Return the number of annotations by item and label, (item, label)."""
    return count_cells(data.item, label, (data.n_items, data.n_labels))


def votes_per_item(data: AnnotationData) -> Statistic:
    """Count the items with 0, 1, 2, ... votes for each label; of two labels, only the last."""
    labels, most = _find_counted_labels(data), int(np.bincount(data.item, minlength=1).max())

    def measure(label: np.ndarray) -> np.ndarray:
        votes = _count_votes(data, label)
        return np.concatenate([np.bincount(votes[:, code], minlength=most + 1) for code in labels])

    return Statistic(tuple(f"{n} x {data.labels[code]}" for code in labels for n in range(most + 1)), measure)


def unanimous(data: AnnotationData) -> Statistic:
    """Measure the share of items on which all agree, among those with two or more annotations."""
    several = shared_items(data.votes)
    return Statistic(("",), lambda label: 1 - disagreed_items(_count_votes(data, label)[several]).mean(keepdims=True))


def label_counts(data: AnnotationData) -> Statistic:
    """Count how often each annotator gives each label; of two labels, only the last."""
    labels, shape = _find_counted_labels(data), (data.n_annotators, data.n_labels)
    of = tuple(f"{who}: {data.labels[code]}" for who in data.annotators for code in labels)
    return Statistic(of, lambda label: count_cells(data.annotator, label, shape)[:, labels].ravel())


class Matched(NamedTuple):
    """Pairs of viewers, and all pairs of answers by them to the same item, not both by the same annotator.

    Attributes
    ----------
    who : array of int, shape (pair, 2)
    n : array of int, shape (pair,)
        The number of pairs of answers.
    left, right : array of int, shape (match,)
        Positions among the annotations.
    pair : array of int, shape (match,)
    """

    who: np.ndarray
    n: np.ndarray
    left: np.ndarray
    right: np.ndarray
    pair: np.ndarray

    def count_same(self, label: np.ndarray) -> np.ndarray:
        """Return how often the two annotators give the same answer, (pair,)."""
        return np.bincount(self.pair, weights=label[self.left] == label[self.right], minlength=self.n.size)


def match_pairs(data: AnnotationData, items: np.ndarray | None = None) -> Matched:
    """Match the answers of the pairs that share most, to all items or to those in a mask (item,)."""
    left, right = match_answers(data.item, data.annotator)
    if items is not None:
        kept = items[data.item[left]]
        left, right = left[kept], right[kept]
    codes = data.viewer[left] * data.n_viewers + data.viewer[right]
    code, pair, n = np.unique(codes, return_inverse=True, return_counts=True)
    most = np.sort(np.argsort(-n, kind="stable")[:MOST_PAIRS])
    place = np.full(n.size, -1)
    place[most] = np.arange(most.size)
    kept = place[pair] >= 0
    who = np.stack(np.divmod(code[most], data.n_viewers), axis=1)
    return Matched(who, n[most], left[kept], right[kept], place[pair[kept]])


def _number_own(data: AnnotationData) -> tuple[np.ndarray, np.ndarray]:
    """Return a number for each combination of annotator and item, which may have several answers.

    Returns
    -------
    own : array of int, shape (annotation,)
        The number of each answer's annotator and item.
    others : array of int, shape (annotation,)
        How many answers other annotators gave to its item.

    Raises
    ------
    DataError
        If no two annotators answered the same item (two answers by one annotator do not count).
    """
    shared_items(data.votes)
    codes = data.item * data.n_annotators + data.annotator
    _, own, times = np.unique(codes, return_inverse=True, return_counts=True)
    others = np.bincount(data.item, minlength=data.n_items)[data.item] - times[own]
    if not others.any():
        raise DataError("no item has answers of two annotators: agreement is between at least two")
    return own, others


def pair_agreement(data: AnnotationData) -> Statistic:
    """Measure how often two annotators agree on the items that both answered, for the pairs that share most answers."""
    _number_own(data)
    matched = match_pairs(data)
    names = [" & ".join(map(data.name_viewer, two)) for two in matched.who]
    return Statistic(tuple(names), lambda label: matched.count_same(label) / matched.n)


def rest_agreement(data: AnnotationData) -> Statistic:
    """Measure how often others' answers to the same items agree with each annotator's."""
    own, others = _number_own(data)
    matches = np.bincount(data.annotator, weights=others, minlength=data.n_annotators)
    some, shape = np.flatnonzero(matches), (int(own.max()) + 1, data.n_labels)

    def measure(label: np.ndarray) -> np.ndarray:
        all_same = _count_votes(data, label)[data.item, label]
        own_same = count_cells(own, label, shape)[own, label]
        agreed = np.bincount(data.annotator, weights=all_same - own_same, minlength=data.n_annotators)
        return agreed[some] / matches[some]

    return Statistic(tuple(data.annotators[code] for code in some), measure)


OF_ANNOTATIONS = {
    "votes_per_item": votes_per_item,
    "unanimous": unanimous,
    "label_counts": label_counts,
    "pair_agreement": pair_agreement,
    "rest_agreement": rest_agreement,
}


# -------------------------------------------------------------------------------------------------------- of counts


def histogram(data: CountData) -> Statistic:
    """Count the items with 0, 1, 2, ... successes; all must have the same number of trials."""
    from bayesanno.agreement.histograms import count_histogram

    n_bins = count_histogram(data).size
    bins = tuple(map(str, range(n_bins)))
    return Statistic(bins, lambda successes: np.bincount(successes, minlength=n_bins).astype(float))


def positive_share(data: CountData) -> Statistic:
    """Measure the share of positive answers."""
    total = data.trials.sum()
    return Statistic(("",), lambda successes: np.array([successes.sum() / total]))


def spread(data: CountData) -> Statistic:
    """Measure the standard deviation, over items, of the share of positive answers."""
    some = data.trials > 0
    trials = data.trials[some]
    return Statistic(("",), lambda successes: np.array([(successes[some] / trials).std()]))


OF_COUNTS = {"histogram": histogram, "positive_share": positive_share, "spread": spread}
