"""Calibration: the probabilities of labels against how often they are right, on items whose true label is known.

The invariant: probabilities are scored by labels that the model did not see; items whose true label was given to it
(controls) are left out.

References
----------
G. W. Brier (1950), Verification of forecasts expressed in terms of probability, Monthly Weather Review 78(1), 1-3.
C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger (2017), On calibration of modern neural networks, ICML, pages 1321-1330,
arXiv:1706.04599 (the expected calibration error).
A. C. Davison and D. V. Hinkley (1997), Bootstrap methods and their application, section 5.2 (the mirrored interval).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayesanno.agreement.resampling import bound, check_resampling, resample_items
from bayesanno.analysis.caution import view_for_table
from bayesanno.analysis.grades import grade_items
from bayesanno.criticism.clusters import bound_share
from bayesanno.fits.parts import FitPart, concat_parts, parts_of
from bayesanno.fits.view import FitView
from bayesanno.ground.errors import DataError, FitError
from bayesanno.ground.lazy import pd, xr
from bayesanno.ground.validate import check_at_least
from bayesanno.ground.wording import listed

BINS = 10
SCORES = ("accuracy", "log_score", "brier", "calibration_error")


@dataclass(frozen=True)
class Predicted:
    """Predictions of a fit for the items whose true label is known.

    Attributes
    ----------
    sure : array, shape (item,)
        The probability of the most probable label.
    right : array of bool, shape (item,)
        Whether that label is the true one.
    log_score : array, shape (item,)
        The log probability of the true label, -inf where it has none.
    brier : array, shape (item,)
        The squared distance of the probabilities from 1 for the true label and 0 for the others.
    """

    sure: np.ndarray
    right: np.ndarray
    log_score: np.ndarray
    brier: np.ndarray


def calibration_table(
    fit: xr.DataTree | FitView,
    *,
    bins: int = BINS,
    confidence: float = 0.95,
    cumulative: bool = False,
    order: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return how often labels are right, by their probability in the fit: a reliability table.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        Of data with gold.
    bins : int, default 10
        Number of bins of equal width for the probability of an item's most probable label, in [0, 1].
    confidence : float, default 0.95
        Of the intervals (Wilson's) of the share that is right.
    cumulative : bool, default False
        Of labels in order: of all probabilities that the true grade is at most that of a label, for every label but the
        highest, in place of that of the most probable label. Whether an uncertain item is thought to be of a lower or
        of a higher grade shows here, and not there.
    order : sequence of str, optional
        For that: the labels from the lowest to the highest, as for `grade_table`.

    Returns
    -------
    pandas.DataFrame
        One row per bin that has an item: `from` (exclusive) and `to`, `n` items, `predicted`, the mean probability of
        their most probable label, `right`, the share of these labels that are true, `low` and `high`. Of several
        dimensions, those of each with gold, `dimension` first. Items whose label was given as a control are left out.
        Where it is cumulative, `n` counts pairs of an item and a label, `right` is the share of pairs whose true grade
        is at most the label's, and the interval is one of clusters, the items (Korn and Graubard 1998).

    Raises
    ------
    FitError
        If no gold label is known (of an item that is no control), or the states of the items are types and no labels.
    DataError
        If there is no bin, or the confidence is out of its range; if the order of the labels is not known, or is given
        where it is not used.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("one_coin", ba.read_annotations("@crowd"), method="vb", random_seed=1, progressbar=False)
    >>> int(ba.calibration_table(fit)["n"].sum())
    300
    """
    check_resampling(confidence, 0, None)
    check_at_least("bins", bins, 1, DataError)
    view = view_for_table(fit)
    if order is not None and not cumulative:
        raise DataError("order is for cumulative=True: without it the order of labels does not matter, so leave it out")

    def tabulate(part: FitPart) -> pd.DataFrame:
        if cumulative:
            return _tabulate_grades(view, part, bins, confidence, order)
        predicted = _predict(part)
        return tabulate_reliability(predicted.sure, predicted.right, bins, confidence)

    return concat_parts(_scored_parts(view), tabulate)


