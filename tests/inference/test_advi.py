"""ADVI: the normal distribution that it climbs with, where it ends, and what it is refused."""

from copy import deepcopy

import numpy as np
import pymc as pm
import pytest
import scipy.stats
import xarray as xr

from bayesanno._core.errors import FitError
from bayesanno.graph.density import compile_graph
from bayesanno.inference.sampling import advi
from bayesanno.inference.sampling.advi import ROUND, TRIES, ADVISettings, Normal, _climb, _draw_where_dense, approximate
from bayesanno.inference.sampling.starts import start_near

MEAN, COVARIANCE = np.array([1.0, -2.0]), np.array([[1.0, 0.8], [0.8, 2.0]])
INDEPENDENT = 1 / np.sqrt(np.diag(np.linalg.inv(COVARIANCE)))  # sds of the independent normal nearest in KL(q, p)


class NormalDensity:
    """The log density of a normal distribution of mean MEAN and covariance COVARIANCE, and its gradient."""

    n_dim = 2

    def __call__(self, point):
        away = np.linalg.solve(COVARIANCE, point - MEAN)
        return scipy.stats.multivariate_normal(MEAN, COVARIANCE).logpdf(point), -away


class Nowhere:
    """No density but in the last of some calls."""

    n_dim = 2

    def __init__(self, n_calls):
        self.n_calls = n_calls

    def __call__(self, point):
        self.n_calls -= 1
        return (0.0 if self.n_calls == 0 else -np.inf), np.zeros_like(point)


@pytest.fixture(params=["independent", "full rank"])
def normal(request):
    scale = np.array([0.5, 2.0]) if request.param == "independent" else np.array([[0.5, 0.0], [-0.7, 2.0]])
    return Normal(np.array([0.3, -1.0]), scale)


def test_draws_have_the_mean_the_covariance_and_the_density(normal, rng):
    factor = np.diag(normal.sd) if normal.below is None else normal.below + np.diag(normal.sd)
    expected = scipy.stats.multivariate_normal(normal.mean, factor @ factor.T)
    standard = rng.standard_normal((5, 4, 2))
    z = normal.at(standard)
    np.testing.assert_allclose(z[3, 2], normal.mean + factor @ standard[3, 2], rtol=1e-14)
    np.testing.assert_allclose(normal.log_density(standard), expected.logpdf(z), rtol=1e-12)
    assert normal.log_density(standard[0, 0]) == pytest.approx(expected.logpdf(z[0, 0]))


def test_slopes_are_those_of_the_evidence_bound_through_the_draw(normal, rng):
    standard, density, step = rng.standard_normal(2), NormalDensity(), 1e-6
    factor = np.diag(normal.sd) if normal.below is None else normal.below + np.diag(normal.sd)
    held = scipy.stats.multivariate_normal(normal.mean.copy(), factor @ factor.T)
    slopes = normal.slopes(standard, density(normal.at(standard))[1])
    for slope, number in zip(slopes, normal.numbers, strict=True):
        for at in np.ndindex(number.shape):
            if number.ndim == 2 and at[0] <= at[1]:
                assert slope[at] == 0  # no part of the factor below its diagonal
                continue
            was, ends = number[at], []
            for moved in (was + step, was - step):
                number[at] = moved
                z = normal.at(standard)
                ends.append(density(z)[0] - held.logpdf(z))
            number[at] = was
            assert slope[at] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6, abs=1e-7)


def test_slopes_are_on_average_those_of_the_divergence(normal, rng):
    """KL(q, p) of normals is known: half of tr(C^-1 S) + |m - m'|^2 by C^-1 - log |S|, but for a constant."""
    precision, many = np.linalg.inv(COVARIANCE), rng.standard_normal((40_000, 2))
    factor = np.diag(normal.sd) if normal.below is None else normal.below + np.diag(normal.sd)
    by_factor = -precision @ factor + np.diag(1 / normal.sd)
    expected = [precision @ (MEAN - normal.mean), np.diag(by_factor) * normal.sd, np.tril(by_factor, -1)]
    found = [normal.slopes(one, -precision @ (normal.at(one) - MEAN)) for one in many]
    for number, of_draws in enumerate(zip(*found, strict=True)):
        error = np.std(of_draws, axis=0) / np.sqrt(len(many))
        assert (abs(np.mean(of_draws, axis=0) - expected[number]) <= 4 * error).all()


