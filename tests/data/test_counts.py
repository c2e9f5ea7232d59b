"""CountData: what it holds, and what it refuses."""

import pytest

from bayesanno._core.messages import DataError
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.counts import CountData

RECORDS = [
    ("s1", "ada", "yes"),
    ("s1", "bo", "maybe"),
    ("s1", "cy", "no"),
    ("s1", "ada", "yes"),
    ("s2", "ada", "maybe"),
]


@pytest.mark.parametrize(("positive", "successes"), [("yes", [0, 2, 0]), ("maybe", [0, 1, 1]), ("no", [0, 1, 0])])
def test_a_positive_label_is_counted_against_all_others(positive, successes):
    data = AnnotationData.from_records(RECORDS, items=["s0", "s1", "s2"])
    counts = CountData.from_annotations(data, positive=positive)
    assert (counts.items, counts.successes.tolist(), counts.trials.tolist()) == (data.items, successes, [0, 4, 1])


def test_the_positive_label_must_exist(refuses):
    with refuses(DataError, "positive label 'true' is not among the labels 'maybe', 'no', 'yes'"):
        CountData.from_annotations(AnnotationData.from_records(RECORDS), positive="true")


@pytest.mark.parametrize(
    ("successes", "trials", "match"),
    [
        ([1, 2], [3, 1], "item 'b' has 2 successes in 1 trials"),
        ([-1, 2], [3, 3], "successes of item 'a' is -1"),
        ([0, 1], [1, 1.5], "trials of item 'b' is 1.5"),
        ([0, 1], [1, float("nan")], "trials of item 'b' is nan"),
        (["0", "x"], [1, 1], "successes of item 'a' is 0"),
        ([0], [1, 1], r"successes must have one count per item, shape \(2,\), not \(1,\)"),
        ([0, 0], [0, 0], "no item has a trial"),
    ],
)
def test_counts_that_cannot_be_are_refused(refuses, successes, trials, match):
    with refuses(DataError, match):
        CountData(items=("a", "b"), successes=successes, trials=trials)
