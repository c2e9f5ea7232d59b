"""Several dimensions from a table to a table: what is read, and what is written."""

import pandas as pd
import pytest

from bayesanno import AnnotationData, MultiAnnotationData, read_multi_annotations
from bayesanno.io import sources
from bayesanno.io.write import write_table

LONG = """item,annotator,focus,polarity,note,gold_polarity
s1,bo,method,+,easy,+
s1,ada,method,-,,+
s2,ada,,+,,
s2,cy,result,,,
s3,cy,,,nothing said,-
"""


def triples(data):
    """Return the answers as triples of item, annotator and label."""
    return sorted(map(tuple, data.to_frame()[["item", "annotator", "label"]].to_numpy()))


@pytest.fixture
def table(keep):
    return keep(LONG, "fragments.csv")


def test_each_label_column_is_a_dimension_and_an_empty_cell_no_annotation(table):
    data = read_multi_annotations(table, ["focus", "polarity"])
    assert data.dimensions == ("focus", "polarity")
    assert (data.items, data.annotators) == (("s1", "s2", "s3"), ("bo", "ada", "cy"))
    focus, polarity = data.by_dimension.values()
    assert (focus.labels, polarity.labels) == (("method", "result"), ("+", "-"))
    assert triples(focus) == [("s1", "ada", "method"), ("s1", "bo", "method"), ("s2", "cy", "result")]
    assert triples(polarity) == [("s1", "ada", "-"), ("s1", "bo", "+"), ("s2", "ada", "+")]
    assert read_multi_annotations(table, ["polarity", "focus"]).hash != data.hash


def test_a_gold_column_is_of_the_dimension_in_its_name(table):
    focus, polarity = read_multi_annotations(table, ["focus", "polarity"]).by_dimension.values()
    assert (focus.gold, polarity.gold) == ({}, {"s1": "+", "s3": "-"})
    frame = pd.DataFrame({"item": ["1", "1"], "annotator": ["a", "b"], "x": ["u", "v"], "y": ["v", "u"], "gold": "v"})
    assert [part.gold for part in read_multi_annotations(frame, ["x", "y"]).by_dimension.values()] == [{}, {}]


def test_labels_are_declared_for_some_of_the_dimensions_or_for_all(table):
    labels = {"polarity": ["-", " 0", "+"]}
    focus, polarity = read_multi_annotations(table, ["focus", "polarity"], labels=labels).by_dimension.values()
    assert (focus.labels, polarity.labels) == (("method", "result"), ("-", "0", "+"))
    assert triples(polarity) == [("s1", "ada", "-"), ("s1", "bo", "+"), ("s2", "ada", "+")]


def test_a_table_is_read_once_whatever_the_number_of_dimensions(table, monkeypatch):
    parsed = []
    real = sources._read
    monkeypatch.setattr(sources, "_read", lambda *given: parsed.append(given) or real(*given))
    read_multi_annotations(table, ["focus", "polarity", "note"])
    assert len(parsed) == 1


@pytest.mark.parametrize("name", ["fragments.csv", "fragments.tsv"])
def test_what_was_written_is_read_back(tmp_path, name):
    """Empty cells, and names that must be quoted."""
    shared = {"items": ("s1", "of, s2", "s3"), "annotators": ("bo", 'a "d" a', "cy")}
    focus = AnnotationData(
        item=[0, 1, 1, 2], annotator=[0, 1, 0, 2], label=[1, 0, 1, 1], labels=("a;b", "c"), gold={"s3": "c"}, **shared
    )
    polarity = AnnotationData(item=[2, 0, 1], annotator=[2, 2, 1], label=[0, 1, 1], labels=("+", "-"), **shared)
    data = MultiAnnotationData(by_dimension={"focus": focus, "polarity": polarity})
    assert data.to_frame().columns.tolist() == ["item", "annotator", "focus", "polarity", "gold_focus"]
    assert len(data.to_frame()) == 5  # who answered which item in any dimension
    write_table(data.to_frame(), tmp_path / name)
    again = read_multi_annotations(tmp_path / name, data.dimensions)
    assert (again.items, sorted(again.annotators)) == (data.items, sorted(data.annotators))
    for dimension, part in data.by_dimension.items():
        found = again.by_dimension[dimension]
        assert (triples(found), found.labels, found.gold) == (triples(part), part.labels, part.gold)
