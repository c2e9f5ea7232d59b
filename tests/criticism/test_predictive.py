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
from bayesanno._core.messages import DataError
from bayesanno.criticism.predictive import check_draws, choose_statistics, predictive_check
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.modeling.kinds import kind_of
from bayesanno.modeling.kinds.annotations import OF_ANNOTATIONS
from bayesanno.modeling.posterior import take_draws
from bayesanno.models import ModelAMulti, ModelB, OneCoin
from bayesanno.simulation.quantities import ModelDraws, draw_prior, replicate
from tests.analysis.made import from_prior
from tests.inference.draws import fit_quietly
from tests.samples import TINY_RECORDS, tiny_data

pytestmark = pytest.mark.usefixtures("by_numpy")  # of few draws

QUIET = {"random_seed": 1, "progressbar": False}
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
    votes, counts = (OF_ANNOTATIONS[name](data) for name in ("votes_per_item", "label_counts"))
    assert votes.of == tuple(f"{n} x {label}" for label in "xyz" for n in range(4))
    assert votes.measure(data.label).tolist() == [1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0]
    assert counts.of == tuple(f"{who}: {label}" for who in ("ada", "bo", "cy") for label in "xyz")
    assert counts.measure(data.label).tolist() == [1, 0, 1, 0, 1, 1, 1, 0, 0]


def test_of_many_pairs_those_with_most_answers_are_kept(monkeypatch):
    monkeypatch.setattr("bayesanno.modeling.kinds.annotations.MOST_PAIRS", 1)
    data = ba.AnnotationData.from_records(THREE)
    one = OF_ANNOTATIONS["pair_agreement"](data)
    assert one.of == ("ada & bo",)
    assert one.measure(data.label).tolist() == [0.5]


def test_replicates_follow_the_process_and_keep_controls(rng):
    data, n = tiny_data(controls={"s1": "no", "s5": "yes"}), 4000
    confusion = rng.dirichlet([2, 2], size=(3, 2))
    confusion[1] = np.eye(2)
    draws = xr.Dataset({"prevalence": ("true_class", [0.25, 0.75]),
                        "confusion": (("annotator", "true_class", "response"), confusion)})  # fmt: skip
    drawn = ModelDraws(ModelB(), data, draws.expand_dims(chain=1, draw=n), {})
    labels = np.array([label for label, _ in replicate(drawn, rng)])  # (replicate, annotation)
    truth = np.tile([0.25, 0.75], (6, 1))
    truth[0], truth[4] = [1, 0], [0, 1]
    p = np.einsum("ak,akr->ar", truth[data.item], confusion[data.annotator])[:, 1]  # of "yes", (annotation,)
    yes = labels.sum(axis=0)
    assert (np.minimum(binom.cdf(yes, n, p), binom.sf(yes - 1, n, p)) > 1e-4).all()
    by_bo = np.flatnonzero(data.annotator == data.annotators.index("bo"))  # who never errs: the true labels
    two, three = (labels[:, by_bo[data.item[by_bo] == data.items.index(item)][0]] for item in ("s2", "s3"))
    assert (two == three).mean() == pytest.approx(0.25**2 + 0.75**2, abs=0.03)  # items are independent


def test_draws_are_taken_evenly_from_all_chains():
    posterior = xr.Dataset({"x": (("chain", "draw"), np.arange(20).reshape(2, 10))})
    assert take_draws(posterior, 5)["x"].values.tolist() == [[0, 5, 10, 14, 19]]
    assert take_draws(posterior, 50)["x"].values.tolist() == [list(range(20))]


def statistics(data, names=None):
    return [choose_statistics(table, names) for table in kind_of(data).tables(data)]


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
    model = ModelAMulti(frequency="shared")
    data, _ = ba.simulate(model, MultiAnnotationData(by_dimension={"first": part, "second": part}), random_seed=1)
    table = check_draws(ModelDraws(model, data, draw_prior(model, data, 30, rng), {}), statistics(data), rng).table
    counts = table[(table["statistic"] == "label_counts") & (table["level"] == "each")].set_index("dimension")
    for dimension, one in data.by_dimension.items():
        seen = OF_ANNOTATIONS["label_counts"](one).measure(one.label).tolist()
        assert counts.loc[dimension, "observed"].tolist() == seen
        assert (counts.loc[dimension, "mean"] < np.bincount(one.annotator)).all()


