"""From the bytes of a file to rows of cells: the encoding, the separator and the quotes of a text, or a workbook.

The invariant: each row keeps the number of its first line, empty rows are left out, and nothing is guessed from the
cells.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from bayesanno._core.errors import DataError, ExtraError
from bayesanno._core.wording import listed, name_error, option
from bayesanno.io.cells import write_cell

SEPARATORS = ",\t;|"

type Rows = dict[int, list[str]]  # by the number of the line or row

# one cell: in quotes up to a separator or the end of the line, or any text between separators
_CELL = rf' *"[^"]*(?:""[^"]*)*"(?=[{SEPARATORS}\r\n]|\Z)|[^{SEPARATORS}\r\n]*'
_HEADER = re.compile(rf"(?:{_CELL})(?:[{SEPARATORS}](?:{_CELL}))*")


def decode(raw: bytes, name: str, encoding: str | None = None) -> str:
    """Return the text of a file, by default in UTF-8, or in UTF-16 if it begins with its mark.

    Raises
    ------
    DataError
        If there is no such encoding, the file is not in it, or it is no text.
    """
    codec = encoding or ("utf-16" if raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8")
    try:
        text = raw.decode(codec)
    except UnicodeDecodeError as error:
        zero, wrong = raw.find(b"\0") if codec == "utf-8" else -1, error.start
        if zero < 0:
            line = raw[:wrong].count(b"\n") + 1
            raise DataError(
                f"{name}, line {line}: byte 0x{raw[wrong]:02x} is not {codec.upper()}: save the file as UTF-8, or name "
                f"its encoding when reading annotations, as in {option('encoding', 'latin-1')}"
            ) from None
        text = raw[: zero + 1].decode("latin-1")
    except (LookupError, ValueError):  # such as "hex", which is not a text encoding
        raise DataError(
            f"there is no text encoding {encoding!r}: name one that Python has, as in {option('encoding', 'latin-1')}"
        ) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise DataError(f"{name} is not a text file: it has a zero byte in line {line}: give CSV, TSV or Parquet")
    return text.removeprefix("\ufeff")


def split_text(text: str, name: str, given: str | None = None) -> tuple[Rows, str]:
    """Return the rows of a table of text, and its separator.

    It is the given one, if the first line has it, and otherwise the one of comma, tab, semicolon and bar that the first
    line has most of, outside quotes. Several blanks between two cells are one. Between tabs quotes are part of the text
    where only so each line has a cell for each column, as in files that quote nothing.

    Raises
    ------
    DataError
        If a quoted cell does not end, or more follows after it.
    """
    if given is not None and len(given) != 1:
        raise DataError(f"the separator is {given!r}: it must be one character, as in {option('separator', ' ')}")
    separator = _find_separator(text, given)
    if separator == " ":
        text = re.sub(r"(?m)^ +| +(?=\r?$)", "", text)
    if separator != "\t" or '"' not in text:
        return _split(text, name, separator, csv.QUOTE_MINIMAL), separator
    literal = _split(text, name, separator, csv.QUOTE_NONE)
    is_even = _width(literal) and '"' not in "".join(next(iter(literal.values())))
    try:
        quoted = _split(text, name, separator, csv.QUOTE_MINIMAL)
    except DataError:
        if is_even:
            return literal, separator
        raise
    return literal if is_even and (quoted.keys(), _width(quoted)) != (literal.keys(), _width(literal)) else quoted, "\t"


def _width(rows: Rows) -> int:
    """Return the number of cells in each row, 0 if it varies."""
    widths = {len(cells) for cells in rows.values()}
    return widths.pop() if len(widths) == 1 else 0


def _split(text: str, name: str, separator: str, quoting: Literal[0, 3]) -> Rows:
    # newline="" keeps line breaks inside quoted cells
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, quoting=quoting, strict=True, skipinitialspace=True
    )
    rows: Rows = {}
    line = 1
    try:
        for cells in reader:
            if len(cells) > 1 or (cells and cells[0].strip()):
                rows[line] = cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{name}, line {line}: a cell cannot be read ({error}): end a quoted cell with a quote right before "
            "the separator or the end of the line, and double each quote inside it"
        ) from None
    return rows


def _find_separator(text: str, given: str | None) -> str:
    """Return the given separator if the header has it, or else its most frequent one, outside quotes."""
    first = re.search(r"[^\r\n]*\S", text)  # the first line that is not blank
    if given is not None and first and given in first[0].strip(" "):
        return given
    header = _HEADER.match(text, first.start() if first else 0)
    marks = re.sub(_CELL, "", header[0] if header else "")
    return max(SEPARATORS, key=marks.count)


def rows_of_workbook(raw: bytes, name: str) -> Rows:
    """Return the rows of the only sheet of a workbook of Excel with anything in it, as text.

    Raises
    ------
    ExtraError
        If openpyxl is not installed.
    DataError
        If it cannot be read, or several sheets have content.
    """
    if find_spec("openpyxl") is None:
        raise ExtraError(
            f"{name} is an Excel workbook: install its reader with pip install openpyxl, or save it as CSV"
        )
    try:
        with warnings.catch_warnings():  # openpyxl warns of features that it ignores
            warnings.simplefilter("ignore")
            sheets = import_module("openpyxl").load_workbook(io.BytesIO(raw), read_only=True, data_only=True).worksheets
            found = {sheet.title: _rows_of_sheet(sheet) for sheet in sheets}
    except Exception as error:  # openpyxl raises many kinds of errors for a broken workbook
        raise DataError(f"{name} cannot be read as an Excel workbook ({name_error(error)}): save it as CSV") from None
    used = {title: rows for title, rows in found.items() if rows}
    if len(used) > 1:
        raise DataError(
            f"{name} has {len(used)} sheets with content, {listed([*used])}: keep only the sheet of the table, or save "
            "it as CSV"
        )
    return next(iter(used.values()), {})


def _rows_of_sheet(sheet: Any) -> Rows:
    """Return the rows of a sheet that are not blank, in one width, except for one row with a stray cell."""
    errors = import_module("openpyxl.cell.cell").ERROR_CODES
    sheet.reset_dimensions()  # they may be far larger than the table
    rows: Rows = {}
    for at, values in enumerate(sheet.values, 1):
        cells = ["" if cell is None or cell in errors else write_cell(cell) for cell in values]
        while cells and not cells[-1].strip():
            cells.pop()
        if cells:
            rows[at] = cells
    widths = list(map(len, rows.values()))
    width = max((*widths[:1], *sorted(widths)[-2:-1]), default=0)
    return {at: cells + [""] * (width - len(cells)) for at, cells in rows.items()}
