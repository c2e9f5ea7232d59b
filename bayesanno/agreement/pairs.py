"""Agreement of two annotators on the items that both answered: for every pair, and averaged over an annotator's pairs.

An item that an annotator answered twice counts once for each pair of answers by the two. "Unsure" answers are missing.
A coefficient is a function of sums over items alone, so resamples only change the weights; it is nan if undefined.

References
----------
J. Cohen (1960), doi:10.1177/001316446002000104; (1968), weighted kappa, doi:10.1037/h0026256.
W. A. Scott (1955), Public Opinion Quarterly 19(3), 321-325, doi:10.1086/266577.
K. L. Gwet (2008), doi:10.1348/000711006X126600.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from bayesanno._core.intervals import name_bounds
from bayesanno._core.lazy import pd
from bayesanno.agreement.alpha import beyond, find_disagreement, measure_alpha
from bayesanno.agreement.resampling import check_resampling, resample_items, split_rows, with_bounds
from bayesanno.agreement.vote import require_shared, require_sure, shared_items
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import divide
from bayesanno.data.patterns import match_answers

ARRAYS = 10  # arrays over the labels of pairs in memory at a time
WEIGHTED = ("cohen_kappa_linear", "cohen_kappa_quadratic")  # meaningful for ordered labels


# From sums (see `AnnotatorPairs.add_up`): what is observed, what chance gives, and the most there could be (`beyond`).
# Disagreement is negative. All are whole numbers but for ordinal alpha, so that what is not defined is exactly 0 / 0.
COEFFICIENTS: dict[str, Callable[[Any], tuple[Any, Any, Any]]] = {
    "agreement": lambda s: (s.same, 0, s.n),
    "scott_pi": lambda s: (4 * s.n * s.same, s.pooled, 4 * s.n**2),
    "cohen_kappa": lambda s: (s.n * s.same, s.product, s.n**2),
    "cohen_kappa_linear": lambda s: (-s.n * s.steps, -s.steps_by_chance, 0),
    "cohen_kappa_quadratic": lambda s: (-s.n * s.squares, -s.squares_by_chance, 0),
    "g_index": lambda s: (s.k * s.same, s.n, s.k * s.n),
    "gwet_ac1": lambda s: (4 * (s.k - 1) * s.n * s.same, 4 * s.n**2 - s.pooled, 4 * (s.k - 1) * s.n**2),
    "krippendorff_alpha": lambda s: (-2 * (2 * s.n - 1) * s.apart, -s.apart_by_chance, 0),
}


@dataclass(frozen=True)
class AnnotatorPairs:
    """The pairs of annotators who share items, and how often each two labels were given to the same item.

    The `first` annotator comes before the `second` in the data; `n_items` were answered by both, (pair,). The labels
    that either gave to a common item are the cells of a pair, `used` (cell,), ascending, pair after pair from `begin`,
    (pair + 1,). Each two labels given to one item are a joint: their `cells` (2, joint), and how often they were given,
    (joint, item), from `begin_joint`. If true labels are known, `errors` counts how often the first and the second were
    right (0) or wrong (1), (pair * 2 * 2, item).
    """

    first: np.ndarray
    second: np.ndarray
    n_items: np.ndarray
    n_labels: int
    ordered: bool
    used: np.ndarray
    begin: np.ndarray
    begin_joint: np.ndarray
    cells: np.ndarray
    joint: Any
    errors: Any = None

    def coefficients(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Return each coefficient: (pair,) for weights (item,), or (pair, resample) for weights (item, resample)."""
        largest = max(int(np.diff(begin).max(initial=1)) for begin in (self.begin, self.begin_joint))
        parts = split_rows(self.first.size, ARRAYS * weights[0].size * largest)
        # without pairs, each coefficient is still returned
        sums = [self.add_up(part, weights) for part in [*parts] or [slice(0, 0)]]
        return {name: np.concatenate([beyond(*rule(each)) for each in sums]) for name, rule in COEFFICIENTS.items()}

    def add_up(self, pairs: slice, weights: np.ndarray) -> SimpleNamespace:
        """Return the sums behind the coefficients of some pairs, (pair, ...); `k` is the number of labels.

        Over pairs of answers: their number `n`, how many are the `same`, the `steps` between their labels, the
        `squares` of these, and how far `apart` they are for alpha; the last three also `by_chance`. Over labels: the
        `product` of both annotators' counts, and the squared `pooled` counts.
        """
        from scipy.sparse import csr_array

        ends = slice(pairs.start, pairs.stop + 1)
        begin, begin_joint = self.begin[ends], self.begin_joint[ends]
        cells, joint = slice(begin[0], begin[-1]), slice(begin_joint[0], begin_joint[-1])
        start, start_joint = begin[:-1] - begin[0], begin_joint[:-1] - begin_joint[0]
        which = np.repeat(np.arange(start.size), np.diff(begin))  # (cell,)
        times = self.joint[joint] @ weights  # (joint, ...)
        one, other = self.cells[:, joint] - begin[0]
        label = self.used[cells].reshape(-1, *(1,) * (weights.ndim - 1))  # (cell, ...)

        def add(values: np.ndarray) -> np.ndarray:
            return np.add.reduceat(values, start, axis=0)

        def add_joint(distance: np.ndarray) -> np.ndarray:
            return np.add.reduceat(times * distance, start_joint, axis=0)

        def count(cell: np.ndarray) -> np.ndarray:
            """Return how often each label was given, (cell, ...)."""
            of_joint = np.arange(cell.size)
            return csr_array((np.ones(cell.size), (cell, of_joint)), shape=(len(label), cell.size)) @ times

        def count_below(values: np.ndarray) -> np.ndarray:
            """Return how often a label or a lower one was given, (cell, ...)."""
            below = np.cumsum(values, axis=0)
            below -= (below[start] - values[start])[which]
            return below

        first, second = count(one), count(other)
        n, both, steps = add(first), first + second, np.abs(label[one] - label[other])
        up = np.diff(label, axis=0, append=0)  # to the next label; irrelevant after a pair's last one
        low, high = count_below(first), count_below(second)
        found = SimpleNamespace(k=self.n_labels, n=n, same=n - add_joint(steps > 0), product=add(first * second))
        found.pooled, found.steps, found.squares = add(both**2), add_joint(steps), add_joint(steps**2)
        found.steps_by_chance = add(up * (low * (n[which] - high) + high * (n[which] - low)))
        found.squares_by_chance = n * add(both * label**2) - 2 * add(first * label) * add(second * label)
        found.apart, found.apart_by_chance = n - found.same, 4 * n**2 - found.pooled
        if self.ordered:
            place = count_below(both) - both / 2 - n[which]  # (cell, ...)
            found.apart = add_joint((place[one] - place[other]) ** 2)
            spread = 2 * (2 * n * add(both * place**2) - add(both * place) ** 2)
            found.apart_by_chance = np.where(add((both > 0) * 1) > 1, spread, 0)
        return found

    def coefficients_and_errors(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Return `coefficients` and, if true labels are known, the correlation of errors."""
        if self.errors is None:
            return self.coefficients(weights)
        tables = (self.errors @ weights).reshape(-1, 2, 2, *weights.shape[1:])
        return self.coefficients(weights) | correlate_errors(np.moveaxis(tables, (1, 2), (-2, -1)))


class Matches(NamedTuple):
    """Pairs of answers to one item by two annotators, (match,); equal ones are stored once, with their number."""

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


def find_pairs(data: AnnotationData, *, ordered: bool = False) -> AnnotatorPairs:
    """Find the pairs of annotators who answered the same items, without "unsure" answers.

    Their alpha is ordinal if `ordered`.
    """
    from scipy.sparse import csr_array

    data = data.without_unsure()
    item, first, second, label_1, label_2, n = match_labels(data)
    k = data.n_labels
    code, pair = np.unique(first * data.n_annotators + second, return_inverse=True)
    joints, joint = np.unique((pair * k + label_1) * k + label_2, return_inverse=True)
    (of_joint, one), other = np.divmod(joints // k, k), joints % k
    used, cells = np.unique(np.stack([of_joint * k + one, of_joint * k + other]), return_inverse=True)
    shared = np.unique(pair * data.n_items + item) // data.n_items

    def count(row: np.ndarray, n_rows: int, value: np.ndarray = n) -> Any:
        return csr_array((value, (row, item)), shape=(n_rows, data.n_items))

    gold = data.gold_codes[item]
    wrong = (pair * 2 + (label_1 != gold)) * 2 + (label_2 != gold)
    return AnnotatorPairs(
        first=code // data.n_annotators,
        second=code % data.n_annotators,
        n_items=np.bincount(shared, minlength=code.size),
        n_labels=k,
        ordered=ordered,
        used=used % k,
        begin=np.searchsorted(used, np.arange(code.size + 1) * k),
        begin_joint=np.searchsorted(of_joint, np.arange(code.size + 1)),
        cells=cells.reshape(2, -1),
        joint=count(joint, joints.size),
        errors=count(wrong, code.size * 4, n * (gold >= 0)) if (gold >= 0).any() else None,
    )


def correlate_errors(tables: np.ndarray) -> dict[str, np.ndarray]:
    """Return `error_correlation` (phi) from counts (..., 2, 2) of the first (rows) and the second being right or wrong.

    Examples
    --------
    >>> correlate_errors(np.array([[70.0, 10.0], [10.0, 10.0]]))["error_correlation"].round(4).tolist()
    0.375
    """
    rows, columns = tables.sum(axis=-1).prod(axis=-1), tables.sum(axis=-2).prod(axis=-1)
    more = tables[..., 0, 0] * tables[..., 1, 1] - tables[..., 0, 1] * tables[..., 1, 0]
    return {"error_correlation": divide(more, np.sqrt(rows * columns))}


def average_over_partners(pairs: AnnotatorPairs, values: np.ndarray, n_annotators: int) -> np.ndarray:
    """Return the mean of a coefficient (pair, ...) over each annotator's partners (annotator, ...); nan without any."""
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
    data, ci_prob, random_seed
        As for `agreement_table`.
    ordered : bool, default False
        Whether alpha is ordinal, for labels in order.
    resamples : int
        Number of bootstrap resamples of the items; by default there are no intervals.

    Returns
    -------
    pandas.DataFrame
        One row per pair with a common item: `annotator_1`, `annotator_2`, `n` (items), `agreement`, `scott_pi`,
        `cohen_kappa`, `cohen_kappa_linear` and `cohen_kappa_quadratic` (for ordered labels), `g_index`, `gwet_ac1`, and
        `krippendorff_alpha`; nan if undefined. With gold, `error_correlation` is the phi coefficient of errors, which
        is affected by classes that both find hard. With resamples, each has `_ci89_lb` and `_ci89_ub` (named by
        `ci_prob`), which are nan if the pair shares one item.

    Raises
    ------
    DataError
        If no item has two annotations, there are too many pairs of answers, or an argument is out of its range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> ba.pair_table(ba.read_annotations("@table9"))["n"].tolist()
    [10000, 10000, 10000]
    """
    ci_prob = check_resampling(ci_prob, resamples, random_seed)
    require_shared(data, "pair_table")
    data = data.in_order() if ordered else data
    pairs, names = find_pairs(data, ordered=ordered), np.array(data.annotators, dtype=object)
    table = pd.DataFrame({"annotator_1": names[pairs.first], "annotator_2": names[pairs.second]}, dtype="str")
    parts = resample_items(data.n_items, resamples, random_seed)
    found = with_bounds(pairs.coefficients_and_errors, data.n_items, parts, ci_prob, compared=pairs.n_items)
    return table.assign(n=pairs.n_items, **_name_columns(found, ci_prob))


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
    data, ordered, ci_prob, resamples, random_seed
        As for `pair_table`.

    Returns
    -------
    pandas.DataFrame
        One row per annotator: `annotator`; `n` (annotations); `n_partners`, the annotators who share an item with them;
        the coefficients of `pair_table`, averaged over the pairs with a defined value; and agreement with themselves:
        `n_repeats`, the pairs of answers by the annotator to one item, `self_agreement`, the share of equal ones, and
        `self_alpha`, Krippendorff's nominal alpha of these, which is 0 by chance. With comparisons in two orders,
        `same_in_both_orders` is the share of the `n_both_orders` pairs of answers in different orders that name the
        same winner.

    Raises
    ------
    DataError
        As from `pair_table`.

    Examples
    --------
    >>> import bayesanno as ba
    >>> table = ba.annotator_agreement(ba.read_annotations("@crowd"))
    >>> table.loc[table["cohen_kappa"].idxmin(), "annotator"]
    'xavier'
    """
    ci_prob = check_resampling(ci_prob, resamples, random_seed)
    data = require_sure(data.in_order() if ordered else data, "annotator_agreement")
    shared_items(data.votes)
    pairs, n = find_pairs(data, ordered=ordered), data.n_annotators
    table = pd.DataFrame({"annotator": list(data.annotators)}, dtype="str").assign(n=data.by_annotator)
    table["n_partners"] = np.bincount(np.concatenate([pairs.first, pairs.second]), minlength=n)

    def average(weights: np.ndarray) -> dict[str, np.ndarray]:
        found = pairs.coefficients_and_errors(weights)
        return {name: average_over_partners(pairs, each, n) for name, each in found.items()}

    parts = resample_items(data.n_items, resamples, random_seed)
    found = with_bounds(average, data.n_items, parts, ci_prob, compared=_count_shared(data))
    return table.assign(**_name_columns(found, ci_prob), **agree_with_self(data))


def agree_with_self(data: AnnotationData) -> dict[str, np.ndarray]:
    """Return by name how far annotators who answer an item several times agree with themselves, (annotator,).

    The arrays are the columns `n_repeats`, `self_agreement`, `self_alpha` and, if answers were given in two orders,
    `n_both_orders` and `same_in_both_orders` of `annotator_agreement`.
    """
    code = (data.annotator * data.n_items + data.item) * data.n_labels + data.label
    given, times = np.unique(code, return_counts=True)
    cells, cell = np.unique(given // data.n_labels, return_inverse=True)  # an annotator and an item
    n, squares = np.bincount(cell, times), np.bincount(cell, times**2)

    def add(values: np.ndarray, who: np.ndarray) -> np.ndarray:
        return np.bincount(who, values, data.n_annotators)

    who, several = cells // data.n_items, (n > 1)[cell]
    labels, label = np.unique((who[cell] * data.n_labels + given % data.n_labels)[several], return_inverse=True)
    of_label = np.bincount(label, times[several], labels.size)
    total, by_chance = (add(each, labels // data.n_labels) for each in (of_label, of_label**2))
    apart = add(find_disagreement(n, squares), who)
    repeats, same = add(n * (n - 1) / 2, who), add((squares - n) / 2, who)
    found = {"n_repeats": repeats.astype(int), "self_agreement": divide(same, repeats)}
    found["self_alpha"] = measure_alpha(apart, total, total**2 - by_chance)
    if data.has_both_orders:
        swapped = np.bincount(np.searchsorted(given, code), data.swapped, given.size)  # of a cell and label
        both = np.bincount(cell, swapped)
        n_both = add(both * (n - both), who)
        found |= {
            "n_both_orders": n_both.astype(int),
            "same_in_both_orders": divide(add(swapped * (times - swapped), who[cell]), n_both),
        }
    return found


def _count_shared(data: AnnotationData) -> np.ndarray:
    """Return how many items each annotator shares with others, (annotator,)."""
    item, annotator = np.divmod(np.unique(data.item * data.n_annotators + data.annotator), data.n_annotators)
    shared = np.bincount(item, minlength=data.n_items)[item] > 1
    return np.bincount(annotator[shared], minlength=data.n_annotators)


def _name_columns(found: Mapping[str, tuple[np.ndarray, ...]], ci_prob: float) -> dict[str, np.ndarray]:
    """Return values and bounds as columns."""
    named = ((zip((name, *name_bounds("ci", ci_prob, name)), each, strict=False)) for name, each in found.items())
    return dict(chain.from_iterable(named))
