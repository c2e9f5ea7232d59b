"""Figures of labels: their probabilities, entropy and accuracy, and how good they will be after more answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesanno.agreement.vote import vote_right
from bayesanno.analysis.caution import view_for_table
from bayesanno.analysis.labels import coverage_table, measure_coverage, n_kept
from bayesanno.fits.parts import measure_entropy, part_of
from bayesanno.fits.view import Fit
from bayesanno.ground.errors import DataError, FitError
from bayesanno.ground.intervals import find_bounds
from bayesanno.ground.lazy import pd
from bayesanno.ground.validate import check_made, check_share
from bayesanno.ground.wording import listed
from bayesanno.planning.progress import Measure
from bayesanno.report.plots import style

MOST_ITEMS = 30  # that are drawn unless some are asked for
MOST_GOLD = 14  # letters of a known label next to its bar
LETTER = 0.014  # of the width of a bar, with a little room
MARKED = (0.75, 0.9)  # shares of items that are marked where they end
BINS = 40
MANY = 50  # items in one bin from which on their number is drawn on a logarithmic scale
EXPECTED = {"accuracy": "expected accuracy (share that is right)", "share_sure": "expected share of sure labels"}


def plot_labels(
    fit: Fit,
    *,
    items: str | Sequence[str] | None = None,
    dimension: str | None = None,
    **options: Unpack[style.OneAxes],
) -> Figure:
    """Draw the probability of each label of the most uncertain items, the most uncertain on top.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    items : str or sequence of str, optional
        Which items, in this order from the top; by default the 30 whose labels are least sure (of most entropy).
    dimension : str, optional
        Which dimension, where several were annotated together.
    figsize, title, ax
        Width and height in inches; whether there is a title; the matplotlib Axes to draw on in place of a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        A bar for each item, with a part for each label, or for each type where the items of a model are of types. Where
        the true label is known (gold), it is named on the right, and marked in the bar: by a point if it is the most
        probable one, by a cross if it is not.

    Raises
    ------
    FitError
        If an item is not in the fit, none is asked for, the fit holds no items, or the dimension is not one of the
        fit's.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("mace", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    >>> ba.plot_labels(fit).axes[0].get_xlabel()
    'probability of the label'
    """
    view = view_for_table(fit)
    part = part_of(view, dimension)
    probability, states, names = part.posterior.values, part.states, list(part.data.items)
    what = "type" if part.is_of_types else "label"
    if items is None:
        chosen = np.argsort(-part.entropy, kind="stable")[:MOST_ITEMS].tolist()
    else:
        chosen = style.find_codes("item", items, names, "that are least sure")
    axes = style.open_axes(7.5, max(2.6, style.height_for(len(chosen))), options)
    style.draw_shares(axes, probability[chosen], states)
    _write_into_bars(axes)
    gold = {} if part.is_of_types else part.gold
    if gold:
        _mark_gold(axes, [gold.get(names[item], "") for item in chosen], probability[chosen], states)
    style.name_rows(axes, [names[item] for item in chosen])
    axes.set(xlim=(0, 1), ylim=(len(chosen) - 0.4, -0.6), xlabel=f"probability of the {what}", ylabel="item")
    which = f"{len(chosen)} of {len(names):,} items"
    if items is None:
        which = f"all {len(names)} items" if len(chosen) == len(names) else f"the {which} that are least sure"
    style.write_title(axes, f"{what}s of {which}", dimension)
    right = 1.04 + LETTER * max((len(style.cut_name(name, MOST_GOLD)) for name in gold.values()), default=-2)
    keys = [*axes.containers, *axes.collections]  # the marks of gold come last
    style.write_legend(axes, handles=keys, title=what, loc="upper left", bbox_to_anchor=(right, 1), frameon=False)
    return style.finish(axes, **options)


def _write_into_bars(axes: Axes) -> None:
    """Write a label's name into the parts of bars that have room for it, so that colours alone need not show it."""
    for bars in axes.containers:
        name = style.cut_name(str(bars.get_label()))
        ink = "white" if np.dot(bars[0].get_facecolor()[:3], (0.299, 0.587, 0.114)) < 0.5 else style.INK
        for place, bar in enumerate(bars):
            if bar.get_width() > LETTER * (len(name) + 1):
                at = bar.get_x() + 0.006
                axes.text(at, place, name, va="center", fontsize=6, color=ink, parse_math=False, clip_on=True)


