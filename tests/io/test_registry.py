"""A format is one file and a line in the registry: what a new one takes is shown here."""

import pandas as pd

from bayesanno import read_annotations
from bayesanno.ground.errors import DataError
from bayesanno.io import annotations, read_options, registry
from bayesanno.io.columns import Format
from bayesanno.io.formats.long import find_long_columns, read_rows

NAMED = {"item": "sentence", "annotator": "by", "label": "says"}
BATCH = pd.DataFrame({"sentence": ["a", "a"], "by": ["x", "y"], "says": ["no", "yes"], "known": "?"})


SURVEY = Format(
    "survey",
    lambda table, _: set(NAMED.values()) <= set(table.header),
    lambda table, _: read_rows(table, find_long_columns(table, NAMED)),
)


def test_a_new_format_is_one_more_line(monkeypatch, refuses):
    formats = {"survey": f"{__name__}:SURVEY", **registry.FORMATS}
    monkeypatch.setattr(annotations, "FORMATS", formats)
    monkeypatch.setattr(read_options, "FORMAT_NAMES", ("auto", *formats))
    for name in ("auto", "survey"):
        data = read_annotations(BATCH, format=name)
        assert (data.items, data.annotators, data.labels) == (("a",), ("x", "y"), ("no", "yes"))
    with refuses(DataError, "there is no format 'suvrey': choose one of .*'survey', 'snow', .*; did you mean 'survey'"):
        read_annotations(BATCH, format="suvrey")


def test_whatever_a_table_looks_like_a_format_can_be_named():
    table = pd.DataFrame({"item": ["a", "b"], "annotator": ["no", "no"], "label": ["yes", "no"]})
    assert read_annotations(table).annotators == ("no",)
    assert read_annotations(table, format="wide").annotators == ("annotator", "label")
