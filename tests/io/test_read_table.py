"""One long table: what it holds, how data are made of it, and forms that go there and back."""

import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesanno as ba
from bayesanno._core.messages import DataError, NamesWarning
from bayesanno.data.annotations import AnnotationData
from bayesanno.io.write import write_table

ANSWERS = [("s1", "ada", "no"), ("s1", "bo", "yes"), ("s2", "ada", "yes")]
LONG = pd.DataFrame(ANSWERS, columns=["item", "annotator", "label"])
TOOL = """[mine]
has = ["subject", "marks"]
item = "subject"
annotator = "marks[].by"
question = "marks[].asked"
label = "marks[].said"
missing = {"marks[].state" = ["draft"]}
"""
MARKS = [
    {"subject": f"s{n}", "marks": [{"by": who, "asked": "mood", "said": said, "state": state}
                                   for who, said, state in (("ada", "x", "done"), ("bo", "y", ("done", "draft")[n]))]}
    for n in range(2)
]  # fmt: skip


def triples(data):
    codes = zip(data.item, data.annotator, data.label, strict=True)
    return [(data.items[i], data.annotators[j], data.labels[k]) for i, j, k in codes]


def test_a_table_has_a_row_for_each_answer_with_its_place(keep):
    table = ba.read_table(
        keep("task;who;says;Truth\ns1;ada;no;yes\n\ns1;bo;yes;\n", "a.csv"), annotator="who", label="says"
    )
    assert table.to_dict("list") == {
        "item": ["s1", "s1"], "annotator": ["ada", "bo"], "label": ["no", "yes"], "gold": ["yes", ""], "row": [2, 4],
    }  # fmt: skip
    data = AnnotationData.from_frame(table)
    assert (triples(data), data.gold) == (ANSWERS[:2], {"s1": "yes"})


def test_data_are_made_of_any_long_table(refuses):
    assert triples(AnnotationData.from_frame(LONG)) == ANSWERS
    more = LONG.assign(length=[3, 3, 4], team=["a", "b", "a"], other="z", control=["", "", "no"])
    data = AnnotationData.from_frame(more, item_columns=["length"], annotator_columns=["team"])
    assert data.item_columns["length"].names == ["3", "4"]
    assert data.annotator_columns["team"].names == ["a", "b"]
    assert data.controls == {"s2": "no"}
    again = AnnotationData.from_frame(data.to_frame())
    assert (again.hash, again.controls) == (data.hash, data.controls)
    for wrong, match in (
        (LONG.assign(item=["s1", None, "s2"]), "^the table, row 2: label 'yes' has no item"),
        (LONG.assign(annotator=["", "bo", "ada"]), "^the table, row 1: label 'no' of item 's1' has no annotator"),
        (LONG.assign(gold=["yes", "no", ""]), "row 2: item 's1' has two true labels, 'yes' and 'no'"),
        (LONG.drop(columns="label"), "has no column 'label' among"),
    ):
        with refuses(DataError, match):
            AnnotationData.from_frame(wrong)
    with refuses(DataError, "row 2: label 'yes' of item 's1' is not among the declared labels, 'no', 'maybe'"):
        AnnotationData.from_frame(LONG, labels=["no", "maybe"])


def test_files_of_two_rounds_are_one(keep, refuses):
    first = keep("item,worker,label\ns1,ada,no\ns1,bo,yes\n", "round1.csv")
    second = keep("label,note,item,worker\nyes,so,s2,ada\n", "round2.csv")
    assert triples(ba.read_annotations([first, second])) == ANSWERS
    assert ba.read_table([first, second])["row"].tolist()[-1].endswith("round2.csv, line 2")
    with refuses(DataError, r"round3\.csv has no column 'worker', which .*round1\.csv has"):
        ba.read_annotations([first, keep("item,who,label\ns2,ada,yes\n", "round3.csv")])
    wide = [keep("rater_1,rater_2\nx,y\n", f"wide{n}.csv") for n in (1, 2)]
    assert ba.read_annotations(wide).n_items == 2  # rows of two files are no items in common


def test_annotators_are_left_out_or_chosen(keep, refuses):
    path = keep("item,annotator,label\ns1,ada,no\ns1,bo,yes\ns2,eve,yes\n", "a.csv")
    assert ba.read_annotations(path, without="eve").annotators == ("ada", "bo")
    assert ba.read_annotations(path, only=["eve", "ada"]).annotators == ("ada", "eve")
    with refuses(DataError, "without=... names 'eva', who is no annotator; did you mean 'eve'"):
        ba.read_annotations(path, without="eva")


