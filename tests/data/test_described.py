"""What data show of themselves: one short line, and a small table in a notebook."""

import re

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
    "odd names": (make(labels=("no, thanks", "a\nb")), r"AnnotationData: 2 .*; labels 'no, thanks', 'a\\nb'"),
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
    data = make(items=2500, annotators=tuple("abc"), labels=tuple(f"label{number}" for number in range(2000)))
    assert repr(data).startswith("AnnotationData: 2,500 annotations of 2,500 items by 3 annotators; labels label0, ")
    assert repr(data).endswith("label9 and 1,990 more")
    long = make(labels=("x" * 10_000, "y\n" * 10_000))
    both = MultiAnnotationData(by_dimension={f"{number}{'z' * 10_000}": long for number in range(20)})
    for shown in (data, long, both):
        assert len(repr(shown)) < 1000
        assert len(shown._repr_html_()) < 5000
        assert len(repr(shown).splitlines()) == 1


def test_a_notebook_shows_a_table_in_which_names_are_text():
    data = make(labels=("<b>no</b>", "yes"), gold={"s0": "<script>"}, controls={"s1": "<b>no</b>"})
    shown = data._repr_html_()
    assert set(re.findall(r"<(\w+)", shown)) == {"table", "caption", "tbody", "tr", "th", "td"}
    cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", shown)
    assert dict(zip(cells[::2], cells[1::2], strict=True)) == {
        "annotations": "2", "items": "2", "annotators": "2", "labels": "&lt;b&gt;no&lt;/b&gt;, yes",
        "gold": "of 1 item", "controls": "of 1 item",
    }  # fmt: skip
    assert "labels of &lt;i&gt;" in MultiAnnotationData(by_dimension={"<i>": make(), "tone": make()})._repr_html_()
    shown = CountData(items=("a", "b"), successes=[1, 0], trials=[2, 9])._repr_html_()
    assert re.findall(r"<td[^>]*>(.*?)</td>", shown) == ["2", "11", "1"]
