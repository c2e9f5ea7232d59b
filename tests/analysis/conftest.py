"""Fits of several dimensions and of counts, which tables of any kind of data are tried on."""

import warnings

import pytest

import bayesanno as ba
from bayesanno._core.errors import ConvergenceWarning
from tests.samples import DIMENSIONS, SHORT


def fit_shortly(model, data, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so few draws
        return ba.fit(model, data, **SHORT, **more)


@pytest.fixture(scope="session")
def several():
    """Two dimensions of 40 items by 4 annotators; gold in the second for every other item, in the first for all."""
    designs = {
        name: ba.simulation.make_loop_design(items=40, annotators=4, labels=labels)
        for name, labels in DIMENSIONS.items()
    }
    data, _ = ba.simulate("model_a_multi", ba.MultiAnnotationData(by_dimension=designs), random_seed=4)
    parts = dict(data.by_dimension)
    some = {item: label for item, label in parts["polarity"].gold.items() if int(item[1:]) % 2}
    return ba.MultiAnnotationData(by_dimension=parts | {"polarity": regild(parts["polarity"], some)})


def regild(data, gold):
    records = data.to_frame()[["item", "annotator", "label"]].to_numpy()
    return ba.AnnotationData.from_records(records, items=data.items, labels=data.labels, gold=gold)


@pytest.fixture(scope="session")
def multi_fit(several):
    return fit_shortly("model_a_multi", several, adjust=False)


@pytest.fixture(scope="session")
def counts():
    return ba.simulate("binomial_mixture", ba.simulation.make_count_design(items=60, per_item=8), random_seed=2)[0]


@pytest.fixture(scope="session")
def count_fit(counts):
    return fit_shortly("binomial_mixture", counts)
