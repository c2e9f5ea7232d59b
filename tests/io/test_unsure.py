"""Labels that are no class, read from tables."""

import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.errors import DataError

LONG = pd.DataFrame(
    {
        "item": ["s1", "s1", "s2", "s2", "s3"],
        "annotator": ["ada", "bo", "ada", "bo", "bo"],
        "label": ["2", "can't say", "10", "10", "skip"],
    }
)
WIDE = pd.DataFrame({"item": ["s1", "s2", "s3"], "rater1": ["2", "10", None], "rater2": ["can't say", "10", "skip"]})
UNSURE = ["skip", "can't say"]


@pytest.mark.parametrize("table", [LONG, WIDE], ids=["long", "wide"])
def test_numbers_stay_in_order_and_what_is_no_class_comes_last(table):
    data = ba.read_annotations(table, unsure=UNSURE)
    assert data.labels == ("2", "10", "skip", "can't say")
    assert (data.classes, data.unsure) == (("2", "10"), ("skip", "can't say"))
    assert data.without_unsure().n_annotations == 3


def test_declared_labels_need_not_name_those_that_are_unsure():
    data = ba.read_annotations(LONG, labels=["10", "2", "1"], unsure=UNSURE)
    assert (data.labels, data.classes) == (("10", "2", "1", "skip", "can't say"), ("10", "2", "1"))
    data = ba.read_annotations(LONG, labels=["skip", "10", "2", "can't say", "never"], unsure=[*UNSURE, "never"])
    assert (data.classes, data.unsure) == (("10", "2"), ("skip", "can't say", "never"))


def test_controls_and_gold_are_classes(tmp_path, refuses):
    known = tmp_path / "known.csv"
    known.write_text("item,label\ns1,skip\n")
    for option in ("controls", "gold_file"):
        with refuses(DataError, "item 's1' is 'skip', which is declared as unsure"):
            ba.read_annotations(LONG, unsure=UNSURE, **{option: known})
    with refuses(DataError, "gold: item 's3' is 'skip', which is declared as unsure"):
        ba.read_annotations(LONG.assign(gold=["2", "2", "10", "10", "skip"]), unsure=UNSURE)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"unsure": "skipp"}, r"unsure: 'skipp' is not among the labels .*labels=\.\.\.; did you mean 'skip'\?"),
        ({"unsure": "maybe", "labels": ["2", "10", "skip", "can't say"]}, "unsure: 'maybe' is not among the labels"),
        (
            {"unsure": "skip", "labels": ["2", "10"]},
            "label \"can't say\" of item 's1' is not among the declared labels",
        ),
        ({"unsure": [*UNSURE, "2"]}, "only one class is left, '10'"),
    ],
)
def test_what_cannot_be_unsure_is_refused(options, match, refuses):
    with refuses(DataError, match):
        ba.read_annotations(LONG, **options)


def test_a_file_keeps_the_answers_and_not_what_they_mean(tmp_path):
    data = ba.read_annotations(LONG, unsure=UNSURE)
    data.to_frame().to_csv(tmp_path / "answers.csv", index=False)
    assert ba.read_annotations(tmp_path / "answers.csv").unsure == ()
    assert ba.read_annotations(tmp_path / "answers.csv", unsure=UNSURE).hash == data.hash
