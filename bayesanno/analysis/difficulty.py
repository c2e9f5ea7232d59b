"""Items by difficulty, with intervals."""

from __future__ import annotations

import numpy as np

from bayesanno._core.intervals import choose_prob, name_bounds
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import FitError
from bayesanno.analysis.labels import label_table
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.view import FitView


def difficulty_table(fit: xr.DataTree | FitView, *, ci_prob: float | None = None) -> pd.DataFrame:
    """Return the difficulty of each item, the hardest first.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of a model with item difficulties: `item_difficulty`.
    ci_prob : float, optional
        The probability of the intervals, with equal tails; by default as in `summary`.

    Returns
    -------
    pandas.DataFrame
        One row per item: `item`; `difficulty_mean`, `difficulty_sd`, `difficulty_eti89_lb` and `difficulty_eti89_ub`,
        the posterior of its difficulty on the log-odds scale, with the average item at 0 (computed on
        bins of 0.25 between -8 and 8); `expected_accuracy`, the probability that a
        random annotator is right; `n_annotations`, `label` (the most probable one), `probability` (of that label), and
        `gold` if any is known. Rows are sorted by `difficulty_mean`. The posterior of an item without answers is the
        distribution of difficulty over all items.

    Raises
    ------
    FitError
        If the model has no item difficulties.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd_difficulty")  # doctest: +SKIP
    >>> ba.difficulty_table(fit).head(3)  # doctest: +SKIP
    """
    view = view_for_table(fit)
    if not view.derives("difficulty"):
        raise FitError(f"the items of {view.model.name} have no difficulty: fit item_difficulty")
    ci_prob = choose_prob(ci_prob)
    lower, upper = name_bounds("eti", ci_prob, "difficulty")
    latent, labels = view.latents[""], label_table(view)
    found = latent["difficulty_probability"]
    centres = found[found.dims[1]].values.astype(float)
    low, high = bound_bins(found.values, centres, ci_prob)
    table = labels[["item"]].assign(
        difficulty_mean=latent["difficulty"].values,
        difficulty_sd=_measure_sd(found.values, centres),
        **{lower: low, upper: high},
        expected_accuracy=latent["expected_accuracy"].values,
    )
    rest = [name for name in ("n_annotations", "label", "probability", "gold") if name in labels]
    table[rest] = labels[rest]
    return table.sort_values("difficulty_mean", ascending=False, kind="stable", ignore_index=True)


def bound_bins(probability: np.ndarray, centres: np.ndarray, ci_prob: float) -> list[np.ndarray]:
    """Return the ends of intervals of equal tails, (item,) each, for densities that are uniform within equal bins.

    Parameters
    ----------
    probability : array, shape (item, bin)
    centres : array, shape (bin,)
    ci_prob : float

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.analysis.difficulty import bound_bins
    >>> low, high = bound_bins(np.array([[0.0, 0.5, 0.5]]), np.array([0.0, 1.0, 2.0]), 0.9)
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.6], [2.4])
    """
    half = (centres[1] - centres[0]) / 2
    edges = np.append(centres - half, centres[-1] + half)  # (edge,)
    below = np.pad(probability.cumsum(axis=1), ((0, 0), (1, 0)))  # (item, edge)
    tails = ((1 - ci_prob) / 2, (1 + ci_prob) / 2)
    return [np.array([np.interp(tail, row, edges) for row in below]) for tail in tails]


def _measure_sd(probability: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the standard deviation, (item,), corrected for the width of the bins (Sheppard)."""
    mean = probability @ centres
    variance = probability @ centres**2 - mean**2 - (centres[1] - centres[0]) ** 2 / 12
    return np.sqrt(np.maximum(variance, 0))
