"""Files that cannot be opened or written, sources that are none, and tables with a fault anywhere in them."""

import tempfile
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesanno._core.errors import DataError, DataFileError, NamesWarning
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.names import is_number
from bayesanno.io.annotations import read_annotations
from bayesanno.io.dimensions import read_multi_annotations
from bayesanno.io.write import write_table, write_text
from tests.io.cases import refusing
from tests.io.refused.tables import LONG


def test_a_control_label_must_be_possible_and_a_gold_label_need_not(refuses, read, keep):
    known = keep("item,label\ns1,yess\n", "known.csv")
    with refuses(DataError, "line 2: label 'yess' of item 's1' is not among the declared labels"):
        read(LONG, controls=known)
    with pytest.warns(NamesWarning, match="none of the true labels 'yess' is among the labels 'no', 'yes'"):
        assert read(LONG, gold_file=known).gold == {"s1": "yess"}


def test_a_file_that_cannot_be_opened_is_a_file_error(refuses, tmp_path):
    (tmp_path / "file").write_text("x")
    for path, match in (
        (tmp_path / "nowhere.csv", r"there is no file '.*nowhere\.csv'"),
        (str(tmp_path), "is a folder"),
        (tmp_path / "file" / "answers.csv", "cannot be read: Not a directory"),
        ("a\0b.csv", "cannot be read: .*null"),
    ):
        with refuses(DataFileError, match):
            read_annotations(path)
    with refuses(DataFileError, "^there is no file 'nowhere.csv'"):  # which is no matter of a dimension
        read_multi_annotations("nowhere.csv", ["x", "y"])


def test_parquet_that_is_none_is_refused(refuses, keep):
    with refuses(DataError, "answers.parquet is not a Parquet file"):
        read_annotations(keep(LONG, "answers.parquet"))
    with refuses(DataError, r"answers\.csv cannot be read as Parquet: "):
        read_annotations(keep(b"PAR1 and no more\nPAR1", "answers.csv"))


TWICE = pd.DataFrame([["a", "b", "c"], ["a", "d", "e"]], columns=["item", "ada", "ada"])
SOURCES = {
    "a list of tuples": ([("s1", "ada", "no")], "from a list of tuple: give a list of dicts"),
    "a series": (pd.Series(["yes", "no"]), "from Series"),
    "nothing": (None, "from NoneType"),
    "a table without rows": (pd.DataFrame({"item": [], "ada": []}), "no rows below its header 'item', 'ada'"),
    "a column twice": (TWICE, "two columns, 2 and 3, are named 'ada'"),
    "no item": (pd.DataFrame({"item": ["a", None], "worker": ["b", "c"], "label": ["y", "x"]}), "row 2: label 'x' has"),
    "an index with a name twice": (pd.DataFrame({"rater_1": ["x", "y"], "rater_2": ["x", "x"]}, index=[7, 7]),
                                   "the index repeats a name"),
}  # fmt: skip


test_other_sources_are_refused = refusing(SOURCES)


def test_a_file_that_cannot_be_written_is_a_file_error_and_leaves_nothing(refuses, tmp_path):
    table = pd.DataFrame({"item": ["s1"], "label": ["no"]})
    with refuses(DataFileError, "cannot be written: No such file or directory"):
        write_table(table, tmp_path / "nowhere" / "answers.csv")
    (tmp_path / "folder").mkdir()
    with refuses(DataFileError, "'.*folder' cannot be written: Is a directory"):
        write_table(table, tmp_path / "folder")
    with refuses(DataError, "would be text, not Parquet"):
        write_table(table, tmp_path / "answers.parquet")
    with refuses(DataError, "holds half of a surrogate pair"):
        write_text(tmp_path / "answers.csv", "item\n\ud800")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_file_that_is_there_is_replaced(keep):
    path = keep("something else", "answers.csv")
    write_table(AnnotationData.from_records([("s1", "ada", "no"), ("s1", "bo", "yes")]).to_frame(), path)
    assert read_annotations(path).annotators == ("ada", "bo")


def read_bytes(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.csv"
        path.write_bytes(content)
        return read_annotations(path)


PIECES = st.sampled_from([
    "item", "annotator", "label", "gold", "count", "ada", "1", "2", "a", "NA", "", " ", '"', '""', ",", ",", ";", "\t",
    "|", "\n", "\r\n", "é",
])  # fmt: skip


@pytest.mark.filterwarnings("ignore::bayesanno.errors.NamesWarning")  # names of all kinds
@given(st.lists(PIECES, max_size=40).map("".join).map(str.encode) | st.binary(max_size=60))
def test_any_bytes_read_or_are_refused_in_one_line(content):
    problem = None
    try:
        assert read_bytes(content).n_annotations > 0
    except DataError as error:  # any other error fails the test
        problem = str(error)
    assert problem is None or len(problem.splitlines()) == 1


TOKEN = st.text("abcxyz019 .-", min_size=1, max_size=4).map(str.strip).filter(bool)
VALID = st.lists(st.tuples(TOKEN, TOKEN, TOKEN), min_size=2, max_size=8).filter(
    lambda rows: len({Decimal(row[2]) if is_number(row[2]) else row[2] for row in rows}) > 1  # "0" and "00" are one
)
FAULTS = {
    "a cell too few": lambda cells: cells[:2],
    "a cell too many": lambda cells: [*cells, "z"],
    "no item": lambda cells: ["", *cells[1:]],
    "no annotator": lambda cells: [cells[0], "", cells[2]],
    "another separator": lambda cells: [";".join(cells)],
    "an open quote": lambda cells: [*cells[:2], '"' + cells[2]],
}


@pytest.mark.filterwarnings("ignore::bayesanno.errors.NamesWarning")  # names of all kinds
@given(VALID, st.sampled_from(sorted(FAULTS)), st.data())
def test_a_valid_table_reads_and_one_fault_in_it_is_found(rows, fault, data):
    lines = [["item", "annotator", "label"], *map(list, rows)]
    read = read_bytes("\n".join(map(",".join, lines)).encode())
    assert read.n_annotations == len(rows)
    assert set(read.items) == {item for item, _, _ in rows}
    at = data.draw(st.integers(1, len(rows)))
    lines[at] = FAULTS[fault](lines[at])
    with pytest.raises(DataError, match=rf"answers\.csv, line {at + 1}: "):
        read_bytes("\n".join(map(",".join, lines)).encode())
