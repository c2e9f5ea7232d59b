"""Tables of comparisons: what counts as a side or a tie, what an item is, and what is refused."""

import json
import logging

import pandas as pd
import pytest

import bayesanno as ba
from bayesanno.io.datasets import load_named
from tests.io.comparisons import STRENGTHS, make_pairs
from tests.io.refused.compared import ARENA, CODES, CROWD, OF_ARENA, OF_CROWD, ORDERS, RIVAL


def answers_of(data):
    return [(data.items[i], data.annotators[j], data.labels[k])
            for i, j, k in zip(data.item, data.annotator, data.label, strict=True)]  # fmt: skip


def test_a_label_is_a_side_by_its_column_or_by_its_system_and_ties_are_one(read, caplog):
    caplog.set_level(logging.INFO, logger="bayesanno")
    data = read(ARENA, **OF_ARENA)
    assert data.labels == ("model_a", "model_b", "tie")
    assert not data.labels_are_ordered
    assert answers_of(data) == [
        ("q1", "ada", "model_a"), ("q1", "bo", "tie"), ("q2", "ada", "model_b"), ("q2", "bo", "tie"),
    ]  # fmt: skip
    assert data.gold == {"q1": "model_a", "q3": "tie"}
    assert data.item_columns["model_a"].names == ["llama", "opt", "bloom"]
    assert data.item_columns["model_b"].names == ["opt", "bloom", "llama"]
    assert {column.levels for column in data.item_columns.values()} == {("bloom", "llama", "opt")}
    assert "of 3 systems (bloom, llama, opt); ties are 'tie (bothbad)', 'Tie'" in caplog.messages[0]
    assert data.describe().endswith("labels model_a, model_b, tie; columns model_a, model_b")


def test_without_an_item_column_a_pair_is_an_item_in_either_order(read):
    data = read(CROWD, **OF_CROWD)
    assert data.items == ("a | b", "c | a")
    assert data.labels == data.sides == ("left", "right")
    assert [label for *_, label in answers_of(data)] == ["left", "right", "right", "right"]
    assert data.swapped.tolist() == [False, False, True, False]


OF_ROWS = {"pairs": "a,b", "item": "q", "label": "w", "annotator": "j"}


def test_questions_with_several_pairs_are_items_with_their_pair(read):
    rows = "q,a,b,w,j\n1,x,y,x,ada\n1,y,x,x,ada\n2,x,z,z,bo\n"
    data = read(rows, **OF_ROWS)
    assert data.items == ("1", "2")
    assert [label for *_, label in answers_of(data)] == ["a", "a", "b"]
    data = read(rows + "1,z,y,b,ada\n", **OF_ROWS)
    assert data.items == ("1: x | y", "2: x | z", "1: z | y")
    assert read(ARENA, **OF_ARENA, item="{question_id}/{judge}").items[:2] == ("q1/ada", "q1/bo")


def test_records_are_read_as_tables_are(keep):
    frame = pd.read_csv(load_named("@pairs"), dtype=str).head(40)
    records = [{**row, "conversation_a": [{"role": "user"}]} for row in frame.to_dict("records")]
    of_table = ba.read_annotations(frame, **OF_ARENA)
    for of_records in (records, keep(records, lines=True), keep(json.dumps(records), "other.json")):
        found = ba.read_annotations(of_records, **OF_ARENA)
        assert (found.hash, found.gold) == (of_table.hash, of_table.gold)


ALPACA = [{"item": n, "x": "gpt4", "y": "llama", "annotator": "claude", "label": said, "raw": {"a": 1}}
          for n, said in enumerate((2.0, 1.0, 0, None))]  # fmt: skip
VOTED = [{"id": n, "data": {"a": "s", "b": "t"}, "votes": [{"by": k, "said": [said]} for k, said in enumerate("bA")]}
         for n in range(2)]  # fmt: skip
