"""A fit where a graph or a library is not what is expected: as right, slower, and said in the log."""

import re

import numpy as np
import nutpie
import pymc as pm
import pytensor.tensor as pt
import pytest
from pytensor.graph import Apply, Op
from pytensor.link.numba.dispatch.basic import numba_funcify, numba_njit
from scipy.stats import norm

import bayesanno as ba
from bayesanno._core.messages import FitError
from bayesanno.graph import flat, functions
from bayesanno.graph.density import compile_graph
from tests.inference.exact import exact_posterior
from tests.samples import SHORT, tiny_data

NOISY = pytest.mark.filterwarnings(
    "ignore::bayesanno.ConvergenceWarning", "ignore::bayesanno.errors.IdentifiabilityWarning"
)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    """What the process keeps of earlier tests is not there."""
    monkeypatch.setattr(functions, "_kept", type(functions._kept)())


@NOISY
def test_without_a_private_name_of_nutpie_the_posterior_is_the_same(monkeypatch, caplog):
    monkeypatch.delattr(nutpie.compile_pymc, "CompiledPyMCModel")
    exact = exact_posterior(tiny_data())
    fit = ba.fit("model_b", tiny_data(), **SHORT | {"draws": 300, "tune": 300})
    assert re.search("nutpie differs from the version that is expected .ImportError.*slower", caplog.text)
    for name in ("confusion", "prevalence"):
        off = abs(fit["posterior"][name].mean(("chain", "draw")).values - getattr(exact, name))
        assert (off < 0.4 * getattr(exact, f"{name}_sd")).all()
    np.testing.assert_allclose(fit["latent"]["probability"], exact.probability, atol=0.1)


class Twice(Op):
    """An operation of somebody else, with a function for Numba."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, _, inputs, output_storage):
        output_storage[0][0] = 2 * inputs[0]

    def pullback(self, inputs, outputs, cotangents):  # noqa: ARG002
        return [2 * cotangents[0]]


@numba_funcify.register(Twice)
def twice(*_, **__):
    return numba_njit(lambda x: 2 * x)


def test_a_graph_with_an_operation_that_is_not_known_is_compiled_by_nutpie(caplog):
    caplog.set_level("INFO", "bayesanno")
    with pm.Model(coords={"which": range(3)}) as graph:
        x = pm.Gamma("x", 2.0, 1.0, dims="which")
        pm.Normal("y", Twice()(x), 1.0, observed=pm.Data("seen", np.array([1.0, 2.0, 3.0])))
    density = compile_graph(graph, {"x": np.array([0.5, 1.0, 2.0])})
    assert re.search("compiled by nutpie.*Twice", caplog.text)
    value, gradient = density(density.start)
    by_pymc = {"x_log__": density.start}
    assert value == pytest.approx(float(graph.compile_logp(mode="FAST_COMPILE")(by_pymc)), rel=1e-12)
    np.testing.assert_allclose(gradient, graph.compile_dlogp(mode="FAST_COMPILE")(by_pymc), rtol=1e-10)
    np.testing.assert_allclose(density.values_at(density.start)["x"], [0.5, 1.0, 2.0])


def test_a_graph_is_compiled_by_nutpie_where_pytensor_differs(monkeypatch, caplog):
    monkeypatch.delattr(flat, "simplify")
    with pm.Model() as graph:
        pm.Normal("x", 1.0, 2.0)
    value, gradient = compile_graph(graph, {"x": np.array(0.0)})(np.array([2.0]))
    assert re.search("PyTensor or llvmlite is not as expected .NameError.*simplify", caplog.text)
    assert value == pytest.approx(norm(1, 2).logpdf(2))
    assert gradient == pytest.approx([-0.25])


def test_a_formula_with_an_operation_that_is_not_known_is_evaluated_by_numpy(caplog):
    caplog.set_level("INFO", "bayesanno")
    x = pt.vector("x")
    function = functions.compile_once([x], [pt.sort(x) + Twice()(x)])
    assert re.search("evaluated by NumPy.*(Sort|Twice)", caplog.text)
    assert [one.tolist() for (one,) in function.each([np.array([[3.0, 1.0], [2.0, 5.0]])])] == [[7, 5], [6, 15]]


def test_values_that_cannot_be_computed_are_an_error(refuses):
    """The C function returns 1 then, and leaves what it should have written as it was."""
    data, model = tiny_data(), ba.get_model("model_b")
    graph = model.build(data)
    density = compile_graph(graph, model.start(data))
    assert set(density.values_at(density.start)) == {"prevalence", "confusion"}

    class Fails:
        @staticmethod
        def call(*_):
            return 1

    object.__setattr__(density.functions, "kept", Fails)
    with refuses(FitError, "cannot be computed at a sampled point"):
        density.values_at(density.start)
