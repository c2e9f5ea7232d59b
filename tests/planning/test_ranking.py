"""Which comparisons are asked for, to learn which system is stronger: gains by hand, and where they must be largest."""

from itertools import combinations

import numpy as np
import pytest

import bayesanno as ba
from bayesanno.modeling.states import StatesAndAnswers
from bayesanno.planning.of_fit import find_candidates
from bayesanno.planning.ranking import RankingGains
from tests.analysis.made import from_prior

pytestmark = pytest.mark.filterwarnings("ignore::bayesanno.ConvergenceWarning")  # of few draws

LABELS = ["first", "second", "tie"]
ITEMS = {f"{a}{b}{n}": (a, b) for a, b in combinations("abc", 2) for n in range(8)}  # a is far ahead, b and c are equal
JUDGES = {"ada": 0.95, "bo": 0.95, "cy": 0.4}  # how often each says which is better, and not whatever comes


def entropy(p):
    return -sum(x * np.log(x) for x in p if x > 0)


def gain_by_hand(strength, p, weight):
    """Over pairs of systems H(z) - sum_v P(v) H(z | v), less what chance adds, of p(v | draw) and weights of draws."""
    total, n = 0.0, 1 / (weight @ weight)
    for z in (strength[:, a] > strength[:, b] for a, b in combinations(range(3), 2)):
        total += entropy([weight @ z, 1 - weight @ z])
        for v in p.T:
            first, mean = weight @ (v * z) / (weight @ v), weight @ v
            total -= mean * entropy([first, 1 - first])
            total -= weight @ (v - mean) ** 2 / (2 * n * mean)
    return max(total, 0)


@pytest.fixture
def drawn(rng):
    """Three systems, three items that compare them, and two annotators in 60 draws, of two numbers of each item."""
    strength = rng.normal(size=(60, 3))
    odds = np.stack([strength[:, [0, 0, 1]], strength[:, [1, 2, 2]], np.full((60, 3), -1.0)], axis=2)
    share = np.exp(2 * odds)[..., None] * rng.dirichlet([2, 3], size=(60, 3, 1))
    state = share / share.sum(axis=(2, 3), keepdims=True)  # (draw, item, class, node)
    answer = rng.dirichlet(np.ones(3), size=(60, 2, 3, 2)).transpose(0, 1, 4, 2, 3) + 3 * np.eye(3)[..., None]
    return strength, StatesAndAnswers(tuple(LABELS), state, answer / answer.sum(axis=2, keepdims=True))


def test_a_gain_is_what_an_answer_takes_from_the_entropy_of_each_two_systems(drawn, rng):
    strength, states = drawn
    found = RankingGains(states, strength, rng).gain
    for item, annotator in np.ndindex(3, 2):
        p = np.einsum("skn,svkn->sv", states.state[:, item], states.answer[:, annotator])
        assert found[item, annotator] == pytest.approx(gain_by_hand(strength, p, np.full(60, 1 / 60)), abs=1e-9)
    assert found.max() > 0.02
    adjusted = StatesAndAnswers(states.names, states.state * rng.uniform(0.9, 1.1, size=(60, 3, 1, 1)), states.answer)
    np.testing.assert_allclose(RankingGains(adjusted, strength, rng).gain, found, atol=1e-9)


def test_a_gain_after_another_answer_is_what_both_tell_less_what_one_does(drawn, rng):
    strength, states = drawn
    gains = RankingGains(states, strength, rng)
    alone = gains.gain.copy()
    assert gains.choose(0, 1)
    for item in (0, 1):  # the same one, and another
        total = 0.0
        for v in range(3):
            now = states.state[:, 0] * states.answer[:, 1, v]
            weight = now.sum(axis=(1, 2))  # p(the first answer | draw)
            own = now / weight[:, None, None] if item == 0 else states.state[:, item]
            p = np.einsum("skn,svkn->sv", own, states.answer[:, 0])
            total += weight.mean() * gain_by_hand(strength, p, weight / weight.sum())
        assert gains.gain[item, 0] == pytest.approx(total, abs=1e-9)
    assert gains.gain[0, 0] < alone[0, 0]


