"""A column is what its name or an option says; what the reader asks where names do not decide is in a snapshot."""

import numpy as np
import pandas as pd
import pytest

from bayesanno.io.annotations import read_annotations
from tests.io.refused.columns import VOTES

TRANSPOSED = "participant,Q1,Q2,Q3\nP0,a,b,a\nP1,a,b,b\nP2,a,a,a\n"


class TestLongTables:
    @pytest.mark.parametrize(
        "names",
        [
            "item_id,worker_id,label", "_unit_id,_worker_id,label", "TaskId,WorkerId,answer", "text,judge,verdict",
            "output_id,model,score", "id,judge,label", "uid,annotator,rating", "sentence,coder,category",
            "prompt,grader,winner", "image,user,annotation", "document,participant,preference",
        ],
    )  # fmt: skip
    def test_names_say_what_columns_are(self, keep, said, names):
        assert said(keep(f"{names}\n1,ada,x\n1,bo,y\n"))[1] == [("1", "ada", "x"), ("1", "bo", "y")]

    @pytest.mark.parametrize(
        ("header", "items"),
        [
            ("task_id,task", ("s1", "s2")), ("item_id,item", ("s1", "s2")), ("task_id,text", ("7", "8")),
            ("doc_id,session_id", ("7", "8")),
        ],
    )  # fmt: skip
    def test_a_name_of_the_item_goes_before_its_ids_and_ids_before_texts(self, read, header, items):
        assert read(f"{header},worker,label\n7,s1,ada,x\n8,s2,bo,y\n").items == items

    def test_a_name_goes_before_others_and_an_option_before_all(self, read):
        assert read("item,user,annotator,label\n1,author,ada,x\n1,author,bo,y\n").annotators == ("ada", "bo")
        assert read("id,text,judge,label\n1,a,ada,x\n1,a,bo,y\n2,b,ada,x\n", item="text").items == ("a", "b")

    def test_model_and_score_are_names_where_no_other_is(self, read):
        assert read("item,model,judge,label\n1,m,ada,x\n1,m,bo,y\n").annotators == ("ada", "bo")
        assert read("item,model,label,score\n1,m,x,.3\n1,n,y,.4\n").annotators == ("m", "n")
        assert read("model,1,2\nm,x,y\nn,x,x\n", transpose=True).annotators == ("m", "n")
        assert read_annotations([{"item": "a", "model": m, "score": m * 2} for m in "xy"]).annotators == ("x", "y")


class TestWideTables:
    @pytest.mark.parametrize(
        "header",
        ["item,rater_1,rater_2", "uid,ann1,ann2", "id,Coder 3,Coder 4", "item,judge-a,judge-b", "id,LLM_1,LLM_2"],
    )
    def test_one_word_with_numbers_names_the_annotators(self, read, header):
        assert read(f"{header}\n1,x,y\n2,x,\n").annotators == tuple(header.split(",")[1:])

    def test_known_names_beside_annotators_are_left_out_or_the_known_labels(self, read):
        text = "item,text,topic,ann1,ann2,final\n1,good,tech,pos,pos,pos\n2,bad,food,neg,pos,neg\n"
        data = read(text)
        assert (data.items, data.annotators, data.labels) == (("1", "2"), ("ann1", "ann2"), ("neg", "pos"))
        agreed = read(text, gold="final")
        assert (data.gold, agreed.annotators, agreed.gold) == ({}, ("ann1", "ann2"), {"1": "pos", "2": "neg"})

    @pytest.mark.parametrize(
        ("columns", "found"),
        [
            ("ada_1,bo_1", {"ada_1", "bo_1"}), ("ada_*", {"ada_1", "ada_2"}), ("*_1", {"ada_1", "bo_1"}),
            ("3:", {"ada_1", "ada_2", "bo_1"}), ("3:4", {"ada_1", "ada_2"}), ("bo_1,3:", {"bo_1", "ada_1", "ada_2"}),
            (["ada_1", "gold"], {"ada_1", "gold"}),
        ],
    )  # fmt: skip
    def test_columns_are_names_patterns_or_positions(self, read, columns, found):
        data = read("id,age,ada_1,ada_2,bo_1,gold\na,7,x,y,x,x\nb,8,y,x,y,\n", columns=columns)
        assert (set(data.annotators), data.items) == (found, ("a", "b"))
        assert data.gold == ({} if "gold" in found else {"a": "x"})

    @pytest.mark.parametrize(
        ("text", "items"),
        [
            ("output_id,prompt,rater_1,rater_2\nv1,p,x,y\nv2,p,x,x\n", ("v1", "v2")),
            ("prompt,rater_1,rater_2\np,x,y\nq,x,x\n", ("p", "q")),
            ("prompt,rater_1,rater_2\np,x,y\np,x,x\n", ("1", "2")),  # a row is an item, whatever its text
            ("rater_1,rater_2\nx,y\nx,x\n", ("1", "2")),
            (",rater_1,rater_2\n0,x,y\n5,x,x\n", ("0", "5")),
        ],
    )
    def test_the_only_id_names_the_items(self, read, text, items):
        assert read(text).items == items


