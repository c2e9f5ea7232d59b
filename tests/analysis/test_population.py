"""A population of annotators: what a fit says of it, and of an annotator that it has not seen."""

import re

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno.cli.files import write_fit
from bayesanno.models import HierarchicalDawidSkene
from tests.analysis.made import from_prior

MODEL = HierarchicalDawidSkene()
TYPICAL = np.array([[0.8, 0.15, 0.05], [0.1, 0.85, 0.05], [0.02, 0.28, 0.7]])
SPREAD = np.array([0.3, 0.6, 1.0])
N = 400  # draws


@pytest.fixture(scope="module")
def crowd():
    design = ba.make_design(items=40, annotators=6, labels=["bad", "fair", "good"], per_item=3, random_seed=1)
    return ba.simulate(MODEL, design, random_seed=2)[0]


@pytest.fixture(scope="module")
def fit(crowd):
    """Draws of the prior, but the population is nearly known."""
    rng = np.random.default_rng(1)

    def change(drawn):
        drawn["population"][0] = np.stack([rng.dirichlet(200 * row, size=N) for row in TYPICAL], axis=1)
        drawn["spread"][0] = SPREAD * rng.uniform(0.9, 1.1, size=(N, 3))
        drawn["ability_spread"][0] = rng.uniform(0.4, 0.6, size=N)

    return from_prior(MODEL, crowd, N, change)


def draw_strangers(fit, copies):
    """Confusion matrices of annotators from the population of each draw, (copy, draw, true_class, response)."""
    draws = fit["posterior"].to_dataset().stack(sample=("chain", "draw"))
    population = draws["population"].transpose("sample", "true_class", "response").values
    spread = draws["spread"].transpose("sample", ...).values
    rng = np.random.default_rng(5)
    ability = draws["ability_spread"].values[:, None, None] * rng.normal(size=(copies, N, 1, 1))
    logs = np.log(population) + (1 - np.eye(3)) * (spread[:, :, None] * rng.normal(size=(copies, N, 3, 3)) - ability)
    return np.exp(logs) / np.exp(logs).sum(axis=-1, keepdims=True)


def test_the_table_describes_the_population_and_its_annotators(fit):
    table = ba.population_table(fit)
    assert table.columns.tolist() == [
        "true_class", "response", "mean", "sd", "eti89_lb", "eti89_ub", "annotators_eti89_lb", "annotators_eti89_ub",
        "spread_mean", "spread_eti89_lb", "spread_eti89_ub", "pooling",
    ]  # fmt: skip
    draws = {name: values.values.reshape(N, *values.shape[2:]) for name, values in fit["posterior"].data_vars.items()}
    np.testing.assert_allclose(table["mean"], draws["population"].mean(axis=0).ravel(), rtol=1e-9)
    np.testing.assert_allclose(table["spread_mean"], draws["spread"].mean(axis=0).repeat(3), rtol=1e-9)
    np.testing.assert_allclose(table["eti89_ub"], np.quantile(draws["population"], 0.945, axis=0).ravel(), rtol=1e-9)
    low, high = np.quantile(draw_strangers(fit, 100), [0.055, 0.945], axis=(0, 1)).reshape(2, -1)
    np.testing.assert_allclose(table["annotators_eti89_lb"], low, atol=0.03)
    np.testing.assert_allclose(table["annotators_eti89_ub"], high, atol=0.03)
    right = draws["population"][:, 0, 0]
    variance = draws["spread"][:, 0] ** 2 + draws["ability_spread"] ** 2
    assert table["pooling"][0] == pytest.approx(np.median(1 / (variance * right * (1 - right))), rel=1e-10)


def test_a_run_and_the_report_have_the_population(fit, tmp_path):
    write_fit(fit, tmp_path, began=0.0)
    table = ba.population_table(fit)
    np.testing.assert_allclose(pd.read_csv(tmp_path / "population.csv")["mean"], table["mean"], rtol=1e-5)
    page = ba.write_report(fit, tmp_path / "report.html", checks=False).read_text()
    row = re.search(r"The typical annotator.*?<tbody><tr>(.*?)</tr>", page, re.DOTALL)[1]
    first = table.iloc[0]
    ends = " to ".join(f"{first[f'annotators_eti89_{end}']:.2f}" for end in ("lb", "ub"))
    assert re.findall(r"<td[^>]*>(.*?)</td>", row) == ["bad", f"{first['mean']:.2f}", ends, f"{first['pooling']:.0f}"]


NEW = [("n1", "zoe", "good"), ("n2", "a1", "bad"), ("n2", "zoe", "bad"), ("n3", "a1", "fair"), ("n4", "yan", "bad")]


def test_the_label_by_an_annotator_never_seen_is_that_of_the_population(fit, crowd):
    new = ba.AnnotationData.from_records(NEW, labels=crowd.labels)
    table = ba.predict_labels(fit, new, random_seed=1).set_index("item")
    prevalence = fit["posterior"]["prevalence"].values.reshape(N, 3)
    confusion = draw_strangers(fit, 200)
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
    assert found["silent"] == pytest.approx(N, rel=1e-9)
    assert (found <= N).all()
    assert found["n5"] < found["n1"] < N  # what strangers say tells some of the draws from others