def test_answers_of_nobody_are_votes(keep):
    data = ba.read_annotations(keep("instance_id,level\n1,a\n1,b\n2,a\n2,a\n", "a.csv"),
                               item="instance_id", label="level", anonymous=True)  # fmt: skip
    assert (data.annotators, data.votes.tolist()) == (("anyone",), [[1, 1], [2, 0]])


def test_battles_without_a_judge_are_comparisons_with_a_known_outcome(keep):
    battles = keep("a,b,winner\nx,y,a\ny,x,b\nx,z,tie\n", "battles.csv")
    data = ba.read_annotations(battles, pairs="a,b")
    assert (data.items, data.annotators) == (("1", "2", "3"), ("anyone",))
    assert ba.Pairs(first="a", second="b").take(data).controls == {"1": "a", "2": "b", "3": "tie"}
    assert data.item_columns["a"].names == ["x", "y", "x"]


ORDERS = {
    "words": ("AB", "BA", "order"),
    "flags": ("false", "true", "order"),
    "a word of one's own": ("straight", "crossed", "order=crossed"),
}


@pytest.mark.parametrize(("one", "other", "order"), ORDERS.values(), ids=ORDERS)
def test_an_order_turns_answers_back(keep, refuses, one, other, order):
    """The label is about what was shown: A is first shown, which in the other order is the second system."""
    rows = f"q,x,y,judge,order,winner\n1,s,t,j,{one},A\n1,s,t,j,{other},A\n2,s,t,j,{one},B\n2,s,t,j,{other},A\n"
    given = {"item": "q", "pairs": "x,y", "annotator": "judge"}
    data = ba.read_annotations(keep(rows, "a.csv"), **given, order=order)
    assert data.has_both_orders
    first = data.item_columns["x"].names[0]
    better = [{"x": "s", "y": "t"}[data.labels[code]] if first == "s" else {"x": "t", "y": "s"}[data.labels[code]]
              for code in data.label]  # fmt: skip
    assert better == ["s", "t", "t", "t"]
    with refuses(DataError, "which says no order"):
        ba.read_annotations(keep(rows.replace(one, "?!"), "b.csv"), **given, order="order")


def test_orders_that_were_not_turned_back_are_doubted(read):
    rows = [f"{n},s,t,j,{'AB'[k]}" for n in range(6) for k in (0, 1)]
    with pytest.warns(NamesWarning, match=r"orders: j \(6\) contradict themselves in most of the 6 items .* order="):
        read("\n".join(["q,x,y,judge,winner", *rows]), item="q", pairs="x,y", annotator="judge")


def test_a_tool_of_ones_own_is_a_file(keep, said, refuses):
    tool = str(keep(TOOL, "mine.toml"))
    assert said(MARKS, format=tool, labels=["x", "y"])[1] == [("s0", "ada", "x"), ("s0", "bo", "y"), ("s1", "ada", "x")]
    with refuses(DataError, r"mine\.toml is no table of a tool"):
        ba.read_annotations(MARKS, format=str(keep("[", "mine.toml")))


NAMES = st.sampled_from(["s1", "s2", "007", "7", "a,b", "NA", "é"])
RECORDS = st.lists(st.tuples(NAMES, st.sampled_from(["ada", "bo", "cy"]), st.sampled_from(["no", "yes", "so so"])),
                   min_size=2, max_size=9).filter(lambda rows: len({label for *_, label in rows}) > 1)  # fmt: skip


@pytest.mark.filterwarnings("ignore::bayesanno.errors.NamesWarning")
@settings(max_examples=60)
@given(records=RECORDS)
def test_forms_go_there_and_back(records):
    """Long to wide to long, long to votes, and data to a table, also by a file, are identities."""
    data = AnnotationData.from_records(records)
    assert AnnotationData.from_frame(data.to_frame()).hash == data.hash
    with tempfile.TemporaryDirectory() as folder:
        write_table(data.to_frame(), Path(folder) / "a.csv")
        assert triples(ba.read_annotations(Path(folder) / "a.csv")) == triples(data)
    once = data.to_frame().drop_duplicates(["item", "annotator"])
    wide = once.pivot(index="item", columns="annotator", values="label")
    back = ba.shapes.wide(wide, columns=list(wide.columns))
    back = back[back["label"] != ""][["item", "annotator", "label"]]
    assert sorted(back.itertuples(index=False, name=None)) == sorted(once.itertuples(index=False, name=None))
    counts = pd.crosstab(data.to_frame()["item"], data.to_frame()["label"])
    votes = AnnotationData.from_frame(ba.shapes.votes(counts, columns=list(counts.columns)))
    assert {item: row.tolist() for item, row in zip(votes.items, votes.votes, strict=True)} == {
        item: row.tolist() for item, row in zip(data.items, data.votes, strict=True)
    }


