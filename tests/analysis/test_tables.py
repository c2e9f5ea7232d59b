"""The tables: what each column holds, computed again here from the fit's draws, or by hand."""

from itertools import product

import arviz as az
import numpy as np
import pandas as pd
import pytest
from arviz_stats.base import array_stats

import bayesanno as ba
from bayesanno._core.errors import DataError, FitError
from bayesanno.analysis.labels import n_kept, score
from tests.samples import LABELS, frequencies_agree

LABEL_COLUMNS = ["item", "label", "probability", "entropy", "n_annotations"]
PROBABILITIES = [f"p[{label}]" for label in LABELS]


def competence(fit):
    return fit["posterior"]["competence"].values  # (chain, draw, annotator)


# --------------------------------------------------------------------------------------------------------- labels


def test_a_label_table_holds_the_posterior_of_each_label(mace_fit, crowd):
    data, _ = crowd
    table = ba.label_table(mace_fit)
    assert table.columns.tolist() == [*LABEL_COLUMNS, *PROBABILITIES, "weight", "agreement", "gold"]
    assert table["item"].tolist() == list(data.items)
    p = table[PROBABILITIES].to_numpy()
    np.testing.assert_array_equal(p, mace_fit["latent"]["probability"].values)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert table["probability"].tolist() == p.max(axis=1).tolist()
    assert table["label"].tolist() == [LABELS[k] for k in p.argmax(axis=1)]
    entropy = -(p * np.log(np.where(p > 0, p, 1))).sum(axis=1)
    np.testing.assert_allclose(table["entropy"], entropy, atol=1e-12)
    np.testing.assert_allclose(table["weight"], 1 - entropy / np.log(3), atol=1e-12)
    assert table["n_annotations"].tolist() == data.to_frame().groupby("item", sort=False).size().tolist()
    assert table["gold"].tolist() == [data.gold[item] for item in data.items]


@pytest.mark.parametrize(("coverage", "n"), [(1, 400), (0.9, 360), (0.0001, 1)])
def test_coverage_keeps_the_items_of_least_entropy(mace_fit, coverage, n):
    table = ba.label_table(mace_fit, coverage=coverage)
    assert table.columns[-1] == "kept"
    kept, left = table[table["kept"]], table[~table["kept"]]
    assert len(kept) == n == n_kept(400, coverage)
    assert [n_kept(7, share) for share in (0.9, 0.8, 0.94, 0.01)] == [6, 6, 7, 1]
    assert kept["entropy"].max() <= left["entropy"].min() or left.empty


def test_label_table_has_a_gold_column_only_with_gold(tiny_fit):
    assert ba.label_table(tiny_fit)["gold"].tolist() == ["yes", "no", "", "yes", "", ""]
    bare = tiny_fit.copy()
    bare["constant_data"] = bare["constant_data"].to_dataset().assign(gold=("item", [""] * 6))
    assert "gold" not in ba.label_table(bare)
    assert score(bare) == {}


@pytest.mark.parametrize("coverage", [0, 1.01, float("nan")])
def test_a_coverage_out_of_its_range_is_refused(refuses, mace_fit, coverage):
    with refuses(FitError, "coverage is .*: it must be above 0 and at most 1"):
        ba.label_table(mace_fit, coverage=coverage)
    with refuses(FitError, "coverage is .*: it must be above 0 and at most 1"):
        ba.coverage_table(mace_fit, [0.5, coverage])


def test_the_coverage_table_is_the_accuracy_of_the_surest_items(mace_fit):
    labels = ba.label_table(mace_fit).sort_values("entropy", kind="stable")
    right = (labels["label"] == labels["gold"]).to_numpy()
    table = ba.coverage_table(mace_fit)
    assert table.columns.tolist() == ["coverage", "n_items", "max_entropy", "n_gold", "accuracy"]
    np.testing.assert_allclose(table["coverage"], np.arange(0.05, 1.01, 0.05))
    assert table["n_items"].tolist() == list(range(20, 401, 20))
    assert table["n_gold"].tolist() == table["n_items"].tolist()
    np.testing.assert_allclose(table["accuracy"], [right[:n].mean() for n in table["n_items"]])
    assert table["max_entropy"].tolist() == [labels["entropy"].iloc[n - 1] for n in table["n_items"]]
    shares = {"accuracy": 400, "accuracy_at_90": 360, "accuracy_at_75": 300}
    assert score(mace_fit) == pytest.approx({name: right[:n].mean() for name, n in shares.items()})