@pytest.mark.parametrize(
    ("records", "without", "match"),
    [
        ([("s1", "ada", "no"), ("s2", "bo", "yes")], {"unanimous"}, "answers by two annotators"),
        ([("s1", "ada", "no"), ("s1", "ada", "yes"), ("s2", "bo", "no")], set(), "answers of two annotators"),
    ],
)
def test_agreement_without_shared_items_is_left_out_or_refused(refuses, records, without, match):
    data = ba.AnnotationData.from_records(records)
    without = without | {"pair_agreement", "rest_agreement"}
    assert set(*statistics(data)) == set(OF_ANNOTATIONS) - without
    for name in without:
        with refuses(DataError, match):
            statistics(data, name)


@pytest.mark.filterwarnings("ignore:Variables annotations in:UserWarning")  # two labels look binary to ArviZ
def test_predictions_are_groups_that_arviz_reads(tiny_fit):
    whole = ba.add_predictions(tiny_fit, replicates=50, random_seed=1)
    prior, posterior = whole["prior"].dataset, tiny_fit["posterior"].dataset
    assert dict(prior.sizes) == {"chain": 1, "draw": 50, "annotator": 3, "true_class": 2, "response": 2}
    assert prior["annotator"].values.tolist() == posterior["annotator"].values.tolist()
    assert set(prior.data_vars) == set(posterior.data_vars)
    for group in ("prior_predictive", "posterior_predictive"):
        answers = whole[group]["annotations"]
        assert answers.dims == ("chain", "draw", "annotation")
        assert set(np.unique(answers)) == {0, 1}
    again = ba.add_predictions(tiny_fit, replicates=50, random_seed=1)
    xr.testing.assert_identical(whole["posterior_predictive"].dataset, again["posterior_predictive"].dataset)
    assert np.isfinite(azs.bayes_factor(whole, var_names=["accuracy"], ref_vals=0.5).to_array()).all()
    assert azp.plot_ppc_dist(whole).viz["figure"].item().axes[0].has_data()
    plt.close("all")


def test_predicted_answers_are_of_the_posterior_or_of_the_prior():
    records = [(f"i{n}", "ada", "yes") for n in range(100)]
    data = ba.AnnotationData.from_records(records, labels=["no", "yes"], controls={item: "yes" for item, *_ in records})

    def change(drawn):
        drawn["accuracy"][0] = np.random.default_rng(1).uniform(0.94, 0.96, size=(80, 1))

    whole = ba.add_predictions(from_prior(OneCoin(), data, change=change), replicates=50, random_seed=1)
    after, before = (whole[f"{group}_predictive"]["annotations"].values for group in ("posterior", "prior"))
    assert after.mean() == pytest.approx(0.95, abs=0.02)
    assert before.mean() == pytest.approx(float(whole["prior"]["accuracy"].mean()), abs=0.05)


@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")  # of so few draws
def test_predictions_of_counts():
    counts = ba.CountData(items=("s1", "s2", "s3"), successes=[3, 0, 9], trials=[10, 9, 9])
    fit = from_prior(ba.get_model("binomial_mixture"), counts, n=400)
    answers = ba.add_predictions(fit, replicates=20, random_seed=1)["posterior_predictive"]["successes"].values[0]
    assert (answers <= counts.trials).all()
    assert answers.shape == (20, 3)  # (draw, item)
    whole = ba.criticism.item_predictions(fit, random_seed=1)
    assert (whole["posterior_predictive"]["successes"].max(["chain", "draw"]) <= counts.trials).all()
    assert azs.loo_pit(whole)["successes"].sizes == {"item": 3}


@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")  # by VB
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


def test_leave_one_out_pit_of_ratings(rng):
    """Uniform if values are normal, not if nearly all are the same; items without ratings have none."""
    normal = rng.normal(50, 20, size=80)
    p = []
    for truth in (normal, np.where(np.arange(80) % 8, 50, normal + 60 * np.sign(normal - 50))):
        ratings = truth[:, None] + 6 * rng.normal(size=(80, 5))
        records = [(f"s{i}", f"a{j}", one) for (i, j), one in np.ndenumerate(ratings)]
        items = [*(f"s{i}" for i in range(80)), "empty"]
        data = ba.RatingData.from_records(records, items=items, scale=(-100, 200))
        whole = ba.criticism.item_predictions(fit_quietly("rating", data), random_seed=1)
        assert whole["observed_data"]["item"].values.tolist() == items[:-1]
        np.testing.assert_allclose(whole["observed_data"]["mean_rating"], ratings.mean(axis=1))
        p.append(kstest(azs.loo_pit(whole)["mean_rating"], "uniform").pvalue)
    assert p[0] > 0.01
    assert p[1] < 1e-6
    assert azp.plot_loo_pit(whole).viz["figure"].item().axes[0].has_data()
    plt.close("all")
