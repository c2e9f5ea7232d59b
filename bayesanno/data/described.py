"""Descriptions of data, as a line and as a notebook table, and checks of the kind of data a function needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from bayesanno._core.messages import DataError, html_table


class Described(ABC):
    """Data with a description that is short for any size.

    Attributes
    ----------
    what : str
        The content of data of this kind, for messages.
    reader : str
        The function that reads them from a table; missing if there is none.
    """

    what: ClassVar[str]
    reader: ClassVar[str] = ""

    @abstractmethod
    def describe(self) -> str:
        """Return a one-line description."""

    @abstractmethod
    def about(self) -> dict[str, Any]:
        """Return the numbers and names that run.json has of the data."""

    @abstractmethod
    def _facts(self) -> list[tuple[str, str]]:
        """Return the rows of the notebook table."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {self.describe()}"

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, self._facts())


def freeze[Array: np.ndarray](array: Array) -> Array:
    """Return the array, made read-only."""
    array.flags.writeable = False
    return array


def require_kind(data: Any, kind: type[Described], who: str) -> None:
    """Raise a DataError if the data are not of the kind that `who`, a function or a model, needs.

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.data.described import require_kind
    >>> require_kind([1, 0], AnnotationData, "usage_table")
    Traceback (most recent call last):
    bayesanno._core.messages.DataError: usage_table needs AnnotationData (who labelled which item how), not list: ...
    """
    if not isinstance(data, kind):
        hint = "" if getattr(type(data), "reader", "") else f": read a table with bayesanno.{kind.reader}"
        raise DataError(f"{who} needs {kind.__name__} ({kind.what}), not {type(data).__name__}{hint}")


def split_dimensions(data: Any) -> Mapping[str, Any]:
    """Return the table of each dimension by its name; the table of data without dimensions is under ""."""
    return getattr(data, "by_dimension", {"": data})
