"""Several dimensions on the command line: simulated, and fitted."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.errors import FitError
from tests.cli.within import run

pytestmark = [
    pytest.mark.usefixtures("by_numpy"),
    pytest.mark.filterwarnings("ignore:mode:bayesanno.ConvergenceWarning"),
]

COLUMNS = ["--label", "focus", "--label", "polarity"]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Simulated by the command, then fitted by the command, in a folder; and what it printed."""
    folder = tmp_path_factory.mktemp("dimensions")
    design = ["--items", 40, "--annotators", 4, "--per-item", "2-3", "--labels", "no,yes", "--seed", 8]
    simulated = run(folder, "simulate", "model_a_multi", "--dimensions", "focus,polarity", *design, "--out", "a.csv")
    settings = ["--draws", 40, "--tune", 60, "--chains", 2, "--seed", 1]
    done = run(folder, "fit", "model_a_multi", "a.csv", *COLUMNS, *settings, "--coverage", 0.5, "--out", "run")
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
    first, *others = err.splitlines()
    n = data.n_annotations
    assert first == f"model_a_multi: {n} annotations of 40 items by 4 annotators in 2 dimensions, focus, polarity"
    assert all(line.startswith("warning") for line in others)
    stored = ba.load(fitted.folder / "run")
    tables = {"labels": ba.label_table(stored, coverage=0.5), "annotators": ba.annotator_table(stored)}
    for name, expected in tables.items():
        written = pd.read_csv(fitted.folder / "run" / f"{name}.csv", dtype={"gold": str}, keep_default_na=False,
                              na_values={name: [""] for name in expected.select_dtypes("float")})  # fmt: skip
        pd.testing.assert_frame_equal(written, expected, rtol=1e-5, check_dtype=False)
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


def test_what_is_read_off_is_of_one_dimension_at_a_time(fitted, data, refuses):
    fit = ba.load(fitted.folder / "run")
    labels = ba.label_table(fit).set_index(["dimension", "item"])
    chosen = ba.decide_labels(fit, {"no": {"no": 0, "yes": 1}, "yes": {"no": 3, "yes": 0}}, dimension="polarity")
    np.testing.assert_allclose(chosen["cost[no]"], 3 * labels.loc["polarity", "p[yes]"].to_numpy(), rtol=1e-12)
    assert chosen["item"].tolist() == list(data.items)
    correct = ba.analysis.correctness_table(fit, ["i2"], dimension="polarity").set_index("label")["probability"]
    own = fit["latent"]["polarity"]["probability"].sel(item="i2").values  # of the model, not adjusted
    assert correct["(none of these)"] == pytest.approx(own[-1], rel=1e-12)
    draws = fit["posterior"]["accuracy"].sel(dimension="focus").values.reshape(-1, 4)
    better = ba.compare_annotators(fit, dimension="focus").iloc[0, 1]
    assert better == pytest.approx((draws[:, 0] > draws[:, 1]).mean())
    for read_off in (
        lambda **dimension: ba.analysis.correctness_table(fit, **dimension),
        lambda **dimension: ba.decide_labels(fit, {}, **dimension),
        lambda **dimension: ba.compare_annotators(fit, **dimension),
    ):
        with refuses(FitError, "this fit has dimensions focus, polarity: name one"):
            read_off()
        with refuses(FitError, "this fit has dimensions focus, polarity, and none 'evidence'"):
            read_off(dimension="evidence")


def test_declared_labels_of_the_command_reach_the_data(tmp_path, monkeypatch):
    seen = []

    def started(_, data, **__):
        seen.append(data)
        raise FitError("that will do")

    monkeypatch.setattr(ba, "fit", started)
    (tmp_path / "a.csv").write_text("item,annotator,focus,polarity\ns1,bo,method,+\ns1,ada,method,-\ns2,cy,result,\n")
    options = "--labels focus=result,method,other --labels polarity=-,0,+"
    code, _, err = run(tmp_path, "fit", "model_a_multi", "a.csv", *COLUMNS, *options.split(), "--out", "run")
    assert (code, err.splitlines()[-1]) == (1, "error: that will do")
    focus, polarity = seen[0].by_dimension.values()
    assert (focus.labels, polarity.labels) == (("result", "method", "other"), ("-", "0", "+"))
