"""A column is what its name or an option says; where names do not decide, one line has the options that do."""

import logging

import numpy as np
import pandas as pd
import pytest

from bayesanno._core.errors import DataError
from bayesanno.agreement.coefficients import agreement_table
from bayesanno.inference.diagnosis.design import find_in_design
from bayesanno.io.annotations import read_annotations

NO_HEADER = "w1\turl1\tspam\nw2\turl1\tok\nw1\turl2\tok\nw2\turl2\tok\nw3\turl1\tspam\n"
AGREED = (
    'item,text,topic,ann1,ann2,final\n1,"good phone",tech,pos,pos,pos\n2,"bad soup",food,neg,pos,neg\n'
    '3,"fine",tech,pos,pos,pos\n'
)
VOTES = "id,1,2,3\ns1,0,0,14\ns2,0,2,12\ns3,3,3,8\n"
TRANSPOSED = "participant,Q1,Q2,Q3\nP0,a,b,a\nP1,a,b,b\nP2,a,a,a\n"
SURVEY = (
    "Timestamp,Name,Age,How clear is text 1?,How clear is text 2?\n2024,Ada,31,clear,unclear\n"
    "2024,Bo,40,clear,clear\n2025,Cy,31,unclear,unclear\n"
)


def triples(data):
    codes = zip(data.item, data.annotator, data.label, strict=True)
    return sorted((data.items[i], data.annotators[j], data.labels[k]) for i, j, k in codes)


class TestLongTables:
    @pytest.mark.parametrize(
        "names",
        [
            "item_id,worker_id,label", "_unit_id,_worker_id,label", "TaskId,WorkerId,answer", "text,judge,verdict",
            "output_id,model,score", "id,judge,label", "uid,annotator,rating", "sentence,coder,category",
            "prompt,grader,winner", "image,user,annotation", "document,participant,preference",
        ],
    )  # fmt: skip
    def test_names_say_what_columns_are(self, read, names):
        assert triples(read(f"{names}\n1,ada,x\n1,bo,y\n")) == [("1", "ada", "x"), ("1", "bo", "y")]

    def test_a_name_of_the_item_goes_before_its_ids_and_ids_before_texts(self, read):
        assert read("task_id,task,worker,label\n7,s1,ada,x\n8,s2,bo,y\n").items == ("s1", "s2")
        assert read("task_id,text,worker,label\n7,s1,ada,x\n8,s2,bo,y\n").items == ("7", "8")
        assert read("doc_id,session_id,worker,label\n7,s1,ada,x\n8,s2,bo,y\n").items == ("7", "8")
        assert read("item_id,item,worker,label\n7,s1,ada,x\n8,s2,bo,y\n").items == ("s1", "s2")

    def test_two_names_of_annotators_are_asked_about(self, read, refuses):
        text = "item,user,JudgeId,label\n1,author,ada,x\n1,author,bo,y\n"
        with refuses(DataError, "choose one with annotator='user' or annotator='JudgeId'"):
            read(text)
        assert read(text.replace("JudgeId", "annotator")).annotators == ("ada", "bo")

    @pytest.mark.parametrize(
        ("header", "first", "second"),
        [("id,text", "id", "text"), ("output_id,group_id", "output_id", "group_id"), ("task,unit", "task", "unit"),
         ("sentence,document", "sentence", "document")],
    )  # fmt: skip
    def test_two_names_of_items_are_asked_about(self, read, refuses, header, first, second):
        text = f"{header},annotator,label\n1,a,ada,x\n1,a,bo,y\n2,b,ada,x\n2,b,bo,x\n"
        with refuses(DataError, f"choose one with item='{first}' or item='{second}'"):
            read(text)
        assert read(text, item=second).items == ("a", "b")

    def test_model_and_score_are_names_where_no_other_is(self, read):
        assert read("item,model,judge,label\n1,m,ada,x\n1,m,bo,y\n").annotators == ("ada", "bo")
        assert read("item,model,label,score\n1,m,x,.3\n1,n,y,.4\n").annotators == ("m", "n")
        assert read("model,1,2\nm,x,y\nn,x,x\n", transpose=True).annotators == ("m", "n")
        assert read_annotations([{"item": "a", "model": m, "score": m * 2} for m in "xy"]).annotators == ("x", "y")

    def test_the_files_of_snow_are_long_tables(self, read):
        text = (
            "!amt_annotation_ids\t!amt_worker_ids\torig_id\tresponse\tgold\nh1\tada\ts1\tno\tno\nh2\tbo\ts1\tyes\tno\n"
        )
        data = read(text)
        assert (data.items, data.annotators, data.gold) == (("s1",), ("ada", "bo"), {"s1": "no"})


