"""A table is read as what it is, or refused in one line that says what it looks like and which option reads it."""

import logging
import random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesanno.agreement.coefficients import agreement_table
from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.errors import DataError, NamesWarning
from bayesanno.inference.diagnosis.design import find_in_design
from bayesanno.io.annotations import read_annotations
from bayesanno.io.write import write_annotations

NO_HEADER = "w1\turl1\tspam\nw2\turl1\tok\nw1\turl2\tok\nw2\turl2\tok\nw3\turl1\tspam\n"
AGREED = (
    'item,text,topic,ann1,ann2,final\n1,"good phone",tech,pos,pos,pos\n2,"bad soup",food,neg,pos,neg\n'
    '3,"fine",tech,pos,pos,pos\n'
)
VOTES = "subject,1,2,3\ns1,0,0,14\ns2,0,2,12\ns3,3,3,8\n"
ONE_HOT = "id,rater_id,joy,anger\n1,r1,1,0\n1,r2,0,1\n2,r1,1,0\n2,r3,1,1\n"
TRANSPOSED = "participant,Q1,Q2,Q3\nP0,a,b,a\nP1,a,b,b\nP2,a,a,a\n"


def triples(data):
    codes = zip(data.item, data.annotator, data.label, strict=True)
    return sorted((data.items[i], data.annotators[j], data.labels[k]) for i, j, k in codes)


class TestWhatIsNotWide:
    @pytest.mark.parametrize(
        ("text", "match"),
        [
            pytest.param(NO_HEADER, "'w1', 'url1', 'spam', looks like data, .*no_header=True", id="no header"),
            pytest.param(VOTES, "'1', '2', '3' look like numbers of answers.*format='votes'", id="votes"),
            pytest.param(
                ONE_HOT, "'joy', 'anger' look like labels, with 1 where .*multi_label=True.*item=", id="one-hot"
            ),
            pytest.param(
                ONE_HOT.replace("id,rater", "item,rater"),
                "'joy', 'anger' look like labels, with 1 where .*multi_label=True",
                id="one-hot, item",
            ),
            pytest.param("id,joy,anger,fear\n1,1,0,0\n2,0,0,1\n3,1,0,0\n", "format='votes'", id="one-hot by item"),
            pytest.param(TRANSPOSED, "a row for each annotator, 'participant', .*transpose=True", id="transposed"),
            pytest.param("nr,q1,q2\n1,a,b\n2,a,a\n3,b,b\n", "a column for each item, 'q1', 'q2'", id="questions"),
            pytest.param(
                "T1\tPER 0 5\tAda\nT2\tLOC 9 15\tRome\n",
                "it holds annotations of brat, which mark spans: for spans, write a table with a row for each token",
                id="brat",
            ),
            pytest.param(
                "id,text,date\n1,good,May\n2,bad,June\n3,fine,July\n",
                "do not look like annotations",
                id="no answers",
            ),
            pytest.param(
                "id,ann1,ann2,sure1,sure2\n1,a,b,low,low\n2,a,a,low,high\n3,b,b,high,high\n",
                "two groups of columns share values, 'ann1', 'ann2' and 'sure1', 'sure2': .*columns=",
                id="two kinds",
            ),
            pytest.param(
                "topic,ann1,ann2\ntech,a,b\nfood,a,a\ntech,b,b\n",
                "first column, 'topic', repeats values .*item='topic'",
                id="first column",
            ),
        ],
    )
    def test_it_is_refused(self, read, refuses, text, match):
        with refuses(DataError, match):
            read(text)

    def test_ids_alone_are_no_answers(self, read, refuses):
        rows = "".join(f"{n},u{n},u{n}\n" for n in range(30))
        with refuses(DataError, "have values that are repeated often enough to be labels"):
            read("id,link,link_again\n" + rows)


