"""What a design cannot tell is said, and nothing is said of a design that can."""

import pytest

import bayesanno as ba
from bayesanno.inference.diagnosis.design import find_in_design
from tests.samples import tiny_data


def answers(*pairs):
    """A table from texts such as "1ab": item 1, annotators a and b."""
    return [(text[0], who, "xy"[k % 2]) for text in pairs for k, who in enumerate(text[1:])]


ALONE, FEW, PIECES = "design-one-answer", "design-few-annotators", "design-groups-apart"

DESIGNS = {
    "three on one item": (answers("1abc"), []),
    "a chain": (answers("1ab", "2bc", "3cd"), []),
    "one answer per item": (answers("1a", "2b", "3c"), [ALONE, PIECES]),
    "one answer per item, one annotator": ([("1", "a", "x"), ("2", "a", "y")], [ALONE, FEW]),
    "the same annotator twice": ([("1", "a", "x"), ("1", "a", "y"), ("2", "b", "y"), ("3", "c", "y")], [ALONE, PIECES]),
    "two annotators": (answers("1ab", "2ab"), [FEW]),
    "two groups": (answers("1abc", "2def", "3de"), [PIECES]),
    "one group apart": (answers("1abc", "2bcd", "3ef"), [PIECES]),
}


@pytest.mark.parametrize("design", DESIGNS)
def test_what_a_design_cannot_tell_is_said(design):
    records, expected = DESIGNS[design]
    found = find_in_design(ba.AnnotationData.from_records(records, labels=["x", "y"]))
    assert [one.code for one in found] == expected
    if design == "one group apart":
        assert (found[0].about, found[0].value) == (("e",), 2)  # the smallest is named


def test_annotators_are_compared_with_known_labels():
    records = answers("1a", "2b", "3c")
    known = ba.AnnotationData.from_records(records, labels=["x", "y"], controls={"1": "x", "2": "x", "3": "y"})
    assert find_in_design(known) == []
    some = ba.AnnotationData.from_records(records, labels=["x", "y"], controls={"1": "x", "2": "x"})
    assert find_in_design(some)[0].code == ALONE


def test_items_and_annotators_without_annotations_change_nothing():
    data = tiny_data()
    more = ba.AnnotationData(
        item=data.item, annotator=data.annotator, label=data.label, items=(*data.items, "silent"),
        annotators=(*data.annotators, "nobody"), labels=data.labels,
    )  # fmt: skip
    assert find_in_design(data) == find_in_design(more) == []
