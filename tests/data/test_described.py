"""What data show of themselves: one short line, and a small table in a notebook."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from bayesanno import AnnotationData, CountData, MultiAnnotationData


def make(items=2, annotators=("ada", "bo"), labels=("no", "yes"), **known):
    names = tuple(f"s{number}" for number in range(items))
    codes = np.arange(items)
    return AnnotationData(
        item=codes, annotator=codes % len(annotators), label=codes % len(labels), items=names, annotators=annotators,
        labels=labels, **known,
    )  # fmt: skip


DESCRIBED = {
    "annotations": (make(), "AnnotationData: 2 annotations of 2 items by 2 annotators; labels no, yes"),
    "one of each": (make(1, ("ada",)), "AnnotationData: 1 annotation of 1 item by 1 annotator; labels no, yes"),
    "odd names": (make(labels=("no, thanks", "a\nb")), r"AnnotationData: 2 .*; labels 'no, thanks', 'a\\nb'"),
    "one count": (CountData(items=("a",), successes=[1], trials=[1]), "CountData: 1 answer to 1 item, 1 .* positive"),
    "counts": (CountData(items=("a", "b"), successes=[1000, 3], trials=[1234, 5]),
               "CountData: 1,239 answers to 2 items, 1,003 of them positive"),
    "dimensions": (MultiAnnotationData(by_dimension={"focus": make(), "tone, x": make()}),
                   "MultiAnnotationData: 4 annotations of 2 items by 2 annotators in 2 dimensions, focus, 'tone, x'"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "line"), DESCRIBED.values(), ids=DESCRIBED)
def test_one_line_says_what_the_data_are(data, line):
    assert re.fullmatch(line, repr(data))
    assert str(data) == repr(data)


def test_the_line_stays_short_however_many_and_however_long_the_names():
    labels = tuple(f"label{number}" for number in range(20_000))
    data = make(items=25_000, annotators=tuple(f"w{number}" for number in range(1000)), labels=labels)
    expected = "AnnotationData: 25,000 annotations of 25,000 items by 1,000 annotators; labels label0, label1, "
    assert repr(data).startswith(expected)
    assert repr(data).endswith("label9 and 19,990 more")
    long = make(labels=("x" * 10_000, "y\n" * 10_000))
    both = MultiAnnotationData(by_dimension={f"{number}{'z' * 10_000}": long for number in range(20)})
    for shown in (data, long, both):
        assert len(repr(shown)) < 1000
        assert len(shown._repr_html_()) < 5000
        assert len(repr(shown).splitlines()) == 1


class Cells(HTMLParser):
    """The text of each cell of a table, with every tag that was opened."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.cells = set(), []
        self.feed(text)

    def handle_starttag(self, tag, _):
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data


def test_a_notebook_shows_a_table_in_which_names_are_text():
    data = make(labels=("<b>no</b>", 'yes & "no"'), gold={"s0": "<script>"}, controls={"s1": "<b>no</b>"})
    shown = Cells(data._repr_html_())
    assert shown.tags == {"table", "caption", "tbody", "tr", "th", "td"}
    assert dict(zip(shown.cells[::2], shown.cells[1::2], strict=True)) == {
        "annotations": "2", "items": "2", "annotators": "2", "labels": '<b>no</b>, yes & "no"', "gold": "of 1 item",
        "controls": "of 1 item",
    }  # fmt: skip
    both = Cells(MultiAnnotationData(by_dimension={"<i>": make(), "tone": make()})._repr_html_())
    assert both.tags == shown.tags
    assert both.cells[-4:] == ["labels of <i>", "no, yes", "labels of tone", "no, yes"]
    counts = Cells(CountData(items=("a", "b"), successes=[1, 0], trials=[2, 9])._repr_html_())
    assert counts.cells == ["items", "2", "answers (trials)", "11", "positive (successes)", "1"]
