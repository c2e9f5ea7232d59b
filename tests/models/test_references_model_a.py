"""The reference of model A against the process simulated outright, and against the tables of its paper.

Rzhetsky, Shatkay and Wilbur (2009), supplement, sections 4 to 8 and 11. A reference that is wrong would let a wrong
graph pass, so that it is checked before any graph is.
"""

import itertools
from collections import Counter, defaultdict
from math import factorial, log, prod

import numpy as np
import pytest
from scipy.stats import chi2

from tests.models import oracles_model_a as oracle
from tests.models.references_model_a import (
    alpha,
    beta,
    distinct_sum,
    enumerate_model_a,
    model_a_states,
    partition_of,
    plain_process,
    plain_worlds,
    unnormalised_process,
)

pytestmark = pytest.mark.slow  # no code of the package: it changes only with the reference

EXACT = 1e-12  # one enumeration against another
DIGITS = 1e-6  # log-likelihoods and posteriors are given to six decimals
ON_THE_EDGE = 2e-4  # what theta printed to six digits leaves uncertain where a log-likelihood is steep
KINDS = ("normalised", "unnormalised")
SIZES = [pytest.param(k, m, id=f"{k} annotators, {m} labels") for k in range(1, 6) for m in range(2, 6)]
AGREEMENT = ((0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2))  # aaa, aaA, aAa, Aaa, all differ


def close(actual, expected, *, exact=EXACT):
    np.testing.assert_allclose(actual, expected, rtol=exact, atol=exact)


def labels(cell):
    return tuple(int(digit) - 1 for digit in cell)


def probability(theta, said, omega, kind="normalised", pi=None):
    return model_a_states(theta, said, omega, kind, pi).sum()


def log_likelihood(theta, omega, kind="normalised"):
    return sum(n * log(probability(theta, labels(cell), omega, kind)) for cell, (_, n) in oracle.TABLE9.items())


def log_prior(theta):
    return sum(log(2 * p) for p in theta)  # Beta(2, 1)


def in_order_of_appearance(said, states):
    """The posterior as tables list it: labels that were said, then none of them; the rest must be impossible."""
    said = list(dict.fromkeys(said))
    others = np.delete(states, [*said, len(states) - 1])
    assert not others.any()
    return states[[*said, -1]] / states.sum()


# ------------------------------------------------------------------------------- the formulas against the process


@pytest.mark.parametrize(("k", "m"), SIZES)
def test_formulas_equal_the_story(k, m, rng):
    """Every answer's every state, and probabilities of all answers sum to one, with the patterns of the process."""
    theta, omega = rng.uniform(size=k), rng.dirichlet(np.ones(m))
    agreement, partitions = Counter(), plain_process(theta, omega)[0]
    for said, states in enumerate_model_a(theta, omega).items():
        found = model_a_states(theta, said, omega)
        close(found, states)
        agreement[partition_of(said)] += found.sum()
    close(agreement.total(), 1)
    for partition, total in agreement.items():
        close(total, partitions.get(partition, 0.0))


@pytest.mark.parametrize(("k", "m"), [(1, 3), (2, 4), (3, 3), (3, 5), (4, 3)])
def test_formulas_equal_the_story_with_frequencies_of_each_annotator(k, m, rng):
    theta, omega, pi = rng.uniform(size=k), rng.dirichlet(np.ones(m), size=k), rng.dirichlet(np.ones(m))
    total = 0.0
    for said, states in enumerate_model_a(theta, omega, pi).items():
        found = model_a_states(theta, said, omega, pi=pi)
        close(found, states)
        total += found.sum()
    close(total, 1)


@pytest.mark.parametrize(("k", "m"), [(2, 3), (3, 2), (3, 3), (3, 5)])
def test_unnormalised_formulas_have_a_story_too(k, m, rng):
    theta, omega = rng.uniform(size=k), rng.dirichlet(np.ones(m))
    total = 0.0
    for said, states in enumerate_model_a(theta, omega, process=unnormalised_process).items():
        found = model_a_states(theta, said, omega, "unnormalised")
        close(found, states)
        total += found.sum()
    close(total, 1)


