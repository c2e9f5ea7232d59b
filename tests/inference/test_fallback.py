"""A fit where a library is not what it was: with each private name gone in turn it ends, slower, and says so once."""

import numpy as np
import nutpie
import pytest

import bayesanno as ba
from bayesanno.ground.errors import CacheWarning, FitError
from bayesanno.ground.private import numba as of_numba
from bayesanno.ground.private import pytensor as of_pytensor
from bayesanno.inference.graph import density as compiled
from bayesanno.inference.graph.density import compile_graph
from tests.samples import SHORT, tiny_data

NOISY = pytest.mark.filterwarnings("ignore::bayesanno.ConvergenceWarning", "ignore::bayesanno.IdentifiabilityWarning")


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    """What the process keeps of earlier tests is not there."""
    monkeypatch.setattr(compiled, "_functions", type(compiled._functions)())


@pytest.fixture(scope="module")
def expected():
    """A fit by the libraries as they are."""
    return fit_model_b()


def fit_model_b(**how):
    with pytest.warns() as said:
        tree = ba.fit("model_b", tiny_data(), **SHORT | {"draws": 300, "tune": 300} | how)
    tree.attrs["said"] = [str(one.message) for one in said if issubclass(one.category, CacheWarning)]
    return tree


def check(found, expected):
    """The fit says in one line that it is slower, and has the same posterior."""
    (line,) = found.attrs["said"]
    assert len(line.splitlines()) == 1
    assert "the fit is slower" in line
    assert expected.attrs["said"] == []
    for name in ("confusion", "prevalence", "accuracy"):
        one, other = (fit["posterior"][name] for fit in (found, expected))
        assert one.dims == other.dims
        sd = other.std(("chain", "draw"))
        assert float((abs(one.mean(("chain", "draw")) - other.mean(("chain", "draw"))) / sd).max()) < 0.4
    np.testing.assert_allclose(found["latent"]["probability"], expected["latent"]["probability"], atol=0.1)
    return line


@NOISY
class TestNutpie:
    def test_without_its_compiled_model(self, monkeypatch, expected):
        monkeypatch.delattr(nutpie.compile_pymc, "CompiledPyMCModel")
        assert "this nutpie is not the one that bayesanno was made for (ImportError" in check(fit_model_b(), expected)

    def test_with_other_fields_of_its_compiled_model(self, monkeypatch, expected):
        def made(**fields):
            raise TypeError(f"{len(fields)} unexpected arguments")

        monkeypatch.setattr(nutpie.compile_pymc, "CompiledPyMCModel", made)
        assert "(TypeError: 15 unexpected arguments)" in check(fit_model_b(), expected)

    def test_with_another_sampler_for_it(self, monkeypatch, expected):
        monkeypatch.setattr(
            nutpie.compile_pymc.CompiledPyMCModel,
            "_make_sampler",
            lambda *_: (_ for _ in ()).throw(AttributeError("no from_pymc")),
        )
        assert "no from_pymc" in check(fit_model_b(), expected)


@NOISY
@pytest.mark.parametrize(
    ("library", "gone"),
    [
        (of_pytensor, "compile_source"),
        (of_pytensor, "inner_function"),
        (of_pytensor, "name_function"),
        (of_numba, "pointer_to"),
    ],
)
def test_without_what_makes_functions_of_c(monkeypatch, expected, library, gone):
    monkeypatch.delattr(library, gone)
    line = check(fit_model_b(), expected)
    assert "this PyTensor or Numba is not the one that bayesanno was made for" in line
    assert gone in line


def test_values_that_cannot_be_computed_are_an_error_and_no_memory_of_something_else(refuses):
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
    with refuses(FitError, "cannot be computed at a point that was sampled"):
        density.values_at(density.start)
