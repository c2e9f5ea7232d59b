"""Reliability tables and scores against gold: by counting, by scikit-learn, and intervals at their rate."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss
from statsmodels.stats.proportion import proportion_confint

import bayesanno as ba
from bayesanno.criticism.calibration import Predicted, _tabulate_grades, tabulate_scores
from bayesanno.fits.view import FitPart, view_of
from tests.samples import LABELS, bounds_of, tiny_data

QUIET = {"random_seed": 1, "progressbar": False}


@pytest.fixture(scope="module")
def known(mace_fit):
    """The true class of each item (item,), and the probabilities of all (item, class)."""
    data = ba.data_of(mace_fit)
    return data.gold_codes, mace_fit["latent"]["probability"].values


def check_rows(table, sure, right):
    """Count the probabilities that are in each row's range, and how many of them are right."""
    assert table["n"].sum() == sure.size
    for row in table.to_dict("records"):
        own = (row["from"] < sure) & (sure <= row["to"])
        assert row["n"] == own.sum() > 0
        assert row["predicted"] == pytest.approx(sure[own].mean())
        assert row["right"] == pytest.approx(right[own].mean())
        assert row["ci89_lb"] <= row["right"] <= row["ci89_ub"]


def test_scores_are_those_of_scikit_learn(mace_fit, known):
    truth, probability = known
    scores = ba.calibration_scores(mace_fit, random_seed=1).set_index("score")
    assert list(scores) == ["value", "ci89_lb", "ci89_ub", "n"]
    assert (scores["n"] == 400).all()
    value = scores["value"]
    assert value["accuracy"] == pytest.approx(accuracy_score(truth, probability.argmax(axis=1)))
    assert value["log_score"] == pytest.approx(-log_loss(truth, probability))
    assert value["brier"] == pytest.approx(brier_score_loss(truth, probability, scale_by_half=False))
    assert (scores["ci89_lb"] <= value).all()
    assert (value <= scores["ci89_ub"]).all()


def test_the_table_is_what_one_counts(mace_fit, known):
    truth, probability = known
    table = ba.calibration_table(mace_fit, bins=20)
    check_rows(table, probability.max(axis=1), probability.argmax(axis=1) == truth)
    error = (table["n"] * (table["right"] - table["predicted"]).abs()).sum() / truth.size
    scores = ba.calibration_scores(mace_fit, bins=20, resamples=0).set_index("score")
    assert scores.loc["calibration_error", "value"] == pytest.approx(error)
    assert scores["ci89_lb"].isna().all()


def test_bins_of_equal_counts_differ_only_by_ties(mace_fit, known):
    sure = known[1].max(axis=1)
    table = ba.calibration_table(mace_fit, bins=4, equal_counts=True)
    assert table["n"].cumsum().tolist() == [(sure <= end).sum() for end in table["to"]]  # a bin has its upper end
    assert table["n"].max() - table["n"].min() <= 1 + sure.size // 20
    assert (table["from"] <= table["predicted"]).all()
    right = known[1].argmax(axis=1) == known[0]
    assert np.average(table["right"], weights=table["n"]) == pytest.approx(right.mean())


@pytest.mark.parametrize("ci_prob", [0.5, 0.99])
def test_intervals_are_wilsons(mace_fit, ci_prob):
    table = ba.calibration_table(mace_fit, ci_prob=ci_prob)
    right = (table["right"] * table["n"]).round()
    ends = proportion_confint(right, table["n"], alpha=1 - ci_prob, method="wilson")
    np.testing.assert_allclose(bounds_of(table), np.column_stack(ends), atol=1e-12)


def test_cumulative_probabilities_are_counted_over_all_grades(mace_fit, known):
    truth, probability = known
    order = ["yes", "no", "maybe"]  # the labels of the fit from the last
    table = ba.calibration_table(mace_fit, cumulative=True, order=order)
    at_most = probability[:, ::-1].cumsum(axis=1)[:, :-1]  # (item, label)
    check_rows(table, at_most, (2 - truth)[:, None] <= np.arange(2))
    declared = ba.calibration_table(mace_fit, cumulative=True)  # turned, P(at most) is 1 - P(at most the one before)
    assert declared["n"].sum() == table["n"].sum()
    assert (declared["n"] * declared["right"]).sum() + (table["n"] * table["right"]).sum() == pytest.approx(2 * 400)


def test_intervals_of_cumulative_calibration_hold_at_their_rate(rng, mace_fit):
    """Grades drawn by their probabilities are calibrated."""
    view = view_of(mace_fit)
    held = []
    for _ in range(40):
        probability = rng.dirichlet(np.ones(3), size=400)
        grade = (rng.random((400, 1)) > probability.cumsum(axis=1)).sum(axis=1)
        data = replace(view.data, gold={item: LABELS[code] for item, code in zip(view.data.items, grade, strict=True)})
        latent = view.latents[""].assign(probability=view.latents[""]["probability"].copy(data=probability))
        table = _tabulate_grades(view, FitPart(data, latent), 10, False, 0.95, None)
        held += ((table["ci95_lb"] <= table["predicted"]) & (table["predicted"] <= table["ci95_ub"])).tolist()
    assert np.mean(held) > 0.9


def make_predicted(rng, n, off):
    sure = rng.uniform(0.5, 1, size=n)
    right = rng.random(n) < np.clip(sure - off, 0, 1)
    return Predicted(sure, right, np.log(np.where(right, sure, 1 - sure)), 2 * np.where(right, 1 - sure, sure) ** 2)


@pytest.mark.parametrize("off", [0.0, 0.15])
def test_intervals_of_the_calibration_error_hold_the_truth(rng, off):
    """The error of the whole population is |off|; where it is 0, the interval's lower end is 0 or nearly so."""
    held = []
    for _ in range(100):
        table = tabulate_scores(make_predicted(rng, 400, off), 10, 0.95, 200, 1).set_index("score")
        low, high = table.loc["calibration_error", ["ci95_lb", "ci95_ub"]]
        held.append(low <= off <= high if off else low < 0.02)
    assert np.mean(held) > 0.85


def test_items_whose_label_was_given_are_left_out():
    gold = {"s1": "yes", "s2": "no", "s4": "yes"}
    fits = [ba.fit("model_b", tiny_data(gold=gold, controls=controls), method="vb", **QUIET)
            for controls in ({}, {"s1": "yes"})]  # fmt: skip
    assert [int(ba.calibration_table(fit)["n"].sum()) for fit in fits] == [3, 2]
    assert [ba.calibration_scores(fit, resamples=0)["n"][0] for fit in fits] == [3, 2]


def test_a_true_label_without_probability_is_scored_so(rng):
    predicted = make_predicted(rng, 50, 0.0)
    impossible = replace(predicted, log_score=np.where(np.arange(50) == 3, -np.inf, predicted.log_score))
    table = tabulate_scores(impossible, 10, 0.95, 50, 1).set_index("score")
    assert table.loc["log_score", "value"] == -np.inf
    assert table.loc["log_score", ["ci95_lb", "ci95_ub"]].isna().all()  # there is none
    assert np.isfinite(table.loc[["accuracy", "brier", "calibration_error"], ["value", "ci95_lb", "ci95_ub"]]).all(
        axis=None
    )
