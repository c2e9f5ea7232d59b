"""Argilla: the results of `records.to_list`, `to_dict`, `to_json` and `to_datasets`, and datasets of version 1.

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
from bayesanno.io.exports.answers import Answer, Export, check_predictions, mention_item
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.records import Value
from bayesanno.io.read_options import OF_SPANS, ReadOptions

_RESPONSES, _SUGGESTION = ".responses", ".suggestion"
_OLD, _OLD_SUGGESTION = {"user_id", "value"}, "-suggestion"
_SUBMITTED = "submitted"


def looks_like_argilla(document: Document, _: ReadOptions) -> bool:
    """Return whether the first record has responses, in any of the forms."""
    first = document.first
    return document.kind != "zip" and (_is_nested(first) or any(map(_question_of, first, first.values())))


def read_argilla(document: Document, options: ReadOptions) -> Iterator[Answer]:
    """Yield the responses, and the suggestions where they are asked for."""
    n_answers, n_suggestions, answered, unread = 0, 0, set(), set()
    seen: dict[str, str] = {}
    for number, record in enumerate(document.records(), 1):
        item = _name_item(record, number, options, seen)
        yield from mention_item(record, item, options.gold)
        for response in (_nested if _is_nested(record.as_object()) else _flat)(record):
            n_suggestions += response.is_suggestion
            if response.is_suggestion and not options.predictions:
                continue
            if response.value.has_parts:
                unread.add(response.question)
                continue
            labels = response.value.as_labels()
            answered.add(response.question)
            n_answers += bool(labels)
            yield Answer(response.value.place, item, response.annotator.removesuffix("None"), response.question, labels)
    odd = next((question for question in unread if question in options.label or not answered), None)
    if odd is not None:
        raise DataError(
            f"{document.name}: question {odd!r} asks for spans or ranks, but only labels and ratings can be read; "
            f"{OF_SPANS}"
        )
    check_predictions(document.name, options, n_answers, n_suggestions)


def _is_nested(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("responses"), Mapping) and isinstance(record.get("fields"), Mapping)


def _question_of(field: str, value: Any) -> str | None:
    """Return the question whose responses a field holds; None for other fields."""
    if isinstance(field, str) and field.endswith(_RESPONSES):
        return field.removesuffix(_RESPONSES)
    of_old = value[0] if isinstance(value, list) and value else value
    return field if isinstance(of_old, Mapping) and of_old.keys() >= _OLD else None


def _name_item(record: Value, number: int, options: ReadOptions, seen: dict[str, str]) -> str:
    """Return the id of a record, or its number if it has none, as in the first version."""
    if options.item is not None:
        return record.name_item(options.item)
    given = (record.get(name).as_text() for name in ("id", "external_id", "_server_id"))
    named = Value(record.place, {"id": next(filter(None, given), str(number))})
    return named.name_item("id", seen)


class _Response(NamedTuple):
    value: Value
    annotator: str
    question: str
    is_suggestion: bool = False


def _nested(record: Value) -> Iterator[_Response]:
    for question, responses in record.get("responses").fields():
        yield from _responses(responses, question)
    for question, suggestion in record.get("suggestions").fields():
        yield _suggested(suggestion.get("value"), suggestion.get("agent"), question)


def _flat(record: Value) -> Iterator[_Response]:
    for field, value in record.fields():
        question = _question_of(field, value.given)
        if question is not None:
            yield from _responses(value if question == field else _side_by_side(record, field), question)
        elif field.endswith(_SUGGESTION) and value.given is not None:
            yield _suggested(value, record.get(f"{field}.agent"), field.removesuffix(_SUGGESTION))
        elif field.endswith(_OLD_SUGGESTION) and value.given is not None:
            agent = dict(record.get(f"{field}-metadata").fields()).get("agent", Value(record.place, None))
            yield _suggested(value, agent, field.removesuffix(_OLD_SUGGESTION))


def _side_by_side(record: Value, field: str) -> Value:
    """Return the lists of responses, of their users and, if there are any, of their states."""
    endings = {"value": "", "user_id": ".users", "status": ".status"}
    lists = {name: record.get(field + ending).as_list() for name, ending in endings.items()}
    if not lists["status"]:
        del lists["status"]
    return Value(record.place, lists, field)


def _responses(given: Value, question: str) -> Iterator[_Response]:
    """Yield responses in a list, or in an object of lists; those that are not submitted have no value."""
    if isinstance(given.given, Mapping):
        columns = {name: column.as_list() for name, column in given.fields()}
        if len({len(column) for column in columns.values()}) > 1:
            sizes = ", ".join(f"{len(column)} of {name}" for name, column in columns.items())
            raise DataError(f"{given.whole_place}: the lists differ in length, {sizes}: export the records again")
        rows = zip(*columns.values(), strict=True)
        given = given._replace(given=[dict(zip(columns, row, strict=True)) for row in rows])
    for response in given.elements():
        submitted = response.get("status").as_text() in ("", _SUBMITTED)
        value = Value(response.place, response.as_object().get("value") if submitted else None)
        yield _Response(value, response.get("user_id").as_text(), question)


def _suggested(value: Value, agent: Value, question: str) -> _Response:
    return _Response(value, agent.as_text("agent") or "suggestion", question, is_suggestion=True)


ARGILLA = Export(
    name="argilla",
    annotator="user_id, which an export with users has",
    form="records with <question>.responses, or with responses and fields",
    looks_like=looks_like_argilla,
    read=read_argilla,
    uses=frozenset({"item", "gold", "predictions", "multi_label"}),
)
