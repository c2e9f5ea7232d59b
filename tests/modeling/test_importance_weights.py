"""Monte Carlo standard errors of many means at once are those that ArviZ finds one at a time."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from arviz_stats.base import array_stats

from bayesanno.modeling import posterior
from bayesanno.modeling.posterior import measure_mcse


@pytest.mark.parametrize("n_chains", [1, 3])
@pytest.mark.parametrize("n_draws", [3, 4, 5, 6, 7, 8, 9, 37, 400])
def test_errors_are_those_of_arviz(n_chains: int, n_draws: int, rng: np.random.Generator) -> None:
    draws = rng.normal(size=(n_chains, n_draws, 30))
    for number, share in enumerate(np.linspace(-0.95, 0.95, 20)):  # chains that alternate, and chains that creep
        for draw in range(1, n_draws):
            draws[:, draw, number] += share * draws[:, draw - 1, number]
    draws = 1 / (1 + np.exp(-3 * draws))
    draws[:, :, 20:25] = rng.random((n_chains, n_draws, 5)) < 0.05  # nearly always the same
    draws[:, :, 25] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ's of too few draws
        expected = array_stats.mcse(draws, chain_axis=0, draw_axis=1)
    np.testing.assert_allclose(measure_mcse(draws), np.nan_to_num(expected), rtol=1e-9, atol=1e-15)


def test_chunks_do_not_matter(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = rng.random((2, 50, 6, 2))
    whole = measure_mcse(draws)
    monkeypatch.setattr(posterior, "WEIGHTED_BYTES", 1)
    np.testing.assert_allclose(measure_mcse(draws), whole, rtol=1e-12)
