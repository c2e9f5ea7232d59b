"""EM as a method of `fit`: a point that says it is one, whose starts are compared, on data of every awkward kind."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesanno as ba
import bayesanno.inference.em_vb.fixed_point
from bayesanno._core.errors import FitError
from bayesanno.inference.em_vb.em import EM, EMSettings, find_point, start_at_point
from bayesanno.inference.em_vb.fixed_point import iterate
from bayesanno.inference.em_vb.restarts import AGREE
from bayesanno.inference.log_likelihood import leave_one_out
from bayesanno.inference.methods import choose_method
from bayesanno.modeling.expectation import find_posterior, make_blocks
from bayesanno.modeling.posterior import recover
from tests.samples import COMMAND, WITH_EM, tiny_data

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
    def test_groups_and_variables(self, point, crowd):
        data = crowd[0]
        assert set(point.children) == {
            "posterior", "sample_stats", "log_likelihood", "latent", "observed_data", "constant_data",
            "labels", "adjustment",
        }  # fmt: skip
        assert dict(point["posterior"].sizes) == {
            "chain": 1,
            "draw": 1,
            "annotator": 30,
            "response": 3,
            "true_class": 3,
        }
        dims = {name: variable.dims for name, variable in point["latent"].data_vars.items()}
        of_states = dict.fromkeys(("probability", "log_probability"), ("item", "true_class"))
        assert dims == of_states | {"entropy": ("item",), "spam": ("annotation",)}
        assert (point.attrs["method"], point.attrs["yields"]) == ("em", "point")
        assert json.loads(point.attrs["settings"]) == {
            "objective": "ml", "restarts": 10, "steps": 5_000, "tolerance": 1e-6, "smoothing": None, "epsilon": 0.0,
        }  # fmt: skip
        assert point["log_likelihood"]["annotations"].shape == (1, 1, data.n_items)
        found = ba.diagnostics_of(point)
        assert float(point["log_likelihood"]["annotations"].sum()) == pytest.approx(found["climb"]["log_likelihood"])
        assert point["sample_stats"]["lp"].item() == found["climb"]["objective"]
        assert (found["max_rhat"], found["min_ess_bulk"], found["n_chains"]) == (None, None, None)

    def test_labels_and_views_are_those_of_the_formula(self, point):
        expected = recover(ba.model_of(point), ba.data_of(point), point["posterior"].to_dataset()).latent
        for name in ("probability", "log_probability", "entropy", "spam"):
            np.testing.assert_allclose(point["latent"][name], expected[name], rtol=1e-9, atol=1e-12)

    def test_it_is_saved_and_loaded(self, point, tmp_path):
        ba.save(point, tmp_path / "posterior.nc")
        xr.testing.assert_identical(ba.load(tmp_path), point)

    def test_tables_have_no_interval(self, point, crowd):
        annotators, parameters = ba.annotator_table(point), ba.summary(point)
        assert list(parameters.columns) == [
            "parameter", "mean", "sd", "eti89_lb", "eti89_ub", "ess_bulk", "ess_tail", "r_hat", "mcse_mean",
            "mcse_sd",
        ]  # fmt: skip
        for table, prefix in ((annotators, "competence_"), (parameters, "")):
            assert (
                table[[prefix + name for name in ("sd", "eti89_lb", "eti89_ub", "ess_bulk", "r_hat")]]
                .isna()
                .all(axis=None)
            )
            assert table[prefix + "mean"].notna().all()
        truth = crowd[1]["competence"].values
        assert np.corrcoef(annotators["competence_mean"], truth)[0, 1] > 0.95
        competence = parameters.set_index("parameter")["mean"][f"competence[{crowd[0].annotators[3]}]"]
        assert competence == annotators["competence_mean"][3]
        assert accuracy(point) > 0.9
        assert ba.coverage_table(point, [0.75])["accuracy"].item() >= accuracy(point)

    def test_what_takes_draws_is_refused(self, point, refuses):
        for ask, what in (
            (lambda: ba.compare_annotators(point), "comparing annotators takes draws"),
            (lambda: leave_one_out(point), "leave-one-out needs draws"),
        ):
            with refuses(FitError, f"this fit by em is one point, and .*{what} of the posterior"):
                ask()
        for ask in (ba.split_modes, ba.combine_modes):
            with refuses(FitError, "this fit by em has no chains"):
                ask(point)

    def test_the_same_seed_gives_the_same_fit(self, point, crowd):
        again = em("mace", crowd[0])
        xr.testing.assert_identical(again["posterior"].to_dataset(), point["posterior"].to_dataset())

    def test_chains_start_off_the_edges_near_the_point(self, crowd):
        start = start_at_point(MODELS["mace"], crowd[0], 1)
        assert all(((0 < values) & (values < 1)).all() for values in start.values())
        np.testing.assert_allclose(start["strategy"].sum(axis=1), 1)
        truth = crowd[1]["competence"].values
        assert np.corrcoef(start["competence"], truth)[0, 1] > 0.9


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
    def test_the_start_is_not_misled_by_a_wrong_majority(self, wrong_majority):
        assert accuracy(em("mace", wrong_majority, restarts=1)) > 0.9

    def test_steps_that_do_not_suffice_are_told_of(self):
        with pytest.warns(ba.ConvergenceWarning, match="^em-steps: EM "):
            fit = em("model_b", ba.read_annotations("@table14"), restarts=1, steps=5)
        found = ba.diagnostics_of(fit)["climb"]
        assert (found["converged"], found["unfinished"], found["total_steps"]) == (False, 1, 5)

    def test_starts_that_share_the_cores_end_where_they_do_in_turn(self, crowd, monkeypatch):
        found = []
        monkeypatch.setattr(bayesanno.inference.em_vb.fixed_point, "COARSE", 0.0)
        for many in (1, 10**9):
            monkeypatch.setattr(bayesanno.inference.em_vb.fixed_point, "MANY", many)
            found.append(find_point(MODELS["mace"], crowd[0], EMSettings(restarts=4), random_seed=1)[1])
        one, other = found
        assert one.comparison == other.comparison
        np.testing.assert_array_equal(one.best.point["competence"], other.best.point["competence"])

    @NOISY
    def test_starts_out_of_reach_are_not_followed_to_their_end(self, wrong_majority, monkeypatch):
        found = []
        for many in (1, 10**9):
            monkeypatch.setattr(bayesanno.inference.em_vb.fixed_point, "MANY", many)
            found.append(
                find_point(MODELS["mace"], wrong_majority, EMSettings(restarts=12, tolerance=1e-8), random_seed=1)[1]
            )
        some, all_ = (one.comparison for one in found)
        assert some["unfinished"] > 0 == all_["unfinished"]
        assert some["total_steps"] < all_["total_steps"]
        assert (some["converged"], some["agreed"]) == (True, all_["agreed"])
        assert some["objective"] == pytest.approx(all_["objective"], abs=1e-6)
        np.testing.assert_allclose(found[0].probability, found[1].probability, atol=1e-6)
        few = EMSettings(restarts=3, steps=4)
        stopped = find_point(MODELS["mace"], wrong_majority, few, random_seed=1)[1].comparison
        monkeypatch.setattr(bayesanno.inference.em_vb.fixed_point, "MANY", 1)
        assert find_point(MODELS["mace"], wrong_majority, few, random_seed=1)[1].comparison == stopped

    def test_initial_values(self, crowd):
        data, truth = crowd
        given = {name: truth[name].values for name in ("competence", "strategy")}
        one = find_point(MODELS["mace, uniform"], data, EMSettings(restarts=1), initvals=given, random_seed=1)[1]
        vote = find_point(MODELS["mace, uniform"], data, EMSettings(restarts=1), initvals="vote", random_seed=1)[1]
        prior = find_point(MODELS["mace, uniform"], data, EMSettings(restarts=1), initvals="prior", random_seed=1)[1]
        assert one.best.objective == pytest.approx(vote.best.objective, abs=AGREE)
        assert len({one.best.steps, vote.best.steps, prior.best.steps}) > 1

    def test_initial_values_that_cannot_be(self, refuses):
        data = tiny_data()
        for given, what in (
            ({"nothing": 1}, "initvals: the model has no free variable 'nothing': it has competence, strategy, prev"),
            ({"competence": [0.5]}, r"initvals: competence has shape \(1,\), the model's is \(3,\)"),
            ({"competence": [0.5, 2, 0.1]}, "initvals: competence must hold probabilities"),
            ({"prevalence": [0.5, 0.6]}, "initvals: prevalence must hold probabilities"),
        ):
            with refuses(FitError, what):
                em("mace", data, initvals=given)


def records(*triples, **more):
    return ba.AnnotationData.from_records(triples, **more)


AWKWARD = {
    "a rare class": lambda: records(
        *((f"{i}", who, "yes" if i == 7 else "no") for i in range(60) for who in ("ada", "bo", "cy", "di"))
    ),
    "one label only": lambda: records(*((f"{i}", who, "no") for i in range(9) for who in "abc"), labels=["no", "yes"]),
    "an annotator with one answer": lambda: records(
        *((f"{i}", who, str(i % 2)) for i in range(20) for who in "abc"), ("3", "once", "0")
    ),
    "items without answers": lambda: records(
        *((f"{i}", who, str(i % 2)) for i in range(9) for who in "abc"), items=[f"{i}" for i in range(12)]
    ),
    "two annotators who never agree": lambda: records(
        *((f"{i}", who, str(k)) for i in range(9) for k, who in enumerate("ab"))
    ),
    "one annotation": lambda: records(("s1", "ada", "no"), labels=["no", "yes"]),
    "an item answered 2,000 times": lambda: records(
        *(("s1", f"w{i % 40}", "yes" if i % 3 else "no") for i in range(2000)), ("s2", "w1", "no"), ("s2", "w2", "yes")
    ),
    "everything known": lambda: records(
        *((f"{i}", who, str(i % 2)) for i in range(4) for who in "abc"),
        controls={f"{i}": str(i // 2) for i in range(4)},
    ),
}  # fmt: skip


@NOISY
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("awkward", AWKWARD)
def test_awkward_data_give_a_proper_point(model, awkward):
    data = AWKWARD[awkward]()
    for options in ({}, {"objective": "map"}, {"epsilon": 0.1}, {"smoothing": 0}):
        found = find_point(MODELS[model], data, EMSettings(restarts=3, steps=500, **options), random_seed=1)[1]
        assert np.isfinite(found.best.objective)
        assert found.best.change < 1e-4  # where nothing tells two explanations apart, the last steps are many and short
        np.testing.assert_allclose(found.probability.sum(axis=1), 1)
        for values in found.best.point.values():
            assert (values >= 0).all()
            np.testing.assert_allclose(values.sum(axis=-1), 1)
        for name, label in data.controls.items():
            assert found.probability[data.items.index(name), data.classes.index(label)] == 1


@NOISY
def test_a_map_step_never_counts_below_0():
    """Half an answer is taken from each of two by a Beta(.5, .5): here it counts as Beta(1, 1)."""
    data = AWKWARD["an annotator with one answer"]()
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


def test_controls_are_kept():
    data = tiny_data(controls={"s2": "yes"})
    found = find_point(MODELS["model_b"], data, EMSettings(restarts=2), random_seed=1)[1]
    assert found.probability[data.items.index("s2")].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"restarts": 0}, "restarts is 0: it must be at least 1"),
        ({"steps": "many"}, "steps is 'many': it must be a whole number"),
        ({"tolerance": 0}, r"tolerance is 0: it must be a number between 0 and 1 \(exclusive\)"),
        ({"tolerance": float("nan")}, "tolerance is nan: it must be a number"),
        ({"smoothing": -0.1}, "smoothing is -0.1: it must be at least 0"),
        ({"smoothing": "x"}, "smoothing is 'x': it must be a number"),
        ({"epsilon": float("inf")}, "epsilon is inf: it must be at least 0"),
        ({"objective": "vb"}, "objective is 'vb': it must be one of 'ml', 'map'"),
        ({"objective": "map", "smoothing": 0.1}, "smoothing is of objective='ml': with 'map' the model's priors"),
        ({"delta": 1}, "em has no method option 'delta': it has restarts, steps, tolerance, objective, smoothing, eps"),
    ],
)  # fmt: skip
def test_options_that_cannot_be(options, what, refuses):
    with refuses(FitError, what):
        choose_method("em", options)


def test_a_model_without_em_names_those_that_have_it(refuses):
    what = f"easy_hard has no EM: models that have are {WITH_EM}; fit it by nuts"
    for options in ({"method": "em"}, {"initvals": "em"}):
        with refuses(FitError, what):
            ba.fit("easy_hard", tiny_data(), **options, **ONE)


@NOISY
def test_nuts_from_the_point():
    settings = {"draws": 300, "tune": 300, "chains": 2} | ONE
    fit = ba.fit("model_b", tiny_data(), initvals="em", **settings)
    assert ba.diagnostics_of(fit)["max_rhat"] < 1.05
    assert "found" not in ba.diagnostics_of(fit)["modes"]


@pytest.mark.parametrize(
    ("method", "unused"), [("em", ["arviz_stats"]), pytest.param("vb", [], marks=pytest.mark.slow)]
)
def test_the_command_line_needs_no_pymc(tmp_path, method, unused):
    command = ["fit", "mace", "@crowd", "--method", method, "--seed", "1", "--out", "run"]
    code = (
        "import sys; from bayesanno.cli.app import main\ntry: main()\nexcept SystemExit as stop: code = stop.code\n"
        f"print([name for name in {['pymc', 'pytensor', 'nutpie', *unused]} if name in sys.modules], code)"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert done.stdout.splitlines()[-1] == "[] 0"
    assert " of 10 starts agree" in done.stdout
    assert f"s {method.upper()}; seed" in done.stdout
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["diagnostics"]["climb"]["restarts"] == 10
    table = pd.read_csv(tmp_path / "run" / "annotators.csv")
    missing = ["sd", "eti89_lb", "eti89_ub"] * (method == "em") + ["ess_bulk", "ess_tail", "r_hat"]
    assert table.columns[table.isna().all()].tolist() == [f"competence_{name}" for name in missing]
    assert (table["p_chance"].isin([0, 1]).all(), table["p_chance"].nunique()) == (method == "em", 2)
    wrong = subprocess.run(
        [COMMAND, "fit", "mace", "@crowd", "--method", method, "--method-option", "restarts=0", "--out", "run2"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (wrong.returncode, wrong.stderr) == (1, "error: restarts is 0: it must be at least 1\n")


@pytest.mark.parametrize("method", ["em", "vb"])
def test_tables_that_no_memory_holds_are_refused(method, refuses, monkeypatch):
    monkeypatch.setattr(bayesanno.inference.em_vb.fixed_point, "TABLES", 2**55)  # as if so many were held at a time
    with refuses(
        FitError,
        f"the tables of {method.upper()} for 3 annotators and 2 labels take .* more than the memory of this machine",
    ):
        ba.fit("model_b", tiny_data(), method=method, progressbar=False)
