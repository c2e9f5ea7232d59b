"""Compiled graphs: kept in the process, right for all data, and without traces."""

import os
import subprocess
import sys
import tracemalloc
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import nutpie
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy.stats import norm

import bayesanno as ba
from bayesanno._core.private import make_compiled_model
from bayesanno.graph import density as compiled
from bayesanno.graph import functions
from bayesanno.graph.density import compile_graph
from bayesanno.graph.functions import plain_compiling
from tests.samples import SHORT, tiny_data

START = {"x": np.zeros(2)}


def small_graph(centre=(0.0, 1.0), sd=1.0):
    """Normals around data, with a constant of the graph."""
    with pm.Model(coords={"which": range(len(centre))}) as graph:
        x = pm.Normal("x", pm.Data("centre", np.array(centre)), sd, dims="which")
        pm.Normal("sum", x.sum(), pm.Data("noise", np.array(2.0)), observed=pm.Data("seen", np.array([3, 4, 5])))
    return graph


def sample(model):
    drawn = nutpie.sample(model, draws=50, tune=50, chains=2, seed=1, progress_bar=False)["posterior"]
    return {name: drawn[name].values for name in ("x",)}


def draw(density):
    """Draw from a compiled density as a fit does."""
    return sample(make_compiled_model(density.functions, density.parts, density.n_dim, lambda _: density.start))


def are_equal(one, other):
    return all(np.array_equal(one[name], other[name]) for name in one)


@pytest.fixture(scope="module")
def expected_draws():
    """Draws from the small graph as nutpie compiles it."""
    with plain_compiling():
        model = nutpie.compile_pymc_model(small_graph(), initial_points=START, jitter_rvs=set(), var_names=["x"])
        return sample(model)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    """What the process keeps of earlier tests is not there."""
    monkeypatch.setattr(functions, "_kept", OrderedDict())


class TestSameDesign:
    def test_graphs_of_one_design_share_functions_and_not_data(self, expected_draws):
        first, second = (compile_graph(small_graph(centre), START) for centre in ((0.0, 1.0), (5.0, -7.0)))
        assert second.functions.logp is first.functions.logp
        assert are_equal(draw(first), expected_draws)  # nutpie's own; drawn after the second was made
        value, gradient = second(np.zeros(2))
        assert value == pytest.approx(norm([5, -7]).logpdf(0).sum() + norm(0, 2).logpdf([3, 4, 5]).sum())
        assert gradient == pytest.approx([5 + 3, -7 + 3])

    def test_a_graph_may_have_more_data_than_a_tuple_that_numba_can_make(self):
        with pm.Model() as graph:
            x = pm.Normal("x", shape=2)
            pm.Potential("y", sum(x[which % 2] * pm.Data(f"data{which}", np.array(0.1 * which)) for which in range(40)))
        found = compile_graph(graph, START)
        assert len(found.functions.arrays) > 40
        value, _ = found(np.array([1.0, 2.0]))
        assert value == pytest.approx(-2.5 - np.log(2 * np.pi) + 0.1 * (np.arange(0, 40, 2).sum() + 2 * 400))


def test_where_the_gradient_is_not_finite_there_is_no_density():
    """At the tip of a cone the value is finite and the slope is not: no chain, and no climb, may go on from there."""
    with pm.Model() as graph:
        x = pm.Normal("x", shape=2)
        pm.Potential("cone", -pt.sqrt((x**2).sum()))
    with plain_compiling():
        density = compile_graph(graph, START)
    value, gradient = density(np.array([3.0, 4.0]))
    assert value == pytest.approx(-12.5 - np.log(2 * np.pi) - 5)
    assert gradient == pytest.approx([-3.6, -4.8])
    value, gradient = density(np.zeros(2))
    assert value == -np.inf
    assert np.isfinite(gradient).all()


@pytest.mark.filterwarnings("ignore::bayesanno.ConvergenceWarning", "ignore::bayesanno.errors.IdentifiabilityWarning")
class TestFits:
    def test_fits_with_other_data_and_priors_compile_once(self, monkeypatch):
        made = []
        make = compiled.make_functions
        monkeypatch.setattr(compiled, "make_functions", lambda *args: made.append(1) or make(*args))
        model, data = ba.get_model("model_b"), tiny_data()
        records = data.to_frame()[["item", "annotator", "label"]].to_numpy()
        fewer = ba.AnnotationData.from_records(records[records[:, 1] != data.annotators[0]])
        assert (fewer.n_items, fewer.n_annotators) == (data.n_items - 1, data.n_annotators - 1)  # s5 had one answer
        fits = [ba.fit(model, data, **SHORT), ba.fit(replace(model, prevalence_prior=30.0), data, **SHORT)]
        fits.append(ba.fit(model, fewer, **SHORT))
        assert len(made) == 1
        spread = [float(fit["posterior"]["prevalence"].std()) for fit in fits]
        assert spread[1] < 0.7 * spread[0]
        assert fits[2]["latent"].sizes["item"] == fewer.n_items


@pytest.fixture
def density():
    return compile_graph(small_graph(), START)


def test_threads_call_one_function_at_once(density, rng):
    points = rng.normal(size=(400, 2))
    expected = [density(point) for point in points]
    with ThreadPoolExecutor(4) as pool:
        for (value, gradient), (one, slope) in zip(pool.map(density, points), expected, strict=True):
            assert value == one
            np.testing.assert_array_equal(gradient, slope)


def test_nothing_leaks(density):
    """Also where a call fails in the middle."""
    wrong = density.functions.user_data.copy()
    wrong[-1] += 1  # a length that differs from the others
    broken = replace(density.functions, user_data=wrong)
    point = density.start.copy()
    tracemalloc.start()
    try:
        sizes = []
        for _ in range(3):
            for _ in range(2_000):
                density(point)
                assert broken.call_logp(point) is None
            sizes.append(tracemalloc.get_traced_memory()[0])
        assert sizes[2] - sizes[1] < 1_000  # what Python itself keeps is there after the first
    finally:
        tracemalloc.stop()


def test_a_fit_needs_no_c_compiler_and_writes_nothing(tmp_path):
    """PyTensor makes its folders when it is imported, and does not put anything into them."""
    script = "import bayesanno as ba\nfit = ba.fit('one_coin', ba.read_annotations('@crowd'), draws=20, tune=20, "
    script += "chains=2, random_seed=1, progressbar=False, check=False)\nassert fit['posterior'].sizes['draw'] == 20"
    settings = {"PYTENSOR_FLAGS": f"base_compiledir={tmp_path}", "PYTHONWARNINGS": "ignore"}
    subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[2], env=os.environ | settings, check=True)
    written = [file.name for file in tmp_path.rglob("*") if file.is_file() and file.stat().st_size]
    assert written == []
