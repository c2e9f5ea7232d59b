"""What priors say before data: against what is known of them, and against counting by hand."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from scipy.stats import beta

import bayesanno as ba
from bayesanno.criticism.prior import describe_prior
from bayesanno.models import MACE, BinomialMixture, LabelUsage, ModelB, OneCoin
from bayesanno.simulation.quantities import ModelDraws, describe_annotators, describe_pairs

DRAWS = 500


@pytest.fixture(scope="module")
def design():
    return ba.make_design(items=30, annotators=4, labels=["a", "b", "c"], per_item=3, random_seed=1)


def rows(description, model=None):
    """The table by quantity and what it is of."""
    table = description.table
    return (table if model is None else table[table["model"] == model]).set_index(["quantity", "of"])


def dataset(**values):
    """One draw each, without names."""
    return xr.Dataset(
        {name: (("chain", "draw", *(f"{name}{axis}" for axis in range(np.ndim(value)))), np.asarray(value)[None, None])
         for name, value in values.items()}
    )  # fmt: skip


def test_quantities_are_those_of_confusion_matrices(design, rng):
    """Any model whose annotators are independent given the class is one of confusion matrices."""
    prevalence, competence = rng.dirichlet(np.ones(3)), rng.uniform(size=4)
    strategy, confusion = rng.dirichlet(np.ones(3), size=4), rng.dirichlet(np.ones(3), size=(4, 3))
    knows = competence[:, None, None] * np.eye(3) + (1 - competence)[:, None, None] * strategy[:, None, :]
    coin = np.where(np.eye(3, dtype=bool), competence[:, None, None], (1 - competence)[:, None, None] / 2)
    cases = [
        (ModelB(), {"prevalence": prevalence, "confusion": confusion}, confusion),
        (MACE(), {"prevalence": prevalence, "competence": competence, "strategy": strategy}, knows),
        (OneCoin(), {"prevalence": prevalence, "accuracy": competence}, coin),
    ]
    for model, parameters, matrices in cases:
        drawn = ModelDraws(model, design, dataset(**parameters), {})
        found = describe_annotators(drawn).isel(chain=0, draw=0)
        np.testing.assert_allclose(found["usage"], np.einsum("k,akr->ar", prevalence, matrices), rtol=1e-10)
        np.testing.assert_allclose(found["accuracy"], np.einsum("k,akk->a", prevalence, matrices), rtol=1e-10)
        np.testing.assert_allclose(found["prevalence"], prevalence, rtol=1e-10)
        pairs = np.array([[0, 1], [2, 1]])
        same = np.einsum("k,pkr,pkr->p", prevalence, matrices[pairs[:, 0]], matrices[pairs[:, 1]])
        np.testing.assert_allclose(describe_pairs(drawn, pairs)[0], same, rtol=1e-10)
        some = describe_annotators(drawn, who=[2, 0])
        np.testing.assert_allclose(some["accuracy"][0, 0], found["accuracy"][[2, 0]], rtol=1e-12)
        assert some["annotator"].values.tolist() == ["a3", "a1"]


def test_what_mace_says_is_what_its_priors_are(design):
    priors = {"own": "mace", "paper": MACE(class_prior="uniform"), "even": MACE(competence_prior=(1, 1))}
    found = describe_prior(priors, design, draws=DRAWS, random_seed=1)
    assert list(dict.fromkeys(found.table["model"])) == list(priors)
    own, paper, even = (rows(found, name) for name in priors)
    for table, prior in ((own, beta(0.5, 0.5)), (even, beta(1, 1))):
        competence = table.loc[("competence", "")]
        assert abs(competence["mean"] - prior.mean()) < 4 * prior.std() / np.sqrt(4 * DRAWS)
        assert competence["sd"] == pytest.approx(prior.std(), rel=0.05)
        # the share of draws below each end has a binomial error
        ends = prior.cdf([competence["eti89_lb"], competence["eti89_ub"]])
        np.testing.assert_allclose(ends, [0.055, 0.945], atol=4 * np.sqrt(0.055 * 0.945 / (4 * DRAWS)))
        # an annotator who does not know is right in one of three cases, on average
        accuracy = table.loc[("accuracy", "")]
        assert abs(accuracy["mean"] - (0.5 + 0.5 / 3)) < 4 * accuracy["sd"] / np.sqrt(DRAWS)
    assert own.loc[("prevalence", "b"), "sd"] == pytest.approx(beta(10, 20).std(), rel=0.15)
    assert own.loc[("largest_prevalence", ""), "mean"] > own.loc["prevalence", "mean"].max()
    np.testing.assert_allclose(paper.loc["prevalence", ["mean", "eti89_lb", "eti89_ub"]], 1 / 3, rtol=1e-9)


def test_what_is_counted_in_answers_is_what_the_parameters_say(design):
    """On average answers are right as often as annotators are; with one answer per item so is the vote."""
    found = rows(describe_prior("one_coin", design, draws=DRAWS, random_seed=1))
    # of three answers all agree with p^3 + 2 ((1 - p) / 2)^3, of independent Beta(2, 1), with means 2/3 and 1/3
    for quantity, mean in {"right": 2 / 3, "accuracy": 2 / 3, "unanimous": 8 / 27 + 2 * (1 / 6) ** 3}.items():
        row = found.loc[(quantity, "")]
        assert abs(row["mean"] - mean) < 4 * row["sd"] / np.sqrt(DRAWS), quantity
    assert found.loc[("vote_right", ""), "mean"] > found.loc[("right", ""), "mean"]
    alone = ba.make_design(items=30, annotators=4, labels=["a", "b", "c"], per_item=1, random_seed=1)
    single = describe_prior("one_coin", alone, draws=50, random_seed=1)
    drawn = dict(zip(single.table["quantity"], single.drawn, strict=True))
    np.testing.assert_allclose(drawn["vote_right"], drawn["right"])
    assert "unanimous" not in drawn


def test_rows_depend_neither_on_other_models_nor_on_gold(design):
    alone = describe_prior("one_coin", design, draws=30, random_seed=1)
    known = replace(design, gold={"i1": "a"}, controls={"i1": "c", "i2": "b"})
    beside = describe_prior({"mace": "mace", "one_coin": "one_coin"}, known, draws=30, random_seed=1)
    table = beside.table[beside.table["model"] == "one_coin"].reset_index(drop=True)
    assert table.equals(alone.table)
    assert len(beside.drawn) == len(beside.table)
    np.testing.assert_allclose([values.mean() for values in beside.drawn], beside.table["mean"])


def test_a_model_without_classes_says_what_it_can(design):
    found = rows(describe_prior(LabelUsage(centre="even"), design, draws=200, random_seed=1))
    assert set(found.index.get_level_values("quantity")) == {"agreement", "usage", "unanimous"}
    assert found.loc["usage", "mean"].sum() == pytest.approx(1)


def test_an_annotator_alone_agrees_with_nobody():
    alone = ba.make_design(items=5, annotators=1, labels=2, per_item=1, random_seed=1)
    found = rows(describe_prior(OneCoin(), alone, draws=50, random_seed=1))
    told = set(found.index.get_level_values("quantity"))
    assert "accuracy" in told
    assert not told & {"agreement", "unanimous"}


def test_counts_of_one_rate():
    """A uniform rate: all of n answers agree with probability 2 / (n + 1)."""
    design = ba.simulation.make_count_design(items=40, per_item=4)
    found = rows(describe_prior(BinomialMixture(types=1), design, draws=DRAWS, random_seed=1))
    means = {("rate", "type 1"): 0.5, ("weight", "type 1"): 1, ("positive_share", ""): 0.5, ("unanimous", ""): 0.4}
    for cell, mean in means.items():
        assert abs(found.loc[cell, "mean"] - mean) <= 4 * found.loc[cell, "sd"] / np.sqrt(DRAWS), cell
    assert found.loc[("rate", "type 1"), "sd"] == pytest.approx(np.sqrt(1 / 12), rel=0.1)
