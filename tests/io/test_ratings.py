"""Ratings from tables of every shape, with known values and columns beside them."""

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError
from bayesanno.io.ratings import read_ratings

WIDE = pd.DataFrame({"item": [f"s{n}" for n in range(9)], "ada": [*range(0, 90, 10)], "bo": [99.5, *[None] * 8]})
LONG = WIDE.melt("item", var_name="rater", value_name="score").dropna()


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (WIDE, {"columns": "ada,bo"}),
        (LONG, {"label": "score", "annotator": "rater"}),
        ([{"id": one.item, "marks": [{"by": one.rater, "is": one.score}]} for one in LONG.itertuples()],
         {"item": "id", "annotator": "marks[].by", "label": "marks[].is"}),
    ],
)  # fmt: skip
def test_tables_of_all_shapes_are_read(source, options):
    data = read_ratings(source, scale=(0, 100), **options)
    rated = {
        (data.items[i], data.annotators[j]): x for i, j, x in zip(data.item, data.annotator, data.value, strict=True)
    }
    assert rated == {(one.item, one.rater): one.score for one in LONG.itertuples()}
    assert data.scale == (0, 100)


def test_known_values_and_columns_are_beside(tmp_path):
    gold, items = tmp_path / "gold.csv", tmp_path / "items.csv"
    gold.write_text("item,gold\ns1,12.5\n")
    items.write_text("item,length\n" + "".join(f"s{n},{n}\n" for n in range(10)))
    data = read_ratings(WIDE, columns="ada,bo", gold_file=gold, controls={"s2": 150}, items=items, without="bo")
    assert (data.gold, data.controls, data.annotators) == ({"s1": 12.5}, {"s2": 150.0}, ("ada",))
    assert data.items[-1] == "s9"  # without ratings
    assert data.item_columns["length"].values.tolist() == [*range(10)]
    assert read_ratings(WIDE, columns="ada,bo", controls=gold).controls == {"s1": 12.5}


def test_errors_have_the_place(refuses, tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("item,rater,score\n" + "".join(f"s{n},ada,{'n/a' if n == 4 else n}\n" for n in range(9)))
    with refuses(DataError, r"scores.csv, line 6: the rating 'n/a' is no number.*missing='n/a'"):
        read_ratings(path, annotator="rater", label="score")
    assert read_ratings(path, annotator="rater", label="score", missing="n/a").n_annotations == 8
    with refuses(DataError, "scores.csv, line 9: the rating 7 is outside the scale from 0 to 6"):
        read_ratings(path, annotator="rater", label="score", missing="n/a", scale=(0, 6))
    with refuses(DataError, "control: item 's11' is not among the items"):
        read_ratings(WIDE, columns="ada,bo", controls={"s11": 3})


def test_most_ratings_may_be_different(tmp_path, rng):
    table = pd.DataFrame({"rater_1": rng.normal(50, 9, 40), "rater_2": rng.normal(50, 9, 40)}).rename_axis("item")
    wide, long, words = (tmp_path / f"{name}.csv" for name in ("wide", "long", "words"))
    table.to_csv(wide)
    answers = table.stack().rename_axis(["item", "rater"]).rename("score").reset_index()
    answers.to_csv(long, index=False)
    for source in (wide, long, table.reset_index(), answers):
        assert np.sort(read_ratings(source).value) == pytest.approx(np.sort(table.to_numpy().ravel()))
        with pytest.raises(DataError, match="may not hold labels"):
            ba.read_annotations(source)
    answers.assign(score=[f"text {row}" for row in answers.index]).to_csv(words, index=False)
    with pytest.raises(DataError, match="'text 0'"):
        read_ratings(words)
