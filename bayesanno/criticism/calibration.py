"""Calibration: label probabilities compared with how often labels are right, on items with a known true label.

The invariant: probabilities are scored with labels that the model did not see; controls are left out.

References
----------
G. W. Brier (1950), Verification of forecasts expressed in terms of probability, Monthly Weather Review 78(1), 1-3.
C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger (2017), On calibration of modern neural networks, ICML, pages 1321-1330,
arXiv:1706.04599 (the expected calibration error).
A. C. Davison and D. V. Hinkley (1997), Bootstrap methods and their application, section 5.2 (the mirrored interval).
E. L. Korn and B. I. Graubard (1998), Confidence intervals for proportions with small expected number of positive counts
estimated from survey data, Survey Methodology 24(2), 193-201: exact intervals with an effective number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayesanno._core.intervals import bound_proportion, choose_prob, name_bounds
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import DataError, FitError, listed, option
from bayesanno._core.validate import check_at_least
from bayesanno.agreement.resampling import bound, check_resampling, resample_items
from bayesanno.analysis.grades import grade_items
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.view import FitPart, FitView, concat_parts, parts_of, require

BINS = 10
SCORES = ("accuracy", "log_score", "brier", "calibration_error")


@dataclass(frozen=True)
class Predicted:
    """Predictions of a fit for the items with a known true label.

    Attributes
    ----------
    sure : array, shape (item,)
        The probability of the most probable label.
    right : array of bool, shape (item,)
        Whether that label is the true one.
    log_score : array, shape (item,)
        The log probability of the true label, -inf if that is 0.
    brier : array, shape (item,)
        The squared distance of the probabilities from 1 (true label) and 0 (other labels).
    """

    sure: np.ndarray
    right: np.ndarray
    log_score: np.ndarray
    brier: np.ndarray


def calibration_table(
    fit: xr.DataTree | FitView,
    *,
    bins: int = BINS,
    equal_counts: bool = False,
    ci_prob: float | None = None,
    cumulative: bool = False,
    order: str | Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return how often labels are right, by their probability in the fit: a reliability table.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of data with gold.
    bins : int, default 10
        Number of bins of equal width in [0, 1] for the probability of an item's most probable label.
    equal_counts : bool, default False
        Whether bins have equal numbers of items in place of equal widths. Equal probabilities are in one bin, so there
        may be fewer bins.
    ci_prob : float, optional
        The confidence level of the (Wilson) intervals for the share of right labels; by default as in `summary`.
    cumulative : bool, default False
        For ordered labels: check the probabilities that the true grade is at most that of a label, for every label but
        the highest, instead of the probability of the most probable label. Only this shows whether uncertain items are
        wrongly placed in lower or higher grades.
    order : str or sequence of str, optional
        The labels from the lowest to the highest, as for `grade_table`; only with `cumulative`.

    Returns
    -------
    pandas.DataFrame
        One row per nonempty bin: `from` (exclusive) and `to`; `n`, the number of items; `predicted`, the mean
        probability of their most probable label; `right`, the share of these labels that are true; `ci89_lb` and
        `ci89_ub` (named by `ci_prob`).
        For data with several dimensions, the bins of each dimension with gold; `dimension` is the first column.
        Controls are left out. With `cumulative`, `n` counts pairs of an item and a label, `right` is the share of pairs
        in which the true grade is at most the label's, and intervals treat items as clusters (Korn and Graubard 1998).

    Raises
    ------
    FitError
        If there are no gold labels apart from controls, or the model gives item types instead of labels.
    DataError
        If `bins` or `ci_prob` is out of range; with `cumulative`, if the order of the labels is unknown; without, if
        `order` is given.

    Examples
    --------
    >>> import bayesanno as ba
    >>> how = {"method": "vb", "check": False, "random_seed": 1, "progressbar": False}
    >>> fit = ba.fit("one_coin", ba.read_annotations("@crowd"), **how)
    >>> int(ba.calibration_table(fit)["n"].sum())
    300
    """
    ci_prob = choose_prob(ci_prob)
    check_at_least("bins", bins, 1, DataError)
    view = view_for_table(fit)
    if order is not None and not cumulative:
        raise DataError("order applies only with cumulative=True: leave it out")

    def tabulate(part: FitPart) -> pd.DataFrame:
        if cumulative:
            return _tabulate_grades(view, part, bins, equal_counts, ci_prob, order)
        predicted = _predict(part)
        edges = find_edges(predicted.sure, bins, equal_counts=equal_counts)
        return tabulate_reliability(predicted.sure, predicted.right, edges, ci_prob)

    return concat_parts(_scored_parts(view), tabulate)


