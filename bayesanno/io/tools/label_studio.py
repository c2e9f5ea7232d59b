"""Label Studio: predictions for the tasks of a project by their ids, or tasks with predictions for a new project."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed, nearest
from bayesanno.io.tools.tool import Labels, Record, Tasks, Tool, write_json

type Control = tuple[str, str, str]  # its name, what it labels, its type

KEPT = ("id", "data", "meta")
OF_ANSWERS = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time")  # in JSON_MIN


def write_label_studio(labels: Labels, path: Path) -> None:
    """Write predictions with their task's id; or where tasks are given these, each with its prediction.

    Raises
    ------
    DataError
        If the names of the control are not known, an item is no task's id, or a label is none that the control takes.
    """
    from_name, to_name, kind = control = _find_control(labels)
    tasks, in_value = labels.tasks, VALUES[kind]

    def predict(label: str, score: float) -> Record:
        region = {"from_name": from_name, "to_name": to_name, "type": kind, "value": in_value(label)}
        return {"model_version": labels.agent, "score": score, "result": [region]}

    if not tasks:
        records = ({"task": _task_id(item), **predict(label, score)} for item, label, score in labels)
    else:
        records = (
            {**_show(tasks.first(item), control), "predictions": [predict(label, score)]}
            for item, label, score in labels
        )
    write_json(records, path)


def _find_control(labels: Labels) -> Control:
    """Return the control that the options name, or the only one in the annotations."""
    question, to_name = labels.options.question, labels.options.to_name
    used = list(dict.fromkeys(_controls(labels.tasks)))
    fitting = [one for one in used if question in (None, one[0]) and to_name in (None, one[1])]
    if len(fitting) == 1:
        return fitting[0]
    if question is not None and to_name is not None:
        return question, to_name, "choices"
    names = [one[0] for one in used]
    if question is not None and used:
        raise DataError(
            f"question is {question!r}, but the tasks were annotated with {listed(names)}: name one of these, or add "
            f"to_name=...{nearest(question, names)}"
        )
    if len(used) > 1:
        raise DataError(f"the tasks were annotated with {listed(names)}: choose one with question=...")
    raise DataError(
        'label-studio needs two names from the labeling interface: for <Choices name="topic" toName="text"> give '
        "question='topic' and to_name='text', or give annotated tasks with tasks=..."
    )


def _controls(tasks: Tasks) -> Iterator[Control]:
    """Yield the controls in the results of annotations and predictions."""
    for task in tasks:
        for name in ("annotations", "completions", "predictions"):
            for annotation in _objects(task.get(name)):
                for region in _objects(annotation.get("result")):
                    from_name, to_name, kind = (str(region.get(what)) for what in ("from_name", "to_name", "type"))
                    if kind in VALUES:
                        yield from_name, to_name, kind


def _objects(given: Any) -> list[Record]:
    return [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else []


def _number(label: str) -> int | float:
    try:
        value = float(label)
        return int(value) if value.is_integer() else value
    except (ValueError, OverflowError):
        raise DataError(f"label {label!r} is not a number, but the control of these tasks takes numbers") from None


VALUES: Mapping[str, Callable[[str], Record]] = {
    "choices": lambda label: {"choices": [label]},
    "taxonomy": lambda label: {"taxonomy": [label.split("/")]},  # as they are read
    "rating": lambda label: {"rating": _number(label)},
    "number": lambda label: {"number": _number(label)},
    "pairwise": lambda label: {"selected": label},
}


def _task_id(item: str) -> int:
    if not (item.isdecimal() and item.isascii()):
        raise DataError(
            f"item {item!r} is not a task id of Label Studio, which is a number: to make tasks of a new project, give "
            "tasks=..."
        )
    return int(item)


def _show(task: Record, control: Control) -> Record:
    """Return a task for import; its data are the fields of JSON_MIN, or of a table, that are not answers."""
    if isinstance(task.get("data"), Mapping):
        return {name: task[name] for name in KEPT if name in task}
    if "annotation_id" not in task:
        return {"data": task}
    return {
        "id": task.get("id"),
        "data": {name: value for name, value in task.items() if name not in (*OF_ANSWERS, control[0])},
    }


LABEL_STUDIO = Tool("label-studio", write_label_studio, takes=("question", "to_name", "tasks", "item", "agent"))
