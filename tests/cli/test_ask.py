"""`bayesanno next` and `plan`: from a fit to the answers to ask for, to the next fit, without Python."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from tests.cli.within import run as run_in

DESIGN = {"items": 60, "annotators": 8, "labels": ["no", "yes"], "per_item": 3, "random_seed": 1}
QUICK = ("--method", "em", "--no-report", "--seed", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A crowd, its fit, and files of who can be asked."""
    folder = tmp_path_factory.mktemp("ask")
    data, _ = ba.simulate("one_coin", ba.make_design(**DESIGN), random_seed=3)
    frame = data.to_frame()[["item", "annotator", "label"]]
    frame.to_csv(folder / "crowd.csv", index=False)
    pd.Series(dict(data.gold), name="truth").rename_axis("item").to_csv(folder / "truth.csv")
    (folder / "who.csv").write_text("annotator,answers,cost\na1,5,1\na2,50,2.5\n")
    (folder / "twice.csv").write_text("annotator\na1\na1\n")
    (folder / "free.csv").write_text("annotator,cost\na1,0\n")
    (folder / "some.csv").write_text("annotator,answers\na1,few\n")
    (folder / "words.csv").write_text("label,keep\nno,much\nyes,1\n")
    (folder / "half.csv").write_text("label,keep\nno,1\n")
    (folder / "bare.csv").write_text("label\nno\nyes\n")
    (folder / "far.csv").write_text("item\ni99\n")
    (folder / "new.csv").write_text("annotator\nzoe\n")
    assert run_in(folder, "fit", "one_coin", "crowd.csv", "--out", "run", *QUICK)[0] == 0
    return folder


@pytest.fixture
def at(folder):
    return partial(run_in, folder)


def test_one_goes_from_a_fit_to_what_to_ask_to_the_next_fit(at, folder):
    code, out, err = at("next", "run", "--batch", "40", "--out", "ask.csv", "--overwrite", "--seed", "1")
    assert (code, out.splitlines()[-1]) == (0, "ask.csv")
    assert "40 answers of" in out
    assert "this fit is one point" in err
    ask = pd.read_csv(folder / "ask.csv", dtype=str)
    assert list(ask)[:3] == ["item", "annotator", "label"]
    assert ask["label"].isna().all()
    crowd = pd.read_csv(folder / "crowd.csv", dtype=str)
    assert ask.merge(crowd, on=["item", "annotator"]).empty

    truth = pd.read_csv(folder / "truth.csv", dtype=str).set_index("item")["truth"]
    ask["label"] = np.where(np.arange(40) < 30, ask["item"].map(truth), "")  # ten are not answered yet
    ask.to_csv(folder / "ask.csv", index=False)
    code, out, err = at("fit", "one_coin", "crowd.csv", "--add", "ask.csv", "--out", "next", *QUICK)
    assert code == 0
    assert "210 annotations of 60 items by 8 annotators; labels no, yes; 30 of the annotations are from ask.csv" in err
    before, after = (ba.label_table(ba.load(folder / name)).set_index("item")["label"] for name in ("run", "next"))
    assert (after == truth).mean() > (before == truth).mean()
    at("next", "next", "--batch", "30", "--out", "again.csv", "--overwrite")
    again = pd.read_csv(folder / "again.csv", dtype=str)
    assert again.merge(ask[:30], on=["item", "annotator"]).empty


def test_who_can_be_asked_is_read_from_a_file(at, folder):
    code, _, _ = at("next", "run", "--batch", "30", "--annotators", "who.csv", "--out", "some.csv.csv")
    assert code == 0
    table = pd.read_csv(folder / "some.csv.csv")
    assert table["annotator"].value_counts().to_dict() == {"a2": 25, "a1": 5}
    np.testing.assert_allclose(table["gain"] / table["gain_per_cost"], table["annotator"].map({"a1": 1, "a2": 2.5}))


