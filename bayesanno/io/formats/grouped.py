"""Grouped tables: a row says how many items were answered in the same way, one column per annotator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesanno.io.columns import NamedAnswers
from bayesanno.io.formats.format import Format
from bayesanno.io.formats.wide import read_wide
from bayesanno.io.text_table import TextTable

if TYPE_CHECKING:
    from bayesanno.io.read_options import ReadOptions


def looks_grouped(table: TextTable, _: ReadOptions) -> bool:
    """Return whether there is a column of counts."""
    return bool(table.matching("count"))


def read_grouped(table: TextTable, options: ReadOptions) -> NamedAnswers:
    """Read one row as `count` items.

    Raises
    ------
    DataError
        As for `read_wide`; if there is a column of items as well, or a count is no whole number.
    """
    return read_wide(table, options, table.need("count"))


GROUPED = Format("grouped", looks_grouped, read_grouped)
