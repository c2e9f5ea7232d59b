"""A population of annotators: what a fit says of it, and of an annotator that it has not seen."""

import re

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.errors import FitError
from bayesanno.cli.files import write_fit
from bayesanno.models import HierarchicalDawidSkene
from tests.samples import tiny_data

pytestmark = pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")  # so few draws
MODEL = HierarchicalDawidSkene()
TYPICAL = np.array([[0.8, 0.15, 0.05], [0.1, 0.85, 0.05], [0.02, 0.28, 0.7]])
SPREAD = np.array([0.3, 0.6, 1.0])
ABILITY_SPREAD = 0.5


@pytest.fixture(scope="module")
def crowd():
    design = ba.make_design(items=150, annotators=25, labels=["bad", "fair", "good"], per_item=6, random_seed=1)
    given = {"prevalence": [0.4, 0.35, 0.25], "population": TYPICAL, "spread": SPREAD}
    given["ability_spread"] = ABILITY_SPREAD
    data, _ = ba.simulate(MODEL, design, parameters=given, random_seed=2)
    return data


@pytest.fixture(scope="module")
def fit(crowd):
    return ba.fit(MODEL, crowd, draws=300, tune=300, chains=2, random_seed=1, progressbar=False)


def test_the_population_is_recovered(fit):
    table = ba.population_table(fit)
    assert table.columns.tolist() == [
        "true_class", "response", "mean", "sd", "eti89_lb", "eti89_ub", "annotators_eti89_lb", "annotators_eti89_ub",
        "spread_mean", "spread_eti89_lb", "spread_eti89_ub", "pooling",
    ]  # fmt: skip
    inside = (table["eti89_lb"] <= TYPICAL.ravel()) & (TYPICAL.ravel() <= table["eti89_ub"])
    assert inside.sum() >= 7
    truth = SPREAD.repeat(3)
    assert ((table["spread_eti89_lb"] <= truth) & (truth <= table["spread_eti89_ub"])).all()
    np.testing.assert_allclose(table.groupby("true_class")["mean"].sum(), 1, rtol=1e-12)
    # annotators lie apart farther than the typical one is uncertain
    wider = (table["annotators_eti89_ub"] - table["annotators_eti89_lb"]) / (table["eti89_ub"] - table["eti89_lb"])
    assert wider.min() > 1
    draws = fit["posterior"].to_dataset()
    right = draws["population"].sel(true_class="bad", response="bad")
    variance = draws["spread"].sel(true_class="bad") ** 2 + draws["ability_spread"] ** 2
    pooling = 1 / (variance * right * (1 - right))
    assert table["pooling"][0] == pytest.approx(float(np.median(pooling)), rel=1e-10)


def test_a_run_and_the_report_have_the_population(fit, tmp_path):
    write_fit(fit, tmp_path, began=0.0)
    written = pd.read_csv(tmp_path / "population.csv")
    table = ba.population_table(fit)
    assert written.columns.tolist() == table.columns.tolist()
    np.testing.assert_allclose(written["mean"], table["mean"], rtol=1e-5)
    page = ba.write_report(fit, tmp_path / "report.html", checks=False).read_text()
    right = table[table["true_class"] == table["response"]].iloc[0]
    row = re.search(r"The typical annotator.*?<tbody><tr>(.*?)</tr>", page, re.DOTALL)[1]
    ends = " to ".join(f"{right[f'annotators_eti89_{end}']:.2f}" for end in ("lb", "ub"))
    expected = [right["true_class"], f"{right['mean']:.2f}", ends, f"{right['pooling']:.0f}"]
    assert re.findall(r"<td[^>]*>(.*?)</td>", row) == expected


# ------------------------------------------------------------------------------------------ annotators never seen

NEW = [("n1", "zoe", "good"), ("n2", "a1", "bad"), ("n2", "zoe", "bad"), ("n3", "a1", "fair"), ("n4", "yan", "bad")]