VETOED = {
    "an id of rows": ("id,worker,label\n1,ada,x\n2,bo,y\n", "'id' may not name the items, since no name in it has two"),
    "an id of groups": (
        "batch_id,worker,label\n1,ada,x\n1,ada,y\n1,bo,y\n",
        "'batch_id' may not name the items, since annotators answer some of its names again",
    ),
    "documents": (
        "doc_id,worker,label\n" + "1,ada,x\n1,bo,x\n" * 3,
        "'doc_id' may not name the items, since annotators answer some of its names again",
    ),
    "texts": (
        "question,worker,answer\n" + "".join(f"q{n // 2},w{n % 2},words {n}\n" for n in range(30)),
        "'answer' may not hold labels, since most answers in it occur once",
    ),
    "two annotators called model and score": (
        "essay_id,model,score\n1,neg,pos\n1,pos,pos\n2,neg,pos\n2,pos,neg\n",
        "'model' and 'score' have values in common",
    ),
    "systems": (
        "item,judge,output_a,output_b,label\n1,ada,x,y,x\n1,bo,x,y,y\n",
        "'output_a' and 'output_b' may be two systems, .* use pairs='output_a,output_b'; if not, use label='label'",
    ),
}


@pytest.mark.parametrize("which", VETOED)
def test_cells_can_only_make_a_reader_ask(read, refuses, which):
    text, match = VETOED[which]
    with refuses(DataError, match):
        read(text)


REFUSED = {
    "people": ("item,ada,bo\n1,x,y\n2,x,x\n", r"'item', 'ada', 'bo' do not say .*columns='ada,bo'; if each row is an "
                                              r"answer, use annotator=\.\.\. and label=\.\.\.; .*format='votes'"),
    "people without an item": ("ada,bo\nx,y\nx,x\n", "columns='ada,bo', and item=.* if one names"),
    "no header": (NO_HEADER, "use no_header=True"),
    "votes": (VOTES, "columns='1,2,3'.* use format='votes' and columns='1,2,3'"),
    "one-hot": ("id,rater_id,joy,anger\n1,r1,1,0\n1,r2,0,1\n", "no column for the label .*; if a row .* use "
                                                               "multi_label=True and columns='joy,anger'"),
    "transposed": (TRANSPOSED, "no column for the item and the label .* use transpose=True and columns='Q1,Q2,Q3'"),
    "questions": ("id,Q1,Q2\n1,a,b\n2,a,a\n", "columns='Q1,Q2'"),
    "a label alone": ("item,label,ada\n1,x,y\n", r"no column for the annotator .* name it with annotator=\.\.\."),
    "two words with numbers": ("id,ann1,ann2,sure1,sure2\n1,a,b,2,2\n", "columns='ann1,ann2'"),
    "raters and another": ("id,rater_1,rater_2,age\n1,x,y,7\n", "columns='rater_1,rater_2'"),
    "a topic beside people": ("id,topic,ada,bo\n1,tech,x,y\n", "columns='ada,bo'"),
    "one column": ("a b c\n1 2 3\n", "has one column, 'a b c': .* if ' ' separates its cells, use separator=' '"),
    "brat": ("T1\tPER 0 5\tAda\nT2\tLOC 9 15\tRome\n", "holds annotations of brat, which mark spans: for spans"),
    "an id twice": ("id,rater_1,rater_2\n1,x,y\n1,x,x\n", "'id' repeats a name, .* or use item='id'"),
    "a number beside a name": ("id,rater_1,rater_2,n\n1,x,y,4\n", "'id' names one item, but .* use format='wide' and "
                                                                  "columns='rater_1,rater_2'; .* use count='n'"),
}  # fmt: skip


