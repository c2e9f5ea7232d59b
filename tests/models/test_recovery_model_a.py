"""Calibration of model A on simulated loop designs: its intervals cover at their rate. Long, and marked slow."""

import numpy as np
import nutpie
import pytest
from scipy.stats import binomtest

from bayesanno import simulate
from bayesanno.graph.functions import exact_arithmetic
from bayesanno.modeling.likelihood import observed_arrays
from bayesanno.models.model_a import ModelA
from bayesanno.simulation import make_loop_design

SIMULATIONS = 100
ITEMS, LABELS = 500, 4
DRAWS = 500  # in each of two chains


def intervals(compiled, entry, data, seed):
    """Central 94% intervals of the accuracies; shape (2, annotator)."""
    used = {variable.name for variable in compiled.shared_var_keys}
    arrays = {name: array for name, array in observed_arrays(entry, data).items() if name in used}
    tree = nutpie.sample(
        compiled.with_data(**arrays), draws=DRAWS, tune=500, chains=2, seed=seed, target_accept=0.9, progress_bar=False
    )
    posterior = tree["posterior"]["accuracy"].stack(sample=("chain", "draw")).transpose("annotator", "sample").values
    return np.quantile(posterior, [0.03, 0.97], axis=1), posterior.mean(axis=1)


@pytest.mark.slow
def test_intervals_cover_at_their_rate_on_loop_designs():
    entry, design = ModelA(frequency="shared"), make_loop_design(items=ITEMS, labels=LABELS)
    rng = np.random.default_rng(20080501)
    inside, errors, shrunk = [], [], []
    with exact_arithmetic():
        compiled = nutpie.compile_pymc_model(entry.build(simulate(entry, design, random_seed=0)[0]))
        for seed in range(SIMULATIONS):
            theta = rng.uniform(0.5, 0.95, size=8)
            truth = {"accuracy": theta, "frequency": rng.dirichlet(np.full(LABELS, 2.0))}
            data, _ = simulate(entry, design, parameters=truth, random_seed=seed)
            (low, high), mean = intervals(compiled, entry, data, seed)
            inside += ((low <= theta) & (theta <= high)).tolist()
            errors += (mean - theta).tolist()
            middle = (low + high) / 2
            shrunk += (np.abs(theta - middle) <= (high - low) / 4).tolist()  # intervals of half the width
    assert len(inside) == SIMULATIONS * 8
    print(f"coverage {np.mean(inside):.3f}, bias {np.mean(errors):.4f}, rmse {np.std(errors):.4f}")
    assert binomtest(sum(inside), len(inside), 0.94).pvalue > 1e-3
    assert binomtest(sum(shrunk), len(shrunk), 0.94).pvalue < 1e-3  # the test would notice intervals too narrow
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(len(errors))