def calibration_scores(
    fit: xr.DataTree | FitView,
    *,
    bins: int = BINS,
    ci_prob: float | None = None,
    resamples: int = 1000,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Return scores of a fit's label probabilities, with bootstrap intervals over items.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of data with gold.
    bins : int, default 10
        Number of bins for the calibration error, as in `calibration_table`.
    ci_prob : float, optional
        The confidence level of the bootstrap intervals; by default as in `summary`.
    resamples : int, default 1000
        Number of bootstrap resamples of the items; 0 for no intervals.
    random_seed : int, optional

    Returns
    -------
    pandas.DataFrame
        Four rows with `score`, `value`, `ci89_lb` and `ci89_ub` (named by `ci_prob`), and `n` (items):

        * `accuracy`;
        * `log_score`: the mean log probability of the true label, -inf if one of them has probability 0;
        * `brier`: the mean squared distance of the probabilities from the truth, between 0 and 2;
        * `calibration_error`: the expected calibration error (Guo et al. 2017), the absolute difference between the
          share of right labels and the predicted share, averaged over items by bin. It is biased upwards for few items,
          and more so in resamples. The interval is therefore mirrored at the value, which corrects for most of the
          bias, and cut at 0. On simulated data, 95% intervals covered the true error in 86 to 93%.

        For data with several dimensions, the rows of each dimension with gold; `dimension` is the first column.

    Raises
    ------
    FitError
        As for `calibration_table`; also if the seed is invalid.
    DataError
        If `ci_prob` or the number of resamples is out of range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> how = {"method": "vb", "check": False, "random_seed": 1, "progressbar": False}
    >>> fit = ba.fit("one_coin", ba.read_annotations("@crowd"), **how)
    >>> scores = ba.calibration_scores(fit, random_seed=1).set_index("score")
    >>> round(float(scores.loc["accuracy", "value"]), 2)
    0.95
    """
    ci_prob = check_resampling(ci_prob, resamples, random_seed)
    check_at_least("bins", bins, 1, DataError)

    def tabulate(part: FitPart) -> pd.DataFrame:
        return tabulate_scores(_predict(part), bins, ci_prob, resamples, random_seed)

    return concat_parts(_scored_parts(view_for_table(fit)), tabulate)


def predict_all(view: FitView, gold: Mapping[str, Mapping[str, str]] | None = None) -> Predicted | None:
    """Return a fit's predictions for the items with a known true label, over all dimensions; None without any.

    Gold labels by dimension may be given, in place of the fit's own.
    """
    parts = [part for part in parts_of(view) if part.kind == "labels"]
    each = [_predict(part, None if gold is None else gold.get(part.dimension, {})) for part in parts]
    each = [one for one in each if one.right.size]
    if not each:
        return None
    return Predicted(*(np.concatenate([getattr(one, of) for one in each]) for of in Predicted.__annotations__))


def tabulate_scores(
    predicted: Predicted,
    bins: int,
    ci_prob: float,
    resamples: int,
    random_seed: int | None,
    *,
    units: int | None = None,
) -> pd.DataFrame:
    """Return the table of `calibration_scores`.

    If items come in `units` of one size, one unit after another, whole units are resampled.
    """
    n = predicted.right.size
    units = n if units is None else units
    values = _measure(predicted, bins, np.ones((units, 1)))[:, 0]  # (score,)
    names = name_bounds("ci", ci_prob)
    table = pd.DataFrame({"score": list(SCORES), "value": values} | dict.fromkeys(names, np.nan) | {"n": n})
    if resamples:
        parts = [_measure(predicted, bins, weights) for weights in resample_items(units, resamples, random_seed)]
        drawn = np.concatenate(parts, axis=1)  # (score, resample)
        tails = [(1 + ci_prob) / 2, (1 - ci_prob) / 2]
        mirrored = 2 * values[-1] - np.quantile(drawn[-1], tails)
        drawn[~np.isfinite(drawn)] = np.nan  # a log score of -inf has no interval
        low, high = bound(values[:-1], drawn[:-1], ci_prob)
        table[names[0]], table[names[1]] = [*low, max(mirrored[0], 0.0)], [*high, max(mirrored[1], 0.0)]
    return table


def _measure(predicted: Predicted, bins: int, weights: np.ndarray) -> np.ndarray:
    """Return scores (score, resample) of items in units with weights (unit, resample)."""
    n = predicted.right.size
    possible = np.isfinite(predicted.log_score)  # (item,); -inf times a weight of 0 would be nan
    finite = np.where(possible, predicted.log_score, 0.0)
    away = np.zeros((bins, n))
    away[_find_bins(predicted.sure, find_edges(predicted.sure, bins)), np.arange(n)] = predicted.right - predicted.sure
    of_items = np.vstack([predicted.right, finite, predicted.brier, ~possible, away])  # (what, item)
    sums = of_items.reshape(len(of_items), len(weights), -1).sum(axis=2) @ weights  # (what, resample)
    means = sums[:3] / n
    means[1, sums[3] > 0] = -np.inf
    return np.vstack([means, np.abs(sums[4:]).sum(axis=0) / n])


def _tabulate_grades(
    view: FitView, part: FitPart, bins: int, equal_counts: bool, ci_prob: float, order: Sequence[str] | None
) -> pd.DataFrame:
    graded = grade_items(view, part, order)
    at, names = _find_known(part, part.gold)
    truth = pd.Index(graded.labels).get_indexer(pd.Index(names))  # (item,)
    is_graded = truth >= 0
    if not is_graded.any():
        raise FitError(f"no gold label is among the labels {listed(graded.labels)}: {listed(names, most=3)}")
    truth = truth[is_graded]
    at_most = graded.at_most[np.array(at)[is_graded], :-1]  # (item, label)
    right = truth[:, None] <= np.arange(at_most.shape[1])
    sure = at_most.ravel().clip(max=1)
    edges = find_edges(sure, bins, equal_counts=equal_counts)
    return tabulate_reliability(sure, right.ravel(), edges, ci_prob, units=len(at_most))


def tabulate_reliability(
    sure: np.ndarray, right: np.ndarray, edges: np.ndarray, ci_prob: float, *, units: int | None = None
) -> pd.DataFrame:
    """Return the table of `calibration_table` from probabilities (item,), outcomes (item,) and the edges of bins.

    Items are independent (Wilson's interval), or come in `units` of one size, one unit after another.
    """
    bin_of = _find_bins(sure, edges)
    rows = []
    for number in np.unique(bin_of):
        own = bin_of == number
        row = {"from": float(edges[number]), "to": float(edges[number + 1]), "n": int(own.sum())}
        row |= {"predicted": float(sure[own].mean()), "right": float(right[own].mean())}
        if units is None:
            low, high = bound_proportion(right[own].sum(), own.sum(), ci_prob)
            ends = float(low), float(high)
        else:
            counts, totals = (which.reshape(units, -1).sum(axis=1) for which in (own & right, own))
            ends = bound_share(counts, totals, ci_prob)
        rows.append(row | dict(zip(name_bounds("ci", ci_prob), ends, strict=True)))
    return pd.DataFrame(rows)


def bound_share(counts: np.ndarray, totals: np.ndarray, ci_prob: float) -> tuple[float, float]:
    """Return the ends of an interval for a share in clustered data (Korn and Graubard 1998).

    Parameters
    ----------
    counts, totals : arrays (cluster,)
        The number of successes and of units in each cluster. Clusters are independent.
    ci_prob : float

    Returns
    -------
    low, high : float
        The Clopper-Pearson interval with the effective number of units: the number of independent units that would vary
        as much as the clusters do, at most the actual number. If all units are successes, or none, each cluster counts
        as one unit.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.criticism.calibration import bound_share
    >>> alike = bound_share(np.array([0, 10] * 50), np.full(100, 10), 0.95)  # in a cluster all are, or none is
    >>> [round(end, 2) for end in alike]
    [0.4, 0.6]
    """
    from scipy.stats import beta

    there = totals > 0
    counts, totals = counts[there], totals[there]
    n_clusters, n, share = totals.size, totals.sum(), counts.sum() / totals.sum()
    effective = float(n_clusters)
    if 0 < share < 1 and n_clusters > 1:
        variance = ((counts - share * totals) ** 2).sum() * n_clusters / (n_clusters - 1) / n**2
        effective = min(n, share * (1 - share) / variance) if variance else n
    counted, tail = share * effective, (1 - ci_prob) / 2
    low = beta.ppf(tail, counted, effective - counted + 1) if share else 0.0
    high = beta.ppf(1 - tail, counted + 1, effective - counted) if share < 1 else 1.0
    return float(low), float(high)


def find_edges(sure: np.ndarray, bins: int, *, equal_counts: bool = False) -> np.ndarray:
    """Return the edges of bins of equal width, or with equal numbers of these probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.criticism.calibration import find_edges
    >>> find_edges(np.array([0.5, 0.7, 0.9, 1, 1, 1]), 3, equal_counts=True).tolist()
    [0.5, 0.7, 1.0]
    """
    edges = np.arange(bins + 1) / bins
    if not equal_counts:
        return edges
    return np.concatenate([[sure.min()], np.unique(np.quantile(sure, edges[1:], method="inverted_cdf"))])


def _find_bins(sure: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the bin of each probability; a bin includes its upper end."""
    return np.clip(np.searchsorted(edges, sure) - 1, 0, len(edges) - 2)


def _predict(part: FitPart, gold: Mapping[str, str] | None = None) -> Predicted:
    at, names = _find_known(part, part.gold if gold is None else gold)
    return score_probabilities(part.posterior.values[at], pd.Index(part.states).get_indexer(pd.Index(names)))


def _find_known(part: FitPart, known: Mapping[str, str]) -> tuple[list[int], list[str]]:
    """Return the rows and the labels of items with a known true label that are not controls."""
    controls = part.data.controls if known else {}
    at = [row for row, item in enumerate(part.data.items) if item in known and item not in controls]
    return at, [known[part.data.items[row]] for row in at]


def score_probabilities(probability: np.ndarray, truth: np.ndarray) -> Predicted:
    """Score probabilities (item, label) against codes of true labels (item,); -1 for a label outside the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.criticism.calibration import score_probabilities
    >>> score_probabilities(np.array([[0.75, 0.25]]), np.array([1])).right
    array([False])
    """
    n = len(truth)
    of_truth = np.where(truth >= 0, probability[np.arange(n), truth], 0.0) if n else np.empty(0)
    best = probability.argmax(axis=1)
    with np.errstate(divide="ignore"):
        log_score = np.log(of_truth)
    # (1 - p)^2 + the squares of the others
    return Predicted(probability.max(axis=1), best == truth, log_score, 1 - 2 * of_truth + (probability**2).sum(axis=1))


def _scored_parts(view: FitView) -> list[FitPart]:
    parts = require(view, "labels", "a study of calibration")
    scored = [part for part in parts if part.gold and _predict(part).right.size]
    if not scored:
        but = " of an item that is not a control" if any(part.gold for part in parts) else ""
        raise FitError(f"no gold label is known{but}: read the data with a gold column, or with {option('gold_file')}")
    return scored
