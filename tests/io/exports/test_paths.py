"""Paths into nested records: the shapes in which data of judgements are published, and what is refused."""

import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesanno._core.errors import DataError
from bayesanno.io.annotations import read_annotations
from bayesanno.io.dimensions import read_multi_annotations
from bayesanno.io.exports.paths import Rows, show_paths
from bayesanno.io.exports.value import Value
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


TAGGED = {"task": 1, "votes": [{"by": "x", "tags": ["p", "q"]}, {"by": "y", "tags": []}, {"by": "z"}]}


def test_several_labels_of_one_answer_are_yes_or_no_to_each(said):
    answers = [("1 / p", "x", "yes"), ("1 / q", "x", "yes"), ("1 / p", "y", "no"), ("1 / q", "y", "no")]
    assert said([TAGGED], multi_label=True, annotator="votes[].by", label="votes[].tags[]")[1] == answers


def test_dimensions_are_paths(keep):
    records = [{"id": n, "experts": [{"coherence": 2, "fluency": n}, {"coherence": 4, "fluency": 3}]} for n in (1, 2)]
    names = ["experts[].coherence", "experts[].fluency"]
    for source in (records, keep(records)):
        both = read_multi_annotations(source, names, annotator="experts[]#")
        assert {name: part.labels for name, part in both.by_dimension.items()} == {
            names[0]: ("2", "4"), names[1]: ("1", "2", "3")
        }  # fmt: skip


def test_systems_that_are_compared_may_be_paths(said):
    sides = {"a": "llama", "b": "opt"}
    battles = [{"q": n, "battle": sides, "votes": [{"by": "x", "better": who}, {"by": "y", "better": "b"}]}
               for n, who in ((1, "a"), (2, "b"))]  # fmt: skip
    named = {"item": "q", "annotator": "votes[].by", "label": "votes[].better", "pairs": "battle.a,battle.b"}
    data, answers = said(battles, format="records", **named)
    assert answers == [("1", "x", "battle.a"), ("1", "y", "battle.b"), ("2", "x", "battle.b"), ("2", "y", "battle.b")]
    assert data.item_columns["battle.a"].names == ["llama", "llama"]


def test_a_name_with_signs_of_paths_is_a_name(said):
    rows = [{"item": "t", "who[]": "x", "a.b": "p"}, {"item": "t", "who[]": "y", "a.b": "q"}]
    for source in (rows, pd.DataFrame(rows)):
        assert said(source, annotator="who[]", label="a.b")[1] == [("t", "x", "p"), ("t", "y", "q")]


LIST = [judged("t1", 4, 2)]
SIDE_BY_SIDE = [{"id": 1, "who": ["x", "y"], "score": [1, 2]}]
BY, SCORE = "votes[].by", "votes[].score"
WRONG = {
    "no field": (LIST, "votes[].judge", SCORE, r"the list, \[0\]\.votes\[0\]: there is no field 'votes\[\]\.judge'"),
    "a typo": (LIST, BY, "votes[].scor", r"did you mean 'votes\[\]\.score'"),
    "no list": (LIST, "vote[].by", "vote[].score", r"\[0\]: there is no field 'vote\[\]\.by' among 'task', 'votes'"),
    "a list without brackets": (LIST, "votes.by", "votes.score", r"votes is a list: write votes\[\]\.(by|score)"),
    "an object with brackets": ([{"task": 1, "votes": {"x": 1}}], "votes[]#", "votes[]", r"votes is an object, but"),
    "a list with braces": (LIST, "votes{}#", "votes{}", r"votes is a list, but must be an object: write votes\[\]"),
    "different lists": (SIDE_BY_SIDE, "who[]", "score[]", r"different lists: .*, name them as annotator='who' and"),
    "a label outside": (LIST, BY, "task", r"'task' is one value for each 'votes\[\]': let label go through"),
    "no path": (LIST, "votes[x].by", SCORE, r"'votes\[x\]\.by' is neither a field nor a path"),
    "a number of nothing": (LIST, "task#", SCORE, "'task#' is neither a field nor a path"),
    "a number of no list": (SIDE_BY_SIDE, "id[]", "id[]", r"\[0\]: id is a number, but must be a list"),
    "nothing": (LIST, "", SCORE, "'' is neither a field nor a path"),
    "an element that is none": ([judged("t1", 4), {"task": "t2", "votes": [3]}], BY, SCORE,
                                r"\[1\]\.votes\[0\]: this is a number, but must be an object"),
    "no annotator": ([{"task": 1, "votes": [{"by": None, "score": 3}]}], BY, SCORE, "label '3' has no annotator"),
    "no JSON": ([{"task": 1, "votes": "[{"}], BY, SCORE, r"\[0\]\.votes: this is not JSON: '\[\{'"),
    "a text": ([{"task": 1, "votes": "x"}], BY, SCORE, r"\[0\]: votes is a text, but must be a"),
    "several labels": ([TAGGED], BY, "votes[].tags[]", r"\[0\]\.votes\[0\]: an answer to item '1' has 2 labels"),
}  # fmt: skip


@pytest.mark.parametrize("which", WRONG)
def test_what_is_wrong_is_named_with_its_place(refuses, which):
    records, annotator, label, match = WRONG[which]
    with refuses(DataError, match):
        read_annotations(records, annotator=annotator, label=label, format="records")


def test_an_unknown_form_is_shown_as_paths_to_copy(keep, said):
    judged_by = {"by": {"name": "x"}, "score": 4, "why": "because it is long enough to be cut somewhere in the middle"}
    record = {"uid": "u1", "text": "a" * 99, "rounds": [{"votes": [judged_by]}], "n": None, "raw": '{"k": [1]}'}
    assert show_paths(record) == (
        "uid = 'u1', raw.k[] = 1, rounds[].votes[].score = 4, rounds[].votes[].by.name = 'x', text = "
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..., rounds[].votes[].why = 'because it is long enough to be cut ..."
    )
    named = {"item": "uid", "annotator": "rounds[].votes[].by.name", "label": "rounds[].votes[].score"}
    assert said(keep([record]), labels=["3", "4"], **named)[1] == [("u1", "x", "4")]
    many = {f"f{n}": n for n in range(30)}
    assert show_paths(many).endswith("f9 = 9 and 20 more")


names = st.sampled_from(["a", "b", "c d"])
values = st.recursive(
    st.integers(0, 3) | st.text("xy", min_size=1, max_size=2),
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(names, inner, min_size=1, max_size=3),
    max_leaves=8,
)


def leaves(value, path=""):
    """All values at the ends of a structure, each with the path that leads there and to its neighbours in lists."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part, f"{path}[]")
    else:
        yield path, value


@given(record=st.dictionaries(names, values, min_size=1, max_size=3))
def test_a_path_leads_to_all_values_that_have_it(record):
    every = list(leaves(record))
    for path in {path for path, _ in every}:
        ends = [value for own, value in every if own == path]
        lists = path.count("[]")
        try:
            rows = list(Rows({"what": path}, record, inner="").read(Value("here", record)))
        except DataError:
            continue  # another element of a list is no object, or no list, where the path goes on
        found = [row.what.given for row in rows if row.what.given is not None]
        assert [value for value in found if not isinstance(value, list | dict)] == ends or not lists
