"""Coefficients of agreement of all annotators together, with bootstrap intervals over items; agreement by chance.

An undefined coefficient is nan. Of several answers by an annotator to an item, the first counts. Declared "unsure"
answers are missing.

Agreement by chance is that of annotators who flip coins. Answers that are sets of labels are compared by distances:

    jaccard(A, B) = 1 - |A and B| / |A or B|
    masi(A, B)    = 1 - m |A and B| / |A or B|       m = 1 if A = B; 2/3 if one contains the other; else 1/3

References
----------
B. Beigman Klebanov and E. Beigman (2009), doi:10.1162/coli.2009.35.4.35402 ("the paper" below).
P. Jaccard (1912), The distribution of the flora in the alpine zone, New Phytologist 11(2), 37-50,
doi:10.1111/j.1469-8137.1912.tb05611.x.
R. J. Passonneau (2006), Measuring agreement on set-valued items (MASI) for semantic and pragmatic annotation, LREC,
https://aclanthology.org/L06-1392.
J. L. Fleiss (1971), Psychological Bulletin 76(5), 378-382, doi:10.1037/h0031619.
S. Siegel and N. J. Castellan (1988), Nonparametric statistics for the behavioral sciences, second edition.
R. J. Light (1971), Psychological Bulletin 76(5), 365-377, doi:10.1037/h0031643.
J. W. Holley and J. P. Guilford (1964), doi:10.1177/001316446402400402.
K. L. Gwet (2008), doi:10.1348/000711006X126600.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayesanno._core.intervals import name_bounds
from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, counted, option
from bayesanno._core.validate import check_share
from bayesanno.agreement.alpha import beyond, compare_places, compare_sets, find_disagreement, find_ranks, nominal_alpha
from bayesanno.agreement.pairs import WEIGHTED, AnnotatorPairs, find_pairs
from bayesanno.agreement.resampling import check_resampling, resample_items, with_bounds
from bayesanno.agreement.vote import disagreed_items, require_once, require_shared, shared_items
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import divide, order_known, read_numbers


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """The items on which annotators disagree, in a table of annotations.

    Parameters
    ----------
    n, d : int
        The number of items with two or more annotations, and of those with two or more different labels.
    p, kappa : float or None
        As from `estimate_chance_agreement` and `measure_kappa`; None if undefined.
    left_out : int
        Items with fewer than two annotations.
    """

    n: int
    d: int
    p: float | None
    kappa: float | None
    left_out: int


@dataclass(frozen=True, kw_only=True)
class ChanceDifference:
    """The difference, in items, that noise may cause between two equally good systems (section 4.1 of the paper).

    Parameters
    ----------
    noise : int
        R, the number of noisy items in the test set.
    ci_prob, sd : float
        The probability with which the bounds hold; the standard deviation of the difference, sqrt(R / 2).
    chebyshev, exact : int
        The bound by Chebyshev's inequality, as in the paper, and the smallest bound that holds.
    """

    noise: int
    ci_prob: float
    sd: float
    chebyshev: int
    exact: int


def chance_agreement(coins: ArrayLike) -> float:
    """Return sum_m prod_j coin_jm, the probability that annotators' coins all give one label (section 2 of the paper).

    Parameters
    ----------
    coins : array, shape (annotator, label)
        The probability of each label in each annotator's coin; rows sum to 1.

    Raises
    ------
    DataError
        If a row is not a probability distribution.

    Examples
    --------
    >>> [chance_agreement([[0.5, 0.5]] * annotators) for annotators in (2, 3, 5)]
    [0.5, 0.25, 0.0625]
    """
    given = np.asarray(coins, dtype=float)
    if given.ndim != 2 or not given.size:
        raise DataError(f"coins have shape {given.shape}: give one row per annotator, one column per label")
    wrong = ~((given >= 0).all(axis=1) & (np.abs(given.sum(axis=1) - 1) < 1e-8))  # (annotator,)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"coin {row + 1} is {given[row].tolist()}: probabilities must be 0 or more and sum to 1")
    return float(np.prod(given, axis=0).sum())


def estimate_coins(data: AnnotationData) -> np.ndarray:
    """Estimate each annotator's coin on hard items from the items disagreed on (footnote 3 of the paper).

    An annotator without any disagreement gets the coin of all others together. Coins look fairer than they are, since
    two annotators who disagree give different labels.

    Returns
    -------
    array, shape (annotator, true_class)
        Rows sum to 1.

    Raises
    ------
    DataError
        If no item is disagreed on.

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> rows = [("s1", "ada", "no"), ("s1", "bo", "yes"), ("s2", "ada", "yes"), ("s2", "bo", "no")]
    >>> estimate_coins(AnnotationData.from_records(rows)).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    data = require_once(data, "estimate_coins")
    hard = disagreed_items(data.votes)[data.item]  # (annotation,)
    if not hard.any():
        raise DataError("no item is disagreed on: coins cannot be estimated")
    given = np.zeros((data.n_annotators, data.n_labels))  # (annotator, label)
    np.add.at(given, (data.annotator[hard], data.label[hard]), 1.0)
    given[given.sum(axis=1) == 0] = given.sum(axis=0)
    return given / given.sum(axis=1, keepdims=True)


