"""RatingData: what it holds, its long table, and what it refuses."""

import numpy as np
import pandas as pd
import pytest

from bayesanno._core.messages import DataError
from bayesanno.data.ratings import RatingData

RECORDS = [("s1", "ada", 70), ("s1", "bo", 35.5), ("s2", "ada", 90), ("s1", "ada", 0.1 + 0.2)]


def test_a_table_of_ratings_makes_equal_data():
    known = {"gold": {"s1": 50}, "controls": {"s2": 120.5}}
    columns = {"item_columns": {"length": [3, 4]}, "annotator_columns": {"team": ["a", "b"]}}
    for scale in ((0, 100), None):
        data = RatingData.from_records(RECORDS, scale=scale, **known, **columns)
        again = RatingData.from_frame(data.to_frame())
        assert (again.hash, again.gold, again.scale_observed) == (data.hash, data.gold, scale is None)
        np.testing.assert_array_equal(again.value, data.value)
    assert data.known_values.tolist() == [np.inf, 120.5]
    other = RatingData.from_records(RECORDS, scale=(0, 100), gold={"s2": 1}, controls=known["controls"], **columns)
    assert other.hash == RatingData.from_records(RECORDS, scale=(0, 100), **known, **columns).hash != data.hash


def test_items_may_have_no_rating_and_the_observed_scale_is_said():
    data = RatingData.from_records(RECORDS, items=["s0", "s1", "s2"])
    assert (data.by_item.tolist(), data.by_annotator.tolist(), data.scale) == ([0, 3, 1], [3, 1], (0.1 + 0.2, 90.0))
    assert data.describe().endswith("from 0.3 to 90, which are taken as the ends of the scale")
    assert "0.3 to 90 (that of the ratings)" in data._repr_html_()


@pytest.mark.parametrize(
    ("records", "more", "match"),
    [
        ([], {}, "no row with an item, an annotator and a rating"),
        ([("s1", "ada", 3), ("s2", "ada", np.nan)], {}, "'ada' rated item 's2' as nan"),
        ([("s1", "ada", 3), ("s2", "ada", -np.inf)], {"scale": (0, 9)}, "'ada' rated item 's2' as -inf"),
        ([("s1", "ada", 3), ("s2", "ada", 3)], {}, "all ratings are 3"),
        (RECORDS, {"scale": (0, 80)}, "ratings are from 0.3 to 90, outside the scale from 0 to 80"),
        (RECORDS, {"scale": (100, 0)}, "the scale is from 100 to 0: give its two ends"),
        (RECORDS, {"gold": {"s3": 1}}, "gold: item 's3' is not among the items"),
        (RECORDS, {"controls": {"s1": np.nan}}, "controls: item 's1' is nan"),
        (RECORDS, {"items": ["s1"]}, "item 's2' is not among the declared items"),
    ],
)
def test_ratings_that_cannot_be_are_refused(refuses, records, more, match):
    with refuses(DataError, match):
        RatingData.from_records(records, **more)


@pytest.mark.parametrize(
    ("column", "cell", "match"),
    [
        ("label", "high", "the table, row 3: the rating 'high' is no number"),
        ("label", "1_0", "the table, row 3: the rating '1_0' is no number"),
        ("label", "inf", "the table, row 3: the rating 'inf' is no number"),
        ("label", "101", "the table, row 3: the rating 101 is outside the scale from 0 to 100"),
        ("gold", "good", "the table, row 3: the gold 'good' is no number"),
        ("annotator", "", "the table, row 3: label '20.0' of item 's2' has no annotator"),
    ],
)
def test_a_cell_that_cannot_be_is_refused_with_its_place(refuses, column, cell, match):
    rows = [("s0", "a", "", ""), *((f"s{n}", "a", f"{10 * n}.0", "") for n in range(1, 10))]
    table = pd.DataFrame(rows, columns=["item", "annotator", "label", "gold"])
    table.loc[2, column] = cell
    with refuses(DataError, match):
        RatingData.from_frame(table, scale=(0, 100))


def test_grades_are_refused(refuses):
    table = pd.DataFrame({"item": range(20), "annotator": "a", "label": [1, 2, 3, 4, 5] * 4})
    with refuses(DataError, "only 5 different values, '1', '2', '3', '4', '5': .* fit ordinal_dawid_skene"):
        RatingData.from_frame(table, scale=(1, 5))
    with refuses(DataError, "all ratings are 4"):
        RatingData.from_frame(table.assign(label=4.0), scale=(1, 5))
