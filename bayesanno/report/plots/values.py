"""Figures of ratings, from a fit: the values of items, and the biases and noise of annotators."""

from __future__ import annotations

from typing import Unpack

import numpy as np
from matplotlib.figure import Figure

from bayesanno._core.intervals import CiKind, find_bounds
from bayesanno._core.messages import counted
from bayesanno.analysis.annotators import annotator_table
from bayesanno.analysis.values import value_table
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.view import Fit
from bayesanno.modeling.arguments import require_latents
from bayesanno.report.plots import style

MOST_VALUES = 60  # items that are drawn: of more, those at equal distances in the order of their values


def plot_values(fit: Fit, *, ci_prob: float | None = None, **options: Unpack[style.OneAxes]) -> Figure:
    """Draw the value of each item with its interval, the highest on top, beside the mean of its ratings.

    Of more than 60 items, 60 are drawn, at equal distances in the order of their values.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of `rating`.
    ci_prob
        As in `value_table`.
    figsize, title, ax
        As in `plot_coverage`.

    Raises
    ------
    FitError
        If the model gives no values.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("sliders")  # doctest: +SKIP
    >>> ba.plot_values(fit).savefig("values.png")  # doctest: +SKIP
    """
    table = value_table(fit, ci_prob=ci_prob).sort_values("value", kind="stable", ignore_index=True)
    low, high, interval = find_bounds(table)
    every = len(table)
    table = table.iloc[np.unique(np.linspace(0, every - 1, min(every, MOST_VALUES)).round().astype(int))]
    n, place = len(table), np.arange(len(table))
    axes = style.open_axes(max(2.4, style.height_for(n)), options)
    axes.hlines(place, table[low], table[high], color=style.PALE, linewidth=max(0.5, min(2.0, 120 / n)))
    axes.scatter(table["expected"], place, s=22, facecolor=style.ACCENT, zorder=3, label="expected rating")
    axes.scatter(
        table["mean_rating"], place, s=22, facecolor="white", edgecolor=style.INK, zorder=2, label="mean rating"
    )
    style.name_rows(axes, table["item"].tolist())
    style.print_beside(axes, [f"{number:,}" for number in table["n_ratings"]], "ratings")
    axes.set(ylim=(-0.6, n - 0.4), xlabel="value")
    some = f"{n} of {every:,} items" if n < every else counted(n, "item")
    style.write_title(axes, f"values of {some}, with {interval}s")
    style.write_legend(axes, ncols=2)
    return style.finish(axes, **options)


def plot_biases(
    fit: Fit, *, ci_prob: float | None = None, ci_kind: CiKind = None, **options: Unpack[style.OneAxes]
) -> Figure:
    """Draw the bias of each annotator, the most generous on top, and the standard deviation of the noise.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of `rating`.
    ci_prob, ci_kind
        As in `summary`.
    figsize, title, ax
        As in `plot_coverage`.

    Returns
    -------
    matplotlib.figure.Figure
        A point with an interval for each bias. The band around it is one standard deviation of the noise to each side:
        it holds about two thirds of the annotator's errors. At the right the standard deviation, with its interval.

    Raises
    ------
    FitError
        If the model gives no values.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("sliders")  # doctest: +SKIP
    >>> ba.plot_biases(fit).savefig("biases.png")  # doctest: +SKIP
    """
    view = view_for_table(fit)
    require_latents(view.model, view.named_data, "values", "plot_biases")
    table = annotator_table(view, ci_prob=ci_prob, ci_kind=ci_kind).sort_values("bias_mean", kind="stable")
    n, bias, sd = len(table), table["bias_mean"], table["sd_mean"]
    (low, high, interval), (sd_low, sd_high, _) = find_bounds(table, "bias"), find_bounds(table, "sd")
    axes, place = style.open_axes(max(2.4, style.height_for(n)), options), np.arange(n)
    axes.barh(place, 2 * sd, left=bias - sd, height=0.7, color=style.PALE, alpha=0.3, label="± sd of the noise")
    axes.axvline(0, color=style.PALE, linewidth=1, linestyle="--", zorder=0)
    axes.hlines(place, table[low], table[high], color=style.ACCENT, linewidth=max(0.5, min(2.0, 120 / n)))
    axes.scatter(bias, place, s=22, facecolor=style.ACCENT, edgecolor=style.INK, linewidth=0.8, zorder=3, label="bias")
    style.name_rows(axes, table["annotator"].tolist())
    ends = zip(sd, table[sd_low], table[sd_high], strict=True)
    style.print_beside(axes, [f"{mean:.2g} ({a:.2g}–{b:.2g})" for mean, a, b in ends], "sd")
    axes.use_sticky_edges = False
    axes.set(ylim=(-0.6, n - 0.4), xlabel="how much higher than others (dashed: 0)")
    style.write_title(axes, f"bias and noise of {counted(n, 'annotator')}, with {interval}s")
    style.write_legend(axes, ncols=2)
    return style.finish(axes, **options)