def estimate_chance_agreement(data: AnnotationData) -> float:
    """Estimate the probability that the annotators of a hard item agree, from the coins of `estimate_coins`.

    It is the mean over the agreed items, with which eq. 1 never understates the noise.

    Raises
    ------
    DataError
        If no item is disagreed on.

    Examples
    --------
    >>> from bayesanno import read_annotations
    >>> round(estimate_chance_agreement(read_annotations("@crowd")), 4)
    0.0325
    """
    data = require_once(data, "estimate_chance_agreement")
    coins = estimate_coins(data)
    same = np.ones((data.n_items, data.n_labels))  # (item, label)
    np.multiply.at(same, data.item, coins[data.annotator])
    shared = shared_items(data.votes)  # (item,)
    agreed = shared & ~disagreed_items(data.votes)
    return float(same[agreed if agreed.any() else shared].sum(axis=1).mean())


def count_disagreement(data: AnnotationData) -> Disagreement:
    """Count the items disagreed on, and compute the other inputs of the noise model.

    Raises
    ------
    DataError
        If no item has two annotations.

    Examples
    --------
    >>> from bayesanno import read_annotations
    >>> found = count_disagreement(read_annotations("@crowd"))
    >>> found.n, found.d
    (300, 247)
    """
    data = require_once(data, "count_disagreement")
    shared = shared_items(data.votes)  # (item,)
    d = int(disagreed_items(data.votes).sum())
    equal = np.unique(data.votes[shared].sum(axis=1)).size == 1
    return Disagreement(
        n=int(shared.sum()),
        d=d,
        p=estimate_chance_agreement(data) if d else None,
        kappa=measure_kappa(data.votes[shared]).kappa if equal else None,
        left_out=int((~shared).sum()),
    )


def bound_chance_difference(noise: int, *, ci_prob: float = 0.95) -> ChanceDifference:
    """Bound the difference between two systems that noise in the test set explains (section 4.1 of the paper).

    On each of R noisy items, each system alone is counted right with probability 1/4. So the difference plus R is
    Binomial(2 R, 1/2).

    Parameters
    ----------
    noise : int
        R, the number of noisy items in the test set; `NoiseBound.n_noise` bounds it.
    ci_prob : float, default 0.95
        As for `bound_noise`.

    Raises
    ------
    DataError
        If an argument is out of its range.

    Examples
    --------
    >>> found = bound_chance_difference(125)
    >>> found.chebyshev, found.exact
    (35, 15)
    """
    noise = check_whole("noise", noise)
    check_share("ci_prob", ci_prob)
    from scipy.stats import binom

    sd = math.sqrt(noise / 2)
    exceeds = 2 * binom.sf(noise + np.arange(noise + 1), 2 * noise, 0.5)  # P(|S| > s), s = 0..R
    chebyshev = min(math.floor(sd / math.sqrt(1 - ci_prob) + 1e-9), noise)
    exact = int(np.argmax(exceeds < 1 - ci_prob))
    return ChanceDifference(noise=noise, ci_prob=ci_prob, sd=sd, chebyshev=chebyshev, exact=exact)


def check_whole(what: str, value: int, least: int = 0) -> int:
    """Return a number as an int, or raise a DataError if it is not whole or too small."""
    try:
        whole = operator.index(value)
    except TypeError:
        raise DataError(f"{what} is {value!r}: it must be a whole number") from None
    if whole < least:
        raise DataError(f"{what} is {whole}: it must be {least} or more")
    return whole


