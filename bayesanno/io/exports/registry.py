"""The exports that are known, in the order in which they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed
from bayesanno.io.exports.answer_records import RECORDS
from bayesanno.io.exports.argilla import ARGILLA
from bayesanno.io.exports.doccano import DOCCANO
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.export import Export
from bayesanno.io.exports.label_studio import LABEL_STUDIO
from bayesanno.io.exports.mturk import MTURK
from bayesanno.io.exports.prodigy import PRODIGY
from bayesanno.io.exports.toloka import TOLOKA

if TYPE_CHECKING:
    from bayesanno.io.read_options import ReadOptions

EXPORTS = {each.name: each for each in (LABEL_STUDIO, PRODIGY, ARGILLA, DOCCANO, MTURK, TOLOKA, RECORDS)}

_OF_EXPORTS = {"predictions": False, "multi_label": False, "drop_rejected": False}
_OF_MANY = {**_OF_EXPORTS, "item": None, "annotator": None, "gold": None}


def choose_export(document: Document, options: ReadOptions) -> Export | None:
    """Return the export that a document is: the one that the options name, or the first that it looks like.

    None stands for a plain table.

    Raises
    ------
    DataError
        If it is no export, and no table either; or an option is given for which there is no use.
    """
    found = next((each for each in EXPORTS.values() if each.looks_like(document, options)), None)
    chosen = found if options.format == "auto" else EXPORTS.get(options.format)
    if chosen is not None and not chosen.looks_like(document, options):
        raise DataError(
            f"{document.name} is not what --format {chosen.name} reads, {chosen.form}: {_instead(document, found)}"
        )
    if chosen is None and document.table is None:
        no_table = (
            f", and --format {options.format} reads tables (CSV, TSV, Parquet)" if options.format != "auto" else ""
        )
        raise DataError(f"{document.name} is {_kind(document)}{no_table}: {_instead(document, found)}")
    _refuse_unused(document.name, chosen, options)
    return chosen


def _kind(document: Document) -> str:
    if document.kind == "zip":
        return "a zip of JSON"
    if document.first:
        return f"JSON of {listed([str(name) for name in document.first], most=6)}"
    return "JSON without records" if next(document.records(), None) is None else "JSON without objects"


def _instead(document: Document, found: Export | None) -> str:
    """Return what to do with a document that is not what it was taken for."""
    if found is not None:
        return f"it looks like {found.name}, {found.form}; leave out --format"
    known = [
        f"{each.name} ({each.form})" for each in EXPORTS.values() if each.of_tables == (document.table is not None)
    ]
    return f"known exports are {', '.join(known)}"


def _refuse_unused(name: str, export: Export | None, options: ReadOptions) -> None:
    """Raise a DataError if an option is given that the export, or a plain table, has no use for."""
    for option, unset in (_OF_EXPORTS if export is None else _OF_MANY).items():
        if getattr(options, option) != unset and not (export and option in export.uses):
            users = [each.name for each in EXPORTS.values() if option in each.uses]
            what = "a plain table" if export is None else f"read as {export.name}"
            raise DataError(
                f"{name} is {what}, which has no use for --{option.replace('_', '-')} ({option}=...): leave it out"
                + (f"; it is for {', '.join(users)}" if export is None else "")
            )
