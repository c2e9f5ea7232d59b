"""Grades: their posterior and what decisions about them cost, against enumeration and by hand; and what is refused."""

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.errors import DataError, FitError
from bayesanno.analysis.grades import check_grades, find_grades
from bayesanno.cli.files import write_fit
from tests.analysis.made import from_prior

ORDER = ["no", "maybe", "yes"]  # not that of the fit, whose labels are LABELS
EM = {"method": "em", "random_seed": 1, "progressbar": False}

pytestmark = pytest.mark.usefixtures("by_numpy")


def graded(*labels, order=None):
    """A fit of sixty items by six annotators, and its data, whose labels are in an order if one is given."""
    truth = np.arange(60) % len(labels)
    rng = np.random.default_rng(1)
    said = np.where(rng.random((60, 6)) < 0.7, truth[:, None], rng.integers(len(labels), size=(60, 6)))
    records = [(f"i{i}", f"a{j}", labels[label]) for (i, j), label in np.ndenumerate(said)]
    gold = {f"i{item}": labels[one] for item, one in enumerate(truth)}
    data = ba.AnnotationData.from_records(records, labels=order, gold=gold)
    return ba.fit("one_coin", data, adjust=False, **EM), data


@pytest.fixture(scope="module")
def words():
    """Labels whose order nobody declared."""
    return graded("poor", "fair", "good", "excellent")[0]


def test_the_table_describes_the_posterior_of_the_grade(mace_fit):
    table, labels = ba.grade_table(mace_fit, order=ORDER), ba.label_table(mace_fit)
    assert table.columns.tolist() == [
        "item", "median", "grade_mean", "grade_sd", "grade_eti89_lb", "grade_eti89_ub", "p_below", "p_above",
        "n_annotations", "label", "probability", "gold",
    ]  # fmt: skip
    p = labels[[f"p[{label}]" for label in ORDER]].to_numpy()
    np.testing.assert_allclose(table["grade_mean"], p @ [1, 2, 3], rtol=1e-12)
    np.testing.assert_allclose(table["grade_sd"] ** 2, p @ [1, 4, 9] - (p @ [1, 2, 3]) ** 2, atol=1e-9)
    median = np.select([p[:, 0] >= 0.5, p[:, :2].sum(axis=1) >= 0.5], [0, 1], 2)
    assert table["median"].tolist() == [ORDER[code] for code in median]
    np.testing.assert_allclose(table["p_below"], [row[:at].sum() for row, at in zip(p, median, strict=True)], atol=1e-9)
    np.testing.assert_allclose(
        table["p_above"], [row[at + 1 :].sum() for row, at in zip(p, median, strict=True)], atol=1e-9
    )
    for same in ("item", "n_annotations", "label", "probability", "gold"):
        assert table[same].tolist() == labels[same].tolist()


def test_the_order_is_that_of_the_data_unless_another_is_given():
    fit, data = graded("poor", "fair", "good", order=["poor", "fair", "good"])
    table = ba.grade_table(fit)
    turned = ba.grade_table(fit, order=["good", "fair", "poor"])
    np.testing.assert_allclose(table["grade_mean"] + turned["grade_mean"], 4)
    right = pd.Series([data.labels.index(label) + 1.0 for label in table["gold"]])
    assert np.corrcoef(table["grade_mean"], right)[0, 1] > 0.8
    np.testing.assert_allclose(table["p_below"], turned["p_above"], atol=1e-9)
    np.testing.assert_allclose(table["grade_sd"], turned["grade_sd"])
    for same in ("median", "label"):
        assert table[same].equals(turned[same])


def test_numbers_are_their_own_grades():
    table = ba.grade_table(graded("0", "5", "10")[0])
    assert set(table["median"]) == {"0", "5", "10"}
    assert table["grade_mean"].max() > 9
    assert set(table["grade_eti89_lb"]) | set(table["grade_eti89_ub"]) <= {0, 5, 10}
    falling = ba.grade_table(graded("0", "5", "10", order=["10", "5", "0"])[0])  # the best is 10, first or last
    assert (falling["grade_eti89_lb"] <= falling["grade_eti89_ub"]).all()
    np.testing.assert_allclose(falling["grade_mean"], table["grade_mean"], atol=1e-3)
    assert find_grades(["1", "3", "2"]).tolist() == [1, 2, 3]  # declared so, against the numbers


def test_ranges_leave_no_more_than_a_tail_on_either_side(mace_fit):
    probability = ba.label_table(mace_fit)[[f"p[{label}]" for label in ORDER]].to_numpy()
    table = ba.grade_table(mace_fit, order=ORDER, ci_prob=0.9)
    ends, grades = table[["grade_eti90_lb", "grade_eti90_ub"]].to_numpy(), np.array([1, 2, 3])
    assert (ends[:, 0] < ends[:, 1]).any()
    for row, (first, last) in zip(probability, ends, strict=True):
        assert row[grades < first].sum() <= 0.05 < row[grades <= first].sum()
        assert row[grades > last].sum() <= 0.05 < row[grades >= last].sum()


# -------------------------------------------------------------------------------------------------------- decisions


