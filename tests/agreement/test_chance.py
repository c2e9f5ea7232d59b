"""Agreement by chance, kappa, and differences by chance: the paper's numbers, and enumeration."""

from itertools import product
from math import sqrt

import numpy as np
import pytest

from bayesanno._core.messages import DataError
from bayesanno.agreement.coefficients import (
    bound_chance_difference,
    chance_agreement,
    count_disagreement,
    estimate_chance_agreement,
    estimate_coins,
    measure_kappa,
)
from bayesanno.data.annotations import AnnotationData

COMPLETE = (  # three annotators, four labels and one of them never used, items disagreed on: 1, 2, 3, 4
    ("x", "y", "x"), ("y", "y", "z"), ("z", "x", "z"), ("x", "x", "y"), ("x", "x", "x"), ("z", "z", "z"),
)  # fmt: skip


def complete():
    rows = [(f"s{i}", f"a{j}", label) for i, said in enumerate(COMPLETE) for j, label in enumerate(said)]
    return AnnotationData.from_records(rows, labels=("w", "x", "y", "z"))


def test_coins_and_the_chance_of_agreement_as_in_footnote_3():
    coins = [[0, 2 / 4, 1 / 4, 1 / 4], [0, 2 / 4, 2 / 4, 0], [0, 1 / 4, 1 / 4, 2 / 4]]
    np.testing.assert_allclose(estimate_coins(complete()), coins, atol=1e-15)
    p = 0.5 * 0.5 * 0.25 + 0.25 * 0.5 * 0.25
    assert chance_agreement(coins) == pytest.approx(p, abs=1e-15)
    assert estimate_chance_agreement(complete()) == pytest.approx(p, abs=1e-15)
    found = count_disagreement(complete())
    assert (found.n, found.d, found.left_out) == (6, 4, 0)
    assert found.p == pytest.approx(p, abs=1e-15)


def test_chance_agreement_is_the_sum_over_all_flips(rng):
    coins = rng.dirichlet(np.ones(3), size=4)  # (annotator, label)
    total = sum(
        np.prod([coin[label] for coin, label in zip(coins, said, strict=True)])
        for said in product(range(3), repeat=4)
        if len(set(said)) == 1
    )
    assert chance_agreement(coins) == pytest.approx(total, abs=1e-15)


# Repeated answers, of which the first counts, 1 to 4 annotations per item, an annotator with no part in a disagreement
UNEQUAL = (
    ("s1", "a", "x"), ("s1", "b", "y"), ("s1", "a", "y"), ("s2", "a", "x"), ("s2", "b", "x"), ("s2", "c", "y"),
    ("s3", "b", "x"), ("s3", "c", "x"), ("s4", "a", "y"), ("s4", "a", "y"), ("s4", "d", "y"), ("s4", "c", "y"),
    ("s5", "a", "x"), ("s6", "d", "x"), ("s6", "d", "x"),
    ("s8", "b", "y"), ("s8", "c", "y"), ("s8", "e", "x"),
)  # fmt: skip


def test_unequal_designs_have_the_mean_chance_of_agreed_items():
    data = AnnotationData.from_records(UNEQUAL, items=[f"s{number}" for number in range(1, 9)])
    a, b, c = np.array([1.0, 0.0]), np.array([1 / 3, 2 / 3]), np.array([0.0, 1.0])
    d, e = np.array([1 / 2, 1 / 2]), np.array([1.0, 0.0])  # d's is the coin of all the others
    np.testing.assert_allclose(estimate_coins(data), [a, b, c, d, e], atol=1e-15)
    by_item = [(b * c).sum(), (a * d * c).sum()]  # s3, s4
    found = count_disagreement(data)
    assert (found.n, found.d, found.left_out, found.kappa) == (5, 3, 3, None)
    assert found.p == pytest.approx(np.mean(by_item), abs=1e-15)


def test_without_agreed_items_the_chance_is_the_mean_of_all_items():
    data = AnnotationData.from_records([("s1", "a", "x"), ("s1", "b", "y"), ("s2", "a", "y"), ("s2", "b", "x")])
    assert estimate_chance_agreement(data) == 0.5


