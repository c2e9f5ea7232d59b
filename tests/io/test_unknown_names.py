"""A long table is not read as wide, nor a wide one as long, whatever its columns are called."""

import logging
import random

import pandas as pd
import pytest

from bayesanno.ground.errors import DataError
from bayesanno.io.annotations import read_annotations

JUDGES = ("claude-sonnet", "gpt-4o", "gemini-pro", "llama-70b", "qwen-72b")
PEOPLE = ("ada", "bo", "cy")


def answers(labels=("fail", "pass"), seed=1, n=40):
    """A long table of all there may be: a row for each judge and output."""
    chance, rows = random.Random(seed), []
    for item in range(n):
        truth = chance.choice(labels)
        for judge, name in enumerate(JUDGES):
            row = {"row": f"r{len(rows)}", "item": f"o{item}", "group": f"g{item // 5}", "system": "AB"[item % 2]}
            row |= {"judge": name, "number": judge + 1, "label": truth if chance.random() < 0.8 else labels[0]}
            row |= {"other": chance.choice(labels), "known": truth if item < 9 else "", "p": round(chance.random(), 3)}
            rows.append(row | {"text": f"the output {item} in words", "said": f"text {item} of {name}", "count": 1})
    return pd.DataFrame(rows)


def grid(seed=1, n=40):
    """A wide table of all there may be: a row for each item."""
    chance, rows = random.Random(seed), []
    for item in range(n):
        row = {"row": f"r{item}", "text": f"the item {item} in words", "topic": chance.choice("pqr")}
        row |= {"split": chance.choice(["train", "test"]), "known": chance.choice(["neg", "pos"])}
        rows.append(row | {name: chance.choice(["neg", "neutral", "pos"]) for name in (*PEOPLE, "di", "eve")})
    return pd.DataFrame(rows)


def named(table, **columns):
    """Columns of a table by their new names."""
    return table[list(columns.values())].set_axis([name.replace("__", " ") for name in columns], axis="columns")


@pytest.mark.parametrize(
    "columns",
    [
        {"output_id": "item", "system": "system", "model": "judge", "verdict": "label", "human_label": "known"},
        {"id": "item", "model": "judge", "score": "label"},
        {"OutputId": "item", "Model": "judge", "Score": "label", "human_label": "known"},
        {"id": "row", "output_id": "item", "model": "judge", "verdict": "label"},
        {"group_id": "group", "output_id": "item", "grader": "judge", "rating": "label"},
        {"output_id": "item", "model": "system", "judge": "judge", "verdict": "label", "score": "p"},
        {"task": "item", "id": "row", "model": "judge", "label": "label", "score": "p"},
    ],
)
def test_weak_names_are_those_of_a_long_table_where_its_rows_fit(columns):
    data = read_annotations(named(answers(), **columns))
    assert (data.n_items, data.annotators, data.labels) == (40, JUDGES, ("fail", "pass"))
    assert data.n_annotations == 200
    assert len(data.gold) == (9 if "human_label" in columns else 0)


def test_records_are_read_by_weak_names_too(refuses):
    table = named(answers(), run_id="group", output_id="item", model="judge", verdict="label")
    assert read_annotations(table.to_dict("records")).annotators == JUDGES
    with refuses(DataError, "no field names the annotator: name one"):
        read_annotations(named(answers(), id="row", model="judge", label="label").to_dict("records"))


def test_what_each_column_was_taken_for_is_said(keep, caplog):
    caplog.set_level(logging.INFO, "bayesanno")
    table = named(answers(), output_id="item", system="system", model="judge", verdict="label", human_label="known")
    read_annotations(keep(table.to_csv(index=False), "judges.csv"))
    assert caplog.messages[0].endswith(
        "judges.csv: items in 'output_id'; annotators in 'model'; labels in 'verdict': fail, pass; true labels in "
        "'human_label'; left out 'system'"
    )


