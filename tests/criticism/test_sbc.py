"""Simulation-based calibration: what ranks mean, that a wrong model is found out, that every simulation is there."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from scipy.stats import chisquare

import bayesanno as ba
from bayesanno._core.messages import FitError
from bayesanno.criticism import sbc as module
from bayesanno.models.label_usage import LabelUsage
from bayesanno.simulation.simulate import Simulator
from tests.models.contract import broken
from tests.samples import bounds_of, is_covered

DESIGN = ba.make_design(items=12, annotators=2, labels=3, per_item=2, random_seed=1)
MODEL = LabelUsage(centre="even")
SHORT = {"draws": 60, "tune": 200, "chains": 2, "initvals": "vote", "progressbar": False}


def test_simulations_are_of_the_model_and_the_seed():
    simulator = Simulator(MODEL, DESIGN)
    data, truth, _ = simulator.draw(3)
    again, same, _ = simulator.draw(3)
    assert data.hash == again.hash != simulator.draw(4)[0].hash
    xr.testing.assert_equal(truth, same)
    usage = np.mean([simulator.draw(seed)[1]["usage"].values for seed in range(100)], axis=0)
    np.testing.assert_allclose(usage, 1 / 3, atol=0.07)


def test_ranks_are_of_the_truth_among_draws_and_items_are_kept():
    design, settings = replace(DESIGN, controls={"i2": "1"}), {"method": "vb"}
    ranks = ba.sbc("model_b", design, simulations=2, random_seed=1, progressbar=False, **settings)
    assert ranks.attrs["ranked"] == ["confusion", "prevalence", "accuracy", "log_likelihood"]
    assert ranks["confusion"].dims == ("simulation", "annotator", "true_class", "response")
    for name in ranks.attrs["ranked"]:
        assert (ranks[name].values.min() >= 0, ranks[name].values.max() <= 99) == (True, True)
    again = module.rank_one(1, ba.models.ModelB(), design, 1, settings)
    xr.testing.assert_equal(again, ranks.isel(simulation=1, drop=True))
    assert ranks["probability"].dims == ("simulation", "item", "true_class")
    assert ranks["item"].values.tolist() == [item for item in DESIGN.items if item != "i2"]  # a control is left out
    np.testing.assert_allclose(ranks["probability"].sum("true_class"), 1, rtol=1e-6)
    assert ba.sbc_table(ranks, of="labels")["n"].sum() == 22
    of_data, of_fit, _ = (int(one) for one in np.random.SeedSequence([1, 1]).generate_state(3))
    data, truth, state = Simulator(ba.models.ModelB(), design).draw(of_data)
    free = [data.items.index(item) for item in ranks["item"].values]
    assert ranks["state"].isel(simulation=1).values.tolist() == state[free].tolist()
    own = np.einsum("ajj,j->a", truth["confusion"].values, truth["prevalence"].values)
    np.testing.assert_allclose(truth["accuracy"], own)  # what follows from parameters is of the same draw
    fit = ba.fit("model_b", data, random_seed=of_fit, relabel=False, check=False, progressbar=False, **settings)
    draws = fit["posterior"]["accuracy"].transpose("annotator", "chain", "draw").values.reshape(2, -1)
    spaced = draws[:, np.linspace(0, draws.shape[1] - 1, 99).round().astype(int)]
    below = (spaced < truth["accuracy"].values[:, None]).sum(axis=1)
    assert ranks["accuracy"].isel(simulation=1).values.tolist() == below.tolist()


def test_exchangeable_classes_are_ranked_under_names_at_random():
    """Each draw under its own; all that has classes goes with them, and what follows is computed again."""
    model = ba.models.ModelB(confusion_accuracy=1 / 3)
    data, _, _ = Simulator(model, DESIGN).draw(3)
    settings = {"method": "vb", "draws": 200, "random_seed": 1, "relabel": False, "progressbar": False}
    draws = module._fit(model, data, settings)[0].posterior
    named = module._name_at_random(draws, model.build(data), np.random.default_rng(2))
    assert set(named.data_vars) == set(draws.data_vars)
    own, other = (one["prevalence"].transpose("chain", "draw", ...).values.reshape(-1, 3) for one in (draws, named))
    where = (other[:, :, None] == own[:, None]).argmax(axis=2)  # (sample, true_class): the class that is called so
    assert (np.sort(where, axis=1) == np.arange(3)).all()
    _, times = np.unique(where, axis=0, return_counts=True)
    assert times.size == 6
    assert chisquare(times).pvalue > 1e-3
    dims = ("chain", "draw", "annotator", "true_class", "response")
    own, other = (one["confusion"].transpose(*dims).values.reshape(-1, 2, 3, 3) for one in (draws, named))
    np.testing.assert_array_equal(other, np.take_along_axis(own, where[:, None, :, None], axis=2))
    right = (named["confusion"] * xr.DataArray(np.eye(3), dims=("true_class", "response"))).sum("response")
    np.testing.assert_allclose(named["accuracy"], (right * named["prevalence"]).sum("true_class"))
    assert not np.allclose(named["accuracy"], draws["accuracy"])


def test_only_exchangeable_classes_are_named_anew(monkeypatch):
    """What a fit says under the names of the vote is no posterior where all names are alike; elsewhere it is."""
    asked = []
    monkeypatch.setattr(module, "_name_at_random", lambda draws, *_: asked.append(1) or draws)
    settings = {"simulations": 1, "random_seed": 1, "method": "vb", "progressbar": False}
    exchangeable = ba.models.ModelB(confusion_accuracy=1 / 3)
    alike = ba.sbc(exchangeable, DESIGN, **settings)
    assert len(asked) == 1
    np.testing.assert_allclose(alike["probability"], 1 / 3, rtol=1e-6)
    controlled = replace(DESIGN, controls={"i2": "1"})  # names a class
    for model, design in (("model_b", DESIGN), (exchangeable, controlled)):
        assert np.ptp(ba.sbc(model, design, **settings)["probability"].values) > 0.3
    assert len(asked) == 1


def test_a_study_is_whole_or_none(monkeypatch):
    monkeypatch.setattr(module, "run_all", lambda *_, **__: iter([]))
    with pytest.raises(FitError, match="0 of 2 simulations are complete"):
        ba.sbc(MODEL, DESIGN, simulations=2, **SHORT)


def assert_calibrated(ranks, level):
    """Of parameters ranks and intervals, and of items the probabilities of labels; a sound study fails with `level`."""
    assert ba.sbc_table(ranks)["p_adjusted"].min() > level
    ci_prob = 1 - level / (2 * len(ranks.attrs["ranked"]))
    assert is_covered(ba.sbc_table(ranks, of="coverage", ci_prob=ci_prob), "level").all()
    if "probability" in ranks:
        assert is_covered(ba.sbc_table(ranks, of="labels", bins=10, ci_prob=1 - level / 10), "predicted").all()


def with_another_prior(entry):
    """The same model, but what it simulates comes from more extreme habits, or more noise, than its prior says."""

    def generate(self, design, p):
        values = {name: p[name] for name in p}
        if "usage" in values:
            values["usage"] = p.usage**3 / (p.usage**3).sum(axis=1, keepdims=True)
        elif "sd" in values:
            values["sd"] = 2 * p.sd
        else:
            values["habit"] = 3 * p.habit
        return type(entry).generate(self, design, type(p)(values))

    return broken(entry, generate=generate)


LABELS = ba.make_design(items=30, annotators=4, labels=3, per_item=3, random_seed=1)
COUNTS = ba.simulation.make_count_design(items=60, per_item=10)
STUDIES = [
    (MODEL, LABELS),
    (ba.models.OneCoin(), LABELS),
    (ba.models.ModelB(), LABELS),
    (ba.models.PooledDawidSkene(), LABELS),
    (ba.models.ClassConditional(), LABELS),
    (ba.models.HierarchicalDawidSkene(), LABELS),
    (ba.models.MACE(), LABELS),
    (ba.models.MACE(competence_prior="learnt"), LABELS),
    (ba.models.ModelA(frequency="shared"), LABELS),
    (ba.models.EasyHard(), LABELS),
    (ba.models.ItemDifficulty(), LABELS),
    (ba.models.ItemDifficulty(habits=False), LABELS),
    (ba.models.SharedErrors(), LABELS),
    (ba.models.OrdinalDawidSkene(), LABELS),
    (ba.models.BinomialMixture(types=2), COUNTS),
    (ba.models.DiligentLazy(known=True), COUNTS),
]
SETTINGS = {"simulations": 200, "random_seed": 1, "draws": 250, "tune": 400, "progressbar": False}
FEWER = {"simulations": 60, "random_seed": 1, "draws": 150, "tune": 300, "chains": 2, "progressbar": False}
LEVEL = 0.01 / len(STUDIES)  # of a model: in one of a hundred runs of all these studies a sound one would fail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "design"), STUDIES, ids=[f"{number}-{model.name}" for number, (model, _) in enumerate(STUDIES, 1)]
)
def test_models_are_calibrated(model, design):
    assert_calibrated(ba.sbc(model, design, **SETTINGS), LEVEL)


@pytest.mark.slow
def test_exchangeable_classes_are_calibrated_by_chains_that_stay():
    """Of data that hold chains in the naming of the vote: ranked as drawn, 94% intervals hold 81% of accuracies."""
    design = ba.make_design(items=60, annotators=6, labels=3, per_item=6, random_seed=1)
    model = ba.models.ModelB(confusion_accuracy=1 / 3, confusion_strength=3)
    settings = {"draws": 100, "tune": 200, "chains": 2, "initvals": "vote", "progressbar": False}
    ranks = ba.sbc(model, design, simulations=60, random_seed=1, **settings)
    assert ba.sbc_table(ranks)["p_adjusted"].min() > 0.01
    assert is_covered(ba.sbc_table(ranks, of="coverage", ci_prob=0.999), "level").all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "name", "settings"),
    [
        (MODEL, "usage", SETTINGS),
        (ba.models.ItemDifficulty(), "log_likelihood", SETTINGS),
        (ba.models.SharedErrors(), "log_likelihood", SETTINGS),
        (ba.models.OrdinalDawidSkene(), "sd", FEWER),
    ],
)
def test_a_wrong_model_is_found_out(model, name, settings):
    ranks = ba.sbc(with_another_prior(model), LABELS, **settings)
    assert ba.sbc_table(ranks)["p_adjusted"].min() < LEVEL / 100
    coverage = ba.sbc_table(ranks, of="coverage", ci_prob=1 - LEVEL)
    held = coverage[coverage["variable"] == name]
    assert (bounds_of(held)["high"] < held["level"]).all()


@pytest.mark.slow
def test_an_approximation_is_found_out():
    ranks = ba.sbc("model_b", DESIGN, simulations=200, random_seed=1, method="vb", progressbar=False)
    prevalence = ba.sbc_table(ranks, of="coverage", ci_prob=1 - LEVEL).query("variable == 'prevalence'")
    assert (bounds_of(prevalence)["high"] < prevalence["level"]).all()  # variational Bayes is too sure of itself
    labels = ba.sbc_table(ranks, of="labels", ci_prob=1 - LEVEL)
    assert bounds_of(labels).iloc[-1]["high"] < labels.iloc[-1]["predicted"]  # and of the labels
