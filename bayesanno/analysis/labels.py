"""The table of labels: the posterior of each item's true label or type, and the accuracy of the most certain ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesanno._core.intervals import bound_proportion
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import FitError, option
from bayesanno.analysis.views import view_for_table
from bayesanno.data.labelled import divide
from bayesanno.fits.view import FitPart, FitView, concat_parts, parts_of, require, require_states, view_of


def label_table(fit: xr.DataTree | FitView, *, coverage: float | None = None) -> pd.DataFrame:
    """Return the posterior of each item's true label, or of its type in models of item types.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    coverage : float, optional
        The share of items to keep, in (0, 1]: those with the lowest entropy. Adds the column `kept`.

    Returns
    -------
    pandas.DataFrame
        One row per item, in the data's order: `item`, `label` (the most probable one), `winner` (of comparisons: the
        system that the label names; a tie is its label), `probability` (of that label), `entropy` (nats),
        `n_annotations`, `p[<label>]` for each label, `model_probability` and `model_p[<label>]` (of adjusted or
        recalibrated labels: by the model alone), `weight` (1 minus the entropy as a share of its maximum: 1 if the
        label is certain, 0 if all are equally probable), `agreement` (the share of the item's answers that are this
        label), `vote` (the label of most answers, as in `majority_vote`; "" without answers), `gold` if any is known,
        `kept`. Soft labels to train on are `p[...]`, or `label` with `weight`. cleanlab's `label_quality` is `label`,
        `probability`, `agreement` and `n_annotations`, and its `pred_probs` are `p[...]`.

        Models with item difficulties add `difficulty`, its posterior mean. Models that allow for items whose true label
        nobody gave add `p_none`; that probability is spread over the labels not given. For data with several
        dimensions, one row per dimension and item; `dimension` is the first column. Models of item types have
        `item_type` (the most probable one) in place of `label`, `p[<type>]` for each type, and `hard`, the probability
        that the item is of the hard type. For counts, the columns are `item`, `p[<type>]` for each type, `successes`,
        `trials`, `hard`, `kept`.

    Raises
    ------
    FitError
        If the coverage is out of range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.label_table(fit, coverage=0.9).query("not kept")  # doctest: +SKIP
    """
    view = view_for_table(fit)
    return tabulate_labels(require_states(view, "label_table"), coverage)


def tabulate_labels(parts: Sequence[FitPart], coverage: float | None = None) -> pd.DataFrame:
    """Return the label table of a posterior of states, for the items of a fit or new ones."""
    check_coverage(coverage)

    def tabulate(part: FitPart) -> pd.DataFrame:
        table = part.tabulate()
        if coverage is not None:
            kept = np.zeros(len(table), dtype=bool)
            kept[np.argsort(part.entropy, kind="stable")[: n_kept(len(table), coverage)]] = True
            table["kept"] = kept
        return table

    table = concat_parts(parts, tabulate)
    ending = [
        name for name in ("weight", "agreement", "vote", "p_none", "gold", "kept") if name in table
    ]  # after the labels of all dimensions
    return table[[name for name in table if name not in ending] + ending]


def check_coverage(coverage: float | None) -> None:
    """Raise a FitError if a coverage is given that is not a share of items."""
    if coverage is not None and not 0 < coverage <= 1:
        raise FitError(f"coverage is {coverage}: it must be above 0 and at most 1")


def n_kept(n_items: int, coverage: float) -> int:
    """Return how many items a coverage keeps: rounded to the nearest number, and at least one.

    Examples
    --------
    >>> from bayesanno.analysis.labels import n_kept
    >>> n_kept(800, 0.9)
    720
    """
    return max(1, round(coverage * n_items))


SCORED = {"accuracy": 1.0, "accuracy_at_90": 0.9, "accuracy_at_75": 0.75}  # which coverages `score` reports


def coverage_table(fit: xr.DataTree | FitView, coverages: Sequence[float] | None = None) -> pd.DataFrame:
    """Return the accuracy of the labels when only the most certain items are kept.

    Items are kept in order of increasing entropy. Accuracy is computed over the kept items with a gold label.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    coverages : sequence of float, optional
        Shares of items in (0, 1]; by default 0.05, 0.1, ..., 1.

    Returns
    -------
    pandas.DataFrame
        One row per coverage: `coverage`, `n_items` kept, `max_entropy` among them (nats), `n_gold`, `accuracy`.
        For data with several dimensions, one row per dimension with gold and coverage; `dimension` is the first column.

    Raises
    ------
    FitError
        If there are no gold labels, the model gives item types instead of labels, or a coverage is out of range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.coverage_table(fit, [0.75, 0.9, 1])  # doctest: +SKIP
    """
    shares = list(np.arange(1, 21) / 20) if coverages is None else list(coverages)
    for coverage in shares:
        check_coverage(coverage)
    view = view_for_table(fit)
    parts = [part for part in require(view, "labels", "coverage_table") if part.gold]
    if not parts:
        raise FitError(f"no gold label is known: read the data with a gold column, or with {option('gold_file')}")
    return concat_parts(parts, lambda part: _cover_part(part, shares))


def _cover_part(part: FitPart, coverages: Sequence[float]) -> pd.DataFrame:
    return measure_coverage(part.entropy, part.right, coverages)


def measure_coverage(entropy: np.ndarray, right: np.ndarray, coverages: Sequence[float]) -> pd.DataFrame:
    """Return how many items are kept at each coverage, and how accurate labels are there; see `coverage_table`.

    Parameters
    ----------
    entropy : array, shape (item,)
        The items with the lowest entropy are kept.
    right : array, shape (item,)
        Whether an item's label is right, or the probability that it is; nan where the truth is unknown.
    coverages : sequence of float
    """
    order = np.argsort(entropy, kind="stable")
    n = np.array([n_kept(order.size, coverage) for coverage in coverages])
    n_gold = np.isfinite(right[order]).cumsum()[n - 1]
    return pd.DataFrame(
        {
            "coverage": np.array(coverages, dtype=float),
            "n_items": n,
            "max_entropy": entropy[order[n - 1]],
            "n_gold": n_gold,
            "accuracy": divide(np.nan_to_num(right[order]).cumsum()[n - 1], n_gold),
        }
    )


def bound_accuracy(table: pd.DataFrame, ci_prob: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of Wilson's interval for each accuracy of a coverage table; nan where no label is known."""
    n, accuracy = table[["n_gold", "accuracy"]].to_numpy().T
    return bound_proportion((n * accuracy).round(), n, ci_prob)


def score(fit: xr.DataTree | FitView) -> dict[str, Any]:
    """Return accuracy against gold: over all items, and over the most certain 90% and 75%.

    Returns
    -------
    dict
        `accuracy`, `accuracy_at_90` and `accuracy_at_75`; for data with several dimensions, each maps the dimensions
        with gold to values. Empty without gold, or if the model gives item types instead of labels.
    """
    scored = {part.dimension: score_part(part) for part in parts_of(view_of(fit))}
    if "" in scored:
        return scored[""]
    with_gold = {dimension: own for dimension, own in scored.items() if own}
    return {name: {dimension: own[name] for dimension, own in with_gold.items()} for name in SCORED if with_gold}


def score_part(part: FitPart) -> dict[str, float]:
    """Return `score` for one table of items."""
    if part.kind != "labels" or not part.gold:
        return {}
    return dict(zip(SCORED, _cover_part(part, list(SCORED.values()))["accuracy"].tolist(), strict=True))
