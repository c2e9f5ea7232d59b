"""Lists in cells, labels that a separator is between, columns of 0 and 1, and annotators side by side."""

import csv
import io
import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesanno._core.messages import DataError
from bayesanno.io.read import read_annotations
from tests.io.cases import reading, refusing

CHOSEN = [("t1", "w1", ["joy", "anger"]), ("t1", "w2", ["joy"]), ("t2", "w1", [])]
YES_OR_NO = [
    ("t1 / anger", "w1", "yes"), ("t1 / joy", "w1", "yes"), ("t1 / anger", "w2", "no"), ("t1 / joy", "w2", "yes"),
    ("t2 / anger", "w1", "no"), ("t2 / joy", "w1", "no"),
]  # fmt: skip
HEADER = ("item", "annotator", "label")


def as_csv(header, rows):
    file = io.StringIO()
    csv.writer(file).writerows([header, *rows])
    return file.getvalue()


FRAME = pd.DataFrame(CHOSEN, columns=HEADER)
FORMS = {
    "tuples": as_csv(HEADER, [(i, w, str([*said, None])) for i, w, said in CHOSEN]),
    "JSON": json.dumps([dict(zip(HEADER, row, strict=True)) for row in CHOSEN]),
    "columns of words, beside lists": as_csv(
        (*HEADER[:2], "tags", "joy", "anger"),
        [(i, w, "['x']", str("joy" in said).upper(), str("anger" in said).upper()) for i, w, said in CHOSEN],
    ),
    "columns of decimals": as_csv(
        (*HEADER[:2], "clear", "joy", "anger"),
        [(i, w, True, float("joy" in said), "1.0" if "anger" in said else "") for i, w, said in CHOSEN],
    ),
    "wide": as_csv(("item", "w1", "w2", "text"), [("t1", "['joy', 'anger']", "['joy']", "hey"), ("t2", [], "", "ho")]),
    "of arrays": FRAME.assign(label=[np.array(said, dtype=object) for *_, said in CHOSEN]),
    "of booleans": FRAME[["item", "annotator"]].assign(joy=[True, True, False], anger=[True, False, False]),
    "of numbers": FRAME[["item", "annotator"]].assign(joy=[1.0, 1, 0], anger=[1, np.nan, 0]),
}
COLUMNS = {"wide": ["w1", "w2"]} | {
    name: ["joy", "anger"] for name in FORMS if name.startswith(("columns", "of b", "of n"))
}


@pytest.mark.parametrize("which", FORMS)
def test_several_labels_of_one_answer(keep, said, which):
    source = FORMS[which]
    source = keep(source, "answers") if isinstance(source, str) else source
    assert sorted(said(source, multi_label=True, columns=COLUMNS.get(which, ()))[1]) == sorted(YES_OR_NO)


def test_gold_of_several_labels_is_yes_or_no_to_each(keep, said):
    known = as_csv((*HEADER, "gold"), [("t1", "w1", "joy|anger", "anger|joy"), ("t2", "w1", "joy", "['joy']")])
    gold = said(keep(known), multi_label=True, split="|")[0].gold
    assert gold == {"t1 / anger": "yes", "t1 / joy": "yes", "t2 / anger": "no", "t2 / joy": "yes"}


def test_labels_are_declared_and_codes_left_out(keep):
    path = keep(as_csv(HEADER, [("1", "a", "['joy', 'anger']"), ("2", "a", "NA"), ("3", "a", "['Joy']")]))
    data = read_annotations(path, multi_label=True, missing="NA", labels=["joy", "Joy", "anger"])
    assert (data.n_items, data.n_annotations) == (9, 6)


# the shape of LeWiDi's files
LEWIDI = {"1": {"annotations": "0,1,0", "annotators": "Ann1,Ann2,Ann3", "soft_label": {"0": 0.67, "1": 0.33}},
          "2": {"annotations": "1,1", "annotators": "Ann1,Ann4", "soft_label": {"0": 0, "1": 1}}}  # fmt: skip
