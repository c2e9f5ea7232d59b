"""The majority vote: what it is for, and its rule for ties."""

import numpy as np

import bayesanno as ba
from bayesanno.agreement.vote import most_voted
from bayesanno.ground.errors import DataError


def test_a_tie_goes_to_the_label_that_is_most_frequent_overall():
    said = {"s1": "no yes", "s2": "yes yes", "s3": "no maybe", "s4": "maybe no", "s5": "maybe maybe yes yes"}
    records = [(item, who, label) for item, labels in said.items() for who, label in enumerate(labels.split())]
    table = ba.majority_vote(ba.AnnotationData.from_records(records)).set_index("item")
    assert table["label"].tolist() == ["yes", "yes", "maybe", "maybe", "yes"]  # 5 yes, 4 maybe, 3 no
    assert table["tied"].tolist() == [True, False, True, True, True]
    assert table["share"].tolist() == [0.5, 1, 0.5, 0.5, 0.5]
    assert table["n_annotations"].tolist() == [2, 2, 2, 2, 4]


def test_labels_that_are_level_in_all_go_by_their_order():
    assert most_voted(np.array([[0, 1, 1], [2, 1, 1]])).tolist() == [1, 0]


def test_a_control_is_taken_for_what_it_is():
    records = [("s1", "ada", "no"), ("s1", "bo", "no"), ("s2", "ada", "yes")]
    data = ba.AnnotationData.from_records(records, controls={"s1": "yes"}, gold={"s2": "yes"})
    table = ba.majority_vote(data)
    assert table["label"].tolist() == ["yes", "yes"]
    assert table["gold"].tolist() == ["", "yes"]


def test_the_vote_is_of_annotations(refuses):
    with refuses(DataError, r"majority_vote needs AnnotationData .*, not CountData"):
        ba.majority_vote(ba.CountData(items=("a",), successes=[1], trials=[2]))
