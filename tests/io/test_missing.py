"""Codes of missing answers, known labels of items that are not in the data, and numbers that may be a scale."""

import pandas as pd
import pytest

from bayesanno._core.errors import DataError, NamesWarning
from bayesanno.agreement.coefficients import agreement_table
from bayesanno.io.names import find_missing_codes

MISSING = "item,rater1,rater2,rater3\n1,yes,yes,NA\n2,no,NA,no\n3,NA,no,no\n4,NA,NA,yes\n"


class TestMissingCodes:
    def test_they_are_labels_and_named_until_they_are_declared_missing(self, read):
        with pytest.warns(NamesWarning, match=r"'NA' may stand for missing answers.*\(5 of 12 answers\).*missing='NA'"):
            assert read(MISSING).labels == ("NA", "no", "yes")
        data = read(MISSING, missing="NA")
        assert (data.labels, data.n_annotations, data.items) == (("no", "yes"), 7, ("1", "2", "3", "4"))

    def test_alpha_is_that_of_empty_cells(self, read):
        text = "item,rater1,rater2,rater3\n1,yes,yes,NA\n2,no,NA,no\n3,NA,no,yes\n4,NA,NA,yes\n"
        coefficients = [
            agreement_table(data, resamples=0).set_index("coefficient")["value"]
            for data in (read(text, missing=["NA"]), read(text.replace("NA", "")))
        ]
        pd.testing.assert_series_equal(*coefficients)

    @pytest.mark.parametrize(
        ("labels", "found"),
        [
            (["-1", "0", "1"], ["-1"]), (["-1", "1", "2", "3"], ["-1"]), (["-1", "yes", "no"], ["-1"]),
            (["-1", "1"], []), (["-2", "-1", "0", "1", "2"], []), (["none", "some"], []),
            (["None", "yes", "?"], ["None", "?"]), (["-1"], []),
        ],
    )  # fmt: skip
    def test_which_labels_are_codes(self, labels, found):
        assert find_missing_codes(labels) == found

    def test_labels_that_are_declared_are_meant(self, read, recwarn):
        text = "item,rater1,rater2\n1,-1,0\n2,1,1\n3,-1,-1\n"
        assert read(text, labels=["-1", "0", "1"]).n_annotations == 6
        assert not recwarn.list

    def test_a_label_that_is_not_declared_may_be_a_code(self, read, refuses):
        with refuses(DataError, "label '-1' of item '1' is not among the declared labels, '0', '1'.*use missing='-1'"):
            read("item,rater1,rater2\n1,-1,0\n2,1,1\n3,0,0\n", labels=["0", "1"])

    def test_known_labels_have_codes_too(self, read):
        text = "item,annotator,label,gold\n1,a,x,x\n2,a,y,NA\n2,b,y,NA\n"
        with pytest.warns(NamesWarning, match="'NA' may stand for missing known labels: if so, use missing='NA'"):
            read(text)
        assert read(text, missing="NA").gold == {"1": "x"}

    def test_they_are_left_out_of_files_of_known_labels(self, read, tmp_path):
        (tmp_path / "known.csv").write_text("item,gold\n1,x\n2,?\n")
        data = read("item,rater1,rater2\n1,x,x\n2,x,y\n3,y,y\n", gold_file=tmp_path / "known.csv", missing="?")
        assert data.gold == {"1": "x"}


class TestKnownLabels:
    @pytest.mark.parametrize("option", ["gold_file", "controls"])
    def test_items_that_are_not_in_the_data_are_named_and_left_out(self, read, tmp_path, option):
        (tmp_path / "known.csv").write_text("item,label\n1,x\n8,x\n9,y\n")
        with pytest.warns(NamesWarning, match="2 of 3 known labels are left out, .* the first is '8' in line 3"):
            data = read("item,rater1,rater2\n1,x,x\n2,x,y\n3,y,y\n", **{option: tmp_path / "known.csv"})
        assert (data.gold or data.controls) == {"1": "x"}


def test_many_numbers_are_a_scale(read):
    rows = "".join(f"{n},{n % 41 / 2},{n * 7 % 41 / 2}\n" for n in range(82))
    with pytest.warns(
        NamesWarning, match="the 41 labels are numbers, .*at most a dozen grades, for ordinal_dawid_skene"
    ):
        read("id,ann1,ann2\n" + rows)


@pytest.mark.parametrize("code", ["NONE", "Null", "NAN", "N.A.", "n.a.", "#VALUE!", "*", "\u2014", "-"])
def test_codes_in_other_spellings_are_warned_of(read, code):
    with pytest.warns(NamesWarning, match="may stand for missing answers"):
        read(f"item,annotator,label\n1,a,yes\n1,b,no\n1,c,{code}\n")


@pytest.mark.parametrize("labels", [("none", "some"), ("*", "**"), ("+", "-")])
def test_labels_that_resemble_codes_are_not_warned_of(read, recwarn, labels):
    read("item,annotator,label\n1,a,{}\n1,b,{}\n".format(*labels))
    assert not recwarn.list
