"""Tables as they come: with quotes that are text, packed, in other encodings, and as workbooks of Excel."""

import csv
import datetime
import gzip
import io
import json
import re
import zipfile

import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesanno._core.messages import DataError, ExtraError
from bayesanno.io.beside import add_annotations
from bayesanno.io.read import read_annotations
from bayesanno.io.sources import open_source
from tests.io.cases import reading, refusing

TRIPLES = [("1", "ada", "né"), ("1", "bo", "oui"), ("2", "ada", "oui")]
HEAD = ["item", "annotator", "label"]
RECORDS = [dict(zip(HEAD, each, strict=True)) for each in TRIPLES]
TEXT = "item,annotator,label\n" + "".join(",".join(each) + "\n" for each in TRIPLES)
KNOWN = "item,gold\n1,né\n"


def zipped(**files):
    """A zip of files; `__` in a name stands for a dot."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(re.sub("__(?=[A-Za-z]+$)", ".", name), content)
    return packed.getvalue()


PARQUET = pd.DataFrame(RECORDS).to_parquet()
PACKED = {
    "gz": gzip.compress(TEXT.encode()),
    "two gz in a row": gzip.compress(TEXT[:30].encode()) + gzip.compress(TEXT[30:].encode()),
    "gz of Parquet": gzip.compress(PARQUET),
    "zip": zipped(**{"data/answers__csv": TEXT, "data/README__txt": "read me", "__MACOSX/._a__csv": b"\0"}),
    "zip of TSV": zipped(ANSWERS__TSV=TEXT.replace(",", "\t").encode("utf-16")),
    "zip of Parquet": zipped(answers__pq=PARQUET),
    "UTF-16": TEXT.encode("utf-16"),
    "UTF-16, of the other order": b"\xfe\xff" + TEXT.encode("utf-16-be"),
}
BY_COLUMN = dict(zip(HEAD, map(list, zip(*TRIPLES, strict=True)), strict=True))
WHOLE = {
    "by ids": {each["item"] + each["annotator"]: each for each in RECORDS},
    "by column": BY_COLUMN,
    "in the only list": {"answers": RECORDS},
    "by column and row": {name: dict(enumerate(cells)) for name, cells in BY_COLUMN.items()},  # as pandas writes
}
LATIN, OF_LATIN = TEXT.encode("latin-1"), {"encoding": "latin-1"}
test_what_is_packed_encoded_or_nested_is_read = reading({
    **{which: (raw, {}, TRIPLES) for which, raw in PACKED.items()},
    "zip of Latin-1": (zipped(answers__csv=LATIN), OF_LATIN, TRIPLES),
    "UTF-16 that is named": (TEXT.encode("utf-16-le"), {"encoding": "utf-16-le"}, TRIPLES),
    "JSON in Latin-1": (json.dumps(RECORDS, ensure_ascii=False).encode("latin-1"), OF_LATIN, TRIPLES),
    "JSON in UTF-16": (json.dumps(RECORDS).encode("utf-16"), {}, TRIPLES),
    **{f"records {how}": (whole, {}, TRIPLES) for how, whole in WHOLE.items() if "row" not in how},
    **{f"a file of records {how}": (json.dumps(whole), {}, TRIPLES) for how, whole in WHOLE.items()},
    **{f"indented records {how}": (json.dumps(whole, indent=1), {}, TRIPLES) for how, whole in WHOLE.items()},
    "records by their items": ({item: {"judge": "x", "label": label} for item, _, label in TRIPLES[1:]},
                               {"labels": ["oui", "non"]}, [("1", "x", "oui"), ("2", "x", "oui")]),
})  # fmt: skip
BOMB = b"item,a\n" + b" " * 3_000_000
NOT_PACKED = {
    "gz cut off": (gzip.compress(TEXT.encode())[:-9], r"answers cannot be unpacked \(Compressed file ended"),
    "gz and noise": (gzip.compress(TEXT.encode()) + b"noise", r"answers cannot be unpacked \(Not a gzipped file"),
    "gz of a gz": (gzip.compress(gzip.compress(TEXT.encode())), "answers is not a text file|byte 0x8b is not UTF-8"),
    "gz bomb": (gzip.compress(BOMB), "answers, unpacked, has over 1 MiB, and the limit .* is 1"),
    "zip bomb": (zipped(a__csv=BOMB), "answers, unpacked, has over 2 MiB, and the limit .* is 1"),
    "several tables": (zipped(a__csv=TEXT, b__tsv=TEXT), "answers holds several tables, 'a.csv', 'b.tsv'"),
    "no Parquet": (zipped(a__parquet=TEXT), "answers, a.parquet is not a Parquet file"),
    "no workbook": (zipped(**{"xl/workbook__xml": "<a/>"}), "answers cannot be read as an Excel workbook"),
}


@pytest.mark.parametrize("which", NOT_PACKED)
def test_what_cannot_be_unpacked_is_refused(keep, refuses, monkeypatch, which):
    monkeypatch.setattr("bayesanno.io.sources.MOST_BYTES", 2**20)
    content, match = NOT_PACKED[which]
    assert len(content) < 10_000
    with refuses(DataError, match):
        read_annotations(keep(content, "answers"))


@pytest.mark.parametrize(("encoding", "role"), [("latin-1", "gold_file"), ("cp1252", "controls")])
def test_an_encoding_that_is_named(keep, said, encoding, role):
    path, known = keep(TEXT.encode("cp1252"), "answers.csv"), keep(KNOWN.encode("cp1252"), "known.csv")
    data, answers = said(path, encoding=encoding, **{role: known})
    assert (answers, data.gold or data.controls) == (TRIPLES, {"1": "né"})
    more = keep("item,annotator,label\n3,bo,né\n".encode("latin-1"), "more.csv")
    assert add_annotations(data, more, encoding="latin-1").items == ("1", "2", "3")


# --- quotes between tabs ---------------------------------------------------------------------------------------------

TABS = "item\tannotator\tlabel\ttext\n"
QUOTES = {
    "that never close": 'a\tx\t1\t"Yes he said\nb\tx\t2\tno\n',
    "that close in another column": '"a\tx\t1\tYes"\nb\tx\t2\tno\n',
    "all over": 'a\tx\t1\t"Yes"\nb\tx\t2\t""No" and """ he said\n',
}


