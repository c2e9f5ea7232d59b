"""Figures of model criticism: calibration, and simulation-based calibration.

References
----------
T. Säilynoja, P.-C. Bürkner and A. Vehtari (2022), Graphical test for discrete uniformity and its applications in
goodness-of-fit evaluation and multiple sample comparison, Statistics and Computing 32:32,
doi:10.1007/s11222-022-10090-6: the bands of ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesanno._core.intervals import find_bounds
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import spanned
from bayesanno._core.validate import check_seed, check_share
from bayesanno.criticism.calibration import calibration_table
from bayesanno.criticism.sbc import KEPT, count_simulations, ranks_by_variable
from bayesanno.fits.view import Fit
from bayesanno.report.plots import style

FEW_BINS = 5
RANKS_PANEL = 2.8  # inches
MOST_SIMULATED = 40_000  # uniform samples that the band is made from
IN_TAIL = 100  # uniform samples that should be outside the band


def plot_calibration(
    fits: Fit | Mapping[str, Fit],
    *,
    bins: int = FEW_BINS,
    ci_prob: float | None = None,
    cumulative: bool = False,
    order: str | Sequence[str] | None = None,
    **options: Unpack[style.OneAxes],
) -> Figure:
    """Draw the share of labels that are right beside their probability, of one fit or of several.

    Each row is a bin of labels of similar probability. Where a fit is calibrated, the interval of the share that is
    right (point) holds the mean probability of the labels (bar); where the bar is to the right of it, the fit is
    overconfident. For labels in order, `cumulative` draws the share of true grades that are at most that of a label:
    where the bar is to the right of the interval, grades are higher than the fit says.

    Parameters
    ----------
    fits : xarray.DataTree or FitView, or mapping of name to such
        Fits of data with gold.
    bins : int, default 5
        Number of bins, which have equal numbers of items: `calibration_table` with `equal_counts`.
    ci_prob, cumulative, order
        As for `calibration_table`.
    figsize, title, ax
        As in `plot_coverage`.

    Returns
    -------
    matplotlib.figure.Figure
        At the right the number of items of each bin; with `cumulative`, of pairs of an item and a label.

    Raises
    ------
    FitError, DataError
        As for `calibration_table`; if there is no fit.

    Examples
    --------
    >>> import bayesanno as ba
    >>> how = {"method": "vb", "check": False, "random_seed": 1, "progressbar": False}
    >>> fit = ba.fit("one_coin", ba.read_annotations("@crowd"), **how)
    >>> ba.plot_calibration(fit).axes[0].get_xlabel()
    'share that is right (point), probability (bar)'
    """
    made: dict[str, Any] = {"bins": bins, "ci_prob": ci_prob, "cumulative": cumulative, "order": order}
    named = style.name_fits(fits)
    tables = [calibration_table(fit, equal_counts=True, **made).assign(fit=name) for name, fit in named.items()]
    table = pd.concat(tables)
    of = [", ".join(filter(None, row)) for row in table.reindex(columns=["fit", "dimension"], fill_value="").to_numpy()]
    table = table.assign(of=of).iloc[::-1]  # from the bottom to the top
    low, high, interval = find_bounds(table)
    place, colours = np.arange(len(table)), dict(zip(dict.fromkeys(of), style.COLOURS * len(of), strict=False))
    ink = [colours[name] for name in table["of"]]
    axes = style.open_axes(style.height_for(len(table) + 2), options)
    axes.hlines(place, table[low], table[high], color=style.PALE, linewidth=2)
    axes.scatter(table["right"], place, s=25, color=ink, zorder=3)
    axes.scatter(table["predicted"], place, s=120, color=style.INK, marker="|", zorder=4)
    ends = [spanned(*(f"{round(end, 3):g}" for end in ends)) for ends in table[["from", "to"]].to_numpy()]
    names = [f"{style.cut_name(name)} {end}".strip() for name, end in zip(table["of"], ends, strict=True)]
    style.name_rows(axes, names, longest=34)
    style.print_beside(axes, [f"{n:,}" for n in table["n"]], "n")
    axes.set(ylim=(-0.6, len(table) - 0.4), xlabel="share that is right (point), probability (bar)")
    axes.grid(axis="x", color=style.PALE, alpha=0.3)
    what = "labels up to a grade k, for all k" if cumulative else "labels by their probability"
    style.write_title(axes, f"{what}: how many are right, and {interval}")
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
    figure, panels = style.new_grid(len(variables), 1, RANKS_PANEL)
    for one, (name, names, values) in zip(panels, variables, strict=True):
        below = (values[:, :, None] < np.arange(1, KEPT + 1)).sum(axis=0)  # (element, rank)
        _draw_panel(one, n, band, below, names)
        title = name if len(names) == 1 else f"{name} ({len(names)})"
        one.set_title(title, fontsize=style.NORMAL, loc="left", parse_math=False)
        one.set_ylabel("lower ranks, less expected")
    panels[-1].set_xlabel("rank of the true value, of 1")
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
        style.write_legend(axes, title=title, ncols=2)
