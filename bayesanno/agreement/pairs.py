"""Agreement of two annotators, from the items that both answered: of every pair, and averaged over one's partners.

An item that an annotator answered twice counts once for each pair of answers by the two. An answer that is unsure is
missing.

The invariant: a coefficient is a function of the pair's table alone, which is a sum over items, so that of items drawn
again it is a sum with other weights; one that is not defined is nan, never 0.

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
from functools import cached_property
from typing import Any

import numpy as np

from bayesanno.agreement.alpha import divide, measure_alpha
from bayesanno.agreement.resampling import bound, check_resampling, resample_items, split_rows
from bayesanno.agreement.vote import require_shared
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.patterns import match_answers
from bayesanno.ground.lazy import pd

WEIGHTED = ("cohen_kappa_linear", "cohen_kappa_quadratic")  # meaningful where labels have an order


@dataclass(frozen=True)
class Pairs:
    """The pairs of annotators who share items, and what each item adds to the table of a pair.

    Attributes
    ----------
    first, second : array of int, shape (pair,)
        The annotators, the first one before the second among the data's.
    n_items : array of int, shape (pair,)
        Items that both answered.
    n_labels : int
    answers : sparse array, shape (pair * label * label, item)
        How often the first gave the one label and the second the other.
    errors : sparse array, shape (pair * 2 * 2, item), or None
        How often the first and the second were right (0) or wrong (1), of items whose true label is known; None if none
        is.
    """

    first: np.ndarray
    second: np.ndarray
    n_items: np.ndarray
    n_labels: int
    answers: Any
    errors: Any = None

    @cached_property
    def tables(self) -> np.ndarray:
        """Answers of the first (rows) and of the second annotator (columns) to the same items; (pair, label, label)."""
        counts: np.ndarray = np.asarray(self.answers.sum(axis=1), dtype=float)
        return counts.reshape(-1, self.n_labels, self.n_labels)

    def coefficients(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Return each coefficient of items with weights (item,): (pair,); or (item, resample): (pair, resample)."""
        return _measure_weighted(measure_tables, self.answers, self.n_labels, weights)

    def coefficients_and_errors(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Return `coefficients` and, where a true label is known, the correlation of errors."""
        if self.errors is None:
            return self.coefficients(weights)
        return self.coefficients(weights) | _measure_weighted(measure_errors, self.errors, 2, weights)


def _measure_weighted(
    measure: Callable[[np.ndarray], dict[str, np.ndarray]], counts: Any, n: int, weights: np.ndarray
) -> dict[str, np.ndarray]:
    """Return what is measured of tables (pair * n * n, item), a part at a time, of items with weights."""
    found: list[dict[str, np.ndarray]] = []
    parts = [*split_rows(counts.shape[0] // n**2, weights[0].size * n**2)]
    for rows in parts or [slice(0, 0)]:  # where there is no pair, each coefficient is there all the same
        cells = counts[rows.start * n**2 : rows.stop * n**2] @ weights
        found.append(measure(np.moveaxis(cells.reshape(-1, n, n, *weights.shape[1:]), (1, 2), (-2, -1))))
    return {name: np.concatenate([each[name] for each in found]) for name in found[0]}


def find_pairs(data: AnnotationData) -> Pairs:
    """Find the pairs of annotators who answered the same items; an answer that is unsure is none."""
    from scipy.sparse import csr_array

    data = data.without_unsure()
    given = (data.item * data.n_annotators + data.annotator) * data.n_labels + data.label
    given, times = np.unique(given, return_counts=True)  # an answer that one gave many times is one, of that weight
    (item, annotator), label = np.divmod(given // data.n_labels, data.n_annotators), given % data.n_labels
    left, right = match_answers(item, annotator)
    code, pair = np.unique(annotator[left] * data.n_annotators + annotator[right], return_inverse=True)
    cell = (pair * data.n_labels + label[left]) * data.n_labels + label[right]
    shape = (code.size * data.n_labels**2, data.n_items)
    n = (times[left] * times[right]).astype(float)
    answers = csr_array((n, (cell, item[left])), shape=shape)
    shared = np.unique(np.stack([pair, item[left]]), axis=1)[0]
    n_items = np.bincount(shared, minlength=code.size)
    errors, gold = None, data.gold_codes[item[left]]
    known = gold >= 0
    if known.any():
        wrong = (pair * 2 + (label[left] != gold)) * 2 + (label[right] != gold)
        errors = csr_array((n[known], (wrong[known], item[left][known])), shape=(code.size * 4, data.n_items))
    return Pairs(code // data.n_annotators, code % data.n_annotators, n_items, data.n_labels, answers, errors)


def measure_tables(tables: np.ndarray) -> dict[str, np.ndarray]:
    """Return the coefficients of two annotators' answers to the same items.

    Parameters
    ----------
    tables : array, shape (..., label, label)
        How often the first gave the one label (rows) where the second gave the other (columns).

    Returns
    -------
    dict of name to array (...)
        `agreement`; `scott_pi`; `cohen_kappa`, with linear and quadratic weights by the labels' places as well;
        `g_index`, in which all labels are equally likely by chance; `gwet_ac1`; and nominal `krippendorff_alpha`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.agreement.pairs import measure_tables
    >>> found = measure_tables(np.array([[20.0, 5.0], [10.0, 15.0]]))
    >>> {name: round(float(found[name]), 4) for name in ("agreement", "cohen_kappa", "scott_pi")}
    {'agreement': 0.7, 'cohen_kappa': 0.4, 'scott_pi': 0.3939}
    """
    n_labels = tables.shape[-1]
    n = tables.sum(axis=(-2, -1))
    same = np.trace(tables, axis1=-2, axis2=-1)
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)  # (..., label)
    both = rows + columns
    place = np.arange(n_labels)
    far = np.abs(place[:, None] - place[None, :])
    by_chance = (both * (2 * n[..., None] - both)).sum(axis=-1)  # Gwet's, times 4 n^2 (n_labels - 1)
    return {
        "agreement": divide(same, n),
        "scott_pi": _beyond(4 * same * n, (both**2).sum(axis=-1), 4 * n**2),
        "cohen_kappa": _beyond(same * n, (rows * columns).sum(axis=-1), n**2),
        "cohen_kappa_linear": _weighted(tables, rows, columns, far),
        "cohen_kappa_quadratic": _weighted(tables, rows, columns, far**2),
        "g_index": divide(n_labels * same - n, (n_labels - 1) * n),
        "gwet_ac1": _beyond(4 * (n_labels - 1) * same * n, by_chance, 4 * (n_labels - 1) * n**2),
        "krippendorff_alpha": measure_alpha(tables + np.swapaxes(tables, -1, -2)),
    }


def measure_errors(tables: np.ndarray) -> dict[str, np.ndarray]:
    """Return `error_correlation`, phi, of how often the first (rows) and the second are right and wrong, (..., 2, 2).

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
    """Return agreement beyond chance, (observed - expected) / (most - expected), of numbers."""
    return divide(observed - expected, most - expected)


def _weighted(tables: np.ndarray, rows: np.ndarray, columns: np.ndarray, far: np.ndarray) -> np.ndarray:
    n = tables.sum(axis=(-2, -1))
    expected = np.einsum("...i,ij,...j->...", rows, far, columns)
    return np.where(expected > 0, 1 - divide((tables * far).sum(axis=(-2, -1)) * n, expected), np.nan)


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
    data: AnnotationData, *, confidence: float = 0.95, resamples: int = 0, random_seed: int | None = None
) -> pd.DataFrame:
    """Return how far every two annotators agree who answered the same items.

    Parameters
    ----------
    data : AnnotationData
    confidence : float, default 0.95
        The confidence of the intervals.
    resamples : int
        How often items are drawn again for intervals; by default there are none.
    random_seed : int, optional

    Returns
    -------
    pandas.DataFrame
        One row per pair with a common item: `annotator_1`, `annotator_2`, `n` (items), and the coefficients:
        `agreement`, `scott_pi`, `cohen_kappa`, `cohen_kappa_linear` and `cohen_kappa_quadratic` (by the places of the
        labels, for labels that have an order), `g_index`, `gwet_ac1`, `krippendorff_alpha` (nominal). nan where one is
        not defined: kappa, pi and alpha where both gave one label throughout. Where true labels are known (gold), also
        `error_correlation`: phi of the one's errors and the other's, on the items whose label is known, nan where one
        of them always errs there or never does; unlike that of `dependence_table` it is also due to classes that both
        find hard. With resamples, each one's `_low` and `_high`.

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
    check_resampling(confidence, resamples, random_seed)
    data = require_shared(data, "pair_table")
    pairs, names = find_pairs(data), np.array(data.annotators, dtype=object)
    table = pd.DataFrame({"annotator_1": names[pairs.first], "annotator_2": names[pairs.second]}, dtype="str")
    parts = resample_items(data.n_items, resamples, random_seed)
    columns = _add_bounds(pairs.coefficients_and_errors, data.n_items, parts, confidence)
    return table.assign(n=pairs.n_items, **columns)


def annotator_agreement(
    data: AnnotationData, *, confidence: float = 0.95, resamples: int = 0, random_seed: int | None = None
) -> pd.DataFrame:
    """Return how far each annotator agrees with the others: the mean of each coefficient over their pairs.

    Parameters
    ----------
    data : AnnotationData
    confidence : float, default 0.95
        The confidence of the intervals.
    resamples : int
        How often items are drawn again for intervals; by default there are none.
    random_seed : int, optional

    Returns
    -------
    pandas.DataFrame
        One row per annotator: `annotator`, `n` (annotations, without unsure ones), `n_partners`, the annotators who
        share an item with them, and the coefficients of `pair_table`, each averaged over the pairs that have it; nan
        where there is none.

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
    check_resampling(confidence, resamples, random_seed)
    data = require_shared(data, "annotator_agreement")
    pairs, n = find_pairs(data), data.n_annotators
    table = pd.DataFrame({"annotator": pd.Series(list(data.annotators), dtype="str")})
    table["n"] = np.bincount(data.annotator, minlength=n)
    table["n_partners"] = np.bincount(np.concatenate([pairs.first, pairs.second]), minlength=n)

    def average(weights: np.ndarray) -> dict[str, np.ndarray]:
        found = pairs.coefficients_and_errors(weights)
        return {name: average_over_partners(pairs, each, n) for name, each in found.items()}

    parts = resample_items(data.n_items, resamples, random_seed)
    return table.assign(**_add_bounds(average, data.n_items, parts, confidence))


def _add_bounds(
    measure: Callable[[np.ndarray], dict[str, np.ndarray]],
    n_items: int,
    parts: Iterable[np.ndarray],
    confidence: float,
) -> dict[str, np.ndarray]:
    """Return columns: what is measured of the items and, if they were drawn again, its bounds."""
    drawn, columns = [measure(weights) for weights in parts], {}
    for name, values in measure(np.ones(n_items)).items():
        columns[name] = values
        if drawn:
            every = np.concatenate([one[name] for one in drawn], axis=1)  # (row, resample)
            columns[f"{name}_low"], columns[f"{name}_high"] = bound(values, every, confidence)
    return columns
