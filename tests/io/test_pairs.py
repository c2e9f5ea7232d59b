"""Tables of comparisons: what counts as a side or a tie, what an item is, and what is refused."""

import json
import logging

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.errors import DataError, NamesWarning
from bayesanno.io.datasets import load_named
from tests.io.comparisons import CONFUSION, SIDES, STRENGTHS, make_pairs

ARENA = """question_id,model_a,model_b,winner,judge,gold
q1,llama,opt,model_a,ada,llama
q1,llama,opt,tie (bothbad),bo,llama
q2,opt,bloom,bloom,ada,
q2,opt,bloom,Tie,bo,
q3,bloom,llama,,cy,tie
"""
CROWD = "worker,left,right,label\nw1,a,b,a\nw2,a,b,b\nw1,b,a,b\nw2,c,a,right\n"
OF_ARENA = {"pairs": "model_a,model_b"}
OF_CROWD = {"pairs": ("left", "right"), "first": "left", "second": "right"}


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
    assert caplog.messages[0].endswith(
        "answers.csv: items in 'question_id'; annotators in 'judge'; labels in 'winner': model_a, model_b, tie; true "
        "labels in 'gold'; pairs 'model_a' and 'model_b' of 3 systems (bloom, llama, opt); ties are 'tie (bothbad)', "
        "'Tie'"
    )
    assert data.describe().endswith("labels model_a, model_b, tie; columns model_a, model_b")


@pytest.mark.parametrize("codes", [("A", "B"), ("1", "2"), ("left", "Right"), ("first", "second")])
def test_usual_codes_are_sides(read, codes):
    rows = f"q,x,y,w,j\n1,llama,opt,{codes[0]},ada\n2,llama,opt,{codes[1]},ada\n3,opt,llama,0,ada\n"
    data = read(rows, pairs="x,y", item="q", label="w", annotator="j", tie="0")
    assert [label for *_, label in answers_of(data)] == ["x", "y", "tie"]


def test_whether_a_label_is_a_system_or_a_code_is_asked(read, refuses):
    rows, options = "q,x,y,w,j\n1,2,1,2,ada\n2,1,2,2,ada\n", {"pairs": "x,y", "item": "q", "annotator": "j"}
    message = "line 2: label '2' .* if it is the system, use first='x' and second='y'; .* use first='1' and second='2'"
    with refuses(DataError, message):
        read(rows, label="w", **options)
    data = read(rows, label="w", first="x", second="y", **options)
    assert [label for *_, label in answers_of(data)] == ["x", "y"]
    data = read(rows, label="w", first="1", second="2", **options)
    assert [label for *_, label in answers_of(data)] == ["y", "y"]
    with refuses(DataError, r"line 2: label 'b' may be a system \(y\) or a side \(x\)"):
        read("q,x,y,label,j\n1,c,b,b,ada\n", first="b", **options)
    assert read("q,x,y,label,j\n1,A,B,A,ada\n2,A,B,B,ada\n", **options).labels == ("x", "y")


def test_columns_left_out_and_systems_in_other_capitals_are_named(read, caplog):
    caplog.set_level(logging.INFO, logger="bayesanno")
    rows = "item,x,y,label,annotator,note\n1,llama,opt,x,ada,n\n2,Llama,opt,x,ada,n\n"
    with pytest.warns(NamesWarning, match="'Llama' and 'llama' are different systems"):
        read(rows, pairs="x,y")
    assert "left out 'note'; pairs" in caplog.messages[-1]
    read("item,annotator,ranked,note\n1,ada,x > y,n\n2,ada,y > x,n\n", ranking="ranked")
    assert "left out 'note'" in caplog.messages[-1]
    assert read(rows, pairs="x,y", ignore_case=True).item_columns["x"].levels == ("llama", "opt")


def test_other_codes_of_sides_are_named(read):
    rows = "q,x,y,w,j\n1,llama,opt,0,ada\n2,llama,opt,1,ada\n"
    data = read(rows, pairs="x,y", item="q", label="w", annotator="j", same={"0": "x", "1": "y"})
    assert [label for *_, label in answers_of(data)] == ["x", "y"]


def test_without_an_item_column_a_pair_is_an_item_in_either_order(read):
    data = read(CROWD, **OF_CROWD)
    assert data.items == ("a | b", "c | a")
    assert data.labels == data.sides == ("left", "right")
    assert [label for *_, label in answers_of(data)] == ["left", "right", "right", "right"]
    assert data.swapped.tolist() == [False, False, True, False]


