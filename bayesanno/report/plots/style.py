"""One style for all figures: without pyplot, readable without colour, legible for few rows and for hundreds.

The invariant: a figure is `WIDTH` inches wide, and grows in height. No text is smaller than `SMALLEST` points, so that
a figure can be read on a screen of 400 pixels. A legend is below its axes, where nothing is drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import Any, TypedDict, cast

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation

from bayesanno._core.lazy import pd
from bayesanno._core.messages import FitError
from bayesanno.fits.storage import is_tree
from bayesanno.fits.view import Fit

INK, ACCENT, PALE = "#1a1a1a", "#0072b2", "#9a9a9a"  # the accent: Okabe and Ito's blue
SEQUENCE = "cividis"  # a colour map of rising lightness, for colour-blind readers too
FROM_WHITE, BOTH_WAYS = "Blues", "RdBu"  # of matrices: white is 0
DARK = 0.6  # of a matrix's range of colours: numbers in darker cells are white
WIDTH = 4.5  # inches
SMALLEST, NORMAL = 8, 9  # points of texts
ROW = 0.2  # inches of a row with a name
LEGEND = 0.55  # inches below the axes, under the name of the axis
MOST_HEIGHT, MOST_INCHES = 14.0, 30.0  # of a figure, and of one with many panels
SQUARE = 6.0  # of a figure with a square matrix, and its scale
MOST_NAMES, MOST_SQUARE = 60, 30  # rows that are all named, and those of a square matrix
MOST_PARTS = 20  # of a bar: shades of more look alike
MOST_LETTERS = 20  # of a name
LINES, MARKERS = ("-", "--", "-.", ":"), "osD^vP*X"  # of fits or types in one figure, in this order

# Okabe and Ito's colours, of which neighbours differ for all readers.
COLOURS = (ACCENT, "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", INK)
LETTERS, MOST_IN_LINE = 35, 56  # of a line of a title: beside the names of rows, and above a whole figure
TITLE = "title"  # marks what `finish` may remove

type Size = tuple[float, float] | None
WORDS = {  # of statistics and quantities
    "accuracy": "accuracy of an annotator",
    "competence": "competence of an annotator",
    "diligence": "diligence",
    "agreement": "how often two annotators agree",
    "right": "share of answers that are right",
    "vote_right": "share of items whose vote is right",
    "unanimous": "share of items on which all agree",
    "prevalence": "prevalence of a class",
    "largest_prevalence": "prevalence of the commonest class",
    "usage": "how often an annotator gives a label",
    "weight": "share of items of a type",
    "rate": "rate of positive answers, by type",
    "positive_share": "share of positive answers",
    "spread": "sd over items",
    "votes_per_item": "items with so many votes for a label",
    "label_counts": "answers of an annotator with a label",
    "pair_agreement": "agreement of two annotators",
    "rest_agreement": "agreement of an annotator with the others",
    "histogram": "items with so many successes",
    "ratings": "ratings",
    "beyond_ends": "share of ratings beyond the ends",
    "outliers": "share of outliers",
    "slopes": "slopes of annotators",
    "within_items": "differences of spread between items",
    "pair_errors": "covariances of errors, in standard errors",
    "at_ends": "share of ratings at the ends",
    "sd_of_values": "standard deviation of values",
}


class Panels(TypedDict, total=False):
    """The options of a figure: its width and height in inches, and whether it has a title."""

    figsize: Size
    title: bool


class OneAxes(Panels, total=False):
    """The options of a figure that can be a part of another: `ax`, the axes to draw on."""

    ax: Axes | None


class ShownFigure(Figure):
    """A matplotlib Figure that a notebook shows as a picture, also before pyplot is used."""

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()


def new_figure(
    width: float, height: float, rows: int = 1, columns: int = 1, heights: Sequence[float] | None = None
) -> tuple[Figure, list[Axes]]:
    """Return a figure of a size in inches, and its panels, row by row; rows may have different heights."""
    apart = ConstrainedLayoutEngine(w_pad=0.09)  # so that numbers at the ends of two axes do not meet
    figure = ShownFigure(figsize=(width, height), layout=apart)
    panels = figure.subplots(rows, columns, squeeze=False, height_ratios=heights)
    return figure, [_begin_axes(axes) for axes in panels.flat]


def open_axes(height: float, options: OneAxes, *, width: float = WIDTH) -> Axes:
    """Return the axes to draw on: those that are given, or those of a new figure of a size in inches."""
    axes = options.get("ax")
    return new_figure(width, height)[1][0] if axes is None else _begin_axes(axes)


def _begin_axes(axes: Axes) -> Axes:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=NORMAL)
    axes.xaxis.label.set_fontsize(NORMAL)
    axes.yaxis.label.set_fontsize(NORMAL)
    return axes


def new_grid(n: int, columns: int, height: float | np.ndarray) -> tuple[Figure, list[Axes]]:
    """Return a figure, and n panels in rows of so many columns, each row of about that height, or its own (inches)."""
    rows = -(-n // columns)
    heights = np.broadcast_to(height, rows)
    figure, panels = new_figure(WIDTH, float(heights.sum()) + 0.25 * rows + 1.2, rows, columns, heights.tolist())
    for empty in panels[n:]:
        empty.remove()
    return figure, panels[:n]


def keep_dimension(table: pd.DataFrame, dimension: str | None) -> pd.DataFrame:
    """Return the rows of one dimension, from a table that may have several."""
    return table if dimension is None else table[table["dimension"] == dimension].reset_index(drop=True)


def cut_name(name: str, most: int = MOST_LETTERS) -> str:
    """Return a name on one line, or its beginning if it is long.

    Examples
    --------
    >>> from bayesanno.report.plots.style import cut_name
    >>> cut_name("ana"), cut_name("a name without an end", 8)
    ('ana', 'a name …')
    """
    line = " ".join(name.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def cut_names(names: Sequence[str], most: int = MOST_LETTERS) -> list[str]:
    """Return names on one line, or the beginnings of those that are long, or both ends where these would be the same.

    Examples
    --------
    >>> from bayesanno.report.plots.style import cut_names
    >>> cut_names(["question one", "question two", "another question"], 9)
    ['ques… one', 'ques… two', 'another …']
    """
    lines, tail = [" ".join(name.split()) for name in names], (most - 1) // 2
    short = {line: cut_name(line, most) for line in lines}
    alike = Counter(short.values())
    return [
        short[line] if line == short[line] or alike[short[line]] == 1 else f"{line[: most - 1 - tail]}…{line[-tail:]}"
        for line in lines
    ]


def draw_shares(axes: Axes, shares: np.ndarray, names: Sequence[str]) -> None:
    """Draw a bar for each row of shares, (row, name), with a part for each name; of many, for the largest ones."""
    if len(names) > MOST_PARTS:
        largest = np.sort(np.argsort(-shares.sum(axis=0), kind="stable")[: MOST_PARTS - 1])
        rest = np.delete(shares, largest, axis=1).sum(axis=1)
        names = [*(names[code] for code in largest), f"{len(names) - largest.size:,} others"]
        shares = np.column_stack([shares[:, largest], rest])
    left = np.zeros(len(shares))
    for width, name, colour in zip(shares.T, names, shades(len(names)), strict=True):
        axes.barh(range(len(shares)), width, left=left, color=[colour], edgecolor="white", linewidth=0.4, label=name)
        left += width


def write_legend(axes: Axes, **options: Any) -> None:
    """Add a legend below the axes, whose texts are not read as formulas."""
    below = axes.transAxes + ScaledTranslation(0, -LEGEND, cast("Figure", axes.get_figure(root=True)).dpi_scale_trans)
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": below, "frameon": False}
    legend = axes.legend(**{**place, "fontsize": SMALLEST, "title_fontsize": SMALLEST, "borderaxespad": 0, **options})
    for text in legend.get_texts():
        text.set_parse_math(False)


def height_for(rows: int) -> float:
    """Return the height of a figure with a row each, in inches."""
    return float(min(1.4 + ROW * rows, MOST_HEIGHT))


def name_rows(axes: Axes, names: Sequence[str], *, along: str = "y", longest: int = 20, most: int = MOST_NAMES) -> None:
    """Name rows (or columns), every one where there is room, else evenly spaced ones; long names are cut."""
    step = -(-len(names) // most)
    at = range(0, len(names), step)
    labels = cut_names([names[place] for place in at], longest)
    if along == "y":
        axes.set_yticks(list(at), labels, parse_math=False)
    else:
        axes.set_xticks(list(at), labels, rotation=90, parse_math=False)


def name_square(axes: Axes, names: Sequence[str], groups: np.ndarray) -> None:
    """Name the rows and columns of a square matrix, and draw lines between groups that are side by side."""
    for along, draw_line in (("y", axes.axhline), ("x", axes.axvline)):
        name_rows(axes, names, along=along, most=MOST_SQUARE)
        axes.tick_params(labelsize=SMALLEST)
        for edge in np.flatnonzero(groups[1:] != groups[:-1]):
            draw_line(edge + 0.5, color=INK, linewidth=1.2)


def print_cells(axes: Axes, texts: np.ndarray, dark: np.ndarray) -> None:
    """Print a text into each cell of a matrix, in white where the cell is dark."""
    centred: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": SMALLEST, "linespacing": 1.2}
    for (row, column), text in np.ndenumerate(texts):
        axes.text(column, row, text, color="white" if dark[row, column] else INK, **centred)


def add_scale(image: Any, axes: Any, label: str) -> None:
    """Draw the scale of a matrix's colours below it."""
    figure = image.figure
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.8, aspect=30, pad=0.1 / figure.get_figheight())
    bar.set_label(label, fontsize=NORMAL)
    bar.ax.tick_params(labelsize=SMALLEST)


