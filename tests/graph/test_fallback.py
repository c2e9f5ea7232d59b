"""A fit where a library is not what it was: with a private name gone it ends, slower, and says so once."""

import re

import numpy as np
import nutpie
import pytest

import bayesanno as ba
from bayesanno._core.errors import CacheWarning, FitError
from bayesanno._core.private import numba as of_numba
from bayesanno.graph import functions
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
@pytest.mark.parametrize(
    ("library", "gone", "why"),
    [
        (nutpie.compile_pymc, "CompiledPyMCModel", "nutpie differs from the one that bayesanno expects .ImportError"),
        (of_numba, "pointer_to", "this version of PyTensor or Numba differs from .*pointer_to"),
    ],
)
def test_without_a_private_name_the_posterior_is_the_same(monkeypatch, library, gone, why):
    monkeypatch.delattr(library, gone)
    exact = exact_posterior(tiny_data())
    with pytest.warns(CacheWarning) as said:
        fit = ba.fit("model_b", tiny_data(), **SHORT | {"draws": 300, "tune": 300})
    (line,) = [str(one.message) for one in said if issubclass(one.category, CacheWarning)]
    assert re.search(f"{why}.*the fit is slower", line)
    for name in ("confusion", "prevalence"):
        off = abs(fit["posterior"][name].mean(("chain", "draw")).values - getattr(exact, name))
        assert (off < 0.4 * getattr(exact, f"{name}_sd")).all()
    np.testing.assert_allclose(fit["latent"]["probability"], exact.probability, atol=0.1)


def test_values_that_cannot_be_computed_are_an_error(refuses):
    """The C function returns 1 then, and leaves what it should have written as it was."""
    data, model = tiny_data(), ba.get_model("model_b")
    graph = model.build(data)
    density = compile_graph(graph, model.start(data))
    assert set(density.values_at(density.start)) == {"prevalence", "confusion"}

    class Fails:
        @staticmethod
        def ctypes(*_):
            return 1

    object.__setattr__(density.functions, "kept", Fails)
    with refuses(FitError, "cannot be computed at a sampled point"):
        density.values_at(density.start)