def test_true_labels_to_ask_an_expert_for(at, folder):
    code, out, _ = at("next", "run", "--batch", "5", "--target", "gold", "--out", "gold.csv", "--overwrite")
    assert code == 0
    assert "true labels of 5 items\n" in out
    assert list(pd.read_csv(folder / "gold.csv"))[:3] == ["item", "label", "gain"]


def test_costs_and_items_to_ask_about_are_read_from_files(at, folder):
    (folder / "loss.csv").write_text("label,keep,drop,ask\nno,5,0,1\nyes,0,1,1\n")
    (folder / "items.csv").write_text("item\ni1\ni2\ni3\n")
    code, out, _ = at("next", "run", "--batch", "9", "--loss", "loss.csv", "--items", "items.csv", "--out", "l.csv")
    assert code == 0
    assert out.splitlines()[-2].endswith(" in cost")
    table, fit = pd.read_csv(folder / "l.csv"), ba.load(folder / "run")
    assert set(table["item"]) <= {"i1", "i2", "i3"}
    loss = {"no": {"keep": 5, "drop": 0, "ask": 1}, "yes": {"keep": 0, "drop": 1, "ask": 1}}
    with pytest.warns(ba.errors.PredictionWarning):
        same = ba.suggest_annotations(fit, 9, utility=loss, items=["i1", "i2", "i3"])
    np.testing.assert_allclose(table["gain"], same["gain"], rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("next", "none"), "there is no fit at none"),
        (
            ("next", "run", "--batch", "9000"),
            "n is 9,000, but only 300 answers can be asked for, from 8 of 8 annotators",
        ),
        (("next", "run", "--target", "all"), "target is 'all'"),
        (
            ("next", "run", "--target", "ranking"),
            "this fit of one_coin compares no systems: fit with --pairs A,B",
        ),
        (("next", "run", "--utility", "fame"), "utility is 'fame'"),
        (("next", "run", "--annotators", "twice.csv"), "twice.csv, line 3: annotator 'a1' is named twice"),
        (
            ("next", "run", "--annotators", "free.csv"),
            "costs of annotator 'a1' is 0.0: it must be a number above 0",
        ),
        (("next", "run", "--annotators", "some.csv"), "some.csv, line 2: answers is 'few': it must be a number"),
        (("next", "run", "--annotators", "new.csv"), "annotator 'zoe' is not in this fit"),
        (("next", "run", "--annotators", "crowd.csv"), "crowd.csv, line 8: annotator 'a3' is named twice"),
        (("next", "run", "--loss", "who.csv"), "who.csv has no column for the label"),
        (("next", "run", "--loss", "truth.csv"), "truth.csv has no column for the label"),
        (("next", "run", "--loss", "words.csv"), "words.csv, line 2: keep is 'much': it must be a number"),
        (("next", "run", "--loss", "half.csv"), "the cost matrix must have one row per label (no, yes): see 'yes'"),
        (("next", "run", "--loss", "bare.csv"), "bare.csv has no decision"),
        (("next", "run", "--loss", "half.csv", "--utility", "accuracy"), "--utility and --loss both set how"),
        (("next", "run", "--items", "who.csv"), "who.csv has no column for the item"),
        (("next", "run", "--items", "far.csv"), "item 'i99' is not in this fit"),
        (("fit", "one_coin", "crowd.csv", "--add", "crowd.csv", "--out", "x"), "crowd.csv, line 2: "),
        (
            ("fit", "one_coin", "crowd.csv", "--add", "truth.csv", "--out", "x"),
            "truth.csv has no column for the annotator",
        ),
        (
            ("fit", "model_a_multi", "crowd.csv", "--add", "crowd.csv", "--out", "x"),
            "model_a_multi reads a label column for each dimension",
        ),
    ],
)
def test_what_cannot_be_is_one_line(at, arguments, message):
    code, _, err = at(*arguments)
    assert code == 1
    (line,) = [line for line in err.splitlines() if not line.startswith("warning")]
    assert line.startswith(f"error: {message}")