def test_the_label_by_an_annotator_never_seen_is_that_of_the_population(fit, crowd):
    new = ba.AnnotationData.from_records(NEW, labels=crowd.labels)
    table = ba.predict_labels(fit, new, random_seed=1).set_index("item")
    draws = fit["posterior"].to_dataset().stack(sample=("chain", "draw"))
    prevalence = draws["prevalence"].transpose("sample", ...).values
    population = draws["population"].transpose("sample", "true_class", "response").values
    spread = draws["spread"].transpose("sample", ...).values
    rng = np.random.default_rng(5)
    ability = draws["ability_spread"].values[:, None, None] * rng.normal(size=(200, 600, 1, 1))
    logs = np.log(population)[None] + (1 - np.eye(3)) * (
        spread[None, :, :, None] * rng.normal(size=(200, 600, 3, 3)) - ability
    )
    confusion = np.exp(logs) / np.exp(logs).sum(axis=-1, keepdims=True)  # (stranger, sample, true_class, response)
    for item, said in (("n1", 2), ("n4", 0)):
        joint = (prevalence * confusion[..., said]).mean(axis=(0, 1))  # (true_class,)
        found = table.loc[item, [f"p[{name}]" for name in crowd.classes]].to_numpy(dtype=float)
        np.testing.assert_allclose(found, joint / joint.sum(), atol=0.02)
    alone = ba.predict_labels(fit, ba.AnnotationData.from_records([NEW[3]], labels=crowd.labels)).set_index("item")
    assert table.loc["n3", "p[fair]"] == pytest.approx(alone.loc["n3", "p[fair]"], abs=1e-9)  # whom the fit knows
    again = ba.predict_labels(fit, new, random_seed=1).set_index("item")
    assert (again["p[bad]"] == table["p[bad]"]).all()


def test_a_draw_that_is_repeated_for_annotators_never_seen_counts_once(fit, crowd):
    """Four strangers per draw are no four draws: an item that none of them answered keeps its effective number."""
    beside = [*NEW, ("n5", "zoe", "bad"), ("n5", "zoe", "fair"), ("n5", "zoe", "good")]
    items = [*dict.fromkeys(item for item, *_ in beside), "silent"]
    new = ba.AnnotationData.from_records(beside, labels=crowd.labels, items=items)
    found = ba.predict_labels(fit, new, random_seed=1).set_index("item")["ess_weights"]
    alone = ba.predict_labels(fit, ba.AnnotationData.from_records([NEW[3]], labels=crowd.labels))["ess_weights"][0]
    assert found["n3"] == pytest.approx(alone, rel=1e-9)
    assert found["silent"] == pytest.approx(600, rel=1e-9)
    assert (found <= 600).all()
    assert found["n5"] < found["n1"] < 600  # what strangers say tells some of the draws from others


# ------------------------------------------------------------------------------------------------------ bad input


def test_other_models_have_no_population(tiny_fit, refuses):
    with refuses(FitError, "model_b has no population of annotators"):
        ba.population_table(tiny_fit)


def test_a_population_of_one_annotator_is_warned_about():
    records = [("s1", "ada", "no"), ("s2", "ada", "yes"), ("s3", "ada", "yes")]
    data = ba.AnnotationData.from_records(records)
    (found,) = MODEL.findings(data)
    assert (found.code, found.value) == ("population-few-annotators", 1)
    assert list(MODEL.findings(tiny_data())) == []
    assert list(MODEL.findings(ba.read_annotations("@crowd"))) == []


def test_classes_that_are_called_otherwise_than_by_their_names_are_said(fit):
    posterior = fit["posterior"].to_dataset()
    assert list(MODEL.findings_of_posterior(posterior)) == []
    swapped = posterior.assign(population=posterior["population"].assign_coords(true_class=["good", "fair", "bad"]))
    (found,) = MODEL.findings_of_posterior(swapped)
    assert (found.code, set(found.about)) == ("class-misnamed", {"bad", "good"})
    assert "'bad' by 'good' (" in found.message


def test_modes_of_the_density_are_refused(crowd, refuses):
    with refuses(FitError, "its modes are meaningless; look for those of model_b"):
        ba.find_modes(MODEL, crowd)