def _mark_gold(axes: Axes, gold: list[str], probability: np.ndarray, states: Sequence[str]) -> None:
    """Name known labels on the right, and mark them in the bars."""
    known = np.array([states.index(name) if name in states else -1 for name in gold])
    place = np.flatnonzero(known >= 0)
    of_gold = probability[place, known[place]]
    middle = np.array([probability[row, : known[row]].sum() for row in place]) + of_gold / 2
    right = probability[place].argmax(axis=1) == known[place]
    look: dict[str, Any] = {"facecolor": "white", "edgecolor": style.INK, "zorder": 3, "clip_on": False}
    for marked, marker, but in ((right, "o", ""), (~right, "X", "not ")):
        if marked.any():
            label = f"gold, and {but}the most probable"
            axes.scatter(middle[marked], place[marked], s=28, linewidth=0.9, marker=marker, label=label, **look)
    beside: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "fontsize": 7, "parse_math": False}
    for row, name in enumerate(gold):
        axes.text(1.01, row, style.cut_name(name, MOST_GOLD), va="center", **beside)
    axes.text(1.01, 1.0, "gold", fontsize=8, transform=axes.transAxes, va="bottom")


def plot_entropy(fit: Fit, *, dimension: str | None = None, **options: Unpack[style.OneAxes]) -> Figure:
    """Draw the distribution of the items' uncertainty, and where the surest 75% and 90% of them end.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    dimension : str, optional
        Which dimension, where several were annotated together.
    figsize, title, ax
        As in `plot_labels`.

    Returns
    -------
    matplotlib.figure.Figure
        A histogram of the entropy of the items' labels, or types, in nats, from 0 (sure) to that of equal
        probabilities; a line at the largest entropy among the items kept at a coverage of 75% and of 90%.

    Raises
    ------
    FitError
        If the fit holds no items, or the dimension is not one of the fit's.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("mace", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    >>> ba.plot_entropy(fit).axes[0].get_ylabel()
    'items (on a logarithmic scale)'
    """
    view = view_for_table(fit)
    part = part_of(view, dimension)
    entropy, most = part.entropy, float(np.log(max(len(part.states), 2)))
    what = "type" if part.is_of_types else "label"
    axes = style.open_axes(6.5, 4.2, options)
    ends = (0, max(most, float(entropy.max())))
    n, _, _ = axes.hist(entropy, bins=BINS, range=ends, color=style.PALE, edgecolor="white")
    ordered = np.sort(entropy)
    for coverage, line in zip(MARKED, ("--", ":"), strict=True):
        kept = n_kept(entropy.size, coverage)
        label = f"the surest {coverage:.0%} ({kept:,} items): up to {ordered[kept - 1]:.2g}"
        axes.axvline(ordered[kept - 1], color=style.ACCENT, linestyle=line, linewidth=1.5, label=label)
    axes.axvline(
        most, color=style.INK, linewidth=0.8, label=f"all {len(part.states)} {what}s equally probable: {most:.2g}"
    )
    axes.set(xlabel=f"entropy of the {what} (nats)", ylabel="items")
    if np.max(n) > MANY:
        axes.set_yscale("log")
        axes.set(ylim=(0.7, None), ylabel="items (on a logarithmic scale)")
    else:
        axes.locator_params(axis="y", integer=True)
    style.write_title(axes, f"uncertainty of the {what}s of {entropy.size:,} items", dimension)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), fontsize=7, frameon=False)
    return style.finish(axes, **options)


