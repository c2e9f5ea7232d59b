"""Compiled graphs: kept on disk and in the process, never stale, and never needed."""

import subprocess
import sys
from collections import OrderedDict
from dataclasses import replace
from importlib.metadata import version as version_of
from pathlib import Path

import numpy as np
import nutpie
import pymc as pm
import pytensor.tensor as pt
import pytest
from numba.core import caching
from pytensor.link.numba import cache as numba_cache
from scipy.stats import norm

import bayesanno as ba
from bayesanno._core.private import pytensor as of_pytensor
from bayesanno._core.private.nutpie import make_compiled_model
from bayesanno.graph import c_functions, functions
from bayesanno.graph import density as compiled
from bayesanno.graph.c_functions import WRITERS
from bayesanno.graph.density import compile_graph
from bayesanno.graph.functions import plain_compiling
from bayesanno.inference.sampling import starts
from bayesanno.modeling.ops.sums import sum_out_states
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


def draw_uncached(graph):
    import pytensor

    with pytensor.config.change_flags(numba__cache=False), plain_compiling():
        return sample(nutpie.compile_pymc_model(graph, initial_points=START, jitter_rvs=set(), var_names=["x"]))


@pytest.fixture(scope="module")
def expected_draws():
    """Draws from the small graph as nutpie compiles it."""
    return draw_uncached(small_graph())


def hits(model):
    """Whether the two functions came from the disk."""
    return [model.functions.logp.cache_hits, model.functions.kept.cache_hits]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for compiled code that earlier runs of these tests did not write to, with that of the small graph."""
    made = tmp_path_factory.mktemp("numba")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba_cache, "NUMBA_CACHE_PATH", made)
        patch.setattr(functions, "_kept", OrderedDict())
        compile_graph(small_graph(), START)
    return made


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    """What the process keeps of earlier tests is not there."""
    monkeypatch.setattr(functions, "_kept", OrderedDict())


@pytest.fixture
def on_disk(folder, monkeypatch):
    """The small graph is on disk, and not in the process."""
    monkeypatch.setattr(numba_cache, "NUMBA_CACHE_PATH", folder)


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


@pytest.mark.usefixtures("on_disk")
class TestNeverStale:
    def test_another_version_of_what_writes_code_is_not_found(self, monkeypatch):
        assert {"numba", "pytensor", "pymc", "bayesanno"} <= set(WRITERS)
        monkeypatch.setattr(c_functions, "version", lambda name: "0" if name == "numba" else version_of(name))
        c_functions._writers.cache_clear()
        try:
            assert hits(compile_graph(small_graph(), START)) == [0, 0]
        finally:
            c_functions._writers.cache_clear()

    def test_another_text_of_our_operations_is_not_found(self, monkeypatch):
        def compile_anew():
            with pm.Model() as graph:
                x = pm.Normal("x", shape=2)
                pm.Potential("y", sum_out_states(x[None])[0].sum())
            monkeypatch.setattr(functions, "_kept", OrderedDict())
            return hits(compile_graph(graph, START))[0]

        assert [compile_anew(), compile_anew()] == [0, 1]
        monkeypatch.setattr(of_pytensor, "hash_source", lambda _: 1)
        assert compile_anew() == 0

    def test_another_constant_is_not_found(self):
        assert compile_graph(small_graph(sd=3.0), START).functions.logp.cache_hits == 0

    def test_arithmetic_is_exact_whatever_the_flag(self, expected_draws):
        import pytensor

        with pytensor.config.change_flags(numba__fastmath=True):
            found = compile_graph(small_graph(), START)
        assert hits(found) == [1, 1]
        assert are_equal(draw(found), expected_draws)


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

    def test_a_fit_is_tried_again_without_the_cache(self, monkeypatch):
        import pytensor

        def compile_if_cache_works(*_):
            if pytensor.config.numba__cache:
                caching.IndexDataCacheFile("/no/such/folder", "name", 0)._save_data("name", None)
            raise KeyError("what is compiled without the cache")

        monkeypatch.setattr(starts, "compile_graph", compile_if_cache_works)
        with (
            pytest.warns(ba.errors.CacheWarning, match="No such file"),
            pytest.raises(KeyError, match="without the cache"),
        ):
            ba.fit("model_b", tiny_data(), **SHORT)


def test_this_process_finds_the_code_of_another(folder, monkeypatch):
    script = f"""
from pathlib import Path
from pytensor.link.numba import cache
from bayesanno.graph import c_functions
from bayesanno.graph.density import compile_graph
from tests.graph.test_compiled import START, draw, hits, small_graph
cache.NUMBA_CACHE_PATH = Path({str(folder)!r})
c_functions._writers = lambda: ("versions of their own",)
print(draw(compile_graph(small_graph(), START))["x"].sum())
"""
    root = Path(__file__).parents[2]
    printed = subprocess.run([sys.executable, "-c", script], cwd=root, text=True, stdout=subprocess.PIPE, check=True)
    monkeypatch.setattr(numba_cache, "NUMBA_CACHE_PATH", folder)
    monkeypatch.setattr(c_functions, "_writers", lambda: ("versions of their own",))
    found = compile_graph(small_graph(), START)
    assert hits(found) == [1, 1]
    assert printed.stdout.split() == [str(draw(found)["x"].sum())]
