"""Records of any form: item, annotator and label are fields, paths or templates, or the names that columns have.

A field of labels may be an object with a label for each annotator, or a list beside a list of annotators. A table is
read in this way if the options ask for a path, a template, several labels in a cell or a separator, or if its cells
hold lists. Its `columns` are then those of annotators, or, in a table of annotators, columns of 0 and 1 for each label.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, override

from bayesanno._core.errors import DataError
from bayesanno._core.wording import counted, listed, option
from bayesanno.io.cells import parse_cell, split_cell
from bayesanno.io.exports.answers import GOLD, OF_TABLES, PARTS, Answer, Export, instead_of
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.paths import FIELD, LANGUAGE, Row, Rows, show_paths
from bayesanno.io.exports.value import Value
from bayesanno.io.layout import ROLES, choose_columns
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.text_table import TextTable, header_only

log = logging.getLogger(__name__)  # reports the fields that were read

type Fields = Mapping[str, str | None]  # the field of each role

OF_ANNOTATORS = "annotations"  # an object of this name has a label for each annotator
_ALSO = {"item": ("id",), "annotator": ("annotators",), "label": ("score", "labels", "annotations"), "gold": ()}
_CHOSEN = {"1": True, "0": False, "1.0": True, "0.0": False, "true": True, "false": False, "": False}


def looks_like_records(document: Document, options: ReadOptions) -> bool:
    """Return whether it is JSON of objects, or a table that is to be read so."""
    if document.kind == "zip" or not document.first:
        return False
    if options.multi_label or options.split is not None or options.format == "records":
        return True
    if needs_paths(document, options):
        return document.kind != "table" or not options.columns
    if document.kind != "table":
        return False
    found = _find_fields(document, options)
    who, said = (parse_cell(document.first.get(found[role] or "")) for role in ("annotator", "label"))
    return (isinstance(said, list) and isinstance(who, list)) or (isinstance(said, Mapping) and _may_be_keys(found))


def needs_paths(document: Document, options: ReadOptions, more: Sequence[str] = ()) -> bool:
    """Return whether the options name a path, or a field that has a role by its name is nested.

    A template over fields that are flat is no path. The options name `more` fields.
    """
    table, nested = document.flat
    if table is None:
        return True
    given = (options.item, options.annotator, options.gold, *options.label, *more)
    others = [each for each in given if each is not None and each not in table.header]
    named = [path.strip() for each in others for path in FIELD.findall(each) or [each]]
    if any(each not in table.header and (each in nested or set(each) & set("[]{}.")) for each in named):
        return True
    if not nested or more:
        return False
    roles = {role: options.roles[role] is not None or bool(table.matching(role)) for role in ROLES}
    roles["item"] |= bool(table.matching_loosely())
    of_nested = header_only(document.name, nested)
    if all(roles.values()) and options.annotator is None and not options.label:
        _refuse_hidden(document, nested, table)
    return not all(roles.values()) or any(of_nested.matching(role) for role in ROLES if options.roles[role] is None)


def _refuse_hidden(document: Document, nested: Iterable[str], table: TextTable) -> None:
    """Raise a DataError if the objects in a nested list have annotators of their own, beside those of the records."""
    records = [record.as_object() for record in document.records()]
    for name in sorted(nested):
        lists = (given for record in records if isinstance(given := parse_cell(record.get(name)), list))
        objects = (each for given in lists for each in given if isinstance(each, Mapping))
        header = header_only(name, dict.fromkeys(field for each in objects for field in each))
        who, said = ([header.header[at] for at in header.matching(role)] for role in ("annotator", "label"))
        said = said or [field for field in header.header if field not in who]
        if who and said:
            own = " and ".join(option(role, table.header[table.matching(role)[0]]) for role in ("annotator", "label"))
            inner = f"{option('annotator', f'{name}[].{who[0]}')} and {option('label', f'{name}[].{said[0]}')}"
            raise DataError(
                f"{document.name}: elements of {name!r} have an annotator, {who[0]!r}, and so have the records: name "
                f"those to read, as in {inner}, or {own}"
            )


def _find_fields(document: Document, options: ReadOptions) -> Fields:
    """Return the field of each role, by option or by name."""
    header = header_only(document.name, document.first)
    label = options.label[0] if options.label else None
    found = {"item": options.item, "annotator": options.annotator, "label": label, "gold": options.gold}
    taken = ("label",) if options.columns else ()  # the columns are those of labels or annotators
    for role in [role for role, named in found.items() if named is None and role not in taken]:
        column = header.find(role)
        also = [name for name in _ALSO[role] if name in header.header]
        found[role] = header.header[column] if column is not None else next(iter(also), None)
    if document.kind != "table" and found["item"] is None and len(header.matching_loosely()) == 1:
        found["item"] = header.header[header.matching_loosely()[0]]
    people = document.first.get(found["annotator"] or "")
    is_number = found["annotator"] in _ALSO["annotator"] and isinstance(people, int)
    of_objects = isinstance(people, list) and any(isinstance(each, Mapping) for each in people)
    if options.annotator is None and (is_number or of_objects):
        found["annotator"] = None
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
        annotators = each_rows[0].templates["annotator"][0]
        annotators = ",".join(options.columns) if annotators.endswith("{}#") and options.columns else annotators
        said = {"items": found["item"], "annotators": annotators, "labels": " and ".join(questions)}
        named = (f"{what} in {name!r}" for what, name in (said | {"true labels": found["gold"]}).items() if name)
        log.info("%s: %s", document.name, "; ".join(named))

    @override
    def name_fields(self, document: Document, options: ReadOptions) -> dict[str, str]:
        """Return the names of the fields, by role."""
        return {role: name for role, name in _find_fields(document, options).items() if name is not None}


def _rows_of(question: str, document: Document, found: Fields, options: ReadOptions) -> Rows:
    """Return the rows of item, annotator and label; of an object of labels, these are its keys and its values."""
    said, first = Rows({"label": question}, document.first), document.first
    labels = (row.label.opened().given for record in document.records() for row in said.read(record))
    given = next(filter(None, labels), None)
    paths = {**found, "label": question}
    if isinstance(given, Mapping) and options.annotator is None and _may_be_keys(found):
        by_key = {"annotator": question + "{}#", "label": question + "{}"}
        is_flat = not any(isinstance(each, list | Mapping) for each in given.values())
        if is_flat and question != OF_ANNOTATORS and not options.columns:
            named = " and ".join(option(role, path) for role, path in by_key.items())
            raise DataError(
                f"{document.name}: {question!r} has a value for each of {listed(list(given))}: if one is the label, "
                f"use {option('annotator')} and {option('label', f'{question}.{next(iter(given))}')}; if they are "
                f"annotators, use {named}; if they are labels with numbers of answers, write a table with a column "
                f"for each, and use {option('format', 'votes')}"
            )
        paths |= by_key
    if paths["annotator"] is None:
        of_list, several, _ = question.rpartition("[]")
        if several:  # the annotator is beside the label
            of_record = next(Rows({"label": of_list}, first).read(next(document.records())))
            given = of_record.label.opened().given
        raise _ask_for(document, paths, options, of_list or question, given if isinstance(given, list) else [])
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
            f"field names one annotator, use {option('annotator', '{' + row.annotator.name + '}')}"
        )
    for who, answer in zip(annotators, answers, strict=True):
        yield Answer(row.place, item, who.as_text("annotator"), question, _labels_of(answer, options))


def _labels_of(said: Value, options: ReadOptions) -> tuple[str, ...] | None:
    given = parse_cell(said.given)
    if options.multi_label and isinstance(given, str) and given[:1] == "[" and given[-1:] == "]":
        raise DataError(
            f'{said.whole_place}: {given[:60]!r} looks like a list, but is not valid: write it as JSON, ["a", "b"]'
        )
    return said.put(given).as_labels()


def _list_of(value: Value, options: ReadOptions) -> list[Value] | None:
    """Return the elements of a list, or the parts between separators; None for anything else."""
    given = parse_cell(value.given)
    if isinstance(given, str) and options.split and options.split in given:
        given = split_cell(given, options.split)
    return [each for _, each in value.put(given).elements()] if isinstance(given, list) else None


def _gather_columns(document: Document, found: Fields, options: ReadOptions) -> tuple[Document, Fields]:
    """Return a table with a column of labels in place of columns of annotators, or of 0 and 1 for each label."""
    header = header_only(document.name, document.first)
    others = [header.header.index(name) for name in found.values() if name in header.header]
    names = [header.header[at] for at in choose_columns(header, options.columns, others)]

    cells = ({str(row.given.get(name) or "").casefold() for name in names} for row in document.records())
    if options.multi_label and found["annotator"] is None and all(row <= _CHOSEN.keys() for row in cells):
        raise _ask_for(document, {**found, "label": "label"}, options)

    def gather(row: Value) -> Value:
        cells = {name: row.get(name) for name in names}
        if found["annotator"] is None:
            return row.put({**row.as_object(), "label": cells})
        flags = [(name, cell.as_text().casefold()) for name, cell in cells.items()]
        odd = next((flag for flag in flags if flag[1] not in _CHOSEN), None)
        if odd is not None:
            raise DataError(
                f"{row.place}: {odd[0]} is {odd[1]!r}, but must be 0 or 1: leave this column out of {option('columns')}"
            )
        chosen = [name for name, cell in flags if _CHOSEN[cell]] if any(cell for _, cell in flags) else None
        return row.put({**row.as_object(), "label": chosen})

    return document.changed(gather), {**found, "label": "label"}


def _ask_for(
    document: Document, found: Fields, options: ReadOptions, question: str = "", given: Sequence[Any] = ()
) -> DataError:
    """Return the error that no field has a role, with the fields there are; `given` is a list of labels."""
    lacking = [role for role in ("item", "annotator", "label") if found[role] is None]
    how = f"name {'it' if len(lacking) == 1 else 'them'} with {', '.join(map(option, lacking))}"
    if document.kind == "table" and found["label"] is None:
        columns, what = _suggest_columns(document, found, options)
        how += f", or the columns of {what} with {option('columns', ','.join(columns))}" if columns else ""
    if given:
        inner = header_only(question, given[0] if isinstance(given[0], Mapping) else ())
        who, said = ([f".{inner.header[at]}" for at in inner.matching(role)] for role in ("annotator", "label"))
        paths = f"{question}[]{who[0] if who else '#'}", f"{question}[]{said[0] if said else ''}"
        how += f"; if each element of {question!r} is by another annotator, use {option('annotator', paths[0])} and "
        how += option("label", paths[1] if question in (*options.label, found["label"]) else found["label"])
    nested = any(isinstance(parse_cell(each), list | dict) for each in document.first.values())
    shown = f"{show_paths(document.first) or 'nothing but empty fields'}{f' ({LANGUAGE})' if nested else ''}"
    odd = next((PARTS[name] for name in ("bbox", "segmentation", "spans") if name in str(document.first)), None)
    return DataError(
        f"{next(document.records()).place}: no field names the {', the '.join(lacking)}: {how}; the record has "
        f"{shown}{f'; {odd} are not read: {instead_of(odd)}' if odd else ''}"
    )


def _suggest_columns(document: Document, found: Fields, options: ReadOptions) -> tuple[list[str], str]:
    """Return the columns that may be those of labels, or of annotators, and what they are."""
    others = [name for name in map(str, document.first) if name not in found.values()]
    rows = [row.as_object() for row in document.records()]
    cells = {name: [row[name] for row in rows if row[name] not in (None, "")] for name in others}
    if found["annotator"] is not None:
        return [name for name in others if {str(cell).casefold() for cell in cells[name]} <= _CHOSEN.keys()], "labels"
    several = [name for name in others if all(isinstance(parse_cell(cell), list) for cell in cells[name])]
    return (others if options.split else several), "annotators"


RECORDS = Records(
    name="records",
    form="JSON or JSONL, objects whose fields, or paths into them, are item, annotator and label",
    looks_like=looks_like_records,
    uses=OF_TABLES | {"columns", "no_header"},
)
