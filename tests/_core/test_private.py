"""What is relied on of names that libraries do not document: a test that fails here says which of them has changed."""

import numba
import numpy as np
import nutpie
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from numba.core.caching import IndexDataCacheFile

from bayesanno._core.private import numba as of_numba
from bayesanno._core.private import nutpie as of_nutpie
from bayesanno._core.private import pymc as of_pymc
from bayesanno._core.private import pytensor as of_pytensor
from bayesanno.graph.density import compile_graph


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


def test_pytensors_compile_numba_function_src():
    """A function made of text is found by the key under which its code is kept."""
    made = of_pytensor.compile_source("def one(x):\n    return x + 1", "one", {}, "key")
    assert made(1) == 2
    assert of_pytensor.compiled_code.CACHED_SRC_FUNCTIONS[made] == "key"


def test_pytensors_numba_funcify_ensure_cache():
    """The function of an operation has a name that is the same for the same operation."""
    first, second, third = (pt.cumsum(pt.matrix("x"), axis=axis).owner for axis in (0, 0, 1))
    function, name = of_pytensor.function_of(first.op, first)
    assert type(function) is type(numba.njit(lambda x: x))
    assert isinstance(name, str)
    assert name == of_pytensor.function_of(second.op, second)[1] != of_pytensor.function_of(third.op, third)[1]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int8", "uint8", "bool"])
def test_numbas_elements_of_vectors(dtype):
    """A number is converted to the type of the vector, in a loop that writes it and in none."""
    at, put = of_numba.at, of_numba.put

    @numba.njit
    def copy(given, found):
        put(found, 0, 1.0, 0)
        for i in range(1, found.size):
            put(found, i, at(given, i, 1), 1)

    given, found = np.array([0, 1, 0, 1], dtype=dtype), np.zeros(4, dtype=dtype)
    copy(given, found)
    assert found.tolist() == [1, 1, 0, 1]


def test_pytensors_numba_cache_path():
    assert of_pytensor.find_cache_folder().is_dir()


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
    with pytest.raises(FileNotFoundError) as caught:
        IndexDataCacheFile("/no/such/folder", "name", 0)._save_data("name", None)
    assert of_numba.is_of_cache(caught.value)
    assert not of_numba.is_of_cache(ValueError("of something else"))


def test_numbas_intrinsic_and_cgutils():
    """A whole number is taken for the address of an array."""
    array = np.array([3.0, 4.0])
    read = numba.njit(lambda address: numba.carray(of_numba.pointer_to(address), (2,), np.float64)[1])
    assert read(array.ctypes.data) == 4.0


def test_pymcs_make_initial_point_fn():
    """Values on the scale that is sampled: given ones, or from the prior, by the seed."""
    with pm.Model() as graph:
        pm.Exponential("rate", 1.0)
    assert of_pymc.draw_initial_point(graph, {"rate": np.array(np.e)})(0) == {"rate_log__": pytest.approx(1.0)}
    draw = of_pymc.draw_initial_point(graph)
    assert draw(1) == draw(1) != draw(2)


def test_pymcs_remove_value_transforms():
    with pm.Model() as graph:
        pm.Exponential("rate", 1.0)
    assert [value.name for value in of_pymc.remove_value_transforms(graph).value_vars] == ["rate"]


def test_nutpies_compiled_pymc_model():
    """It samples two functions of C, whose data are numbers, without Python."""
    with pm.Model() as graph:
        pm.Normal("x", 5.0, 0.1)
    density = compile_graph(graph, {"x": np.array(5.0)})
    model = of_nutpie.make_compiled_model(
        density.functions, density.parts, density.n_dim, lambda _: density.start + 0.01
    )
    drawn = nutpie.sample(model, draws=50, tune=50, chains=1, seed=1, progress_bar=False)["posterior"]["x"]
    assert float(drawn.mean()) == pytest.approx(5.0, abs=0.1)
