"""Models of annotations whose items are of types: what data they take, and what a simulation of them writes."""

import json

import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError, ModelError
from bayesanno.cli.files import write_simulation
from bayesanno.cli.for_model import read_for
from bayesanno.cli.options import DataOptions
from bayesanno.data.designs import make_design
from bayesanno.modeling.registry import get_model
from bayesanno.models.diligent_lazy_annotators import DiligentLazyAnnotators
from tests.models.contract import CONTROLLED, TINY, TWO_LABELS


def test_a_simulation_writes_a_number_without_dims(tmp_path):
    design = make_design(items=5, annotators=2, labels=["no", "yes"], per_item=2, random_seed=1)
    data, truth = ba.simulate("easy_hard", design, parameters={"hard_fraction": 0.25}, random_seed=2)
    _, beside = write_simulation(get_model("easy_hard"), data, truth, tmp_path / "easy.csv", seed=2)
    made_by = json.loads(beside.read_text())["parameters"]
    assert made_by["hard_fraction"] == {"dims": [], "coords": {}, "values": 0.25}
    assert set(made_by["state"]["values"]) <= {"easy: no", "easy: yes", "hard"}


@pytest.mark.parametrize(
    ("data", "fields", "error", "match"),
    [
        (TINY, {}, DataError, "two labels, not 3: .* data.binarise\\(positive="),
        (CONTROLLED.binarise(positive="yes"), {}, DataError, "controls are ignored by diligent_lazy_annotators"),
        (TINY.binarise(positive="yes"), {"types": 1}, ModelError, "types is 1: it must be a number > 1"),
    ],
    ids=["three labels", "controls", "one type"],
)
def test_what_lazy_annotators_do_not_take_is_refused(data, fields, error, match, refuses):
    with refuses(error, match):
        DiligentLazyAnnotators(**fields).build(data)


# ------------------------------------------------------------------------------------------------ two labels


def test_one_label_against_all_others(refuses):
    gold = {"s1": "no", "s2": "yes", "s3": "perhaps", "s4": "never said"}
    data = ba.AnnotationData.from_records(
        [("s1", "ada", "no"), ("s2", "bo", "yes"), ("s3", "cy", "perhaps"), ("s4", "cy", "no")], gold=gold
    )
    two = data.binarise(positive="no")
    assert two.labels == ("not no", "no")
    assert two.label.tolist() == [1, 0, 0, 1]
    assert two.gold == {"s1": "no", "s2": "not no", "s3": "not no", "s4": "never said"}
    assert CONTROLLED.binarise(positive="yes").controls == {"s1": "yes", "s4": "not yes", "s5": "not yes"}
    with refuses(DataError, "positive label 'maybe' is not among"):
        TINY.binarise(positive="maybe")


def test_of_two_labels_the_positive_one_comes_last():
    tiny = TWO_LABELS.controlled
    turned = tiny.binarise(positive="no")
    assert turned.labels == ("yes", "no")
    assert turned.label.tolist() == (1 - tiny.label).tolist()
    assert turned.controls == tiny.controls
    assert turned.binarise(positive="yes").hash == tiny.hash


def test_the_command_line_sets_one_label_against_all_others():
    data, described = read_for(DiligentLazyAnnotators(), "@crowd", DataOptions(positive="other"))
    assert data.labels == ("not other", "other")
    assert described.endswith("25 annotators; labels not other, other")
