"""What a file holds is found in its content; what is no export, too large or broken is refused in one line."""

import json

import pandas as pd
import pyarrow as pa
import pytest

from bayesanno._core.errors import DataError, DataFileError
from bayesanno.io.added import add_annotations
from bayesanno.io.annotations import read_annotations
from bayesanno.io.exports import document
from bayesanno.io.registry import EXPORTS, FORMAT_NAMES
from tests.samples import tiny_data

LINES = [{"item": "a", "judge": "x", "label": "p"}, {"item": "b", "judge": "y", "label": "q"}]
FRAME = pd.DataFrame(LINES)

NO_EXPORT = {
    "a list that is empty": ("[]", "is JSON without records: known exports are 'lab"),
    "of numbers": ("[1, 2, 3]", "is JSON without objects: known exports are 'lab"),
    "of lists": ("[[1], [2]]", "is JSON without objects"),
    "an object that is empty": ("{}", "is JSON without objects"),
    "another object": ('{"images": [], "annotations": [], "categories": []}',
                       "no field names the item, the annotator: name them .*; the record has nothing but empty"),
    "other objects": ('[{"x": 1}]',
                      "has one column, 'x': a table needs several"),
    "cut off at once": ("[", r"line 1: this is not JSON: expecting value.*\(the file ends here"),
    "cut off between": ('[{"item": 1, "judge": 1, "label": 2},', r"line 1: this is not JSON: .* \(the file ends here"),
    "cut off after one": ('[{"item": 1, "judge": 1, "label": 2}\n', r"a comma or .* missing after \[0\]"),
    "no comma": ('[{"item": 1, "judge": 1, "label": 2}\n{"item": 2}]', r"a comma or .* missing after \[0\]"),
    "more after the list": (json.dumps(LINES) + "\n\n[]", "line 3: text follows the end of the list: write one"),
    "single quotes": ("[{'item': 1}]", "line 1: this is not JSON: expecting property name .*double quotes, column 3"),
    "deep": ("[" * 200_000 + "]" * 200_000, "line 1: this JSON is nested too deeply"),
    "deep, later": (json.dumps(LINES[0]) + "\n" + '{"a":' * 100_000, "line 2: this JSON is nested too deep"),
    "of UTF-16": (json.dumps([{"x": 1}]).encode("utf-16"), "has one column, 'x': a table needs several"),
    "lists that differ": ('{"item": [1, 2], "judge": [1, 2], "label": [1]}', "'label' is shorter than other lists"),
    "objects by numbers": ('{"1": {"x": 1}, "2": {"x": 2}}',
                           "the names 'id', 'x' do not say which columns are annotators"),
    "objects and more": ('{"1": {"item": 1, "judge": 1, "label": 2}, "n": 3}',
                         r"the record has n = 3, 1\.item = 1, 1\.judge = 1"),
    "Latin-1": ('[\n{"item": "é"}]'.encode("latin-1"), "line 2: byte 0xe9 is not UTF-8"),
    "zero byte": (b'[{"item": "\0"}]', "is not a text file: it has a zero byte in line 1"),
    "trailing comma": ('[{"item": 1, "judge": 1, "label": 2},]', "line 1: this is not JSON"),
    "Python": ('[{"item": None}]', "line 1: this is not JSON: expecting value, column 11"),
}  # fmt: skip


@pytest.mark.parametrize("which", NO_EXPORT)
def test_what_is_no_export_is_refused(keep, refuses, which):
    content, match = NO_EXPORT[which]
    with refuses(DataError, rf"answers\.json.*{match}"):
        read_annotations(keep(content, "answers.json"))


def test_a_file_is_known_by_its_content_alone(keep, said):
    expected = [("a", "x", "p"), ("b", "y", "q")]
    as_list, spaced = (
        json.dumps(LINES),
        "\ufeff\n\n" + "\n\n \t".join(json.dumps(each, indent=1) for each in LINES) + "\n\n",
    )
    for content, name in ((as_list, "x.csv"), (spaced, "x"), ("\r\n".join(map(json.dumps, LINES)), "x.parquet")):
        assert said(keep(content, name))[1] == expected
    assert said(keep("item,judge,label\na,x,p\nb,y,q\n", "x.json"))[1] == expected
    as_parquet = keep("", "x.jsonl")
    FRAME.to_parquet(as_parquet)
    assert said(as_parquet)[1] == expected


