"""One look for all figures: made without pyplot, told apart without colour, legible for few rows and for hundreds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, ACCENT, PALE = "#1a1a1a", "#0072b2", "#9a9a9a"  # the accent: Okabe and Ito's blue
SEQUENCE = "cividis"  # a colour map whose lightness rises throughout, for every kind of sight
ROW = 0.2  # inches of a row with a name
MOST_HEIGHT = 14.0
MOST_NAMES = 60  # rows of which each has its name


def new_figure(
    width: float = 7.0, height: float = 4.0, columns: int = 1, *, rows: int = 1, **options: Any
) -> tuple[Figure, Any]:
    """Return a figure in inches, and its axes: one, or an array of so many side by side, or in rows."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, **options)
    for one in np.ravel(axes):
        one.spines[["top", "right"]].set_visible(False)
        one.tick_params(labelsize=8)
    return figure, axes


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


def cut_name(name: str, longest: int = 20) -> str:
    """Return a name of so many letters at the most, on one line.

    Examples
    --------
    >>> from bayesanno.report.plots.style import cut_name
    >>> cut_name("contradiction", 8)
    'contrad…'
    """
    line = " ".join(name.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def shades(n: int) -> list[Any]:
    """Return so many colours that differ in lightness."""
    import matplotlib

    return list(matplotlib.colormaps[SEQUENCE](np.linspace(0.02, 0.98, n)))


def write_png(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG file."""
    figure.savefig(path, dpi=150)
