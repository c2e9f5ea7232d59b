"""What a command leaves behind is whole, or as it was: after an error, an interruption, and on a full disk."""

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest

import bayesanno as ba
import bayesanno.cli.files
from bayesanno._core.messages import FitError
from tests.cli.within import LONG, listing

FILES = ["annotators.csv", "labels.csv", "posterior.nc", "run.json", "summary.csv"]
AGAIN = ["fit", "model_b", "answers.csv", "--out", "run", "--overwrite"]


@pytest.fixture
def old_run(tmp_path):
    (tmp_path / "answers.csv").write_text(LONG)
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text('{"model": "mace"}')
    (folder / "notes.txt").write_text("of the run before")
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_overwrite_replaces_the_folder(command, old_run, tiny_fit, monkeypatch):
    monkeypatch.setattr(ba, "fit", lambda *_, **__: tiny_fit)
    assert command(*AGAIN)[0] == 0
    assert names(old_run) == sorted([*FILES, "report.html"])
    assert json.loads((old_run / "run.json").read_text())["model"] == "model_b"
    assert names(old_run.parent) == ["answers.csv", "run"]


def fails(raised):
    def fail(*_, **__):
        raise raised

    return fail


FAILURES = {
    "an error of ours": (fails(FitError("no")), 1, "error: no"),
    "an interruption": (fails(KeyboardInterrupt()), 130, "interrupted: nothing was written"),
    "no memory": (fails(MemoryError()), 1, "error: the memory of this machine is too small: join rare labels"),
    "an array": (lambda *_, **__: np.empty((10**6, 10**9)), 1, "too small for an array with shape (1000000, 10000000"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_run_leaves_the_folder_it_was_to_replace(command, old_run, monkeypatch, failure):
    fail, code, said = FAILURES[failure]
    monkeypatch.setattr(ba, "fit", fail)
    before = listing(old_run.parent)
    found = command(*AGAIN)
    assert (found[0], found[1]) == (code, "")
    assert said in found[2].splitlines()[-1]
    assert listing(old_run.parent) == before


def test_an_error_of_a_defect_is_not_hidden_and_leaves_nothing(command, tmp_path, tiny_fit, monkeypatch):
    (tmp_path / "answers.csv").write_text(LONG)
    monkeypatch.setattr(ba, "fit", lambda *_, **__: tiny_fit)
    monkeypatch.setattr(bayesanno.cli.files, "describe_run", fails(OSError("of no disk")))
    with pytest.raises(OSError, match="of no disk"):
        command("fit", "mace", "answers.csv", "--out", "run")
    assert list(listing(tmp_path)) == ["answers.csv"]


@pytest.mark.parametrize("full", ["posterior.nc", "run.json", "report.html", "cache"])
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
    monkeypatch.setattr(ba, "fit", unless_full(lambda *_, **__: tiny_fit, lambda *_, **__: "cache"))
    code, _, err = command(*AGAIN)
    monkeypatch.undo()  # so that files can be read
    assert code == 1
    assert err.splitlines()[-1].startswith("error: ")
    assert "No space left on device" in err.splitlines()[-1]
    assert ".tmp" not in err
    if full == "report.html":
        assert names(old_run) == FILES
        assert names(old_run.parent) == ["answers.csv", "run"]
    else:
        assert listing(old_run.parent) == before
