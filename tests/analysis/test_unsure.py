"""A fit to data whose annotators may be unsure: what its tables, figures, checks and its file make of that."""

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.errors import DataError
from bayesanno.fits.storage import data_of
from bayesanno.simulation.statistics import tables_of
from tests.samples import simulate_unsure, tiny_data

pytestmark = pytest.mark.filterwarnings("ignore:pareto-k")

CROWD = {"items": 80, "careful": 3, "careless": 2, "per_item": 4}


@pytest.fixture(scope="module")
def data():
    return simulate_unsure(np.random.default_rng(1), **CROWD)


@pytest.fixture(scope="module")
def fits(data):
    settings = {
        "method": "vb",
        "check": False,
        "random_seed": 1,
        "progressbar": False,
    }  # hard items
    return {name: ba.fit(name, data, **settings) for name in ("model_b", "mace")}


@pytest.fixture(params=["model_b", "mace"])
def fit(request, fits):
    return fits[request.param]


def test_labels_are_classes(fit, data):
    table = ba.label_table(fit)
    assert set(table["label"]) == {"no", "yes"}
    assert [name for name in table if name.startswith("p[")] == ["p[no]", "p[yes]"]
    np.testing.assert_allclose(table["p[no]"] + table["p[yes]"], 1)
    assert table["n_annotations"].tolist() == np.bincount(data.item).tolist()


def test_annotators_have_the_share_of_their_unsure_answers(fit, data):
    table = ba.annotator_table(fit)
    assert list(table)[:5] == ["annotator", "n_annotations", "n_gold", "gold_agreement", "unsure"]
    np.testing.assert_allclose(table["unsure"], data.unsure_by_annotator / data.by_annotator)
    assert table.loc[table["annotator"].str.startswith("careless"), "unsure"].eq(0).all()
    said, truth = np.array(data.labels)[data.label], np.array([data.gold[data.items[item]] for item in data.item])
    right = [(said == truth)[data.annotator == who].mean() for who in range(data.n_annotators)]  # "unsure" never is
    np.testing.assert_allclose(table["gold_agreement"], right)


def test_confusion_has_a_column_for_unsure_answers(fits):
    table = ba.confusion_table(fits["model_b"])
    assert set(zip(table["true_class"], table["response"], strict=True)) == {
        ("no", "yes"), ("yes", "no"), ("no", "unsure"), ("yes", "unsure"),
    }  # fmt: skip
    rate = table.set_index(["true_class", "response"])
    assert rate.loc[("yes", "unsure"), "eti89_lb"] > rate.loc[("no", "unsure"), "eti89_ub"]  # only "yes" can be hard


def test_figures_have_a_column_for_unsure_answers(fit):
    figure = ba.plot_confusion(fit)
    assert figure.axes[0].images[0].get_array().shape == (2, 3)
    ba.plot_coverage(fit)


def test_the_report_is_written(fits, tmp_path):
    path = ba.write_report(fits["mace"], tmp_path / "report.html", checks=False)
    assert "unsure: unsure (" in path.read_text(encoding="utf-8")


def test_a_file_keeps_what_is_unsure(fit, data, tmp_path):
    ba.save(fit, tmp_path / "fit.nc")
    again = ba.data_of(ba.load(tmp_path / "fit.nc"))
    assert (again.labels, again.unsure, again.hash) == (data.labels, data.unsure, data.hash)


def test_a_file_of_data_without_unsure_labels_is_as_it_was():
    fit = ba.fit("mace", tiny_data(), method="em", random_seed=1, progressbar=False)
    assert "unsure" not in fit["constant_data"]
    assert data_of(fit).unsure == ()
    assert "unsure" not in ba.annotator_table(fit)


def test_new_items_are_predicted_from_unsure_answers_too(fits):
    """What a label means is known of the fit, whether new data declare it or not."""
    said = [("new", "careful0", "unsure"), ("new", "careful1", "unsure"), ("other", "careful0", "no")]
    table = ba.predict_labels(fits["model_b"], ba.AnnotationData.from_records(said)).set_index("item")
    assert [name for name in table if name.startswith("p[")] == ["p[no]", "p[yes]"]
    assert table.loc["new", "p[yes]"] > 0.8 > 0.5 > table.loc["other", "p[yes]"]


