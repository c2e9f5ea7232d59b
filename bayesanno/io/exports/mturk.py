"""Amazon Mechanical Turk: the CSV of a batch, a row for each assignment.

The item is the HIT, the annotator the worker, and each `Answer.*` a question; newer templates have all answers of an
assignment as JSON in `Answer.taskAnswers`. Check boxes are columns of true and false, `Answer.<question>.<label>`.
Format: https://docs.aws.amazon.com/AWSMechTurk/latest/AWSMechanicalTurkRequester/RetrievingResults.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from bayesanno.ground.errors import DataError
from bayesanno.io.exports.answers import Answer, Export, has_columns, read_rows
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.records import Value
from bayesanno.io.read_options import ReadOptions

_ITEM, _ANNOTATOR, _STATUS, _ANSWER = "HITId", "WorkerId", "AssignmentStatus", "Answer."
_TASK_ANSWERS = "Answer.taskAnswers"
_CHECKED = ("true", "false", "", None, True, False)


def read_mturk(document: Document, options: ReadOptions) -> Iterator[Answer]:
    """Yield the answers of each assignment, an answer for each question."""
    questions = partial(_questions, boxes=_find_boxes(document))
    return read_rows(document, options, _ITEM, _ANNOTATOR, questions, read=_read_labels, prefix=_ANSWER, status=_STATUS)


def _find_boxes(document: Document) -> frozenset[str]:
    """Return the columns of check boxes: `Answer.<question>.<label>`, with nothing but true and false in them."""
    maybe = {name for name in document.first if name.startswith(_ANSWER) and "." in name.removeprefix(_ANSWER)}
    used = set()
    for row in document.records() if maybe else ():
        maybe = {name for name in maybe if row.given[name] in _CHECKED}
        used |= {name for name in maybe if row.given[name] not in ("", None)}
    return frozenset(maybe & used)


def _questions(row: Value, boxes: frozenset[str]) -> Iterator[tuple[str, Value, str]]:
    """Yield each question with its answer: a cell, a value of JSON, or check boxes."""
    checked: dict[str, dict[str, bool]] = {}
    for name, cell in row.fields():
        question = name.removeprefix(_ANSWER)
        if name == _TASK_ANSWERS:
            answers = cell.decode()  # a list of one
            for given in answers.as_list() if isinstance(answers.given, list) else [answers.given or {}]:
                parts = Value(row.place, given)
                for part in parts.as_object():  # null is refused
                    yield part, parts.get(part), ""
        elif name in boxes:
            group, _, label = question.rpartition(".")
            checked.setdefault(group, {})[label] = cell.given in ("true", True)
        elif name.startswith(_ANSWER):
            yield question, cell._replace(name=question), ""
    for group, labels in checked.items():
        yield group, Value(row.place, labels, group), ""


def _read_labels(value: Value) -> tuple[str, ...] | None:
    """Return the label or labels; those of an object are its true fields, or its field "label"."""
    given = value.given
    if isinstance(given, Mapping) and given.keys() <= {"label", "labels"}:
        given = given.get("label", given.get("labels"))
    elif isinstance(given, Mapping) and all(isinstance(each, bool) for each in given.values()):
        given = [name for name, checked in given.items() if checked]
    elif isinstance(given, Mapping):
        raise DataError(f"{value.whole_place}: this answer is an object: choose a question with labels with label=...")
    return value._replace(given=given).as_labels()


MTURK = Export(
    name="mturk",
    form="a table with columns HITId, WorkerId and Answer.*",
    of_tables=True,
    annotator=_ANNOTATOR,
    looks_like=has_columns(_ITEM, _ANNOTATOR, prefix=_ANSWER),
    read=read_mturk,
    uses=frozenset({"item", "annotator", "gold", "multi_label", "drop_rejected"}),
)
