"""Zooniverse: the CSV of a project's classifications, a row for each volunteer and subject.

The item is the subject, the annotator the volunteer by name; volunteers who are not logged in have an address
from Zooniverse instead. The answers of a classification are JSON in `annotations`, each to a task, which is a
question. Format: https://help.zooniverse.org/next-steps/data-exports/
"""

from __future__ import annotations

from collections.abc import Iterator

from bayesanno.io.exports.answers import OF_TABLES, Export, has_columns
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.value import Value
from bayesanno.io.read_options import ReadOptions


def read_classifications(document: Document, _: ReadOptions) -> Iterator[Value]:
    """Yield each classification; in a file of several workflows, tasks are named with theirs, as `12/T0`."""
    workflows = {row.get("workflow_id").as_text() for row in document.records()}
    for row in document.records():
        given = dict(row.as_object())
        if len(workflows) > 1:
            answers = [one for _, one in row.get("annotations").opened().elements()]
            names = [f"{given['workflow_id']}/{one.get('task').as_text()}" for one in answers]
            given["annotations"] = [
                one.put({**one.as_object(), "task": name}) for one, name in zip(answers, names, strict=True)
            ]
        yield row.put(given)


ZOONIVERSE = Export(
    name="zooniverse",
    form="a table with columns classification_id, user_name, annotations and subject_ids",
    looks_like=has_columns("subject_ids", "user_name", "annotations", "classification_id"),
    paths={
        "item": "subject_ids",
        "annotator": "user_name",
        "question": "annotations[].task",
        "words": "annotations[].task_label",
        "label": "annotations[].value",
    },
    records=read_classifications,
    uses=OF_TABLES,
)
