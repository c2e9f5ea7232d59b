"""Model A against the tables of its paper: Rzhetsky, Shatkay and Wilbur (2009), supplement, sections 6 to 8 and 11.

The graph of the package and the enumeration of `references_model_a` must both give each number. Where the paper's
numbers are not those of its own formulas, the test says what they are instead.
"""

import itertools
from functools import cache

import numpy as np
import pymc as pm
import pytest

from bayesanno import AnnotationData, read_annotations
from bayesanno.modeling.posterior import recover
from bayesanno.models.model_a import ModelA
from tests.models import oracles_model_a as oracle
from tests.models.contract import Graph, as_posterior, said_of
from tests.models.references_model_a import beta, cox_item, cox_patterns, model_a_states

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times

DIGITS = 1e-6  # the paper's log-likelihoods have six decimals
ON_THE_EDGE = 2e-4  # what theta printed to six digits leaves uncertain where a log-likelihood is steep
ROWS_OF = {omega: [row for row in oracle.ROWS if row.omega == omega] for omega in {row.omega: 0 for row in oracle.ROWS}}


def all_triplets(n_labels):
    """An item for each possible answer of three annotators, in the order of Table 9."""
    names = [str(label + 1) for label in range(n_labels)]
    rows = (
        ("".join(cell), annotator, label)
        for cell in itertools.product(names, repeat=3)
        for annotator, label in zip("ijk", cell, strict=True)
    )
    return AnnotationData.from_records(rows, labels=names)


def items_of(answers, n_labels):
    """An item per tuple of answers, the first by a0, the next by a1, and so on."""
    names = [str(label) for label in range(n_labels)]
    rows = [(f"item {n}", f"a{j}", names[label]) for n, said in enumerate(answers) for j, label in enumerate(said)]
    return AnnotationData.from_records(rows, labels=names)


@cache
def graph_of(n_labels, **fields):
    return Graph(ModelA(**fields), all_triplets(n_labels))


def by_graph(data, theta, omega, alpha="normalised"):
    """Log P(answers) of each item with these frequencies."""
    graph = graph_of(data.n_labels, alpha=alpha)
    pm.set_data({"frequency": np.array(omega)}, graph.model)
    return graph.item_logp({"accuracy": np.array(theta)}, data)


def by_enumeration(data, theta, omega, alpha="normalised"):
    return np.log([states.sum() for states in enumerate_items(data, theta, omega, alpha=alpha)])


def enumerate_items(data, theta, omega, **options):
    """P(state, answers) of each item, shape (item, state)."""
    each = [said_of(data, item) for item in range(data.n_items)]
    return [model_a_states([theta[j] for j, _ in said], [v for _, v in said], omega, **options) for said in each]


TABLE9, TWO_LABELS = all_triplets(3), all_triplets(2)
COUNTS = np.array([n for _, n in oracle.TABLE9.values()])
both = pytest.mark.parametrize("item_logp", [by_graph, by_enumeration])


def log_prior(theta):
    return np.log(2 * np.asarray(theta)).sum()  # Beta(2, 1)


def listed(said, states):
    """States as tables list them: labels in order of first appearance, then none of them; the rest is impossible."""
    said = list(dict.fromkeys(said))
    assert not np.delete(states, [*said, len(states) - 1]).any()
    return states[[*said, -1]]


# ------------------------------------------------------------------------------------------------- table 9


@both
def test_table_9_to_all_digits(item_logp):
    """The printed probabilities are those of `unnormalised`, not of Table 4."""
    cells = np.exp(item_logp(TABLE9, oracle.THETA, oracle.OMEGA, "unnormalised"))
    assert TABLE9.items == tuple(oracle.TABLE9)
    assert [float(f"{p:.5g}") for p in cells] == [p for p, _ in oracle.TABLE9.values()]


@both
def test_table_9_by_table_4(item_logp):
    cells = np.exp(item_logp(TABLE9, oracle.THETA, oracle.OMEGA))
    for name, expected in oracle.TABLE9_NORMALISED.items():
        np.testing.assert_allclose(cells[TABLE9.items.index(name)], expected, rtol=0, atol=1e-9)


@both
@pytest.mark.parametrize("alpha", ["normalised", "unnormalised"])
@pytest.mark.parametrize("omega", [(0.2, 0.3, 0.5), (0.1, 0.2, 0.3, 0.4), (0.3, 0.7)])
def test_probabilities_of_all_triplets_sum_to_one(item_logp, alpha, omega):
    cells = np.exp(item_logp(all_triplets(len(omega)), oracle.THETA, omega, alpha))
    np.testing.assert_allclose(cells.sum(), 1, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "counts", "pooled"),
    [
        ("@table9", COUNTS, oracle.POOLED),
        ("@table14", oracle.TABLE14_COUNTS, oracle.TABLE14_POOLED),
        ("@table15", oracle.TABLE16_COUNTS, oracle.TABLE16_POOLED),
    ],
)
def test_frequencies_are_pooled_and_not_rounded(name, counts, pooled):
    data = read_annotations(name)
    n, triplets = data.n_labels, data.label.reshape(-1, 3)  # (item, annotator)
    assert np.bincount(triplets @ [n * n, n, 1]).tolist() == list(counts)
    np.testing.assert_allclose(ModelA().fixed_parameters(data)["frequency"].value, pooled, rtol=1e-14)