class TestPatterns:
    @pytest.mark.parametrize("name", ["n", "count", "freq", "Frequency", "weight"])
    @pytest.mark.parametrize("options", [{}, {"columns": "rater_*"}], ids=["auto", "columns"])
    def test_a_row_with_a_number_is_so_many_items(self, read, caplog, name, options):
        with caplog.at_level("INFO", logger="bayesanno"):
            data = read(f"rater_1,rater_2,{name}\nx,x,3\nx,y,2\n", **options)
        assert (data.items, data.annotators, data.n_annotations) == (tuple("12345"), ("rater_1", "rater_2"), 10)
        assert caplog.messages[0].endswith(f"each row counts '{name}' times")

    def test_any_column_is_the_number_by_its_option(self, read):
        assert read("rater_1,rater_2,times\nx,x,3\nx,y,2\n", columns="1:2", count="times").n_items == 5
        data = read("id,rater_1,rater_2,n\np1,x,y,4\np2,x,x,2\n", count="n")  # and names of items are left out
        assert (data.items, data.annotators) == (tuple("123456"), ("rater_1", "rater_2"))


class TestVotes:
    def test_votes_are_those_of_the_table(self, read):
        data = read(VOTES, format="votes")
        np.testing.assert_array_equal(data.votes, [[0, 0, 14], [0, 2, 12], [3, 3, 8]])
        assert read(VOTES.replace("id,", "subject,"), format="votes", item="subject").items == ("s1", "s2", "s3")

    def test_votes_keep_labels_that_nobody_gave_in_the_order_of_the_table(self, read):
        data = read("item,no,maybe,yes\ns1,2,0,1\ns2,0,0,3\n", format="votes")
        assert (data.labels, data.annotators) == (("no", "maybe", "yes"), ("anyone",))

    def test_an_item_without_votes_stays_where_it_is(self, read):
        data = read("item,no,yes,gold\ns1,2,1,no\ns2,0,0,yes\ns3,0,3,\n", format="votes")
        assert (data.items, data.n_annotations) == (("s1", "s2", "s3"), 6)
        np.testing.assert_array_equal(data.votes, [[2, 1], [0, 0], [0, 3]])
        assert data.gold == {"s1": "no", "s2": "yes"}


class TestTransposedTables:
    @pytest.mark.parametrize("header", ["participant", "", "coder", "Worker_ID"])
    def test_a_row_is_an_annotator(self, keep, said, header):
        data, answers = said(keep(TRANSPOSED.replace("participant", header)), transpose=True)
        assert (data.items, data.annotators) == (("Q1", "Q2", "Q3"), ("P0", "P1", "P2"))
        assert sorted(answers)[:3] == [("Q1", "P0", "a"), ("Q1", "P1", "a"), ("Q1", "P2", "a")]
        assert sorted(answers)[-1] == ("Q3", "P2", "a")

    def test_items_are_named_where_their_names_do_not_decide(self, read):
        text = "Time,Name,Age,How clear is 1?,How clear is 2?\n1,Ada,31,clear,unclear\n2,Bo,40,clear,clear\n"
        data = read(text, transpose=True, annotator="Name", columns="How*")
        assert (data.items, data.annotators) == (("How clear is 1?", "How clear is 2?"), ("Ada", "Bo"))

    def test_items_that_share_no_label_are_items(self, read):
        data = read("coder,u1,u2,u3,u4\nA,1,1,3,4\nB,1,1,2,4\nC,1,4,3,4\n", transpose=True)
        assert (data.items, data.n_annotations) == (("u1", "u2", "u3", "u4"), 12)


def test_without_a_header_columns_have_numbers(keep, said):
    text = "w1\turl1\tspam\nw2\turl1\tok\nw1\turl2\tok\n"
    answers = said(keep(text), no_header=True, item="2", annotator="1", label="3")[1]
    assert answers == [("url1", "w1", "spam"), ("url1", "w2", "ok"), ("url2", "w1", "ok")]


def test_cells_between_blanks_are_read_by_the_separator(keep, said):
    qrels = "301 0 FBIS3-10082 1\n301 1  FBIS3-10082 0 \n302 0 FBIS3-10169 1\n"
    answers = said(keep(qrels), no_header=True, item="3", annotator="2", label="4", separator=" ")[1]
    assert answers == [("FBIS3-10082", "0", "1"), ("FBIS3-10082", "1", "0"), ("FBIS3-10169", "0", "1")]


class TestFrames:
    FRAME = pd.DataFrame({"rater_1": ["x", "y", "x", "y"], "rater_2": ["x", "y", "y", "y"]})

    def test_an_index_names_the_items(self, said):
        data, answers = said(self.FRAME.loc[[3, 1, 0, 2]])
        assert (data.items, data.annotators) == (("3", "1", "0", "2"), ("rater_1", "rater_2"))
        assert ("2", "rater_2", "y") in answers
        assert read_annotations(self.FRAME).items == ("1", "2", "3", "4")
        assert read_annotations(self.FRAME.loc[[3, 1, 0, 2]], columns=["rater_2"]).items == ("3", "1", "0", "2")

    def test_a_named_index_of_few_rows_names_the_items(self):
        frame = self.FRAME.replace({"x": 1, "y": 2}).set_axis([1, 2, 3, 4]).rename_axis("doc_nr")
        data = read_annotations(frame)
        assert (data.items, data.annotators) == (("1", "2", "3", "4"), ("rater_1", "rater_2"))

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
