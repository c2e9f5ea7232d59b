"""`bayesanno fit --dask`: the files of a run, with labels in parts, and what it refuses before anything is read."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.wording import percent
from bayesanno.cli import on_dask
from tests.samples import WITH_EM

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's own reader of Parquet, pandas 3.1


@pytest.fixture
def answers(crowd, tmp_path):
    """A folder of two files."""
    folder = tmp_path / "answers"
    folder.mkdir()
    frame = crowd[0].to_frame()
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), 2)):
        frame.iloc[rows].to_parquet(folder / f"{number}.parquet")
    return folder


def test_the_files_of_a_run(command, answers, crowd, monkeypatch):
    asked = []

    def connect(address):
        asked.append(address)
        return distributed.Client(
            processes=False, n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0", silence_logs=50
        )

    monkeypatch.setattr(on_dask, "connect", connect)
    options = ("--method", "em", "--method-option", "restarts=1", "--seed", 1)
    code, out, err = command("fit", "mace", "answers", *options, "--dask", "tcp://here", "--out", "run")
    assert (code, asked) == (0, ["tcp://here"]), err
    assert f"mace: {crowd[0].describe()}" in err
    assert [line for line in out.splitlines() if line.startswith("run/")] == [
        "run/posterior.nc", "run/labels", "run/annotators.csv", "run/summary.csv", "run/run.json",
        "run/report.html",
    ]  # fmt: skip
    page = (answers.parent / "run" / "report.html").read_text(encoding="utf-8")
    assert "does not hold the items: bayesanno.write_labels writes their labels there" in page
    run = json.loads((answers.parent / "run" / "run.json").read_text())
    data = crowd[0]
    assert run["data"]["items"] == data.n_items
    labels = pd.read_parquet(answers.parent / "run" / "labels")
    assert run["accuracy"] == (labels["label"] == labels["gold"]).mean() > 0.9
    assert f"accuracy against gold of {data.n_items} items {percent(run['accuracy'])}\n" in out
    code, out, err = command("fit", "mace", "answers", *options, "--dask", "x", "--out", "run", "--overwrite")
    assert code == 0
    here = ba.fit("mace", data, method="em", method_options={"restarts": 1}, random_seed=1, progressbar=False)
    far = ba.load(answers.parent / "run")
    np.testing.assert_allclose(far["posterior"]["competence"], here["posterior"]["competence"], atol=1e-8)
    written = pd.read_csv(answers.parent / "run" / "annotators.csv")
    np.testing.assert_allclose(written["competence_mean"], ba.annotator_table(here)["competence_mean"], rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ("mace answers", r"nuts takes data in memory \(read_annotations\): on a Dask cluster there are em and vb"),
        ("easy_hard answers --method vb", f"easy_hard has no VB: models that have are {WITH_EM}"),
        ("mace answers --method em --coverage 0.9", "--coverage needs all items in memory"),
        ("mace answers --method em --controls known.csv", "--dask reads a long table: leave out --controls"),
        ("mace answers --method em --gold-file known.csv", "--dask reads a long table: leave out --gold-file"),
        ("mace answers --method em --format wide", "--dask reads a long table: leave out --format"),
        ("mace answers --method em --label a --label b", "mace reads one label column, not 2: name one"),
        ("mace @crowd --method em", "@crowd is a named data set, which fits into memory: leave out --dask"),
        ("mace nowhere --method em", "there is no folder 'nowhere': check the path"),
        ("mace answers --method em --item task", "has no column 'task' to use as item"),
    ],
)
def test_what_is_refused_in_one_line(arguments, what, command, answers, monkeypatch):
    monkeypatch.setattr(
        on_dask, "connect", lambda _: distributed.Client(
            processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
        )
    )  # fmt: skip
    code, out, err = command("fit", *arguments.split(), "--dask", "local", "--out", "run")
    assert (code, out) == (1, "")
    (line,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert re.search(what, line)
    assert [path.name for path in answers.parent.iterdir()] == ["answers"]
