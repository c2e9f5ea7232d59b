"""A fit looks at itself: it warns where annotators err together, and not where the model itself made the answers."""

from dataclasses import replace

import numpy as np
import pytest

import bayesanno as ba
from bayesanno.fits.view import parts_of, view_of
from bayesanno.inference.diagnosis.findings import is_misfit
from bayesanno.inference.diagnosis.misfit import join_pairs, measure_misfit
from bayesanno.inference.diagnosis.residuals import ErrorDesign, condition_on_class, error_chances, find_chances
from bayesanno.simulation.quantities import ModelDraws
from tests.analysis.made import from_prior
from tests.inference.answers import data_of, noisy
from tests.inference.draws import concat_datasets, fit_quietly, make_quiet_fit


def misfit_of(fit):
    return ba.diagnostics_of(fit)["misfit"]


def test_copies_are_seen_and_named(copies, fit_of_copies):
    codes = set(ba.findings(fit_of_copies).query("level != 'note'")["code"])
    assert {"copies", "labels-overconfident"} <= codes
    by_em = fit_quietly("model_b", copies, method="em")  # one point looks as draws do
    found, of_point = misfit_of(fit_of_copies)[0], misfit_of(by_em)[0]
    assert of_point["errors"]["correlation"] == pytest.approx(found["errors"]["correlation"], abs=0.05)
    for one in (found, of_point):
        assert one["votes"]["p"] == 1 / 101  # none of a hundred replicates is as far away
        assert one["pairs"]["close"] >= 8
        assert one["errors"]["z"] > 5
        assert one["errors"]["worth"] < 6 < one["errors"]["n_answers"] == pytest.approx(10, abs=0.1)


@pytest.fixture(scope="module")
def tickets():
    return ba.read_annotations("@crowd")


def test_the_crowd_is_not_warned_of_and_check_false_says_nothing(tickets):
    fit = fit_quietly("mace", tickets, method="vb")
    (found,) = misfit_of(fit)
    assert abs(found["errors"]["z"]) < 2
    assert found["votes"]["p"] > 0.05
    assert not is_misfit(view_of(fit_quietly("mace", tickets, method="em")))
    assert "misfit" not in ba.diagnostics_of(fit_quietly("mace", tickets, method="vb", check=False))


def test_two_answers_to_each_item_suffice_to_measure_errors(tickets):
    two = ba.read_annotations(tickets.to_frame().groupby("item").head(2))
    (found,) = misfit_of(fit_quietly("mace", two, method="vb"))
    assert found["errors"]["n_answers"] == 2


def drawn_of(fit):
    view = view_of(fit)
    return ModelDraws(view.model, view.data, view.posterior, view.known)


def test_the_same_seed_sees_the_same_and_large_tables_are_sampled(fit_of_copies, monkeypatch):
    drawn, parts = drawn_of(fit_of_copies), parts_of(view_of(fit_of_copies))
    one, again, other = ([each.found for each in measure_misfit(drawn, parts, seed)] for seed in (3, 3, 4))
    assert one == again != other
    monkeypatch.setattr("bayesanno.inference.diagnosis.misfit.MOST_ANSWERS", 500)
    found = measure_misfit(drawn, parts, 1)[0].found
    assert found["errors"]["n_answers"] == pytest.approx(10, abs=0.5)
    assert found["pairs"]["groups"][0]["n"] == 198  # of pairs, all items with answers of both


def test_pairs_are_joined_to_groups_with_their_first_pair():
    pairs = [{"annotators": two} for two in (["ada", "bo"], ["dee", "eve"], ["cy", "bo"])]
    assert list(join_pairs(pairs)) == [(["dee", "eve"], pairs[1]), (["ada", "bo", "cy"], pairs[0])]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_dropping_chains_repeats_the_check_and_relabelling_does_not(copies, fit_of_copies):
    free = replace(copies, controls={})
    draws = fit_of_copies["posterior"].to_dataset()[["confusion", "prevalence"]].isel(chain=0)
    halves = [draws.isel(draw=slice(half, half + 100)).assign_coords(draw=range(100)) for half in (0, 100)]
    model = ba.models.ModelB(confusion_accuracy=1 / copies.n_labels)
    fit = make_quiet_fit(model, free, concat_datasets(halves, "chain", range(2)), check=True)
    fewer = ba.drop_chains(fit, [1])
    assert misfit_of(fewer) != misfit_of(fit)
    assert misfit_of(fewer)[0]["pairs"]["n"] == misfit_of(fit)[0]["pairs"]["n"]
    assert "labels" not in fewer.children
    assert "labels" in ba.drop_chains(ba.adjust(fit), [1]).children  # adjusted again
    assert misfit_of(fit)[0]["pairs"]["close"]
    assert misfit_of(ba.relabel(fit)) == misfit_of(fit)


def test_errors_that_correlate_are_measured(rng):
    """Of annotators whose errors are known to correlate by .3, and of such as err alone."""
    truth, n = rng.integers(2, size=4000), 6
    design = data_of(np.zeros((4000, n), dtype=int), "ab", truth=truth)
    design = replace(design, controls=design.gold)  # classes known: no estimate between
    joint = np.full((n, 2, 2), 0.5)
    joint *= np.array([[0.8, 0.2], [0.2, 0.8]])
    shared = rng.random((4000, n)) < np.sqrt(0.3)  # takes the item's own coin, or one's own
    coin = rng.random((4000, 1)) < 0.2
    for errs, expected in (
        (np.where(shared, coin, rng.random((4000, n)) < 0.2), 0.3),
        (rng.random((4000, n)) < 0.2, 0),
    ):
        label = np.where(errs, 1 - truth[:, None], truth[:, None]).ravel()
        assert correlate(design, label, joint) == pytest.approx(expected, abs=0.03)


