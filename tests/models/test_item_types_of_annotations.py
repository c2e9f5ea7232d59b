"""Models of annotations whose items are of types: what data they take, and what they find in simulated ones."""

import json

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.errors import DataError, ModelError
from bayesanno.cli.files import write_simulation
from bayesanno.cli.for_model import read_for
from bayesanno.cli.options import DataOptions
from bayesanno.modeling.registry import get_model
from bayesanno.models.diligent_lazy_annotators import DiligentLazyAnnotators
from bayesanno.simulation.designs import make_design
from tests.models.contract import CONTROLLED, TINY, TWO_LABELS
from tests.samples import SETTINGS


def within(fit, truth, names, sds=4.5):
    """Whether every true value is within so many posterior standard deviations of the posterior mean."""
    draws = fit["posterior"].to_dataset()[list(names)]
    mean, sd = draws.mean(("chain", "draw")), draws.std(("chain", "draw"))
    return all(bool((abs(mean[name] - truth[name]) < sds * sd[name]).all()) for name in names)


# ------------------------------------------------------------------------------------------------ easy and hard items


def test_easy_and_hard_items_are_recovered():
    design = make_design(items=600, annotators=4, labels=["a", "b", "c"], per_item=4, random_seed=1)
    coin = [[0.5, 0.3, 0.2], [0.2, 0.4, 0.4], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2]]
    given = {"hard_fraction": 0.3, "coin": coin, "easy_prevalence": [0.5, 0.3, 0.2]}
    data, truth = ba.simulate("easy_hard", design, parameters=given, random_seed=2)
    assert data.gold == {}
    found = ba.fit("easy_hard", data, **SETTINGS)
    assert within(found, truth, given)
    hard = truth["state"].values == "hard"
    agreed = (data.votes > 0).sum(axis=1) == 1
    level = ba.noise.noise_posterior(found, ci_prob=0.99)
    assert 0 < (hard & agreed).sum() <= level.n_noise < 4 * (hard & agreed).sum()
    assert level.t0 >= hard.sum()


def test_a_simulation_writes_a_number_without_dims(tmp_path):
    design = make_design(items=5, annotators=2, labels=["no", "yes"], per_item=2, random_seed=1)
    data, truth = ba.simulate("easy_hard", design, parameters={"hard_fraction": 0.25}, random_seed=2)
    _, beside = write_simulation(get_model("easy_hard"), data, truth, tmp_path / "easy.csv", seed=2)
    made_by = json.loads(beside.read_text())["parameters"]
    assert made_by["hard_fraction"] == {"dims": [], "coords": {}, "values": 0.25}
    assert set(made_by["state"]["values"]) <= {"easy: no", "easy: yes", "hard"}


# ------------------------------------------------------------------------------------------- who is lazy


@pytest.fixture(scope="module")
def lazy_crowd():
    """600 items, 30 annotators of whom 6 never read the items."""
    design = make_design(items=600, annotators=30, labels=["no", "yes"], per_item=8, random_seed=1)
    diligence = np.where(np.arange(30) < 6, 0.0, 0.97)
    given = {"weight": [0.6, 0.4], "rate": [0.1, 0.85], "diligence": diligence, "lazy_rate": 0.7}
    return ba.simulate("diligent_lazy_annotators", design, parameters=given, random_seed=5)


def test_the_lazy_are_found(lazy_crowd):
    data, truth = lazy_crowd
    found = ba.fit("diligent_lazy_annotators", data, **SETTINGS)
    assert within(found, truth, ["weight", "rate", "lazy_rate"])
    table = ba.annotator_table(found)
    assert (table["p_chance"][:6] > 0.3).all()
    assert (table["p_chance"][6:] < 0.01).all()
    draws = found["posterior"]["diligence"]
    assert table["p_chance"].tolist() == (draws <= 0.1).mean(("chain", "draw")).values.tolist()
    rates = found["posterior"]["rate"].values
    assert (np.diff(rates, axis=-1) > 0).all()
    assert ba.annotator_table(found)["competence_mean"][:6].max() < 0.3
    assert ba.type_table(found)["item_type"].tolist() == ["type 1", "type 2"]
    types = (ba.label_table(found)["item_type"] == truth["state"].values).mean()
    assert types > 0.95


def test_three_labels_are_refused_with_what_to_do(refuses):
    with refuses(DataError, "takes two labels, not 3: 'no', 'perhaps', 'yes'; compare .* data.binarise\\(positive="):
        DiligentLazyAnnotators().build(TINY)
    DiligentLazyAnnotators().build(TINY.binarise(positive="yes"))


def test_controls_are_refused(refuses):
    controlled = CONTROLLED.binarise(positive="yes")
    assert controlled.controls == {"s1": "yes", "s4": "not yes", "s5": "not yes"}
    with refuses(DataError, "controls are ignored by diligent_lazy_annotators: remove them"):
        DiligentLazyAnnotators().build(controlled)


def test_one_type_is_refused(refuses):
    with refuses(ModelError, "types is 1: it must be a number > 1"):
        DiligentLazyAnnotators(types=1)


# ------------------------------------------------------------------------------------------------ two labels


def test_one_label_against_all_others():
    gold = {"s1": "no", "s2": "yes", "s3": "perhaps", "s4": "never said"}
    data = ba.AnnotationData.from_records(
        [("s1", "ada", "no"), ("s2", "bo", "yes"), ("s3", "cy", "perhaps"), ("s4", "cy", "no")], gold=gold
    )
    two = data.binarise(positive="no")
    assert two.labels == ("not no", "no")
    assert two.label.tolist() == [1, 0, 0, 1]
    assert two.gold == {"s1": "no", "s2": "not no", "s3": "not no", "s4": "never said"}
    assert (two.items, two.annotators) == (data.items, data.annotators)


def test_of_two_labels_the_positive_one_comes_last():
    tiny = TWO_LABELS.controlled
    turned = tiny.binarise(positive="no")
    assert turned.labels == ("yes", "no")
    assert turned.label.tolist() == (1 - tiny.label).tolist()
    assert turned.controls == tiny.controls
    assert turned.binarise(positive="yes").hash == tiny.hash


def test_a_positive_label_that_nobody_could_say_is_refused(refuses):
    with refuses(DataError, "positive label 'maybe' is not among the labels 'no', 'perhaps', 'yes'"):
        TINY.binarise(positive="maybe")


def test_the_command_line_sets_one_label_against_all_others():
    data, described = read_for(DiligentLazyAnnotators(), "@crowd", DataOptions(positive="other"))
    assert data.labels == ("not other", "other")
    assert described.endswith("25 annotators; labels not other, other")