def test_the_story_notices_another_model(rng):
    theta, omega = rng.uniform(size=3), rng.dirichlet(np.ones(3))
    states = enumerate_model_a(theta, omega)
    assert abs(states[0, 1, 2] - model_a_states(theta, (0, 1, 2), omega, "unnormalised")).max() > 1e-4
    assert abs(states[0, 0, 1] - model_a_states(theta, (0, 0, 1), omega[::-1])).max() > 1e-4


def test_frequencies_that_are_equal_are_shared(rng):
    theta, omega = rng.uniform(size=4), rng.dirichlet(np.ones(4))
    for said in [(0, 0, 1, 3), (2, 2, 2, 2), (0, 1, 2, 3)]:
        close(model_a_states(theta, said, np.tile(omega, (4, 1)), pi=omega), model_a_states(theta, said, omega))


def test_an_item_without_annotation_has_no_label():
    assert model_a_states((), (), oracle.OMEGA).tolist() == [0, 0, 0, 1]


def test_one_answer_says_nothing_about_its_annotator(rng):
    omega = rng.dirichlet(np.ones(4))
    for p, label in itertools.product((0.0, 0.3, 1.0), range(4)):
        close(probability([p], (label,), omega), omega[label])


@pytest.mark.parametrize("k", range(1, 6))
def test_two_labels_cannot_tell_right_from_wrong(k, rng):
    theta, omega = rng.uniform(size=k), rng.dirichlet(np.ones(2))
    for said in itertools.product((0, 1), repeat=k):
        close(probability(1 - theta, said, omega), probability(theta, said, omega))


def test_where_all_but_one_label_are_impossible_nobody_can_be_wrong():
    close(model_a_states((0.6, 0.8), (0, 0), (1.0, 0.0, 0.0)), [0.48, 0, 0, 0])
    assert not model_a_states((0.6, 0.8), (0, 1), (1.0, 0.0, 0.0)).any()


def partitions_of(n, largest):
    """Integers that add up to n, in falling order."""
    if n == 0:
        yield ()
    for first in range(min(n, largest), 0, -1):
        for rest in partitions_of(n - first, first):
            yield (first, *rest)


@pytest.mark.parametrize("n", range(1, 7))
def test_patterns_of_the_wrong_ones_are_exhaustive(n, rng):
    omega = rng.dirichlet(np.ones(4))
    alphas = denominators = 0.0
    for sizes in partitions_of(n, n):
        ways = factorial(n) / prod(map(factorial, sizes)) / prod(map(factorial, Counter(sizes).values()))
        alphas += ways * alpha(sizes, omega)
        denominators += ways * distinct_sum(sizes, omega)
    close([alphas, denominators], 1)


# -------------------------------------------------------------------------------------- any number of annotators


@pytest.mark.parametrize("row", oracle.ROWS, ids=lambda row: str(row.said))
def test_recomputed_items(row):
    states = model_a_states(row.theta, row.said, row.omega)
    np.testing.assert_allclose(states.sum(), row.probability, rtol=1e-12)
    np.testing.assert_allclose(beta(row.said, row.omega), row.beta, rtol=1e-12)
    close(in_order_of_appearance(row.said, states), row.posterior, exact=1e-12)
    if len(set(row.said)) == len(row.omega):
        assert states[-1] == 0  # every label but the truth is said: a wrong one more has nothing left to say


@pytest.mark.parametrize(("sizes", "expected"), oracle.W4_SUMS.items())
def test_recomputed_sums(sizes, expected):
    np.testing.assert_allclose((alpha(sizes, oracle.W4), distinct_sum(sizes, oracle.W4)), expected, rtol=1e-13)


