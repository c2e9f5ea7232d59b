"""Grades: their posterior and what decisions about them cost, against enumeration and by hand; and what is refused."""

import warnings
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.errors import ConvergenceWarning, DataError, FitError
from bayesanno._core.lazy import pm, pt
from bayesanno.analysis.grades import check_grades, find_grades
from bayesanno.cli.files import write_fit
from bayesanno.modeling import registry
from bayesanno.modeling.base import AnnotationModel
from tests.inference.draws import make_fit
from tests.models.contract import as_posterior
from tests.samples import DIMENSIONS, LABELS

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


def test_uncertainty_is_that_of_drawn_labels(mace_fit):
    drawn = ba.sample_labels(mace_fit, random_seed=1).values.reshape(-1, 400)  # (sample, item), of LABELS
    grade = np.array([ORDER.index(label) + 1 for label in LABELS])[drawn]
    table = ba.grade_table(mace_fit, order=ORDER)
    error = table["grade_sd"].to_numpy() / np.sqrt(len(grade))
    assert (np.abs(grade.mean(axis=0) - table["grade_mean"]) < 5 * error + 0.002).all()
    inside = (grade >= table["grade_eti89_lb"].to_numpy()) & (grade <= table["grade_eti89_ub"].to_numpy())
    assert inside.mean(axis=0).min() > 0.88


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


def test_costs_by_name_take_the_order_that_was_declared(mace_fit):
    table = ba.decide_labels(mace_fit, "absolute")  # LABELS was
    assert [name for name in table if name.startswith("cost[")] == [f"cost[{label}]" for label in LABELS]


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
        with refuses(DataError, r"order must name each label once \(excellent, fair, good, poor\): see 'excellent'"):
            function(words, order=["poor", "fair", "good"])
        with refuses(DataError, "order must name each label once .*: see 'poor'"):
            function(words, order=["poor", "poor", "fair", "good", "excellent"])
        with refuses(DataError, "order: 'poor,fair' is not among the labels"):
            function(words, order="poor,fair")
    assert len(ba.grade_table(words, order=["poor", "fair", "good", "excellent"])) == 60


# ----------------------------------------------------------------------------------------------- models of grades


@dataclass(frozen=True, kw_only=True)
class Graders(AnnotationModel):
    """Annotators perceive grade - severity + noise, and say the nearest grade."""

    name: ClassVar[str] = "graders"
    competence: ClassVar[str | None] = "accuracy"

    def priors(self, data, prior):  # noqa: ARG002
        severity = pm.Normal("severity", 0, 1, dims="annotator")
        sd = pm.Gamma("sd", 4, 4, dims="annotator")
        said = self._answers(severity, sd, data.n_labels)
        right = pt.stack([said[:, grade, grade] for grade in range(data.n_labels)])
        pm.Deterministic("accuracy", right.mean(axis=0), dims="annotator")

    def _answers(self, severity, sd, n):
        edges, grade = np.arange(n - 1) + 0.5, np.arange(n)
        z = (edges[:, None] - grade + severity[:, None, None]) / sd[:, None, None]  # (annotator, edge, true_class)
        below = (1 + pt.erf(z / np.sqrt(2))) / 2
        ends = [pt.zeros_like(below[:, :1]), pt.ones_like(below[:, :1])]
        below = pt.concatenate([ends[0], below, ends[1]], axis=1)
        return pt.clip(below[:, 1:] - below[:, :-1], 1e-12, 1)  # (annotator, response, true_class)

    def generate(self, design, p):
        n = design.n_classes
        truth = design.with_controls(pm.Categorical.dist(np.ones(n) / n, shape=(design.n_items,)))  # (item,)
        answers = self._answers(p.severity, p.sd, n)
        return truth, pm.Categorical.dist(answers[design.annotator, :, truth[design.item]])

    def state_logp(self, answers, p):
        said = self._answers(p.severity, p.sd, answers.n_classes)
        return -np.log(answers.n_classes) + answers.sum_over_annotations(pt.log(said))  # (item, true_class)

    def start(self, data):
        return {"severity": np.zeros(data.n_annotators), "sd": np.ones(data.n_annotators)}


@pytest.fixture(scope="module")
def grading():
    """Draws of a model of grades that has joined the zoo: the first annotator's grades are too high."""
    registry._entry_points.cache_clear()
    points = [EntryPoint("graders", f"{__name__}:Graders", registry.GROUP)]
    zoo = [*entry_points(group=registry.GROUP), *points]
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(registry, "entry_points", lambda *, group: zoo)  # noqa: ARG005
        design = ba.make_design(items=80, annotators=5, labels=["poor", "fair", "good", "best"], per_item=4)
        given = {"severity": [-1.0, 0, 0, 0, 0], "sd": [0.5, 0.5, 0.5, 0.5, 1.5]}
        data, _ = ba.simulate(Graders(), design, parameters=given, random_seed=1)
        noise = np.random.default_rng(1).normal(0, 0.1, size=(100, 2, 5))
        draws = [{name: given[name] + off for name, off in zip(given, offs, strict=True)} for offs in noise]
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield make_fit(Graders(), data, as_posterior(Graders().build(data), draws, 2))
    registry._entry_points.cache_clear()


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
    first = table.set_index("annotator").loc["a1"]
    assert first["severity_eti89_ub"] < 0  # lenient
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
    with refuses(FitError, "this fit has dimensions focus, polarity, and none 'colour'"):
        ba.grade_table(multi_fit, dimension="colour")
    with refuses(FitError, "this fit has dimensions focus, polarity: name one"):
        ba.decide_labels(multi_fit, "absolute")


def test_dimensions_whose_order_nobody_declared_have_no_grades(refuses):
    loose = {name: ba.AnnotationData.from_records([("s", "a", x) for x in of]) for name, of in DIMENSIONS.items()}
    with refuses(DataError, "the order of the labels of dimension 'focus' .* was not declared"):
        check_grades(ba.get_model("model_a_multi"), ba.MultiAnnotationData(by_dimension=loose))


@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")  # so few draws
def test_counts_have_no_grades(count_fit, counts, refuses):
    with refuses(FitError, "binomial_mixture gives no labels, and so no grades"):
        check_grades(ba.get_model("binomial_mixture"), counts)
    for function in (ba.grade_table, lambda fit: ba.decide_labels(fit, "absolute")):
        with refuses(FitError, "binomial_mixture gives no labels, and so no grades"):
            function(count_fit)
