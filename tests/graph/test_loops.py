"""Graphs as loops: every operation gives NumPy's numbers, as a loop or as a view."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.raise_op import Assert

from bayesanno.graph.flat import FlatGraph, lay_out
from bayesanno.graph.functions import CFunctions, describe, make_functions, plain_compiling
from bayesanno.graph.source import NotWrittenError

X = np.linspace(-2.0, 2.5, 24).reshape(2, 3, 4)
ROWS, COLUMNS = np.array([2, 0, 0, -1], dtype="int32"), np.array([1, 3, 3, 0])


def flat_graph(values, outputs, data=None):
    """A graph of values (variable to array), with some data; its log density is minus nothing but a sum of squares."""
    return FlatGraph(
        values=list(values),
        logp=sum(pt.sqr(one).sum() for one in values),
        kept={f"output {at}": one for at, one in enumerate(outputs)},
        data=list(data or {}),
        arrays=list((data or {}).values()),
        check_bounds=True,
    )


def compiled(values, outputs, data=None):
    """Return C functions of a graph, and the values as one point."""
    flat = flat_graph(values, outputs, data)
    with plain_compiling():
        functions = make_functions(flat)
    arrays = (lay_out(np.shape(of) for of in values.values()), *flat.arrays)
    return CFunctions(*functions, arrays, describe(arrays)), np.concatenate([np.ravel(of) for of in values.values()])


def check(values, outputs, data=None):
    """Compare the outputs, compiled, with those of NumPy."""
    functions, point = compiled(values, outputs, data)
    numbers = by_numpy(values, outputs, data)
    found = functions.call_kept(point, point.size + numbers.size)
    np.testing.assert_allclose(found[: point.size], point)
    np.testing.assert_allclose(found[point.size :], numbers, rtol=1e-12, atol=1e-14)


def by_numpy(values, outputs, data):
    given = {**values, **(data or {})}
    expected = pytensor.function(list(given), outputs, mode="FAST_COMPILE")(*given.values())
    return np.concatenate([np.ravel(one) for one in expected]).astype(float)


def cube():
    return pt.tensor("x", shape=(None, None, None), dtype="float64")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, for logs of negative numbers
def test_elementwise_operations():
    x = cube()
    y = pt.specify_broadcastable(x[:, :1], 1)
    of_numbers = [x + y, x * y - x / 3, -x, pt.sqr(x), abs(x), pt.sqrt(x)]
    of_logs = [pt.exp(x), pt.log(x), pt.log1p(x), pt.expm1(x)]
    of_logic = [x > y, (x > 0) & (y < 1), (x > 0) | pt.eq(x, y), ~(x > 0)]
    of_limits = [pt.isnan(pt.log(x)), pt.isinf(pt.exp(x * 500))]
    of_choice = [pt.switch(x > 0, x, y), pt.maximum(x, y), pt.minimum(x, y), pt.clip(x, -1, 1)]
    of_calls = [pt.erfc(x), pt.erfcx(x), pt.sigmoid(x), pt.softplus(x), pt.sign(x), pt.gammaln(x + 3), x**3, pt.ceil(x)]
    of_integers = [pt.floor(x).astype("int64") // 2, x.astype("int32"), (x > 0).astype("float64")]
    of_nan = [pt.maximum(pt.log(x), y), (x > 0).astype("bool")]
    check({x: X}, of_numbers + of_logs + of_logic + of_limits + of_choice + of_calls + of_integers + of_nan)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 1), (0, 2), (1, 2)])
def test_reductions(axis):
    x = cube()
    whole = pt.floor(x).astype("int64") + 1
    of_whole = [whole.max(axis=axis), whole.sum(axis=axis)]
    sums = [x.sum(axis=axis), x.prod(axis=axis), x.max(axis=axis), x.min(axis=axis), pt.exp(x).sum(axis=axis)]
    counts = [(x > 0).any(axis=axis), (x > -9).all(axis=axis), (x > 0).sum(axis=axis), x.mean(axis=axis)]
    check({x: X}, [*sums, *counts, *of_whole])


def test_axes():
    x = cube()
    first, middle, last = pt.split(x, [1, 2, 1], n_splits=3, axis=2)
    views = [x.transpose(2, 0, 1), x[:, None], x.reshape((6, -1)), x.transpose(1, 0, 2).reshape((-1,)), x.T.ravel()]
    joined = [pt.concatenate([x, x[:1]], axis=0), pt.concatenate([last, first, middle], axis=2), pt.stack([x, -x])]
    lengths = [x.shape[1] * x.sum(), pt.zeros(x.shape[:2]) + 1, pt.ones_like(x), pt.arange(x.shape[2]) + x[0, 0]]
    sums = [pt.cumsum(x, axis=1), pt.cumprod(x, axis=2), pt.cumsum(x[0, 0])]
    check({x: X}, [*views, *joined, *lengths, *sums])


def test_parts():
    x = cube()
    places = [x[1], x[-1, 0], x[0, 1, -2]]
    slices = [x[:, 1:], x[:, :-1], x[..., -3:-1], x[:, 5:], x[..., ::-1], x[..., ::2], x[:, 2:1]]
    changed = [pt.set_subtensor(x[:, 0], 1.5), pt.inc_subtensor(x[1:, :, -1], x[1:, :, 0])]
    check({x: X}, [*places, *slices, *changed, pt.inc_subtensor(x[0, 0, 0], x.sum())])


def test_rows_by_index():
    x, rows, columns = cube(), pt.ivector("rows"), pt.lvector("columns")
    table = x[0]
    read = [table[rows], x[:, rows], table[rows, columns], table[:, columns], table[rows[:, None]], table[rows].sum()]
    added = [pt.inc_subtensor(table[rows], x[1, 0]), pt.inc_subtensor(table[rows, columns], 1.0)]
    added += [pt.inc_subtensor(x[:, rows], 2.0), pt.set_subtensor(table[:, columns], 0.5)]
    check({x: X}, [*read, *added], {rows: ROWS, columns: COLUMNS})


def test_products_of_matrices():
    x, y = pt.matrix("x"), pt.vector("y")
    values = {x: X[0], y: np.array([0.5, -1.0, 2.0, 3.0])}
    check(values, [x @ y, x @ x.T, y @ y, (x.T @ x).sum(axis=0), pt.grad((x @ y).sum(), x)])


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: pt.linalg.cholesky(x),
        lambda x: pt.sort(x, axis=1),
        lambda x: x[:, 1:3:2],
        lambda x: x[:, np.array([True, False, True])],
        lambda x: pt.argmax(x, axis=0),
        lambda x: x.astype("int64") ** 2 ** x.astype("int64"),
        lambda x: x // 0.7,
        lambda x: pt.tri_gamma(x),
    ],
)
def test_what_is_not_known_is_refused(operation):
    x = pt.matrix("x")
    with pytest.raises(NotWrittenError):
        compiled({x: np.eye(3)}, [operation(x)])


def test_numbers_vectors_and_data():
    a, v, m = pt.dscalar("a"), pt.dvector("v"), pt.matrix("m")
    weights, flags = pt.tensor("w", shape=(1, None), dtype="float32"), pt.tensor("flags", shape=(None,), dtype="bool")
    data = {weights: np.array([[0.5, 2.0]], dtype="float32"), flags: np.array([True, False])}
    outputs = [a * v, pt.log(a) + v.sum(), m @ v[:2], m * weights, pt.switch(flags, m, a), v[v.shape[0] - 1]]
    values = {a: np.array(2.0), v: np.array([1.0, -1.0, 0.5]), m: np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])}
    check(values, [*outputs, pt.stack([a, a])], data)


def test_arrays_without_elements():
    x = pt.matrix("x")
    check({x: np.zeros((0, 3))}, [x.sum(), pt.exp(x).sum(axis=0), pt.concatenate([x, x]).shape[0] + x.sum()])


def test_the_gradient_is_in_the_order_of_the_point():
    a, v = pt.dscalar("a"), pt.dvector("v")
    functions, point = compiled({a: np.array(3.0), v: np.array([1.0, -2.0])}, [])
    value, gradient = functions.call_logp(point)
    assert value == 14
    assert gradient.tolist() == [6, 2, -4]


class TestErrors:
    def test_lengths_that_differ(self):
        x, y = pt.vector("x"), pt.vector("y")
        functions, point = compiled({x: np.ones(2), y: np.ones(3)}, [x + y])
        assert functions.call_kept(point, 8) is None

    def test_an_assertion_that_does_not_hold(self):
        x = pt.vector("x")
        functions, _ = compiled({x: X[0, 0]}, [Assert("positive")(x, (x > 0).all())])
        assert functions.call_kept(np.ones(4), 8).tolist() == [1.0] * 8
        assert functions.call_kept(-np.ones(4), 8) is None