def correlate(data, label, joint):
    """The correlation of errors, with the classes that independent errors imply."""
    of_class, answer = condition_on_class(data, joint)
    design = ErrorDesign(data)
    weight = design.classify(label, of_class, answer)
    return design.correlate(design.find_residuals(label, weight, find_chances(data, answer)))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_with_known_classes_it_is_the_dependence_table_s_correlation(rng):
    """Two ways to sum the same residuals; they part where an annotator answers an item twice, or not."""
    truth = rng.integers(3, size=200)
    bad = noisy(truth, 0.6, 3, rng)
    answers = [np.where(rng.random(200) < 0.5, bad, noisy(truth, 0.6, 3, rng)) for _ in range(5)]
    known = data_of(np.column_stack(answers), "abc", truth=truth)
    known = replace(known, controls=known.gold)
    fit = ba.fit("model_b", known, method="vb", check=False, random_seed=1, progressbar=False)
    chance, _ = error_chances(drawn_of(fit))
    (found,) = ba.dependence_table(fit).query("level == 'all'")["correlation"]
    assert found > 0.1
    design, weight = ErrorDesign(known), np.eye(3)[known.gold_codes]
    assert design.correlate(design.find_residuals(known.label, weight, chance)) == pytest.approx(found, rel=1e-10)


def test_where_possibly_nobody_is_right_annotators_have_one_accuracy():
    """The joint probabilities of model A for one answer: right, of any class, or wrong, and then nobody is right."""
    accuracy, use = np.array([0.8, 0.6]), np.array([0.5, 0.3, 0.2])
    data = data_of(np.zeros((4, 2), dtype=int), "abc")
    joint = np.concatenate([accuracy[:, None, None] * np.diag(use), np.outer(1 - accuracy, use)[:, :, None]], axis=2)
    of_class, answer = condition_on_class(data, joint)
    np.testing.assert_allclose(of_class, use)
    np.testing.assert_allclose(answer.sum(axis=1), 1)
    np.testing.assert_allclose(find_chances(data, answer), np.repeat(1 - accuracy[:, None], 3, axis=1))
    np.testing.assert_allclose(answer[:, 1, 0] / answer[:, 2, 0], use[1] / use[2])


@pytest.mark.parametrize("answers", ["one answer", "one label", "rare", "nobody"])
def test_thin_tables_are_looked_at_in_silence(answers, rng):
    truth = (rng.random(60) < (0.05 if answers == "rare" else 0.4)).astype(int)
    said = np.column_stack([noisy(truth, 0.9, 2, rng) for _ in range(4)])
    if answers == "one answer":
        said[:, 3] = -1
        said[0, 3] = 1
    elif answers == "one label":
        said[:, 3] = 0
    elif answers == "nobody":
        said[7] = -1
    assert not is_misfit(view_of(fit_quietly("model_b", data_of(said, "ab"), method="vb")))


def test_no_item_with_two_answers_has_no_errors_to_compare(rng):
    truth = rng.integers(2, size=40)
    said = np.full((40, 2), -1)
    said[:20, 0], said[20:, 1] = truth[:20], truth[20:]
    (found,) = misfit_of(fit_quietly("one_coin", data_of(said, "ab"), method="vb"))
    assert set(found) == {"dimension", "votes", "statistics", "adjustment"}


@pytest.mark.usefixtures("by_numpy")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_counts_and_dimensions_are_looked_at():
    counts = ba.CountData(items=tuple(map(str, range(80))), successes=np.repeat([1, 4], 40), trials=np.full(80, 5))
    (found,) = misfit_of(from_prior(ba.get_model("binomial_mixture"), counts, check=True))
    assert set(found) == {"dimension", "votes", "statistics"}
    rng = np.random.default_rng(2)
    truth = rng.integers(2, size=40)
    said = data_of(np.column_stack([noisy(truth, 0.8, 2, rng) for _ in range(3)]), "ab")
    other = data_of(np.column_stack([noisy(truth, 0.8, 2, rng) for _ in range(3)]), "ab")
    both = ba.MultiAnnotationData(by_dimension={"tone": said, "topic": other})
    found = misfit_of(from_prior(ba.get_model("model_a_multi"), both, check=True))
    assert [one["dimension"] for one in found] == ["tone", "topic"]


def test_pairs_that_share_too_few_known_labels_are_compared_by_the_labels_of_the_fit(rng):
    """Known labels of 25 items, of which no two annotators share 20, do not end the search for copies."""
    truth = rng.integers(3, size=300)
    bad = noisy(truth, 0.6, 3, rng)
    said = np.column_stack([*(noisy(truth, 0.85, 3, rng) for _ in range(6)), bad, bad])
    said[rng.random(said.shape) < 0.25] = -1
    data = data_of(said, "abc", truth=truth)
    few = dict(list(data.gold.items())[:25])
    for gold in (few, dict(data.gold), {}):
        (group,) = misfit_of(fit_quietly("model_b", replace(data, gold=gold), method="vb"))[0]["pairs"]["groups"]
        assert group["group"] == list(data.annotators[-2:])
        assert group["n"] > 100
        assert group["correlation"] > 0.9
