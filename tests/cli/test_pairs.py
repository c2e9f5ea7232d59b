"""Comparisons and columns of items on the command line: the class prior that options ask for."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from tests.analysis.made import from_prior

LONG = """item,a,b,winner,judge
q1,x,y,a,ada
q1,x,y,b,bo
q2,y,z,a,ada
q2,y,z,tie,bo
q3,z,x,x,ada
"""
ITEMS = "item,length,p[a],p[b],p[tie]\nq1,4,.5,.3,.2\nq2,6,.5,.3,.2\nq3,9,.2,.6,.2\n"


@pytest.fixture
def run(command, tmp_path):
    """Run the command in a folder with comparisons and a table of their items."""
    (tmp_path / "x.csv").write_text(LONG)
    (tmp_path / "items.csv").write_text(ITEMS)
    return command


@pytest.mark.usefixtures("by_numpy")
def test_options_of_items_are_the_class_prior_of_a_fit_and_effects_are_written(run, tmp_path, monkeypatch):
    monkeypatch.setattr(ba, "fit", lambda model, data, **_: from_prior(model, data))
    of_items = ("--items", "items.csv", "--class-prior", "length", "--classifier", "p")
    code, out, err = run(
        "fit", "model_b", "x.csv", "--pairs", "a,b", *of_items, "--no-adjust", "--no-report", "--out", "run"
    )
    assert code == 0, err
    described = json.loads((tmp_path / "run" / "run.json").read_text())
    assert [(term["term"], *list(term.values())[1:2]) for term in described["fields"]["class_prior"]] == [
        ("Pairs", "a"), ("Columns", "length"), ("Classifier", "p"),
    ]  # fmt: skip
    posterior = ba.load(tmp_path / "run")["posterior"]
    effects = pd.read_csv(tmp_path / "run" / "coefficients.csv").set_index(["effect", "true_class"])["mean"]
    for effect in ("length", "slope"):
        means = posterior[effect].mean(["chain", "draw"]).values.ravel()
        np.testing.assert_allclose(effects[effect], means, rtol=1e-4)
    assert re.search(r"^system +n_answers +elo_mean", out, re.MULTILINE)
    columns = described["data"]["item_columns"]
    assert columns["a"] == {"levels": 3, "missing": 0}
    assert columns["length"] == {"mean": pytest.approx(19 / 3), "sd": pytest.approx(2.0548, abs=1e-4), "missing": 0}
    assert "columns a, b, length, p[a], p[b], p[tie]" in err


@pytest.mark.parametrize(
    ("options", "terms"),
    [
        ("model_b @pairs", ["Pairs"]),
        ("model_b @pairs --judges-err", ["Pairs"]),
        ("model_b @pairs --set class_prior=learnt", "learnt"),
        ("model_a @pairs", None),
    ],
)
def test_named_comparisons_need_no_options(run, tiny_fit, monkeypatch, options, terms):
    seen = []
    monkeypatch.setattr(ba, "fit", lambda model, *_, **__: seen.append(model) or tiny_fit)
    code, _, err = run("fit", *options.split(), "--no-report", "--out", "run")
    assert code == 0, err
    found = seen[0].to_fields().get("class_prior")
    assert not found or found == "learnt" or found[0]["judges_err"] == ("--judges-err" in options)
    assert ([term["term"] for term in found] if isinstance(found, list | tuple) else found) == terms


@pytest.mark.parametrize("options", ["mace @crowd", "model_a @pairs", "mace @pairs --set class_prior=learnt"])
def test_errors_of_judges_are_those_of_comparisons_with_strengths(run, options):
    code, _, err = run("fit", *options.split(), "--judges-err", "--out", "run")
    assert code == 1
    assert "--judges-err is about the strengths of systems" in err
