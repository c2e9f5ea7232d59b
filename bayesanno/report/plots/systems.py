"""Figures of systems: their ranking, and groups of items such as the outputs of each."""

from __future__ import annotations

from typing import Unpack

import numpy as np
from matplotlib.figure import Figure

from bayesanno._core.intervals import CiKind, find_bounds
from bayesanno._core.lazy import pd
from bayesanno._core.messages import spanned
from bayesanno._core.validate import check_made
from bayesanno.analysis.ranking import ranking_table, win_table
from bayesanno.fits.view import Fit
from bayesanno.modeling.pairs import SUBSET
from bayesanno.report.plots import style

MOST_IN_MATRIX = 14  # with numbers in their cells,
MOST_WITH_ENDS = 6  # and with intervals
MOST_LABELS = 9  # with a panel each
NAME = 0.15  # inches of the name of a row, at least
BESIDE = 0.3  # between the marks of two sources


def plot_ranking(
    fit: Fit, *, ci_prob: float | None = None, ci_kind: CiKind = None, **options: Unpack[style.OneAxes]
) -> Figure:
    """Draw the strength of every system, the strongest on top, with its rank.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        Its model has a class prior with `Pairs`.
    ci_prob, ci_kind
        As in `ranking_table`.
    figsize, title, ax
        As in `plot_coverage`.

    Returns
    -------
    matplotlib.figure.Figure
        Posterior means of strengths with intervals, on the scale of log odds; beside them the interval of the rank, and
        the probability of being the best.

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
    return draw_ranking(ranking_table(fit, ci_prob=ci_prob, ci_kind=ci_kind), **options)


def draw_ranking(table: pd.DataFrame, **options: Unpack[style.OneAxes]) -> Figure:
    """Draw what `plot_ranking` does, of the table of `ranking_table`; with subsets, the ranking of all items."""
    table = of_all_items(table).iloc[::-1]
    place, n = np.arange(len(table)), len(table)
    low, high, interval = find_bounds(table, "strength")
    axes = style.open_axes(max(2.4, style.height_for(n)), options)
    axes.axvline(0, color=style.PALE, linewidth=0.8, linestyle="--", zorder=0)
    axes.hlines(place, table[low], table[high], color=style.PALE, linewidth=max(0.5, min(2.0, 120 / n)))
    axes.plot(table["strength_mean"], place, "o", color=style.ACCENT, markersize=5 if n <= style.MOST_NAMES else 2)
    style.name_rows(axes, table["system"].tolist())
    first, last, _ = find_bounds(table, "rank")
    rows = table[[first, last, "p_best"]].to_numpy()
    style.print_beside(axes, [f"{spanned(f'{a:.0f}', f'{b:.0f}')}, {p:.0%}" for a, b, p in rows], "rank, P(best)")
    axes.set(xlabel="strength (log odds, 0 on average)", ylim=(-0.6, n - 0.4))
    axes.locator_params(axis="x", nbins=5)
    style.write_title(axes, f"strength of {n:,} systems: posterior mean and {interval}")
    return style.finish(axes, **options)


def plot_wins(
    fit: Fit, *, ci_prob: float | None = None, ci_kind: CiKind = None, **options: Unpack[style.OneAxes]
) -> Figure:
    """Draw the share that each system wins against each other one, as a matrix.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        Its model has a class prior with `Pairs`.
    ci_prob, ci_kind
        As in `win_table`.
    figsize, title, ax
        As in `plot_coverage`.

    Returns
    -------
    matplotlib.figure.Figure
        Each cell has the share of comparisons that judges like these say the row wins against the column, in percent,
        with ties as half a win; of up to 6 systems with its interval. The systems are in the order of the ranking.

    Raises
    ------
    FitError
        If the model has no strengths of systems, or the fit is one point.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("ranking")  # doctest: +SKIP
    >>> ba.plot_wins(fit).savefig("wins.png")  # doctest: +SKIP
    """
    wins = win_table(fit, ci_prob=ci_prob, ci_kind=ci_kind)
    low, high, interval = find_bounds(wins, "share_won")
    names = list(dict.fromkeys([*wins["first"], *wins["second"]]))
    n, place = len(names), {name: at for at, name in enumerate(names)}
    axes = style.open_axes(style.SQUARE, options)
    share, texts = np.full((n, n), np.nan), np.full((n, n), "", dtype=object)
    rows = wins[["first", "second", "share_won_mean", low, high]].itertuples(index=False)
    for first, second, *cell in rows:
        mean, lowest, highest = cell
        for a, b, one in ((first, second, cell), (second, first, (1 - mean, 1 - highest, 1 - lowest))):
            at = place[a], place[b]
            share[at], ends = one[0], f"\n{100 * one[1]:.0f}–{100 * one[2]:.0f}" if n <= MOST_WITH_ENDS else ""
            texts[at] = f"{100 * one[0]:.0f}{ends}"
    image = axes.imshow(share, cmap=style.BOTH_WAYS, vmin=0, vmax=1, alpha=0.7, interpolation="nearest")
    if n <= MOST_IN_MATRIX:
        style.print_cells(axes, texts, np.zeros((n, n), dtype=bool))
    style.add_scale(image, axes, "share that the row wins against the column")
    style.name_square(axes, names, np.zeros(n))
    style.write_title(axes, f"% won by the row{f', with {interval}' if n <= MOST_WITH_ENDS else ''}")
    return style.finish(axes, **options)


def of_all_items(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a ranking that are about all items, of one that may have subsets."""
    return table[table[SUBSET] == "all"] if SUBSET in table else table