def print_beside(axes: Axes, texts: Sequence[str], title: str) -> None:
    """Print a text at the right end of each row, from the bottom, over a title; of many rows, nothing."""
    if len(texts) > MOST_NAMES:
        return
    look: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points", "va": "center"}
    for place, text in enumerate(texts):
        axes.annotate(text, (1, place), (6, 0), fontsize=SMALLEST, **look)
    axes.annotate(title, (1, -0.6), (12, -11), fontsize=SMALLEST, **look)


def shades(n: int) -> list[Any]:
    """Return n colours that differ in lightness."""
    return list(matplotlib.colormaps[SEQUENCE](np.linspace(0.02, 0.98, n)))


def curve_styles(n: int) -> list[dict[str, Any]]:
    """Return the looks of n curves in one figure, which differ without colour too."""
    colours = [ACCENT] if n == 1 else shades(n + 1)
    return [{"color": colours[k], "linestyle": LINES[k % 4], "marker": MARKERS[k % 8]} for k in range(n)]


def write_title(axes: Axes, text: str, dimension: str | None = None) -> None:
    """Write a title above the left edge, after the name of the dimension if it is about one of several."""
    title = f"{cut_name(dimension)}: {text}" if dimension else text[0].upper() + text[1:]
    _set_title(axes.set_title, title, LETTERS, loc="left")