@pytest.mark.parametrize(("said", "expected"), oracle.OWN.items())
def test_recomputed_items_with_frequencies_of_each_annotator(said, expected):
    rows = np.array(oracle.OMEGAS[: len(said)])
    found = probability(oracle.TH4[: len(said)], said, rows, pi=rows.mean(axis=0))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


# ---------------------------------------------------------------------------------- tables 3 to 9, section 8


@pytest.mark.parametrize(("omega", "kind", "expected", "exact"), oracle.ALPHAS)
def test_table_4(omega, kind, expected, exact):
    a1, a4, a5 = (alpha(sizes, omega, kind) for sizes in [(2,), (3,), (2, 1)])
    close((a1, a4, a5), expected, exact=exact)
    close(alpha((1, 1), omega, kind), 1 - a1)
    close(alpha((1, 1, 1), omega, kind), 1 - a4 - 3 * a5)


def test_table_5():
    for sizes, denominator in oracle.BETA_DENOMINATORS.items():
        close(distinct_sum(sizes, oracle.OMEGA), denominator)
    close(beta((1, 1, 2), oracle.OMEGA), 0.3**2 * 0.6 / 0.216)


@pytest.mark.parametrize("kind", KINDS)
def test_table_7(kind, rng):
    """The five formulas as printed, at random parameters."""
    (i, j, k), omega = rng.uniform(size=3), rng.dirichlet(np.ones(4))
    a1, a4, a5 = (alpha(sizes, omega, kind) for sizes in [(2,), (3,), (2, 1)])
    ni, nj, nk = 1 - i, 1 - j, 1 - k
    brackets = {
        (0, 0, 0): i * j * k + ni * nj * nk * a4,
        (0, 0, 1): i * j * nk + ni * nj * k * a1 + ni * nj * nk * a5,
        (0, 1, 0): i * nj * k + ni * j * nk * a1 + ni * nj * nk * a5,
        (0, 1, 1): ni * j * k + i * nj * nk * a1 + ni * nj * nk * a5,
        (0, 1, 2): ni * nj * nk * (1 - a4 - 3 * a5) + (i * nj * nk + ni * j * nk + ni * nj * k) * (1 - a1),
    }
    for said in itertools.product(range(4), repeat=3):
        expected = brackets[partition_of(said)] * beta(said, omega)
        close(probability((i, j, k), said, omega, kind), expected)


def test_table_8():
    theta = oracle.TABLE10[0][1]
    for cell, expected in oracle.TABLE8.items():
        states = model_a_states(theta, labels(cell), oracle.POOLED)
        close(in_order_of_appearance(labels(cell), states), expected, exact=DIGITS)


@pytest.mark.parametrize(("cell", "row"), oracle.TABLE9.items())
def test_table_9_to_all_digits(cell, row):
    assert float(f"{probability(oracle.THETA, labels(cell), oracle.OMEGA, 'unnormalised'):.5g}") == row[0]


def test_table_9_is_not_normalised():
    for cell, expected in oracle.TABLE9_NORMALISED.items():
        close(probability(oracle.THETA, labels(cell), oracle.OMEGA), expected, exact=1e-8)
    assert oracle.TABLE9_NORMALISED["111"] < 0.95 * oracle.TABLE9["111"][0]


@pytest.mark.parametrize("kind", KINDS)
def test_patterns_and_counts_of_table_9(kind):
    cells = {cell: probability(oracle.THETA, labels(cell), oracle.OMEGA, kind) for cell in oracle.TABLE9}
    patterns = defaultdict(float)
    for cell, p in cells.items():
        patterns[partition_of(cell)] += p
    close([patterns[pattern] for pattern in AGREEMENT], oracle.TABLE9_PATTERNS[kind], exact=1e-6)
    assert sum(n for _, n in oracle.TABLE9.values()) == 10_000
    statistic = sum((n - 10_000 * cells[cell]) ** 2 / (10_000 * cells[cell]) for cell, (_, n) in oracle.TABLE9.items())
    assert statistic == pytest.approx(oracle.TABLE9_CHI_SQUARE[kind], rel=2e-5)
    assert (chi2.sf(statistic, 26) > 0.01) == (kind == "unnormalised")