LONG = {
    "no item": ({"system": "system", "model": "judge", "verdict": "label"}, "no column for the item and the annotator"),
    "an id of rows": (
        {"annotation_id": "row", "text": "text", "worker": "judge", "label": "label"},
        "no column for the item among .*: name it with item='text', or",
    ),
    "an id of sessions": (
        {"session_id": "judge", "text": "text", "worker": "judge", "label": "label"},
        "no column for the item among .*: name it with item='text', or",
    ),
    "an id of groups": ({"batch_id": "group", "text": "text", "worker": "judge", "label": "label"}, "item='text'"),
    "documents": (
        {"doc_id": "group", "sentence": "text", "worker": "judge", "label": "label"},
        "annotators answer each 'doc_id' 5 times, so it may not name the items: .*, or use item='doc_id'",
    ),
    "an output of each model": ({"output_id": "row", "model": "judge", "verdict": "label"}, "no column for the item"),
    "models that a judge rates": (
        {"prompt_id": "item", "model": "judge", "judge": "system", "verdict": "label"},
        "no column for the item among 'prompt_id', .*: name it with item=...,",
    ),
    "a label that is not known": (
        {"text_id": "item", "annotator": "judge", "sentiment": "label"},
        "name them with item='text_id' and label='sentiment', or",
    ),
    "texts": (
        {"question": "item", "model": "judge", "answer": "said"},
        "most answers in the column 'answer' occur once",
    ),
    "numbers on a scale": (
        {"id": "item", "model": "judge", "score": "p"},
        "no two of the columns 'id', 'model', 'score'",
    ),
    "all unknown": ({"output": "item", "llm": "judge", "outcome": "label"}, "no two of the columns"),
    "known labels": (
        {"output": "item", "llm": "judge", "outcome": "label", "expert": "known"},
        "each row has its own pair of 'output' and 'llm', like item and annotator; for a row, name item=",
    ),
    "known labels, and a number of rows": (
        {"nr": "row", "output": "item", "llm": "judge", "outcome": "label", "expert": "known"},
        "each row has its own pair of 'output' and 'llm'",
    ),
    "a number of rows, and no item": (
        {"nr": "row", "llm": "judge", "outcome": "label", "expert": "known"},
        "few values of 'llm' occur in 'outcome', 'expert'; for a row, .*; for a column, such as 'outcome'",
    ),
    "a known item": (
        {"item": "item", "llm": "judge", "outcome": "label", "expert": "known"},
        "each row has its own pair of 'item' and 'llm'",
    ),
    "a known item, and nobody": (
        {"item": "item", "tone": "label", "fact": "other"},
        "'item' has the same name in several",
    ),
    "counts": (
        {"llm": "judge", "outcome": "label", "expert": "known", "count": "count"},
        "few values of 'llm' occur in",
    ),
    "counts, and no labels": ({"output": "item", "llm": "judge", "count": "count"}, "no two of the columns"),
}


@pytest.mark.parametrize("which", LONG)
def test_a_long_table_is_not_read_as_something_else(keep, refuses, which):
    columns, match = LONG[which]
    with refuses(DataError, match):
        read_annotations(keep(named(answers(), **columns).to_csv(index=False), "answers.csv"))


def test_a_long_table_of_numbers_is_not_wide(refuses):
    table = answers(labels=(1, 2, 3, 4, 5), n=6).assign(item=lambda table: table["item"].str[1:])
    with refuses(DataError, "each row has its own pair of 'essay' and 'who', like item and annotator"):
        read_annotations(named(table, essay="item", who="number", points="label"))
    with refuses(DataError, "each row has its own pair of 'essay' and 'who'"):
        read_annotations(named(table, nr="row", essay="item", who="number", style="label", tone="other", all="label"))


WIDE = {
    "people": {"id": "row", "ada": "ada", "bo": "bo", "cy": "cy"},
    "two people": {"id": "row", "ada": "ada", "bo": "bo"},
    "without ids": {"ada": "ada", "bo": "bo", "cy": "cy"},
    "texts": {"output_id": "row", "prompt": "text", "gpt": "ada", "claude": "bo"},
    "known labels": {"output_id": "row", "gpt": "ada", "claude": "bo", "human_label": "known"},
    "a model and a person": {"essay_id": "row", "model": "ada", "score": "bo"},
    "a topic beside two people": {"id": "row", "topic": "topic", "ada": "ada", "bo": "bo"},
    "two properties": {"id": "row", "Topic": "topic", "split": "split", "ada": "ada", "bo": "bo"},
    "one column of another kind among many": {"id": "row", "topic": "topic", "ada": "ada", "bo": "bo", "cy": "cy"},
    "two among many": dict.fromkeys(("id",), "row") | {name: name for name in ("topic", "split", *PEOPLE, "di", "eve")},
    "people with numbers": {"id": "row", "topic": "topic", "split": "split", "rater_1": "ada", "rater_2": "bo"},
}


@pytest.mark.filterwarnings("ignore::bayesanno.NamesWarning")
@pytest.mark.parametrize("which", WIDE)
def test_a_wide_table_is_not_refused(which):
    columns = WIDE[which]
    data = read_annotations(named(grid(), **columns))
    assert data.annotators == tuple(name for name, column in columns.items() if column in (*PEOPLE, "di", "eve"))
    assert (data.n_items, data.labels) == (40, ("neg", "neutral", "pos"))


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        (
            {"id": "row", "crew": "topic", "ada": "ada", "bo": "bo"},
            "few values of 'crew' occur in 'ada', 'bo'",
        ),
        ({"id": "row", "crew": "topic", "form": "split", "ada": "ada", "bo": "bo", "cy": "cy"}, "'crew', 'form'"),
        ({"id": "row", "difficulty": "cy", "ada": "ada", "bo": "bo"}, "'difficulty' has the values of annotators"),
        ({"model": "row", "ada": "ada", "bo": "bo"}, "a row for each annotator, 'model', .*transpose=True"),
    ],
)
def test_a_wide_table_that_may_be_long_is_asked_for(refuses, columns, match):
    table = named(grid(), **columns)
    with refuses(DataError, match):
        read_annotations(table)
    assert read_annotations(table, columns=["ada", "bo"], item=table.columns[0]).annotators == ("ada", "bo")
