"""Formulas are compiled once per process, and never taken for one another."""

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.conditional.op import ifelse
from pytensor.graph.traversal import graph_inputs, toposort
from pytensor.scalar.math import GammaLn

from bayesanno.graph import functions
from bayesanno.graph.flat import precompute_data
from bayesanno.graph.functions import BY_NUMPY, compile_once

X = np.array([1.0, 2.0, 4.0])


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """How often a function is compiled, where the process has kept none."""
    made = []
    make = functions._compile
    monkeypatch.setattr(functions, "_kept", OrderedDict())
    monkeypatch.setattr(functions, "_compile", lambda *args, **options: made.append(1) or make(*args, **options))
    return made


def scaled(factor=2.0, kind=pt.vector, by=pt.mul):
    x = kind("x")
    return compile_once([x], [by(x, factor)])


def test_graphs_that_are_equal_share_a_function(compiled):
    first, second = scaled(), scaled()
    assert second.compiled is first.compiled
    assert len(compiled) == 1
    np.testing.assert_array_equal(first(X)[0], 2 * X)


@pytest.mark.parametrize(
    "other",
    [{"factor": 3.0}, {"factor": np.array([2.0, 2.0, 2.0])}, {"kind": pt.ivector}, {"by": pt.add}],
    ids=["constant", "shape", "type", "operation"],
)
def test_graphs_that_differ_do_not_share_one(compiled, other):
    first, second = scaled(), scaled(**other)
    assert second.compiled is not first.compiled
    assert len(compiled) == 2
    x = X.astype("int32") if "kind" in other else X
    expected = x + 2 if "by" in other else x * other.get("factor", 2)
    np.testing.assert_array_equal(second(x)[0], expected)
    np.testing.assert_array_equal(first(X)[0], 2 * X)


def test_the_order_of_inputs_counts():
    x, y = pt.vector("x"), pt.vector("y")
    one, other = (compile_once(order, [x - y]) for order in ([x, y], [y, x]))
    np.testing.assert_array_equal(one(X, 0 * X)[0], X)
    np.testing.assert_array_equal(other(X, 0 * X)[0], -X)


def test_each_graph_reads_its_own_data_when_it_is_called(compiled):
    mine, others = pytensor.shared(X, name="data"), pytensor.shared(10 * X, name="data")
    first, second = (compile_once([one], [one * data])
                               for one, data in ((pt.vector("x"), mine), (pt.vector("x"), others)))  # fmt: skip
    assert len(compiled) == 1
    np.testing.assert_array_equal(first(X)[0], X**2)
    np.testing.assert_array_equal(second(X)[0], 10 * X**2)
    mine.set_value(X + 1)
    np.testing.assert_array_equal(first(X)[0], X * (X + 1))
    np.testing.assert_array_equal(second(X)[0], 10 * X**2)


def test_the_oldest_function_goes_where_too_many_are_kept(compiled, monkeypatch):
    monkeypatch.setattr(functions, "MAX_KEPT", 2)
    for factor in (1.5, 2.5, 1.5, 3.5, 1.5):
        scaled(factor)
    assert len(compiled) == 3
    scaled(2.5)
    assert len(compiled) == 4


def test_threads_have_results_of_their_own():
    def run(number):
        function = scaled()
        return all((function(np.full(500, number + i))[0] == 2.0 * (number + i)).all() for i in range(200))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(0, 80_000, 10_000)))


def test_results_are_not_overwritten_by_the_next_call():
    function = scaled()
    first = function(X)[0]
    function(3 * X)
    np.testing.assert_array_equal(first, 2 * X)