def gather_sets(data: AnnotationData) -> tuple[AnnotationData, dict[str, np.ndarray]]:
    """Return annotations by sets of labels, and the distances of every two sets, (set, set), by name.

    Items that are not pairs of item and label with the answers no and yes raise a DataError.
    """
    names = [item.rpartition(" / ")[::2] for item in data.items]
    (items, of_item), (tags, tag) = (np.unique(each, return_inverse=True) for each in zip(*names, strict=True))
    if data.labels != ("no", "yes") or "" in items or len(names) != items.size * tags.size:
        needed = option("multi_label", True)
        raise DataError(f"sets of labels need every pair of item and label as an item: read with {needed}")
    cell, which = np.unique(of_item[data.item] * data.n_annotators + data.annotator, return_inverse=True)
    chosen = np.zeros((cell.size, tags.size), dtype=int)  # (answer, label)
    np.maximum.at(chosen, (which, tag[data.item]), data.label)
    sets, label = np.unique(chosen, axis=0, return_inverse=True)  # (set, label)
    both = sets @ sets.T  # (set, set)
    n, size = np.add.outer(sets.sum(axis=1), sets.sum(axis=1)), np.diag(both)
    shared = np.where(n > 0, both / np.maximum(n - both, 1), 1)  # two empty sets are equal
    smaller, larger = np.minimum.outer(size, size), np.maximum.outer(size, size)
    near = np.select([smaller + larger == 2 * both, smaller == both], [1, 2 / 3], 1 / 3)
    found = AnnotationData(
        item=cell // data.n_annotators,
        annotator=cell % data.n_annotators,
        label=label,
        items=tuple(items.tolist()),
        annotators=data.annotators,
        labels=tuple("; ".join(tags[one > 0]) or "no label" for one in sets),
    )
    return found, {"jaccard": 1 - shared, "masi": 1 - near * shared}


MEAN_OF_PAIRS = ("scott_pi", "cohen_kappa", *WEIGHTED)
BIASED = (
    "pairs share so few items that their mean is biased by more than its standard error, so that there is no interval"
)
ONE_ITEM = "only one item has two answers, and an interval needs two such items"


@dataclass(frozen=True, kw_only=True)
class Kappa:
    """Agreement beyond chance, eq. 2 of Beigman Klebanov and Beigman (2009), doi:10.1162/coli.2009.35.4.35402.

    Parameters
    ----------
    observed, expected : float
        P_A, the mean share of agreeing pairs, and P_E, that of pairs drawn from the pooled label frequencies.
    kappa : float or None
        (P_A - P_E) / (1 - P_E); None if all labels are equal.
    """

    observed: float
    expected: float
    kappa: float | None


def find_label_scale(data: AnnotationData, ordered: bool | None) -> tuple[np.ndarray | None, bool]:
    """Return the labels as numbers, if they are, and whether they are ordered.

    By default they are if they are numbers, or words of a known scale in its order. Declared labels may be in no order.
    """
    numbers = read_numbers(data.classes)
    known = numbers is not None or order_known(data.classes) == data.classes
    return numbers, known if ordered is None else ordered


