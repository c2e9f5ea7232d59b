"""Files beside the data are read with the options that the data were read with."""

import json
from functools import partial

import pandas as pd
import pytest

import bayesanno as ba
from tests.cli.within import run as run_in

BY_EM = ("--method", "em", "--seed", "1", "--no-report")
OPTIONS = ("--item", "{system}/{segment}", "--label", "said", "--missing", "-", "--ignore-case", "--same", "dgo=dog",
           "--separator", " ")  # fmt: skip
READING = {"item": "{system}/{segment}", "label": ["said"], "missing": "-", "ignore_case": True}
READING |= {"same": {"dgo": "dog"}, "separator": " "}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fit of a table whose items are named by two columns, with blanks between cells."""
    folder = tmp_path_factory.mktemp("reading")
    table = ba.read_annotations("@crowd").to_frame().iloc[:600]
    labels = {"billing": "Dog", "delivery": "cat", "quality": "dgo", "other": "-"}
    table = pd.DataFrame({
        "system": table["item"].str[-1], "segment": table["item"].str[6:], "worker": table["annotator"],
        "said": table["label"].map(labels), "known": table["gold"].map({**labels, "other": "cat"}),
    })  # fmt: skip
    table.drop(columns="known").to_csv(folder / "answers.txt", sep=" ", index=False)
    gold = table.drop_duplicates("segment").head(40)
    gold[["system", "segment", "known"]].rename(columns={"known": "gold"}).to_csv(folder / "gold.csv", index=False)
    gold.assign(group=gold["system"])[["system", "segment"]].to_csv(folder / "items.csv", index=False)
    table[["system", "segment"]].drop_duplicates().to_csv(folder / "systems.csv", index=False)
    code, _, err = run_in(folder, "fit", "model_b", "answers.txt", *OPTIONS, "--out", "fit", *BY_EM)
    assert code == 0, err
    return folder


@pytest.fixture
def at(folder):
    """The command, in the folder of the fit."""
    return partial(run_in, folder)


def test_a_run_has_the_options_that_its_data_were_read_with(folder):
    reading = json.loads((folder / "fit" / "run.json").read_text())["reading"]
    assert reading == READING


def test_groups_are_read_by_the_items_of_the_fit(at):
    code, out, err = at("groups", "fit", "--by", "systems.csv", "--group", "system", "--seed", "1")
    assert code == 0, err
    assert len(out.splitlines()) > 10


def test_known_labels_are_read_by_the_items_and_spellings_of_the_fit(at, folder):
    code, out, err = at("recalibrate", "fit", "--gold", "gold.csv", "--out", "again", "--no-report")
    assert code == 0, err
    assert "from 40 true labels; their log score" in out
    assert json.loads((folder / "again" / "run.json").read_text())["reading"] == READING


def test_what_is_asked_about_is_answered_and_added_as_the_data_were_read(at, folder):
    code, _, err = at("next", "fit", "--batch", "5", "--items", "items.csv", "--out", "ask.csv", "--seed", "1")
    assert code == 0, err
    asked = pd.read_csv(folder / "ask.csv", dtype=str)
    items = pd.read_csv(folder / "items.csv", dtype=str)
    assert set(asked["item"]) <= set(items["system"] + "/" + items["segment"])
    answered = asked["item"].str.partition("/")[[0, 2]].set_axis(["system", "segment"], axis=1)
    answered.assign(worker=asked["annotator"], said=["DGO", "cat", "-", "", "dog"]).to_csv(
        folder / "more.csv", index=False
    )
    code, _, err = at("fit", "model_b", "answers.txt", *OPTIONS, "--add", "more.csv", "--out", "added", *BY_EM)
    assert code == 0, err
    assert "labels cat, dog; 3 of the annotations are from more.csv" in err  # two are not answered
