"""The command line, end to end: what it writes, what it prints where, and what it leaves behind when interrupted."""

import json
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno._core.wording import percent
from bayesanno.io.write import write_table
from bayesanno.modeling.registry import describe_models
from tests.samples import COMMAND, LABELS

FILES = ["posterior.nc", "labels.csv", "annotators.csv", "summary.csv", "run.json"]
SETTINGS = {"draws": 100, "tune": 200, "chains": 2}
SIX_DIGITS = 5e-6  # how far a number of six significant digits is from the number, relatively, at the most
HEAVY = ("pymc", "pytensor", "arviz", "arviz_stats", "nutpie", "xarray", "pandas")


def run(*arguments, cwd):
    return subprocess.run([COMMAND, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def fitted(crowd, tmp_path_factory):
    """The folder of a fit by the command, and what the command printed."""
    folder = tmp_path_factory.mktemp("fitted")
    write_table(crowd[0].to_frame(), folder / "answers.csv")
    settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
    done = run("fit", "mace", "answers.csv", "--out", "run", *settings, "--seed", "1", "--coverage", "0.9", cwd=folder)
    return folder / "run", done


def read(path):
    return pd.read_csv(path, dtype={"item": str, "label": str, "gold": str, "annotator": str}, keep_default_na=False)


def test_a_fit_writes_its_files_and_its_report_and_nothing_else(fitted):
    folder, done = fitted
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == sorted([*FILES, "report.html"])
    assert sorted(path.name for path in folder.parent.iterdir()) == ["answers.csv", "run"]


def test_the_vote_and_the_annotators_are_held_against_gold(crowd, fitted):
    folder, done = fitted
    data, gold = crowd[0], crowd[0].gold
    answers = pd.DataFrame({"annotator": [data.annotators[j] for j in data.annotator]}).assign(
        right=[data.labels[k] == gold.get(data.items[i]) for i, k in zip(data.item, data.label, strict=True)],
        known=[data.items[i] in gold for i in data.item],
    )
    by_annotator = answers[answers["known"]].groupby("annotator")["right"].agg(["size", "mean"])
    table = read(folder / "annotators.csv").set_index("annotator").loc[by_annotator.index]
    assert table["n_gold"].tolist() == by_annotator["size"].tolist()
    np.testing.assert_allclose(table["gold_agreement"], by_annotator["mean"], rtol=SIX_DIGITS)
    first, second, *_ = done.stdout.splitlines()
    assert first.endswith(f"; majority vote {percent(ba.majority_vote(data)['right'].mean())}")
    most, least = by_annotator["mean"].max(), by_annotator["mean"].min()
    assert second.startswith("agreement with gold: ")
    assert f" most often, {percent(most)}; " in second
    assert second.endswith(f" least often, {percent(least)}")


def test_results_go_to_stdout_and_the_rest_to_stderr(fitted):
    folder, done = fitted
    out = done.stdout.splitlines()
    assert out[-6:] == [f"run/{name}" for name in [*FILES, "report.html"]]
    assert json.loads((folder / "run.json").read_text())["files"] == FILES
    assert out[0].startswith("accuracy against gold of 400 items ")
    assert out[1].startswith("agreement with gold: ")
    assert out[2].startswith("max R-hat 1.")
    assert out[3] == "the answers are as the model predicts them"
    *notes, last = out[4:-6]
    assert last.endswith("sampling; seed 1")
    assert all(line.startswith("note: ") for line in notes)
    first, *others = done.stderr.splitlines()
    n = len(read(folder.parent / "answers.csv"))
    assert first == f"mace: {n:,} annotations of 400 items by 30 annotators; labels maybe, no, yes"
    assert all(line.startswith("warning") for line in others)
    assert any(line.startswith("warning (care): ess: ") for line in others)  # 200 draws are few: that must be said


def test_the_tables_have_the_columns_that_are_promised_and_agree(fitted):
    folder, _ = fitted
    labels = read(folder / "labels.csv")
    probabilities = [f"p[{label}]" for label in LABELS]
    assert labels.columns.tolist() == [
        "item", "label", "probability", "entropy", "n_annotations", *probabilities, "weight", "agreement", "gold",
        "kept",
    ]  # fmt: skip
    p = labels[probabilities].to_numpy()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=len(LABELS) * SIX_DIGITS)
    assert labels["probability"].tolist() == p.max(axis=1).tolist()
    assert labels["label"].tolist() == [LABELS[k] for k in p.argmax(axis=1)]
    assert labels["kept"].sum() == 360
    assert labels.loc[labels["kept"], "entropy"].max() <= labels.loc[~labels["kept"], "entropy"].min()

    annotators = read(folder / "annotators.csv")
    assert annotators.columns.tolist() == [
        "annotator", "n_annotations", "n_gold", "gold_agreement", "competence_mean", "competence_sd",
        "competence_eti89_lb", "competence_eti89_ub", "competence_ess_bulk", "competence_ess_tail", "competence_r_hat",
        "p_chance",
    ]  # fmt: skip
    assert annotators["n_annotations"].sum() == labels["n_annotations"].sum()

    summary = read(folder / "summary.csv").set_index("parameter")
    assert summary.columns.tolist() == [
        "mean",
        "sd",
        "eti89_lb",
        "eti89_ub",
        "ess_bulk",
        "ess_tail",
        "r_hat",
        "mcse_mean",
        "mcse_sd",
    ]
    own = summary.loc[[f"competence[{name}]" for name in annotators["annotator"]]]
    np.testing.assert_allclose(own["mean"], annotators["competence_mean"])
    np.testing.assert_allclose(own["eti89_lb"], annotators["competence_eti89_lb"])
    assert len(summary) == 30 + 30 * 3 + 3 + 30  # competence, strategy, prevalence, accuracy


def test_run_json_says_what_was_run_and_what_came_of_it(fitted):
    folder, _ = fitted
    described = json.loads((folder / "run.json").read_text())
    assert {name: described[name] for name in ("model", "method", "nuts_sampler", "seed")} == {
        "model": "mace", "method": "nuts", "nuts_sampler": "nutpie", "seed": 1,
    }  # fmt: skip
    assert described["fields"] == {
        "competence_prior": [0.5, 0.5], "strategy_prior": 10.0, "class_prior": "learnt", "prevalence_prior": 10.0,
    }  # fmt: skip
    data = ba.read_annotations(folder.parent / "answers.csv")
    assert described["data"] == {
        "items": 400, "annotators": 30, "labels": 3, "annotations": data.n_annotations, "label_names": list(LABELS),
        "gold": 400, "hash": data.hash,
    }  # fmt: skip
    assert described["versions"]["bayesanno"] == ba.__version__
    seconds = described["seconds"]
    assert 0 < seconds["sample"] < seconds["total"]
    assert seconds["compile"] + seconds["sample"] < seconds["total"]

    labels = read(folder / "labels.csv").sort_values("entropy", kind="stable")
    right = (labels["label"] == labels["gold"]).to_numpy()
    assert described["accuracy"] == pytest.approx(right.mean())
    assert described["accuracy_at_90"] == pytest.approx(right[:360].mean())
    assert described["accuracy_at_75"] == pytest.approx(right[:300].mean())

    found = described["diagnostics"]
    assert set(found) >= {"max_rhat", "min_ess_bulk", "min_ess_tail", "divergences", "relabelled_fraction"}
    summary = read(folder / "summary.csv").set_index("parameter")
    assert summary["r_hat"].max() == pytest.approx(found["max_rhat"], rel=SIX_DIGITS)
    assert summary["ess_bulk"].min() == pytest.approx(found["min_ess_bulk"], rel=SIX_DIGITS)
    assert described["settings"] == {
        **SETTINGS,
        "target_accept": 0.8,
        "nuts_sampler": "nutpie",
        "nuts_sampler_kwargs": {},
        "starts": 20,
    }
    assert summary["ess_tail"].idxmin() == found["worst"]["min_ess_tail"]


def test_tables_have_six_significant_digits_and_the_fit_has_all(fitted):
    folder, _ = fitted
    fit = ba.load(folder)
    for name, table in (("labels", ba.label_table(fit)), ("annotators", ba.annotator_table(fit))):
        text = pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False)
        whole = table.select_dtypes("float")
        for column in whole:
            assert text[column].tolist() == [f"{value:.6g}" for value in whole[column]]
        assert not np.array_equal(text[whole.columns].astype(float).to_numpy(), whole.to_numpy())


