"""The order of labels: who declared it, and what keeps it."""

from dataclasses import replace

import pandas as pd
import pytest

import bayesanno as ba
from bayesanno.analysis.grades import order_classes
from bayesanno.modeling.kinds import kind_of

RECORDS = [("s1", "ada", "no"), ("s1", "bo", "maybe"), ("s2", "ada", "yes"), ("s2", "bo", "yes")]
ORDER = ["no", "maybe", "yes"]
TABLE = pd.DataFrame(RECORDS, columns=["item", "annotator", "label"])


def again(data):
    """Data as a fit gives them back."""
    return kind_of(data).from_groups(kind_of(data).to_groups(data))


@pytest.mark.parametrize(
    ("labels", "known"),
    [
        (["no", "maybe", "yes"], False),
        (["1", "2", "10"], True),
        (["0.5", "1", "1.5"], True),
        (["1e3", "5", "7"], False),  # sorted as text, since few write grades so
        (["1", "1.0", "2"], False),  # two names of one number
        (["Very good", "bad", "good"], True),
        (["low", "medium", "HIGH"], True),
        (["low", "medium", "good"], False),  # words of two scales
        (["good", "Good", "bad"], False),  # two spellings of one word
    ],
)
def test_the_order_is_known_if_it_was_declared_or_labels_are_numbers_or_words_of_a_scale(labels, known):
    records = [("s1", who, label) for who, label in zip("abc", labels, strict=True)]
    assert ba.AnnotationData.from_records(records).labels_are_ordered is known
    declared = ba.AnnotationData.from_records(records, labels=labels)
    assert declared.labels_are_ordered
    assert declared.labels == tuple(labels)


def test_words_of_a_known_scale_are_in_its_order_unless_another_is_declared():
    said = [("s1", "ada", "good"), ("s1", "bo", "bad"), ("s2", "ada", "Very good"), ("s2", "bo", "n/a")]
    data = ba.AnnotationData.from_records(said, unsure="n/a")
    assert data.labels == ("bad", "good", "Very good", "n/a")
    assert "labels bad < good < Very good; unsure: n/a" in data.describe()
    assert data.in_order() is data
    turned = ba.AnnotationData.from_records(said[:3], labels=["Very good", "good", "bad"])
    assert turned.in_order().labels == ("Very good", "good", "bad")
    assert "labels Very good, good, bad" in turned.describe()
    assert [order_classes(one) for one in (data, turned)] == [("bad", "good", "Very good"), turned.labels]


def test_every_reader_keeps_what_was_declared():
    assert not ba.read_annotations(TABLE).labels_are_ordered
    assert ba.read_annotations(TABLE, labels=ORDER).labels_are_ordered
    table = TABLE.rename(columns={"label": "focus"}).assign(polarity=TABLE["label"])
    several = ba.read_multi_annotations(table, ["focus", "polarity"], labels={"polarity": ORDER})
    for data in (several, again(several)):
        assert [part.labels_are_ordered for part in data.by_dimension.values()] == [False, True]
    sizes = {"items": 3, "annotators": 2, "per_item": 2}
    assert ba.make_design(labels=ORDER, **sizes).order_declared
    assert ba.simulation.make_loop_design(items=3, annotators=3, labels=ORDER).order_declared


def test_data_made_from_data_keep_the_order_and_the_hash_ignores_it():
    data = ba.read_annotations(TABLE, labels=[*ORDER, "skip"], unsure="skip")
    for made in (data.without_unsure(), replace(data, controls={"s1": "no"}), again(data)):
        assert made.order_declared
    assert data.hash == replace(data, order_declared=False).hash
    assert not again(replace(data, order_declared=False)).order_declared
    assert not data.binarise(positive="yes").order_declared  # "not yes" is no grade
    two = ba.AnnotationData.from_records(RECORDS[2:], labels=["no", "yes"])
    assert two.binarise(positive="yes").order_declared
