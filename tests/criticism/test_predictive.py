"""Predictive checks: statistics by counting, replicates by their process, p-values of right and of wrong models."""

from dataclasses import replace
from itertools import combinations

import arviz_plots as azp
import arviz_stats as azs
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import binom, kstest

import bayesanno as ba
from bayesanno._core.errors import DataError, FitError
from bayesanno.criticism.predictive import check_draws, choose_statistics, predictive_check
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.modeling.posterior import take_draws
from bayesanno.models import EasyHard, ModelAMulti, ModelB, OneCoin
from bayesanno.simulation.quantities import ModelDraws, draw_prior, replicate
from bayesanno.simulation.statistics import OF_ANNOTATIONS, tables_of
from tests.analysis.made import from_prior
from tests.samples import TINY_RECORDS, tiny_data

pytestmark = pytest.mark.usefixtures("by_numpy")  # of few draws

QUIET = {"random_seed": 1, "progressbar": False}
SMALL = {"items": 60, "annotators": 4, "labels": 2, "per_item": 3, "random_seed": 1}
THREE = [("s1", "ada", "x"), ("s1", "bo", "y"), ("s1", "cy", "x"), ("s2", "ada", "z"), ("s2", "bo", "z")]


def test_statistics_are_what_one_counts():
    data = tiny_data()
    seen = {name: dict(zip(one.of, one.measure(data.label).tolist(), strict=True))
            for name, make in OF_ANNOTATIONS.items() for one in [make(data)]}  # fmt: skip
    answers = {}
    for item, who, label in TINY_RECORDS:
        answers.setdefault(item, []).append((who, label))
    yes = [sum(label == "yes" for _, label in given) for given in answers.values()]
    assert seen["votes_per_item"] == {f"{n} x yes": yes.count(n) for n in range(5)}
    several = [{label for _, label in given} for given in answers.values() if len(given) > 1]
    assert seen["unanimous"] == {"": pytest.approx(sum(len(labels) == 1 for labels in several) / len(several))}
    assert seen["label_counts"] == {
        f"{name}: yes": sum((who, label) == (name, "yes") for _, who, label in TINY_RECORDS)
        for name in ("ada", "bo", "cy")
    }
    pairs = {}
    for given in answers.values():
        for (one, first), (other, second) in combinations(given, 2):
            if one != other:
                pairs.setdefault(tuple(sorted((one, other))), []).append(first == second)
    assert seen["pair_agreement"] == pytest.approx({f"{a} & {b}": np.mean(same) for (a, b), same in pairs.items()})
    rest = {
        name: np.mean([one for who, same in pairs.items() if name in who for one in same])
        for name in ("ada", "bo", "cy")
    }
    assert seen["rest_agreement"] == pytest.approx(rest)


def test_of_more_than_two_labels_each_is_counted():
    data = ba.AnnotationData.from_records(THREE)
    votes = OF_ANNOTATIONS["votes_per_item"](data)
    assert dict(zip(votes.of, votes.measure(data.label).tolist(), strict=True)) == {
        "0 x x": 1, "1 x x": 0, "2 x x": 1, "3 x x": 0,
        "0 x y": 1, "1 x y": 1, "2 x y": 0, "3 x y": 0,
        "0 x z": 1, "1 x z": 0, "2 x z": 1, "3 x z": 0,
    }  # fmt: skip
    counts = OF_ANNOTATIONS["label_counts"](data)
    assert counts.of == tuple(f"{who}: {label}" for who in ("ada", "bo", "cy") for label in "xyz")
    assert counts.measure(data.label).tolist() == [1, 0, 1, 0, 1, 1, 1, 0, 0]


def test_of_many_pairs_those_with_most_answers_are_kept(monkeypatch):
    monkeypatch.setattr("bayesanno.simulation.statistics.MOST_PAIRS", 1)
    data = ba.AnnotationData.from_records(THREE)
    one = OF_ANNOTATIONS["pair_agreement"](data)
    assert one.of == ("ada & bo",)
    assert one.measure(data.label).tolist() == [0.5]


def model_b_draws(confusion, prevalence, n):
    """Draws that are all alike."""
    values = {
        "prevalence": (("true_class",), prevalence),
        "confusion": (("annotator", "true_class", "response"), confusion),
    }
    return xr.Dataset(values).expand_dims(chain=1, draw=n)