def test_draws_of_labels_have_the_frequencies_of_their_probabilities(mace_fit, rng):
    drawn = ba.sample_labels(mace_fit, random_seed=int(rng.integers(2**31)))
    assert drawn.dims == ("chain", "draw", "item")
    probability = mace_fit["latent"]["probability"].values
    # the draws' own noise, and none from the parameters: frequencies and probabilities share the posterior draws
    said = drawn.values.reshape(-1, drawn.sizes["item"])
    assert frequencies_agree(said, probability)
    assert not frequencies_agree(said, probability[:, ::-1])


# ------------------------------------------------------------------------------------------ annotators, parameters


def test_an_annotator_table_summarises_the_draws_of_competence(mace_fit, crowd):
    data, _ = crowd
    table = ba.annotator_table(mace_fit)
    numbers = ["mean", "sd", "eti89_lb", "eti89_ub", "ess_bulk", "ess_tail", "r_hat"]
    assert table.columns.tolist() == [
        "annotator", "n_annotations", "n_gold", "gold_agreement", *(f"competence_{name}" for name in numbers),
        "p_chance",
    ]  # fmt: skip
    assert table["annotator"].tolist() == list(data.annotators)
    assert table["n_annotations"].sum() == data.n_annotations
    draws = competence(mace_fit)
    flat = draws.reshape(-1, data.n_annotators)
    np.testing.assert_allclose(table["competence_mean"], flat.mean(axis=0))
    np.testing.assert_allclose(table["competence_sd"], flat.std(axis=0, ddof=1))
    np.testing.assert_allclose(table["competence_eti89_lb"], np.quantile(flat, 0.055, axis=0))
    np.testing.assert_allclose(table["competence_eti89_ub"], np.quantile(flat, 0.945, axis=0))
    low, high = ba.annotator_table(mace_fit, ci_kind="hdi")[["competence_hdi89_lb", "competence_hdi89_ub"]].to_numpy().T
    np.testing.assert_allclose(((low <= flat) & (flat <= high)).mean(axis=0), 0.89, atol=0.01)
    assert (high - low <= table["competence_eti89_ub"] - table["competence_eti89_lb"] + 1e-12).all()
    ess, rhat = (getattr(array_stats, name)(draws, chain_axis=0, draw_axis=1) for name in ("ess", "rhat"))
    np.testing.assert_allclose(table["competence_ess_bulk"], ess)
    tail = array_stats.ess(draws, chain_axis=0, draw_axis=1, method="tail", prob=0.89)  # ArviZ's default
    np.testing.assert_allclose(table["competence_ess_tail"], tail)
    np.testing.assert_allclose(table["competence_r_hat"], rhat)


def test_a_summary_has_one_row_per_parameter(tiny_fit):
    table = ba.summary(tiny_fit)
    assert table.columns.tolist() == [
        "parameter", "mean", "sd", "eti89_lb", "eti89_ub", "ess_bulk", "ess_tail", "r_hat", "mcse_mean",
        "mcse_sd",
    ]  # fmt: skip
    rows = table.set_index("parameter")
    posterior = tiny_fit["posterior"].to_dataset()
    cells = {f"prevalence[{k}]": posterior["prevalence"].sel(true_class=k) for k in ("no", "yes")}
    for who, k, said in product(("ada", "bo", "cy"), ("no", "yes"), ("no", "yes")):
        cells[f"confusion[{who}, {k}, {said}]"] = posterior["confusion"].sel(annotator=who, true_class=k, response=said)
    cells |= {f"accuracy[{who}]": posterior["accuracy"].sel(annotator=who) for who in ("ada", "bo", "cy")}
    assert set(rows.index) == set(cells)
    for name, draws in cells.items():  # each row is about the parameter it names
        assert rows.loc[name, "mean"] == pytest.approx(float(draws.mean()), rel=1e-12)
    for prevalence in ("prevalence", ["prevalence"]):
        assert ba.summary(tiny_fit, prevalence)["parameter"].tolist() == ["prevalence[no]", "prevalence[yes]"]


