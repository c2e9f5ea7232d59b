"""Names spelt in two ways are taken for two, and the reader says so."""

import warnings

import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.errors import NamesWarning
from bayesanno.io.names import find_alike

ROWS = [("s1", "ada", "yes"), ("s1", "bo", "no"), ("s2", "ada", "no"), ("s2", "bo", "no")]


def table(*more, columns=("item", "annotator", "label")):
    return pd.DataFrame([*ROWS, *more], columns=list(columns))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Yes", "yes"),
        ("1", "1.0"),
        ("01", "1"),
        ("+2", "2"),
        ("0", "00"),
        ("0", "-0"),
        ("-0", "0.0"),
        (".5", "0.50"),
        ("-.5", "-0.5"),
        ("a  b", "a b"),
        ("caf\u00e9", "cafe\u0301"),
        ("STRASSE", "straße"),
    ],
)
def test_names_that_are_alike_are_found(first, second):
    assert find_alike(["other", first, "more", second]) == [(first, second)]


@pytest.mark.parametrize(
    "names",
    [["1", "10"], ["a", "b"], ["1.0", "1.5"], ["yes", "yes!"], ["0", "-1"], [".", "0"], ["A1", "A-1"], ["x", "x"]],
)
def test_names_that_are_not_are_not(names):
    assert find_alike(names) == []


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            ("s3", "ada", "Yes"),
            "'Yes' and 'yes' are different labels; make the spelling identical, or use ignore_case=True",
        ),
        (("s3", "Ada", "no"), "'ada' and 'Ada' are different annotators; make the spelling identical$"),
    ],
)
def test_a_table_is_read_as_it_is_with_a_warning(row, said):
    with pytest.warns(NamesWarning, match=f"the DataFrame: {said}"):
        data = ba.read_annotations(table(row))
    assert row[1] in data.annotators
    assert row[2] in data.labels


def test_gold_that_is_spelt_in_another_way_is_told_of_as_it_is_never_right():
    frame = table().assign(gold=["YES", "YES", "No", "No"])
    with pytest.warns(NamesWarning, match=r"'no' and 'No' are different labels \(2 more cases\)"):
        data = ba.read_annotations(frame)
    assert data.gold == {"s1": "YES", "s2": "No"}


@pytest.mark.parametrize("labels", [None, ["yes", "no"]])
def test_gold_of_another_column_is_told_of_as_no_label_can_be_right(labels):
    frame = table().assign(gold=["good", "good", "bad", "bad"])
    with pytest.warns(
        NamesWarning, match="none of the true labels 'bad', 'good' is among the labels .*: name the column"
    ):
        ba.read_annotations(frame, labels=labels)
    with pytest.warns(NamesWarning, match=r"'good' \(1 item\) among the true labels are no labels"):
        ba.read_annotations(frame.assign(gold=["good", "good", "no", "no"]), labels=labels)
    known = frame.assign(gold=["good", "good", "no", "no"])
    ba.read_annotations(known, labels=["yes", "no", "good"])  # one may be used by nobody
    with pytest.warns(NamesWarning, match="none of the true labels 'bad', 'good'"):
        ba.read_multi_annotations(frame.assign(gold_label=frame["gold"], other=["a", "b"] * 2), ["label", "other"])


def test_labels_that_are_declared_are_meant():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ba.read_annotations(table(("s3", "ada", "Yes")), labels=["yes", "Yes", "no"])


def test_dimensions_are_told_of_each():
    frame = table(("s3", "ada", "Yes"), columns=("item", "annotator", "tone")).assign(topic=["a", "b"] * 2 + ["a"])
    with pytest.warns(NamesWarning, match="'Yes' and 'yes' are different labels"):
        ba.read_multi_annotations(frame, ["tone", "topic"])
