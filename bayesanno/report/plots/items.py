"""Figures of labels: their accuracy, and how good they will be after more answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack, get_args

from matplotlib.figure import Figure

from bayesanno._core.intervals import choose_prob, find_bounds, name_interval
from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, FitError, listed
from bayesanno._core.validate import check_made, check_share
from bayesanno.agreement.vote import vote_right
from bayesanno.analysis.labels import bound_accuracy, coverage_table, measure_coverage
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.view import Fit, part_of
from bayesanno.modeling.arguments import measure_entropy
from bayesanno.planning.progress import Measure
from bayesanno.report.plots import style

EXPECTED = {"accuracy": "expected accuracy", "share_sure": "expected share of sure labels"}


def plot_coverage(
    fits: Fit | Mapping[str, Fit],
    *,
    coverages: Sequence[float] | None = None,
    dimension: str | None = None,
    ci_prob: float | None = None,
    **options: Unpack[style.OneAxes],
) -> Figure:
    """Draw the accuracy of labels when only the most certain items are kept, of one fit or of several, and of the vote.

    Parameters
    ----------
    fits : xarray.DataTree or FitView, or mapping of name to such
        Fits of data with gold.
    coverages : sequence of float, optional
        Shares of items in (0, 1]; by default 0.05, 0.1, ..., 1.
    dimension : str, optional
        Which dimension, where several were annotated together.
    ci_prob : float, optional
        The confidence level of Wilson's intervals, drawn as bands; by default as in `summary`.
    figsize, title, ax
        Width and height in inches; whether there is a title; the matplotlib Axes to draw on in place of a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The values of `coverage_table`, each fit in a band, and in a pale colour the majority vote: its most certain
        items are those with votes of the least entropy, ties in the order of the data; an item with tied votes counts
        as right by its share.

    Raises
    ------
    FitError
        As for `coverage_table`; if there is no fit, or the dimension is not one of a fit's.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("mace", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    >>> ba.plot_coverage({"MACE": fit}).axes[0].get_xlabel()
    'share of items kept, the most certain first'
    """
    named, prob = style.name_fits(fits), choose_prob(ci_prob)
    tables, votes = {}, {}
    for name, fit in named.items():
        view = view_for_table(fit)
        part = part_of(view, dimension)
        table = style.keep_dimension(coverage_table(view, coverages), dimension)
        if table.empty:
            raise FitError(f"no gold label is known of dimension {dimension!r}")
        tables[name] = table
        votes[part.data.hash] = part.data

    axes = style.open_axes(4.2, options)
    for number, data in enumerate(votes.values()):
        vote = measure_coverage(measure_entropy(data.class_shares), vote_right(data), table["coverage"].tolist())
        kept, label = vote["n_items"] / data.n_items, "" if number else "majority vote"
        axes.plot(kept, vote["accuracy"], color=style.PALE, linewidth=3, alpha=0.6, zorder=0, label=label)
    for (name, table), look in zip(tables.items(), style.curve_styles(len(tables)), strict=True):
        low, high = bound_accuracy(table, prob)
        axes.fill_between(table["coverage"], low, high, color=look["color"], alpha=0.15, linewidth=0)
        axes.plot(table["coverage"], table["accuracy"], markersize=4, label=name or "the fit", **look)
    axes.set(xlim=(0, 1.02), xlabel="share of items kept, the most certain first", ylabel="accuracy against gold")
    axes.grid(axis="y", color=style.PALE, alpha=0.3)
    style.write_title(axes, f"accuracy of the most certain items, and {name_interval(prob, 'ci')}", dimension)
    style.write_legend(axes)
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
        As in `plot_coverage`.

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
    axes = style.open_axes(4.2, options)
    if target is not None:
        axes.axhline(target, color=style.INK, linewidth=0.8, linestyle=":", label=f"target, {target:g}")
    for (name, table), curve in zip(tables.items(), style.curve_styles(len(tables)), strict=True):
        low, high, interval = find_bounds(table, measure)
        axes.fill_between(table["answers"], table[low], table[high], color=curve["color"], alpha=0.15, lw=0)
        axes.plot(table["answers"], table[measure], markersize=4, label=name or None, **curve)
    axes.set(xlabel="further answers", ylabel=EXPECTED[measure])
    style.write_title(axes, f"expected labels after further answers, and {interval} of simulated futures")
    axes.grid(axis="y", color=style.PALE, alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        style.write_legend(axes)
    return style.finish(axes, **options)
