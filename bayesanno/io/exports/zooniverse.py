"""Zooniverse: the CSV of a project's classifications, a row for each volunteer and subject.

The item is the subject, the annotator the volunteer by name; volunteers who are not logged in have an address
from Zooniverse instead. The answers of a classification are JSON in `annotations`, each to a task, which is a
question. Format: https://help.zooniverse.org/next-steps/data-exports/
"""

from __future__ import annotations

from collections.abc import Iterator

from bayesanno.ground.errors import DataError
from bayesanno.io.exports.answers import Answer, Export, mention_item, read_rows
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.records import Value
from bayesanno.io.read_options import ReadOptions

_ITEM, _ANNOTATOR, _ANSWERS = "subject_ids", "user_name", "annotations"


def looks_like_zooniverse(document: Document, _: ReadOptions) -> bool:
    """Return whether there are columns of a subject, a volunteer and answers in JSON."""
    return document.kind == "table" and {_ITEM, _ANNOTATOR, _ANSWERS, "classification_id"} <= document.first.keys()


def read_zooniverse(document: Document, options: ReadOptions) -> Iterator[Answer]:
    """Yield the answers of each classification, one to each task."""
    for row, item, annotator in read_rows(document, options, _ITEM, _ANNOTATOR):
        yield from mention_item(row, item, options.gold)
        for task in row.get(_ANSWERS).decode().elements():
            names = {task.get(name).as_text() for name in ("task", "task_label")}
            question = next((name for name in options.label if name in names), "") or task.get("task").as_text()
            is_read = not options.label or question in options.label
            yield Answer(row.place, item, annotator, question, _read_value(task) if is_read else None)


def _read_value(task: Value) -> tuple[str, ...] | None:
    value = task.get("value")
    if value.has_parts:
        raise DataError(
            f"{value.whole_place}: this task marks places or counts things, but only questions can be read: choose one "
            "with label=..."
        )
    return value.as_labels()


ZOONIVERSE = Export(
    name="zooniverse",
    form="a table with columns classification_id, user_name, annotations and subject_ids",
    of_tables=True,
    looks_like=looks_like_zooniverse,
    read=read_zooniverse,
    uses=frozenset({"item", "annotator", "gold", "multi_label"}),
)
