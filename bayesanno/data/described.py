"""How data show themselves: one line in a session and on the command line, a small table in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod

from bayesanno.ground.wording import html_table


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
        return html_table(type(self).__name__, self._facts())
