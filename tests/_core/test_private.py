"""What is relied on of names that libraries do not document: a test that fails here says which of them has changed."""

import ctypes

import numpy as np
import nutpie
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest

from bayesanno._core import private
from bayesanno.graph.density import compile_graph


class Doubled(private.LoopOp):
    """Twice a vector by Numba; three times by `perform`, so that one sees which was asked."""

    def make_node(self, x):
        return pytensor.graph.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):  # noqa: ARG002
        output_storage[0][0] = 3 * inputs[0]

    @staticmethod
    def lengths(x):
        return (x,)

    @staticmethod
    def loop(x, y):
        for i in range(len(x)):
            y[i] = 2 * x[i]

    @staticmethod
    def in_jax(x):
        return 4 * x


@pytest.mark.parametrize(("mode", "times"), [("NUMBA", 2), ("FAST_COMPILE", 3)])
def test_pytensors_numba_njit_and_register_funcify_and_cache_key(mode, times):
    x = pt.vector("x")
    assert pytensor.function([x], Doubled()(x), mode=mode)([1.0]).tolist() == [times]


def test_pytensors_as_tensor_variable():
    class Twice(int):
        pass

    private.as_tensor.register(Twice, lambda of, *_, **__: pt.constant(2 * int(of)))
    assert [
        float(one.eval()) for one in (pt.constant(1.0) * Twice(3), Twice(3) - pt.constant(1.0), pt.exp(Twice(0)))
    ] == [6, 5, 1]


@pytest.mark.extras
def test_pytensors_jax_funcify():
    pytest.importorskip("jax", reason="JAX is an extra: pip install 'bayesanno[numpyro]'")
    private.register_with_jax()
    x = pt.vector("x")
    assert pytensor.function([x], Doubled()(x), mode="JAX")([1.0]).tolist() == [4]


def test_pytensors_nodes():
    """Which of their inputs are the value, the lengths, the shape and the random numbers."""
    full, either = pt.alloc(1.0, 2, 3).owner, pt.specify_shape(pt.matrix(), (2, None)).owner
    reshaped, drawn = pt.vector().reshape((2, 3)).owner, pm.Normal.dist(shape=(3,)).owner
    stacked = pt.stack([pt.lscalar(), pt.constant(3, dtype="int64")]).owner
    for node, kind in ((full, "Alloc"), (stacked, "MakeVector"), (reshaped, "Reshape"), (either, "SpecifyShape"),
                       (drawn, "RandomVariable")):  # fmt: skip
        assert isinstance(node.op, getattr(private, kind))
    assert [int(one.data) for one in full.inputs[1:]] == [2, 3]
    assert stacked.op.dtype == "int64"
    assert reshaped.inputs[1].eval().tolist() == [2, 3]
    assert int(either.inputs[1].data) == 2
    assert not hasattr(either.inputs[2].type, "ndim")  # a length that is not known has no number
    assert isinstance(drawn.inputs[0].type, private.RandomType)
    assert drawn.inputs[1].eval().tolist() == [3]


def test_pymcs_transform_and_simplex_transform_and_remove_value_transforms():
    """PyMC's coordinates of probabilities are those of `bayesanno.modeling.ops`, and a model tells its transforms."""
    with pm.Model() as graph:
        shares = pm.Dirichlet("shares", np.ones(3))
    transform = graph.rvs_to_transforms[shares]
    assert type(transform) is private.SimplexTransform
    whole = np.array([0.3, -0.1, -0.2])
    np.testing.assert_allclose(transform.backward(pt.as_tensor(whole[:2])).eval(), np.exp(whole) / np.exp(whole).sum())
    assert [value.name for value in private.remove_value_transforms(graph).value_vars] == ["shares"]


def test_pymcs_make_initial_point_fn():
    """Values on the scale that is sampled: given ones, or from the prior, by the seed."""
    with pm.Model() as graph:
        pm.Exponential("rate", 1.0)
    assert private.draw_initial_point(graph, {"rate": np.array(np.e)})(0) == {"rate_log__": pytest.approx(1.0)}
    draw = private.draw_initial_point(graph)
    assert draw(1) == draw(1) != draw(2)


def test_nutpies_compiled_pymc_model():
    """It samples two functions of C, whose data are numbers, without Python."""
    with pm.Model() as graph:
        pm.Normal("x", 5.0, 0.1)
    density = compile_graph(graph, {"x": np.array(5.0)})
    model = private.make_compiled_model(density.functions, density.parts, density.n_dim, lambda _: density.start + 0.01)
    drawn = nutpie.sample(model, draws=50, tune=50, chains=1, seed=1, progress_bar=False)["posterior"]["x"]
    assert float(drawn.mean()) == pytest.approx(5.0, abs=0.1)


def test_nutpies_compile_pymc_model():
    """Its functions have the arguments of ours, and its values their order: what is sampled, then what is kept."""
    with pm.Model() as graph:
        pm.Exponential("rate", 1.0)
        pm.Normal("x", 0.0, 1.0)
        pm.Deterministic("not kept", graph["x"] ** 2)
    model = nutpie.compile_pymc_model(graph, jitter_rvs=set(), var_names=["rate", "x"])
    assert model.shape_info[0] == ["rate_log__", "x", "rate"]
    logp, kept, arrays, described = private.compile_by_nutpie(graph, ["rate", "x"])
    point, values = np.array([0.5, 2.0]), np.zeros(3)
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)
    given = 2, 3, point.ctypes.data, values.ctypes.data, described.ctypes.data
    assert kind(kept.address)(*given) == 0
    np.testing.assert_allclose(values, [0.5, 2.0, np.exp(0.5)])
    assert logp.address != kept.address
    assert all(isinstance(array, np.ndarray) for array in arrays)
