"""What is relied on of names that libraries do not document: a test that fails here says which of them has changed."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from numba.core.caching import IndexDataCacheFile

from bayesanno.ground.private import numba as of_numba
from bayesanno.ground.private import pymc as of_pymc
from bayesanno.ground.private import pytensor as of_pytensor


class Doubled(of_pytensor.LoopOp):
    """Twice a vector by Numba; three times by `perform`, so that one sees which was asked."""

    version = 1

    def make_node(self, x):
        return pytensor.graph.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):  # noqa: ARG002
        output_storage[0][0] = 3 * inputs[0]

    @staticmethod
    def loop(x):
        return 2 * x

    @staticmethod
    def in_jax(x):
        return 4 * x


@pytest.mark.parametrize(("mode", "times"), [("NUMBA", 2), ("FAST_COMPILE", 3)])
def test_pytensors_numba_njit_and_register_funcify_default_op_cache_key(mode, times):
    x = pt.vector("x")
    assert pytensor.function([x], Doubled()(x), mode=mode)([1.0]).tolist() == [times]


@pytest.mark.extras
def test_pytensors_jax_funcify():
    pytest.importorskip("jax", reason="JAX is an extra: pip install 'bayesanno[numpyro]'")
    of_pytensor.register_with_jax()
    x = pt.vector("x")
    assert pytensor.function([x], Doubled()(x), mode="JAX")([1.0]).tolist() == [4]


def test_pytensors_compile_numba_function_src_and_cached_src_functions():
    """A function made of text is found by the key under which its code is kept."""
    made = of_pytensor.compile_numba_function_src("def one(x):\n    return x + 1", "one", {}, cache_key="key")
    assert made(1) == 2
    assert of_pytensor.CACHED_SRC_FUNCTIONS[made] == "key"
    unnamed = of_pytensor.compile_numba_function_src("def one(x):\n    return x + 1", "one", {})
    assert of_pytensor.CACHED_SRC_FUNCTIONS.get(unnamed) is None


def test_pytensors_numba_cache_path():
    assert of_pytensor.NUMBA_CACHE_PATH.is_dir()


def test_pytensors_frozen_function_graph():
    """Two graphs of the same operations and constants are equal, whatever variables are called."""

    def graph(name, factor):
        x = pt.vector(name)
        return of_pytensor.FrozenFunctionGraph.from_io([x], [factor * pt.exp(x)])

    assert graph("x", 2.0) == graph("y", 2.0)
    assert hash(graph("x", 2.0)) == hash(graph("y", 2.0))
    assert graph("x", 2.0) != graph("x", 3.0)


def test_pytensors_toposort_and_io_toposort():
    """Nodes come after those that they read; of the second, those that the inputs do not need."""
    x = pt.vector("x")
    middle = pt.exp(x)
    end = pt.log(middle)
    assert list(of_pytensor.toposort([end])) == [middle.owner, end.owner]
    assert list(of_pytensor.io_toposort([middle], [end])) == [end.owner]


def test_pytensors_alloc():
    """Its inputs are the value, and then the lengths."""
    node = pt.alloc(1.0, 2, 3).owner
    assert isinstance(node.op, of_pytensor.Alloc)
    assert [int(one.data) for one in node.inputs[1:]] == [2, 3]


def test_pytensors_make_vector():
    node = pt.stack([pt.lscalar(), pt.constant(3, dtype="int64")]).owner
    assert isinstance(node.op, of_pytensor.MakeVector)
    assert node.op.dtype == "int64"


def test_pytensors_reshape():
    """Its second input is the shape."""
    node = pt.vector().reshape((2, 3)).owner
    assert isinstance(node.op, of_pytensor.Reshape)
    assert node.inputs[1].eval().tolist() == [2, 3]


def test_pytensors_specify_shape():
    """Its inputs are the value, and then the lengths; one that is not known has no number."""
    node = pt.specify_shape(pt.matrix(), (2, None)).owner
    assert isinstance(node.op, of_pytensor.SpecifyShape)
    assert int(node.inputs[1].data) == 2
    assert not hasattr(node.inputs[2].type, "ndim")


def test_pytensors_random_variable():
    """Its inputs are the random numbers and the size, whose length says how many axes there are."""
    node = pm.Normal.dist(shape=(3,)).owner
    assert isinstance(node.op, of_pytensor.RandomVariable)
    assert isinstance(node.inputs[0].type, of_pytensor.RandomType)
    assert node.inputs[1].eval().tolist() == [3]


def test_pymcs_transform_and_simplex_transform():
    """PyMC's coordinates of probabilities are those of `bayesanno.modeling.ops`, and a model tells its transforms."""
    with pm.Model() as graph:
        shares = pm.Dirichlet("shares", np.ones(3))
        pm.HalfNormal("spread")
    transform = graph.rvs_to_transforms[shares]
    assert type(transform) is of_pymc.SimplexTransform
    assert all(isinstance(each, of_pymc.Transform) for each in graph.rvs_to_transforms.values())
    y = np.array([0.3, -0.1])
    whole = np.array([0.3, -0.1, -0.2])
    np.testing.assert_allclose(transform.backward(pt.as_tensor(y)).eval(), np.exp(whole) / np.exp(whole).sum())


def test_pymcs_find_rng_nodes_and_reseed_rngs():
    drawn = pm.Normal.dist(shape=(3,))
    rngs = of_pymc.find_rng_nodes([drawn])
    draw = pm.compile([], drawn)
    of_pymc.reseed_rngs(rngs, 1)
    first = draw()
    of_pymc.reseed_rngs(rngs, 1)
    np.testing.assert_array_equal(draw(), first)


def test_numbas_caching():
    """What goes wrong in the cache goes through this file."""
    assert of_numba.caching.__file__.endswith("caching.py")
    assert of_numba.caching.IndexDataCacheFile is IndexDataCacheFile


def test_numbas_numba_error():
    assert issubclass(of_numba.NumbaError, Exception)
