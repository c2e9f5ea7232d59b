"""Amazon Mechanical Turk: the CSV of a batch, a row for each assignment.

The item is the HIT, the annotator the worker, and each `Answer.*` a question; newer templates have all answers of an
assignment as JSON in `Answer.taskAnswers`. Check boxes are columns of true and false, `Answer.<question>.<label>`.
Format: https://docs.aws.amazon.com/AWSMechTurk/latest/AWSMechanicalTurkRequester/RetrievingResults.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayesanno.io.exports.answers import OF_TABLES, SAID, Export, has_columns, with_answers
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.value import Value
from bayesanno.io.read_options import ReadOptions

_ANSWER, _TASK_ANSWERS = "Answer.", "Answer.taskAnswers"
_CHECKED = ("true", "false", "", None, True, False)


def read_batch(document: Document, _: ReadOptions) -> Iterator[Value]:
    """Yield each assignment with its answers: cells, values of JSON, and check boxes."""
    boxes = _find_boxes(document)
    for row in document.records():
        said: dict[str, Any] = {}
        for column, cell in row.fields():
            question = column.removeprefix(_ANSWER)
            if column == _TASK_ANSWERS:
                whole = cell.opened().given  # a list of one
                for part in whole if isinstance(whole, list) else [whole or {}]:
                    said |= row.put(part).as_object()  # null is refused
            elif column in boxes:
                group, label = question.rsplit(".", 1)
                said.setdefault(group, {})[label] = cell.given in ("true", True)
            elif column.startswith(_ANSWER):
                said[question] = cell.given
        labels = {name: Value(row, _labels_in(answer), name) for name, answer in said.items()}
        yield with_answers(row, [{"question": name, "label": label} for name, label in labels.items()])


def _find_boxes(document: Document) -> frozenset[str]:
    """Return the columns of check boxes: `Answer.<question>.<label>`, with nothing but true and false in them."""
    maybe = {name for name in document.first if name.startswith(_ANSWER) and "." in name.removeprefix(_ANSWER)}
    used = set()
    for row in document.records() if maybe else ():
        maybe = {name for name in maybe if row.given[name] in _CHECKED}
        used |= {name for name in maybe if row.given[name] not in ("", None)}
    return frozenset(maybe & used)


def _labels_in(given: Any) -> Any:
    """Return the label or labels in an object: its true fields, or its field "label"; anything else as it is."""
    if isinstance(given, Mapping) and given.keys() <= {"label", "labels"}:
        return given.get("label", given.get("labels"))
    if isinstance(given, Mapping) and all(isinstance(each, bool) for each in given.values()):
        return [name for name, checked in given.items() if checked]
    return given


MTURK = Export(
    name="mturk",
    form="a table with columns HITId, WorkerId and Answer.*",
    looks_like=has_columns("HITId", "WorkerId", prefix=_ANSWER),
    paths={"item": "HITId", "annotator": "WorkerId", "review": "AssignmentStatus", **SAID},
    records=read_batch,
    uses=OF_TABLES | {"drop_rejected"},
    prefix=_ANSWER,
)
