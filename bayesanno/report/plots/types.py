"""Figures of item types, from a fit: predictions of each type against observed counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

import numpy as np
from matplotlib.figure import Figure

from bayesanno._core.intervals import CiKind, find_bounds
from bayesanno._core.lazy import xr
from bayesanno._core.messages import DataError, FitError
from bayesanno.agreement.histograms import count_histogram
from bayesanno.analysis.parameters import describe_draws
from bayesanno.analysis.views import view_for_table
from bayesanno.criticism.predictive import expected_by_type, expected_of_annotators
from bayesanno.fits.view import Fit, FitView
from bayesanno.modeling.item_types import ItemTypeModel
from bayesanno.modeling.posterior import take_draws
from bayesanno.report.plots import style
from bayesanno.simulation.quantities import ModelDraws

MOST_DRAWS = 500
MOST_TYPES = 5  # with a line each; of more, those that expect the fewest items are drawn as one
TOGETHER = "all together"


def plot_types(
    fit: Fit,
    *,
    label: str | None = None,
    ci_prob: float | None = None,
    ci_kind: CiKind = None,
    **options: Unpack[style.OneAxes],
) -> Figure:
    """Draw the histogram of positive answers, and over it the predictions of each type of item.

    Figures 1 to 4 of Beigman Klebanov and Beigman (2010), https://aclanthology.org/N10-1067, with uncertainty.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A model of item types, such as `binomial_mixture`, `diligent_lazy` or `easy_hard`.
    label : str, optional
        Of annotations, the label whose answers are counted; by default the last of two, or the commonest of more.
    ci_prob, ci_kind
        As in `summary`.
    figsize, title, ax
        As in `plot_coverage`.

    Returns
    -------
    matplotlib.figure.Figure
        Bars for observed counts; for each type, and for all together, the expected number of items, posterior mean and
        interval. All items in it have the same number of answers, the commonest one: the title says how many items
        these are.

    Raises
    ------
    FitError
        If the items of the model are not of types.
    DataError
        If there is no such label, or counts are of one label anyway.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("types")  # doctest: +SKIP
    >>> ba.plot_types(fit).savefig("types.png")  # doctest: +SKIP
    """
    view = view_for_table(fit)
    model = view.model
    if not view.derives("hard"):
        raise FitError(f"the items of {model.name} are not of types: fit binomial_mixture, diligent_lazy or easy_hard")
    draws = take_draws(view.posterior, MOST_DRAWS)
    seen, expected, counted = predict_counts(view, draws, label)  # (bin,), (draw, type, bin)
    names, expected = _join_small(list(model.states(view.data)), expected)

    axes, bins = style.open_axes(4.4, options), np.arange(seen.size)
    axes.bar(bins, seen, width=0.9, color=style.PALE, alpha=0.5, label="seen")
    curves = dict(zip(names, style.curve_styles(len(names)), strict=True))
    drawn = {name: expected[:, number] for number, name in enumerate(names)}
    if len(names) > 1:
        drawn[TOGETHER], curves[TOGETHER] = expected.sum(axis=1), {"linestyle": "-", "color": style.ACCENT}
    for name, values in drawn.items():
        of_bins = xr.DataArray(values[None], dims=("chain", "draw", "bin"))
        described = describe_draws(of_bins, ci_prob, ci_kind)
        mean, *_, low, high = described.values()
        if np.isfinite(low).all():
            axes.fill_between(bins, low, high, color=[curves[name]["color"]], alpha=0.25, linewidth=0, zorder=1.5)
        width, above = (3.5, 2) if name == TOGETHER else (1.2, 3)  # a type that is nearly all coincides with the sum
        axes.plot(bins, mean, markersize=3.5, label=name, linewidth=width, zorder=above, **curves[name])
    axes.set(xlim=(-0.6, seen.size - 0.4), ylim=(0, None), ylabel="items")
    axes.set_xlabel(f"{counted} (of {seen.size - 1} to an item)", parse_math=False)
    axes.locator_params(axis="x", integer=True)
    which = f"{view.data.n_items:,} items"
    if seen.sum() < view.data.n_items:
        which = f"the {int(seen.sum()):,} of {which} with {seen.size - 1} answers"
    style.write_title(axes, f"what types predict of {which}: posterior mean and {find_bounds(described)[2]}")
    style.write_legend(axes, ncols=2)
    return style.finish(axes, **options)


def _join_small(names: list[str], expected: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Join the types that expect the fewest items, where there are too many to distinguish, (draw, type, bin)."""
    if len(names) <= MOST_TYPES:
        return [style.cut_name(name) for name in names], expected
    order = np.argsort(-expected.mean(axis=0).sum(axis=1), kind="stable")
    kept, joined = np.sort(order[: MOST_TYPES - 1]), order[MOST_TYPES - 1 :]
    rest = expected[:, joined].sum(axis=1, keepdims=True)
    shown = [*(style.cut_name(names[code]) for code in kept), "other types"]
    return shown, np.concatenate([expected[:, kept], rest], axis=1)


def predict_counts(view: FitView, draws: xr.Dataset, label: str | None) -> tuple[np.ndarray, np.ndarray, str]:
    """Return a histogram of counts (bin,), what draws expect of it by type (draw, type, bin), and what is counted."""
    data, drawn = view.data, ModelDraws(view.model, view.data, draws, view.known)
    if isinstance(view.model, ItemTypeModel):
        if label is not None:
            raise DataError(f"these data are counts of one label, and label is {label!r}: leave it out")
        kept = data.trials == np.bincount(data.trials[data.trials > 0]).argmax()
        names = tuple(name for name, keep in zip(data.items, kept, strict=True) if keep)
        same = replace(data, items=names, successes=data.successes[kept], trials=data.trials[kept])
        return count_histogram(same), expected_by_type(drawn._replace(data=same)), "successes"
    if label is None:
        code = 1 if data.n_labels == 2 else int(np.bincount(data.label, minlength=data.n_labels).argmax())
    elif label in data.labels:
        code = data.labels.index(label)
    else:
        raise DataError(f"there is no label {label!r}: choose one of {', '.join(data.labels)}")
    n = np.bincount(data.item, minlength=data.n_items)
    answers = int(np.bincount(n[n > 0]).argmax())
    items = np.flatnonzero(n == answers)
    seen = np.bincount(data.votes[items, code].astype(int), minlength=answers + 1).astype(float)
    expected = expected_of_annotators(drawn, items=items, label=code)
    return seen, expected, f"answers that are {style.cut_name(data.labels[code])!r}"
