"""A fit to data whose annotators may be unsure: what its tables, figures, checks and its file make of that."""

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError
from tests.samples import simulate_unsure

pytestmark = pytest.mark.filterwarnings("ignore:pareto-k")

CROWD = {"items": 80, "careful": 3, "careless": 2, "per_item": 4}


@pytest.fixture(scope="module")
def data():
    return simulate_unsure(np.random.default_rng(1), **CROWD)


@pytest.fixture(scope="module")
def fit(data):
    return ba.fit("model_b", data, method="vb", check=False, random_seed=1, progressbar=False)


def test_labels_and_decisions_are_classes(fit, data, refuses):
    table = ba.label_table(fit)
    assert set(table["label"]) == {"no", "yes"}
    assert [name for name in table if name.startswith("p[")] == ["p[no]", "p[yes]"]
    np.testing.assert_allclose(table["p[no]"] + table["p[yes]"], 1)
    assert table["n_annotations"].tolist() == np.bincount(data.item).tolist()
    cost = {"no": {"no": 0, "yes": 1}, "yes": {"no": 5, "yes": 0}}
    assert set(ba.decide_labels(fit, cost)["label"]) <= {"no", "yes"}
    with refuses(DataError, "see 'unsure'"):
        ba.decide_labels(fit, cost | {"unsure": {"no": 0, "yes": 0}})


def test_annotators_have_the_share_of_their_unsure_answers(fit, data):
    table = ba.annotator_table(fit)
    assert list(table)[:5] == ["annotator", "n_annotations", "n_gold", "gold_agreement", "unsure"]
    np.testing.assert_allclose(table["unsure"], data.unsure_by_annotator / data.by_annotator)
    assert table.loc[table["annotator"].str.startswith("careless"), "unsure"].eq(0).all()
    said, truth = np.array(data.labels)[data.label], np.array([data.gold[data.items[item]] for item in data.item])
    right = [(said == truth)[data.annotator == who].mean() for who in range(data.n_annotators)]  # "unsure" never is
    np.testing.assert_allclose(table["gold_agreement"], right)


def test_confusion_has_a_column_for_unsure_answers(fit):
    table = ba.confusion_table(fit)
    assert set(zip(table["true_class"], table["response"], strict=True)) == {
        ("no", "yes"), ("yes", "no"), ("no", "unsure"), ("yes", "unsure"),
    }  # fmt: skip
    rate = table.set_index(["true_class", "response"])
    assert rate.loc[("yes", "unsure"), "eti89_lb"] > rate.loc[("no", "unsure"), "eti89_ub"]  # only "yes" can be hard


def test_new_items_are_predicted_from_unsure_answers_too(fit):
    """What a label means is known of the fit, whether new data declare it or not."""
    said = [("new", "careful0", "unsure"), ("new", "careful1", "unsure"), ("other", "careful0", "no")]
    table = ba.predict_labels(fit, ba.AnnotationData.from_records(said)).set_index("item")
    assert [name for name in table if name.startswith("p[")] == ["p[no]", "p[yes]"]
    assert table.loc["new", "p[yes]"] > 0.8 > 0.5 > table.loc["other", "p[yes]"]


def test_the_prior_says_how_often_the_vote_is_right_without_unsure_answers(data):
    """Where most are unsure, the vote is what the others say."""
    before = ba.describe_prior({"model B": "model_b"}, data, random_seed=1).table.set_index("quantity")["mean"]
    assert before["vote_right"] > before["right"] + 0.1


def test_a_known_label_holds_where_all_answers_are_unsure(data):
    only = [("shy item", who, "unsure") for who in ("careful0", "careful1")]
    said = [*data.to_frame()[["item", "annotator", "label"]].to_numpy(), *only]
    for controls, truth in (({}, "yes"), ({"shy item": "no"}, "no")):
        given = ba.AnnotationData.from_records(said, unsure="unsure", controls=controls)
        fit = ba.fit("model_b", given, method="em", random_seed=1, progressbar=False, check=False)
        assert ba.label_table(fit).set_index("item").loc["shy item", "label"] == truth


def test_an_annotator_who_is_always_unsure_is_told_nothing_of(data):
    said = [
        *data.to_frame()[["item", "annotator", "label"]].to_numpy(),
        *((f"i{n}", "shy", "unsure") for n in range(40)),
    ]
    settings = {"method": "em", "method_options": {"objective": "map"}, "random_seed": 1, "progressbar": False}
    fit = ba.fit("mace", ba.AnnotationData.from_records(said, unsure="unsure"), check=False, **settings)
    table = ba.annotator_table(fit).set_index("annotator")
    assert table.loc["shy", "unsure"] == 1
    assert table.loc["shy", "competence_mean"] < 0.1
