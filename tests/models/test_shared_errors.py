"""Shared errors: given the difficulty errors are independent. The formula and the prior are in the contract."""

import numpy as np
import pytest

import bayesanno as ba
from bayesanno.graph.functions import add_deterministics
from bayesanno.models import SharedErrors
from tests.inference.draws import make_fit
from tests.models.graphs import as_posterior

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times


def test_given_the_difficulty_errors_are_independent():
    """Half of the annotators are misled by the same items, and half by none; draws are about what made the answers."""
    loading = np.repeat([0.1, 1.0], 6)
    given = {
        "ability": np.full(12, 1.5),
        "loading": loading,
        "spread": 2.0,
        "prevalence": [0.5, 0.5],
        "habit": np.zeros((12, 2)),
    }
    names = [f"{group}{number}" for group in ("apart", "together") for number in range(6)]
    design = ba.make_design(items=300, annotators=names, labels=["no", "yes"], per_item=12, random_seed=1)
    model = SharedErrors()
    data, _ = ba.simulate(model, design, parameters=given, random_seed=4)
    graph = model.build(data)
    rng = np.random.default_rng(1)
    samples = [
        {name: np.array(value) + 0.02 * rng.normal(size=np.shape(value)) for name, value in given.items()}
        for _ in range(8)
    ]
    for one in samples:
        one["prevalence"] /= one["prevalence"].sum()
        one["habit"] -= one["habit"].mean(axis=1, keepdims=True)
    fit = make_fit(model, data, add_deterministics(graph, as_posterior(graph, samples, 2)))
    table = ba.dependence_table(fit, {name: name.rstrip("0123456789") for name in names})
    correlation = table.set_index(["level", "first", "second"])["correlation"]
    assert abs(correlation["all", "", ""]) < 0.05  # .16 given the class alone
    assert abs(correlation["group", "together", "together"]) < 0.08  # .4
