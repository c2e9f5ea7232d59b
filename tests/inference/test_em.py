"""EM as a method of `fit`: a point that says it is one, whose starts are compared, on data of every awkward kind."""

import os
import subprocess
import sys

import numpy as np
import pytest

import bayesanno as ba
import bayesanno.inference.em_vb.fixed_point
from bayesanno._core.messages import FitError
from bayesanno.inference.em_vb.em import EM, EMSettings, find_point
from bayesanno.inference.em_vb.fixed_point import AGREE, iterate
from bayesanno.inference.log_likelihood import leave_one_out
from bayesanno.inference.methods import choose_method
from bayesanno.modeling.expectation import find_posterior, make_blocks
from bayesanno.modeling.posterior import recover
from tests.models.test_any_shape import SHAPES
from tests.samples import WITH_EM, tiny_data

MODELS = {
    "mace": ba.models.MACE(),
    "mace, uniform": ba.models.MACE(class_prior="uniform"),
    "model_b": ba.models.ModelB(),
    "one_coin": ba.models.OneCoin(),
    "one_coin, prevalence": ba.models.OneCoin(errors="prevalence"),
    "pooled_dawid_skene": ba.models.PooledDawidSkene(),
    "class_conditional": ba.models.ClassConditional(),
}
ONE = {"random_seed": 1, "progressbar": False}
NOISY = pytest.mark.filterwarnings(
    "ignore::bayesanno.ConvergenceWarning",
    "ignore::bayesanno.errors.IdentifiabilityWarning",
    "ignore::bayesanno.MisfitWarning",
)


def em(model, data, *, initvals="auto", relabel=True, **options):
    return ba.fit(model, data, method="em", method_options=options, initvals=initvals, relabel=relabel, **ONE)


def accuracy(fit):
    labels = ba.label_table(fit)
    return (labels["label"] == labels["gold"]).mean()


@pytest.fixture(scope="module")
def point(crowd):
    return em("mace", crowd[0])


class TestPoint:
    def test_numbers_of_the_point(self, point):
        assert "log_prior" not in point.children
        assert (point["posterior"].sizes["chain"], point["posterior"].sizes["draw"]) == (1, 1)
        assert (point.attrs["method"], point.attrs["yields"]) == ("em", "point")
        found = ba.diagnostics_of(point)
        assert float(point["log_likelihood"]["annotations"].sum()) == pytest.approx(found["climb"]["log_likelihood"])
        assert point["sample_stats"]["lp"].item() == found["climb"]["objective"]
        assert (found["max_rhat"], found["min_ess_bulk"], found["n_chains"]) == (None, None, None)

    def test_labels_and_views_are_those_of_the_formula(self, point):
        expected = recover(ba.model_of(point), ba.data_of(point), point["posterior"].to_dataset()).latent
        for name in ("probability", "log_probability", "entropy", "spam"):
            np.testing.assert_allclose(point["latent"][name], expected[name], rtol=1e-9, atol=1e-12)

    def test_what_takes_draws_is_refused(self, point, refuses):
        for ask in (ba.compare_annotators, leave_one_out):
            with refuses(FitError, "this fit by em is one point"):
                ask(point)
        with refuses(FitError, "this fit by em has no chains"):
            ba.split_modes(point)


class TestStarts:
    @NOISY
    def test_restarts_find_what_a_wrong_start_does_not(self, wrong_majority):
        wrong = {"competence": np.array([0.05, 0.05, 0.95, 0.95, 0.95])}  # the majority is wrong
        alone = em("mace", wrong_majority, restarts=1, initvals=wrong)
        best = em("mace", wrong_majority, restarts=30, initvals=wrong)
        found = ba.diagnostics_of(best)["climb"]
        assert accuracy(alone) < 0.5 < 0.9 < accuracy(best)
        lower = found["objective"] - ba.diagnostics_of(alone)["climb"]["objective"]
        assert lower > 50
        assert found["restarts"] == 30 == found["agreed"] + sum(other["starts"] for other in found["others"])
        nearest = min(found["others"], key=lambda other: abs(other["nats_lower"] - lower))
        assert nearest["nats_lower"] == pytest.approx(lower, abs=AGREE)
        assert nearest["items_differ"] > 75

    @NOISY
    def test_steps_that_do_not_suffice_are_told_of(self):
        with pytest.warns(ba.ConvergenceWarning, match="^em-steps: EM "):
            fit = em("model_b", tiny_data(), restarts=1, steps=5)
        found = ba.diagnostics_of(fit)["climb"]
        assert (found["converged"], found["unfinished"], found["total_steps"]) == (False, 1, 5)

    @NOISY
    def test_starts_out_of_reach_are_not_followed_to_their_end(self, wrong_majority, monkeypatch):
        found, settings = [], EMSettings(restarts=12, tolerance=1e-8)
        for many in (1, 10**9):
            monkeypatch.setattr(bayesanno.inference.em_vb.fixed_point, "MANY", many)
            found.append(find_point(MODELS["mace"], wrong_majority, settings, random_seed=1)[1])
        some, all_ = (one.comparison for one in found)
        assert some["unfinished"] > 0 == all_["unfinished"]
        assert some["total_steps"] < all_["total_steps"]
        assert (some["converged"], some["agreed"]) == (True, all_["agreed"])
        assert some["objective"] == pytest.approx(all_["objective"], abs=1e-6)
        np.testing.assert_allclose(found[0].probability, found[1].probability, atol=1e-6)

    def test_initial_values_that_cannot_be(self, refuses):
        for given, what in (
            ({"nothing": 1}, "no free variable 'nothing'"),
            ({"competence": [0.5]}, r"competence has shape \(1,\)"),
            ({"competence": [0.5, 2, 0.1]}, "competence must hold probabilities"),
            ({"prevalence": [0.5, 0.6]}, "prevalence must hold probabilities"),
        ):
            with refuses(FitError, f"initvals: .*{what}"):
                em("mace", tiny_data(), initvals=given)


