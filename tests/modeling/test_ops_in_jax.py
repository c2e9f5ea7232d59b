"""Our operations in JAX: the values that NumPy has, and gradients by JAX itself, which NumPyro takes."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode

from bayesanno._core.private.pytensor import register_with_jax
from bayesanno.modeling.ops.right_response import join_right, split_right
from bayesanno.modeling.ops.sums import add_rows, sum_out_states
from bayesanno.modeling.ops.transforms import log_simplex

PYTHON = Mode(linker="py", optimizer="fast_compile")
SOURCE, TARGET = np.array([0, 3, 1, 1, 4]), np.array([2, 0, 0, 2, 2])
RIGHT = np.array([2, 0, 1, 1, 0])  # of each row
OPERATIONS = {
    "sum over annotations": lambda rows: [add_rows(rows, SOURCE, TARGET, 4)],
    "sum over states": sum_out_states,
    "right response": lambda rows: [*split_right(rows, RIGHT), join_right(*split_right(rows, RIGHT), RIGHT)],
    "simplex": log_simplex,
}


@pytest.mark.extras
@pytest.mark.parametrize("name", OPERATIONS)
def test_values_and_gradients_are_those_of_numpy(name, rng):
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
