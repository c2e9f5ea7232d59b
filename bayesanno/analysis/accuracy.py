"""Accuracy against gold, of all items and of the surest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bayesanno.agreement.alpha import divide
from bayesanno.agreement.vote import vote_right
from bayesanno.analysis.caution import view_for_table
from bayesanno.analysis.labels import check_coverage, n_kept
from bayesanno.analysis.parts import FitPart, concat_parts, parts_of
from bayesanno.fits.view import FitView, view_of
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import pd, xr

SCORED = {"accuracy": 1.0, "accuracy_at_90": 0.9, "accuracy_at_75": 0.75}  # which coverages `score` reports


def coverage_table(fit: xr.DataTree | FitView, coverages: Sequence[float] | None = None) -> pd.DataFrame:
    """Return the accuracy of the labels when only the surest items are kept.

    Items are kept by increasing entropy; accuracy is over the kept items whose gold label is known.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    coverages : sequence of float, optional
        Shares of items in (0, 1]; by default 0.05, 0.1, ..., 1.

    Returns
    -------
    pandas.DataFrame
        One row per coverage: `coverage`, `n_items` kept, `max_entropy` among them (nats), `n_gold`, `accuracy`.
        With several dimensions, those of each dimension with gold, `dimension` first.

    Raises
    ------
    FitError
        If no gold label is known, the states of the items are types and not labels, or a coverage is out of its range.

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
    parts = [part for part in parts_of(view) if part.gold]
    if not parts:
        raise FitError("no gold label is known: read the data with a gold column, or with gold_file=...")
    if any(part.is_of_types for part in parts):
        raise FitError(f"{view.model.name} gives types of items, not their labels")
    return concat_parts(parts, lambda part: _cover_part(part, shares))


def _cover_part(part: FitPart, coverages: Sequence[float]) -> pd.DataFrame:
    return measure_coverage(part.entropy, part.right, coverages)


def measure_coverage(entropy: np.ndarray, right: np.ndarray, coverages: Sequence[float]) -> pd.DataFrame:
    """Return how many items are kept at each coverage, and how accurate labels are there; see `coverage_table`.

    Parameters
    ----------
    entropy : array, shape (item,)
        The items of least entropy are kept.
    right : array, shape (item,)
        Whether, or how probably, an item's label is right; nan where the truth is not known.
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


def score(fit: xr.DataTree | FitView) -> dict[str, Any]:
    """Return accuracy against gold: over all items, and over the surest 90% and 75% of them.

    Returns
    -------
    dict
        `accuracy`, `accuracy_at_90` and `accuracy_at_75`; of several dimensions, each by the dimensions with gold.
        Empty where no gold is known, or the states of the items are types and not labels.
    """
    scored = {part.dimension: score_part(part) for part in parts_of(view_of(fit))}
    if "" in scored:
        return scored[""]
    with_gold = {dimension: own for dimension, own in scored.items() if own}
    return {name: {dimension: own[name] for dimension, own in with_gold.items()} for name in SCORED if with_gold}


def score_part(part: FitPart) -> dict[str, float]:
    """Return `score` for one table of items."""
    if not part.gold or part.is_of_types:
        return {}
    return dict(zip(SCORED, _cover_part(part, list(SCORED.values()))["accuracy"].tolist(), strict=True))


class Errors(NamedTuple):
    """Expected and actual numbers of wrong labels, on items whose true label is known.

    Attributes
    ----------
    n : int
        Items whose true label is known.
    expected, made : float
        The sum of 1 - p over the most probable labels, and how many of these are wrong.
    p : float
        The chance of this many errors, or more, if the probabilities were right: by a Poisson distribution, which is a
        little wider than that of the sum.
    vote : float
        The number of errors of the majority vote; a tie counts as a share of one.
    p_vote : float
        The chance that labels are worse than the vote by this much, or more, if both were equally good: by the normal
        distribution, over items.
    """

    n: int
    expected: float
    made: float
    p: float
    vote: float
    p_vote: float


def count_errors(part: FitPart) -> Errors | None:
    """Count errors that are expected and made; None where no true label is known, or the states are types.

    Examples
    --------
    >>> import bayesanno as ba
    >>> from bayesanno.analysis.accuracy import count_errors
    >>> from bayesanno.analysis.parts import part_of
    >>> from bayesanno.fits.view import view_of
    >>> fit = ba.fit("one_coin", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    >>> errors = count_errors(part_of(view_of(fit), None))
    >>> errors.n, errors.made, round(errors.vote)
    (300, 20.0, 28)
    """
    from scipy.stats import norm, poisson

    if not part.gold or part.is_of_types:
        return None
    right, probability = part.right, part.posterior.values.max(axis=1)
    known = np.isfinite(right)
    made, expected = float((1 - right[known]).sum()), float((1 - probability[known]).sum())
    by_vote = np.nan_to_num(vote_right(part.data)[known])
    worse = by_vote - right[known]
    p_vote = norm.sf(worse.sum() / np.sqrt((worse**2).sum())) if worse.any() else 1.0
    vote = float((1 - by_vote).sum())
    return Errors(int(known.sum()), expected, made, float(poisson.sf(made - 1, expected)), vote, float(p_vote))
