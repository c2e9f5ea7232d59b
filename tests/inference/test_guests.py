"""Fits of a model that most of the zoo is unlike: items have parameters of their own."""

from dataclasses import replace

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.errors import FitError
from bayesanno.modeling.posterior import recover
from tests.analysis.made import from_prior
from tests.models.guests import HardItems


@pytest.mark.usefixtures("by_numpy")
@pytest.mark.filterwarnings("ignore::bayesanno.ConvergenceWarning")
def test_items_with_parameters_are_labelled_and_not_predicted(refuses, rng):
    design = ba.make_design(items=60, annotators=8, labels=["no", "yes"], per_item=6, random_seed=1)
    difficulty = np.where(np.arange(60) < 30, 0.02, 0.9)
    given = {"competence": np.full(8, 0.9), "difficulty": difficulty}
    data, _ = ba.simulate(HardItems(), design, parameters=given, random_seed=2)

    def know(drawn):
        for name, values in given.items():
            drawn[name][:] = np.clip(values + 0.01 * rng.normal(size=drawn[name].shape), 0.001, 0.999)

    fit = from_prior(HardItems(), data, change=know)
    entropy = fit["latent"]["entropy"].values
    assert entropy[:30].mean() < 0.4 * entropy[30:].mean()  # about a fifth
    easy = ba.label_table(fit).iloc[:30]
    assert (easy["label"] == easy["gold"]).mean() > 0.9
    with refuses(FitError, "items have their own parameters in hard_items, which new items lack"):
        ba.predict_labels(fit, data)
    others = replace(data, items=tuple(f"new {name}" for name in data.items), gold={})
    with refuses(FitError, "items have parameters of their own in hard_items, and these are of other items"):
        recover(HardItems(), others, fit["posterior"].to_dataset())
