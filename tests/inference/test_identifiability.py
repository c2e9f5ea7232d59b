"""What a design cannot tell is said, and nothing is said of a design that can."""

import warnings

import pytest

import bayesanno as ba
from bayesanno.ground.errors import IdentifiabilityWarning
from bayesanno.inference.diagnosis.design import design_problems, warn_of_design
from tests.samples import tiny_data


def answers(*pairs):
    """A table from texts such as "1ab": item 1, annotators a and b."""
    return [(text[0], who, "xy"[k % 2]) for text in pairs for k, who in enumerate(text[1:])]


ALONE = "every item has only one annotator: annotators cannot be compared, so competence follows its prior"
FEW = "agreement of fewer than three does not show who is right, so competence rests on its prior"
PIECES = "groups with nothing in common"

DESIGNS = {
    "three on one item": (answers("1abc"), []),
    "a chain": (answers("1ab", "2bc", "3cd"), []),
    "one answer per item": (answers("1a", "2b", "3c"), [ALONE, PIECES]),
    "one answer per item, one annotator": ([("1", "a", "x"), ("2", "a", "y")], [ALONE, "there is only 1 annotator: "]),
    "the same annotator twice": ([("1", "a", "x"), ("1", "a", "y"), ("2", "b", "y"), ("3", "c", "y")], [ALONE, PIECES]),
    "two annotators": (answers("1ab", "2ab"), ["there are only 2 annotators: " + FEW]),
    "two groups": (answers("1abc", "2def", "3de"), ["into 2 " + PIECES]),
    "one group apart": (answers("1abc", "2bcd", "3ef"), ["around annotator 'e'"]),
}


@pytest.mark.parametrize("design", DESIGNS)
def test_what_a_design_cannot_tell_is_said(design):
    records, expected = DESIGNS[design]
    found = design_problems(ba.AnnotationData.from_records(records, labels=["x", "y"]))
    assert len(found) == len(expected)
    assert all(part in problem for part, problem in zip(expected, found, strict=True))


def test_annotators_are_compared_with_known_labels():
    records = answers("1a", "2b", "3c")
    known = ba.AnnotationData.from_records(records, labels=["x", "y"], controls={"1": "x", "2": "x", "3": "y"})
    assert design_problems(known) == []
    some = ba.AnnotationData.from_records(records, labels=["x", "y"], controls={"1": "x", "2": "x"})
    assert ALONE in design_problems(some)[0]


def test_items_and_annotators_without_annotations_change_nothing():
    data = tiny_data()
    more = ba.AnnotationData(
        item=data.item, annotator=data.annotator, label=data.label, items=(*data.items, "silent"),
        annotators=(*data.annotators, "nobody"), labels=data.labels,
    )  # fmt: skip
    assert design_problems(data) == design_problems(more) == []


def test_each_problem_is_a_warning_of_its_own_kind():
    data = ba.AnnotationData.from_records(answers("1a", "2b", "3c"), labels=["x", "y"])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        problems = warn_of_design(data)
    assert [str(warning.message) for warning in seen] == problems
    assert {warning.category for warning in seen} == {IdentifiabilityWarning}
    assert len(problems) == 2
