"""Figures of model criticism: calibration, and simulation-based calibration.

References
----------
T. Säilynoja, P.-C. Bürkner and A. Vehtari (2022), Graphical test for discrete uniformity and its applications in
goodness-of-fit evaluation and multiple sample comparison, Statistics and Computing 32:32,
doi:10.1007/s11222-022-10090-6: the bands of ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesanno._core.intervals import choose_prob, name_bounds
from bayesanno._core.lazy import pd, xr
from bayesanno._core.validate import check_seed, check_share
from bayesanno.criticism.calibration import BINS, calibration_table
from bayesanno.criticism.sbc import KEPT
from bayesanno.criticism.sbc_tables import count_simulations, ranks_by_variable
from bayesanno.fits.view import Fit
from bayesanno.report.plots import style

RANKS_PANEL = 2.8  # inches
MOST_SIMULATED = 40_000  # uniform samples that the band is made from
IN_TAIL = 100  # uniform samples that should be outside the band


def plot_calibration(
    fits: Fit | Mapping[str, Fit],
    *,
    bins: int = BINS,
    ci_prob: float | None = None,
    cumulative: bool = False,
    order: str | Sequence[str] | None = None,
    **options: Unpack[style.OneAxes],
) -> Figure:
    """Draw the share of labels that are right over their probability, of one fit or of several.

    On the diagonal a fit is calibrated; below it, it is overconfident. Points are larger where there are more items.
    For labels in order, `cumulative` draws the share of true grades that are at most that of a label: below the
    diagonal, grades are higher than the fit says.

    Parameters
    ----------
    fits : xarray.DataTree or FitView, or mapping of name to such
        Fits of data with gold.
    bins, ci_prob, cumulative, order
        As for `calibration_table`.
    figsize, title, ax
        As in `plot_coverage`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    FitError, DataError
        As for `calibration_table`; if there is no fit.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("one_coin", ba.read_annotations("@crowd"), method="vb", random_seed=1, progressbar=False)
    >>> ba.plot_calibration(fit).axes[0].get_xlabel()
    'probability of the label'
    """
    named = style.name_fits(fits)
    axes = style.open_axes(5.6, 4.6, options)
    axes.plot([0, 1], [0, 1], color=style.PALE, linewidth=1)
    curves: dict[str, pd.DataFrame] = {}
    for name, fit in named.items():
        table = calibration_table(fit, bins=bins, ci_prob=ci_prob, cumulative=cumulative, order=order)
        for dimension, rows in table.groupby("dimension", sort=False) if "dimension" in table else [("", table)]:
            curves[", ".join(filter(None, (name, str(dimension))))] = rows
    low, high = name_bounds("ci", choose_prob(ci_prob))
    for (label, rows), curve in zip(curves.items(), style.curve_styles(len(curves)), strict=True):
        x, colour = rows["predicted"], curve["color"]
        axes.vlines(x, rows[low], rows[high], color=[colour], linewidth=1)
        axes.plot(x, rows["right"], color=colour, linewidth=1)
        look = {"color": [colour], "marker": curve["marker"], "zorder": 3}
        axes.scatter(x, rows["right"], s=12 + 120 * np.sqrt(rows["n"] / rows["n"].sum()), label=label, **look)
    least, lowest = pd.concat(curves.values())[["predicted", low]].min()
    axes.set(xlim=(least - 0.05, 1.02), ylim=(min(lowest, least) - 0.05, 1.02))
    if cumulative:
        axes.set(xlabel="probability that the true grade is at most k, for all k", ylabel="share of items where it is")
        style.write_title(axes, "grades up to k: predicted and observed shares")
    else:
        axes.set(xlabel="probability of the label", ylabel="share that is right")
        style.write_title(axes, "confidence and accuracy of the labels")
    if curves.keys() != {""}:
        style.write_legend(axes, loc="upper left")
    return style.finish(axes, **options)


def plot_ranks(
    ranks: xr.Dataset, *, ci_prob: float = 0.95, random_seed: int | None = 1, figsize: style.Size = None
) -> Figure:
    """Draw the distribution of the ranks of true values, less the uniform one; a panel for each variable.

    A line is the empirical distribution function of one parameter's ranks less the uniform one. All lines of a
    calibrated study are within the band, with the probability `ci_prob`. A line that leaves it is drawn in colour;
    the four of each panel that leave it farthest are named. A line that rises above the band and then falls below it
    shows a posterior that is too narrow: true values are too often at its ends. A line above the band throughout shows
    a posterior that is too high, and one below it a posterior that is too low.

    Parameters
    ----------
    ranks : xarray.Dataset
        As `bayesanno.sbc` gives them.
    ci_prob : float, default 0.95
        The probability of the simultaneous band, for all lines together. It is that of a test, and so not ArviZ's for
        intervals.
    random_seed : int, optional, default 1
        The seed of the uniform samples that the band is made from.
    figsize
        As in `plot_coverage`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        If `ci_prob` is out of its range.
    FitError
        If the seed cannot be, or this is no study by `sbc`.

    Examples
    --------
    >>> import bayesanno as ba
    >>> design = ba.make_design(items=20, annotators=3, labels=2, per_item=3, random_seed=1)
    >>> ranks = ba.sbc("model_b", design, simulations=200, random_seed=1, workers=2)  # doctest: +SKIP
    >>> ba.plot_ranks(ranks).savefig("ranks.png")  # doctest: +SKIP
    """
    check_seed(random_seed)
    check_share("ci_prob", ci_prob)
    variables = list(ranks_by_variable(ranks))
    n_lines = sum(len(names) for _, names, _ in variables)
    n = count_simulations(ranks)
    band = _make_band(n, 1 - (1 - ci_prob) / n_lines, random_seed)
    figure, axes = style.new_figure(RANKS_PANEL * len(variables) + 0.6, 3.4, len(variables), sharey=True, squeeze=False)
    for one, (name, names, values) in zip(axes[0], variables, strict=True):
        below = (values[:, :, None] < np.arange(1, KEPT + 1)).sum(axis=0)  # (element, rank)
        _draw_panel(one, n, band, below, names)
        one.set_title(name if len(names) == 1 else f"{name} ({len(names)})", fontsize=9, loc="left", parse_math=False)
        one.set_xlabel("rank of the true value, of 1", fontsize=9)
    axes[0][0].set_ylabel("share of lower ranks, less a uniform one's", fontsize=9)
    return style.finish(figure, figsize=figsize)


def _make_band(n: int, ci_prob: float, random_seed: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return how many of n uniform ranks may be below 1, 2, ...: the ends of a band that holds all of these numbers.

    Counted, since ranks are whole numbers: the band that ArviZ simulates for numbers that are not was left by 14% of
    uniform samples of 60 ranks, at 90%.
    """
    from scipy.special import bdtr, bdtrc

    at, counts = np.arange(1, KEPT + 1) / (KEPT + 1), np.arange(n + 1)
    below, above = bdtr(counts, n, at[:, None]), bdtrc(counts - 1, n, at[:, None])
    above[:, 0] = 1.0  # as many as none, or more
    tail = np.minimum(below, above)  # (rank, count): how far out a count is
    simulated = int(np.clip(IN_TAIL / (1 - ci_prob), 1000, MOST_SIMULATED))
    ranks = np.random.default_rng(random_seed).multinomial(n, np.full(KEPT + 1, 1 / (KEPT + 1)), size=simulated)
    farthest = tail[np.arange(KEPT), ranks.cumsum(axis=1)[:, :-1]].min(axis=1)  # (sample,)
    inside = tail >= np.quantile(farthest, 1 - ci_prob, method="lower")
    return inside.argmax(axis=1), n - inside[:, ::-1].argmax(axis=1)


