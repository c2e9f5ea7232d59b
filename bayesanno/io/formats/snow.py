"""The files of Snow et al. (2008): a long table by the names of Amazon Mechanical Turk."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bayesanno.io.columns import NamedAnswers
from bayesanno.io.formats.format import Format
from bayesanno.io.formats.long import read_long
from bayesanno.io.text_table import TextTable

if TYPE_CHECKING:
    from bayesanno.io.read_options import ReadOptions

ITEM, ANNOTATOR, LABEL = "orig_id", "!amt_worker_ids", "response"


def looks_like_snow(table: TextTable, options: ReadOptions) -> bool:
    """Return whether the columns are those of the files, and none is named by an option."""
    return not any(options.columns.values()) and {ITEM, ANNOTATOR, LABEL} <= {name.casefold() for name in table.header}


def read_snow(table: TextTable, options: ReadOptions) -> NamedAnswers:
    """Read one row as one annotation.

    Raises
    ------
    DataError
        As for `read_long`.
    """
    label = options.label or (LABEL,)
    named = replace(options, item=options.item or ITEM, annotator=options.annotator or ANNOTATOR, label=label)
    return read_long(table, named)


SNOW = Format("snow", looks_like_snow, read_snow)
