"""Descriptions of data, in a line and as a notebook's table; and checks of the kind of data that a function needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import html_table


class Described(ABC):
    """Data with a description of themselves that stays short however many they are.

    Attributes
    ----------
    what : str
        What data of this kind hold, for a message.
    reader : str
        The function of ours that makes them of a table; none of data that are not read so.
    """

    what: ClassVar[str]
    reader: ClassVar[str] = ""

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


def freeze[Array: np.ndarray](array: Array) -> Array:
    """Return an array, which nobody can write into from now on."""
    array.flags.writeable = False
    return array


def require_kind(data: Any, kind: type[Described], who: str) -> None:
    """Raise a DataError unless the data are of the kind that someone, a function or a model, needs.

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.data.described import require_kind
    >>> require_kind([1, 0], AnnotationData, "usage_table")
    Traceback (most recent call last):
    bayesanno.ground.errors.DataError: usage_table needs AnnotationData (who labelled which item how), not list: ...
    """
    if not isinstance(data, kind):
        hint = "" if getattr(type(data), "reader", "") else f": bayesanno.{kind.reader} makes it of a table"
        raise DataError(f"{who} needs {kind.__name__} ({kind.what}), not {type(data).__name__}{hint}")


def split_dimensions(data: Any) -> Mapping[str, Any]:
    """Return the table of each dimension by its name; the table of data without dimensions is under ""."""
    return getattr(data, "by_dimension", {"": data})