class TestManyDraws:
    """Values (draw, ...) of some inputs, and one value of the others."""

    @pytest.mark.parametrize("mode", [functions.USUAL, BY_NUMPY])
    def test_each_draw_has_its_outputs(self, mode, compiled, rng):
        level, table, data = pt.scalar("level"), pt.matrix("table"), pt.lvector("data")
        offset = pytensor.shared(np.array([10.0, 20.0]), name="offset")
        outputs = [table[data].sum(axis=0) + level + offset, pt.exp(level) * table]
        levels, tables, index = rng.normal(size=5), rng.normal(size=(5, 3, 2)), np.array([0, 2, 2])
        with pytensor.config.change_flags(mode=mode):
            function = compile_once([level, table, data], outputs)
        for _ in range(2):
            found = list(function.each([levels, tables], [index]))
            assert len(found) == 5
            for one, value, (total, scaled_table) in zip(tables, levels, found, strict=True):
                np.testing.assert_allclose(total, one[index].sum(axis=0) + value + [10, 20], rtol=1e-14)
                np.testing.assert_allclose(scaled_table, np.exp(value) * one, rtol=1e-14)
        assert len(compiled) == 1

    def test_an_output_that_rests_on_no_draw_is_given_with_each(self, rng):
        x, weight = pt.vector("x"), pt.vector("weight")
        values, weights = rng.normal(size=(5, 3)), np.array([1.0, 2.0])
        found = list(compile_once([x, weight], [2.0 * x, 3.0 * weight]).each([values], [weights]))
        np.testing.assert_allclose([one for one, _ in found], 2 * values)
        np.testing.assert_allclose([other for _, other in found], np.tile(3 * weights, (5, 1)))

    def test_draws_may_be_given_in_any_order_of_memory_and_type(self, rng):
        x, k = pt.matrix("x"), pt.lvector("k")
        values, numbers = rng.normal(size=(4, 2, 3)), rng.integers(0, 9, size=(4, 3))
        strided = np.asfortranarray(values)
        function = compile_once([x, k], [x * k])
        found = [one for (one,) in function.each([strided, numbers.astype("int8")])]
        np.testing.assert_array_equal(found, values * numbers[:, None])

    def test_lengths_that_differ_are_an_error(self):
        x, y = pt.vector("x"), pt.vector("y")
        with pytest.raises(ValueError, match="lengths of arrays differ"):
            compile_once([x, y], [x + y])(X, X[:2])

    @pytest.mark.parametrize("wrong", [X[None], X[:, None], 1.0])
    def test_another_shape_is_an_error(self, wrong):
        x = pt.vector("x")
        with pytest.raises(ValueError, match="where the function takes"):
            compile_once([x], [2.0 * x])(wrong)

    def test_a_number_that_is_not_whole_is_no_whole_number(self):
        k = pt.lvector("k")
        with pytest.raises(TypeError, match="Cannot cast"):
            compile_once([k], [2 * k])(X)

    def test_outputs_have_the_types_and_shapes_of_the_graph(self):
        x, k = pt.matrix("x"), pt.lscalar("k")
        outputs = [x.sum(), x > 1, x.T, x.shape[0] * k, x[:, ::-1], pt.zeros((0, k)), x.astype("float32")]
        values, number = np.array([[0.5, 1.5], [2.5, 3.5]]), np.array(3)
        expected = pytensor.function([x, k], outputs, mode=BY_NUMPY)(values, number)
        for one, other in zip(compile_once([x, k], outputs)(values, number), expected, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_array_equal(one, other)


class TestDataBeforehand:
    """What rests on data alone is computed once."""

    def test_values_are_the_same_without_operations_on_data(self, rng):
        x, data = pt.vector("x"), pytensor.shared(rng.uniform(1, 2, 3), name="data")
        outputs = [(x * pt.gammaln(data) + pt.exp(pt.gammaln(data))).sum(), pt.gammaln(data), x * data]
        found = precompute_data([x], outputs)
        assert not any(isinstance(getattr(node.op, "scalar_op", None), GammaLn) for node in toposort(found))
        values = rng.normal(size=3)
        for one, other in zip(found, outputs, strict=True):
            np.testing.assert_allclose(
                one.eval({x: values}, mode=BY_NUMPY, on_unused_input="ignore"),
                other.eval({x: values}, mode=BY_NUMPY, on_unused_input="ignore"),
                rtol=1e-14,
            )

    def test_what_numpy_cannot_do_is_left(self):
        x, data = pt.vector("x"), pytensor.shared(2.0, name="data")
        (found,) = precompute_data([x], [x * ifelse(pt.gt(data, 0), data, 2.0 * data)])
        assert data in graph_inputs([found])
        np.testing.assert_allclose(found.eval({x: X}, mode=BY_NUMPY), 2 * X)
