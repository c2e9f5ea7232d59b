"""The experiments of Hovy et al. (2013): what the paper says of its figures; a row depends on its setting alone."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.errors import DataError, FitError, ModelError
from bayesanno.agreement.vote import split_vote
from bayesanno.criticism.experiments import draw_annotations
from bayesanno.criticism.trials import check_fits
from tests.samples import tiny_data

QUIET = {"progressbar": False, "random_seed": 1}
PAPER = {"mace": {"model": ba.models.MACE(class_prior="uniform"), "method": "em"}}  # the prior that the paper has


def mean_by(table, *columns):
    return table.pivot_table(index=list(columns), columns="method", values="accuracy")


# ---------------------------------------------------------------------------------------------------------- the pools


@pytest.mark.parametrize("strategy", ["random", "first"])
def test_a_pool_is_of_good_and_of_adverse_annotators(strategy):
    data = ba.simulate_pool(
        good=6, adverse=14, strategy=strategy, items=4_000, labels=4, per_item=10, accuracy=0.9, random_seed=5
    )
    assert set(np.bincount(data.item)) == {10}
    assert data.annotators[5:7] == ("good6", "adverse1")
    right = data.label == data.gold_codes[data.item]
    by_annotator = np.bincount(data.annotator, weights=right) / np.bincount(data.annotator)
    np.testing.assert_allclose(by_annotator[:6], 0.9, atol=0.03)  # of 2,000 answers each: five standard errors
    np.testing.assert_allclose(by_annotator[6:], 0.25, atol=0.05)
    said = np.bincount(data.label[data.annotator >= 6], minlength=4) / (data.annotator >= 6).sum()
    np.testing.assert_allclose(said, [1, 0, 0, 0] if strategy == "first" else 0.25, atol=0.02)
    slips = data.label[(data.annotator < 6) & ~right] - data.gold_codes[data.item][(data.annotator < 6) & ~right]
    np.testing.assert_allclose(np.bincount(slips % 4)[1:] / slips.size, 1 / 3, atol=0.07)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"good": -1}, "good is -1"),
        ({"adverse": 4}, "per_item is 10"),
        ({"strategy": "lazy"}, "there is no strategy 'lazy': choose one of random, first"),
        ({"accuracy": 1.0}, "accuracy is 1.0"),
        ({"labels": 1}, "only one label"),
    ],
)
def test_impossible_pools_are_refused(refuses, wrong, match):
    with refuses(DataError, match):
        ba.simulate_pool(**{"good": 5, "adverse": 15, **wrong})


def test_mace_needs_fewer_good_annotators_than_the_vote():
    """Figure 5, where a quarter are good: MACE has diverged from the vote."""
    table = ba.experiments.vary_good_annotators(PAPER, good=[5], runs=2, **QUIET)
    assert list(table.columns) == ["n_labels", "strategy", "n_good", "run", "method", "accuracy", "problem"]
    assert len(table) == 2 * 2 * 2 * 2
    found = mean_by(table, "n_labels", "strategy")
    assert (found["mace"] >= 0.9).all()
    assert (found["mace"] - found["vote"] > 0.1).all()
    easier = found["vote"].unstack("strategy")
    assert (easier["random"] > easier["first"]).all()  # "random annotators are easier to deal with"


def test_accuracy_is_low_without_good_annotators_and_high_with_half():
    """Figure 5, its ends."""
    table = ba.experiments.vary_good_annotators(
        PAPER, good=[0, 10], n_labels=[4], strategies=["random"], runs=1, **QUIET
    )
    found = mean_by(table, "n_good")
    assert (found.loc[0] < 0.5).all()
    assert (found.loc[10] > 0.9).all()


def test_a_row_depends_on_its_own_setting_alone():
    once = {name: {"model": name, "method": "em", "method_options": {"restarts": 1}} for name in ("mace", "model_b")}
    mace = {"mace": once["mace"]}
    few = ba.experiments.vary_good_annotators(mace, good=[4], strategies=["first"], n_labels=[2], runs=1, **QUIET)
    more = ba.experiments.vary_good_annotators(
        once, good=[3, 4], strategies=["random", "first"], n_labels=[4, 2], runs=2, **QUIET
    )
    same = more.merge(few.drop(columns=["accuracy", "problem"]))
    assert set(more["method"]) == {"vote", "model_b", "mace"}
    pd.testing.assert_frame_equal(same[few.columns], few)


# --------------------------------------------------------------------------------------------------- some annotations


def test_items_keep_a_given_number_of_annotations(crowd):
    data = crowd[0]
    have = np.bincount(data.item, minlength=data.n_items)
    for n in (1, 3, 100):
        kept = draw_annotations(data, n, np.random.default_rng(n))
        assert np.bincount(kept.item, minlength=data.n_items).tolist() == np.minimum(have, n).tolist()
        rows = set(zip(kept.item, kept.annotator, kept.label, strict=True))
        assert len(rows) == kept.n_annotations
        assert rows <= set(zip(data.item, data.annotator, data.label, strict=True))
    assert kept.hash == data.hash


def test_more_annotations_help_and_all_of_them_are_the_data(crowd):
    data = crowd[0]
    table = ba.experiments.vary_annotations(data, per_item=[2, 3, 50], runs=1, **QUIET)
    found = mean_by(table, "per_item")
    assert found["vote"].is_monotonic_increasing
    assert found["mace"].is_monotonic_increasing
    known = np.arange(data.n_items)[data.gold_codes >= 0]
    assert found.loc[50, "vote"] == pytest.approx(split_vote(data)[known, data.gold_codes[known]].mean())
    of_all = ba.fit("mace", data, method="em", **QUIET)
    assert found.loc[50, "mace"] == ba.coverage_table(of_all, [1])["accuracy"].item()


# ----------------------------------------------------------------------------------------------------------- controls


def test_known_labels_help_with_the_others_too(crowd):
    table = ba.experiments.vary_controls(crowd[0], PAPER, shares=[0, 0.5, 1], runs=2, **QUIET)
    assert table["n_controls"].tolist() == [0] * 4 + [200] * 4 + [400] * 4
    found = mean_by(table, "share")
    assert (found.loc[1.0] == 1).all()
    assert (found.loc[0.5] > found.loc[0.0]).all()
    assert table.loc[table["share"] == 1, "accuracy_of_others"].isna().all()
    none = table[table["share"] == 0]
    assert (none["accuracy"] == none["accuracy_of_others"]).all()
    half = table[(table["share"] == 0.5) & (table["method"] == "vote")]
    np.testing.assert_allclose(half["accuracy"], (1 + half["accuracy_of_others"]) / 2, rtol=1e-12)


# ----------------------------------------------------------------------------------------------------------- coverage


def test_the_vote_has_the_coverages_that_its_shares_give():
    data = replace(tiny_data(), gold={"s1": "yes", "s2": "no", "s3": "no", "s4": "yes"})
    table = ba.experiments.compare_coverage(data, PAPER, coverages=[0.5, 1], **QUIET)
    shares = data.vote_shares.max(axis=1)
    answered = data.votes.sum(axis=1) > 0
    vote = table[table["method"] == "vote"]
    assert vote["votes"].tolist() == sorted(set(shares[answered]))
    for row in vote.itertuples():
        kept = answered & (shares >= row.votes)
        assert (row.n_items, row.coverage) == (kept.sum(), kept.mean())
        known = kept & (data.gold_codes >= 0)  # of the items with gold only
        expected = split_vote(data)[known, data.gold_codes[known]].mean()
        assert row.accuracy == pytest.approx(expected)
    mace = table[table["method"] == "mace"]
    assert mace["coverage"].tolist() == [0.5, 1.0]
    assert mace["n_items"].tolist() == [round(0.5 * data.n_items), data.n_items]


def test_table_2_of_the_paper(shared):
    data = ba.read_annotations(shared / "data" / "rte.csv")
    table = ba.experiments.compare_coverage(data, PAPER, coverages=[0.75, 0.9, 1], **QUIET)
    mace = table[table["method"] == "mace"].set_index("coverage")["accuracy"]
    assert mace.round(3).to_dict() == {0.75: 0.977, 0.9: 0.957, 1.0: 0.928}
    half = table[(table["method"] == "vote") & (table["votes"] == 0.5)]
    assert half["accuracy"].item() == pytest.approx(0.896875)  # ties split at random, exactly


# --------------------------------------------------------------------------------------------------------------- errors


def test_a_fit_that_fails_is_a_row_that_says_why(crowd):
    fits = {"a": {"model": "model_a", "method": "em"}, **PAPER}
    table = ba.experiments.vary_annotations(crowd[0], fits, per_item=[2], runs=1, **QUIET).set_index("method")
    assert np.isnan(table.loc["a", "accuracy"])
    assert table.loc["a", "problem"].startswith("model_a has no EM: models that have are ")
    assert table.loc["mace", "accuracy"] > 0.5


def test_warnings_of_a_fit_are_in_its_row(crowd):
    fits = {"short": {"model": "mace", "method": "em", "method_options": {"steps": 2}}}
    table = ba.experiments.compare_coverage(crowd[0], fits, coverages=[1], **QUIET).set_index("method")
    assert "EM was still moving after 2 steps" in table.loc["short", "problem"]
    assert table.loc["short", "accuracy"] > 0.5


@pytest.mark.parametrize(
    ("fits", "error", "match"),
    [
        ({}, FitError, "fits has nothing: give at least one"),
        ({"vote": {"model": "mace"}}, FitError, "under a name other than 'vote'"),
        ({"mine": {"method": "em"}}, FitError, "'mine' must hold the arguments of fit: its model"),
        ({"mine": {"model": "mace", "data": 1}}, FitError, "'mine' must hold the arguments of fit: its model"),
        ({"mine": {"model": "maze"}}, ModelError, "there is no model 'maze': did you mean 'mace'"),
        ({"mine": {"model": "binomial_mixture"}}, FitError, "which gives no labels"),
        ({"mine": {"model": "mace", "method": "vi"}}, FitError, "there is no method 'vi'"),
        ({"mine": {"model": "mace", "method": "em", "method_options": {"restarts": 0}}}, FitError, "restarts is 0"),
    ],
)
def test_impossible_fits_are_refused_at_once(refuses, fits, error, match):
    with refuses(error, match):
        check_fits(fits, tiny_data())


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda data: ba.experiments.vary_annotations(replace(data, gold={})), DataError, "no gold label is known"),
        (lambda data: ba.experiments.vary_controls(replace(data, gold={})), DataError, "no gold label is known"),
        (lambda data: ba.experiments.compare_coverage(replace(data, gold={})), DataError, "no gold label is known"),
        (lambda data: ba.experiments.vary_annotations(data, per_item=[3, 0]), DataError, r"per_item is \[3, 0\]"),
        (lambda data: ba.experiments.vary_controls(data, shares=[0.5, 1.2]), DataError, r"shares are \[0.5, 1.2\]"),
        (lambda data: ba.experiments.compare_coverage(data, coverages=[0]), FitError, "coverage is 0"),
        (lambda data: ba.experiments.vary_annotations(data, runs=0), FitError, "runs is 0"),
        (lambda data: ba.experiments.vary_annotations(data, random_seed=-1), FitError, "random_seed is -1"),
        (
            lambda _: ba.experiments.vary_good_annotators(good=[3, 21]),
            DataError,
            r"good is \[3, 21\]: .* the 20 annotators",
        ),
    ],
)
def test_impossible_studies_are_refused(refuses, crowd, call, error, match):
    with refuses(error, match):
        call(crowd[0])
