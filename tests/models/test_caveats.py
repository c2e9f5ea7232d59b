"""What a model says of data beforehand, where a setting is known to fail on such data."""

import pytest

import bayesanno as ba
from bayesanno.models import ModelA, ModelB
from tests.samples import tiny_data


def labelled(n_labels):
    labels = [f"sense {number:02}" for number in range(n_labels)]
    records = [(f"line {i}", who, labels[i % n_labels]) for i in range(3) for who in ("ada", "bo", "cy")]
    return ba.AnnotationData.from_records(records, labels=labels)


def test_two_labels_mirror_the_accuracies_of_model_a():
    (said,) = ModelA().caveats(tiny_data())
    assert "a and 1 - a explain the answers equally well" in said
    assert ModelA().caveats(tiny_data(controls={"s1": "yes"})) == []
    assert ModelA().caveats(labelled(3)) == []


@pytest.mark.parametrize(("n_labels", "strength", "enough"), [(20, 8.0, 38), (50, 8.0, 98), (50, 20.0, 98)])
def test_many_labels_leave_model_bs_rows_a_prior_near_0(n_labels, strength, enough):
    data = labelled(n_labels)
    (said,) = ModelB(confusion_strength=strength).caveats(data)
    assert said.startswith(f"with {n_labels} labels, confusion_strength={strength:g} leaves each wrong response")
    assert f"set confusion_strength={enough}," in said
    assert ModelB(confusion_strength=float(enough)).caveats(data) == []


def test_ten_labels_are_not_too_many():
    assert ModelB().caveats(labelled(10)) == []
