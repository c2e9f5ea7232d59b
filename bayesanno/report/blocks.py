"""Blocks of a page: a verdict, sentences, pictures, small tables, large tables, a card.

The invariant: a block holds plain text and numbers; that they cannot be read as HTML or as a script is the template's
doing, which escapes every one of them.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from bayesanno.ground.lazy import pd

DPI = 144  # of pictures: twice what a page shows, so that they are sharp on any screen
MOST_CHOICES = 40  # names that a column may have to be filtered by
DIGITS = 4  # of numbers in tables, after the point,
MOST_FRACTIONAL = 100.0  # unless one is above this


class Block:
    """What the template shows by its kind, the name of its class."""

    @property
    def kind(self) -> str:
        """Such as "verdict"."""
        return type(self).__name__.lower()


@dataclass(frozen=True)
class Verdict(Block):
    """One sentence that answers the question, for or against."""

    text: str
    well: bool


@dataclass(frozen=True)
class Problems(Block):
    """What is to be known of a fit, and done about it."""

    texts: Sequence[str]


@dataclass(frozen=True)
class Text(Block):
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Heading(Block):
    """A heading within a section."""

    text: str


@dataclass(frozen=True)
class Picture(Block):
    """A figure, `png` in base64; `alt` is what it shows, for those who cannot see it."""

    png: str
    width: int
    alt: str
    caption: str


@dataclass(frozen=True)
class Table(Block):
    """A small table as text; without a header the first column names the rows."""

    rows: Sequence[Sequence[str]]
    caption: str = ""
    header: Sequence[str] = ()
    numbers: Sequence[bool] = ()


@dataclass(frozen=True)
class Grid(Block):
    """A table that sorts, filters and searches, of which the page shows some rows at a time."""

    name: str
    content: Mapping[str, Any]


@dataclass(frozen=True)
class Card(Block):
    """A long text that opens when asked for."""

    caption: str
    text: str


@dataclass(frozen=True)
class Section:
    """A question, and what answers it."""

    name: str
    question: str
    blocks: Sequence[Block]


def draw(figure: Figure, caption: str, *, alt: str = "") -> Picture:
    """Return a figure as a picture; unless `alt` is given, the caption says what it shows."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=DPI)
    width = round(float(figure.get_size_inches()[0]) * DPI / 1.5)
    return Picture(png=base64.b64encode(file.getvalue()).decode(), width=width, alt=alt or caption, caption=caption)


def table_of(table: pd.DataFrame, *, caption: str = "") -> Table:
    """Return a short DataFrame as a table of text."""
    numbers = [column.dtype.kind in "iuf" for _, column in table.items()]
    columns = [
        [_as_text(value) for value in column.tolist()] if number else [str(value) for value in column.tolist()]
        for number, (_, column) in zip(numbers, table.items(), strict=True)
    ]
    header = [str(name) for name in table.columns]
    return Table(caption=caption, header=header, numbers=numbers, rows=list(zip(*columns, strict=True)))


def grid_of(
    table: pd.DataFrame, *, name: str, what: str, by: str, down: bool = True, choose: Sequence[str] = ()
) -> Grid:
    """Return a DataFrame, long as it may be, as a table that sorts, filters and searches.

    Parameters
    ----------
    table : pandas.DataFrame
        Of text and numbers.
    name, what : str
        The element's id, and what its rows are.
    by : str
        The column that rows are sorted by at first, the largest on top if `down`.
    choose : sequence of str
        Columns of text whose values can be chosen from, where they are not too many.
    """
    columns = [_column(str(column), values, choose=column in choose) for column, values in table.items()]
    return Grid(name=name, content={"what": what, "columns": columns, "sort": {"by": by, "down": down}})


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


def _as_text(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value != value else f"{value:.{DIGITS}g}"