SAID = [("1", "Ann1", "0"), ("1", "Ann2", "1"), ("1", "Ann3", "0"), ("2", "Ann1", "1"), ("2", "Ann4", "1")]
BESIDE = [("1", ["Ann1", "Ann2", "Ann3"], [0, 1, 0]), ("2", ["Ann1", "Ann4"], [1, 1])]
LISTS = pd.DataFrame(BESIDE, columns=["item", "annotators", "labels"])
SEPARATED = as_csv(HEADER, [(i, ";".join(who), ";".join(map(str, what))) for i, who, what in BESIDE])
NAMED = {i: {"text": "x", "annotations": {who: label for of, who, label in SAID if of == i}} for i in "12"}
SEGMENTS = [("A", 1, "r1", "major"), ("B", 1, "r1", "minor"), ("A", 2, "r2", "minor")]
OF_SEGMENTS = ("system", "seg_id", "rater", "severity")
BY_SEGMENT = {"item": "{system}/{seg_id}", "label": "severity"}
SEVERAL = {"multi_label": True}
BAR = {**SEVERAL, "split": "|"}
test_lists_are_answers_of_their_annotators = reading({
    # an empty cell may be no answer, or an answer without a label: it is missing, as in every other table
    **{f"separated by {mark}": (as_csv(HEADER, [(i, w, mark.join(labels)) for i, w, labels in CHOSEN]),
                                {**SEVERAL, "split": mark}, YES_OR_NO[:4]) for mark in ("|", ",", ";", " and ")},
    "separated in a batch": ('"HITId","WorkerId","Answer.mood"\n"t1","w1","joy|anger"\n"t1","w2","joy"\n', BAR,
                             YES_OR_NO[:4]),
    "an empty list in a wide table": ("item,w1,w2\nt1,joy|anger,[]\n", {**BAR, "columns": "w1,w2"}, [
        *YES_OR_NO[:2], ("t1 / anger", "w2", "no"), ("t1 / joy", "w2", "no")]),
    "separated codes": (as_csv(HEADER, [("t1", "w1", "joy|NA"), ("t1", "w2", "NA"), ("t2", "w2", "anger")]),
                        {**BAR, "missing": ["NA"]},
                        [("t1 / anger", "w1", "no"), ("t1 / joy", "w1", "yes"),
                         ("t2 / anger", "w2", "yes"), ("t2 / joy", "w2", "no")]),
    "a name with a separator": (as_csv(HEADER, [("1", "Doe, J", "a,b")]),
                                {**SEVERAL, "split": ",", "annotator": "{annotator}"},
                                [("1 / a", "Doe, J", "yes"), ("1 / b", "Doe, J", "yes")]),
    "LeWiDi": (LEWIDI, {"split": ","}, SAID),
    "lists in a table": (LISTS, {}, SAID),
    "lists as text": (as_csv(LISTS.columns, BESIDE), {}, SAID),
    "lists of items": (pd.DataFrame(SAID, columns=HEADER).groupby("item").agg(list), {}, SAID),
    "lists that are separated": (SEPARATED, {"split": ";"}, SAID),
    "lists of lists": ([{"item": "t", "annotators": ["x", "y"], "labels": [["a", "b"], []]}], SEVERAL, [
        ("t / a", "x", "yes"), ("t / b", "x", "yes"), ("t / a", "y", "no"), ("t / b", "y", "no")]),
    "by name": (NAMED, {}, SAID),
    "by name as text": (as_csv(("item", "annotations"), [(i, NAMED[i]["annotations"]) for i in NAMED]), {}, SAID),
    "several by name": ({"1": {"annotations": {"x": "a,b", "y": ["b"], "z": ""}}}, {**SEVERAL, "split": ","}, [
        ("1 / a", "x", "yes"), ("1 / b", "x", "yes"), ("1 / a", "y", "no"), ("1 / b", "y", "yes")]),
    "a template of annotators too": (as_csv(OF_SEGMENTS, SEGMENTS), {**BY_SEGMENT, "annotator": "{rater}-{seg_id}"}, [
        ("A/1", "r1-1", "major"), ("B/1", "r1-1", "minor"), ("A/2", "r2-2", "minor")]),
    "one label by declaration": (LEWIDI, {"labels": ["0,1,0", "1,1"]}, [
        ("1", "Ann1,Ann2,Ann3", "0,1,0"), ("2", "Ann1,Ann4", "1,1")]),
})  # fmt: skip


def test_lists_that_are_not_split_or_not_named_are_refused(refuses):
    with refuses(DataError, r"the dict, \['1'\]: label '0,1,0' looks like several .*\n.*split=','"):
        read_annotations(LEWIDI)
    with refuses(DataError, r"\['1'\]: the label is an object"):
        read_annotations({"1": {**NAMED["1"], "annotators": "Ann1,Ann2"}}, annotator="annotators")


