"""The command line, end to end: what it writes, what it prints where, and what it leaves behind when interrupted."""

import io
import json
import re
import signal
import subprocess
import sys
import time
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.messages import percent
from bayesanno.io.write import write_table
from bayesanno.modeling.registry import describe_models
from tests.cli.within import LONG, run
from tests.samples import COMMAND, LABELS

FILES = ["posterior.nc", "labels.csv", "annotators.csv", "summary.csv", "run.json"]
HEAVY = ("pymc", "pytensor", "arviz", "arviz_stats", "nutpie", "xarray", "pandas", "matplotlib")


@pytest.fixture(scope="module")
def fitted(crowd, mace_fit, tmp_path_factory):
    """The folder of a fit that the command has written, though not made, and what the command printed."""
    folder = tmp_path_factory.mktemp("fitted")
    write_table(crowd[0].to_frame(), folder / "answers.csv")
    with mock.patch.object(ba, "fit", return_value=mace_fit):
        return folder / "run", run(folder, "fit", "mace", "answers.csv", "--out", "run", "--coverage", "0.9")


def test_files_and_results_go_to_stdout_and_the_rest_to_stderr(fitted, crowd):
    folder, (code, printed, err) = fitted
    assert code == 0, err
    assert sorted(path.name for path in folder.iterdir()) == sorted([*FILES, "report.html"])
    assert sorted(path.name for path in folder.parent.iterdir()) == ["answers.csv", "run"]
    out, data = printed.splitlines(), crowd[0]
    assert out[-6:] == [f"run/{name}" for name in [*FILES, "report.html"]]
    assert out[0].startswith("accuracy against gold of 400 items ")
    assert out[0].endswith(f"; majority vote {percent(ba.majority_vote(data)['right'].mean())}")
    right = [data.labels[k] == data.gold[data.items[i]] for i, k in zip(data.item, data.label, strict=True)]
    share = pd.Series(right).groupby(np.array(data.annotators)[data.annotator]).mean()
    assert out[1] == (
        f"agreement with gold: {share.idxmax()} most often, {percent(share.max())}; {share.idxmin()} least often, "
        f"{percent(share.min())}"
    )
    assert out[2].startswith("max R-hat 1.")
    assert out[-7].endswith("sampling; seed 1")
    first, *others = err.splitlines()
    assert first == f"mace: {data.n_annotations:,} annotations of 400 items by 30 annotators; labels maybe, no, yes"
    listed = json.loads((folder / "run.json").read_text())["findings"]
    assert others == [f"{one['level']}: {one['code']}: {one['message']} {one['command']}" for one in listed]
    assert "spammer" in {one["code"] for one in listed}


def test_tables_are_the_library_s_with_six_significant_digits(fitted, mace_fit):
    adjusted = ba.adjust(mace_fit)
    tables = {"labels": ba.label_table(adjusted, coverage=0.9), "annotators": ba.annotator_table(mace_fit)}
    for name, table in (tables | {"summary": ba.summary(mace_fit)}).items():
        text = pd.read_csv(fitted[0] / f"{name}.csv", dtype=str, keep_default_na=False)
        assert text.columns.tolist() == table.columns.tolist()
        for column, values in table.items():
            is_float = pd.api.types.is_float_dtype(values)
            assert text[column].tolist() == [f"{value:.6g}" if is_float else str(value) for value in values], column


def test_run_json_says_what_was_run_and_what_came_of_it(fitted, crowd, mace_fit):
    described = json.loads((fitted[0] / "run.json").read_text())
    assert [described[name] for name in ("model", "method", "nuts_sampler", "seed")] == ["mace", "nuts", "nutpie", 1]
    assert described["files"] == FILES
    assert described["fields"]["competence_prior"] == [0.5, 0.5]
    assert described["data"] == {
        "items": 400, "annotators": 30, "labels": 3, "annotations": crowd[0].n_annotations,
        "label_names": list(LABELS), "gold": 400, "hash": crowd[0].hash,
    }  # fmt: skip
    assert described["versions"]["bayesanno"] == ba.__version__
    before, after = described["adjustment"]["expected_errors"]
    assert before < after
    assert described["settings"].items() >= {"draws": 1000, "tune": 500, "chains": 4, "target_accept": 0.8}.items()
    assert set(described["seconds"]) == {"compile", "sample", "total"}
    labels = ba.label_table(mace_fit).sort_values("entropy", kind="stable")
    right = (labels["label"] == labels["gold"]).to_numpy()
    for name, n in {"accuracy": 400, "accuracy_at_90": 360, "accuracy_at_75": 300}.items():
        assert described[name] == pytest.approx(right[:n].mean())
    summary = ba.summary(mace_fit).set_index("parameter")
    assert described["diagnostics"]["max_rhat"] == pytest.approx(summary["r_hat"].max())
    assert described["diagnostics"]["worst"]["min_ess_tail"] == summary["ess_tail"].idxmin()


