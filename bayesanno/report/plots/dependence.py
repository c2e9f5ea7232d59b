"""A figure of dependence: the correlation of errors beyond what a model predicts."""

from __future__ import annotations

from typing import Unpack

import numpy as np
from matplotlib.figure import Figure

from bayesanno.analysis.caution import view_for_table
from bayesanno.analysis.dependence import Groups, Truth, code_groups, dependence_table
from bayesanno.fits.parts import part_of
from bayesanno.fits.view import FitView
from bayesanno.ground.errors import DataError
from bayesanno.ground.lazy import pd, xr
from bayesanno.ground.wording import counted
from bayesanno.report.plots import style

MOST_DRAWN = 30  # annotators, or groups, with a row each
MOST_PRINTED = 12  # rows up to which the numbers are printed into the cells
MISSING = "#e6e6e6"  # a pair of too few items
RESAMPLES = 200  # of the items: enough to see which pairs are surely dependent


def plot_dependence(
    fit: xr.DataTree | FitView,
    groups: Groups | None = None,
    *,
    truth: Truth | None = None,
    dimension: str | None = None,
    least_items: int = 20,
    ci_prob: float = 0.95,
    random_seed: int | None = None,
    **options: Unpack[style.OneAxes],
) -> Figure:
    """Draw the correlation of annotators' errors beyond what the model predicts, groups that err together side by side.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    groups, truth, dimension, least_items, ci_prob, random_seed
        As `bayesanno.dependence_table` takes them.
    figsize, title, ax
        As in `plot_labels`.

    Returns
    -------
    matplotlib.figure.Figure
        A cell for each two annotators, grey if they share fewer than `least_items` items; the title says how many
        independent answers an item's answers are worth. If there are more than 30 annotators, it draws those who most
        surely err with others, or the groups if any are given, with pairs within a group in the diagonal. Rows are in
        the order of a hierarchical clustering, within groups if there are any, with lines between them.

    Raises
    ------
    FitError, DataError
        As for `bayesanno.dependence_table`, or if no two annotators share enough items.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("mace", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    >>> ba.plot_dependence(fit, least_items=10).axes[0].get_ylabel()
    'annotator'
    """
    view = view_for_table(fit)
    table = dependence_table(
        view,
        groups,
        truth=truth,
        dimension=dimension,
        least_items=least_items,
        ci_prob=ci_prob,
        resamples=RESAMPLES,
        random_seed=random_seed,
    )
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
    of_groups = table[(table["first"] != "") & (table["level"] != "pair")]
    n = len(list_names(pairs))
    by_group = bool(group_of) and n > MOST_DRAWN and len(of_groups) > 0
    rows = of_groups if by_group else pairs
    names = list_names(rows)[:MOST_DRAWN]
    if not names:
        raise DataError("no two annotators share enough items for a figure: lower least_items")
    shown = to_matrix(rows, names)
    part_of_row = np.array([0 if by_group else group_of.get(name, "") for name in names], dtype=object)
    order = order_rows(shown, pd.factorize(part_of_row)[0])
    shown, names, part_of_row = shown[np.ix_(order, order)], [names[row] for row in order], part_of_row[order]

    what = "group of annotators" if by_group else "annotator"
    size = min(4.2 + 0.15 * len(names), 12)
    axes = style.open_axes(size + 1.6, size, options)
    most = max(0.1, np.nanmax(np.abs(shown), initial=0))
    image = axes.imshow(shown, cmap=style.BOTH_WAYS, vmin=-most, vmax=most, interpolation="nearest")
    axes.set_facecolor(MISSING)
    style.add_scale(image, axes, "correlation of errors beyond the model", shrink=0.7)
    style.name_square(axes, names, part_of_row, longest=28)
    if len(names) <= MOST_PRINTED:
        texts = np.char.mod("%.2f", np.round(shown, 2) + 0)  # no -0.00
        style.print_cells(axes, np.where(np.isnan(shown), "", texts), np.abs(shown) > style.DARK * most, 7)
    axes.set(xlabel=what, ylabel=what)
    which = "" if by_group or len(names) == n else f"; the {len(names)} of {n:,} that most surely do"
    worth = describe_worth(whole).replace(" are worth ", " are worth\n")  # as wide as a figure of few rows
    by = "known labels" if whole["truth"] == "gold" else "the fit's own labels"
    style.write_title(axes, f"pairs that err together, by {by}{which}\n{worth}", dimension)
    return style.finish(axes, **options)


def describe_worth(whole: pd.Series) -> str:
    """Describe how many independent answers the answers are worth, from the first row of a dependence table."""
    worth = f"{whole['n_answers']:.3g} answers an item are worth {whole['worth']:.1f} independent ones"
    if np.isnan(whole["worth"]):
        return f"{counted(int(whole['n_pairs']), 'pair')} of annotators, none with a visible error"
    return worth if np.isnan(whole["worth_low"]) else f"{worth} ({whole['worth_low']:.1f} to {whole['worth_high']:.1f})"


def list_names(rows: pd.DataFrame) -> list[str]:
    """Return the names of annotators, or groups, that are compared, in the order of the rows."""
    return list(pd.unique(rows[["first", "second"]].to_numpy().ravel()))


def to_matrix(rows: pd.DataFrame, names: list[str]) -> np.ndarray:
    """Return the correlations of every two names, (name, name), nan where there is none."""
    half = rows.pivot(index="first", columns="second", values="correlation")  # each two names once
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
