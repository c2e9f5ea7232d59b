"""Argilla: what `records.to_list`, `to_dict`, `to_json` and `to_datasets` give, and the datasets of its first version.

Flat, the responses of a question are lists side by side: `<question>.responses`, `.responses.users` and
`.responses.status`. Nested, they are `responses: {question: [{value, user_id}]}`, and in the first version
`<question>: [{user_id, value, status}]`, or one object of three lists. Submitted responses count. Suggestions are
answers of their agent, when they are asked for.
Format: https://docs.argilla.io/latest/reference/argilla/records/records
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bayesanno.ground.errors import DataError
from bayesanno.io.exports.answers import Answer, known_true
from bayesanno.io.exports.document import Document, Record
from bayesanno.io.exports.export import Export
from bayesanno.io.exports.records import as_labels, as_list, as_object, as_text, fill_in, kind_of

if TYPE_CHECKING:
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
    n_suggestions = 0
    for number, (place, value) in enumerate(records_of(document), 1):
        record = as_object(value, place)
        item = _name_item(record, number, options, place)
        yield Answer(place, item, "", "", None)
        yield from known_true(record, item, place, options.gold)
        responses, suggestions = (_nested if _is_nested(record) else _flat)(record, item, place)
        yield from responses
        for suggestion in suggestions if options.predictions else ():
            n_suggestions += 1
            yield suggestion
    if options.predictions and not n_suggestions:
        raise DataError(f"{document.name}: there are no suggestions in it: leave out --predictions (predictions=True)")


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
        if len(set(lengths.values())) > 1:
            raise DataError(
                f"{document.name}: {shortest!r} is shorter than other lists: each has a value for every record"
            )
        for row in range(lengths[shortest]):
            yield Record(f"{document.name}, [{row}]", {name: value[row] for name, value in columns.items()})
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


def _nested(record: Mapping[str, Any], item: str, place: str) -> tuple[Iterator[Answer], Iterator[Answer]]:
    """Return the responses and the suggestions of a nested record."""
    responses = as_object(record["responses"], f"{place}.responses")
    suggestions = as_object(record.get("suggestions") or {}, f"{place}.suggestions")

    def suggested() -> Iterator[Answer]:
        for question, suggestion in suggestions.items():
            here = f"{place}.suggestions.{question}"
            given = as_object(suggestion, here)
            yield _suggested(given.get("value"), given.get("agent"), item, question, here)

    answers = (
        answer
        for question, given in responses.items()
        for answer in _read_responses(given, item, question, f"{place}.responses.{question}")
    )
    return answers, suggested()


def _flat(record: Mapping[str, Any], item: str, place: str) -> tuple[Iterator[Answer], Iterator[Answer]]:
    """Return the responses and the suggestions of a flat record."""
    return _flat_responses(record, item, place), _flat_suggestions(record, item, place)


def _flat_responses(record: Mapping[str, Any], item: str, place: str) -> Iterator[Answer]:
    for field, value in record.items():
        here = f"{place}.{field}"
        question = _question_of(field, value)
        if question is not None and question != field:
            values, users, statuses = (
                as_list(record.get(f"{field}{ending}"), f"{field}{ending}", place)
                for ending in ("", ".users", ".status")
            )
            if len(users) != len(values) or (statuses and len(statuses) != len(values)):
                raise DataError(f"{here}: {len(values)} responses have {len(users)} users: export it again")
            rows = zip(values, users, statuses or [None] * len(values), strict=True)
            responses = [{"value": value, "user_id": user, "status": status} for value, user, status in rows]
            yield from _read_responses(responses, item, question, here)
        elif question is not None:
            yield from _read_responses(value, item, question, here)


def _flat_suggestions(record: Mapping[str, Any], item: str, place: str) -> Iterator[Answer]:
    for field, value in record.items():
        here = f"{place}.{field}"
        if field.endswith(_SUGGESTION) and value is not None:
            yield _suggested(value, record.get(f"{field}.agent"), item, field.removesuffix(_SUGGESTION), here)
        elif field.endswith(_OLD_SUGGESTION) and value is not None:
            about = record.get(f"{field}-metadata") or {}
            agent = as_object(about, f"{here}-metadata").get("agent")
            yield _suggested(value, agent, item, field.removesuffix(_OLD_SUGGESTION), here)


def _read_responses(value: Any, item: str, question: str, place: str) -> Iterator[Answer]:
    """Yield responses in a list, or in an object of lists, as the datasets of Hugging Face may have them."""
    if isinstance(value, Mapping):
        names = list(value)
        columns = [as_list(value[name], name, place) for name in names]
        if len(set(map(len, columns))) > 1:
            raise DataError(f"{place}: the lists {', '.join(names)} are of unequal length: export it again")
        value = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    for number, each in enumerate(as_list(value, "responses", place)):
        here = f"{place}[{number}]"
        response = as_object(each, here)
        status = as_text(response.get("status"), "status", here) or _SUBMITTED
        annotator = as_text(response.get("user_id"), "user_id", here)
        labels = _labels_of(response.get("value"), here) if status == _SUBMITTED else None
        if labels is not None and annotator in ("", "None"):
            raise DataError(f"{here}: this response has no user_id, so that nobody gave it: export it with its users")
        yield Answer(here, item, annotator, question, labels)


def _suggested(value: Any, agent: Any, item: str, question: str, place: str) -> Answer:
    name = as_text(agent, "agent", place) or "suggestion"
    return Answer(place, item, name, question, _labels_of(value, place))


def _labels_of(value: Any, place: str) -> tuple[str, ...] | None:
    if isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        raise DataError(f"{place}: this is {kind_of(value)} of spans or ranks: only labels and ratings are read; choose "
                        "another question with --label")  # fmt: skip
    return as_labels(value, place)


ARGILLA = Export(
    name="argilla",
    form="records of Argilla (<question>.responses, or responses and fields)",
    looks_like=looks_like_argilla,
    read=read_argilla,
    uses=frozenset({"item", "gold", "predictions", "multi_label"}),
)
