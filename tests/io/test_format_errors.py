"""What cannot be read is refused in one line that names the place, the value and the remedy."""

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
from bayesanno.io.count_tables import read_counts
from bayesanno.io.write import write_table, write_text

LONG = "item,annotator,label\ns1,ada,no\ns1,bo,yes\ns2,ada,yes\n"
WIDE = "item,rater_1,rater_2\ns1,no,yes\ns2,yes,\n"


@pytest.fixture
def written(tmp_path):
    """Write a file and give its path."""

    def write(content, name="answers.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


FILES = {
    "empty": ("", r"answers\.csv is empty: give a table with a header line and rows"),
    "blank": ("\ufeff\n \r\n\"\"\n", "is empty"),
    "only a header": ("\nitem,annotator,label\n\n", "has no rows below its header 'item', 'annotator'"),
    "zero byte": (b"item,a\n1,\0\n", "is not a text file: it has a zero byte in line 2: give CSV, TSV or Parquet"),
    "Latin-1": ("item,ada,bo\n1,é,b\n".encode("latin-1"), "line 2: byte 0xe9 is not UTF-8: save .*'latin-1'"),
    "half of UTF-16": (LONG.encode("utf-16")[:-1], "line 4: byte 0x0a is not UTF-16: save the file as UTF-8"),
    "UTF-16 without its mark": (LONG.encode("utf-16-le"), "is not a text file: it has a zero byte in line 1"),
    "short row": (LONG + "s3,ada\n", r"line 5: 2 columns where the header \(line 1\) has 3, with ',' as separator"),
    "long row": (LONG + "\ns3,a,no,x\n", r"line 6: 4 columns .* has 3.* put a cell that holds the separator in quotes"),
    "all rows longer": ("item,ada\n1,2,3\n1,2,4\n", r"line 2: 3 columns where the header \(line 1\) has 2"),
    "other separator": ("item,ada\ns1;no\n", "line 2: 1 column where .* has 2, with ',' .* seems to use ';'"),
    "open quote": (LONG + 's3,"ada,no\ns4,bo,no\n', "line 5: a cell cannot be read .*quote"),
    "text after a quote": (LONG + 's3,"ada"x,no\n', r"line 5: a cell cannot be read .*double each quote inside it"),
    "column twice": ("item,ada,ada\n1,a,b\n", "two columns, 2 and 3, are named 'ada': give each its own name"),
    "no header": ("1,1,2\n1,2,2\n", "two columns, 1 and 2, are named '1': .*use no_header=True"),
    "one column": ("opinion\nyes\nno\n", "has one column, 'opinion': a table needs several"),
    "only items": ("item\ns1\n", "has no column left for annotators among 'item'"),
    "items and gold": ("item,gold\ns1,a\n", "no column left for annotators among 'item', 'gold'"),
    "no annotator column": ("item,label\ns1,a\n", r"the annotator among 'item', 'label': name it with annotator="),
    "no item or label column": ("id,worker,said\n1,a,b\n", "for the label among 'id', 'worker', 'said'"),
    "unknown names": ("id,who,says\n1,w,y\n", "'id', 'who', 'says' do not say .*columns='who,says'.*annotator="),
    "two aliases": ("task,worker,coder,label\n1,a,b,c\n", r"'worker' and 'coder' could .*: choose one with"),
    "two cases": ("item,Item,worker,label\n1,1,a,b\n", "the columns 'item' and 'Item' could each be the item"),
    "two golds": ("item,worker,label,truth,true_label\n1,a,b,c,c\n", "'truth' and 'true_label' could each be the gold"),
    "no item": (LONG + ",bo,no\n", "line 5: label 'no' has no item: fill in the column 'item'"),
    "no item, only an annotator": (LONG + ",bo,\n", "line 5: annotator 'bo' has no item"),
    "no annotator": (LONG + "s3, ,no\n", "line 5: label 'no' of item 's3' has no annotator: fill in the column"),
    "no answers": ("item,annotator,label\ns1,ada,\n", r"answers\.csv: there is no annotation: the table has no row"),
    "one label": ("item,user,label\n1,a,no\n", r"answers\.csv: only one label, 'no': .*declare them with labels="),
    "two gold labels": ("item,user,label,gold\n1,a,x,x\n2,a,y,\n1,b,y,y\n", "line 4: item '1' has two gold labels"),
    "wide, no item": (WIDE + ",no,\n", "line 4: label 'no' has no item: fill in the column 'item'"),
    "wide, two gold labels": ("item,rater1,rater2,gold\n1,x,y,x\n1,x,,y\n", "line 3: item '1' has two gold labels"),
    "patterns of items": ("item,rater1,count\n1,a,2\n", "'item' names one item, but a row with a number 'count'"),
    "count in words": ("rater1,rater2,count\na,b,2\na,a,two\n", "line 3: count is 'two', but must be a whole number"),
    "negative count": ("rater1,rater2,count\na,b,-2\n", "line 2: count is '-2', but must be a whole number"),
    "broken count": ("rater1,rater2,count\na,b,2.5\n", r"line 2: count is '2\.5'"),
    "thousands": ('rater1,rater2,count\na,b,"1,090"\n', "line 2: count is '1,090'.* in plain digits"),
    "no count": ("rater1,rater2,count\na,b,\n", "line 2: count is ''"),
    "far too many": ("rater1,rater2,count\na,b,99999999999\n", "'count' adds up to 99,999,999,999 items, .* 10,000"),
    "all counts zero": ("rater1,rater2,count\na,b,0\n", r"answers\.csv: there is no annotation"),
    "counts only": ("count\n3\n", "no column left for annotators among 'count'"),
}  # fmt: skip


@pytest.mark.parametrize("which", FILES)
def test_a_file_that_cannot_be_read_is_refused(refuses, written, which):
    content, match = FILES[which]
    with refuses(DataError, match) as caught:
        read_annotations(written(content))
    assert "answers.csv" in str(caught.value)


OPTIONS = {
    "unknown column": ({"label": "verdict"}, r"no column 'verdict' to use as label; its columns are 'item', 'ann"),
    "nearly a column": ({"item": "Item"}, r"no column 'Item' to use as item; .*did you mean 'item'\?"),
    "unknown gold column": ({"gold": "truth"}, "no column 'truth' to use as gold"),
    "one column, two roles": ({"label": "annotator"}, r"column 'annotator' cannot be both annotator and label"),
    "label undeclared": ({"labels": ["no", "x"]}, "line 3: label 'yes' of item 's1' is not among the declared labels"),
    "labels as text": ({"labels": "yes"}, "label 'no' of item 's1' is not among the declared labels, 'yes'"),
    "labels without order": ({"labels": {"no", "yes"}}, "labels must be a sequence of names, in order, not a set"),
    "labels of dimensions": ({"labels": {"label": ["no"]}}, "labels must be a sequence of names, in order, not a dict"),
    "no labels": ({"labels": []}, "labels: no label is given: name all possible labels, or leave the option out"),
    "label without a name": ({"labels": ["no", " "]}, "labels: name 2 of 'no', '' is empty"),
    "label declared twice": ({"labels": ["no", "yes", "no"]}, r"answers\.csv: labels: 'no' appears twice"),
    "unknown format": ({"format": "wid"}, r"no format 'wid': choose one of 'auto', .*did you mean 'wide'\?"),
    "no count": ({"count": "n"}, "no column 'n' to use as count; its columns are 'item', 'annotator', 'label'"),
    "not wide": ({"format": "wide", "label": "label"}, "'label' names a column of a long table, .* read as wide"),
    "unknown control": ({"controls": {"s9": "no"}}, "controls: item 's9' is not among the items"),
    "control label": ({"controls": {"s1": "x"}}, "controls: label 'x' of item 's1' is not among the labels"),
    "gold twice": ({"gold": "x", "gold_file": "g.csv"}, "gold is given twice, as column 'x' and as file 'g.csv'"),
}  # fmt: skip


@pytest.mark.parametrize("which", OPTIONS)
def test_an_option_that_does_not_fit_is_refused(refuses, written, which):
    options, match = OPTIONS[which]
    with refuses(DataError, match):
        read_annotations(written(LONG), **options)


@pytest.mark.parametrize("option", ["gold_file", "controls"])
@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("item,label\ns33,no\ns4,no\n", r"known\.csv, line 2: no item of this file, such as 's33', is in the data"),
        ("item,label\n,no\n", r"known\.csv, line 2: label 'no' has no item"),
        (
            "item,label\ns1,no\ns2,no\ns1,yes\n",
            r"known\.csv, line 4: item 's1' has two labels, 'no' and 'yes': keep one",
        ),
        (
            "word,label\ns1,no\n",
            r"known\.csv has no column for the item: looked for 'item', 'task'.* among 'word', 'label'",
        ),
        ("item,opinion\ns1,no\n", r"known\.csv has no column of true labels: .* among 'item', 'opinion': rename"),
        ("item,label\n", r"known\.csv has no rows below its header"),
    ],
)
def test_a_file_of_known_labels_that_does_not_fit_is_refused(refuses, written, option, content, match):
    path = written(LONG)
    with refuses(DataError, match):
        read_annotations(path, **{option: written(content, "known.csv")})