class TestOptions:
    def test_without_a_header_columns_have_numbers(self, read):
        data = read(NO_HEADER, no_header=True, item="2", annotator="1", label="3")
        assert triples(data) == [
            ("url1", "w1", "spam"), ("url1", "w2", "ok"), ("url1", "w3", "spam"), ("url2", "w1", "ok"),
            ("url2", "w2", "ok"),
        ]  # fmt: skip

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

    def test_a_transposed_table_is_read(self, read):
        data = read(TRANSPOSED, transpose=True)
        assert (data.items, data.annotators) == (("Q1", "Q2", "Q3"), ("P0", "P1", "P2"))
        assert triples(data)[:3] == [("Q1", "P0", "a"), ("Q1", "P1", "a"), ("Q1", "P2", "a")]

    def test_what_is_no_answer_of_a_survey_is_left_out(self, read, refuses):
        text = (
            "Timestamp,Name,Age,How clear is text 1?,How clear is text 2?\n2024,Ada,31,clear,unclear\n"
            "2024,Bo,40,clear,clear\n2025,Cy,31,unclear,unclear\n"
        )
        with refuses(
            DataError, r"a row for each annotator, 'Name', and a column for each item, 'How clear is text 1\?'"
        ):
            read(text)
        with pytest.warns(NamesWarning, match="left out 'Timestamp', 'Age'"):
            data = read(text, transpose=True)
        assert (data.items, data.annotators) == (("How clear is text 1?", "How clear is text 2?"), ("Ada", "Bo", "Cy"))
        data = read(text, transpose=True, columns=["How clear is text 2?"])
        assert data.items == ("How clear is text 2?",)
        with refuses(DataError, "line 3: '2024' already has a row: name the column of annotators with annotator="):
            read(text, transpose=True, annotator="Timestamp")

    def test_columns_of_a_survey_that_may_be_items_or_not_are_asked_for(self, read, refuses):
        with refuses(DataError, "the columns 'colour' share no values with other columns: .*columns="):
            read("user,colour,a,b\nada,red,x,y\nbo,red,x,x\ncy,blue,y,y\n", transpose=True)
        with refuses(DataError, "the columns 'year' share no values with other columns"):
            read("user,year,a,b\nada,2024,1,2\nbo,2024,2,2\ncy,2024,1,1\n", transpose=True)

    def test_items_that_share_no_label_are_items(self, read):
        """Krippendorff's units: a value may be that of one unit only; numbers between those of others are labels."""
        data = read("coder,u1,u2,u3,u4\nA,1,1,3,4\nB,1,1,2,4\nC,1,4,3,4\n", transpose=True)
        assert (data.items, data.n_annotations) == (("u1", "u2", "u3", "u4"), 12)

    def test_a_transposed_table_names_every_annotator_once(self, read, refuses):
        with refuses(DataError, "line 4: this row has no annotator: fill in the column 'participant'"):
            read(TRANSPOSED.replace("P2", ""), transpose=True)
        with refuses(DataError, "line 3: 'P0' already has a row: name the column of annotators"):
            read(TRANSPOSED.replace("P1", "P0"), transpose=True)

    def test_columns_are_the_annotators(self, read):
        data = read(AGREED, columns=["ann1", "final"])
        assert data.annotators == ("ann1", "final")
        data = read("topic,ann1,ann2\ntech,a,b\nfood,a,a\n", columns=["ann1", "ann2"])
        assert (data.items, data.annotators) == (("1", "2"), ("ann1", "ann2"))

    def test_columns_that_are_not_there_or_of_no_use(self, read, refuses):
        with refuses(DataError, "no column 'ann3' to use as annotator; .*did you mean"):
            read(AGREED, columns=["ann3"])
        with refuses(DataError, "columns=... names columns of a wide table, but format='long' is not wide"):
            read(AGREED, columns=["ann1"], format="long")


