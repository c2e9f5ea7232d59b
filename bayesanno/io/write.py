"""Writers of tables and text, and of labels for annotation tools: a file is complete or absent.

The invariant: what a tool shows for an item comes from its own export, or from a table, unchanged, and without the
answers of annotators.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bayesanno._core.files import write_whole
from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, listed, nearest, option
from bayesanno.io.names import ALIASES, name_of
from bayesanno.io.paths import Rows, as_name, parse_cell
from bayesanno.io.read import columns_of_answers
from bayesanno.io.sources import open_source, rows_of

type Record = Mapping[str, Any]
type Control = tuple[str, str, str]  # of Label Studio: its name, what it labels, its type


def write_table(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table with all its digits, without its index; an existing file is replaced.

    The separator is a comma, or a tab if the name ends in `.tsv`.

    Raises
    ------
    DataError
        If the name is one of Parquet.
    DataFileError
        If the file cannot be written.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind in (".parquet", ".pq"):
        raise DataError(f"{path} would be text, not Parquet: give a name that ends in .csv or .tsv")
    text = table.to_csv(index=False, sep="\t" if kind == ".tsv" else ",", lineterminator="\n")
    if kind == ".tsv" and '"' in text:  # which between tabs may be part of a cell, unless all cells are in quotes
        text = table.to_csv(index=False, sep="\t", lineterminator="\n", quoting=csv.QUOTE_ALL)
    write_text(path, text)


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8, whole or not at all.

    Raises
    ------
    DataError
        If it has half of a surrogate pair.
    DataFileError
        If the file cannot be written.
    """
    try:
        raw = text.encode("utf-8")
    except UnicodeEncodeError as error:
        near = text[max(0, error.start - 20) : error.end]
        raise DataError(
            f"{path} cannot be written: {near!r} holds half of a surrogate pair, which is not valid text"
        ) from None
    with write_whole(path) as unfinished:
        unfinished.write_bytes(raw)


@dataclass(frozen=True)
class Tasks:
    """The records of a file, by the item that a field names: several, where a tool writes one for each answer."""

    name: str = ""
    by_item: Mapping[str, Sequence[Record]] = field(default_factory=dict)
    item: str = ""

    def __iter__(self) -> Iterator[Record]:
        """Give all records."""
        return (record for records in self.by_item.values() for record in records)


@dataclass(frozen=True, kw_only=True)
class Labels:
    """The labels of items, as a tool takes them.

    Parameters
    ----------
    said : sequence of (str, str, float)
        Item, label and probability.
    classes : sequence of str
        All labels of the fit.
    agent : str
        The name of the annotator of these labels.
    tasks : Tasks
        What to show for each item; may be empty if the tool does not need it.
    question, to_name : str, optional
        The question of Argilla, or the control of Label Studio; and the object that the control labels.
    """

    said: Sequence[tuple[str, str, float]]
    classes: Sequence[str]
    agent: str
    tasks: Tasks
    question: str | None = None
    to_name: str | None = None

    def __iter__(self) -> Iterator[tuple[Record, str, str, float]]:
        """Give the first record of each item, which may be empty, the item, its label and its probability."""
        for item, label, score in self.said:
            yield next(iter(self.tasks.by_item.get(item, ())), {}), item, label, score


