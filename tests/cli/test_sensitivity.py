"""`bayesanno sensitivity`: the tables, the words, and the priors that it compares."""

import json

import pandas as pd

import bayesanno as ba
from bayesanno.cli.compare import name_priors
from bayesanno.criticism.sensitivity import lay_out_grid
from tests.samples import tiny_data


def test_the_command_writes_tables_and_says_what_is_in_them(command, tiny_fit, tmp_path, monkeypatch):
    """Options reach the fit and the study, which are made by EM or before."""
    ba.data_of(tiny_fit).to_frame().to_csv(tmp_path / "tiny.csv", index=False)
    seen, study = [], ba.sensitivity
    by_em = {"method": "em", "random_seed": 1, "progressbar": False}
    monkeypatch.setattr(ba, "fit", lambda *_, **more: seen.append(more) or tiny_fit)
    monkeypatch.setattr(ba, "sensitivity", lambda *given, **more: seen.append(more) or study(*given, **by_em))
    short = ["--draws", 100, "--tune", 150, "--chains", 2, "--seed", 1, "--workers", 1]
    given = ("model_b", "tiny.csv", "--out", "found", "--grid", "confusion_accuracy=0.8")
    code, out, _ = command("sensitivity", *given, *short)
    assert code == 0
    assert [(one["draws"], one["tune"], one["chains"], one["random_seed"]) for one in seen] == [(100, 150, 2, 1)] * 2
    names = ["prior.csv", "powerscale.csv", "labels.csv", "grid.csv", "flips.csv", "annotators.csv"]
    names += ["prior.png", "labels.png", "priors.png", "run.json"]
    assert [line for line in out.splitlines() if line.startswith("found/")] == [f"found/{name}" for name in names]
    assert "would change their label if the prior were doubled or halved" in out
    prior = pd.read_csv(tmp_path / "found" / "prior.csv")
    assert set(prior["model"]) == {"model_b", "confusion_accuracy=0.8"}
    accuracy = prior[prior["quantity"] == "accuracy"]["mean"].iloc[0]
    assert f"model_b: before data, an annotator is right {accuracy:.0%} of the time" in out
    scaled = pd.read_csv(tmp_path / "found" / "powerscale.csv")
    assert {"accuracy", "class_share"} < set(scaled["parameter"].str.split("[").str[0])
    grid = pd.read_csv(tmp_path / "found" / "grid.csv")
    assert grid["confusion_accuracy"].tolist() == [0.6, 0.8]
    assert grid["prior"].tolist() == ["own", "confusion_accuracy=0.8"]
    assert f"confusion_accuracy=0.8: {grid['labels_changed'][1]:.0f} item" in out
    assert json.loads((tmp_path / "found" / "run.json").read_text())["grid"] == {"confusion_accuracy": ["0.8"]}


def test_variants_of_model_a_learn_the_frequencies():
    own = ba.models.ModelA()
    grid = {"accuracy_prior": ["2:1", "1:1"], "frequency": ["shared", "annotator"]}
    rows = lay_out_grid(own, grid, tiny_data(), 1, {})
    named = name_priors(own, {row.name: row.model for row in rows})
    assert {name: (model.frequency, model.accuracy_prior) for name, model in named.items()} == {
        "model_a, frequency=shared": ("shared", (2, 1)),
        "frequency=annotator": ("annotator", (2, 1)),
        "accuracy_prior=1:1, frequency=shared": ("shared", (1, 1)),
        "accuracy_prior=1:1, frequency=annotator": ("annotator", (1, 1)),
    }