def test_a_format_that_does_not_fit_is_refused(keep, refuses):
    path = keep(LINES)
    with refuses(
        DataError,
        "does not have the form that format='prodigy' reads, JSONL .*: known exports are 'label-studio', ",
    ):
        read_annotations(path, format="prodigy")
    nested = keep([{"item": "a", "said": [{"judge": "x", "label": "p"}]}], "nested.json")
    with refuses(DataError, "does not have the form that format='argilla' reads, .*: it looks like records, .*; leave"):
        read_annotations(nested, format="argilla")
    assert read_annotations(path, format="long").hash == read_annotations(path).hash  # flat records are a table
    with refuses(DataError, "does not have the form that format='toloka' reads, .*: known exports are .* 'toloka'"):
        read_annotations(keep("item,judge,label\na,x,p\n", "x.csv"), format="toloka")
    with refuses(
        DataError, "there is no format 'label_studio': choose one of 'auto', .*'records'; did you mean 'label-studio'"
    ):
        read_annotations(path, format="label_studio")
    assert set(EXPORTS) < set(FORMAT_NAMES)


@pytest.mark.parametrize("option", ["predictions", "drop_rejected"])
def test_a_plain_table_has_no_use_for_options_of_exports(refuses, option):
    match = rf"the DataFrame is a plain table, and {option}=\.\.\. does not apply to it: leave"
    with refuses(DataError, match):
        read_annotations(FRAME, **{option: True})


def test_a_file_that_is_too_large_is_refused_before_it_is_read(keep, refuses, monkeypatch):
    path = keep(LINES)
    monkeypatch.setattr("bayesanno.io.sources.MOST_BYTES", 50)
    monkeypatch.setattr("bayesanno.io.sources.read_bytes", lambda _: pytest.fail("it was read"))
    with refuses(
        DataError,
        r"export\.json has over 0 MiB, and the limit for JSON and compressed files is .*: export a part",
    ):
        read_annotations(path)
    monkeypatch.undo()
    monkeypatch.setattr("bayesanno.io.sources.MOST_BYTES", 5)
    assert read_annotations(keep("item,judge,label\na,x,p\nb,y,q\n")).n_annotations == 2  # a table may be


def test_records_are_decoded_one_at_a_time():
    read = document.Document.from_json("[" + "{}," * 1000 + "oops]", "x.json").records()
    assert [next(read).place for _ in range(3)] == ["x.json, [0]", "x.json, [1]", "x.json, [2]"]


def test_a_file_that_is_not_there(refuses):
    with refuses(DataFileError, "there is no file 'nowhere.json'"):
        read_annotations("nowhere.json", format="label-studio")


def test_where_a_table_is_needed_an_export_is_refused(keep, refuses):
    path = keep([{"item": "a", "said": [{"judge": "x", "label": "p"}]}])
    for read in (lambda: add_annotations(tiny_data(), path), lambda: read_annotations(FRAME, controls=path),
                 lambda: read_annotations(FRAME, gold_file=path)):  # fmt: skip
        with refuses(
            DataError,
            r"export\.json is JSON with nested fields, but must be a table, as CSV, TSV, Parquet or flat JSON",
        ):
            read()


class Frame:
    """A table of another package, such as one of polars or of Hugging Face's datasets."""

    def __init__(self, table):
        self.table = table

    def to_pandas(self):
        return self.table.to_pandas() if isinstance(self.table, pa.Table) else self.table


class Stream:
    """A table that is given as a stream of Arrow."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_tables_of_other_packages(said, refuses):
    expected = [("a", "x", "p"), ("b", "y", "q")]
    table = pa.Table.from_pylist(LINES)
    encoded = pa.table([column.dictionary_encode() for column in table.columns], names=table.column_names)
    for source in (table, encoded, Frame(table), Frame(FRAME), Stream(table)):
        assert said(source)[1] == expected
    assert said(Stream(table), annotator="{judge}/{item}")[0].annotators == ("x/a", "y/b")
    with refuses(
        DataError, "cannot read annotations from Frame: give a path, '@name', a DataFrame of pandas or polars"
    ):
        read_annotations(Frame([1, 2]))
    with refuses(DataError, r"cannot read annotations from Broken \(AttributeError: no such thing\): give a path"):
        read_annotations(Broken())
    with refuses(DataError, "cannot read annotations from dict: choose one of its parts, 'train', 'test'"):
        read_annotations({"train": Frame(FRAME), "test": Frame(FRAME)})
    with refuses(DataError, "cannot read annotations from a list that is empty"):
        read_annotations([])


class Broken:
    def to_pandas(self):
        raise AttributeError("no such thing\nand more")
