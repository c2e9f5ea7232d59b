"""Model A against the tables of its paper: Rzhetsky, Shatkay and Wilbur (2009), supplement, sections 6 to 8 and 11.

Where the paper's numbers are not those of its own formulas, the test says what they are instead.
"""

import itertools

import numpy as np
import pymc as pm
import pytest

from bayesanno import AnnotationData, read_annotations
from bayesanno.modeling.posterior import recover
from bayesanno.models.model_a import ModelA
from tests.models import oracles_model_a as oracle
from tests.models.contract import FAST, ROUND_TRIP, Graph, as_posterior, unconstrained

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times

DIGITS = 1e-6  # the paper's log-likelihoods have six decimals
ON_THE_EDGE = 2e-4  # what theta printed to six digits leaves uncertain where a log-likelihood is steep


GROUPS = {omega: [row for row in oracle.ROWS if row.omega == omega] for omega in {row.omega: 0 for row in oracle.ROWS}}


def log_prior(theta):
    return np.log(2 * np.asarray(theta)).sum()  # Beta(2, 1)


class Empirical:
    """The likelihood of a table under `empirical`; frequencies other than the pooled ones where they are given."""

    def __init__(self, data, frequency=None, **fields):
        self.graph = Graph(ModelA(**fields), data)
        if frequency is not None:
            pm.set_data({"frequency": np.array(frequency)}, self.graph.model)

    def per_item(self, theta):
        return self.graph.item_logp({"accuracy": np.array(theta)})

    def __call__(self, theta):
        return self.per_item(theta).sum()

    @property
    def frequency(self):
        return self.graph.model["frequency"].get_value()


def all_triplets(n_labels):
    """An item for each possible answer of three annotators, in the order of Table 9."""
    names = [str(label + 1) for label in range(n_labels)]
    rows = (
        ("".join(cell), annotator, label)
        for cell in itertools.product(names, repeat=3)
        for annotator, label in zip("ijk", cell, strict=True)
    )
    return AnnotationData.from_records(rows, labels=names)


def items_of(answers, n_labels, *, every_label=False):
    """An item per tuple of answers, the first by a0, the next by a1, and so on.

    If asked, somebody else says every label once, each of another item, so that no label is without a frequency.
    """
    names = [str(label) for label in range(n_labels)]
    rows = [(f"item {n}", f"a{j}", names[label]) for n, said in enumerate(answers) for j, label in enumerate(said)]
    if every_label:
        rows += [(f"only {label}", "else", label) for label in names]
    return AnnotationData.from_records(rows, labels=names)


def accuracies(rows):
    """Those of a0, a1, ...: rows of the same frequencies have the same annotators, some of them more than others."""
    longest = max((row.theta for row in rows), key=len)
    assert all(row.theta == longest[: len(row.theta)] for row in rows)
    return longest


def listed(said, states):
    """States as tables list them: labels in order of first appearance, then none of them; the rest is impossible."""
    said = list(dict.fromkeys(said))
    assert not np.delete(states, [*said, len(states) - 1]).any()
    return states[[*said, -1]]


@pytest.fixture(scope="module")
def table9():
    return Empirical(read_annotations("@table9"))


@pytest.fixture(scope="module")
def table14():
    return Empirical(read_annotations("@table14"))


@pytest.fixture(scope="module")
def table15():
    return Empirical(read_annotations("@table15"))


# ------------------------------------------------------------------------------------------------- table 9


def test_table_9_to_all_digits():
    """The printed probabilities are those of `unnormalised`, not of Table 4."""
    data = all_triplets(3)
    assert data.items == tuple(oracle.TABLE9)
    cells = np.exp(Empirical(data, oracle.OMEGA, alpha="unnormalised").per_item(oracle.THETA))
    assert [float(f"{p:.5g}") for p in cells] == [p for p, _ in oracle.TABLE9.values()]
    np.testing.assert_allclose(cells.sum(), 1, rtol=1e-12)


def test_table_9_by_table_4():
    data = all_triplets(3)
    cells = np.exp(Empirical(data, oracle.OMEGA).per_item(oracle.THETA))
    np.testing.assert_allclose(cells.sum(), 1, rtol=1e-12)
    for name, expected in oracle.TABLE9_NORMALISED.items():
        np.testing.assert_allclose(cells[data.items.index(name)], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["normalised", "unnormalised"])
