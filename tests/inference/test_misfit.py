"""A fit looks at itself: it warns where annotators err together, and not where the model itself made the answers."""

import warnings

import numpy as np
import pytest

import bayesanno as ba
from bayesanno.analysis.dependence import error_chances
from bayesanno.fits.parts import part_of
from bayesanno.fits.view import view_of
from bayesanno.inference.diagnosis.findings import is_misfit
from bayesanno.inference.diagnosis.misfit import measure_misfit
from bayesanno.inference.diagnosis.residuals import ErrorDesign, condition_on_class, find_chances
from bayesanno.simulation.quantities import ModelDraws
from tests.analysis.made import from_prior
from tests.inference.answers import data_of, noisy
from tests.samples import simulate_clique

QUICK = {"draws": 200, "tune": 200, "chains": 2, "random_seed": 1, "progressbar": False}


@pytest.fixture(scope="module")
def copies():
    """Five good annotators, and five who copy one bad one: the majority is wrong where that one is."""
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=200)
    bad = noisy(truth, 0.6, 3, rng)
    copied = [np.where(rng.random(200) < 0.95, bad, noisy(truth, 0.6, 3, rng)) for _ in range(5)]
    return data_of(np.column_stack([*(noisy(truth, 0.75, 3, rng) for _ in range(5)), *copied]), "abc", truth=truth)


def misfit_of(fit):
    return ba.diagnostics_of(fit)["misfit"]


@pytest.mark.parametrize("method", ["vb", "nuts"])
def test_copies_are_seen_and_named(copies, method):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = ba.fit("model_b", copies, method=method, **QUICK)
    messages = [str(one.message) for one in caught if one.category is ba.MisfitWarning]
    assert {"errors-correlate", "copies"} <= {text.split(":")[0] for text in messages}
    assert "labels-adjusted" in set(ba.findings(fit)["code"])
    (found,) = misfit_of(fit)
    own = fit["latent"]["probability"].values
    made = (own.argmax(axis=1) != copies.gold_codes).sum()
    assert made > 10 * (1 - own.max(axis=1)).sum()  # the model's own labels are overconfident
    assert found["pairs"]["close"] >= 8
    assert found["errors"]["z"] > 5
    assert found["errors"]["worth"] < 6 < found["errors"]["n_answers"] == 10


def test_answers_that_the_model_made_are_not_warned_of():
    for seed in range(4):
        design = ba.make_design(items=150, annotators=8, labels=["a", "b", "c"], per_item=(3, 6), random_seed=seed)
        data, _ = ba.simulate("model_b", design, random_seed=seed)
        fit = _quiet_fit("model_b", data, method="vb")
        assert not is_misfit(view_of(fit))


@pytest.fixture(scope="module")
def tickets():
    return ba.read_annotations("@crowd")


def test_the_crowd_is_not_warned_of_and_check_false_says_nothing(tickets):
    fit = _quiet_fit("mace", tickets, method="vb")
    (found,) = misfit_of(fit)
    assert abs(found["errors"]["z"]) < 2
    assert found["votes"]["p"] > 0.05
    assert "misfit" not in ba.diagnostics_of(_quiet_fit("mace", tickets, method="vb", check=False))


def test_the_same_seed_sees_the_same(copies):
    view = view_of(_quiet_fit("one_coin", copies, method="vb"))
    drawn = ModelDraws(view.model, view.data, view.posterior, view.known)
    one, again, other = ([each.found for each in measure_misfit(drawn, seed)] for seed in (3, 3, 4))
    assert one == again != other


