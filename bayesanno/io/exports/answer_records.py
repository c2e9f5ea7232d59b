"""Records of answers, as programs write them: an object for each answer, such as those of judges that are models.

Item, annotator and label are fields with the names that columns of a table have, or `id`, `score` and plurals. Item and
annotator may also be templates over fields: `{model}/{prompt}`. A record may hold the answers of several annotators:
lists side by side, or an object with a label for each of them.

A table is read in this way if the options ask for a template, for several labels in a cell or for a separator, or if
its cells hold lists. Labels may then be columns of 0 and 1, and annotators columns of lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import counted, listed
from bayesanno.io.cells import split_cell, unpack
from bayesanno.io.exports.answers import Answer, Export, mention_item
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.records import Value
from bayesanno.io.layout import choose_columns, find_annotators
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.text_table import TextTable, header_only

_ALSO = {"item": ("id",), "annotator": ("annotators",), "label": ("score", "labels", "annotations"), "gold": ()}
_ZERO_OR_ONE = ("0", "1", "0.0", "1.0", 0, 1)
_TRUE_OR_FALSE = ("false", "true", "False", "True", "FALSE", "TRUE")
_CHOSEN = {"1", "1.0", "true", "True", "TRUE", 1}  # and so are 1.0 and True


class _Fields(NamedTuple):
    """The fields of a record; for a table, also columns of annotators, or columns of 0 and 1 for each label."""

    item: str
    annotator: str | None
    label: str
    gold: str | None
    annotators: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


def looks_like_records(document: Document, options: ReadOptions) -> bool:
    """Return whether the first record has an item and a label; of a table, whether it is to be read so."""
    header = header_only(document.name, document.first)
    if document.kind != "table":
        named = {"item": options.item, "label": options.label}
        return document.kind != "zip" and all(named[role] or _matching(header, role) for role in named)
    several = options.multi_label or options.split is not None or options.format == RECORDS.name
    by_template = any("{" in (named or "") for named in (options.item, options.annotator))
    if several or (by_template and (options.label or _matching(header, "label"))):
        return True
    annotator, label = (
        named or next(iter(_matching(header, role)), None)
        for role, named in (("annotator", options.annotator), ("label", "".join(options.label[:1])))
    )
    who, said = (unpack(document.first.get(name or "")) for name in (annotator, label))
    by_name = isinstance(said, Mapping) and _is_by_name(annotator, options)
    return by_name or (isinstance(who, list) and isinstance(said, list))


def _is_by_name(annotator: str | None, options: ReadOptions) -> bool:
    """Return whether an object may hold labels by annotator, as no other field names annotators."""
    return options.annotator is None and annotator in (None, *_ALSO["annotator"])


def read_records(document: Document, options: ReadOptions) -> Iterator[Answer]:
    """Yield the answers of each record, or with several label fields those to each."""
    fields: _Fields | None = None
    for record in document.records():
        there = record.as_object()
        fields = fields or _find_fields(document, there, options)
        item = record.fill_in(fields.item, "item")
        for question in options.label or (fields.label,):
            yield from _read_answers(record, item, question, fields, options)
        is_known = options.gold is not None or fields.gold in there
        yield from mention_item(record, item, fields.gold if is_known else None)


def _read_answers(record: Value, item: str, question: str, fields: _Fields, options: ReadOptions) -> Iterator[Answer]:
    """Yield the answers of one annotator, or of several, to a question."""
    said = _find_said(record, question, fields, options)
    if isinstance(said.given, Mapping) and "count" in question.casefold():
        raise DataError(
            f"{said.whole_place}: these are numbers of answers without annotators: write a table with a column for "
            "each label, and use format='votes'"
        )
    if isinstance(said.given, Mapping) and _is_by_name(fields.annotator, options):
        for name, each in said.fields():
            yield Answer(record.place, item, name.strip(), question, each.as_labels())
        return
    if fields.annotator is None:
        raise DataError(_explain_nobody(record, fields, options))
    template = "{" in fields.annotator
    annotators = None if template else _list_of(record.look_up(fields.annotator), options)
    if annotators is None:
        labels = said.as_labels()
        annotator = record.fill_in(fields.annotator, "annotator") if labels is not None else ""
        yield Answer(record.place, item, annotator, question, labels)
        return
    answers = _list_of(said, options)
    if answers is None:
        answers = [said._replace(given=None if said.given == "" else said.given)]
    if len(answers) != len(annotators):
        raise DataError(
            f"{record.place}: {counted(len(annotators), 'annotator')} in {fields.annotator!r}, "
            f"{counted(len(answers), 'label')} in {question!r}: give each annotator a label or an empty text; if the "
            f"field names one annotator, use annotator={'{' + fields.annotator + '}'!r}"
        )
    for who, answer in zip(annotators, answers, strict=True):
        yield Answer(record.place, item, who.as_text("annotator"), question, answer.as_labels())


def _find_said(record: Value, question: str, fields: _Fields, options: ReadOptions) -> Value:
    """Return the answer in a record to a question."""
    if fields.annotators:
        return Value(record.place, {name: record.as_object()[name] for name in fields.annotators})
    if fields.choices:
        cells = [(name, record.as_object()[name]) for name in fields.choices]
        answered = any(cell not in (None, "") for _, cell in cells)
        return Value(record.place, [name for name, cell in cells if cell in _CHOSEN] if answered else None)
    said = record.look_up(question)
    given = unpack(said.given)
    if options.multi_label and isinstance(given, str) and given[:1] == "[" and given[-1:] == "]":
        raise DataError(
            f'{said.whole_place}: {given[:60]!r} looks like a list, but is not valid: write it as JSON, ["a", "b"]'
        )
    return said._replace(given=given)


def _list_of(value: Value, options: ReadOptions) -> list[Value] | None:
    """Return the elements of a list, or the parts between separators; None for anything else."""
    given = unpack(value.given)
    if isinstance(given, str) and options.split and options.split in given:
        given = split_cell(given, options.split)
    return list(value._replace(given=given).elements()) if isinstance(given, list) else None


def _find_fields(document: Document, first: Mapping[str, Any], options: ReadOptions) -> _Fields:
    """Return the fields of a document, or its columns, found by options, by their names or by their contents."""
    found = {"item": options.item, "annotator": options.annotator, "gold": options.gold}
    found["label"] = options.label[0] if options.label else None
    header = header_only(document.name, first)
    for role, named in found.items():
        if named is None:
            column = header.find(role)
            found[role] = header.header[column] if column is not None else next(iter(_matching(header, role)), None)
    if options.gold is None and found["gold"] in options.label:
        found["gold"] = None
    annotators, choices = _find_columns(document, header, found, options)
    is_table = document.kind == "table"
    item, label = found["item"], "label" if annotators or choices else found["label"]
    if item is None or label is None:
        missing = "item" if item is None else "label"
        raise DataError(
            f"{document.name} has no field for the {missing} among {listed(header.header)}: name it with {missing}=..."
            + (", or the columns of annotators with columns=..." if missing == "label" and is_table else "")
        )
    return _Fields(item, found["annotator"], label, found["gold"], annotators, choices)


def _matching(header: TextTable, role: str) -> list[str]:
    """Return the fields whose name is one of a role."""
    return [header.header[column] for column in header.matching(role)] + [
        name for name in _ALSO[role] if name in header.header
    ]


def _find_columns(
    document: Document, header: TextTable, found: Mapping[str, str | None], options: ReadOptions
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of annotators and the columns of labels of a table without a label column."""
    if document.kind != "table" or found["label"] is not None:
        return (), ()
    others = [header.header.index(name) for name in found.values() if name in header.header]
    if found["annotator"] is not None:
        return (), tuple(header.header[at] for at in choose_columns(header, options.columns, others))
    item = header.header.index(found["item"]) if found["item"] in header.header else None
    return tuple(header.header[at] for at in find_annotators(header, options, item, others)), ()


def _explain_nobody(record: Value, fields: _Fields, options: ReadOptions) -> str:
    names = [str(name) for name in record.as_object()]
    used = {fields.item, fields.label, fields.gold, *options.label}
    others = [name for name in names if name not in used]
    example = "{" + "}/{".join(others[:2]) + "}"
    return f"{record.place}: no field names the annotator: name one, or a template over fields, with annotator=..." + (
        f", as in annotator={example!r}; the fields are {listed(names)}" if others else ""
    )


RECORDS = Export(
    name="records",
    form="JSON or JSONL, an object with item, annotator and label for each answer",
    looks_like=looks_like_records,
    read=read_records,
    uses=frozenset({"item", "annotator", "gold", "multi_label", "columns", "no_header"}),
)