def plot_coverage(
    fits: Fit | Mapping[str, Fit],
    *,
    coverages: Sequence[float] | None = None,
    dimension: str | None = None,
    **options: Unpack[style.OneAxes],
) -> Figure:
    """Draw the accuracy of labels when only the surest items are kept, of one fit or of several, and of the vote.

    Parameters
    ----------
    fits : xarray.DataTree or FitView, or mapping of name to such
        Fits of data with gold.
    coverages : sequence of float, optional
        Shares of items in (0, 1]; by default 0.05, 0.1, ..., 1.
    dimension : str, optional
        Which dimension, where several were annotated together.
    figsize, title, ax
        As in `plot_labels`.

    Returns
    -------
    matplotlib.figure.Figure
        The values of `coverage_table`, and in a pale colour the majority vote: its surest items are those whose votes
        have the least entropy, ties in the order of the data; an item with tied votes counts as right by its share.

    Raises
    ------
    FitError
        As for `coverage_table`; if there is no fit, or the dimension is not one of a fit's.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("mace", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    >>> ba.plot_coverage({"MACE": fit}).axes[0].get_xlabel()
    'share of the items that is kept, the surest first'
    """
    named = style.name_fits(fits)
    tables, votes = {}, {}
    for name, fit in named.items():
        view = view_for_table(fit)
        part = part_of(view, dimension)
        table = style.keep_dimension(coverage_table(view, coverages), dimension)
        if table.empty:
            raise FitError(f"no gold label is known of dimension {dimension!r}")
        tables[name] = table
        votes[part.data.hash] = part.data

    axes = style.open_axes(6, 4, options)
    for number, data in enumerate(votes.values()):
        vote = measure_coverage(measure_entropy(data.class_shares), vote_right(data), table["coverage"].tolist())
        kept, label = vote["n_items"] / data.n_items, "" if number else "majority vote"
        axes.plot(kept, vote["accuracy"], color=style.PALE, linewidth=3, alpha=0.6, zorder=0, label=label)
    for (name, table), look in zip(tables.items(), style.curve_styles(len(tables)), strict=True):
        axes.plot(table["coverage"], table["accuracy"], markersize=4, label=name or "the fit", **look)
    axes.set(xlim=(0, 1.02), xlabel="share of the items that is kept, the surest first")
    axes.set_ylabel("accuracy against gold (share that is right)")
    axes.grid(axis="y", color=style.PALE, alpha=0.3)
    style.write_title(axes, "accuracy of the surest items", dimension)
    style.write_legend(axes, loc="best")
    return style.finish(axes, **options)


def plot_progress(
    progress: pd.DataFrame | Mapping[str, pd.DataFrame],
    *,
    measure: Measure = "accuracy",
    target: float | None = None,
    **options: Unpack[style.OneAxes],
) -> Figure:
    """Draw the expected quality of labels after more answers, for one or several ways of asking.

    Parameters
    ----------
    progress : DataFrame, or mapping of name to DataFrame
        By `expected_progress`: one for each allocation, group of annotators or model.
    measure : {"accuracy", "share_sure"}
    target : float, optional
        A line is drawn across the figure there.
    figsize, title, ax
        As in `plot_labels`.

    Returns
    -------
    matplotlib.figure.Figure
        A curve for each table over the further answers, in the band of the table's interval.

    Raises
    ------
    FitError
        If a table is not one by `expected_progress`, or there is none.
    DataError
        If the measure is another, or the target no share.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> fit = ba.fit("one_coin", data, method="vb", check=False, random_seed=1, progressbar=False)
    >>> ways = ("evenly", "suggested")
    >>> progress = {way: ba.expected_progress(fit, [0, 50, 100], allocation=way, random_seed=1) for way in ways}
    >>> ba.plot_progress(progress).axes[0].get_xlabel()
    'further answers'
    """
    if measure not in get_args(Measure):
        raise DataError(f"measure is {measure!r}: it must be one of {listed(get_args(Measure))}")
    if target is not None:
        check_share("target", target)
    tables = progress if isinstance(progress, Mapping) else {"": progress}
    if not tables:
        raise FitError("there is no progress to draw")
    for table in tables.values():
        check_made(table, "DataFrame", "expected_progress", ["answers", "per_item", measure])
    axes = style.open_axes(6, 4, options)
    if target is not None:
        axes.axhline(target, color=style.INK, linewidth=0.8, linestyle=":", label=f"target, {target:g}")
    for (name, table), curve in zip(tables.items(), style.curve_styles(len(tables)), strict=True):
        low, high, interval = find_bounds(table, measure)
        axes.fill_between(table["answers"], table[low], table[high], color=curve["color"], alpha=0.15, lw=0)
        axes.plot(table["answers"], table[measure], markersize=4, label=name or None, **curve)
    axes.set(xlabel="further answers", ylabel=EXPECTED[measure])
    share = interval.partition(" ")[0]
    style.write_title(axes, f"expected labels after further answers, and {share} of simulated futures")
    axes.grid(axis="y", color=style.PALE, alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        style.write_legend(axes, loc="best")
    return style.finish(axes, **options)
