"""Sums over distinct labels against brute force, where rounding would be all that is left of them."""

import numpy as np
import pytensor.tensor as pt
import pytest

from bayesanno.models._correctness.blocks import find_recurrence
from bayesanno.models._correctness.formula import distinct_sums
from tests.models.contract import FAST
from tests.models.references_model_a import distinct

EXACT = 1e-12  # relative: nothing is subtracted


def sums_of(recurrence, weights):
    """The sum of every state of a recurrence for weights (kind, row, label)."""
    indices = (recurrence.part, recurrence.child, recurrence.times)
    return distinct_sums(pt.as_tensor(weights), *map(pt.as_tensor, indices), weights.shape[2]).eval(mode=FAST)


def test_a_label_that_is_all_but_certain_loses_no_digits():
    """An inclusion and exclusion of power sums would be left with nothing but rounding here."""
    w = np.array([1 - 2e-9, 1e-9, 1e-9])
    recurrence = find_recurrence([(1, 1), (1, 1, 1), (2, 2, 2), (1, 2, 3), (1, 1, 1, 1)])
    found = sums_of(recurrence, w ** np.arange(4)[:, None, None])[:, 0]  # a block's kind is its size
    for sizes in ((1, 1), (1, 1, 1), (2, 2, 2), (1, 2, 3)):
        expected = distinct(w ** np.array(sizes)[:, None])
        assert 0 < expected < 1e-7
        assert found[recurrence.number[sizes]] == pytest.approx(expected, rel=EXACT, abs=0)
    assert found[recurrence.number[1, 1, 1, 1]] == 0  # more blocks than labels: exactly


def test_blocks_with_weights_of_their_own_and_several_rows_at_once(rng):
    """The kind of a block is who is in it; two blocks of one kind are taken as often as they occur."""
    weights = rng.uniform(size=(4, 2, 5))  # (kind, row, label)
    weights[1, 0, :3] = 0
    recurrence = find_recurrence([(0, 1, 2, 3), (1, 1, 2)])
    found = sums_of(recurrence, weights)
    for kinds, number in recurrence.number.items():
        for row in range(2):
            assert found[number, row] == pytest.approx(distinct(weights[list(kinds), row]), rel=EXACT, abs=0)
