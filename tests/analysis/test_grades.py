"""Grades: their posterior and what decisions about them cost, against enumeration and by hand; and what is refused."""

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno.analysis.grades import find_grades
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
    return ba.fit("one_coin", data, **EM), data


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
    table, turned = ba.grade_table(fit), ba.grade_table(fit, order=["good", "fair", "poor"])
    np.testing.assert_allclose(table["grade_mean"] + turned["grade_mean"], 4)
    right = [data.labels.index(label) + 1.0 for label in table["gold"]]
    assert np.corrcoef(table["grade_mean"], right)[0, 1] > 0.8
    np.testing.assert_allclose(table["p_below"], turned["p_above"], atol=1e-9)
    assert table["median"].equals(turned["median"])


def test_numbers_are_their_own_grades():
    rising, falling = (ba.grade_table(graded("0", "5", "10", order=order)[0]) for order in (None, ["10", "5", "0"]))
    assert set(rising["grade_eti89_lb"]) | set(rising["grade_eti89_ub"]) <= {0, 5, 10}
    assert rising["grade_mean"].max() > 9
    assert (falling["grade_eti89_lb"] <= falling["grade_eti89_ub"]).all()
    np.testing.assert_allclose(falling["grade_mean"], rising["grade_mean"], atol=1e-3)  # the best is 10, first or last
    assert find_grades(["1", "3", "2"]).tolist() == [1, 2, 3]  # declared so, against the numbers


def test_ranges_leave_no_more_than_a_tail_on_either_side(mace_fit):
    probability = ba.label_table(mace_fit)[[f"p[{label}]" for label in ORDER]].to_numpy()
    table = ba.grade_table(mace_fit, order=ORDER, ci_prob=0.9)
    ends, grades = table[["grade_eti90_lb", "grade_eti90_ub"]].to_numpy(), np.array([1, 2, 3])
    assert (ends[:, 0] < ends[:, 1]).any()
    for row, (first, last) in zip(probability, ends, strict=True):
        assert row[grades < first].sum() <= 0.05 < row[grades <= first].sum()
        assert row[grades > last].sum() <= 0.05 < row[grades >= last].sum()


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


def test_annotators_of_a_model_of_grades_have_severity_and_sd(grading):
    table = ba.annotator_table(grading)
    each = ["mean", "sd", "eti89_lb", "eti89_ub", "ess_bulk", "ess_tail", "r_hat"]
    columns = [f"{name}_{what}" for name in ("competence", "severity", "sd") for what in each]
    assert table.columns.tolist() == ["annotator", "n_annotations", "n_gold", "gold_agreement", *columns]
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
    page = ba.write_report(grading, tmp_path / "report.html", checks=False).read_text()
    assert "severity_mean" in page
    assert "below 0.5" not in page  # exact matches are no measure of a grader
    assert "How often the true grade is at most a given grade" in page


@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")  # so few draws
def test_several_dimensions_have_grades_each(multi_fit):
    table = ba.grade_table(multi_fit)
    assert table["dimension"].value_counts().to_dict() == {"focus": 40, "polarity": 40}
    turned = ba.grade_table(multi_fit, dimension="polarity", order=["-", "+"])
    own = table[table["dimension"] == "polarity"].reset_index(drop=True)
    np.testing.assert_allclose(turned["grade_mean"], 3 - own["grade_mean"])
