"""Figures of labels: their posterior, their accuracy, and how good they will be after more answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Unpack, get_args

import numpy as np
from matplotlib.figure import Figure

from bayesanno._core.intervals import choose_prob, find_bounds, name_interval
from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, FitError, counted, listed
from bayesanno._core.validate import check_choice, check_count, check_made, check_seed, check_share
from bayesanno.agreement.vote import vote_right
from bayesanno.analysis.labels import bound_accuracy, coverage_table, measure_coverage
from bayesanno.analysis.views import view_for_table
from bayesanno.data.labelled import divide
from bayesanno.fits.view import Fit, FitPart, find_positions, part_of, require
from bayesanno.modeling.arguments import measure_entropy
from bayesanno.planning.progress import Measure
from bayesanno.report.plots import style

Choice = Literal["doubtful", "random"]

FEW_ITEMS = 30  # that are drawn unless more are asked for
MOST_PRINTED = 5  # classes up to which the numbers are printed into the cells
MOST_CLASSES = 14  # with a column each in both halves; of more, the rarest share one
LONGEST_ITEM, LONGEST_CLASS = 16, 14  # letters
EXPECTED = {"accuracy": "expected accuracy", "share_sure": "expected share of sure labels"}


def plot_labels(
    fit: Fit,
    items: str | Sequence[str] | None = None,
    *,
    choose: Choice = "doubtful",
    most: int = FEW_ITEMS,
    dimension: str | None = None,
    random_seed: int | None = None,
    **options: Unpack[style.OneAxes],
) -> Figure:
    """Draw the probability of each label of each item, beside the shares of its answers, the most doubtful item on top.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of a model that gives labels.
    items : str or sequence of str, optional
        The items, 60 at most; by default some are chosen.
    choose : {"doubtful", "random"}
        Which items are chosen if none are named: those with the largest entropy, or a random sample.
    most : int, default 30
        How many items are chosen, 60 at most.
    dimension : str, optional
        Which dimension, where several were annotated together.
    random_seed : int, optional
        The seed of a random sample.
    figsize, title, ax
        As in `plot_coverage`.

    Returns
    -------
    matplotlib.figure.Figure
        A row for each item, in the order of the entropy of its probabilities. At the left the share of each label among
        its answers, empty without answers, at the right the probability of each label: darker is more. Where labels are
        5 or fewer, the numbers of answers and the probabilities in percent are printed. A line under a probability
        marks the true label, if it is known. Of more than 14 labels, those with the least answers and probability share
        one column. An answer "unsure" is none.

    Raises
    ------
    FitError
        If the model gives no labels; if no item, too many items or one that is not in the fit is asked for; if the
        dimension is not one of the fit's, or there is no such choice.
    DataError
        If `most` is no number.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("mace", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    >>> figure = ba.plot_labels(fit, ["ticket018", "ticket001"])
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['ticket018', 'ticket001']
    """
    view = view_for_table(fit)
    require(view, "labels", "plot_labels")
    return draw_labels(part_of(view, dimension), items, choose, most, random_seed, **options)


def draw_labels(
    part: FitPart,
    items: str | Sequence[str] | None = None,
    choose: Choice = "doubtful",
    most: int = FEW_ITEMS,
    random_seed: int | None = None,
    **options: Unpack[style.OneAxes],
) -> Figure:
    """Draw what `plot_labels` does, of one part of a fit."""
    data = part.data
    rows, which = _choose_items(part, items, choose, most, random_seed)
    votes, probability = data.votes[rows][:, data.class_codes], part.posterior.values[rows]  # (item, true_class)
    known = data.known_codes[rows][:, None] == np.arange(data.n_classes)  # (item, true_class)
    shares, names = divide(votes, votes.sum(axis=1, keepdims=True)), list(data.classes)
    if data.n_classes > MOST_CLASSES:
        kept = np.sort(
            np.argsort(-(probability + np.nan_to_num(shares)).sum(axis=0), kind="stable")[: MOST_CLASSES - 1]
        )
        votes, shares, probability, known = (_join_rest(one, kept) for one in (votes, shares, probability, known))
        names = [*(names[code] for code in kept), f"{data.n_classes - kept.size} others"]
    n, n_classes = len(rows), len(names)
    apart, first = np.full((n, 1), np.nan), n_classes + 1  # the column between the halves, the first of the right one
    cells = np.concatenate([shares, apart, probability], axis=1)

    axes = style.open_axes(style.height_for(n) + 1.4, options)
    image = axes.imshow(cells, cmap=style.FROM_WHITE, vmin=0, vmax=1, interpolation="nearest", aspect="auto")
    is_printed = n_classes <= MOST_PRINTED
    if is_printed:
        numbers = np.concatenate([votes, apart, 100 * probability], axis=1).round()
        style.print_cells(axes, np.where(numbers > 0, np.char.mod("%.0f", numbers), ""), cells > style.DARK)
    row, code = np.nonzero(known)
    axes.hlines(row + 0.4, first + code - 0.4, first + code + 0.4, color=style.COLOURS[1], linewidth=2)
    style.name_rows(axes, [data.items[each] for each in rows], longest=LONGEST_ITEM)
    short = style.cut_names(names, LONGEST_CLASS)
    axes.set_xticks([*range(n_classes), *range(first, first + n_classes)], short * 2, rotation=90, parse_math=False)
    axes.tick_params(length=0)
    axes.tick_params(axis="x", labelsize=style.SMALLEST)
    axes.spines[:].set_visible(False)
    halves = axes.secondary_xaxis("top")
    halves.set_xticks(
        [(n_classes - 1) / 2, first + (n_classes - 1) / 2], ["answers", "probability" + ", %" * is_printed]
    )
    halves.tick_params(length=0, labelsize=style.NORMAL)
    halves.spines[:].set_visible(False)
    style.add_scale(image, axes, "share of the answers, and probability" + ("; line: true label" if row.size else ""))
    style.write_title(axes, f"labels of {which}, the most doubtful on top", part.dimension)
    return style.finish(axes, **options)


def _join_rest(values: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the columns that are kept, and the sum of the others."""
    return np.column_stack([values[:, kept], np.delete(values, kept, axis=1).sum(axis=1)])


def _choose_items(
    part: FitPart, items: str | Sequence[str] | None, choose: str, most: int, random_seed: int | None
) -> tuple[np.ndarray, str]:
    """Return the positions of the items to draw, the most doubtful first, and which these are in words."""
    check_choice(f"choose is {choose!r}", choose, get_args(Choice))
    check_count("most", most)
    check_seed(random_seed)
    order, every = np.argsort(-part.entropy, kind="stable"), f"of {counted(part.data.n_items, 'item')}"
    if items is not None:
        chosen = np.unique(find_positions("item", items, part.data.items))
        which = f"{chosen.size:,} {every}"
    elif choose == "random":
        chosen = np.random.default_rng(random_seed).permutation(order)[:most]
        which = f"{chosen.size:,} {every}, at random"
    else:
        chosen = order[:most]
        which = f"the {chosen.size:,} least certain {every}"
    if not 0 < chosen.size <= style.MOST_NAMES:
        asked = f"{counted(chosen.size, 'item')} are asked for, and 1 to {style.MOST_NAMES} can be drawn"
        raise FitError(f"{asked}: name others, or leave items out and set most")
    return order[np.isin(order, chosen)], which if chosen.size < order.size else counted(order.size, "item")


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
