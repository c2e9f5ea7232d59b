"""Prodigy: the JSONL of `prodigy db-out`, a line for each answer.

The item is the input (`_input_hash`), the annotator the named session. A choice is the options in `accept`; without
options the answer is accept or reject, about the label of the line where there is one. Ignored tasks, and choices
that are rejected as a whole, are missing. Format: https://prodi.gy/docs/api-interfaces and https://prodi.gy/docs/review
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayesanno._core.errors import DataError, ExportWarning, warn
from bayesanno._core.wording import counted, listed
from bayesanno.io.exports.answers import OF_TABLES, Export
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.value import Value
from bayesanno.io.read_options import ReadOptions, of_spans

ANSWERS = ("accept", "reject", "ignore")
CHOICE = "choice"

_TIMESTAMP = re.compile(r"(?:.*-)?\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d")  # what Prodigy calls a session that nobody named


def looks_like_prodigy(document: Document, _: ReadOptions) -> bool:
    """Return whether the first record has an answer and a hash."""
    first = document.first
    hashed = any(name in first for name in ("_input_hash", "_task_hash"))
    return document.kind != "zip" and hashed and first.get("answer") in ANSWERS


def read_lines(document: Document, options: ReadOptions) -> Iterator[Value]:
    """Yield each line with who answered, the question and the labels."""
    anonymous: dict[str, None] = {}
    for record in document.records():
        who = record.get("_annotator_id").as_text() or record.get("_session_id").as_text()
        if options.annotator is None and _TIMESTAMP.fullmatch(who):
            anonymous[who] = None
        question, said = _read_answer(record)
        yield record.put({**record.as_object(), "who": who, "question": question, "said": said})
    if anonymous:
        warn(
            f"{document.name}: {counted(len(anonymous), 'session')} named only by a time, such as "
            f"{next(iter(anonymous))!r}: each counts as a separate annotator; add ?session=NAME to the address of "
            "Prodigy to name them",
            ExportWarning,
        )


def _read_answer(record: Value) -> tuple[str, Value | str | None]:
    """Return the question and the labels."""
    answer = record.get("answer").as_text()
    if answer not in ANSWERS:
        raise DataError(f"{record.place}: answer is {answer!r}, but must be one of {listed(ANSWERS)}")
    accepted, offered, label = (record.get(name) for name in ("accept", "options", "label"))
    if accepted.given is not None or offered.given is not None:
        if answer != "accept":
            return CHOICE, None
        if not isinstance(accepted.given, str | int):
            accepted = accepted.put(accepted.as_list())
        known = {each.get("id").as_text("an option") for _, each in offered.elements()}
        odd = next((label for label in accepted.as_labels() or () if known and label not in known), None)
        if odd is not None:
            raise DataError(f"{record.place}: {odd!r} in accept is not one of the options {listed(sorted(known))}")
        return CHOICE, accepted
    other = next((name for name in ("spans", "relations", "user_input") if record.get(name).given is not None), None)
    if label.given is None and other is not None:
        raise DataError(
            f"{record.place}: this line has {other}: only choices, accept and reject are read; {of_spans()}"
        )
    return label.as_text() or "answer", None if answer == "ignore" else answer


PRODIGY = Export(
    name="prodigy",
    form="JSONL with answer and _input_hash",
    looks_like=looks_like_prodigy,
    paths={"item": "_input_hash", "annotator": "who", "question": "question", "label": "said"},
    records=read_lines,
    uses=OF_TABLES,
    annotator="_annotator_id or _session_id",
)