@pytest.mark.parametrize("which", REFUSED)
def test_a_table_whose_names_do_not_decide_is_asked_about(read, refuses, which):
    text, match = REFUSED[which]
    with refuses(DataError, match):
        read(text)


class TestWideTables:
    @pytest.mark.parametrize(
        ("header", "annotators"),
        [
            ("item,rater_1,rater_2", ("rater_1", "rater_2")),
            ("uid,ann1,ann2", ("ann1", "ann2")),
            ("id,Coder 3,Coder 4", ("Coder 3", "Coder 4")),
            ("item,judge-a,judge-b", ("judge-a", "judge-b")),
            ("item,LLM_1,LLM_2", ("LLM_1", "LLM_2")),
        ],
    )
    def test_one_word_with_numbers_names_the_annotators(self, read, header, annotators):
        assert read(f"{header}\n1,x,y\n2,x,\n").annotators == annotators

    @pytest.mark.parametrize(
        "header", ["item,Q1,Q2", "item,x1,x2", "item,rater1,judge2", "item,score1,score2", "id,1,2"]
    )
    def test_other_words_with_numbers_do_not(self, read, refuses, header):
        with refuses(DataError, "do not say which columns are annotators"):
            read(f"{header}\n1,x,y\n2,x,\n")

    def test_known_names_beside_annotators_are_left_out_and_said(self, read, caplog):
        caplog.set_level(logging.INFO, "bayesanno")
        data = read(AGREED)
        assert (data.items, data.annotators, data.labels) == (("1", "2", "3"), ("ann1", "ann2"), ("neg", "pos"))
        assert caplog.messages[0].endswith(
            "items in 'item'; annotators 'ann1', 'ann2'; left out 'text', 'topic', 'final'"
        )

    def test_an_agreed_column_can_be_the_known_labels(self, read):
        data = read(AGREED, gold="final")
        assert (data.annotators, data.gold) == (("ann1", "ann2"), {"1": "pos", "2": "neg", "3": "pos"})

    def test_columns_are_names_patterns_or_positions(self, read, refuses):
        text = "id,age,ada_1,ada_2,bo_1,gold\na,7,x,y,x,x\nb,8,y,x,y,\n"
        for columns, found in {
            "ada_1,bo_1": ("ada_1", "bo_1"), "ada_*": ("ada_1", "ada_2"), "*_1": ("ada_1", "bo_1"),
            "3:": ("ada_1", "ada_2", "bo_1"), "3:4": ("ada_1", "ada_2"), "bo_1,3:": ("bo_1", "ada_1", "ada_2"),
        }.items():  # fmt: skip
            data = read(text, columns=columns)
            assert (set(data.annotators), data.items, data.gold) == (set(found), ("a", "b"), {"a": "x"})
        assert read(text, columns=["ada_1", "gold"]).annotators == ("ada_1", "gold")
        with refuses(DataError, "no column 'ada_3' to use as annotator; .*did you mean"):
            read(text, columns=["ada_3"])
        with refuses(DataError, "no column '7:' to use as annotator"):
            read(text, columns="7:")
        with refuses(DataError, "'id' cannot be both annotator and item: name another with item="):
            read(text, columns=["id", "ada_1"], item="id")

    def test_the_only_id_names_the_items(self, read):
        assert read("output_id,prompt,rater_1,rater_2\nv1,p,x,y\nv2,p,x,x\n").items == ("v1", "v2")
        assert read("prompt,rater_1,rater_2\np,x,y\nq,x,x\n").items == ("p", "q")
        assert read("prompt,rater_1,rater_2\np,x,y\np,x,x\n").items == ("1", "2")  # a row is an item, whatever its text
        assert read("rater_1,rater_2\nx,y\nx,x\n").items == ("1", "2")
        assert read(",rater_1,rater_2\n0,x,y\n5,x,x\n").items == ("0", "5")

    def test_an_item_in_two_rows_is_one_where_it_is_named_item(self, read):
        assert read("item,rater_1,rater_2\n1,x,\n1,,y\n").n_items == 1

    def test_an_item_is_named_by_several_columns(self, read, refuses):
        text = "text,token,word,ada,bo\ns1,0,The,O,O\ns1,1,Rome,B,O\ns2,0,Paris,B,B\n"
        data = read(text, item="{text}/{token}", columns="ada,bo")
        assert (data.items, data.annotators) == (("s1/0", "s1/1", "s2/0"), ("ada", "bo"))
        with refuses(DataError, "line 3: field 'token' of the item .* is missing"):
            read(text.replace("s1,1", "s1,"), item="{text}/{token}", columns="4:")
        with refuses(DataError, "no field 'tokn' among .*did you mean 'token'"):
            read(text, item="{text}/{tokn}", columns="4:")

    def test_columns_that_are_of_no_use(self, read, refuses):
        with refuses(DataError, "columns=... names columns of a wide table, but format='long' is not wide"):
            read(AGREED, columns=["ann1"], format="long")
        with refuses(DataError, "label='final' names a column of a long table, but this table is read as wide"):
            read(AGREED, columns=["ann1"], label="final")


