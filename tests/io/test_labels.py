"""Labels: numbers in any spelling, other spellings that are joined, rare ones that may be slips, and their order."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError
from bayesanno.data.annotations import AnnotationData
from bayesanno.io.beside import add_annotations
from bayesanno.io.read import read_multi_annotations

MISREAD = (
    "item,ann_1,ann_2,ann_3\na,1,1.0,1.0\nb,2,2.0,\nc,3,,3.0\nd,1,2.0,1.0\ne,2,2.0,2.0\nf,3,3.0,3.0\ng,1,1.0,1.0\n"
)


def alpha(data, which="nominal", **options):
    table = ba.agreement_table(data, resamples=0, **options).set_index("coefficient")
    return float(table.loc[f"krippendorff_alpha_{which}", "value"])


def warnings_of(read, *arguments, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = read(*arguments, **options)
    return data, [str(each.message) for each in caught]


class TestNumbers:
    def test_a_number_is_one_label_however_it_is_spelt(self, read):
        data = read(MISREAD)
        assert data.labels == ("1", "2", "3")
        assert alpha(data) == pytest.approx(0.847, abs=5e-4)

    @pytest.mark.parametrize(
        ("found", "labels"),
        [
            (["1", "1.0", "01", "2"], ("1", "2")), (["-0", "0", "0.0", "1"], ("0", "1")), (["01", "02"], ("01", "02")),
            (["1.0", "2.50"], ("1", "2.5")), (["+1", "-1.0"], ("-1", "1")), ([".5", "0.5", "1."], (".5", "1")),
            (["1.0", "1", "x", "y"], ("1", "1.0", "x", "y")),
        ],
    )  # fmt: skip
    def test_the_label_is_the_shortest_spelling(self, found, labels):
        table = pd.DataFrame({"item": "s", "annotator": range(len(found)), "label": found})
        data, said = warnings_of(ba.read_annotations, table)
        assert data.labels == labels
        assert bool(said) == (labels[-1] == "y")  # words beside numbers: 1 and 1.0 are two labels, and it is said

    def test_a_declared_spelling_is_kept(self, read):
        text = "item,annotator,label,gold\n1,ada,1.0,01\n1,bo,2,\n"
        assert read(text, labels=["1.0", "2.0"]).labels == ("1.0", "2.0")
        assert read(text, labels=["1.0", "2.0"]).gold == {"1": "1.0"}
        assert read(text.replace("01", "1").replace("bo,2", "bo,1"), labels=["1", "1.0"]).labels == ("1", "1.0")

    def test_known_and_further_labels_are_spelt_alike(self, read, keep):
        text = "item,annotator,label,gold\n1,ada,1,1.0\n1,bo,2,\n2,bo,2,2.00\n"
        data = read(text, controls=keep("item,label\n2,2.0\n", "controls.csv"))
        assert (data.gold, data.controls) == ({"1": "1", "2": "2"}, {"2": "2"})
        table = pd.DataFrame({"item": ["1", "1"], "annotator": ["a", "b"], "x": ["1", "1.0"], "y": ["0", "1"]})
        several = read_multi_annotations(table, ["x", "y"], labels={"x": ["1", "2"]})
        assert several.by_dimension["x"].label.tolist() == [0, 0]

    def test_one_cell_that_is_no_number_leaves_the_others_numbers(self, read):
        text = "item,annotator,label\n1,ada,1\n1,bo,1.0\n2,ada,10\n2,bo,odd\n3,ada,9\n"
        assert read(text).labels == ("1", "9", "10", "odd")
        data, said = warnings_of(read, text, missing="odd")
        assert (data.labels, data.labels_are_ordered, said) == (("1", "9", "10"), True, [])


DIRTY = (
    "item,annotator,label\n1,ada,very good\n1,bo,very  good\n1,cy, Very Good \n2,ada,bad\n2,bo,BAD\n2,cy,n/a\n"
    "3,ada,N/A\n3,bo,very good\n3,cy,bad\n"
)
ALL = {"strip": True, "ignore_case": True, "missing": "N/A"}


class TestSpellings:
    @pytest.mark.parametrize(
        ("options", "labels", "said"),
        [
            ({}, 7, "or use ignore_case=True and strip=True."),
            ({"strip": True}, 6, "or use ignore_case=True."),
            ({"ignore_case": True}, 4, "or use strip=True."),
            ({"strip": True, "ignore_case": True}, 3, "or declare all labels with labels=...."),
            (ALL, 2, None),
        ],
    )
    def test_a_warning_names_the_option_that_joins_labels(self, read, options, labels, said):
        data, messages = warnings_of(read, DIRTY, **options)
        assert data.n_labels == labels
        assert any(said in each for each in messages) if said else not messages

    def test_a_declared_spelling_is_kept(self, read, refuses):
        assert read(DIRTY, **ALL, labels=["BAD", "Very Good"]).labels == ("BAD", "Very Good")
        with refuses(DataError, "label 'very good' of item '1' is not among the declared labels"):
            read(DIRTY, labels=["BAD", "Very Good"])

    def test_known_labels_are_spelt_alike(self, keep, read):
        known = keep("item,gold\n1,VERY GOOD\n2,Bad\n3,N/A\n", "known.csv")
        data = read(DIRTY, **ALL, gold_file=known, controls={"2": "BAD"})
        assert (data.gold, data.controls) == ({"1": "very good", "2": "bad"}, {"2": "bad"})
        assert read(DIRTY, **ALL, controls=known).controls == data.gold

    def test_dimensions_and_further_answers(self, keep):
        table = keep("item,annotator,a,b\n1,ada,Yes,1\n1,bo,yes,2\n1,cy,yes,2\n2,ada,no,-\n2,bo,NO,1\n", "answers.csv")
        data = read_multi_annotations(table, ["a", "b"], ignore_case=True, missing="-")
        assert [part.labels for part in data.by_dimension.values()] == [("no", "yes"), ("1", "2")]
        first = AnnotationData.from_records([("1", "ada", "yes"), ("2", "ada", "no")])
        more = keep("item,annotator,label\n1,bo,YES\n2,bo,N/A\n", "more.csv")
        assert add_annotations(first, more, **ALL).n_annotations == 3

    def test_characters_that_nobody_sees_do_not_distinguish_names(self, read):
        text = "item,annotator,label\n1,a,yes\n2,a,y\u00ades\n3,a,no\u200f\n4,a,no\n"
        _, said = warnings_of(read, text)
        assert "are different labels (1 more case)" in said[0]
        assert "use strip=True" in said[0]
        assert read(text, strip=True).labels == ("no", "yes")

    def test_labels_are_read_as_others(self, read):
        text = "item,annotator,label,gold\n1,ada,dog,dgo\n1,bo,dgo,\n2,ada,cat,\n2,bo,Caat,cat\n"
        data = read(text, same={"dgo": "dog", "caat": "cat"}, ignore_case=True)
        assert (data.labels, data.gold, data.label.tolist()) == (("cat", "dog"), {"1": "dog", "2": "cat"}, [1, 1, 0, 0])
        assert read(text, same={"dgo": "none"}, missing="none").n_annotations == 3  # one that is missing

    def test_systems_of_pairs_are_joined_too(self, read):
        text = (
            "question_id,model_a,model_b,judge,winner,gold\nq1,GPT-4,llama,ada,gpt-4,\nq1,gpt-4,llama,bo,model_a,LLAMA\n"
            "q2,lama,gpt-4,ada,gpt 4,\nq2,llama,gpt-4,bo,lama,\n"
        )
        data = read(text, pairs="model_a,model_b", ignore_case=True, same={"lama": "llama", "gpt 4": "gpt-4"})
        assert data.item_columns["model_a"].levels == ("gpt-4", "llama")
        assert (data.items, data.gold, data.label.tolist()) == (("q1", "q2"), {"q1": "model_b"}, [0, 0, 1, 0])


class TestRareLabels:
    @pytest.mark.parametrize(
        ("counts", "right"),
        [
            ({"pass": 500, "fail": 400, "psas": 4}, {"psas": "pass"}),
            ({"cat": 900, "bat": 800, "hat": 3}, {"hat": "cat"}),
            ({"a": 900, "b": 3, "c": 800}, {}),  # letters have nothing in common
            ({"cat": 30, "dog": 30, "caat": 3}, {"caat": "cat"}),
            ({"cat": 30, "dog": 30, "caat": 4}, {}),  # not so rare
            ({"good": 104, "bad": 64, "very bad": 49, "very good": 88, "god": 8}, {"god": "good"}),
            ({"dog": 120, "cat": 100, "dgo": 3}, {"dgo": "dog"}),
            ({"1": 900, "2": 800, "11": 3}, {}),
            ({"cat": 90, "dog": 80, "zebra": 2}, {}),
            ({"cat": 300, "car": 20, "bat": 3}, {}),  # other words
            ({"mild": 300, "wild": 20}, {}),
            ({"negative": 40, "positive": 400}, {}),
            ({"typical": 400, "atypical": 40}, {}),
            ({"O": 900, "B-PER": 90, "I-PER": 1, "B-LOC": 50, "I-LOC": 2}, {}),  # codes
            ({"NNP": 900, "NNPS": 3, "NNS": 400, "NN": 800, "VBD": 500, "VBN": 2}, {}),
            ({"A": 900, "B": 300, "C": 30, "D": 3}, {}),
            ({"en": 900, "es": 30, "de": 3, "yes": 90, "yeah": 3}, {}),
            ({"1": 900, "10": 30, "11": 3, "grade1": 90, "grade2": 3}, {}),
            ({"slow": 300, "low": 3, "medium": 100}, {}),  # a word of a known scale is meant
        ],
    )
    def test_a_rare_label_may_be_another_one(self, counts, right):
        labels = [label for label, n in counts.items() for _ in range(n)]
        table = pd.DataFrame({"item": np.arange(len(labels)), "annotator": "a", "label": labels})
        _, said = warnings_of(ba.read_annotations, table)
        advice = r"Use same=\{'(\w+)': '([\w.]+)'\}, missing='\1' if it is no label"
        assert dict(found for each in said for found in re.findall(advice, each)) == right


WORDS = (
    "id,rater1,rater2\n1,none,none\n2,severe,mild\n3,none,mild\n4,severe,severe\n5,mild,mild\n6,none,none\n"
    "7,severe,severe\n8,mild,severe\n9,none,severe\n10,none,mild\n"
)


class TestOrder:
    def test_words_of_a_known_scale_are_in_its_order(self, read):
        table = ba.agreement_table(read(WORDS), ordered=True, resamples=0).set_index("coefficient")["value"]
        assert table["krippendorff_alpha_ordinal"] == pytest.approx(0.457, abs=5e-4)
        assert table["cohen_kappa_quadratic"] == pytest.approx(0.459, abs=5e-4)
        declared = read(WORDS, labels=["none", "mild", "severe"])
        assert alpha(declared, "ordinal", ordered=True) == pytest.approx(table["krippendorff_alpha_ordinal"])

    def test_other_words_have_no_order_until_it_is_declared(self, read, refuses):
        with refuses(DataError, "'none', 'severe', 'some' have no order that is known"):
            ba.agreement_table(read(WORDS.replace("mild", "some")), ordered=True)

    def test_measures_by_order_are_so_for_pairs_subsets_and_without_each(self):
        """Against the krippendorff package."""
        import krippendorff

        from bayesanno.agreement.subsets import alpha_without_each

        rng = np.random.default_rng(5)
        records = [
            (f"i{i}", f"a{j}", str(int(np.clip(rng.normal(2 + i % 3, 1.2), 1, 5))))
            for i in range(40) for j in range(4) if rng.random() < 0.8
        ]  # fmt: skip
        data = ba.AnnotationData.from_records(records)
        values = np.full((4, data.n_items), np.nan)
        values[data.annotator, data.item] = np.array(data.labels, dtype=float)[data.label]

        def expected(names):
            rows = [data.annotators.index(name) for name in names]
            return krippendorff.alpha(values[rows], level_of_measurement="ordinal")

        subsets = ba.agreement.subset_table(data, least_items=1, ordered=True)
        of_subsets = [expected(names.split("; ")) for names in subsets["annotators"]]
        assert subsets["alpha"].tolist() == pytest.approx(of_subsets)
        pairs = ba.pair_table(data, ordered=True)
        both = zip(pairs["annotator_1"], pairs["annotator_2"], strict=True)
        assert pairs["krippendorff_alpha"].tolist() == pytest.approx([expected(names) for names in both])
        without = [expected([name for name in data.annotators if name != left]) for left in data.annotators]
        assert alpha_without_each(data, ordered=True).tolist() == pytest.approx(without)
        assert not np.allclose(alpha_without_each(data), without)