def write_suptitle(figure: Figure, text: str) -> None:
    """Write a title above all panels."""
    _set_title(figure.suptitle, text, MOST_IN_LINE, x=0.01, ha="left")


def _set_title(write: Any, text: str, letters: int, **options: Any) -> None:
    lines = "\n".join(part for line in text.split("\n") for part in wrap(line, letters))
    write(lines, fontsize=NORMAL + 1, parse_math=False, **options).set_gid(TITLE)


def finish(drawn: Figure | Axes, *, figsize: Size = None, title: bool = True, ax: Axes | None = None) -> Figure:
    """Return the figure: a new one in the size that is asked for, and without the title if none is."""
    figure = cast("Figure", drawn.get_figure(root=True))
    if figsize is not None and ax is None:
        figure.set_size_inches(*figsize)
    for text in [] if title else drawn.findobj(Text):
        if text.get_gid() == TITLE:
            text.set_text("")
    return figure


def write_png(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG file."""
    figure.savefig(path, dpi=150)


def name_fits(fits: Fit | Mapping[str, Fit]) -> dict[str, Fit]:
    """Return fits by name, a single one under no name; raise a FitError if there is none."""
    named = cast("Any", {"": fits} if is_tree(fits) or not isinstance(fits, Mapping) else dict(fits))
    if not named:
        raise FitError("there is no fit to draw")
    return named
