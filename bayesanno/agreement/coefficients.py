"""Coefficients of agreement of all annotators together, with bootstrap intervals over items.

An undefined coefficient is nan. Repeated answers of an annotator count. Declared "unsure" answers are missing.

References
----------
J. L. Fleiss (1971), Psychological Bulletin 76(5), 378-382, doi:10.1037/h0031619.
S. Siegel and N. J. Castellan (1988), Nonparametric statistics for the behavioral sciences, second edition.
R. J. Light (1971), Psychological Bulletin 76(5), 365-377, doi:10.1037/h0031643.
J. W. Holley and J. P. Guilford (1964), doi:10.1177/001316446402400402.
K. L. Gwet (2008), doi:10.1348/000711006X126600.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayesanno._core.errors import DataError
from bayesanno._core.intervals import name_bounds
from bayesanno._core.lazy import pd
from bayesanno._core.wording import counted, option
from bayesanno.agreement.alpha import beyond, compare_places, compare_sets, find_disagreement, find_ranks, nominal_alpha
from bayesanno.agreement.pairs import WEIGHTED, Pairs, find_pairs
from bayesanno.agreement.resampling import check_resampling, resample_items, with_bounds
from bayesanno.agreement.sets import gather_sets
from bayesanno.agreement.vote import require_shared
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import divide, read_numbers

MEAN_OF_PAIRS = ("scott_pi", "cohen_kappa", *WEIGHTED)
BIASED = (
    "pairs share so few items that their mean is biased by more than its standard error, so that there is no interval"
)


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
    """Return the labels as numbers, if they are, and whether they are ordered (by default if they are numbers)."""
    numbers = read_numbers(data.classes)
    return numbers, numbers is not None if ordered is None else ordered


def agreement_table(
    data: AnnotationData,
    *,
    ordered: bool | None = None,
    sets: bool = False,
    ci_prob: float | None = None,
    resamples: int = 1000,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Return all coefficients of agreement, with intervals.

    Parameters
    ----------
    data : AnnotationData
    ordered : bool, optional
        Whether the labels are ordered, for ordinal alpha and weighted kappa; by default if all are numbers. Others must
        be declared in order, or be words of a known scale.
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
    found = {name: [*map(float, each)] for name, each in with_bounds(measure, data.n_items, parts, ci_prob).items()}
    reasons |= _explain_missing(pairs, found, reasons)
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
    sums: Mapping[str, Any], pairs: Pairs, numbers: np.ndarray | None, weights: np.ndarray
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
        found |= dict.fromkeys(("krippendorff_alpha_ordinal", *WEIGHTED), _no_order())
    if numbers is None:
        found["krippendorff_alpha_interval"] = "the labels are not all numbers, so they have no distances"
    return found


def _no_order() -> str:
    return f"the labels have no order: if they are declared from lowest to highest, pass {option('ordered', True)}"


def _explain_missing(pairs: Pairs, found: Mapping[str, Sequence[float]], reasons: Mapping[str, str]) -> dict[str, str]:
    """Return the reasons why other coefficients or their bounds are nan, or what they leave out."""
    every = {name: "all answers are one label" for name, each in found.items() if math.isnan(each[0])} | dict(reasons)
    of_pairs, n = pairs.coefficients(np.ones(pairs.joint.shape[1])), pairs.first.size
    for name in MEAN_OF_PAIRS:
        undefined = int((~np.isfinite(of_pairs[name])).sum())
        if undefined and name not in every:
            every[name] = f"{undefined} of {counted(n, 'pair')} gave one label and are left out"
        elif undefined == n and every.get(name) != _no_order():
            every[name] = "no pair of annotators gave two labels to the items that they share"
        if not math.isnan(found[name][0]) and math.isnan(sum(found[name])):
            every[name] = "; ".join(filter(None, [every.get(name), BIASED]))
    return every
