"""Files whose owners would be misunderstood: what is asked, what is read, and what is warned of."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.errors import DataError, NamesWarning


def lines(records):
    return "\n".join(map(json.dumps, records))


def rows(header, several):
    return "\n".join([header, *(",".join(map(str, one)) for one in several)])


@pytest.fixture
def at(tmp_path):
    """Write a file, and return its path."""

    def write(text, name="answers.csv"):
        path = tmp_path / (name if not text.startswith(("{", "[")) else "answers.jsonl")
        path.write_text(text)
        return path

    return write


ROW_IDS = [{"id": n, "task": "hate", "worker": f"w{n % 3}", "label": "ab"[n % 2]} for n in range(24)]
MODELS = [{"id": n // 4, "model": f"m{n % 2}", "judge": f"j{n // 2 % 2}", "score": n % 3} for n in range(24)]
ARENA = [{"prompt": f"p{n}", "model_a": "x", "model_b": "y", "judge": "j", "winner": "model_a"} for n in range(6)]
SAID = [{"id": 1, "annotations": [{"annotator": "a", "label": "x"}, {"annotator": "b", "label": "y"}]}]
BESIDE = {"p1": {"annotators": [{"annotator_id": 1, "label": "x"}]}, "p2": {"annotators": []}}
TEXTS = [(n, f"text {n}", f"j{j}", (n + j) % 3) for n in range(5) for j in range(2)]
TURNS = [(f"q{n}", f"r{n}{k}", f"j{j}", (n + j + k) % 3) for n in range(3) for k in range(2) for j in range(2)]
ONE = [(n, "hate?", f"w{n}", "yn"[n % 2]) for n in range(18)]
CATEGORIES = [(q, c, j, s) for q, c in enumerate(("math", "coding")) for j, s in (("a", 7), ("b", 8 - q))]
JUDGED = [
    {
        "question": f"q{n // 2}",
        "model": f"m{n % 2}",
        "answer": "AB"[n % 2],
        "judgments": [{"judge": "a", "verdict": "good"}, {"judge": "b", "verdict": "bad"}],
    }
    for n in range(4)
]
ONE_BY_MANY = {"item": 1, "annotator": "a", "label": "x", "votes": [{"user_id": "u", "said": "y"}]}
NESTED = [{"id": n, "task": "hate", "labels": {"a": "xy"[n % 2], "b": "x"}} for n in range(4)]
FLAGS = [
    (n, who, label, int((who == "a") == (label == "joy"))) for n in (1, 2) for who in "ab" for label in ("joy", "fear")
]
ASKED = {
    "rows of JSON": (lines(ROW_IDS), {}, "'task' may not name the items, since annotators answer .* again"),
    "models of JSON": (lines(MODELS), {}, "'id' may not name the items, since annotators answer some of its names"),
    "sides of JSON": (lines(ARENA), {}, "'model_a' and 'model_b' may be two systems"),
    "labels that are columns": ("item,ours,theirs,judge,label\n1,x,y,j,ours\n2,x,y,j,theirs\n", {},
                                "'ours' and 'theirs' may be two systems"),
    "an object of counts": (json.dumps([{"id": 1, "label": {"pos": None, "neg": 3}}]), {}, "has a value for each of"),
    "an object of flags": (json.dumps([{"id": 1, "labels": {"pos": True, "neg": False}}]), {},
                           "if they are annotators, use"),
    "judgements in a list": (lines(SAID), {}, r"annotator='annotations\[\]\.annotator' and label='annotations\[\]\.l"),
    "annotators in a list": (json.dumps(BESIDE), {"label": "annotators[].label"},
                             r"use annotator='annotators\[\]\.annotator_id' and label='annotators\[\]\.label'"),
    "not Label Studio": (json.dumps([{"data": {}} | SAID[0]]), {}, r"use annotator='annotations\[\]\.annotator'"),
    "texts beside a score": (rows("id,response,judge,score", TEXTS), {}, "'response' may not hold labels, since there"),
    "texts": (rows("question,answer,rater,right", TEXTS), {}, "'answer' may not hold labels, since each item has one"),
    "two ids": (rows("question_id,response_id,rater,score", TURNS), {}, "'question_id' may not name the items"),
    "one question": (rows("id,question,worker,answer", ONE), {}, "'question' may not name the items, since it has one"),
    "a template of annotators": (rows("question_id,response_id,rater,score", TURNS), {"annotator": "{rater}/{rater}"},
                                 "'question_id' may not name the items"),
    "pairs of two ids": ("id,prompt,model_a,model_b,judge,winner\n1,p,x,y,j,x\n", {"pairs": "model_a,model_b"},
                         "the columns 'id' and 'prompt' could each be the item"),
    "a total alone": ("item,yes,total\n1,2,3\n", {"format": "votes"}, "'total' is named like the sum of the others"),
    "no columns to suggest": ("item_id,annotator_id,label_id\n1,a,x\n", {}, r"name it with label=\.\.\.$"),
    "names with commas": ('id,"bad, really?",good?\n1,x,y\n', {}, "use columns='2:2,3:3'"),
    "names of people and of groups": (rows("item,annotator,rater,label", [(1, "all", "a", "x"), (1, "all", "b", "y")]),
                                      {}, "could each be the annotator"),
    "two turns": (rows("question_id,turn,judge,score", [(1, t, j, t + 1) for j in "ab" for t in (1, 2)]), {},
                  "'question_id' may not name the items, since annotators answer .* again"),
    "a property of items": (rows("question_id,category,judge,score", CATEGORIES), {},
                            "'category' may not hold labels, since an item has the same for all annotators, and the "
                            "column 'score' has not"),
    "the label of a model": (rows("id,model,prediction,label", [(n, m, "yn"[n != m], "yn"[n]) for n in (0, 1)
                                                                for m in (0, 1)]), {}, "and the column 'prediction'"),
    "items beside their number": ("word,rater_1,rater_2,freq\ncat,x,y,3\ndog,x,x,2\n", {"columns": "rater_1,rater_2"},
                                  "'freq' stands beside 'word', .* if not, use format='wide' and columns='rater_1,rat"),
    "numbers of rows": ("n,rater_1,rater_2\n1,x,y\n2,x,x\n", {}, "'n' numbers the rows, so it may not say how many"),
    "texts of persons": (rows("person_1,person_2", [(f"hi {n}", f"well, {n}".replace(",", "")) for n in range(12)]), {},
                         "'person_1', 'person_2' may not hold labels, since most answers"),
    "subjects of votes": ("subject,no,yes\n1,0,3\n2,5,0\n3,1,1\n", {"format": "votes"},
                          "'subject' may be no label: if so, use item='subject' and columns='no,yes'"),
    "workers of votes": ("item,worker,yes,no\n1,7,3,1\n2,8,0,4\n", {"format": "votes"},
                         "'worker' may be no label: if so, use columns='yes,no'; if it is one"),
    "one-hot without annotators": ("id,joy,anger\n0,0,1\n1,1,0\n", {"multi_label": True, "columns": "joy,anger"},
                                   r"no field names the annotator: name it with annotator=\.\.\."),
    "lists of 0 and 1": ("item;worker;label\n1;a;[1, 0]\n1;b;[0, 1]\n", {"multi_label": True},
                         "lists 0 and 1 for several labels that have no names"),
    "judgments beside answers": (lines(JUDGED), {}, r"use|annotator='judgments\[\]\.judge' and label='judgments"),
    "tasks in nested JSON": (lines(NESTED), {"annotator": "labels{}#", "label": "labels{}"},
                             "'task' may not name the items, since annotators answer some of its"),
    "the header again": ("item,annotator,label\n1,a,x\nitem,annotator,label\n1,b,y\n", {}, "line 3 repeats the header"),
    "a rule": ("|item|annotator|label|\n|---|---|---|\n|1|a|x|\n", {}, "line 2 is a rule: delete it"),
    "two systems in one word": (rows("id,ModelA,ModelB,judge,winner", [(1, "x", "y", "j", "A")]), {},
                                "'ModelA' and 'ModelB' may be two systems"),
    "one code of two": (rows("id,model_a,model_b,judge,winner", [(1, "x", "y", "j", 0), (2, "x", "y", "j", 1)]),
                        {"pairs": "model_a,model_b", "first": "0"}, "'1' is neither .* use first='1' or second='1'"),
    "two label columns": ("item,annotator,q1,q2\n1,a,x,y\n", {"label": ["q1", "q2"]}, "label names 'q1', 'q2'"),
    "a table of controls": ("item,annotator,label\n1,a,x\n1,b,y\n", {"controls": [1]}, "controls is a list, but must"),
    "several items": ("item,annotator,label\n1,a,x\n1,b,y\n", {"item": ["item"]}, "must be the name of one column"),
    "a row for each label": (rows("item_id,worker_id,label,selected", FLAGS), {},
                             "use item='{item_id} / {label}' and label='selected'; if not, use label='label'"),
    "a number of answers": (rows("item,annotator,label,count", [(1, "a", "x", 3), (1, "b", "y", 2)]), {},
                            "the column 'count' may say how often an answer was given"),
    "a count of answers": (rows("item,annotator,label,times", [(1, "a", "x", 3), (1, "b", "y", 2)]), {"count": "times"},
                           "count=... is for wide tables: repeat each row 'times' times"),
    "a template that joins": (rows("item,part,annotator,label", [("1/2", 3, "a", "x"), (1, "2/3", "a", "y")]),
                              {"item": "{item}/{part}"}, "gives one name to rows that differ"),
    "half a template": (rows("item,part,annotator,label", [(1, 3, "a", "x"), (1, 2, "a", "y")]),
                        {"item": "{item}-{part"}, "'{item}-{part' is no template: write each field in its own braces"),
    "the header in capitals": ("item,annotator,label\n1,a,x\nItem,Annotator,LABEL\n1,b,y\n", {},
                               "line 3 repeats the header: delete it"),
    "the header in JSON": (lines([{"item": 1, "annotator": "a", "label": "x"},
                                  {"item": "item", "annotator": "annotator", "label": "label"}]), {},
                           "line 2 repeats the header: delete it"),
    "a list by NumPy": ("item,annotator,label\n1,a,['joy' 'anger']\n1,b,['joy']\n", {}, "looks like several labels"),
    "numbers by NumPy": ("item,annotator,label\n1,a,[1 2]\n1,b,[removed]\n", {},
                         r"label '\[1 2\]' of item '1' looks like several labels in one cell"),
    "votes by people beside an annotator": (lines([{**ONE_BY_MANY, "votes": []}, ONE_BY_MANY]), {},
                                            r"elements of 'votes' have an annotator, 'user_id', .* label='votes\[\]\.sa"
                                            "id', or annotator='annotator' and label='label'"),
    "lists that look like Argilla": (lines([{"id": 1, "ev": [{"user_id": "u", "value": "x", "status": "ok"}]}]), {},
                                     r"status 'ok' is none of Argilla: if so, use annotator='ev\[\]\.user_id' and lab"),
    "an object of texts": (lines([{"id": 1, "label": {"value": "yes", "source": "web"}}]), {},
                           "'label' has a value for each of 'value', 'source': if one is the label, .*'label.value'"),
    "position 0": ("item,rater_1,rater_2\n1,x,y\n", {"columns": "0:2"}, "columns='0:2': positions count from 1"),
    "a key twice": ('[{"item": 1, "annotator": "a",\n "label": "x", "label": "y"}]', {},
                    "line 1: an object has the key 'label' twice"),
    "an unnamed annotator": ("item,annotator,label\n1,NA,x\n1,b,y\n2,b,NA\n", {"missing": "NA"},
                             "line 2: label 'x' of item '1' has no annotator"),
    "an unnamed system": ("id,model_a,model_b,judge,winner\n1,NA,y,j,A\n",
                          {"pairs": "model_a,model_b", "missing": "NA"},
                          "line 2: 'model_a' is missing"),
    "a tie of another name": ("id,model_a,model_b,judge,winner\n1,x,y,j,tie\n1,x,y,k,none\n",
                              {"pairs": "model_a,model_b"},
                              "line 3: label 'none' .* for a tie tie='tie,none'"),
    "spellings in one text": ("item,annotator,label\n1,a,y\n1,b,n\n", {"same": "y=n"}, "same is 'y=n', but must map"),
    "two separators": ("item,annotator,label\n1,a,y\n1,b,n\n", {"split": ["|"]},
                       r"split is \['\|'\], but must be .* one text"),
    "a number as encoding": ("item,annotator,label\n1,a,y\n1,b,n\n", {"encoding": 5}, "no text encoding '5'"),
    "a number of annotators": (lines([{"id": 1, "annotators": 3, "labels": ["joy"]}]), {}, "no field names the ann"),
    "a headerless file": ("s1,yes,no\ns2,no,yes\n", {"columns": "2:"},
                          "the names 'yes', 'no' are labels too, .* use no_header=True; .* use columns='yes,no'"),
    "a headerless file with items": ("s1,yes,no\ns2,no,yes\ns3,no,no\n", {"columns": "1:"},
                                     "the names 'yes', 'no' are labels too, .* use columns='s1,yes,no'"),
    "votes that name a label": ("item,yes,no\n1,2,3\n", {"format": "votes", "label": "yes"}, "label=... does not"),
    "votes that turn": ("item,yes,no\n1,2,3\n", {"format": "votes", "transpose": True}, "transpose=... does not apply"),
    "rows of annotators with labels": ("name,Q1,Q2\nada,x,y\n", {"transpose": True, "label": "Q1"},
                                       "label=... does not apply to votes, or to tables with transpose=True"),
    "no header in JSON": (lines(ROW_IDS), {"no_header": True}, "is no table of text, and no_header=... does not apply"),
    "a separator in JSON": (lines(ROW_IDS), {"separator": ";"}, "no table of text, and separator=... does not apply"),
    "a label without a name": ("item,annotator,label\n1,a,x\n", {"label": ""}, "has no column '' to use as label"),
    "items within forms": (rows("form,item,annotator,label", [(f, n, j, "xy"[n]) for f in "AB" for n in (0, 1)
                                                              for j in "ab"]), {},
                           "not with the same 'form': .* use item='{form}/{item}'; if not, use item='item'"),
    "doccano in one file": (json.dumps([{"id": 1, "text": "t", "label": ["y", "n"]}]), {}, r"annotator='label\[\]#'"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "options", "message"), ASKED.values(), ids=ASKED)
def test_names_that_do_not_decide_are_asked_about(at, refuses, text, options, message):
    with refuses(DataError, message):
        ba.read_annotations(at(text), **options)


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
    "zeros that are missing": ("item,annotator,label\n0,0,x\n1,0,0\n0,b,y\n", {"missing": "0"}, ("0", "1")),
    "the annotator of the record": (lines([ONE_BY_MANY, {**ONE_BY_MANY, "label": "y"}]),
                                    {"annotator": "annotator", "label": "label"}, ("1",)),
    "paths into what looks like Argilla": (
        lines([{"id": 1, "ev": [{"user_id": "u", "value": v, "status": "submitted"}]} for v in "xy"]),
        {"annotator": "ev[].user_id", "label": "ev[].value", "item": "id"}, ("1",)),
    "items that forms name": ("form,item,annotator,label\nA,1,a,x\nA,1,b,x\nB,1,a,y\nB,1,b,y\n",
                              {"item": "{form}/{item}"}, ("A/1", "B/1")),
    "items that forms repeat": ("form,item,annotator,label\nA,1,a,x\nA,1,b,x\nB,1,a,y\nB,1,b,y\n",
                                {"item": "item"}, ("1",)),
    "annotators that are labels too": ("item,yes,no\ns1,yes,no\ns2,no,yes\n", {"columns": "yes,no"}, ("s1", "s2")),
    "a file without a header": ("s1,yes,no\ns2,no,yes\n", {"columns": "2:", "no_header": True, "item": "1"},
                                ("s1", "s2")),
    "votes with a template": ("sys,seg,yes,no\na,1,3,2\nb,1,2,2\n", {"format": "votes", "item": "{sys}/{seg}"},
                              ("a/1", "b/1")),
    "numbers without a header": ("1,a,x\n1,2,3\n", {"no_header": True, "item": "1", "annotator": "2", "label": "3"},
                                 ("1",)),
    "texts that are meant": ("ASSIGNMENT:task_id\tASSIGNMENT:worker_id\tOUTPUT:text\n"
                             + "".join(f"t{i}\tw{k}\tword{i}{k}\n" for i in range(10) for k in range(3)),
                             {"label": "text"}, tuple(f"t{i}" for i in range(10))),
}  # fmt: skip


@pytest.mark.parametrize(("text", "options", "items"), READ.values(), ids=READ)
def test_options_decide(at, text, options, items):
    assert ba.read_annotations(at(text), **options).items == items


def test_codes_of_a_dataset_have_names():
    table = pd.DataFrame({"item": [1, 1], "annotator": [b"ada", b"bo"], "label": [0, 1]})
    features = {"label": SimpleNamespace(names=["no", "yes"]), "item": SimpleNamespace()}
    data = ba.read_annotations(SimpleNamespace(features=features, to_pandas=lambda: table))
    assert (data.labels, data.annotators) == (("no", "yes"), ("ada", "bo"))


def test_a_code_is_the_side_with_its_letter(at):
    text = "id,model_b,model_a,judge,winner\n1,y,x,j,A\n2,y,x,j,b\n"
    assert ba.read_annotations(at(text), pairs="model_b,model_a").to_frame()["label"].tolist() == ["model_a", "model_b"]


def test_fields_that_only_later_records_have_are_read(at):
    some = [{"id": 1, "rater_1": "a", "rater_2": "b"}, {"id": 2, "rater_1": "a", "rater_3": "b"}]
    data = ba.read_annotations(at(lines(some)))
    assert (data.annotators, data.n_annotations) == (("rater_1", "rater_2", "rater_3"), 4)
    known = [{"item": 1, "worker": "a", "label": "x"}, {"item": 2, "worker": "a", "label": "y", "gold": "y"}]
    assert ba.read_annotations(at(lines(known))).gold == {"2": "y"}


def test_json_by_column_is_what_pandas_writes(at):
    columns = {"item": [1, 1, 2], "annotator": ["a", "b", "a"], "label": ["x", "y", "x"]}
    by_row = {name: dict(enumerate(cells)) for name, cells in columns.items()}
    data = ba.read_annotations(at(json.dumps(by_row)))
    assert data.to_frame().to_dict("list") == {
        "item": ["1", "1", "2"],
        **{name: columns[name] for name in columns if name != "item"},
    }


def test_a_field_for_each_judge_is_a_column(at):
    data = ba.read_annotations(at(lines([{"id": 1, "gpt": "y", "llama": "n"}])), columns="gpt,llama")
    assert (data.items, data.annotators) == (("1",), ("gpt", "llama"))


def test_options_mean_numbers_however_they_are_written(at):
    text = "item,rater_1,rater_2,rater_3\n1,1.0,-1.0,1.0\n2,0.0,0.0,-1.0\n3,1.0,1,0\n4,0,0,-1\n"
    assert ba.read_annotations(at(text), missing="-1").labels == ("0", "1")
    assert ba.read_annotations(at(text), missing="-1", same={"0": "2"}).labels == ("1", "2")


def test_votes_leave_out_what_is_known_to_be_none(at):
    text = "item,yes,no,majority,difficulty,year\n1,2.0,,1,3,2003\n2,,3.0,0,1,2001\n"
    data = ba.read_annotations(at(text), format="votes")
    assert (data.labels, data.n_annotations) == (("yes", "no"), 5)


def test_counts_have_the_names_of_their_items_and_their_numbers(at):
    assert ba.read_counts(at("id,successes,trials\nx,1,3\ny,1,3\n")).items == ("x", "y")
    assert ba.read_counts(at("successes,trials,freq\n1,3,10\n2,3,4\n")).n_items == 14


WARNED = {
    "decimal commas": ("id;rater_1;rater_2\n1;1,0;1\n2;2,0;2\n3;3,0;1\n", "'1' and '1,0' are different labels"),
    "items of one annotator": (rows("item,annotator,label", [(1, "a", "x"), ("1.0", "b", "y"), (2, "a", "y")]),
                               "'1' and '1.0' are different items"),
    "two ranges among grades": (rows("item,rater_1,rater_2", [(1, 1, 1), (2, "3-4", 2), (3, 3, 4), (4, 5, "2-3")]),
                                "'3-4', '2-3' are no numbers .*missing='3-4,2-3'"),
    "a stray quote": ('item,annotator,label\ns1,ada,"yes\ns2,bo,no"\ns3,cy,yes\ns3,ada,no\n',
                      "there are line breaks in labels, 'yes.ns2,bo,no', so a stray quote may have joined rows"),
    "a stray quote in items": ('item,annotator,label\n"s1,ada,yes\ns2",bo,no\ns3,cy,yes\ns3,ada,no\n',
                               "there are line breaks in items, 's1,ada,yes.ns2'"),
    "many decimal commas": ("item;rater_1;rater_2\n1;9,5;9\n2;10,5;10,5\n3;9;9,5\n",
                            "'9,5', '10,5' may be numbers with a decimal comma, .*same={'9,5': '9.5', '10,5': '10.5'}"),
    "agreement that is none": (rows("item,annotator,label,gold", [(1, "a", "yes", "-"), (2, "a", "no", "no")]),
                               "'-' may stand for missing known labels: if so, use missing='-'"),
    "a nameless annotator": ("item,annotator,label\n1,NA,x\n1,b,y\n", "the annotators 'NA' may stand for missing ones"),
    "a nameless item": ("item,rater_1,rater_2\n1,x,y\n?,x,y\n", "the items '\\?' may stand for missing ones"),
    "a row of sums": ("item,rater_1,rater_2\n1,2,3\n2,3,3\nTotal,5,6\n", "the items 'Total' may .* for sums"),
    "a misspelt true label": (rows("item,annotator,label,gold", [(1, "a", "yes", "yess"), (2, "a", "no", "no")]),
                              r"'yess' \(1 item\) among the true labels are no labels, .* did you mean 'yes'"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WARNED.values(), ids=WARNED)
def test_what_may_be_a_mistake_is_warned_of(at, text, message):
    with pytest.warns(NamesWarning, match=message):
        ba.read_annotations(at(text))


UNUSED = {
    "a spelling": ({"same": {"yess": "no"}}, "same=... names 'yess', which is no answer here; did you mean 'yes'"),
    "a code": ({"missing": "NA"}, "missing=... names 'NA', which is no answer here"),
    "a code of several": ({"missing": "NA", "multi_label": True}, "missing=... names 'NA', which is no answer here"),
}


@pytest.mark.parametrize(("options", "message"), UNUSED.values(), ids=UNUSED)
def test_what_an_option_names_in_vain_is_warned_of(at, options, message):
    with pytest.warns(NamesWarning, match=message):
        ba.read_annotations(at("item,annotator,label\n1,a,yes\n1,b,no\n"), **options)


@pytest.mark.parametrize("split", [None, ","])
def test_several_labels_that_were_not_split_are_warned_of(at, split):
    text = "item,annotator,label\n1,a,joy|anger\n1,b,joy\n1,c,anger\n"
    with pytest.warns(NamesWarning, match=r"label 'joy\|anger' looks like several labels: if it is, use split='\|'"):
        ba.read_annotations(at(text), multi_label=True, split=split)


def test_arrays_and_bytes_in_cells_are_lists_and_text(refuses):
    table = pd.DataFrame({"item": [b"s", b"s"], "annotator": ["a", "b"]})
    table["label"] = [np.array(["joy", "anger"]), np.array(["joy"])]
    with refuses(DataError, "label '.\"joy\", \"anger\".' of item 's' looks like several labels in one cell"):
        ba.read_annotations(table)
    assert ba.read_annotations(table, multi_label=True).items == ("s / anger", "s / joy")
    table["label"] = ["x", b"\xff"]
    with refuses(DataError, r"the cell b'\\xff' is not UTF-8"):
        ba.read_annotations(table)


def test_counts_ask_what_a_second_number_is(at, refuses, caplog):
    path = at("successes,trials,n\n3,5,5\n1,5,5\n")
    with refuses(DataError, "'n' may say how many items .* use trials='trials' and count='n'; .* trials='trials'"):
        ba.read_counts(path)
    assert ba.read_counts(path, trials="trials", count="n").n_items == 10
    with caplog.at_level("INFO", logger="bayesanno"):
        assert ba.read_counts(path, trials="trials").n_items == 2
    assert caplog.messages[-1].endswith("successes in 'successes'; trials in 'trials'; left out 'n'")


def test_fields_that_are_nested_are_named_as_left_out(at, caplog):
    with caplog.at_level("INFO", logger="bayesanno"):
        ba.read_annotations(at(lines([{"item": 1, "annotator": "a", "label": v, "meta": {"x": 1}} for v in "xy"])))
    assert caplog.messages[-1].endswith("left out 'meta'")


def test_keys_that_are_annotators_are_named(at, caplog):
    with caplog.at_level("INFO", logger="bayesanno"):
        ba.read_annotations(at(lines([{"id": 1, "annotations": {"ada": "x", "bo": "y"}}])))
    assert "annotators in 'annotations{}#'" in caplog.messages[-1]


def test_dimensions_are_checked_like_one_label(at, refuses, caplog):
    text = "id,task,worker,focus,tone\n" + "".join(f"{n},t,w{n % 2},{'xy'[n % 2]},{'no'[n // 2]}\n" for n in range(4))
    with refuses(DataError, "dimension 'focus': .*'task' may not name the items"):
        ba.read_multi_annotations(at(text), ["focus", "tone"])
    with caplog.at_level("INFO", logger="bayesanno"):
        assert ba.read_multi_annotations(at(text), ["focus", "tone"], item="id").n_items == 4
    assert caplog.messages[0].endswith("labels in 'focus': x, y; left out 'task'")
    rows_twice = "item,annotator,focus,tone\n1,a,x,yes\n1,b,y,Yes\n1,a,x,yes\n"
    with pytest.warns(NamesWarning) as said:
        ba.read_multi_annotations(at(rows_twice), ["focus", "tone"])
    texts = " ".join(str(each.message) for each in said)
    assert "'Yes' and 'yes' are different labels" in texts
    assert "this answer repeats an earlier one by the same annotator" in texts


def test_items_that_differ_for_one_annotator_are_meant(at, recwarn):
    ba.read_annotations(at(rows("item,annotator,label", [("56.1", "a", "x"), ("56.10", "a", "y"), ("56.1", "b", "x")])))
    assert not recwarn.list


def test_labels_are_joined_in_answers_of_several(at):
    data = ba.read_annotations(
        at("item,annotator,label\n1,a,joy|angr\n1,b,anger\n"), multi_label=True, split="|", same={"angr": "anger"}
    )
    assert data.items == ("1 / anger", "1 / joy")


def test_known_labels_need_no_column_of_a_template_of_annotators(at, tmp_path):
    text = rows(
        "system,segment,worker,lot,label", [("a", n, f"w{j}", 1, "xy"[j % 2]) for n in range(3) for j in range(2)]
    )
    (tmp_path / "gold.csv").write_text("system,segment,gold\na,0,x\n")
    templates = {"item": "{system}/{segment}", "annotator": "{worker}/{lot}"}
    data = ba.read_annotations(at(text), gold_file=tmp_path / "gold.csv", **templates)
    assert (data.gold, data.annotators) == ({"a/0": "x"}, ("w0/1", "w1/1"))
