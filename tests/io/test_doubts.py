"""Files whose owners would be misunderstood: what is read where options decide, and what is warned of."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError, NamesWarning
from tests.io.refused.columns import lines, rows

READ = {
    "columns before a label": ("item,worker,category,joy,fear\n0,a,news,1,0\n0,b,web,0,1\n",
                               {"multi_label": True, "columns": "joy,fear"}, ("0 / fear", "0 / joy")),
    "an answer that is there again": ("task,worker,label\n1,a,x\n1,a,x\n1,b,y\n2,a,x\n", {}, ("1", "2")),
    "annotators who agree": ("task,worker,label,predicted\n1,a,x,p\n1,b,x,p\n2,a,y,q\n2,b,y,q\n", {}, ("1", "2")),
    "options that are not given": ("item,annotator,label\n1,a,x\n1,b,y\n",
                                   {"missing": None, "columns": None, "pairs": None, "unsure": None}, ("1",)),
    "a number that is missing": ("item,annotator,label\n1,a,7\n1,b,8\n1,c,-1\n", {"missing": -1}, ("1",)),
    "an evaluator beside a model": (rows("id,model,evaluator,score", [(n, f"m{n}", f"e{k}", k) for n in (0, 1)
                                                                      for k in (3, 4)]), {}, ("0", "1")),
    "a code without a label": (lines([{"item": 1, "annotator": "a", "label": [-1]},
                                      {"item": 1, "annotator": "b", "label": ["x", "y"]}]),
                               {"multi_label": True, "missing": "-1.0"}, ("1 / x", "1 / y")),
    "paths into what looks like Argilla": (
        lines([{"id": 1, "ev": [{"user_id": "u", "value": v, "status": "submitted"}]} for v in "xy"]),
        {"annotator": "ev[].user_id", "label": "ev[].value", "item": "id"}, ("1",)),
    "a file without a header": ("s1,yes,no\ns2,no,yes\n", {"columns": "2:", "no_header": True, "item": "1"},
                                ("s1", "s2")),
    "votes with a template": ("sys,seg,yes,no\na,1,3,2\nb,1,2,2\n", {"format": "votes", "item": "{sys}/{seg}"},
                              ("a/1", "b/1")),
    "a field for each judge": (lines([{"id": 1, "gpt": "y", "llama": "n"}]), {"columns": "gpt,llama"}, ("1",)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*repeat an earlier one:bayesanno.errors.NamesWarning")
@pytest.mark.parametrize(("text", "options", "items"), READ.values(), ids=READ)
def test_options_decide(read, text, options, items):
    assert read(text, **options).items == items


def test_codes_of_a_dataset_have_names():
    table = pd.DataFrame({"item": [1, 1], "annotator": [b"ada", b"bo"], "label": [0, 1]})
    features = {"label": SimpleNamespace(names=["no", "yes"]), "item": SimpleNamespace()}
    data = ba.read_annotations(SimpleNamespace(features=features, to_pandas=lambda: table))
    assert (data.labels, data.annotators) == (("no", "yes"), ("ada", "bo"))


def test_fields_that_only_later_records_have_are_read(read):
    some = [{"id": 1, "rater_1": "a", "rater_2": "b"}, {"id": 2, "rater_1": "a", "rater_3": "b"}]
    data = read(lines(some))
    assert (data.annotators, data.n_annotations) == (("rater_1", "rater_2", "rater_3"), 4)
    known = [{"item": 1, "worker": "a", "label": "x"}, {"item": 2, "worker": "a", "label": "y", "gold": "y"}]
    assert read(lines(known)).gold == {"2": "y"}


def test_votes_leave_out_what_is_known_to_be_none(read):
    data = read("item,yes,no,majority,difficulty,year\n1,2.0,,1,3,2003\n2,,3.0,0,1,2001\n", format="votes")
    assert (data.labels, data.n_annotations) == (("yes", "no"), 5)


WARNED = {
    "decimal commas": ("id;rater_1;rater_2\n1;1,0;1\n2;2,0;2\n3;3,0;1\n", {}, "'1,0' and '1' are different labels"),
    "many decimal commas": ("item;rater_1;rater_2\n1;9,5;9\n2;10,5;10,5\n3;9;9,5\n", {},
                            "with a decimal comma, .*same={'9,5': '9.5', '10,5': '10.5'}"),
    "items of one annotator": (rows("item,annotator,label", [(1, "a", "x"), ("1.0", "b", "y"), (2, "a", "y")]), {},
                               "'1' and '1.0' are different items"),
    "annotators in capitals": ("item,annotator,label\n1,ada,x\n1,Ada,y\n", {},
                               r"'ada' and 'Ada' are different annotators\. Make the spelling identical\.$"),
    "a nameless annotator": ("item,annotator,label\n1,NA,x\n1,b,y\n", {}, "The annotators 'NA' may stand for missing"),
    "a nameless item": ("item,rater_1,rater_2\n1,x,y\n?,x,y\n", {}, "The items '\\?' may stand for missing ones"),
    "a row of sums": ("item,rater_1,rater_2\n1,2,3\n2,3,3\nTotal,5,6\n", {}, "The items 'Total' may .* for sums"),
    "gold that is none": (rows("item,annotator,label,gold", [(1, "a", "yes", "-"), (2, "a", "no", "no")]), {},
                          "'-' may stand for missing known labels. Use missing='-'"),
    "a misspelt true label": (rows("item,annotator,label,gold", [(1, "a", "yes", "yess"), (2, "a", "no", "no")]), {},
                              r"'yess' among the true labels is no label, .* did you mean 'yes'"),
    "orders that were not turned back": (
        rows("item,annotator,label", [(n, "a", which) for n in range(4) for which in ("AB" if n else "AA")]), {},
        r"orders: a \(3\) contradict themselves in most of the 3 items .*name the column|orders: a \(3\)"),
}  # fmt: skip


def test_one_cause_is_one_doubt(read):
    """A spelling is neither a rare label nor a typo as well, and one warning has the gravest."""
    many = rows(
        "item,annotator,label", [(n, "a", "joy" if n % 2 else "sadness") for n in range(200)] + [(1, "b", "JOY")]
    )
    with pytest.warns(NamesWarning) as caught:
        read(many)
    assert len(caught) == 1
    assert "spelling: 'joy' and 'JOY' are different labels." in str(caught[0].message)
    assert "typo" not in str(caught[0].message)


def test_who_answers_again_with_another_label_is_a_note(read, recwarn):
    text = rows("item,annotator,label", [(n, who, "xyz"[(n + k) % 3] if n < 3 else "x") for n in range(9)
                                         for who in ("ada", "bo", "bo") for k in (0,)])  # fmt: skip
    data = read(text.replace("0,bo,x\n0,bo,x", "0,bo,x\n0,bo,y"))
    assert data.n_annotations == 27
    doubts = ba.check_table(data.to_frame()).set_index("code")
    assert doubts.loc["contradiction", "about"] == ("bo (1)",)
    assert doubts.loc["contradiction", "level"] == "note"
    assert not [one for one in recwarn if "contradiction" in str(one.message)]


@pytest.mark.parametrize(("text", "options", "message"), WARNED.values(), ids=WARNED)
def test_what_may_be_a_mistake_is_warned_of(read, text, options, message):
    with pytest.warns(NamesWarning, match=message):
        read(text, **options)


def test_arrays_in_cells_are_lists_and_bytes_are_text(refuses):
    table = pd.DataFrame({"item": [b"s", b"s"], "annotator": ["a", "b"]})
    with refuses(DataError, "looks like several labels in one cell"):
        ba.read_annotations(table.assign(label=[np.array(["joy", "anger"]), np.array(["joy"])]))
    table["label"] = ["x", b"\xff"]
    with refuses(DataError, r"the cell b'\\xff' is not UTF-8"):
        ba.read_annotations(table)


def test_what_was_read_and_left_out_is_logged(read, caplog):
    with caplog.at_level("INFO", logger="bayesanno"):
        read("item,text,topic,ann1,ann2,final\n1,good,tech,pos,neg,pos\n")
        read(lines([{"item": 1, "annotator": "a", "label": v, "meta": {"x": 1}} for v in "xy"]))
    assert "annotators 'ann1', 'ann2'; left out 'text', 'topic', 'final'" in caplog.messages[0]
    assert "left out 'meta'" in caplog.messages[1]


def test_a_second_number_of_counts_is_left_out_or_used(keep):
    path = keep("successes,trials,n\n3,5,5\n1,5,5\n", "counts.csv")
    assert ba.read_counts(path, trials="trials", count="n").n_items == 10
    assert ba.read_counts(path, trials="trials").n_items == 2


def test_items_that_differ_for_one_annotator_are_meant(read, recwarn):
    read(rows("item,annotator,label", [("56.1", "a", "x"), ("56.10", "a", "y"), ("56.1", "b", "x")]))
    assert not recwarn.list


def test_known_labels_need_no_column_of_a_template_of_annotators(read, keep):
    text = rows("system,segment,worker,lot,label", [("a", n, f"w{j}", 1, "xy"[j]) for n in range(3) for j in range(2)])
    templates = {"item": "{system}/{segment}", "annotator": "{worker}/{lot}"}
    data = read(text, gold_file=keep("system,segment,gold\na,0,x\n", "gold.csv"), **templates)
    assert (data.gold, data.annotators) == ({"a/0": "x"}, ("w0/1", "w1/1"))
