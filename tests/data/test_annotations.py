"""AnnotationData: what it holds, and what it refuses."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesanno._core.errors import BayesannoError, DataError
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.names import sort_labels

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
    data = AnnotationData.from_records(
        [("s1", "ada", "no"), ("s1", "ada", "no"), ("s1", "bo", "yes")],
        items=["s0", "s1"],
        labels=["yes", "no", "maybe"],
    )
    np.testing.assert_array_equal(data.votes, [[0, 0, 0], [1, 2, 0]])


def test_gold_outside_the_labels_has_no_code_and_controls_have_theirs():
    data = AnnotationData(**FIELDS, gold={"s1": "yes", "s2": "perhaps"}, controls={"silent": "no"})
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


def test_frame_has_names_and_gold():
    frame = AnnotationData(**FIELDS, gold={"s1": "yes"}).to_frame()
    assert frame.to_dict("list") == {
        "item": ["s1", "s1", "s2"],
        "annotator": ["ada", "bo", "ada"],
        "label": ["yes", "no", "no"],
        "gold": ["yes", "yes", ""],
    }


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"item": [], "annotator": [], "label": []}, "there is no annotation"),
        ({"labels": ("no",), "label": [0, 0, 0]}, r"only one label, 'no': .*declare them"),
        ({"label": [1, 0, 2]}, r"label has an index outside 0\.\.1: 0\.\.2"),
        ({"item": [-1, 0, 1]}, r"item has an index outside 0\.\.2: -1\.\.1"),
        ({"annotator": [0, 1]}, r"annotator must have one entry per annotation, shape \(3,\), not \(2,\)"),
        ({"item": [[0, 0, 1]]}, r"item must have one entry per annotation, shape \(3,\), not \(1, 3\)"),
        ({"label": [0.5, 0, 1]}, "label must hold whole numbers, positions in labels, not values of type float64"),
        ({"label": ["no", "no", "yes"]}, "label must hold whole numbers"),
        ({"items": ("s1", " ", "s3")}, "items: name 2 is empty"),
        ({"annotators": ("ada", "ada")}, "annotators: 'ada' appears twice"),
        ({"annotators": ()}, "there are no annotators"),
        ({"gold": {"silence": "yes"}}, "gold: item 'silence' is not among the items; did you mean 'silent'"),
        (
            {"controls": {"s1": "may\nbe"}},
            r"controls: label 'may\\nbe' of item 's1' is not among the labels 'no', 'yes'",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(refuses, change, match):
    with refuses(DataError, match):
        AnnotationData(**{**FIELDS, **change})


def test_records_outside_the_declared_names_are_refused(refuses):
    with refuses(DataError, "label 'yes' is not among the declared labels: 'no', 'maybe'"):
        AnnotationData.from_records(RECORDS, labels=["no", "maybe"])
    with refuses(DataError, "item 's2' is not among the declared items: 's1'"):
        AnnotationData.from_records(RECORDS, items=["s1"])
    with refuses(DataError, "there is no annotation"):
        AnnotationData.from_records([])


def test_a_data_error_is_a_value_error_and_one_of_ours():
    assert issubclass(DataError, ValueError)
    assert issubclass(DataError, BayesannoError)


def test_gold_and_controls_are_placed_among_the_classes():
    data = AnnotationData(**{**FIELDS, "labels": ("no", "yes", "never")}, gold={"s1": "never"}, controls={"s2": "yes"})
    assert (data.classes, data.n_classes) == (("no", "yes", "never"), 3)
    assert data.gold_codes.tolist() == [2, -1, -1]
    assert data.control_codes.tolist() == [-1, 1, -1]


class WithUnsure(AnnotationData):
    """Annotations where "unsure" can be given but not be true, as are to come."""

    @property
    def classes(self):
        return tuple(label for label in self.labels if label != "unsure")


def test_an_answer_that_is_no_class_is_no_truth_either(refuses):
    """What is known of an item is about its classes, wherever the labels have others before them."""
    fields = {**FIELDS, "labels": ("unsure", "no", "yes")}
    data = WithUnsure(**fields, gold={"s1": "unsure", "s2": "yes"}, controls={"silent": "no"})
    assert (data.n_labels, data.n_classes, data.votes.shape) == (3, 2, (3, 3))
    assert data.gold_codes.tolist() == [-1, 1, -1]
    assert data.control_codes.tolist() == [-1, -1, 0]
    with refuses(DataError, "controls: label 'unsure' of item 's1' is not among the labels 'no', 'yes'"):
        WithUnsure(**fields, controls={"s1": "unsure"})


def test_labels_sort_as_numbers_if_all_or_all_but_one_are_numbers():
    assert sort_labels(["10", "9", "-1", "9"]) == ("-1", "9", "10")
    assert sort_labels(["10.0", "9.5", "+1", "0", "-1"]) == ("-1", "0", "+1", "9.5", "10.0")
    assert sort_labels(["10", "9", "none"]) == ("9", "10", "none")
    assert sort_labels(["10", "9", "none", "some"]) == ("10", "9", "none", "some")
    assert sort_labels(["1", "01"]) == ("01", "1")


@given(st.lists(st.text(max_size=4) | st.from_regex(r"-{0,2}[0-9]{1,30}", fullmatch=True)))
def test_sorting_labels_keeps_each_once_and_ignores_their_order(labels):
    in_order = sort_labels(labels)
    assert in_order == sort_labels(reversed(labels))
    assert len(in_order) == len(set(labels))
    assert set(in_order) == set(labels)
