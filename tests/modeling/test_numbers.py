"""A latent of items that is a number: its posterior is a mixture over draws, with mean, sd and quantiles."""

import numpy as np
import pytest
from scipy.stats import norm

from bayesanno.modeling.arguments import LEVELS, average_numbers, interval_of, spread_levels


def quantiles_of(mean, sd):
    """The quantiles of normal distributions (sample, item) at the levels of recovery."""
    return norm.ppf(spread_levels(len(mean))[:, None], mean[:, :, None], sd[:, :, None])


@pytest.mark.parametrize(("n_samples", "spread"), [(1, 0.0), (400, 0.01), (400, 3.0), (9_000, 1.0)])
def test_quantiles_are_those_of_the_mixture(n_samples, spread, rng):
    mean, sd = 5 + spread * rng.normal(size=(n_samples, 3)), rng.uniform(0.5, 2, size=(n_samples, 3))
    found = average_numbers(mean, sd, quantiles_of(mean, sd))
    np.testing.assert_allclose(found["mean"], mean.mean(axis=0))
    np.testing.assert_allclose(found["sd"] ** 2, (sd**2).mean(axis=0) + mean.var(axis=0))
    for item in range(3):
        below = norm.cdf(found["quantile"][item][:, None], mean[:, item], sd[:, item]).mean(axis=1)
        np.testing.assert_allclose(below, LEVELS, atol=0.004)


def test_weighted_draws_are_those_of_the_weights(rng):
    mean, sd = rng.normal(size=(50, 1)), np.full((50, 1), 0.5)
    n = rng.integers(0, 4, size=50)
    weight = (n / n.mean())[:, None]
    found = average_numbers(mean, sd, quantiles_of(mean, sd), weight)
    again = np.repeat(mean, n, axis=0)
    assert found["mean"] == pytest.approx(again.mean())
    below = (norm.cdf(found["quantile"][0][:, None], again[:, 0], 0.5)).mean(axis=1)
    np.testing.assert_allclose(below, LEVELS, atol=0.004)


def test_an_interval_is_that_of_the_quantiles():
    low, high = interval_of(norm.ppf(LEVELS)[None], 0.89)
    np.testing.assert_allclose([low[0], high[0]], norm.ppf([0.055, 0.945]), atol=1e-3)


def test_known_numbers_have_no_spread():
    mean = np.full((10, 1), 2.0)
    found = average_numbers(mean, np.zeros((10, 1)), np.full((10, 1, 4), 2.0))
    assert found["sd"].tolist() == [0.0]
    assert set(found["quantile"].ravel()) == {2.0}