def _quiet_fit(model, data, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return ba.fit(model, data, **QUICK | settings)


def _fit_of_prior(name, data):
    """A fit that is checked, of draws from the prior."""
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        return from_prior(ba.get_model(name), data, check=True)


def test_dropping_chains_repeats_the_check_and_relabelling_does_not(copies):
    fit = _quiet_fit(ba.models.ModelB(confusion_accuracy=1 / copies.n_labels), copies)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fewer = ba.drop_chains(fit, [1])
    assert misfit_of(fewer) != misfit_of(fit)
    assert misfit_of(fewer)[0]["pairs"]["n"] == misfit_of(fit)[0]["pairs"]["n"]
    assert "labels" in fewer.children  # adjusted again
    assert misfit_of(fit)[0]["pairs"]["close"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ba.MisfitWarning)
        warnings.simplefilter("ignore", ba.ConvergenceWarning)
        again = ba.relabel(fit)
    assert misfit_of(again) == misfit_of(fit)


def test_one_point_looks_as_draws_do(copies, tickets):
    found, near = (misfit_of(_quiet_fit("model_b", copies, method=method))[0] for method in ("em", "vb"))
    assert found["errors"]["correlation"] == pytest.approx(near["errors"]["correlation"], abs=0.05)
    assert found["pairs"]["close"] >= 8
    assert not is_misfit(view_of(_quiet_fit("mace", tickets, method="em")))


def test_errors_that_correlate_are_measured(rng):
    """Of annotators whose errors are known to correlate by .3, and of such as err alone."""
    truth, n = rng.integers(2, size=4000), 6
    design = data_of(np.zeros((4000, n), dtype=int), "ab", truth=truth)
    design = ba.AnnotationData(**{**vars_of(design), "controls": design.gold})  # classes known: no estimate between
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
def test_with_known_classes_it_is_the_dependence_table_s_correlation(copies):
    """Two ways to sum the same residuals; they part where an annotator answers an item twice."""
    known = ba.AnnotationData(**{**vars_of(copies), "controls": copies.gold})
    fit = ba.fit("model_b", known, method="vb", check=False, random_seed=1, progressbar=False)
    chance, _ = error_chances(view_of(fit), part_of(view_of(fit), None))
    (found,) = ba.dependence_table(fit).query("level == 'all'")["correlation"]
    assert found > 0.1
    design, weight = ErrorDesign(known), np.eye(3)[known.gold_codes]
    assert design.correlate(design.find_residuals(known.label, weight, chance)) == pytest.approx(found, rel=1e-10)


def vars_of(data):
    return {
        name: getattr(data, name) for name in ("item", "annotator", "label", "items", "annotators", "labels", "gold")
    }


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


def test_errors_are_seen_where_possibly_nobody_is_right(rng):
    clique, _ = simulate_clique(rng, annotators=7, items=200, clique=4, copies=0.8)
    design = ba.make_design(items=150, annotators=6, labels=["a", "b", "c"], per_item=5, random_seed=1)
    own, _ = ba.simulate("model_a", design, random_seed=1)
    z = [misfit_of(_quiet_fit("model_a", data, draws=100, tune=150))[0]["errors"]["z"] for data in (clique, own)]
    assert z[0] > 3
    assert abs(z[1]) < 2


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
    assert not is_misfit(view_of(_quiet_fit("model_b", data_of(said, "ab"), method="vb")))


def test_no_item_with_two_answers_has_no_errors_to_compare(rng):
    truth = rng.integers(2, size=40)
    said = np.full((40, 2), -1)
    said[:20, 0], said[20:, 1] = truth[:20], truth[20:]
    (found,) = misfit_of(_quiet_fit("one_coin", data_of(said, "ab"), method="vb"))
    assert set(found) == {"dimension", "votes", "adjustment"}


def test_counts_and_dimensions_are_looked_at():
    counts = ba.CountData(items=tuple(map(str, range(80))), successes=np.repeat([1, 4], 40), trials=np.full(80, 5))
    (found,) = misfit_of(_fit_of_prior("binomial_mixture", counts))
    assert set(found) == {"dimension", "votes"}
    rng = np.random.default_rng(2)
    truth = rng.integers(2, size=40)
    said = data_of(np.column_stack([noisy(truth, 0.8, 2, rng) for _ in range(3)]), "ab")
    other = data_of(np.column_stack([noisy(truth, 0.8, 2, rng) for _ in range(3)]), "ab")
    found = misfit_of(
        _fit_of_prior("model_a_multi", ba.MultiAnnotationData(by_dimension={"tone": said, "topic": other}))
    )
    assert [one["dimension"] for one in found] == ["tone", "topic"]


def test_large_tables_are_sampled(monkeypatch, copies):
    view = view_of(_quiet_fit("one_coin", copies, method="vb"))
    drawn = ModelDraws(view.model, view.data, view.posterior, view.known)
    monkeypatch.setattr("bayesanno.inference.diagnosis.misfit.MOST_ANSWERS", 500)
    found = measure_misfit(drawn, 1)[0].found
    assert found["errors"]["n_answers"] == 10
    assert found["pairs"]["named"][0]["n"] == 200  # of pairs, all items
