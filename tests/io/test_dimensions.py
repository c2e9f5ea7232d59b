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
    turned = read_multi_annotations(table, ["polarity", "focus"])
    assert (turned.dimensions, turned.hash == data.hash) == (("polarity", "focus"), False)


def test_a_gold_column_is_of_the_dimension_in_its_name(table):
    focus, polarity = read_multi_annotations(table, ["focus", "polarity"]).by_dimension.values()
    assert (focus.gold, polarity.gold) == ({}, {"s1": "+", "s3": "-"})
    frame = pd.DataFrame({"item": ["1", "1"], "annotator": ["a", "b"], "x": ["u", "v"], "y": ["v", "u"], "gold": "v"})
    assert [part.gold for part in read_multi_annotations(frame, ["x", "y"]).by_dimension.values()] == [{}, {}]


def test_columns_have_other_names_if_it_is_said_which(keep):
    data = read_multi_annotations(keep("who;what;x;y\na;1;u;p\nb;1;v;q\n"), ["x", "y"], item="what", annotator="who")
    assert triples(data.by_dimension["y"]) == [("1", "a", "p"), ("1", "b", "q")]


def test_labels_are_declared_for_some_of_the_dimensions_or_for_all(table):
    labels = {"polarity": ["-", " 0", "+"]}
    focus, polarity = read_multi_annotations(table, ["focus", "polarity"], labels=labels).by_dimension.values()
    assert (focus.labels, polarity.labels) == (("method", "result"), ("-", "0", "+"))
    assert triples(polarity) == [("s1", "ada", "-"), ("s1", "bo", "+"), ("s2", "ada", "+")]
    labels["note"] = ("easy", "nothing said", "hard")
    assert read_multi_annotations(table, ["polarity", "note"], labels=labels).by_dimension["note"].n_labels == 3


def test_a_dimension_with_one_label_is_read_once_its_others_are_declared(table):
    table.write_text(LONG.replace(",nothing said,", ",,"))
    data = read_multi_annotations(table, ["focus", "note"], labels={"note": ["easy", "hard"]})
    assert data.by_dimension["note"].labels == ("easy", "hard")


def test_a_table_is_read_once_whatever_the_number_of_dimensions(table, monkeypatch):
    parsed = []
    real = sources.read_bytes
    monkeypatch.setattr(sources, "read_bytes", lambda *given: parsed.append(given) or real(*given))
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


def test_a_table_item_by_item_is_read_back_in_its_own_order(table, tmp_path):
    """Annotators are not in alphabetical order, and a hash is over orders too."""
    data = read_multi_annotations(table, ["focus", "polarity"])
    known = {name: part.labels for name, part in data.by_dimension.items()}
    data.to_frame().to_csv(tmp_path / "again.csv", index=False)
    again = read_multi_annotations(tmp_path / "again.csv", ["focus", "polarity"], labels=known)
    assert (again.items, again.annotators) == (data.items[:2], data.annotators)  # the third item has no answer
    assert again.to_frame().equals(data.to_frame())
    again.to_frame().to_csv(tmp_path / "again.csv", index=False)
    assert read_multi_annotations(tmp_path / "again.csv", ["focus", "polarity"], labels=known).hash == again.hash


def test_several_answers_to_an_item_have_a_row_each():
    records = [("s1", "ada", "a"), ("s1", "ada", "b"), ("s1", "bo", "a")]
    focus = AnnotationData.from_records(records)
    tone = AnnotationData.from_records([records[0], records[2]], labels=["a", "b"])
    frame = MultiAnnotationData(by_dimension={"focus": focus, "tone": tone}).to_frame()
    assert frame.to_numpy().tolist() == [["s1", "ada", "a", "a"], ["s1", "ada", "b", ""], ["s1", "bo", "a", "a"]]
