"""The tables: what each column holds, computed again here from the fit's draws, or by hand."""

import arviz as az
import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno.analysis.labels import n_kept, score
from tests.samples import LABELS, frequencies_agree

LABEL_COLUMNS = ["item", "label", "probability", "entropy", "n_annotations"]
PROBABILITIES = [f"p[{label}]" for label in LABELS]


def test_a_label_table_holds_the_posterior_of_each_label(mace_fit, crowd):
    data, _ = crowd
    table = ba.label_table(mace_fit)
    assert table.columns.tolist() == [*LABEL_COLUMNS, *PROBABILITIES, "weight", "agreement", "vote", "gold"]
    assert table["item"].tolist() == list(data.items)
    assert table["vote"].tolist() == ba.majority_vote(data)["label"].tolist()
    p = table[PROBABILITIES].to_numpy()
    np.testing.assert_array_equal(p, mace_fit["latent"]["probability"].values)
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
    # the draws' own noise, and none from the parameters: frequencies and probabilities share the posterior draws
    assert frequencies_agree(drawn.values.reshape(-1, 400), mace_fit["latent"]["probability"].values)


def test_an_annotator_table_has_the_numbers_of_the_summary(mace_fit, crowd):
    data, _ = crowd
    rows = ba.summary(mace_fit, "competence").drop(columns=["parameter", "mcse_mean", "mcse_sd"])
    table = ba.annotator_table(mace_fit)
    columns = [f"competence_{name}" for name in rows]
    assert table.columns.tolist() == ["annotator", "n_annotations", "n_gold", "gold_agreement", *columns, "p_chance"]
    assert table["annotator"].tolist() == list(data.annotators)
    assert table["n_annotations"].sum() == data.n_annotations
    np.testing.assert_allclose(table[columns], rows, rtol=1e-12)
    with_hdi = ba.annotator_table(mace_fit, ci_kind="hdi")
    hdi = ba.summary(mace_fit, "competence", ci_kind="hdi")["hdi89_lb"]
    np.testing.assert_allclose(with_hdi["competence_hdi89_lb"], hdi, rtol=1e-12)


def test_a_summary_is_that_of_arviz(tiny_fit):
    ours, theirs = ba.summary(tiny_fit).set_index("parameter"), az.summary(tiny_fit, round_to="none")
    assert sorted(ours.columns) == sorted(theirs.columns)
    assert set(ours.index) == set(theirs.index)
    for name in ours:
        np.testing.assert_allclose(ours[name], theirs.loc[ours.index, name].astype(float), rtol=1e-9, err_msg=name)
    with az.rc_context({"stats.ci_prob": 0.5, "stats.ci_kind": "hdi"}):
        ours, theirs = ba.summary(tiny_fit).set_index("parameter"), az.summary(tiny_fit, round_to="none")
    for end in ("hdi50_lb", "hdi50_ub"):
        np.testing.assert_allclose(ours[end], theirs.loc[ours.index, end].astype(float), rtol=1e-9)
    for prevalence in ("prevalence", ["prevalence"]):
        assert ba.summary(tiny_fit, prevalence)["parameter"].tolist() == ["prevalence[no]", "prevalence[yes]"]


def test_who_is_better_is_a_share_of_draws(mace_fit, crowd):
    names = list(crowd[0].annotators)
    table = ba.compare_annotators(mace_fit)
    assert table.index.tolist() == table.columns.tolist() == names
    np.testing.assert_allclose(table + table.T, 1, rtol=1e-12)
    assert set(np.diag(table)) == {0.5}
    flat = mace_fit["posterior"]["competence"].values.reshape(-1, len(names))
    assert table.iloc[3, 5] == pytest.approx((flat[:, 3] > flat[:, 5]).mean())
    chosen = [names[5], names[3]]
    pd.testing.assert_frame_equal(ba.compare_annotators(mace_fit, chosen), table.loc[chosen, chosen])


def test_unequal_costs_move_the_label_or_ask_an_expert(tiny_fit):
    p = ba.label_table(tiny_fit).set_index("item")["p[yes]"]
    cost = {"yes": {"no": 5, "yes": 0, "ask": 0.5}, "no": {"no": 0, "yes": 1, "ask": 0.5}}  # rows in another order
    as_frame = pd.DataFrame(cost).T
    pd.testing.assert_frame_equal(ba.decide_labels(tiny_fit, as_frame), ba.decide_labels(tiny_fit, cost))
    table = ba.decide_labels(tiny_fit, cost).set_index("item")
    assert table.columns.tolist() == ["label", "expected_cost", "cost[no]", "cost[yes]", "cost[ask]"]
    expected = pd.DataFrame({"no": 5 * p, "yes": 1 - p, "ask": 0.5})
    for answer in expected:
        np.testing.assert_allclose(table[f"cost[{answer}]"], expected[answer], rtol=1e-12)
    assert table["label"].tolist() == expected.idxmin(axis=1).tolist()
    assert {"yes", "ask"} <= set(table["label"])
    np.testing.assert_allclose(table["expected_cost"], expected.min(axis=1))


def test_prediction_goes_by_the_names_and_not_by_their_order(mace_fit, crowd):
    data, _ = crowd
    records = [tuple(row) for row in data.to_frame()[["item", "annotator", "label"]].to_numpy()]
    items = [item for item in data.items[100:140] if (item, "maybe") not in {(one, said) for one, _, said in records}]
    assert len(items) > 5
    some = [(f"new {item}", *rest) for item, *rest in reversed(records) if item in items]
    new = ba.AnnotationData.from_records(some, labels=["yes", "no"])
    assert new.annotators != data.annotators[: new.n_annotators]
    table, known = (ba.predict_labels(mace_fit, one).set_index("item") for one in (new, data))
    columns = ["label", "probability", "entropy", "n_annotations", *PROBABILITIES, "weight", "agreement", "vote"]
    columns.append("ess_weights")
    assert table.columns.tolist() == columns
    numbers = [*PROBABILITIES, "ess_weights"]
    np.testing.assert_allclose(table.loc[[f"new {item}" for item in items], numbers], known.loc[items, numbers])


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


def test_a_fit_thinned_by_isel_warns_that_labels_are_of_all_draws(tiny_fit):
    thinned = tiny_fit.isel(draw=slice(None, None, 10))
    with pytest.warns(ba.ConvergenceWarning, match="has 400 draws, and its labels .* are still those of 4,000, since"):
        fewer = ba.label_table(thinned)
    pd.testing.assert_frame_equal(fewer, ba.label_table(tiny_fit))
    assert ba.sample_labels(thinned, random_seed=1).sizes["draw"] == 100  # of these draws alone, so without a warning