def test_no_function_of_reading_has_more_than_twelve_parameters():
    from inspect import signature

    functions = [getattr(ba.shapes, name) for name in ba.shapes.__all__]
    functions += [ba.read_table, ba.read_annotations, ba.read_counts, ba.read_multi_annotations, ba.check_table]
    assert all(len(signature(one).parameters) <= 12 for one in functions)


# ------------------------------------------------------------------------------------- files that are asked about


def first_way(frame, **options):
    """The options of the first command that a question suggests, as it is written in Python."""
    with pytest.raises(DataError) as asked:
        ba.read_table(frame, **options)
    return str(asked.value).split("\n")[1].strip()


def repeated(**columns):
    return pd.DataFrame({name: [str(cell) for cell in cells] for name, cells in columns.items()})


ITEMS, PEOPLE = [1, 1, 2, 2, 3, 3], ["p", "q"] * 3


@pytest.mark.parametrize(
    ("frame", "way"),
    [
        (
            repeated(
                tweet=ITEMS,
                annotator_index=PEOPLE,
                annotator_age=[20, 30] * 3,
                mood=list("xyxxyy"),
                note=list("abcdef"),
            ),
            {"item": "tweet", "annotator": "annotator_index", "label": "mood"},
        ),
        (
            repeated(
                unit=ITEMS,
                rater_name=PEOPLE,
                lang=["en", "en", "de", "de", "en", "en"],
                tone=list("xyxxyx"),
                t=range(6),
            ),
            {"item": "unit", "annotator": "rater_name", "label": "tone"},
        ),
        (
            repeated(text=list("abcd"), count=[3, 3, 3, 3], good=[1, 2, 3, 0], bad=[2, 1, 0, 3]),
            {"format": "votes", "columns": "good,bad"},
        ),
        (
            repeated(Fall=["F1", "F2", "F3"], Meier=list("xyx"), Weiss=list("xxy")),
            {"columns": "Meier,Weiss", "item": "Fall"},
        ),
        (
            repeated(prompt=list("aabb"), left_model=list("mnmn"), right_model=list("nonk"), winner=list("mnmk")),
            {"pairs": "left_model,right_model", "item": "prompt", "label": "winner"},
        ),
    ],
)
def test_the_likeliest_way_comes_first_and_works(frame, way):
    said = first_way(frame)
    assert all(f"{name}={value!r}" in said for name, value in way.items()), said
    assert len(ba.read_annotations(frame, **way).items) >= 3


def test_a_count_of_answers_is_no_gold():
    frame = repeated(id=[1, 2, 3], count=[2, 2, 2], a=list("xyx"), b=list("xxy"))
    made = ba.read_table(frame, columns=["a", "b"])
    assert "gold" not in made
    assert len(made) == 6


def test_texts_and_names_are_doubted_as_labels():
    texts = pd.DataFrame({"item": ITEMS * 4, "annotator": PEOPLE * 4, "label": [f"text {n}" for n in range(24)]})
    names = pd.DataFrame({"item": ITEMS, "annotator": PEOPLE, "label": PEOPLE})
    for frame in (texts, names):
        assert "no-labels" in set(ba.check_table(frame)["code"])
    assert "no-labels" not in set(ba.check_table(texts, labels=[f"text {n}" for n in range(24)])["code"])
    assert "no-labels" not in set(ba.check_table(LONG)["code"])


def test_two_battles_without_a_judge_are_two_items():
    frame = repeated(prompt=["p", "p", "r"], a=list("mmn"), b=list("nno"), winner=["m", "n", "tie"])
    data = ba.read_annotations(frame, pairs="a,b")
    assert data.items == ("p: m | n", "p: m | n #2", "r: n | o") or len(data.items) == 3
    assert len(ba.Pairs(first="a", second="b").take(data).controls) == 3
