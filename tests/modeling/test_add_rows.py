"""The sum over annotations as an operation of its own: in every backend, and its gradient."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode

from bayesanno._core.private.pytensor import register_with_jax
from bayesanno.modeling.ops.sums import IN_CACHE, MANY_STATES, AddRows, add_rows

N_CELLS, N_STATES, N_ITEMS, N = 20, 3, 7, 60
MODES = {"python": Mode(linker="py", optimizer="fast_compile"), "numba": "NUMBA"}


@pytest.fixture
def indices(rng):
    """Random annotations; the last item has none."""
    return rng.integers(0, N_CELLS, size=N), rng.integers(0, N_ITEMS - 1, size=N)


def expected_total(rows, source, target):
    total = np.zeros((N_ITEMS, rows.shape[1]))
    for n in range(len(source)):
        total[target[n]] += rows[source[n]]
    return total


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transposed", [False, True])
def test_each_target_is_added_up(mode, transposed, indices, rng):
    rows = rng.normal(size=(N_CELLS, N_STATES))
    rows[0, 0] = -np.inf
    symbol = pt.matrix("rows")
    given, value = (symbol.T, np.ascontiguousarray(rows.T)) if transposed else (symbol, rows)
    function = pytensor.function([symbol], add_rows(given, *indices, N_ITEMS), mode=MODES[mode])
    np.testing.assert_allclose(function(value), expected_total(rows, *indices), rtol=1e-13)


@pytest.mark.parametrize("n_states", [0, 1, 2, 3, 4, 5, MANY_STATES - 1, MANY_STATES, MANY_STATES + 3])
@pytest.mark.parametrize("in_order", [True, False])
def test_loops_are_right_for_any_number_of_states(n_states, in_order, indices, rng):
    source, target = indices
    target = np.sort(target) if in_order else target
    rows, total = pt.matrix(), pt.matrix()
    both = [add_rows(rows, source, target, N_ITEMS), add_rows(total, target, source, N_CELLS)]
    values = rng.normal(size=(N_CELLS, n_states)), rng.normal(size=(N_ITEMS, n_states))
    loops = pytensor.function([rows, total], both, mode=MODES["numba"])(*values)
    expected = pytensor.function([rows, total], both, mode=MODES["python"])(*values)
    for one, other in zip(loops, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n_states", [MANY_STATES, IN_CACHE // N_CELLS + 1])
def test_a_row_of_zero_probabilities_makes_no_nan(n_states, indices, rng):
    source, target = indices
    rows = rng.normal(size=(N_CELLS, n_states))
    rows[source[0]], rows[source[1], 0] = -np.inf, -np.inf
    symbol = pt.matrix()
    total = pytensor.function([symbol], add_rows(symbol, source, target, N_ITEMS), mode=MODES["numba"])(rows)
    np.testing.assert_allclose(total, expected_total(rows, source, target), rtol=1e-13)
    assert np.isneginf(total[target[0]]).all()
    assert np.isfinite(total).any()


def test_gradients_and_second_derivatives_are_right(indices, rng):
    check = {"rng": rng, "mode": MODES["python"]}
    rows = rng.normal(size=(N_CELLS, N_STATES))
    pytensor.gradient.verify_grad(lambda symbol: add_rows(symbol, *indices, N_ITEMS), [rows], **check)
    pytensor.gradient.verify_grad(
        lambda symbol: pytensor.grad((add_rows(symbol, *indices, N_ITEMS) ** 3).sum(), symbol), [rows], **check
    )


def test_shapes_are_known_without_computing(indices):
    symbol = pt.matrix("rows")
    shape = pytensor.function([symbol], add_rows(symbol, *indices, N_ITEMS).shape)
    assert AddRows not in {type(node.op) for node in shape.maker.fgraph.apply_nodes}
    assert shape(np.zeros((N_CELLS, 2))).tolist() == [N_ITEMS, 2]


def test_wrong_ranks_are_refused():
    with pytest.raises(TypeError, match="a matrix, two vectors of indices"):
        add_rows(pt.vector(), pt.lvector(), pt.lvector(), 3)


@pytest.mark.extras
def test_jax_computes_the_same(indices, rng):
    pytest.importorskip("jax", reason="JAX is an extra: pip install 'bayesanno[numpyro]'")
    register_with_jax()
    rows = rng.normal(size=(N_CELLS, N_STATES))
    symbol = pt.matrix("rows")
    total = add_rows(symbol, *indices, N_ITEMS)
    gradient = pytensor.grad((total**2).sum(), symbol)
    found = pytensor.function([symbol], [total, gradient], mode="JAX")(rows)
    here = pytensor.function([symbol], [total, gradient], mode=MODES["python"])(rows)
    for one, other in zip(found, here, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
