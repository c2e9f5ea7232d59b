"""doccano: a zip with a file for each member of the project, who is the annotator, named as the file.

`label` is a list, and empty where the member has not annotated. A project that shares its annotations exports one file,
`all`, in which nobody is named: it is refused. Format: https://doccano.github.io/doccano/ and doccano's `data_export`
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from bayesanno._core.errors import DataError
from bayesanno._core.wording import option
from bayesanno.io.exports.answers import SAID, Export, with_answers
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.value import Value
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.text_table import ALIASES

_LABEL_FIELDS = ("label", "cats", "labels")  # "cats" in projects of intents and slots, "labels" in older exports
_SHARED = "all"


def looks_like_doccano(document: Document, options: ReadOptions) -> bool:
    """Return whether the first record has an id and a list of labels, and nobody who gave them."""
    first = document.first
    labelled = any(isinstance(first.get(name), list) for name in _LABEL_FIELDS)
    named = options.annotator is not None or any(name.casefold() in ALIASES["annotator"] for name in first)
    of_text = "id" in first and any(name in first for name in ("text", "data", "filename"))
    return document.kind != "table" and of_text and labelled and not named


def read_members(document: Document, _: ReadOptions) -> Iterator[Value]:
    """Yield each example of each member; a member without labels here is not an annotator of this example."""
    members = {name: PurePosixPath(name).stem for name in document.files}
    if not members or set(members.values()) == {_SHARED}:
        what = "this is one file of doccano" if not members else "it holds one file with all labels"
        raise DataError(
            f"{document.name}: {what}, without the annotators: export the whole zip as JSONL from a project that does "
            "not share annotations across all users (a setting of the project); if each label is by another annotator, "
            f"use {option('annotator', 'label[]#')} and {option('label', 'label[]')}"
        )
    for name, file in document.files.items():
        for record in file.records():
            answers = []
            for field in filter(record.as_object().__contains__, _LABEL_FIELDS):
                label = record.get(field)
                if not isinstance(label.given, str):
                    label = label.put(label.as_list() or None)  # an object or a number is refused
                by = members[name] if label.given else ""
                answers.append({"question": field, "label": label, "by": by})
            yield with_answers(record, answers)


DOCCANO = Export(
    name="doccano",
    form="a zip of JSONL, a file for each member",
    looks_like=looks_like_doccano,
    paths={"item": "id", "annotator": "said[].by", **SAID},
    records=read_members,
    is_unique=True,
)
