"""Label Studio: its JSON, a list of tasks with their annotations, and its JSON_MIN and CSV, a row for each annotation.

Of a task, each annotation is the answers of one annotator, one to each question (`from_name`). A cancelled one is
missing; one that is marked as ground truth is an answer, and gold. Predictions are answers of their model, when they
are asked for. Formats: https://labelstud.io/guide/task_format and https://labelstud.io/guide/export
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayesanno._core.errors import DataError, ExportWarning, warn
from bayesanno._core.wording import listed, option
from bayesanno.io.cells import parse_cell
from bayesanno.io.exports.answers import GOLD, SAID, Export, with_answers
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.value import Value
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
    lists = [first[name] for name in ("annotations", "completions", "predictions") if isinstance(first.get(name), list)]
    are_own = all(not isinstance(each, Mapping) or "result" in each for several in lists for each in several)
    of_tasks = bool(lists) and are_own and isinstance(first.get("data"), Mapping)
    return document.kind != "zip" and (_is_minimal(first) or of_tasks)


def _is_minimal(first: Mapping[str, Any]) -> bool:
    return all(name in first for name in _MINIMAL) and "annotations" not in first


def read_tasks(document: Document, options: ReadOptions) -> Iterator[Value]:
    """Yield each task, or each row, with its answers and predictions."""
    if _is_minimal(document.first):
        yield from _read_minimal(document, options)
        return
    for record in document.records():
        name = record.get("id").as_text()
        task = Value(f"{document.name}, task {name}", record.given) if name else record
        annotations = task.get("annotations" if task.get("annotations").given is not None else "completions")
        said = [answer for _, each in annotations.elements() for answer in _read_annotation(each, options)]
        predictions = list(task.get("predictions").elements())
        predicted = [answer for _, each in predictions for answer in _read_prediction(each, options)]
        yield with_answers(record, said, predicted=predicted)


def _read_annotation(annotation: Value, options: ReadOptions) -> Iterator[Value]:
    cancelled = any(annotation.get(name).as_flag() for name in ("was_cancelled", "skipped"))
    more = {"by": _name_annotator(annotation), "known": GOLD if annotation.get("ground_truth").as_flag() else ""}
    is_answered = False
    for result, question, said in () if cancelled else _read_result(annotation, options):
        is_answered |= said is not None and not said.has_parts
        yield result.put({**more, "question": question, "label": said})
    if not is_answered:
        yield annotation.put({**more, "label": None if cancelled else []})


def _read_prediction(prediction: Value, options: ReadOptions) -> Iterator[Value]:
    if not isinstance(prediction.given, int):
        by = prediction.get("model_version").as_text() or "prediction"
        for result, question, said in _read_result(prediction, options):
            yield result.put({"by": by, "question": question, "label": said})
    elif options.predictions:
        raise DataError(
            f"{prediction.place}: this is the id of a prediction, not the prediction itself: export a snapshot of the "
            'project with {"predictions": {"only_id": false}}'
        )


def _read_result(annotation: Value, options: ReadOptions) -> Iterator[tuple[Value, str, Value | None]]:
    """Yield each result with its question and the answer; one about a region is a list of what was marked."""
    seen = set()
    for _, result in annotation.get("result").elements():
        question, kind = (result.get(name).as_text() for name in ("from_name", "type"))
        value = result.get("value")
        value = value if value.given else value.put({})
        said: Value | None = None
        if not _OF_REGION.isdisjoint(value.as_object()) or kind not in _ANSWER_IN:
            said = value.put([{**value.as_object(), kind: None}])
        elif not options.label or question in options.label:
            if question in seen:
                raise DataError(
                    f"{result.place}: one annotation answers {question!r} twice, like a question about regions, but "
                    f"only answers about the whole task can be read: choose another question with {option('label')}"
                )
            seen.add(question)
            if _ANSWER_IN[kind] not in value.as_object():
                raise DataError(f"{value.whole_place}: the answer is missing: it should be in {_ANSWER_IN[kind]!r}")
            said = Value(value, _plain_value(value.given))
        if question:
            yield result, question, said


def _plain_value(value: Any) -> Any:
    """Return an answer without its wrapping; None if it is not about the whole task."""
    (value,) = value if isinstance(value, list) and len(value) == 1 else (value,)
    if not isinstance(value, Mapping):
        return None if isinstance(value, list) else value
    key = next((key for key in _ANSWER_IN.values() if key in value), None)
    if key is None or not _OF_REGION.isdisjoint(value):
        return None
    inner = value[key]
    if key != "taxonomy" or not isinstance(inner, list):
        return inner
    return ["/".join(map(str, path)) if isinstance(path, list) else path for path in inner]


def _name_annotator(annotation: Value) -> str:
    """Return the annotator: an email address if there is one, else a number."""
    given = annotation.get("completed_by" if "completed_by" in annotation.as_object() else "created_username")
    if isinstance(given.given, Mapping):
        named = (given.get(name) for name in ("email", "username", "id"))
        given = next((each for each in named if each.given is not None), given.put(None))
    return given.as_text("completed_by")


def _read_minimal(document: Document, options: ReadOptions) -> Iterator[Value]:
    """Yield the rows of JSON_MIN and CSV; in JSON_MIN the questions are between the task's id and the annotator."""
    form = "CSV" if document.kind == "table" else "JSON_MIN"
    if form == "CSV" and not options.label:
        raise DataError(
            f"{document.name}: CSV of Label Studio does not mark the columns of questions: name one of "
            f"{listed(list(document.first))} with {option('label')}, or export JSON"
        )
    warn(
        f"{document.name}: {form} of Label Studio leaves out skipped tasks, ground truth and predictions: export JSON "
        "to include them",
        ExportWarning,
    )
    for row in document.records():
        names = list(row.as_object())
        begin = names.index("id") + 1 if "id" in names else 0
        end = names.index("annotator") if "annotator" in names else None
        cells = [row.get(question) for question in (names if form == "CSV" else names[begin:end])]
        said = [cell.put(_plain_value(parse_cell(cell.given) if form == "CSV" else cell.given)) for cell in cells]
        kept = [answer for answer in said if answer.given not in (None, "") or options.label]
        by = row.get("annotator")
        yield with_answers(row, [{"question": answer.name, "label": answer, "by": by} for answer in kept])


LABEL_STUDIO = Export(
    name="label-studio",
    form="JSON, tasks with data and annotations; JSON_MIN",
    looks_like=looks_like_label_studio,
    paths={"item": "id", "part": "annotation_id", "annotator": "said[].by", **SAID},
    predictions={
        "annotator": "predicted[].by",
        "question": "predicted[].question",
        "label": "predicted[].label",
        "known": "known",
    },
    records=read_tasks,
    uses=frozenset({"item", "gold", "predictions", "multi_label"}),
    is_unique=True,
    annotator="completed_by, or mark it as ground truth",
)