def test_replicates_follow_the_process_and_keep_controls(rng):
    data = tiny_data(controls={"s1": "no", "s5": "yes"})
    confusion = np.array([[[0.9, 0.1], [0.3, 0.7]], [[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.2, 0.8]]])
    draws = model_b_draws(confusion, np.array([0.25, 0.75]), 4000)
    labels = np.array(
        [label for label, _ in replicate(ModelDraws(ModelB(), data, draws, {}), rng)]
    )  # (replicate, annotation)
    truth = np.tile([0.25, 0.75], (6, 1))
    truth[0], truth[4] = [1, 0], [0, 1]
    p = np.einsum("ak,akr->ar", truth[data.item], confusion[data.annotator])[:, 1]  # of "yes", (annotation,)
    yes = labels.sum(axis=0)
    tails = np.minimum(binom.cdf(yes, 4000, p), binom.sf(yes - 1, 4000, p))
    assert (tails > 1e-4).all()
    of_bo = {data.items[item]: column for item, who, column in zip(data.item, data.annotator, labels.T, strict=True)
             if data.annotators[who] == "bo"}  # fmt: skip
    assert (of_bo["s1"] == 0).all()  # bo never errs, and the truth is known
    assert 0.7 < of_bo["s2"].mean() < 0.8  # where it is not, states are drawn again, from the prevalence
    together = (of_bo["s2"] == of_bo["s3"]).mean()  # of two items they are independent
    assert together == pytest.approx(0.25**2 + 0.75**2, abs=0.03)


def test_draws_are_taken_evenly_from_all_chains():
    posterior = xr.Dataset(
        {"x": (("chain", "draw"), np.arange(20).reshape(2, 10)), "y": (("chain", "draw", "z"), np.zeros((2, 10, 3)))}
    )
    taken = take_draws(posterior, 5)
    assert taken["x"].dims == ("chain", "draw")
    assert taken["x"].values.tolist() == [[0, 5, 10, 14, 19]]
    assert dict(taken["y"].sizes) == {"chain": 1, "draw": 5, "z": 3}
    assert take_draws(posterior, 50)["x"].values.tolist() == [list(range(20))]


def statistics(data, names=None):
    return [choose_statistics(table, names) for table in tables_of(data)]


def make_data(model, design, draws, rng):
    """Data by a model, one for each draw of its parameters."""
    replicates = replicate(ModelDraws(model, design, draws, {}), rng)
    return [replace(design, label=label) for label, _ in replicates]


WHOLE = ["unanimous", "votes_per_item", "label_counts"]


def p_of(check):
    return check.table[check.table["level"] == "total"].set_index("statistic")["p"].to_dict()


def p_under(prior, model, rng, n):
    """The p of each statistic as a whole, in data by one model, replicated by another's prior: one row for each."""
    design, found = ba.make_design(**SMALL), []
    draws = draw_prior(prior, design, 49, rng)
    for data in make_data(model, design, draw_prior(model, design, n, rng), rng):
        found.append(p_of(check_draws(ModelDraws(prior, data, draws, {}), statistics(data, WHOLE), rng)))
    return pd.DataFrame(found)


def test_prior_p_value_is_uniform_under_the_right_model_only(rng):
    """What was seen and its replicates are drawn alike: p is uniform, but for the draws that all checks share."""
    right = p_under(OneCoin(), OneCoin(), rng, 40)
    other = p_under(OneCoin(accuracy_prior=(95, 5)), OneCoin(), rng, 12)
    for name in WHOLE:
        assert kstest(right[name], "uniform").pvalue > 1e-3, name
    assert kstest(other["unanimous"], "uniform").pvalue < 1e-4


def repeat(n, **values):
    return xr.Dataset({name: (dims, value) for name, (dims, value) in values.items()}).expand_dims(chain=1, draw=n)


def p_after_fitting(data):
    found = []
    for one in data:
        settings = {"method": "vb", "method_options": {"restarts": 2}, "draws": 100, "chains": 1, "check": False}
        fit = ba.fit(OneCoin(), one, **settings, **QUIET)
        found.append(p_of(predictive_check(fit, ["votes_per_item", "label_counts"], replicates=100, random_seed=1)))
    return pd.DataFrame(found)


