"""Variational Bayes as a method of `fit`: draws of q, labels that are q's own, on data of every awkward kind."""

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.messages import FitError
from bayesanno.inference.em_vb import vb as of_vb
from bayesanno.inference.em_vb.fixed_point import find_best, iterate
from bayesanno.inference.em_vb.vb import VB, VBSettings, draw_log_shares, evaluate_draws, expect_log, measure_kl
from bayesanno.inference.log_likelihood import leave_one_out
from bayesanno.modeling.expectation import make_blocks
from tests.inference.answers import data_of
from tests.inference.test_em import MODELS, NOISY, ONE, accuracy
from tests.samples import tiny_data

FEW = {"draws": 50, "chains": 2}


def vb(model, data, *, initvals="auto", relabel=True, draws=1000, chains=4, **options):
    more = {"method_options": options, "initvals": initvals, "relabel": relabel, "draws": draws, "chains": chains}
    return ba.fit(model, data, method="vb", check=False, **more, **ONE)


def problem_of(model, data, size=None, **settings):
    return VB(model, data, make_blocks(data, size), VBSettings(**settings))


def search(problem, data, **more):
    options = {"initvals": "auto", "exchangeable": False, "random_seed": 1, "progressbar": False}
    return find_best(problem, data, **(options | more))


@pytest.fixture(scope="module")
def approximation(crowd):
    with pytest.warns(ba.ConvergenceWarning, match="^pareto-k: "):
        return vb("mace", crowd[0])


class TestFit:
    def test_the_bound_is_below_the_likelihood_and_the_mean_log_ratio(self, approximation):
        assert (approximation.attrs["method"], approximation.attrs["yields"]) == ("vb", "approximation")
        found = ba.diagnostics_of(approximation)
        assert found["climb"]["elbo"] == found["climb"]["objective"] < found["climb"]["log_likelihood"]
        assert (found["max_rhat"], found["n_chains"], found["n_draws"]) == (None, None, 4000)
        assert approximation["sample_stats"]["log_ratio"].mean() == pytest.approx(found["climb"]["elbo"], abs=15)

    def test_draws_have_the_moments_of_q(self, approximation, crowd):
        problem = problem_of(MODELS["mace"], crowd[0])
        q = search(problem, crowd[0]).best.point
        for name, mean in problem.as_values(problem.mean_shares(q)).items():
            draws = approximation["posterior"][name].values[0]
            total = q[name].sum(axis=-1) if problem.is_pair(name) else q[name].sum(axis=-1, keepdims=True)
            sd = np.sqrt(mean * (1 - mean) / (total + 1))
            assert (np.abs(draws.mean(axis=0) - mean) < 5 * sd / np.sqrt(len(draws))).all()
            np.testing.assert_allclose(draws.std(axis=0), sd, rtol=0.1)

    def test_labels_and_views_are_those_of_q(self, approximation, crowd):
        """Who spams, by the odds of the two explanations of an annotation."""
        data = crowd[0]
        problem = problem_of(MODELS["mace"], data)
        found = search(problem, data)
        np.testing.assert_allclose(approximation["latent"]["probability"], found.probability, atol=1e-4)
        know, spam = np.exp(expect_log(found.best.point["competence"]))[data.annotator].T
        habit = np.exp(expect_log(found.best.point["strategy"]))[data.annotator, data.label]
        right = found.probability[data.item, data.label]
        np.testing.assert_allclose(approximation["latent"]["spam"], 1 - right * know / (know + spam * habit), atol=1e-4)

    def test_what_takes_draws_works_and_what_takes_chains_is_refused(self, approximation, crowd, refuses):
        assert np.isfinite(leave_one_out(approximation).elpd)
        predicted = ba.predict_labels(approximation, crowd[0])
        assert (predicted["label"] == ba.label_table(approximation)["label"]).mean() > 0.98
        with refuses(FitError, "this fit by vb has no chains"):
            ba.split_modes(approximation)


def test_small_concentrations_are_drawn_by_their_logs(rng):
    q = np.array([1e-4, 1e-4, 3.0])
    logs = draw_log_shares(q, 2_000, rng)
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(np.exp(logs).sum(axis=-1), 1, rtol=1e-12)
    np.testing.assert_allclose(logs.mean(axis=0), expect_log(q), rtol=0.1, atol=1e-3)
    assert measure_kl(q, q) == 0


def test_blocks_and_chunks_of_any_size_give_the_same_numbers(crowd, monkeypatch):
    data, model, found = crowd[0], MODELS["mace"], []
    for size, chunk in ((None, of_vb.CHUNK_BYTES), (7, 1), (100, 10**5)):
        monkeypatch.setattr(of_vb, "CHUNK_BYTES", chunk)
        problem = problem_of(model, data, size)
        end = iterate(problem, problem.as_shares(model.start(data)))
        _, values = of_vb.draw_from(problem, problem.prior, 8, np.random.default_rng(1))
        found.append((end.objective, end.point["competence"], *evaluate_draws(problem, values)))
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_allclose(one, same, rtol=1e-8)