class TestPatterns:
    TEXT = "rater_1,rater_2,n\nx,x,3\nx,y,2\n"

    @pytest.mark.parametrize("name", ["n", "count", "freq", "Frequency", "weight"])
    def test_a_row_with_a_number_is_so_many_items(self, read, caplog, name):
        caplog.set_level(logging.INFO, "bayesanno")
        for options in ({}, {"columns": "rater_*"}):
            data = read(self.TEXT.replace(",n\n", f",{name}\n"), **options)
            assert (data.items, data.annotators, data.n_annotations) == (tuple("12345"), ("rater_1", "rater_2"), 10)
        assert caplog.messages[0].endswith(f"each row counts '{name}' times")

    def test_any_column_is_the_number_by_its_option(self, read):
        assert read(self.TEXT.replace(",n\n", ",times\n"), columns="1:2", count="times").n_items == 5

    def test_a_number_that_is_none_is_left_out_by_the_format(self, read, caplog):
        caplog.set_level(logging.INFO, "bayesanno")
        data = read("rater_1,rater_2,weight\nx,y,.5\n", format="wide", columns="rater_*")
        assert (data.n_items, caplog.messages[0].rpartition("; ")[2]) == (1, "left out 'weight'")

    def test_a_number_used_and_a_name_left_out(self, read):
        data = read("id,rater_1,rater_2,n\np1,x,y,4\np2,x,x,2\n", count="n")
        assert (data.items, data.annotators) == (tuple("123456"), ("rater_1", "rater_2"))


