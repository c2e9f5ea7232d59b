"""Gains are what fits with the answer would show on average, and the best answers are asked for first."""

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno.modeling.states import StatesAndAnswers
from bayesanno.planning import gains as by_formula
from bayesanno.planning.gains import choose_utility
from bayesanno.planning.of_fit import find_candidates
from tests.inference.exact import exact_posterior
from tests.samples import TINY_RECORDS, tiny_data

LABELS = ["no", "yes"]


def posterior_with(answers, item):
    """The exact posterior of an item of the tiny data, of fits with each of these further answers: (answers, class)."""
    data = tiny_data()
    more = [ba.AnnotationData.from_records([*TINY_RECORDS, *said], items=data.items, labels=LABELS) for said in answers]
    return np.array([exact_posterior(one).probability[data.items.index(item)] for one in more])


def exact_gain(item, annotators, worth):
    """The gain of the answers of these annotators together, by fits with all that they can say."""
    so_far = posterior_with([[]], item)[0]
    ways = [[]]
    for annotator in annotators:
        ways = [[*said, (item, annotator, label)] for said in ways for label in LABELS]
    after = posterior_with(ways, item)  # (way, class)
    p = np.array([np.prod([probability_of(said[:n], said[n]) for n in range(len(said))]) for said in ways])
    assert p.sum() == pytest.approx(1)
    return float(p @ worth(after) - worth(so_far))


def probability_of(before, answer):
    """P(an answer | the tiny data and answers before).

    E[p(k | draw) confusion] is not a product of means, so that it is taken from the change of the class itself:
    p(v) = (p(k) - p(k | not v)) / (p(k | v) - p(k | not v)).
    """
    item, annotator, label = answer
    other = LABELS[1 - LABELS.index(label)]
    now, if_said, if_not = posterior_with([before, [*before, answer], [*before, (item, annotator, other)]], item)[:, 0]
    return (now - if_not) / (if_said - if_not)


@pytest.fixture(scope="module")
def asked(tiny_fit):
    return find_candidates(tiny_fit, "this test", np.random.default_rng(1))


def test_gains_are_those_of_the_exact_posterior_with_each_answer(asked):
    worth = choose_utility("information", ("no", "yes"))
    found = by_formula.Gains(asked.states, worth, np.random.default_rng(1)).gain
    exact = np.array([[exact_gain(item, [name], worth) for name in asked.data.annotators] for item in asked.data.items])
    np.testing.assert_allclose(found, exact, atol=0.005)  # Monte Carlo error of 2,000 draws
    assert abs((found - exact).mean()) < 0.001
    assert exact.max() > 0.02


COSTS = pd.DataFrame([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], index=["a", "b", "c"], columns=["keep", "drop"])


@pytest.mark.parametrize("utility", ["information", "accuracy", COSTS])
def test_gains_are_of_the_utility_after_the_answer_less_that_before(utility, rng):
    state = rng.dirichlet(np.full(6, 0.5), size=(40, 5)).reshape(40, 5, 3, 2)
    answer = rng.dirichlet(np.full(3, 0.5), size=(40, 4, 3, 2)).transpose(0, 1, 4, 2, 3)
    worth = choose_utility(utility, ("a", "b", "c"))

    def of(probability):
        if utility is COSTS:
            return -(probability @ COSTS.to_numpy()).min()
        return probability.max() if utility == "accuracy" else probability @ np.log(probability)

    joint = np.einsum("sikn,sjvkn->ijvk", state, answer) / 40
    expected = [
        [sum(p.sum() * of(p / p.sum()) for p in ways) - of(ways.sum(axis=0)) for ways in of_item] for of_item in joint
    ]
    states = StatesAndAnswers(("a", "b", "c"), state, answer)
    found = by_formula.Gains(states, worth, rng).gain
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found.max() > 0.01


def test_gains_are_conditional_on_answers_chosen_before(asked):
    worth = choose_utility("information", ("no", "yes"))
    found = by_formula.Gains(asked.states, worth, np.random.default_rng(1))
    alone = found.gain.copy()
    item, first, second = 0, 0, 1
    found.choose(item, first)
    names = [asked.data.annotators[j] for j in (first, second)]
    both, one = (exact_gain(asked.data.items[item], names[:n], worth) for n in (2, 1))
    assert found.gain[item, second] == pytest.approx(both - one, abs=0.01)
    assert found.gain[item, second] < alone[item, second]
    np.testing.assert_array_equal(np.delete(found.gain, item, axis=0), np.delete(alone, item, axis=0))


def test_gains_for_annotators_are_the_variance_of_accuracies_that_answers_explain(rng):
    """By enumeration, before any answer and after one of each annotator's first item."""
    state = rng.dirichlet(np.full(6, 0.5), size=(40, 5)).reshape(40, 5, 3, 2)  # (draw, item, class, node)
    answer = rng.dirichlet(np.full(3, 0.5), size=(40, 4, 3, 2)).transpose(0, 1, 4, 2, 3)
    accuracy = np.einsum("sjkkn,skn->sj", answer, state.mean(axis=1))  # (draw, annotator)
    said = np.einsum("sikn,sjvkn->ijvs", state, answer)  # P(answer | draw)

    def gain(weight, of_answers, a):
        p = of_answers @ weight / weight.sum()
        means = (of_answers * weight) @ a / (of_answers @ weight)
        mean = weight @ a / weight.sum()
        variance = weight @ (a - mean) ** 2 / weight.sum()
        return -np.log(1 - p @ (means - mean) ** 2 / variance) / 2

    found = by_formula.AnnotatorGains(StatesAndAnswers(("a", "b", "c"), state, answer), np.eye(3, dtype=bool), rng)
    for i, j in np.ndindex(5, 4):
        assert found.gain[i, j] == pytest.approx(gain(np.ones(40), said[i, j], accuracy[:, j]), rel=1e-4)
    for j in range(4):
        assert found.choose(0, j)
        weights = said[0, j]  # of the draws, after each first answer
        for i in range(1, 5):
            expected = sum(one.mean() * gain(one, said[i, j], accuracy[:, j]) for one in weights)
            assert found.gain[i, j] == pytest.approx(expected, rel=1e-3)


def test_only_pairs_that_can_be_asked_are(tiny_fit):
    open_pairs = ba.suggest_annotations(tiny_fit, 4)[["item", "annotator"]]
    among = open_pairs.iloc[[3, 1]]
    found = ba.suggest_annotations(tiny_fit, 2, among=among)[["item", "annotator"]]
    assert set(found.itertuples(index=False, name=None)) == set(among.itertuples(index=False, name=None))
    with pytest.raises(ba.DataError, match="only 2 answers"):
        ba.suggest_annotations(tiny_fit, 3, among=among)
    with pytest.raises(ba.DataError, match="no column 'annotator'"):
        ba.suggest_annotations(tiny_fit, 1, among=among[["item"]])
