"""Rankings, and the best and the worst of a set, as comparisons with weights."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from tests.io.refused.compared import OF_RANKED, RANKED


def winners(data):
    """(item's question, annotator, the two systems, the better one) for each answer."""
    table = data.to_frame()
    return {
        (row.item.split(":")[0], row.annotator, *sorted((row.first, row.second)),
         {"first": row.first, "second": row.second}.get(row.label, "tie"))
        for row in table.itertuples()
    }  # fmt: skip


def test_a_ranking_is_its_pairs(read):
    data = read(RANKED, **OF_RANKED)
    assert winners(data) == {
        ("1", "ada", "a", "b", "a"), ("1", "ada", "a", "c", "a"), ("1", "ada", "b", "c", "tie"),
        ("1", "bo", "a", "b", "a"), ("1", "bo", "a", "c", "c"), ("1", "bo", "b", "c", "c"),
        ("2", "ada", "a", "c", "c"),
    }  # fmt: skip
    assert not data.has_both_orders
    weights = dict(zip(data.items, data.item_columns["weight"].values, strict=True))
    expected = {"1": 2 * (2 + 3) / (6 + 8), "2": 1.0}  # of rows of three, and of two
    assert weights == pytest.approx({item: expected[item[0]] for item in data.items})


def test_a_tie_does_not_change_its_weight(read):
    data = read("who,order\nada,a > b > c\nbo,a = b = c\ncy,x=1 > b~2\n", ranking="order", annotator="who")
    assert {*data.item_columns["weight"].values[:6]} == {0.75}
    assert {*data.item_columns["first"].levels} == {"a", "b", "c", "x=1", "b~2"}
    assert data.usage[1].tolist() == [0, 0, 3]


@pytest.mark.parametrize("k", [2, 4])
def test_the_weight_is_that_of_the_formula(k):
    names = [f"s{i}" for i in range(k)]
    full = ba.read_annotations(pd.DataFrame({"who": ["ada"], "r": [" > ".join(names)]}), ranking="r", annotator="who")
    np.testing.assert_allclose(full.item_columns["weight"].values, 3 / (k + 1))
    best = pd.DataFrame({"who": ["ada"], "b": names[0], "w": names[-1], "of": ",".join(names)})
    data = ba.read_annotations(best, best_worst="b,w,of", annotator="who")
    assert data.n_annotations == 2 * k - 3
    np.testing.assert_allclose(data.item_columns["weight"].values, (2 * k - 3) / (k - 1) ** 2)


FORMS = {
    "lists": ({"r": ['["b", "a", "c"]']}, {"ranking": "r"}),
    "values with ranks": ({"r": ['[{"value": "a", "rank": 2}, {"value": "b", "rank": 1}, {"value": "c", "rank": 3}]']},
                          {"ranking": "r"}),
    "an object of ranks": ({"r": ['{"a": 2, "b": 1, "c": 3}']}, {"ranking": "r"}),
    "another separator": ({"r": ["b,a,c"]}, {"ranking": "r", "split": ","}),
    "a column for each place": ({"rank_1": ["b"], "rank_2": ["a"], "rank_3": ["c"]}, {"ranking": "rank_*"}),
    "a column for each system": ({"a": [2], "b": [1], "c": [3]}, {"ranks": "a,b,c"}),
    "the best and the worst": ({"best": ["b"], "worst": ["c"], "x": ["a"], "y": ["b"], "z": ["c"]},
                               {"best_worst": "best,worst,x,y,z"}),
}  # fmt: skip


@pytest.mark.parametrize(("columns", "options"), FORMS.values(), ids=FORMS)
def test_forms_of_one_ranking(columns, options):
    data = ba.read_annotations(pd.DataFrame({"who": ["ada"], **columns}), annotator="who", **options)
    assert {each[2:] for each in winners(data)} == {("a", "b", "b"), ("a", "c", "a"), ("b", "c", "b")}


def test_places_are_in_the_order_of_their_numbers():
    frame = pd.DataFrame({"who": ["ada"], **{f"rank_{place}": [f"s{place:02}"] for place in (1, 10, 2)}})
    data = ba.read_annotations(frame, annotator="who", ranking="rank_*")
    assert {each[2:] for each in winners(data)} == {(a, b, a) for a, b in combinations(("s01", "s02", "s10"), 2)}
    named = ba.read_annotations(frame, annotator="who", ranking="rank_2,rank_1")
    assert {each[2:] for each in winners(named)} == {("s01", "s02", "s02")}  # in the order of the option


def test_the_side_of_a_system_does_not_depend_on_the_answer():
    rng = np.random.default_rng(1)
    rows = [(q, "ada", " > ".join(rng.permutation(list("abcd")))) for q in range(300)]
    data = ba.read_annotations(pd.DataFrame(rows, columns=["item", "annotator", "order"]), ranking="order")
    assert (data.usage[0] / data.n_annotations)[0] == pytest.approx(0.5, abs=0.04)
    first = np.array(data.item_columns["first"].names)
    assert {name: int((first == name).sum()) for name in "abcd"} == dict.fromkeys("abcd", 450)
