"""Graphs without their sizes: what becomes data, and what stays."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.traversal import graph_inputs

from bayesanno.graph.flat import make_shapes_symbolic, name_graph, read_data
from bayesanno.modeling.ops.transforms import log_simplex


def shared_of(outputs):
    return [variable for variable in graph_inputs(outputs) if isinstance(variable, SharedVariable)]


def evaluate(inputs, outputs, *values):
    return pytensor.function(inputs, outputs, mode="FAST_COMPILE")(*values)


def weigh(n):
    x = pt.vector("x", shape=(n,))
    return x, (x * np.arange(1.0, n + 1)).sum() + pt.ones((n, 2)).sum() * x[0]


@pytest.mark.parametrize("n", [3, 5])
def test_arrays_and_lengths_are_data_and_the_value_is_the_same(n):
    x, y = weigh(n)
    (free,), without = make_shapes_symbolic([x], [y])
    assert free.type.shape == (None,)
    assert len(shared_of(without)) == 2  # the weights, and the sum of ones
    (value,) = evaluate([free], without, np.ones(n))
    assert value == n * (n + 1) / 2 + 2 * n


def test_a_number_that_is_a_length_and_an_axis_is_data_as_a_length_only():
    x = pt.tensor3("x")
    two = pt.constant(2)
    (free,), without = make_shapes_symbolic([x], [pt.concatenate([x, pt.alloc(x.sum(), 1, 1, two)], axis=2)])
    (value,) = evaluate([free], without, np.ones((1, 1, 3)))
    assert value.tolist() == [[[1.0, 1.0, 1.0, 3.0, 3.0]]]


def test_random_variables_keep_as_many_axes():
    n = pt.lscalar("n")
    drawn = pm.Normal.dist(n * np.zeros((2, 3)), 1.0), pm.Normal.dist(n, 1.0, size=(4, 3))
    (free,), without = make_shapes_symbolic([n], list(drawn))
    assert [each.ndim for each in without] == [2, 2]
    assert [each.shape for each in evaluate([free], without, 5)] == [(2, 3), (4, 3)]


def test_two_probabilities_are_the_graph_of_three_where_possible():
    def forgotten(n, stretched):
        y, other = pt.tensor("y", shape=(4, n - 1)), pt.tensor("other", shape=(4, 5))
        outputs = [log_simplex(y)[0].sum(), (y + other).sum() if stretched else other.sum()]
        return read_data(*make_shapes_symbolic([y, other], outputs))[:2]

    values = np.linspace(-1, 1, 4).reshape(4, 1), np.ones((4, 5))
    assert name_graph(*forgotten(2, stretched=False)) == name_graph(*forgotten(3, stretched=False))
    assert evaluate(*forgotten(2, stretched=True), *values)[1] == pytest.approx(20.0)
    assert evaluate(*forgotten(2, stretched=False), *values)[0] == pytest.approx(
        -np.log(2 * np.cosh(values[0])).sum() * 2  # log p is y - log(e^y + e^-y), and -y less the same
    )
