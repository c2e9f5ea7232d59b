"""`bayesanno plan MODEL`: how many answers will be enough, before there are any."""

from functools import partial

import pandas as pd
import pytest

import bayesanno as ba
from tests.cli.within import run as run_in

SIZES = ("--items", "40", "--annotators", "6")
FEW = (*SIZES, "--simulations", "4", "--seed", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The fit of a crowd, and a file."""
    folder = tmp_path_factory.mktemp("plan")
    design = ba.make_design(items=40, annotators=6, labels=["no", "yes"], per_item=3, random_seed=1)
    data, _ = ba.simulate("one_coin", design, random_seed=3)
    data.to_frame()[["item", "annotator", "label"]].to_csv(folder / "crowd.csv", index=False)
    (folder / "who.csv").write_text("annotator\na1\n")
    arguments = ("--out", "run", "--method", "em", "--no-report", "--seed", "1")
    assert run_in(folder, "fit", "one_coin", "crowd.csv", *arguments)[0] == 0
    return folder


@pytest.fixture
def at(folder):
    return partial(run_in, folder)


def test_how_many_are_enough_before_there_are_any(at, folder):
    code, out, err = at("plan", "one_coin", *FEW, "--per-item", "1,3,5", "--target", "0.7", "--out", "before.csv")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split()[:3] == ["answers", "per_item", "accuracy"]
    assert out.splitlines()[-2].startswith("an accuracy of 0.7 is expected with ")
    assert out.splitlines()[-2].endswith(" per item")
    assert pd.read_csv(folder / "before.csv")["answers"].tolist() == [40, 120, 200]
    _, out, _ = at("plan", "one_coin", *FEW, "--per-item", "6", "--target", "0.1")
    assert out.splitlines()[-1] == "an accuracy of 0.1 is expected already with 240 answers"
    _, out, _ = at("plan", "one_coin", *FEW, "--per-item", "2", "--target", "0.999")
    assert out.splitlines()[-1] == "an accuracy of 0.999 is not expected with 80 answers"


def test_annotators_can_be_like_those_of_a_fit_and_models_have_fields(at):
    code, out, _ = at("plan", "mace", *FEW, "--per-item", "2,4", "--like", "run")
    assert (code, len(out.splitlines())) == (0, 3)
    surer = ("--set", "accuracy_prior=9000:1000", "--labels", "no,yes,maybe")
    _, out, _ = at("plan", "one_coin", *FEW, "--per-item", "5", *surer)
    assert float(out.splitlines()[1].split()[2]) > 0.95


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nought", *SIZES), "there is no fit at nought, and there is no model 'nought'"),
        (("mac", *SIZES), "there is no fit at mac, and there is no model 'mac': did you mean 'mace'?"),
        (("mace", "--items", "10"), "before there are data, say how many there will be: --items N and --annotators N"),
        (("mace", "--items", "10", "--annotators", "who.csv"), "--annotators has 'who.csv': it must be a whole number"),
        (("mace", *SIZES, "--per-item", "1,two"), "--per-item has 'two': it must be a whole number"),
        (("mace", *SIZES, "--per-item", "7"), "per_item is 7: each item can have 0 to 6 annotations"),
        (("mace", *SIZES, "--allocation", "each"), "--allocation is for planning by a fit, and mace is a model"),
        (("mace", *SIZES, "--per-annotator", "9"), "--per-annotator is for planning by a fit, and mace is a model"),
        (("mace", *SIZES, "--set", "fame=1"), "mace has no field 'fame'"),
        (("mace", *SIZES, "--like", "none"), "there is no fit at none"),
        (("mace", *SIZES, "--like", "run", "--labels", "3"), "with like, the labels are those of that fit"),
        (("easy_hard", *SIZES), "easy_hard has no true labels"),
        (("run", "--items", "10"), "--items is for planning by a model before there are data, and run is a fit"),
        (("run", "--like", "run"), "--like is for planning by a model before there are data, and run is a fit"),
        (("run", "--set", "a=1"), "--set is for planning by a model before there are data, and run is a fit"),
        (("run", "--annotators", "12"), "there is no file '12'"),
    ],
)
def test_what_cannot_be_is_one_line(at, arguments, message):
    code, _, err = at("plan", *arguments)
    assert code == 1
    (line,) = err.splitlines()
    assert line.startswith(f"error: {message}")
