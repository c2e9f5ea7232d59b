"""What is known of items and of annotators, from tables beside the annotations."""

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError, NamesWarning
from bayesanno.data.annotations import take_rows

LONG = "task,worker,label\ns1,ada,yes\ns1,bo,no\ns2,ada,no\ns3,bo,yes\n"
ITEMS = "id,task,length,language,empty\nx,s2,7,de,\ny,s1,9.5,,\nz,s4,,fr,\n"


@pytest.fixture
def both(read, keep):
    """Read a table, with one of items."""
    return lambda rows, items, **options: read(rows, items=keep(items, "items.csv"), **options)


def test_columns_are_numbers_or_names_and_items_without_answers_are_items(both, caplog):
    with caplog.at_level("INFO", logger="bayesanno"):
        data = both(LONG, ITEMS)
    assert caplog.messages[-1].endswith("; 1 items added, 1 without a row")
    assert (data.items, data.annotators) == (("s1", "s2", "s3", "s4"), ("ada", "bo"))
    assert list(data.item_columns) == ["id", "length", "language", "empty"]
    np.testing.assert_array_equal(data.item_columns["length"].values, [9.5, 7, np.nan, np.nan])
    assert data.item_columns["language"].names == ["", "de", "", "fr"]
    assert data.item_columns["empty"].is_missing.all()
    with pytest.raises(DataError, match="item 's1' has no 'language'"):
        ba.models.MACE(class_prior=ba.Columns("language")).check(data)


def test_the_item_column_is_the_named_one_or_one_of_a_known_name(read, both):
    frame = pd.DataFrame({"unit": ["s1", "s2", "s3"], "length": [1, 2, 3]})
    assert read(LONG, items=frame).item_columns["length"].names == ["1", "2", "3"]
    assert read(LONG.replace("task", "what"), items=frame, item="what").items == ("s1", "s2", "s3")
    named = frame.rename(columns={"unit": "what"}).assign(unit="u")
    assert read(LONG.replace("task", "what"), items=named, item="what").item_columns["length"].mean == 2
    rows = "system,task,worker,label\na,1,ada,yes\nb,1,ada,no\n"
    assert both(rows, "system,task,size\nb,1,5\na,1,4\n", item="{system}/{task}").item_columns["size"].mean == 4.5


def test_names_of_systems_and_questions_find_what_is_known_of_both(both, refuses):
    rows = "item,a,b,label,annotator\nq1,x,y,a,ada\nq1,y,z,a,ada\nq2,x,y,b,bo\n"
    assert both(rows, "item,language\nq1,de\nq2,fr\n", pairs="a,b").item_columns["language"].names == ["de", "de", "fr"]
    of_pairs = "item,language\nq1: x | y,de\nq2: x | y,fr\nq1: y | z,en\n"
    assert both(rows, of_pairs, pairs="a,b").item_columns["language"].names == ["de", "en", "fr"]
    with pytest.warns(NamesWarning, match=r"items.csv: left out 1 item without comparisons, such as 'q3'"):
        assert both(rows, "item,language\nq1,de\nq2,fr\nq3,fr\n", pairs="a,b").n_items == 3
    with refuses(DataError, r"items.csv: column 'a' is also one of the annotations"):
        both(rows, "item,a\nq1,x\n", pairs="a,b")


def test_data_made_of_these_data_keep_the_columns(both):
    data = both(LONG.replace("s3,bo,yes", "s3,bo,skip"), ITEMS, unsure="skip")
    more = pd.DataFrame({"item": ["s2", "s9"], "annotator": ["bo", "cy"], "label": ["yes", "no"]})
    added = ba.add_annotations(data, more)
    assert added.items == (*data.items, "s9")
    for name in ("language", "length"):
        assert added.item_columns[name].names == [*data.item_columns[name].names, ""]
    assert added.item_columns["length"].mean == data.item_columns["length"].mean
    for made in (data.binarise(positive="yes"), data.without_unsure(), take_rows(data, np.array([0, 1]))):
        assert made.item_columns["language"].names == data.item_columns["language"].names


def test_columns_of_annotators_are_read_beside_their_answers(read, keep, caplog):
    with caplog.at_level("INFO", logger="bayesanno"):
        data = read(LONG, annotators=keep("team,worker,family\n1,bo,x\n2,cy,y\n", "people.csv"))
    assert data.annotators == ("ada", "bo")
    assert data.annotator_columns["family"].names == ["", "x"]
    np.testing.assert_array_equal(data.annotator_columns["team"].values, [np.nan, 1])
    assert "left out 1 annotator without answers, 1 without a row" in caplog.messages[-1]
