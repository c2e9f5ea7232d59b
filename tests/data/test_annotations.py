"""AnnotationData: what it holds, and what it refuses."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesanno._core.messages import DataError
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import sort_labels

FIELDS = {
    "item": [0, 0, 1],
    "annotator": [0, 1, 0],
    "label": [1, 0, 0],
    "items": ("s1", "s2", "silent"),
    "annotators": ("ada", "bo"),
    "labels": ("no", "yes"),
}
RECORDS = [("s1", "ada", "yes"), ("s1", "bo", "no"), ("s2", "ada", "no")]


def test_records_become_codes_that_point_at_the_names():
    data = AnnotationData.from_records([("b", "y", 10), ("a", "x", 9), ("b", "x", 10)])
    assert (data.items, data.annotators, data.labels) == (("b", "a"), ("y", "x"), ("9", "10"))
    assert (data.item.tolist(), data.annotator.tolist(), data.label.tolist()) == ([0, 1, 0], [0, 1, 1], [1, 0, 1])
    assert (data.n_items, data.n_annotators, data.n_labels, data.n_annotations) == (2, 2, 2, 3)


def test_votes_count_repeats_and_leave_silent_items_at_zero():
    records = [("s1", "ada", "no"), ("s1", "ada", "no"), ("s1", "bo", "yes")]
    data = AnnotationData.from_records(records, items=["s0", "s1"], labels=["yes", "no", "maybe"])
    np.testing.assert_array_equal(data.votes, [[0, 0, 0], [1, 2, 0]])


def test_gold_outside_the_labels_has_no_code_and_controls_have_theirs():
    data = AnnotationData(**FIELDS, gold={"s1": "yes", "s2": "perhaps"}, controls={"silent": "no"})
    assert (data.classes, data.n_classes) == (("no", "yes"), 2)
    assert data.gold_codes.tolist() == [1, -1, -1]
    assert data.control_codes.tolist() == [-1, -1, 0]


def test_arrays_are_copies_that_cannot_be_written():
    mine = np.array([0, 0, 1])
    data = AnnotationData(**{**FIELDS, "item": mine})
    mine[0] = 1
    assert data.item.tolist() == [0, 0, 1]
    for frozen in (data.item, data.annotator, data.label, data.votes, data.gold_codes, data.control_codes):
        with pytest.raises(ValueError, match="read-only"):
            frozen[0] = 1
    with pytest.raises(AttributeError):
        data.labels = ("a", "b")


def test_hash_changes_with_all_that_a_model_sees_and_with_nothing_else():
    data = AnnotationData(**FIELDS)
    assert data.hash == AnnotationData(**FIELDS, gold={"s1": "yes"}).hash == pickle.loads(pickle.dumps(data)).hash
    changed = [
        AnnotationData(**{**FIELDS, "label": [1, 0, 1]}),
        AnnotationData(**{**FIELDS, "annotator": [1, 0, 0]}),
        AnnotationData(**{**FIELDS, "labels": ("no", "yes", "maybe")}),
        AnnotationData(**{**FIELDS, "items": ("s1", "s2", "s3")}),
        AnnotationData(**FIELDS, controls={"s1": "yes"}),
    ]
    assert len({data.hash, *(other.hash for other in changed)}) == 1 + len(changed)


REFUSED = {
    "no annotation": ({"item": [], "annotator": [], "label": []}, "there is no annotation"),
    "one label": ({"labels": ("no",), "label": [0, 0, 0]}, r"only one label, 'no': .*declare them"),
    "a label beyond": ({"label": [1, 0, 2]}, r"label has an index outside 0\.\.1: 0\.\.2"),
    "a negative item": ({"item": [-1, 0, 1]}, r"item has an index outside 0\.\.2: -1\.\.1"),
    "too few": ({"annotator": [0, 1]}, r"annotator must have one entry per annotation, shape \(3,\), not \(2,\)"),
    "nobody": ({"annotators": ()}, "there are no annotators"),
    "half a label": ({"label": [0.5, 0, 1]}, "label must hold whole numbers, .* not values of type float64"),
    "no name": ({"items": ("s1", " ", "s3")}, "items: name 2 is empty"),
    "a name twice": ({"annotators": ("ada", "ada")}, "annotators: 'ada' appears twice"),
    "gold of no item": ({"gold": {"silence": "yes"}}, "item 'silence' is not among the items; did you mean 'silent'"),
    "no such control": ({"controls": {"s1": "may\nbe"}}, r"controls: label 'may\\nbe' of item 's1' is not among"),
}


@pytest.mark.parametrize(("change", "match"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_together_is_refused(refuses, change, match):
    with refuses(DataError, match):
        AnnotationData(**{**FIELDS, **change})


def test_records_outside_the_declared_names_are_refused(refuses):
    with refuses(DataError, "label 'yes' is not among the declared labels"):
        AnnotationData.from_records(RECORDS, labels=["no", "maybe"])
    with refuses(DataError, "item 's2' is not among the declared items"):
        AnnotationData.from_records(RECORDS, items=["s1"])


def test_labels_sort_as_numbers_if_all_or_all_but_one_are_numbers():
    assert sort_labels(["10", "9", "-1", "9"]) == ("-1", "9", "10")
    assert sort_labels(["10.0", "9.5", "+1", "0", "-1"]) == ("-1", "0", "+1", "9.5", "10.0")
    assert sort_labels(["10", "9", "none"]) == ("9", "10", "none")
    assert sort_labels(["10", "9", "none", "some"]) == ("10", "9", "none", "some")
    assert sort_labels(["1", "01"]) == ("01", "1")


NUMBERS = st.integers(-99, 99).map(str) | st.sampled_from(["--1", "-0", "01", "1.0", "9" * 30])


@given(st.lists(st.text(max_size=4) | NUMBERS))
def test_sorting_labels_keeps_each_once_and_ignores_their_order(labels):
    in_order = sort_labels(labels)
    assert in_order == sort_labels(reversed(labels))
    assert len(in_order) == len(set(labels))
    assert set(in_order) == set(labels)
