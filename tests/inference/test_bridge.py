"""Bridge sampling: integrals that are known, an error that is honest, and what is not claimed."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import multivariate_t, norm

from bayesanno.inference.modes import bridge
from bayesanno.inference.modes.bridge import _bridge, estimate_log_integral


def bridge_to_a_normal(kept, proposed, proposal):
    """As `_bridge` gives it, for draws (chain, draw) of a normal times e^3."""
    ratios = [3 + norm.logpdf(points) - proposal.logpdf(points.reshape(-1, 1)).reshape(points.shape)
              for points in (proposed, kept)]  # fmt: skip
    return _bridge(*ratios)


def autocorrelated(rng, n_chains, n_draws):
    """Draws of a normal of which twenty are worth one, (chain, draw)."""
    noise = rng.normal(size=(n_chains, n_draws + 100))
    return lfilter([np.sqrt(1 - 0.9**2)], [1, -0.9], noise, axis=1)[:, 100:]


def test_the_error_of_a_bridge_knows_that_chains_are_autocorrelated(rng):
    """Few draws of the proposal, far from the posterior: the error is nearly all that of the chains."""
    proposal = multivariate_t([1.0], [[1.0]], df=5)
    z = []
    for _ in range(100):
        kept = autocorrelated(rng, 4, 2000)
        value, error = bridge_to_a_normal(kept, proposal.rvs(100, random_state=rng), proposal)
        z.append((value - 3) / error)
    assert abs(np.mean(z)) < 0.4
    assert 0.75 < np.std(z) < 1.3


def test_draws_that_are_repeated_say_no_more_to_a_bridge(rng):
    """Neither the estimate nor its error changes: the bridge weighs draws by what they are worth."""
    proposal = multivariate_t([2.0], [[1.0]], df=5)
    for _ in range(5):
        kept, proposed = rng.normal(size=(4, 250)), proposal.rvs(1000, random_state=rng)
        value, error = bridge_to_a_normal(kept, proposed, proposal)
        again, same = bridge_to_a_normal(np.repeat(kept, 20, axis=1), proposed, proposal)
        assert abs(again - value) < 0.1 * error
        assert same == pytest.approx(error, rel=0.1)


def test_a_bridge_to_a_density_of_any_size_settles(rng):
    kept, proposed = rng.normal(size=(4, 100)), rng.normal(size=400)
    near, error = _bridge(proposed, kept)
    for level in (-1e9, 1e9):
        value, far = _bridge(level + proposed, level + kept)
        assert value - level == pytest.approx(near, abs=1e-5)
        assert far == pytest.approx(error, rel=1e-4)


def test_a_bridge_that_does_not_settle_is_nan_with_the_reason(rng, monkeypatch):
    monkeypatch.setattr(bridge, "MAX_ROUNDS", 1)
    found = estimate_log_integral(rng.normal(size=(4, 250, 2)), lambda z: -(z**2).sum(axis=1) / 2, rng)
    assert np.isnan([found.value, found.error]).all()
    assert found.reason == "bridge sampling does not settle within 1 rounds"
    assert np.isnan(_bridge(np.full(10, np.nan), np.zeros((2, 5)))).all()
