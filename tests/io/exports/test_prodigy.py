"""Prodigy's JSONL, as `prodigy db-out` writes it."""

import pandas as pd
import pytest

from bayesanno._core.messages import DataError, ExportWarning
from bayesanno.io.read import read_annotations
from tests.io.cases import reading, refusing

OPTIONS = [{"id": "POSITIVE", "text": "Positive 👍"}, {"id": "NEGATIVE", "text": "Negative 👎"}, {"id": 0, "text": "?"}]


def line(text, by, accept=None, answer="accept", **more):
    return {
        "text": text, "_input_hash": sum(map(ord, text)), "_task_hash": -17, "options": OPTIONS, "_view_id": "choice",
        "config": {"choice_style": "single"}, "accept": accept or [], "answer": answer, "_timestamp": 1628248537,
        "_annotator_id": by, "_session_id": by, **more,
    }  # fmt: skip


def binary(text, by, answer, label="SPORTS", **more):
    made = {**line(text, by, answer=answer), "_view_id": "classification", **more} | ({"label": label} if label else {})
    return {name: value for name, value in made.items() if name not in ("options", "accept", "config")}


CHOICES = [
    line("a", "reviews-ada", ["POSITIVE"]), line("b", "reviews-ada", [0]), line("a", "reviews-bo", ["NEGATIVE"]),
    line("b", "reviews-bo", answer="ignore"), line("c", "reviews-bo", ["POSITIVE"], answer="reject"),
]  # fmt: skip
BINARY = [binary("a", "x-ada", "accept"), binary("a", "x-bo", "reject"), binary("b", "x-bo", "ignore")]
TWO = [*BINARY, binary("a", "x-ada", "reject", "MUSIC"), binary("b", "x-ada", "accept", "MUSIC")]
test_answers_are_those_of_sessions = reading({
    "yes or no": (BINARY, {}, [("97", "x-ada", "accept"), ("97", "x-bo", "reject")]),
    "one of two labels": (TWO, {"label": "MUSIC"}, [("97", "x-ada", "reject"), ("98", "x-ada", "accept")]),
    "several options": ([line("a", "x-ada", ["POSITIVE", 0]), line("a", "x-bo", [])], {"multi_label": True},
                        [("97 / 0", "x-ada", "yes"), ("97 / POSITIVE", "x-ada", "yes"),
                         ("97 / 0", "x-bo", "no"), ("97 / POSITIVE", "x-bo", "no")]),
    "an older line": ([line("a", None, ["POSITIVE"], _session_id="ada"), line("a", "bo", ["NEGATIVE"])], {},
                      [("97", "ada", "POSITIVE"), ("97", "bo", "NEGATIVE")]),
})  # fmt: skip


def test_a_choice_is_the_option_of_a_session(keep, said):
    data, answers = said(keep(CHOICES, "reviews.jsonl", lines=True))
    assert answers == [("97", "reviews-ada", "POSITIVE"), ("98", "reviews-ada", "0"), ("97", "reviews-bo", "NEGATIVE")]
    assert data.items == ("97", "98", "99")
    assert said(pd.DataFrame(CHOICES))[1] == answers
    assert said(keep(CHOICES), item="text", format="prodigy")[0].items == ("a", "b", "c")


@pytest.mark.parametrize("session", ["2021-08-06_15-17-08", "reviews-2021-08-06_15-17-08"])
def test_of_sessions_without_a_name_it_warns(said, session):
    lines = [line("a", session, ["POSITIVE"]), line("b", "reviews-bo", ["NEGATIVE"])]
    with pytest.warns(ExportWarning, match="some sessions are named only by a time"):
        assert said(lines)[0].annotators == (session, "reviews-bo")


WRONG = {
    "nobody": (line("a", None, [0]), "line 2: label '0' of item .* has no annotator"),
    "no hash": ({**line("a", "x", [0]), "_input_hash": None}, "line 2: the item is missing"),
    "answer": (line("a", "x", [0], "yes"), "line 2: answer is 'yes', but must be one of 'accept', 'reject', 'ignore'"),
    "no option": (line("a", "x", [7]), "line 2: '7' in accept is not one of the options '0', 'NEGATIVE', 'POSITIVE'"),
    "two options": (line("a", "x", ["POSITIVE", 0]), "line 2: an answer to item '97' has 2 labels, 'POSITIVE', '0'"),
    "spans": (binary("a", "x", "accept", None, spans=[]), "line 2: this line has no label: .*, not spans"),
}
test_what_is_wrong_is_named_with_its_line = refusing(
    {which: ([line("b", "x-ada", [0]), wrong], match) for which, (wrong, match) in WRONG.items()},
    "reviews.jsonl", lines=True,
)  # fmt: skip


def test_two_labels_and_a_file_that_is_cut_off_are_refused(keep, refuses):
    with refuses(DataError, "there are 2 questions, 'SPORTS', 'MUSIC'"):
        read_annotations(TWO)
    whole = keep([line("a", "x", [0]), line("b", "x", [0])], lines=True).read_text()
    with refuses(DataError, r"export\.json, line 2: this is not JSON: .*\(the file ends here, and may be cut off\)"):
        read_annotations(keep(whole[:-40]))
