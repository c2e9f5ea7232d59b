"""Sums and parts of arrays as Numba compiles them here: the same values as PyTensor's own."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import get_mode
from pytensor.tensor.basic import Split
from pytensor.tensor.math import Sum

from bayesanno.modeling.functions import BY_NUMPY
from bayesanno.modeling.ops.plain import PlainSum, numba_mode


def operations(function):
    return [type(node.op) for node in function.maker.fgraph.apply_nodes]


@pytest.mark.parametrize("shape", [(4, 5, 3), (4, 0, 3), (1, 5, 1)])
@pytest.mark.parametrize("lie", ["C", "F"])
def test_sums_over_some_axes(shape, lie, rng):
    x = pt.tensor3("x")
    every = [0, 2, -1, (0, 2), (1, 0)]
    function = pytensor.function([x], [x.sum(axis=axis) for axis in every], mode=numba_mode())
    assert Sum not in operations(function)
    assert PlainSum in operations(function)
    value = np.array(rng.normal(size=shape), order=lie)
    for found, axis in zip(function(value), every, strict=True):
        np.testing.assert_allclose(found, value.sum(axis=axis), rtol=1e-14, atol=1e-14)


def test_without_numba_it_is_numpys_sum(rng):
    x = pt.matrix("x")
    value = rng.normal(size=(3, 4))
    total = PlainSum((0,), 2)(x)
    np.testing.assert_array_equal(total.eval({x: value}, mode=BY_NUMPY), value.sum(axis=0))
    assert total.type.shape == (None,)


def test_sums_of_whole_arrays_and_of_other_numbers_are_pytensors():
    counts, x = pt.imatrix("counts"), pt.matrix("x")
    function = pytensor.function([counts, x], [counts.sum(axis=0), x.sum()], mode=numba_mode())
    assert PlainSum not in operations(function)
    of_counts, of_x = function(np.array([[1, 2], [3, 4]], dtype=np.int32), np.ones((2, 3)))
    assert of_counts.tolist() == [4, 6]
    assert of_x == 6


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_parts_of_an_array(axis, rng):
    x, lengths = pt.matrix("x"), pt.lvector("lengths")
    function = pytensor.function([x, lengths], pt.split(x, lengths, n_splits=3, axis=axis), mode=numba_mode())
    assert Split not in operations(function)
    value = rng.normal(size=(6, 6))
    for found, expected in zip(function(value, [2, 0, 4]), np.split(value, [2, 2], axis=axis), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_gradient_of_what_is_joined_where_a_part_is_stretched_afterwards(rng):
    """Of length one, and so it must stay in the types."""
    one, many = pt.col("one"), pt.matrix("many")
    joined = pt.concatenate([pt.exp(one), many, pt.sin(one)], axis=1)
    gradients = pytensor.grad((joined**3).sum(), [one, many])
    values = rng.normal(size=(4, 1)), rng.normal(size=(4, 3))
    function = pytensor.function([one, many], gradients, mode=numba_mode())
    assert Split not in operations(function)
    expected = pytensor.function([one, many], gradients, mode=BY_NUMPY)(*values)
    for found, other in zip(function(*values), expected, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-13)


def test_an_array_of_other_dimensions_is_refused():
    with pytest.raises(TypeError, match="of 2 dimensions, and not of 3"):
        PlainSum((0,), 2)(pt.tensor3())


def test_modes_that_are_not_of_numba_stay_as_they_are():
    by_numpy = get_mode(BY_NUMPY)
    assert numba_mode(by_numpy) is by_numpy
    assert numba_mode(get_mode("NUMBA")) is not get_mode("NUMBA")
