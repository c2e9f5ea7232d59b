"""Figures of annotators, from a fit: their competence, and their confusion matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesanno._core.errors import FitError
from bayesanno._core.intervals import CiKind, find_bounds
from bayesanno._core.lazy import pd
from bayesanno._core.wording import counted
from bayesanno.analysis.annotators import annotator_table
from bayesanno.analysis.behaviour import find_confusion, require_confusion
from bayesanno.analysis.parameters import describe_draws
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.parts import find_positions, part_of
from bayesanno.fits.view import Fit, FitView
from bayesanno.report.plots import style

AT_CHANCE = 0.5  # annotators who are no better than chance with a larger probability are marked
MOST_MATRICES = 12
MATRIX_COLUMNS = 4
SHORTEST = 0.05  # an interval that ends below it is not drawn as a line: it would be a dot
MOST_PRINTED = 5  # labels up to which the numbers are printed into the cells


def plot_annotators(
    fit: Fit,
    *,
    dimension: str | None = None,
    ci_prob: float | None = None,
    ci_kind: CiKind = None,
    **options: Unpack[style.OneAxes],
) -> Figure:
    """Draw the competence of every annotator, the most competent on top.

    A point is larger where an annotator gave more answers, and hollow where the annotator is more probably no better
    than chance than better (`p_chance` in `annotator_table`).

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    dimension : str, optional
        Which dimension, where several were annotated together.
    ci_prob, ci_kind
        As in `summary`.
    figsize, title, ax
        As in `plot_coverage`.

    Returns
    -------
    matplotlib.figure.Figure
        Posterior means with intervals; a point estimate, as by EM, has none.

    Raises
    ------
    FitError
        If the model has no competence, or the dimension is not one of the fit's.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("mace", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    >>> ba.plot_annotators(fit).axes[0].get_xlabel()
    'competence (a share of answers, 0 to 1)'
    """
    view = view_for_table(fit)
    part_of(view, dimension, need_items=False)  # refuses a dimension that is not there
    return draw_annotators(view, annotator_table(view, ci_prob=ci_prob, ci_kind=ci_kind), dimension, **options)


def is_at_chance(table: pd.DataFrame) -> np.ndarray:
    """Return which annotators of the annotator table are more probably no better than chance; nobody among graders."""
    return table.get("p_chance", pd.Series(0.0, table.index)).to_numpy() > AT_CHANCE


def draw_annotators(
    view: FitView, table: pd.DataFrame, dimension: str | None, **options: Unpack[style.OneAxes]
) -> Figure:
    """Draw what `plot_annotators` does, of the annotator table."""
    is_point, (low, high, interval) = view.yields == "point", find_bounds(table, "competence")
    table = style.keep_dimension(table, dimension).sort_values("competence_mean", kind="stable")
    axes = style.open_axes(7, max(2.4, style.height_for(len(table))), options)
    place = np.arange(len(table))
    if not is_point:
        width = max(0.5, min(2.0, 120 / len(table)))
        axes.hlines(place, table[low], table[high], color=style.PALE, linewidth=width)
    _draw_sizes(axes, table, place)
    style.name_rows(axes, table["annotator"].tolist())
    name = view.model.competence
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.6, len(table) - 0.4), ylabel="annotator")
    axes.set_xlabel(f"{name} (a share of answers, 0 to 1)")
    what = "one point, without intervals" if is_point else f"posterior mean and {interval}"
    style.write_title(axes, f"{name} of {len(table):,} annotators: {what}", dimension)
    return style.finish(axes, **options)


def _draw_sizes(axes: Axes, table: pd.DataFrame, place: np.ndarray) -> None:
    """Draw points sized by number of answers, with a legend of the sizes."""
    n, low = table["n_annotations"].to_numpy(), is_at_chance(table)
    largest = 60.0 if len(table) <= 60 else 24.0

    def size(many: Any) -> Any:
        return 4 + largest * np.asarray(many) / n.max()

    look: dict[str, Any] = {"edgecolor": style.INK, "linewidth": 0.8}
    for marked, face in ((~low, style.ACCENT), (low, "white")):
        mean = table["competence_mean"].to_numpy()[marked]
        axes.scatter(mean, place[marked], s=size(n[marked]), facecolor=face, zorder=3, **look)
    if low.any():
        axes.scatter([], [], s=size(n.max()), facecolor="white", label="probably no better than chance", **look)
    for many in dict.fromkeys(int(q) for q in np.quantile(n, [0, 0.5, 1], method="nearest")):
        axes.scatter([], [], s=size(many), facecolor=style.ACCENT, label=counted(many, "answer"), **look)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)


def plot_confusion(
    fit: Fit,
    annotators: str | Sequence[str] | None = None,
    *,
    dimension: str | None = None,
    ci_prob: float | None = None,
    ci_kind: CiKind = None,
    **options: Unpack[style.Panels],
) -> Figure:
    """Draw the confusion matrices of annotators: how often each gives each label to items of each class.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        Its model has confusion matrices or implies them: `model_b`, `mace`, `one_coin` and the like.
    annotators : str or sequence of str, optional
        The annotators; by default the 12 with the most answers.
    dimension : str, optional
        Which dimension, where several were annotated together.
    ci_prob, ci_kind
        As in `summary`.
    figsize, title
        As in `plot_coverage`; a figure of several panels takes no `ax`.

    Returns
    -------
    matplotlib.figure.Figure
        A panel for each annotator. The darker a cell, the more often that response is given to items of that class:
        the posterior mean, with its interval, which is printed where labels are 5 or fewer. With more labels it is
        a line across the cell, from 0 at the left edge to 1 at the right edge; none where it would end below 0.05. A
        fit by EM has no intervals.

    Raises
    ------
    FitError
        If the model has no confusion matrices, nobody or an annotator who is not in the fit is asked for, or the
        dimension is not one of the fit's.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("mace", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    >>> figure = ba.plot_confusion(fit, ["ana", "bruno"])
    >>> [axes.get_title(loc="left").split(",")[0] for axes in figure.axes[:2]]
    ['ana', 'bruno']
    """
    view = view_for_table(fit)
    require_confusion(view)
    data = part_of(view, dimension, need_items=False).data
    everybody, n = data.annotators, data.by_annotator
    if annotators is None:
        codes = np.argsort(-n, kind="stable")[:MOST_MATRICES].tolist()
    else:
        if not annotators:
            raise FitError("no annotator is asked for: name some, or leave annotators out for those with most answers")
        codes = find_positions("annotator", annotators, everybody)
    chosen = [everybody[code] for code in codes]
    described = describe_draws(find_confusion(view, codes), ci_prob, ci_kind)
    found = dict(
        zip(("mean", "sd", "low", "high"), described.values(), strict=False)
    )  # of (annotator, true_class, response)

    columns = min(MATRIX_COLUMNS, len(chosen))
    side = min(3.2, max(1.9, 0.5 * data.n_labels if data.n_labels <= MOST_PRINTED else 0.16 * data.n_labels))
    figure, panels = style.new_grid(len(chosen), columns, (side, side))
    for number, (axes, name, code) in enumerate(zip(panels, chosen, codes, strict=False)):
        one = {what: values[number] for what, values in found.items()}
        image = axes.imshow(one["mean"], cmap=style.FROM_WHITE, vmin=0, vmax=1, interpolation="nearest")
        _draw_intervals(axes, one, printed=data.n_labels <= MOST_PRINTED)
        style.name_rows(axes, data.classes)
        style.name_rows(axes, data.labels, along="x")
        axes.tick_params(
            labelsize=7, length=0, labelleft=number % columns == 0, labelbottom=number + columns >= len(chosen)
        )
        axes.spines[:].set_visible(False)
        axes.set_title(f"{style.cut_name(name)}, {n[code]:,} answers", fontsize=8, loc="left", parse_math=False)
    size = {"shrink": min(1.0, 2.5 / figure.get_figheight()), "aspect": 25}
    style.add_scale(image, panels, "probability of the response", **size)
    figure.supxlabel("response", fontsize=9)
    figure.supylabel("true class", fontsize=9)
    whose = f"{len(chosen)} annotators" if len(chosen) > 1 else style.cut_name(chosen[0])
    if annotators is None and len(chosen) < len(everybody):
        whose = f"the {len(chosen)} of {len(everybody):,} annotators with most answers"
    what = (
        "one point, without intervals" if view.yields == "point" else f"posterior mean and {find_bounds(described)[2]}"
    )
    figure.suptitle(f"Confusion of {whose}: {what}", fontsize=10, parse_math=False).set_gid(style.TITLE)
    return style.finish(figure, **options)


def _draw_intervals(axes: Axes, found: dict[str, np.ndarray], *, printed: bool) -> None:
    """Print or draw the interval of the probability in each cell of a matrix."""
    mean, low, high = found["mean"], found["low"], found["high"]
    known = np.isfinite(low)
    if printed:
        texts = np.array([f"{value:.2f}" for value in mean.flat], dtype=object).reshape(mean.shape)
        texts[known] += [f"\n{a:.2f}–{b:.2f}" for a, b in zip(low[known], high[known], strict=True)]
        style.print_cells(axes, texts, mean > style.DARK, 6)
        return
    for there, colour in ((mean > style.DARK, "white"), (mean <= style.DARK, style.INK)):
        rows, columns = np.nonzero(there & known & (high > SHORTEST))
        left = columns - 0.5
        axes.hlines(rows, left + low[rows, columns], left + high[rows, columns], color=colour, linewidth=0.8)
