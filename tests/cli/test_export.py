"""`bayesanno export`: what it writes and says, and what is refused in one line."""

import json
from functools import partial

import pandas as pd
import pytest

import bayesanno as ba
from bayesanno.cli.app import app
from bayesanno.io.tools import TOOLS
from tests.cli.within import run as run_in

NAMED = ("--to", "label-studio", "--question", "topic", "--to-name", "text")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fit of the simulated crowd by EM, with gold for 20 items, and the texts of 298 of its items."""
    folder = tmp_path_factory.mktemp("export")
    data = ba.read_annotations("@crowd")
    (folder / "run").mkdir()
    table = data.to_frame()
    known = set(data.items[:20])
    table["gold"] = [gold if item in known else None for item, gold in zip(table["item"], table["gold"], strict=True)]
    fit = ba.fit("mace", ba.read_annotations(table), method="em", random_seed=1, progressbar=False)
    ba.save(fit, folder / "run" / "posterior.nc")
    texts = pd.DataFrame({"item": data.items[:298], "text": [f"„{item}“, weiß" for item in data.items[:298]]})
    texts.to_csv(folder / "texts.csv", index=False)
    return folder


@pytest.fixture
def at(folder):
    return partial(run_in, folder, "export", "run")


def test_it_writes_what_the_library_writes_and_says_how_much(at, folder):
    code, out, err = at(
        *NAMED, "--tasks", "texts.csv", "--min-probability", "0.9", "--model-version", "we", "--out", "labels.json"
    )
    assert (code, err) == (0, "")
    fit = ba.load(folder / "run")
    written = ba.export_labels(
        fit, folder / "other.json", to="label-studio", question="topic", to_name="text", tasks=folder / "texts.csv",
        min_probability=0.9, agent="we",
    )  # fmt: skip
    assert (folder / "labels.json").read_bytes() == (folder / "other.json").read_bytes()
    first = json.loads((folder / "labels.json").read_text(encoding="utf-8"))[0]
    assert first["data"] == {"item": "ticket001", "text": "„ticket001“, weiß"}
    assert out.splitlines() == [
        f"{written.n_items} labels for label-studio, of which 20 are known to be true (--ignore-gold)",
        f"left out: {written.n_unsure} labels less probable than 0.9",
        "left out: 2 labels of items that texts.csv does not have",
        "labels.json",
    ]


def test_what_is_there_is_replaced_only_when_asked(at, folder):
    (folder / "texts.jsonl").write_text("mine")
    to_doccano = ("--to", "doccano", "--tasks", "texts.csv", "--out", "texts.jsonl")
    assert at(*to_doccano)[::2] == (1, "error: texts.jsonl exists: choose another --out, or --overwrite\n")
    assert (folder / "texts.jsonl").read_text() == "mine"
    code, out, _ = at(*to_doccano, "--overwrite", "--ignore-gold")
    left_out = "left out: 2 labels of items that texts.csv does not have\n"
    assert (code, out) == (0, f"298 labels for doccano\n{left_out}texts.jsonl\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "argila"), "labels cannot be exported to 'argila': choose one of"),
        (("--to", "argilla"), "argilla shows the text or other data of each item"),
        (("--to", "argilla", "--tasks", "texts.csv"), "argilla needs one question"),
        (("--to", "label-studio"), "label-studio needs two names from the labeling interface"),
        (NAMED, "item 'ticket001' is not a task id of Label Studio"),
        (("--to", "prodigy", "--tasks", "none.jsonl"), "there is no file 'none.jsonl'"),
        (
            ("--to", "doccano", "--tasks", "texts.csv", "--from-name", "x"),
            "--question does not apply to doccano: leave it out",
        ),
        ((*NAMED, "--min-probability", "2"), "min_probability is 2.0"),
        ((*NAMED, "--dimension", "tone"), "this fit has no dimensions: leave out --dimension tone"),
    ],
)
def test_what_cannot_be_is_one_line(at, folder, arguments, message):
    code, out, err = at(*arguments, "--out", "x.json")
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1
    assert err.startswith(f"error: {message}")
    assert not (folder / "x.json").exists()


def test_the_help_names_every_tool_and_has_an_example(folder):
    _, out, _ = run_in(folder, "export", "--help")
    words = " ".join(out.split())
    assert f"{', '.join([*TOOLS][:-1])} or {[*TOOLS][-1]}" in words
    assert "bayesanno export run --to label-studio --tasks export.json --out labels.json\n" in out
    assert "export" in {command.name or command.callback.__name__ for command in app.registered_commands}
