"""`bayesanno groups`: the table on the screen and in the file, how FILE is read, and what is refused."""

from functools import partial

import pandas as pd
import pytest

import bayesanno as ba
from tests.cli.within import run as run_in


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fit of the simulated crowd by EM, and its items in two systems."""
    folder = tmp_path_factory.mktemp("groups")
    data = ba.read_annotations("@crowd")
    fit = ba.fit("one_coin", data, method="em", random_seed=1, progressbar=False)
    (folder / "run").mkdir()
    ba.save(fit, folder / "run" / "posterior.nc")
    system = ["old" if number % 3 else "new" for number in range(data.n_items)]
    table = pd.DataFrame({"item": list(data.items), "system": system})
    table.to_csv(folder / "by.csv", index=False)
    table.assign(group=system, other="x").to_csv(folder / "wide.csv", index=False)
    table.iloc[1:].to_csv(folder / "short.csv", index=False)
    table.assign(other="x").to_csv(folder / "unnamed.csv", index=False)
    return folder


@pytest.fixture
def at(folder):
    return partial(run_in, folder, "groups", "run")


def test_the_table_is_printed_and_written_as_the_library_has_it(at, folder):
    code, out, err = at("--by", "by.csv", "--out", "groups.csv", "--ignore-gold", "--seed", "1")
    assert code == 0
    assert "warning: this fit by em is one point" in err
    lines = out.splitlines()
    assert lines[0].split() == [
        "group", "source", "quantity", "label", "mean", "sd", "eti89_lb", "eti89_ub", "rank_mean", "rank_eti89_lb",
        "rank_eti89_ub", "p_best", "n_items", "n_known",
    ]  # fmt: skip
    assert lines[-1] == "groups.csv"
    table = pd.read_csv(folder / "by.csv").set_index("item")["system"]
    with pytest.warns(ba.errors.PredictionWarning):
        expected = ba.group_table(ba.load(folder / "run"), table, use_gold=False, random_seed=1)
    written = pd.read_csv(folder / "groups.csv", keep_default_na=False)
    pd.testing.assert_frame_equal(written, expected, check_dtype=False)
    assert at("--by", "by.csv", "--out", "groups.csv")[::2] == (
        1, "error: groups.csv exists: choose another --out, or --overwrite\n",
    )  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [("--by", "wide.csv"), ("--by", "unnamed.csv", "--group", "system"), ("--by", "by.csv", "--ci-prob", "0.89")],
)
def test_the_column_of_groups_is_found_or_named(at, arguments):
    assert at("--by", "by.csv", "--seed", "1")[1] == at(*arguments, "--seed", "1")[1]


def test_a_figure_is_written(at, folder):
    code, out, _ = at("--by", "by.csv", "--seed", "1", "--figure", "groups.png")
    assert (code, out.splitlines()[-1]) == (0, "groups.png")
    assert (folder / "groups.png").read_bytes().startswith(b"\x89PNG")
    assert at("--by", "by.csv", "--figure", "groups.png")[0] == 1


def test_options_are_those_of_the_library(at):
    plain = at("--by", "by.csv", "--ignore-gold", "--seed", "1")[1]
    code, out, _ = at("--by", "by.csv", "--ignore-gold", "--seed", "1", "--at-large")
    assert (code, out != plain) == (0, True)
    _, out, _ = at("--by", "by.csv", "--order", "quality,other,delivery,billing", "--ci-prob", "0.8", "--seed", "1")
    assert "grade" in out
    assert "eti80_lb" in out
    _, out, _ = at("--by", "by.csv", "--differences", "--label", "other", "--seed", "1")
    rows = [line.split() for line in out.splitlines()]
    assert rows[0][:2] == ["first", "second"]
    assert [row[2:5] for row in rows[1:]] == [["model", "share", "other"], ["ppi", "share", "other"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--by", "none.csv"), "--by none.csv is neither a file nor a column of the items"),
        (
            ("--by", "unnamed.csv"),
            "unnamed.csv: no column 'group' among 'item', 'system', 'other': name the column with",
        ),
        (
            ("--by", "by.csv", "--group", "sistem"),
            "by.csv has no column 'sistem' to use as group; its columns are 'item', 'system'; did you mean 'system'?",
        ),
        (
            ("--by", "short.csv"),
            "--by short.csv: item 'ticket001' is in no group: give the group of every item of the fit",
        ),
        (("--by", "by.csv", "--ci-prob", "2"), "--ci-prob is 2.0: it must be above 0"),
        (("--by", "by.csv", "--dimension", "tone"), "this fit has no dimensions: leave out --dimension tone"),
        (("--by", "by.csv", "--order", "a,b"), "order: 'a' is not among the labels"),
        (("--by", "by.csv", "--label", "a"), "label is 'a': choose one of billing, delivery, other, quality"),
        (("--by", "by.csv", "--figure", "a.xyz"), "--figure a.xyz: the name must end in .png, .pdf or .svg"),
    ],
)
def test_what_cannot_be_is_one_line(at, arguments, message):
    code, _, err = at(*arguments)
    assert code == 1
    (line,) = [line for line in err.splitlines() if not line.startswith("warning")]
    assert line.startswith(f"error: {message}")
