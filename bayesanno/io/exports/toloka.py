"""Toloka: the TSV of a pool, a row for each answer to a task.

The annotator is `ASSIGNMENT:worker_id`, the item `ASSIGNMENT:task_id`, and each `OUTPUT:*` a question. The labels of
control tasks in `GOLDEN:*` are controls, which models take as known; if `gold` names that column, they are gold.
Assignments that were skipped or expired are left out. Format: https://toloka.ai/docs/guide/result-of-eval
"""

from __future__ import annotations

from collections.abc import Iterator

from bayesanno._core.errors import DataError, ExportWarning, warn
from bayesanno._core.wording import counted, listed, option
from bayesanno.io.exports.answers import CONTROL, OF_TABLES, SAID, Export, has_columns, with_answers
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.value import Value
from bayesanno.io.read_options import ReadOptions

_OUTPUT, _GOLDEN, _INPUT = "OUTPUT:", "GOLDEN:", "INPUT:"
_ITEM, _ANNOTATOR = "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id"


def read_pool(document: Document, options: ReadOptions) -> Iterator[Value]:
    """Yield each row with its answers to all questions, and with the known labels of control tasks."""
    inputs = [name for name in document.first if name.startswith(_INPUT)]
    if options.item is None and _ITEM not in document.first and len(inputs) != 1:
        raise DataError(
            f"{document.name} has no column {_ITEM!r}: name one that distinguishes tasks with {option('item')}, such "
            f"as {listed(inputs or list(document.first))}"
        )
    known = {_OUTPUT: "", _GOLDEN: CONTROL} if options.gold is None else {_OUTPUT: ""}
    rows = list(document.records())
    done = [row for row in rows if row.get("ASSIGNMENT:status").as_text() not in ("SKIPPED", "EXPIRED")]
    for row in done:
        given = row.as_object()
        answers = [
            {"question": name[len(start) :], "label": row.get(name), "known": kind}
            for start, kind in known.items()
            for name in given
            if name.startswith(start) and name != options.gold
        ]
        yield with_answers(row, answers, **({_ITEM: given[inputs[0]]} if inputs and _ITEM not in given else {}))
    if n := len(rows) - len(done):
        warn(f"{document.name}: {counted(n, 'row')} left out, of skipped or expired assignments", ExportWarning)


TOLOKA = Export(
    name="toloka",
    form="a table with columns ASSIGNMENT:worker_id and OUTPUT:*",
    looks_like=has_columns(_ANNOTATOR, prefix=_OUTPUT),
    paths={"item": _ITEM, "annotator": _ANNOTATOR, "review": "ASSIGNMENT:status", **SAID},
    records=read_pool,
    uses=OF_TABLES | {"drop_rejected"},
    prefix=_OUTPUT,
)
