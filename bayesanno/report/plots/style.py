"""One style for all figures: without pyplot, readable without colour, legible for few rows and for hundreds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesanno.ground.lazy import pd

INK, ACCENT, PALE = "#1a1a1a", "#0072b2", "#9a9a9a"  # the accent: Okabe and Ito's blue
SEQUENCE = "cividis"  # a colour map of rising lightness, for colour-blind readers too
FROM_WHITE, BOTH_WAYS = "Blues", "RdBu"  # of matrices: white is 0
DARK = 0.6  # of a matrix's range of colours: numbers in darker cells are white
ROW = 0.2  # inches of a row with a name
MOST_HEIGHT = 14.0
MOST_NAMES = 60  # rows of which each has its name
MOST_LETTERS = 20  # of a name
LINES, MARKERS = ("-", "--", "-.", ":"), "osD^vP*X"  # of fits or types in one figure, in this order


def new_figure(
    width: float = 7.0, height: float = 4.0, columns: int = 1, *, rows: int = 1, **options: Any
) -> tuple[Figure, Any]:
    """Return a figure in inches, and its axes: one, or an array of so many side by side, or in rows."""
    from bayesanno.report.plots.shown import ShownFigure

    figure = ShownFigure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, **options)
    for one in np.ravel(axes):
        one.spines[["top", "right"]].set_visible(False)
        one.tick_params(labelsize=8)
    return figure, axes


def new_grid(n: int, columns: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    """Return a figure, and so many panels in rows of so many columns, each of about that width and height (inches)."""
    from bayesanno.report.plots.shown import ShownFigure

    rows = -(-n // columns)
    whole = max(5.5, columns * size[0] + 1.6), rows * (size[1] + 0.25) + 1.2
    figure = ShownFigure(figsize=whole, layout="constrained")
    panels = list(np.ravel(figure.subplots(rows, columns, squeeze=False)))
    for one in panels[:n]:
        one.spines[["top", "right"]].set_visible(False)
    for empty in panels[n:]:
        empty.remove()
    return figure, panels[:n]


def keep_dimension(table: pd.DataFrame, dimension: str | None) -> pd.DataFrame:
    """Return the rows of a dimension, of a table that may be of several."""
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


def draw_shares(axes: Axes, shares: np.ndarray, names: Sequence[str]) -> None:
    """Draw a bar for each row of shares, (row, name), with a part for each name."""
    left = np.zeros(len(shares))
    for width, name, colour in zip(shares.T, names, shades(len(names)), strict=True):
        axes.barh(range(len(shares)), width, left=left, color=[colour], edgecolor="white", linewidth=0.4, label=name)
        left += width


def write_legend(axes: Axes, **options: Any) -> None:
    """Add a legend whose texts are not read as formulas."""
    legend = axes.legend(**{"fontsize": 7, "title_fontsize": 8, **options})
    for text in legend.get_texts():
        text.set_parse_math(False)


def height_for(rows: int) -> float:
    """Return the height of a figure with a row each, in inches."""
    return float(min(1.4 + ROW * rows, MOST_HEIGHT))


def name_rows(axes: Axes, names: Sequence[str], *, along: str = "y", longest: int = 20) -> None:
    """Name rows (or columns), every one where there is room, else evenly spaced ones; long names are cut."""
    step = -(-len(names) // MOST_NAMES)
    at = range(0, len(names), step)
    short = [cut_name(name, longest) for name in names]
    labels = [short[place] for place in at]
    if along == "y":
        axes.set_yticks(list(at), labels, parse_math=False)
    else:
        axes.set_xticks(list(at), labels, rotation=90, parse_math=False)


def shades(n: int) -> list[Any]:
    """Return so many colours that differ in lightness."""
    import matplotlib

    return list(matplotlib.colormaps[SEQUENCE](np.linspace(0.02, 0.98, n)))


def begin_title(axes: Axes, text: str, dimension: str | None) -> None:
    """Write a title above the left edge; of one dimension among several, after its name."""
    title = f"{cut_name(dimension)}: {text}" if dimension else text[0].upper() + text[1:]
    axes.set_title(title, fontsize=10, loc="left", parse_math=False)


def write_png(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG file."""
    figure.savefig(path, dpi=150)