def test_a_control_label_must_be_possible_and_a_gold_label_need_not(refuses, written):
    known = written("item,label\ns1,yess\n", "known.csv")
    with refuses(
        DataError,
        r"line 2: label 'yess' of item 's1' is not among the declared labels, 'no', 'yes'; .*; declare",
    ):
        read_annotations(written(LONG), controls=known)
    with pytest.warns(NamesWarning, match="none of the true labels 'yess' is among the labels 'no', 'yes'"):
        assert read_annotations(written(LONG), gold_file=known).gold == {"s1": "yess"}


def test_a_file_that_cannot_be_opened_is_a_file_error(refuses, tmp_path):
    with refuses(DataFileError, r"there is no file '.*nowhere\.csv': check the path"):
        read_annotations(tmp_path / "nowhere.csv")
    with refuses(DataFileError, "is a folder: give the path of a file"):
        read_annotations(str(tmp_path))
    with refuses(DataFileError, "cannot be read: Not a directory"):
        (tmp_path / "file").write_text("x")
        read_annotations(tmp_path / "file" / "answers.csv")
    with refuses(DataFileError, "cannot be read: .*null"):
        read_annotations("a\0b.csv")


def test_parquet_that_is_none_is_refused(refuses, written):
    with refuses(DataError, "answers.parquet is not a Parquet file: it does not begin with PAR1"):
        read_annotations(written(LONG, "answers.parquet"))
    with refuses(DataError, r"answers\.csv cannot be read as Parquet: "):
        read_annotations(written(b"PAR1 and no more\nPAR1"))


