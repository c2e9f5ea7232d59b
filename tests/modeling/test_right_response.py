"""Taking one entry out of each row and putting it back: in every backend, and each the other's gradient."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode

from bayesanno._core.private.pytensor import register_with_jax
from bayesanno.modeling.ops.right_response import join_right, split_right

MODES = {"python": Mode(linker="py", optimizer="fast_compile"), "numba": "NUMBA"}
RIGHT = np.array([2, 0, 1])  # of each row


@pytest.fixture
def whole(rng):
    """Rows of three entries for each of five annotators, far from contiguous."""
    return rng.normal(size=(3, 3, 5)).transpose(2, 1, 0)


def taken_apart(whole):
    wrong = np.stack([np.delete(whole[..., k, :], RIGHT[k], axis=-1) for k in range(3)], axis=-2)
    return wrong, np.stack([whole[..., k, RIGHT[k]] for k in range(3)], axis=-1)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_right_is_taken_out_and_put_back(mode, whole):
    symbol, right = pt.tensor3(), pt.lvector()
    wrong, own = split_right(symbol, right)
    function = pytensor.function([symbol, right], [wrong, own, join_right(wrong, own, right)], mode=MODES[mode])
    for values in (whole, whole[:0]):
        found = function(values, RIGHT)
        for one, other in zip(found, (*taken_apart(values), values), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("mode", MODES)
def test_two_responses_and_one_table(mode):
    symbol = pt.matrix()
    wrong, own = split_right(symbol, np.array([1, 1]))
    function = pytensor.function(
        [symbol], [wrong, own, join_right(own[:, None], wrong[:, 0], [1, 1])], mode=MODES[mode]
    )
    found = function(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert [array.tolist() for array in found] == [[[1.0], [3.0]], [2.0, 4.0], [[2.0, 1.0], [4.0, 3.0]]]


def test_gradients_and_second_derivatives_are_right(whole, rng):
    check = {"rng": rng, "mode": MODES["python"]}
    wrong, own = taken_apart(whole)
    weights = rng.normal(size=whole.shape)
    for formula in (
        lambda x: split_right(x, RIGHT)[0],  # of which the other output has no gradient
        lambda x: split_right(x, RIGHT)[1],
        lambda x: pt.exp(split_right(x, RIGHT)[0]) * split_right(x, RIGHT)[1][..., None],
        lambda x: pytensor.grad((split_right(x, RIGHT)[0] ** 3).sum(), x) * weights,
    ):
        pytensor.gradient.verify_grad(formula, [np.ascontiguousarray(whole)], **check)
    pytensor.gradient.verify_grad(lambda *parts: join_right(*parts, RIGHT) ** 2, [wrong, own], **check)


def test_what_is_no_table_is_refused():
    for wrong in ((pt.vector(), pt.lvector()), (pt.matrix(), pt.lmatrix()), (pt.matrix(), pt.vector())):
        with pytest.raises(TypeError, match="a vector of indices"):
            split_right(*wrong)
    with pytest.raises(TypeError, match="a vector of indices"):
        join_right(pt.matrix(), pt.matrix(), pt.lvector())


@pytest.mark.extras
def test_jax_computes_the_same(whole):
    jax = pytest.importorskip("jax", reason="JAX is an extra: pip install 'bayesanno[numpyro]'")
    register_with_jax()
    symbol, right = pt.tensor3(), pt.lvector()
    wrong, own = split_right(symbol, right)
    function = pytensor.function([symbol, right], [wrong, own, join_right(wrong, own, right)], mode="JAX")
    for one, other in zip(function(whole, RIGHT), (*taken_apart(whole), whole), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    inside = function.vm.jit_fn  # NumPyro differentiates this itself
    slope = jax.grad(lambda x: (inside(x, jax.numpy.asarray(RIGHT))[0] ** 2).sum())(jax.numpy.asarray(whole))
    expected = 2 * whole * (np.arange(3) != RIGHT[:, None])
    np.testing.assert_allclose(slope, expected, rtol=1e-5)