HEAD = "item,x,y,label,annotator\n"
OF_HEAD = {"pairs": "x,y"}
ANSWERED = {
    "a system that begins with tie": (RIVAL.replace("opt,tiefighter,ada,llama", "opt,opt,ada,llama"), OF_ARENA,
                                      ["model_b", "tie", "model_b", "tie"]),
    "a system that is a number": (CODES, {**OF_HEAD, "first": "x", "second": "y"}, ["x", "y"]),
    "systems that are named like codes": (HEAD + "1,A,B,A,ada\n2,A,B,B,ada\n", OF_HEAD, ["x", "y"]),
    "joined codes": (HEAD + "1,s,t,0,ada\n2,s,t,1,ada\n", {**OF_HEAD, "same": {"0": "x", "1": "y"}}, ["x", "y"]),
    **{f"usual codes {one}, {other}": (HEAD + f"1,s,t,{one},ada\n2,s,t,{other},ada\n3,t,s,0,ada\n",
                                       {**OF_HEAD, "tie": "0"}, ["x", "y", "tie"])
       for one, other in (("A", "B"), ("1", "2"), ("left", "Right"), ("first", "second"))},
    "letters of columns": ("id,model_b,model_a,judge,winner\n1,y,x,j,A\n2,y,x,j,b\n", {"pairs": "model_b,model_a"},
                           ["model_a", "model_b"]),
    "AlpacaEval": (ALPACA, {**OF_HEAD, "tie": "0"}, ["y", "x", "tie"]),
    "paths": (VOTED, {"pairs": "data.a,data.b", "annotator": "votes[].by", "label": "votes[].said[]"},
              ["data.b", "data.a"] * 2),
    "a baseline": ("item,system,judge,verdict\n1,a,p,win\n2,a,p,Loss\n3,a,p,draw\n",
                   {"pairs": "system", "baseline": "gpt-4"}, ["system", "baseline", "tie"]),
}  # fmt: skip


@pytest.mark.parametrize(("source", "options", "said"), ANSWERED.values(), ids=ANSWERED)
def test_a_label_is_a_side_by_its_system_or_its_code(keep, source, options, said):
    data = ba.read_annotations(keep(source), **options)
    assert data.to_frame()["label"].tolist() == said


def test_known_labels_of_both_orders_name_systems(read):
    data = read("q,a,b,w,j,gold\n1,x,y,x,ada,x\n1,y,x,x,bo,x\n2,x,y,y,bo,b\n", **OF_ROWS, controls={"1": "y"})
    assert (data.gold, data.controls, data.labels) == ({"1": "a", "2": "b"}, {"1": "b"}, ("a", "b"))
    assert data.to_frame()["gold"].tolist() == ["a", "b", "b"]
    assert read(ORDERS, pairs="resp_a,resp_b", controls={"1": "t"}).controls == {"1": "resp_b"}


def test_what_agrees_does_not_depend_on_the_first_row(read):
    rows = ["q,a,b,w,j", "1,x,y,x,ada", "1,y,x,x,bo", "2,y,x,x,ada", "2,x,y,y,bo", "3,x,y,x,ada", "3,y,x,x,bo"]
    one, other = (read("\n".join([rows[0], *each]), **OF_ROWS) for each in (rows[1:], rows[:0:-1]))
    assert {item: one.votes[at].tolist() for at, item in enumerate(one.items)} == {
        item: other.votes[at].tolist() for at, item in enumerate(other.items)
    }
    assert one.usage[0].tolist() == [2, 1]  # as shown: ada says the second once, of y and x


def test_ties_are_those_that_are_named_and_what_is_unsure_stays(read):
    drawn = ARENA.replace("tie (bothbad)", "draw").replace("Tie", "skip")
    data = read(drawn, **OF_ARENA, tie="draw,tie", unsure="skip")
    assert (data.labels, data.unsure) == (("model_a", "model_b", "tie", "skip"), ("skip",))
    no_truth = read(ARENA, **OF_ARENA, unsure="tie")
    assert (no_truth.classes, no_truth.unsure) == (("model_a", "model_b"), ("tie",))
    assert no_truth.gold == {"q1": "model_a"}
    left_out = read(ARENA, **OF_ARENA, missing=["tie (bothbad)", "Tie", "tie"])
    assert left_out.labels == ("model_a", "model_b")
    assert read(ARENA, **OF_ARENA, labels=["model_b", "tie", "model_a"]).labels == ("model_b", "tie", "model_a")


def test_known_labels_are_understood_alike(read, keep):
    gold = keep("item,gold\nq1,opt\nq2,tie\n", "gold.csv")
    controls = keep("item,label\nq3,bloom\n", "controls.csv")
    data = read(ARENA, **OF_ARENA, gold_file=gold, controls=controls)
    assert (data.gold, data.controls) == ({"q1": "model_b", "q2": "tie"}, {"q3": "model_a"})


@pytest.mark.usefixtures("by_numpy")
def test_the_file_of_pairs_is_what_its_script_makes():
    table, truth = make_pairs()
    assert table.to_csv(index=False, lineterminator="\n") == load_named("@pairs").read_text()
    assert dict(zip(truth["system"].values.tolist(), truth["strength"].values, strict=True)) == STRENGTHS
