"""Zooniverse: the CSV of a project's classifications, a row for each volunteer and subject.

The item is the subject, the annotator the volunteer by name; volunteers who are not logged in have an address
from Zooniverse instead. The answers of a classification are JSON in `annotations`, each to a task, which is a
question. Format: https://help.zooniverse.org/next-steps/data-exports/
"""

from __future__ import annotations

from collections.abc import Iterator

from bayesanno.ground.errors import DataError
from bayesanno.io.exports.answers import Answer, Export, has_columns, read_rows
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.records import Value
from bayesanno.io.read_options import ReadOptions

_ITEM, _ANNOTATOR, _ANSWERS = "subject_ids", "user_name", "annotations"


def read_zooniverse(document: Document, options: ReadOptions) -> Iterator[Answer]:
    """Yield the answers of each classification, one to each task."""

    def questions(row: Value) -> Iterator[tuple[str, Value, str]]:
        for task in row.get(_ANSWERS).decode().elements():
            names = {task.get(name).as_text() for name in ("task", "task_label")}
            question = next((name for name in options.label if name in names), "") or task.get("task").as_text()
            yield question, task.get("value"), ""

    return read_rows(document, options, _ITEM, _ANNOTATOR, questions, read=_read_value)


def _read_value(value: Value) -> tuple[str, ...] | None:
    if value.has_parts:
        raise DataError(f"{value.whole_place}: this task marks places or counts things: name a question with label=...")
    return value.as_labels()


ZOONIVERSE = Export(
    name="zooniverse",
    form="a table with columns classification_id, user_name, annotations and subject_ids",
    of_tables=True,
    annotator=_ANNOTATOR,
    looks_like=has_columns(_ITEM, _ANNOTATOR, _ANSWERS, "classification_id"),
    read=read_zooniverse,
    uses=frozenset({"item", "annotator", "gold", "multi_label"}),
)
