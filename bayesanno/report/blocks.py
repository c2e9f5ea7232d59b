"""Blocks of a page: a verdict, sentences, pictures, small tables, large tables, a card.

The invariant: a block holds plain text and numbers. The template escapes every one of them, so that none is read as
HTML or as a script.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from bayesanno._core.lazy import pd

DPI = 144  # of pictures: twice what a page shows, so that they are sharp on any screen
MOST_CHOICES = 40  # names that a column may have to be filtered by
DIGITS = 4  # of numbers in tables, after the point,
MOST_FRACTIONAL = 100.0  # unless one is above this


class PageBlock:
    """A part of a page, which the template shows by its kind, the name of its class."""

    @property
    def kind(self) -> str:
        """Such as "verdict"."""
        return type(self).__name__.lower()


@dataclass(frozen=True)
class Text(PageBlock):
    """A paragraph."""

    text: str


class Heading(Text):
    """A heading within a section."""


@dataclass(frozen=True)
class Verdict(PageBlock):
    """One sentence that answers the question, for or against."""

    text: str
    well: bool


@dataclass(frozen=True)
class Problems(PageBlock):
    """A list of what is wrong with a fit and what to do about it."""

    texts: Sequence[str]


class Steps(Problems):
    """A list of what to do, in this order."""


@dataclass(frozen=True)
class Picture(PageBlock):
    """A figure, `png` in base64; `alt` is what it shows, for those who cannot see it."""

    png: str
    width: int
    alt: str
    caption: str


@dataclass(frozen=True)
class SmallTable(PageBlock):
    """A small table as text; without a header the first column names the rows."""

    rows: Sequence[Sequence[str]]
    caption: str = ""
    header: Sequence[str] = ()
    numbers: Sequence[bool] = ()


@dataclass(frozen=True)
class LargeTable(PageBlock):
    """A table that sorts, filters and searches; the page shows some rows at a time."""

    name: str
    content: Mapping[str, Any]


@dataclass(frozen=True)
class Card(PageBlock):
    """A long text that opens when asked for."""

    caption: str
    text: str


@dataclass(frozen=True)
class Section:
    """A question, and the blocks that answer it."""

    name: str
    question: str
    blocks: Sequence[PageBlock]


def draw(figure: Figure, caption: str, *, alt: str = "") -> Picture:
    """Return a figure as a picture; unless `alt` is given, the caption says what it shows."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=DPI)
    width = round(float(figure.get_size_inches()[0]) * DPI / 1.5)
    return Picture(png=base64.b64encode(file.getvalue()).decode(), width=width, alt=alt or caption, caption=caption)


def small_table(table: pd.DataFrame, *, caption: str = "") -> SmallTable:
    """Return a short DataFrame as a table of text."""
    return SmallTable(
        caption=caption,
        header=[str(name) for name in table.columns],
        numbers=[kind.kind in "iuf" for kind in table.dtypes],
        rows=[tuple(map(_as_text, row)) for row in table.itertuples(index=False)],
    )


def large_table(
    table: pd.DataFrame, *, name: str, what: str, by: str, down: bool = True, choose: Sequence[str] = ()
) -> LargeTable:
    """Return a DataFrame of any length as a table that sorts, filters and searches.

    Parameters
    ----------
    table : pandas.DataFrame
        Its columns hold text or numbers.
    name, what : str
        The element's id, and what its rows are.
    by : str
        The column that rows are sorted by at first; the largest is on top if `down`.
    choose : sequence of str
        Columns of text; readers can choose among their values if there are not too many.
    """
    columns = [_column(str(column), values, choose=column in choose) for column, values in table.items()]
    return LargeTable(name=name, content={"what": what, "columns": columns, "sort": {"by": by, "down": down}})


def _column(name: str, values: pd.Series, *, choose: bool) -> dict[str, Any]:
    if values.dtype.kind in "iu":
        return {"name": name, "kind": "number", "digits": 0, "values": values.tolist()}
    if values.dtype.kind == "f":
        digits = DIGITS if not (values.abs() > MOST_FRACTIONAL).any() else 0
        rounded = np.round(values.to_numpy(), digits).tolist()
        shown = [None if value != value else value for value in rounded]
        return {"name": name, "kind": "number", "digits": digits, "values": shown}
    codes, names = values.astype(str).factorize(sort=True)
    if len(names) > len(values) / 2:
        return {"name": name, "kind": "text", "values": values.astype(str).tolist()}
    choices = {"values": codes.tolist(), "names": names.tolist(), "filter": choose and 1 < len(names) <= MOST_CHOICES}
    return {"name": name, "kind": "text", **choices}


def _as_text(value: object) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.{DIGITS}g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
