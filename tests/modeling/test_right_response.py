"""Taking one entry out of each row and putting it back: in every backend, and each the other's gradient."""

import numpy as np
import pytensor.tensor as pt
import pytest

from bayesanno.modeling.ops.right_response import join_right, split_right
from tests.modeling.backends import BACKENDS, compile_in

RIGHT = np.array([2, 0, 1])  # of each row


@pytest.fixture
def whole(rng):
    """Rows of three entries for each of five annotators, far from contiguous."""
    return rng.normal(size=(3, 3, 5)).transpose(2, 1, 0)


def taken_apart(whole):
    wrong = np.stack([np.delete(whole[..., k, :], RIGHT[k], axis=-1) for k in range(3)], axis=-2)
    return wrong, np.stack([whole[..., k, RIGHT[k]] for k in range(3)], axis=-1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_right_is_taken_out_and_put_back(backend, whole):
    symbol, table, right = pt.tensor3(), pt.matrix(), pt.lvector()
    of_many, of_one = split_right(symbol, right), split_right(table, right)
    outputs = [*of_many, join_right(*of_many, right), *of_one, join_right(*of_one, right)]
    function = compile_in(backend, [symbol, table, right], outputs)
    for values in (whole, whole[:0]):
        expected = (*taken_apart(values), values, *taken_apart(whole[0]), whole[0])
        for one, other in zip(function(values, whole[0], RIGHT), expected, strict=True):
            np.testing.assert_array_equal(one, other)
