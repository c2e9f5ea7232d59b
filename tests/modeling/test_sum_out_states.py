"""Summing out states as an operation of its own: in every backend, its gradient, and rows without any probability."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.special import logsumexp, softmax

from bayesanno.modeling.ops.sums import sum_out_states
from tests.modeling.backends import BACKENDS, compile_in


@pytest.fixture
def logp(rng):
    """Log probabilities of very different sizes, some of them -inf; the last row has no others."""
    values = rng.normal(size=(9, 3)) * 10.0 ** rng.integers(-3, 4, size=(9, 1))
    values[1, 0] = values[2, 1:] = values[-1] = -np.inf
    return values


@pytest.fixture(scope="module", params=BACKENDS)
def function(request):
    """Totals, probabilities and the gradient of rows, and the totals of rows that are given as columns."""
    rows, columns = pt.matrix(), pt.matrix()
    total, probability = sum_out_states(rows)
    outputs = [total, probability, pytensor.grad(total.sum(), rows), sum_out_states(columns.T)[0]]
    compiled = compile_in(request.param, [rows, columns], outputs)
    return lambda values: compiled(values, np.ascontiguousarray(values.T))


def test_totals_probabilities_and_gradients(function, logp):
    total, probability, gradient, of_columns = function(logp)
    for found in (total, of_columns):
        np.testing.assert_allclose(found, logsumexp(logp, axis=1), rtol=1e-14)
    for found in (probability, gradient):
        np.testing.assert_allclose(found[:-1], softmax(logp[:-1], axis=1), rtol=1e-13, atol=1e-300)
        np.testing.assert_array_equal(found[np.isneginf(logp)], 0)


@pytest.mark.parametrize("shape", [(4, 1), (0, 3)])
def test_one_state_or_no_item(function, shape, rng):
    values = rng.normal(size=shape)
    total, probability, *_ = function(values)
    np.testing.assert_array_equal(total, values[:, 0])
    np.testing.assert_array_equal(probability, np.ones(shape))


def test_nan_is_not_hidden(function):
    values = np.array([[np.nan, 0.0], [0.0, np.nan], [np.nan, -np.inf], [-np.inf, np.nan], [np.nan, np.nan]])
    assert np.isnan(function(values)[0]).all()