@pytest.fixture(scope="module")
def fit():
    """Draws in which a is ahead and b and c are equal; six items each of a and one of b and c have answers."""
    rng = np.random.default_rng(1)
    records = []
    for item, (a, _) in ITEMS.items():
        if int(item[2]) > (0 if a == "b" else 5):
            continue
        truth = "first" if a == "a" else "tie"
        for judge, right in JUDGES.items():
            records.append((item, judge, truth if rng.uniform() < right else LABELS[rng.integers(3)]))
    columns = {side: [pair[code] for pair in ITEMS.values()] for code, side in enumerate(("first", "second"))}
    data = ba.AnnotationData.from_records(records, items=list(ITEMS), labels=LABELS, item_columns=columns)

    known = np.array([*JUDGES.values()])

    def change(drawn):
        strength = rng.normal([2, -1, -1], [0.2, 0.5, 0.5], size=(600, 3))
        drawn["strength"][0] = strength - strength.mean(axis=1, keepdims=True)
        drawn["tie"][0] = rng.normal(-0.5, 0.2, size=600)
        drawn["competence"][0] = rng.beta(50 * known, 50 * (1 - known), (600, 3))

    return from_prior(ba.models.MACE(class_prior=ba.Pairs()), data, 600, change)


def test_systems_of_equal_strength_are_compared_and_not_those_that_are_decided(fit):
    table = ba.suggest_annotations(fit, 6, target="ranking", random_seed=1)
    assert {item[:2] for item in table["item"]} == {"bc"}
    assert table["item"].nunique() == 6  # another comparison of the two tells more than the same one again
    assert set(table["annotator"]) <= {"ada", "bo"}
    assert (table["gain"] > 0).all()
    assert table["why"].str.fullmatch(r"'[bc]' is stronger than '[bc]' with probability 0\.\d\d").all()
    again = ba.suggest_annotations(fit, 6, target="ranking", random_seed=1)
    assert table.equals(again)


def test_plans_begin_with_the_labels_of_tables(fit):
    table = ba.label_table(fit)
    asked = find_candidates(fit, "this test", np.random.default_rng(1))
    np.testing.assert_allclose(asked.states.probability.max(axis=1), table["probability"], atol=1e-4)
    first = table.set_index("item")["p[first]"]  # of items without answers it is what strengths say of each
    assert first["ab7"] > first["bc7"] + 0.2


def test_budgets_costs_and_items_hold_for_rankings_too(fit):
    judged = ["ab0", "ac0", "bc0"]
    with pytest.raises(ba.DataError, match=r"everyone has answered every item .*: try target='gold'"):
        ba.suggest_annotations(fit, 1, target="ranking", items=judged)
    costs = {"ada": 100, "bo": 1, "cy": 1}
    table = ba.suggest_annotations(fit, 3, target="ranking", per_annotator=2, costs=costs, random_seed=1)
    assert table["annotator"].value_counts().to_dict() == {"bo": 2, "cy": 1}
    np.testing.assert_allclose(table["gain_per_cost"], table["gain"])


def test_judges_whom_a_fit_has_never_seen_can_be_asked(fit):
    data = ba.data_of(fit)
    wide = from_prior(ba.models.HierarchicalDawidSkene(class_prior=ba.Pairs()), data)
    table = ba.suggest_annotations(wide, 3, target="ranking", annotators=["dee"], random_seed=1)
    assert set(table["annotator"]) == {"dee"}
    asked = find_candidates(wide, "this test", np.random.default_rng(1), ["dee"])
    assert asked.draws.sizes["draw"] == asked.states.n_draws


def test_a_ranking_has_no_utility(fit, refuses):
    with refuses(ba.DataError, "utility applies to labels"):
        ba.suggest_annotations(fit, 1, target="ranking", utility="accuracy")
