"""The formats of tables of annotations, in the order in which they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed, nearest
from bayesanno.io.exports.registry import EXPORTS
from bayesanno.io.formats.format import Format
from bayesanno.io.formats.grouped import GROUPED
from bayesanno.io.formats.long import LONG
from bayesanno.io.formats.snow import SNOW
from bayesanno.io.formats.wide import WIDE
from bayesanno.io.text_table import TextTable

if TYPE_CHECKING:
    from bayesanno.io.read_options import ReadOptions

FORMATS = {each.name: each for each in (SNOW, LONG, GROUPED, WIDE)}  # the last takes what no other does
FORMAT_NAMES = ("auto", *FORMATS, *EXPORTS)


def check_format(name: str) -> None:
    """Raise a DataError unless there is a format of this name; "auto" is one."""
    if name not in FORMAT_NAMES:
        raise DataError(
            f"there is no format {name!r}: there are {listed(FORMAT_NAMES, most=20)}{nearest(str(name), FORMAT_NAMES)}"
        )


def choose_format(table: TextTable, options: ReadOptions) -> Format:
    """Return the format that the options name, or the first that the names of the columns fit.

    Raises
    ------
    DataError
        If they fit a long table in part, or the only reading left is an implausible wide one.
    """
    if options.format != "auto":
        return FORMATS[options.format]
    return next(each for each in FORMATS.values() if each.looks_like(table, options))
