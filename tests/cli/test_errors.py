"""The command line refuses what is wrong in one line, writes nothing then, and never half of anything."""

import errno
import io
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.errors import FitError
from bayesanno.inference import methods as samplers

LONG = "item,annotator,label\ns1,ada,no\ns1,bo,yes\ns2,ada,yes\n"


def listing(folder):
    """Every file and folder, hidden ones too, with what is in it."""
    paths = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in paths}


# name: (content of answers.csv, arguments after `fit`, what the line says); "mace answers.csv --out run" where none
REFUSED = {
    "missing file": (LONG, "mace nowhere.csv --out run", r"there is no file 'nowhere\.csv': check the path"),
    "a folder": (LONG, "mace . --out run", r"'\.' is a folder"),
    "empty file": ("", "", r"answers\.csv is empty"),
    "no such column": (LONG, "mace answers.csv --out run --label verdict",
                       "no column 'verdict' .* its columns are 'item', 'annotator', 'label'"),
    "no label column": ("item,annotator,said\n1,a,x\n", "",
                        "has no column for the label among 'item', 'annotator', 'said': name it with"),
    "one label": ("item,annotator,label\n1,a,no\n2,b,no\n", "", "only one label, 'no': .*--labels"),
    "blank item": (LONG + ",bo,no\n", "", "line 5: label 'no' has no item"),
    "blank annotator": (LONG + "s3, ,no\n", "", "line 5: label 'no' of item 's3' has no annotator"),
    "unequal rows": (LONG + "s3,ada\n", "", "line 5: 2 columns where the header .* has 3"),
    "mixed separators": (LONG + "s3;ada;no\n", "", "line 5: 1 column .* this line seems to use ';'"),
    "count in words": ("x,y,count\na,b,2\na,a,two\n", "mace answers.csv --out run --columns x,y",
                       "line 3: count is 'two', but must be a whole number"),
    "broken count": ("x,y,count\na,b,2.5\n", "mace answers.csv --out run --columns x,y", r"line 2: count is '2\.5'"),
    "not UTF-8": ("item,a,b\n1,\xe9,x\n".encode("latin-1"), "", "line 2: byte 0xe9 is not UTF-8"),
    "format": (LONG, "mace answers.csv --out run --format wyde", "no format 'wyde': .*did you mean 'wide'"),
    "undeclared label": (LONG, "mace answers.csv --out run --labels no,maybe", "label 'yes' of item 's1' is not among"),
    "control label": (LONG, "mace answers.csv --out run --controls controls.csv",
                      "controls.csv, line 2: label 'perhaps' of item 's1' is not among the declared labels"),
    "control item": (LONG, "mace answers.csv --out run --controls other.csv",
                     "other.csv, line 2: no item of this file, such as 's9'"),
    "gold file missing": (LONG, "mace answers.csv --out run --gold-file gone.csv", r"there is no file 'gone\.csv'"),
    "gold twice": (LONG, "mace answers.csv --out run --gold label --gold-file controls.csv", "gold is given twice"),
    "unknown name": (LONG, "mace @crowds --out run", "no data set '@crowds': .*did you mean '@crowd'"),
    "unknown model": (LONG, "model_bb answers.csv --out run", "no model 'model_bb': did you mean 'model_b'"),
    "unknown model, far off": (LONG, "xyz answers.csv --out run", "no model 'xyz': the zoo has .*mace, model_a"),
    "unknown field": (LONG, "mace answers.csv --out run --set strategy_prio=1",
                      "mace has no field 'strategy_prio': did you mean 'strategy_prior'"),
    "field out of range": (LONG, "model_b answers.csv --out run --set confusion_accuracy=1.2",
                           r"confusion_accuracy is 1\.2: it must be a number between 0 and 1"),
    "field not a number": (LONG, "mace answers.csv --out run --set strategy_prior=ten",
                           "strategy_prior is 'ten': it must be a number"),
    "field nan": (LONG, "mace answers.csv --out run --set strategy_prior=nan", "strategy_prior is 'nan'"),
    "tuple too short": (LONG, "mace answers.csv --out run --set competence_prior=0.5",
                        r"competence_prior is '0\.5': it must be 2 numbers \(on the command line 0\.5:0\.5\)"),
    "choice": (LONG, "mace answers.csv --out run --set class_prior=flat", "it must be one of 'learnt', 'uniform'"),
    "malformed set": (LONG, "mace answers.csv --out run --set strategy_prior",
                      "--set strategy_prior: write FIELD=VALUE"),
    "folder exists": (LONG, "mace answers.csv --out old", "old exists: choose another --out, or --overwrite"),
    "not of a run": (LONG, "mace answers.csv --out old --overwrite", "old was not written by a run"),
    "file in the way": (LONG, "mace answers.csv --out controls.csv --overwrite", "controls.csv was not written"),
    "no parent": (LONG, "mace answers.csv --out no/run", "there is no folder .*/no to write run into"),
    "method": (LONG, "mace answers.csv --out run --method nutz", "no method 'nutz': choose one of nuts, advi"),
    "sampler": (LONG, "mace answers.csv --out run --nuts-sampler stan", "nuts_sampler is 'stan': it must be one of"),
    "draws": (LONG, "mace answers.csv --out run --draws 0", "draws is 0: it must be at least 4"),
    "tune": (LONG, "mace answers.csv --out run --tune -1", "tune is -1: it must be at least 1"),
    "chains": (LONG, "mace answers.csv --out run --chains 0", "chains is 0: it must be at least 1"),
    "steps": (LONG, "mace answers.csv --out run --method advi --method-option steps=0", "steps is 0: it must be at"),
    "steps in words": (LONG, "mace answers.csv --out run --method advi --method-option steps=many",
                       "steps is 'many': it must be a whole number"),
    "initvals": (LONG, "mace answers.csv --out run --initvals random",
                 "initvals is 'random': it must be one of 'auto', 'vote', 'prior'"),
    "unknown option": (LONG, "mace answers.csv --out run --method advi --method-option tune=10 --method-option stepz=1",
                       "advi has no method option 'tune': it has starts, steps"),
    "options of NUTS": (LONG, "mace answers.csv --out run --method-option steps=10",
                        "nuts has no method option 'steps': it has starts"),
    "malformed option": (LONG, "mace answers.csv --out run --method advi --method-option steps",
                         "--method-option steps: write NAME=VALUE, as in --method-option steps=10000"),
    "target accept": (LONG, "mace answers.csv --out run --target-accept 1",
                      r"target_accept is 1\.0: it must be a number"),
    "coverage": (LONG, "mace answers.csv --out run --coverage 0", r"coverage is 0\.0: it must be above 0 and at"),
    "negative seed": (LONG, "mace answers.csv --out run --seed -1", "seed is -1"),
    "huge seed": (LONG, "mace answers.csv --out run --seed 99999999999999999999", "seed is 99999999999999999999"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", REFUSED)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_written(command, tmp_path, wrong, monkeypatch):
    def started(*_, **__):
        raise AssertionError("a fit was started, where the request should have been refused")

    monkeypatch.setattr(ba, "fit", started)
    content, arguments, match = REFUSED[wrong]
    (tmp_path / "answers.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "controls.csv").write_text("item,label\ns1,perhaps\n")
    (tmp_path / "other.csv").write_text("item,label\ns9,yes\n")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "kept.txt").write_text("kept")
    before = listing(tmp_path)
    code, out, err = command("fit", *(arguments or "mace answers.csv --out run").split())
    assert code == 1
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("error: ")
    assert re.search(match, lines[0]), lines[0]
    assert listing(tmp_path) == before


def test_a_sampler_that_is_not_installed_is_refused(command, tmp_path, monkeypatch):
    monkeypatch.setattr(samplers, "find_spec", lambda _: None)
    (tmp_path / "answers.csv").write_text(LONG)
    code, out, err = command("fit", "mace", "answers.csv", "--out", "run", "--nuts-sampler", "blackjax")
    assert (code, out) == (1, "")
    assert err == "error: the sampler 'blackjax' is not installed: pip install 'bayesanno[blackjax]', or use nutpie\n"
    assert list(listing(tmp_path)) == ["answers.csv"]


def test_a_table_with_a_byte_order_mark_and_other_line_ends_is_simply_read(command, tmp_path, tiny_fit, monkeypatch):
    seen = []
    monkeypatch.setattr(ba, "fit", lambda _, data, **__: seen.append(data) or tiny_fit)
    (tmp_path / "answers.csv").write_bytes(b'\xef\xbb\xbfitem;annotator;label\r\n"s;1";ada;no\r\ns2;bo;"yes"\r\n')
    assert command("fit", "mace", "answers.csv", "--out", "run")[0] == 0
    assert seen[0].items == ("s;1", "s2")
    assert seen[0].labels == ("no", "yes")


@pytest.mark.parametrize(("given", "reaches"), [((), "auto"), (("--initvals", "vote"), "vote")])
def test_where_chains_start_reaches_the_fit(command, tmp_path, tiny_fit, monkeypatch, given, reaches):
    seen = []
    monkeypatch.setattr(ba, "fit", lambda *_, **settings: seen.append(settings["initvals"]) or tiny_fit)
    (tmp_path / "answers.csv").write_text(LONG)
    assert command("fit", "mace", "answers.csv", "--out", "run", *given)[0] == 0
    assert seen == [reaches]


# ----------------------------------------------------------------------------------------------------- overwriting


@pytest.fixture
def old_run(tmp_path):
    (tmp_path / "answers.csv").write_text(LONG)
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text('{"model": "mace"}')
    (folder / "notes.txt").write_text("of the run before")
    return folder


def test_overwrite_replaces_the_folder(command, old_run, tiny_fit, monkeypatch):
    monkeypatch.setattr(ba, "fit", lambda *_, **__: tiny_fit)
    code, out, _ = command("fit", "model_b", "answers.csv", "--out", "run", "--overwrite")
    assert code == 0
    assert "run/labels.csv" in out.splitlines()
    names = sorted(path.name for path in old_run.iterdir())
    assert names == ["annotators.csv", "labels.csv", "posterior.nc", "report.html", "run.json", "summary.csv"]
    assert json.loads((old_run / "run.json").read_text())["model"] == "model_b"
    assert sorted(path.name for path in old_run.parent.iterdir()) == ["answers.csv", "run"]


FAILURES = {
    "an error of ours": (FitError("no"), 1, "error: no\n"),
    "an interruption": (KeyboardInterrupt(), 130, "interrupted: nothing was written\n"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_run_leaves_the_folder_it_was_to_replace(command, old_run, monkeypatch, failure):
    raised, code, said = FAILURES[failure]

    def fails(*_, **__):
        raise raised

    monkeypatch.setattr(ba, "fit", fails)
    before = listing(old_run.parent)
    found = command("fit", "mace", "answers.csv", "--out", "run", "--overwrite")
    assert (found[0], found[1]) == (code, "")
    assert found[2].endswith(said)
    assert listing(old_run.parent) == before


def test_a_run_whose_tables_cannot_be_written_leaves_nothing(command, tmp_path, tiny_fit, monkeypatch):
    import bayesanno.cli.files

    def fails(*_, **__):
        raise OSError("No space left on device")

    (tmp_path / "answers.csv").write_text(LONG)
    monkeypatch.setattr(ba, "fit", lambda *_, **__: tiny_fit)
    monkeypatch.setattr(bayesanno.cli.files, "describe_run", fails)
    with pytest.raises(OSError, match="No space"):
        command("fit", "mace", "answers.csv", "--out", "run")
    assert list(listing(tmp_path)) == ["answers.csv"]


@pytest.mark.parametrize("full", ["posterior.nc", "labels.csv", "summary.csv", "run.json", "report.html", "cache"])
def test_a_full_disk_is_one_line_and_nothing_is_written_by_half(command, old_run, tiny_fit, monkeypatch, full):
    """`run.json` is written last; what is full after it is the report of a fit that is there already."""
    before = listing(old_run.parent)

    def unless_full(write, name=lambda path, *_, **__: path.name):
        def write_or_stop(*arguments, **options):
            if full in name(*arguments, **options):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(*arguments, **options)

        return write_or_stop

    for way in ("open", "write_text"):
        monkeypatch.setattr(Path, way, unless_full(getattr(Path, way)))
    to_csv = unless_full(pd.DataFrame.to_csv, lambda _, path, **__: path.name)
    monkeypatch.setattr(pd.DataFrame, "to_csv", to_csv)
    monkeypatch.setattr(ba, "fit", unless_full(lambda *_, **__: tiny_fit, lambda *_, **__: "cache"))
    code, _, err = command("fit", "model_b", "answers.csv", "--out", "run", "--overwrite")
    monkeypatch.undo()  # so that files can be read
    assert code == 1
    assert err.splitlines()[-1].startswith("error: ")
    assert "No space left on device" in err.splitlines()[-1]
    assert ".tmp" not in err
    if full == "report.html":
        assert sorted(path.name for path in old_run.iterdir()) == [
            "annotators.csv", "labels.csv", "posterior.nc", "run.json", "summary.csv",
        ]  # fmt: skip
        assert sorted(path.name for path in old_run.parent.iterdir()) == ["answers.csv", "run"]
    else:
        assert listing(old_run.parent) == before


@pytest.mark.parametrize(
    ("array", "what"),
    [
        (lambda: np.empty((10**6, 10**9)), " for an array with shape (1000000, 1000000000) and data type float64"),
        (lambda: bytearray(2**62), ""),
    ],
)
def test_too_little_memory_is_one_line_that_says_for_what(command, tmp_path, monkeypatch, array, what):
    (tmp_path / "answers.csv").write_text(LONG)
    monkeypatch.setattr(ba, "fit", lambda *_, **__: array())
    code, _, err = command("fit", "model_b", "answers.csv", "--out", "run")
    assert code == 1
    assert err.splitlines()[-1] == (
        f"error: the memory of this machine is too small{what}: join rare labels, of which every two may count, or "
        "take fewer items, annotators or draws"
    )
    assert list(listing(tmp_path)) == ["answers.csv"]


# ---------------------------------------------------------------------------------------------------- standard input


def test_data_may_come_from_standard_input(command, tmp_path, tiny_fit, monkeypatch):
    seen = []
    monkeypatch.setattr(ba, "fit", lambda _, data, **__: seen.append(data) or tiny_fit)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LONG.encode())))
    assert command("fit", "mace", "-", "--out", "run", "--no-report")[0] == 0
    (tmp_path / "answers.csv").write_text(LONG)
    assert seen[0].hash == ba.read_annotations(tmp_path / "answers.csv").hash


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (io.TextIOWrapper(io.BytesIO(b"item,annotator,label\ns1,ada\n")), "standard input, line 2: 2 columns"),
        (io.TextIOWrapper(io.BytesIO()), "standard input is empty"),
        (None, "standard input cannot be read"),
    ],
)
def test_what_is_wrong_with_standard_input_is_said_in_one_line(command, tmp_path, monkeypatch, given, said):
    monkeypatch.setattr(sys, "stdin", given)
    code, out, err = command("fit", "mace", "-", "--out", "run")
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1
    assert said in err
    assert listing(tmp_path) == {}


