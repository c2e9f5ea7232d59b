"""A column is what its name or an option says; what the reader asks where names do not decide is in a snapshot."""

import numpy as np
import pandas as pd
import pytest

from bayesanno._core.messages import DataError, NamesWarning
from bayesanno.io.read import read_annotations
from tests.io.cases import reading
from tests.io.refused.columns import VOTES

AB, NUMBERS = ("ada", "bo"), ("1", "2")
RATERS = ("rater_1", "rater_2")
SEVEN = "worker,label\n7,s1,ada,x\n8,s2,bo,y\n"
COLUMNS = "id,age,ada_1,ada_2,bo_1,gold\na,7,x,y,x,x\nb,8,y,x,y,\n"
LONG_NAMES = [
    "item_id,worker_id,label", "_unit_id,_worker_id,label", "TaskId,WorkerId,answer", "text,judge,verdict",
    "output_id,model,score", "id,judge,label", "uid,annotator,rating", "sentence,coder,category",
    "prompt,grader,winner", "image,user,annotation", "document,participant,preference", "question,rater,Response",
    "instance_id,performer,label", "doc,WORKER,annotation", "unit,respondent,label",
]  # fmt: skip
WIDE_NAMES = ["item,rater_1,rater_2", "uid,ann1,ann2", "id,Coder 3,Coder 4", "item,judge-a,judge-b", "id,LLM_1,LLM_2"]
LAYOUTS = {  # text, options, items, annotators
    **{f"long, {names}": (f"{names}\n1,ada,x\n1,bo,y\n", {}, ("1",), AB) for names in LONG_NAMES},
    "the item before its ids": (f"task_id,task,{SEVEN}", {}, ("s1", "s2"), AB),
    "ids before texts": (f"task_id,text,{SEVEN}", {}, ("7", "8"), AB),
    "an option before all": (f"id,text,{SEVEN}", {"item": "text"}, ("s1", "s2"), AB),
    "annotators before users": ("item,user,annotator,label\n1,author,ada,x\n1,author,bo,y\n", {}, ("1",), AB),
    "a judge before a model": ("item,model,judge,label\n1,m,ada,x\n1,m,bo,y\n", {}, ("1",), AB),
    "a model": ("item,model,label,score\n1,ada,x,.3\n1,bo,y,.4\n", {}, ("1",), AB),
    "a model, transposed": ("model,1,2\nada,x,y\nbo,x,x\n", {"transpose": True}, NUMBERS, AB),
    **{f"wide, {names}": (f"{names}\n1,x,y\n2,x,\n", {}, NUMBERS, tuple(names.split(",")[1:])) for names in WIDE_NAMES},
    **{f"columns={columns}": (COLUMNS, {"columns": columns}, ("a", "b"), found) for columns, found in {
        "ada_1,bo_1": ("ada_1", "bo_1"), "ada_*": ("ada_1", "ada_2"), "*_1": ("ada_1", "bo_1"),
        "3:": ("ada_1", "ada_2", "bo_1"), "3:4": ("ada_1", "ada_2"), "bo_1,3:": ("ada_1", "ada_2", "bo_1"),
        "ada_1,gold": ("ada_1", "gold"),
    }.items()},
    "the only id": ("output_id,prompt,rater_1,rater_2\n1,p,x,y\n2,p,x,x\n", {}, NUMBERS, RATERS),
    "a text twice": ("prompt,rater_1,rater_2\np,x,y\np,x,x\n", {}, NUMBERS, RATERS),  # a row is an item
    "no item": ("rater_1,rater_2\nx,y\nx,x\n", {}, NUMBERS, RATERS),
    "a number beside names": ("id,rater_1,rater_2,n\np1,x,y,4\np2,x,x,2\n", {"count": "n"}, tuple("123456"), RATERS),
    **{f"transposed, {name}": (f"{name},Q1,Q2\nada,a,b\nbo,a,a\n", {"transpose": True}, ("Q1", "Q2"), AB)
       for name in ("participant", "", "coder", "Worker_ID")},
    "items that share no label": ("coder,u1,u2,u3\nada,1,3,5\nbo,2,4,5\n", {"transpose": True}, ("u1", "u2", "u3"), AB),
}  # fmt: skip


@pytest.mark.parametrize(("text", "options", "items", "annotators"), LAYOUTS.values(), ids=LAYOUTS)
def test_names_and_options_say_what_columns_are(read, text, options, items, annotators):
    data = read(text, **options)
    assert (data.items, tuple(sorted(data.annotators))) == (items, annotators)


test_cells_become_the_answers_of_their_rows_and_columns = reading({
    "transposed": ("worker,Q1,Q2\nada,a,b\nbo,c,\n", {"transpose": True},
                   [("Q1", "ada", "a"), ("Q1", "bo", "c"), ("Q2", "ada", "b")]),
    "without a header": ("w1\turl1\tspam\nw2\turl1\tok\n",
                         {"no_header": True, "item": "2", "annotator": "1", "label": "3"},
                         [("url1", "w1", "spam"), ("url1", "w2", "ok")]),
    "between blanks": ("301 0 d1 1\n301 1  d1 0 \n302 0 d2 1\n",
                       {"no_header": True, "item": "3", "annotator": "2", "label": "4", "separator": " "},
                       [("d1", "0", "1"), ("d1", "1", "0"), ("d2", "0", "1")]),
    "records of models": ([{"item": "a", "model": m, "score": m * 2} for m in "xy"], {},
                          [("a", "x", "xx"), ("a", "y", "yy")]),
})  # fmt: skip