def agreement_table(
    data: AnnotationData,
    *,
    ordered: bool | None = None,
    sets: bool = False,
    ci_prob: float | None = None,
    resamples: int = 1000,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Return all coefficients of agreement, with intervals; `bayesanno.agreement.advise` says which to report.

    Scott's pi and Cohen's kappa are means over the pairs of annotators who share items.

    Parameters
    ----------
    data : AnnotationData
    ordered : bool, optional
        Whether the labels are ordered, for ordinal alpha and weighted kappa; by default if all are numbers or words of
        a known scale, such as none, mild, severe. Others must be declared in order.
    sets : bool, default False
        Whether to compare the sets of labels that annotators chose, in data read with `multi_label`.
    ci_prob : float, optional
        The confidence level of the bootstrap intervals; by default as in `summary`.
    resamples : int
        Number of bootstrap resamples of the items; 0 for no intervals.
    random_seed : int, optional

    Returns
    -------
    pandas.DataFrame
        `coefficient`, `value`, `ci89_lb` and `ci89_ub` (named by `ci_prob`), and `reason`: why something is nan or left
        out. The rows are percent_agreement, krippendorff_alpha_nominal, _ordinal and _interval, fleiss_kappa (for equal
        numbers of answers), g_index, gwet_ac1, and the mean over pairs of annotators of scott_pi, cohen_kappa,
        cohen_kappa_linear and cohen_kappa_quadratic. With `sets`, krippendorff_alpha_jaccard and _masi are added, and
        the others take different sets as different labels.

    Raises
    ------
    DataError
        If no item has two annotations, the order of the labels is not known, or an argument is out of its range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> table = ba.agreement_table(ba.read_annotations("@table9"), random_seed=1).set_index("coefficient")
    >>> table.loc["krippendorff_alpha_nominal", ["ci89_lb", "ci89_ub"]].astype(float).round(3).tolist()
    [0.033, 0.048]
    """
    ci_prob = check_resampling(ci_prob, resamples, random_seed)
    data = require_shared(data.in_order() if ordered else data, "agreement_table")
    data, distances = gather_sets(data) if sets else (data, {})
    (numbers, is_ordered), pairs, sums = find_label_scale(data, ordered), find_pairs(data), count_sums(data)
    reasons = _explain_undefined(data, numbers, is_ordered)

    def measure(weights: np.ndarray) -> dict[str, np.ndarray]:
        of_sets = {
            f"krippendorff_alpha_{name}": compare_sets(sums["compared"], distances[name], weights) for name in distances
        }
        found = measure_all(sums, pairs, numbers, weights) | of_sets
        return found | {name: np.full_like(found[name], np.nan) for name in reasons}

    parts = resample_items(data.n_items, resamples, random_seed, data.n_labels)
    n = int(sums["several"].sum())
    bounded = with_bounds(measure, data.n_items, parts, ci_prob, compared=n)
    found = {name: [*map(float, each)] for name, each in bounded.items()}
    reasons |= _explain_missing(pairs, found, reasons, n)
    table = pd.DataFrame.from_dict(found, orient="index").reindex(columns=range(3))
    table = table.set_axis(["value", *name_bounds("ci", ci_prob)], axis=1).rename_axis("coefficient").reset_index()
    return table.assign(reason=[reasons.get(name, "") for name in found])


def measure_kappa(votes: ArrayLike) -> Kappa:
    """Measure agreement beyond chance: Fleiss' kappa, the K of Siegel and Castellan (1988).

        p_m = sum_i a_im / (n k)      P_E = sum_m p_m^2      P_A = mean_i sum_m C(a_im, 2) / C(k, 2)

    Parameters
    ----------
    votes : array, shape (item, label)
        a_im, how many of the k annotators gave item i label m, as in `AnnotationData.votes`.

    Raises
    ------
    DataError
        If items do not have the same number k of annotations, at least 2.

    Examples
    --------
    >>> found = measure_kappa([[2, 0]] * 450 + [[0, 2]] * 450 + [[1, 1]] * 100)
    >>> round(found.observed, 12), found.expected, round(found.kappa, 12)
    (0.9, 0.5, 0.8)
    """
    counts = np.asarray(votes, dtype=float)  # (item, label)
    if counts.ndim != 2 or not counts.size or (counts < 0).any():
        raise DataError("votes must be a table of counts, one row per item and one column per label")
    each = counts.sum(axis=1)  # (item,)
    k = float(each[0])
    if not (each == k).all() or k < 2:
        raise DataError(
            f"items have {each.min():g} to {each.max():g} annotations: kappa as in eq. 2 needs the same number, 2 or "
            "more, for every item"
        )
    shares = counts.sum(axis=0) / counts.sum()  # (label,)
    expected = float(shares @ shares)
    observed = float((counts * (counts - 1)).sum(axis=1).mean() / (k * (k - 1)))
    kappa = None if (shares > 0).sum() == 1 else (observed - expected) / (1 - expected)
    return Kappa(observed=observed, expected=expected, kappa=kappa)


def count_sums(data: AnnotationData) -> dict[str, Any]:
    """Return each item's terms (item, ...) in the sums behind the coefficients for all annotators."""
    from scipy.sparse import csr_array

    votes = csr_array(data.votes)  # (item, label)
    n, squares = votes.sum(axis=1), (votes**2).sum(axis=1)  # (item,)
    several = (n >= 2) * 1.0
    return {
        "several": several,
        "agreed": (squares - n) / np.maximum(n * (n - 1), 1),
        "disagreed": find_disagreement(n, squares),
        "answered": (n > 0) * 1.0,
        "shares": votes.multiply(1 / np.maximum(n, 1)[:, None]).tocsr(),
        "compared": votes.multiply(several[:, None]).tocsr(),
    }


def measure_all(
    sums: Mapping[str, Any], pairs: AnnotatorPairs, numbers: np.ndarray | None, weights: np.ndarray
) -> dict[str, np.ndarray]:
    """Return every coefficient (resample,), from items with weights (item, resample); nan if undefined."""
    total = {name: values.T @ weights for name, values in sums.items()}  # (..., resample)
    k, given, compared = len(total["shares"]), total["compared"], sums["compared"]
    observed = divide(total["agreed"], total["several"])
    shares = divide(total["shares"], total["answered"])  # (label, resample)
    by_fleiss = np.where((shares > 0).sum(axis=0) > 1, (shares**2).sum(axis=0), 1)
    undefined = np.full(observed.shape, np.nan)
    found = {
        "percent_agreement": observed,
        "krippendorff_alpha_nominal": nominal_alpha(total["disagreed"], given, axis=0),
        "krippendorff_alpha_ordinal": compare_places(compared, find_ranks(given), weights),
        "krippendorff_alpha_interval": undefined
        if numbers is None
        else compare_places(compared, numbers[:, None], weights),
        "fleiss_kappa": beyond(observed, by_fleiss),
    }
    of_pairs = pairs.coefficients(weights)
    for name in MEAN_OF_PAIRS:
        known = np.isfinite(of_pairs[name])
        found[name] = divide(np.where(known, of_pairs[name], 0).sum(axis=0), known.sum(axis=0))
    by_gwet = (shares * (1 - shares)).sum(axis=0) / (k - 1)
    return found | {"g_index": beyond(observed, 1 / k), "gwet_ac1": beyond(observed, by_gwet)}


def _explain_undefined(data: AnnotationData, numbers: np.ndarray | None, is_ordered: bool) -> dict[str, str]:
    """Return the reasons why coefficients are not available for these data, by name."""
    n = data.votes.sum(axis=1)
    found = {}
    if np.unique(n[n > 0]).size > 1:
        found["fleiss_kappa"] = (
            f"items have {n[n > 0].min():g} to {n.max():g} annotations, and it requires equal numbers: "
            "krippendorff_alpha_nominal and gwet_ac1 do not"
        )
    if not is_ordered:
        found |= dict.fromkeys(("krippendorff_alpha_ordinal", *WEIGHTED), _no_order(data))
    if numbers is None:
        found["krippendorff_alpha_interval"] = "the labels are not all numbers, so they have no distances"
    return found


def _no_order(data: AnnotationData) -> str:
    """Return why coefficients by order are not available, and how to have them."""
    how = option("ordered", True)
    if data.order_declared:
        return f"declared labels may be in no order: if they are declared from the lowest to the highest, use {how}"
    if order_known(data.classes) is not None:
        return f"the labels are taken as unordered: for their order use {how}"
    declare = f"declare them from the lowest to the highest with {option('labels')}, and use {how}"
    return f"no order of the labels is known: {declare}"


def _explain_missing(
    pairs: AnnotatorPairs, found: Mapping[str, Sequence[float]], reasons: Mapping[str, str], n_shared: int
) -> dict[str, str]:
    """Return the reasons why other coefficients or their bounds are nan, or what they leave out."""
    every = {name: "all answers are one label" for name, each in found.items() if math.isnan(each[0])} | dict(reasons)
    of_pairs, n = pairs.coefficients(np.ones(pairs.joint.shape[1])), pairs.first.size
    for name in MEAN_OF_PAIRS:
        undefined = int((~np.isfinite(of_pairs[name])).sum())
        if undefined and name not in every:
            every[name] = f"{undefined} of {counted(n, 'pair')} gave one label and are left out"
        elif undefined == n and name not in reasons:
            every[name] = "no pair of annotators gave two labels to the items that they share"
    for name, each in found.items():
        if not math.isnan(each[0]) and math.isnan(sum(each)) and (n_shared == 1 or name in MEAN_OF_PAIRS):
            every[name] = "; ".join(filter(None, [every.get(name), ONE_ITEM if n_shared == 1 else BIASED]))
    return every
