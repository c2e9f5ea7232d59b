"""Label Studio's JSON and JSON_MIN, as its export has them."""

import json

import pandas as pd
import pytest

from bayesanno._core.messages import DataError, ExportWarning
from bayesanno.io.read import read_annotations, read_multi_annotations
from tests.io.cases import reading, refusing


def choice(value, question="sentiment", kind="choices", key=None):
    """One answer, as in `result`."""
    return {
        "id": "Dx_aB91ISN", "from_name": question, "to_name": "text", "type": kind, "origin": "manual",
        "value": {key or kind: value},
    }  # fmt: skip


def annotation(by, *result, **more):
    return {
        "id": 1001, "completed_by": by, "result": list(result), "was_cancelled": False, "ground_truth": False,
        "created_at": "2021-03-09T22:16:08.728353Z", "lead_time": 4.288, "prediction": {}, "task": 1, **more,
    }  # fmt: skip


def task(number, *annotations, predictions=(), **data):
    return {
        "id": number, "annotations": list(annotations), "file_upload": "3f2a-texts.csv", "drafts": [],
        "predictions": list(predictions), "data": {"text": "Größe: ok 👍", **data}, "meta": {}, "project": 83,
    }  # fmt: skip


EMAIL = "ada@example.org"
ADA = {"id": 7, "email": EMAIL, "first_name": "Ada", "last_name": ""}
GOOD, BAD = choice(["Positive"]), choice(["Negative"])
PREDICTED = {"model_version": "bert-2", "score": 0.71, "result": [BAD]}
PROJECT = [
    task(12, annotation(5, GOOD), annotation(ADA, BAD), predictions=[PREDICTED], key="a", truth="Negative"),
    task(13, annotation(5, BAD, was_cancelled=True), annotation(ADA, GOOD, ground_truth=True), key="b", truth=None),
    task(14, key="c", truth="Positive"),
]


def test_an_item_that_nobody_answered_has_no_answer_to_any_of_several_labels(keep, said):
    several = [task(1, annotation(5, choice(["a", "b"]))), task(2)]
    data, answers = said(keep(several), multi_label=True)
    assert answers == [("1 / a", "5", "yes"), ("1 / b", "5", "yes")]
    assert data.items == ("1 / a", "1 / b", "2 / a", "2 / b")


def test_each_annotation_is_an_answer_by_who_gave_it(keep, said):
    data, answers = said(keep(PROJECT))
    assert answers == [("12", "5", "Positive"), ("12", EMAIL, "Negative"), ("13", EMAIL, "Positive")]
    assert data.items == ("12", "13", "14")  # also those that nobody answered
    assert data.gold == {"13": "Positive"}
    assert said(keep(PROJECT, "export.csv"), format="label-studio")[1] == answers  # a file is known by its content
    assert said(PROJECT)[1] == said(pd.DataFrame(PROJECT))[1] == answers
    assert said(keep("\ufeff\n" + json.dumps(PROJECT, indent=2)))[1] == answers


OLD = {"id": 1, "data": {"text": "x"}, "completions": [
    {"id": 1001, "created_username": " ada@example.org, 1", "lead_time": 2.5, "result": [GOOD]},
    {"id": 1002, "completed_by": 3, "skipped": True, "result": []},
    {"id": 1003, "completed_by": 3, "result": [BAD]},
]}  # fmt: skip
SPANS = {**choice(["LOC"], "ner", "labels"), "value": {"start": 1, "end": 4, "labels": ["LOC"]}}
REGION = {**GOOD, "value": {"start": 1, "end": 4, "choices": ["Positive"]}}
BY_MODEL = {"model_version": "bert", "result": [BAD, SPANS]}
TICKED = [task(1, annotation(1, choice(["a", "b"])), annotation(2)), task(2, annotation(1, was_cancelled=True))]
STARS = [task(n, annotation(1, GOOD, choice(3, "stars", "rating")), annotation(2, BAD)) for n in (1, 2)]
MODEL = {"predictions": True}
test_answers_are_those_of_the_question = reading({
    "predictions": (PROJECT, MODEL, [
        ("12", "5", "Positive"), ("12", EMAIL, "Negative"), ("13", EMAIL, "Positive"), ("12", "bert-2", "Negative")]),
    "older exports": ([OLD], {}, [("1", "ada@example.org, 1", "Positive"), ("1", "3", "Negative")]),
    "one of two questions": (STARS, {"label": "stars", "labels": ["3", "4"]}, [("1", "1", "3"), ("2", "1", "3")]),
    "several labels": (TICKED, {"multi_label": True}, [
        ("1 / a", "1", "yes"), ("1 / b", "1", "yes"), ("1 / a", "2", "no"), ("1 / b", "2", "no")]),
    "regions": ([task(n, annotation(1, REGION, choice(n, "stars", "rating"))) for n in (1, 2)], {},
                [("1", "1", "1"), ("2", "1", "2")]),
    "spans beside an answer": ([task(1, annotation(1, GOOD, SPANS), predictions=[BY_MODEL])], MODEL,
                               [("1", "1", "Positive"), ("1", "bert", "Negative")]),
    **{f"{kind} {label}": ([task(1, annotation(1, choice(value, kind=kind, key=key)))], {"labels": [label, "other"]},
                           [("1", "1", label)])
       for kind, key, value, label in (
           ("rating", None, 4, "4"), ("taxonomy", None, [["Animal", "Cat"]], "Animal/Cat"),
           ("pairwise", "selected", "left", "left"), ("number", None, 2.5, "2.5"), ("number", None, 3.0, "3"),
           ("number", None, -0.0, "0"), ("number", None, -1, "-1"))},
})  # fmt: skip


