"""The reference of model A for several dimensions: section 7 of the supplement to Rzhetsky et al. (2009), Figure 3."""

import itertools
from collections import defaultdict

import numpy as np
import pytest

from tests.models import oracles_model_a as oracle
from tests.models.references_model_a import (
    answers_given,
    correctness,
    cox_item,
    cox_patterns,
    gauge,
    model_a_states,
    xi,
)

pytestmark = pytest.mark.slow  # no code of the package: it changes only with the reference

ORDER = ("CCC", "CCI", "CIC", "ICC", "CII", "ICI", "IIC", "III")  # of Table 2
FIGURE3 = {(0, 1): oracle.FIGURE3_RHO}


def close(actual, expected, *, exact=1e-12):
    np.testing.assert_allclose(actual, expected, rtol=exact, atol=exact)


def spelt(letters):
    """The pattern that the paper writes CII, say."""
    return tuple(int(letter == "C") for letter in letters)


def range_of(theta, pair):
    """Where one correlation can be if the others are zero."""
    return -1 / gauge(theta, {pair: -1}), 1 / gauge(theta, {pair: 1})


def figure3_joint():
    """P(T^x, T^y) in the order of Table 2, shape (state of x, state of y)."""
    joint = dict(cox_patterns(oracle.FIGURE3_THETA, FIGURE3))
    return np.array([[joint[spelt(x), spelt(y)] for y in ORDER] for x in ORDER])


# ------------------------------------------------------------------------------------------------- correctness


@pytest.mark.parametrize(
    ("theta", "rhos"), [(oracle.FIGURE3_THETA, FIGURE3), (oracle.COX_THETA, oracle.COX_RHOS)], ids=["two", "three"]
)
def test_correlations_are_what_their_name_says(theta, rhos):
    """Each dimension keeps its marginal; one annotator's dimensions correlate by rho, two annotators' not at all."""
    theta = np.array(theta)
    n, dimensions = theta.shape
    total, first, second = 0.0, np.zeros(theta.shape), np.zeros((n, dimensions, n, dimensions))
    for correct, p in cox_patterns(theta, rhos):
        u = (np.array(correct).T - theta) / np.sqrt(theta * (1 - theta))  # (annotator, dimension)
        total, first, second = total + p, first + p * u, second + p * np.multiply.outer(u, u)
        assert p >= 0
    close(total, 1)
    close(first, 0)
    for (x, y), rho in rhos.items():
        close(second[:, x, :, y], rho * np.eye(n))
    for x in range(dimensions):
        close(second[:, x, :, x], np.eye(n))


def test_marginal_of_a_dimension_is_independent_of_rho():
    marginal = defaultdict(float)
    for (x, _, _), p in cox_patterns(oracle.COX_THETA, oracle.COX_RHOS):
        marginal[x] += p
    for x, p in marginal.items():
        close(p, correctness([row[0] for row in oracle.COX_THETA], x))


def test_states_of_figure_3():
    joint = 100 * figure3_joint()
    for (x, y), expected in oracle.FIGURE3_STATES.items():
        close(joint[ORDER.index(x), ORDER.index(y)], expected, exact=1e-6)
    close(joint.sum(axis=1), oracle.FIGURE3_MARGINALS[0])
    close(joint.sum(axis=0), oracle.FIGURE3_MARGINALS[1])
    close(joint.min(), 100 * 3.2821636e-05, exact=1e-8)


def test_agreement_patterns_of_figure_3():
    """Eq. 29 to 32 with the alphas of the caption."""
    a = oracle.FIGURE3_ALPHAS
    given = np.array(
        [
            *np.eye(5)[:4],
            (0, 0, 0, a[0], 1 - a[0]),
            (0, 0, a[1], 0, 1 - a[1]),
            (0, a[2], 0, 0, 1 - a[2]),
            (*a[3:], 1 - sum(a[3:])),
        ]
    )  # (correctness, agreement), R^x and R^y
    kronecker = np.kron(given, given)
    close(kronecker.sum(axis=1), 1)
    found = (figure3_joint().reshape(-1) @ kronecker).reshape(5, 5)
    close(100 * found, oracle.FIGURE3_PATTERNS, exact=1e-6)


def test_range_of_figure_3():
    close(range_of(oracle.FIGURE3_THETA, (0, 1)), oracle.FIGURE3_RANGE, exact=1e-9)
    low, high = (
        xi(oracle.FIGURE3_THETA, {(0, 1): 1}, [spelt(x), spelt(y)]) - 1 for x, y in [("ICC", "CII"), ("III", "III")]
    )
    close((low, high), oracle.FIGURE3_EXTREMES, exact=1e-7)


# ------------------------------------------------------------------------------------------------- the gauge


def test_gauge():
    close(gauge(oracle.COX_THETA, oracle.COX_RHOS), oracle.COX_GAUGE)
    for pair, expected in oracle.COX_RANGES.items():
        close(range_of(oracle.COX_THETA, pair), expected, exact=1e-9)