# ------------------------------------------------------------------------------------------------- table 10


@both
def test_table_10_is_likelihood_times_a_prior(item_logp):
    """Its caption says maximum likelihood; each value holds the Beta(2, 1) priors of eq. 5."""
    for row, (printed, theta) in enumerate(oracle.TABLE10):
        exact = DIGITS if row < oracle.TABLE10_INSIDE else ON_THE_EDGE
        found = COUNTS @ item_logp(TABLE9, theta, oracle.POOLED) + log_prior(theta)
        assert found == pytest.approx(printed, rel=0, abs=exact)


def recomputed():
    """Alphas, frequencies, accuracies, the log-likelihood of the counts of Table 9, and how exact it is."""
    for theta, value in oracle.TABLE10_MODES:
        yield "normalised", oracle.POOLED, theta, value - log_prior(theta), 5e-6
    for theta, value in oracle.TABLE10_LIKELIHOOD_MODES:
        yield "normalised", oracle.POOLED, theta, value, 5e-6
    for omega, modes in oracle.UNNORMALISED_MODES.items():
        for theta, value in modes:
            yield "unnormalised", omega, theta, value, 5e-6
    for alpha, (theta, omega, value) in oracle.JOINT_LIKELIHOOD_MODES.items():
        yield alpha, np.array(omega) / sum(omega), theta, value, 1e-5
    for alpha, omega, value in oracle.AT_THE_TRUTH:
        yield alpha, omega, oracle.THETA, value, DIGITS


@both
def test_modes_and_maxima_have_their_values(item_logp):
    for alpha, omega, theta, expected, exact in recomputed():
        assert COUNTS @ item_logp(TABLE9, theta, omega, alpha) == pytest.approx(expected, rel=0, abs=exact)


def test_table_8():
    """Recomputed from Table 6, at the first row of Table 10."""
    entry, theta = ModelA(frequency="shared"), oracle.TABLE10[0][1]
    parameters = {"accuracy": np.array(theta), "frequency": np.array(oracle.POOLED)}
    found = recover(entry, TABLE9, as_posterior(entry.build(TABLE9), [parameters])).latent["probability"].values
    enumerated = enumerate_items(TABLE9, theta, oracle.POOLED)
    for name, expected in oracle.TABLE8.items():
        item, said = TABLE9.items.index(name), [int(digit) - 1 for digit in name]
        for states in (found[item], enumerated[item] / enumerated[item].sum()):
            np.testing.assert_allclose(listed(said, states), expected, rtol=0, atol=DIGITS)
            assert expected[-1] > 0 or states[-1] == 0  # three labels, all said: the third wrong one has none left


# ------------------------------------------------------------------------------------- two labels: table 16


@both
@pytest.mark.parametrize(
    ("expected", "counts", "pooled"),
    [
        *((row, oracle.TABLE16_COUNTS, oracle.TABLE16_POOLED) for row in oracle.TABLE16),
        (oracle.TABLE14, oracle.TABLE14_COUNTS, oracle.TABLE14_POOLED),
    ],
)
def test_table_16_as_it_should_be(item_logp, expected, counts, pooled):
    """Its values leave out P(answers | who agrees), and have the prior of k at theta_j."""
    found = counts @ item_logp(TWO_LABELS, expected.theta, pooled)
    found += log_prior(expected.theta) if expected.prior else 0.0
    assert found == pytest.approx(expected.answers, rel=0, abs=2 * DIGITS)


@pytest.mark.parametrize(("theta", "printed"), oracle.TABLE16_PRINTED)
def test_table_16_as_printed(theta, printed):
    rows = np.tile(oracle.TABLE16_POOLED, (3, 1))
    given = [np.log(beta(said, rows)) for said in itertools.product((0, 1), repeat=3)]
    of_patterns = oracle.TABLE16_COUNTS @ (by_enumeration(TWO_LABELS, theta, oracle.TABLE16_POOLED) - given)
    i, j, _ = theta
    assert of_patterns + log_prior((i, j, j)) == pytest.approx(printed, rel=0, abs=DIGITS)