def _draw_panel(axes: Axes, n: int, band: tuple[np.ndarray, np.ndarray], below: np.ndarray, names: list[str]) -> None:
    """Draw how many of n ranks are below 1, 2, ..., (element, rank)."""
    at, (low, high) = np.arange(1, KEPT + 1) / (KEPT + 1), band
    outside = ((below < low) | (below > high)).any(axis=1)
    lines = below / n - at
    axes.fill_between(at, low / n - at, high / n - at, color=style.PALE, alpha=0.25, linewidth=0)
    axes.axhline(0, color=style.PALE, linewidth=0.8)
    axes.plot(at, lines[~outside].T, color=style.INK, linewidth=0.8, alpha=max(0.25, 1 / np.sqrt(len(lines))))
    furthest = np.flatnonzero(outside)[np.argsort(-np.abs(lines[outside]).max(axis=1), kind="stable")]
    for number, line in enumerate(furthest):
        named = {"linestyle": style.LINES[number], "label": names[line]} if number < len(style.LINES) else {}
        axes.plot(at, lines[line], color=style.ACCENT, linewidth=1.5 if named else 0.7, **named)
    if furthest.size:
        title = f"outside: {furthest.size} of {len(lines)}" if furthest.size > len(style.LINES) else None
        style.write_legend(axes, title=title, title_fontsize=7)
