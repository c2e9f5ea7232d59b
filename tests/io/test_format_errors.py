"""Files that cannot be opened or written, sources that are none, and tables with a fault anywhere in them."""

import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesanno._core.messages import DataError, DataFileError, NamesWarning
from bayesanno.io.read import read_annotations, read_multi_annotations
from bayesanno.io.write import write_table, write_text
from tests.io.cases import refusing
from tests.io.refused.tables import LONG


def test_a_control_label_must_be_possible_and_a_gold_label_need_not(refuses, read, keep):
    known = keep("item,label\ns1,yess\n", "known.csv")
    with refuses(DataError, "line 2: label 'yess' of item 's1' is not among the declared labels"):
        read(LONG, controls=known)
    with pytest.warns(NamesWarning, match="strange-gold: 'yess' among the true labels is no label"):
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


test_other_sources_are_refused = refusing({
    "a list of tuples": ([("s1", "ada", "no")], "from a list of tuple: give a list of dicts"),
    "a series": (pd.Series(["yes", "no"]), "from Series"),
    "no item": (pd.DataFrame({"item": ["a", None], "worker": ["b", "c"], "label": ["y", "x"]}), "row 2: label 'x' has"),
    "an index with a name twice": (pd.DataFrame({"rater_1": ["x", "y"], "rater_2": ["x", "x"]}, index=[7, 7]),
                                   "the first column, or index, repeats a name"),
})  # fmt: skip


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


PIECES = st.sampled_from([
    "item", "annotator", "label", "gold", "count", "ada", "1", "2", "a", "NA", "", " ", '"', '""', ",", ",", ";", "\t",
    "|", "\n", "\r\n", "é",
])  # fmt: skip


@pytest.mark.filterwarnings("ignore::bayesanno.errors.NamesWarning")  # names of all kinds
@given(st.lists(PIECES, max_size=40).map("".join).map(str.encode) | st.binary(max_size=60))
def test_any_bytes_read_or_are_refused_in_one_line(content):
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        Path(file.name).write_bytes(content)
        try:
            assert read_annotations(file.name).n_annotations > 0
        except DataError as error:  # any other error fails the test
            assert all(line.startswith("  ba.") for line in str(error).splitlines()[1:])  # noqa: PT017
