"""Annotators by known labels as scikit-learn measures them, their intervals, and shares corrected by known labels."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.metrics import (
    accuracy_score,
    cohen_kappa_score,
    confusion_matrix,
    f1_score,
    precision_score,
    recall_score,
)

import bayesanno as ba
from bayesanno._core.messages import DataError
from tests.samples import tabulate

MEASURES = ("accuracy", "kappa", "sensitivity", "specificity", "precision", "f1")
QUICK = {"method": "vb", "check": False, "random_seed": 1, "progressbar": False}
pytestmark = pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")  # of short fits


def score(truth, said, labels, average):
    """All measures by scikit-learn; specificity is the recall of all other labels."""
    more = {"labels": labels[-1:] if average == "binary" else labels, "zero_division": np.nan, "average": "macro"}
    others = [
        recall_score(truth != label, said != label, pos_label=True, zero_division=np.nan) for label in more["labels"]
    ]
    scores = [of(truth, said, **more) for of in (recall_score, precision_score, f1_score)]
    plain = accuracy_score(truth, said), cohen_kappa_score(truth, said, labels=labels)
    return [*plain, scores[0], np.nanmean(others), *scores[1:]]


@pytest.mark.parametrize("n_labels", [2, 4])
def test_all_measures_are_those_of_scikit_learn(n_labels, rng):
    labels = np.array(["a", "b", "c", "d"][:n_labels])
    truth = rng.integers(n_labels, size=60)
    said = np.where(rng.random((3, 60)) < [[0.9], [0.6], [0.1]], truth, rng.integers(n_labels, size=(3, 60)))
    said[2] = np.minimum(said[2], n_labels - 2)  # who never gives the last label
    data = tabulate(truth, said, labels=tuple(labels))
    table = ba.gold_table(data, random_seed=1)
    for row, own in zip(table.to_dict("records"), said, strict=True):
        expected = score(labels[truth], labels[own], labels, "binary" if n_labels == 2 else "macro")
        np.testing.assert_allclose([row[name] for name in MEASURES], expected, atol=1e-12)
        assert row["n"] == 60
        for name, value in zip(MEASURES, expected, strict=True):
            if not np.isnan(value):
                assert row[f"{name}_eti89_lb"] <= row[f"{name}_eti89_ub"]
    cells = ba.gold_table(data, each="cell")
    for who, own in zip(data.annotators, said, strict=True):
        counts = cells[cells["annotator"] == who].pivot(index="true_class", columns="response", values="n")
        assert (counts.to_numpy() == confusion_matrix(labels[truth], labels[own], labels=labels)).all()
    each = ba.gold_table(data, each="label", random_seed=1).set_index(["annotator", "label"])
    for label in labels:
        found = each.loc[(data.annotators[0], label)]
        assert found["precision"] == precision_score(
            truth == list(labels).index(label), said[0] == list(labels).index(label)
        )


def test_an_interval_holds_a_judge_who_is_always_right_or_never():
    rows = [(f"s{k}", who, said) for k in range(20) for who, said in (("ada", "ab"[k % 2]), ("eve", "ba"[k % 2]))]
    data = ba.AnnotationData.from_records(rows, gold={f"s{k}": "ab"[k % 2] for k in range(20)})
    ada, eve = ba.gold_table(data, random_seed=1).to_dict("records")
    for name in ("accuracy", "kappa", "f1"):
        assert ada[f"{name}_eti89_lb"] < ada[name] == ada[f"{name}_eti89_ub"] == 1
    assert eve["accuracy_eti89_lb"] == eve["accuracy"] == 0 < eve["accuracy_eti89_ub"]
    assert eve["kappa_eti89_lb"] == eve["kappa"] < eve["kappa_eti89_ub"]


def test_shares_of_answers_have_intervals_of_jeffreys_prior():
    truth = np.repeat([0, 1], [12, 8])
    data = tabulate(truth, np.where(np.arange(20) < 3, 1 - truth, truth)[None])
    (row,) = ba.gold_table(data, ci_prob=0.9).to_dict("records")
    for name, hits, n in (("accuracy", 17, 20), ("sensitivity", 8, 8), ("specificity", 9, 12), ("precision", 8, 11)):
        expected = beta.ppf([0.05, 0.95], hits + 0.5, n - hits + 0.5)
        expected[1] = 1 if hits == n else expected[1]
        np.testing.assert_allclose([row[f"{name}_eti90_lb"], row[f"{name}_eti90_ub"]], expected)


def test_groups_other_gold_unsure_answers_and_items_without_answers():
    said = [("s1", "ada", "yes"), ("s2", "ada", "no"), ("s3", "ada", "skip"), ("s1", "bo", "no"), ("s4", "cy", "no")]
    data = ba.AnnotationData.from_records(said, items=["s1", "s2", "s3", "s4", "s5"], unsure="skip")
    gold = {"s1": "yes", "s2": "yes", "s3": "no", "s5": "no"}
    table = ba.gold_table(data, gold, random_seed=1).set_index("annotator")
    assert table["n"].to_dict() == {"ada": 2, "bo": 1}  # cy answered no item with a known label
    assert table["accuracy"].to_dict() == {"ada": 0.5, "bo": 0}
    assert np.isnan(table.loc["bo", "specificity"])
    assert np.isnan(table.loc["bo", "specificity_eti89_ub"])
    by = {"s1": "new", "s2": "old", "s3": "new", "s4": "old", "s5": "old"}
    rows = ba.gold_table(data, gold, by=by, random_seed=1)
    assert rows[["annotator", "group", "n"]].to_numpy().tolist() == [
        ["ada", "new", 1],
        ["ada", "old", 1],
        ["bo", "new", 1],
    ]


def test_what_is_refused(refuses):
    data = ba.AnnotationData.from_records([("s1", "ada", "yes"), ("s2", "ada", "no")])
    with refuses(DataError, "no answer is to an item whose true label is known"):
        ba.gold_table(data)
    with refuses(DataError, "each is 'labels'"):
        ba.gold_table(data, {"s1": "yes"}, each="labels")
    with refuses(DataError, "label is 'maybe'"):
        ba.rate_table(replace(data, gold={"s1": "yes"}), label="maybe")


class TestRates:
    def test_a_judge_who_favours_a_label_is_corrected(self, rng):
        """Of items 20% are good; the judge says so of 44%: of nine in ten good ones, and of a third of the bad ones."""
        truth = (np.arange(400) % 5 == 0).astype(int)
        said = np.where(truth == 1, rng.random(400) < 0.9, rng.random(400) < 1 / 3).astype(int)
        data = tabulate(truth, said[None])
        some = {item: data.gold[item] for item in rng.choice(data.items, 100, replace=False)}
        table = ba.rate_table(replace(data, gold=some), random_seed=1).set_index("source")
        assert table.loc["judged", "eti89_lb"] > 0.3
        for source in ("corrected", "ppi"):
            assert table.loc[source, "eti89_lb"] < 0.2 < table.loc[source, "eti89_ub"]
            assert table.loc[source, "width"] > table.loc["judged", "width"]
        assert table["n_known"].tolist() == [100] * 3

    def test_the_correction_is_that_of_rogan_and_gladen(self):
        """8,000 checked answers leave no doubt about the judge, so that the formula holds."""
        truth = np.tile([0, 0, 0, 1], 4000)
        place = np.arange(truth.size) // 4 % 10
        said = np.where(truth == 1, place < 8, place < 3).astype(int)  # sensitivity .8, specificity .7
        data = tabulate(truth, said[None])
        half = dict(list(data.gold.items())[:8000])
        (corrected,) = (
            ba.rate_table(replace(data, gold=half), random_seed=1).query("source == 'corrected'").to_dict("records")
        )
        assert corrected["mean"] == pytest.approx((said.mean() + 0.7 - 1) / (0.8 + 0.7 - 1), abs=0.01)

    def test_all_judges_together_tell_more_than_one(self, rng):
        truth = (rng.random(200) < 0.3).astype(int)
        data = tabulate(truth, np.where(rng.random((4, 200)) < 0.8, truth, 1 - truth))
        some = dict(list(data.gold.items())[:60])
        table = (
            ba.rate_table(replace(data, gold=some), random_seed=1).query("source == 'corrected'").set_index("annotator")
        )
        assert table.loc["", "width"] < 0.75 * table.drop(index="")["width"].min()
        assert table.loc["", "eti89_lb"] < truth.mean() < table.loc["", "eti89_ub"]

    def test_a_judge_at_chance_leaves_the_share_open_within_0_and_1(self, rng):
        truth = rng.integers(2, size=200)
        data = tabulate(truth, rng.integers(2, size=(1, 200)))
        some = dict(list(data.gold.items())[:30])
        corrected = ba.rate_table(replace(data, gold=some), random_seed=1).set_index("source").loc["corrected"]
        assert 0 <= corrected["eti89_lb"] < 0.2
        assert 0.8 < corrected["eti89_ub"] <= 1

    def test_of_a_fit_the_model_and_groups_have_rows_as_in_group_table(self, rng):
        truth = (rng.random(120) < 0.5).astype(int)
        data = tabulate(truth, np.where(rng.random((3, 120)) < 0.85, truth, 1 - truth))
        data = replace(data, gold=dict(list(data.gold.items())[:60]))
        fit, by = ba.fit("model_b", data, **QUICK), {item: "ab"[n % 2] for n, item in enumerate(data.items)}
        rates = ba.rate_table(fit, by=by, random_seed=1).query("annotator == ''")
        assert rates["source"].tolist() == ["judged", "corrected", "ppi", "model"] * 2
        assert rates["assumes"].str.len().min() > 10
        shares = ba.group_table(fit, by, at_large=True, random_seed=1)
        assert set(shares["source"]) == {"model", "ppi", "judged", "corrected"}
        both = rates.merge(shares, on=["group", "source"], suffixes=("", "_too")).query("source != 'ppi'")
        np.testing.assert_allclose(both["mean"], both["mean_too"], atol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 200])
@pytest.mark.parametrize("rate", [0.5, 0.9])
def test_intervals_cover(n, rate):
    path = Path(__file__).parents[1] / "benchmarks" / "known_labels.py"
    spec = importlib.util.spec_from_file_location("known_labels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    covered = module.cover_measures(n, rate)
    assert covered.between(0.92, 0.985).all(), covered
