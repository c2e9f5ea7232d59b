"""Who is asked about what: budgets, costs, new annotators, and the fits that suggestions refuse or doubt."""

import warnings

import numpy as np
import pytest

import bayesanno as ba
from bayesanno.modeling.states import StatesAndAnswers
from bayesanno.planning.gains import AnnotatorGains, choose_utility, gain_of_truth
from bayesanno.planning.of_fit import find_candidates
from tests.analysis.made import from_prior
from tests.samples import TINY_RECORDS, rte_counts, simulate_clique, tiny_data

QUICK = {"method": "vb", "check": False, "random_seed": 1, "progressbar": False}


@pytest.fixture(scope="module")
def crowd_fit():
    return ba.fit("one_coin", ba.read_annotations("@crowd"), **QUICK)


def test_no_annotator_is_asked_more_often_than_they_may_be(crowd_fit, refuses):
    each = ba.suggest_annotations(crowd_fit, 16, per_annotator=2)["annotator"].value_counts()
    assert each.max() == 2
    assert len(each) == 8
    some = ba.suggest_annotations(crowd_fit, 7, annotators=["ana", "hiro"], per_annotator={"ana": 3, "hiro": 4})
    assert some["annotator"].value_counts().to_dict() == {"ana": 3, "hiro": 4}
    with refuses(ba.DataError, "n is 8, but only 7 answers"):
        ba.suggest_annotations(crowd_fit, 8, annotators=["ana", "hiro"], per_annotator={"ana": 3, "hiro": 4})
    with refuses(ba.DataError, "per_annotator has no number for annotator 'hiro'"):
        ba.suggest_annotations(crowd_fit, 3, annotators=["ana", "hiro"], per_annotator={"ana": 3})


def test_a_dear_annotator_is_asked_less(crowd_fit):
    names = ba.data_of(crowd_fit).annotators
    free = ba.suggest_annotations(crowd_fit, 60)["annotator"].value_counts()
    dear = free.index[0]
    table = ba.suggest_annotations(crowd_fit, 60, costs=dict.fromkeys(names, 1.0) | {dear: 3.0})
    assert (table["annotator"] == dear).sum() < free[dear] / 2
    cost = np.where(table["annotator"] == dear, 3.0, 1.0)
    np.testing.assert_allclose(table["gain_per_cost"], table["gain"] / cost)


def test_new_annotators_are_for_models_with_a_population(tiny_fit, refuses):
    with refuses(ba.FitError, "annotator 'dee' is not in this fit, and only a model with a population"):
        ba.suggest_annotations(tiny_fit, 2, annotators=["dee"])
    fit = from_prior(ba.get_model("hierarchical_dawid_skene"), tiny_data())
    table = ba.suggest_annotations(fit, 6, annotators=["dee"], random_seed=1)
    assert set(table["annotator"]) == {"dee"}
    assert (table["gain"] > 0).all()
    assert sorted(table["item"]) == sorted(tiny_data().items)


def test_a_point_is_warned_of():
    fit = ba.fit("model_b", tiny_data(), method="em", check=False, random_seed=1, progressbar=False)
    with pytest.warns(ba.errors.PredictionWarning, match="this fit is one point"):
        ba.suggest_annotations(fit, 1)


def test_items_with_controls_are_never_asked_about(refuses):
    fit = ba.fit("model_b", tiny_data(controls={"s5": "yes"}), **QUICK)  # two of four open pairs are of s5
    assert set(ba.suggest_annotations(fit, 2)["item"]) == {"s3", "s6"}
    with refuses(ba.DataError, "only 2 answers"):
        ba.suggest_annotations(fit, 3)
    assert "s5" not in set(ba.suggest_annotations(fit, 5, target="gold")["item"])


def test_fits_of_counts_are_refused(refuses):
    fit = from_prior(ba.get_model("binomial_mixture"), rte_counts(), 20)
    with refuses(ba.DataError, "suggest_annotations"):
        ba.suggest_annotations(fit, 1)


def test_with_annotators_known_a_true_label_says_only_its_own_entropy(rng):
    p = np.array([[0.9, 0.1], [0.5, 0.5], [0.7, 0.3]])
    states = StatesAndAnswers(("no", "yes"), np.repeat(p[None, :, :, None], 20, axis=0), np.full((20, 1, 2, 2, 1), 0.5))
    here, elsewhere = gain_of_truth(states, choose_utility("information", states.names), rng).T
    np.testing.assert_allclose(here, -(p * np.log(p)).sum(axis=1))
    np.testing.assert_allclose(elsewhere, 0, atol=1e-12)


def test_gain_for_an_annotator_is_explained_variance_of_accuracy(rng):
    n_draws, n_items, n_annotators = 30, 4, 3
    state = rng.dirichlet(np.ones(2), size=(n_draws, n_items))[..., None]
    answer = rng.dirichlet(np.ones(2), size=(n_draws, n_annotators, 2, 1)).transpose(0, 1, 4, 2, 3)
    found = AnnotatorGains(StatesAndAnswers(("no", "yes"), state, answer), np.eye(2, dtype=bool), rng).gain
    for j in range(n_annotators):
        share = state[..., 0].mean(axis=1)
        accuracy = np.array([sum(share[s, k] * answer[s, j, k, k, 0] for k in range(2)) for s in range(n_draws)])
        for i in range(n_items):
            p = np.einsum("sk,svk->sv", state[:, i, :, 0], answer[:, j, :, :, 0])  # (draw, answer)
            means = (p * accuracy[:, None]).sum(axis=0) / p.sum(axis=0)
            explained = p.mean(axis=0) @ (means - accuracy.mean()) ** 2 / accuracy.var()
            assert found[i, j] == pytest.approx(-np.log(1 - explained) / 2, rel=1e-3, abs=1e-6)


def test_an_item_without_answers_is_asked_about_first():
    items = [*tiny_data().items, "s7"]
    fit = ba.fit("model_b", ba.AnnotationData.from_records(TINY_RECORDS, items=items, labels=["no", "yes"]), **QUICK)
    table = ba.suggest_annotations(fit, 3)
    assert "s7" in set(table["item"])
    assert set(table.query("item == 's7'")["why"]) == {"no answer yet"}
    gold = ba.suggest_annotations(fit, 7, target="gold", random_seed=1)
    assert gold.sort_values("gain_here")["probability"].is_monotonic_decreasing  # least known, most to gain


@pytest.mark.filterwarnings("ignore:pareto-k")
def test_misfit_warns_unless_labels_are_adjusted_or_recalibrated():
    clique = simulate_clique(np.random.default_rng(1), items=200, clique=6, copies=0.9)[0]
    with pytest.warns(ba.MisfitWarning):
        fit = ba.fit("model_b", clique, **QUICK | {"check": True})
    with pytest.warns(ba.MisfitWarning, match="labels-contradict-gold"):  # fewer than before, but still
        adjusted = ba.adjust(fit)
    for honest in (ba.recalibrate(fit), adjusted, ba.recalibrate(adjusted)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", ba.MisfitWarning)
            asked = find_candidates(honest, "this test", np.random.default_rng(1))
        table = ba.label_table(honest)
        np.testing.assert_allclose(asked.states.probability.max(axis=1), table["probability"], atol=1e-4)
        assert np.abs(table["probability"] - ba.label_table(fit)["probability"]).max() > 0.01
    with pytest.warns(ba.MisfitWarning, match="overestimates the value of more answers"):
        find_candidates(fit, "suggest_annotations", np.random.default_rng(1))