@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")
def test_the_command_gives_the_draws_of_the_library_bit_for_bit(fitted, crowd):
    saved = ba.load(fitted[0])
    again = ba.fit("mace", crowd[0], random_seed=1, progressbar=False, **SETTINGS)
    for group in ("posterior", "latent", "log_likelihood"):
        xr.testing.assert_equal(saved[group].to_dataset(), again[group].to_dataset())
    assert ba.data_of(saved).gold == crowd[0].gold


# ------------------------------------------------------------------------------------------------- without a fit


def test_models_version_and_help(tmp_path):
    listed = run("models", cwd=tmp_path)
    assert (listed.returncode, listed.stderr) == (0, "")
    for name in ("mace", "model_b", "strategy_prior=10", "competence_prior=0.5:0.5", "confusion_accuracy=0.6"):
        assert name in listed.stdout
    assert "…" not in listed.stdout
    assert max(map(len, listed.stdout.splitlines())) <= 80
    fields = [field for model in describe_models() for field in model["fields"].split(", ")]
    assert all(field in listed.stdout for field in fields)
    version = run("--version", cwd=tmp_path)
    assert (version.returncode, version.stdout, version.stderr) == (0, f"bayesanno {ba.__version__}\n", "")
    module = [sys.executable, "-m", "bayesanno", "--version"]
    assert subprocess.run(module, cwd=tmp_path, capture_output=True, text=True, check=False).stdout == version.stdout
    general, of_fit = run("--help", cwd=tmp_path), run("fit", "--help", cwd=tmp_path)
    assert general.returncode == of_fit.returncode == 0
    assert all(command in general.stdout for command in ("models", "fit", "simulate"))
    commands = general.stdout.partition("Commands:\n")[2].splitlines()
    assert len(commands) == 11
    assert all(re.fullmatch(r"  [a-z]+ +[A-Z][^.]+\.", line) for line in commands)  # whole sentences
    assert all(option in of_fit.stdout for option in ("--out", "--set", "--seed", "--gold-file", "--coverage"))
    assert run("fit", "mace", cwd=tmp_path).returncode == 2  # --out is missing
    assert not list(tmp_path.iterdir())


LIGHT = """
import sys
from bayesanno.cli.app import main
codes = []
for arguments in (
    ["--version"], ["--help"], ["fit", "--help"], ["fit", "mace", "missing.csv", "--out", "new"],
    ["fit", "mace", "bad.csv", "--out", "new"], ["fit", "mace", "one.csv", "--out", "new"],
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
    assert codes == str([0, 0, 0] + [1] * 10), done.stderr
    assert heavy == "[]"
    errors = done.stderr.splitlines()
    assert len(errors) == 10
    assert all(line.startswith("error: ") for line in errors)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "one.csv"]


# --------------------------------------------------------------------------------------------------- interrupted


def test_an_interrupted_fit_says_so_and_leaves_nothing(tmp_path):
    rows = [f"{item},{who},{'xy'[(item + k) % 2]}" for item in range(30) for k, who in enumerate("ab")]
    (tmp_path / "answers.csv").write_text("\n".join(["item,annotator,label", *rows]))
    command = [COMMAND, "fit", "model_b", "answers.csv", "--out", "run", "--draws", "10000000"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            seen = [running.stderr.readline(), running.stderr.readline()]
            assert "annotations of" in seen[0]
            assert seen[1].startswith("warning (care): design-few-annotators: ")
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
