"""Paths into nested records: the shapes in which data of judgements are published, and what is refused."""

import json

import pandas as pd
import pytest

from bayesanno._core.messages import DataError
from bayesanno.io.read import read_annotations, read_multi_annotations
from tests.io.exports.shapes import SHAPES, judged


@pytest.mark.parametrize("which", SHAPES)
def test_three_paths_read_each_published_shape(keep, said, which):
    content, options, answers = SHAPES[which]
    options = {"labels": sorted({label for *_, label in answers} | {"none"}), **options}
    for source in (content, keep(content)):
        assert said(source, **options)[1] == answers
    if isinstance(content, list):
        assert said(keep(content, "x.jsonl", lines=True), **options)[1] == answers
        assert said(pd.DataFrame(content), **options)[1] == answers
        as_text = pd.DataFrame(content).map(lambda cell: json.dumps(cell) if isinstance(cell, list | dict) else cell)
        assert said(keep(as_text.to_csv(index=False), "x.csv"), **options)[1] == answers


def test_a_list_that_is_empty_declares_what_is_outside_of_it(said):
    data, _ = said([judged("t1", 4, 2), judged("t2"), {"task": "t3"}], annotator="votes[].by", label="votes[].score")
    assert (data.items, data.n_annotations) == (("t1", "t2", "t3"), 2)


def test_gold_is_a_path_too(said):
    records = [{**judged("t1", 4, 2), "meta": {"gold": 4}}, {**judged("t2", 4, 4), "meta": {}}]
    assert said(records, annotator="votes[].by", label="votes[].score", gold="meta.gold")[0].gold == {"t1": "4"}


def test_dimensions_are_paths(keep):
    records = [{"id": n, "experts": [{"coherence": 2, "fluency": n}, {"coherence": 4, "fluency": 3}]} for n in (1, 2)]
    names = ["experts[].coherence", "experts[].fluency"]
    for source in (records, keep(records)):
        both = read_multi_annotations(source, names, annotator="experts[]#")
        assert {name: part.labels for name, part in both.by_dimension.items()} == {
            names[0]: ("2", "4"), names[1]: ("1", "2", "3")
        }  # fmt: skip


def test_a_name_with_signs_of_paths_is_a_name(said):
    rows = [{"item": "t", "who[]": "x", "a.b": "p"}, {"item": "t", "who[]": "y", "a.b": "q"}]
    for source in (rows, pd.DataFrame(rows)):
        assert said(source, annotator="who[]", label="a.b")[1] == [("t", "x", "p"), ("t", "y", "q")]


LIST = [judged("t1", 4, 2)]
SIDE_BY_SIDE = [{"id": 1, "who": ["x", "y"], "score": [1, 2]}]
BY, SCORE = "votes[].by", "votes[].score"
WRONG = {
    "no field": (LIST, "votes[].judge", SCORE, r"the list, \[0\]: there is no field 'votes\[\]\.judge'"),
    "a typo": (LIST, BY, "votes[].scor", r"did you mean 'votes\[\]\.score'"),
    "a list without brackets": (LIST, "votes.by", "votes.score", r"there is a list before '(by|score)': write"),
    "an object with brackets": ([{"task": 1, "votes": {"x": 1}}], "votes[]#", "votes[]", r"votes is an object, but"),
    "a list with braces": (LIST, "votes{}#", "votes{}", r"votes is a list, but must be an object: write votes\[\]"),
    "different lists": (SIDE_BY_SIDE, "who[]", "score[]", "are different lists: all paths go through one list"),
    "a label outside": (LIST, BY, "task", r"'task' is one value for each 'votes\[\]': let label go through"),
    "no path": (LIST, "votes[x].by", SCORE, r"'votes\[x\]\.by' is neither a field nor a path"),
    "a number of no list": (SIDE_BY_SIDE, "id[]", "id[]", r"\[0\]: id is a number, but must be a list"),
    "an element that is none": ([judged("t1", 4), {"task": "t2", "votes": [3]}], BY, SCORE,
                                r"\[1\]: this is a number, but must be an object"),
}  # fmt: skip


@pytest.mark.parametrize("which", WRONG)
def test_what_is_wrong_is_named_with_its_place(refuses, which):
    records, annotator, label, match = WRONG[which]
    with refuses(DataError, match):
        read_annotations(records, annotator=annotator, label=label, format="records")
