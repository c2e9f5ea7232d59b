"""Figure of groups of items, such as systems."""

from __future__ import annotations

from typing import Unpack

import numpy as np
from matplotlib.figure import Figure

from bayesanno.ground.lazy import pd
from bayesanno.ground.validate import check_made
from bayesanno.report.plots import style

MOST_LABELS = 9  # with a panel each


def plot_groups(table: pd.DataFrame, **options: Unpack[style.Panels]) -> Figure:
    """Draw the share of each label in every group, and the mean grade where labels are in order.

    Parameters
    ----------
    table : DataFrame
        By `group_table`.
    figsize, title
        As in `plot_labels`; a figure of several panels takes no `ax`.

    Returns
    -------
    matplotlib.figure.Figure
        A panel for each label, of two labels for the last one, and at most nine; groups from top to bottom, with
        posterior means and the intervals of the table.

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
    check_made(table, "DataFrame", "group_table", ["first", "second", "quantity", "label", "mean"])
    low, high, interval = style.find_ends(table)
    alone = table[table["second"] == ""]
    wanted = list(dict.fromkeys(alone["label"]))
    labels = [label for label in wanted if label]
    shown = (labels[-1:] if len(labels) == 2 else labels)[: MOST_LABELS - ("" in wanted)] + wanted[len(labels) :]
    groups = list(dict.fromkeys(alone["first"]))[::-1]  # from the bottom to the top
    place = np.arange(len(groups))
    columns = min(3, len(shown))
    figure, panels = style.new_grid(len(shown), columns, (2.6, style.height_for(len(groups)) - 1))
    for number, (axes, label) in enumerate(zip(panels, shown, strict=True)):
        rows = alone[alone["label"] == label].set_index("first").loc[groups]
        axes.hlines(place, rows[low], rows[high], color=style.PALE, linewidth=2)
        axes.plot(rows["mean"], place, "o", color=style.ACCENT, markersize=5 if len(groups) <= style.MOST_NAMES else 2)
        style.name_rows(axes, groups if number % columns == 0 else [""] * len(groups))
        name = style.cut_name(label)
        axes.set(ylim=(-0.6, len(groups) - 0.4), xlabel=f"share of {name!r}" if label else "mean grade")
        axes.locator_params(axis="x", nbins=5)
    style.write_title(panels[0], f"{len(groups):,} groups: mean and {interval}")
    return style.finish(figure, **options)
