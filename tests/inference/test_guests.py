"""Fits of models that most of the zoo is unlike: items with parameters of their own, one confusion matrix for all."""

import warnings
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.errors import ConvergenceWarning, FitError
from bayesanno.modeling import registry
from bayesanno.modeling.posterior import recover
from bayesanno.models import PooledDawidSkene
from tests.inference.draws import join
from tests.models.guests import HardItems

SETTINGS = {"draws": 200, "tune": 300, "chains": 2, "check": False, "random_seed": 1, "progressbar": False}
EXCHANGEABLE = PooledDawidSkene(prevalence_prior=1, confusion_strength=3, confusion_accuracy=1 / 3)  # all flat


@pytest.fixture(autouse=True)
def guests(monkeypatch):
    """A zoo that the guests have joined."""
    registry._entry_points.cache_clear()
    points = [EntryPoint("hard_items", "tests.models.guests:HardItems", registry.GROUP)]
    zoo = [*entry_points(group=registry.GROUP), *points]
    monkeypatch.setattr(registry, "entry_points", lambda *, group: zoo)  # noqa: ARG005
    yield
    registry._entry_points.cache_clear()


def fit(model, data, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so few draws
        return ba.fit(model, data, **(SETTINGS | settings))


def test_items_with_parameters_are_fitted_and_not_predicted(refuses):
    design = ba.make_design(items=60, annotators=8, labels=["no", "yes"], per_item=6, random_seed=1)
    difficulty = np.where(np.arange(60) < 30, 0.02, 0.9)
    given = {"competence": np.full(8, 0.9), "difficulty": difficulty}
    data, _ = ba.simulate(HardItems(), design, parameters=given, random_seed=2)
    fitted = fit("hard_items", data)
    found = fitted["posterior"]["difficulty"].mean(("chain", "draw"))
    assert found.sizes == {"item": 60}
    assert float(found[:30].mean()) < float(found[30:].mean()) - 0.2
    entropy = fitted["latent"]["entropy"].values
    assert entropy[:30].mean() < 0.4 * entropy[30:].mean()  # about a fifth
    labels = ba.label_table(fitted)
    easy = labels.iloc[:30]
    assert (easy["label"] == easy["gold"]).mean() > 0.9
    assert np.isfinite(fitted["log_likelihood"]["annotations"]).all()
    with refuses(FitError, "items have their own parameters in hard_items, which new items lack"):
        ba.predict_labels(fitted, data)
    others = replace(data, items=tuple(f"new {name}" for name in data.items), gold={})
    with refuses(FitError, "items have parameters of their own in hard_items, and these are of other items"):
        recover(HardItems(), others, fitted["posterior"].to_dataset())


def test_one_confusion_matrix_for_all_is_relabelled():
    design = ba.make_design(items=150, annotators=5, labels=["no", "perhaps", "yes"], per_item=5, random_seed=3)
    given = {"prevalence": [0.5, 0.3, 0.2], "confusion": 0.7 * np.eye(3) + 0.1}
    data, _ = ba.simulate(EXCHANGEABLE, design, parameters=given, random_seed=4)
    start = EXCHANGEABLE.start(data)
    swapped = {name: values[[1, 2, 0]] for name, values in start.items()}
    fits = [fit(EXCHANGEABLE, data, initvals=begin, relabel=False) for begin in (start, swapped)]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", ConvergenceWarning)
        both = join(*fits)
    assert any("modes-unweighed" in str(warning.message) for warning in seen)
    assert ba.diagnostics_of(both)["max_rhat"] > 1.5
    assert sorted(map(sorted, ba.diagnostics_of(both)["modes"]["groups"])) == [[0, 1], [2, 3]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        aligned = ba.relabel(both)
    found = ba.diagnostics_of(aligned)
    permutation = aligned["sample_stats"]["permutation"].values  # (chain, draw, true_class)
    assert (permutation == permutation[:, :1]).all()  # whole chains, whichever their jitter took elsewhere
    elsewhere = (permutation[:, 0] != np.arange(3)).any(axis=1)
    assert 0 < elsewhere.sum() < 4
    assert found["relabelled_fraction"] == elsewhere.mean()
    assert found["max_rhat"] < 1.05
    mean = aligned["posterior"]["confusion"].mean(("chain", "draw")).values  # (true_class, response)
    assert np.abs(np.diag(mean) - 0.8).max() < 0.1
    labels = ba.label_table(aligned)
    assert (labels["label"] == labels["gold"]).mean() > 0.9