def test_known_names_beside_annotators_are_left_out_or_the_known_labels(read):
    text = "item,text,topic,ann1,ann2,final\n1,good,tech,pos,pos,pos\n2,bad,food,neg,pos,neg\n"
    data, agreed = read(text), read(text, gold="final")
    assert (data.annotators, data.labels, data.gold) == (("ann1", "ann2"), ("neg", "pos"), {})
    assert (agreed.annotators, agreed.gold) == (("ann1", "ann2"), {"1": "pos", "2": "neg"})
    assert read(COLUMNS, columns="ada_*").gold == {"a": "x"}
    assert read(COLUMNS, columns=["ada_1", "gold"]).gold == {}


PANEL = (
    "comment_id;text;Anna K.;ben;Chloé;expert\n1;so;pos;neg;pos;pos\n2;no;neg;;neg;neg\n3;oh;pos;pos;;\n"
    "4;ah;n/a;pos;neg;\n"
    "5;eh;pos;pos;neg;\n6;uh;neg;neg;pos;\n7;hm;pos;neg;neg;\n"
)


def test_a_column_of_true_labels_is_an_annotator_only_if_it_is_named_and_else_it_is_doubted(read, recwarn):
    assert read(PANEL, columns="3:5", gold="expert").gold == read(PANEL, columns="3:", gold="expert").gold
    assert read(PANEL, columns="ben,expert").annotators == ("ben", "expert")
    with pytest.raises(DataError, match="column 'expert' cannot be both annotator and gold"):
        read(PANEL, columns="ben,expert", gold="expert")
    assert not [one for one in recwarn if "column-name" in str(one.message)]
    with pytest.warns(NamesWarning, match="'expert' is read as an annotator.* Name true labels with gold="):
        assert read(PANEL, columns="3:").annotators[-1] == "expert"


@pytest.mark.filterwarnings("ignore::bayesanno.errors.NamesWarning")
def test_columns_that_share_labels_are_suggested_with_the_known_labels_beside_them(read):
    with pytest.raises(DataError) as caught:
        read(PANEL)
    asked, first, *_ = str(caught.value).splitlines()
    assert "do not say which columns are annotators" in asked
    assert first.endswith("columns='Anna K.,ben,Chloé', gold='expert')")
    assert read(PANEL, columns="Anna K.,ben,Chloé", gold="expert").gold == {"1": "pos", "2": "neg"}


@pytest.mark.parametrize(
    ("name", "options"),
    [("n", {}), ("count", {"columns": "rater_*"}), ("freq", {}), ("Frequency", {}), ("weight", {})],
)
def test_a_row_with_a_number_is_so_many_items(read, caplog, name, options):
    with caplog.at_level("INFO", logger="bayesanno"):
        data = read(f"rater_1,rater_2,{name}\nx,x,3\nx,y,2\n", **options)
    assert (data.items, data.annotators, data.n_annotations) == (tuple("12345"), RATERS, 10)
    assert caplog.messages[0].endswith(f"each row counts '{name}' times")


def test_votes_are_those_of_the_table_with_items_and_labels_without_any(read):
    np.testing.assert_array_equal(read(VOTES, format="votes").votes, [[0, 0, 14], [0, 2, 12], [3, 3, 8]])
    assert read("item,no,yes\ns1,2,2\ns2,3,3\n", format="votes").votes.tolist() == [[2, 2], [3, 3]]  # none is a sum
    data = read("item,no,maybe,yes,gold\ns1,2,0,1,no\ns2,0,0,0,yes\ns3,0,0,3,\n", format="votes")
    np.testing.assert_array_equal(data.votes, [[2, 0, 1], [0, 0, 0], [0, 0, 3]])
    assert (data.items, data.labels, data.annotators) == (("s1", "s2", "s3"), ("no", "maybe", "yes"), ("anyone",))
    assert data.gold == {"s1": "no", "s2": "yes"}


class TestFrames:
    FRAME = pd.DataFrame({"rater_1": ["x", "y", "x", "y"], "rater_2": ["x", "y", "y", "y"]})

    def test_an_index_names_the_items(self, said):
        data, answers = said(self.FRAME.loc[[3, 1, 0, 2]])
        assert (data.items, data.annotators) == (("3", "1", "0", "2"), ("rater_1", "rater_2"))
        assert ("2", "rater_2", "y") in answers
        assert read_annotations(self.FRAME).items == ("1", "2", "3", "4")
        named = self.FRAME.replace({"x": 1, "y": 2}).set_axis([1, 2, 3, 4]).rename_axis("doc_nr")
        assert read_annotations(named).annotators == ("rater_1", "rater_2")

    def test_the_index_of_a_table_with_an_item_column_does_not(self):
        data = read_annotations(self.FRAME.assign(item=list("pqrs")).loc[[3, 2]])
        assert (data.items, data.annotators) == (("s", "r"), ("rater_1", "rater_2"))
        long = pd.DataFrame({"item": ["s", "t", "t"], "worker": ["a", "a", "b"], "label": ["y", "y", "x"]})
        assert read_annotations(long.iloc[[2, 1]]).items == ("t",)

    @pytest.mark.parametrize("form", ["long", "wide"])
    def test_ordered_categories_keep_their_order_and_those_not_used(self, form):
        grades = pd.CategoricalDtype(["poor", "fair", "good", "best"], ordered=True)
        columns = {"rater_1": ["poor", "good", None], "rater_2": ["fair", "good", "poor"]}
        frame = pd.DataFrame(columns, index=["s1", "s2", "s3"]).astype(grades)
        if form == "long":
            frame = frame.rename_axis("item").reset_index().melt("item", var_name="worker", value_name="label")
            frame["label"] = frame["label"].astype(grades)
        data = read_annotations(frame)
        assert (data.labels, data.order_declared) == (("poor", "fair", "good", "best"), True)
        assert (data.n_annotations, data.labels_are_ordered) == (5, True)
