"""Labels that are answers and no classes: what data make of them, and what is refused."""

from dataclasses import replace

import pytest

from bayesanno import AnnotationData, CountData, MultiAnnotationData
from bayesanno._core.messages import DataError

RECORDS = [
    ("s1", "ada", "no"), ("s1", "bo", "unsure"), ("s1", "cy", "unsure"), ("s2", "ada", "yes"), ("s2", "bo", "yes"),
    ("s3", "cy", "unsure"),
]  # fmt: skip


def make(**more):
    return AnnotationData.from_records(RECORDS, **{"unsure": "unsure", **more})


def test_an_unsure_label_is_among_the_labels_last_and_is_no_class():
    data = make()
    assert (data.labels, data.classes, data.unsure) == (("no", "yes", "unsure"), ("no", "yes"), ("unsure",))
    assert (data.n_labels, data.n_classes, data.class_codes.tolist()) == (3, 2, [0, 1])
    numbers = [("a", "b", "10"), ("a", "c", "9"), ("a", "d", "skip")]
    assert AnnotationData.from_records(numbers, unsure=["skip"]).labels == ("9", "10", "skip")


def test_labels_may_say_where_an_unsure_one_stands():
    data = make(labels=["no", "unsure", "yes"])
    assert (data.labels, data.classes, data.class_codes.tolist()) == (("no", "unsure", "yes"), ("no", "yes"), [0, 2])
    assert make(labels=["yes", "no"]).labels == ("yes", "no", "unsure")


def test_unsure_answers_are_no_votes():
    data = make()
    assert data.votes.tolist() == [[1, 0, 2], [0, 2, 0], [0, 0, 1]]
    assert data.class_shares.tolist() == [[1, 0], [0, 1], [0.5, 0.5]]
    assert data.unsure_by_annotator.tolist() == [0, 1, 2]


def test_hash_is_that_of_before_unless_a_label_is_unsure():
    """What was fitted before has this hash in its file."""
    plain = AnnotationData.from_records([("s1", "ada", "yes"), ("s1", "bo", "no"), ("s2", "ada", "no")])
    assert plain.hash == "0342f455859f91a73ecb1f4836ce316d8838864fb0c32813c11c11461ebc9ba6"
    assert make().hash != AnnotationData.from_records(RECORDS, labels=make().labels).hash


def test_without_unsure_those_answers_were_never_given():
    data = make(labels=["no", "unsure", "yes"], gold={"s3": "yes"}, controls={"s1": "no"})
    sure = data.without_unsure()
    assert (sure.labels, sure.unsure, sure.items, sure.annotators) == (("no", "yes"), (), data.items, data.annotators)
    assert sure.votes.tolist() == [[1, 0], [0, 2], [0, 0]]
    assert sure.by_annotator.tolist() == [2, 1, 0]  # cy said nothing else
    assert (sure.gold, sure.controls) == (data.gold, data.controls)
    assert sure.without_unsure() is sure


def test_what_is_made_of_data_keeps_what_is_unsure():
    data = make()
    assert replace(data, gold={"s1": "no"}).unsure == ("unsure",)
    more = AnnotationData.from_records([*RECORDS, ("s3", "ada", "maybe")], unsure="unsure", gold={"s3": "maybe"})
    binary = more.binarise(positive="yes")
    assert (binary.labels, binary.unsure, binary.gold) == (("not yes", "yes", "unsure"), ("unsure",), {"s3": "not yes"})
    assert binary.votes.tolist() == [[1, 0, 2], [0, 2, 0], [1, 0, 1]]


def test_counts_leave_unsure_answers_out():
    counts = CountData.from_annotations(make(), positive="yes")
    assert (counts.successes.tolist(), counts.trials.tolist()) == ([0, 2, 0], [1, 2, 0])


@pytest.mark.parametrize("labels", [["no", "unsure", "yes"], ["unsure", "no", "yes"]])
def test_what_is_known_is_about_classes_wherever_they_stand(labels):
    data = make(labels=labels, gold={"s1": "no", "s2": "yes"}, controls={"s3": "no"})
    assert (data.gold_codes.tolist(), data.control_codes.tolist()) == ([0, 1, -1], [-1, -1, 0])
    assert data.class_shares.tolist() == [[1, 0], [0, 1], [0.5, 0.5]]


REFUSED = {
    "a typo": ({"unsure": "unsur"}, r"unsure: 'unsur' is not among the labels .*mean 'unsure'\?"),
    "one class": ({"unsure": ["unsure", "no"]}, "one class is left, 'yes'"),
    "no name": ({"unsure": ["unsure", " "]}, "unsure: a label is empty"),
    "gold": ({"gold": {"s1": "unsure"}}, "gold: item 's1'"),
    "controls": ({"controls": {"s1": "unsure"}}, "controls: item 's1'"),
}


@pytest.mark.parametrize(("change", "match"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_unsure_is_refused(change, match, refuses):
    with refuses(DataError, match):
        make(**change)


def test_no_dimension_takes_unsure_answers(refuses):
    sure = make().without_unsure()
    assert MultiAnnotationData(by_dimension={"focus": sure, "polarity": sure}).n_annotations == 6
    with refuses(DataError, "dimension 'focus' has unsure labels, 'unsure'"):
        MultiAnnotationData(by_dimension={"focus": make(), "polarity": sure})


def test_nothing_is_left_of_unsure_answers_alone(refuses):
    data = AnnotationData.from_records([("s1", "ada", "unsure")], labels=["no", "yes"], unsure="unsure")
    assert data.class_shares.tolist() == [[0.5, 0.5]]
    with refuses(DataError, "every annotation is 'unsure'"):
        data.without_unsure()
