"""Pictures and tables as the template takes them.

The invariant: they hold plain text and numbers. The template escapes every one of them, so that none is read as HTML or
as a script. Numbers have as many digits as can be known.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from bayesanno._core.intervals import find_bounds
from bayesanno._core.lazy import pd

DPI = 144  # of pictures: more than the 96 that a page shows, so that they are sharp
MOST_CHOICES = 40  # names that a column may have to be filtered by
DIGITS, MOST_DIGITS = 2, 4  # of numbers in large tables after the point, as they are shown and as they are sorted
DIGITS_OF = {"r_hat": 3}
MOST_FRACTIONAL = 100.0  # a column with a number above this has no digits after the point
WHOLE, TENTH, NOTHING = 10.0, 0.1, 0.001  # numbers of small tables: whole, with two decimals, with two digits, or 0


def encode_picture(figure: Figure) -> tuple[str, int]:
    """Return a figure as PNG in base64, and how many pixels of a page it is wide.

    It is drawn once; `savefig` draws it twice, since it finds the layout first. Of its thousands of shades 256 are
    kept, which nobody sees and which takes a third of the bytes.
    """
    figure.set_dpi(DPI)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    file = io.BytesIO()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    few = picture.quantize(method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(file, "PNG", dpi=(DPI, DPI))
    return base64.b64encode(file.getvalue()).decode(), round(96 * float(figure.get_size_inches()[0]))


def join_ends(table: pd.DataFrame, of: str = "") -> pd.DataFrame:
    """Return a table with the two columns of an interval as one column of text.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesanno.report.blocks import join_ends
    >>> join_ends(pd.DataFrame({"mean": [0.5], "eti89_lb": [0.417], "eti89_ub": [0.62]})).to_dict("list")
    {'mean': [0.5], '89% interval': ['0.42 to 0.62']}
    """
    low, high, interval = find_bounds(table, of)
    if low not in table:
        return table
    ends = [f"{as_text(a)} to {as_text(b)}" for a, b in table[[low, high]].to_numpy()]
    return table.assign(**{low: ends}).rename(columns={low: f"{of} {interval}".strip()}).drop(columns=high)


def as_text(value: object) -> str:
    """Return a value of a small table as text, with the two digits that can be known of most.

    Examples
    --------
    >>> from bayesanno.report.blocks import as_text
    >>> [as_text(value) for value in (0.9267, 0.0079, 133.6, 1000, 2e-9, float("nan"), "yes")]
    ['0.93', '0.0079', '134', '1,000', '0.00', '', 'yes']
    """
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    size = abs(value)
    if value != value:
        return ""
    if size >= WHOLE or value == round(value):
        return f"{value:,.0f}"
    return f"{value:.2f}" if size >= TENTH or size < NOTHING else f"{value:.2g}"


def large_table(
    table: pd.DataFrame, what: str, by: str, *, down: bool = True, choose: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a DataFrame of any length as a table that sorts, filters and searches.

    Parameters
    ----------
    table : pandas.DataFrame
        Its columns hold text or numbers.
    what : str
        What its rows are.
    by : str
        The column that rows are sorted by at first; the largest is on top if `down`.
    choose : sequence of str
        Columns of text; readers can choose among their values if there are not too many.
    """
    columns = [_column(str(column), values, choose=column in choose) for column, values in table.items()]
    return {"what": what, "columns": columns, "sort": {"by": by, "down": down}}


def _column(name: str, values: pd.Series, *, choose: bool) -> dict[str, Any]:
    if values.dtype.kind in "iu":
        return {"name": name, "kind": "number", "digits": 0, "values": values.tolist()}
    if values.dtype.kind == "f":
        is_whole = (values.abs() > MOST_FRACTIONAL).any()
        rounded = np.round(values.to_numpy(), 0 if is_whole else MOST_DIGITS).tolist()
        digits = 0 if is_whole else DIGITS_OF.get(name, DIGITS)
        shown = [None if value != value else value for value in rounded]
        return {"name": name, "kind": "number", "digits": digits, "values": shown}
    codes, names = values.astype(str).factorize(sort=True)
    if len(names) > len(values) / 2:
        return {"name": name, "kind": "text", "values": values.astype(str).tolist()}
    choices = {"values": codes.tolist(), "names": names.tolist(), "filter": choose and 1 < len(names) <= MOST_CHOICES}
    return {"name": name, "kind": "text", **choices}
