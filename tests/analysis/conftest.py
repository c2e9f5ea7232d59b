"""Fits of several dimensions and of counts, which tables of any kind of data are tried on."""

from dataclasses import replace

import pytest

import bayesanno as ba
from tests.analysis.made import from_prior
from tests.samples import DIMENSIONS


@pytest.fixture(scope="session")
def several():
    """Two dimensions of 40 items by 4 annotators; gold in the second for every other item, in the first for all."""
    designs = {
        name: ba.simulation.make_loop_design(items=40, annotators=4, labels=labels)
        for name, labels in DIMENSIONS.items()
    }
    data, _ = ba.simulate("model_a_multi", ba.MultiAnnotationData(by_dimension=designs), random_seed=4)
    polarity = data.by_dimension["polarity"]
    some = {item: label for item, label in polarity.gold.items() if int(item[1:]) % 2}
    parts = {**data.by_dimension, "polarity": replace(polarity, gold=some)}
    return ba.MultiAnnotationData(by_dimension=parts)


@pytest.fixture(scope="session")
def multi_fit(several):
    return from_prior(ba.get_model("model_a_multi"), several)


@pytest.fixture(scope="session")
def counts():
    return ba.simulate("binomial_mixture", ba.simulation.make_count_design(items=60, per_item=8), random_seed=2)[0]


@pytest.fixture(scope="session")
def count_fit(counts):
    return from_prior(ba.get_model("binomial_mixture"), counts)
