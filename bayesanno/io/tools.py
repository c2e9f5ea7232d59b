"""Exports of tools, as `tools.toml` describes them, and the few rules that are no paths.

The invariant: what a tool's fields mean stands in the table of that file; a function here only moves fields so that
paths can read them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, listed, option
from bayesanno.data.frame import as_text
from bayesanno.io.paths import parse_cell
from bayesanno.io.sources import FILE, rows_of

type Tool = Mapping[str, Any]
type Record = dict[str, Any]

_BOX = {"true", "false", "on", ""}  # the cells of a check box of Mechanical Turk


@cache
def read_tools() -> Mapping[str, Tool]:
    """Return the tables of `tools.toml` by their names."""
    return tomllib.loads((files("bayesanno.io") / "tools.toml").read_text(encoding="utf-8"))


def list_tools() -> list[str]:
    """Return the names of the formats of tools."""
    return list(dict.fromkeys(name.split(" ")[0] for name in read_tools()))


def find_tool(frame: pd.DataFrame, asked: str = "auto") -> Tool | None:
    """Return the form of export that a table is, by the names of its fields; None if it is none.

    `asked` is the name of a tool, or a file of such a table of the user's own.

    Raises
    ------
    DataError
        If it is not of the form that is asked for.
    """
    if asked.endswith(".toml"):
        try:
            return dict(next(iter(tomllib.loads(Path(asked).read_text(encoding="utf-8")).values())))
        except (OSError, ValueError, StopIteration, TypeError) as error:
            raise DataError(f"{asked} is no table of a tool: {error or 'it is empty'}") from None
    possible = {name: tool for name, tool in read_tools().items() if asked in ("auto", name.split(" ")[0])}
    found = next((tool for tool in possible.values() if _is_of(frame, tool)), None)
    if found is None and asked != "auto":
        form, name = next(iter(possible.values()))["form"], frame.attrs["name"]
        fields = listed(list(map(str, frame.columns)))
        raise DataError(f"{name} does not have the form of {asked}, {form}: its fields are {fields}")
    return found


def _is_of(frame: pd.DataFrame, tool: Tool) -> bool:
    kind = "zip" if FILE in frame else "json" if frame.attrs["of"] == "json" else "table"
    known = all(
        any(fnmatchcase(name, one) for name in frame.columns for one in each.split("|")) for each in tool["has"]
    )
    lists = (cell for name in tool.get("inside", {}) if name in frame for cell in frame[name].map(parse_cell) if cell)
    first = next((cell[0] for cell in lists if isinstance(cell, list)), None)
    inside = not isinstance(first, Mapping) or any(name in first for name in tool.get("inside", {}).values())
    return (
        known
        and (inside or not tool.get("inside"))
        and tool.get("file", kind) == kind
        and (kind != "zip" or "file" in tool)
    )


def prepare(frame: pd.DataFrame, tool: Tool, label: str | None) -> Iterator[tuple[str, Record]]:
    """Yield the place and the fields of each record, in a form that the paths of a tool read."""
    change: Callable[[Record, str | None], Record] = _CHANGES.get(tool.get("prepare", ""), lambda record, _: record)
    rename, several = tool.get("rename", {}), "workflow_id" in frame and frame["workflow_id"].nunique() > 1
    boxes = {name for name in frame.columns if re.fullmatch(r"Answer\..+\..+", name) and
             {"true", "on"} & (said := {*as_text(frame[name]).str.casefold()}) and said <= _BOX}  # fmt: skip
    for number, (shown, cells) in enumerate(rows_of(frame), 1):
        record = {
            rename.get(name, name) if rename.get(name) not in cells else name: cell for name, cell in cells.items()
        }
        try:
            changed = change({**record, "number": number, "several": several, "boxes": boxes}, label)
        except DataError as error:
            raise DataError(f"{shown}: {error}") from None
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # of a list where an object should be
            raise DataError(
                f"{shown}: a field does not have the form that this tool gives it: export it again"
            ) from None
        yield shown, changed


# --------------------------------------------------------------------------------------- rules that are no paths


def _label_studio(record: Record, _: str | None) -> Record:
    for name in ("annotations", "predictions"):
        record[name] = several = parse_cell(record.get(name)) or []
        if not isinstance(several, list):
            raise DataError(f"{name} is a text, but must be a list")
        if any(isinstance(one, int) for one in several) and name == "predictions":
            record[name] = []  # ids alone
        for one in (one for one in several if isinstance(one, Mapping)):
            for result in one.get("result") or ():
                value = result.get("value") or {}
                if isinstance(paths := value.get("taxonomy"), list):  # a path of labels is one label
                    value["taxonomy"] = ["/".join(map(str, path)) if isinstance(path, list) else path for path in paths]
    return record


def _minimal(record: Record, label: str | None) -> Record:
    names = [name for name in record if name not in ("number", "several", "boxes")]
    asked = (
        names[names.index("id") + 1 : names.index("annotator")] if names.index("id") < names.index("annotator") else []
    )
    if label is None and not asked:
        raise DataError(f"CSV of Label Studio does not mark the columns of questions: name one of {listed(names)} with "
                        f"{option('label')}")  # fmt: skip
    said = {name: parse_cell(record[name]) for name in (asked if label is None else [label]) if name in record}
    return record | {"said": [{"question": name, "label": plain} for name, value in said.items()
                              if (plain := _unwrap(value)) not in (None, "")]}  # fmt: skip


def _unwrap(value: Any) -> Any:
    """Return an answer of JSON_MIN without its wrapping."""
    (value,) = value if isinstance(value, list) and len(value) == 1 else (value,)
    known = ("choices", "rating", "taxonomy", "selected", "number")
    key = next((key for key in known if isinstance(value, Mapping) and key in value), None)
    inner = value if key is None else value[key]
    return ["/".join(map(str, one)) if isinstance(one, list) else one for one in inner] if key == "taxonomy" else inner


def _prodigy(record: Record, _: str | None) -> Record:
    answer, accept = record.get("answer"), parse_cell(record.get("accept"))
    if answer not in ("accept", "reject", "ignore"):
        raise DataError(f"answer is {answer!r}, but must be one of 'accept', 'reject', 'ignore'")
    if isinstance(accept, list):
        options = {str(one.get("id")) for one in parse_cell(record.get("options")) or () if isinstance(one, Mapping)}
        odd = next((str(one) for one in accept if options and str(one) not in options), None)
        if odd is not None:
            raise DataError(f"{odd!r} in accept is not one of the options {listed(sorted(options))}")
        return record | {"label": "", "said": accept if answer == "accept" else None}
    if not record.get("label"):
        raise DataError("this line has no label: only choices, and labels to accept or reject, are read, not spans")
    return record | {"said": answer}


def _argilla(record: Record, _: str | None) -> Record:
    responses, suggestions = ({**(parse_cell(record.get(name)) or {})} for name in ("responses", "suggestions"))
    for name, cell in record.items():
        value, question = parse_cell(cell), name.removesuffix(".responses")
        of_old = value[0] if isinstance(value, list) and value else value
        if question != name:
            columns = {"value": value, "user_id": parse_cell(record.get(f"{name}.users")),
                       "status": parse_cell(record.get(f"{name}.status"))}  # fmt: skip
            responses[question] = _zip({one: column for one, column in columns.items() if column})
        elif isinstance(of_old, Mapping) and of_old.keys() >= {"user_id", "value"}:
            responses[name] = value if isinstance(value, list) else _zip(value)
        for ending, beside in ((".suggestion", ".agent"), ("-suggestion", "-metadata")):
            if name.endswith(ending) and value is not None:
                by = parse_cell(record.get(name + beside))
                agent = by.get("agent") if isinstance(by, Mapping) else by
                suggestions[name.removesuffix(ending)] = {"value": value, "agent": agent}
    for several in responses.values():
        for one in several:
            one |= {"user_id": None if one.get("user_id") == "None" else one.get("user_id")}
    return {name: cell for name, cell in record.items() if name not in responses} | {
        "responses": responses, "suggestions": suggestions}  # fmt: skip


def _zip(columns: Mapping[str, Any]) -> list[Record]:
    sizes = {name: len(column or ()) for name, column in columns.items()}
    if len({*sizes.values()}) > 1:
        said = ", ".join(f"{size} of {name}" for name, size in sizes.items())
        raise DataError(f"the lists differ in length, {said}: export the records again")
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _melt(record: Record, start: str) -> Iterable[tuple[str, str, Any]]:
    return ((name[len(start) :], name, cell) for name, cell in record.items() if name.startswith(start))


def _mturk(record: Record, _: str | None) -> Record:
    said: dict[str, Record] = {}
    for name, column, cell in _melt(record, "Answer."):
        cell = parse_cell(cell)
        question, _, box = name.rpartition(".")
        if column == "Answer.taskAnswers":
            if not isinstance(cell, list):
                raise DataError(f"{column}: this is not JSON: {str(cell)[:60]!r}; download the file again")
            for asked, answer in (pair for form in cell for pair in form.items()):
                boxes = isinstance(answer, Mapping) and all(isinstance(one, bool) for one in answer.values())
                inner = answer.get("label", answer) if isinstance(answer, Mapping) and "label" in answer else answer
                said[asked] = {"label": [one for one, on in answer.items() if on] if boxes else inner, "column": asked}
        elif column in record["boxes"]:
            several = said.setdefault(question, {"label": [], "column": f"Answer.{question}"})["label"]
            several += [box] if str(cell).casefold() in ("true", "on") else []
        else:
            said[name] = {"label": cell, "column": column}
    return record | {"said": [{"question": name, **one} for name, one in said.items()]}


def _toloka(record: Record, _: str | None) -> Record:
    inputs = [cell for name, cell in record.items() if name.startswith("INPUT:")]
    if "ASSIGNMENT:task_id" not in record and len(inputs) == 1:
        record["ASSIGNMENT:task_id"] = inputs[0]
    said = [{"question": question, "column": name, "label": cell, "control": record.get(f"GOLDEN:{question}")}
            for question, name, cell in _melt(record, "OUTPUT:")]  # fmt: skip
    return record | {"said": said}


def _zooniverse(record: Record, _: str | None) -> Record:
    answers = parse_cell(record["annotations"])
    if not isinstance(answers, list):
        raise DataError(f"annotations: this is not JSON: {str(answers)[:60]!r}; download the file again")
    start = f"{record['workflow_id']}/" if record["several"] else ""
    return record | {"annotations": [{**one, "task": f"{start}{one.get('task')}"} for one in answers]}


_CHANGES = {"label_studio": _label_studio, "minimal": _minimal, "prodigy": _prodigy, "argilla": _argilla,
            "mturk": _mturk, "toloka": _toloka, "zooniverse": _zooniverse}  # fmt: skip


def notes_of(frame: pd.DataFrame, tool: Tool) -> str | None:
    """Return what an export leaves out; None if it has everything."""
    note = tool.get("note")
    if note is None or note["path"] not in frame:
        return None
    return note["text"] if as_text(frame[note["path"]]).str.fullmatch(note["pattern"]).any() else None
