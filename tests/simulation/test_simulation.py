"""Simulated annotations: the design asked for, the parameters given, and answers that follow the process."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
import xarray as xr

import bayesanno as ba
from bayesanno._core.messages import DataError, ModelError
from bayesanno.data.designs import make_design
from bayesanno.io.datasets import load_named
from bayesanno.io.write import write_table
from tests.io.crowd import TWICE, make_crowd

pytestmark = pytest.mark.usefixtures("by_numpy")  # few draws are made

P_VALUE = 1e-4  # below it, frequencies do not come from the probabilities they should come from


# --------------------------------------------------------------------------------------------------------- design


@pytest.mark.parametrize("per_item", [3, (3, 7), (0, 1)])
def test_a_design_has_so_many_annotations_per_item_and_asks_nobody_twice(per_item):
    design = make_design(items=200, annotators=8, labels=3, per_item=per_item, random_seed=1)
    least, most = (per_item, per_item) if isinstance(per_item, int) else per_item
    each = np.bincount(design.item, minlength=200)
    assert set(each) == set(range(least, most + 1))
    assert len(set(zip(design.item.tolist(), design.annotator.tolist(), strict=True))) == design.n_annotations
    assert design.items == tuple(f"i{number}" for number in range(1, 201))
    assert design.annotators == tuple(f"a{number}" for number in range(1, 9))
    assert design.labels == ("0", "1", "2")
    assert set(design.label) == {0}


def test_a_design_is_balanced_over_annotators_and_items():
    design = make_design(items=2000, annotators=8, labels=2, per_item=(1, 4), random_seed=2)
    assert scipy.stats.chisquare(np.bincount(design.annotator)).pvalue > P_VALUE
    assert scipy.stats.chisquare(np.bincount(np.bincount(design.item))[1:]).pvalue > P_VALUE


def test_a_design_takes_names_and_a_seed():
    def names(seed):
        return make_design(items=["x", "y"], annotators=("ada", "bo", "cy"), labels=["no", "yes"], per_item=2,
                           random_seed=seed)  # fmt: skip

    assert (names(1).items, names(1).annotators, names(1).labels) == (("x", "y"), ("ada", "bo", "cy"), ("no", "yes"))
    assert names(1).hash == names(1).hash
    assert len({names(seed).hash for seed in range(20)}) > 1


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"per_item": 5}, "each item can have 0 to 4 annotations"),
        ({"per_item": (3, 2)}, r"per_item is \(3, 2\)"),
        ({"per_item": 0}, "there is no annotation"),
        ({"labels": 1}, "only one label, '0'"),
        ({"annotators": ["ada", "ada", "bo", "cy"]}, "annotators: 'ada' appears twice"),
        ({"items": 0}, "item"),
    ],
)
def test_a_design_that_cannot_be_is_refused(refuses, change, match):
    with refuses(DataError, match):
        make_design(**({"items": 5, "annotators": 4, "labels": 2, "per_item": 2} | change))


# ------------------------------------------------------------------------------------------------------- simulate

CONFUSION = np.array(
    [[[0.7, 0.2, 0.1], [0.05, 0.9, 0.05], [0.3, 0.1, 0.6]], [[0.4, 0.3, 0.3], [0.1, 0.2, 0.7], [1, 0, 0]]]
)
PREVALENCE = np.array([0.5, 0.2, 0.3])


def test_simulated_answers_follow_the_given_parameters():
    design = make_design(items=6000, annotators=2, labels=3, per_item=(1, 2), random_seed=1)
    given = {"prevalence": PREVALENCE, "confusion": CONFUSION}
    data, truth = ba.simulate("model_b", design, parameters=given, random_seed=2)
    assert {name: values.dims for name, values in truth.data_vars.items()} == {
        "prevalence": ("true_class",), "confusion": ("annotator", "true_class", "response"),
    }  # fmt: skip
    np.testing.assert_array_equal(truth["confusion"], CONFUSION)
    assert truth["confusion"].sel(annotator="a2", true_class="1", response="2") == 0.7
    counts = np.zeros_like(CONFUSION)
    np.add.at(counts, (data.annotator, data.gold_codes[data.item], data.label), 1)
    expected = counts.sum(axis=2, keepdims=True) * CONFUSION
    away = np.abs(counts - expected) / np.sqrt(np.maximum(expected * (1 - CONFUSION), 1e-9))
    assert away.max() < 4  # standard deviations
    of_class = np.bincount(data.gold_codes)
    assert scipy.stats.chisquare(of_class, PREVALENCE * of_class.sum()).pvalue > P_VALUE


def test_parameters_that_are_not_given_are_drawn_and_a_seed_repeats_them():
    design = make_design(items=30, annotators=4, labels=2, per_item=3, random_seed=1)
    given = {"competence": [0.9, 0.9, 0.1, 0.5]}
    first, again, other = (ba.simulate("mace", design, parameters=given, random_seed=seed) for seed in (1, 1, 2))
    assert first[0].hash == again[0].hash != other[0].hash
    assert first[0].gold == again[0].gold
    xr.testing.assert_identical(first[1], again[1])
    np.testing.assert_array_equal(first[1]["competence"], other[1]["competence"])
    assert not np.array_equal(first[1]["strategy"], other[1]["strategy"])
    np.testing.assert_allclose(first[1]["strategy"].sum("response"), 1)


def test_a_perfect_annotator_says_the_truth_and_controls_hold():
    design = make_design(items=80, annotators=3, labels=["no", "yes"], per_item=2, random_seed=1)
    controls = {f"i{number}": "yes" if number % 3 else "no" for number in range(1, 41)}
    known = replace(design, controls=controls)
    data, _ = ba.simulate("mace", known, parameters={"competence": np.ones(3)}, random_seed=1)
    assert {item: data.gold[item] for item in controls} == controls
    assert {data.gold[item] for item in data.items if item not in controls} == {"no", "yes"}
    np.testing.assert_array_equal(data.label, data.gold_codes[data.item])


@pytest.mark.parametrize(
    ("model", "parameters", "match"),
    [
        ("mace", {"skill": [1, 1]}, "mace has no parameter 'skill'"),
        ("mace", {"competence": [1, 1, 1]}, r"parameter competence has shape \(3,\)"),
        ("model_b", {"confusion": np.eye(2)}, r"confusion has shape \(2, 2\): .* it must be \(2, 2, 2\)"),
        ("maze", {}, "did you mean 'mace'"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(refuses, model, parameters, match):
    design = make_design(items=4, annotators=2, labels=2, per_item=2, random_seed=1)
    with refuses(ModelError, match):
        ba.simulate(model, design, parameters=parameters)


def test_the_file_that_ships_is_what_its_script_makes(tmp_path):
    made, topics = make_crowd()[0], ba.read_annotations("@crowd")
    write_table(made.to_frame(), tmp_path / "crowd.csv")
    assert (tmp_path / "crowd.csv").read_bytes() == load_named("@crowd").read_bytes()
    assert (topics.hash, topics.gold) == (made.hash, made.gold)
    pairs = Counter(zip(topics.item.tolist(), topics.annotator.tolist(), strict=True))
    assert {topics.annotators[annotator] for (_, annotator), n in pairs.items() if n > 1} == {TWICE}


# ---------------------------------------------------------------------------------------------------------- the pools


@pytest.mark.parametrize("strategy", ["random", "first"])
def test_a_pool_is_of_good_and_of_adverse_annotators(strategy):
    data = ba.simulation.simulate_pool(
        good=6, adverse=14, strategy=strategy, items=4_000, labels=4, per_item=10, accuracy=0.9, random_seed=5
    )
    assert set(np.bincount(data.item)) == {10}
    assert data.annotators[5:7] == ("good6", "adverse1")
    right = data.label == data.gold_codes[data.item]
    by_annotator = np.bincount(data.annotator, weights=right) / np.bincount(data.annotator)
    np.testing.assert_allclose(by_annotator[:6], 0.9, atol=0.03)  # of 2,000 answers each: five standard errors
    np.testing.assert_allclose(by_annotator[6:], 0.25, atol=0.05)
    said = np.bincount(data.label[data.annotator >= 6], minlength=4) / (data.annotator >= 6).sum()
    np.testing.assert_allclose(said, [1, 0, 0, 0] if strategy == "first" else 0.25, atol=0.02)
    slips = data.label[(data.annotator < 6) & ~right] - data.gold_codes[data.item][(data.annotator < 6) & ~right]
    np.testing.assert_allclose(np.bincount(slips % 4)[1:] / slips.size, 1 / 3, atol=0.07)


@pytest.mark.parametrize("wrong", [{"good": -1}, {"strategy": "lazy"}, {"accuracy": 1.0}])
def test_impossible_pools_are_refused(refuses, wrong):
    with refuses(DataError, "is -1|'lazy': choose one of|is 1.0"):
        ba.simulation.simulate_pool(**{"good": 5, "adverse": 15, **wrong})
