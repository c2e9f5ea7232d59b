"""Every form of table reads as the same annotations, and what was written reads back."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesanno.data.annotations import AnnotationData
from bayesanno.io.counts import read_counts
from bayesanno.io.read import read_annotations
from bayesanno.io.write import write_table
from tests.io.cases import reading

TRIPLES = [("s1", "ada", "no"), ("s1", "bo", "yes"), ("s2", "ada", "yes")]
LONG = "item,annotator,label\ns1,ada,no\ns1,bo,yes\ns2,ada,yes\n"
WIDE = "item,rater_1,rater_2\ns1,no,yes\ns2,yes,\n"
RATERS = {"ada": "rater_1", "bo": "rater_2"}


def triples(data):
    named = zip(data.item, data.annotator, data.label, strict=True)
    return sorted((data.items[i], data.annotators[j], data.labels[k]) for i, j, k in named)


LONG_FORMS = {
    "comma": LONG,
    "tab": LONG.replace(",", "\t"),
    "semicolon": LONG.replace(",", ";"),
    "bar": LONG.replace(",", "|"),
    "CRLF": LONG.replace("\n", "\r\n"),
    "CR": LONG.replace("\n", "\r"),
    "BOM": "\ufeff" + LONG,
    "blank lines": "\n\n" + LONG.replace("\n", "\n\n") + "  \n,,\n",
    "whitespace": LONG.replace(",", " , "),
    "quotes": '"item", "annotator", "label"\n"s1", "ada", "no"\ns1,bo,yes\ns2,ada,yes\n',
    "case": "ITEM,Annotator,laBel\ns1,ada,no\ns1,bo,yes\ns2,ada,yes\n",
    "snow": "!amt_annotation_ids\t!amt_worker_ids\torig_id\tresponse\tgold\n"
            "h1\tada\ts1\tno\t\nh2\tbo\ts1\tyes\t\nh3\tada\ts2\tyes\t\n",
}  # fmt: skip
WIDE_FORMS = {
    "comma": WIDE,
    "empty columns and a row at the end": "Task,rater_1,rater_2,,\ns1,no,yes,,\ns2,yes,,,\n,,,,\n",
    "an item in two rows": "item,rater_1,rater_2\ns1,no,\ns1,,yes\ns2,yes,\n",
}
READ = {
    **{f"long, {form}": (text, {}, TRIPLES) for form, text in LONG_FORMS.items()},
    **{f"wide, {form}": (text, {}, [(item, RATERS[name], label) for item, name, label in TRIPLES])
       for form, text in WIDE_FORMS.items()},
    "other names": (LONG.replace("annotator,label", "who,says"), {"annotator": "who", "label": "says"}, TRIPLES),
    "another label": ("item,annotator,label,rating\ns1,ada,a,no\ns1,bo,b,yes\ns2,ada,c,yes\n", {"label": "rating"},
                      TRIPLES),
    "other names, wide": ("word,ada,bo\ns1,no,yes\ns2,yes,\n", {"item": "word", "columns": "2:"}, TRIPLES),
    "codes of missing answers": ("item,annotator,label\nNA,None,nan\n007,NULL,NA\n8,None,null\n", {},
                                 [("NA", "None", "nan"), ("007", "NULL", "NA"), ("8", "None", "null")]),
    "separators, quotes and line breaks in quotes": (
        'item,"annot;ator|\t;;",label\n"a,b","x ""y""","1;2"\n"c\r\nd",z,3\n', {"annotator": "annot;ator|\t;;"},
        [("a,b", 'x "y"', "1;2"), ("c\r\nd", "z", "3")]),
}  # fmt: skip
test_every_form_is_read_as_its_answers = pytest.mark.filterwarnings("ignore::bayesanno.errors.NamesWarning")(
    reading(READ)
)


def test_wide_without_an_item_column_numbers_the_rows(read):
    data = read("ada,bo,truth\nno,yes,no\n,,\nyes,,yes\n", columns="ada,bo")
    assert triples(data) == [("1", "ada", "no"), ("1", "bo", "yes"), ("3", "ada", "yes")]
    assert (data.items, data.gold) == (("1", "2", "3"), {"1": "no", "3": "yes"})


