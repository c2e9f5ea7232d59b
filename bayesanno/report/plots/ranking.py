"""Figures of a ranking of systems."""

from __future__ import annotations

from typing import Unpack

import numpy as np
from matplotlib.figure import Figure

from bayesanno.analysis.parameters import CI_PROB, CiKind
from bayesanno.analysis.ranking import ranking_table
from bayesanno.fits.view import FitView
from bayesanno.ground.lazy import pd, xr
from bayesanno.report.plots import style


def plot_ranking(
    fit: xr.DataTree | FitView,
    *,
    ci_prob: float = CI_PROB,
    ci_kind: CiKind = "hdi",
    **options: Unpack[style.Panels],
) -> Figure:
    """Draw the strength and the rank of every system, the strongest on top.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        Its model has a class prior with `Pairs`.
    ci_prob, ci_kind
        As in `ranking_table`.
    figsize, title
        As in `plot_labels`; a figure of several panels takes no `ax`.

    Returns
    -------
    matplotlib.figure.Figure
        Posterior means with intervals: on the left of the strength, on the scale of log odds; on the right of the
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
    table = ranking_table(fit, ci_prob=ci_prob, ci_kind=ci_kind)
    return style.finish(draw_ranking(table), **options)


def draw_ranking(table: pd.DataFrame) -> Figure:
    """Draw what `plot_ranking` does, of the table of `ranking_table`."""
    table, place, n = table.iloc[::-1], np.arange(len(table)), len(table)
    figure, (left, right) = style.new_figure(8, max(2.4, style.height_for(n)), 2, sharey=True)
    left.axvline(0, color=style.PALE, linewidth=0.8, linestyle="--", zorder=0)
    for axes, of in ((left, "strength"), (right, "rank")):
        low, high, _ = style.find_ends(table, f"{of}_")
        axes.hlines(place, table[low], table[high], color=style.PALE, linewidth=max(0.5, min(2.0, 120 / n)))
        axes.plot(table[f"{of}_mean"], place, "o", color=style.ACCENT, markersize=5 if n <= style.MOST_NAMES else 2)
    style.name_rows(left, table["system"].tolist(), longest=28)
    left.set(xlabel="strength (log odds, 0 on average)", ylabel="system", ylim=(-0.6, n - 0.4))
    left.locator_params(axis="x", nbins=6)
    right.set(xlabel="rank", xlim=(n + 0.5, 0.5))
    if n <= style.MOST_NAMES:
        for at, p in zip(place, table["p_best"], strict=True):
            right.text(1.01, at, f"{p:.0%}", transform=right.get_yaxis_transform(), va="center", fontsize=8)
        right.set_title("P(best)", fontsize=8, loc="right")
    style.write_title(left, f"strength of {n:,} systems: posterior mean and {style.find_ends(table, 'strength_')[2]}")
    return figure
