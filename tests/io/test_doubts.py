"""Files whose owners would be misunderstood: what is read where options decide, and what is warned of."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.errors import DataError, NamesWarning
from tests.io.refused.columns import FLAGS, ONE_BY_MANY, lines, rows

FORMS = "form,item,annotator,label\nA,1,a,x\nA,1,b,x\nB,1,a,y\nB,1,b,y\n"
READ = {
    "rows of labels": (rows("item_id,worker_id,label,selected", FLAGS),
                       {"item": "{item_id} / {label}", "label": "selected"},
                       tuple(f"{n} / {label}" for n in (1, 2) for label in ("joy", "fear"))),
    "rows of annotators": ("name,Q1,Q2\nada,x,y\nbo,x,x\n",
                           {"transpose": True, "annotator": "name", "columns": "Q1,Q2"}, ("Q1", "Q2")),
    "columns before a label": ("item,worker,category,joy,fear\n0,a,news,1,0\n0,b,web,0,1\n",
                               {"multi_label": True, "columns": "joy,fear"}, ("0 / fear", "0 / joy")),
    "columns of a DataFrame": ("0,1,2\nx,a,7\nx,b,8\n", {"item": 0, "annotator": 1, "label": 2}, ("x",)),
    "options that are not given": ("item,annotator,label\n1,a,x\n1,b,y\n",
                                   {"missing": None, "columns": None, "pairs": None, "unsure": None}, ("1",)),
    "a number that is missing": ("item,annotator,label\n1,a,7\n1,b,8\n1,c,-1\n", {"missing": -1}, ("1",)),
    "a field of pairs in JSON": (lines([{"id": n, "model_a": "a", "model_b": "b", "winner": "A", "user": {"id": n}}
                                        for n in range(2)]),
                                 {"pairs": "model_a,model_b", "annotator": "user.id"}, ("0", "1")),
    "an evaluator beside a model": (rows("id,model,evaluator,score", [(n, f"m{n}", f"e{k}", k) for n in (0, 1)
                                                                      for k in (3, 4)]), {}, ("0", "1")),
    "a code without a label": (lines([{"item": 1, "annotator": "a", "label": [-1]},
                                      {"item": 1, "annotator": "b", "label": ["x", "y"]}]),
                               {"multi_label": True, "missing": "-1.0"}, ("1 / x", "1 / y")),
    "a code in capitals": (lines([{"item": 1, "annotator": "a", "label": ["None"]},
                                  {"item": 1, "annotator": "b", "label": ["x", "y"]}]),
                           {"multi_label": True, "missing": "none", "ignore_case": True}, ("1 / x", "1 / y")),
    "labels that are joined": ("item,annotator,label\n1,a,joy|bad\n1,b,anger\n",
                               {"multi_label": True, "split": "|", "same": {"bad": "anger"}}, ("1 / anger", "1 / joy")),
    "zeros that are missing": ("item,annotator,label\n0,0,x\n1,0,0\n0,b,y\n", {"missing": "0"}, ("0", "1")),
    "the annotator of the record": (lines([ONE_BY_MANY, {**ONE_BY_MANY, "label": "y"}]),
                                    {"annotator": "annotator", "label": "label"}, ("1",)),
    "paths into what looks like Argilla": (
        lines([{"id": 1, "ev": [{"user_id": "u", "value": v, "status": "submitted"}]} for v in "xy"]),
        {"annotator": "ev[].user_id", "label": "ev[].value", "item": "id"}, ("1",)),
    "items that forms name": (FORMS, {"item": "{form}/{item}"}, ("A/1", "B/1")),
    "items that forms repeat": (FORMS, {"item": "item"}, ("1",)),
    "annotators that are labels too": ("item,yes,no\ns1,yes,no\ns2,no,yes\n", {"columns": "yes,no"}, ("s1", "s2")),
    "a file without a header": ("s1,yes,no\ns2,no,yes\n", {"columns": "2:", "no_header": True, "item": "1"},
                                ("s1", "s2")),
    "a file without names": ("NOUN,,VERB\n,VERB,VERB\n", {"columns": "1:", "no_header": True}, ("1", "2")),
    "votes with a template": ("sys,seg,yes,no\na,1,3,2\nb,1,2,2\n", {"format": "votes", "item": "{sys}/{seg}"},
                              ("a/1", "b/1")),
    "votes without a sum": ("item,no,yes,all\ns1,2,1,3\ns2,0,3,3\n", {"format": "votes", "columns": "no,yes"},
                            ("s1", "s2")),
    "numbers without a header": ("1,a,x\n1,2,3\n", {"no_header": True, "item": "1", "annotator": "2", "label": "3"},
                                 ("1",)),
    "texts that are meant": ("ASSIGNMENT:task_id\tASSIGNMENT:worker_id\tOUTPUT:text\n"
                             + "".join(f"t{i}\tw{k}\tword{i}{k}\n" for i in range(10) for k in range(3)),
                             {"label": "text"}, tuple(f"t{i}" for i in range(10))),
    "a field for each judge": (lines([{"id": 1, "gpt": "y", "llama": "n"}]), {"columns": "gpt,llama"}, ("1",)),
}  # fmt: skip


@pytest.mark.parametrize(("text", "options", "items"), READ.values(), ids=READ)
def test_options_decide(read, text, options, items):
    assert read(text, **options).items == items


def test_codes_of_a_dataset_have_names():
    table = pd.DataFrame({"item": [1, 1], "annotator": [b"ada", b"bo"], "label": [0, 1]})
    features = {"label": SimpleNamespace(names=["no", "yes"]), "item": SimpleNamespace()}
    data = ba.read_annotations(SimpleNamespace(features=features, to_pandas=lambda: table))
    assert (data.labels, data.annotators) == (("no", "yes"), ("ada", "bo"))


def test_fields_that_only_later_records_have_are_read(read):
    some = [{"id": 1, "rater_1": "a", "rater_2": "b"}, {"id": 2, "rater_1": "a", "rater_3": "b"}]
    data = read(lines(some))
    assert (data.annotators, data.n_annotations) == (("rater_1", "rater_2", "rater_3"), 4)
    known = [{"item": 1, "worker": "a", "label": "x"}, {"item": 2, "worker": "a", "label": "y", "gold": "y"}]
    assert read(lines(known)).gold == {"2": "y"}


def test_options_mean_numbers_however_they_are_written(read):
    text = "item,rater_1,rater_2,rater_3\n1,1.0,-1.0,1.0\n2,0.0,0.0,-1.0\n3,1.0,1,0\n4,0,0,-1\n"
    assert read(text, missing="-1").labels == ("0", "1")
    assert read(text, missing="-1", same={"0": "2"}).labels == ("1", "2")


def test_votes_leave_out_what_is_known_to_be_none(read):
    data = read("item,yes,no,majority,difficulty,year\n1,2.0,,1,3,2003\n2,,3.0,0,1,2001\n", format="votes")
    assert (data.labels, data.n_annotations) == (("yes", "no"), 5)


WARNED = {
    "decimal commas": ("id;rater_1;rater_2\n1;1,0;1\n2;2,0;2\n3;3,0;1\n", {}, "'1' and '1,0' are different labels"),
    "many decimal commas": ("item;rater_1;rater_2\n1;9,5;9\n2;10,5;10,5\n3;9;9,5\n", {},
                            "with a decimal comma, .*same={'9,5': '9.5', '10,5': '10.5'}"),
    "items of one annotator": (rows("item,annotator,label", [(1, "a", "x"), ("1.0", "b", "y"), (2, "a", "y")]), {},
                               "'1' and '1.0' are different items"),
    "two ranges among grades": (rows("item,rater_1,rater_2", [(1, 1, 1), (2, "3-4", 2), (3, 3, 4), (4, 5, "2-3")]), {},
                                "'3-4', '2-3' are no numbers .*missing='3-4,2-3'"),
    "a stray quote": ('item,annotator,label\ns1,ada,"yes\ns2,bo,no"\ns3,cy,yes\ns3,ada,no\n', {},
                      "there are line breaks in labels, 'yes.ns2,bo,no'"),
    "a stray quote in items": ('item,annotator,label\n"s1,ada,yes\ns2",bo,no\ns3,cy,yes\ns3,ada,no\n', {},
                               "there are line breaks in items, 's1,ada,yes.ns2'"),
    "a nameless annotator": ("item,annotator,label\n1,NA,x\n1,b,y\n", {}, "the annotators 'NA' may stand for missing"),
    "a nameless item": ("item,rater_1,rater_2\n1,x,y\n?,x,y\n", {}, "the items '\\?' may stand for missing ones"),
    "a row of sums": ("item,rater_1,rater_2\n1,2,3\n2,3,3\nTotal,5,6\n", {}, "the items 'Total' may .* for sums"),
    "gold that is none": (rows("item,annotator,label,gold", [(1, "a", "yes", "-"), (2, "a", "no", "no")]), {},
                          "'-' may stand for missing known labels: if so, use missing='-'"),
    "a misspelt true label": (rows("item,annotator,label,gold", [(1, "a", "yes", "yess"), (2, "a", "no", "no")]), {},
                              r"'yess' \(1 item\) among the true labels are no labels, .* did you mean 'yes'"),
    "a scale": (rows("id,ann1,ann2", [(n, n % 41 / 2, n * 7 % 41 / 2) for n in range(82)]), {},
                "the 41 labels are numbers, .*at most a dozen grades"),
    "a spelling in vain": ("item,annotator,label\n1,a,yes\n1,b,no\n", {"same": {"yess": "no"}},
                           "names 'yess', which is no answer here; did you mean 'yes'"),
    "a code in vain": ("item,annotator,label\n1,a,yes\n1,b,no\n", {"missing": "NA"}, "names 'NA', which is no answer"),
    "a code of several in vain": ("item,annotator,label\n1,a,yes\n1,b,no\n", {"missing": "NA", "multi_label": True},
                                  "names 'NA', which is no answer"),
    "several that were not split": ("item,annotator,label\n1,a,joy|anger\n1,b,joy\n1,c,anger\n", {"multi_label": True},
                                    r"'joy\|anger' looks like several labels: if it is, use split='\|'"),
    "several that were split otherwise": ("item,annotator,label\n1,a,joy|anger\n1,b,joy\n1,c,anger\n",
                                          {"multi_label": True, "split": ","}, r"if it is, use split='\|'"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "options", "message"), WARNED.values(), ids=WARNED)
def test_what_may_be_a_mistake_is_warned_of(read, text, options, message):
    with pytest.warns(NamesWarning, match=message):
        read(text, **options)


def test_arrays_and_bytes_in_cells_are_lists_and_text(refuses):
    table = pd.DataFrame({"item": [b"s", b"s"], "annotator": ["a", "b"]})
    table["label"] = [np.array(["joy", "anger"]), np.array(["joy"])]
    with refuses(DataError, "of item 's' looks like several labels in one cell"):
        ba.read_annotations(table)
    assert ba.read_annotations(table, multi_label=True).items == ("s / anger", "s / joy")
    table["label"] = ["x", b"\xff"]
    with refuses(DataError, r"the cell b'\\xff' is not UTF-8"):
        ba.read_annotations(table)


LOGGED = {
    "nested fields": (lines([{"item": 1, "annotator": "a", "label": v, "meta": {"x": 1}} for v in "xy"]), {},
                      "left out 'meta'"),
    "keys that are annotators": (lines([{"id": 1, "annotations": {"ada": "x", "bo": "y"}}]), {},
                                 "annotators in 'annotations{}#'"),
    "columns without a name": ("item,annotator,label,,\n1,a,x,why,\n1,b,y,,\n", {}, "left out 'column 4'"),
    "known names beside annotators": ("item,text,topic,ann1,ann2,final\n1,good,tech,pos,neg,pos\n", {},
                                      "annotators 'ann1', 'ann2'; left out 'text', 'topic', 'final'"),
    "a number that is none": ("rater_1,rater_2,weight\nx,y,.5\n", {"format": "wide", "columns": "rater_*"},
                              "left out 'weight'"),
    "a survey": ("Time,Name,How is 1?,How is 2?\n1,Ada,a,b\n2,Bo,b,b\n",
                 {"transpose": True, "annotator": "Name", "columns": "How*"}, "annotators in 'Name'; left out 'Time'"),
    "beside pairs": ("item,x,y,label,annotator,note\n1,llama,opt,x,ada,n\n2,llama,opt,y,ada,n\n", {"pairs": "x,y"},
                     "left out 'note'; pairs"),
    "beside rankings": ("item,annotator,ranked,note\n1,ada,x > y,n\n2,ada,y > x,n\n", {"ranking": "ranked"},
                        "left out 'note'"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "options", "said"), LOGGED.values(), ids=LOGGED)
def test_what_was_read_and_left_out_is_logged(read, caplog, text, options, said):
    with caplog.at_level("INFO", logger="bayesanno"):
        read(text, **options)
    assert said in caplog.messages[0]


def test_a_second_number_of_counts_is_left_out_or_used(keep, caplog):
    path = keep("successes,trials,n\n3,5,5\n1,5,5\n", "counts.csv")
    assert ba.read_counts(path, trials="trials", count="n").n_items == 10
    with caplog.at_level("INFO", logger="bayesanno"):
        assert ba.read_counts(path, trials="trials").n_items == 2
    assert caplog.messages[-1].endswith("trials in 'trials'; left out 'n'")


def test_dimensions_are_checked_like_one_label(keep):
    text = "id,task,worker,focus,tone\n" + "".join(f"{n},t,w{n % 2},{'xy'[n % 2]},{'no'[n // 2]}\n" for n in range(4))
    assert ba.read_multi_annotations(keep(text), ["focus", "tone"], item="id").n_items == 4
    with pytest.warns(NamesWarning) as said:
        ba.read_multi_annotations(keep("item,annotator,a,b\n1,a,x,yes\n1,b,y,Yes\n1,a,x,yes\n"), ["a", "b"])
    texts = " ".join(str(each.message) for each in said)
    assert "'Yes' and 'yes' are different labels" in texts
    assert "this answer repeats an earlier one by the same annotator" in texts


def test_items_that_differ_for_one_annotator_are_meant(read, recwarn):
    read(rows("item,annotator,label", [("56.1", "a", "x"), ("56.10", "a", "y"), ("56.1", "b", "x")]))
    assert not recwarn.list


def test_known_labels_need_no_column_of_a_template_of_annotators(read, keep):
    text = rows("system,segment,worker,lot,label", [("a", n, f"w{j}", 1, "xy"[j]) for n in range(3) for j in range(2)])
    templates = {"item": "{system}/{segment}", "annotator": "{worker}/{lot}"}
    data = read(text, gold_file=keep("system,segment,gold\na,0,x\n", "gold.csv"), **templates)
    assert (data.gold, data.annotators) == ({"a/0": "x"}, ("w0/1", "w1/1"))