def five_annotators(four_to_one, three_to_two):
    """Votes on 660 items agreed on by all five and 340 that are not, with both labels equally frequent."""
    rows = [(5, 0), (0, 5)] * 330 + [(4, 1), (1, 4)] * (four_to_one // 2) + [(3, 2), (2, 3)] * (three_to_two // 2)
    return rows + [(4, 1)] * (four_to_one % 2) + [(2, 3)] * (three_to_two % 2)


def test_kappa_of_the_papers_examples():
    for votes, kappa, tolerance in (
        ([(2, 0), (0, 2)] * 450 + [(1, 1)] * 100, 0.8, 1e-12),
        (five_annotators(340, 0), 0.7280, 1e-12),
        (five_annotators(0, 340), 0.5920, 1e-12),  # printed .52
        (five_annotators(113, 227), 0.6372, 5e-5),
        (five_annotators(340, 680)[660:] + [(5, 0), (0, 5)] * 990, 0.637333, 5e-7),  # a third exactly: all three times
        ([(2, 0), (0, 2)] * 483 + [(2, 0)] + [(1, 1)] * 33, 0.934, 5e-6),
    ):
        assert measure_kappa(votes).kappa == pytest.approx(kappa, abs=tolerance)


def test_one_label_throughout_has_no_kappa():
    found = measure_kappa([[3, 0], [3, 0]])
    assert (found.observed, found.expected, found.kappa) == (1, 1, None)


def test_the_difference_of_two_systems_as_in_the_paper():
    found = bound_chance_difference(125)
    assert found.sd == pytest.approx(7.905694, abs=5e-7)
    assert 2 * found.sd == pytest.approx(15.81, abs=5e-3)  # footnote 9
    assert found.sd / sqrt(0.05) == pytest.approx(35.3553, abs=5e-5)
    assert (found.chebyshev, found.exact) == (35, 15)


@pytest.mark.parametrize(("noise", "ci_prob"), [(0, 0.95), (2, 0.8), (10, 0.95), (125, 0.95)])
def test_the_exact_bound_equals_adding_up_items_one_by_one(noise, ci_prob):
    pmf = np.array([1.0])
    for _ in range(noise):
        pmf = np.convolve(pmf, [0.25, 0.5, 0.25])
    sizes = np.abs(np.arange(-noise, noise + 1))
    expected = next(s for s in range(noise + 1) if pmf[sizes > s].sum() < 1 - ci_prob)
    found = bound_chance_difference(noise, ci_prob=ci_prob)
    assert found.exact == expected
    assert found.exact <= found.chebyshev <= noise
    assert found.sd == pytest.approx(np.sqrt(pmf @ sizes**2))
    if noise == 125:
        assert pmf[sizes > 15].sum() == pytest.approx(0.04970679, abs=5e-9)
        assert pmf[sizes > 35].sum() == pytest.approx(6.18e-6, rel=1e-3)


def test_chebyshevs_bound_is_not_short_by_rounding():
    assert bound_chance_difference(10, ci_prob=0.95).chebyshev == 10  # sqrt(5) sqrt(20) = 10


AGREED = AnnotationData.from_records([("s1", "a", "x"), ("s1", "b", "x"), ("s2", "a", "y")])
WRONG = {
    r"coin 2 is \[0\.6, 0\.5\]": lambda: chance_agreement([[0.5, 0.5], [0.6, 0.5]]),
    r"coin 1 is \[1\.5, -0\.5\]": lambda: chance_agreement([[1.5, -0.5]]),
    r"coins have shape \(2,\)": lambda: chance_agreement([0.5, 0.5]),
    "no item is disagreed on": lambda: estimate_coins(AGREED),
    "2 to 3 annotations": lambda: measure_kappa([[2, 0], [2, 1]]),
    "1 to 1 annotations": lambda: measure_kappa([[1, 0], [0, 1]]),
    "a table of counts": lambda: measure_kappa([[3, -1]]),
    "noise is -1": lambda: bound_chance_difference(-1),
    "ci_prob is 0": lambda: bound_chance_difference(5, ci_prob=0),
}


@pytest.mark.parametrize("match", WRONG)
def test_values_out_of_range_are_refused(refuses, match):
    with refuses(DataError, match):
        WRONG[match]()
