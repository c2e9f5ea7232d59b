"""What is expected after more answers: against formulas, against fits with these answers, and what is refused."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import binom

import bayesanno as ba
from bayesanno.modeling.states import StatesAndAnswers
from bayesanno.planning.gains import Futures
from bayesanno.planning.of_fit import CandidateAnswers, make_budget

pytestmark = pytest.mark.filterwarnings("ignore:pareto-k")  # by VB: its means are compared

ACCURACY = 0.8
SETTINGS = {"check": False, "random_seed": 1, "progressbar": False}


def coins(n_items, n_annotators, accuracy=ACCURACY, given=0):
    """Items without answers, or with some, of two classes, and annotators whose accuracies are known."""
    pairs = np.indices((given, n_annotators)).reshape(2, -1)
    names = tuple(f"a{j}" for j in range(n_annotators))
    who = {"annotator": pairs[1], "viewer": pairs[1], "annotators": names, "n_viewers": n_annotators}
    data = SimpleNamespace(item=pairs[0], n_items=n_items, **who)
    answer = np.where(np.eye(2, dtype=bool), accuracy, 1 - accuracy)[None, None, :, :, None]
    state = np.full((1, n_items, 2, 1), 0.5, dtype=np.float32)
    states = StatesAndAnswers(("no", "yes"), state, np.repeat(answer, n_annotators, axis=1).astype(np.float32))
    return CandidateAnswers(data, states, np.zeros(n_items, dtype=bool), xr.Dataset())


def test_accuracy_after_n_answers_is_that_of_n_coins(rng):
    asked = coins(4000, 5)
    ways = Futures(asked, make_budget(asked.data.annotators), "evenly", rng)
    for look, n in zip(ways.follow([4000, 12000, 20000]), (1, 3, 5), strict=True):
        expected = binom.sf(n // 2, n, ACCURACY)
        right = look.probability.argmax(axis=1) == look.truth
        assert look.answers == look.cost == n * 4000
        assert right.mean() == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 4000))
        assert look.probability.max(axis=1).mean() == pytest.approx(expected, abs=0.02)


def test_suggested_answers_go_where_they_tell_most(rng):
    asked = coins(400, 5)
    better = asked.states.answer.copy()
    better[:, 3] = np.where(np.eye(2, dtype=bool), 0.95, 0.05)[:, :, None]
    asked = replace(asked, states=replace(asked.states, answer=better))
    budget = make_budget(asked.data.annotators, None, dict.fromkeys(asked.data.annotators, 400))
    for allocation, expected, error in (("evenly", np.mean([0.8] * 4 + [0.95]), 0.07), ("suggested", 0.95, 0.04)):
        (look,) = Futures(asked, budget, allocation, rng).follow([400])
        assert (look.probability.argmax(axis=1) == look.truth).mean() == pytest.approx(expected, abs=error)


def test_budgets_and_costs_are_kept_and_what_cannot_be_asked_is_not(rng):
    asked = coins(10, 3)
    budget = make_budget(asked.data.annotators, None, {"a0": 4, "a1": 0, "a2": 7}, {"a0": 2.0, "a1": 1.0, "a2": 3.0})
    for allocation in ("evenly", "each", "suggested"):
        ways = Futures(asked, budget, allocation, rng)
        assert ways.n_open == 11
        *_, look = ways.follow([5, 20])
        assert (look.answers, look.cost) == (11, 4 * 2 + 7 * 3)


@pytest.mark.parametrize("allocation", ["evenly", "each", "suggested"])
def test_a_budget_does_not_depend_on_the_others_that_are_listed(allocation):
    """Of items with no, one or two answers; the first of three batches is cut in the middle."""
    asked = coins(60, 8, given=20)
    tables = []
    for looks in ([90], [0, 7, 33, 60, 90], [89, 90, 200]):
        ways = Futures(asked, make_budget(asked.data.annotators), allocation, np.random.default_rng(1))
        for _ in range(2):  # the second future neither
            look = next(look for look in ways.follow(looks) if look.answers == 90)
        tables.append(np.column_stack([look.probability, look.truth]))
    np.testing.assert_array_equal(tables[0], tables[1])
    np.testing.assert_array_equal(tables[0], tables[2])


def test_items_with_fewest_answers_come_first_or_each_has_as_many_new_ones(rng):
    asked = coins(20, 12)
    begun, who = np.repeat(np.arange(10), 3), np.tile(np.arange(3), 10)  # ten items have three answers
    data = SimpleNamespace(**vars(asked.data) | {"item": begun, "annotator": who, "viewer": who})
    for allocation, n, with_answers in (("evenly", 30, 0), ("each", 20, 10)):
        ways = Futures(replace(asked, data=data), make_budget(data.annotators), allocation, rng)
        (look,) = ways.follow([n])
        changed = look.probability[:, 0] != 0.5  # one answer or three never cancel out
        assert (changed[:10].sum(), changed[10:].sum()) == (with_answers, 10)


@pytest.fixture(scope="module")
def crowd():
    """A crowd with three answers per item, the accuracies of its annotators, and its fit."""
    design = ba.make_design(items=400, annotators=20, labels=["no", "yes"], per_item=3, random_seed=1)
    data, parameters = ba.simulate("one_coin", design, random_seed=2)
    fit = ba.fit("one_coin", replace(data, gold={}), method="vb", **SETTINGS)
    return data, parameters["accuracy"].to_numpy(), fit


def test_fits_with_more_answers_are_as_good_as_expected(crowd, rng):
    data, accuracy, fit = crowd
    expected = ba.expected_progress(fit, [0, 400, 1200], random_seed=1)
    for (_, row), n in zip(expected.iterrows(), (0, 1, 3), strict=True):
        more = []
        for i, item in enumerate(data.items):
            for j in rng.choice(np.setdiff1d(np.arange(20), data.annotator[data.item == i]), size=n, replace=False):
                is_yes = (data.gold[item] == "yes") == (rng.uniform() < accuracy[j])
                more.append((item, data.annotators[j], "yes" if is_yes else "no"))
        added = ba.add_annotations(data, pd.DataFrame(more, columns=["item", "annotator", "label"])) if n else data
        labels = ba.label_table(ba.fit("one_coin", added, method="vb", **SETTINGS))
        right = (labels["label"] == labels["gold"]).mean()
        assert -0.01 < labels["probability"].mean() - row["accuracy"] < 0.03  # a fit learns more of annotators
        assert row["accuracy_eti89_lb"] - 0.01 < right < row["accuracy_eti89_ub"] + 0.01


def test_a_target_is_reached_in_more_futures_the_more_answers_there_are(crowd):
    table = ba.expected_progress(crowd[2], target=0.95, random_seed=1)
    assert np.diff(table["p_reached"]).min() > -0.1
    assert (table["p_reached"].iloc[0], table["p_reached"].iloc[-1] > 0.97) == (0, True)
    of_sure = ba.expected_progress(crowd[2], target=0.95, measure="share_sure", futures=20, random_seed=1)
    needed, more = (np.interp(0.5, np.maximum.accumulate(one["p_reached"]), one["answers"]) for one in (table, of_sure))
    assert 0 < needed < more


def test_items_are_done_to_be_asked_or_for_an_expert(crowd):
    data, _, fit = crowd
    table = ba.expected_progress(fit, of="items", futures=20, random_seed=1).set_index("item")
    done = table["probability"] >= 0.95
    assert (table["next"] == "done").equals(done)
    assert (table.loc[~done, "next"] == np.where(table.loc[~done, "p_done"] >= 0.5, "ask", "expert")).all()
    assert set(table["next"]) == {"done", "ask", "expert"}
    right = table["label_so_far"] == pd.Series(dict(data.gold))
    assert right[done].mean() > 0.93


def test_items_of_known_label_do_not_count(crowd):
    data, _, _ = crowd
    known = dict(list(data.gold.items())[:200])
    fit = ba.fit("one_coin", replace(data, controls=known), method="vb", **SETTINGS)
    table = ba.expected_progress(fit, [0], futures=1, random_seed=1)
    labels = ba.label_table(fit).set_index("item")["probability"]
    assert table["accuracy"].iloc[0] == pytest.approx(labels.drop(list(known)).mean(), abs=0.01)
    assert table["share_sure"].iloc[0] == pytest.approx((labels.drop(list(known)) >= 0.95).mean(), abs=0.03)
    items = ba.expected_progress(fit, of="items", futures=1, random_seed=1).set_index("item")
    assert (items["next"][list(known)] == "done").all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"answers": [10, 10]}, "increasing numbers"),
        ({"answers": [0, 9000]}, "up to 9,000, and 6,800 can be asked for"),
        ({"target": 1.5}, "target is 1.5"),
        ({"allocation": "fair"}, "allocation is 'fair'"),
        ({"of": "labels"}, "of is 'labels'"),
        ({"of": "items", "target": 0.9}, "a target is of all labels together"),
        ({"of": "items", "answers": [0, 9]}, "give one number"),
        ({"costs": {"a1": 1}}, "costs has no number"),
    ],
)
def test_what_cannot_be_is_refused(crowd, arguments, message):
    with pytest.raises(ba.DataError, match=message):
        ba.expected_progress(crowd[2], **arguments)