# ------------------------------------------------------------------------------------------------------- simulate


def test_simulated_annotations_read_back_with_gold_and_parameters(command, tmp_path):
    arguments = ["simulate", "model_b", "--items", 40, "--annotators", 9, "--per-item", "3-7", "--labels", "no, yes"]
    code, out, err = command(*arguments, "--out", "a.csv", "--seed", 5)
    assert (code, err) == (0, "")
    assert out.splitlines() == ["a.csv", "a.json"]
    data = ba.read_annotations(tmp_path / "a.csv")
    assert data.labels == ("no", "yes")
    assert set(data.items) == {f"i{number}" for number in range(1, 41)} == set(data.gold)
    each = np.bincount(data.item)
    assert set(each) <= set(range(3, 8))
    assert len(set(each)) > 2
    made_by = json.loads((tmp_path / "a.json").read_text())
    assert (made_by["model"], made_by["seed"]) == ("model_b", 5)
    assert made_by["fields"]["confusion_accuracy"] == 0.6
    confusion = made_by["parameters"]["confusion"]
    assert confusion["dims"] == ["annotator", "true_class", "response"]
    assert confusion["coords"]["response"] == ["no", "yes"]
    assert np.shape(confusion["values"]) == (9, 2, 2)
    np.testing.assert_allclose(np.sum(confusion["values"], axis=2), 1)

    assert command(*arguments, "--out", "b.csv", "--seed", 5)[0] == 0
    assert command(*arguments, "--out", "c.csv", "--seed", 6)[0] == 0
    for suffix in ("csv", "json"):
        a, b, c = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in "abc")
        assert a == b
        assert a != c