@pytest.mark.parametrize("omega", [(0.2, 0.3, 0.5), (0.1, 0.2, 0.3, 0.4), (0.3, 0.7)])
def test_probabilities_of_all_triplets_sum_to_one(kind, omega):
    cells = Empirical(all_triplets(len(omega)), omega, alpha=kind)
    np.testing.assert_allclose(np.exp(cells.per_item(oracle.THETA)).sum(), 1, rtol=1e-12)


# ------------------------------------------------------------------------------------------------- table 10


def test_frequencies_are_pooled_and_not_rounded(table9):
    np.testing.assert_allclose(table9.frequency, oracle.POOLED, rtol=1e-14)


@pytest.mark.parametrize(("row", "printed", "theta"), [(i, *row) for i, row in enumerate(oracle.TABLE10)])
def test_table_10_is_likelihood_times_a_prior(table9, row, printed, theta):
    """Its caption says maximum likelihood; each value holds the Beta(2, 1) priors of eq. 5."""
    exact = DIGITS if row < oracle.TABLE10_INSIDE else ON_THE_EDGE
    found = table9(theta)
    assert found + log_prior(theta) == pytest.approx(printed, rel=0, abs=exact)
    if printed in oracle.TABLE10_LOG_LIKELIHOOD:
        assert found == pytest.approx(oracle.TABLE10_LOG_LIKELIHOOD[printed], rel=0, abs=DIGITS)


def test_the_model_has_the_prior_of_table_10(table9):
    model, theta = table9.graph.model, np.array(oracle.TABLE10[0][1])
    logp = model.compile_logp(vars=model["accuracy"], jacobian=False, mode=FAST)
    found = logp(unconstrained(model, [{"accuracy": theta}])[0])
    assert found == pytest.approx(log_prior(theta), rel=0, abs=ROUND_TRIP)


@pytest.mark.parametrize(("theta", "expected"), oracle.TABLE10_MODES)
def test_modes_of_the_posterior(table9, theta, expected):
    assert table9(theta) + log_prior(theta) == pytest.approx(expected, rel=0, abs=5e-6)


@pytest.mark.parametrize(("theta", "expected"), oracle.TABLE10_LIKELIHOOD_MODES)
def test_modes_of_the_likelihood(table9, theta, expected):
    assert table9(theta) == pytest.approx(expected, rel=0, abs=5e-6)


@pytest.mark.parametrize("omega", oracle.UNNORMALISED_MODES, ids=["pooled", "true"])
def test_modes_under_the_alphas_of_the_data(omega):
    density = Empirical(read_annotations("@table9"), omega, alpha="unnormalised")
    for theta, expected in oracle.UNNORMALISED_MODES[omega]:
        assert density(theta) == pytest.approx(expected, rel=0, abs=5e-6)


@pytest.mark.parametrize(("kind", "omega", "expected"), oracle.AT_THE_TRUTH)
def test_log_likelihood_at_the_truth(kind, omega, expected):
    density = Empirical(read_annotations("@table9"), omega, alpha=kind)
    assert density(oracle.THETA) == pytest.approx(expected, rel=0, abs=DIGITS)


@pytest.mark.parametrize("kind", oracle.JOINT_LIKELIHOOD_MODES)
def test_joint_maximum_of_accuracies_and_frequencies(kind):
    theta, omega, expected = oracle.JOINT_LIKELIHOOD_MODES[kind]
    graph = Graph(ModelA(frequency="shared", alpha=kind), read_annotations("@table9"))
    found = graph.item_logp({"accuracy": np.array(theta), "frequency": np.array(omega) / sum(omega)}).sum()
    assert found == pytest.approx(expected, rel=0, abs=1e-5)


def test_table_8():
    """Recomputed from Table 6, at the first row of Table 10."""
    entry, data = ModelA(frequency="shared"), all_triplets(3)
    parameters = {"accuracy": np.array(oracle.TABLE10[0][1]), "frequency": np.array(oracle.POOLED)}
    states = recover(entry, data, as_posterior(entry.build(data), [parameters])).latent["probability"].values
    for name, expected in oracle.TABLE8.items():
        found = listed([int(digit) - 1 for digit in name], states[data.items.index(name)])
        np.testing.assert_allclose(found, expected, rtol=0, atol=DIGITS)
        assert expected[-1] > 0 or found[-1] == 0  # three labels, all said: the third wrong one has none left


