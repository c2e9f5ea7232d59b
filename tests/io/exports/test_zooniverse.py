"""The classifications of a Zooniverse project, as its data export has them."""

import csv
import io
import json

from tests.io.cases import reading, refusing

HEADER = (
    "classification_id,user_name,user_id,user_ip,workflow_id,workflow_name,workflow_version,created_at,gold_standard,"
    "expert,metadata,annotations,subject_data,subject_ids\n"
)


def task(value, name="T0", label="What animal is it?"):
    return {"task": name, "task_label": label, "value": value}


def export(*rows):
    """The classifications (volunteer, subject, annotations) as a file."""
    file = io.StringIO()
    for number, (user, subject, *answers) in enumerate(rows):
        text = answers[0] if isinstance(answers[0], str) else json.dumps(answers)
        data = json.dumps({subject: {"Filename": f"{subject}.jpg"}})
        csv.writer(file).writerow([number, user, *[""] * 9, text, data, subject])
    return HEADER + file.getvalue()


YOUNG = {"name": "T1", "label": "Are there young?"}
ASKED = export(("ada", "71", task("Lion"), task("Yes", **YOUNG)), ("bo", "71", task("Cat"), task("No", **YOUNG)))
OTHER = {"label": "Which cat is it?"}
CHANGED = export(("ada", "71", task("Lion")), ("bo", "71", task("Cat", **OTHER)), ("cy", "71", task("Puma", **OTHER)))
SEVERAL = export(("ada", "71", task(["Lion", "Zebra"])), ("bo", "71", task([])))
test_answers_are_those_of_volunteers_to_subjects = reading({
    "answers of volunteers": (
        export(("ada", "71", task("Zebra")), ("not-logged-in-a1", "71", task("Lion")), ("ada", "72", task(None))), {},
        [("71", "ada", "Zebra"), ("71", "not-logged-in-a1", "Lion")],
    ),
    "a task by its words": (ASKED, {"label": "Are there young?"}, [("71", "ada", "Yes"), ("71", "bo", "No")]),
    "one of two questions of a task": (CHANGED, OTHER, [("71", "bo", "Cat"), ("71", "cy", "Puma")]),
    "several labels": (
        SEVERAL, {"multi_label": True},
        [("71 / Lion", "ada", "yes"), ("71 / Zebra", "ada", "yes"),
         ("71 / Lion", "bo", "no"), ("71 / Zebra", "bo", "no")],
    ),
})  # fmt: skip


test_what_is_no_answer_is_refused = refusing({
    "two questions": (ASKED, "there are 2 questions, 'T0', 'T1'"),
    "no JSON": (export(("ada", "71", "[{")), r"line 2: annotations: this is not JSON: '\[\{'"),
    "places": (export(("ada", "71", task([{"x": 1.5, "y": 2}]))), "question 'T0' asks for spans, boxes"),
}, "classifications.csv")  # fmt: skip
