"""Figures of agreement: use of labels, divergences, groups of annotators, and shared errors."""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from bayesanno._core.intervals import CiKind, find_bounds
from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, counted
from bayesanno.agreement.behaviour import check_base, distances_by_chance, find_distances, usage_shares, usage_table
from bayesanno.agreement.groups import group_annotators
from bayesanno.analysis.behaviour import behaviour_table
from bayesanno.analysis.dependence import Groups, Truth, code_groups, dependence_table
from bayesanno.analysis.views import view_for_table
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.described import require_kind
from bayesanno.fits.view import Fit, part_of
from bayesanno.report.plots import style

MEASURES = {
    "leverage": "leverage over the mean of all",
    "kld": "KL divergence from the mean of the others",
    "jsd_mean": "mean Jensen-Shannon divergence",
}
MOST_DRAWN = 30  # annotators, or groups, with a row each
MOST_PRINTED = 10  # rows up to which the numbers are printed into the cells
MISSING = "#e6e6e6"  # a pair of too few items
PALE = 0.25  # opacity of a correlation that may be 0


def plot_usage(data: AnnotationData, **options: Unpack[style.OneAxes]) -> Figure:
    """Draw the share of each label among each annotator's answers, those farthest from the mean of all on top.

    Figures 3 and 10 of Bhardwaj et al. (2010), https://aclanthology.org/W10-1806.

    Parameters
    ----------
    data : AnnotationData
    figsize, title, ax
        As in `plot_coverage`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import bayesanno as ba
    >>> ba.plot_usage(ba.read_annotations("@crowd")).axes[0].get_xlabel()
    "share of the annotator's answers"
    """
    require_kind(data, AnnotationData, "plot_usage")
    shares, table = usage_shares(data), usage_table(data)
    order = table["leverage"].sort_values(na_position="first").index.to_numpy()
    order = order[~np.isnan(shares[order, 0])]
    in_legend = min(data.n_labels, style.MOST_PARTS)
    axes = style.open_axes(style.height_for(order.size + in_legend / 2), options)
    style.draw_shares(axes, shares[order], data.labels)
    style.name_rows(axes, [data.annotators[who] for who in order])
    axes.set(xlim=(0, 1), ylim=(-0.6, order.size - 0.4), xlabel="share of the annotator's answers")
    style.write_title(axes, "use of the labels by annotator, the most unusual on top")
    style.write_legend(axes, ncols=2)
    return style.finish(axes, **options)


def plot_divergence(
    source: AnnotationData | Fit,
    *,
    measure: str = "kld",
    base: float = math.e,
    ci_prob: float | None = None,
    ci_kind: CiKind = None,
    **options: Unpack[style.OneAxes],
) -> Figure:
    """Draw how much each annotator's use of the labels differs from the others'; of a fit, with intervals.

    Figure 2 of Bhardwaj et al. (2010), https://aclanthology.org/W10-1806.

    Parameters
    ----------
    source : AnnotationData, xarray.DataTree or FitView
        Annotations, for the figures as numbers; or a fit of `label_usage`, for posterior means and intervals.
    measure : {"kld", "leverage", "jsd_mean"}
    base : float
        The base of the logarithm: e for nats, 2 for bits.
    ci_prob, ci_kind
        As in `summary`; of a fit.
    figsize, title, ax
        As in `plot_coverage`.

    Returns
    -------
    matplotlib.figure.Figure
        Annotators whose divergence is infinite, because nobody else gave one of their labels, are at the right edge,
        as triangles.

    Raises
    ------
    DataError
        If there is no such measure, or no two annotators who answered.

    Examples
    --------
    >>> import bayesanno as ba
    >>> ba.report.plot_divergence(ba.read_annotations("@crowd"), measure="leverage").axes[0].get_xlabel()
    'leverage over the mean of all'
    """
    if measure not in MEASURES:
        raise DataError(f"there is no measure {measure!r}: choose one of {', '.join(MEASURES)}")
    check_base(base)
    from_data = isinstance(source, AnnotationData)
    if isinstance(source, AnnotationData):
        table = usage_table(source, base=base)
    else:
        table = behaviour_table(source, base=base, ci_prob=ci_prob, ci_kind=ci_kind)
    value = measure if from_data else f"{measure}_mean"
    table = table.dropna(subset=[value]).sort_values(value, kind="stable")
    if table.empty:
        raise DataError("only one annotator answered: there are no others whose use of the labels could differ")
    axes = style.open_axes(style.height_for(len(table)), options)
    place, shown = np.arange(len(table)), table[value].to_numpy()
    finite = np.isfinite(shown)
    axes.plot(shown[finite], place[finite], "o", color=style.INK, markersize=4)
    if not from_data:
        low, high, interval = find_bounds(table, measure)
        axes.hlines(place, table[low], table[high], color=style.ACCENT, linewidth=1.5)
    elif (~finite).any():
        edge = 1.05 * max(shown[finite], default=1.0)
        axes.plot(np.full((~finite).sum(), edge), place[~finite], ">", color=style.ACCENT, label="infinite")
        style.write_legend(axes)
    unit = "" if measure == "leverage" else f" ({_unit(base)})"
    style.name_rows(axes, table["annotator"].tolist())
    axes.set(xlim=(0, None), ylim=(-0.6, len(table) - 0.4), xlabel=MEASURES[measure] + unit)
    axes.grid(axis="x", color=style.PALE, alpha=0.3)
    how = "" if from_data else f", posterior mean and {interval}"
    style.write_title(axes, f"difference of each annotator's use of labels from the others'{how}")
    return style.finish(axes, **options)