# ------------------------------------------------------------------------------------- two labels: table 16


def two_label_fits():
    rows = [("table15", row) for row in oracle.TABLE16]
    return [*rows, ("table14", oracle.TABLE14)]


@pytest.mark.parametrize(("name", "expected"), two_label_fits())
def test_table_16_as_it_should_be(name, expected, request):
    """Its values leave out P(answers | who agrees), and have the prior of k at theta_j."""
    density = request.getfixturevalue(name)
    pooled = {"table14": oracle.TABLE14_POOLED, "table15": oracle.TABLE16_POOLED}[name]
    np.testing.assert_allclose(density.frequency, pooled, rtol=1e-14)
    prior = log_prior(expected.theta) if expected.prior else 0.0
    assert density(expected.theta) + prior == pytest.approx(expected.answers, rel=0, abs=2 * DIGITS)


def test_two_labels_cannot_tell_right_from_wrong(table15):
    theta = np.array([0.7, 0.85, 0.35])
    np.testing.assert_allclose(table15.per_item(1 - theta), table15.per_item(theta), rtol=1e-12)


def test_two_labels_have_a_closed_form(table15):
    ij, ik, jk = oracle.TABLE16_AGREEMENT.values()
    d = np.array([(ij * ik / jk) ** 0.5, (ij * jk / ik) ** 0.5, -((ik * jk / ij) ** 0.5)])
    assert table15((1 + d) / 2) == pytest.approx(oracle.TABLE16[0].answers, rel=0, abs=DIGITS)


# -------------------------------------------------------------------------------- any number of annotators


@pytest.mark.parametrize("omega", GROUPS, ids=str)
def test_items_under_pooled_frequencies(omega):
    rows = GROUPS[omega]
    data = items_of([row.said for row in rows], len(omega), every_label=True)
    logp = Empirical(data, omega).per_item((*accuracies(rows), 0.55))
    np.testing.assert_allclose(logp[: len(rows)], np.log([row.probability for row in rows]), rtol=1e-12)
    np.testing.assert_allclose(np.exp(logp[len(rows) :]), omega, rtol=1e-12)  # one answer: its frequency, no more


@pytest.mark.parametrize("omega", GROUPS, ids=str)
def test_items_under_shared_frequencies(omega):
    rows = GROUPS[omega]
    entry, data = ModelA(frequency="shared"), items_of([row.said for row in rows], len(omega))
    graph = Graph(entry, data)
    parameters = {"accuracy": np.array(accuracies(rows)), "frequency": np.array(omega)}
    expected = np.log([row.probability for row in rows])
    np.testing.assert_allclose(graph.item_logp(parameters), expected, rtol=1e-12)

    found = recover(entry, data, as_posterior(graph.model, [parameters]))
    np.testing.assert_allclose(found.log_likelihood[0, 0], expected, rtol=1e-12)
    for row, states in zip(rows, found.latent["probability"].values, strict=True):
        np.testing.assert_allclose(listed(row.said, states), row.posterior, rtol=0, atol=1e-11)
        assert row.posterior[-1] > 0 or states[-1] == 0


@pytest.mark.parametrize("n", [3, 4])
def test_items_under_frequencies_of_each_annotator(n):
    """Each annotator has as many answers as the others, so that the frequency of truths is the mean of theirs."""
    expected = {said: p for said, p in oracle.OWN.items() if len(said) == n}
    graph = Graph(ModelA(frequency="annotator"), items_of(expected, 4))
    parameters = {"accuracy": np.array(oracle.TH4[:n]), "frequency": np.array(oracle.OMEGAS[:n])}
    np.testing.assert_allclose(np.exp(graph.item_logp(parameters)), list(expected.values()), rtol=1e-12)


def test_annotators_whose_frequencies_are_equal_share_them():
    rows = GROUPS[oracle.W4]
    graph = Graph(ModelA(frequency="annotator"), items_of([row.said for row in rows], 4))
    theta = np.array(accuracies(rows))
    found = graph.item_logp({"accuracy": theta, "frequency": np.tile(oracle.W4, (len(theta), 1))})
    np.testing.assert_allclose(found, np.log([row.probability for row in rows]), rtol=1e-12)
