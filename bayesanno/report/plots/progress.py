"""Figures of the accuracy expected after more answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack, get_args

from matplotlib.figure import Figure

from bayesanno.ground.errors import DataError, FitError
from bayesanno.ground.lazy import pd
from bayesanno.ground.validate import check_made, check_share
from bayesanno.ground.wording import listed
from bayesanno.planning.progress import Measure
from bayesanno.report.plots import style

WORDS = {"accuracy": "expected accuracy (share that is right)", "share_sure": "expected share of sure labels"}


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
        low, high, interval = style.find_ends(table, f"{measure}_")
        axes.fill_between(table["answers"], table[low], table[high], color=curve["color"], alpha=0.15, lw=0)
        axes.plot(table["answers"], table[measure], markersize=4, label=name or None, **curve)
    axes.set(xlabel="further answers", ylabel=WORDS[measure])
    share = interval.partition(" ")[0]
    style.write_title(axes, f"expected labels after further answers, and {share} of simulated futures")
    axes.grid(axis="y", color=style.PALE, alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        style.write_legend(axes, loc="best")
    return style.finish(axes, **options)
