"""A format of tables: a name, a test whether a table looks like it, and a reader of its cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bayesanno.io.columns import NamedAnswers
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.text_table import TextTable


@dataclass(frozen=True)
class Format:
    """A shape that tables of annotations have.

    Parameters
    ----------
    name : str
        As `read_annotations(format=...)` and `--format` take it.
    looks_like : callable
        (table, options) -> whether the names of the columns fit, asked in the order of the registry if no format was
        named. Raises a DataError about a table that fits no format.
    read : callable
        (table, options) -> what the rows say. Raises a DataError if it says nothing that fits together.
    """

    name: str
    looks_like: Callable[[TextTable, ReadOptions], bool]
    read: Callable[[TextTable, ReadOptions], NamedAnswers]
