"""Toloka: the TSV of a pool, a row for each answer to a task.

The annotator is `ASSIGNMENT:worker_id`, the item `ASSIGNMENT:task_id`, and each `OUTPUT:*` a question. The labels of
control tasks in `GOLDEN:*` are controls, which models take as known; if `gold` names that column, they are gold.
Format: https://toloka.ai/docs/guide/result-of-eval
"""

from __future__ import annotations

from collections.abc import Iterator

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed
from bayesanno.io.exports.answers import CONTROL, Answer, Export, mention_item, name_as_asked, read_rows
from bayesanno.io.exports.document import Document
from bayesanno.io.read_options import ReadOptions

_OUTPUT, _GOLDEN, _INPUT = "OUTPUT:", "GOLDEN:", "INPUT:"
_ITEM, _ANNOTATOR, _STATUS = "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"


def looks_like_toloka(document: Document, _: ReadOptions) -> bool:
    """Return whether there are columns of a worker and of an output."""
    header = document.first
    return document.kind == "table" and _ANNOTATOR in header and any(name.startswith(_OUTPUT) for name in header)


def read_toloka(document: Document, options: ReadOptions) -> Iterator[Answer]:
    """Yield the answers of each row, an answer for each output, and what is known of control tasks."""
    item_field = options.item or _find_item(document)
    for row, item, annotator in read_rows(document, options, item_field, _ANNOTATOR, _STATUS):
        yield from mention_item(row, item, options.gold)
        for name, cell in row.fields():
            if name == options.gold or not name.startswith((_OUTPUT, _GOLDEN)):
                continue
            asked = name_as_asked(name.partition(":")[2], _OUTPUT, options)
            if name.startswith(_OUTPUT):
                yield Answer(row.place, item, annotator, asked, cell.as_labels())
            elif options.gold is None:
                yield Answer(row.place, item, "", asked, cell.as_labels(), CONTROL)


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
    looks_like=looks_like_toloka,
    read=read_toloka,
    uses=frozenset({"item", "annotator", "gold", "multi_label", "drop_rejected"}),
)
