"""What a design cannot tell is said, and nothing is said of a design that can."""

import pytest

import bayesanno as ba
from bayesanno.inference.diagnosis.findings import find_in_design
from tests.samples import tiny_data

ALONE, FEW, PIECES = "design-one-answer", "design-few-annotators", "design-groups-apart"
DESIGNS = [  # "1ab": item 1, annotators a and b; with known labels of items; and what is said
    (["1abc"], {}, []),
    (["1ab", "2bc", "3cd"], {}, []),
    (["1a", "2b", "3c"], {}, [ALONE, PIECES]),
    (["1a", "2a"], {}, [ALONE, FEW]),
    (["1aa", "2b", "3c"], {}, [ALONE, PIECES]),
    (["1ab", "2ab"], {}, [FEW]),
    (["1abc", "2def", "3de"], {}, [PIECES]),
    (["1abc", "2bcd", "3ef"], {}, [PIECES]),
    (["1a", "2b", "3c"], {"1": "x", "2": "x", "3": "y"}, []),  # annotators are compared with what is known
    (["1a", "2b", "3c"], {"1": "x", "2": "x"}, [ALONE, PIECES]),
]


@pytest.mark.parametrize(("design", "known", "expected"), DESIGNS)
def test_what_a_design_cannot_tell_is_said(design, known, expected):
    records = [(text[0], who, "xy"[k % 2]) for text in design for k, who in enumerate(text[1:])]
    found = find_in_design(ba.AnnotationData.from_records(records, labels=["x", "y"], controls=known))
    assert [one.code for one in found] == expected
    if "3ef" in design:
        assert (found[0].about, found[0].value) == (("e",), 2)  # the smallest group is named


def test_items_and_annotators_without_annotations_change_nothing():
    data = tiny_data()
    more = ba.AnnotationData(
        item=data.item, annotator=data.annotator, label=data.label, items=(*data.items, "silent"),
        annotators=(*data.annotators, "nobody"), labels=data.labels,
    )  # fmt: skip
    assert find_in_design(data) == find_in_design(more) == []