def test_grouped_expands_each_row_to_its_count(read):
    data = read("i,j,count,gold\n1,2,2,1\n1,1,0,1\n,,,\n2,,1,2\n,,1,\n", columns="i,j")
    assert data.items == ("1", "2", "3", "4")
    assert triples(data) == [("1", "i", "1"), ("1", "j", "2"), ("2", "i", "1"), ("2", "j", "2"), ("3", "i", "2")]
    assert data.gold == {"1": "1", "2": "1", "3": "2"}


def test_a_row_without_an_answer_keeps_its_item_and_annotator(read):
    data = read(LONG + "s3,cy,\ns4,,\n")
    assert triples(data) == TRIPLES
    assert (data.items, data.annotators) == (("s1", "s2", "s3", "s4"), ("ada", "bo", "cy"))
    wide = read("item,ada,bo,cy\ns1,no,yes,\ns2,yes,,\ns3,,,\n", columns="2:")
    assert (wide.items, wide.annotators) == (("s1", "s2", "s3"), ("ada", "bo", "cy"))


def test_declared_labels_keep_their_order_and_need_not_be_used(read):
    assert read(LONG, labels=["yes", "maybe", "no"]).labels == ("yes", "maybe", "no")
    assert read(LONG.replace("yes", "no"), labels=("no", "yes")).n_labels == 2
    assert read(LONG.replace(",yes", ",10").replace(",no", ",9")).labels == ("9", "10")
    assert read(LONG.replace(",yes", ",1").replace(",no", ",0"), labels=[1, 0]).labels == ("1", "0")


def test_gold_is_the_first_that_is_known_and_a_file_takes_its_place(read, keep):
    text = "item,annotator,label,Truth\ns1,ada,no,\ns1,bo,yes,yes\ns2,ada,yes,\ns2,bo,no,other\n"
    assert read(text, labels=["no", "yes", "other"]).gold == {"s1": "yes", "s2": "other"}
    assert read(text, gold_file=keep("label\ttask\nno\ts2\n\ts1\nno\ts2\n", "gold.tsv")).gold == {"s2": "no"}
    text = "item,annotator,label,expert\ns1,ada,no,no\ns1,bo,yes,\ns2,ada,yes,no\n"
    assert read(text).gold == {}
    assert read(text, gold="expert").gold == {"s1": "no", "s2": "no"}


def test_controls_come_from_a_mapping_or_a_file(read, keep):
    assert read(LONG, controls={"s2": "no"}).controls == {"s2": "no"}
    known = keep("question,answer\ns2,maybe\n", "known.csv")
    assert read(LONG, controls=known, labels=["no", "yes", "maybe"]).controls == {"s2": "maybe"}


@pytest.mark.parametrize("keep_index", [True, False])
def test_parquet_reads_as_the_table_that_was_saved(keep_index, tmp_path):
    frame = pd.DataFrame({"task": [7, 7, 8], "worker": ["ada", "bo", "ada"], "rating": [1.0, None, 2.0]})
    (frame.set_index("task") if keep_index else frame).to_parquet(tmp_path / "answers.parquet")
    data = read_annotations(tmp_path / "answers.parquet")
    assert triples(data) == [("7", "ada", "1"), ("8", "ada", "2")]
    assert data.annotators == ("ada", "bo")