def plot_distances(
    data: AnnotationData, *, groups: int | None = None, base: float = math.e, **options: Unpack[style.OneAxes]
) -> Figure:
    """Draw the Jensen-Shannon divergence of every two annotators beyond chance, similar ones side by side.

    White is what chance gives: 19 in 20 pairs who use labels alike would be white with their numbers of answers.

    Parameters
    ----------
    data : AnnotationData
    groups : int, optional
        As in `bayesanno.agreement.group_annotators`.
    base : float
        The base of the logarithm: e for nats, 2 for bits.
    figsize, title, ax
        As in `plot_coverage`.

    Returns
    -------
    matplotlib.figure.Figure
        Lines between the groups.

    Raises
    ------
    DataError
        If there are fewer than three annotators, or the groups cannot be.

    Examples
    --------
    >>> import bayesanno as ba
    >>> len(ba.report.plot_distances(ba.read_annotations("@crowd")).axes[0].get_yticklabels())
    25
    """
    require_kind(data, AnnotationData, "plot_distances")
    check_base(base)
    table = group_annotators(data, groups=groups)
    order = [data.annotators.index(name) for name in table["annotator"]]
    beyond = find_distances(usage_shares(data), base) - distances_by_chance(data, base)
    far = np.maximum(beyond, 0)[np.ix_(order, order)]
    axes = style.open_axes(style.SQUARE, options)
    image = axes.imshow(far, cmap=style.FROM_WHITE, vmin=0, vmax=max(0.01, np.nanmax(far)), interpolation="nearest")
    style.add_scale(image, axes, f"Jensen-Shannon divergence beyond chance ({_unit(base)})")
    style.name_square(axes, table["annotator"].tolist(), table["group"].to_numpy())
    style.write_title(axes, "distance between annotators by their use of labels (darker: farther)")
    return style.finish(axes, **options)


def _unit(base: float) -> str:
    return {2: "bits", math.e: "nats"}.get(base, f"logarithm to base {base:g}")


def plot_dependence(
    fit: Fit,
    groups: Groups | None = None,
    *,
    truth: Truth | None = None,
    dimension: str | None = None,
    least_items: int = 20,
    ci_prob: float | None = None,
    **options: Unpack[style.OneAxes],
) -> Figure:
    """Draw the correlation of annotators' errors beyond what the model predicts, groups that err together side by side.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    groups, truth, dimension, least_items, ci_prob
        As `bayesanno.dependence_table` takes them.
    figsize, title, ax
        As in `plot_coverage`.

    Returns
    -------
    matplotlib.figure.Figure
        A cell for each two annotators, grey if they share fewer than `least_items` items, and pale if the interval
        holds 0; the title says how many independent answers an item's answers are worth. If there are more than 30
        annotators, it draws those who most surely err with others, or the groups if any are given, with pairs within a
        group in the diagonal. Rows are in the order of a hierarchical clustering, within groups if there are any, with
        lines between them.

    Raises
    ------
    FitError, DataError
        As for `bayesanno.dependence_table`, or if no two annotators share enough items.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("mace", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    >>> len(ba.plot_dependence(fit, least_items=10).axes[0].get_yticklabels())
    25
    """
    view = view_for_table(fit)
    table = dependence_table(view, groups, truth=truth, dimension=dimension, least_items=least_items, ci_prob=ci_prob)
    part = part_of(view, dimension)
    codes, names = code_groups(groups, part)
    group_of = dict(zip(part.data.annotators, (names[code] for code in codes), strict=True))
    return draw_dependence(table, group_of if groups is not None else {}, dimension, **options)