def test_a_summary_is_that_of_arviz(tiny_fit):
    ours, theirs = ba.summary(tiny_fit).set_index("parameter"), az.summary(tiny_fit, round_to="none")
    assert sorted(ours.columns) == sorted(theirs.columns)
    for name in ours:
        np.testing.assert_allclose(ours[name], theirs.loc[ours.index, name].astype(float), rtol=1e-9, err_msg=name)
    with az.rc_context({"stats.ci_prob": 0.5, "stats.ci_kind": "hdi"}):
        ours, theirs = ba.summary(tiny_fit).set_index("parameter"), az.summary(tiny_fit, round_to="none")
    for end in ("hdi50_lb", "hdi50_ub"):
        np.testing.assert_allclose(ours[end], theirs.loc[ours.index, end].astype(float), rtol=1e-9)


def test_who_is_better_is_a_share_of_draws(mace_fit, crowd):
    names = list(crowd[0].annotators)
    table = ba.compare_annotators(mace_fit)
    assert table.index.tolist() == table.columns.tolist() == names
    np.testing.assert_allclose(table + table.T, 1, rtol=1e-12)
    assert set(np.diag(table)) == {0.5}
    flat = competence(mace_fit).reshape(-1, len(names))
    assert table.iloc[3, 5] == pytest.approx((flat[:, 3] > flat[:, 5]).mean())
    chosen = [names[5], names[3]]
    pd.testing.assert_frame_equal(ba.compare_annotators(mace_fit, chosen), table.loc[chosen, chosen])


# ---------------------------------------------------------------------------------------------------------- costs


def test_with_equal_costs_the_cheapest_label_is_the_most_probable(mace_fit):
    labels = ba.label_table(mace_fit)
    cost = {truth: {said: float(said != truth) for said in LABELS} for truth in LABELS}
    table = ba.decide_labels(mace_fit, cost)
    assert table.columns.tolist() == ["item", "label", "expected_cost", *(f"cost[{name}]" for name in LABELS)]
    assert table["item"].tolist() == labels["item"].tolist()
    sure = labels["probability"] > 0.5 + 1e-9
    assert table["label"][sure].tolist() == labels["label"][sure].tolist()
    np.testing.assert_allclose(table["expected_cost"], 1 - labels["probability"], atol=1e-12)
    as_frame = pd.DataFrame(1 - np.eye(3), index=LABELS, columns=LABELS)
    pd.testing.assert_frame_equal(ba.decide_labels(mace_fit, as_frame), table)


def test_unequal_costs_move_the_label_or_ask_an_expert(tiny_fit):
    p = ba.label_table(tiny_fit).set_index("item")["p[yes]"]
    cost = {"yes": {"no": 5, "yes": 0, "ask": 0.5}, "no": {"no": 0, "yes": 1, "ask": 0.5}}  # rows in another order
    table = ba.decide_labels(tiny_fit, cost).set_index("item")
    expected = pd.DataFrame({"no": 5 * p, "yes": 1 - p, "ask": 0.5})
    for answer in expected:
        np.testing.assert_allclose(table[f"cost[{answer}]"], expected[answer], rtol=1e-12)
    assert table["label"].tolist() == expected.idxmin(axis=1).tolist()
    assert {"yes", "ask"} <= set(table["label"])
    np.testing.assert_allclose(table["expected_cost"], expected.min(axis=1))


