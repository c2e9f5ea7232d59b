"""The command line in a folder, with a fit that it has written; and the check of what it refuses."""

import shlex
from functools import partial

import pytest

import bayesanno as ba
from tests.cli.within import listing, run

BY_EM = "--method em --method-option objective=map --method-option restarts=2 --seed 1 --no-report"


@pytest.fixture
def command(tmp_path):
    """Run the command in this process, in an empty folder; returns the exit code, stdout and stderr."""
    return partial(run, tmp_path)


@pytest.fixture(scope="module")
def with_fit(tmp_path_factory):
    """A folder with the first 60 items of @crowd, and in `run` what the command writes for their fit by EM."""
    folder = tmp_path_factory.mktemp("with_fit")
    table = ba.read_annotations("@crowd").to_frame()
    table[table["item"] <= "ticket060"].to_csv(folder / "crowd.csv", index=False)
    code, _, err = run(folder, *f"fit one_coin crowd.csv --out run {BY_EM}".split())
    assert code == 0, err
    return folder


@pytest.fixture
def at(with_fit):
    """Run a command, given as one line, in the folder of the fit."""
    return lambda line: run(with_fit, *shlex.split(line))


@pytest.fixture
def no_fit(monkeypatch):
    """No fit is started."""

    def started(*_, **__):
        raise AssertionError("a fit was started, where the request should have been refused")

    monkeypatch.setattr(ba, "fit", started)


@pytest.fixture
def refused():
    """A check: a command says in one line what is wrong, and leaves every file as it was."""

    def check(folder, arguments, said):
        before = listing(folder)
        code, out, err = run(folder, *shlex.split(arguments))
        *others, line = [one for one in err.splitlines() if not one.startswith("  bayesanno read ")]
        assert (code, out) == (1, "")
        assert line.startswith("error: ")
        assert said in line
        assert not any(other.startswith(("error", "Traceback")) for other in others)  # how the data were read
        assert listing(folder) == before

    return check
