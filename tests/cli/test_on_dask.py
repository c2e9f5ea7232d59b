"""`bayesanno fit --dask`: the files of a run, with labels in parts, and what workers cannot read."""

import json

import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.messages import percent
from bayesanno.cli import on_dask
from tests.samples import write_parts

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's own reader of Parquet, pandas 3.1


@pytest.fixture
def answers(crowd, tmp_path):
    """A folder of two files."""
    return write_parts(crowd[0].to_frame(), tmp_path / "answers", 2)


def in_threads():
    """A cluster within this process."""
    return distributed.Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0", silence_logs=50
    )


def test_the_files_of_a_run(command, answers, crowd, monkeypatch):
    asked = []

    def connect(address):
        asked.append(address)
        return in_threads()

    monkeypatch.setattr(on_dask, "connect", connect)
    options = ("--method", "em", "--method-option", "restarts=1", "--seed", 1)
    code, out, err = command("fit", "mace", "answers", *options, "--dask", "tcp://here", "--out", "run")
    assert (code, asked) == (0, ["tcp://here"]), err
    assert f"mace: {crowd[0].describe()}" in err
    files = ["posterior.nc", "labels", "annotators.csv", "summary.csv", "run.json", "report.html"]
    assert [line for line in out.splitlines() if line.startswith("run/")] == [f"run/{name}" for name in files]
    page = (answers.parent / "run" / "report.html").read_text(encoding="utf-8")
    assert "does not hold the items: their labels are in the folder labels" in page
    run = json.loads((answers.parent / "run" / "run.json").read_text())
    data = crowd[0]
    labels = pd.read_parquet(answers.parent / "run" / "labels")
    assert run["accuracy"] == (labels["label"] == labels["gold"]).mean() > 0.9
    assert f"accuracy against gold of {data.n_items} items {percent(run['accuracy'])}\n" in out
    assert ba.load(answers.parent / "run").attrs["model"] == "mace"
