"""Our operations: gradients and second derivatives, shapes without computing, and JAX, which NumPyro takes."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode

from bayesanno._core.private import LoopOp, register_with_jax
from bayesanno.modeling.ops.right_response import join_right, split_right
from bayesanno.modeling.ops.sums import add_rows, sum_out_states
from bayesanno.modeling.ops.transforms import log_simplex
from tests.modeling.backends import PYTHON, compile_in

SOURCE, TARGET = np.array([0, 3, 1, 1, 4]), np.array([2, 0, 0, 2, 2])
RIGHT = np.array([2, 0, 1, 1, 0])  # of each row
OPERATIONS = {
    "sum over annotations": lambda rows: [add_rows(rows, SOURCE, TARGET, 4)],
    "sum over states": sum_out_states,
    "right response": lambda rows: [*split_right(rows, RIGHT), join_right(*split_right(rows, RIGHT), RIGHT)],
    "simplex": log_simplex,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_gradients_and_second_derivatives_are_right(name, rng):
    values, check = rng.normal(size=(5, 3)), {"rng": rng, "mode": PYTHON}
    for at in range(len(OPERATIONS[name](pt.matrix()))):
        pytensor.gradient.verify_grad(lambda x, at=at: OPERATIONS[name](x)[at], [values], **check)

    def slope(x):
        return pytensor.grad(sum((output**3).sum() for output in OPERATIONS[name](x)), x)

    pytensor.gradient.verify_grad(slope, [values], **check)


@pytest.mark.parametrize("name", ["sum over annotations", "sum over states"])
def test_shapes_are_known_without_computing(name, rng):
    symbol, values = pt.matrix(), rng.normal(size=(5, 3))
    outputs = OPERATIONS[name](symbol)
    shapes = pytensor.function([symbol], [output.shape for output in outputs], mode=Mode(linker="py"))
    assert not any(isinstance(node.op, LoopOp) for node in shapes.maker.fgraph.apply_nodes)
    expected = pytensor.function([symbol], outputs, mode=PYTHON)(values)
    assert [shape.tolist() for shape in shapes(values)] == [list(of.shape) for of in expected]


@pytest.mark.parametrize("backend", ["loops", "numba"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_values_are_those_of_numpy(name, backend, rng):
    """In our loops, and in Numba, where PyTensor compiles a graph."""
    symbol, values = pt.tensor3(), rng.normal(size=(2, 5, 3))
    outputs = [output for at in range(2) for output in OPERATIONS[name](symbol[at])]
    expected = compile_in("python", [symbol], outputs)(values)
    for one, other in zip(compile_in(backend, [symbol], outputs)(values), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.extras
@pytest.mark.parametrize("name", OPERATIONS)
def test_values_and_gradients_in_jax_are_those_of_numpy(name, rng):
    jax = pytest.importorskip("jax", reason="JAX is an extra: pip install 'bayesanno[numpyro]'")
    register_with_jax()
    symbol, values = pt.matrix(), rng.normal(size=(5, 3))
    if name == "sum over states":
        values[1, 0] = values[-1] = -np.inf
    outputs = list(OPERATIONS[name](symbol))
    slope = pytensor.grad(sum(pt.tanh(output).sum() for output in outputs), symbol)
    *expected, slope = pytensor.function([symbol], [*outputs, slope], mode=PYTHON)(values)
    function = pytensor.function([symbol], outputs, mode="JAX")
    for one, other in zip(function(values), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    inside = function.vm.jit_fn
    found = jax.grad(lambda x: sum(jax.numpy.tanh(one).sum() for one in inside(x)))(jax.numpy.asarray(values))
    np.testing.assert_allclose(found, slope, rtol=1e-4, atol=1e-6)
