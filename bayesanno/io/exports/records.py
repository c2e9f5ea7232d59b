"""Records of any form: item, annotator and label are fields, paths or templates, or the names that columns have.

A field of labels may be an object with a label for each annotator, or a list beside a list of annotators. A table is
read in this way if the options ask for a path, a template, several labels in a cell or a separator, or if its cells
hold lists. Its `columns` are then those of annotators, or, in a table of annotators, columns of 0 and 1 for each label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import counted, listed
from bayesanno.io.cells import split_cell, unpack
from bayesanno.io.exports.answers import GOLD, OF_TABLES, PARTS, Answer, Export
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.paths import FIELD, LANGUAGE, Row, Rows, show_paths
from bayesanno.io.exports.value import Value
from bayesanno.io.layout import choose_columns
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.text_table import header_only

type Fields = Mapping[str, str | None]  # the field of each role

_ALSO = {"item": ("id",), "annotator": ("annotators",), "label": ("score", "labels", "annotations"), "gold": ()}
_CHOSEN = {"1": True, "0": False, "1.0": True, "0.0": False, "true": True, "false": False, "": False}


def looks_like_records(document: Document, options: ReadOptions) -> bool:
    """Return whether it is JSON of objects, or a table that is to be read so."""
    if document.kind != "table" or not document.first:
        return bool(document.first) and document.kind != "zip"
    if options.multi_label or options.split is not None or options.format == "records":
        return True
    named = [each for each in (options.item, options.annotator, *options.label) if each is not None]
    if any(each not in document.first and (FIELD.search(each) or set(each) & set("[]{}.")) for each in named):
        return not options.columns
    found = _find_fields(document, options)
    who, said = (unpack(document.first.get(found[role] or "")) for role in ("annotator", "label"))
    return (isinstance(said, list) and isinstance(who, list)) or (isinstance(said, Mapping) and _may_be_keys(found))


def _find_fields(document: Document, options: ReadOptions) -> Fields:
    """Return the field of each role, by option or by name."""
    header = header_only(document.name, document.first)
    label = options.label[0] if options.label else None
    found = {"item": options.item, "annotator": options.annotator, "label": label, "gold": options.gold}
    for role in [role for role, named in found.items() if named is None]:
        column = header.find(role)
        also = [name for name in _ALSO[role] if name in header.header]
        found[role] = header.header[column] if column is not None else next(iter(also), None)
    if document.kind != "table" and found["item"] is None and len(header.matching_loosely()) == 1:
        found["item"] = header.header[header.matching_loosely()[0]]
    if options.gold is None and found["gold"] in options.label:
        found["gold"] = None
    return found


def _may_be_keys(found: Fields) -> bool:
    """Return whether the keys of an object of labels may be annotators, as no other field names them."""
    return found["annotator"] in (None, *_ALSO["annotator"])


class Records(Export):
    """Records of any form, by paths of the user's own."""

    def read(self, document: Document, options: ReadOptions) -> Iterator[Answer]:
        """Yield the answers of each record, or with several label fields those to each."""
        found = _find_fields(document, options)
        if found["label"] is None and options.columns:
            document, found = _gather_columns(document, found, options)
        if found["item"] is None or found["label"] is None:
            raise _ask_for(document, found, options)
        questions = options.label or (found["label"],)
        records = document.records_with([path for path in (*found.values(), *questions) if path is not None])
        each_rows = [_rows_of(name, replace(document, records=records), found, options) for name in questions]
        is_template = options.annotator is not None and FIELD.search(options.annotator) is not None
        for record in records():
            for question, rows in zip(questions, each_rows, strict=True):
                for row in rows.read(record):
                    yield from _answers_in(row, question, options, is_template=is_template)
        for rows in each_rows:
            rows.check(records, ("item", "annotator", "label", *(() if options.gold is None else ("gold",))))


def _rows_of(question: str, document: Document, found: Fields, options: ReadOptions) -> Rows:
    """Return the rows of item, annotator and label; of an object of labels, these are its keys and its values."""
    said, first = Rows({"label": question}, document.first), document.first
    labels = (row.label.opened().given for record in document.records() for row in said.read(record))
    given = next(filter(None, labels), None)
    paths = {**found, "label": question}
    if isinstance(given, Mapping) and options.annotator is None and _may_be_keys(found):
        by_key = {"annotator": question + "{}#", "label": question + "{}"}
        if all(isinstance(number, int | float) and not isinstance(number, bool) for number in given.values()):
            named = " and ".join(f"{role}={path!r}" for role, path in by_key.items())
            raise DataError(
                f"{document.name}: {question!r} has a number for each of {listed(list(given))}: if annotators, "
                f"use {named}; if they are labels with numbers of answers, write a table with a column for each label, "
                "and use format='votes'"
            )
        paths |= by_key
    if paths["annotator"] is None:
        raise _ask_for(document, paths, options, question if isinstance(given, list) else "")
    return Rows({role: path for role, path in paths.items() if path is not None}, first)


