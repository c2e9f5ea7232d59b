"""The tables of Mechanical Turk and Toloka."""

import pandas as pd
import pytest

from bayesanno._core.messages import ExportWarning
from bayesanno.io.read import columns_of_answers
from bayesanno.io.sources import open_source
from tests.io.cases import reading, refusing

HIT = (
    '"HITId","HITTypeId","Title","AssignmentId","WorkerId","AssignmentStatus","WorkTimeInSeconds","Input.id","Input.truth"'
    ',"Answer.sentiment","Approve","Reject"\n'
)


def assignment(hit, worker, status, answer, truth="", review=""):
    """A row, which ends before Approve and Reject where nobody has reviewed it."""
    return f'"{hit}","T1","Größe","A{hit}{worker}","{worker}","{status}","41","id-{hit}","{truth}","{answer}"{review}\n'


BATCH = (
    HIT
    + assignment("3AB", "A1Z", "Approved", "Positive", "Positive")
    + assignment("3AB", "A2Z", "Rejected", "Negative", "Positive")
    + assignment("3CD", "A1Z", "Submitted", "Negative")
    + assignment("3CD", "A2Z", "Submitted", "")
)


def test_a_batch_is_assignments_of_workers(keep, said):
    path = keep(BATCH, "Batch_1_batch_results.csv")
    data, answers = said(path)
    assert answers == [("3AB", "A1Z", "Positive"), ("3AB", "A2Z", "Negative"), ("3CD", "A1Z", "Negative")]
    assert said(path, drop_rejected=True)[1] == [answers[0], answers[2]]
    data, _ = said(path, item="Input.id", gold="Input.truth", label="Answer.sentiment", format="mturk")
    assert (data.items, data.gold) == (("id-3AB", "id-3CD"), {"id-3AB": "Positive"})
    assert said(path, label="sentiment")[1] == answers
    assert said(pd.read_csv(path))[1] == answers


POOL = (
    "INPUT:image\tOUTPUT:result\tGOLDEN:result\tHINT:text\tASSIGNMENT:link\tASSIGNMENT:task_id\tASSIGNMENT:assignment_id\t"
    "ASSIGNMENT:task_suite_id\tASSIGNMENT:worker_id\tASSIGNMENT:status\tASSIGNMENT:started\n"
    "a.jpg\tcat\t\t\t\tt1\ta1\ts1\tw1\tAPPROVED\t2023\n"
    "a.jpg\tdog\t\t\t\tt1\ta2\ts1\tw2\tREJECTED\t2023\n"
    "b.jpg\tdog\tdog\t\t\tt2\ta1\ts1\tw1\tAPPROVED\t2023\n"
    "b.jpg\t\tdog\t\t\tt2\ta2\ts1\tw2\tSUBMITTED\t2023\n"
)
HEADER = '"HITId","WorkerId","AssignmentStatus","Input.text","Answer.mood","Approve","Reject"\n'
ROWS = '"H1","W1","Submitted","a","good"\n"H1","W2","Submitted","a","bad"\n'
REVIEWED = '"H1","W3","Submitted","a","bad","x",""\n'
SHORT = [("H1", "W1", "good"), ("H1", "W2", "bad"), ("H1", "W3", "bad")]
BOXES = "HITId,WorkerId,Answer.mood.good,Answer.mood.bad,Answer.sure.label\n3AB,A1,true,{},\n3AB,A2,false,true,1\n"


def batch(*cells):
    rows = [{"HITId": "3AB", "WorkerId": f"A{n}", "Answer.taskAnswers": cell} for n, cell in enumerate(cells)]
    return pd.DataFrame(rows)


def of_two(*labels):
    return [("3AB", f"A{n}", label) for n, label in enumerate(labels) if label]


