"""Figures of a ranking of systems."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from bayesanno.analysis.parameters import HDI_PROB
from bayesanno.analysis.ranking import ranking_table
from bayesanno.fits.view import FitView
from bayesanno.ground.lazy import pd, xr
from bayesanno.report.plots import style


def plot_ranking(
    fit: xr.DataTree | FitView, *, ci_prob: float = HDI_PROB, figsize: style.Size = None, title: bool = True
) -> Figure:
    """Draw the strength and the rank of every system, the strongest on top.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        Its model has a class prior with `Pairs`.
    ci_prob : float, default 0.94
        The probability of the intervals: highest density of strengths, equal tails of ranks.
    figsize, title
        As in `plot_labels`.

    Returns
    -------
    matplotlib.figure.Figure
        Posterior means with 94% intervals: on the left of the strength, on the scale of log odds; on the right of the
        rank, with the probability of being the best.

    Raises
    ------
    FitError
        If the model has no strengths of systems, or the fit is one point.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("ranking")  # doctest: +SKIP
    >>> ba.plot_ranking(fit).savefig("ranking.png")  # doctest: +SKIP
    """
    return style.finish(draw_ranking(ranking_table(fit, prob=ci_prob), ci_prob), figsize, title=title)


def draw_ranking(table: pd.DataFrame, ci_prob: float = HDI_PROB) -> Figure:
    """Draw what `plot_ranking` does, of the table of `ranking_table`."""
    table, percent = table.iloc[::-1], f"{100 * ci_prob:.6g}"
    place, n = np.arange(len(table)), len(table)
    figure, (left, right) = style.new_figure(8, max(2.4, style.height_for(n)), 2, sharey=True)
    left.axvline(0, color=style.PALE, linewidth=0.8, linestyle="--", zorder=0)
    for axes, mean, ends in (
        (left, "strength_mean", (f"strength_hdi{percent}_lb", f"strength_hdi{percent}_ub")),
        (right, "rank_mean", (f"rank_eti{percent}_lb", f"rank_eti{percent}_ub")),
    ):
        axes.hlines(place, table[ends[0]], table[ends[1]], color=style.PALE, linewidth=max(0.5, min(2.0, 120 / n)))
        axes.plot(table[mean], place, "o", color=style.ACCENT, markersize=5 if n <= style.MOST_NAMES else 2)
    style.name_rows(left, table["system"].tolist(), longest=28)
    left.set(xlabel="strength (log odds, 0 on average)", ylabel="system", ylim=(-0.6, n - 0.4))
    left.locator_params(axis="x", nbins=6)
    right.set(xlabel="rank", xlim=(n + 0.5, 0.5))
    if n <= style.MOST_NAMES:
        for at, p in zip(place, table["p_best"], strict=True):
            right.text(1.01, at, f"{p:.0%}", transform=right.get_yaxis_transform(), va="center", fontsize=8)
        right.set_title("P(best)", fontsize=8, loc="right")
    style.write_title(left, f"strength of {n:,} systems: posterior mean and {style.name_interval(ci_prob)}")
    return figure