def test_questions_with_several_pairs_are_items_with_their_pair(read):
    rows = "q,a,b,w,j\n1,x,y,x,ada\n1,y,x,x,ada\n2,x,z,z,bo\n"
    data = read(rows, pairs="a,b", item="q", label="w", annotator="j")
    assert data.items == ("1", "2")
    assert [label for *_, label in answers_of(data)] == ["a", "a", "b"]
    data = read(rows + "1,z,y,b,ada\n", pairs="a,b", item="q", label="w", annotator="j")
    assert data.items == ("1: x | y", "2: x | z", "1: z | y")
    judged = ARENA.replace("question_id,", "question_id,turn,").replace("q1,", "q1,1,").replace("q2,", "q2,2,")
    data = read(judged.replace("q3,", "q3,1,"), **OF_ARENA, item="{question_id}/{turn}")
    assert data.items == ("q1/1", "q2/2", "q3/1")


def test_systems_named_by_numbers_stay_names(read):
    data = read("item,first,second,label,annotator\n1,10,9,10,ada\n2,9,10,first,bo\n", pairs="first,second")
    assert data.item_columns["first"].levels == ("10", "9")
    assert [label for *_, label in answers_of(data)] == ["first", "first"]
    assert ba.models.ModelB(class_prior=ba.Pairs()).build(data)["strength"].eval().shape == (2,)


def test_records_are_read_as_tables_are(keep):
    frame = pd.read_csv(load_named("@pairs"), dtype=str).head(40)
    records = [{**row, "conversation_a": [{"role": "user"}]} for row in frame.to_dict("records")]
    of_table = ba.read_annotations(frame, **OF_ARENA)
    for of_records in (records, keep(records, lines=True), keep(json.dumps(records), "other.json")):
        found = ba.read_annotations(of_records, **OF_ARENA)
        assert (found.hash, found.gold) == (of_table.hash, of_table.gold)
    two = ba.read_annotations(frame.assign(prompt="p1"), **OF_ARENA, annotator="{judge}/{prompt}")
    assert two.annotators[0] == f"{frame['judge'][0]}/p1"
    nested = [{"data": {key: row.pop(key) for key in ("model_a", "model_b")}, **row} for row in records]
    found = ba.read_annotations(nested, pairs="data.model_a,data.model_b")
    assert found.item_columns["data.model_a"].names == of_table.item_columns["model_a"].names


ALPACA = [
    {"instruction": f"i{n}", "generator_1": "gpt4", "generator_2": "llama", "annotator": "claude", "preference": said,
     "raw_completion": {"a": 1}}
    for n, said in enumerate((2.0, 1.0, 0, None))
]  # fmt: skip
STUDIO = [
    {"id": n, "data": {"model_a": "x", "model_b": "y"},
     "annotations": [{"completed_by": k, "result": [{"type": "pairwise", "value": {"selected": said}}]}
                     for k, said in enumerate(("left", "right"))]}
    for n in range(2)
]  # fmt: skip
PUBLIC = {
    "AlpacaEval": (ALPACA, {"item": "instruction", "pairs": "generator_1,generator_2", "annotator": "annotator",
                            "label": "preference", "tie": "0"}, ["generator_2", "generator_1", "tie"]),
    "Label Studio": (STUDIO, {"item": "id", "pairs": "data.model_a,data.model_b",
                              "annotator": "annotations[].completed_by",
                              "label": "annotations[].result[].value.selected"}, ["data.model_a", "data.model_b"] * 2),
    "PandaLM": (pd.DataFrame({"item": [1, 2, 3], "first": "a", "second": "b", "annotator": "p", "label": [0, 1, 2]}),
                {"pairs": "first,second", "tie": "0"}, ["tie", "first", "second"]),
    "a baseline": (pd.DataFrame({"item": [1, 2, 3], "system": "a", "judge": "p", "verdict": ["win", "Loss", "draw"]}),
                   {"pairs": "system", "baseline": "gpt-4"}, ["system", "baseline", "tie"]),
    "other codes": (pd.DataFrame({"item": [1, 2, 3], "a": "x", "b": "y", "judge": "p", "label": [-1, 0, 1]}),
                    {"pairs": "a,b", "first": "-1", "second": "1", "tie": "0"}, ["a", "tie", "b"]),
}  # fmt: skip


@pytest.mark.parametrize(("source", "options", "said"), PUBLIC.values(), ids=PUBLIC)
def test_public_shapes_are_read(source, options, said):
    assert ba.read_annotations(source, **options).to_frame()["label"].tolist() == said


