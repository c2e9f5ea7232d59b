"""Published numbers: the R package rater on the anaesthesia data, and MACE's paper on recognising entailment."""

import numpy as np
import pytest

import bayesanno as ba

PUBLISHED = {"1": 0.376, "2": 0.407, "3": 0.143, "4": 0.074}  # rater's README, Dawid-Skene with its default priors


def test_model_b_agrees_with_rater_on_the_anaesthesia_data(shared):
    data = ba.read_annotations(shared / "data" / "anesthesia.csv")
    assert (data.n_items, data.n_annotators, data.n_annotations) == (45, 5, 315)
    fit = ba.fit("model_b", data, random_seed=1, progressbar=False)
    prevalence = fit["posterior"]["prevalence"].mean(("chain", "draw"))
    for label, expected in PUBLISHED.items():
        assert float(prevalence.sel(true_class=label)) == pytest.approx(expected, abs=0.01)
    found = ba.diagnostics_of(fit)
    assert found["max_rhat"] <= 1.01
    assert found["divergences"] == 0


@pytest.fixture
def rte(shared, monkeypatch):
    monkeypatch.setenv("BAYESANNO_DATA", str(shared / "data" / "raw"))
    return ba.read_annotations("@rte")


def proficiency(data):
    """The share of an annotator's answers that are right, by gold; shape (annotator,)."""
    right = data.label == data.gold_codes[data.item]
    return np.bincount(data.annotator, weights=right) / np.bincount(data.annotator)


@pytest.mark.slow
@pytest.mark.parametrize("class_prior", ["uniform", "learnt"])
def test_mace_on_rte_is_as_accurate_as_published_and_knows_whom_to_trust(rte, class_prior):
    fit = ba.fit(ba.models.MACE(class_prior=class_prior), rte, random_seed=1, progressbar=False)
    accuracy = ba.coverage_table(fit, [1, 0.9, 0.75])["accuracy"].tolist()
    assert accuracy[0] >= 0.92
    assert accuracy[1] >= 0.955
    assert accuracy[2] >= 0.97
    competence = ba.annotator_table(fit)["competence_mean"]
    assert np.corrcoef(competence, proficiency(rte))[0, 1] >= 0.89
    expect_converged(fit)


@pytest.mark.slow
def test_model_b_on_rte_is_as_accurate_as_dawid_and_skene(rte):
    fit = ba.fit("model_b", rte, random_seed=1, progressbar=False)
    assert ba.coverage_table(fit, [1])["accuracy"].tolist()[0] >= 0.92
    expect_converged(fit)


def expect_converged(fit):
    found = ba.diagnostics_of(fit)
    assert found["max_rhat"] <= 1.01
    assert min(found["min_ess_bulk"], found["min_ess_tail"]) >= 400
    assert found["divergences"] == 0
    assert len(found["modes"]["groups"]) == 1