def test_items_and_gold_can_be_fields_of_the_data(said):
    data, _ = said(PROJECT, item="data.key", gold="data.truth")
    assert (data.items, data.gold) == (("a", "b", "c"), {"a": "Negative", "b": "Positive", "c": "Positive"})


def test_questions_are_dimensions_and_labels_may_be_declared(said):
    both = read_multi_annotations(STARS, ["sentiment", "stars"], labels={"stars": ["3", "4"]})
    assert {name: part.n_annotations for name, part in both.by_dimension.items()} == {"sentiment": 4, "stars": 2}
    data = said(TICKED, multi_label=True, labels=["b", "c", "a"])[0]
    assert (data.labels, data.items[:3]) == (("no", "yes"), ("1 / b", "1 / c", "1 / a"))


MINIMAL = [
    {"text": "x", "mood": "calm", "id": 12, "sentiment": "Positive", "stars": [{"rating": 4}], "span": [{"start": 1}],
     "annotator": 5, "annotation_id": 1, "created_at": "2021", "updated_at": "2021", "lead_time": 4.2},
    {"text": "y", "mood": "calm", "id": 13, "sentiment": "Negative", "stars": [{"rating": 2}], "annotator": EMAIL,
     "annotation_id": 2, "created_at": "2021", "updated_at": "2021", "lead_time": 3.1},
]  # fmt: skip


def test_json_min_is_read_and_what_it_lacks_is_said(keep, said, refuses):
    path = keep(MINIMAL)
    with pytest.warns(ExportWarning, match="JSON_MIN and CSV of Label Studio leave out skipped tasks"):
        assert said(path, label="sentiment")[1] == [("12", "5", "Positive"), ("13", EMAIL, "Negative")]
    several = [{**MINIMAL[0], "sentiment": {"choices": ["a", "b"]}}]
    with pytest.warns(ExportWarning):
        assert said(path, label="stars")[0].labels == ("2", "4")
    with pytest.warns(ExportWarning):
        assert said(several, label="sentiment", multi_label=True)[0].items == ("12 / a", "12 / b")
    with pytest.warns(ExportWarning), refuses(DataError, "there are 2 questions, 'sentiment', 'stars'"):
        read_annotations(path)


CSV = (
    '"annotation_id","annotator","created_at","id","lead_time","sentiment","stars","text","updated_at"\n'
    '1,"5","2021",12,4.2,"Positive","[{""rating"": 4}]","x","2021"\n'
    '2,"ada@example.org","2021",12,3.1,"{""choices"": [""Negative"", ""Positive""]}","","y","2021"\n'
)


def test_csv_is_read_where_the_question_is_named(keep, said, refuses):
    path = keep(CSV, "project.csv")
    with pytest.warns(ExportWarning, match="JSON_MIN and CSV of Label Studio leave out skipped tasks"):
        assert said(path, label="stars", labels=["3", "4"])[1] == [("12", "5", "4")]
    with pytest.warns(ExportWarning):
        assert said(path, label="sentiment", multi_label=True)[1][0] == ("12 / Negative", "5", "no")
    with refuses(DataError, "CSV of Label Studio does not mark the columns of questions: name one of .* label="):
        read_annotations(path)


GOLD = [annotation(1, GOOD, ground_truth=True), annotation(2, BAD, ground_truth=True)]
test_what_is_wrong_is_named_with_its_place = refusing({
    "no id": ([{**task(1, annotation(1, GOOD)), "id": None}], r"\[0\], .*: the item is missing"),
    "task is a list": ([PROJECT[0], []], r"\[1\]: this is a list, but must be an object"),
    "annotations is text": ([PROJECT[0], {**PROJECT[1], "annotations": "x"}], r"\[1\]: annotations is a text, but"),
    "nobody": ([task(4, annotation(None, GOOD))], r"\[0\], .* of item '4' has no annotator"),
    "no value": ([task(4, annotation(1, {**GOOD, "value": None}))], "has no answers: annotate some items"),
    "a region": ([task(4, annotation(1, REGION))], "question 'sentiment' asks for spans"),
    "only predictions": ([task(4, predictions=[PREDICTED])], "but 1 prediction"),
    "prediction ids": ([task(4, annotation(1, GOOD), predictions=[8])], MODEL, "has no predictions: leave out"),
    "two golds": ([task(4, *GOLD)], r"\[0\], .*: item '4' has two true labels"),
}, "export.json")  # fmt: skip
test_options_that_do_not_fit_are_refused = refusing({
    "of a crowd": (PROJECT, {"drop_rejected": True}, "drop_rejected=True does not apply to it"),
    "predictions": ([PROJECT[1]], MODEL, "has no predictions: leave out predictions=True"),
    "a typo": (STARS, {"label": "star"}, "there is no question 'star': the questions are .*; did you mean 'stars'"),
    "few labels": (TICKED, {"multi_label": True, "labels": ["b"]}, "label 'a' of item '1' is not among the declared"),
    "spans": ([task(1, annotation(1, REGION, choice(1, "stars", "rating")))], {"label": "sentiment"}, "asks for spans"),
})  # fmt: skip
