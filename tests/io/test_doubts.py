"""Files whose owners would be misunderstood: what is asked, what is read, and what is warned of."""

import json
from types import SimpleNamespace

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
    "a template that joins": (rows("item,part,annotator,label", [("1/2", 3, "a", "x"), (1, "2/3", "a", "y")]),
                              {"item": "{item}/{part}"}, "gives one name to rows that differ"),
    "half a template": (rows("item,part,annotator,label", [(1, 3, "a", "x"), (1, 2, "a", "y")]),
                        {"item": "{item}-{part"}, "'{item}-{part' is no template: write each field in its own braces"),
    "a number of annotators": (lines([{"id": 1, "annotators": 3, "labels": ["joy"]}]), {}, "no field names the ann"),
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
    "a misspelt true label": (rows("item,annotator,label,gold", [(1, "a", "yes", "yess"), (2, "a", "no", "no")]),
                              "true label 'yess' is no label"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WARNED.values(), ids=WARNED)
def test_what_may_be_a_mistake_is_warned_of(at, text, message):
    with pytest.warns(NamesWarning, match=message):
        ba.read_annotations(at(text))


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