@both
def test_two_labels_cannot_tell_right_from_wrong(item_logp):
    theta = np.array([0.7, 0.85, 0.35])
    mirrored, as_is = (item_logp(TWO_LABELS, at, oracle.TABLE16_POOLED) for at in (1 - theta, theta))
    np.testing.assert_allclose(mirrored, as_is, rtol=1e-12)


@both
def test_two_labels_have_a_closed_form(item_logp):
    ij, ik, jk = oracle.TABLE16_AGREEMENT.values()
    d = np.array([(ij * ik / jk) ** 0.5, (ij * jk / ik) ** 0.5, -((ik * jk / ij) ** 0.5)])
    found = oracle.TABLE16_COUNTS @ item_logp(TWO_LABELS, (1 + d) / 2, oracle.TABLE16_POOLED)
    assert found == pytest.approx(oracle.TABLE16[0].answers, rel=0, abs=DIGITS)


# -------------------------------------------------------------------------------- any number of annotators


@pytest.mark.parametrize("omega", ROWS_OF, ids=str)
def test_items_of_any_number_of_annotators(omega):
    rows = ROWS_OF[omega]
    theta = max((row.theta for row in rows), key=len)  # of which the others are the first
    assert all(row.theta == theta[: len(row.theta)] for row in rows)
    entry, data = ModelA(frequency="shared"), items_of([row.said for row in rows], len(omega))
    parameters = {"accuracy": np.array(theta), "frequency": np.array(omega)}
    expected = np.log([row.probability for row in rows])
    enumerated = enumerate_items(data, theta, omega)
    found = recover(entry, data, as_posterior(entry.build(data), [parameters]))
    for logp in (by_graph(data, theta, omega), found.log_likelihood[0, 0], np.log(np.sum(enumerated, axis=1))):
        np.testing.assert_allclose(logp, expected, rtol=1e-12)
    for row, states, joint in zip(rows, found.latent["probability"].values, enumerated, strict=True):
        for each in (states, joint / joint.sum()):
            np.testing.assert_allclose(listed(row.said, each), row.posterior, rtol=0, atol=1e-11)
            assert row.posterior[-1] > 0 or each[-1] == 0


@pytest.mark.parametrize("n", [3, 4])
def test_items_under_frequencies_of_each_annotator(n):
    """Each annotator has as many answers as the others, so that the frequency of truths is the mean of theirs."""
    expected = {said: p for said, p in oracle.OWN.items() if len(said) == n}
    theta, omega, data = oracle.TH4[:n], np.array(oracle.OMEGAS[:n]), items_of(expected, 4)
    graph = Graph(ModelA(frequency="annotator"), data)
    found = graph.item_logp({"accuracy": np.array(theta), "frequency": omega})
    enumerated = np.sum(enumerate_items(data, theta, omega, pi=omega.mean(axis=0)), axis=1)
    for each in (np.exp(found), enumerated):
        np.testing.assert_allclose(each, list(expected.values()), rtol=1e-12)


def test_annotators_whose_frequencies_are_equal_share_them():
    data = items_of([said for said in oracle.OWN if len(said) == 4], 4)
    theta, rows = np.array(oracle.TH4), np.tile(oracle.W4, (4, 1))
    found = Graph(ModelA(frequency="annotator"), data).item_logp({"accuracy": theta, "frequency": rows})
    np.testing.assert_allclose(found, by_graph(data, theta, oracle.W4), rtol=1e-12)


# ------------------------------------------------------------------------------- the enumeration in several dimensions


def test_correctness_of_figure_3():
    joint = dict(cox_patterns(oracle.FIGURE3_THETA, {(0, 1): oracle.FIGURE3_RHO}))
    spelt = {"".join("IC"[right] for right in pattern): pattern for pattern in itertools.product((0, 1), repeat=3)}
    for (x, y), expected in oracle.FIGURE3_STATES.items():
        np.testing.assert_allclose(100 * joint[spelt[x], spelt[y]], expected, rtol=0, atol=1e-6)
    assert sum(joint.values()) == pytest.approx(1, abs=1e-12)


def test_enumerated_items_of_three_dimensions():
    for said, expected in oracle.COX.items():
        for rhos, p in zip((oracle.COX_RHOS, dict.fromkeys(oracle.COX_RHOS, 0.0)), expected, strict=True):
            assert cox_item(oracle.COX_THETA, oracle.COX_OMEGAS, rhos, said)[0] == pytest.approx(p, rel=1e-12)
    said = list(oracle.COX)[1]
    _, posterior = cox_item(oracle.COX_THETA, oracle.COX_OMEGAS, oracle.COX_RHOS, said)
    for dimension, expected in oracle.COX_POSTERIOR.items():
        states = np.zeros_like(posterior[dimension])
        for letters, p in expected.items():
            states[said[dimension][letters.index("C")] if "C" in letters else -1] = p
        np.testing.assert_allclose(posterior[dimension], states, rtol=0, atol=2e-12)
