"""Modes of models that learn how far parameters lie apart: where integrals are known, and beside bridge sampling."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import gamma

import bayesanno as ba
from bayesanno.inference.graph.density import compile_graph, find_scales
from bayesanno.inference.modes.laplace import LogDensity
from bayesanno.inference.modes.search import search
from bayesanno.models import MACE
from tests.inference.exact_masses import TABLES

MANY = 3_000  # gradients that a climb may take


class Apart:
    """Numbers drawn around 0, a spread apart, and seen with an error of 1: all but the spread can be summed out."""

    def __init__(self, seen: np.ndarray) -> None:
        self.seen = seen

    def log_sum(self, log_spread: float) -> float:
        """Return the log of the density of the log of the spread, and of what was seen."""
        variance = 1 + np.exp(2 * log_spread)
        prior = gamma.logpdf(np.exp(log_spread), 2, scale=0.5) + log_spread
        return float(prior - 0.5 * (np.log(2 * np.pi * variance) + self.seen**2 / variance).sum())

    def compile(self, spread: float):
        with pm.Model(coords={"group": range(self.seen.size)}) as graph:
            sigma = pm.Gamma("spread", 2, 2)
            eta = pm.Normal("eta", 0, sigma, dims="group")
            pm.Normal("seen", eta, 1, observed=self.seen)
        density = compile_graph(graph, {"spread": np.array(spread), "eta": np.zeros(self.seen.size)})
        return LogDensity(density, MANY, np.array([True] + [False] * self.seen.size))


@pytest.fixture(params=[0.3, 1.0, 4.0], ids="apart by {}".format)
def apart(request):
    return Apart(request.param * np.random.default_rng(1).standard_normal(30))


@pytest.mark.parametrize("begin", [0.2, 3.0])
def test_the_spread_is_that_of_the_sum_and_not_of_the_peak(apart, begin):
    log_density = apart.compile(begin)
    top = log_density.maximize(log_density.density.start)
    exact = minimize_scalar(lambda at: -apart.log_sum(at), bounds=(-4, 4), method="bounded")
    assert top.is_reached
    assert top.point[log_density.spreads][0] == pytest.approx(exact.x, abs=0.05)
    assert apart.log_sum(top.point[log_density.spreads][0]) > -exact.fun - 0.01


def test_the_mass_is_that_of_a_quadrature(apart):
    log_density = apart.compile(1.0)
    top = log_density.maximize(log_density.density.start)
    height = apart.log_sum(top.point[log_density.spreads][0])
    exact = height + np.log(quad(lambda at: np.exp(apart.log_sum(at) - height), -8, 5, limit=200)[0])
    found = log_density.weigh(top, rough=False)
    assert found.log_mass == pytest.approx(exact, abs=0.02)
    by_diagonal = log_density.weigh(top, rough=True)
    assert by_diagonal.log_mass == pytest.approx(found.log_mass, abs=1e-3)  # numbers are independent given the spread


def test_no_top_is_claimed_at_the_end_of_the_range():
    log_density = Apart(np.full(500, 1e5)).compile(0.5)
    assert not log_density.maximize(log_density.density.start).is_reached


def correlate_all(n, stretch=1.0):
    """Return a normal density of n numbers that all depend on the first ten, which are known far better."""
    rng = np.random.default_rng(1)
    precision = np.diag(np.concatenate([np.full(10, float(n)), stretch * rng.uniform(1, 5, n - 10)]))
    precision[:10, 10:] = rng.uniform(-2, 2, (10, n - 10))
    precision[10:, :10] = precision[:10, 10:].T

    def density(point):
        density.n_calls += 1
        return -0.5 * point @ precision @ point, -precision @ point

    density.n_calls = 0
    return density, precision


@pytest.mark.parametrize(("n", "of_each", "of_difference"), [(60, 1e-3, 1e-3), (600, 6, 1)])
def test_what_is_summed_out_counts_correlations(n, of_each, of_difference):
    errors = []
    for stretch in (1.0, 1.2):
        density, precision = correlate_all(n, stretch)
        exact = np.linalg.slogdet(precision)[1]
        errors.append(-2 * LogDensity(density, MANY).sum_out(np.ones(n)).log_density - exact)
    assert np.abs(errors).max() < of_each, errors
    assert abs(errors[1] - errors[0]) < of_difference, errors


def test_climbs_near_a_known_mode_take_a_fraction_of_the_gradients():
    density, _ = correlate_all(600)
    log_density = LogDensity(density, MANY)
    top = log_density.sum_out(np.ones(600))
    taken = []
    for near in (None, top):
        density.n_calls = 0
        end = log_density.climb_given_spreads(np.linspace(-1, 1, 600), near)
        taken.append(density.n_calls)
        assert end.is_reached
        np.testing.assert_allclose(end.point, 0, atol=1e-3)
    assert taken[1] < taken[0] / 3, taken


@pytest.mark.parametrize("seed", [1, 2])
def test_random_starts_lead_to_one_top(apart, seed):
    log_density = apart.compile(1.0)
    rng = np.random.default_rng(seed)
    found = search(log_density, log_density.density.start, n_starts=5, most_gradients=MANY, rng=rng)
    (mode,) = found.found
    assert (mode.visits, mode.is_first, found.n_unfinished, found.is_weighed) == (6, True, 0, True)


HIERARCHICAL = "hierarchical_dawid_skene"


@pytest.mark.filterwarnings("ignore::bayesanno.ConvergenceWarning")  # of two modes
@pytest.mark.parametrize(
    ("model", "table", "seed"),  # the bridge fails for some seeds
    [(HIERARCHICAL, TABLES[0], 2), (HIERARCHICAL, TABLES[16], 1), (MACE(competence_prior="learnt"), TABLES[16], 1)],
    ids=["hierarchical, opposed", "hierarchical, pairs", "mace, pairs"],
)
def test_masses_with_spreads_are_those_of_a_bridge(model, table, seed):
    fit = ba.fit(model, table.data(), random_seed=seed, progressbar=False, check=False)
    found = ba.diagnostics_of(fit)["modes"]["found"]
    carrying = [mode for mode in found if mode["chains"]]
    parts = ba.split_modes(fit, random_seed=1)
    assert len(parts) == len(carrying) == 2
    laplace, bridge = ([of(one) for one in several] for of, several in ((_mass, carrying), (_share, parts)))
    assert {part.attrs["mass_by"] for part in parts} == {"bridge"}
    assert np.log(laplace[0] / laplace[1]) == pytest.approx(np.log(bridge[0] / bridge[1]), abs=0.3)


def _mass(mode):
    return mode["mass"]


def _share(part):
    return part.attrs["mass"]


def test_which_numbers_are_spreads():
    model = ba.models.HierarchicalDawidSkene()
    data = TABLES[0].data()
    graph = model.build(data)
    density = compile_graph(graph, model.start(data))
    assert find_scales(density, model, graph).sum() == data.n_classes + 1
    assert not find_scales(density, ba.models.MACE(), graph).any()
