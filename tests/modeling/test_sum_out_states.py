"""Summing out states as an operation of its own: in every backend, its gradient, and rows without any probability."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from scipy.special import logsumexp, softmax

from bayesanno._core.private.pytensor import register_with_jax
from bayesanno.modeling.ops.sums import SumOutStates, sum_out_states

MODES = {"python": Mode(linker="py", optimizer="fast_compile"), "numba": "NUMBA"}


@pytest.fixture
def logp(rng):
    """Log probabilities of very different sizes, some of them -inf; the last row has no others."""
    values = rng.normal(size=(9, 3)) * 10.0 ** rng.integers(-3, 4, size=(9, 1))
    values[1, 0] = values[2, 1:] = values[-1] = -np.inf
    return values


@pytest.mark.parametrize("mode", MODES)
def test_totals_and_probabilities(mode, logp):
    symbol = pt.matrix()
    total, probability = pytensor.function([symbol], list(sum_out_states(symbol)), mode=MODES[mode])(logp)
    np.testing.assert_allclose(total, logsumexp(logp, axis=1), rtol=1e-14)
    np.testing.assert_allclose(probability[:-1], softmax(logp[:-1], axis=1), rtol=1e-13, atol=1e-300)
    np.testing.assert_array_equal(probability[-1], 0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(4, 1), (0, 3)])
def test_one_state_or_no_item(mode, shape, rng):
    symbol, values = pt.matrix(), rng.normal(size=shape)
    total, probability = pytensor.function([symbol], list(sum_out_states(symbol)), mode=MODES[mode])(values)
    np.testing.assert_array_equal(total, values[:, 0])
    np.testing.assert_array_equal(probability, np.ones(shape))


@pytest.mark.parametrize("mode", MODES)
def test_a_transposed_matrix_is_read_right(mode, logp):
    symbol = pt.matrix()
    total = pytensor.function([symbol], sum_out_states(symbol.T)[0], mode=MODES[mode])(np.ascontiguousarray(logp.T))
    np.testing.assert_allclose(total, logsumexp(logp, axis=1), rtol=1e-14)


@pytest.mark.parametrize("mode", MODES)
def test_nan_is_not_hidden(mode):
    values = np.array([[np.nan, 0.0], [0.0, np.nan], [np.nan, -np.inf], [-np.inf, np.nan], [np.nan, np.nan]])
    symbol = pt.matrix()
    assert np.isnan(pytensor.function([symbol], sum_out_states(symbol)[0], mode=MODES[mode])(values)).all()


def test_gradients_of_both_outputs_and_the_second_derivative_are_right(rng):
    values, weights = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    check = {"rng": rng, "mode": MODES["python"]}
    formulas = [
        lambda symbol: sum_out_states(symbol)[0],
        lambda symbol: sum_out_states(symbol)[1],
        lambda symbol: sum_out_states(symbol)[0][:, None] * sum_out_states(symbol)[1],
        lambda symbol: pytensor.grad((sum_out_states(symbol)[0] ** 2).sum(), symbol) * weights,
    ]
    for formula in formulas:
        pytensor.gradient.verify_grad(formula, [values], **check)


@pytest.mark.parametrize("mode", MODES)
def test_impossible_states_have_no_gradient(mode, logp):
    symbol = pt.matrix()
    gradient = pytensor.grad(sum_out_states(symbol)[0].sum(), symbol)
    found = pytensor.function([symbol], gradient, mode=MODES[mode])(logp)
    np.testing.assert_array_equal(found[np.isneginf(logp)], 0)
    np.testing.assert_allclose(found[:-1].sum(axis=1), 1, rtol=1e-14)


def test_shapes_are_known_without_computing(logp):
    symbol = pt.matrix()
    shapes = pytensor.function([symbol], [output.shape for output in sum_out_states(symbol)])
    assert SumOutStates not in {type(node.op) for node in shapes.maker.fgraph.apply_nodes}
    assert [shape.tolist() for shape in shapes(logp)] == [[9], [9, 3]]


@pytest.mark.parametrize("wrong", [pt.vector(), pt.tensor3(), pt.lmatrix()])
def test_what_is_no_matrix_of_floats_is_refused(wrong):
    with pytest.raises(TypeError, match="a matrix of floats"):
        sum_out_states(wrong)


@pytest.mark.extras
def test_jax_computes_the_same(logp):
    jax = pytest.importorskip("jax", reason="JAX is an extra: pip install 'bayesanno[numpyro]'")
    register_with_jax()
    symbol = pt.matrix()
    outputs = list(sum_out_states(symbol))
    function = pytensor.function([symbol], outputs, mode="JAX")
    here = pytensor.function([symbol], outputs, mode=MODES["python"])(logp)
    for one, other in zip(function(logp), here, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    inside = function.vm.jit_fn  # NumPyro differentiates this itself
    gradient = jax.grad(lambda values: inside(values)[0].sum())(jax.numpy.asarray(logp))
    np.testing.assert_allclose(gradient, here[1], rtol=1e-5, atol=1e-30)
