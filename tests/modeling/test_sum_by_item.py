"""The sum over annotations as an operation of its own: in every backend, and its gradient."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode

from bayesanno.ground.private.pytensor import register_with_jax
from bayesanno.modeling.ops.sums import SpreadByItem, SumByItem, spread_by_item, sum_by_item

N_ANNOTATORS, N_RESPONSES, N_STATES, N_ITEMS, N = 5, 4, 3, 7, 60
MODES = {"python": Mode(linker="py", optimizer="fast_compile"), "numba": "NUMBA"}


@pytest.fixture
def indices(rng):
    """Random annotations, some of them kept; the last item has none."""
    annotator, item = (rng.integers(0, top, size=N) for top in (N_ANNOTATORS, N_ITEMS - 1))
    return annotator, rng.integers(0, N_RESPONSES, size=3 * N), rng.permutation(3 * N)[:N], item


def expected_total(table, annotator, said, kept, item):
    total = np.zeros((N_ITEMS, table.shape[2]))
    for n in range(len(item)):
        total[item[n]] += table[annotator[n], said[kept[n]]]
    return total


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transposed", [False, True])
def test_sum_adds_up_each_item(mode, transposed, indices, rng):
    table = rng.normal(size=(N_ANNOTATORS, N_RESPONSES, N_STATES))
    table[0, 0, 0] = -np.inf
    symbol = pt.tensor3("table")
    given = symbol.transpose(0, 2, 1) if transposed else symbol
    value = np.ascontiguousarray(table.transpose(0, 2, 1)) if transposed else table
    function = pytensor.function([symbol], sum_by_item(given, *indices, N_ITEMS), mode=MODES[mode])
    np.testing.assert_allclose(function(value), expected_total(table, *indices), rtol=1e-13)


@pytest.mark.parametrize("mode", MODES)
def test_spread_is_the_adjoint_of_sum(mode, indices, rng):
    table = rng.normal(size=(N_ANNOTATORS, N_RESPONSES, N_STATES))
    total = rng.normal(size=(N_ITEMS, N_STATES))
    symbol = pt.matrix("total")
    spread = spread_by_item(symbol, *indices, N_ANNOTATORS, N_RESPONSES)
    found = pytensor.function([symbol], spread, mode=MODES[mode])(total)
    np.testing.assert_allclose((found * table).sum(), (total * expected_total(table, *indices)).sum(), rtol=1e-12)


@pytest.mark.parametrize("n_states", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("in_order", [True, False])
def test_loops_are_right_for_any_number_of_states(n_states, in_order, indices, rng):
    annotator, said, kept, item = indices
    indices = annotator, said, kept, np.sort(item) if in_order else item
    table, total = pt.tensor3(), pt.matrix()
    forth = sum_by_item(table, *indices, N_ITEMS)
    back = spread_by_item(total, *indices, N_ANNOTATORS, N_RESPONSES)
    values = rng.normal(size=(N_ANNOTATORS, N_RESPONSES, n_states)), rng.normal(size=(N_ITEMS, n_states))
    loops = pytensor.function([table, total], [forth, back], mode=MODES["numba"])(*values)
    expected = pytensor.function([table, total], [forth, back], mode=MODES["python"])(*values)
    for one, other in zip(loops, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_gradients_of_both_are_right(indices, rng):
    table = rng.normal(size=(N_ANNOTATORS, N_RESPONSES, N_STATES))
    total = rng.normal(size=(N_ITEMS, N_STATES))
    check = {"rng": rng, "mode": MODES["python"]}
    pytensor.gradient.verify_grad(lambda symbol: sum_by_item(symbol, *indices, N_ITEMS), [table], **check)
    pytensor.gradient.verify_grad(
        lambda symbol: spread_by_item(symbol, *indices, N_ANNOTATORS, N_RESPONSES), [total], **check
    )


def test_shapes_are_known_without_computing(indices):
    symbol = pt.tensor3("table")
    shape = pytensor.function([symbol], sum_by_item(symbol, *indices, N_ITEMS).shape)
    operations = {type(node.op) for node in shape.maker.fgraph.apply_nodes}
    assert SumByItem not in operations
    assert shape(np.zeros((N_ANNOTATORS, N_RESPONSES, 2))).tolist() == [N_ITEMS, 2]
    total = pt.matrix("total")
    back = pytensor.function([total], spread_by_item(total, *indices, N_ANNOTATORS, N_RESPONSES).shape)
    assert SpreadByItem not in {type(node.op) for node in back.maker.fgraph.apply_nodes}
    assert back(np.zeros((N_ITEMS, 2))).tolist() == [N_ANNOTATORS, N_RESPONSES, 2]


def test_wrong_ranks_are_refused():
    with pytest.raises(TypeError, match="a table of three dimensions"):
        sum_by_item(pt.matrix(), *[pt.lvector()] * 4, 3)
    with pytest.raises(TypeError, match="a matrix, four vectors"):
        spread_by_item(pt.vector(), *[pt.lvector()] * 4, 3, 2)


@pytest.mark.extras
def test_jax_computes_the_same(indices, rng):
    pytest.importorskip("jax", reason="JAX is an extra: pip install 'bayesanno[numpyro]'")
    register_with_jax()
    table = rng.normal(size=(N_ANNOTATORS, N_RESPONSES, N_STATES))
    symbol = pt.tensor3("table")
    total = sum_by_item(symbol, *indices, N_ITEMS)
    gradient = pytensor.grad((total**2).sum(), symbol)
    found = pytensor.function([symbol], [total, gradient], mode="JAX")(table)
    here = pytensor.function([symbol], [total, gradient], mode=MODES["python"])(table)
    for one, other in zip(found, here, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