def test_decisions_are_on_classes(fit, refuses):
    cost = {"no": {"no": 0, "yes": 1}, "yes": {"no": 5, "yes": 0}}
    assert set(ba.decide_labels(fit, cost)["label"]) <= {"no", "yes"}
    with refuses(DataError, "one row per label .no, yes.: see 'unsure'"):
        ba.decide_labels(fit, cost | {"unsure": {"no": 0, "yes": 0}})


def test_checks_compare_unsure_answers_like_others(fit, data):
    (table,) = tables_of(data)
    votes = table.statistics["votes_per_item"](data)
    counted = dict(zip(votes.of, votes.measure(data.label), strict=True))
    said = data.votes[:, data.labels.index("unsure")]
    assert [counted[f"{n} x unsure"] for n in range(3)] == [(said == n).sum() for n in range(3)]
    check = ba.predictive_check(fit, ["label_counts", "unanimous"], replicates=20, random_seed=1).table
    seen = check.set_index("of")["observed"]
    assert seen["careful0: unsure"] == data.unsure_by_annotator[data.annotators.index("careful0")]


def test_the_prior_says_how_often_the_vote_is_right_without_unsure_answers(data):
    """Where most are unsure, the vote is what the others say."""
    before = ba.describe_prior({"model B": "model_b"}, data, random_seed=1).table.set_index("quantity")["mean"]
    assert before["vote_right"] > before["right"] + 0.1


def test_calibration_and_coverage_are_of_classes(fit, data):
    assert ba.calibration_table(fit)["n"].sum() == data.n_items
    vote = ba.majority_vote(data)
    assert vote["share"].max() == 1
    assert vote["share"].notna().sum() == (data.without_unsure().votes.sum(axis=1) > 0).sum()


def test_simulated_annotators_may_be_unsure():
    design = ba.make_design(items=60, annotators=4, labels=["no", "yes"], unsure="unsure", per_item=3, random_seed=1)
    made, truth = ba.simulate("model_b", design, random_seed=1)
    assert made.unsure == ("unsure",)
    assert set(made.label.tolist()) == {0, 1, 2}
    assert set(made.gold.values()) == {"no", "yes"}
    assert truth["confusion"].shape == (4, 2, 3)


def test_label_usage_counts_unsure_answers_like_others(data):
    start = ba.models.LabelUsage().start(data)["usage"]
    assert start.shape == (data.n_annotators, 3)
    np.testing.assert_allclose(start[:, 2], (1 + data.unsure_by_annotator) / (3 + data.by_annotator))


def test_a_known_label_holds_where_all_answers_are_unsure(data):
    only = [("shy item", who, "unsure") for who in ("careful0", "careful1")]
    said = [*data.to_frame()[["item", "annotator", "label"]].to_numpy(), *only]
    for controls, truth in (({}, "yes"), ({"shy item": "no"}, "no")):
        given = ba.AnnotationData.from_records(said, unsure="unsure", controls=controls)
        fit = ba.fit("model_b", given, method="em", random_seed=1, progressbar=False, check=False)
        assert ba.label_table(fit).set_index("item").loc["shy item", "label"] == truth


def test_an_annotator_who_is_always_unsure_is_told_nothing_of():
    said = [*simulate_unsure(np.random.default_rng(1), **CROWD).to_frame()[["item", "annotator", "label"]].to_numpy()]
    data = ba.AnnotationData.from_records([*said, *((f"i{n}", "shy", "unsure") for n in range(40))], unsure="unsure")
    settings = {"method": "em", "method_options": {"objective": "map"}, "random_seed": 1, "progressbar": False}
    fit = ba.fit("mace", data, check=False, **settings)
    table = ba.annotator_table(fit).set_index("annotator")
    assert table.loc["shy", "unsure"] == 1
    assert table.loc["shy", "competence_mean"] < 0.1