def test_pooled_frequencies_are_not_omega():
    """Eq. 11 does not hold: not in Table 9, nor for one annotator among several."""
    counts = Counter()
    for cell, (_, n) in oracle.TABLE9.items():
        counts.update({digit: n * cell.count(digit) for digit in "123"})
    close([counts[digit] / 30_000 for digit in "123"], oracle.POOLED)
    pooled = np.zeros(3)
    for said in itertools.product(range(3), repeat=3):
        pooled += np.bincount(said, minlength=3) / 3 * probability(oracle.THETA, said, oracle.OMEGA, "unnormalised")
    close(pooled, oracle.TABLE9_MARGINAL, exact=1e-6)


@pytest.mark.parametrize(("k", "expected"), oracle.OF_ONE_ANNOTATOR.items())
def test_what_one_of_several_annotators_says(k, expected):
    marginal = np.zeros(3)
    for counts in itertools.product(range(k + 1), repeat=3):
        if sum(counts) == k:
            said = np.repeat(range(3), counts).tolist()
            ways = factorial(k) / prod(map(factorial, counts))
            marginal += np.array(counts) / k * ways * probability([0.7] * k, said, oracle.OMEGA)
    close(marginal.sum(), 1)
    close(marginal, expected, exact=5.1e-5)


def test_an_item_of_two_is_not_an_item_of_three_with_one_left_out():
    two = probability(oracle.THETA[:2], (0, 0), oracle.OMEGA)
    three = sum(probability(oracle.THETA, (0, 0, label), oracle.OMEGA) for label in range(3))
    close((two, three), (oracle.TWO_OF_TWO, oracle.TWO_OF_THREE), exact=1e-9)


def test_values_are_not_those_of_the_plain_process():
    """What the wrong ones say is drawn again given who agrees: only the patterns are those of the plain process."""
    plain = defaultdict(float)
    for _, said, p in plain_worlds(oracle.THETA, oracle.OMEGA):
        plain[said] += p
    close(
        (plain[0, 0, 0], probability(oracle.THETA, (0, 0, 0), oracle.OMEGA)),
        (oracle.PLAIN_111, oracle.MODEL_A_111),
        exact=1e-7,
    )
    every = itertools.product(range(3), repeat=3)
    distance = sum(abs(plain[said] - probability(oracle.THETA, said, oracle.OMEGA)) for said in every)
    assert distance / 2 == pytest.approx(oracle.TOTAL_VARIATION, abs=5e-4)


# ----------------------------------------------------------------------------------------------- table 10


@pytest.mark.parametrize(("row", "printed", "theta"), [(i, *row) for i, row in enumerate(oracle.TABLE10)])
def test_table_10_is_likelihood_times_a_prior(row, printed, theta):
    """Its caption says maximum likelihood; each value holds the Beta(2, 1) priors of eq. 5."""
    found = log_likelihood(theta, oracle.POOLED)
    exact = DIGITS if row < oracle.TABLE10_INSIDE else ON_THE_EDGE
    assert found + log_prior(theta) == pytest.approx(printed, rel=0, abs=exact)
    expected = oracle.TABLE10_LOG_LIKELIHOOD.get(printed, found)
    assert found == pytest.approx(expected, rel=0, abs=DIGITS)


def check_mode(theta, expected, density):
    """The value is as given, and no step of one thousandth leads higher."""
    here = density(theta)
    assert here == pytest.approx(expected, rel=0, abs=5e-6)
    for j, step in itertools.product(range(3), (-1e-3, 1e-3)):
        there = list(theta)
        there[j] += step
        assert not 0 <= there[j] <= 1 or density(there) < here


@pytest.mark.parametrize(("theta", "expected"), oracle.TABLE10_MODES)
def test_modes_of_the_posterior(theta, expected):
    check_mode(theta, expected, lambda at: log_likelihood(at, oracle.POOLED) + log_prior(at))