def test_other_sources_are_refused(refuses):
    with refuses(DataError, "cannot read annotations from a list of tuple: give a list of dicts"):
        read_annotations([("s1", "ada", "no")])
    with refuses(
        DataError, "cannot read annotations from Series.*: give a path, '@name', a DataFrame of pandas or pol"
    ):
        read_annotations(pd.Series(["yes", "no"]))
    with refuses(DataError, "cannot read annotations from NoneType: give a path"):
        read_annotations(None)
    with refuses(DataError, "the DataFrame has no rows below its header 'item', 'ada'"):
        read_annotations(pd.DataFrame({"item": [], "ada": []}))
    frame = pd.DataFrame([["a", "b", "c"], ["a", "d", "e"]], columns=["item", "ada", "ada"])
    with refuses(DataError, "the DataFrame: two columns, 2 and 3, are named 'ada'"):
        read_annotations(frame)
    with refuses(DataError, "the DataFrame, row 2: label 'x' has no item"):
        read_annotations(pd.DataFrame({"item": ["a", None], "worker": ["b", "c"], "label": ["y", "x"]}))


COUNTS = {
    "no successes": ("item,trials\na,1\n", r"the successes: looked for 'successes', .* among 'item', 'trials'"),
    "trials missing": ("item,successes\na,1\n", "no column for the trials: looked for 'trials', 'n', 'total'"),
    "more successes": ("item,x,n\na,1,2\nb,3,2\n", "line 3: 3 successes in 2 trials: correct one of them"),
    "negative": ("item,x,n\na,-1,2\n", "line 2: x is '-1', but must be a whole number, 0 or more"),
    "empty": ("item,x,n\na,,2\n", "line 2: x is ''"),
    "huge": ("item,x,n\na,1,9999999999999999999\n", "line 2: n is '9999999999999999999'"),
    "no item": ("item,x,n\n,1,2\n", "line 2: these counts have no item"),
    "item twice": ("item,x,n\na,1,2\nb,1,2\na,0,2\n", "line 4: item 'a' already has counts in line 2: keep one"),
    "item and count": ("item,x,n,count\na,1,2,3\n", "a row with a count stands for several items, but column 'item'"),
    "no trials": ("item,x,n\na,0,0\n", r"answers\.csv: no item has a trial"),
    "count": ("x,n,count\n0,1,many\n", "line 2: count is 'many'"),
    "ambiguous": ("item,x,n,total\na,0,1,1\n", r"'n' and 'total' could each be the trials: choose one with trials="),
}  # fmt: skip


@pytest.mark.parametrize("which", COUNTS)
def test_counts_that_cannot_be_read_are_refused(refuses, written, which):
    content, match = COUNTS[which]
    with refuses(DataError, match):
        read_counts(written(content))


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


def test_a_file_that_is_there_is_replaced(written):
    path = written("something else")
    write_table(AnnotationData.from_records([("s1", "ada", "no"), ("s1", "bo", "yes")]).to_frame(), path)
    assert read_annotations(path).annotators == ("ada", "bo")


def read_bytes(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.csv"
        path.write_bytes(content)
        return read_annotations(path)


PIECES = st.sampled_from(
    [
        "item",
        "annotator",
        "label",
        "gold",
        "count",
        "ada",
        "1",
        "2",
        "a",
        "NA",
        "",
        " ",
        '"',
        '""',
        ",",
        ",",
        ";",
        "\t",
        "|",
        "\n",
        "\r\n",
        "é",
    ]
)


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
    lambda rows: (
        len({Decimal(row[2]) if is_number(row[2]) else row[2] for row in rows}) > 1
    )  # "0" and "00" are one label
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
