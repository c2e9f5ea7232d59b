"""The exports that are known, in the order in which they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesanno.ground.errors import DataError
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
    chosen = EXPORTS.get(options.format)
    if chosen is not None and not chosen.looks_like(document, options):
        raise DataError(
            f"{document.name} is not what --format {chosen.name} reads, {chosen.form}"
            + (f": it looks like {found.form}; leave out --format" if found else _known(document))
        )
    chosen = chosen or found
    if options.format in ("auto", *EXPORTS):
        if chosen is None and document.table is None:
            raise DataError(f"{document.name} is {_kind(document)}{_known(document)}")
    else:
        chosen = None
        if document.table is None:
            raise DataError(
                f"{document.name} is {_kind(document)}, and --format {options.format} reads tables (CSV, TSV, Parquet)"
                + (f": it looks like {found.form}; leave out --format" if found else _known(document))
            )
    _refuse_unused(document.name, chosen, options)
    return chosen


def _kind(document: Document) -> str:
    if document.kind == "zip":
        return "a zip"
    if document.first:
        return "JSON"
    return "JSON without records" if next(document.records(), None) is None else "JSON without objects"


def _known(document: Document) -> str:
    forms = "; ".join(f"{each.form} ({each.name})" for each in EXPORTS.values() if document.table is None)
    names = ", ".join(repr(str(name)) for name in list(document.first)[:8])
    return (f" of {names}" if names else "") + f", and no known export: {forms}" if forms else ": check the file"


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