def test_the_cheapest_grade_is_the_median_or_nearest_to_the_mean(mace_fit):
    table = ba.grade_table(mace_fit, order=ORDER)
    absolute = ba.decide_labels(mace_fit, "absolute", order=ORDER)
    assert absolute["label"].tolist() == table["median"].tolist()
    squared = ba.decide_labels(mace_fit, "squared", order=ORDER)
    assert squared["label"].tolist() == [ORDER[round(mean) - 1] for mean in table["grade_mean"]]
    cost = {a: {b: abs(i - k) for k, b in enumerate(ORDER)} for i, a in enumerate(ORDER)}
    pd.testing.assert_frame_equal(absolute, ba.decide_labels(mace_fit, cost))
    left = table["grade_sd"] ** 2 + (table["grade_mean"] - table["grade_mean"].round()) ** 2
    np.testing.assert_allclose(squared["expected_cost"], left, atol=1e-9)


def test_a_loss_or_an_order_that_cannot_be_is_refused(refuses, mace_fit, words):
    with refuses(
        DataError, "there is no loss 'square': choose one of 'absolute', 'squared', or .* did you mean 'squared'"
    ):
        ba.decide_labels(mace_fit, "square")
    with refuses(DataError, "order applies only to the losses 'absolute' and 'squared'"):
        ba.decide_labels(mace_fit, {}, order=ORDER)
    for function in (ba.grade_table, lambda fit, **more: ba.decide_labels(fit, "squared", **more)):
        with refuses(DataError, r"the order of the labels 'excellent', .* was not declared .*labels=\[\.\.\.\]"):
            function(words)
        with refuses(DataError, "order: 'god' is not among the labels .*; did you mean 'good'"):
            function(words, order=["poor", "fair", "god", "excellent"])
        with refuses(DataError, "order must name each label once .*: see 'poor'"):
            function(words, order=["poor", "poor", "fair", "good", "excellent"])


# ----------------------------------------------------------------------------------------------- models of grades


@pytest.fixture(scope="module")
def grading():
    """Draws of a model of grades: of the prior, but the first annotator is lenient and the last one noisy."""
    model = ba.get_model("ordinal_dawid_skene")
    design = ba.make_design(items=80, annotators=5, labels=["poor", "fair", "good", "best"], per_item=4, random_seed=1)
    data, _ = ba.simulate(model, design, random_seed=1)

    def change(drawn):
        drawn["severity"][..., 0] -= 9
        drawn["sd"][..., 4] *= 30

    return from_prior(model, data, change=change)


def test_annotators_of_a_model_of_grades_have_severity_and_sd(grading, mace_fit):
    table, plain = ba.annotator_table(grading), ba.annotator_table(mace_fit)
    each = ["mean", "sd", "eti89_lb", "eti89_ub", "ess_bulk", "ess_tail", "r_hat"]
    columns = [f"{name}_{what}" for name in ("competence", "severity", "sd") for what in each]
    assert table.columns.tolist() == ["annotator", "n_annotations", "n_gold", "gold_agreement", *columns]
    plain_columns = ["annotator", "n_annotations", "n_gold", "gold_agreement", *columns[:7], "p_chance"]
    assert plain.columns.tolist() == plain_columns
    rows = ba.summary(grading, ["severity", "sd"]).set_index("parameter")
    for name in ("severity", "sd"):
        own = rows.loc[[f"{name}[{who}]" for who in table["annotator"]], each]
        np.testing.assert_allclose(table[[f"{name}_{what}" for what in each]], own, rtol=1e-9)
    assert table.loc[0, "severity_eti89_ub"] < 0  # lenient
    assert table["sd_mean"].idxmax() == 4
    lowest = ba.annotator_table(grading, worst_first=True)  # chance is no measure of a grader
    assert lowest["competence_mean"].is_monotonic_increasing


def test_a_fit_of_a_model_of_grades_writes_them(grading, tmp_path):
    run = write_fit(grading, tmp_path, began=0.0)
    assert run["files"][:4] == ["posterior.nc", "labels.csv", "annotators.csv", "grades.csv"]
    written = pd.read_csv(tmp_path / "grades.csv")
    np.testing.assert_allclose(written["grade_mean"], ba.grade_table(grading)["grade_mean"], rtol=1e-5)
    assert ba.load(tmp_path)["constant_data"]["order_declared"]
    page = ba.write_report(grading, tmp_path / "report.html", checks=False).read_text()
    assert "severity_mean" in page
    assert "severity_r_hat" not in page
    assert "below 0.5" not in page  # exact matches are no measure of a grader
    assert "How many true grades are at most a grade" in page


# ------------------------------------------------------------------------------- several dimensions, and counts


@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")  # so few draws
def test_several_dimensions_have_grades_each(multi_fit, several, refuses):
    check_grades(ba.get_model("model_a_multi"), several)
    table = ba.grade_table(multi_fit)
    assert table.columns[0] == "dimension"
    assert table["dimension"].value_counts().to_dict() == {"focus": 40, "polarity": 40}
    turned = ba.grade_table(multi_fit, dimension="polarity", order=["-", "+"])
    own = table[table["dimension"] == "polarity"].reset_index(drop=True)
    np.testing.assert_allclose(turned["grade_mean"], 3 - own["grade_mean"])
    with refuses(FitError, "order applies to one dimension, and this fit has focus, polarity: name one"):
        ba.grade_table(multi_fit, order=["-", "+"])
    with refuses(FitError, "this fit has dimensions focus, polarity: name one"):
        ba.decide_labels(multi_fit, "absolute")


@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")  # so few draws
def test_counts_have_no_grades(count_fit, counts, refuses):
    with refuses(FitError, "binomial_mixture gives no labels, and so no grades"):
        check_grades(ba.get_model("binomial_mixture"), counts)
    for function in (ba.grade_table, lambda fit: ba.decide_labels(fit, "absolute")):
        with refuses(FitError, "binomial_mixture gives no labels, and so no grades"):
            function(count_fit)
