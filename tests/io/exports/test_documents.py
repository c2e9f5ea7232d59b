"""What a file holds is found in its content; what is no export, too large or broken is refused in one line."""

import json
from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pytest

from bayesanno._core.messages import DataError
from bayesanno.io.beside import add_annotations
from bayesanno.io.read import read_annotations
from tests.io.cases import refusing
from tests.samples import tiny_data

LINES = [{"item": "a", "judge": "x", "label": "p"}, {"item": "b", "judge": "y", "label": "q"}]
FRAME = pd.DataFrame(LINES)

ONE = '{"item": 1, "judge": 1, "label": 2}'
test_what_is_no_export_is_refused = refusing({
    "a list that is empty": ("[]", "is JSON without records"),
    "of numbers": ("[1, 2, 3]", r"\[0\]: this is no object"),
    "another object": ('{"images": [], "annotations": []}', "no field names the item, the annotator"),
    "cut off at once": ("[", r"line 1: this is not JSON: expecting value.*\(the file ends here"),
    "no comma": (f'[{ONE}\n{{"item": 2}}]', "this is not JSON: expecting ',' delimiter"),
    "more after the list": (json.dumps(LINES) + "\n\n[]", "line 3: text follows the end of the list"),
    "deep": ("[" * 200_000 + "]" * 200_000, "line 1: this JSON is nested too deeply"),
    "lists that differ": ('{"item": [1, 2], "judge": [1, 2], "label": [1]}', "'label' is shorter than other lists"),
    "objects and more": (f'{{"1": {ONE}, "n": 3}}', "no field names the item"),
}, "answers.json")  # fmt: skip
SPACED = "\ufeff\n\n" + "\n\n \t".join(json.dumps(each, indent=1) for each in LINES) + "\n\n"
NAMED = {
    "x.csv": json.dumps(LINES), "x": SPACED, "x.parquet": "\r\n".join(map(json.dumps, LINES)),
    "x.json": "item,judge,label\na,x,p\nb,y,q\n",
}  # fmt: skip


@pytest.mark.parametrize("name", [*NAMED, "x.jsonl"])
def test_a_file_is_known_by_its_content_alone(keep, said, name):
    path = keep(NAMED.get(name, ""), name)
    if name not in NAMED:
        FRAME.to_parquet(path)
    assert said(path)[1] == [("a", "x", "p"), ("b", "y", "q")]


test_a_format_that_does_not_fit_is_refused = refusing({
    "records": (LINES, {"format": "prodigy"}, "does not have the form of prodigy"),
    "nested": ([{"item": "a", "said": LINES}], {"format": "argilla"}, "does not have the form of argilla"),
    "a table": ("item,judge,label\na,x,p\n", {"format": "toloka"}, "does not have the form of toloka"),
}, "export.json")  # fmt: skip


def test_flat_records_are_a_table(keep):
    path = keep(LINES)
    assert read_annotations(path, format="long").hash == read_annotations(path).hash


def test_a_file_that_is_too_large_is_refused_before_it_is_read(keep, refuses, monkeypatch):
    path = keep(LINES)
    monkeypatch.setattr("bayesanno.io.sources.MOST_BYTES", 50)
    with refuses(DataError, r"export\.json has over 0 MiB, and the limit for JSON and compressed files is"):
        read_annotations(path)
    monkeypatch.undo()
    monkeypatch.setattr("bayesanno.io.sources.MOST_BYTES", 5)
    assert read_annotations(keep("item,judge,label\na,x,p\nb,y,q\n")).n_annotations == 2  # a table may be


@pytest.mark.parametrize("role", ["controls", "gold_file", "more"])
def test_where_a_table_is_needed_an_export_is_refused(keep, refuses, role):
    path = keep([{"item": "a", "said": [LINES[0]]}])
    with refuses(DataError, r"export\.json is JSON with nested fields, but must be a table"):
        add_annotations(tiny_data(), path) if role == "more" else read_annotations(FRAME, **{role: path})


def frame(table):
    """A table of another package, such as one of polars or of Hugging Face's datasets."""
    return SimpleNamespace(to_pandas=lambda: table)


class Stream:
    """A table that is given as a stream of Arrow."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_tables_of_other_packages(said):
    expected = [("a", "x", "p"), ("b", "y", "q")]
    table = pa.Table.from_pylist(LINES)
    encoded = pa.table([column.dictionary_encode() for column in table.columns], names=table.column_names)
    for source in (table, encoded, frame(FRAME), Stream(table)):
        assert said(source)[1] == expected
    assert said(Stream(table), annotator="{judge}/{item}")[0].annotators == ("x/a", "y/b")


class Broken:
    def to_pandas(self):
        raise AttributeError("no such thing\nand more")


test_other_sources_are_refused = refusing({
    "no table": (frame([1, 2]), "from SimpleNamespace: give a path, '@name', a DataFrame"),
    "broken": (Broken(), r"from Broken \(AttributeError: no such thing\): give a path"),
    "several": ({"train": frame(FRAME), "test": frame(FRAME)}, "from dict: choose one of its parts, 'train', 'test'"),
    "nothing": ([], "from a list that is empty"),
})  # fmt: skip
