"""Prodigy's JSONL, as `prodigy db-out` writes it."""

import pandas as pd
import pytest

from bayesanno._core.errors import DataError, ExportWarning
from bayesanno.io.annotations import read_annotations

OPTIONS = [{"id": "POSITIVE", "text": "Positive 👍"}, {"id": "NEGATIVE", "text": "Negative 👎"}, {"id": 0, "text": "?"}]


def line(text, by, accept=None, answer="accept", **more):
    return {
        "text": text, "_input_hash": sum(map(ord, text)), "_task_hash": -17, "options": OPTIONS, "_view_id": "choice",
        "config": {"choice_style": "single"}, "accept": accept or [], "answer": answer, "_timestamp": 1628248537,
        "_annotator_id": by, "_session_id": by, **more,
    }  # fmt: skip


def binary(text, by, answer, label="SPORTS"):
    made = line(text, by, answer=answer)
    for name in ("options", "accept", "config"):
        del made[name]
    return {**made, "_view_id": "classification"} | ({"label": label} if label else {})


def test_a_choice_is_the_option_of_a_session(keep, said):
    lines = [
        line("a", "reviews-ada", ["POSITIVE"]), line("b", "reviews-ada", [0]), line("a", "reviews-bo", ["NEGATIVE"]),
        line("b", "reviews-bo", answer="ignore"), line("c", "reviews-bo", ["POSITIVE"], answer="reject"),
    ]  # fmt: skip
    data, answers = said(keep(lines, "reviews.jsonl", lines=True))
    assert answers == [
        ("97", "reviews-ada", "POSITIVE"), ("98", "reviews-ada", "0"), ("97", "reviews-bo", "NEGATIVE")
    ]  # fmt: skip
    assert data.items == ("97", "98", "99")
    assert said(pd.DataFrame(lines))[1] == answers
    assert said(keep(lines), item="text", format="prodigy")[0].items == ("a", "b", "c")


def test_an_older_line_has_a_session_alone(said):
    lines = [line("a", None, ["POSITIVE"], _session_id="reviews-ada"), line("a", "reviews-bo", ["NEGATIVE"])]
    assert said(lines)[0].annotators == ("reviews-ada", "reviews-bo")


def test_without_options_the_answer_is_yes_or_no_to_a_label(said, refuses):
    lines = [binary("a", "x-ada", "accept"), binary("a", "x-bo", "reject"), binary("b", "x-bo", "ignore")]
    assert said(lines)[1] == [("97", "x-ada", "accept"), ("97", "x-bo", "reject")]
    assert said([binary("a", "x-ada", "accept", None), binary("b", "x-ada", "reject", None)])[0].n_annotations == 2
    several = [*lines, binary("a", "x-ada", "reject", "MUSIC"), binary("b", "x-ada", "accept", "MUSIC")]
    with refuses(DataError, "there are 2 questions, 'SPORTS', 'MUSIC': choose one, as in label='SPORTS'"):
        read_annotations(several)
    assert said(several, label="MUSIC")[0].n_annotations == 2


def test_several_options_are_one_question_each(said):
    lines = [line("a", "x-ada", ["POSITIVE", 0]), line("a", "x-bo", [])]
    data, answers = said(lines, multi_label=True)
    assert data.items == ("97 / 0", "97 / POSITIVE")
    assert [label for *_, label in answers] == ["yes", "yes", "no", "no"]


@pytest.mark.parametrize("session", ["2021-08-06_15-17-08", "reviews-2021-08-06_15-17-08"])
def test_of_sessions_without_a_name_it_warns(keep, said, session):
    lines = [line("a", session, ["POSITIVE"]), line("b", "reviews-bo", ["NEGATIVE"])]
    with pytest.warns(
        ExportWarning, match=rf"x\.jsonl: 1 session named only by a time, such as '{session}': each counts"
    ):
        assert said(keep(lines, "x.jsonl", lines=True))[0].annotators == (session, "reviews-bo")


WRONG = {
    "nobody": (line("a", None, [0]), "line 2: label '0' has no annotator: fill in _annotator_id or"),
    "no hash": ({**line("a", "x", [0]), "_input_hash": None}, "line 2: _input_hash is missing: fill it in"),
    "answer": (line("a", "x", [0], "yes"), "line 2: answer is 'yes', but must be one of 'accept', 'reject', 'ignore'"),
    "no option": (line("a", "x", [7]), "line 2: '7' in accept is not one of the options '0', 'NEGATIVE', 'POSITIVE'"),
    "accept is an object": (line("a", "x", {"a": 1}), "line 2: accept is an object, but must be a list"),
    "two options": (line("a", "x", ["POSITIVE", 0]), "line 2: an answer to item '97' has 2 labels, 'POSITIVE', '0'"),
    "spans": ({**binary("a", "x", "accept", None), "spans": []}, "line 2: this line has spans: only choices"),
    "relations": (
        {**binary("a", "x", "accept", None), "relations": []},
        "line 2: this line has relations: only choices",
    ),
    "a text": (
        {**binary("a", "x", "accept", None), "user_input": "b"},
        "line 2: this line has user_input: only choices",
    ),
    "not an object": (["a"], r"line 2: this is a list, but must be an object"),
}


@pytest.mark.parametrize("which", WRONG)
def test_what_is_wrong_is_named_with_its_line(keep, refuses, which):
    wrong, match = WRONG[which]
    with refuses(DataError, rf"reviews\.jsonl, {match}"):
        read_annotations(keep([line("b", "x-ada", [0]), wrong], "reviews.jsonl", lines=True))


def test_a_file_that_is_cut_off_is_refused(keep, refuses):
    whole = keep([line("a", "x", [0]), line("b", "x", [0])], lines=True).read_text()
    with refuses(DataError, r"export\.json, line 2: this is not JSON: .*\(the file ends here, and may be cut off\)"):
        read_annotations(keep(whole[:-40]))