def calibration_scores(
    fit: xr.DataTree | FitView,
    *,
    bins: int = BINS,
    confidence: float = 0.95,
    resamples: int = 1000,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Return scores of a fit's probabilities of labels, with bootstrap intervals over items.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        Of data with gold.
    bins : int, default 10
        Of the calibration error, as in `calibration_table`.
    confidence : float, default 0.95
        Of the intervals.
    resamples : int, default 1000
        How often items are drawn again; 0 for no intervals.
    random_seed : int, optional

    Returns
    -------
    pandas.DataFrame
        Four rows: `score`, `value`, `low`, `high`, `n` (items). `accuracy`; `log_score`, the mean log probability of
        the true label, -inf if one had none; `brier`, the mean squared distance of the probabilities from the truth,
        between 0 and 2; `calibration_error`, the expected calibration error (Guo et al. 2017): the absolute difference
        between the share that is right and the predicted share, averaged over the items' bins. It is too large on
        average where items are few, and larger in resamples: the ends of its interval are mirrored at the value, which
        corrects for most of that, and cut at 0; on simulated data 95% intervals held the true error in 86 to 93%. Of
        several dimensions, those of each with gold, `dimension` first.

    Raises
    ------
    FitError
        As for `calibration_table`; if the seed cannot be.
    DataError
        If the confidence or the number of resamples is out of its range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("one_coin", ba.read_annotations("@crowd"), method="vb", random_seed=1, progressbar=False)
    >>> scores = ba.calibration_scores(fit, random_seed=1).set_index("score")
    >>> round(float(scores.loc["accuracy", "value"]), 2)
    0.95
    """
    check_resampling(confidence, resamples, random_seed)
    check_at_least("bins", bins, 1, DataError)

    def tabulate(part: FitPart) -> pd.DataFrame:
        return tabulate_scores(_predict(part), bins, confidence, resamples, random_seed)

    return concat_parts(_scored_parts(view_for_table(fit)), tabulate)


def predict_all(view: FitView, gold: Mapping[str, Mapping[str, str]] | None = None) -> Predicted | None:
    """Return a fit's predictions for the items whose true label is known, of all dimensions together; None without any.

    Gold labels of each dimension may be given, in place of the fit's own.
    """
    parts = [part for part in parts_of(view) if not part.is_of_types]
    each = [_predict(part, None if gold is None else gold.get(part.dimension, {})) for part in parts]
    each = [one for one in each if one.right.size]
    if not each:
        return None
    return Predicted(*(np.concatenate([getattr(one, of) for one in each]) for of in Predicted.__annotations__))


def tabulate_scores(
    predicted: Predicted,
    bins: int,
    confidence: float,
    resamples: int,
    random_seed: int | None,
    *,
    units: int | None = None,
) -> pd.DataFrame:
    """Return the table of `calibration_scores`.

    Items that come in so many units of one size, unit after unit, are drawn again by units.
    """
    n = predicted.right.size
    units = n if units is None else units
    values = _measure(predicted, bins, np.ones((units, 1)))[:, 0]  # (score,)
    table = pd.DataFrame({"score": list(SCORES), "value": values, "low": np.nan, "high": np.nan, "n": n})
    if resamples:
        parts = [_measure(predicted, bins, weights) for weights in resample_items(units, resamples, random_seed)]
        drawn = np.concatenate(parts, axis=1)  # (score, resample)
        tails = [(1 + confidence) / 2, (1 - confidence) / 2]
        mirrored = 2 * values[-1] - np.quantile(drawn[-1], tails)
        drawn[~np.isfinite(drawn)] = np.nan  # of a log score that is -inf: it has no interval
        low, high = bound(values[:-1], drawn[:-1], confidence)
        table["low"], table["high"] = [*low, max(mirrored[0], 0.0)], [*high, max(mirrored[1], 0.0)]
    return table


def _measure(predicted: Predicted, bins: int, weights: np.ndarray) -> np.ndarray:
    """Return the scores of items whose units have weights (unit, resample): (score, resample)."""
    n = predicted.right.size
    possible = np.isfinite(predicted.log_score)  # (item,); -inf would make what does not count nan
    finite = np.where(possible, predicted.log_score, 0.0)
    away = np.zeros((bins, n))
    away[_find_bins(predicted.sure, bins), np.arange(n)] = predicted.right - predicted.sure
    of_items = np.vstack([predicted.right, finite, predicted.brier, ~possible, away])  # (what, item)
    sums = of_items.reshape(len(of_items), len(weights), -1).sum(axis=2) @ weights  # (what, resample)
    means = sums[:3] / n
    means[1, sums[3] > 0] = -np.inf
    return np.vstack([means, np.abs(sums[4:]).sum(axis=0) / n])


def _tabulate_grades(
    view: FitView, part: FitPart, bins: int, confidence: float, order: Sequence[str] | None
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
    return tabulate_reliability(at_most.ravel().clip(max=1), right.ravel(), bins, confidence, units=len(at_most))


def tabulate_reliability(
    sure: np.ndarray, right: np.ndarray, bins: int, confidence: float, *, units: int | None = None
) -> pd.DataFrame:
    """Return the table of `calibration_table`, of probabilities (item,) and of what is true (item,).

    Items are independent, with Wilson's interval; or they come in so many units of one size, unit after unit.
    """
    from scipy.stats import binomtest

    bin_of = _find_bins(sure, bins)
    rows = []
    for number in np.unique(bin_of):
        own = bin_of == number
        row = {"from": number / bins, "to": (number + 1) / bins, "n": int(own.sum())}
        row |= {"predicted": float(sure[own].mean()), "right": float(right[own].mean())}
        if units is None:
            interval = binomtest(int(right[own].sum()), int(own.sum())).proportion_ci(confidence, method="wilson")
            low, high = float(interval.low), float(interval.high)
        else:
            counts, totals = (which.reshape(units, -1).sum(axis=1) for which in (own & right, own))
            low, high = bound_share(counts, totals, confidence)
        rows.append(row | {"low": low, "high": high})
    return pd.DataFrame(rows)


def _find_bins(sure: np.ndarray, bins: int) -> np.ndarray:
    """Return the bin of each probability; a bin holds its upper end."""
    return np.clip(np.ceil(sure * bins).astype(int) - 1, 0, bins - 1)


def _predict(part: FitPart, gold: Mapping[str, str] | None = None) -> Predicted:
    at, names = _find_known(part, part.gold if gold is None else gold)
    return score_probabilities(part.posterior.values[at], pd.Index(part.states).get_indexer(pd.Index(names)))


def _find_known(part: FitPart, known: Mapping[str, str]) -> tuple[list[int], list[str]]:
    """Return the rows of the items whose true label is known and was not given to the fit, and these labels."""
    controls = part.data.controls if known else {}
    at = [row for row, item in enumerate(part.data.items) if item in known and item not in controls]
    return at, [known[part.data.items[row]] for row in at]


def score_probabilities(probability: np.ndarray, truth: np.ndarray) -> Predicted:
    """Score probabilities (item, label) by the number of each item's true label (item,), -1 where it is none of them.

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
    parts = parts_of(view)
    if any(part.is_of_types for part in parts):
        raise FitError(f"{view.model.name} gives types of items, not their labels")
    scored = [part for part in parts if part.gold and _predict(part).right.size]
    if not scored:
        but = " of an item whose label was not given as a control" if any(part.gold for part in parts) else ""
        raise FitError(f"no gold label is known{but}: read the data with a gold column, or with gold_file=...")
    return scored