def plot_groups(table: pd.DataFrame, **options: Unpack[style.Panels]) -> Figure:
    """Draw the share of each label in every group, and the mean grade where labels are in order.

    Parameters
    ----------
    table : DataFrame
        By `group_table`, without differences.
    figsize, title
        As in `plot_coverage`; a figure of several panels takes no `ax`.

    Returns
    -------
    matplotlib.figure.Figure
        A panel for each label of the table, and at most nine; groups from top to bottom, with the means and intervals
        of the table, the first source above.

    Raises
    ------
    FitError
        If the table is not one by `group_table`.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> fit = ba.fit("one_coin", data, method="vb", check=False, random_seed=1, progressbar=False)
    >>> system = {item: "old" if number < 150 else "new" for number, item in enumerate(data.items)}
    >>> figure = ba.plot_groups(ba.group_table(fit, system, use_gold=False, random_seed=1))
    >>> [axes.get_xlabel() for axes in figure.axes]
    ["share of 'billing'", "share of 'delivery'", "share of 'other'", "share of 'quality'"]
    """
    check_made(table, "DataFrame", "group_table", ["group", "source", "quantity", "label", "mean"])
    low, high, interval = find_bounds(table)
    wanted = list(dict.fromkeys(table["label"]))
    groups = list(dict.fromkeys(table["group"]))[::-1]  # from the bottom to the top
    sources = list(dict.fromkeys(table["source"]))
    shown = [label for label in wanted if label][: MOST_LABELS - ("" in wanted)] + [""] * ("" in wanted)
    height = min(style.height_for(len(groups) * len(sources)) - 0.8, style.MOST_INCHES / len(shown))
    figure, panels = style.new_grid(len(shown), 1, height)
    for axes, label in zip(panels, shown, strict=True):
        for place, source in enumerate(sources):
            rows = table[(table["label"] == label) & (table["source"] == source)].set_index("group").loc[groups]
            at = np.arange(len(groups)) + BESIDE * ((len(sources) - 1) / 2 - place)
            size, colour = 5 if len(groups) <= style.MOST_NAMES else 2, style.COLOURS[place]
            axes.hlines(at, rows[low], rows[high], color=style.PALE, linewidth=2)
            axes.plot(rows["mean"], at, style.MARKERS[place], color=colour, markersize=size, label=source)
        style.name_rows(axes, groups, most=min(style.MOST_NAMES, int(height / NAME)))
        name = style.cut_name(label)
        axes.set(ylim=(-0.6, len(groups) - 0.4), xlabel=f"share of {name!r}" if label else "mean grade")
        axes.locator_params(axis="x", nbins=5)
    if len(sources) > 1:
        style.write_legend(panels[-1], ncols=2)
    style.write_title(panels[0], f"{len(groups):,} groups: mean and {interval}")
    return style.finish(figure, **options)