@NOISY
@pytest.mark.parametrize("model", ["mace, uniform", "model_b", "one_coin, prevalence", "class_conditional"])
def test_data_of_every_shape_give_a_proper_point(model):
    """As `test_any_shape` does by the options that there are by default."""
    known = tiny_data(controls={"s1": "yes", "s2": "no", "s3": "no", "s4": "yes", "s5": "no", "s6": "yes"})
    for data in (*SHAPES.values(), known):
        for options in ({"objective": "map"}, {"epsilon": 0.1}, {"smoothing": 0}):
            found = find_point(MODELS[model], data, EMSettings(restarts=2, steps=500, **options), random_seed=1)[1]
            assert np.isfinite(found.best.objective)
            np.testing.assert_allclose(found.probability.sum(axis=1), 1)
            for values in found.best.point.values():
                assert (values >= 0).all()
                np.testing.assert_allclose(values.sum(axis=-1), 1)
    assert (found.probability[np.arange(6), known.control_codes] == 1).all()


@NOISY
def test_a_map_step_never_counts_below_0():
    """Half an answer is taken from each of two by a Beta(.5, .5): here it counts as Beta(1, 1)."""
    data = SHAPES["an annotator with one answer"]
    problem = EM(MODELS["mace"], data, make_blocks(data), EMSettings(objective="map"))
    assert all((added >= 0).all() for added in problem.added.values())
    assert problem.added["competence"].max() == 0
    end = iterate(problem, problem.as_shares(MODELS["mace"].start(data)))
    assert 0 <= end.point["competence"][-1, 0] <= 1


def test_zero_probabilities_give_minus_infinity_and_nan():
    posterior, log_likelihood = find_posterior(np.array([[-np.inf, -np.inf], [-np.inf, -3.0]]))
    assert log_likelihood.tolist() == [-np.inf, -3.0]
    assert np.isnan(posterior[0]).all()
    assert posterior[1].tolist() == [0, 1]


def test_options_and_models_that_cannot_be(refuses):
    for options, what in (
        ({"restarts": 0}, "restarts is 0"),
        ({"tolerance": float("nan")}, "tolerance is nan"),
        ({"objective": "vb"}, "objective is 'vb'"),
        ({"objective": "map", "smoothing": 0.1}, "smoothing is of objective='ml'"),
        ({"delta": 1}, "no method option 'delta'"),
    ):
        with refuses(FitError, what):
            choose_method("em", options)
    for options, name in (({"method": "em"}, "EM"), ({"initvals": "em"}, "EM"), ({"method": "vb"}, "VB")):
        with refuses(FitError, f"easy_hard has no {name}: models that have are {WITH_EM}; fit it by nuts"):
            ba.fit("easy_hard", tiny_data(), **options, **ONE)


def test_the_command_line_needs_no_pymc(tmp_path):
    code = (
        "import sys; from bayesanno.cli.app import main\ntry: main()\nexcept SystemExit as stop: code = stop.code\n"
        "print([name for name in ['pymc', 'pytensor', 'nutpie', 'arviz_stats'] if name in sys.modules], code)"
    )
    command = [sys.executable, "-c", code, "fit", "mace", "@crowd", "--method", "em", "--seed", "1", "--out", "run"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[] 0"


def test_tables_that_no_memory_holds_are_refused(refuses, monkeypatch):
    monkeypatch.setattr(bayesanno.inference.em_vb.fixed_point, "TABLES", 2**55)  # as if so many were held at a time
    with refuses(FitError, "the tables of VB for 3 annotators and 2 labels take .* more than the memory"):
        ba.fit("model_b", tiny_data(), method="vb", progressbar=False)