def draw_dependence(
    table: pd.DataFrame, group_of: dict[str, str], dimension: str | None, **options: Unpack[style.OneAxes]
) -> Figure:
    """Draw what `plot_dependence` does, of a dependence table; groups may be empty.

    Raises
    ------
    DataError
        If no two annotators have a row.
    """
    whole, pairs = table.iloc[0], table[table["level"] == "pair"]
    of_groups = table[table["level"] == "group"]
    n = len(list_names(pairs))
    by_group = bool(group_of) and n > MOST_DRAWN and len(of_groups) > 0
    rows = of_groups if by_group else pairs
    names = list_names(rows)[:MOST_DRAWN]
    if not names:
        raise DataError("no two annotators share enough items for a figure: lower least_items")
    shown, (low, high) = (
        to_matrix(rows, names),
        (to_matrix(rows, names, end) for end in find_bounds(rows, "correlation")[:2]),
    )
    part_of_row = np.array([0 if by_group else group_of.get(name, "") for name in names], dtype=object)
    order = order_rows(shown, pd.factorize(part_of_row)[0])
    unclear = ((low <= 0) & (high >= 0))[np.ix_(order, order)]
    shown, names, part_of_row = shown[np.ix_(order, order)], [names[row] for row in order], part_of_row[order]

    axes = style.open_axes(style.SQUARE, options)
    most = max(0.1, np.nanmax(np.abs(shown), initial=0))
    colours = colormaps[style.BOTH_WAYS].with_extremes(bad=MISSING)
    limits = {"vmin": -most, "vmax": most}
    image = axes.imshow(shown, colours, alpha=np.where(unclear, PALE, 1), interpolation="nearest", **limits)
    style.add_scale(image, axes, "correlation of errors beyond the model (pale: may be 0)")
    style.name_square(axes, names, part_of_row)
    if len(names) <= MOST_PRINTED:
        texts = np.char.mod("%.2f", np.round(shown, 2) + 0)  # no -0.00
        style.print_cells(axes, np.where(np.isnan(shown), "", texts), ~unclear & (np.abs(shown) > style.DARK * most))
    which = "" if by_group or len(names) == n else f"; the {len(names)} of {n:,} that most surely do"
    worth = describe_worth(whole)
    by = "known labels" if whole["truth"] == "gold" else "the fit's own labels"
    style.write_title(axes, f"pairs that err together, by {by}{which}\n{worth}", dimension)
    return style.finish(axes, **options)


def describe_worth(whole: pd.Series) -> str:
    """Describe how many independent answers the answers are worth, from the first row of a dependence table."""
    worth = f"{whole['n_answers']:.3g} answers an item are worth {whole['worth']:.1f} independent ones"
    if np.isnan(whole["worth"]):
        return f"{counted(int(whole['n_pairs']), 'pair')} of annotators, none with a visible error"
    low, high = (whole[name] for name in find_bounds(whole.index, "worth")[:2])
    return worth if np.isnan(low) else f"{worth} ({low:.1f} to {high:.1f})"


def list_names(rows: pd.DataFrame) -> list[str]:
    """Return the names of annotators, or groups, that are compared, in the order of the rows."""
    return list(pd.unique(rows[["first", "second"]].to_numpy().ravel()))


def to_matrix(rows: pd.DataFrame, names: list[str], column: str = "correlation") -> np.ndarray:
    """Return the correlations of every two names, (name, name), or another column; nan where there is none."""
    half = rows.pivot(index="first", columns="second", values=column)  # each two names once
    return half.combine_first(half.T).reindex(index=names, columns=names).to_numpy()


def order_rows(shown: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return an order of rows, group by group, in which correlated rows are side by side."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    far = 1 - np.nan_to_num(shown)  # two who are not compared are as far as two who are independent
    np.fill_diagonal(far, 0)
    far = np.maximum(far, 0)
    order = []
    for one in np.unique(group):
        rows = np.flatnonzero(group == one)
        if rows.size > 2:
            own = squareform(far[np.ix_(rows, rows)], checks=False)
            rows = rows[leaves_list(linkage(own, method="average", optimal_ordering=True))]
        order.append(rows)
    return np.concatenate(order)
