"""Errors of annotators beyond what a model predicts, and their correlation between two annotators.

The invariant: every measure is a ratio of sums over items. For several pairs it is a ratio of sums over pairs and
items, and for a resample of the items the same sums have other weights. Sums over all pairs of a group are computed
from sums over annotators: the square of the sum minus the sum of squares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bayesanno.agreement.alpha import divide
from bayesanno.agreement.resampling import split_rows
from bayesanno.analysis.behaviour import find_confusion, require_confusion
from bayesanno.fits.parts import FitPart
from bayesanno.fits.view import FitView
from bayesanno.ground.errors import FitError
from bayesanno.modeling.item_numbers import ItemNumberModel, find_errors
from bayesanno.modeling.posterior import take_draws
from bayesanno.simulation.quantities import ModelDraws, ask

MOST_DRAWS = 100  # posterior draws over which answer probabilities are averaged
LEAST_PROBABILITY = 1e-9  # less probable classes of an item are ignored
NEGLIGIBLE = 1e-3  # share of the variance of shared errors that may be dropped
DENSE = 0.05  # with a larger share of nonzero cells a sparse product is slower than a dense one


class Products(NamedTuple):
    """Sums of products over pairs of annotators, sparse (row, item); the correlation of a row is a ratio of sums.

    Attributes
    ----------
    together : sparse array
        Sums of products of residuals.
    expected : sparse array
        Sums of products of their standard deviations.
    largest : sparse array
        Sums of products of absolute residuals, an upper bound.
    spread : sparse array
        Sums of products of their variances: the variance of `together` if errors are independent.
    """

    together: Any
    expected: Any
    largest: Any
    spread: Any

    def correlation(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the correlation, (row,), or (row, resample) if items have weights (item, resample)."""
        sums = [each.sum(axis=1) if weights is None else _multiply(each, weights) for each in self[:3]]
        return divide(sums[0], np.maximum(sums[1], sums[2]))

    def measure(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the correlation and its standard deviation under independent errors, both (row,)."""
        expected = np.maximum(self.expected.sum(axis=1), self.largest.sum(axis=1))
        return self.correlation(), divide(np.sqrt(np.maximum(self.spread.sum(axis=1), 0)), expected)


@dataclass(frozen=True)
class Residuals:
    """Errors of annotators, or groups of them, beyond the model's predictions.

    Attributes
    ----------
    measures : tuple of sparse arrays, each of shape (row, cell)
        Residuals, their standard deviations, absolute residuals and variances; `Products` sums their products. If the
        model has shared errors, factors of these follow: the sum of their products is the expected sum of products of
        residuals. A cell is an item together with a class, weighted by the square root of the class probability.
    cells : sparse array, shape (cell, item)
        The cells of each item.
    answered : sparse array, shape (row, item)
        How many annotators answered.
    """

    measures: tuple[Any, ...]
    cells: Any
    answered: Any

    def of_groups(self, members: Any) -> Residuals:
        """Return the sums over members, a sparse array (group, annotator)."""
        return Residuals(tuple(members @ each for each in self.measures), self.cells, members @ self.answered)

    def between(self, first: np.ndarray, second: np.ndarray) -> Iterator[Products]:
        """Yield the products of pairs of rows (pair,), in chunks of pairs."""
        for part in split_rows(first.size, self.cells.shape[1]):
            one, other = first[part], second[part]
            yield self._less_shared([each[one].multiply(each[other]) for each in self.measures])

    def within(self, members: Any) -> Products:
        """Return the products over all pairs of annotators in each group; members (group, annotator)."""
        pairs = zip(self.of_groups(members).measures, self.measures, strict=True)
        return self._less_shared([(whole.multiply(whole) - members @ each.multiply(each)) / 2 for whole, each in pairs])

    def _less_shared(self, products: list[Any]) -> Products:
        """Return products by item from products by cell, minus the expected products of shared errors."""
        n = len(Products._fields)
        together, *others = (each @ self.cells for each in products[:n])
        for expected in products[n:]:
            together = together - expected @ self.cells
        return Products(together, *others)


def find_residuals(view: FitView, part: FitPart, truth: np.ndarray) -> Residuals:
    """Return the residuals of annotators on the items that two or more of them answered.

    Parameters
    ----------
    truth : array, shape (item, true_class)
        The class probabilities of each item; all 0 for items that are left out.
    """
    from scipy.sparse import csr_array

    data, n_classes = part.data, part.data.n_classes
    answered = count_answers(part)
    items = np.flatnonzero((answered.sum(axis=0) >= 2) & (truth.sum(axis=1) > 0))
    place = np.full(data.n_items, -1)
    place[items] = np.arange(items.size)
    said = np.full(data.n_labels, -1)
    said[data.class_codes] = np.arange(n_classes)
    kept = (place[data.item] >= 0) & (said[data.label] >= 0)
    item, annotator, label = data.item[kept], data.annotator[kept], said[data.label[kept]]

    answer, state = np.nonzero(truth[item] > LEAST_PROBABILITY)
    who, weight = annotator[answer], truth[item[answer], state]
    n, wrong = data.n_annotators, label[answer] != state
    of = who * n_classes + state  # (answer of a class,)
    n_seen, n_wrong = (np.bincount(of, each, n * n_classes) for each in (weight, weight * wrong))
    chance = ((n_wrong + error_chances(view, part).ravel()) / (n_seen + 1))[of]
    residual, variance = wrong - chance, chance * (1 - chance)
    at, shape = (who, place[item[answer]] * n_classes + state), (n, items.size * n_classes)
    root = np.sqrt(weight)
    error, scale, variance = (
        csr_array((each * root, at), shape=shape) for each in (residual, np.sqrt(variance), variance)
    )
    every = np.arange(shape[1])
    cells = csr_array((np.ones(every.size), (every, every // n_classes)), shape=(every.size, items.size))
    shared = (csr_array((root * one[who, state], at), shape=shape) for one in share_errors(view))
    return Residuals((error, scale, abs(error), variance, *shared), cells, answered[:, items])


def share_errors(view: FitView) -> list[np.ndarray]:
    """Return the factors (annotator, true_class) of the errors that a model expects to be shared, given the class.

    The model's covariance of the errors of two annotators is the sum of the products of their factors. It comes from
    their error probabilities at each quadrature node of the item's number, reduced to the fewest factors that keep all
    but a thousandth of the variance.
    """
    if not isinstance(view.model, ItemNumberModel):
        return []
    wrong, weight = find_errors(view.model, view.data, take_draws(view.posterior, MOST_DRAWS))
    away = (wrong - (wrong @ weight)[:, :, None]) * np.sqrt(weight)  # (annotator, true_class, node)
    left, size, _ = np.linalg.svd(away.transpose(1, 0, 2), full_matrices=False)  # (true_class, annotator, factor)
    factors = left * size[:, None]
    kept = np.cumsum(size[:, ::-1] ** 2, axis=1)[:, ::-1] > NEGLIGIBLE * (size**2).sum(axis=1, keepdims=True)
    return [factors[:, :, code].T for code in range(int(kept.sum(axis=1).max()))]


def error_chances(view: FitView, part: FitPart) -> np.ndarray:
    """Return the posterior mean of the probability that an annotator errs on an item of a class.

    It is the same for all classes if possibly nobody gave the true label, as in model A, and for classes that no item
    can have. "Unsure" answers do not count.

    Returns
    -------
    array, shape (annotator, true_class)
    """
    data = part.data
    classes = np.arange(data.n_classes)
    sure = mean_answers(view, part)[:, data.class_codes]  # (annotator, response, state)
    right = sure[:, classes, classes]  # (annotator, true_class)
    overall = 1 - divide(right.sum(axis=1), sure.sum(axis=(1, 2)))[:, None]
    of_class = 1 - divide(right, sure.sum(axis=1)[:, classes])
    if sure.shape[2] != classes.size:
        of_class[:] = np.nan
    return np.clip(np.where(np.isfinite(of_class), of_class, overall), 0, 1)


def mean_answers(view: FitView, part: FitPart) -> np.ndarray:
    """Return the posterior mean of p(state, answer) for each annotator, (annotator, response, state).

    Models with confusion matrices give it from p(answer | state), without compilation.
    """
    everybody = np.arange(part.data.n_annotators)
    try:
        require_confusion(view)
    except FitError:
        drawn = ModelDraws(view.model, view.data, take_draws(view.posterior, MOST_DRAWS), view.known)
        total: Any = sum(ask(drawn, everybody[:, None], dimension=part.dimension))
        return total / drawn.draws.sizes["draw"]
    confusion = find_confusion(view, everybody.tolist(), most=MOST_DRAWS).mean(("chain", "draw"))
    return np.swapaxes(confusion.values, 1, 2)


def count_answers(part: FitPart) -> Any:
    """Return a sparse array (annotator, item) with ones for answers; "unsure" answers do not count."""
    from scipy.sparse import csr_array

    data = part.data
    sure = np.isin(data.label, data.class_codes)
    pairs = np.unique(np.stack([data.annotator[sure], data.item[sure]]), axis=1)
    return csr_array((np.ones(pairs.shape[1]), tuple(pairs)), shape=(data.n_annotators, data.n_items))


class Sharing(NamedTuple):
    """Pairs of annotators who answered the same items.

    Attributes
    ----------
    first, second, n_items : array of int, shape (pair,)
        The pairs that share most items, among those that share enough, and the number of items they share.
    n_enough : int
        The number of pairs that share enough items.
    n_pairs : sparse array, shape (group, group)
        The number of pairs of annotators who share any items, by group, the lower group first.
    """

    first: np.ndarray
    second: np.ndarray
    n_items: np.ndarray
    n_enough: int
    n_pairs: Any


def find_sharing(answered: Any, group: np.ndarray, *, least: int, most: int) -> Sharing:
    """Find the pairs that share items, in chunks of annotators, since there may be millions of pairs.

    Parameters
    ----------
    answered : sparse array, shape (annotator, item)
    group : array of int, shape (annotator,)
    least, most : int
        How many shared items are enough, and how many pairs are kept.
    """
    from scipy.sparse import csr_array

    n, shape = answered.shape[0], (int(group.max()) + 1, int(group.max()) + 1)
    kept = np.zeros((3, 0), dtype=np.int64)  # first, second, items
    n_enough, n_pairs = 0, csr_array(shape, dtype=np.int64)
    for rows in split_rows(n, n):
        shared = (answered[rows] @ answered.T).tocoo()
        first, second = shared.row + rows.start, shared.col
        upper = first < second
        first, second, n_items = first[upper], second[upper], np.rint(shared.data[upper]).astype(np.int64)
        groups = np.sort(group[np.stack([first, second])], axis=0)
        n_pairs += csr_array((np.ones(first.size, dtype=np.int64), tuple(groups)), shape=shape)
        enough = n_items >= least
        n_enough += int(enough.sum())
        kept = np.concatenate([kept, np.stack([first, second, n_items])[:, enough]], axis=1)
        kept = kept[:, np.sort(np.argsort(-kept[2], kind="stable")[:most])]
    return Sharing(kept[0], kept[1], kept[2], n_enough, n_pairs)


def _multiply(matrix: Any, weights: np.ndarray) -> np.ndarray:
    """Return the product of a sparse and a dense array, computed in the faster way."""
    dense = matrix.nnz > DENSE * np.prod(matrix.shape)
    return (matrix.toarray() if dense else matrix) @ weights