def test_data_come_from_standard_input_and_options_reach_the_fit(command, tmp_path, tiny_fit, monkeypatch):
    seen = []
    monkeypatch.setattr(ba, "fit", lambda model, data, **settings: seen.append((model, data, settings)) or tiny_fit)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LONG.encode())))
    given = {"draws": 7, "tune": 8, "chains": 3, "target_accept": 0.9, "nuts_sampler": "pymc", "initvals": "vote"}
    options = [f"--{name.replace('_', '-')}={value}" for name, value in (given | {"seed": 5}).items()]
    fields = ["--set", "competence_prior=2:1", "--no-adjust", "--no-report"]
    code, out, err = command("fit", "mace", "-", "--out", "run", *options, *fields)
    assert code == 0, err
    (model, data, settings), *none = seen
    assert not none
    assert model == ba.models.MACE(competence_prior=(2, 1))
    assert data.hash == ba.AnnotationData.from_records([row.split(",") for row in LONG.split()[1:]]).hash
    also = {"random_seed": 5, "progressbar": False, "method": "nuts", "method_options": {}}
    assert settings == given | also
    assert "report" not in out
    assert not (tmp_path / "run" / "report.html").exists()


def test_models_version_and_help(command, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, listed, err = command("models")
    assert (code, err) == (0, "")
    assert "…" not in listed
    for model in describe_models():
        assert all(field in listed for field in [model["name"], *model["fields"].split(", ")])
    assert command("--version") == (0, f"bayesanno {ba.__version__}\n", "")
    module = [sys.executable, "-m", "bayesanno", "--version"]
    assert subprocess.check_output(module, cwd=tmp_path, text=True) == f"bayesanno {ba.__version__}\n"
    code, general, _ = command("--help")
    assert code == 0
    commands = general.partition("Commands:\n")[2].splitlines()
    assert len(commands) == 13
    assert all(re.fullmatch(r"  [a-z]+ +[A-Z][^.]+\.", line) for line in commands)  # whole sentences
    assert not list(tmp_path.iterdir())


LIGHT = """
import sys
from bayesanno.cli.app import main
codes = []
for arguments in (
    ["--version"], ["fit", "--help"], ["fit", "mace", "bad.csv", "--out", "new"],
    ["fit", "mice", "bad.csv", "--out", "new"], ["fit", "mace", "one.csv", "--out", "new", "--set", "no_field=1"],
    ["fit", "mace", "one.csv", "--out", "new", "--draws", "0"], ["fit", "mace", "@crowds", "--out", "new"],
    ["fit", "mace", "one.csv", "--out", "no/new"], ["simulate", "mace", "--out", "one.csv"],
    ["export", "no", "--to", "argila", "--out", "new"],
):
    sys.argv = ["bayesanno", *arguments]
    try:
        main()
    except SystemExit as stop:
        codes.append(stop.code or 0)
print(codes)
print([name for name in %r if name in sys.modules])
"""


def test_errors_and_help_are_answered_without_anything_heavy(tmp_path):
    (tmp_path / "bad.csv").write_text("item,annotator,opinion\n1,a,x\n")
    (tmp_path / "one.csv").write_text("item,annotator,label\n1,a,x\n2,b,x\n")
    code = LIGHT % (HEAVY,)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    codes, heavy = done.stdout.splitlines()[-2:]
    assert codes == str([0, 0] + [1] * 8), done.stderr
    assert heavy == "['pandas']"  # which reads the tables


def test_an_interrupted_fit_says_so_and_leaves_nothing(tmp_path):
    rows = [f"{item},{who},{'xy'[(item + k) % 2]}" for item in range(30) for k, who in enumerate("ab")]
    (tmp_path / "answers.csv").write_text("\n".join(["item,annotator,label", *rows]))
    command = [COMMAND, "fit", "model_b", "answers.csv", "--out", "run", "--draws", "10000000"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert "annotations of" in running.stderr.readline()
            assert any(path.name.startswith(".run.") for path in tmp_path.iterdir())
            time.sleep(3)  # it builds and compiles the model now
            running.send_signal(signal.SIGINT)
            out, rest = running.communicate(timeout=120)
        finally:
            running.kill()  # which would otherwise go on for hours
    assert running.returncode == 130
    assert out == ""
    assert rest == "interrupted: nothing was written\n"
    assert [path.name for path in tmp_path.iterdir()] == ["answers.csv"]
