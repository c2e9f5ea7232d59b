"""A figure that a notebook shows by itself, without pyplot."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A matplotlib Figure that is a picture wherever the last value of a cell is shown, also before pyplot is used."""

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()
