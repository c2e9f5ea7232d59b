"""Sources of annotations: tables, and exports of tools, which become tables.

The invariant: the format is detected from the content of a file, never from its name.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bayesanno._core.errors import DataError, DataFileError
from bayesanno._core.lazy import pd
from bayesanno._core.wording import listed, name_error, option, spell
from bayesanno.io.cells import plain
from bayesanno.io.datasets import load_named, options_of
from bayesanno.io.exports.answers import Export, tabulate
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.paths import FIELD, Rows
from bayesanno.io.exports.records import needs_paths
from bayesanno.io.exports.value import Value
from bayesanno.io.names import warn_of_unused
from bayesanno.io.packed import GZIP_MAGIC, JSON, MOST_BYTES, WORKBOOK, ZIP_MAGIC, explain_size, unpack_gzip, unpack_zip
from bayesanno.io.read_options import OF_EXPORTS, ReadOptions
from bayesanno.io.registry import EXPORTS, load_all
from bayesanno.io.text_rows import decode, rows_of_workbook
from bayesanno.io.text_table import TextTable, header_only, table_from_rows, table_from_text

type Source = Any  # a path, "@name", or data in memory: what `as_frame` takes, or a list or dict of records

STANDARD_INPUT = "-"
_OF_TABLES = ("columns", "count", "no_header", "transpose")
PARQUET_MAGIC = b"PAR1"
_JSON = re.compile(r"""\ufeff?\s*(?:\{\s*["'}]|\[\s*[\[\]{"'0-9tfn-]|[\[{]\s*\Z)""")
_HEAD = 4096  # bytes in which JSON is recognised


def open_source(source: Source, options: ReadOptions) -> tuple[TextTable, ReadOptions]:
    """Return the table of annotations in a source, and the options that remain for it.

    A plain table and its options are returned unchanged. An export becomes a long table, and the options that chose its
    contents are reset. Tables of items and of annotators have the item, or the annotator, as their first column.

    Raises
    ------
    DataFileError, DataError
        As for `open_table`; if the source is an export that cannot be read, or is none that is known.
    """
    document = open_document(source, options)
    needless = next((each for each in ("no_header", "separator") if options.gives(each)), None)
    is_text = document.kind == "table" and isinstance(source, str | os.PathLike)
    others = (options.items, options.annotators, options.gold_file, options.controls)  # which may be texts
    alone = all(other is None for other in others)
    if needless is not None and alone and not is_text:
        raise DataError(
            f"{document.name} is no table of text, and {option(needless)} does not apply to it: leave it out"
        )
    named = {name: value for name, value in options_of(source).items() if not options.gives(name)}
    items, annotators = (_open_columns(options, role) for role in ("item", "annotator"))
    options = replace(options, **named, items=items, annotators=annotators)
    if options.compared:
        return _open_comparisons(document, options), options
    export = choose_export(document, options)
    if export is not None:
        return tabulate(document, export, options)
    table = document.flat[0]
    assert table is not None  # choose_export refuses other documents
    warn_of_unused(table.name, {cell for column in table.columns for cell in column}, options)
    return _fill_in(table, item=options.item, annotator=options.annotator), options


def open_beside(source: Source, options: ReadOptions, role: str = "item") -> tuple[TextTable, int]:
    """Return a table about the items, or annotators, of data that were read by these options, and its column of them.

    The column is the one that the options name, or a template of theirs filled in, if the table has it; else it is
    found by its name.

    Raises
    ------
    DataFileError, DataError
        As for `open_table`; if no column names the items, or annotators.
    """
    table = source if isinstance(source, TextTable) else open_table(source, options.encoding, options.separator)
    named = getattr(options, role)
    if all(name.strip() in table.header for name in FIELD.findall(named or "")):
        table = _fill_in(table, **{role: named})
    return table, table.need(role, named if named in table.header else None, may_be_named=False)


def _open_columns(options: ReadOptions, role: str) -> TextTable | None:
    """Return the table of items or annotators, with their column first, if the options name one."""
    source = getattr(options, f"{role}s")
    if source is None:
        return None
    table, first = open_beside(source, options, role)
    order = sorted(range(len(table.header)), key=lambda column: column != first)
    header, columns = zip(*((table.header[column], table.columns[column]) for column in order), strict=True)
    return replace(table, header=header, columns=columns)


def _open_comparisons(document: Document, options: ReadOptions) -> TextTable:
    """Return a table of comparisons: as it is, or with a column for each named or known field of records."""
    if not needs_paths(document, options, options.compared):
        table = document.flat[0]
        assert table is not None  # otherwise paths are needed
        return _fill_in(table, item=options.item, annotator=options.annotator)
    header = header_only(document.name, document.first)
    by_name = [role for role, name in options.roles.items() if name is None]
    known = [header.header[column] for role in by_name for column in header.matching(role)]
    if "item" in by_name and not header.matching("item"):
        known += [header.header[column] for column in header.matching_loosely()]
    named = [name for name in (*options.roles.values(), *options.compared, options.by) if name is not None]
    rows = Rows({name: name for name in (*known, *named)}, document.first, inner="")
    found = [row for record in document.records() for row in rows.read(record)]
    if not found:
        raise DataError(f"{document.name} is {_kind(document)}, but comparisons need a table or records")
    rows.check(document.records, named)
    columns = tuple([_as_cell(row.values[name]) for row in found] for name in rows.templates)
    places = [row.place for row in found]
    return TextTable(name=document.name, header=tuple(rows.templates), columns=columns, lines=places, unit="row")


def _as_cell(value: Value) -> str:
    """Return a value as text; a list or an object, as of a ranking, as JSON."""
    return json.dumps(value.given) if isinstance(value.given, list | Mapping) else value.as_text()


def _fill_in(table: TextTable, **names: str | None) -> TextTable:
    """Return a table with a column for each name, by role, that is a template over its columns."""
    for role, name in names.items():
        if name is not None and name not in table.header and FIELD.search(name):
            rows = Rows({role: name}, dict.fromkeys(table.header), inner="")
            fields = [field.strip() for field in FIELD.findall(name)]
            records = Document.from_table(table).records()
            cells = [row.values[role].as_text() for record in records for row in rows.read(record)]
            own = zip(
                *(table.columns[table.header.index(field)] for field in fields if field in table.header), strict=True
            )
            if len({*own}) > len({*cells}):
                raise DataError(
                    f"{table.name}: {option(role, name)} gives one name to rows that differ: put another separator "
                    "between its fields"
                )
            table = replace(table, header=(*table.header, name), columns=(*table.columns, cells))
    return table


def open_table(source: Source, encoding: str | None = None, separator: str | None = None) -> TextTable:
    """Return the table in a source that may be no export.

    Raises
    ------
    DataFileError
        If there is no such file or it cannot be opened or fetched.
    DataError
        If there is no data set of that name, or the source is no table, or one that cannot be read.
    """
    if isinstance(source, list | Mapping):
        as_frame(source)  # which refuses it
    document = open_document(source, ReadOptions(encoding=encoding, separator=separator))
    table, nested = document.flat
    if table is None or nested:
        what = "a zip" if document.kind == "zip" else "JSON with nested fields"
        raise DataError(
            f"{document.name} is {what}, but must be a table, as CSV, TSV, Parquet or flat JSON: only annotations are "
            "read from exports of tools"
        )
    return table


def open_document(source: Source, options: ReadOptions | None = None) -> Document:
    """Return the contents of a source before its format is known.

    The first bytes of a file show whether it is Parquet, a zip or JSON; any other file is a table of text. Compressed
    files are unpacked first. The options `encoding`, `separator` and `no_header` apply to text.

    Raises
    ------
    DataFileError, DataError
        As for `open_table`; if the format is unknown, or the source is too large.
    """
    if isinstance(source, list):
        return Document.from_list(source, "the list")
    if isinstance(source, Mapping):
        if any(hasattr(part, "to_pandas") for part in source.values()):
            raise DataError(
                f"cannot read annotations from {type(source).__name__}: choose one of its parts, {listed(list(source))}"
            )
        return Document.from_object(Value("the dict", plain(source)), "the dict")
    if not isinstance(source, str | os.PathLike):
        return Document.from_frame(as_frame(source), "the DataFrame")
    if source == STANDARD_INPUT:
        path, raw = Path("standard input"), _read_standard_input()
    else:
        path = load_named(source) if isinstance(source, str) and source.startswith("@") else Path(source)
        _refuse_large(path)
        raw = read_bytes(path)
    options = options or ReadOptions()
    name = str(source if source != STANDARD_INPUT else path)
    if raw.startswith(GZIP_MAGIC):
        raw = unpack_gzip(raw, name)
    if raw.startswith(ZIP_MAGIC):
        kind, files = unpack_zip(raw, name)
        if kind == WORKBOOK:
            rows = rows_of_workbook(raw, name)
            return Document.from_table(table_from_rows(rows, name, "row", no_header=options.no_header))
        if kind == JSON:
            return Document.from_zip(files, name, options.encoding)
        if len(files) > 1:
            raise DataError(f"{name} holds several tables, {listed(list(files))}: unpack it and choose one")
        ((inner, raw),) = files.items()
        name = f"{name}, {inner}"
    if raw.startswith(PARQUET_MAGIC):
        return Document.from_frame(read_parquet(raw, name), name)
    if name.lower().endswith((".parquet", ".pq")) and not _JSON.match(raw[:_HEAD].decode(errors="ignore")):
        raise DataError(f"{name} is not a Parquet file: it does not begin with {PARQUET_MAGIC.decode()}")
    text = decode(raw, name, options.encoding)
    if _JSON.match(text):
        return Document.from_json(text, name)
    return Document.from_table(table_from_text(text, name, options.separator, no_header=options.no_header))


def as_frame(source: Any) -> pd.DataFrame:
    """Return a table in memory as a DataFrame of pandas.

    It may be one of polars, a Dataset of Hugging Face, or whatever has `to_pandas` or is given as a stream of Arrow.

    Raises
    ------
    DataError
        If it is none of these.
    """
    if isinstance(source, pd.DataFrame):
        return source
    frame, reason = None, ""
    try:
        if callable(getattr(source, "to_pandas", None)):
            frame = source.to_pandas()
        elif hasattr(source, "__arrow_c_stream__"):
            import pyarrow as pa

            frame = pa.RecordBatchReader.from_stream(source).read_all().to_pandas()
    except Exception as error:
        reason = f" ({name_error(error)})"
    for name, feature in dict(getattr(source, "features", None) or {}).items():  # of a Dataset: codes have names
        if (names := getattr(feature, "names", None)) is not None and isinstance(frame, pd.DataFrame):
            frame[name] = frame[name].map(dict(enumerate(names)).get)
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"cannot read annotations from {type(source).__name__}{reason}: give a path, '@name', a DataFrame of "
            "pandas or polars, a Dataset of Hugging Face, or a list of records"
        )
    return frame


def read_bytes(path: Path) -> bytes:
    """Return the contents of a file.

    Raises
    ------
    DataFileError
        If there is no such file, or it cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DataFileError(f"there is no file {str(path)!r}: check the path, or name a data set as '@name'") from None
    except IsADirectoryError:
        raise DataFileError(
            f"{str(path)!r} is a folder: give the path of a file, or fit a folder of Parquet files on Dask by em or "
            f"vb with {spell('client=...', '--dask local')}"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a path that no file system takes, as one with a zero byte
        reason = error.strerror if isinstance(error, OSError) else error
        raise DataFileError(f"{str(path)!r} cannot be read: {reason}") from None


def read_parquet(raw: bytes, name: str) -> pd.DataFrame:
    """Return the DataFrame in a Parquet file."""
    try:
        return pd.read_parquet(io.BytesIO(raw))
    except (OSError, ValueError) as error:  # pyarrow's errors derive from these
        reason = " ".join(str(error).split())
        raise DataError(f"{name} cannot be read as Parquet: {reason}") from None


def _read_standard_input() -> bytes:
    try:
        return sys.stdin.buffer.read()
    except (OSError, ValueError, AttributeError):  # it is closed, or missing in a program without a terminal
        raise DataFileError("standard input cannot be read: give the path of a file") from None


def _refuse_large(path: Path) -> None:
    """Raise a DataError if JSON or a compressed file is too large, before it is read."""
    try:
        size = path.stat().st_size
        if size <= MOST_BYTES:
            return
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except (OSError, ValueError):
        return
    if _JSON.match(head.decode(errors="ignore")) or head.startswith((*ZIP_MAGIC, GZIP_MAGIC)):
        raise DataError(explain_size(str(path), size))


def choose_export(document: Document, options: ReadOptions) -> Export | None:
    """Return the export that a document is: the one that the options name, or the first that it looks like.

    None stands for a plain table.

    Raises
    ------
    DataError
        If it is neither an export nor a table, or an option does not apply to it.
    """
    exports: dict[str, Export] = load_all(EXPORTS)
    found = next((each for each in exports.values() if each.looks_like(document, options)), None)
    chosen = found if options.format == "auto" else exports.get(options.format)
    if chosen is not None and not chosen.looks_like(document, options):
        raise DataError(
            f"{document.name} does not have the form that {option('format', chosen.name)} reads, {chosen.form}: "
            f"{_instead(found)}"
        )
    if chosen is None and document.table is None and needs_paths(document, options):
        named = options.format != "auto"
        no_table = f", and {option('format', options.format)} reads tables (CSV, TSV, Parquet)" if named else ""
        raise DataError(f"{document.name} is {_kind(document)}{no_table}: {_instead(found)}")
    _refuse_unused(document.name, chosen, options)
    return chosen


def _kind(document: Document) -> str:
    if document.kind == "zip":
        return "a zip of JSON"
    if document.first:
        return f"JSON of {listed([str(name) for name in document.first], most=6)}"
    return "JSON without records" if next(document.records(), None) is None else "JSON without objects"


def _instead(found: Export | None) -> str:
    """Return the remedy for a document that does not have the expected form."""
    if found is not None:
        return f"it looks like {found.name}, {found.form}; leave out {option('format')}"
    return f"known exports are {listed(list(load_all(EXPORTS)), most=20)}"


def _refuse_unused(name: str, export: Export | None, options: ReadOptions) -> None:
    """Raise a DataError if an option is given that does not apply to the export, or to a plain table."""
    useless = ("split",) if export is None else ("item", "annotator", "gold", *_OF_TABLES)
    for role in (*OF_EXPORTS, *useless):
        if options.gives(role) and not (export and role in export.uses):
            users = [each.name for each in load_all(EXPORTS).values() if role in each.uses]
            what = "a plain table" if export is None else f"read as {export.name}"
            raise DataError(
                f"{name} is {what}, and {option(role)} does not apply to it: leave it out"
                + (f"; it is for {', '.join(users)}" if users and export is None else "")
            )
