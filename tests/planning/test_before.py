"""How good labels will be before there are answers: against formulas, and against data of the same annotators."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom

import bayesanno as ba
from bayesanno.planning.before import plan_answers
from tests.samples import SHORT, simulate_clique

QUIET = {"random_seed": 1, "progressbar": False}
KNOWN = ba.models.OneCoin(accuracy_prior=(8000, 2000), prevalence_prior=5000)  # all annotators are right in .8
DESIGN = {"labels": ["no", "yes"], "random_seed": 1}

pytestmark = pytest.mark.filterwarnings("ignore::bayesanno.ConvergenceWarning")  # of fits whose labels are compared


def test_a_plan_with_a_certain_prior_is_the_majority_of_coins():
    table = plan_answers(KNOWN, items=400, annotators=10, per_item=[1, 3, 5], target=0.93, simulations=20, **QUIET)
    for (_, row), n in zip(table.iterrows(), (1, 3, 5), strict=True):
        expected = binom.sf(n // 2, n, 0.8)
        mcse = np.sqrt(expected * (1 - expected) / (400 * 20))
        assert row["accuracy"] == pytest.approx(expected, abs=4 * mcse)
        assert row["probability"] == pytest.approx(expected, abs=4 * mcse + 0.005)  # what is not known of prevalence
        assert row["accuracy_eti89_lb"] < expected < row["accuracy_eti89_ub"]
        assert (row["answers"], row["per_item"], row["cost"]) == (400 * n, n, 400 * n)
    # .942 of 400 are to be .93 or more: the rest is luck, and three answers, .896, are hardly ever enough
    assert table["p_reached"].tolist() == [0, pytest.approx(0, abs=0.1), pytest.approx(0.86, abs=0.25)]


def share_right(wrong, design, prevalence, rng):
    """The share of right labels of a fit to answers that are wrong with probability (annotator, true class)."""
    truth = (rng.uniform(size=design.n_items) < prevalence[1]).astype(int)
    of_answer = truth[design.item]
    label = np.where(rng.uniform(size=of_answer.size) < wrong[design.annotator, of_answer], 1 - of_answer, of_answer)
    data = replace(design, label=label)
    labels = ba.label_table(ba.fit("one_coin", data, method="vb", check=False, **QUIET))["label"]
    return (labels == np.array(design.labels)[truth]).mean()


@pytest.fixture(scope="module")
def crowd():
    """Twenty annotators, half of them good, who gave many answers: what they are, and their fit."""
    accuracy = np.repeat([0.6, 0.9], 10)
    design = ba.make_design(items=400, annotators=20, per_item=12, **DESIGN)
    data, _ = ba.simulate(
        "one_coin", design, parameters={"accuracy": accuracy, "prevalence": [0.3, 0.7]}, random_seed=2
    )
    return accuracy, ba.fit("one_coin", data, method="vb", **QUIET)


def test_a_plan_like_a_crowd_holds_for_new_data(crowd, rng):
    accuracy, fit = crowd
    by_fit = fit["posterior"]["accuracy"].values.ravel()  # of any annotator, in any draw: as uncertain as the fit is
    assert by_fit.mean() == pytest.approx(accuracy.mean(), abs=0.02)
    n, per_item = 30, (3, 5)
    planned = plan_answers("one_coin", items=200, annotators=8, like=fit, per_item=per_item, simulations=n, **QUIET)
    for (_, row), each in zip(planned.iterrows(), per_item, strict=True):
        design = ba.make_design(items=200, annotators=8, per_item=each, **DESIGN)
        wrong = 1 - rng.choice(by_fit, size=(n, 8, 1)).repeat(2, axis=2)
        fresh = [share_right(one, design, [0.3, 0.7], rng) for one in wrong]
        mcse = np.std(fresh) * np.sqrt(2 / n)  # of both means
        assert row["accuracy"] == pytest.approx(np.mean(fresh), abs=3 * mcse)
        assert mcse < 0.03


def test_new_annotators_come_from_the_population_that_a_fit_has_learnt(rng):
    population = {
        "prevalence": [0.5, 0.5],
        "population": [[0.92, 0.08], [0.15, 0.85]],
        "spread": [0.2, 0.2],
        "ability_spread": 0.2,
    }
    design = ba.make_design(items=300, annotators=30, per_item=8, **DESIGN)
    data, _ = ba.simulate("hierarchical_dawid_skene", design, parameters=population, random_seed=2)
    fit = ba.fit("hierarchical_dawid_skene", data, check=False, **SHORT)
    n = 20
    planned = plan_answers("one_coin", items=200, annotators=12, like=fit, per_item=[3], simulations=n, **QUIET)
    design = ba.make_design(items=200, annotators=12, per_item=3, **DESIGN)
    ability = 0.2 * rng.standard_normal((n, 12, 1))
    wrong = expit(logit([0.08, 0.15]) - ability + 0.2 * rng.standard_normal((n, 12, 2)))
    fresh = [share_right(one, design, [0.5, 0.5], rng) for one in wrong]
    mcse = np.std(fresh) * np.sqrt(2 / n)
    assert planned["accuracy"].iloc[0] == pytest.approx(np.mean(fresh), abs=4 * mcse)  # and what is not known of it
    assert mcse < 0.01


def test_the_fit_that_new_annotators_are_like_says_which_labels_there_are():
    design = ba.make_design(items=60, annotators=6, labels=["a", "b", "c"], unsure="skip", per_item=4, random_seed=1)
    data, _ = ba.simulate("model_b", design, random_seed=1)
    fit = ba.fit("model_b", data, method="vb", check=False, **QUIET)
    table = plan_answers("mace", items=50, annotators=4, like=fit, per_item=[2], simulations=2, **QUIET)
    assert 1 / 3 < table["accuracy"].iloc[0] < 1
    with pytest.raises(ba.DataError, match="one_coin"):  # which has no answers that are no class
        plan_answers("one_coin", items=50, annotators=4, like=fit, per_item=[2], simulations=2, **QUIET)


def test_a_seed_determines_the_plan_and_looks_share_answers():
    few = {"items": 40, "annotators": 6, "simulations": 2}
    one, again = (plan_answers("mace", per_item=[1, 4], **few, **QUIET) for _ in range(2))
    assert one.equals(again)
    assert list(one.drop(columns="probability")) == list(ba.expected_progress(_small_fit(), [0], random_seed=1))
    assert plan_answers("mace", **few, **QUIET)["per_item"].tolist() == [1, 2, 3, 5]  # 8 are more than there are


def test_processes_plan_the_same_and_one_simulation_is_a_plan():
    few = {"items": 40, "annotators": 6, "per_item": [1, 3], **QUIET}
    assert plan_answers("mace", simulations=3, workers=2, **few).equals(plan_answers("mace", simulations=3, **few))
    assert plan_answers("mace", simulations=1, **few)["accuracy"].between(0.2, 1).all()


def _small_fit():
    data, _ = ba.simulate("mace", ba.make_design(items=20, annotators=4, per_item=2, **DESIGN), random_seed=1)
    return ba.fit("mace", data, method="vb", check=False, **QUIET)


def test_what_is_known_of_the_fit_is_said(crowd):
    _, fit = crowd
    gold = dict(list(ba.data_of(fit).gold.items())[:50])
    with pytest.raises(ba.FitError, match="this fit was recalibrated, but plan_answers computes"):
        plan_answers("one_coin", items=50, annotators=4, like=ba.recalibrate(fit, gold), **QUIET)
    clique = simulate_clique(np.random.default_rng(1), items=200, clique=6, copies=0.9)[0]
    with pytest.warns(ba.MisfitWarning):
        fit = ba.fit("model_b", clique, method="vb", **QUIET)
    with pytest.warns(ba.MisfitWarning, match="more answers will help less than plan_answers expects"):
        plan_answers("one_coin", items=20, annotators=4, like=fit, per_item=[2], simulations=1, **QUIET)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"per_item": [2, 2]}, r"per_item is \[2, 2\]: give increasing numbers of answers per item"),
        ({"per_item": []}, "give increasing numbers of answers per item"),
        ({"per_item": [0, 1]}, "each of per_item is 0"),
        ({"per_item": [1, 9]}, "per_item is 9: each item can have 0 to 4 annotations"),
        ({"items": 0}, "items is 0: it must be a number, 1 or more"),
        ({"annotators": 2.5}, "annotators is 2.5"),
        ({"simulations": 0}, "simulations is 0"),
        ({"workers": 0}, "workers is 0: it must be at least 1"),
        ({"target": 95}, "target is 95"),
        ({"measure": "kappa"}, "measure is 'kappa'"),
        ({"method": "magic"}, "there is no method 'magic'"),
        ({"model": "easy_hard"}, "easy_hard has no true labels"),
        ({"model": "binomial_mixture"}, "binomial_mixture has no true labels"),
        ({"like": "crowd"}, "a fit is needed, not str"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    with pytest.raises(ba.BayesannoError, match=message):
        plan_answers(**{"model": "mace", "items": 20, "annotators": 4} | arguments, **QUIET)


def test_labels_are_given_once(crowd):
    with pytest.raises(ba.DataError, match="labels are those of that fit"):
        plan_answers("mace", items=20, annotators=4, like=crowd[1], labels=2, **QUIET)


def test_new_annotators_can_be_like_those_of_a_model_without_annotators(crowd):
    data = ba.data_of(crowd[1])
    fit = ba.fit("pooled_dawid_skene", data, method="vb", check=False, **QUIET)
    table = plan_answers("one_coin", items=50, annotators=6, like=fit, per_item=[1, 5], simulations=3, **QUIET)
    assert bool(table["accuracy"].is_monotonic_increasing)


def test_new_items_have_the_columns_of_those_that_they_are_like():
    n = 120
    length = np.repeat([-1.0, 1.0], n // 2)
    design = replace(ba.make_design(items=n, annotators=6, per_item=4, **DESIGN), item_columns={"length": length})
    model = ba.models.OneCoin(class_prior=ba.Columns("length"), accuracy_prior=(8000, 2000))
    strong = {"accuracy": np.full(6, 0.8), "base_rate": [0.5, 0.5], "length": [-2.0, 2.0]}
    data, _ = ba.simulate(model, design, parameters=strong, random_seed=2)
    fit = ba.fit(model, data, check=False, **SHORT)
    few = {"items": 100, "annotators": 6, "per_item": [1], "like": fit, "simulations": 4, **QUIET}
    known = plan_answers(model, **few)["accuracy"].iloc[0]
    unknown = plan_answers(KNOWN, **few)["accuracy"].iloc[0]  # by which items are all alike
    assert unknown == pytest.approx(0.8, abs=0.08)
    assert known > unknown + 0.1  # the column alone gives .98 of the classes


def test_a_class_prior_needs_the_columns_of_a_fit(crowd):
    model = ba.models.OneCoin(class_prior=ba.Columns("length"))
    with pytest.raises(ba.DataError, match=r"class_prior=Columns\(.*\) needs columns of the items, which items"):
        plan_answers(model, items=20, annotators=4, **QUIET)
    with pytest.raises(ba.DataError, match="Columns needs the column 'length' of the items, and they have no columns"):
        plan_answers(model, items=20, annotators=4, like=crowd[1], **QUIET)