COSTS = {
    "a row too few": ({"yes": {"yes": 0, "no": 1}}, r"one row per label \(no, yes\): see 'no'"),
    "a cell missing": ({"yes": {"yes": 0}, "no": {"yes": 1, "no": 0}}, "must hold finite numbers"),
    "an infinite cost": ({"yes": {"yes": 0, "no": np.inf}, "no": {"yes": 1, "no": 0}}, "must hold finite numbers"),
}


@pytest.mark.parametrize("wrong", COSTS)
def test_costs_that_do_not_fit_the_labels_are_refused(refuses, tiny_fit, wrong):
    cost, match = COSTS[wrong]
    with refuses(DataError, match):
        ba.decide_labels(tiny_fit, cost)


# ----------------------------------------------------------------------------------------------------- prediction


def test_prediction_goes_by_the_names_and_not_by_their_order(mace_fit, crowd):
    data, _ = crowd
    records = [tuple(row) for row in data.to_frame()[["item", "annotator", "label"]].to_numpy()]
    chosen = {f"i{number}" for number in range(100, 140)}
    some = [record for record in reversed(records) if record[0] in chosen and record[2] != "maybe"]
    new = ba.AnnotationData.from_records([(f"new {item}", *rest) for item, *rest in some], labels=["yes", "no"])
    assert new.annotators != data.annotators[: new.n_annotators]
    table = ba.predict_labels(mace_fit, new).set_index("item")
    columns = ["label", "probability", "entropy", "n_annotations", *PROBABILITIES, "weight", "agreement", "ess_weights"]
    assert table.columns.tolist() == columns
    unchanged = [item for item in chosen if all(record[2] != "maybe" for record in records if record[0] == item)]
    assert len(unchanged) > 5
    known = ba.predict_labels(mace_fit, data).set_index("item")
    for item in unchanged:
        row = [*PROBABILITIES, "ess_weights"]
        np.testing.assert_allclose(table.loc[f"new {item}", row].astype(float), known.loc[item, row].astype(float))


def test_new_items_whose_true_label_is_known_keep_it(tiny_fit):
    records = [(item, who, "yes") for item in ("x", "y", "z") for who in ("cy", "ada")]
    labels = ["yes", "no"]  # in another order than in the fit
    free = ba.predict_labels(tiny_fit, ba.AnnotationData.from_records(records, labels=labels)).set_index("item")
    assert (free["p[yes]"] > 0.5).all()
    known = ba.AnnotationData.from_records(records, labels=labels, controls={"x": "no", "z": "yes"})
    found = ba.predict_labels(tiny_fit, known).set_index("item")
    assert found["label"].tolist() == ["no", "yes", "yes"]
    assert found["p[no]"].tolist() == pytest.approx([1, free.loc["y", "p[no]"], 0], rel=1e-12)
    assert found["entropy"].tolist() == pytest.approx([0, free.loc["y", "entropy"], 0], rel=1e-12)


def test_whoever_or_whatever_is_not_in_the_fit_cannot_be_predicted(refuses, tiny_fit):
    stranger = ba.AnnotationData.from_records([("x", "ada", "yes"), ("x", "di", "no")])
    with refuses(DataError, "annotator 'di' is not among the 3 annotators of this fit: leave those answers out"):
        ba.predict_labels(tiny_fit, stranger)
    other = ba.AnnotationData.from_records([("x", "ada", "yes"), ("x", "bo", "perhaps")])
    with refuses(DataError, "label 'perhaps' is not among the 2 labels of this fit"):
        ba.predict_labels(tiny_fit, other)


def test_a_fit_thinned_by_isel_warns_that_labels_are_of_all_draws(tiny_fit):
    thinned = tiny_fit.isel(draw=slice(None, None, 10))
    with pytest.warns(ba.ConvergenceWarning, match="has 400 draws, and its labels .* are still those of 4,000, since"):
        fewer = ba.label_table(thinned)
    pd.testing.assert_frame_equal(fewer, ba.label_table(tiny_fit))
    assert ba.sample_labels(thinned, random_seed=1).sizes["draw"] == 100  # of these draws alone, so without a warning