NOT_SIMULATED = {
    "a file is there": ("--out old.csv", 1, "old.csv exists: choose another --out, or --overwrite"),
    "its parameters are there": ("--out other.csv", 1, "other.json exists"),
    "one file for both": ("--out new.json", 1, "new.json"),
    "no folder": ("--out no/new.csv", 1, "no to write new.csv into"),
    "no items": ("--out new.csv --items 0", 1, "item"),
    "negative items": ("--out new.csv --items -3", 1, "item"),
    "one label": ("--out new.csv --labels 1", 1, "only one label, '0'"),
    "too many each": ("--out new.csv --annotators 3 --per-item 5", 1, "per_item is 5: each item can have 0 to 3"),
    "a range upside down": ("--out new.csv --per-item 7-3", 1, "per_item is"),
    "no range": ("--out new.csv --per-item few", 2, "'few' is no whole number, nor a range such as 3-7"),
    "a label twice": ("--out new.csv --labels a,b,a", 1, "'a' appears twice"),
    "negative seed": ("--out new.csv --seed -1", 1, "seed is -1"),
    "field": ("--out new.csv --set strategy_prior=0", 1, "strategy_prior is 0: it must be a number > 0"),
}


@pytest.mark.parametrize("wrong", NOT_SIMULATED)
def test_what_cannot_be_simulated_is_refused_and_nothing_is_written(command, tmp_path, wrong):
    arguments, expected, match = NOT_SIMULATED[wrong]
    (tmp_path / "old.csv").write_text("of the time before")
    (tmp_path / "other.json").write_text("of the time before")
    before = listing(tmp_path)
    code, out, err = command("simulate", "mace", *arguments.split())
    assert (code, out) == (expected, "")
    assert match in err
    assert expected == 2 or (len(err.splitlines()) == 1 and err.startswith("error: "))
    assert listing(tmp_path) == before
