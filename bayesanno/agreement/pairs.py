"""Agreement of two annotators on the items that both answered: for every pair, and averaged over an annotator's pairs.

An item that an annotator answered twice counts once for each pair of answers by the two. "Unsure" answers are missing.

The invariant: a coefficient is a function of sums over items alone, so in resamples the same sums have other weights.
No label-by-label table is needed. An undefined coefficient is nan, never 0.

References
----------
J. Cohen (1960), A coefficient of agreement for nominal scales, Educational and Psychological Measurement 20(1), 37-46,
doi:10.1177/001316446002000104; (1968), Weighted kappa, Psychological Bulletin 70(4), 213-220, doi:10.1037/h0026256.
W. A. Scott (1955), Reliability of content analysis, Public Opinion Quarterly 19(3), 321-325, doi:10.1086/266577.
K. L. Gwet (2008), Computing inter-rater reliability and its variance in the presence of high agreement, British Journal
of Mathematical and Statistical Psychology 61(1), 29-48, doi:10.1348/000711006X126600.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bayesanno._core.intervals import name_bounds
from bayesanno._core.lazy import pd
from bayesanno.agreement.alpha import divide, measure_alpha
from bayesanno.agreement.resampling import bound, check_resampling, resample_items, split_rows
from bayesanno.agreement.vote import require_shared
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.patterns import match_answers

ARRAYS = 10  # arrays over the labels of pairs in memory at a time
WEIGHTED = ("cohen_kappa_linear", "cohen_kappa_quadratic")  # meaningful for ordered labels


@dataclass(frozen=True)
class Pairs:
    """The pairs of annotators who share items, and each item's contributions to the sums behind the coefficients.

    Attributes
    ----------
    first, second : array of int, shape (pair,)
        The annotators; the first comes before the second in the data.
    n_items : array of int, shape (pair,)
        The number of items that both answered.
    n_labels : int
    used : array of int, shape (cell,)
        The labels that either of a pair gave to a common item, ascending, pair after pair.
    begin : array of int, shape (pair + 1,)
        The first cell of each pair.
    by_first, by_second : sparse array, shape (cell, item)
        How often the first and the second annotator gave the label.
    same, apart, squares : sparse array, shape (pair, item)
        How often both gave the same label; the sums of the distances between their labels, and of squared distances.
    joint : sparse array, shape (joint, item), or None
        How often two labels were given by a pair, for each two that were, pair after pair; for ordinal alpha.
    of_joint : array of int, shape (3, joint)
        The pair, and the cells of both labels.
    errors : sparse array, shape (pair * 2 * 2, item), or None
        How often the first and the second were right (0) or wrong (1), on items with a known true label; None without
        such items.
    """

    first: np.ndarray
    second: np.ndarray
    n_items: np.ndarray
    n_labels: int
    used: np.ndarray
    begin: np.ndarray
    by_first: Any
    by_second: Any
    same: Any
    apart: Any
    squares: Any
    joint: Any = None
    of_joint: Any = None
    errors: Any = None

    def coefficients(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Return each coefficient: (pair,) for weights (item,), or (pair, resample) for weights (item, resample)."""
        most = ARRAYS * weights[0].size * int(np.diff(self.begin).max(initial=1))  # numbers of a pair
        parts = [*split_rows(self.first.size, most)]
        # without pairs, each coefficient is still returned
        found = [self._measure(part.start, part.stop, weights) for part in parts or [slice(0, 0)]]
        return {name: np.concatenate([each[name] for each in found]) for name in found[0]}

    def _measure(self, begin: int, end: int, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Return the coefficients of some of the pairs."""
        start = self.begin[begin:end]
        cells = slice(self.begin[begin], self.begin[end])
        start, used = start - cells.start, self.used[cells].reshape(-1, *(1,) * (weights.ndim - 1))
        which = np.repeat(np.arange(end - begin), np.diff(self.begin[begin : end + 1]))  # (cell,)

        def add(cells: np.ndarray) -> np.ndarray:
            """Sum over the labels of a pair, (pair, ...)."""
            return np.add.reduceat(cells, start, axis=0)

        def count_below(cells: np.ndarray) -> np.ndarray:
            """Return how often a label or a lower one was given, (cell, ...)."""
            below = np.cumsum(cells, axis=0)
            below -= (below[start] - cells[start])[which]
            return below

        first, second = self.by_first[cells] @ weights, self.by_second[cells] @ weights  # (cell, ...)
        same, apart, squares = (each[begin:end] @ weights for each in (self.same, self.apart, self.squares))
        n, both, n_labels = add(first), first + second, self.n_labels
        by_gwet = add(both * (2 * n[which] - both))  # times 4 n^2 (n_labels - 1)
        up = np.diff(used, axis=0, append=0)  # to the next label; irrelevant after a pair's last one
        low, high = count_below(first), count_below(second)
        far = add(up * (low * (n[which] - high) + high * (n[which] - low)))
        square = n * add(both * used**2) - 2 * add(first * used) * add(second * used)
        return {
            "agreement": divide(same, n),
            "scott_pi": _beyond(4 * same * n, add(both**2), 4 * n**2),
            "cohen_kappa": _beyond(same * n, add(first * second), n**2),
            "cohen_kappa_linear": _weighted(apart * n, far),
            "cohen_kappa_quadratic": _weighted(squares * n, square),
            "g_index": divide(n_labels * same - n, (n_labels - 1) * n),
            "gwet_ac1": _beyond(4 * (n_labels - 1) * same * n, by_gwet, 4 * (n_labels - 1) * n**2),
            "krippendorff_alpha": measure_alpha(2 * (n - same), 2 * n, 4 * n**2 - add(both**2))
            if self.joint is None
            else self._measure_ordinal(begin, end, weights, both, count_below(both) - both / 2 - n[which]),
        }

    def _measure_ordinal(
        self, begin: int, end: int, weights: np.ndarray, both: np.ndarray, place: np.ndarray
    ) -> np.ndarray:
        """Return ordinal alpha of some of the pairs, from the counts and places of the labels in their cells."""
        pair, one, other = self.of_joint
        rows = slice(*np.searchsorted(pair, [begin, end]))
        cells, start = self.begin[begin], self.begin[begin:end] - self.begin[begin]
        apart = (self.joint[rows] @ weights) * (place[one[rows] - cells] - place[other[rows] - cells]) ** 2
        observed = 2 * np.add.reduceat(apart, np.searchsorted(pair[rows], np.arange(begin, end)), axis=0)
        total, squares, sums = (np.add.reduceat(both * place**power, start, axis=0) for power in (0, 2, 1))
        used = np.add.reduceat((both > 0) * 1, start, axis=0) > 1
        return measure_alpha(observed, total, np.where(used, 2 * (total * squares - sums**2), 0))

    def coefficients_and_errors(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Return `coefficients` and, if true labels are known, the correlation of errors."""
        if self.errors is None:
            return self.coefficients(weights)
        tables = (self.errors @ weights).reshape(-1, 2, 2, *weights.shape[1:])
        return self.coefficients(weights) | measure_errors(np.moveaxis(tables, (1, 2), (-2, -1)))


class Matches(NamedTuple):
    """Pairs of answers to the same item by different annotators: the item, the annotators and the labels.

    Equal matches are stored once, with their number in `times`. All arrays have shape (match,).
    """

    item: np.ndarray
    first: np.ndarray
    second: np.ndarray
    label_1: np.ndarray
    label_2: np.ndarray
    times: np.ndarray


def match_labels(data: AnnotationData) -> Matches:
    """Find all pairs of answers to the same item; "unsure" answers are left out."""
    data = data.without_unsure()
    given = (data.item * data.n_annotators + data.annotator) * data.n_labels + data.label
    given, times = np.unique(given, return_counts=True)  # repeated answers of an annotator become one with a weight
    (item, annotator), label = np.divmod(given // data.n_labels, data.n_annotators), given % data.n_labels
    left, right = match_answers(item, annotator)
    n = (times[left] * times[right]).astype(float)
    return Matches(item[left], annotator[left], annotator[right], label[left], label[right], n)


def find_pairs(data: AnnotationData, *, ordered: bool = False) -> Pairs:
    """Find the pairs of annotators who answered the same items; "unsure" answers are left out.

    With `ordered`, their alpha is ordinal.
    """
    from scipy.sparse import csr_array

    data = data.without_unsure()
    item, first, second, label_1, label_2, n = match_labels(data)
    code, pair = np.unique(first * data.n_annotators + second, return_inverse=True)
    cells = [pair * data.n_labels + label for label in (label_1, label_2)]
    used, cell = np.unique(np.concatenate(cells), return_inverse=True)
    shared = np.unique(np.stack([pair, item]), axis=1)[0]

    def count(row: np.ndarray, n_rows: int, value: np.ndarray = n) -> Any:
        return csr_array((value, (row, item)), shape=(n_rows, data.n_items))

    far, errors = np.abs(label_1 - label_2), None
    gold = data.gold_codes[item]
    if (known := gold >= 0).any():
        wrong = (pair * 2 + (label_1 != gold)) * 2 + (label_2 != gold)
        errors = count(wrong, code.size * 4, n * known)
    by_first, by_second = (count(each, used.size) for each in np.split(cell, 2))
    joint: dict[str, Any] = {}
    if ordered:
        kinds, which = np.unique(np.stack([pair, *np.split(cell, 2)]), axis=1, return_inverse=True)
        joint = {"of_joint": kinds, "joint": count(which, kinds.shape[1])}
    return Pairs(
        first=code // data.n_annotators,
        second=code % data.n_annotators,
        n_items=np.bincount(shared, minlength=code.size),
        n_labels=data.n_labels,
        used=used % data.n_labels,
        begin=np.searchsorted(used, np.arange(code.size + 1) * data.n_labels),
        by_first=by_first,
        by_second=by_second,
        same=count(pair, code.size, n * (far == 0)),
        apart=count(pair, code.size, n * far),
        squares=count(pair, code.size, n * far**2),
        errors=errors,
        **joint,
    )


def measure_errors(tables: np.ndarray) -> dict[str, np.ndarray]:
    """Return `error_correlation` (phi) from counts (..., 2, 2) of the first (rows) and the second being right or wrong.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.agreement.pairs import measure_errors
    >>> measure_errors(np.array([[70.0, 10.0], [10.0, 10.0]]))["error_correlation"].round(4).tolist()
    0.375
    """
    rows, columns = tables.sum(axis=-1).prod(axis=-1), tables.sum(axis=-2).prod(axis=-1)
    more = tables[..., 0, 0] * tables[..., 1, 1] - tables[..., 0, 1] * tables[..., 1, 0]
    return {"error_correlation": divide(more, np.sqrt(rows * columns))}


def _beyond(observed: np.ndarray, expected: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return agreement beyond chance, (observed - expected) / (most - expected), from counts."""
    return divide(observed - expected, most - expected)


def _weighted(observed: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return agreement beyond chance, from sums of distances."""
    return np.where(expected > 0, 1 - divide(observed, expected), np.nan)


def average_over_partners(pairs: Pairs, values: np.ndarray, n_annotators: int) -> np.ndarray:
    """Return the mean of a coefficient (pair, ...) over each annotator's partners (annotator, ...).

    Pairs without a defined value are left out; the mean is nan for an annotator without others.
    """
    total = np.zeros((n_annotators, *values.shape[1:]))
    n = np.zeros_like(total)
    known = np.isfinite(values)
    for who in (pairs.first, pairs.second):
        np.add.at(total, who, np.where(known, values, 0.0))
        np.add.at(n, who, known)
    return divide(total, n)


def pair_table(
    data: AnnotationData,
    *,
    ordered: bool = False,
    ci_prob: float | None = None,
    resamples: int = 0,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Return the agreement of every two annotators who answered the same items.

    Parameters
    ----------
    data : AnnotationData
    ordered : bool, default False
        Whether alpha is ordinal, for labels in order.
    ci_prob : float, optional
        The confidence level of the bootstrap intervals; by default as in `summary`.
    resamples : int
        Number of bootstrap resamples of the items; by default there are no intervals.
    random_seed : int, optional

    Returns
    -------
    pandas.DataFrame
        One row per pair with a common item: `annotator_1`, `annotator_2`, `n` (items), and the coefficients:
        `agreement`, `scott_pi`, `cohen_kappa`, `cohen_kappa_linear` and `cohen_kappa_quadratic` (for ordered labels,
        weighted by their positions), `g_index`, `gwet_ac1`, `krippendorff_alpha` (nominal, or ordinal with `ordered`).
        Undefined values are nan: kappa, pi and alpha if both gave one label throughout. With gold, `error_correlation`
        is the phi coefficient of the two annotators' errors on the items with a known label (nan if one of them always
        or never errs). Unlike the correlation in `dependence_table`, it is also affected by classes that both find
        hard. With resamples, each coefficient has `_ci89_lb` and `_ci89_ub` (named by `ci_prob`).

    Raises
    ------
    DataError
        If no item has two annotations, there are too many pairs of answers, or an argument is out of its range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> table = ba.pair_table(ba.read_annotations("@table9"))
    >>> table[["annotator_1", "annotator_2", "n"]].to_numpy().tolist()
    [['i', 'j', 10000], ['i', 'k', 10000], ['j', 'k', 10000]]
    """
    ci_prob = check_resampling(ci_prob, resamples, random_seed)
    data = require_shared(data.in_order() if ordered else data, "pair_table")
    pairs, names = find_pairs(data, ordered=ordered), np.array(data.annotators, dtype=object)
    table = pd.DataFrame({"annotator_1": names[pairs.first], "annotator_2": names[pairs.second]}, dtype="str")
    parts = resample_items(data.n_items, resamples, random_seed)
    columns = _add_bounds(pairs.coefficients_and_errors, data.n_items, parts, ci_prob)
    return table.assign(n=pairs.n_items, **columns)


def annotator_agreement(
    data: AnnotationData,
    *,
    ordered: bool = False,
    ci_prob: float | None = None,
    resamples: int = 0,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Return the agreement of each annotator with the others: the mean of each coefficient over their pairs.

    Parameters
    ----------
    data : AnnotationData
    ordered : bool, default False
        Whether alpha is ordinal, for labels in order.
    ci_prob : float, optional
        The confidence level of the bootstrap intervals; by default as in `summary`.
    resamples : int
        Number of bootstrap resamples of the items; by default there are no intervals.
    random_seed : int, optional

    Returns
    -------
    pandas.DataFrame
        One row per annotator: `annotator`; `n` (annotations, without "unsure" ones); `n_partners`, the number of
        annotators who share an item with them; and the coefficients of `pair_table`, each averaged over the pairs with
        a defined value (nan without any).

    Raises
    ------
    DataError
        If no item has two annotations, there are too many pairs of answers, or an argument is out of its range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> table = ba.annotator_agreement(ba.read_annotations("@crowd"))
    >>> table.loc[table["cohen_kappa"].idxmin(), "annotator"]
    'xavier'
    """
    ci_prob = check_resampling(ci_prob, resamples, random_seed)
    data = require_shared(data.in_order() if ordered else data, "annotator_agreement")
    pairs, n = find_pairs(data, ordered=ordered), data.n_annotators
    table = pd.DataFrame({"annotator": list(data.annotators)}, dtype="str").assign(n=data.by_annotator)
    table["n_partners"] = np.bincount(np.concatenate([pairs.first, pairs.second]), minlength=n)

    def average(weights: np.ndarray) -> dict[str, np.ndarray]:
        found = pairs.coefficients_and_errors(weights)
        return {name: average_over_partners(pairs, each, n) for name, each in found.items()}

    parts = resample_items(data.n_items, resamples, random_seed)
    return table.assign(**_add_bounds(average, data.n_items, parts, ci_prob))


def _add_bounds(
    measure: Callable[[np.ndarray], dict[str, np.ndarray]],
    n_items: int,
    parts: Iterable[np.ndarray],
    ci_prob: float,
) -> dict[str, np.ndarray]:
    """Return columns with the values measured on the items and, with resamples, their bounds."""
    drawn, columns = [measure(weights) for weights in parts], {}
    for name, values in measure(np.ones(n_items)).items():
        columns[name] = values
        if drawn:
            every = np.concatenate([one[name] for one in drawn], axis=1)  # (row, resample)
            columns |= zip(name_bounds("ci", ci_prob, name), bound(values, every, ci_prob), strict=True)
    return columns
