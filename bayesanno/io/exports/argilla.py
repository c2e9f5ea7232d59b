"""Argilla: the results of `records.to_list`, `to_dict`, `to_json` and `to_datasets`, and datasets of version 1.

Nested, responses are `responses: {question: [{value, user_id}]}`. Flat, the responses of a question are lists side by
side: `<question>.responses`, `.responses.users` and `.responses.status`; and in the first version
`<question>: [{user_id, value, status}]`, or one object of three lists. These become nested ones. Submitted responses
count. Suggestions are answers of their agent, when they are asked for.
Format: https://docs.argilla.io/latest/reference/argilla/records/records
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayesanno._core.errors import DataError
from bayesanno._core.wording import option
from bayesanno.io.exports.answers import Export
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.value import Value
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.text_table import header_only

_RESPONSES, _SUGGESTION = ".responses", ".suggestion"
_OLD, _OLD_SUGGESTION = {"user_id", "value"}, "-suggestion"
_SUBMITTED = ("", "submitted")
_STATUSES = (*_SUBMITTED, "draft", "discarded", "pending")


def looks_like_argilla(document: Document, options: ReadOptions) -> bool:
    """Return whether the first record has responses, in any of the forms, and options name no paths of other records.

    A record of the first version with an annotator and a label of its own is not from Argilla, unless that is said.
    """
    first, has_paths = document.first, options.annotator is not None or "[]" in "".join(options.label)
    beside = header_only("", (name for name, value in first.items() if _question_of(name, value) is None))
    is_new = _is_nested(first) or any(str(name).endswith(_RESPONSES) for name in first)
    has_own = not is_new and bool(beside.matching("annotator") and beside.matching("label"))
    is_other = document.kind == "zip" or (options.format != "argilla" and (has_own or has_paths))
    return not is_other and (is_new or len(beside.header) < len(first))


def read_argilla(document: Document, _: ReadOptions) -> Iterator[Value]:
    """Yield nested records, with the id, or the number of a record that has none, as in the first version."""
    for number, record in enumerate(document.records(), 1):
        given = record.as_object()
        ids = (record.get(name).as_text() for name in ("id", "external_id", "_server_id"))
        name = next(filter(None, ids), str(number))
        if _is_nested(given):
            responses, suggested = dict(record.get("responses").fields()), dict(record.get("suggestions").fields())
        else:
            responses, suggested = _nest(record)
        submitted = {question: list(_submitted(each)) for question, each in responses.items()}
        suggestions = {
            question: {**each.as_object(), "agent": each.get("agent").as_text() or "suggestion"}
            for question, each in suggested.items()
        }
        yield record.put({**given, "id": name, "responses": submitted, "suggestions": suggestions})


def _is_nested(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("responses"), Mapping) and isinstance(record.get("fields"), Mapping)


def _question_of(field: str, value: Any) -> str | None:
    """Return the question whose responses a field holds; None for other fields."""
    if isinstance(field, str) and field.endswith(_RESPONSES):
        return field.removesuffix(_RESPONSES)
    of_old = value[0] if isinstance(value, list) and value else value
    return field if isinstance(of_old, Mapping) and of_old.keys() >= _OLD else None


def _nest(record: Value) -> tuple[dict[str, Value], dict[str, Value]]:
    """Return the responses and the suggestion to each question of a flat record."""
    responses, suggestions = {}, {}
    for field, value in record.fields():
        question = _question_of(field, value.given)
        if question == field:
            responses[question] = value
        elif question is not None:
            columns = {"value": value, "user_id": record.get(f"{field}.users"), "status": record.get(f"{field}.status")}
            lists = {name: column.as_list() for name, column in columns.items() if name != "status" or column.given}
            responses[question] = value.put(lists)
        for ending, agent in ((_SUGGESTION, ".agent"), (_OLD_SUGGESTION, "-metadata")):
            if field.endswith(ending) and value.given is not None:
                by = record.get(field + agent)
                by = by if agent == ".agent" or by.given is None else by.get("agent")
                suggestions[field.removesuffix(ending)] = record.put({"value": value, "agent": by})
    return responses, suggestions


def _submitted(given: Value) -> Iterator[Value]:
    """Yield responses in a list, or in an object of lists; those that are not submitted have no value."""
    if isinstance(given.given, Mapping):
        columns = {name: column.as_list() for name, column in given.fields()}
        if len({len(column) for column in columns.values()}) > 1:
            sizes = ", ".join(f"{len(column)} of {name}" for name, column in columns.items())
            raise DataError(f"{given.whole_place}: the lists differ in length, {sizes}: export the records again")
        rows = zip(*columns.values(), strict=True)
        given = given.put([dict(zip(columns, row, strict=True)) for row in rows])
    for _, response in given.elements():
        user = response.get("user_id").as_text()
        status = response.get("status").as_text()
        if status not in _STATUSES:
            paths = f"{option('annotator', given.name + '[].user_id')} and {option('label', given.name + '[].value')}"
            raise DataError(f"{response.whole_place}: status {status!r} is none of Argilla: if so, use {paths}")
        said = response.get("value").given if status in _SUBMITTED else None
        yield response.put({"value": Value(response, said), "user_id": user if user != "None" else ""})


ARGILLA = Export(
    name="argilla",
    form="records with <question>.responses, or with responses and fields",
    looks_like=looks_like_argilla,
    paths={
        "item": "id",
        "annotator": "responses{}[].user_id",
        "question": "responses{}#",
        "label": "responses{}[].value",
    },
    predictions={"annotator": "suggestions{}.agent", "question": "suggestions{}#", "label": "suggestions{}.value"},
    records=read_argilla,
    uses=frozenset({"item", "gold", "predictions", "multi_label"}),
    is_unique=True,
    annotator="user_id, which an export with users has",
)