class TestWideTables:
    def test_text_and_agreed_labels_are_no_annotators(self, read, caplog):
        caplog.set_level(logging.INFO, "bayesanno")
        with pytest.warns(NamesWarning) as warned:
            data = read(AGREED)
        assert [str(each.message).split(": ", 1)[1][:40] for each in warned] == [
            "column 'final' is left out because its n",
            "left out 'topic': few values in common w",
        ]
        assert "'topic'" in str(warned[1].message)
        assert "'text'" not in str(warned[1].message)
        assert (data.annotators, data.labels) == (("ann1", "ann2"), ("neg", "pos"))
        assert caplog.messages[0].endswith(
            "items in 'item'; annotators 'ann1', 'ann2'; left out 'text', 'topic', 'final'"
        )

    def test_an_agreed_column_can_be_the_known_labels(self, read):
        with pytest.warns(NamesWarning, match="'topic'"):
            data = read(AGREED, gold="final")
        assert (data.annotators, data.gold) == (("ann1", "ann2"), {"1": "pos", "2": "neg", "3": "pos"})

    def test_an_annotator_of_one_answer_and_one_of_none(self, read):
        data = read("item,ada,bo,cy,di\n1,a,a,,\n2,b,a,b,\n3,a,b,,\n4,,,,\n")
        assert data.annotators == ("ada", "bo", "cy", "di")
        assert (data.n_items, data.n_annotations) == (4, 7)

    def test_annotators_may_have_the_names_of_labels(self, read, refuses):
        text = "id,A,B\n1,A,A\n2,B,A\n3,B,B\n"
        assert read(text).annotators == ("A", "B")
        with refuses(DataError, "looks like data, .*if it names the annotators, use columns="):
            read(text.replace("id,", "x,"))
        assert read(text.replace("id,", "x,"), columns=["A", "B"], item="x").items == ("1", "2", "3")

    def test_a_product_has_a_name_too(self, read):
        assert read("id,name,ann1,ann2\n1,tea,x,y\n2,jam,x,x\n3,nut,y,y\n").annotators == ("ann1", "ann2")

    def test_a_function_that_always_abstains_is_an_annotator(self, read):
        data = read("id,lf1,lf2,lf3\n1,1,0,-1\n2,1,1,-1\n3,-1,0,-1\n", missing="-1")
        assert (data.annotators, data.by_annotator.tolist()) == (("lf1", "lf2", "lf3"), [2, 3, 0])
        data = read("id,ada,bo,cy\n1,1,1,-1\n2,-1,1,-1\n3,1,-1,-1\n")
        assert (data.annotators, data.labels) == (("ada", "bo", "cy"), ("-1", "1"))

    def test_functions_that_give_one_label_each_and_else_abstain(self, read):
        rows = "".join(f"{n},{1 if n % 3 == 0 else -1},{0 if n % 4 == 0 else -1},{n % 2}\n" for n in range(12))
        data = read("id,lf_one,lf_zero,lf_both\n" + rows, missing="-1")
        assert data.by_annotator.tolist() == [4, 3, 12]

    def test_numbers_that_pandas_wrote_with_and_without_decimals_are_shared(self, read):
        """A column of whole numbers in which one is missing is written as 1.0, one that is complete as 1."""
        text = "id,ada,bo,cy\n1,1.0,1,0\n2,,0,0\n3,0.0,1,1\n4,1.0,1,1\n"
        with pytest.warns(NamesWarning, match="'0' and '0.0' are different labels"):
            assert read(text).annotators == ("ada", "bo", "cy")
        with pytest.warns(NamesWarning, match="'0' and '0.0' are different labels"):
            assert read("coder,u1,u2,u3\nA,1.0,1,0\nB,,0,0\nC,0.0,1,1\n", transpose=True).items == ("u1", "u2", "u3")

    def test_a_rare_label_that_one_annotator_gives_is_read(self, read):
        data = read("id,ada,bo\n1,a,a\n2,b,b\n3,rare,b\n")
        assert (data.items, data.annotators, data.labels) == (("1", "2", "3"), ("ada", "bo"), ("a", "b", "rare"))

    def test_numbers_that_are_no_answers_are_left_out(self, read):
        rows = "".join(f"{n},{20 + n},{n % 3},{(n + n // 7) % 3}\n" for n in range(20))
        assert read("id,n_words,ann1,ann2\n" + rows).annotators == ("ann1", "ann2")

    def test_the_index_that_pandas_and_r_write_names_the_items(self, read):
        data = read(",ada,bo\n0,a,a\n5,b,a\n7,b,b\n")
        assert (data.items, data.annotators) == (("0", "5", "7"), ("ada", "bo"))

    def test_columns_are_those_of_the_declared_labels(self, read, refuses):
        text = "item,ada,bo,mood\n1,x,y,good\n2,x,y,bad\n"
        with pytest.warns(NamesWarning, match="'mood'"):
            assert read(text, labels=["x", "y"]).annotators == ("ada", "bo")
        with refuses(DataError, "no column .* holds mostly the declared labels, 'p', 'q'"):
            read(text, labels=["p", "q"])

    @pytest.mark.parametrize(
        "names", ["item_id,worker_id,label", "_unit_id,_worker_id,label", "TaskId,WorkerId,answer"]
    )
    def test_ids_of_items_and_annotators_are_known(self, read, names):
        assert triples(read(f"{names}\n1,ada,x\n1,bo,y\n")) == [("1", "ada", "x"), ("1", "bo", "y")]

    def test_an_exact_name_goes_before_one_of_ids(self, read):
        assert read("task_id,task,worker,label\n7,s1,ada,x\n8,s2,bo,y\n").items == ("s1", "s2")

    def test_an_item_is_named_by_several_columns(self, read, refuses):
        text = "text,token,word,ada,bo\ns1,0,The,O,O\ns1,1,Rome,B,O\ns2,0,Paris,B,B\n"
        data = read(text, item="{text}/{token}")
        assert (data.items, data.annotators) == (("s1/0", "s1/1", "s2/0"), ("ada", "bo"))
        assert triples(data)[-1] == ("s2/0", "bo", "B")
        with refuses(DataError, "line 3: field 'token' of the item .* is missing"):
            read(text.replace("s1,1", "s1,"), item="{text}/{token}")
        with refuses(DataError, "no column 'tokn' to use as item; .*did you mean 'token'"):
            read(text, item="{text}/{tokn}")


