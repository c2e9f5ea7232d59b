"""Annotators who repeat one label: who they are, what is said of them beforehand, and that a rare class is none."""

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno.agreement.skew import Repeaters, find_repeaters
from bayesanno.inference.diagnosis.findings import find_before
from tests.samples import tabulate

NOBODY = Repeaters((), (), ())
MODELS = ("model_b", "pooled_dawid_skene", "class_conditional", "hierarchical_dawid_skene", "one_coin")


def err(rng, truth, right, n_labels):
    wrong = (truth + rng.integers(1, n_labels, truth.size)) % n_labels
    return np.where(rng.uniform(size=truth.size) < right, truth, wrong)


def crowd_with_habits(seed, habits, n_good=3, n_labels=4, n_items=200, kept=0.93):
    """Five answers to each item, by annotators of .85 and by others who repeat the label that is their habit."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_labels, size=n_items)
    sayings = [err(rng, truth, 0.85, n_labels) for _ in range(n_good)]
    for habit in habits:
        sayings.append(np.where(rng.uniform(size=n_items) < kept, habit, rng.integers(n_labels, size=n_items)))
    sayings = np.array(sayings, dtype=object)
    silent = np.argsort(rng.uniform(size=(n_items, len(sayings))), axis=1)[:, 5:]  # (item, who does not answer)
    for item, who in enumerate(silent):
        sayings[who, item] = None
    return tabulate(truth, sayings, "ABCD"[:n_labels])


def rare_class(seed, share, n_able=5, able=0.97, n_others=0, others=0.7, n_items=400):
    rng = np.random.default_rng(seed)
    truth = (rng.uniform(size=n_items) < share).astype(int)
    right = [able] * n_able + [others] * n_others
    return tabulate(truth, [err(rng, truth, one, 2) for one in right], ("no", "yes"))


@pytest.mark.parametrize(("model", "n_labels"), [*((model, 2) for model in MODELS), ("model_b", 4)])
def test_five_of_eight_who_repeat_one_label_are_named_before_sampling(model, n_labels):
    (found,) = find_before(ba.get_model(model), crowd_with_habits(1, [0] * 5, n_labels=n_labels))
    assert found.code == "repeated-label"
    assert found.about == tuple(f"reader {who}" for who in range(3, 8))
    assert found.value == pytest.approx(0.625, abs=0.01)
    assert "'A'" in found.message


def test_what_is_said_is_true_and_what_it_advises_helps():
    data = crowd_with_habits(1, [0] * 5, n_labels=3)
    with pytest.warns(ba.errors.IdentifiabilityWarning, match="^repeated-label: "):
        misled = ba.fit("class_conditional", data, method="vb", random_seed=1, check=False, progressbar=False)
    frame = data.to_frame()
    rest = ba.read_annotations(frame[~frame["annotator"].isin(find_repeaters(data).annotators)])
    without = ba.fit("class_conditional", rest, method="vb", random_seed=1, check=False, progressbar=False)
    right = [(table["label"] == table["gold"]).mean() for table in map(ba.label_table, (misled, without))]
    assert right[0] < 0.5
    assert right[1] > 0.8


def test_few_who_repeat_are_no_danger_to_confusion_matrices():
    data = crowd_with_habits(1, [0] * 3, n_good=5)
    assert len(find_repeaters(data).annotators) == 3
    assert find_before(ba.get_model("model_b"), data) == []
    (found,) = find_before(ba.get_model("class_conditional"), data)  # of four labels: errors fall anywhere there
    assert (found.code, len(found.about)) == ("repeated-label", 3)


def test_habits_of_their_own_are_a_danger_only_if_they_are_most_answers():
    data = crowd_with_habits(1, [0, 1, 2, 3], n_good=4)
    assert len(find_repeaters(data).annotators) == 4
    assert [found for model in MODELS for found in find_before(ba.get_model(model), data)] == []


def test_where_everyone_repeats_one_label_nobody_is_left():
    (found,) = find_before(ba.get_model("model_b"), crowd_with_habits(1, [0, 1, 2, 3, 0, 1], n_good=0))
    assert (found.code, found.level, len(found.about)) == ("only-repeaters", "stop", 6)


def test_a_habit_of_everybody_cannot_be_told_from_a_class():
    assert find_repeaters(crowd_with_habits(1, [0] * 8, n_good=0)) == NOBODY
    assert find_repeaters(tabulate([0] * 50, [[0] * 50] * 3, ("no", "yes"))) == NOBODY


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("share", "n_others"), [(0.03, 0), (0.03, 3), (0.1, 1)])
def test_the_able_who_seldom_see_a_rare_class_are_no_repeaters(seed, share, n_others):
    assert find_repeaters(rare_class(seed, share, n_others=n_others)) == NOBODY


@pytest.mark.parametrize("seed", range(3))
def test_a_rare_class_that_many_miss_is_none_either(seed):
    rng = np.random.default_rng(seed)
    truth = rng.uniform(size=400) < 0.03
    said = [np.where(truth, rng.uniform(size=400) < 0.5, rng.uniform(size=400) < 0.03).astype(int) for _ in range(4)]
    assert find_repeaters(tabulate(truth.astype(int), said, ("no", "yes"))) == NOBODY


def test_few_answers_are_no_evidence():
    data = crowd_with_habits(1, [], n_good=8)
    records = [*data.to_frame()[["item", "annotator", "label"]].itertuples(index=False)]
    assert find_repeaters(data) == NOBODY
    one = ba.AnnotationData.from_records([*records, ("page 1", "new", "A")])
    nine = ba.AnnotationData.from_records([*records, *((f"page {item}", "new", "A") for item in range(9))])
    fifty = ba.AnnotationData.from_records([*records, *((f"page {item}", "new", "A") for item in range(50))])
    assert [find_repeaters(each).annotators for each in (one, nine, fifty)] == [(), (), ("new",)]


def test_unsure_answers_and_items_without_answers_change_nothing():
    data = crowd_with_habits(1, [0] * 5)
    records = [*data.to_frame()[["item", "annotator", "label"]].itertuples(index=False)]
    unsure = [(f"page {item}", f"reader {who}", "unsure") for item in range(0, 200, 2) for who in range(8)]
    more = ba.AnnotationData.from_records(
        [*records, *unsure], items=["nothing", *data.items], labels=data.labels, unsure="unsure"
    )
    assert find_repeaters(more) == find_repeaters(data)
    none = ba.AnnotationData.from_records([("s1", "ada", "?")], labels=("no", "yes"), unsure="?")
    assert find_repeaters(none) == NOBODY


@pytest.mark.parametrize("name", ["@crowd", "@table9", "@table14"])
def test_nothing_is_said_of_the_tables_that_come_with_the_package(name):
    data = ba.read_annotations(name)
    assert [found for model in MODELS for found in find_before(ba.get_model(model), data)] == []


@pytest.mark.parametrize(
    "name",
    ["rte.csv", "temp.csv", "wsd.csv", "anesthesia.csv", "caries.csv", "rzhetsky_e2.csv", "masc_long-j.csv",
     "llmbar.csv.gz", "dices_350.csv.gz"],
)  # fmt: skip
def test_nothing_is_said_of_real_tables(name, shared):
    data = ba.read_annotations(pd.read_csv(shared / "data" / name, dtype=str, keep_default_na=False))
    for model in ("model_b", "class_conditional", "one_coin"):
        assert find_before(ba.get_model(model), data) == []
    if name == "temp.csv":  # a third of the answers are by some who click one label, and labels are right all the same
        assert len(find_repeaters(data).annotators) == 10
