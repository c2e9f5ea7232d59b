"""Zooniverse: the CSV of a project's classifications, a row for each volunteer and subject.

The item is the subject, the annotator the volunteer by name; volunteers who are not logged in have an address
from Zooniverse instead. The answers of a classification are JSON in `annotations`, each to a task, which is a
question. Format: https://help.zooniverse.org/next-steps/data-exports/
"""

from __future__ import annotations

from bayesanno.io.exports.answers import OF_TABLES, Export, has_columns

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
    uses=OF_TABLES,
)
