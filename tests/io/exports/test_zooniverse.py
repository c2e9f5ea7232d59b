"""The classifications of a Zooniverse project, as its data export has them."""

import csv
import json

import pytest

from bayesanno._core.errors import DataError, ExportWarning
from bayesanno.io.annotations import read_annotations

HEADER = [
    "classification_id",
    "user_name",
    "user_id",
    "user_ip",
    "workflow_id",
    "workflow_name",
    "workflow_version",
    "created_at",
    "gold_standard",
    "expert",
    "metadata",
    "annotations",
    "subject_data",
    "subject_ids",
]
KIND = "What animal is it?"


def task(value, name="T0", label=KIND):
    return {"task": name, "task_label": label, "value": value}


@pytest.fixture
def write(tmp_path):
    """Write classifications as (volunteer, subject, annotations)."""

    def write_export(rows):
        path = tmp_path / "classifications.csv"
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, HEADER)
            writer.writeheader()
            for number, (user, subject, answers) in enumerate(rows):
                text = answers if isinstance(answers, str) else json.dumps(answers)
                data = json.dumps({subject: {"Filename": f"{subject}.jpg"}})
                row = dict.fromkeys(HEADER, "") | {"classification_id": number, "user_name": user}
                writer.writerow(row | {"annotations": text, "subject_data": data, "subject_ids": subject})
        return path

    return write_export


def triples(data):
    codes = zip(data.item, data.annotator, data.label, strict=True)
    return sorted((data.items[i], data.annotators[j], data.labels[k]) for i, j, k in codes)


def test_answers_are_those_of_volunteers_to_subjects(write):
    rows = [("ada", "71", [task("Zebra")]), ("not-logged-in-a1", "71", [task("Lion")]), ("ada", "72", [task(None)])]
    data = read_annotations(write(rows))
    assert triples(data) == [("71", "ada", "Zebra"), ("71", "not-logged-in-a1", "Lion")]
    assert data.items == ("71", "72")


def test_an_answer_may_be_a_number(write):
    rows = [("ada", "71", [task(0)]), ("bo", "71", [task(3)]), ("cy", "71", [task("3")])]
    assert triples(read_annotations(write(rows))) == [("71", "ada", "0"), ("71", "bo", "3"), ("71", "cy", "3")]


def test_a_question_is_chosen_by_its_task_or_its_words(write, refuses):
    young = {"name": "T1", "label": "Are there young?"}
    rows = [
        (who, "71", [task(kind), task(yes, **young)])
        for who, kind, yes in [("ada", "Lion", "Yes"), ("bo", "Cat", "No")]
    ]
    path = write(rows)
    with refuses(DataError, "there are 2 questions, 'T0', 'T1': choose one"):
        read_annotations(path)
    for question in ("T1", "Are there young?"):
        assert read_annotations(path, label=question).labels == ("No", "Yes")


def test_a_task_whose_question_was_changed_is_warned_of(write):
    rows = [("ada", "71", [task("Lion")]), ("bo", "71", [task("Cat", label="Which cat is it?")])]
    rows.append(("cy", "71", [task("Puma", label="Which cat is it?")]))
    path = write(rows)
    with pytest.warns(ExportWarning, match="task 'T0' asks 'What animal.*', 'Which cat.*label='Which cat is it.'"):
        assert read_annotations(path).n_annotations == 3
    data = read_annotations(path, label="Which cat is it?")
    assert triples(data) == [("71", "bo", "Cat"), ("71", "cy", "Puma")]


def test_several_labels_are_a_yes_or_no_to_each(write, refuses):
    rows = [("ada", "71", [task(["Lion", "Zebra"])]), ("bo", "71", [task([])])]
    with refuses(DataError, "has 2 labels.*multi_label=True"):
        read_annotations(write(rows))
    data = read_annotations(write(rows), multi_label=True)
    assert triples(data) == [
        ("71 / Lion", "ada", "yes"),
        ("71 / Lion", "bo", "no"),
        ("71 / Zebra", "ada", "yes"),
        ("71 / Zebra", "bo", "no"),
    ]


@pytest.mark.parametrize(
    ("answers", "match"),
    [
        ("[{", r"line 2, annotations: this is not JSON: '\[\{'"),
        ('{"T0": 1}', "annotations is an object, but must be a list"),
        ([task([{"x": 1.5, "y": 2}])], "question 'T0' asks for boxes or places, but only labels"),
        ([task({"x": 1.5})], "the label is an object, but must be a text or a number"),
        (["Lion"], r"annotations\[0\]: this is a text, but must be an object"),
    ],
)
def test_what_is_no_answer_is_refused(write, refuses, answers, match):
    with refuses(DataError, match):
        read_annotations(write([("ada", "71", answers)]))