@pytest.mark.parametrize("which", QUOTES)
def test_quotes_between_tabs_that_quote_nothing_are_text(keep, said, which):
    table = open_source(keep(TABS + QUOTES[which], "wmt.tsv"))
    assert [list(table.columns), *table.to_numpy().tolist()] == [
        line.split("\t") for line in (TABS + QUOTES[which]).splitlines()
    ]
    answers = said(keep(TABS + QUOTES[which], "wmt.tsv"))[1]
    assert answers == [("a" if which != "that close in another column" else '"a', "x", "1"), ("b", "x", "2")]


def test_quotes_between_tabs_that_quote_are_none(keep, said):
    text = TABS + '"a ""1"""\tx\t1\t"two\nlines"\n\n"b\t2"\tx\t2\t"no"\n'
    assert said(keep(text))[1] == [('a "1"', "x", "1"), ("b\t2", "x", "2")]
    table = open_source(keep(text))
    assert dict(zip(table.index, table.to_numpy().tolist(), strict=True)) == {
        2: ['a "1"', "x", "1", "two\nlines"],
        5: ["b\t2", "x", "2", "no"],
    }


cells = st.text(st.sampled_from('ab"\t\n, '), max_size=5)


@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(cells, cells, cells).filter(lambda row: any(map(str.strip, row))), min_size=1, max_size=4)
)
def test_a_table_between_tabs_reads_as_it_was_written(tmp_path_factory, rows):
    header, path = ("one", "two", "three"), tmp_path_factory.getbasetemp() / "tabs.tsv"
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL).writerows([header, *rows])
    assert open_source(path).to_numpy().tolist() == [[cell.strip() for cell in row] for row in rows]


# --- workbooks of Excel ----------------------------------------------------------------------------------------------


def workbook(**sheets):
    book, file = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(file)
    return file.getvalue()


def test_a_workbook_is_a_table_of_text(keep, said):
    rows = [[], HEAD, [1, "ada", 2], [], [2.0, "N", 2.5], [3, True, "007"], [4, "ada", "#N/A"]]
    path = keep(workbook(notes=[], answers=rows), "answers.xlsx")
    assert said(path)[1] == [("1", "ada", "2"), ("2", "N", "2.5"), ("3", "True", "007")]
    assert said(path)[0].items == ("1", "2", "3", "4")
    known = keep(workbook(known=[["item", "gold"], [2, 2.5]]), "known.xlsx")
    assert said(path, gold_file=known)[0].gold == {"2": "2.5"}
    dated = keep(workbook(a=[HEAD, [datetime.date(2024, 5, 1), "ada", "x"], [1, "ada", "y"]]), "dated.xlsx")
    assert said(dated)[0].items == ("2024-05-01 00:00:00", "1")


ROWS = [HEAD, [1, "ada", "x"], [None, "ada", "y"]]
test_a_workbook_that_cannot_be_read_is_refused = refusing({
    "two sheets": (workbook(first=ROWS, second=[[1]]), "has 2 sheets with content, 'first', 'second'"),
    "no item": (workbook(first=ROWS), "row 3: label 'y' has no item"),
}, "answers.xlsx")  # fmt: skip


def test_a_workbook_is_no_bomb_and_needs_openpyxl(keep, refuses, monkeypatch):
    path = keep(workbook(first=ROWS), "answers.xlsx")
    monkeypatch.setattr("bayesanno.io.sources.MOST_BYTES", path.stat().st_size)
    with refuses(DataError, "unpacked, has .* and the limit for JSON and compressed files is 0"):
        read_annotations(path)
    monkeypatch.undo()
    monkeypatch.setattr("bayesanno.io.sources.find_spec", lambda _: None)
    with refuses(ExtraError, "answers.xlsx is an Excel workbook: .* pip install openpyxl"):
        read_annotations(path)
