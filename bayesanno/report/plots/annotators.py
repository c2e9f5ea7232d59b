"""Figures of annotators, from a fit: their competence, and their confusion matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesanno._core.intervals import CiKind, find_bounds
from bayesanno._core.lazy import pd
from bayesanno._core.messages import FitError, counted
from bayesanno.agreement.behaviour import usage_shares
from bayesanno.analysis.annotators import annotator_table
from bayesanno.analysis.behaviour import find_confusion, require_confusion
from bayesanno.analysis.parameters import describe_draws
from bayesanno.analysis.views import view_for_table
from bayesanno.data.annotations import AnnotationData
from bayesanno.fits.view import Fit, FitPart, FitView, find_positions, part_of
from bayesanno.modeling.findings import threshold_of
from bayesanno.report.plots import style

ACCURACY = "accuracy"  # the competence of most models; any other is 0 at chance
MOST_MATRICES = 12
SHORTEST = 0.05  # an interval that ends below it is not drawn as a line: it would be a dot
MOST_PRINTED = 5  # labels up to which the numbers are printed into the cells
CELL, THIN_CELL = 0.42, 0.16  # inches of a cell with numbers, and without


def plot_annotators(
    fit: Fit,
    *,
    dimension: str | None = None,
    ci_prob: float | None = None,
    ci_kind: CiKind = None,
    **options: Unpack[style.OneAxes],
) -> Figure:
    """Draw the competence of every annotator, the most competent on top.

    A point is hollow where the annotator is probably no better than chance: `p_chance` in `annotator_table` is at least
    0.8, as in the finding `spammer`. The dashed line is chance. Where the competence is an accuracy, that is how often
    the answers of the annotator would be right if they were given to random items. At the right is the number of
    answers.

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
    >>> ba.plot_annotators(fit).axes[0].get_xlabel().splitlines()[0]
    'competence (dashed: chance)'
    """
    view = view_for_table(fit)
    part_of(view, dimension, need_items=False)  # refuses a dimension that is not there
    return draw_annotators(view, annotator_table(view, ci_prob=ci_prob, ci_kind=ci_kind), dimension, **options)


def is_at_chance(table: pd.DataFrame) -> np.ndarray:
    """Return which annotators are probably no better than chance, by the rule of the finding; nobody among graders."""
    return table.get("p_chance", pd.Series(0.0, table.index)).to_numpy() >= threshold_of("spammer")


def draw_annotators(
    view: FitView, table: pd.DataFrame, dimension: str | None, **options: Unpack[style.OneAxes]
) -> Figure:
    """Draw what `plot_annotators` does, of the annotator table."""
    is_point, (low, high, interval) = view.yields == "point", find_bounds(table, "competence")
    chance = find_chance(view, part_of(view, dimension, need_items=False))
    table = style.keep_dimension(table, dimension).assign(chance=chance).sort_values("competence_mean", kind="stable")
    n, name, mean = len(table), view.model.competence, table["competence_mean"].to_numpy()
    axes = style.open_axes(max(2.4, style.height_for(n)), options)
    place, at_chance = np.arange(n), is_at_chance(table)
    edges = np.repeat(np.arange(n + 1) - 0.5, 2)[1:-1]
    axes.plot(np.repeat(table["chance"], 2), edges, color=style.PALE, linewidth=1, linestyle="--", zorder=0)
    if not is_point:
        axes.hlines(place, table[low], table[high], color=style.PALE, linewidth=max(0.5, min(2.0, 120 / n)))
    for which, face in ((~at_chance, style.ACCENT), (at_chance, "white")):
        look: dict[str, Any] = {"s": 30 if n <= style.MOST_NAMES else 10, "edgecolor": style.INK, "linewidth": 0.8}
        axes.scatter(mean[which], place[which], facecolor=face, zorder=3, **look)
    style.name_rows(axes, table["annotator"].tolist())
    style.print_beside(axes, [f"{number:,}" for number in table["n_annotations"]], "answers")
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.6, n - 0.4))
    hollow = "\nhollow: probably no better than chance" if at_chance.any() else ""
    axes.set_xlabel(f"{name} (dashed: chance){hollow}")
    what = "one point, without intervals" if is_point else f"posterior mean and {interval}"
    style.write_title(axes, f"{name} of {counted(n, 'annotator')}: {what}", dimension)
    return style.finish(axes, **options)


def find_chance(view: FitView, part: FitPart) -> np.ndarray:
    """Return the competence of annotators who gave their answers to random items, (annotator,); nan if unknown."""
    if view.model.competence != ACCURACY:
        return np.zeros(len(part.data.annotators))
    if not isinstance(part.data, AnnotationData):
        return np.full(len(part.data.annotators), np.nan)  # the answers are on a cluster
    said = usage_shares(part.data)[:, part.data.class_codes]  # (annotator, true_class)
    return np.asarray(said @ part.posterior.values.mean(axis=0))


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
        The annotators; by default those with most answers: 12, or fewer where many labels leave no room for so many.
    dimension : str, optional
        Which dimension, where several were annotated together.
    ci_prob, ci_kind
        As in `summary`.
    figsize, title
        As in `plot_coverage`; a figure of several panels takes no `ax`.

    Returns
    -------
    matplotlib.figure.Figure
        A panel for each annotator, in as many rows as are needed to read them. The darker a cell, the more often that
        response is given to items of that class: the posterior mean, with its interval, both printed in percent where
        labels are 5 or fewer. With more labels the interval is a line across the cell, from 0 at the left edge to 1 at
        the right edge; none where it would end below 0.05. A fit by EM has no intervals.

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
    >>> [axes.get_title(loc="left").splitlines()[0] for axes in figure.axes[:2]]
    ['ana', 'bruno']
    """
    view = view_for_table(fit)
    require_confusion(view)
    data = part_of(view, dimension, need_items=False).data
    everybody, n, printed = data.annotators, data.by_annotator, data.n_labels <= MOST_PRINTED
    side = min(3.2, max(1.1, (CELL if printed else THIN_CELL) * data.n_labels))
    columns = max(1, int((style.WIDTH - 0.7) / side))
    if annotators is None:
        rows = int(style.MOST_HEIGHT / (side + 0.5))
        codes = np.argsort(-n, kind="stable")[: min(MOST_MATRICES, columns * rows)].tolist()
    else:
        if not annotators:
            raise FitError("no annotator is asked for: name some, or leave annotators out for those with most answers")
        codes = find_positions("annotator", annotators, everybody)
    chosen = [everybody[code] for code in codes]
    described = describe_draws(find_confusion(view, codes), ci_prob, ci_kind)
    found = dict(
        zip(("mean", "sd", "low", "high"), described.values(), strict=False)
    )  # of (annotator, true_class, response)

    columns = min(len(chosen), columns)
    is_ragged = len(chosen) > columns and len(chosen) % columns > 0  # then labels stand below an upper row too
    figure, panels = style.new_grid(len(chosen), columns, side + (0.5 if is_ragged else 0.3))
    for number, (axes, name, code) in enumerate(zip(panels, chosen, codes, strict=False)):
        one = {what: values[number] for what, values in found.items()}
        image = axes.imshow(one["mean"], cmap=style.FROM_WHITE, vmin=0, vmax=1, interpolation="nearest")
        _draw_intervals(axes, one, printed=printed)
        style.name_rows(axes, data.classes, longest=10)
        style.name_rows(axes, data.labels, along="x", longest=10)
        axes.tick_params(
            labelsize=style.SMALLEST, length=0,
            labelleft=number % columns == 0, labelbottom=number + columns >= len(chosen),
        )  # fmt: skip
        axes.spines[:].set_visible(False)
        said = f"{style.cut_name(name, 14)}\n{counted(int(n[code]), 'answer')}"
        axes.set_title(said, fontsize=style.SMALLEST, loc="left", parse_math=False)
    style.add_scale(image, panels, "probability of the response (columns), by true class (rows)")
    whose = f"{len(chosen)} annotators" if len(chosen) > 1 else style.cut_name(chosen[0])
    if annotators is None and len(chosen) < len(everybody):
        whose = f"the {len(chosen)} of {len(everybody):,} annotators with most answers"
    interval = find_bounds(described)[2]
    what = "one point, without intervals" if view.yields == "point" else f"posterior mean and {interval}"
    style.write_suptitle(figure, f"Confusion of {whose}: {what}{', in percent' if printed else ''}")
    return style.finish(figure, **options)


def _draw_intervals(axes: Axes, found: dict[str, np.ndarray], *, printed: bool) -> None:
    """Print or draw the interval of the probability in each cell of a matrix."""
    mean, low, high = found["mean"], found["low"], found["high"]
    known = np.isfinite(low)
    if printed:
        texts = np.array([f"{100 * value:.0f}" for value in mean.flat], dtype=object).reshape(mean.shape)
        texts[known] += [f"\n{100 * a:.0f}–{100 * b:.0f}" for a, b in zip(low[known], high[known], strict=True)]
        style.print_cells(axes, texts, mean > style.DARK)
        return
    for there, colour in ((mean > style.DARK, "white"), (mean <= style.DARK, style.INK)):
        rows, columns = np.nonzero(there & known & (high > SHORTEST))
        left = columns - 0.5
        axes.hlines(rows, left + low[rows, columns], left + high[rows, columns], color=colour, linewidth=0.8)