class TestFrames:
    FRAME = pd.DataFrame({"a": ["x", "y", "x", "y"], "b": ["x", "y", "y", "y"]})

    def test_an_index_names_the_items(self):
        data = read_annotations(self.FRAME.loc[[3, 1, 0, 2]])
        assert (data.items, data.annotators) == (("3", "1", "0", "2"), ("a", "b"))
        assert ("2", "b", "y") in triples(data)
        assert read_annotations(self.FRAME).items == ("1", "2", "3", "4")

    def test_a_named_index_of_few_rows_names_the_items(self):
        frame = self.FRAME.replace({"x": 1, "y": 2}).rename_axis("doc_nr").set_axis([1, 2, 3, 4])
        data = read_annotations(frame.rename_axis("doc_nr"))
        assert (data.items, data.annotators) == (("1", "2", "3", "4"), ("a", "b"))

    def test_the_index_of_a_table_with_an_item_column_does_not(self):
        frame = self.FRAME.assign(item=list("pqrs")).loc[[3, 2]]
        assert (read_annotations(frame).items, read_annotations(frame).annotators) == (("s", "r"), ("a", "b"))
        long = pd.DataFrame({"item": ["s", "t", "t"], "worker": ["a", "a", "b"], "label": ["y", "y", "x"]})
        assert read_annotations(long.iloc[[2, 1]]).items == ("t",)

    def test_an_index_with_a_name_twice_is_refused(self, refuses):
        with refuses(DataError, "the index repeats a name"):
            read_annotations(pd.concat([self.FRAME, self.FRAME]))

    @pytest.mark.parametrize("form", ["long", "wide"])
    def test_ordered_categories_keep_their_order_and_those_not_used(self, form):
        grades = pd.CategoricalDtype(["poor", "fair", "good", "best"], ordered=True)
        columns = {"ada": ["poor", "good", None], "bo": ["fair", "good", "poor"]}
        frame = pd.DataFrame(columns, index=["s1", "s2", "s3"]).astype(grades)
        if form == "long":
            frame = frame.rename_axis("item").reset_index().melt("item", var_name="worker", value_name="label")
            frame["label"] = frame["label"].astype(grades)
        data = read_annotations(frame)
        assert (data.labels, data.order_declared) == (("poor", "fair", "good", "best"), True)
        assert (data.n_annotations, data.labels_are_ordered) == (5, True)


LABELS = st.lists(st.sampled_from(["yes", "no", "maybe"]), min_size=8, max_size=8)
KINDS = ["text", "no header", "transposed", "one-hot", "votes", "missing"]


@pytest.mark.filterwarnings("ignore::bayesanno.NamesWarning")
@given(st.lists(LABELS, min_size=2, max_size=4), st.sampled_from(KINDS), st.randoms(use_true_random=False))
def test_every_table_is_read_as_what_it_is_or_refused(answers, kind, chance):
    """Annotators are those of the table, its items too; never a text, an id, a label or a question."""
    table = pd.DataFrame({f"ann{n}": column for n, column in enumerate(answers)})
    annotators, problem = set(table.columns), ""
    if kind == "text":
        table = table.assign(text=[f"words {n} {chance.random()}" for n in range(8)], source=["web", "paper"] * 4)
    elif kind == "no header":
        table = table.melt(ignore_index=False).reset_index()
        table = table.sample(frac=1, random_state=chance.randrange(1000)).astype(str)
        table = table.iloc[1:].set_axis(table.iloc[0].tolist(), axis="columns")
    elif kind == "transposed":
        table = (
            table.T.rename_axis("participant")
            .reset_index()
            .rename(columns=lambda name: f"Q{name}" if name != "participant" else name)
        )
    elif kind == "one-hot":
        table = pd.get_dummies(table.melt(ignore_index=False).rename_axis("item").reset_index(), columns=["value"])
        table = table.rename(columns={"variable": "rater"}).replace({True: 1, False: 0})
    elif kind == "votes":
        table = (
            table.apply(lambda row: row.value_counts(), axis=1).fillna(0).astype(int).rename_axis("nr").reset_index()
        )
    else:
        table = table.mask(np.random.default_rng(chance.randrange(1000)).random(table.shape) < 0.3, "NA")
    try:
        data = read_annotations(table)
    except DataError as error:
        problem = str(error)
    else:
        assert kind in ("text", "missing") or data.n_annotators < 2
        assert set(data.annotators) <= annotators
        assert data.n_items == 8
    assert len(problem.splitlines()) <= 1


def test_a_wide_table_that_was_written_reads_back(tmp_path):
    rng = random.Random(1)
    records = [
        (f"s{i}", name, rng.choice("abc")) for i in range(30) for name in ("ada", "bo", "cy") if rng.random() < 0.6
    ]
    data = AnnotationData.from_records(records)
    write_annotations(data, tmp_path / "wide.csv", format="wide")
    assert read_annotations(tmp_path / "wide.csv").hash == data.hash