def test_the_nearest_normal_is_found(rng):
    normal, error = Normal(np.zeros(2), np.ones(2)), 4 / np.sqrt(ROUND)  # of a mean of so many, in standard deviations
    done, converged = _climb(NormalDensity(), normal, 1e-2, 20_000, rng, "ADVI", progressbar=False)
    assert converged
    assert done < 20_000
    np.testing.assert_array_less(abs(normal.mean - MEAN), error * INDEPENDENT)
    np.testing.assert_allclose(normal.sd, INDEPENDENT, rtol=error)
    whole = Normal(normal.mean, np.diag(normal.sd))
    _climb(NormalDensity(), whole, 1e-3, 20_000, rng, "ADVI", progressbar=False)
    factor = whole.below + np.diag(whole.sd)
    np.testing.assert_allclose(factor @ factor.T, COVARIANCE, rtol=0.01)  # without noise at the end


@pytest.mark.parametrize(("steps", "of_last"), [(1, 1), (3, 3), (4, 4), (6, 2)])
def test_the_end_is_the_mean_of_the_last_round(steps, of_last, normal, rng, monkeypatch):
    monkeypatch.setattr(advi, "ROUND", 4)
    seen, up = [], advi.Adam.up
    monkeypatch.setattr(advi.Adam, "up", lambda self, slopes: up(self, slopes) or seen.append(deepcopy(self.numbers)))
    assert _climb(NormalDensity(), normal, 1e-2, steps, rng, "ADVI", progressbar=False) == (steps, False)
    assert len(seen) == steps
    for number, *visited in zip(normal.numbers, *seen[-of_last:], strict=True):
        np.testing.assert_allclose(number, np.mean(visited, axis=0), rtol=1e-12)


def test_where_there_is_no_density_another_draw_is_tried(rng, refuses):
    normal = Normal(np.zeros(2), np.ones(2))
    _, value, _ = _draw_where_dense(Nowhere(TRIES), normal, rng)
    assert value == 0
    with refuses(FitError, "ADVI: 100 draws of the approximation are where the posterior has no density; another seed"):
        _draw_where_dense(Nowhere(TRIES + 1), normal, rng)


def test_a_covariance_that_memory_does_not_hold_is_refused(monkeypatch, refuses):
    monkeypatch.setattr(advi, "MOST_FULL_RANK", 1)
    with pm.Model(coords={"axis": ["a", "b"]}) as model:
        pm.Normal("x", dims="axis")
    start = start_near(compile_graph(model, {"x": np.zeros(2)}))
    options = {"random_seed": 1, "progressbar": False}
    with refuses(FitError, "fullrank_advi: 2 parameters have 4 covariances, too many to hold .* take method='advi'"):
        approximate(model, start, ADVISettings(steps=5), full_rank=True, **options)
    assert approximate(model, start, ADVISettings(steps=5), full_rank=False, **options).diagnostics["steps"] == 5


def test_the_same_seed_gives_the_same_draws():
    with pm.Model(coords={"axis": ["a", "b"]}) as model:
        pm.MvNormal("x", mu=MEAN, cov=COVARIANCE, dims="axis")
    settings = ADVISettings(draws=250, chains=2, steps=200)
    options = {"full_rank": True, "progressbar": False}
    start = start_near(compile_graph(model, {"x": np.zeros(2)}))
    first, again, other = (approximate(model, start, settings, random_seed=seed, **options) for seed in (1, 1, 2))
    assert first.posterior.sizes == {"chain": 1, "draw": 500, "axis": 2}
    xr.testing.assert_equal(first.posterior, again.posterior)
    assert not np.array_equal(first.posterior["x"].values, other.posterior["x"].values)
    x = first.posterior["x"].values[0]
    expected = scipy.stats.multivariate_normal(MEAN, COVARIANCE).logpdf(x)
    np.testing.assert_allclose(first.sample_stats["lp"].values[0], expected, rtol=1e-10)
