"""--unsure and --drop-unsure: from a table to the files of every command that reads one."""

import json

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from tests.samples import simulate_unsure

CROWD = {"items": 40, "careful": 3, "careless": 2, "per_item": 4}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("unsure") / "answers.csv"
    simulate_unsure(np.random.default_rng(1), **CROWD).to_frame().to_csv(path, index=False)
    return path


EM = ["--method", "em", "--seed", 1, "--no-report"]


def test_a_fit_of_unsure_answers_goes_round(command, table, tmp_path):
    code, out, err = command("fit", "model_b", table, "--unsure", "unsure", *EM, "--out", tmp_path / "fit")
    assert code == 0, err
    assert "labels no, yes; unsure: unsure (" in err
    labels = pd.read_csv(tmp_path / "fit" / "labels.csv")
    assert [name for name in labels if name.startswith("p[")] == ["p[no]", "p[yes]"]
    assert "unsure" in pd.read_csv(tmp_path / "fit" / "annotators.csv")
    run = json.loads((tmp_path / "fit" / "run.json").read_text())
    assert (run["data"]["label_names"], run["data"]["unsure"]) == (["no", "yes", "unsure"], ["unsure"])
    data = ba.data_of(ba.load(tmp_path / "fit"))
    assert data.hash == ba.read_annotations(table, unsure="unsure").hash == run["data"]["hash"]
    assert str(tmp_path / "fit" / "labels.csv") in out


def test_a_model_without_such_labels_takes_the_rest(command, table, tmp_path):
    unsure = ["--unsure", "unsure"]
    code, _, err = command("fit", "one_coin", table, *unsure, *EM, "--out", tmp_path / "fit")
    assert code == 1
    assert "one_coin takes each label as a class, and 'unsure' is not one: leave those answers out" in err
    assert "--drop-unsure" in err
    assert not (tmp_path / "fit").exists()
    code, _, err = command("fit", "one_coin", table, *unsure, "--drop-unsure", *EM, "--out", tmp_path / "fit")
    assert code == 0, err
    assert ba.data_of(ba.load(tmp_path / "fit")).labels == ("no", "yes")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["fit", "model_b", "--unsure", "unsur"], "'unsur' is not among the labels .* did you mean 'unsure'"),
        (["fit", "model_b", "--unsure", "unsure", "--unsure", "no"], "only one class is left, 'yes'"),
        (["fit", "model_b", "--unsure", "unsure", "--labels", "no,maybe"], "label 'yes' of item .* is not among"),
        (["fit", "model_b", "--drop-unsure"], "--drop-unsure leaves out .* name their labels with --unsure"),
        (
            ["fit", "mace", "--unsure", "unsure", "--dask", "local", "--method", "em"],
            "--dask reads a long table: leave out --unsure",
        ),
        (
            ["fit", "model_a_multi", "--unsure", "x", "--label", "label", "--label", "gold"],
            "a label column for each dimension, of which no answer may be unsure: leave out --unsure",
        ),
        (
            ["fit", "binomial_mixture", "--unsure", "unsure", "--successes", "label", "--trials", "gold"],
            "--successes and --trials name counts: leave out --unsure",
        ),
        (["fit", "binomial_mixture", "--unsure", "unsure", "--positive", "unsure"], "positive label 'unsure' is not"),
        (
            ["fit", "diligent_lazy_annotators", "--unsure", "unsure", "--positive", "yes"],
            "diligent_lazy_annotators takes each label as a class, and 'unsure' is not one",
        ),
        (["compare", "--model", "model_b", "--model", "one_coin", "--unsure", "unsure"], "one_coin takes each label"),
        (["sensitivity", "one_coin", "--unsure", "unsure"], "one_coin takes each label as a class"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(command, table, tmp_path, arguments, match):
    name, *rest = arguments
    out = ["--out", tmp_path / "out"]
    model = [] if name == "compare" else [rest.pop(0)]
    code, _, err = command(name, *model, table, *rest, *out)
    *_, last = err.strip().splitlines()
    assert code == 1
    assert last.startswith("error: ")
    assert pd.Series([last]).str.contains(match).all(), last
    assert not (tmp_path / "out").exists()


@pytest.mark.filterwarnings("ignore::bayesanno.ConvergenceWarning")
def test_counts_say_how_many_unsure_answers_they_leave_out(command, table, tmp_path):
    few = ["--draws", 20, "--tune", 20, "--chains", 1, "--seed", 1, "--no-report"]
    code, _, err = command("fit", "binomial_mixture", table, "--unsure", "unsure", *few, "--out", tmp_path / "m")
    n = int(ba.read_annotations(table, unsure="unsure").unsure_by_annotator.sum())
    assert code == 0, err
    assert f"of them 'yes' (taken as positive; --positive takes another); {n} unsure answers left out" in err


def test_agreement_leaves_them_out_and_says_so(command, table, tmp_path):
    options = ["--resamples", 0, "--no-plots"]
    for out, more in {"unsure": [], "dropped": ["--drop-unsure"]}.items():
        code, said, err = command("agreement", table, "--unsure", "unsure", *more, *options, "--out", tmp_path / out)
        assert code == 0, err
        assert ("left out, except from the use of labels: " in said) == (out == "unsure")
    first, second = (pd.read_csv(tmp_path / out / "coefficients.csv") for out in ("unsure", "dropped"))
    pd.testing.assert_frame_equal(first, second)
    assert "usage[unsure]" in pd.read_csv(tmp_path / "unsure" / "annotators.csv")
    n = int(ba.read_annotations(table, unsure="unsure").unsure_by_annotator.sum())
    assert json.loads((tmp_path / "unsure" / "run.json").read_text())["unsure_left_out"] == n


def test_simulated_annotators_may_be_unsure(command, tmp_path):
    simulate = ["--items", 30, "--annotators", 4, "--per-item", 3, "--labels", "no,yes", "--seed", 1]
    code, _, err = command("simulate", "model_b", *simulate, "--unsure", "unsure", "--out", tmp_path / "made.csv")
    assert code == 0, err
    data = ba.read_annotations(tmp_path / "made.csv", unsure="unsure")
    assert data.classes == ("no", "yes")
    code, _, err = command("simulate", "one_coin", *simulate, "--unsure", "unsure", "--out", tmp_path / "other.csv")
    assert (code, err.strip()) == (1, "error: one_coin cannot simulate answers that are no class: leave out --unsure")
