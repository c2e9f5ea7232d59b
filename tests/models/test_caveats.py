"""What a model says of data beforehand, where a setting is known to fail on such data."""

import pytest

import bayesanno as ba
from bayesanno.models import ModelB


def labelled(n_labels):
    labels = [f"sense {number:02}" for number in range(n_labels)]
    records = [(f"line {i}", who, labels[i % n_labels]) for i in range(3) for who in ("ada", "bo", "cy")]
    return ba.AnnotationData.from_records(records, labels=labels)


@pytest.mark.parametrize(("n_labels", "strength", "enough"), [(20, 8.0, 38), (50, 20.0, 98)])
def test_many_labels_leave_model_bs_rows_a_prior_near_0(n_labels, strength, enough):
    data = labelled(n_labels)
    (found,) = ModelB(confusion_strength=strength).findings(data)
    assert found.code == "steep-prior"
    assert found.value == pytest.approx(strength * (1 - ModelB().confusion_accuracy) / (n_labels - 1))
    assert f"confusion_strength={enough}." in found.remedy
    assert not list(ModelB(confusion_strength=float(enough)).findings(data))


def test_ten_labels_are_not_too_many():
    assert not list(ModelB().findings(labelled(10)))
