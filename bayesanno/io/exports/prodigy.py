"""Prodigy: the JSONL of `prodigy db-out`, a line for each answer.

The item is the input (`_input_hash`), the annotator the named session. A choice is the options in `accept`; without
options the answer is accept or reject, about the label of the line where there is one. What is ignored, and a choice
that is rejected as a whole, is missing. Format: https://prodi.gy/docs/api-interfaces and https://prodi.gy/docs/review
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayesanno.ground.errors import DataError, ExportWarning, warn
from bayesanno.ground.wording import counted, listed
from bayesanno.io.exports.answers import Answer, known_true
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.export import Export
from bayesanno.io.exports.records import as_labels, as_list, as_object, as_text, fill_in
from bayesanno.io.read_options import ReadOptions

ANSWERS = ("accept", "reject", "ignore")
CHOICE = "choice"

_TIMESTAMP = re.compile(r"(?:.*-)?\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d")  # what Prodigy calls a session that nobody named


def looks_like_prodigy(document: Document, _: ReadOptions) -> bool:
    """Return whether the first record has an answer and a hash."""
    first = document.first
    hashed = any(name in first for name in ("_input_hash", "_task_hash"))
    return document.kind != "zip" and hashed and first.get("answer") in ANSWERS


def read_prodigy(document: Document, options: ReadOptions) -> Iterator[Answer]:
    """Yield the answer of each line."""
    anonymous: dict[str, None] = {}
    for place, record in document.records():
        task = as_object(record, place)
        item = fill_in(options.item or "_input_hash", task, "item", place)
        annotator = _name_annotator(task, options, place)
        if _TIMESTAMP.fullmatch(annotator):
            anonymous[annotator] = None
        answer = as_text(task.get("answer"), "answer", place)
        if answer not in ANSWERS:
            raise DataError(f"{place}: answer is {answer!r}: it is one of {listed(ANSWERS)}")
        if not item or not annotator:
            raise DataError(
                f"{place}: the {'annotator' if item else 'item'} is missing: fill it in or leave the line out"
            )
        yield Answer(place, item, annotator, *_read_answer(task, answer, place))
        yield from known_true(task, item, place, options.gold)
    if anonymous:
        warn(
            f"{document.name}: {counted(len(anonymous), 'session')} named by the time alone, as "
            f"{next(iter(anonymous))!r}: each counts as an annotator of its own; add ?session=NAME to the address "
            "of Prodigy to name them",
            ExportWarning,
        )


def _name_annotator(task: Mapping[str, Any], options: ReadOptions, place: str) -> str:
    if options.annotator is not None:
        return fill_in(options.annotator, task, "annotator", place)
    given = (as_text(task.get(name), name, place) for name in ("_annotator_id", "_session_id"))
    annotator = next(filter(None, given), None)
    if annotator is None:
        raise DataError(
            f"{place}: there is neither _annotator_id nor _session_id, so that nobody gave this answer: name the "
            "field of who did with --annotator"
        )
    return annotator


def _read_answer(task: Mapping[str, Any], answer: str, place: str) -> tuple[str, tuple[str, ...] | None]:
    """Return the question and the labels."""
    if task.get("accept") is not None or task.get("options") is not None:
        if answer != "accept":
            return CHOICE, None
        chosen = task.get("accept")
        labels = as_labels(as_list(chosen, "accept", place) if not isinstance(chosen, str | int) else chosen, place)
        given = [
            as_object(each, f"{place}, options").get("id") for each in as_list(task.get("options"), "options", place)
        ]
        known = {as_text(each, "an option", place) for each in given}
        odd = next((label for label in labels or () if known and label not in known), None)
        if odd is not None:
            raise DataError(f"{place}: {odd!r} in accept is none of the options {listed(sorted(known))}")
        return CHOICE, labels
    if task.get("spans") is not None and task.get("label") is None:
        raise DataError(
            f"{place}: this line marks spans: only choices, and accept or reject, are answers about an item"
        )
    question = as_text(task.get("label"), "label", place) or "answer"
    return question, None if answer == "ignore" else (answer,)


PRODIGY = Export(
    name="prodigy",
    form="JSONL with answer and _input_hash",
    looks_like=looks_like_prodigy,
    read=read_prodigy,
    uses=frozenset({"item", "annotator", "gold", "multi_label"}),
)
