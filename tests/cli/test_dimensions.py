"""Several dimensions on the command line: simulated, and fitted."""

import json
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno.cli.for_model import read_for
from bayesanno.cli.options import gather_options
from tests.analysis.made import from_prior
from tests.cli.within import run

pytestmark = [
    pytest.mark.usefixtures("by_numpy"),
    pytest.mark.filterwarnings("ignore:mode:bayesanno.ConvergenceWarning"),
]

COLUMNS = ["--label", "focus", "--label", "polarity"]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Simulated by the command, then a fit written by the command, in a folder; and what it printed."""
    folder = tmp_path_factory.mktemp("dimensions")
    design = ["--items", 40, "--annotators", 4, "--per-item", "2-3", "--labels", "no,yes", "--seed", 8]
    simulated = run(folder, "simulate", "model_a_multi", "--dimensions", "focus,polarity", *design, "--out", "a.csv")
    with mock.patch.object(ba, "fit", lambda model, data, **_: from_prior(model, data)):
        done = run(folder, "fit", "model_a_multi", "a.csv", *COLUMNS, "--coverage", 0.5, "--no-adjust", "--out", "run")
    return SimpleNamespace(folder=folder, simulated=simulated, done=done)


@pytest.fixture(scope="module")
def data(fitted):
    return ba.read_multi_annotations(fitted.folder / "a.csv", ["focus", "polarity"])


def test_a_simulation_is_written_with_gold_and_with_the_correlation(fitted, data):
    assert fitted.simulated == (0, "a.csv\na.json\n", "")
    header = (fitted.folder / "a.csv").read_text().splitlines()[0]
    assert header == "item,annotator,focus,polarity,gold_focus,gold_polarity"
    for part in data.by_dimension.values():
        assert part.labels == ("no", "yes")
        assert set(np.bincount(part.item)) == {2, 3}
        assert 0 < len(part.gold) < 40  # unknown where nobody said the truth
    made_by = json.loads((fitted.folder / "a.json").read_text())
    assert (made_by["model"], made_by["seed"]) == ("model_a_multi", 8)
    correlation = made_by["parameters"]["correlation"]
    assert correlation["coords"] == {"dimension_pair": ["focus, polarity"]}
    assert correlation["values"][0] * made_by["parameters"]["direction"]["values"][0] > 0


def test_the_files_of_a_fit_have_a_part_for_each_dimension(fitted, data):
    code, out, err = fitted.done
    assert code == 0, err
    files = ["posterior.nc", "labels.csv", "annotators.csv", "summary.csv", "run.json", "report.html"]
    assert out.splitlines()[-6:] == [f"run/{name}" for name in files]
    n = data.n_annotations
    first = f"model_a_multi: {n} annotations of 40 items by 4 annotators in 2 dimensions, focus, polarity\n"
    assert err.startswith(first)
    stored = ba.load(fitted.folder / "run")
    tables = {"labels": ba.label_table(stored, coverage=0.5), "annotators": ba.annotator_table(stored)}
    for name, expected in tables.items():
        written, numbers = pd.read_csv(fitted.folder / "run" / f"{name}.csv"), expected.select_dtypes("float")
        assert written["dimension"].tolist() == expected["dimension"].tolist()
        pd.testing.assert_frame_equal(written[[*numbers]], numbers, rtol=1e-5)
    assert ba.data_of(stored).hash == data.hash
    assert ba.model_of(stored) == ba.models.ModelAMulti()
    described = json.loads((fitted.folder / "run" / "run.json").read_text())
    assert described["data"] == {
        "items": 40, "annotators": 4, "labels": {"focus": 2, "polarity": 2}, "annotations": data.n_annotations,
        "label_names": {"focus": ["no", "yes"], "polarity": ["no", "yes"]}, "hash": data.hash,
        "gold": {name: len(part.gold) for name, part in data.by_dimension.items()},
    }  # fmt: skip
    report = (fitted.folder / "run" / "report.html").read_text(encoding="utf-8")
    assert all(f"<h3>{name}</h3>" in report for name in data.by_dimension)


def test_declared_labels_of_the_command_reach_the_data(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("item,annotator,focus,polarity\ns1,bo,method,+\ns1,ada,method,-\ns2,cy,result,\n")
    declared = ["focus=result,method,other", "polarity=-,0,+"]
    options = gather_options(label=["focus", "polarity"], labels=declared)
    data, _ = read_for(ba.models.ModelAMulti(), str(path), options)
    focus, polarity = data.by_dimension.values()
    assert (focus.labels, polarity.labels) == (("result", "method", "other"), ("-", "0", "+"))
