"""Pairs of answers where an item has very many: each is counted, and more than memory holds are refused."""

import numpy as np

import bayesanno as ba
from bayesanno._core.messages import DataError
from bayesanno.agreement.pairs import match_labels


def count_both(data):
    """How often the first of two annotators gave the one label (rows) where the second gave the other."""
    table, (*_, label_1, label_2, times) = np.zeros((2, 2)), match_labels(data)
    np.add.at(table, (label_1, label_2), times)
    return table.tolist()


def test_an_answer_given_many_times_counts_as_many_in_little_memory():
    few = [("i", "a", "x"), ("i", "a", "y"), ("i", "b", "x"), ("j", "a", "y"), ("j", "b", "y")]
    times = [3, 1, 2, 1, 1]
    many = [record for record, n in zip(few, times, strict=True) for _ in range(n)]
    # by hand: of i 3 x 2 pairs say x and x, 1 x 2 y and x; of j 1 y and y
    assert count_both(ba.AnnotationData.from_records(many)) == [[6, 0], [2, 1]]
    data = ba.AnnotationData(
        item=np.zeros(200_000, dtype=int), annotator=np.arange(200_000) % 2, label=np.arange(200_000) // 2 % 2,
        items=("i",), annotators=("a", "b"), labels=("x", "y"),
    )  # fmt: skip
    assert count_both(data) == [[2.5e9, 2.5e9], [2.5e9, 2.5e9]]
    assert ba.pair_table(data)["agreement"].tolist() == [0.5]


def test_more_pairs_of_answers_than_memory_holds_are_refused(refuses, monkeypatch):
    said = {"i": "a b c d", "j": "a b"}
    data = ba.AnnotationData.from_records(
        [(item, who, "xy"[who in "ab"]) for item in said for who in said[item].split()]
    )
    monkeypatch.setattr("bayesanno.data.patterns.MOST_MATCHES", 7)
    assert len(ba.pair_table(data)) == 6
    monkeypatch.setattr("bayesanno.data.patterns.MOST_MATCHES", 6)
    with refuses(DataError, "with up to 4 answers to an item there are 7 pairs of answers, and the limit is 6: leave"):
        ba.agreement_table(data)
