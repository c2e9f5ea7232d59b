"""`bayesanno simulate`: the answers read back, with gold and the parameters that made them."""

import json

import numpy as np

import bayesanno as ba


def test_simulated_annotations_read_back_with_gold_and_parameters(command, tmp_path):
    arguments = ["--items", 40, "--annotators", 9, "--per-item", "3-7", "--labels", "no, yes", "--seed", 5]
    done = command("simulate", "model_b", *arguments, "--unsure", "unsure", "--out", "a.csv")
    assert done == (0, "a.csv\na.json\n", "")
    data = ba.read_annotations(tmp_path / "a.csv", unsure="unsure")
    assert data.classes == ("no", "yes")
    assert data.unsure_by_annotator.sum() > 0
    assert set(data.items) == {f"i{number}" for number in range(1, 41)} == set(data.gold)
    assert set(np.bincount(data.item)) <= set(range(3, 8))
    made_by = json.loads((tmp_path / "a.json").read_text())
    assert (made_by["model"], made_by["seed"]) == ("model_b", 5)
    assert made_by["fields"]["confusion_accuracy"] == 0.6
    confusion = made_by["parameters"]["confusion"]
    assert confusion["dims"] == ["annotator", "true_class", "response"]
    assert confusion["coords"]["response"] == ["no", "yes", "unsure"]
    assert np.shape(confusion["values"]) == (9, 2, 3)
    np.testing.assert_allclose(np.sum(confusion["values"], axis=2), 1)


def test_simulated_counts_have_trials_and_the_types_that_made_them(command, tmp_path):
    of_types = ("--items", 200, "--per-item", 8, "--set", "rate_prior=3:20")
    assert command("simulate", "binomial_mixture", *of_types, "--seed", 1, "--out", "x.csv")[0] == 0
    counts = ba.read_counts(tmp_path / "x.csv")
    assert counts.trials.tolist() == [8] * 200
    made_by = json.loads((tmp_path / "x.json").read_text())
    assert made_by["fields"]["rate_prior"] == [3, 20]
    assert set(made_by["parameters"]) == {"weight", "rate", "state"}
    assert set(made_by["parameters"]["state"]["values"]) == {"type 1", "type 2"}