def test_known_labels_of_both_orders_name_systems(read, refuses):
    rows = "q,a,b,w,j,gold\n1,x,y,x,ada,x\n1,y,x,x,bo,x\n2,x,y,y,bo,b\n"
    of_rows = {"pairs": "a,b", "item": "q", "label": "w", "annotator": "j"}
    data = read(rows, **of_rows)
    assert (data.gold, data.labels) == ({"1": "a", "2": "b"}, ("a", "b"))
    assert data.to_frame()["gold"].tolist() == ["a", "b", "b"]
    assert read(rows, **of_rows, controls={"1": "y"}).controls == {"1": "b"}
    with refuses(DataError, "controls: item '1' was shown in both orders, so 'a' may be either of 'x', 'y': give the"):
        read(rows, **of_rows, controls={"1": "a"})


@pytest.mark.parametrize(("options", "side"), [({"first": "Links", "second": "Rechts"}, "Links"), ({}, "B")])
def test_a_side_of_an_item_in_both_orders_is_no_known_label(read, refuses, options, side):
    rows = "q,resp_a,resp_b,w,j\n1,s,t,s,ada\n1,t,s,s,bo\n"
    with refuses(DataError, f"item '1' was shown in both orders, so '{side}' may be either of 's', 't'"):
        read(rows, pairs="resp_a,resp_b", item="q", label="w", annotator="j", controls={"1": side}, **options)


def test_what_agrees_does_not_depend_on_the_first_row(read):
    rows = ["q,a,b,w,j", "1,x,y,x,ada", "1,y,x,x,bo", "2,y,x,x,ada", "2,x,y,y,bo", "3,x,y,x,ada", "3,y,x,x,bo"]
    options = {"pairs": "a,b", "item": "q", "label": "w", "annotator": "j"}
    one, other = (read("\n".join([rows[0], *each]), **options) for each in (rows[1:], rows[:0:-1]))
    assert {item: one.votes[at].tolist() for at, item in enumerate(one.items)} == {
        item: other.votes[at].tolist() for at, item in enumerate(other.items)
    }
    assert one.usage[0].tolist() == [2, 1]  # as shown: ada says the second once, of y and x


def test_columns_with_the_same_last_word_have_no_code(read, refuses):
    with refuses(DataError, "label 'model' is neither"):
        read("q,left_model,right_model,w,j\n1,x,y,model,ada\n", pairs="left_model,right_model", item="q", label="w",
             annotator="j")  # fmt: skip


def test_an_annotator_may_see_both_orders_but_not_one_twice(read, refuses, recwarn):
    rows = "a,b,w,j\nx,y,x,ada\ny,x,x,ada\n"
    assert read(rows, pairs="a,b", label="w", annotator="j").n_annotations == 2
    assert not recwarn.list
    with refuses(DataError, "'ada' compares 'y' with 'x' again"):
        read(rows + "y,x,y,ada\n", pairs="a,b", label="w", annotator="j")


def test_subsets_are_of_items(read, refuses):
    rows = "q,c,a,b,w,j\n1,m,x,y,x,ada\n1,m,y,x,x,bo\n2,k,x,y,y,bo\n"
    options = {"pairs": "a,b", "item": "q", "label": "w", "annotator": "j", "by": "c"}
    assert read(rows, **options).item_columns["c"].names == ["m", "k"]
    with refuses(DataError, "item '1' has two values of 'c', 'm' and 'k': keep one"):
        read(rows.replace("1,m,y", "1,k,y"), **options)
    with refuses(DataError, r"by=\.\.\. is only for comparisons"):
        read("item,annotator,label\n1,a,x\n", by="item")


def test_ties_are_those_that_are_named_and_what_is_unsure_stays(read):
    drawn = ARENA.replace("tie (bothbad)", "draw").replace("Tie", "skip")
    data = read(drawn, **OF_ARENA, tie="draw,tie", unsure="skip")
    assert (data.labels, data.unsure) == (("model_a", "model_b", "tie", "skip"), ("skip",))
    with pytest.warns(NamesWarning, match="^1 of 2 known labels are left out because they are ties"):
        no_truth = read(ARENA, **OF_ARENA, unsure="tie")
    assert (no_truth.classes, no_truth.unsure) == (("model_a", "model_b"), ("tie",))
    assert no_truth.gold == {"q1": "model_a"}
    left_out = read(ARENA, **OF_ARENA, missing=["tie (bothbad)", "Tie", "tie"])
    assert left_out.labels == ("model_a", "model_b")
    assert read(ARENA, **OF_ARENA, labels=["model_b", "tie", "model_a"]).labels == ("model_b", "tie", "model_a")


