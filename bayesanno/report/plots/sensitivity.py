"""Figures of priors: what they imply before data, how much a fit depends on them, and what other priors change."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any, Unpack

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesanno._core.fields import as_typed
from bayesanno._core.intervals import CiKind
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import FitError, as_names, nearest
from bayesanno._core.validate import check_made
from bayesanno.analysis.parameters import describe_draws
from bayesanno.criticism.prior import PriorDescription
from bayesanno.criticism.sensitivity import Study
from bayesanno.report.plots import style

LONGEST_PRIOR = 64  # letters of the name of a prior, across all panels
OF_PRIOR = 0.42  # inches of a row with its name above it
LONGEST = 44  # letters of the name of a row
BINS = 41  # of draws from a prior; an odd number, so that a half, third, quarter or fifth is inside of one
ROW, THIN_ROW = 0.42, 0.3  # inches of a row of a panel, and of one for each class
MOST_NAMED, LONGEST_CLASS = 6, 12  # classes, types or labels with a row each, and letters of their names
MOST_DOUBLINGS = 4.0  # of a prior, beyond which it does not matter how many
CHANGES = {  # of a study, and how a panel names them
    "labels_changed": "items with\nanother label",
    "largest_rank_move": "largest move of\nan annotator's rank",
    "elpd_diff": "difference of\nelpd, with SE",
}


def plot_prior(
    description: PriorDescription,
    quantities: str | Sequence[str] | None = None,
    *,
    ci_prob: float | None = None,
    ci_kind: CiKind = None,
    figsize: style.Size = None,
) -> Figure:
    """Draw what priors imply before data: a panel for each quantity, with a row for each model that has it.

    Parameters
    ----------
    description : PriorDescription
        As `bayesanno.describe_prior` gives it.
    quantities : str or sequence of str, optional
        The quantities to draw, as its table names them, such as "accuracy" or "vote_right"; by default all.
    ci_prob, ci_kind
        As in `summary`: the share of the draws that a bar holds.
    figsize
        As in `plot_coverage`.

    Returns
    -------
    matplotlib.figure.Figure
        A row has the histogram of the prior, with a bar for the interval and a point at the mean. Each
        class, type or label has a row, up to the first 6.

    Raises
    ------
    FitError
        If this is something else, or has no such quantity.

    Examples
    --------
    >>> import bayesanno as ba
    >>> design = ba.make_design(items=50, annotators=4, labels=2, per_item=3, random_seed=1)
    >>> figure = ba.plot_prior(ba.describe_prior("one_coin", design, draws=50, random_seed=1))
    >>> figure.axes[0].get_title(loc="left")
    'accuracy of an annotator'
    """
    check_made(description, "PriorDescription", "describe_prior")
    known = description.table["quantity"].unique().tolist()
    chosen = known if quantities is None else as_names(quantities)
    for name in chosen:
        if name not in known:
            raise FitError(f"there is no quantity {name!r}: choose from {', '.join(known)}{nearest(name, known)}")
    if not chosen:
        raise FitError(f"quantities is empty: choose from {', '.join(known)}")
    every = [xr.DataArray(values[None], dims=("chain", "draw")) for values in description.drawn]
    ends = [list(describe_draws(values, ci_prob, ci_kind).values())[2:] for values in every]
    table = description.table.assign(**dict(zip(("low", "high"), np.array(ends).T, strict=True)))
    by = [name for name in ("dimension", "quantity") if name in table]
    parts = list(table[table["quantity"].isin(chosen)].groupby(by, sort=False))
    panels = [part[part["of"].isin(part["of"].unique()[:MOST_NAMED])] for _, part in parts]
    heights = np.array([0.5 + (ROW if shown["of"].nunique() == 1 else THIN_ROW) * len(shown) for shown in panels])
    figure, axes = style.new_grid(len(panels), 1, heights * min(1, style.MOST_INCHES / heights.sum()))
    for one, shown, (groups, part) in zip(axes, panels, parts, strict=True):
        *dimension, quantity = map(str, groups)
        words = [*filter(None, dimension), style.WORDS.get(quantity, f"parameter {quantity}")]
        some = f" (the first {MOST_NAMED} of {part['of'].nunique()})" if len(shown) < len(part) else ""
        one.set_title(": ".join(words) + some, fontsize=style.NORMAL, loc="left", parse_math=False)
        _draw_quantity(one, shown, [description.drawn[row] for row in shown.index])
    return style.finish(figure, figsize=figsize)


def _draw_quantity(axes: Axes, rows: pd.DataFrame, drawn: list[np.ndarray]) -> None:
    low, high = min(one.min() for one in drawn), max(one.max() for one in drawn)
    ends = (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)
    edges, place = np.linspace(ends[0], ends[1], BINS + 1), np.arange(len(rows))
    for at, values in zip(place, drawn, strict=True):
        share = np.histogram(values, edges)[0] / values.size
        axes.stairs(at - 0.62 * share / share.max(), edges, baseline=at, fill=True, color=style.ACCENT, alpha=0.35)
    axes.hlines(place + 0.14, rows["low"], rows["high"], color=style.ACCENT, linewidth=1.5)
    axes.plot(rows["mean"], place + 0.14, "o", color=style.ACCENT, markersize=3.5)
    margin = 0.02 * (ends[1] - ends[0])
    axes.set(xlim=(ends[0] - margin, ends[1] + margin), ylim=(len(rows) - 0.55, -0.75))
    axes.grid(axis="x", color=style.PALE, alpha=0.3)
    middle = rows.assign(place=place).groupby("model", sort=False)["place"].mean()
    axes.set_yticks(middle.to_list(), [_wrap_name(name) for name in middle.index], parse_math=False)
    if rows["of"].nunique() > 1:  # the classes, types or labels
        names = style.cut_names(rows["of"].tolist(), LONGEST_CLASS)
        beside: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points", "va": "center"}
        for at, name in zip(place, names, strict=True):
            axes.annotate(name, (1, at), (4, 0), fontsize=style.SMALLEST, parse_math=False, **beside)
        for edge in np.flatnonzero(rows["model"].to_numpy()[1:] != rows["model"].to_numpy()[:-1]):
            axes.axhline(edge + 0.32, color=style.PALE, linewidth=0.6)


def _wrap_name(name: str) -> str:
    """Return a name on lines that end at blanks or underscores."""
    lines = wrap(style.cut_name(name, LONGEST).replace("_", "_ "), style.MOST_LETTERS)
    return "\n".join(lines).replace("_ ", "_")


def plot_label_power_scaling(table: pd.DataFrame, *, most: int = 25, **options: Unpack[style.Panels]) -> Figure:
    """Draw the items whose labels depend on the prior; those that change first are on top.

    Parameters
    ----------
    table : pandas.DataFrame
        As `bayesanno.criticism.label_power_scaling` gives it, or some of its rows.
    most : int, default 25
        Items that are drawn; the title says of how many.
    figsize, title
        As in `plot_coverage`; a figure of several panels takes no `ax`.

    Returns
    -------
    matplotlib.figure.Figure
        Above how many doublings of the prior (below 0: halvings) would make the runner-up as probable as the
        label, with arrowheads at the edge for more than four; between the lines one is enough. Below the
        probability of the label, with arrows to where a prior, or likelihood, of twice the strength would move it.

    Raises
    ------
    FitError
        If there is no row, most is below 1, or this is no such table.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.report.plot_label_power_scaling(ba.criticism.label_power_scaling(fit))  # doctest: +SKIP
    """
    check_made(table, "DataFrame", "criticism.label_power_scaling", ["doublings", "prior_slope"])
    shown, figure, upper, lower = _begin_panels(table.sort_values("doublings", key=np.abs, kind="stable"), most)
    place, doublings = np.arange(len(shown)), shown["doublings"].to_numpy()
    within = np.clip(doublings, -MOST_DOUBLINGS, MOST_DOUBLINGS)
    upper.axvspan(-1, 1, color=style.PALE, alpha=0.15, linewidth=0)
    upper.axvline(0, color=style.INK, linewidth=0.8)
    upper.plot(within[within == doublings], place[within == doublings], "o", color=style.ACCENT, markersize=4.5)
    for marker, beyond in (("<", doublings < within), (">", doublings > within)):
        upper.plot(within[beyond], place[beyond], marker, color=style.PALE, markersize=4)
    probability = shown["probability"].to_numpy()
    for of, shift, colour in (("likelihood", 0.16, style.PALE), ("prior", -0.16, style.ACCENT)):
        then = np.clip(probability + shown[f"{of}_slope"].to_numpy(), 0, 1)
        lower.hlines(place + shift, probability, then, color=colour, linewidth=1.2)
        lower.plot(then, place + shift, "o", color=colour, markersize=3, label=f"twice the {of}")
    lower.plot(probability, place, "|", color=style.INK, markersize=8, label="now")
    items, labels, others = (
        [style.cut_name(name, longest) for name in shown[column]]
        for column, longest in (("item", 12), ("label", 9), ("runner_up", 9))
    )
    said = [f"{item}: {label} or {other}" for item, label, other in zip(items, labels, others, strict=True)]
    style.name_rows(upper, said, longest=LONGEST)
    upper.set_xlim(-MOST_DOUBLINGS - 0.3, MOST_DOUBLINGS + 0.3)
    style.name_rows(lower, said, longest=LONGEST)
    upper.set_xlabel("doublings of the prior until the label changes")
    lower.set_xlabel("probability of the label")
    soon = int((table["doublings"].abs() < 1).sum())
    what = f"{len(shown)} of {len(table):,} drawn; " if len(shown) < len(table) else ""
    style.write_title(upper, f"labels that depend on the prior: {what}{soon} would change within one doubling")
    style.write_legend(lower, ncols=2)
    return style.finish(figure, **options)


def _begin_panels(ordered: pd.DataFrame, most: int) -> tuple[pd.DataFrame, Figure, Axes, Axes]:
    """Return the first rows of an ordered table, from the top, and a figure with two panels for them.

    Raises
    ------
    FitError
        If there is nothing to draw.
    """
    if most < 1:
        raise FitError(f"most is {most}: it must be at least 1")
    if ordered.empty:
        raise FitError("the table has no rows to draw")
    shown = ordered.head(most)
    figure, (upper, lower) = style.new_grid(2, 1, max(style.height_for(len(shown)) - 0.7, 2.0))
    for one in (upper, lower):
        one.set_ylim(len(shown) - 0.4, -0.6)
        one.grid(axis="x", color=style.PALE, alpha=0.3)
    return shown, figure, upper, lower


def plot_priors(study: Study, **options: Unpack[style.Panels]) -> Figure:
    """Draw what each prior of a study changes, against the model's own.

    Parameters
    ----------
    study : Study
        As `bayesanno.sensitivity` gives it.
    figsize, title
        As in `plot_coverage`; a figure of several panels takes no `ax`.

    Returns
    -------
    matplotlib.figure.Figure
        A row for each prior under its name, the model's own at the top. The panels show the number of items with
        another label; for models with a competence, the largest move of an annotator's rank; and, of fits with draws,
        the difference of elpd to the model's own prior with one standard error on each side: right of 0 the prior
        predicts left-out items better. A prior whose fit failed is named as not fitted.

    Raises
    ------
    FitError
        If this is something else.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> grid = {"prevalence_prior": [1, 100]}
    >>> study = ba.sensitivity("mace", data, grid, method="vb", random_seed=1, progressbar=False)
    >>> [" ".join(axes.get_xlabel().split()) for axes in ba.plot_priors(study).axes]
    ['items with another label', "largest move of an annotator's rank", 'difference of elpd, with SE']
    """
    check_made(study, "Study", "sensitivity")
    table, place = study.table, np.arange(len(study.table))
    shown = [(column, label) for column, label in CHANGES.items() if column in table]
    height = min(OF_PRIOR * len(table), style.MOST_HEIGHT)
    figure, panels = style.new_grid(len(shown), len(shown), height)
    for axes, (column, label) in zip(panels, shown, strict=True):
        values = table[column].to_numpy(dtype=float)
        fitted = place[np.isfinite(values)]
        axes.vlines(np.zeros(len(fitted)), fitted - 0.2, fitted + 0.2, color=style.PALE, linewidth=0.8)
        if column == "elpd_diff":
            axes.errorbar(
                values, place, xerr=table["se_diff"], fmt="o", color=style.ACCENT, markersize=4, linewidth=1.2
            )
        else:
            axes.barh(place, values, color=style.ACCENT, height=0.3)
            axes.set_xlim(0, max(1, 1.05 * np.nanmax(values)))
        axes.locator_params(axis="x", nbins=4, integer=True)
        axes.set(xlabel=label, ylim=(len(table) - 0.7, -0.75), yticks=[], facecolor="none")
        axes.spines["left"].set_visible(False)
    names = table["prior"].where(table["labels_changed"].notna(), table["prior"] + " (not fitted)").tolist()
    own = table.loc[:, :"labels_changed"].iloc[0, 1:-1]
    names[0] += f": {', '.join(f'{field}={as_typed(value)}' for field, value in own.items())}"
    for at in place[:: -(-len(table) // style.MOST_NAMES)]:
        where: dict[str, Any] = {"transform": panels[0].get_yaxis_transform(), "va": "bottom", "fontsize": style.NORMAL}
        name = panels[0].text(0, at - 0.22, style.cut_name(names[at], LONGEST_PRIOR), parse_math=False, **where)
        name.set_in_layout(False)  # it is across all panels
    style.write_suptitle(figure, "Changes under other priors")
    return style.finish(figure, **options)
