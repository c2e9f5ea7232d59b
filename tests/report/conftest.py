"""Fits that several figures and pages are made of, and what figures show."""

import warnings

import numpy as np
import pytest

import bayesanno as ba
from tests.samples import SHORT


@pytest.fixture(scope="session")
def crowd_em(crowd, once_per_run):
    """MACE by EM on the simulated data set."""

    def fit():
        return ba.fit("mace", crowd[0], method="em", random_seed=1, progressbar=False)

    return once_per_run("crowd_em", fit)


@pytest.fixture(scope="session")
def counted_fit(once_per_run):
    """Two types of items by NUTS, of counts."""

    def fit():
        design = ba.simulation.make_count_design(items=60, per_item=8)
        data, _ = ba.simulate("binomial_mixture", design, random_seed=2)
        with warnings.catch_warnings(action="ignore", category=ba.ConvergenceWarning):  # of so few draws
            return ba.fit("binomial_mixture", data, check=False, **SHORT)

    return once_per_run("counted_fit", fit)


def rows_of(axes):
    """The names of the rows of a panel, from below."""
    return [text.get_text() for text in axes.get_yticklabels()]


def ends_of(bars):
    """The ends of bars that are drawn from left to right: (bar, end)."""
    return np.array([path.vertices[:, 0] for path in bars.get_paths()])
