"""Names spelt in two ways are taken for two, and the reader says so; codes of missing answers are labels, and too."""

import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.messages import NamesWarning
from bayesanno.io.check import find_alike

ROWS = [("s1", "ada", "yes"), ("s1", "bo", "no"), ("s2", "ada", "no"), ("s2", "bo", "no")]
ALIKE = [
    ("Yes", "yes"), ("01", "1"), ("+2", "2"), ("0", "-0"), ("-.5", "-0.50"), ("a  b", "a b"), ("STRASSE", "straße"),
    ("caf\u00e9", "cafe\u0301"),
]  # fmt: skip


def test_names_that_differ_in_spelling_alone_are_found_and_no_others():
    for first, second in ALIKE:
        assert find_alike(["other", first, "more", second]) == [(first, second)]
    assert find_alike(["1", "10", "1.5", "yes", "yes!", "0", "-1", ".", "A1", "A-1", "x", "x"]) == []


def test_gold_of_another_column_is_warned_of_as_no_label_can_be_right():
    frame = pd.DataFrame(ROWS, columns=["item", "annotator", "label"]).assign(gold=["good", "good", "bad", "bad"])
    none = "strange-gold: 'bad', 'good' among the true labels are no labels"
    for labels in (None, ["yes", "no"]):
        with pytest.warns(NamesWarning, match=none):
            ba.read_annotations(frame, labels=labels)
    with pytest.warns(NamesWarning, match=none):
        ba.read_multi_annotations(frame.assign(gold_label=frame["gold"], other=["a", "b"] * 2), ["label", "other"])
    some = frame.assign(gold=["good", "good", "no", "no"])
    ba.read_annotations(some, labels=["yes", "no", "good"])  # one may be used by nobody


def misspelt(**counts):
    answers = [name for name, n in counts.items() for _ in range(n)]
    table = pd.DataFrame({"item": range(len(answers)), "annotator": "a", "label": answers})
    doubts = ba.check_table(table)
    return (doubts["message"] + " " + doubts["remedy"])[doubts["code"] == "typo"].tolist()


def test_a_rare_label_a_letter_away_may_be_misspelt():
    for name in ("postive", "positve", "possitive", "posotive", "psoitive", "positiv"):
        (said,) = misspelt(**{name: 2, "positive": 30, "negative": 30})
        assert said.startswith(f"Label {name!r} (2 answers) may be a misspelling of 'positive' (30 answers).")
        assert f"Use same={{{name!r}: 'positive'}}, missing={name!r} if it is no label" in said
    for name, n in (("postive", 4), ("ositive", 1), ("possibly", 1), ("positivity", 1), ("neutral", 1)):
        assert misspelt(**{name: n, "positive": 30, "negative": 30}) == []
    assert misspelt(grade1=1, grade2=50, yes=50, yea=1) == []


def test_doubles_are_said_once(read):
    text = "item,annotator,label\n1,ada,yes\n1,bo,no\n1,ada,yes\n2,bo,no\n1,bo,no\n1,ada,yes\n"
    with pytest.warns(NamesWarning) as caught:
        assert read(text).n_annotations == 6
    (said,) = [str(each.message) for each in caught]
    assert "duplicates: 3 answers repeat an earlier one by the same annotator, the first in line 4" in said
    assert read(text.replace("1,ada,yes\n1,bo,no\n1", "1,ada,no\n1,bo,no\n1")).n_annotations == 6


class TestMissingCodes:
    TEXT = "item,rater1,rater2,rater3\n1,yes,yes,NA\n2,no,NA,no\n3,NA,no,yes\n4,NA,NA,yes\n"

    def test_they_are_labels_and_named_until_they_are_declared_missing(self, read):
        with pytest.warns(NamesWarning, match=r"'NA' may stand for missing answers.*\(5 answers\).*missing='NA'"):
            assert read(self.TEXT).labels == ("NA", "no", "yes")
        data = read(self.TEXT, missing="NA")
        assert (data.labels, data.n_annotations, data.items) == (("no", "yes"), 7, ("1", "2", "3", "4"))
        assert data.hash == read(self.TEXT.replace("NA", "")).hash

    @pytest.mark.parametrize("code", ["NONE", "n.a.", "*", "\u2014"])
    def test_codes_in_other_spellings_are_warned_of(self, read, code):
        with pytest.warns(NamesWarning, match="may stand for missing answers"):
            read(f"item,annotator,label\n1,a,yes\n1,b,no\n1,c,{code}\n")

    def test_known_labels_have_codes_too(self, read, keep):
        text = "item,annotator,label,gold\n1,a,x,x\n2,a,y,NA\n2,b,y,NA\n"
        assert read(text, missing="NA").gold == {"1": "x"}
        known = keep("item,gold\n1,x\n2,?\n", "known.csv")
        assert read("item,rater1,rater2\n1,x,x\n2,x,y\n3,y,y\n", gold_file=known, missing="?").gold == {"1": "x"}


@pytest.mark.parametrize("option", ["gold_file", "controls"])
def test_known_labels_of_items_that_are_not_in_the_data_are_left_out(read, keep, option):
    known = keep("item,label\n1,x\n8,x\n9,y\n", "known.csv")
    with pytest.warns(NamesWarning, match="2 of 3 known labels are left out, .* the first is '8' in line 3"):
        data = read("item,rater1,rater2\n1,x,x\n2,x,y\n3,y,y\n", **{option: known})
    assert (data.gold or data.controls) == {"1": "x"}
