"""Diagnostics of draws: known values of Pareto k and of E-BFMI."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

from bayesanno.graph.density import compile_graph
from bayesanno.inference.diagnosis.measures import diagnose, find_pareto_k
from bayesanno.inference.sampling.advi import ADVISettings, approximate
from bayesanno.inference.sampling.starts import start_near


@pytest.mark.parametrize("k", [0.3, 0.7, 1.2])
def test_ratios_with_a_pareto_tail_have_its_k(k):
    """The logarithm of a Pareto variable of shape 1 / k is k times an exponential one, whose quantiles these are."""
    exponential = -np.log((np.arange(20_000) + 0.5) / 20_000)
    assert find_pareto_k(k * exponential) == pytest.approx(k, abs=0.03)
    assert find_pareto_k(-k * exponential) < 0  # a ratio that is bounded
    assert find_pareto_k(np.append(k * exponential, -np.inf)) == find_pareto_k(k * exponential)


def test_the_pareto_k_of_advi_is_that_of_posterior_over_approximation():
    """Independent normals for correlated ones: exp(a quadratic form) of normals, whose tail has its largest eigenvalue.

    The ratio the other way round has another tail: the smallest eigenvalue, with its sign changed.
    """
    d, c = 6, 0.16
    precision = (1 + c) * np.eye(d) - c
    with pm.Model(coords={"axis": range(d)}) as graph:
        pm.MvNormal("x", mu=np.zeros(d), tau=precision, dims="axis")
    found = approximate(
        graph,
        start_near(compile_graph(graph, {"x": np.zeros(d)})),
        ADVISettings(draws=20_000, chains=1, steps=1_000),
        full_rank=False,
        random_seed=1,
        progressbar=False,
    )
    scale = found.posterior["x"].std(("chain", "draw")).values
    tails = np.linalg.eigvalsh(np.eye(d) - scale[:, None] * precision * scale)
    right, wrong = tails[-1], -tails[0]
    assert right > 0.75 > 0.5 > wrong
    k = found.diagnostics["pareto_k"]
    assert abs(k - right) < 0.2 < abs(k - wrong)


def test_the_least_bfmi_is_that_of_the_worst_chain(rng):
    """E-BFMI is the mean square of steps in energy over the variance of the energy: of a slow walk it is low."""
    energy = rng.normal(size=(3, 500))
    energy[1] = rng.normal(size=500).cumsum()
    by_chain = (np.diff(energy) ** 2).mean(axis=1) / energy.var(axis=1)
    stats = xr.Dataset({"energy": (("chain", "draw"), energy)}, coords={"chain": range(3), "draw": range(500)})
    found = diagnose(None, stats, modes={}, relabelled_fraction=0)
    assert by_chain.argmin() == 1
    assert found["min_bfmi"] == pytest.approx(by_chain[1], rel=0.01)
