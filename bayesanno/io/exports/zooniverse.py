"""Zooniverse: the CSV of a project's classifications, a row for each volunteer and subject.

The item is the subject, the annotator the volunteer by name; volunteers who are not logged in have an address
from Zooniverse instead. The answers of a classification are JSON in `annotations`, each to a task, which is a
question. Format: https://help.zooniverse.org/next-steps/data-exports/
"""

from __future__ import annotations

from collections.abc import Iterator

from bayesanno._core.errors import ExportWarning, warn
from bayesanno._core.wording import listed, option
from bayesanno.io.exports.answers import OF_TABLES, Export, has_columns
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.value import Value
from bayesanno.io.read_options import ReadOptions


def read_classifications(document: Document, options: ReadOptions) -> Iterator[Value]:
    """Yield each classification; in a file of several workflows, tasks are named with theirs, as `12/T0`."""
    workflows = {row.get("workflow_id").as_text() for row in document.records()}
    asked: dict[str, set[str]] = {}
    for row in document.records():
        given, said = row.as_object(), []
        start = f"{given['workflow_id']}/" if len(workflows) > 1 else ""
        for _, one in row.get("annotations").opened().elements():
            task = start + one.get("task").as_text()
            asked.setdefault(task, set()).add(one.get("task_label").as_text())
            said.append(one.put({**one.as_object(), "task": task}))
        yield row.put({**given, "annotations": said})
    for task, words in asked.items():
        if len(words) > 1 and not options.label:
            what = f"task {task!r} asks {listed(sorted(words))}, and all its answers are read"
            warn(f"{document.name}: {what}: to read those to one, use {option('label', max(words))}", ExportWarning)


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
