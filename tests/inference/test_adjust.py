"""Labels adjusted for what the check of a fit finds: the formula, what it is for, and what stays as it is."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno.fits.view import ADJUSTMENT, CHECK, log_label_posterior, parts_of, split_data, view_of
from bayesanno.inference.diagnosis.findings import is_misfit
from bayesanno.inference.diagnosis.misfit import Copies, Misfit
from bayesanno.inference.diagnosis.residuals import ErrorMeasure
from bayesanno.inference.tempering import (
    LEAST_VOTE,
    MOST_VOTE,
    check_labels,
    count_answers,
    measure_effect,
    temperings_of,
    weigh_errors,
    weigh_votes,
)
from tests.inference.answers import data_of, noisy
from tests.inference.draws import fit_quietly, make_fit, posterior_of
from tests.models.contract import make_case


def check_of(fit):
    return temperings_of(view_of(fit), CHECK)[""]


def log_score(probability, truth):
    return np.log(probability[np.arange(truth.size), truth]).mean()


def probabilities(fit):
    return parts_of(view_of(fit))[0].posterior.values


@pytest.fixture(scope="module", params=["em", "vb"])
def plain(request, copies, fit_of_copies):
    return fit_of_copies if request.param == "vb" else fit_quietly("model_b", copies, method="em")


@pytest.fixture(scope="module")
def adjusted(plain):
    return quiet_adjust(plain)


def quiet_adjust(fit, **how):
    with warnings.catch_warnings(action="ignore"):
        return ba.adjust(fit, **how)


# ------------------------------------------------------------------------------------------------------ the formula


def adjust_by_hand(logs, data, found):
    """Equations (1) to (8), item by item and label by label."""
    after = logs.copy()
    added = (1 / data.n_classes + np.exp(found.log_share)) / 2
    close = {frozenset(who): share for who, share in zip(found.copy.tolist(), found.copy_share, strict=True)}
    for i in range(data.n_items):
        rows = np.flatnonzero(data.item == i)
        if not len(rows):
            after[i] = np.exp(logs[i])
            continue
        who = data.annotator[rows].tolist()
        more = np.array([sum(close.get(frozenset((one, other)), 0) for other in who if other != one) for one in who])
        tempered = np.zeros(logs.shape[1])
        held = np.where(np.isneginf(logs[i]), found.least, logs[i])
        for r in found.correlation:
            effect = 1 + (len(rows) - 1) * r + (1 - r) * more.mean()
            odds = found.log_share + (held - found.log_share) / effect
            tempered += np.exp(odds) / np.exp(odds).sum() / len(found.correlation)
        weight = found.informedness[data.annotator[rows]].clip(0.02) / (1 + more)
        votes = np.array([weight[data.label[rows] == code].sum() for code in data.class_codes])
        vote = (votes + added) / (votes.sum() + 1)
        b = max(found.weight, min(1, more.mean() / 0.1))
        w = max(found.vote_weight, min(2 / 3, found.vote_share + more.mean()))
        first = (1 - found.vote_weight) * np.exp(logs[i]) + found.vote_weight * vote
        after[i] = (1 - b) * first + b * ((1 - w) * tempered + w * vote)
    return after


def test_adjusted_labels_are_those_of_the_formula(adjusted, copies):
    (found,) = temperings_of(view_of(adjusted), ADJUSTMENT).values()
    (part,) = split_data(copies, view_of(adjusted).latents)
    logs = log_label_posterior(part)
    expected = adjust_by_hand(logs, copies, found)
    close = replace(found, weight=0.1, copy=np.array([[5, 6], [5, 7], [0, 1]]), copy_share=np.array([0.9, 0.8, 0.02]))
    after = close.average(logs, count_answers(view_of(adjusted), part, close))
    np.testing.assert_allclose(np.exp(after), adjust_by_hand(logs, copies, close), atol=1e-12)
    assert np.abs(np.exp(after) - expected).max() > 0.05
    free = copies.control_codes < 0
    np.testing.assert_allclose(probabilities(adjusted)[free], expected[free], atol=1e-12)
    assert np.exp(found.log_share).sum() == pytest.approx(1)
    assert found.informedness[:5].min() < found.informedness[5:].max()  # the copies, whom the model takes to be right


def test_a_pair_of_copies_counts_for_the_items_that_it_shares():
    """Two of many annotators copy each other on 45 items of 600: the labels of all others stay."""
    rng = np.random.default_rng(4)
    truth = rng.integers(2, size=600)
    answers = np.column_stack([noisy(truth, 0.8, 2, rng) for _ in range(20)])
    answers[rng.random(answers.shape) < 0.75] = -1
    shared = np.arange(45)
    answers[:, :2] = -1
    answers[shared, 0] = answers[shared, 1] = noisy(truth[shared], 0.6, 2, rng)
    data = data_of(answers, "ab", truth=truth)
    plain = fit_quietly("one_coin", data, method="vb")
    (found,) = [one for one in ba.diagnostics_of(plain)["misfit"] if one["pairs"]["close"]]
    assert found["pairs"]["groups"][0]["group"] == list(data.annotators[:2])
    assert found["adjustment"]["weight"] < 0.2
    moved = np.abs(probabilities(quiet_adjust(plain)) - probabilities(plain)).max(axis=1)
    assert moved[shared].mean() > 2 * moved[45:].mean()
    made = (probabilities(plain).argmax(axis=1) != truth).sum()
    assert found["adjustment"]["expected_errors"][1] == pytest.approx(made, rel=0.3)


def test_the_weight_grows_with_the_evidence_and_with_what_it_matters():
    by_z = [weigh_errors({"errors": {"z": z}}, 0.5) for z in (-3, 0, 2, 5)]
    np.testing.assert_allclose(by_z, [0, 0, 0.75, 0.96])
    by_effect = [weigh_errors({"errors": {"z": 5}}, effect) for effect in (0.0, 0.02, 0.05, 0.2)]
    np.testing.assert_allclose(by_effect, [0, 0.192, 0.48, 0.96])
    assert weigh_errors({}, 0.5) == 0
    assert [measure_effect({"errors": {"n_answers": 5.0}}, r) for r in (-0.1, 0.1)] == [0, 0.4]
    assert measure_effect({}, 0.5) == 0


def test_the_weight_of_the_vote_grows_with_the_evidence_and_with_what_it_matters():
    def weigh(spread, off, n_labels):
        return weigh_votes({"votes": {"spread": spread, "observed": 0.3, "predicted": 0.3 + off}}, n_labels)

    assert weigh_votes({}, 2) == weigh(1, 0.3, 2) == weigh(9, 0.0, 2) == LEAST_VOTE
    assert weigh(2.5, 0.2, 2) == MOST_VOTE / 2
    assert weigh(9, 0.025, 2) == pytest.approx(MOST_VOTE / 2)
    assert weigh(9, -0.025, 4) == pytest.approx(MOST_VOTE)


def test_draws_of_adjusted_labels_have_the_mean_of_the_tables(adjusted, copies):
    view = view_of(adjusted)
    (part,) = split_data(copies, view.latents)
    found, logs = temperings_of(view, ADJUSTMENT)[""], log_label_posterior(part)
    some = replace(found, weight=0.6, vote_weight=0.15, copy_share=np.zeros(0))
    answers, rng = count_answers(view, part, some), np.random.default_rng(1)
    drawn, is_own, _ = zip(*some.draw([logs] * 2000, logs, answers, rng), strict=True)
    np.testing.assert_allclose(np.exp(drawn).mean(axis=0), np.exp(some.average(logs, answers)), atol=0.04)
    assert np.mean(is_own) == pytest.approx(0.4, abs=0.05)
    pairs = {"copy": np.array([[5, 6], [0, 1]]), "copy_share": np.array([0.9, 0.05])}
    with_copies = replace(found, weight=0.0, **pairs)  # items are tempered in different shares of the draws
    answers = count_answers(view, part, with_copies)
    drawn = [logs for logs, *_ in with_copies.draw([logs] * 2000, logs, answers, rng)]
    np.testing.assert_allclose(np.exp(drawn).mean(axis=0), np.exp(with_copies.average(logs, answers)), atol=0.04)


# --------------------------------------------------------------------------------------------------- what it is for


def test_labels_of_copies_are_about_as_sure_as_they_should_be(adjusted, copies):
    truth, known = copies.gold_codes, copies.control_codes < 0
    own, after = (p[known] for p in (adjusted["latent"]["probability"].values, probabilities(adjusted)))
    assert log_score(after, truth[known]) > log_score(own.clip(1e-16), truth[known]) + 0.5
    made = (after.argmax(axis=1) != truth[known]).sum()
    assert (1 - own.max(axis=1)).sum() < made / 6
    assert made / 4 < (1 - after.max(axis=1)).sum() < made * 2  # the copies are more than half: no vote sees that


def test_nothing_is_found_in_data_of_the_model_itself_and_labels_stay():
    """Hardly any of a probability moves, on average: little more than 2% of the way to the vote."""
    moved = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        truth = rng.integers(3, size=150)
        answers = np.column_stack([noisy(truth, accuracy, 3, rng) for accuracy in rng.uniform(0.5, 0.95, size=8)])
        answers[rng.random(answers.shape) < 0.4] = -1
        fit = fit_quietly("one_coin", data_of(answers, "abc"), method="vb")
        assert not is_misfit(view_of(fit))
        after, answers = ba.adjust(fit), count_answers(view_of(fit), *parts_of(view_of(fit)), check_of(fit))
        moved.append(np.abs(probabilities(after) - probabilities(fit)).mean())
        if check_of(fit).weight == 0:  # the contamination prior alone: 2% of the vote
            added = (1 / 3 + np.exp(check_of(fit).log_share)) / 2
            vote = (answers.weight + added) / (answers.weight.sum(axis=1, keepdims=True) + 1)
            np.testing.assert_allclose(probabilities(after), 0.98 * probabilities(fit) + 0.02 * vote, atol=1e-12)
            assert not {"labels-overconfident", "labels-adjusted"} & {
                *ba.findings(fit)["code"],
                *ba.findings(after)["code"],
            }
        assert "labels-overconfident" not in set(ba.findings(fit)["code"])
    assert np.mean(moved) < 0.015
    assert min(moved) > 0.001


def test_labels_of_a_point_are_not_certain_and_what_was_done_is_said(copies):
    """By EM, MACE excludes labels; with 2% of the vote each is possible."""
    fit = quiet_adjust(fit_quietly("mace", replace(copies, controls={}), method="em"))
    own, after = fit["latent"]["probability"].values, probabilities(fit)
    assert own.min() < 1e-9
    assert after[np.bincount(copies.item, minlength=200) > 0].min() > 1e-4
    done = json.loads(fit.attrs["adjustment"])[""]
    assert done["temperature"] > 1
    assert done["expected_errors"] == pytest.approx([(1 - p.max(axis=1)).sum() for p in (own, after)])
    assert "copies" in done["reasons"] or "most-err-together" in done["reasons"]
    (said,) = ba.findings(fit).query("code == 'labels-adjusted'")["message"]
    before, after = (f"{expected:,.0f}" for expected in done["expected_errors"])
    assert said.endswith(f"for what the check found: {after} wrong labels are expected, {before} by the model alone.")


# ------------------------------------------------------------------------------------------------ priors of the items


@pytest.fixture(scope="module")
def with_classifier():
    """Data of two labels with a good classifier, half of the items without answers; a fit of made-up draws."""
    rng = np.random.default_rng(2)
    truth = (rng.random(300) < 0.5).astype(int)
    odds = 2.5 * (2 * truth - 1) + 1.5 * rng.normal(size=300)
    p = 1 / (1 + np.exp(-odds))
    answers = np.column_stack([noisy(truth, 0.75, 2, rng) for _ in range(5)])
    answers[150:] = -1
    data = data_of(answers, "ab", truth=truth, item_columns={"p[a]": 1 - p, "p[b]": p})
    right = rng.beta(75, 25, size=(2, 50, 5, 2))[..., None]
    posterior = posterior_of(
        data.annotators,
        "ab",
        "ab",
        confusion=np.where(np.eye(2) == 1, right, 1 - right),
        base_rate=rng.dirichlet([150, 150], size=(2, 50)),
        slope=rng.normal(1, 0.1, size=(2, 50)),
    )
    with warnings.catch_warnings(action="ignore"):
        fit = ba.adjust(make_fit(ba.models.ModelB(class_prior=ba.Classifier()), data, posterior, check=True))
    view = view_of(fit)
    (part,), found = split_data(data, view.latents), temperings_of(view, ADJUSTMENT)[""]
    return data, fit, part, found, count_answers(view, part, found)


def test_the_vote_adds_the_prior_of_the_item_and_items_without_answers_stay(with_classifier):
    """With the shares of labels in its place, items with a sure classifier would become uncertain."""
    data, fit, part, found, answers = with_classifier
    own, after = fit["latent"]["probability"].values, probabilities(fit)
    np.testing.assert_allclose(after[150:], own[150:], rtol=1e-12)
    prior = np.exp(answers.log_prior)
    assert prior[150:, 0] == pytest.approx(own[150:, 0], abs=0.01)
    only_vote = replace(found, weight=0.0, vote_weight=1.0).average(log_label_posterior(part), answers)
    votes = answers.weight[:150]
    expected = (votes + prior[:150]) / (votes.sum(axis=1, keepdims=True) + 1)
    np.testing.assert_allclose(np.exp(only_vote[:150]), expected, atol=1e-12)
    truth = data.gold_codes[150:]
    assert log_score(after[150:], truth) == pytest.approx(log_score(own[150:], truth))
    new = ba.predict_labels(fit, replace(data, gold={}))
    np.testing.assert_allclose(new["probability"][150:], after[150:].max(axis=1), atol=0.01)


def test_tempering_pulls_towards_the_prior_of_the_item(with_classifier):
    _, _, part, found, answers = with_classifier
    far = replace(found, temperature=np.full(1, 1e9), correlation=np.zeros(1), shift=np.zeros((1, 2)))
    (tempered,) = np.concatenate([*far.temper(log_label_posterior(part), answers)], axis=1)
    np.testing.assert_allclose(tempered, answers.log_prior, atol=1e-6)


# ------------------------------------------------------------------------------------------------------- two steps


def test_an_adjustment_can_be_undone(plain):
    again = quiet_adjust(quiet_adjust(plain), undo=True)
    xr.testing.assert_identical(again, plain)
    assert quiet_adjust(plain, undo=True) is plain
    once = quiet_adjust(plain)
    assert quiet_adjust(once) is once


def test_a_fit_advises_its_adjustment_and_no_longer_when_it_is_done(plain, adjusted):
    own, after = (set(ba.findings(fit)["code"]) for fit in (plain, adjusted))
    assert {"labels-overconfident"} <= own - after <= {"labels-overconfident", "labels-contradict-gold"}
    assert after - own <= {"labels-adjusted"}
    (one,) = ba.findings(plain).query("code == 'labels-overconfident'").itertuples()
    assert one.level == "care"
    assert one.remedy == "Adjust them: bayesanno.adjust(fit)."


def test_recalibration_comes_after_adjustment(plain, adjusted, copies):
    gold = {item: copies.gold[item] for item in copies.items[10:60]}
    with warnings.catch_warnings(action="ignore"):
        of_plain, of_adjusted = ba.recalibrate(plain, gold), ba.recalibrate(adjusted, gold)
        again = ba.recalibrate(ba.recalibrate(adjusted, gold), gold)
    with pytest.raises(ba.FitError, match="this fit was recalibrated: adjust the fit that it came from"):
        ba.adjust(of_plain)
    with pytest.raises(ba.FitError, match="this fit was recalibrated"):
        ba.adjust(of_adjusted, undo=True)
    np.testing.assert_array_equal(probabilities(again), probabilities(of_adjusted))
    assert np.abs(probabilities(of_plain) - probabilities(of_adjusted)).max() > 0.01


def test_a_fit_that_was_not_checked_cannot_be_adjusted(copies):
    fit = fit_quietly("one_coin", copies, method="em", check=False)
    with pytest.raises(ba.FitError, match="fit with check=True"):
        ba.adjust(fit)


def test_types_have_no_labels_to_adjust():
    counts = ba.CountData(items=("a", "b", "c"), successes=np.array([1, 5, 9]), trials=np.full(3, 10))
    fit = fit_quietly("binomial_mixture", counts, method="advi", draws=50, chains=1)
    assert ba.adjust(fit) is fit


def test_a_fit_of_an_earlier_version_keeps_its_adjustment(adjusted, tmp_path):
    """Its group has no share of the vote, which was two thirds, and no copies; it has no group `check`."""
    old = adjusted.copy()
    del old["check"]
    del old.attrs["adjustment"]
    group = (
        old["adjustment"]
        .to_dataset()
        .drop_vars(["vote_share", "copy", "copy_share"], errors="ignore")
        .assign(weight=0.7)
    )
    old["adjustment"] = xr.DataTree(group)
    ba.save(old, tmp_path / "posterior.nc")
    loaded = ba.load(tmp_path)
    pd.testing.assert_frame_equal(ba.label_table(loaded), ba.label_table(adjusted))
    found = temperings_of(view_of(loaded), ADJUSTMENT)[""]
    assert (found.vote_share, found.copy_share.size) == (2 / 3, 0)
    plain = quiet_adjust(loaded, undo=True)
    np.testing.assert_array_equal(probabilities(plain), plain["latent"]["probability"].values)
    assert quiet_adjust(plain)["adjustment"]["weight"] == 0.7


# ---------------------------------------------------------------------------------------------- what stays as it is


def test_the_models_own_posterior_controls_and_empty_items_stay(copies, fit_of_copies):
    plain, adjusted = fit_of_copies, quiet_adjust(fit_of_copies)
    assert "labels" not in plain.children
    xr.testing.assert_identical(plain["latent"].to_dataset(), adjusted["latent"].to_dataset())
    xr.testing.assert_identical(plain["posterior"].to_dataset(), adjusted["posterior"].to_dataset())
    labels = ba.label_table(adjusted).set_index("item")
    np.testing.assert_array_equal(
        ba.label_table(plain)["probability"], plain["latent"]["probability"].max("true_class")
    )
    assert labels.loc["item 002", f"p[{copies.controls['item 002']}]"] == 1
    assert labels.loc["item 001", f"p[{copies.controls['item 001']}]"] == 1
    assert 0.3 < labels.loc["item 000", "probability"] < 0.95


def test_all_that_is_read_of_labels_is_adjusted(fit_of_copies, copies, tmp_path):
    adjusted = quiet_adjust(fit_of_copies)
    p, labels = probabilities(adjusted), ba.label_table(adjusted)
    own = ba.label_table(fit_of_copies)
    for name in copies.labels:
        np.testing.assert_array_equal(labels[f"model_p[{name}]"], own[f"p[{name}]"])
    at = (range(len(own)), [copies.labels.index(name) for name in labels["label"]])
    np.testing.assert_array_equal(labels["model_probability"], probabilities(fit_of_copies)[at])
    assert not [name for name in own if name.startswith("model_")]
    np.testing.assert_array_equal(labels[[f"p[{name}]" for name in copies.labels]], p)
    cost = {truth: {said: float(said != truth) for said in copies.labels} for truth in copies.labels}
    np.testing.assert_allclose(ba.decide_labels(adjusted, cost)["expected_cost"], 1 - p.max(axis=1), atol=1e-12)
    drawn = ba.sample_labels(adjusted, random_seed=1)
    shares = np.stack([(drawn == code).mean(("chain", "draw")) for code in range(3)], axis=1)
    np.testing.assert_allclose(shares, p, atol=4.5 * 0.5 / np.sqrt(drawn.sizes["chain"] * drawn.sizes["draw"]))
    new = ba.predict_labels(adjusted, replace(copies, controls={}, gold={}))
    rest = copies.control_codes < 0  # near: the weights of draws, and what VB takes for an item
    assert np.abs(new["probability"].to_numpy() - labels["probability"].to_numpy())[rest].mean() < 0.05
    ba.save(adjusted, tmp_path / "posterior.nc")
    pd.testing.assert_frame_equal(ba.label_table(ba.load(tmp_path)), labels)


# ----------------------------------------------------------------------------------------------- models of all kinds


@pytest.mark.usefixtures("by_numpy")
@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")  # of made-up draws
@pytest.mark.parametrize("name", ["model_a", "item_difficulty", "ordinal_dawid_skene", "shared_errors"])
def test_models_of_other_kinds_can_be_adjusted(name, rng):
    case = make_case(name, {})
    data = case.designs.tiny
    fit = make_fit(case.entry, data, case.posterior(case.draw(8, rng), 2))
    (part,) = parts_of(view_of(fit))
    errors = {"z": 0.0, "p": 1.0, "n_answers": 2.0}
    measured = ErrorMeasure(errors, np.array([-0.1, 0.2, 0.5]), rng.random(data.n_annotators))
    who = np.array([[0, 1]])
    misfit = Misfit({"dimension": "", "errors": errors}, measured, Copies(who, np.ones(1), 0.1, 0.1))
    for path, group in check_labels(view_of(fit), [part], [misfit]).items():
        fit[path] = xr.DataTree(group)
    fit.attrs["diagnostics"] = json.dumps(ba.diagnostics_of(fit) | {"misfit": [misfit.found]})
    fit = quiet_adjust(fit)
    (after,) = parts_of(view_of(fit))
    p = after.posterior.values
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.abs(p - part.posterior.values).max() > 0.01
    assert temperings_of(view_of(fit), ADJUSTMENT)[""].correlation.min() == 0
    assert ba.sample_labels(fit, random_seed=1).sizes["item"] == len(ba.label_table(fit)) == data.n_items
