"""Argilla 2: records with suggestions, as `dataset.records.from_json` takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed
from bayesanno.io.tools.tool import Labels, Record, Tasks, Tool, write_json

KEPT = ("metadata", "vectors")
OF_RECORD = ("id", "status", "_server_id", "inserted_at", "updated_at")
OF_QUESTION = (".responses", ".suggestion")  # endings of a question's fields in flat records


def write_argilla(labels: Labels, path: Path) -> None:
    """Write the records with the suggestion, and without the responses, which Argilla has.

    Raises
    ------
    DataError
        If the name of the question is not known, or a label is no rating.
    """
    tasks = labels.tasks
    question = _find_question(tasks, labels.options.question)
    example = next((value for name, value in _answers(tasks) if name == question and value is not None), "")

    def suggest(label: str, score: float) -> Record:
        return {question: {"value": _like(example, label), "score": score, "agent": labels.agent}}

    write_json(
        (
            {"id": item, **_show(tasks.first(item), tasks.item), "suggestions": suggest(label, score), "responses": {}}
            for item, label, score in labels
        ),
        path,
    )


def _find_question(tasks: Tasks, named: str | None) -> str:
    """Return the question that the options name, or the only one with answers."""
    asked = list(dict.fromkeys(name for name, _ in _answers(tasks))) if named is None else [named]
    if len(asked) != 1:
        raise DataError(
            f"argilla needs one question, but {tasks.name} has answers to {listed(asked) or 'none'}: name it with "
            "question=..."
        )
    return asked[0]


def _answers(tasks: Tasks) -> Iterator[tuple[str, Any]]:
    """Yield the name of each question with answers, and an answer or None."""
    for record in tasks:
        for where in ("responses", "suggestions"):
            of_question = record.get(where)
            for name, given in of_question.items() if isinstance(of_question, Mapping) else ():
                one = given[0] if isinstance(given, list) and given else given
                yield name, one.get("value") if isinstance(one, Mapping) else None
        for name, given in record.items():
            for ending in OF_QUESTION:
                if name.endswith(ending):
                    yield name.removesuffix(ending), given[0] if isinstance(given, list) and given else given


def _like(example: Any, label: str) -> Any:
    """Return a label in the form of an example answer: in a list, as a number, or as text."""
    if isinstance(example, list):
        return [label]
    if not isinstance(example, int):
        return label
    if not label.removeprefix("-").isdecimal():
        raise DataError(f"label {label!r} is not a whole number, but the question of these records takes ratings")
    return int(label)


def _show(record: Record, item: str) -> Record:
    """Return a record without answers: its fields, metadata and vectors."""
    if isinstance(record.get("fields"), Mapping):
        return {"fields": record["fields"], **{name: record[name] for name in KEPT if record.get(name)}}
    return {
        "fields": {
            name: value
            for name, value in record.items()
            if name not in (item, *OF_RECORD)
            and value is not None
            and not any(ending in name for ending in OF_QUESTION)
        }
    }


ARGILLA = Tool("argilla", write_argilla, takes=("question", "tasks", "item", "agent"), needs_tasks=True)