class TestVotes:
    def test_votes_have_the_coefficients_of_their_table(self, read):
        """Fleiss' kappa by its formula: mean pairwise agreement within items, against that of the labels' shares."""
        data = read(VOTES, format="votes")
        votes = np.array([[0, 0, 14], [0, 2, 12], [3, 3, 8]])
        np.testing.assert_array_equal(data.votes, votes)
        observed = ((votes * (votes - 1)).sum(axis=1) / (14 * 13)).mean()
        by_chance = ((votes.sum(axis=0) / 42) ** 2).sum()
        kappa = agreement_table(data, resamples=0).set_index("coefficient").loc["fleiss_kappa", "value"]
        assert kappa == pytest.approx((observed - by_chance) / (1 - by_chance), abs=1e-12)

    def test_votes_keep_labels_that_nobody_gave_in_the_order_of_the_table(self, read):
        data = read("item,no,maybe,yes\ns1,2,0,1\ns2,0,0,3\n", format="votes")
        assert data.labels == ("no", "maybe", "yes")
        assert data.annotators == ("anyone",)
        assert [one.code for one in find_in_design(data)] == ["annotators-unnamed"]

    def test_an_item_without_votes_stays_where_it_is(self, read):
        data = read("item,no,yes,gold\ns1,2,1,no\ns2,0,0,yes\ns3,0,3,\n", format="votes")
        assert (data.items, data.n_annotations) == (("s1", "s2", "s3"), 6)
        np.testing.assert_array_equal(data.votes, [[2, 1], [0, 0], [0, 3]])
        assert data.gold == {"s1": "no", "s2": "yes"}

    def test_a_number_of_votes_is_whole(self, read, refuses):
        with refuses(DataError, "the counts add up to 20,000,001 answers, and the limit is 10,000,000"):
            read("item,no,yes\ns1,20000000,1\ns2,0,0\n", format="votes")
        with refuses(DataError, r"line 3: yes is '1\.5', but must be a whole number"):
            read("item,no,yes\ns1,2,1\ns2,0,1.5\n", format="votes")

    @pytest.mark.parametrize("total", ["total", "Sum", "n_votes", "everything"])
    def test_the_sum_of_the_others_is_no_label(self, read, refuses, total):
        text = f"item,no,maybe,yes,{total}\ns1,2,0,1,3\ns2,0,0,3,3\n"
        with refuses(DataError, f"'{total}' is .* no label: if it is none, use columns='no,maybe,yes'; if it is one"):
            read(text, format="votes")
        assert read(text, format="votes", columns="no,maybe,yes").labels == ("no", "maybe", "yes")

    def test_names_of_items_are_not_taken_for_numbers(self, read, refuses):
        with refuses(DataError, "column 'subject' may be no label: if so, use item='subject' and columns='1,2"):
            read(VOTES.replace("id,", "subject,"), format="votes")
        assert read(VOTES.replace("id,", "subject,"), format="votes", item="subject").items == ("s1", "s2", "s3")


class TestTransposedTables:
    @pytest.mark.parametrize("header", ["participant", "", "coder", "Worker_ID"])
    def test_a_row_is_an_annotator(self, read, header):
        data = read(TRANSPOSED.replace("participant", header), transpose=True)
        assert (data.items, data.annotators) == (("Q1", "Q2", "Q3"), ("P0", "P1", "P2"))
        assert triples(data)[:3] == [("Q1", "P0", "a"), ("Q1", "P1", "a"), ("Q1", "P2", "a")]

    def test_first_answers_are_not_taken_for_names(self, read, refuses):
        text = "Q1,Q2,Q3\na,b,a\nc,b,b\n"
        with refuses(DataError, r"no column for the annotator .* transpose=True name it, as in annotator='Q1'"):
            read(text, transpose=True)

    def test_items_are_named_where_their_names_do_not_decide(self, read, refuses, caplog):
        caplog.set_level(logging.INFO, "bayesanno")
        with refuses(DataError, "no column for the annotator"):
            read(SURVEY, transpose=True)
        with refuses(DataError, r"do not say which columns are items: name them, as in columns='Timestamp,Age,How"):
            read(SURVEY, transpose=True, annotator="Name")
        data = read(SURVEY, transpose=True, annotator="Name", columns="How*")
        assert (data.items, data.annotators) == (("How clear is text 1?", "How clear is text 2?"), ("Ada", "Bo", "Cy"))
        assert caplog.messages[-1].endswith("annotators in 'Name'; left out 'Timestamp', 'Age'")

    def test_items_that_share_no_label_are_items(self, read):
        data = read("coder,u1,u2,u3,u4\nA,1,1,3,4\nB,1,1,2,4\nC,1,4,3,4\n", transpose=True)
        assert (data.items, data.n_annotations) == (("u1", "u2", "u3", "u4"), 12)

    def test_every_annotator_is_named_once(self, read, refuses):
        with refuses(DataError, "line 4: this row has no annotator: fill in the column 'participant'"):
            read(TRANSPOSED.replace("P2", ""), transpose=True)
        with refuses(DataError, "line 3: 'P0' already has a row: name the column of annotators"):
            read(TRANSPOSED.replace("P1", "P0"), transpose=True)


