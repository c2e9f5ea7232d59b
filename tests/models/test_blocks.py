"""Sums over distinct labels against brute force, and draws of distinct labels against their probabilities."""

import itertools

import numpy as np
import pytensor.tensor as pt
import pytest

from bayesanno.models._correctness.blocks import find_recurrence
from bayesanno.models._correctness.formula import distinct_sums
from bayesanno.models._correctness.process import draw_distinct
from tests.models.contract import FAST, FEW_COPIES, P_VALUE, chi_square
from tests.models.references_model_a import distinct

MOST = 6  # annotators of an item, here
EXACT = 1e-12  # relative: nothing is subtracted


def partitions(n, largest=None):
    """Every way to write n as a sum, the parts rising."""
    if n == 0:
        yield ()
    for part in range(min(n, largest or n), 0, -1):
        for rest in partitions(n - part, part):
            yield (*rest, part)


SIZES = [sizes for n in range(MOST + 1) for sizes in partitions(n)]
RECURRENCE = find_recurrence(SIZES)


def sums_of(recurrence, weights):
    """The sum of every state of a recurrence for weights (kind, label), or (kind, row, label) for several rows."""
    weights = np.asarray(weights, dtype=float)
    rows = weights if weights.ndim == 3 else weights[:, None, :]
    indices = (recurrence.part, recurrence.child, recurrence.times)
    found = distinct_sums(pt.as_tensor(rows), *map(pt.as_tensor, indices), rows.shape[2]).eval(mode=FAST)
    return found if weights.ndim == 3 else found[:, 0]


def distinct_sum(sizes, w):
    """Brute force over blocks of these sizes, all of whose members draw the same label from w."""
    return distinct(np.asarray(w) ** np.array(sizes, dtype=int).reshape(-1, 1))


def powers(w):
    """What a block of each size weighs at each label, if all of it draw from w."""
    return np.asarray(w) ** np.arange(MOST + 1)[:, None]  # (size, label)


# ------------------------------------------------------------------------------------------------- sums


def test_sums_are_those_of_brute_force_and_what_cannot_be_is_exactly_zero(rng):
    """More blocks than labels, or than labels of a positive frequency: 0, not what rounding leaves of 0."""
    w = np.insert(rng.dirichlet(np.ones(3)), 1, 0.0)  # four labels, three of them drawn
    found = sums_of(RECURRENCE, powers(w))
    impossible = {number for sizes, number in RECURRENCE.number.items() if len(sizes) > 3}
    assert set(np.flatnonzero(found == 0)) == impossible
    assert len(impossible) == 7
    for sizes, number in RECURRENCE.number.items():
        assert found[number] == pytest.approx(distinct_sum(sizes, w), rel=EXACT, abs=0)


def test_a_label_that_is_all_but_certain_loses_no_digits():
    """An inclusion and exclusion of power sums would be left with nothing but rounding here."""
    w = np.array([1 - 2e-9, 1e-9, 1e-9])
    found = sums_of(RECURRENCE, powers(w))
    for sizes in ((1, 1), (1, 1, 1), (2, 2, 2), (1, 2, 3)):
        expected = distinct_sum(sizes, w)
        assert 0 < expected < 1e-7
        assert found[RECURRENCE.number[sizes]] == pytest.approx(expected, rel=EXACT, abs=0)


def test_blocks_with_weights_of_their_own_and_several_rows_at_once(rng):
    """The kind of a block is who is in it; two blocks of one kind are taken as often as they occur."""
    weights = rng.uniform(size=(4, 2, 5))  # (kind, row, label)
    weights[1, 0, :3] = 0
    recurrence = find_recurrence([(0, 1, 2, 3), (1, 1, 2)])
    found = sums_of(recurrence, weights)
    for kinds, number in recurrence.number.items():
        for row in range(2):
            assert found[number, row] == pytest.approx(distinct(weights[list(kinds), row]), rel=EXACT, abs=0)


# ------------------------------------------------------------------------------------------------- draws


def pmf_of(weights):
    """Every way to give distinct labels to the blocks that exist, 0 to the others, and its probability."""
    n_blocks, n_labels = weights.shape
    exists = (weights > 0).any(axis=1)
    pmf = {}
    for labels in itertools.product(*(range(n_labels) if there else [0] for there in exists)):
        used = [label for label, there in zip(labels, exists, strict=True) if there]
        if len(set(used)) == len(used):
            pmf[labels] = np.prod([weights[b, labels[b]] for b in range(n_blocks) if exists[b]])
    total = sum(pmf.values())
    return {labels: p / total for labels, p in pmf.items() if p > 0}


def test_items_are_drawn_each_by_its_own_weights(rng):
    both = rng.uniform(size=(2, 4, 4)) ** 2
    both[:, 0, 2], both[:, 1] = 0.0, 0.0  # a label that is never drawn; a block that is not there, and takes none away
    found = draw_distinct(np.tile(both, (FEW_COPIES, 1, 1)), rng)
    for item in range(2):
        assert chi_square(found[item::2], pmf_of(both[item])) > P_VALUE
        assert chi_square(found[1 - item :: 2], pmf_of(both[item])) < P_VALUE
