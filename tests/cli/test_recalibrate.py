"""`bayesanno recalibrate` and `bayesanno fit --recalibrate`: the files of a recalibrated fit, and what is refused."""

import json
from functools import partial

import pandas as pd
import pytest

import bayesanno as ba
from tests.cli.within import run as run_in

BY_EM = (
    "--method",
    "em",
    "--method-option",
    "objective=map",
    "--method-option",
    "restarts=2",
    "--seed",
    "1",
    "--no-report",
)
FILES = ["posterior.nc", "labels.csv", "annotators.csv", "summary.csv", "recalibration.csv", "run.json"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fit of the simulated crowd, and the true labels of 40 items in a file."""
    folder = tmp_path_factory.mktemp("recalibrate")
    gold = pd.Series(ba.read_annotations("@crowd").gold, name="gold").rename_axis("item")
    gold.iloc[:40].to_csv(folder / "gold.csv")
    code, _, err = run_in(folder, "fit", "model_b", "@crowd", "--out", "plain", *BY_EM)
    assert code == 0, err
    return folder


@pytest.fixture
def at(folder):
    """The command, in the folder of the fit."""
    return partial(run_in, folder)


def test_items_that_are_not_in_the_data_are_warned_of_once(at, folder):
    (folder / "more.csv").write_text((folder / "gold.csv").read_text() + "nowhere,billing\n")
    code, _, err = at("fit", "model_b", "@crowd", "--out", "more", *BY_EM, "--recalibrate", "more.csv")
    assert code == 0
    assert err.count("1 of 41 known labels are left out") == 1


def test_a_fit_is_recalibrated_at_once_or_afterwards(at, folder):
    code, out, _ = at("fit", "model_b", "@crowd", "--out", "at_once", *BY_EM, "--recalibrate", "gold.csv")
    assert code == 0
    assert "of 40 true labels; their log score, each left out, -" in out
    code, _, _ = at("recalibrate", "plain", "--gold", "gold.csv", "--out", "after", "--no-report")
    assert code == 0
    for name in ("at_once", "after"):
        assert json.loads((folder / name / "run.json").read_text())["files"] == FILES
        assert sorted(path.name for path in (folder / name).iterdir()) == sorted(FILES)
    for file in ("labels.csv", "recalibration.csv", "summary.csv"):
        assert (folder / "at_once" / file).read_text() == (folder / "after" / file).read_text()
    assert (folder / "plain" / "labels.csv").read_text() != (folder / "after" / "labels.csv").read_text()
    done = ba.load(folder / "after")
    labels = pd.read_csv(folder / "after" / "labels.csv", keep_default_na=False)
    assert labels["probability"].tolist() == pytest.approx(ba.label_table(done)["probability"].tolist(), rel=1e-5)
    found = json.loads((folder / "after" / "run.json").read_text())["recalibration"]
    table = pd.read_csv(folder / "after" / "recalibration.csv").set_index("parameter")
    assert found["temperature"]["mean"] == pytest.approx(table.loc["temperature", "mean"], rel=1e-5)
    assert (found["n_known"], "items" in found) == (40, False)


def test_by_default_the_gold_of_the_data_and_with_a_report(at, folder):
    code, out, _ = at("recalibrate", "plain", "--out", "by_all", "--coverage", "0.9")
    assert code == 0
    assert "of 300 true labels" in out
    assert out.endswith("by_all/report.html\n")
    page = (folder / "by_all" / "report.html").read_text(encoding="utf-8")
    assert "What did recalibration change?" in page
    assert "estimated from the true labels of 300 items" in page
    assert pd.read_csv(folder / "by_all" / "labels.csv")["kept"].sum() == 270


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("recalibrate", "plain", "--gold", "none.csv", "--out", "x"), "there is no file 'none.csv'"),
        (
            ("recalibrate", "plain", "--gold", "odd.csv", "--out", "x"),
            "odd.csv, line 2: no item of this file, such as 'nobody'",
        ),
        (("recalibrate", "plain", "--out", "plain"), "plain exists: choose another --out, or --overwrite"),
        (("recalibrate", "nowhere", "--out", "x"), "there is no fit at nowhere: give the posterior.nc"),
        (("recalibrate", "plain", "--out", "x", "--coverage", "2"), "coverage is 2.0: it must be above 0"),
        (
            ("fit", "model_b", "@crowd", "--out", "x", "--recalibrate", "odd.csv"),
            "odd.csv, line 2: no item of this file, such as 'nobody'",
        ),
        (("fit", "model_b", "@crowd", "--out", "x", "--recalibrate", "none.csv"), "there is no file 'none.csv'"),
        (("fit", "easy_hard", "@crowd", "--out", "x", "--recalibrate", "gold.csv"), "easy_hard gives item types"),
        (
            ("fit", "binomial_mixture", "@crowd", "--positive", "other", "--out", "x", "--recalibrate", "gold.csv"),
            "binomial_mixture gives item types",
        ),
        (
            ("fit", "model_b", "answers", "--out", "x", *BY_EM, "--dask", "local", "--recalibrate", "gold.csv"),
            "--recalibrate needs all items in memory",
        ),
    ],
)
def test_what_cannot_be_is_one_line_before_anything_is_fitted(at, folder, arguments, message):
    (folder / "odd.csv").write_text("item,gold\nnobody,other\n")
    code, _, err = at(*arguments)
    assert code == 1
    (line,) = [line for line in err.splitlines() if not line.startswith(("binomial", "easy_hard:", "model_b:"))]
    assert line.startswith(f"error: {message}")
    assert not (folder / "x").exists()


def test_few_true_labels_are_warned_of(at, folder):
    (folder / "few.csv").write_text("".join((folder / "gold.csv").read_text().splitlines(keepends=True)[:6]))
    code, out, err = at("recalibrate", "plain", "--gold", "few.csv", "--out", "few", "--no-report")
    assert code == 0
    assert "warning (care): few-true-labels: " in err
    assert "of 5 true labels" in out