test_every_form_of_a_batch_has_its_answers = reading({
    "a review below": (HEADER + ROWS + REVIEWED, {}, SHORT),
    "check boxes": (BOXES.format("false"), {"label": "mood"}, [("3AB", "A1", "good"), ("3AB", "A2", "bad")]),
    "several check boxes": (BOXES.format("true"), {"label": "mood", "multi_label": True}, [
        ("3AB / bad", "A1", "yes"), ("3AB / good", "A1", "yes"),
        ("3AB / bad", "A2", "yes"), ("3AB / good", "A2", "no")]),
    "a label": (batch('[{"mood":{"label":"pos"}}]', '[{"mood":{"label":"neg"}}]'), {}, of_two("pos", "neg")),
    "flags": (batch('[{"mood":{"bad":false,"good":true}}]', '[{"mood":{"bad":true,"good":false}}]'), {},
              of_two("good", "bad")),
    "a form": (batch('[{"q":"x","form":{"a":{"b":1}}}]', '[{"q":"y"}]'), {"label": "q"}, of_two("x", "y")),
    "the only input of a pool": (POOL.replace("ASSIGNMENT:task_id", "x"), {}, [
        ("a.jpg", "w1", "cat"), ("a.jpg", "w2", "dog"), ("b.jpg", "w1", "dog")]),
})  # fmt: skip


def test_a_pool_is_answers_of_workers_and_control_tasks(keep, said):
    path = keep(POOL, "pool.tsv")
    data, answers = said(path)
    assert answers == [("t1", "w1", "cat"), ("t1", "w2", "dog"), ("t2", "w1", "dog")]
    assert (data.controls, data.gold) == ({"t2": "dog"}, {})
    assert said(path, drop_rejected=True)[1] == [answers[0], answers[2]]
    data, _ = said(path, gold="GOLDEN:result", format="toloka", item="INPUT:image", label="OUTPUT:result")
    assert (data.items, data.controls, data.gold) == (("a.jpg", "b.jpg"), {}, {"b.jpg": "dog"})
    assert said(path, controls={"t1": "cat"})[0].controls == {"t1": "cat"}
    data, _ = said(path, multi_label=True)
    assert data.controls == {"t2 / cat": "no", "t2 / dog": "yes"}


def test_skipped_and_expired_assignments_of_a_pool_are_left_out(keep, said):
    text = POOL.replace("REJECTED", "SKIPPED").replace("SUBMITTED", "EXPIRED")
    with pytest.warns(ExportWarning, match="rows of skipped or expired assignments are left out"):
        assert said(keep(text, "pool.tsv"))[1] == [("t1", "w1", "cat"), ("t2", "w1", "dog")]


test_what_is_wrong_is_named_with_its_line = refusing({
    "two questions": (BATCH.replace('"Input.id"', '"Answer.why"'), "there are 2 questions"),
    "two questions of boxes": (BOXES.format("false"), "there are 2 questions, 'mood', 'sure.label'"),
    "no worker": (BATCH.replace('"A2Z","Rej', '"","Rej'), "line 3, .*: label '.*' of item '3AB' has no annotator"),
    "no JSON": ('HITId,WorkerId,Answer.taskAnswers\n1,2,"[{"\n', "line 2: Answer.taskAnswers: this is not JSON"),
    "no label": ('HITId,WorkerId,Answer.taskAnswers\n1,2,"[{""q"":{""x"":1}}]"\n', "question 'q' asks for spans, "
                                                                                   "boxes or other parts"),
    "cut after a cell": (BATCH.removesuffix(',""\n'), "line 5: 9 columns where the header .* has 12"),
    "one cell of two": (BATCH[:-1] + ',"x"\n', "line 5: 11 columns where the header .* has 12"),
    "no task": (POOL.replace("ASSIGNMENT:task_id", "x").replace("HINT:text", "INPUT:y"), "line 2, .*: the item is "
                                                                                         "missing"),
    "two controls": (POOL.replace("b.jpg\t\tdog", "b.jpg\t\tcat"), "line 5, .*: item 't2' has two controls"),
}, "answers.csv")  # fmt: skip


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (HEADER + ROWS, ["WorkerId", "Answer.mood"]),
        (POOL, ["OUTPUT:result", "GOLDEN:result", "ASSIGNMENT:worker_id"]),
    ],
    ids=["mturk", "toloka"],
)
def test_columns_of_answers_are_known_for_an_export_to_other_tools(keep, text, hidden):
    path = keep(text, "batch.csv" if text.startswith('"') else "pool.tsv")
    assert columns_of_answers(open_source(path), {}, ["W1"]) == hidden
