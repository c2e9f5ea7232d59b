"""How data show themselves: one line in a session and on the command line, a small table in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape


class Described(ABC):
    """Data with a description of themselves that stays short however many they are."""

    @abstractmethod
    def describe(self) -> str:
        """Return in one line how many the data are, and of what."""

    @abstractmethod
    def _facts(self) -> list[tuple[str, str]]:
        """Return what a table shows of the data."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {self.describe()}"

    def _repr_html_(self) -> str:
        left = "style='text-align: left'"
        rows = "".join(
            f"<tr><th {left}>{escape(what)}</th><td {left}>{escape(value)}</td></tr>" for what, value in self._facts()
        )
        return f"<table><caption>{type(self).__name__}</caption><tbody>{rows}</tbody></table>"