def test_a_system_whose_name_begins_with_tie_is_no_tie(read, refuses):
    rows = ARENA.replace("opt,bloom,bloom", "opt,tiefighter,tiefighter").replace("opt,bloom,Tie", "opt,tiefighter,Tie")
    assert answers_of(read(rows, **OF_ARENA))[2] == ("q2", "ada", "model_b")
    with refuses(DataError, r"line 2: label 'tiefighter' is neither 'llama' \(model_a\) nor 'opt' \(m.*: correct it"):
        read(rows.replace("opt,model_a,ada", "opt,tiefighter,ada"), **OF_ARENA)


def test_known_labels_are_understood_alike(read, keep, refuses):
    gold = keep("item,gold\nq1,opt\nq2,tie\n", "gold.csv")
    controls = keep("item,label\nq3,bloom\n", "controls.csv")
    data = read(ARENA, **OF_ARENA, gold_file=gold, controls=controls)
    assert (data.gold, data.controls) == ({"q1": "model_b", "q2": "tie"}, {"q3": "model_a"})
    assert read(ARENA, **OF_ARENA, controls={"q1": "opt"}).controls == {"q1": "model_b"}
    with refuses(DataError, r"controls: item 'q1': label 'bloom' is neither 'llama' \(model_a\) nor 'opt' \(model_b\)"):
        read(ARENA, **OF_ARENA, controls={"q1": "bloom"})


REFUSED = {
    "with itself": (ARENA.replace("q2,opt,bloom,bloom", "q2,opt,opt,opt"), OF_ARENA,
                    r"line 4: 'opt' is compared with itself: correct it, or leave the row out"),
    "no system": (ARENA.replace("q2,opt,bloom,bloom", "q2,,bloom,bloom"), OF_ARENA,
                  r"line 4: 'model_a' is missing: fill in the system"),
    "no side": (ARENA.replace("Tie", "both"), OF_ARENA,
                r"line 5: label 'both' is neither 'opt' \(model_a\) nor 'bloom' \(model_b\), nor a tie: "
                "for a side use first='both' or second='both', for a tie tie='tie,both', for no answer missing='both'"),
    "either side": (CROWD.replace("w1,a,b,a", "w1,a,left,left"), {"pairs": "left,right"},
                    "line 2: label 'left' names both a column and the system in the other column"),
    "twice": (CROWD + "w1,a,b,b\n", OF_CROWD, r"line 6: 'w1' compares 'a' with 'b' again, .* items with item=\.\.\."),
    "alike": ("item,a,b,label,annotator\nq,x | y,z,a,ada\nq,x,y | z,a,ada\n", {"pairs": "a,b"},
              r"line 2: two items would be named 'q: x \| y \| z'"),
    "no column": (ARENA, {"pairs": "model_a,model_c"},
                  "no column 'model_c' to use as system; .*did you mean 'model_b'"),
    "two roles": (ARENA, {"pairs": "model_a,winner"}, "column 'winner' cannot be both label and pairs"),
    "one column": (ARENA, {"pairs": "model_a"}, "pairs is 'model_a': name the two columns of systems"),
    "wide": (ARENA, {**OF_ARENA, "format": "wide"}, r"pairs=\.\.\. names columns of a long .* format='wide'"),
    "split": (ARENA, {**OF_ARENA, "split": "|"}, r"split=\.\.\. does not apply to comparisons"),
    "ties alone": (ARENA, {"tie": "tie"}, r"tie=\.\.\. is only for comparisons: name .* with pairs=\.\.\."),
    "labels": (ARENA, {**OF_ARENA, "labels": ["model_a", "model_b"]}, "line 3: label 'tie' of item 'q1' is not among"),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_comparison_is_refused(read, refuses, rows, options, message):
    with refuses(DataError, message):
        read(rows, **options)


@pytest.mark.parametrize("content", ["[1, 2]", '[{"item": "x"}]'], ids=["numbers", "no systems"])
def test_json_without_systems_is_refused(keep, refuses, content):
    with refuses(DataError, "export.json"):
        ba.read_annotations(keep(content), **OF_ARENA)


def test_the_file_of_pairs_is_what_its_script_makes():
    table, truth = make_pairs()
    assert table.to_csv(index=False, lineterminator="\n") == load_named("@pairs").read_text()
    assert dict(zip(truth["system"].values.tolist(), truth["strength"].values, strict=True)) == STRENGTHS
    data = ba.read_annotations("@pairs")
    assert data.labels == (*SIDES, "tie")
    assert set(np.bincount(data.item)) == {2, 3}
    assert len(data.gold) == data.n_items
    right = data.label == data.gold_codes[data.item]
    share = {name: right[data.annotator == code].mean() for code, name in enumerate(data.annotators)}
    assert sorted(share, key=share.get, reverse=True) == list(CONFUSION)