@pytest.mark.parametrize(("theta", "expected"), oracle.TABLE10_LIKELIHOOD_MODES)
def test_modes_of_the_likelihood(theta, expected):
    check_mode(theta, expected, lambda at: log_likelihood(at, oracle.POOLED))


@pytest.mark.parametrize(
    ("omega", "theta", "expected"),
    [(omega, *mode) for omega, modes in oracle.UNNORMALISED_MODES.items() for mode in modes],
)
def test_modes_under_the_alphas_of_the_data(omega, theta, expected):
    check_mode(theta, expected, lambda at: log_likelihood(at, omega, "unnormalised"))


@pytest.mark.parametrize("kind", KINDS)
def test_joint_maximum_of_accuracies_and_frequencies(kind):
    theta, omega, expected = oracle.JOINT_LIKELIHOOD_MODES[kind]
    omega = np.array(omega) / sum(omega)
    assert log_likelihood(theta, omega, kind) == pytest.approx(expected, rel=0, abs=1e-5)


@pytest.mark.parametrize(("kind", "omega", "expected"), oracle.AT_THE_TRUTH)
def test_log_likelihood_at_the_truth(kind, omega, expected):
    assert log_likelihood(oracle.THETA, omega, kind) == pytest.approx(expected, rel=0, abs=DIGITS)


def test_betas_contribute_a_constant():
    total = sum(n * log(beta(labels(cell), oracle.POOLED)) for cell, (_, n) in oracle.TABLE9.items())
    assert total == pytest.approx(oracle.BETA_PART, rel=0, abs=DIGITS)


# ----------------------------------------------------------------------------------- two labels: table 16


def two_label_logs(theta, counts, omega):
    """Log P(patterns) and log P(answers) of a table of two labels."""
    of_patterns = of_answers = 0.0
    for said, n in zip(itertools.product((0, 1), repeat=3), counts, strict=True):
        p = probability(theta, said, omega)
        of_answers += n * log(p)
        of_patterns += n * log(p / beta(said, omega))
    return of_patterns, of_answers


@pytest.mark.parametrize(("theta", "printed"), oracle.TABLE16_PRINTED)
def test_table_16_as_printed(theta, printed):
    """Its values leave out the betas, and have the prior of k at theta_j."""
    patterns, _ = two_label_logs(theta, oracle.TABLE16_COUNTS, oracle.TABLE16_POOLED)
    i, j, _ = theta
    assert patterns + log_prior((i, j, j)) == pytest.approx(printed, rel=0, abs=DIGITS)


@pytest.mark.parametrize(
    ("expected", "counts", "pooled"),
    [
        *((row, oracle.TABLE16_COUNTS, oracle.TABLE16_POOLED) for row in oracle.TABLE16),
        (oracle.TABLE14, oracle.TABLE14_COUNTS, oracle.TABLE14_POOLED),
    ],
)
def test_table_16_as_it_should_be(expected, counts, pooled):
    patterns, answers = two_label_logs(expected.theta, counts, pooled)
    prior = log_prior(expected.theta) if expected.prior else 0.0
    assert patterns + prior == pytest.approx(expected.patterns, rel=0, abs=2 * DIGITS)
    assert answers + prior == pytest.approx(expected.answers, rel=0, abs=2 * DIGITS)


def test_two_labels_have_a_closed_form():
    ij, ik, jk = oracle.TABLE16_AGREEMENT.values()
    d = np.array([(ij * ik / jk) ** 0.5, (ij * jk / ik) ** 0.5, -((ik * jk / ij) ** 0.5)])
    close((1 + d) / 2, oracle.TABLE16[0].theta, exact=1e-6)
    _, answers = two_label_logs((1 + d) / 2, oracle.TABLE16_COUNTS, oracle.TABLE16_POOLED)
    assert answers == pytest.approx(oracle.TABLE16[0].answers, rel=0, abs=DIGITS)