def _without(record: Record, *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


def _objects(given: Any) -> list[Record]:
    return [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else []


def predict_in_label_studio(labels: Labels) -> Iterator[Record]:
    """Yield predictions with their task's id; or where tasks are given these, each with its prediction.

    Raises
    ------
    DataError
        If the names of the control are not known, an item is no task's id, or a label is none that the control takes.
    """
    from_name, to_name, kind = _find_control(labels)
    for task, item, label, score in labels:
        region = {"from_name": from_name, "to_name": to_name, "type": kind, "value": VALUES[kind](label)}
        prediction = {"model_version": labels.agent, "score": score, "result": [region]}
        if not labels.tasks.by_item and not (item.isdecimal() and item.isascii()):
            raise DataError(f"item {item!r} is not a task id of Label Studio, which is a number: to make tasks of a "
                            "new "
                            f"project, give {option('tasks')}")  # fmt: skip
        if not labels.tasks.by_item:
            yield {"task": int(item), **prediction}
            continue
        shown = {name: task[name] for name in ("id", "data", "meta") if name in task}
        if "annotation_id" in task:  # of JSON_MIN
            of_answers = ("annotator", "annotation_id", "created_at", "updated_at", "lead_time")
            shown = {"id": task.get("id"), "data": _without(task, "id", from_name, *of_answers)}
        elif not isinstance(task.get("data"), Mapping):
            shown = {"data": task}
        yield {**shown, "predictions": [prediction]}


def _find_control(labels: Labels) -> Control:
    """Return the control that the options name, or the only one in the annotations."""
    question, to_name = labels.question, labels.to_name
    regions = [region for task in labels.tasks for name in ("annotations", "completions", "predictions")
               for annotation in _objects(task.get(name)) for region in _objects(annotation.get("result"))]  # fmt: skip
    found = ((str(one.get("from_name")), str(one.get("to_name")), str(one.get("type"))) for one in regions)
    used = list(dict.fromkeys(one for one in found if one[2] in VALUES))
    fitting = [one for one in used if question in (None, one[0]) and to_name in (None, one[1])]
    if len(fitting) == 1:
        return fitting[0]
    if question is not None and to_name is not None:
        return question, to_name, "choices"
    names = [one[0] for one in used]
    if question is not None and used:
        raise DataError(
            f"question is {question!r}, but the tasks were annotated with {listed(names)}: name one of these, or add "
            f"{option('to_name')}{nearest(question, names)}"
        )
    if len(used) > 1:
        raise DataError(f"the tasks were annotated with {listed(names)}: choose one with {option('question')}")
    raise DataError(
        'label-studio needs two names from the labeling interface: for <Choices name="topic" toName="text"> give '
        f"{option('question', 'topic')} and {option('to_name', 'text')}, or give annotated tasks with {option('tasks')}"
    )


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
OF_QUESTION = (".responses", ".suggestion")  # endings of a question's fields in flat records of Argilla


def suggest_in_argilla(labels: Labels) -> Iterator[Record]:
    """Yield the records with the suggestion, and without the responses, which Argilla has.

    Raises
    ------
    DataError
        If the name of the question is not known, or a label is no rating.
    """
    answers = [one for record in labels.tasks for one in _answers(record)]
    asked = list(dict.fromkeys(name for name, _ in answers)) if labels.question is None else [labels.question]
    if len(asked) != 1:
        raise DataError(
            f"argilla needs one question, but {labels.tasks.name} has answers to {listed(asked) or 'none'}: name it "
            f"with {option('question')}"
        )
    example = next((value for name, value in answers if name == asked[0] and value is not None), "")
    if isinstance(example, int) and (
        odd := next((one for _, _, one, _ in labels if not one.removeprefix("-").isdecimal()), None)
    ):
        raise DataError(f"label {odd!r} is not a whole number, but the question of these records takes ratings")
    for record, item, label, score in labels:
        value = [label] if isinstance(example, list) else int(label) if isinstance(example, int) else label
        suggestion = {"value": value, "score": score, "agent": labels.agent}
        own = ("fields", "metadata", "vectors")
        shown = {name: record[name] for name in own if record.get(name) or (name == "fields" and name in record)}
        if not isinstance(record.get("fields"), Mapping):
            rest = _without(record, labels.tasks.item, "id", "status", "_server_id", "inserted_at", "updated_at")
            shown = {"fields": {name: value for name, value in rest.items()
                                if value is not None and not any(end in name for end in OF_QUESTION)}}  # fmt: skip
        yield {"id": item, **shown, "suggestions": {asked[0]: suggestion}, "responses": {}}


def _answers(record: Record) -> Iterator[tuple[str, Any]]:
    """Yield the name of each question with answers, and an answer or None."""
    for where in ("responses", "suggestions"):
        of_question = record.get(where)
        for name, given in of_question.items() if isinstance(of_question, Mapping) else ():
            one = given[0] if isinstance(given, list) and given else given
            yield name, one.get("value") if isinstance(one, Mapping) else None
    for name, given in record.items():
        for ending in OF_QUESTION:
            if name.endswith(ending):
                yield name.removesuffix(ending), given[0] if isinstance(given, list) and given else given


def choose_in_prodigy(labels: Labels) -> Iterator[Record]:
    """Yield the tasks, each with its labels as options, the label accepted, and its probability shown below."""
    for task, _, label, score in labels:
        options, meta = task.get("options"), task.get("meta")
        ids = {str(one.get("id")): one.get("id") for one in _objects(options)}
        if not ids.keys() >= {*labels.classes}:
            options, ids = [{"id": name, "text": name} for name in labels.classes], {}
        # Prodigy makes a new hash of the task, since its options may change.
        yield {
            **_without(task, "label", "_task_hash", "_timestamp"),
            "options": options,
            "accept": [ids.get(label, label)],
            "score": score,
            "meta": {**(meta if isinstance(meta, Mapping) else {}), "probability": round(score, 3)},
            "answer": "accept",
            "_view_id": "choice",
            "_annotator_id": labels.agent,
            "_session_id": labels.agent,
        }


def label_in_doccano(labels: Labels) -> Iterator[Record]:
    """Yield the texts with their labels; doccano shows the other fields of a record as metadata."""
    for record, _, label, score in labels:
        shown = _without(record, "label", "labels", "cats", "Comments")
        yield {**shown, "label": [label], "probability": score, "labelled_by": labels.agent}


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool that labels are exported to.

    Parameters
    ----------
    write : callable
        (labels) -> the records that the tool takes.
    lines : bool
        Whether these are JSON Lines, or else a list.
    takes : tuple of str
        Which options it has, beside `tasks`, `item` and `agent`.
    needs_tasks : bool
        Whether it needs the data to show for each item.
    item : str
        The field of its own exports that names an item.
    shows : tuple of str
        The fields that it can show: a task has one or more of them.
    """

    write: Callable[[Labels], Iterable[Record]]
    lines: bool = False
    takes: tuple[str, ...] = ()
    needs_tasks: bool = True
    item: str = "id"
    shows: tuple[str, ...] = ()


TOOLS = {
    "label-studio": Tool(write=predict_in_label_studio, takes=("question", "to_name"), needs_tasks=False),
    "argilla": Tool(write=suggest_in_argilla, takes=("question",)),
    "prodigy": Tool(
        write=choose_in_prodigy, lines=True, item="_input_hash", shows=("text", "html", "image", "audio", "video")
    ),
    "doccano": Tool(write=label_in_doccano, lines=True, shows=("text", "data")),
}


def find_writer(name: str, given: Mapping[str, Any]) -> Tool:
    """Return the tool of this name, if it takes the options that are given.

    Raises
    ------
    DataError
        If there is none, an option does not apply to it, or its tasks are lacking.
    """
    if name not in TOOLS:
        table = "; labels.csv, or label_table(fit), has soft labels and what cleanlab reports"
        raise DataError(
            f"labels cannot be exported to {name!r}: choose one of {listed([*TOOLS])}{nearest(name, TOOLS)}"
            f"{table if name in ('cleanlab', 'soft-labels') else ''}"
        )
    tool = TOOLS[name]
    for argument, value in given.items():
        if value is not None and argument not in (*tool.takes, "tasks", "item", "agent"):
            raise DataError(f"{option(argument)} does not apply to {name}: leave it out")
    if tool.needs_tasks and given["tasks"] is None:
        raise DataError(
            f"{name} shows the text or other data of each item, and a fit does not hold them: give the tool's own "
            f"export, or a table of items, with {option('tasks')}"
        )
    if given["item"] is not None and given["tasks"] is None:
        raise DataError(f"{option('item')} names a field of tasks: leave it out, or give {option('tasks')}")
    return tool


def read_tasks(
    source: Any,
    name: str,
    item: str | None = None,
    *,
    reading: Mapping[str, Any] | None = None,
    annotators: Iterable[str] = (),
) -> Tasks:
    """Read what a tool shows for each item: the records of its own export, or the rows of a table.

    Columns with answers of the annotators, or with known labels, are left out.

    Parameters
    ----------
    source : path, DataFrame or list of dict
    name : str
        The tool.
    item : str, optional
        The field of the item, a path to it, or a template over fields. The default is the tool's own field, or a column
        whose name is an alias of item.
    reading : mapping, optional
        The options that the annotations were read with.
    annotators : iterable of str
        The names of the annotators.

    Raises
    ------
    DataFileError
        If there is no such file.
    DataError
        If it has no records, one has no item, or none has what the tool shows.
    """
    frame, shows = open_source(source), TOOLS[name].shows
    table, header = name_of(frame), [column for column in map(str, frame.columns) if column != "$file"]
    rows = [(place, {one: cell for one, cell in row.items() if one in header and
                     (cell is not None or frame.attrs["of"] != "json")}) for place, row in rows_of(frame)]  # fmt: skip
    usual = [*dict.fromkeys((TOOLS[name].item, *ALIASES["item"], "id"))]
    found = [own for one in usual for own in header if own.casefold() == one] if item is None else [item]
    if not found:
        looked = f"looked for {listed(usual)} among {listed(header)}"
        raise DataError(f"{table} has no field for the item: {looked}; name it with {option('item')}")
    hidden = {*columns_of_answers(frame, reading or {}, annotators)} - {found[0], *shows}
    named, by_item = Rows({"item": found[0]}, header, outer=["item"]), dict[str, list[Record]]()
    for place, record in rows:
        task = {name: parse_cell(cell) if name in ("annotations", "fields") else cell for name, cell in record.items()
                if name not in hidden}  # fmt: skip
        for row in named.read(record, place):
            one = as_name(row.values["item"], "item")
            by_item.setdefault(one, []).append(task)
            if not one:
                named.check(lambda: iter(rows), ["item"])
                raise DataError(
                    f"{place}: {found[0]} is missing: fill it in, or name another field with {option('item')}"
                )
    tasks = Tasks(table, by_item, found[0])
    if shows and not any(isinstance(task.get(what), str) for task in tasks for what in shows):
        raise DataError(f"{tasks.name} has nothing that {name} can show: add a field {' or '.join(shows)}")
    return tasks


def write_records(records: Iterable[Record], path: Path, *, lines: bool) -> None:
    """Write records as JSON Lines, or as a list, one on each line."""
    said = [json.dumps(record, ensure_ascii=False, default=str) for record in records]  # str for dates of a table
    write_text(path, "".join(f"{one}\n" for one in said) if lines else "[\n" + ",\n".join(said) + "\n]\n")