@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")
def test_posterior_p_value_finds_a_wrong_model_only(rng):
    """If p were uniform, it would be below 0.05 in 1 of 20, and in more than 5 of them once in 3,000."""
    design = ba.make_design(items=100, annotators=5, labels=2, per_item=5, random_seed=1)
    prevalence = np.array([0.6, 0.4])
    right = repeat(20, prevalence=(("true_class",), prevalence),
                   accuracy=(("annotator",), np.array([0.9, 0.85, 0.8, 0.75, 0.7])))  # fmt: skip
    p = p_after_fitting(make_data(OneCoin(), design, right, rng))
    assert (p < 0.05).sum().max() <= 5
    assert 0.2 < p["votes_per_item"].median() < 0.95
    wrong = repeat(10, hard_fraction=((), 0.5), coin=(("annotator", "response"), np.full((5, 2), 0.5)),
                   easy_prevalence=(("response",), prevalence))  # fmt: skip
    p = p_after_fitting(make_data(EasyHard(), design, wrong, rng))
    assert (p["votes_per_item"] < 0.05).sum() >= 8  # of 56 other tables, 54 were
    assert (p["label_counts"] > 0.05).any()  # these it does predict: parameters are fitted to them


@pytest.mark.slow
def test_dawid_and_skene_fail_on_caries_in_the_votes_per_item(shared):
    """Dentists are not independent given the class: 5 of 5 see caries more often than the model has it, and 2 of 5."""
    data = ba.read_annotations(shared / "data" / "caries.csv")
    fit = ba.fit("model_b", data, **QUIET)
    assert ba.diagnostics_of(fit)["max_rhat"] < 1.01
    table = predictive_check(fit, random_seed=1).table
    whole = table[table["level"] == "total"].set_index("statistic")["p"]
    assert set(whole.index[whole < 0.05]) == {"votes_per_item", "unanimous"}
    assert whole["votes_per_item"] < 0.005
    votes = table[table["statistic"] == "votes_per_item"].set_index("of")
    assert votes.loc["5 x 2", "observed"] > votes.loc["5 x 2", "eti89_ub"]
    assert votes.loc["2 x 2", "observed"] > votes.loc["2 x 2", "eti89_ub"]
    assert votes.loc["1 x 2", "observed"] < votes.loc["1 x 2", "eti89_lb"]


def test_the_table_and_the_replicates_agree(tiny_fit):
    check = predictive_check(tiny_fit, replicates=200, random_seed=1)
    table = check.table
    assert list(table) == ["statistic", "level", "of", "observed", "mean", "eti89_lb", "eti89_ub", "p"]
    assert table["statistic"].unique().tolist() == list(OF_ANNOTATIONS)
    assert (table["level"] == "total").groupby(table["statistic"]).sum().eq(1).all()
    assert check.replicated.shape == (200, len(table))
    np.testing.assert_allclose(table["mean"], check.replicated.mean(axis=0))
    np.testing.assert_allclose(table["eti89_lb"], np.quantile(check.replicated, 0.055, axis=0))
    seen, again = table["observed"].to_numpy(), check.replicated
    equal = (again == seen).sum(axis=0) + 1
    above = ((again > seen).sum(axis=0) + equal / 2) / 201
    one = ((table["level"] == "each") | (table["statistic"] == "unanimous")).to_numpy()
    np.testing.assert_allclose(table["p"][one], np.minimum(2 * np.minimum(above, 1 - above), 1)[one])
    np.testing.assert_allclose(table["p"][~one], ((again >= seen).sum(axis=0) + 1)[~one] / 201)
    same = predictive_check(tiny_fit, replicates=200, random_seed=1)
    pd.testing.assert_frame_equal(same.table, table)
    assert not predictive_check(tiny_fit, replicates=200, random_seed=2).table["mean"].equals(table["mean"])


