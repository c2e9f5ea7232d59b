"""R-hat, effective sizes and errors of many numbers at once are those that ArviZ finds one at a time."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from arviz_stats.base import array_stats

from bayesanno._core import chains

AXES = {"chain_axis": 0, "draw_axis": 1}
MEASURES = {
    "mixing": (
        lambda draws: chains.measure_mixing(draws, 0.89),
        lambda draws: [
            array_stats.ess(draws, method="bulk", **AXES),
            array_stats.ess(draws, method="tail", prob=0.89, **AXES),
            array_stats.rhat(draws, **AXES),
        ],
    ),
    "errors": (
        chains.measure_errors,
        lambda draws: [array_stats.mcse(draws, method=of, **AXES) for of in ("mean", "sd")],
    ),
    "mcse": (chains.measure_mcse, lambda draws: np.nan_to_num(array_stats.mcse(draws, **AXES))),
}


def make_draws(n_chains: int, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """Draw chains that alternate, creep, repeat values, never change, stay apart, and are infinite or nan."""
    draws = rng.normal(size=(n_chains, n_draws, 31))
    for number, share in enumerate(np.linspace(-0.95, 0.95, 20)):
        for draw in range(1, n_draws):
            draws[:, draw, number] += share * draws[:, draw - 1, number]
    draws = 1 / (1 + np.exp(-3 * draws))
    draws[:, :, 20:25] = rng.random((n_chains, n_draws, 5)) < 0.05  # nearly always the same
    draws[:, n_draws // 2, 25] = np.nan
    draws[:, :, 26] = 0.5
    draws[:, :, 27] += np.arange(n_chains)[:, None]
    draws[:, :, 28] = draws[:, :, 28].round(1)
    draws[0, 0, 29] = np.inf
    draws[:, :, 30] = np.where(draws[:, :, 30] > 0.5, np.inf, draws[:, :, 30])
    return draws


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("n_chains", [1, 3])
@pytest.mark.parametrize("n_draws", [3, 4, 5, 6, 7, 8, 9, 37, 400])
def test_numbers_are_those_of_arviz(measure: str, n_chains: int, n_draws: int, rng: np.random.Generator) -> None:
    draws = make_draws(n_chains, n_draws, rng)
    ours, theirs = MEASURES[measure]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ's of too few draws, and of what it divides by 0
        expected = theirs(draws)
    np.testing.assert_allclose(ours(draws), expected, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("measure", MEASURES)
def test_chunks_and_axes_do_not_matter(measure: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    draws, (ours, _) = rng.random((2, 50, 6)), MEASURES[measure]
    whole = ours(draws)
    monkeypatch.setattr(chains, "CHUNK_BYTES", 1)
    np.testing.assert_allclose(ours(draws.reshape(2, 50, 3, 2)), whole.reshape(*whole.shape[:-1], 3, 2), rtol=1e-12)
