"""ADVI: the normal distribution that it climbs with, where it ends, and what it is refused."""

from copy import deepcopy

import numpy as np
import pymc as pm
import pytest
import scipy.stats

from bayesanno._core.messages import FitError
from bayesanno.graph.density import compile_graph
from bayesanno.inference.sampling import advi
from bayesanno.inference.sampling.advi import (
    ROUND,
    TRIES,
    ADVISettings,
    Normal,
    _ascend,
    _draw_where_dense,
    approximate,
)
from bayesanno.inference.sampling.starts import start_near

MEAN, COVARIANCE = np.array([1.0, -2.0]), np.array([[1.0, 0.8], [0.8, 2.0]])
INDEPENDENT = 1 / np.sqrt(np.diag(np.linalg.inv(COVARIANCE)))  # sds of the independent normal nearest in KL(q, p)


class NormalDensity:
    """The log density of a normal distribution of mean MEAN and covariance COVARIANCE, and its gradient."""

    n_dim = 2

    def __call__(self, point):
        away = np.linalg.solve(COVARIANCE, point - MEAN)
        return scipy.stats.multivariate_normal(MEAN, COVARIANCE).logpdf(point), -away


@pytest.fixture(params=["independent", "full rank"])
def normal(request):
    scale = np.array([0.5, 2.0]) if request.param == "independent" else np.array([[0.5, 0.0], [-0.7, 2.0]])
    return Normal(np.array([0.3, -1.0]), scale)


def test_densities_and_slopes_are_those_of_the_evidence_bound_through_the_draw(normal, rng):
    standard, density, step = rng.standard_normal(2), NormalDensity(), 1e-6
    factor = np.diag(normal.sd) if normal.below is None else normal.below + np.diag(normal.sd)
    held = scipy.stats.multivariate_normal(normal.mean.copy(), factor @ factor.T)
    np.testing.assert_allclose(normal.at(standard), normal.mean + factor @ standard, rtol=1e-14)
    assert normal.log_density(standard) == pytest.approx(held.logpdf(normal.at(standard)))
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


def test_the_nearest_normal_is_found(rng):
    normal, error = Normal(np.zeros(2), np.ones(2)), 4 / np.sqrt(ROUND)  # of a mean of so many, in standard deviations
    done, converged = _ascend(NormalDensity(), normal, 1e-2, 20_000, rng, "ADVI", progressbar=False)
    assert converged
    assert done < 20_000
    np.testing.assert_array_less(abs(normal.mean - MEAN), error * INDEPENDENT)
    np.testing.assert_allclose(normal.sd, INDEPENDENT, rtol=error)
    whole = Normal(normal.mean, np.diag(normal.sd))
    _ascend(NormalDensity(), whole, 1e-3, 20_000, rng, "ADVI", progressbar=False)
    factor = whole.below + np.diag(whole.sd)
    np.testing.assert_allclose(factor @ factor.T, COVARIANCE, rtol=0.01)  # without noise at the end


@pytest.mark.parametrize(("steps", "of_last"), [(3, 3), (4, 4), (6, 2)])
def test_the_end_is_the_mean_of_the_last_round(steps, of_last, normal, rng, monkeypatch):
    monkeypatch.setattr(advi, "ROUND", 4)
    seen, up = [], advi.Adam.up
    monkeypatch.setattr(advi.Adam, "up", lambda self, slopes: up(self, slopes) or seen.append(deepcopy(self.numbers)))
    assert _ascend(NormalDensity(), normal, 1e-2, steps, rng, "ADVI", progressbar=False) == (steps, False)
    assert len(seen) == steps
    for number, *visited in zip(normal.numbers, *seen[-of_last:], strict=True):
        np.testing.assert_allclose(number, np.mean(visited, axis=0), rtol=1e-12)


def test_where_there_is_no_density_nothing_is_drawn(rng, refuses):
    with refuses(FitError, f"ADVI: {TRIES} draws of the approximation are where the posterior has no density"):
        _draw_where_dense(lambda z: (-np.inf, 0 * z), Normal(np.zeros(2), np.ones(2)), rng)


def test_a_covariance_that_memory_does_not_hold_is_refused(monkeypatch, refuses):
    monkeypatch.setattr(advi, "MOST_FULL_RANK", 1)
    with pm.Model(coords={"axis": ["a", "b"]}) as model:
        pm.Normal("x", dims="axis")
    start = start_near(compile_graph(model, {"x": np.zeros(2)}))
    options = {"random_seed": 1, "progressbar": False}
    with refuses(FitError, "fullrank_advi: 2 parameters have 4 covariances, too many to hold"):
        approximate(model, start, ADVISettings(steps=5), full_rank=True, **options)
    assert approximate(model, start, ADVISettings(steps=5), full_rank=False, **options).diagnostics["steps"] == 5