def test_without_a_header_columns_have_numbers(read, refuses):
    data = read(NO_HEADER, no_header=True, item="2", annotator="1", label="3")
    assert triples(data) == [
        ("url1", "w1", "spam"), ("url1", "w2", "ok"), ("url1", "w3", "spam"), ("url2", "w1", "ok"),
        ("url2", "w2", "ok"),
    ]  # fmt: skip
    with refuses(DataError, "the names '1', '2', '3' do not say .* columns='1,2,3'"):
        read("NOUN,,VERB\n,VERB,VERB\n", no_header=True)
    assert read("NOUN,,VERB\n,VERB,VERB\n", no_header=True, columns="1:").annotators == ("1", "2", "3")


def test_cells_between_blanks_are_read_by_the_separator(read, refuses):
    qrels = "301 0 FBIS3-10082 1\n301 1  FBIS3-10082 0 \n302 0 FBIS3-10169 1\n"
    columns = {"no_header": True, "item": "3", "annotator": "2", "label": "4"}
    with refuses(DataError, "no column '3' to use as item; .* if ' ' separates its cells, use separator=' '"):
        read(qrels, **columns)
    data = read(qrels, **columns, separator=" ")
    assert triples(data) == [("FBIS3-10082", "0", "1"), ("FBIS3-10082", "1", "0"), ("FBIS3-10169", "0", "1")]
    with refuses(DataError, "the separator is '::': it must be one character"):
        read(qrels, separator="::")


class TestFrames:
    FRAME = pd.DataFrame({"rater_1": ["x", "y", "x", "y"], "rater_2": ["x", "y", "y", "y"]})

    def test_an_index_names_the_items(self):
        data = read_annotations(self.FRAME.loc[[3, 1, 0, 2]])
        assert (data.items, data.annotators) == (("3", "1", "0", "2"), ("rater_1", "rater_2"))
        assert ("2", "rater_2", "y") in triples(data)
        assert read_annotations(self.FRAME).items == ("1", "2", "3", "4")
        assert read_annotations(self.FRAME.loc[[3, 1, 0, 2]], columns=["rater_2"]).items == ("3", "1", "0", "2")

    def test_a_named_index_of_few_rows_names_the_items(self):
        frame = self.FRAME.replace({"x": 1, "y": 2}).set_axis([1, 2, 3, 4]).rename_axis("doc_nr")
        data = read_annotations(frame)
        assert (data.items, data.annotators) == (("1", "2", "3", "4"), ("rater_1", "rater_2"))

    def test_the_index_of_a_table_with_an_item_column_does_not(self):
        frame = self.FRAME.assign(item=list("pqrs")).loc[[3, 2]]
        assert (read_annotations(frame).items, read_annotations(frame).annotators) == (
            ("s", "r"),
            ("rater_1", "rater_2"),
        )
        long = pd.DataFrame({"item": ["s", "t", "t"], "worker": ["a", "a", "b"], "label": ["y", "y", "x"]})
        assert read_annotations(long.iloc[[2, 1]]).items == ("t",)

    def test_an_index_with_a_name_twice_is_refused(self, refuses):
        with refuses(DataError, "the index repeats a name"):
            read_annotations(pd.concat([self.FRAME, self.FRAME]))

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
