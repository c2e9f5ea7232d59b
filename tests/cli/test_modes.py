"""`bayesanno modes`: the table on the screen and in the file, what it means, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno.cli.modes import format_modes

LONG = "item,annotator,label\ns1,ada,no\ns1,bo,yes\ns2,ada,yes\ns2,bo,yes\n"


@pytest.fixture
def modes(command, tmp_path):
    """Run `bayesanno modes` in a folder with answers.csv; returns the exit code, stdout and stderr."""
    (tmp_path / "answers.csv").write_text(LONG)
    return lambda arguments: command("modes", *arguments.split())


def made_up(values, **columns):
    """A table as `find_modes` gives it."""
    n = len(values)
    table = {"objective": values, "visits": [5] * n, "boundary": [""] * n, "maximum": [True] * n, "flat": [0] * n}
    table |= {"same_as": pd.array([None] * n, dtype="Int64")} | columns
    modes = pd.DataFrame(table, index=pd.RangeIndex(1, n + 1, name="mode"))
    modes.attrs = {"model": "mace", "objective": "ml", "starts": 10, "random_seed": 1, "unbounded": {}, "lost": 0}
    modes.attrs |= {"n_modes": n, "n_distinct": int(modes["same_as"].isna().sum())}
    return modes


def test_modes_of_a_table_are_printed_and_written(modes):
    code, out, err = modes("model_b @table14 --starts 20 --seed 1 --out modes.csv")
    assert (code, err) == (0, "model_b: 30,000 annotations of 10,000 items by 3 annotators; labels 1, 2\n")
    lines = out.splitlines()
    assert lines[:2] == [
        "model_b: 2 modes (1 but for names) of the likelihood, from 20 starts, seed 1",
        "mode   log likelihood    below  visits  boundary",
    ]
    written = pd.read_csv("modes.csv")
    expected = ba.find_modes("model_b", ba.read_annotations("@table14"), starts=20, random_seed=1, progressbar=False)
    assert written.columns.tolist() == ["mode", *expected.columns]
    np.testing.assert_array_equal(written["objective"], expected["objective"])  # with all digits
    for line, row in zip(lines[2:4], written.itertuples(), strict=True):
        assert line.split()[:2] == [str(row.mode), "-19866.653175"]
        assert line.split()[-1] == str(row.visits)
    assert lines[4:] == [
        "the search found one explanation of the data",
        "modes 1 and 2 give every item the same likelihood, with classes (or right and wrong) exchanged: only a prior "
        "can distinguish them",
        "modes.csv",
    ]
    assert modes("model_b @table14 --out modes.csv")[::2] == (
        1, "error: modes.csv exists: choose another --out, or --overwrite\n",
    )  # fmt: skip


def test_a_density_without_a_greatest_value_is_explained(modes):
    code, out, _ = modes("mace answers.csv --objective map --starts 4 --seed 1")
    first, unbounded = out.splitlines()
    assert code == 0
    assert first == "mace: 0 modes of the posterior density, from 4 starts, seed 1"
    assert unbounded.startswith("the posterior density grows without bound towards competence[")
    assert unbounded.endswith("fit the model instead, or set the concentration to 1 or more")


def test_what_modes_mean_is_said():
    boundary = ["", "a = 0; b = 1; c = 1; d = 0; e = 0", ""]
    said = format_modes(made_up([-10.0, -30.5, -40.0], boundary=boundary, flat=[0, 2, 3], visits=[8, 1, 1]))
    lines = said.splitlines()
    assert lines[3] == "   2       -30.500000    20.50       1  a = 0; b = 1; c = 1 and 2 more"
    assert lines[5:] == [
        "mode 1 is the best by 20.50 nats: a chain that ends in another one explains the data far worse: leave it out",
        "1 of 3 modes is on the boundary: the best value of a parameter is at the end of its range, where a posterior "
        "mean never is",
        "modes 2 and 3 are flat in 2 to 3 directions: many values are equally good, and those given are one choice",
        "2 modes had a single visit: more starts may find others",
    ]
    rugged = made_up(np.linspace(-10, -11, 12).tolist(), visits=[1] * 12, maximum=[*[True] * 11, False])
    lines = format_modes(rugged).splitlines()
    assert lines[12] == "and 2 more, down to -11.000000"
    assert lines[-2:] == [
        "mode 12 is no maximum by slopes and curvature: the search did not end there",
        "most starts led to a mode of their own: there are many more modes, and the best may not be among these",
    ]


REFUSED = {
    "objective": ("model_b answers.csv --objective mle", "objective is 'mle': it must be 'ml'"),
    "starts": ("model_b answers.csv --starts 0", "starts is 0: it must be a whole number, 1 or more"),
    "seed": ("model_b answers.csv --seed -1", "random_seed is -1"),
    "model": ("model_z answers.csv", "model_z"),
    "field": ("mace answers.csv --set strength=3", "strength"),
    "file": ("mace nowhere.csv", "there is no file 'nowhere.csv'"),
    "no folder": ("model_b answers.csv --starts 1 --out nowhere/modes.csv", "nowhere to write modes.csv into"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_wrong_is_said_in_one_line(modes, why):
    arguments, said = REFUSED[why]
    code, out, err = modes(arguments)
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith("error: ")
    assert said in err.splitlines()[-1]