@NOISY
def test_fewer_draws_are_kept_where_they_are_large_and_no_log_likelihoods(monkeypatch):
    data = tiny_data()
    size = 8 * (data.n_annotators * 4 + 2 + data.n_items)
    monkeypatch.setattr(of_vb, "MAX_BYTES", 60 * size)
    monkeypatch.setattr(of_vb, "MAX_GROUP_BYTES", 100)
    with (
        pytest.warns(ba.errors.SizeWarning, match="60 of 4000 draws are kept"),
        pytest.warns(ba.errors.SizeWarning, match="^no-log-likelihood: "),
    ):
        fit = vb("model_b", data)
    assert fit["posterior"].sizes["draw"] == ba.diagnostics_of(fit)["n_draws"] == 60
    assert "log_likelihood" not in fit.children


@NOISY
def test_initial_values(crowd):
    data, truth = crowd
    given = {name: truth[name].values for name in ("competence", "strategy")}
    steps, model = [], MODELS["mace, uniform"]
    for initvals in ("auto", "vote", "prior", "em", given):
        steps.append(ba.diagnostics_of(vb(model, data, initvals=initvals, restarts=1, **FEW))["climb"]["steps"])
    assert steps[0] == steps[1]
    assert len(set(steps)) > 2


@NOISY
def test_vb_keeps_a_rare_class_and_gives_empty_items_the_prevalence():
    said = {i: "yes" if i in (7, 30, 41) else "no" for i in range(60)}
    data = ba.AnnotationData.from_records(
        [(f"{i}", who, label) for i, label in said.items() for who in ("ada", "bo", "cy", "di")],
        items=[f"{i}" for i in range(61)],
    )
    for model in ("mace", "model_b", "one_coin"):
        fit = vb(MODELS[model], data, **FEW)
        labels = fit["latent"]["probability"].sel(true_class="yes").values
        assert (np.flatnonzero(labels > 0.9) == [7, 30, 41]).all()
        assert labels[60] < 0.3
        if model != "mace":
            of_classes = np.exp(expect_log(np.array([6.0, 60.0])))
            assert labels[60] == pytest.approx(of_classes[0] / of_classes.sum(), abs=0.02)


@pytest.fixture(scope="module")
def adversaries():
    """Seven of ten annotators are wrong four times in five; two labels."""
    rng = np.random.default_rng(3)
    truth = rng.integers(2, size=200)
    wrong = rng.uniform(size=(200, 10)) < np.where(np.arange(10) < 7, 0.8, 0.1)
    return data_of(truth[:, None] ^ wrong, "01", truth=truth)


@NOISY
def test_where_most_are_wrong_a_better_prior_helps(adversaries, wrong_majority):
    """The prior says that annotators are rather right: one that says that they are rather wrong cures that."""
    assert accuracy(vb("one_coin", adversaries, **FEW)) < 0.2
    assert accuracy(vb(ba.models.OneCoin(accuracy_prior=(1.0, 2.0)), adversaries, **FEW)) > 0.8
    sure = ba.models.MACE(competence_prior=(20.0, 1.0))  # to whom three of five who always say "A" are the truth
    assert accuracy(vb(sure, wrong_majority, restarts=30, **FEW)) < 0.5
    assert accuracy(vb("mace", wrong_majority, restarts=30, **FEW)) > 0.9


def test_exchangeable_classes_get_their_names():
    data = ba.read_annotations("@table14")
    model = ba.models.ModelB(confusion_accuracy=0.5)
    problem = problem_of(model, data, restarts=2, tolerance=1e-8)
    kept = search(problem, data, exchangeable=True)
    mean = problem.mean_shares(kept.best.point)
    swapped = {"prevalence": mean["prevalence"][::-1], "confusion": mean["confusion"][:, ::-1]}
    fit = vb(model, data, initvals=swapped, restarts=1, tolerance=1e-8, **FEW)
    assert (fit["sample_stats"]["permutation"] == [1, 0]).all()
    assert ba.diagnostics_of(fit)["relabelled_fraction"] == 1
    assert ba.diagnostics_of(fit)["climb"]["elbo"] == pytest.approx(kept.best.objective, abs=1e-6)
    for name, values in mean.items():
        np.testing.assert_allclose(fit["posterior"][name].mean(("chain", "draw")), values, atol=0.02)
    np.testing.assert_allclose(fit["latent"]["probability"], kept.probability, atol=1e-4)
    right = np.trace(mean["confusion"].sum(axis=0)) / 2
    assert right > data.n_annotators / 2  # of the two namings, that under which annotators are right more often


@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")
def test_few_draws_have_no_pareto_k_and_no_leave_one_out(refuses):
    with pytest.warns(ba.ConvergenceWarning, match="^pareto-k-unknown: "):
        few = ba.fit("one_coin", tiny_data(), method="vb", draws=29, chains=1, random_seed=1, progressbar=False)
    assert ba.diagnostics_of(few)["pareto_k"] is None
    with refuses(FitError, "leave-one-out needs 30 draws or more, and this fit has 29: fit with more"):
        leave_one_out(few)
    enough = ba.fit("one_coin", tiny_data(), method="vb", draws=6, chains=5, random_seed=1, progressbar=False)
    assert np.isfinite([ba.diagnostics_of(enough)["pareto_k"], leave_one_out(enough).elpd]).all()
