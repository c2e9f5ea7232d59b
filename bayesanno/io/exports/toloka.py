"""Toloka: the TSV of a pool, a row for each answer to a task.

The annotator is `ASSIGNMENT:worker_id`, the item `ASSIGNMENT:task_id`, and each `OUTPUT:*` a question. The labels of
control tasks in `GOLDEN:*` are controls, which models take as known; if `gold` names that column, they are gold.
Format: https://toloka.ai/docs/guide/result-of-eval
"""

from __future__ import annotations

from collections.abc import Iterator

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed
from bayesanno.io.exports.answers import CONTROL, Answer, Export, has_columns, read_rows
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.records import Value
from bayesanno.io.read_options import ReadOptions

_OUTPUT, _GOLDEN, _INPUT = "OUTPUT:", "GOLDEN:", "INPUT:"
_ITEM, _ANNOTATOR, _STATUS = "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"


def read_toloka(document: Document, options: ReadOptions) -> Iterator[Answer]:
    """Yield the answers of each row, an answer for each output, and the known labels of control tasks."""

    def questions(row: Value) -> Iterator[tuple[str, Value, str]]:
        for name, cell in row.fields():
            kind, _, question = name.partition(":")
            if f"{kind}:" == _OUTPUT and name != options.gold:
                yield question, cell, ""
            elif f"{kind}:" == _GOLDEN and options.gold is None:
                yield question, cell, CONTROL

    item = options.item or _find_item(document)
    return read_rows(document, options, item, _ANNOTATOR, questions, prefix=_OUTPUT, status=_STATUS)


def _find_item(document: Document) -> str:
    """Return the column of the task, or the only input."""
    inputs = [name for name in document.first if name.startswith(_INPUT)]
    if _ITEM in document.first:
        return _ITEM
    if len(inputs) == 1:
        return inputs[0]
    raise DataError(
        f"{document.name} has no column {_ITEM!r}: name one that distinguishes tasks with item=..., such as "
        f"{listed(inputs or list(document.first))}"
    )


TOLOKA = Export(
    name="toloka",
    form="a table with columns ASSIGNMENT:worker_id and OUTPUT:*",
    of_tables=True,
    annotator=_ANNOTATOR,
    looks_like=has_columns(_ANNOTATOR, prefix=_OUTPUT),
    read=read_toloka,
    uses=frozenset({"item", "annotator", "gold", "multi_label", "drop_rejected"}),
)
