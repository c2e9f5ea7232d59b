"""The sum over annotations as an operation of its own: in every backend, and its gradient."""

import numpy as np
import pytensor.tensor as pt
import pytest

from bayesanno.modeling.ops.sums import IN_CACHE, MANY_STATES, add_rows
from tests.modeling.backends import BACKENDS, compile_in

N_CELLS, N_STATES, N_ITEMS, N = 20, 3, 7, 60


@pytest.fixture
def indices(rng):
    """Random annotations; the last item has none."""
    return rng.integers(0, N_CELLS, size=N), rng.integers(0, N_ITEMS - 1, size=N)


@pytest.fixture(scope="module", params=BACKENDS)
def function(request):
    """The sums of rows, and of rows that are given as columns."""
    rows, columns, source, target = pt.matrix(), pt.matrix(), pt.lvector(), pt.lvector()
    sums = [add_rows(matrix, source, target, N_ITEMS) for matrix in (rows, columns.T)]
    return compile_in(request.param, [rows, columns, source, target], sums)


@pytest.mark.parametrize("in_order", [True, False])
def test_each_target_is_added_up(function, in_order, indices, rng):
    source, target = indices
    target = np.sort(target) if in_order else target
    for n_states in (0, 1, 2, 3, 4, 5, MANY_STATES - 1, MANY_STATES, MANY_STATES + 3, IN_CACHE // N_CELLS + 1):
        rows = rng.normal(size=(N_CELLS, n_states))
        rows[source[0]], rows[source[1], :1] = -np.inf, -np.inf
        expected = np.zeros((N_ITEMS, n_states))
        for n in range(N):
            expected[target[n]] += rows[source[n]]
        for total in function(rows, np.ascontiguousarray(rows.T), source, target):
            np.testing.assert_array_equal(total, expected)
        assert np.isneginf(expected[target[0]]).all()
        assert np.isfinite(expected[-1]).all()
