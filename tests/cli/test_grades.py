"""`bayesanno fit --grades`: a table of grades by any model of labels, and what is refused before anything is fitted."""

import json

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from tests.samples import simulate_crowd

EM = ("--method", "em", "--seed", 1, "--no-report")


@pytest.fixture(scope="module")
def answers():
    data, _ = simulate_crowd()
    return data.to_frame()


def test_any_model_of_labels_writes_grades_if_asked_to(command, answers, tmp_path):
    answers.to_csv(tmp_path / "answers.csv", index=False)
    code, out, err = command("fit", "mace", "answers.csv", "--labels", "no,maybe,yes", "--grades", *EM, "--out", "run")
    assert code == 0, err
    assert "run/grades.csv" in out.splitlines()
    assert "grades.csv" in json.loads((tmp_path / "run" / "run.json").read_text())["files"]
    written = pd.read_csv(tmp_path / "run" / "grades.csv")
    expected = ba.grade_table(ba.load(tmp_path / "run"))
    assert written.columns.tolist() == expected.columns.tolist()
    assert written["median"].tolist() == expected["median"].tolist()
    np.testing.assert_allclose(written["grade_mean"], expected["grade_mean"], rtol=1e-5)
    code, out, _ = command("fit", "mace", "answers.csv", "--labels", "no,maybe,yes", *EM, "--out", "plain")
    assert code == 0
    assert "grades.csv" not in out


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (
            "mace answers.csv --method em",
            "the order of the labels 'maybe', 'no', 'yes' was not declared (they are sorted",
        ),
        ("binomial_mixture answers.csv --positive yes", "binomial_mixture gives no labels, and so no grades"),
        ("easy_hard answers.csv", "easy_hard gives no labels, and so no grades"),
        ("label_usage answers.csv --labels no,maybe,yes", "label_usage gives no labels, and so no grades"),
        ("mace answers --method em --dask local", "--grades needs all items in memory: leave it out, or --dask"),
    ],
)
def test_what_has_no_grades_is_refused_in_one_line(arguments, what, command, answers, tmp_path):
    answers.to_csv(tmp_path / "answers.csv", index=False)
    code, out, err = command("fit", *arguments.split(), "--grades", "--out", "run")
    assert (code, out) == (1, "")
    (line,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert what in line
    assert [path.name for path in tmp_path.iterdir()] == ["answers.csv"]
