"""Argilla: what `records.to_list`, `to_dict`, `to_json` and `to_datasets` give, and the datasets of its first version.

Flat, the responses of a question are lists side by side: `<question>.responses`, `.responses.users` and
`.responses.status`. Nested, they are `responses: {question: [{value, user_id}]}`, and in the first version
`<question>: [{user_id, value, status}]`, or one object of three lists. Submitted responses count. Suggestions are
answers of their agent, when they are asked for.
Format: https://docs.argilla.io/latest/reference/argilla/records/records
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import counted
from bayesanno.io.exports.answers import Answer, known_true
from bayesanno.io.exports.document import Document, Record
from bayesanno.io.exports.export import Export
from bayesanno.io.exports.records import as_labels, as_list, as_object, as_text, check_new, fill_in
from bayesanno.io.read_options import ReadOptions

_RESPONSES, _SUGGESTION = ".responses", ".suggestion"
_OLD, _OLD_SUGGESTION = {"user_id", "value"}, "-suggestion"
_SUBMITTED = "submitted"


def looks_like_argilla(document: Document, _: ReadOptions) -> bool:
    """Return whether the first record has responses, in any of the forms."""
    if document.kind == "zip":
        return False
    try:
        first = next(records_of(document), Record("", None)).value
    except DataError:
        return False
    return isinstance(first, Mapping) and (_is_nested(first) or any(map(_question_of, first, first.values())))


def read_argilla(document: Document, options: ReadOptions) -> Iterator[Answer]:
    """Yield the responses, and the suggestions where they are asked for."""
    n_answers, n_suggestions, answered, unread = 0, 0, set(), set()
    seen: dict[str, str] = {}
    for number, (place, value) in enumerate(records_of(document), 1):
        record = as_object(value, place)
        item = _name_item(record, number, options, place)
        if options.item is None:
            check_new(item, seen, place)
        yield Answer(place, item, "", "", None)
        yield from known_true(record, item, place, options.gold)
        for said in (_nested if _is_nested(record) else _flat)(record, place):
            n_suggestions += said.is_suggestion
            if said.is_suggestion and not options.predictions:
                continue
            if _is_of_parts(said.value):
                unread.add(said.question)
                continue
            labels = as_labels(said.value, said.place)
            if labels is not None and said.annotator in ("", "None"):
                raise DataError(f"{said.place}: it has no user_id, so that nobody gave it: export it with its users")
            answered.add(said.question)
            n_answers += bool(labels)
            yield Answer(said.place, item, said.annotator, said.question, labels)
    odd = next((question for question in unread if question in options.label or not answered), None)
    if odd is not None:
        raise DataError(f"{document.name}: question {odd!r} asks for spans or ranks: only labels and ratings are read")
    if n_suggestions and not n_answers and not options.predictions:
        raise DataError(
            f"{document.name}: there is no submitted response in it, but {counted(n_suggestions, 'suggestion')}: read "
            "them with --predictions"
        )
    if options.predictions and not n_suggestions:
        raise DataError(f"{document.name}: there are no suggestions in it: leave out --predictions (predictions=True)")


def _is_of_parts(value: Any) -> bool:
    """Return whether an answer marks spans or ranks."""
    return isinstance(value, list) and any(isinstance(each, Mapping) for each in value)


def records_of(document: Document) -> Iterator[Record]:
    """Yield the records: of one object, of lists by column or of records by their ids."""
    if document.kind != "object":
        yield from document.records()
        return
    whole = document.first
    columns = {name: value for name, value in whole.items() if isinstance(value, list)}
    if columns and len(columns) == len(whole):
        lengths = {name: len(value) for name, value in columns.items()}
        shortest = min(lengths, key=lengths.__getitem__)
        for row in range(lengths[shortest]):
            yield Record(f"{document.name}, [{row}]", {name: value[row] for name, value in columns.items()})
        if len(set(lengths.values())) > 1:
            raise DataError(
                f"{document.name}: {shortest!r} is shorter than other lists: each has a value for every record"
            )
    elif whole and all(isinstance(value, Mapping) for value in whole.values()) and "responses" not in whole:
        for name, value in whole.items():
            yield Record(f"{document.name}, [{name!r}]", {"id": name, **value})
    else:
        yield from document.records()


def _is_nested(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("responses"), Mapping) and isinstance(record.get("fields"), Mapping)


def _question_of(field: str, value: Any) -> str | None:
    """Return the question whose responses a field holds, if it is one of these."""
    if isinstance(field, str) and field.endswith(_RESPONSES):
        return field.removesuffix(_RESPONSES)
    of_old = value[0] if isinstance(value, list) and value else value
    return field if isinstance(of_old, Mapping) and of_old.keys() >= _OLD else None


def _name_item(record: Mapping[str, Any], number: int, options: ReadOptions, place: str) -> str:
    """Return the id of a record, its own or that of the server; in the first version, where it has none, its number."""
    if options.item is not None:
        item = fill_in(options.item, record, "item", place)
        if not item:
            raise DataError(f"{place}: field {options.item!r} of the item is empty: fill it in")
        return item
    given = (as_text(record.get(name), name, place) for name in ("id", "external_id", "_server_id"))
    return next(filter(None, given), str(number))


class _Said(NamedTuple):
    place: str
    annotator: str
    question: str
    value: Any
    is_suggestion: bool = False


def _nested(record: Mapping[str, Any], place: str) -> Iterator[_Said]:
    for question, responses in as_object(record["responses"], f"{place}.responses").items():
        yield from _responses(responses, question, f"{place}.responses.{question}")
    for question, suggestion in as_object(record.get("suggestions") or {}, f"{place}.suggestions").items():
        here = f"{place}.suggestions.{question}"
        given = as_object(suggestion, here)
        yield _suggested(given.get("value"), given.get("agent"), question, here)


def _flat(record: Mapping[str, Any], place: str) -> Iterator[_Said]:
    for field, value in record.items():
        here = f"{place}.{field}"
        question = _question_of(field, value)
        if question is not None and question != field:
            yield from _responses(_side_by_side(record, field, place), question, here)
        elif question is not None:
            yield from _responses(value, question, here)
        elif field.endswith(_SUGGESTION) and value is not None:
            yield _suggested(value, record.get(f"{field}.agent"), field.removesuffix(_SUGGESTION), here)
        elif field.endswith(_OLD_SUGGESTION) and value is not None:
            about = as_object(record.get(f"{field}-metadata") or {}, f"{here}-metadata")
            yield _suggested(value, about.get("agent"), field.removesuffix(_OLD_SUGGESTION), here)


def _side_by_side(record: Mapping[str, Any], field: str, place: str) -> dict[str, list[Any]]:
    """Return the lists of responses, of their users and, where they are there, of their states."""
    endings = {"value": "", "user_id": ".users", "status": ".status"}
    lists = {name: as_list(record.get(field + ending), field + ending, place) for name, ending in endings.items()}
    if not lists["status"]:
        del lists["status"]
    return lists


def _responses(value: Any, question: str, place: str) -> Iterator[_Said]:
    """Yield responses in a list, or in an object of lists; those that are not submitted have no value."""
    if isinstance(value, Mapping):
        columns = {name: as_list(each, name, place) for name, each in value.items()}
        if len({len(column) for column in columns.values()}) > 1:
            sizes = ", ".join(f"{len(column)} of {name}" for name, column in columns.items())
            raise DataError(f"{place}: the lists are of unequal length, {sizes}: export it again")
        value = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for number, each in enumerate(as_list(value, "responses", place)):
        here = f"{place}[{number}]"
        response = as_object(each, here)
        submitted = as_text(response.get("status"), "status", here) in ("", _SUBMITTED)
        annotator = as_text(response.get("user_id"), "user_id", here)
        yield _Said(here, annotator, question, response.get("value") if submitted else None)


def _suggested(value: Any, agent: Any, question: str, place: str) -> _Said:
    return _Said(place, as_text(agent, "agent", place) or "suggestion", question, value, is_suggestion=True)


ARGILLA = Export(
    name="argilla",
    form="records with <question>.responses, or with responses and fields",
    looks_like=looks_like_argilla,
    read=read_argilla,
    uses=frozenset({"item", "gold", "predictions", "multi_label"}),
)
