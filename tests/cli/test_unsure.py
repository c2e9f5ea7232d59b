"""--unsure and --drop-unsure: from a table to the files of every command that reads one."""

import json

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno.cli.for_model import read_for
from bayesanno.cli.options import gather_options
from tests.samples import simulate_unsure

CROWD = {"items": 40, "careful": 3, "careless": 2, "per_item": 4}
EM = ["--method", "em", "--seed", 1, "--no-report"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("unsure") / "answers.csv"
    simulate_unsure(np.random.default_rng(1), **CROWD).to_frame().to_csv(path, index=False)
    return path


def test_a_fit_of_unsure_answers_goes_round(command, table, tmp_path):
    code, _, err = command("fit", "model_b", table, "--unsure", "unsure", *EM, "--out", "fit")
    assert code == 0, err
    assert "labels no, yes; unsure: unsure (" in err
    labels = pd.read_csv(tmp_path / "fit" / "labels.csv")
    assert [name for name in labels if name.startswith("p[")] == ["p[no]", "p[yes]"]
    assert "unsure" in pd.read_csv(tmp_path / "fit" / "annotators.csv")
    run = json.loads((tmp_path / "fit" / "run.json").read_text())
    assert (run["data"]["label_names"], run["data"]["unsure"]) == (["no", "yes", "unsure"], ["unsure"])
    data = ba.data_of(ba.load(tmp_path / "fit"))
    assert data.hash == ba.read_annotations(table, unsure="unsure").hash == run["data"]["hash"]


def test_models_without_such_labels_take_the_rest_and_counts_say_how_many_they_leave_out(table):
    data, _ = read_for(ba.get_model("one_coin"), str(table), gather_options(unsure=["unsure"], drop_unsure=True))
    assert data.labels == ("no", "yes")
    _, described = read_for(ba.get_model("binomial_mixture"), str(table), gather_options(unsure=["unsure"]))
    n = int(ba.read_annotations(table, unsure="unsure").unsure_by_annotator.sum())
    assert described.endswith(f"'yes' (taken as positive; --positive takes another); {n} unsure answers left out")


def test_agreement_leaves_them_out_and_says_so(command, table, tmp_path):
    options = ["--unsure", "unsure", "--resamples", 0, "--no-plots", "--out", "run"]
    code, said, err = command("agreement", table, *options)
    assert code == 0, err
    assert "left out, except from the use of labels: " in said
    assert "usage[unsure]" in pd.read_csv(tmp_path / "run" / "annotators.csv")
    n = int(ba.read_annotations(table, unsure="unsure").unsure_by_annotator.sum())
    assert json.loads((tmp_path / "run" / "run.json").read_text())["unsure_left_out"] == n