test_what_is_wrong_is_named_with_its_line = refusing({
    "NumPy's lists": ("item,user,label\n1,a,x\n1,b,\"['x' 'y']\"\n", SEVERAL, "line 3: .* is not valid"),
    "separated": ("item,user,label\n1,a,x|y\n1,b,x\n2,b,y\n", {}, r"line 2: label 'x\|y' .*\n.*split='\|'"),
    "wide": ("item,a,b\n1,['x'],['y']\n2,['x'],['x']\n", {"columns": "a,b"}, r"line 2: label \"\['x'\]\" looks like "
                                                                                                       "several"),
    "side by side": ('item,user,label\n1,"a,b","0,1"\n2,"a,b","1,2"\n', {}, "line 2: label '0,1' .*\n.*split=','"),
    "fewer labels": ('item,user,label\n1,"a,b,c","0,1"\n', {"split": ","}, "line 2: 3 annotators and 2 labels"),
    "more labels": ('item,users,labels\n1,"[""a""]","[0, 1]"\n', {"annotator": "users"}, "line 2: 1 annotator and 2 "
                                                                                         "labels"),
    "a name with a comma": ('item,user,label\n1,"Doe, J",a\n', {"split": ","}, r"use annotator='\{user\}'"),
    "objects": ('item,user,label\n1,a,"[{""x"": 1}]"\n', SEVERAL, "line 2: a label is an object"),
    "no annotator": ("item,label\n1,x|y\n", {**SEVERAL, "split": "|"}, "line 2: no field names the annotator"),
    "no 0 or 1": ("id,rater_id,joy,age\n1,r1,1,31\n", {**SEVERAL, "columns": "joy,age"}, "line 2: age is '31', but"),
    "an unnamed annotator": ('item,annotators,labels\n1,"a,,c","0,1,0"\n', {"split": ","}, "label '1' of item '1' "
                                                                                           "has no annot"),
    "split of a format": (FORMS["wide"], {"format": "wide", "split": ","}, "do not say which columns are"),
}, "answers.csv")  # fmt: skip


@pytest.mark.parametrize("labels", [("2,5%", "yes, but", "New York, NY"), ("[removed]", "{name}", ",", "|", "{}x")])
def test_labels_with_signs_in_them_are_labels(said, labels):
    rows = [{"item": number, "annotator": "x", "label": label} for number, label in enumerate(labels)]
    assert set(said(pd.DataFrame(rows))[0].labels) == set(labels)


names = st.sampled_from(["joy", "anger", "very sad", "it's"])
subsets = st.dictionaries(
    st.tuples(st.sampled_from("pqr"), st.sampled_from("xyz")), st.sets(names), min_size=1, max_size=6
).filter(lambda said: any(said.values()))


@settings(max_examples=50)
@given(chosen=subsets)
def test_every_form_of_several_labels_says_the_same(tmp_path_factory, chosen):
    path, used = tmp_path_factory.getbasetemp() / "several.csv", sorted(set().union(*chosen.values()))
    expected = sorted(
        (f"{item} / {label}", who, "yes" if label in labels else "no")
        for ((item, who), labels), label in itertools.product(chosen.items(), used)
    )
    rows = [(item, who, sorted(labels)) for (item, who), labels in chosen.items()]
    in_cells = [as_csv(HEADER, [(i, w, write(labels)) for i, w, labels in rows]) for write in (str, json.dumps)]
    flags = as_csv((*HEADER[:2], *used), [(i, w, *(int(each in labels) for each in used)) for i, w, labels in rows])
    by_item = {i: {w: labels for (of, w), labels in chosen.items() if of == i} for i, _ in chosen}
    by_name = [{"item": i, "label": {w: sorted(each) for w, each in said.items()}} for i, said in by_item.items()]
    beside = [{"item": i, "annotator": [*said], "label": [*map(sorted, said.values())]} for i, said in by_item.items()]
    for source in [flags, *in_cells, by_name, beside, pd.DataFrame(rows, columns=HEADER)]:
        if isinstance(source, str):
            path.write_text(source)
        columns = used if source is flags else ()
        data = read_annotations(path if isinstance(source, str) else source, multi_label=True, columns=columns)
        named = zip(data.item, data.annotator, data.label, strict=True)
        assert sorted((data.items[i], data.annotators[j], data.labels[k]) for i, j, k in named) == expected
