"""A figure that a notebook shows by itself, whether or not pyplot was ever imported there."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A matplotlib Figure with a picture of itself, which notebooks ask for.

    Notebooks draw figures by a printer that pyplot registers when it makes its first one. Until then they would show
    a figure that was made without pyplot as a line of text.
    """

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()
