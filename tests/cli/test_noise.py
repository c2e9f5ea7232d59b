"""`bayesanno noise`: from counts or from a table, as text or JSON; what is wrong is said in one line."""

import json
import re
import subprocess
import sys

import pytest

from bayesanno.agreement.noise import bound_noise_of
from tests.samples import COMMAND, tiny_data

LONG = "item,annotator,label\ns1,ada,no\ns1,bo,yes\ns2,ada,yes\ns2,bo,no\ns3,ada,no\ns3,bo,no\ns4,ada,yes\n"


@pytest.fixture
def noise(command, tmp_path):
    """Run `bayesanno noise` in a folder with answers.csv; returns the exit code, stdout and stderr."""
    (tmp_path / "answers.csv").write_text(LONG)
    return lambda arguments: command("noise", *arguments.split())


def test_counts_are_answered_as_in_the_paper(noise):
    code, out, err = noise("--items 1000 --disagreements 100 --chance 0.5")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "items                                  1000",
        "disagreed on                           100",
        "chance that a hard item is agreed on   0.5",
        "probability of the bounds              0.95",
        "hard items, at most                    225",
        "noise among the agreed items, at most  125 of 900 (13.89%)",
    ]


def test_json_has_all_that_was_found(noise):
    code, out, err = noise("--items 1000 --disagreements 100 --chance 0.5 --json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert list(found) == ["n", "d", "p", "ci_prob", "t0", "gamma", "kappa"]
    assert found == {
        "n": 1000, "d": 100, "p": 0.5, "ci_prob": 0.95, "t0": 225, "gamma": 125 / 900, "kappa": None,
    }  # fmt: skip
    assert json.loads(noise("--items 5 --disagreements 5 --chance 0.5 --json")[1])["gamma"] is None
    assert noise("--items 5 --disagreements 5 --chance 0.5")[1].endswith("at most  no item is agreed on\n")
    other = json.loads(noise("--items 1000 --disagreements 100 --chance 0.5 --ci-prob 0.9 --json")[1])
    assert (other["ci_prob"], other["t0"]) == (0.9, 220)


def test_a_table_is_answered_as_by_the_library(noise):
    code, out, err = noise("answers.csv --json")
    assert code == 0
    assert err == "items with fewer than two annotations, left out: 1\n"
    assert json.loads(out) == {
        "n": 3, "d": 2, "p": 0.5, "ci_prob": 0.95, "t0": 3, "gamma": 1.0, "kappa": pytest.approx(-0.5, abs=1e-12),
    }  # fmt: skip
    code, out, err = noise("answers.csv")
    assert out.splitlines()[:2] == [
        "items                                  3",
        "disagreed on                           2",
    ]
    assert out.splitlines()[-1] == "kappa                                  -0.5000"
    assert json.loads(noise("answers.csv --chance 0.01 --json")[1])["t0"] == 2


@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.NamesWarning")  # one answers twice
def test_a_table_is_read_by_the_same_options_as_for_a_fit(noise, tmp_path):
    frame = tiny_data().to_frame().rename(columns={"item": "what", "annotator": "who", "label": "said"})
    frame["sure"] = "yes"
    frame.to_csv(tmp_path / "other.csv", index=False)
    code, out, _ = noise("other.csv --format long --item what --annotator who --label said --gold sure --json")
    level = bound_noise_of(tiny_data())
    assert code == 0
    assert json.loads(out) == {name: getattr(level, name) for name in json.loads(out)}


WRONG = {
    "neither": ("", "no data: give DATA, or --items, --disagreements and --chance"),
    "chance alone": ("--chance 0.5", "no data"),
    "both": ("answers.csv --items 3", "DATA and --items are both given"),
    "all": ("answers.csv --items 3 --disagreements 1 --chance 0.5", "DATA and --items and --disagreements are both"),
    "items alone": ("--items 3", "without DATA give --disagreements and --chance as well"),
    "no chance": ("--items 3 --disagreements 1", "without DATA give --chance as well"),
    "no items": ("--disagreements 1 --chance 0.5", "without DATA give --items as well"),
    "chance 0": ("--items 3 --disagreements 1 --chance 0", r"hard item, is 0\.0: it must be above 0 and below 1"),
    "chance 1": ("--items 3 --disagreements 1 --chance 1", r"hard item, is 1\.0"),
    "chance below": ("--items 3 --disagreements 1 --chance -0.5", r"hard item, is -0\.5"),
    "chance nan": ("--items 3 --disagreements 1 --chance nan", "hard item, is nan"),
    "chance of a table": ("answers.csv --chance 2", r"hard item, is 2\.0"),
    "too many": ("--items 3 --disagreements 4 --chance 0.5", "4 disagreements among 3 items: there cannot be more"),
    "negative items": ("--items -3 --disagreements 0 --chance 0.5", "n, the number of items, is -3"),
    "negative disagreements": ("--items 3 --disagreements -1 --chance 0.5", "d, the number of disagreements, is -1"),
    "confidence 1": ("--items 3 --disagreements 1 --chance 0.5 --ci-prob 1", r"--ci-prob is 1\.0: it must be"),
    "confidence 0": ("answers.csv --ci-prob 0", r"--ci-prob is 0\.0: it must be above 0 and below 1"),
    "confidence first": ("nowhere.csv --ci-prob 0", r"--ci-prob is 0\.0"),
    "no file": ("nowhere.csv", "there is no file 'nowhere.csv': check the path"),
    "no column": ("answers.csv --label verdict", "no column 'verdict'"),
    "no such set": ("@crowds", "did you mean '@crowd'"),
    "agreed throughout": ("agreed.csv", "no item is disagreed on, so the chance of agreement cannot be .*--chance"),
    "alone throughout": ("alone.csv", "no item has two annotations: agreement is between at least two"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_said_in_one_line(noise, tmp_path, wrong):
    (tmp_path / "agreed.csv").write_text("item,annotator,label\ns1,a,no\ns1,b,no\ns2,a,yes\ns2,b,yes\n")
    (tmp_path / "alone.csv").write_text("item,annotator,label\ns1,a,no\ns2,b,yes\n")
    arguments, match = WRONG[wrong]
    code, out, err = noise(arguments)
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("error: ")
    assert re.search(match, err), err


def test_an_option_that_is_no_number_is_refused_by_the_parser(noise):
    assert noise("--items many")[0] == 2


def test_nothing_heavy_is_imported(tmp_path):
    (tmp_path / "answers.csv").write_text(LONG)
    code = """
import sys
from bayesanno.cli.app import main
for arguments in (["answers.csv"], ["@crowd"], ["--items", "9", "--disagreements", "2", "--chance", "0.5"], ["--help"]):
    sys.argv = ["bayesanno", "noise", *arguments]
    try:
        main()
    except SystemExit as stop:
        assert not stop.code
heavy = ("pymc", "pytensor", "arviz", "nutpie", "xarray", "pandas", "scipy")
print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_the_installed_command_knows_it(tmp_path):
    done = subprocess.run([COMMAND, "--help"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert re.search(r"noise +Bound how many unanimous items", done.stdout)
