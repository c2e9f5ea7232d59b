"""Amazon Mechanical Turk: the CSV of a batch, a row for each assignment.

The item is the HIT, the annotator the worker, and each `Answer.*` a question; newer templates have all answers of an
assignment as JSON in `Answer.taskAnswers`. Check boxes are columns of true and false, `Answer.<question>.<label>`.
Format: https://docs.aws.amazon.com/AWSMechTurk/latest/AWSMechanicalTurkRequester/RetrievingResults.html
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bayesanno.ground.errors import DataError
from bayesanno.io.exports.answers import Answer, known_true
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.export import Export
from bayesanno.io.exports.records import as_labels, as_object, as_text, fill_in, is_rejected, kind_of
from bayesanno.io.read_options import ReadOptions

_ITEM, _ANNOTATOR, _STATUS, _ANSWER = "HITId", "WorkerId", "AssignmentStatus", "Answer."
_TASK_ANSWERS = "Answer.taskAnswers"
_CHECKED = ("true", "false", "", None, True, False)


def looks_like_mturk(document: Document, _: ReadOptions) -> bool:
    """Return whether there are columns of a HIT, a worker and an answer."""
    header = document.first
    return document.kind == "table" and {_ITEM, _ANNOTATOR} <= header.keys() and any(map(_is_answer, header))


def read_mturk(document: Document, options: ReadOptions) -> Iterator[Answer]:
    """Yield the answers of each assignment, an answer for each question."""
    boxes = _find_boxes(document)
    for place, row in document.records():
        if options.drop_rejected and is_rejected(row, _STATUS, place):
            continue
        item, annotator = (
            fill_in(named or usual, row, role, place)
            for role, named, usual in (("item", options.item, _ITEM), ("annotator", options.annotator, _ANNOTATOR))
        )
        yield Answer(place, item, annotator, "", None)
        if item:
            yield from known_true(row, item, place, options.gold)
        for question, value in _questions(row, boxes, place):
            asked = next((each for each in options.label if each.removeprefix(_ANSWER) == question), question)
            if options.label and asked not in options.label:
                yield Answer(place, item, annotator, question, None)
                continue
            labels = as_labels(_choices(value, f"{place}, {question}"), f"{place}, {question}")
            if labels is not None and not (item and annotator):
                raise DataError(f"{place}: this answer has no {'worker' if item else 'HIT'}: fill it in")
            yield Answer(place, item, annotator, asked, labels)


def _is_answer(name: str) -> bool:
    return name.startswith(_ANSWER)


def _find_boxes(document: Document) -> frozenset[str]:
    """Return the columns of check boxes: `Answer.<question>.<label>`, with nothing but true and false in them."""
    maybe = {name for name in document.first if _is_answer(name) and "." in name.removeprefix(_ANSWER)}
    used = set()
    for _, row in document.records() if maybe else ():
        maybe = {name for name in maybe if row[name] in _CHECKED}
        used |= {name for name in maybe if row[name] not in ("", None)}
    return frozenset(maybe & used)


def _questions(row: Mapping[str, Any], boxes: frozenset[str], place: str) -> Iterator[tuple[str, Any]]:
    """Yield each question and what was said to it: a cell, a value of JSON, or the boxes that were checked or not."""
    checked: dict[str, dict[str, bool]] = {}
    for name in filter(_is_answer, row):
        question, cell = name.removeprefix(_ANSWER), row[name]
        if name == _TASK_ANSWERS:
            yield from _read_json(as_text(cell, name, place), place)
            continue
        if name in boxes:
            group, _, label = question.rpartition(".")
            checked.setdefault(group, {})[label] = cell in ("true", True)
        else:
            yield question, cell
    yield from checked.items()


def _read_json(text: str, place: str) -> Iterator[tuple[str, Any]]:
    """Yield the questions in `Answer.taskAnswers`: a list of one object."""
    if not text:
        return
    here = f"{place}, {_TASK_ANSWERS}"
    try:
        answers = json.loads(text)
    except (ValueError, RecursionError):
        raise DataError(f"{here}: this is not JSON: {text[:60]!r}; download the batch again") from None
    for each in answers if isinstance(answers, list) else [answers]:
        yield from as_object(each, here).items()


def _choices(value: Any, place: str) -> Any:
    """Return the label or labels: of an object those that are true, or what a classifier calls its label."""
    if not isinstance(value, Mapping):
        return value
    if set(value) <= {"label", "labels"}:
        return value.get("label", value.get("labels"))
    if all(isinstance(each, bool) for each in value.values()):
        return [name for name, checked in value.items() if checked]
    raise DataError(
        f"{place}: this answer is {kind_of(value)}: only labels are read; choose another question with --label"
    )


MTURK = Export(
    name="mturk",
    form="a table with columns HITId, WorkerId and Answer.*",
    of_tables=True,
    looks_like=looks_like_mturk,
    read=read_mturk,
    uses=frozenset({"item", "annotator", "gold", "multi_label", "drop_rejected"}),
)
