"""Labels that are no class, read from tables."""

import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.errors import DataError

ROWS = [("s1", "ada", "2"), ("s1", "bo", "can't say"), ("s2", "ada", "10"), ("s2", "bo", "10"), ("s3", "bo", "skip")]
LONG = pd.DataFrame(ROWS, columns=["item", "annotator", "label"])
WIDE = pd.DataFrame({"item": ["s1", "s2", "s3"], "rater1": ["2", "10", None], "rater2": ["can't say", "10", "skip"]})
UNSURE = ["skip", "can't say"]


@pytest.mark.parametrize("table", [LONG, WIDE], ids=["long", "wide"])
def test_numbers_stay_in_order_and_what_is_no_class_comes_last(table):
    data = ba.read_annotations(table, unsure=UNSURE)
    assert data.labels == ("2", "10", "skip", "can't say")
    assert (data.classes, data.unsure) == (("2", "10"), ("skip", "can't say"))
    assert data.without_unsure().n_annotations == 3


def test_declared_labels_need_not_name_those_that_are_unsure(refuses):
    data = ba.read_annotations(LONG, labels=["10", "2", "1"], unsure=UNSURE)
    assert (data.labels, data.classes) == (("10", "2", "1", "skip", "can't say"), ("10", "2", "1"))
    data = ba.read_annotations(LONG, labels=["skip", "10", "2", "can't say", "never"], unsure=[*UNSURE, "never"])
    assert (data.classes, data.unsure) == (("10", "2"), ("skip", "can't say", "never"))
    with refuses(DataError, "label \"can't say\" of item 's1' is not among the declared labels"):
        ba.read_annotations(LONG, labels=["2", "10"], unsure="skip")


def test_a_file_keeps_the_answers_and_not_what_they_mean(tmp_path):
    data = ba.read_annotations(LONG, unsure=UNSURE)
    data.to_frame().to_csv(tmp_path / "answers.csv", index=False)
    assert ba.read_annotations(tmp_path / "answers.csv").unsure == ()
    assert ba.read_annotations(tmp_path / "answers.csv", unsure=UNSURE).hash == data.hash
