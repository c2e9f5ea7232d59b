"""From a source to a DataFrame of its cells: files, standard input, named data sets, and data in memory.

The invariant: what a file is shows in its content, never in its name; nothing is guessed from cells, and no cell is
changed. A table is one of text; of JSON, cells may be lists and objects. The index holds the place of each row: the
line of a text, or the record; `attrs` has the name of the source, and what the places are.

The invariant: nothing in a file is executed, opened or fetched, and no path in it is followed: the parts of a zip are
read by their names from its list. Compressed files inside a zip are not unpacked.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import sys
import warnings
import zipfile
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, DataFileError, ExtraError, counted, listed, name_error, option, spell
from bayesanno.data.frame import as_text
from bayesanno.io.datasets import load_named

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")  # the second begins an empty one
MOST_BYTES = 500 * 2**20  # of JSON, and of what is unpacked
MOST_FILES = 1000  # in a zip
WORKBOOK, JSON = "xl/workbook.xml", (".json", ".jsonl")
_KINDS = ((WORKBOOK,), JSON, (".csv", ".tsv", ".parquet", ".pq"), (".txt",))  # the first that there is; notes come last


def unpack_gzip(raw: bytes, name: str) -> bytes:
    """Return the contents of a gzip file.

    Raises
    ------
    DataError
        If it cannot be unpacked, or is too large.
    """
    with _refusing_broken(name), gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
        content = packed.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise DataError(explain_size(f"{name}, unpacked,", len(content)))
    return content


def unpack_zip(raw: bytes, name: str) -> dict[str, bytes]:
    """Return the files of a zip by name: the parts of a workbook, or else those of JSON, or else those of tables.

    Raises
    ------
    DataError
        If it cannot be unpacked, has none of these, or too many or too large ones.
    """
    found: dict[str, bytes] = {}
    with _refusing_broken(name), zipfile.ZipFile(io.BytesIO(raw)) as archive:
        listing = [each for each in archive.infolist() if not each.is_dir()]
        if len(listing) > MOST_FILES:
            raise DataError(f"{name} is a zip of {counted(len(listing), 'file')}, and the limit is {MOST_FILES:,}")
        listing = [each for each in listing if not each.filename.startswith("__MACOSX/")]
        for endings in _KINDS:
            wanted = [each for each in listing if each.filename.casefold().endswith(endings)]
            wanted = listing if wanted and endings == (WORKBOOK,) else wanted
            left = MOST_BYTES
            for each in wanted:
                if each.filename in found:
                    raise DataError(f"{name} holds {each.filename!r} twice: export it again")
                with archive.open(each) as packed:
                    found[each.filename] = packed.read(max(left, 0) + 1)
                left -= len(found[each.filename])
                if left < 0:
                    raise DataError(explain_size(f"{name}, unpacked,", max(each.file_size, MOST_BYTES + 1)))
            if found:
                return found
    names = [each.filename for each in listing]
    what = f"it holds {listed(names, most=5)}" if names else "it is empty"
    raise DataError(f"{name} is a zip without JSON or a table (CSV, TSV, Parquet): {what}")


def explain_size(name: str, size: int) -> str:
    """Return the message for a file of JSON, or one that is packed, that is too large."""
    return (
        f"{name} has over {(size - 1) // 2**20:,} MiB, and the limit for JSON and compressed files is "
        f"{MOST_BYTES // 2**20}: export a part of the project at a time, or give an unpacked table in CSV or Parquet"
    )


@contextmanager
def _refusing_broken(name: str) -> Iterator[None]:
    """Raise a DataError for any error of unpacking."""
    try:
        yield
    except DataError:
        raise
    # zipfile raises NotImplementedError for a compression that it does not know.
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{name} cannot be unpacked ({reason}): export or copy it again") from None
    except RuntimeError:  # zipfile raises it for a file with a password
        raise DataError(f"{name} is a zip with a password: unpack it, and zip it again without one") from None


type Source = Any  # a path, "@name", or data in memory: what `from_memory` takes

STANDARD_INPUT = "-"
FILE = "$file"  # the column with the name of the file of a record in a zip
SEPARATORS = ",\t;|"  # which are detected
_PARQUET = b"PAR1"
_JSON = re.compile(r"""\ufeff?\s*(?:\{\s*["'}]|\[\s*[\[\]{"'0-9tfn-]|[\[{]\s*\Z)""")
_HEAD = 4096  # bytes in which JSON is recognised
_REVIEW = ["Approve", "Reject"]  # a batch of Mechanical Turk ends in these; rows without a review leave them out
# a cell: in quotes up to a separator or the end of the line, or any text between separators
_CELL = rf' *"[^"]*(?:""[^"]*)*"(?=[{SEPARATORS}\r\n]|\Z)|[^{SEPARATORS}\r\n]*'
_HEADER = re.compile(rf"(?:{_CELL})(?:[{SEPARATORS}](?:{_CELL}))*")
_SPACE = re.compile(r"[ \t\r\n]*")


def open_source(
    source: Source, *, encoding: str | None = None, separator: str | None = None, no_header: bool = False
) -> pd.DataFrame:
    """Return the table, or the records, in a source.

    Raises
    ------
    DataFileError
        If there is no such file, or it cannot be opened or fetched.
    DataError
        If it is no table and no JSON, is too large, or cannot be read.
    """
    if not isinstance(source, str | os.PathLike):
        return from_memory(source)
    name, raw = _read(source)
    if raw.startswith(GZIP_MAGIC):
        raw = unpack_gzip(raw, name)
    if raw.startswith(ZIP_MAGIC):
        files = unpack_zip(raw, name)
        if any(each.endswith(WORKBOOK) for each in files):
            return _from_workbook(raw, name, no_header=no_header)
        if next(iter(files)).casefold().endswith(JSON):
            return _from_zip(files, name, encoding)
        if len(files) > 1:
            raise DataError(f"{name} holds several tables, {listed(list(files))}: unpack it and choose one")
        ((inner, raw),) = files.items()
        name = f"{name}, {inner}"
    if raw.startswith(_PARQUET):
        try:
            return from_frame(pd.read_parquet(io.BytesIO(raw)), name)
        except (OSError, ValueError) as error:  # pyarrow's errors derive from these
            raise DataError(f"{name} cannot be read as Parquet: {' '.join(str(error).split())}") from None
    if name.lower().endswith((".parquet", ".pq")) and not _JSON.match(raw[:_HEAD].decode(errors="ignore")):
        raise DataError(f"{name} is not a Parquet file: it does not begin with {_PARQUET.decode()}")
    text = _decode(raw, name, encoding)
    if not _JSON.match(text):
        return _from_text(text, name, separator, no_header=no_header)
    if separator is not None or no_header:
        needless = option("separator", separator) if separator is not None else option("no_header", True)
        raise DataError(f"{name} is no table of text, and {needless} does not apply to it: leave it out")
    return _from_json(text, name)


def _read(source: str | os.PathLike[str]) -> tuple[str, bytes]:
    """Return the name and the bytes of a file; JSON and compressed files of more than the limit are not read."""
    if source == STANDARD_INPUT:
        try:
            return "standard input", sys.stdin.buffer.read()
        except (OSError, ValueError, AttributeError):  # it is closed, or missing in a program without a terminal
            raise DataFileError("standard input cannot be read: give the path of a file") from None
    path = load_named(source) if isinstance(source, str) and source.startswith("@") else Path(source)
    try:
        with path.open("rb") as file:
            size, head = path.stat().st_size, file.read(_HEAD)
            packed = head.startswith((*ZIP_MAGIC, GZIP_MAGIC)) or _JSON.match(head.decode(errors="ignore"))
            if size > MOST_BYTES and packed:
                raise DataError(explain_size(str(path), size))
            return str(source), head + file.read()
    except FileNotFoundError:
        raise DataFileError(f"there is no file {str(path)!r}: check the path, or name a data set as '@name'") from None
    except IsADirectoryError:
        dask = spell("client=...", "--dask local")
        what = f"give the path of a file, or fit a folder of Parquet files on Dask by em or vb with {dask}"
        raise DataFileError(f"{str(path)!r} is a folder: {what}") from None
    except DataError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a path that no file system takes, as one with a zero byte
        reason = error.strerror if isinstance(error, OSError) else error
        raise DataFileError(f"{str(path)!r} cannot be read: {reason}") from None


def from_memory(source: Any) -> pd.DataFrame:
    """Return data in memory: a DataFrame of pandas or polars, a Dataset of Hugging Face, a table of Arrow, or records.

    Raises
    ------
    DataError
        If it is none of these.
    """
    if isinstance(source, list):
        odd = next((value for value in source if not isinstance(value, Mapping)), None)
        if odd is not None or not source:
            what = f" of {type(odd).__name__}" if source else " that is empty"
            raise DataError(f"cannot read annotations from a list{what}: give a list of dicts")
        return _of_records(source, [f"the list, [{at}]" for at in range(len(source))], "the list")
    if isinstance(source, Mapping):
        if any(hasattr(part, "to_pandas") for part in source.values()):
            parts = listed(list(source))
            raise DataError(f"cannot read annotations from {type(source).__name__}: choose one of its parts, {parts}")
        return _of_whole(source, "the dict")
    frame, reason = source if isinstance(source, pd.DataFrame) else None, ""
    try:
        if frame is None and callable(getattr(source, "to_pandas", None)):
            frame = source.to_pandas()
        elif hasattr(source, "__arrow_c_stream__") and frame is None:
            import pyarrow as pa

            frame = pa.RecordBatchReader.from_stream(source).read_all().to_pandas()
    except Exception as error:
        reason = f" ({name_error(error)})"
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"cannot read annotations from {type(source).__name__}{reason}: give a path, '@name', a DataFrame of "
            "pandas "
            "or polars, a Dataset of Hugging Face, or a list of records"
        )
    for name, feature in dict(getattr(source, "features", None) or {}).items():  # of a Dataset: codes have names
        if (names := getattr(feature, "names", None)) is not None:
            frame[name] = frame[name].map(dict(enumerate(names)).get)
    return from_frame(frame, "the DataFrame")


def from_frame(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return a DataFrame with its places as index, and as first columns the levels of its own index that have names.

    An index without a name that is not 0, 1, ... is a column without a name, which may name the items of a wide table.
    """
    index, named = frame.index, None
    if any(level is not None for level in index.names):
        named = str(index.names[0]) if index.nlevels == 1 else None
        frame = frame.reset_index([level for level in index.names if level is not None and level not in frame.columns])
    elif index.nlevels == 1 and not index.equals(pd.RangeIndex(len(index))):
        frame = frame.copy()
        frame.insert(0, "", index)
    names = [str(column).strip() for column in frame.columns]
    if "row" in frame and frame.attrs.get("unit"):  # a long table of ours
        made = frame.set_axis(frame["row"].tolist()).drop(columns="row")
        made.attrs |= {"name": frame.attrs["name"], "unit": frame.attrs["unit"], "of": "frame"}
        return made
    made = _checked(frame.set_axis(names, axis=1).set_axis(range(1, len(frame) + 1)), name, "row")
    made.attrs["index"] = named
    return made


def rows_of(frame: pd.DataFrame) -> list[tuple[str, dict[str, Any]]]:
    """Return the place and the cells of each row."""
    unit = "" if frame.attrs["unit"] == "place" else f"{frame.attrs['name']}, {frame.attrs['unit']} "
    cells: Any = frame.to_dict("records")
    return [(f"{unit}{place}", row) for place, row in zip(frame.index, cells, strict=True)]


def has_lists(frame: pd.DataFrame) -> bool:
    """Return whether some cells are lists or objects."""
    return any(frame[name].dtype == object and frame[name].map(lambda cell: isinstance(cell, list | dict)).any()
               for name in frame.columns)  # fmt: skip


def text_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose cells are all text, with the categories of columns that have an order in `attrs`.

    A DataFrame that no function of reading made becomes one as a source does.
    """
    frame = frame if "of" in frame.attrs else from_frame(frame, "the DataFrame")
    if frame.attrs["of"] == "text":
        return frame
    of_json = frame.attrs["of"] == "json"
    made = pd.DataFrame({name: as_text(frame[name], of_json=of_json) for name in frame.columns}, index=frame.index)
    if (
        bad := next((name for name in made.columns if made[name].str.contains("\0", regex=False).any()), None)
    ) is not None:
        row = int(made[bad].str.contains("\0", regex=False).to_numpy().argmax())
        raise DataError(f"{frame.index[row]}: {bad} {made[bad].iloc[row]!r} has a zero byte: give it another name")
    kinds = {name: frame[name].dtype for name in frame.columns}
    ordered = {name: as_text(pd.Series(kind.categories)).tolist() for name, kind in kinds.items()
               if isinstance(kind, pd.CategoricalDtype) and kind.ordered}  # fmt: skip
    made.attrs |= frame.attrs | {"of": "text", "ordered": ordered}
    return made


def _named(frame: pd.DataFrame, name: str, unit: str, of: str = "frame") -> pd.DataFrame:
    frame.attrs |= {"name": name, "unit": unit, "of": of}
    return frame


def _checked(frame: pd.DataFrame, name: str, unit: str, of: str = "frame") -> pd.DataFrame:
    """Return a table whose columns have different names, and which has a row; empty columns are left out."""
    names = list(frame.columns)
    if not names or (names == [""] and not len(frame)):
        raise DataError(f"{name} is empty: give a table with a header line and rows")
    twice = next((each for each in names if each and names.count(each) > 1), None)
    if twice is not None:
        first, second, *_ = (at for at, each in enumerate(names, 1) if each == twice)
        raise DataError(
            f"{name}: two columns, {first} and {second}, are named {twice!r}: give each its own name, or, if the file "
            f"has no header line, use {option('no_header', True)}"
        )
    if not len(frame):
        raise DataError(f"{name} has no rows below its header {listed(names)}: add rows")
    unnamed = [at for at, each in enumerate(names) if not each]
    full = [at for at in unnamed if (as_text(frame.iloc[:, at]) != "").any()]
    names = [each or ("" if at == 0 else f"column {at + 1}") for at, each in enumerate(names)]
    kept = [at for at in range(len(names)) if at not in unnamed or at in full]
    return _named(frame.set_axis(names, axis=1).iloc[:, kept], name, unit, of)


# ------------------------------------------------------------------------------------------------ tables of text


def _decode(raw: bytes, name: str, encoding: str | None = None) -> str:
    """Return the text of a file, by default in UTF-8, or in UTF-16 if it begins with its mark."""
    codec = encoding or ("utf-16" if raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8")
    try:
        text = raw.decode(codec)
    except UnicodeDecodeError as error:
        zero, wrong = raw.find(b"\0") if codec == "utf-8" else -1, error.start
        if zero < 0:
            line = raw[:wrong].count(b"\n") + 1
            raise DataError(
                f"{name}, line {line}: byte 0x{raw[wrong]:02x} is not {codec.upper()}: save the file as UTF-8, or name "
                f"its encoding, as in {option('encoding', 'latin-1')}"
            ) from None
        text = raw[: zero + 1].decode("latin-1")
    except (LookupError, ValueError, TypeError):  # such as "hex", which is not a text encoding
        raise DataError(
            f"there is no text encoding {encoding!r}: name one that Python has, as in {option('encoding', 'latin-1')}"
        ) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise DataError(f"{name} is not a text file: it has a zero byte in line {line}: give CSV, TSV or Parquet")
    return text.removeprefix("\ufeff")


def _from_text(text: str, name: str, given: str | None, *, no_header: bool) -> pd.DataFrame:
    """Return the table in a text; see `find_separator`, and `quotes_nothing`."""
    if given is not None and len(given) != 1:
        raise DataError(f"the separator is {given!r}: it must be one character, as in {option('separator', ' ')}")
    if not text.strip():
        raise DataError(f"{name} is empty: give a table with a header line and rows")
    mark = _find_separator(text, given)
    if mark == " ":
        text = re.sub(r"(?m)^ +| +(?=\r?$)", "", text)
    literal = mark == "\t" and _quotes_nothing(text)
    how: Any = {
        "delimiter": mark,
        "quoting": csv.QUOTE_NONE if literal else csv.QUOTE_MINIMAL,
        "skipinitialspace": True,
    }
    try:
        first = next(cells for cells in csv.reader(io.StringIO(text, newline=""), **how) if any(map(str.strip, cells)))
    except (StopIteration, csv.Error):
        raise DataError(
            f"{name} is empty, or its header cannot be read: give a table with a header line and rows"
        ) from None
    try:
        with warnings.catch_warnings():  # of rows that are too long, which are checked below
            warnings.simplefilter("ignore")
            frame = pd.read_csv(io.StringIO(text), header=None, names=range(len(first)), dtype=str,
                                keep_default_na=False, index_col=False, **how)  # fmt: skip
    except (ValueError, OverflowError):  # pandas' errors of parsing derive from the first
        frame = None
    lines: Sequence[int] = range(1, 1 if frame is None else len(frame) + 1)
    ends, breaks = text.count("\n"), text.count("\r")  # pandas fills short rows, and says no line
    is_plain = ('"' not in text or literal) and breaks in (0, ends) and ends - len(lines) in (0, -1)
    if not is_plain or text.count(mark) != len(lines) * (len(first) - 1):
        lines = _check_lines(text, name, how)
    if frame is None or len(lines) != len(frame):
        raise DataError(f"{name} cannot be read as a table: end each quoted cell, and give each row a line")
    frame = frame.set_axis(lines).apply(lambda cells: cells.str.strip().fillna(""))
    header = [str(number) for number in range(1, len(first) + 1)] if no_header else list(frame.iloc[0])
    rows = frame if no_header else frame.iloc[1:]
    if not no_header and len(header) > 1:
        same = rows[rows[0].str.casefold() == header[0].casefold()].apply(lambda cells: cells.str.casefold())
        again = (same == [each.casefold() for each in header]).all(axis=1)
        if again.any() and not all(map(str.isdecimal, header)):
            raise DataError(f"{name}, line {again.idxmax()} repeats the header: delete it")
    return _checked(rows.set_axis(header, axis=1), name, "line", "text")


def _find_separator(text: str, given: str | None) -> str:
    """Return the given separator if the header has it, or else its most frequent one, outside quotes."""
    first = re.search(r"[^\r\n]*\S", text)  # the first line that is not blank
    if given is not None and first and given in first[0].strip(" "):
        return given
    header = _HEADER.match(text, first.start() if first else 0)
    marks = re.sub(_CELL, "", header[0] if header else "")
    return max(SEPARATORS, key=marks.count)


def _quotes_nothing(text: str) -> bool:
    """Return whether quotes between tabs are part of the text: only so each line has a cell for each column."""
    if '"' not in text:
        return False
    literal, quoted = (_shape(text, quoting) for quoting in (csv.QUOTE_NONE, csv.QUOTE_MINIMAL))
    header = text.lstrip("\r\n").partition("\n")[0]
    return literal is not None and quoted != literal and '"' not in header


def _shape(text: str, quoting: Any) -> tuple[int, int] | None:
    """Return the number of rows and of cells in each; None if they differ in width, or cannot be read."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t", quoting=quoting, strict=True)
    try:
        widths = [len(cells) for cells in reader if any(map(str.strip, cells))]
    except csv.Error:
        return None
    return (len(widths), widths[0]) if len({*widths}) == 1 else None


def _check_lines(text: str, name: str, how: Mapping[str, Any]) -> list[int]:
    """Return the first line of each row.

    Raises
    ------
    DataError
        If a quoted cell does not end, more follows after it, or a row has another number of cells than the first.
    """
    lines: dict[int, list[str]] = {}
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, **how)
    line = 1
    try:
        for cells in reader:
            if len(cells) > 1 or (cells and cells[0].strip()):
                lines[line] = cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{name}, line {line}: a cell cannot be read ({error}): end a quoted cell with a quote right before the "
            "separator or the end of the line, and double each quote inside it"
        ) from None
    (start, header), *_ = lines.items()
    allowed = {len(header), len(header) - 2 * (header[-2:] == _REVIEW)}
    for line, cells in lines.items():
        if len(cells) not in allowed:
            found = "1 column" if len(cells) == 1 else f"{len(cells)} columns"
            other = next((mark for mark in SEPARATORS if mark != how["delimiter"] and mark in cells[0]), None)
            remedy = "give every line the same number, and put a cell that holds the separator in quotes"
            if len(cells) == 1 and other is not None:
                remedy = f"this line seems to use {other!r}; use one separator throughout"
            raise DataError(f"{name}, line {line}: {found} where the header (line {start}) has {len(header)}: {remedy}")
    return list(lines)


def _from_workbook(raw: bytes, name: str, *, no_header: bool) -> pd.DataFrame:
    """Return the only sheet of a workbook of Excel that has anything in it."""
    if find_spec("openpyxl") is None:
        raise ExtraError(
            f"{name} is an Excel workbook: install its reader with pip install openpyxl, or save it as CSV"
        )
    errors = ["#N/A", "#VALUE!", "#REF!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!"]
    try:
        sheets = pd.read_excel(io.BytesIO(raw), sheet_name=None, header=None, dtype=object, keep_default_na=False,
                               na_values=errors, engine="openpyxl")  # fmt: skip
    except Exception as error:  # openpyxl raises many kinds of errors for a broken workbook
        raise DataError(f"{name} cannot be read as an Excel workbook ({name_error(error)}): save it as CSV") from None
    text = {title: sheet.apply(as_text).set_axis(range(1, len(sheet) + 1)) for title, sheet in sheets.items()}
    used = {title: sheet[(sheet != "").any(axis=1)] for title, sheet in text.items() if (sheet != "").any(axis=None)}
    if len(used) > 1:
        raise DataError(
            f"{name} has {len(used)} sheets with content, {listed([*used])}: keep only the sheet of the table, or "
            "save it "
            "as CSV"
        )
    if not used:
        raise DataError(f"{name} is empty: give a table with a header line and rows")
    (sheet,) = used.values()
    header = [str(number) for number in range(1, sheet.shape[1] + 1)] if no_header else list(sheet.iloc[0])
    return _checked(sheet.iloc[0 if no_header else 1 :].set_axis(header, axis=1), name, "row", "text")


# ---------------------------------------------------------------------------------------------------------- JSON


def _from_zip(files: Mapping[str, bytes], name: str, encoding: str | None) -> pd.DataFrame:
    """Return the records of all files of JSON in a zip, each with the name of its file."""
    parts = {file: _from_json(text, f"{name}, {file}") for file, raw in files.items()
             if (text := _decode(raw, f"{name}, {file}", encoding)).strip()}  # fmt: skip
    rows = [{**row, FILE: Path(file).stem} for file, part in parts.items() for row in part.to_dict("records")]
    return _of_records(rows, [place for part in parts.values() for place in part.index], name)


def _from_json(text: str, name: str) -> pd.DataFrame:
    """Return the records in JSON or JSONL: elements of a list, values of lines, or what `_of_whole` finds."""
    if len(text) > MOST_BYTES:
        raise DataError(explain_size(name, len(text)))
    values, places = list[Any](), list[str]()
    at, line, counted_to = _skip(text, 0), 1, 0
    while at < len(text):
        line, counted_to = line + text.count("\n", counted_to, at), at
        if len(values) == 1 and isinstance(values[0], list):
            raise DataError(
                f"{name}, line {line}: text follows the end of the list: write one list, or one object on each line"
            )
        value, end = _decode_value(text, at, name)
        values.append(value)
        places.append(f"{name}, line {line}")
        at = _skip(text, end)
    if len(values) == 1 and isinstance(values[0], list):
        places = [f"{name}, [{number}]" for number in range(len(values[0]))]
        return _of_records(values[0], places, name)
    return _of_whole(values[0], name, places[0]) if len(values) == 1 else _of_records(values, places, name)


def _skip(text: str, position: int) -> int:
    """Return the position of the next character that is not whitespace."""
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _decode_value(text: str, position: int, name: str) -> tuple[Any, int]:
    """Return the JSON value at a position, and its end."""
    line = text.count("\n", 0, position) + 1
    try:
        return json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_refuse).raw_decode(text, position)
    except json.JSONDecodeError as error:
        cut = _skip(text, error.pos) >= len(text) or (
            error.msg.startswith("Unterminated") and "\n" not in text[error.pos :].rstrip()
        )
        ends = " (the file ends here, and may be cut off)" if cut else ""
        what = f"{error.msg[:1].lower()}{error.msg[1:]}, column {error.colno}{ends}"
        raise DataError(f"{name}, line {error.lineno}: this is not JSON: {what}; export the file again") from None
    except RecursionError:
        raise DataError(f"{name}, line {line}: this JSON is nested too deeply: flatten it") from None
    except DataError as error:
        raise DataError(f"{name}, line {line}: {error}") from None
    except ValueError:  # Python limits the digits of a number
        raise DataError(
            f"{name}, line {line}: a number here or below has thousands of digits: write it as text"
        ) from None


def _distinct(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, whose keys differ."""
    found = dict(fields)
    if len(found) < len(fields):
        twice = next(name for name in found if sum(name == each for each, _ in fields) > 1)
        raise DataError(f"an object has the key {twice!r} twice: keep one, or give each a name of its own")
    return found


def _refuse(constant: str) -> Any:
    raise DataError(f"{constant} is no value of JSON: leave the field out if it is missing, or write null")


def _of_whole(whole: Any, name: str, place: str = "") -> pd.DataFrame:
    """Return the records of one object: its only list, lists side by side, records by id, or the object itself.

    Lists by column may be objects by row, as pandas writes them. `attrs` keeps the object, into which paths may lead.
    """
    parts = whole if isinstance(whole, Mapping) else {}
    if len(parts) > 1 and all(isinstance(part, Mapping) for part in parts.values()) and _by_column(parts):
        parts = {field: list(part.values()) for field, part in parts.items()}
    lists = [part for part in parts.values() if isinstance(part, list)]
    of_objects = bool(lists) and all(part and isinstance(part[0], Mapping) for part in lists)
    if of_objects and len(parts) == 1:
        rows, places = lists[0], [f"{name}, {next(iter(parts))}[{at}]" for at in range(len(lists[0]))]
    elif any(lists) and len(lists) == len(parts) and not of_objects:
        shortest = min(parts, key=lambda field: len(parts[field]))
        if len(parts[shortest]) < max(map(len, lists)):
            raise DataError(f"{name}: {shortest!r} is shorter than other lists: give each list a value for each record")
        rows = [dict(zip(parts, cells, strict=True)) for cells in zip(*parts.values(), strict=True)]
        places = [f"{name}, [{at}]" for at in range(len(rows))]
    elif parts and all(isinstance(part, Mapping) for part in parts.values()) and "responses" not in parts:
        rows = [{"id": key, **part} for key, part in parts.items()]
        places = [f"{name}, [{key!r}]" for key in parts]
    else:
        rows, places = [whole], [place or name]
    frame = _of_records(rows, places, name)
    frame.attrs["whole"] = Kept(whole)
    return frame


class Kept:
    """A value in `attrs` of which pandas makes no copies."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __deepcopy__(self, memo: Any) -> Kept:
        """Return the same value."""
        return self


def _by_column(parts: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether objects are columns, with a value for each of the same rows, that are not objects."""
    first, *rest = parts.values()
    flat = all(not isinstance(cell, Mapping) for part in parts.values() for cell in part.values())
    return flat and all(list(part) == list(first) for part in rest) and all(str(key).isdecimal() for key in first)


def _of_records(rows: Iterable[Any], places: Sequence[str], name: str) -> pd.DataFrame:
    """Return records as a table, whose cells may be lists and objects, and are None where a field is missing."""
    rows = list(rows)
    for row, place in zip(rows, places, strict=True):
        if not isinstance(row, Mapping):
            what = "a list" if isinstance(row, list) else "a text" if isinstance(row, str) else "no object"
            raise DataError(f"{place}: this is {what}, but must be an object, {{...}}")
    if not rows or not any(rows):
        raise DataError(f"{name} is JSON without records: give objects whose fields are item, annotator and label")
    names = list(dict.fromkeys(str(field) for row in rows for field in row))
    cells = {field: pd.Series([row.get(field) for row in rows], index=list(places), dtype=object) for field in names}
    frame = pd.DataFrame(cells, index=list(places)) if cells else pd.DataFrame(index=list(places))
    return _named(frame, name, "place", "json")
