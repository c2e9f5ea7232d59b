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


@pytest.fixture(scope="module")
def panel(tmp_path_factory):
    """A fit of a table with a row for each comment, a column for each annotator, and one of true labels."""
    folder = tmp_path_factory.mktemp("panel")
    long = ba.read_annotations("@crowd").to_frame()
    long = long[long["annotator"].isin(long["annotator"].unique()[:5])]
    table = long.pivot_table("label", "item", "annotator", aggfunc="first", fill_value="n/a")
    table = table.assign(expert=long.drop_duplicates("item").set_index("item")["gold"])
    texts = "Text of " + table.index.to_series()
    table.rename_axis("comment_id").reset_index().assign(text=texts.to_numpy()).to_csv(
        folder / "panel.csv", index=False
    )
    long[["item", "annotator", "label", "gold"]].assign(text="Text of " + long["item"]).to_csv(
        folder / "long.csv", index=False
    )
    options = ("--columns", "2:6", "--gold", "expert", "--missing", "n/a")
    for out, given in (("fit", ("panel.csv", *options)), ("of_long", ("long.csv",))):
        code, _, err = run_in(folder, "fit", "model_b", *given, "--out", out, *BY_EM)
        assert code == 0, err
    return folder


@pytest.mark.parametrize("to", ["doccano", "argilla", "prodigy", "label-studio"])
@pytest.mark.parametrize(("fit", "table"), [("fit", "panel.csv"), ("of_long", "long.csv"), ("of_long", "panel.csv")])
def test_who_checks_exported_labels_sees_no_answers_and_no_true_labels(panel, to, fit, table):
    named = {"argilla": ("--question", "q"), "label-studio": ("--question", "q", "--to-name", "text")}
    item = ("--item", "comment_id") if table == "panel.csv" else ("--item", "item")
    code, _, err = run_in(panel, "export", fit, "--to", to, "--tasks", table, *item, *named.get(to, ()), "--out",
                          "labels.json", "--overwrite")  # fmt: skip
    assert code == 0, err
    text = (panel / "labels.json").read_text(encoding="utf-8")
    records = [json.loads(line) for line in text.splitlines()] if text.startswith("{") else json.loads(text)
    shown = [one.get("data") or one.get("fields") or one for one in records]
    hidden = {*pd.read_csv(panel / "long.csv")["annotator"], "annotator", "gold"} - {""}
    hidden |= {"expert"} if fit == "fit" else set()  # a fit of the other table cannot know what it holds
    assert all(not hidden & {*one} for one in shown)
    assert shown[0]["text"].startswith("Text of ")


def test_the_table_of_a_fit_is_a_file_of_its_true_labels_too(panel):
    code, out, err = run_in(panel, "recalibrate", "fit", "--gold", "panel.csv", "--out", "from_table", "--no-report")
    assert code == 0, err
    assert "true labels; their log score" in out
    assert run_in(panel, "recalibrate", "fit", "--out", "from_fit", "--no-report")[0] == 0
    labels = [(panel / name / "labels.csv").read_text() for name in ("from_table", "from_fit")]
    assert labels[0] == labels[1]
    (panel / "two.csv").write_text("post_id,comment_id,gold\n1,ticket001,billing\n")
    code, _, err = run_in(panel, "recalibrate", "fit", "--gold", "two.csv", "--out", "no", "--no-report")
    assert (code, err.splitlines()[-1]) == (
        1, "error: two.csv: the columns 'post_id' and 'comment_id' could each be the item: rename one to 'item'"
    )  # fmt: skip