def test_the_prior_knows_nothing_of_the_answers(tiny_fit):
    """Accuracy of 0.6 on average: annotators agree on about half of the items, whatever was seen."""
    check = predictive_check(tiny_fit, ["pair_agreement", "label_counts"], prior=True, random_seed=1)
    agreed = check.table.query("statistic == 'pair_agreement' and of != ''")
    assert agreed["mean"].between(0.48, 0.62).all()
    other = ba.fit("model_b", tiny_data(), method="em", **QUIET)  # a point has a prior too
    pd.testing.assert_frame_equal(
        predictive_check(other, ["pair_agreement", "label_counts"], prior=True, random_seed=1).table, check.table
    )


def test_several_dimensions_have_the_statistics_of_each(rng):
    part = ba.make_design(items=40, annotators=4, labels=["a", "b"], per_item=3, random_seed=1)
    design = MultiAnnotationData(by_dimension={"first": part, "second": part})
    model = ModelAMulti(frequency="shared")
    data, _ = ba.simulate(model, design, random_seed=1)
    table = check_draws(ModelDraws(model, data, draw_prior(model, data, 30, rng), {}), statistics(data), rng).table
    assert list(table)[:3] == ["dimension", "statistic", "level"]
    for dimension, one in data.by_dimension.items():
        own = table[
            (table["dimension"] == dimension) & (table["statistic"] == "label_counts") & (table["level"] == "each")
        ]
        assert own["observed"].tolist() == OF_ANNOTATIONS["label_counts"](one).measure(one.label).tolist()
        answered = np.bincount(one.annotator)
        assert (own["mean"].to_numpy() < answered).all()


def test_what_cannot_be_checked_is_refused(tiny_fit, refuses):
    with refuses(FitError, "there is no statistic 'unanimos': choose from .*; did you mean 'unanimous'"):
        predictive_check(tiny_fit, "unanimos")
    with refuses(FitError, "statistic is empty: choose from votes_per_item"):
        predictive_check(tiny_fit, [])
    with refuses(FitError, "replicates is 19: it must be at least 20"):
        predictive_check(tiny_fit, replicates=19)
    with refuses(FitError, "this fit by em is one point, .*a predictive check takes draws"):
        predictive_check(ba.fit("model_b", tiny_data(), method="em", **QUIET))
    with refuses(FitError, "random_seed is -1"):
        predictive_check(tiny_fit, random_seed=-1)


def test_a_statistic_of_one_pair_has_a_row_as_a_whole_too(rng):
    data = ba.AnnotationData.from_records(
        [(f"s{i}", who, "ab"[(i + (who == "bo")) % 2]) for i in range(6) for who in ("ada", "bo")]
    )
    draws = draw_prior(OneCoin(), data, 30, rng)
    table = check_draws(ModelDraws(OneCoin(), data, draws, {}), statistics(data, "pair_agreement"), rng).table
    assert table["of"].tolist() == ["", "ada & bo"]
    assert table["observed"][1] == 0


