"""The majority vote: what it is for, and its rule for ties."""

import numpy as np
import pytest

import bayesanno as ba


def vote_of(said, **known):
    records = [(item, who, label) for item, labels in said.items() for who, label in enumerate(labels.split())]
    return ba.majority_vote(ba.AnnotationData.from_records(records, **known)).set_index("item")


def test_a_tie_is_split_and_named_by_what_is_most_frequent_overall():
    said = {"s1": "no yes", "s2": "yes yes", "s3": "no maybe", "s4": "maybe no", "s5": "maybe maybe yes yes"}
    table = vote_of(said, gold={"s1": "no", "s2": "yes", "s3": "yes"})
    assert table["label"].tolist() == ["yes", "yes", "maybe", "maybe", "yes"]  # 5 yes, 4 maybe, 3 no
    assert table["tied"].tolist() == [True, False, True, True, True]
    assert table["share"].tolist() == [0.5, 1, 0.5, 0.5, 0.5]
    assert table["n_annotations"].tolist() == [2, 2, 2, 2, 4]
    np.testing.assert_equal(table["right"].to_numpy(), [0.5, 1, 0, np.nan, np.nan])


def test_labels_that_are_level_in_all_go_by_their_order():
    assert vote_of({"s1": "yes no", "s2": "maybe maybe"}, labels=["yes", "no", "maybe"])["label"].iloc[0] == "yes"


def test_a_control_is_taken_for_what_it_is():
    known = {"controls": {"s1": "no"}, "gold": {"s1": "no", "s2": "yes"}}
    table = vote_of({"s1": "yes yes", "s2": "yes"}, labels=["no", "yes"], **known)
    assert table["label"].tolist() == ["no", "yes"]
    assert table["share"].tolist() == [0, 1]
    assert table["right"].tolist() == [1, 1]


def test_the_vote_on_textual_entailment_is_what_papers_report(shared):
    table = ba.majority_vote(ba.read_annotations(shared / "data" / "rte.csv"))
    assert table["right"].mean() == pytest.approx(0.896875)
    assert table["tied"].sum() == 65
