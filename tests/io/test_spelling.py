"""Spellings of a label are one where an option says so; until then a warning names them, and the option."""

import warnings

import pytest

from bayesanno._core.errors import DataError, NamesWarning
from bayesanno.data.annotations import AnnotationData
from bayesanno.io.added import add_annotations
from bayesanno.io.dimensions import read_multi_annotations
from bayesanno.io.names import warn_of_rare

DIRTY = (
    "item,annotator,label\n1,ada,very good\n1,bo,very  good\n1,cy, Very Good \n2,ada,bad\n2,bo,BAD\n2,cy,n/a\n"
    "3,ada,N/A\n3,bo,very good\n3,cy,bad\n"
)
ALL = {"strip": True, "ignore_case": True, "missing": "N/A"}


def warned(read, text, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = read(text, **options)
    return data, [str(each.message).split(": ", 1)[1] for each in caught]


@pytest.mark.parametrize(
    ("options", "labels", "said"),
    [
        ({}, 7, "or use ignore_case=True and strip=True"),
        ({"strip": True}, 6, "or use ignore_case=True"),
        ({"ignore_case": True}, 4, "or use strip=True"),
        ({"strip": True, "ignore_case": True}, 3, "declare them with labels=..."),
    ],
)
def test_a_warning_names_the_option_that_joins_labels(read, options, labels, said):
    data, messages = warned(read, DIRTY, **options)
    assert data.n_labels == labels
    assert any(each.endswith(said) for each in messages)


def test_all_options_together_leave_two_labels(read):
    data, said = warned(read, DIRTY, **ALL)
    assert (data.labels, data.n_annotations, said) == (("bad", "very good"), 7, [])
    wide = "item,ada,bo,cy\n1,very good,very  good,Very Good\n2,bad,BAD,n/a\n3,N/A,very good,bad\n"
    assert read(wide, **ALL, columns="ada,bo,cy").hash == data.hash


def test_a_declared_spelling_is_kept(read, refuses):
    assert read(DIRTY, **ALL, labels=["BAD", "Very Good"]).labels == ("BAD", "Very Good")
    with refuses(DataError, "label 'very good' of item '1' is not among the declared labels"):
        read(DIRTY, labels=["BAD", "Very Good"])


def test_known_labels_are_spelt_alike(keep, read):
    known = keep("item,gold\n1,VERY GOOD\n2,Bad\n3,N/A\n", "known.csv")
    data = read(DIRTY, **ALL, gold_file=known, controls={"2": "BAD"})
    assert (data.gold, data.controls) == ({"1": "very good", "2": "bad"}, {"2": "bad"})
    assert read(DIRTY, **ALL, controls=known).controls == data.gold


def test_lists_of_labels_are_joined_before_each_is_an_item(read):
    data = read("item,annotator,label\n1,ada,Joy|fear\n1,bo,joy\n2,ada,FEAR\n2,bo,-\n", split="|", multi_label=True,
                ignore_case=True, missing="-")  # fmt: skip
    assert (data.n_items, data.n_annotations) == (4, 6)


def test_dimensions_and_further_answers(keep):
    table = keep("item,annotator,a,b\n1,ada,Yes,1\n1,bo,yes,2\n1,cy,yes,2\n2,ada,no,-\n2,bo,NO,1\n", "answers.csv")
    data = read_multi_annotations(table, ["a", "b"], ignore_case=True, missing="-")
    assert [part.labels for part in data.by_dimension.values()] == [("no", "yes"), ("1", "2")]
    first = AnnotationData.from_records([("1", "ada", "yes"), ("2", "ada", "no")])
    more = keep("item,annotator,label\n1,bo,YES\n2,bo,N/A\n", "more.csv")
    assert add_annotations(first, more, **ALL).n_annotations == 3


def test_doubles_are_said_once(read):
    text = "item,annotator,label\n1,ada,yes\n1,bo,no\n1,ada,yes\n2,bo,no\n1,bo,no\n1,ada,yes\n"
    with pytest.warns(NamesWarning) as caught:
        assert read(text).n_annotations == 6
    (said,) = [str(each.message) for each in caught]
    assert said.endswith(
        "answers.csv, line 4: this answer and 2 others repeat an earlier one by the same annotator; duplicate rows "
        "count twice, so delete those that are there by mistake"
    )
    assert read(text.replace("1,ada,yes\n1,bo,no\n1", "1,ada,no\n1,bo,no\n1")).n_annotations == 6


def misspelt(**counts):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_rare("table", [name for name, n in counts.items() for _ in range(n)])
    return [str(each.message) for each in caught]


def test_a_rare_label_a_letter_away_may_be_misspelt():
    for name in ("postive", "positve", "possitive", "posotive", "psoitive", "positiv"):
        (said,) = misspelt(**{name: 2, "positive": 30, "negative": 30})
        assert said.startswith(
            f"table: label {name!r} (2 answers) may be a misspelling of 'positive' (30): if it is another label, use "
            f"same={{{name!r}: 'positive'}}; if it is no label, use missing={name!r}"
        )
    for name, n in (("postive", 4), ("ositive", 1), ("possibly", 1), ("positivity", 1), ("neutral", 1)):
        assert misspelt(**{name: n, "positive": 30, "negative": 30}) == []
    assert misspelt(grade1=1, grade2=50, yes=50, yea=1) == []


def test_characters_that_nobody_sees_do_not_distinguish_names(read):
    text = "item,annotator,label\n1,a,yes\n2,a,y\u00ades\n3,a,no\u200f\n4,a,no\n"
    _, said = warned(read, text)
    assert "are different labels (2 more cases)" in said[0]
    assert "use strip=True" in said[0]
    assert read(text, strip=True).labels == ("no", "yes")