ALONE = {
    "no item has two annotations": (
        [("s1", "ada", "no"), ("s2", "bo", "yes")], ["unanimous", "pair_agreement", "rest_agreement"],
    ),
    "no item has answers of two annotators": (
        [("s1", "ada", "no"), ("s1", "ada", "yes"), ("s2", "bo", "no")], ["pair_agreement", "rest_agreement"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("match", ALONE)
def test_agreement_without_shared_items_is_left_out_or_refused(refuses, match):
    records, without = ALONE[match]
    data = ba.AnnotationData.from_records(records)
    (chosen,) = statistics(data)
    assert list(chosen) == [name for name in OF_ANNOTATIONS if name not in without]
    for name in without:
        with refuses(DataError, match):
            statistics(data, name)


@pytest.mark.filterwarnings("ignore:Variables annotations in:UserWarning")  # two labels look binary to ArviZ
def test_predictions_are_groups_that_arviz_reads(tiny_fit):
    fit = tiny_fit
    whole = ba.add_predictions(fit, replicates=50, random_seed=1)
    assert "prior" not in fit.children
    prior, posterior = whole["prior"].dataset, fit["posterior"].dataset
    assert dict(prior.sizes) == {"chain": 1, "draw": 50, "annotator": 3, "true_class": 2, "response": 2}
    assert prior["annotator"].values.tolist() == posterior["annotator"].values.tolist()
    assert set(prior.data_vars) == set(posterior.data_vars)
    for group in ("prior_predictive", "posterior_predictive"):
        answers = whole[group]["annotations"]
        assert answers.dims == ("chain", "draw", "annotation")
        assert set(np.unique(answers)) == {0, 1}
    again = ba.add_predictions(fit, replicates=50, random_seed=1)
    xr.testing.assert_identical(whole["posterior_predictive"].dataset, again["posterior_predictive"].dataset)
    assert np.isfinite(azs.bayes_factor(whole, var_names=["accuracy"], ref_vals=0.5).to_array()).all()
    for plot in (azp.plot_ppc_dist, azp.plot_ppc_pit, azp.plot_ppc_tstat, azp.plot_prior_posterior):
        assert any(axes.has_data() for axes in plot(whole).viz["figure"].item().axes)
        plt.close("all")


@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")  # of so few draws
def test_predicted_answers_have_the_frequencies_of_the_model():
    """Of one annotator who is nearly always right, and of a prevalence that is known."""
    records = [(f"i{n}", "ada", "yes" if n < 90 else "no") for n in range(120)]
    data = ba.AnnotationData.from_records(records, controls={f"i{n}": "yes" if n < 90 else "no" for n in range(120)})
    fit = ba.fit("one_coin", data, method="vb", draws=200, chains=2, check=False, **QUIET)
    whole = ba.add_predictions(fit, replicates=200, random_seed=1)
    is_yes = whole["posterior_predictive"]["annotations"].values == data.labels.index("yes")
    expected = 0.75 * float(fit["posterior"]["accuracy"].mean()) + 0.25 * float(1 - fit["posterior"]["accuracy"].mean())
    assert is_yes.mean() == pytest.approx(expected, abs=0.01)
    before = whole["prior_predictive"]["annotations"].values == data.labels.index("yes")
    right = float(whole["prior"]["accuracy"].mean())
    assert before.mean() == pytest.approx(0.75 * right + 0.25 * (1 - right), abs=0.02)


@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")  # of so few draws
def test_predictions_of_points_and_of_counts(refuses):
    counts = ba.CountData(items=("s1", "s2", "s3"), successes=[3, 0, 9], trials=[10, 9, 9])
    fit = from_prior(ba.get_model("binomial_mixture"), counts, n=400)
    answers = ba.add_predictions(fit, replicates=20, random_seed=1)["posterior_predictive"]["successes"].values[0]
    assert (answers <= counts.trials).all()
    assert answers.shape == (20, 3)  # (draw, item)
    whole = ba.criticism.item_predictions(fit, random_seed=1)
    assert (whole["posterior_predictive"]["successes"].max(["chain", "draw"]) <= counts.trials).all()
    assert azs.loo_pit(whole)["successes"].sizes == {"item": 3}
    point = ba.fit("one_coin", tiny_data(), method="em", **QUIET)
    with refuses(FitError, match="posterior predictions"):
        ba.add_predictions(point)
    with refuses(DataError, match="replicates is 0"):
        ba.add_predictions(fit, replicates=0)
    with refuses(FitError, match="predictions of items"):
        ba.criticism.item_predictions(point)


@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")  # by VB
def test_leave_one_out_pit_by_item():
    """Uniform if the model is right; with easy items and hard ones, the votes of items are more extreme."""
    design = ba.make_design(items=300, annotators=8, labels=3, per_item=5, random_seed=1)
    right, _ = ba.simulate("one_coin", design, parameters={"accuracy": np.full(8, 0.7)}, random_seed=2)
    is_easy = right.item % 3 > 0
    label = np.where(is_easy, right.item % 3, np.random.default_rng(1).integers(3, size=right.n_annotations))
    p = []
    for data in (right, replace(right, label=label)):
        fit = ba.fit("one_coin", data, method="vb", draws=200, chains=2, check=False, **QUIET)
        whole = ba.criticism.item_predictions(fit, random_seed=1)
        assert whole["observed_data"]["most_votes"].values.tolist() == data.votes.max(axis=1).tolist()
        p.append(kstest(azs.loo_pit(whole)["most_votes"], "uniform").pvalue)
    assert p[0] > 0.01
    assert p[1] < 1e-6
    assert azp.plot_loo_pit(whole).viz["figure"].item().axes[0].has_data()
    plt.close("all")
