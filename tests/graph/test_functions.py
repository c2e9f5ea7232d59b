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
from bayesanno.graph.functions import BY_NUMPY, compile_draws, compile_once, precompute_data

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
    return compile_once([x], [by(x, factor)], by_numpy=True)


def test_graphs_that_are_equal_share_a_function(compiled):
    first, second = scaled(), scaled()
    assert second is first
    assert len(compiled) == 1
    np.testing.assert_array_equal(first(X)[0], 2 * X)


@pytest.mark.parametrize(
    "other",
    [{"factor": 3.0}, {"factor": np.array([2.0, 2.0, 2.0])}, {"kind": pt.ivector}, {"by": pt.add}],
    ids=["constant", "shape", "type", "operation"],
)
def test_graphs_that_differ_do_not_share_one(compiled, other):
    first, second = scaled(), scaled(**other)
    assert second is not first
    assert len(compiled) == 2
    x = X.astype("int32") if "kind" in other else X
    expected = x + 2 if "by" in other else x * other.get("factor", 2)
    np.testing.assert_array_equal(second(x)[0], expected)
    np.testing.assert_array_equal(first(X)[0], 2 * X)


def test_the_order_of_inputs_counts():
    x, y = pt.vector("x"), pt.vector("y")
    one, other = (compile_once(order, [x - y], by_numpy=True) for order in ([x, y], [y, x]))
    np.testing.assert_array_equal(one(X, 0 * X)[0], X)
    np.testing.assert_array_equal(other(X, 0 * X)[0], -X)


def test_arithmetic_is_exact_whatever_the_flag(compiled, monkeypatch):
    flags, make = [], pytensor.function

    def noting(*args, **options):
        flags.append(pytensor.config.numba__fastmath)  # where PyTensor writes code
        function = make(*args, **options | {"mode": functions.BY_NUMPY})
        return lambda *values: flags.append(pytensor.config.numba__fastmath) or function(*values)

    monkeypatch.setattr(pytensor, "function", noting)
    with pytensor.config.change_flags(numba__fastmath=True):
        x = pt.vector("x")
        function = compile_once([x], [2.0 * x])
        assert pytensor.config.numba__fastmath is True
    np.testing.assert_allclose(function(X)[0], 2 * X)
    assert len(compiled) == 1
    assert flags[:2] == [False, False]  # the second is at the first call, when Numba compiles it


def test_each_graph_reads_its_own_data_when_it_is_called(compiled):
    mine, others = pytensor.shared(X, name="data"), pytensor.shared(10 * X, name="data")
    first, second = (compile_once([one], [one * data], by_numpy=True)
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

    @pytest.mark.parametrize(("soon", "at_once"), [(10**6, 1), (10**6, 20_050), (10**6, 10**9), (0, 1)])
    def test_each_draw_has_its_outputs(self, soon, at_once, compiled, monkeypatch, rng):
        monkeypatch.setattr(functions, "SOON_BY_NUMPY", soon)
        monkeypatch.setattr(functions, "AT_ONCE", at_once)
        level, table, data = pt.scalar("level"), pt.matrix("table"), pt.lvector("data")
        offset = pytensor.shared(np.array([10.0, 20.0]), name="offset")
        outputs = [table[data].sum(axis=0) + level + offset, pt.exp(level) * table]
        levels, tables, index = rng.normal(size=5), rng.normal(size=(5, 3, 2)), np.array([0, 2, 2])
        function = compile_draws({level: levels, table: tables}, {data: index}, outputs)
        for _ in range(2):
            found = list(function([levels, tables], [index]))
            assert len(found) == 5
            for one, value, (total, scaled_table) in zip(tables, levels, found, strict=True):
                np.testing.assert_allclose(total, one[index].sum(axis=0) + value + [10, 20], rtol=1e-14)
                np.testing.assert_allclose(scaled_table, np.exp(value) * one, rtol=1e-14)
        assert len(compiled) == 1

    def test_what_cannot_be_done_for_many_draws_is_compiled(self, rng):
        rows, weight = pt.vector("rows"), pt.vector("weight")
        spread = pt.alloc(1.0, rows.shape[0], 1) * weight  # PyTensor forgets that it can be stretched
        rows_of, weights = rng.normal(size=(30, 4)), np.array([1.0, 2.0, 3.0])
        function = compile_draws({rows: rows_of}, {weight: weights}, [rows[:, None] + spread])
        found = np.stack([one for (one,) in function([rows_of], [weights])])
        np.testing.assert_allclose(found, rows_of[:, :, None] + weights, rtol=1e-14)

    def test_an_output_that_rests_on_no_draw_is_given_with_each(self, rng):
        x, weight = pt.vector("x"), pt.vector("weight")
        values, weights = rng.normal(size=(5, 3)), np.array([1.0, 2.0])
        found = list(compile_draws({x: values}, {weight: weights}, [2.0 * x, 3.0 * weight])([values], [weights]))
        np.testing.assert_allclose([one for one, _ in found], 2 * values)
        np.testing.assert_allclose([other for _, other in found], np.tile(3 * weights, (5, 1)))


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