def _answers_in(row: Row, question: str, options: ReadOptions, *, is_template: bool) -> Iterator[Answer]:
    """Yield the answers of one annotator, or of several side by side, and the gold label."""
    item, known = row.item.as_text("item"), row.gold.as_labels()
    if known and item:
        yield Answer(row.place, item, "", "", known, GOLD)
    annotators = None if is_template else _list_of(row.annotator, options)
    if annotators is None:
        labels = _labels_of(row.label, options)
        annotator = row.annotator.as_text("annotator") if labels is not None else ""
        yield Answer(row.place, item, annotator, question, labels)
        return
    answers = _list_of(row.label, options)
    if answers is None:
        answers = [row.label.put(None if row.label.given == "" else row.label.given)]
    if len(answers) != len(annotators):
        raise DataError(
            f"{row.place}: {counted(len(annotators), 'annotator')} in {row.annotator.name!r}, "
            f"{counted(len(answers), 'label')} in {question!r}: give each annotator a label or an empty text; if the "
            f"field names one annotator, use annotator={'{' + row.annotator.name + '}'!r}"
        )
    for who, answer in zip(annotators, answers, strict=True):
        yield Answer(row.place, item, who.as_text("annotator"), question, _labels_of(answer, options))


def _labels_of(said: Value, options: ReadOptions) -> tuple[str, ...] | None:
    given = unpack(said.given)
    if options.multi_label and isinstance(given, str) and given[:1] == "[" and given[-1:] == "]":
        raise DataError(
            f'{said.whole_place}: {given[:60]!r} looks like a list, but is not valid: write it as JSON, ["a", "b"]'
        )
    return said.put(given).as_labels()


def _list_of(value: Value, options: ReadOptions) -> list[Value] | None:
    """Return the elements of a list, or the parts between separators; None for anything else."""
    given = unpack(value.given)
    if isinstance(given, str) and options.split and options.split in given:
        given = split_cell(given, options.split)
    return [each for _, each in value.put(given).elements()] if isinstance(given, list) else None


def _gather_columns(document: Document, found: Fields, options: ReadOptions) -> tuple[Document, Fields]:
    """Return a table with a column of labels in place of columns of annotators, or of 0 and 1 for each label."""
    header = header_only(document.name, document.first)
    others = [header.header.index(name) for name in found.values() if name in header.header]
    names = [header.header[at] for at in choose_columns(header, options.columns, others)]

    def gather(row: Value) -> Value:
        cells = {name: row.get(name) for name in names}
        if found["annotator"] is None:
            return row.put({**row.as_object(), "label": cells})
        flags = [(name, cell.as_text().casefold()) for name, cell in cells.items()]
        odd = next((flag for flag in flags if flag[1] not in _CHOSEN), None)
        if odd is not None:
            raise DataError(
                f"{row.place}: {odd[0]} is {odd[1]!r}, but must be 0 or 1: leave this column out of columns=..."
            )
        chosen = [name for name, cell in flags if _CHOSEN[cell]] if any(cell for _, cell in flags) else None
        return row.put({**row.as_object(), "label": chosen})

    return document.changed(gather), {**found, "label": "label"}


def _ask_for(document: Document, found: Fields, options: ReadOptions, of_lists: str = "") -> DataError:
    """Return the error that no field has a role, with the fields there are; `of_lists` has lists of labels."""
    lacking = [role for role in ("item", "annotator", "label") if found[role] is None]
    how = f"name {'it' if len(lacking) == 1 else 'them'} with {', '.join(f'{role}=...' for role in lacking)}"
    if document.kind == "table" and found["label"] is None:
        columns, what = _suggest_columns(document, found, options)
        how += f", or the columns of {what} with columns={','.join(columns)!r}" if columns else ""
    if of_lists:
        each = f"annotator={of_lists + '[]#'!r} and label={of_lists + '[]'!r}"
        how += f"; if each element of {of_lists!r} is by another annotator, use {each}"
    nested = any(isinstance(unpack(each), list | dict) for each in document.first.values())
    shown = f"{show_paths(document.first) or 'nothing but empty fields'}{f' ({LANGUAGE})' if nested else ''}"
    odd = next((PARTS[name] for name in ("bbox", "segmentation", "spans") if name in str(document.first)), None)
    return DataError(
        f"{next(document.records()).place}: no field names the {', the '.join(lacking)}: {how}; the record has "
        f"{shown}{f'; {odd[0]} are not read: {odd[1]}' if odd else ''}"
    )


def _suggest_columns(document: Document, found: Fields, options: ReadOptions) -> tuple[list[str], str]:
    """Return the columns that may be those of labels, or of annotators, and what they are."""
    others = [name for name in map(str, document.first) if name not in found.values()]
    rows = [row.as_object() for row in document.records()]
    cells = {name: [row[name] for row in rows if row[name] not in (None, "")] for name in others}
    if found["annotator"] is not None:
        return [name for name in others if {str(cell).casefold() for cell in cells[name]} <= _CHOSEN.keys()], "labels"
    several = [name for name in others if all(isinstance(unpack(cell), list) for cell in cells[name])]
    return (others if options.split else several), "annotators"


RECORDS = Records(
    name="records",
    form="JSON or JSONL, objects whose fields, or paths into them, are item, annotator and label",
    looks_like=looks_like_records,
    uses=OF_TABLES | {"columns", "no_header"},
)