def test_correlations_on_the_edge_make_one_pattern_impossible():
    size = gauge(oracle.COX_THETA, oracle.COX_RHOS)
    edge = {pair: rho / size for pair, rho in oracle.COX_RHOS.items()}
    close(gauge(oracle.COX_THETA, edge), 1)
    close(min(p for _, p in cox_patterns(oracle.COX_THETA, edge)), 0)
    beyond = {pair: 1.01 * rho for pair, rho in edge.items()}
    assert min(p for _, p in cox_patterns(oracle.COX_THETA, beyond)) < 0


@pytest.mark.parametrize("accuracy", [0.6, 0.8, 0.9])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_range_for_equal_annotators(k, accuracy):
    """The more annotators, the narrower; the more accurate, the closer to zero the lower end."""
    close(range_of([(accuracy, accuracy)] * k, (0, 1)), (-(1 - accuracy) / (k * accuracy), 1 / k))


# ------------------------------------------------------------------------------------------------- items


@pytest.mark.parametrize(("said", "expected"), oracle.COX.items())
def test_recomputed_items_of_three_dimensions(said, expected):
    free = dict.fromkeys(oracle.COX_RHOS, 0.0)
    found = [cox_item(oracle.COX_THETA, oracle.COX_OMEGAS, rhos, said)[0] for rhos in (oracle.COX_RHOS, free)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_recomputed_posterior_of_three_dimensions():
    said = list(oracle.COX)[1]
    _, posterior = cox_item(oracle.COX_THETA, oracle.COX_OMEGAS, oracle.COX_RHOS, said)
    for dimension, expected in oracle.COX_POSTERIOR.items():
        states = np.zeros_like(posterior[dimension])
        for letters, p in expected.items():
            states[said[dimension][letters.index("C")] if "C" in letters else -1] = p
        close(posterior[dimension], states, exact=2e-12)


def test_without_correlations_dimensions_are_separate():
    said = list(oracle.COX)[1]
    _, posterior = cox_item(oracle.COX_THETA, oracle.COX_OMEGAS, dict.fromkeys(oracle.COX_RHOS, 0.0), said)
    for dimension, omega in enumerate(oracle.COX_OMEGAS):
        alone = model_a_states([row[dimension] for row in oracle.COX_THETA], said[dimension], omega)
        close(posterior[dimension], alone / alone.sum())


@pytest.mark.parametrize("kind", ["normalised", "unnormalised"])
def test_probabilities_of_all_answers_sum_to_one(kind):
    rhos, theta = {(0, 1): 0.1}, oracle.FIGURE3_THETA
    omegas = [(0.3, 0.7), (0.2, 0.3, 0.5)]
    answers = itertools.product(itertools.product(range(2), repeat=3), itertools.product(range(3), repeat=3))
    close(sum(cox_item(theta, omegas, rhos, said, kind)[0] for said in answers), 1)


def test_an_answer_that_is_absent_is_summed_out():
    """Two annotators in y, three in x: the third one's correctness in y is free, and with no answer in y so is all."""
    theta, omegas = oracle.FIGURE3_THETA, [oracle.OMEGA, oracle.W4]
    patterns = list(cox_patterns(theta, FIGURE3))
    said = [(0, 0, 2), (3, 3, None)]
    expected = sum(
        p * answers_given(x, said[0], omegas[0]) * answers_given(y[:2], (3, 3), omegas[1]) for (x, y), p in patterns
    )
    close(cox_item(theta, omegas, FIGURE3, said)[0], expected)
    alone = model_a_states([row[0] for row in theta], said[0], omegas[0])
    total, (x, y) = cox_item(theta, omegas, FIGURE3, [said[0], (None, None, None)])
    close(total, alone.sum())
    close(x, alone / alone.sum())
    close(y, [0, 0, 0, 0, 1])


def test_one_answer_in_a_dimension_says_nothing_of_the_others():
    theta, omegas = [(0.7, 0.6)], [oracle.OMEGA, oracle.W4]
    close(cox_item(theta, omegas, {(0, 1): 0.3}, [(2,), (1,)])[0], oracle.OMEGA[2] * oracle.W4[1])
    close(cox_item(theta, omegas, {(0, 1): 0.3}, [(None,), (None,)])[0], 1)


def test_frequencies_of_each_annotator_follow_those_who_answer():
    theta, rows = oracle.FIGURE3_THETA, np.array(oracle.OMEGAS[:3])
    pi = rows.mean(axis=0)
    said = [(0, 0, 2), (3, None, 1)]
    _, posterior = cox_item(theta, [oracle.OMEGA, rows], {(0, 1): 0.0}, said, pis=[None, pi])
    alone = model_a_states([0.6, 0.7], (3, 1), rows[[0, 2]], pi=pi)
    close(posterior[1], alone / alone.sum())
