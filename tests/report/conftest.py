"""Fits that several figures and pages are made of, and what figures show."""

import numpy as np
import pytest

import bayesanno as ba
from tests.analysis.made import from_prior


@pytest.fixture(scope="session")
def crowd_em(crowd, once_per_run):
    """MACE by EM on the simulated data set."""

    def fit():
        return ba.fit("mace", crowd[0], method="em", random_seed=1, progressbar=False)

    return once_per_run("crowd_em", fit)


@pytest.fixture(scope="session")
def counted_fit():
    """Two types of items, of counts."""
    data, _ = ba.simulate("binomial_mixture", ba.simulation.make_count_design(items=60, per_item=8), random_seed=2)
    return from_prior(ba.get_model("binomial_mixture"), data)


def rows_of(axes):
    """The names of the rows of a panel, from below."""
    return [text.get_text() for text in axes.get_yticklabels()]


def ends_of(bars):
    """The ends of bars that are drawn from left to right: (bar, end)."""
    return np.array([path.vertices[:, 0] for path in bars.get_paths()])
