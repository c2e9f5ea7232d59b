"""Label Studio: its JSON, a list of tasks with their annotations, and its JSON_MIN and CSV, a row for each annotation.

Of a task, each annotation is the answers of one annotator, one to each question (`from_name`). A cancelled one is
missing; one that is marked as ground truth is an answer, and gold. Predictions are answers of their model, when they
are asked for. Formats: https://labelstud.io/guide/task_format and https://labelstud.io/guide/export
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from bayesanno.ground.errors import DataError, ExportWarning, warn
from bayesanno.ground.wording import listed
from bayesanno.io.cells import unpack
from bayesanno.io.exports.answers import GOLD, Answer, Export, check_predictions, mention_item, read_rows
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.records import Value
from bayesanno.io.read_options import ReadOptions

# the types of questions about whole tasks, and the field of their value with the answer
_ANSWER_IN = {
    "choices": "choices", "rating": "rating", "taxonomy": "taxonomy", "pairwise": "selected", "number": "number"
}  # fmt: skip
_OF_REGION = frozenset({"start", "end", "x", "y", "points", "rle", "sequence"})  # fields of an answer about a region
_MINIMAL = ("annotator", "annotation_id", "lead_time")


def looks_like_label_studio(document: Document, _: ReadOptions) -> bool:
    """Return whether the first record is a task with annotations, or a row of JSON_MIN or CSV."""
    first = document.first
    annotated = any(isinstance(first.get(name), list) for name in ("annotations", "completions", "predictions"))
    of_tasks = annotated and isinstance(first.get("data"), Mapping)
    return document.kind != "zip" and (_is_minimal(first) or of_tasks)


def read_label_studio(document: Document, options: ReadOptions) -> Iterator[Answer]:
    """Yield the answers of all tasks."""
    if _is_minimal(document.first):
        yield from _read_minimal(document, options)
        return
    other_kinds: dict[str, str] = {}
    seen: dict[str, str] = {}
    n_answers = n_predictions = 0
    for record in document.records():
        item = record.name_item(options.item or "id", seen if options.item is None else None)
        has_id = "id" in record.as_object()
        task = record._replace(place=f"{document.name}, task {record.get('id').as_text()}") if has_id else record
        yield from mention_item(task, item, options.gold)
        predictions = list(task.get("predictions").elements())
        n_predictions += len(predictions)
        said = [_read_annotations(task, item, options, other_kinds)]
        said += [_read_prediction(each, item, options, other_kinds) for each in predictions if options.predictions]
        for answer in chain.from_iterable(said):
            n_answers += bool(answer.labels)
            yield answer
    if not n_answers and not options.label and other_kinds:
        kinds = listed([f"{question} ({kind})" for question, kind in other_kinds.items()])
        raise DataError(f"{document.name} has only questions of other types than {', '.join(_ANSWER_IN)}: {kinds}")
    check_predictions(document.name, options, n_answers or len(options.label), n_predictions)


def _read_annotations(task: Value, item: str, options: ReadOptions, other_kinds: dict[str, str]) -> Iterator[Answer]:
    annotations = task.get("annotations")
    if annotations.given is None:
        annotations = task.get("completions")
    for annotation in annotations.elements():
        annotator, here = _name_annotator(annotation), annotation.place
        is_gold = annotation.get("ground_truth").as_flag()
        cancelled = any(annotation.get(name).as_flag() for name in ("was_cancelled", "skipped"))
        answers = [] if cancelled else list(_read_result(annotation, item, annotator, options, other_kinds))
        if annotator and not any(answer.labels is not None for answer in answers):
            yield Answer(here, item, annotator, "", None if cancelled else ())
        for answer in answers:
            yield answer._replace(known=GOLD if is_gold else "")


def _read_prediction(
    prediction: Value, item: str, options: ReadOptions, other_kinds: dict[str, str]
) -> Iterator[Answer]:
    if isinstance(prediction.given, int):
        raise DataError(
            f"{prediction.place}: this is the id of a prediction, not the prediction itself: export a snapshot of the "
            'project with {"predictions": {"only_id": false}}'
        )
    model = prediction.get("model_version").as_text() or "prediction"
    yield from _read_result(prediction, item, model, options, other_kinds)


def _read_result(
    annotation: Value, item: str, annotator: str, options: ReadOptions, other_kinds: dict[str, str]
) -> Iterator[Answer]:
    """Yield the answers about the whole task, and collect the types of other questions in `other_kinds`."""
    seen = set()
    for result in annotation.get("result").elements():
        question, kind = (result.get(name).as_text() for name in ("from_name", "type"))
        value, here = result.get("value"), result.place
        if not value.given:
            value = value._replace(given={})
        of_region = not _OF_REGION.isdisjoint(value.as_object())
        if of_region and question in options.label:
            raise DataError(f"{here}: {question!r} is about a region: only answers about the whole task can be read")
        if of_region or kind not in _ANSWER_IN or not question:
            if question:
                other_kinds[question] = f"{kind} of regions" if of_region else kind
            continue
        if options.label and question not in options.label:
            yield Answer(here, item, annotator, question, None)  # a message can then list the question
            continue
        if question in seen:
            raise DataError(
                f"{here}: one annotation answers {question!r} twice, like a question about regions, but only answers "
                "about the whole task can be read: choose another question with label=..."
            )
        seen.add(question)
        if _ANSWER_IN[kind] not in value.as_object():
            raise DataError(f"{value.whole_place}: the answer is missing: it should be in {_ANSWER_IN[kind]!r}")
        said = value.get(_ANSWER_IN[kind])
        if kind == "taxonomy":
            paths = ([name.as_text() for name in path.elements()] for path in said.elements())
            said = said._replace(given=["/".join(path) for path in paths])
        yield Answer(here, item, annotator, question, said._replace(name="").as_labels())


def _name_annotator(annotation: Value) -> str:
    """Return the annotator: an email address if there is one, else a number."""
    given = annotation.get("completed_by" if "completed_by" in annotation.as_object() else "created_username")
    if isinstance(given.given, Mapping):
        named = (given.get(name) for name in ("email", "username", "id"))
        given = next((each for each in named if each.given is not None), given._replace(given=None))
    return given.as_text("completed_by")


def _is_minimal(first: Mapping[str, Any]) -> bool:
    return all(name in first for name in _MINIMAL) and "annotations" not in first


def _read_minimal(document: Document, options: ReadOptions) -> Iterator[Answer]:
    """Yield the answers of JSON_MIN and CSV; in JSON_MIN the questions are between the task's id and the annotator."""
    form = "CSV" if document.kind == "table" else "JSON_MIN"
    if options.predictions:
        raise DataError(f"{document.name} is {form} without predictions: export JSON, or leave out predictions=True")
    if form == "CSV" and not options.label:
        raise DataError(
            f"{document.name}: CSV of Label Studio does not mark the columns of questions: name one of "
            f"{listed(list(document.first))} with label=..., or export JSON"
        )
    warn(
        f"{document.name}: {form} of Label Studio leaves out skipped tasks, ground truth and predictions: export JSON "
        "to include them",
        ExportWarning,
    )

    def questions(row: Value) -> Iterator[tuple[str, Value, str]]:
        names = list(row.as_object())
        begin = names.index("id") + 1 if "id" in names else 0
        end = names.index("annotator") if "annotator" in names else None
        for question in names if form == "CSV" else names[begin:end]:
            cell = row.get(question)
            value = _plain_value(unpack(cell.given) if form == "CSV" else cell.given)
            if value not in (None, "") or options.label:
                yield question, cell._replace(given=value), ""

    yield from read_rows(document, options, "id", "annotator", questions)


def _plain_value(value: Any) -> Any:
    """Return an answer without its wrapping in JSON_MIN; None if it is not about the whole task."""
    (value,) = value if isinstance(value, list) and len(value) == 1 else (value,)
    if not isinstance(value, Mapping):
        return None if isinstance(value, list) else value
    key = next((key for key in _ANSWER_IN.values() if key in value), None)
    if key is None or not _OF_REGION.isdisjoint(value):
        return None
    inner = value[key]
    return ["/".join(map(str, path)) for path in inner] if key == "taxonomy" and isinstance(inner, list) else inner


LABEL_STUDIO = Export(
    name="label-studio",
    annotator="completed_by, or mark it as ground truth",
    form="JSON, tasks with data and annotations; JSON_MIN",
    looks_like=looks_like_label_studio,
    read=read_label_studio,
    uses=frozenset({"item", "gold", "predictions", "multi_label"}),
)