def test_a_frame_reads_as_its_file_would(read):
    data = read(LONG)
    long = data.to_frame()
    wide = long.pivot_table(index="item", columns="annotator", values="label", aggfunc="first")
    for frame in (long, long.astype("category"), long.set_index(["item", "annotator"])):
        assert read_annotations(frame).hash == data.hash
    assert not read_annotations(long.astype("category")).order_declared
    for frame in (wide, wide.reset_index()):
        assert read_annotations(frame, columns=["ada", "bo"]).hash == data.hash


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        ([1.0, 2.5, None], ["1", "2.5", ""]),
        (pd.array([1, 2, None], dtype="Int64"), ["1", "2", ""]),
        ([True, False, None], ["True", "False", ""]),
        ([np.inf, 1.0, np.nan], ["inf", "1", ""]),
        ([1.0, "2.0", "x"], ["1", "2.0", "x"]),
    ],
)
def test_values_of_a_frame_become_text(column, texts):
    frame = pd.DataFrame({"item": ["a", "b", "c"], "ada": column, "bo": ["x", "y", "z"]})
    said = [answer for answer in triples(read_annotations(frame, columns="ada,bo")) if answer[1] == "ada"]
    assert said == [(item, "ada", text) for item, text in zip("abc", texts, strict=True) if text]


ODD = [
    "NA", "nan", "007", "7", "1e3", "a,b", 'say "hi"', "a;b;c;d|e\tf", '"', '""', "'", "=1+1", "#", "\ufeffx",
    "line\nbreak", "x\r\ny",
]  # fmt: skip
NAME = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6) | st.sampled_from(ODD)
NAMES = NAME.map(str.strip).filter(bool)


@st.composite
def annotation_data(draw):
    items, annotators, labels = (draw(st.lists(NAMES, min_size=n, max_size=5, unique=True)) for n in (1, 1, 2))
    record = st.tuples(*map(st.sampled_from, (items, annotators, labels)))
    records = draw(st.lists(record, min_size=1, max_size=12))
    gold = draw(st.dictionaries(st.sampled_from(items), st.sampled_from(labels)))
    return AnnotationData.from_records(records, items=items, labels=labels, gold=gold)


@pytest.mark.filterwarnings("ignore::bayesanno.errors.NamesWarning")  # names of all kinds
@given(annotation_data(), st.sampled_from([".csv", ".tsv"]))
def test_a_frame_that_was_written_reads_back(data, suffix):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"answers{suffix}"
        write_table(data.to_frame(), path)
        assert os.listdir(folder) == [path.name]  # noqa: PTH208 -- the temporary file must be gone
        back = read_annotations(path, labels=data.labels)
    assert triples(back) == triples(data)
    assert back.labels == data.labels
    assert back.gold == {item: label for item, label in data.gold.items() if item in back.items}
    assert set(back.items) == {data.items[item] for item in data.item}


def test_a_frame_has_the_columns_of_items_and_both_sides_of_pairs(read):
    items = pd.DataFrame({"item": ["s1", "s2"], "length": [3.5, None], "topic": ["news", ""]})
    frame = read(LONG, items=items).to_frame()
    assert frame.columns.tolist() == ["item", "annotator", "label", "length", "topic"]
    assert (frame["topic"].tolist(), frame["length"].tolist()[:2]) == (["news", "news", ""], [3.5, 3.5])
    compared = read_annotations("@pairs")
    assert read_annotations(compared.to_frame(), pairs="model_a,model_b").hash == compared.hash


COUNTED = {
    "aliases, and a row that is blank": (
        "Task;n;POSITIVES;note\ns1;10;3;x\n;;;y\ns2;9;0;\n", {}, ("s1", "s2"), [3, 0], [10, 9],
    ),
    "no items": ("x,total\n3,10\n0,9\n", {}, ("1", "2"), [3, 0], [10, 9]),
    "a histogram": ("successes,trials,count\n3,10,2\n4,10,0\n0,9,1\n", {}, ("1", "2", "3"), [3, 3, 0], [10, 10, 9]),
    "options": (
        "word,yes,asked\na,1,2.0\nb,2,2\n", {"item": "word", "successes": "yes", "trials": "asked"}, ("a", "b"),
        [1, 2], [2, 2],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "options", "items", "successes", "trials"), COUNTED.values(), ids=COUNTED)
def test_counts_read_from_rows_and_from_a_histogram(keep, text, options, items, successes, trials):
    counts = read_counts(keep(text, "counts.csv"), **options)
    assert (counts.items, counts.successes.tolist(), counts.trials.tolist()) == (items, successes, trials)
