"""Simulation-based calibration: what ranks mean, that a wrong model is found out, that every simulation is there."""

import numpy as np
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno.criticism import sbc as module
from bayesanno.ground.errors import FitError
from bayesanno.models.label_usage import LabelUsage
from bayesanno.simulation.simulate import Simulator
from tests.models.contract import broken

DESIGN = ba.make_design(items=12, annotators=2, labels=3, per_item=2, random_seed=1)
MODEL = LabelUsage(centre="even")
SHORT = {"draws": 60, "tune": 200, "chains": 2, "initvals": "vote", "progressbar": False}


def made_up(ranks):
    n = len(ranks)
    flags = {
        "warned": ("simulation", np.zeros(n, dtype=bool)),
        "several_modes": ("simulation", np.zeros(n, dtype=bool)),
    }
    return xr.Dataset({"usage": (("simulation", "annotator"), ranks), **flags}, coords={"annotator": ["ada", "bo"]})


def test_uniform_ranks_pass_and_others_do_not(rng):
    n = 200
    right = rng.integers(100, size=n)
    narrow = np.where(rng.random(n) < 0.5, rng.integers(25, size=n), rng.integers(75, 100, size=n))
    table = ba.sbc_table(made_up(np.stack([right, narrow], axis=1))).set_index("parameter")
    assert table.index.tolist() == ["usage[bo]", "usage[ada]"]
    assert table.loc["usage[ada]", "p"] > 0.001
    assert table.loc["usage[ada]", "spread"] == pytest.approx(1, abs=0.2)
    assert table.loc["usage[bo]", "p_adjusted"] < 1e-6
    assert table.loc["usage[bo]", "spread"] > 1.5  # too far out: the posterior would be too narrow
    assert table.loc["usage[bo]", "p_adjusted"] == pytest.approx(2 * table.loc["usage[bo]", "p"])
    low = ba.sbc_table(made_up(np.stack([right, right // 2], axis=1))).set_index("parameter")
    assert low.loc["usage[bo]", "mean_rank"] < 0.3


def test_ranks_are_among_draws_of_the_posterior_of_simulated_data():
    ranks = ba.sbc(MODEL, DESIGN, simulations=3, random_seed=4, **SHORT)
    assert ranks["usage"].dims == ("simulation", "annotator", "response")
    assert ranks.sizes == {"simulation": 3, "annotator": 2, "response": 3}
    for name in ("usage", "log_likelihood"):
        assert ranks[name].values.min() >= 0
        assert ranks[name].values.max() <= 99
    again = module.rank_one(2, MODEL, DESIGN, 4, {k: v for k, v in SHORT.items() if k != "progressbar"})
    xr.testing.assert_equal(again, ranks.isel(simulation=2, drop=True))


def test_simulations_are_of_the_model_and_the_seed():
    simulator = Simulator(MODEL, DESIGN)
    data, truth = simulator.draw(3)
    again, same = simulator.draw(3)
    assert data.hash == again.hash
    xr.testing.assert_equal(truth, same)
    other, _ = simulator.draw(4)
    assert other.hash != data.hash
    usage = np.mean([simulator.draw(seed)[1]["usage"].values for seed in range(300)], axis=0)
    np.testing.assert_allclose(usage, 1 / 3, atol=0.07)
    by_class, labelled = Simulator(ba.models.ModelB(), DESIGN), []
    for seed in range(200):
        data, truth = by_class.draw(seed)
        right = truth["confusion"].values[data.annotator, data.gold_codes[data.item], data.label]
        labelled.append(right.mean())
    assert np.mean(labelled) > 0.5  # answers come from the confusion of the item's own class


def test_a_study_is_whole_or_none(monkeypatch):
    monkeypatch.setattr(module, "run_all", lambda *_, **__: iter([]))
    with pytest.raises(FitError, match="0 of 2 simulations are there"):
        ba.sbc(MODEL, DESIGN, simulations=2, **SHORT)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"simulations": 0}, "simulations is 0"),
        ({"workers": 0}, "workers is 0"),
        ({"draws": 40}, "ranks are among 99 draws, and the fit has 80"),
        ({"model": LabelUsage()}, r"label_usage takes parameters from the data, .* LabelUsage\(centre='even'"),
        ({"model": "model_a"}, "model_a takes parameters from the data"),
        ({"random_seed": -1}, "random_seed is -1"),
    ],
)
def test_a_study_that_cannot_be_is_refused(refuses, change, match):
    arguments = {"model": MODEL, "simulations": 1, "random_seed": 1, **SHORT, **change}
    with refuses(FitError, match):
        ba.sbc(arguments.pop("model"), DESIGN, **arguments)


def test_few_simulations_are_not_tested(refuses):
    with refuses(FitError, "there are 49 simulations: a test of their ranks needs 50 or more"):
        ba.sbc_table(made_up(np.zeros((49, 2), dtype=int)))


def with_another_prior(entry):
    """The same model, but what it simulates comes from habits drawn twice: more extreme than its prior says."""

    def generate(self, design, p):
        sharper = p.usage**3 / (p.usage**3).sum(axis=1, keepdims=True)
        return type(entry).generate(self, design, type(p)({"usage": sharper}))

    return broken(entry, generate=generate)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        MODEL,
        ba.models.ModelB(),
        ba.models.MACE(),
        ba.models.OneCoin(),
        ba.models.ModelA(frequency="shared"),
        ba.models.EasyHard(),
    ],
    ids=lambda model: model.name,
)
def test_models_are_calibrated(model):
    labels = 2 if model.two_labels else 3
    design = ba.make_design(items=30, annotators=4, labels=labels, per_item=3, random_seed=1)
    settings = {"draws": 250, "tune": 400, "progressbar": False}
    table = ba.sbc_table(ba.sbc(model, design, simulations=200, random_seed=1, **settings))
    assert table["p_adjusted"].min() > 0.01


@pytest.mark.slow
def test_a_wrong_model_is_found_out():
    settings = {"draws": 250, "tune": 400, "progressbar": False, "simulations": 100, "random_seed": 1}
    design = ba.make_design(items=30, annotators=4, labels=3, per_item=3, random_seed=1)
    assert ba.sbc_table(ba.sbc(MODEL, design, **settings))["p_adjusted"].min() > 0.01
    assert ba.sbc_table(ba.sbc(with_another_prior(MODEL), design, **settings))["p_adjusted"].min() < 1e-4
