"""Records whose fields, or paths into them, are item, annotator and label; and exports of tools, by the same paths.

The invariant: one row is one answer and keeps its place; a question is chosen, never guessed; an answer with several
labels becomes several yes-or-no answers, or is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, ExportWarning, counted, enumerated, listed, nearest, option, warn
from bayesanno.data.frame import as_text
from bayesanno.io.names import (
    FIELD,
    LAST_ALIASES,
    Question,
    find,
    matching,
    matching_loosely,
    name_of,
    split_names,
    words_of,
)
from bayesanno.io.paths import Row, Rows, as_name, list_paths, parse_cell
from bayesanno.io.sources import from_frame, has_lists, rows_of, text_of
from bayesanno.io.tools import Tool, notes_of, prepare

YES, NO = "yes", "no"
OF_ANNOTATORS = "annotations"  # an object of this name has a label for each annotator
ENOUGH = 20  # answers needed to judge whether labels are repeated
_TEXTS = ("response", "answer", "category")  # which a label may be about
_ALSO = {"item": ("id",), "annotator": ("annotators",), "label": ("score", "labels", "annotations"), "gold": ()}


class Answer(NamedTuple):
    """The answer of one annotator. Labels are None for a missing answer, and empty if none is selected."""

    place: str
    item: str
    annotator: str
    labels: tuple[str, ...] | None
    question: str = ""
    gold: tuple[str, ...] = ()
    control: str = ""
    words: str = ""  # of the question


def records(
    frame: pd.DataFrame,
    *,
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    gold: str | None = None,
    multi_label: bool = False,
    split: str | None = None,
    labels: str | Sequence[str] | None = None,
) -> pd.DataFrame:
    """Make a long table of records, by paths to item, annotator and label.

    Parameters
    ----------
    frame : DataFrame
        A row for each record; cells may be lists and objects, also as text.
    item, annotator, label, gold : str, optional
        Fields, paths into them such as `votes[].by`, or templates such as `{model}/{prompt}`. By default the fields
        with names that columns have. An object of labels by annotator, and lists of annotators and labels side by
        side, are named without brackets.
    multi_label : bool, default False
        Whether each label of an answer becomes a yes-or-no question, an item named `item / label`.
    split : str, optional
        What separates several labels, or annotators and their labels, in a cell; in rankings, systems.
    labels : str or sequence of str, optional
        With `multi_label`, all labels.

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesanno as ba
    >>> votes = [[{"by": "ada", "said": "no"}, {"by": "bo", "said": "yes"}]]
    >>> said = pd.DataFrame({"id": [1], "votes": votes})
    >>> ba.shapes.records(said, annotator="votes[].by", label="votes[].said")[["item", "annotator", "label"]]
      item annotator label
    0    1       ada    no
    1    1        bo   yes
    """
    frame = frame if "of" in frame.attrs else from_frame(frame, "the DataFrame")
    given = {"item": item, "annotator": annotator, "label": label, "gold": gold}
    paths = find_fields(frame, given)
    named = {role: path for role, path in paths.items() if path is not None}
    rows, fields = rows_of(frame), list(map(str, frame.columns))
    whole = frame.attrs.get("whole")
    fits = whole is None or Rows(named, fields, strict=False).fits(rows[0][1])
    if not fits and whole is not None and Rows(named, whole.value, strict=False).fits(whole.value):
        rows, fields = [(name_of(frame), whole.value)], list(whole.value)
    if paths["item"] is None or paths["label"] is None:
        raise _ask(rows[0], paths)
    said = _first_label(Rows({"label": paths["label"]}, fields, outer=["label"], strict=False), rows)
    if isinstance(said, Mapping) and annotator is None and paths["annotator"] in (None, "annotators"):
        by_key = {"annotator": f"{paths['label']}{{}}#", "label": f"{paths['label']}{{}}"}
        if paths["label"] != OF_ANNOTATORS and not any(isinstance(one, list | Mapping) for one in said.values()):
            first = next(iter(said))
            raise Question(f"{name_of(frame)}: {paths['label']!r} has a value for each of {listed(list(said))}", by_key,
                           {"label": f"{paths['label']}.{first}"})  # fmt: skip
        paths |= by_key
    if paths["annotator"] is None:
        raise _ask(rows[0], paths)
    reading = Rows({role: path for role, path in paths.items() if path is not None}, fields,
                   outer=["item", "annotator"])  # fmt: skip
    template = annotator is not None and FIELD.search(annotator) is not None
    answers = [one for place, record in rows for row in reading.read(record, place)
               for one in _answers_in(row, split, beside=not template, by=str(paths["annotator"]))]  # fmt: skip
    reading.check(lambda: iter(rows), [role for role in ("item", "annotator", "label", "gold") if paths[role]])
    made = lay_out(frame, answers, multi_label=multi_label, split=split, labels=labels, path=str(paths["label"]))
    named = {role: path for role, path in paths.items() if path is not None}
    made.attrs["read_as"] = describe(frame, named, made)
    if not multi_label and item is None:
        doubt_roles(frame, made, named, {"item"})
    return made


def find_fields(frame: pd.DataFrame, given: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the field, or path, of each role: the given one, or a field with a name that a column has."""
    found, header = dict(given), list(map(str, frame.columns))
    for role in [role for role, path in given.items() if path is None]:
        also = [name for name in _ALSO[role] if name in header]
        found[role] = find(frame, role, loosely=False) or next(iter(also), None)
    if "item" in found and found["item"] is None and len(loose := matching_loosely(header)) == 1:
        found["item"] = loose[0]
    if found["annotator"] is not None and given["annotator"] is None and found["annotator"] in header:
        first = next((cell for cell in frame[found["annotator"]].map(parse_cell) if cell is not None), None)
        of_objects = isinstance(first, list) and any(isinstance(one, Mapping) for one in first)
        if of_objects or (isinstance(first, int | float) and found["annotator"] in _ALSO["annotator"]):
            found["annotator"] = None  # a number of annotators, or their answers
    return found


def _first_label(reading: Rows, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Any:
    values = (parse_cell(row.values["label"]) for place, record in rows for row in reading.read(record, place))
    return next((value for value in values if value), None)


def _answers_in(row: Row, split: str | None, *, beside: bool, by: str) -> Iterator[Answer]:
    """Yield the answers of one annotator, or of several side by side, in a row."""
    place, values = row
    try:
        item = as_name(values["item"], "item")
    except DataError as error:
        raise DataError(f"{place}: {error}") from None
    gold = _labels_of(values.get("gold"), place) or ()
    people = _list_of(values["annotator"], split) if beside else None
    if people is None:
        labels = _labels_of(values["label"], place)
        yield Answer(place, item, as_name(values["annotator"], f"{place}: annotator"), labels, gold=gold)
        return
    answers = _list_of(values["label"], split)
    answers = [values["label"]] if answers is None else answers
    if len(answers) != len(people):
        raise DataError(
            f"{place}: {counted(len(people), 'annotator')} and {counted(len(answers), 'label')}: give each annotator a "
            f"label or an empty text; if the field names one annotator, use {option('annotator', '{' + by + '}')}"
        )
    for who, answer in zip(people, answers, strict=True):
        yield Answer(place, item, as_name(who, f"{place}: annotator"), _labels_of(answer, place), gold=gold)


def _list_of(value: Any, split: str | None) -> list[Any] | None:
    given = parse_cell(value)
    if isinstance(given, str) and split and split in given:
        return [part.strip() for part in given.split(split)]
    return given if isinstance(given, list) else None


def _labels_of(value: Any, place: str) -> tuple[str, ...] | None:
    """Return the labels of an answer, one value or a list; None for a missing answer."""
    given = parse_cell(value)
    if isinstance(given, list):
        names = (as_name(one, f"{place}: a label") for one in given)
        return tuple(dict.fromkeys(filter(None, names)))
    label = as_name(given, f"{place}: the label")
    return (label,) if label else None


def _ask(first: tuple[str, Mapping[str, Any]], found: Mapping[str, str | None]) -> Question:
    """Return the question that no field has a role, with the paths of the first record that may have it."""
    place, record = first
    known = list(dict.fromkeys(path for path, _ in list_paths(record)))
    lacking = [role for role in ("item", "annotator", "label") if found[role] is None]
    ways: list[dict[str, Any]] = []
    for name, part in record.items():
        given = parse_cell(part)
        if (
            isinstance(given, Mapping)
            and len(given) > 1
            and not any(isinstance(one, list | Mapping) for one in given.values())
        ):
            ways.append({"annotator": f"{name}{{}}#", "label": f"{name}{{}}"})
    lists = dict.fromkeys(path[: path.rindex("[]") + 2] for path in known if "[]" in path)
    item = {} if found["item"] else {"item": next((p for p in known if "[]" not in p), None)}
    for each in lists:
        inner = {path: path[len(each) :].lstrip(".") for path in known if path.startswith(each)}
        who = [path for path, name in inner.items() if name and matching([name.split(".")[-1]], "annotator")]
        said = [path for path, name in inner.items() if path not in who and matching([name.split(".")[-1]], "label")]
        said = said or [path for path in inner if path not in who]
        if said:
            ways.append({**item, "annotator": who[0] if who else f"{each}#", "label": said[0]})
    flat = [path for path in known if "[]" not in path and path not in found.values()]
    if len(flat) >= len(lacking):
        ways.append(dict(zip(lacking, flat, strict=False)))
    shown = enumerated(known, most=6) or "nothing but empty fields"
    ways = [{role: path for role, path in way.items() if path} for way in ways]
    return Question(f"{place}: no field names the {', the '.join(lacking)}; the record has {shown}", *ways)


def doubt_roles(frame: pd.DataFrame, made: pd.DataFrame, roles: dict[str, str], by_name: set[str]) -> None:
    """Ask if a column that was found by its name may not have the role: ids may name rows, and answers be texts."""
    answered = made[made["label"] != ""]
    n, people, items = len(answered), answered["annotator"].nunique(), answered["item"].nunique()
    pairs = len(answered[["item", "annotator"]].drop_duplicates())
    name, rest = roles["item"], [column for column in frame.columns if column not in roles.values()]
    others = [column for column in matching_loosely(rest) if column]
    loose, why = not matching([name], "item"), ""
    if "item" in by_name and name.casefold() not in ("item", "item_id"):
        if pairs < n if others or loose else 2 * pairs <= n:
            why = "annotators answer some of its names again"
        elif loose and items == n > 1 and people > 1 and frame.attrs["of"] == "text":
            why = "no name in it has two answers"
        elif others and items == 1 < n:
            why = "it has one name alone"
    if why:
        ways: list[dict[str, str]] = [{"item": f"{{{one}}}/{{{name}}}"} for one in others[:1]]
        raise Question(f"{name_of(frame)}: the column {name!r} may not name the items, since {why}",
                       *({"item": one} for one in others), *ways, {"item": name})  # fmt: skip
    weak = [role for role in ("annotator", "label") if role in by_name and roles[role].casefold() in LAST_ALIASES[role]]
    guesses = [one for one in rest if words_of(one) & {"prediction", "predicted", "pred"}]
    if "annotator" in weak and "label" in by_name and guesses:
        raise Question(f"{name_of(frame)}: the labels of {roles['annotator']!r} may be in {guesses[0]!r}",
                       {"label": guesses[0]}, {"label": roles["label"]})  # fmt: skip
    if "annotator" in weak and pairs < n:
        raise Question(f"{name_of(frame)}: {roles['annotator']!r} may not name the annotators, since some of its names "
                       "answer an item again", *({"annotator": one} for one in rest[:2]),
                       {"annotator": roles["annotator"]})  # fmt: skip
    labels, label, why = answered["label"].nunique(), roles["label"], ""
    scores = [column for column in rest if column.casefold() in LAST_ALIASES["label"]]
    if n >= (3 if "label" in weak else ENOUGH) and labels > n / 2 and not frame.attrs.get("are_numbers"):
        why = "most answers in it occur once"
    elif label.casefold() in _TEXTS and scores:
        why = f"there is a column {scores[0]!r}"
    elif (
        label.casefold() in _TEXTS
        and n > items == labels > 2
        and len(answered[["item", "label"]].drop_duplicates()) == items
    ):
        why = "each item has one of its own"
    if why and "label" in by_name:
        raise Question(f"{name_of(frame)}: the column {label!r} may not hold labels, since {why}",
                       *({"label": one} for one in scores or rest), {"label": label})  # fmt: skip


# ----------------------------------------------------------------------------------------------------------- tools


def read_tool(
    frame: pd.DataFrame,
    tool: Tool,
    *,
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    gold: str | None = None,
    predictions: bool = False,
    drop_rejected: bool = False,
    multi_label: bool = False,
    split: str | None = None,
    labels: str | Sequence[str] | None = None,
) -> pd.DataFrame:
    """Make a long table of the export of a tool.

    Parameters
    ----------
    frame : DataFrame
        The records.
    tool : mapping
        A table of `tools.toml`.
    item, annotator, gold : str, optional
        Fields, or paths, in place of the tool's own.
    label : str, optional
        The question, if there are several.
    predictions : bool, default False
        Whether predictions, or suggestions, of models count as answers, with each model an annotator.
    drop_rejected : bool, default False
        Whether to leave out answers that the requester has rejected.
    multi_label, split, labels
        As for `records`.

    Raises
    ------
    Question
        If there are several questions and none is named, or answers have several labels.
    DataError
        If there are no answers, or a field has another form than the tool's.
    """
    for name, keys in {"predictions": ("predictions",), "drop_rejected": ("rejected", "left_out")}.items():
        if {"predictions": predictions, "drop_rejected": drop_rejected}[name] and not any(key in tool for key in keys):
            raise DataError(f"{name_of(frame)}: {option(name, True)} does not apply to it: leave it out")
    rows = list(prepare(frame, tool, label))
    own = {"item": item, "annotator": annotator, "gold": gold}
    named = {role: path for role, path in own.items() if path is not None}
    answers, parts = _read_answers(rows, {**tool, **named}, gold=gold, drop_rejected=drop_rejected)
    modelled: list[Answer] = []
    if "predictions" in tool:
        of_models = {key: tool[key] for key in ("item", "parts") if key in tool} | dict(tool["predictions"]) | named
        modelled = [one for one in _read_answers(rows, of_models)[0] if one.labels]
        if predictions and not modelled:
            raise DataError(f"{name_of(frame)} has no predictions: leave out {option('predictions', True)}")
    if not any(one.labels for one in answers) and modelled and not predictions:
        n = counted(len(modelled), "prediction")
        raise Question(f"{name_of(frame)} has no answers by annotators, but {n}", {"predictions": True})
    answers += modelled if predictions else []
    is_answered = any(one.labels is not None for one in answers)
    if label in parts or (parts and not is_answered):
        one, place = (label, parts[label]) if label in parts else next(iter(parts.items()))
        raise DataError(f"{place}: question {one!r} asks for spans, boxes or other parts: only labels of whole items "
                        "are read; "
                        f"write a table with a row for each token, or box, annotator and tag")  # fmt: skip
    if not is_answered:
        raise DataError(f"{name_of(frame)} has no answers: annotate some items, and export again")
    questions = list(dict.fromkeys(one.question for one in answers if one.question and one.labels is not None))
    if label is not None and not any(label in (one.question, one.words) for one in answers):
        raise DataError(f"{name_of(frame)}: there is no question {label!r}: the questions are "
                        f"{listed(questions) or 'none'}"
                        f"{nearest(label, questions)}")  # fmt: skip
    if label is None and len(questions) > 1:
        raise Question(f"{name_of(frame)}: there are {len(questions)} questions, {listed(questions)}",
                       *({"label": one} for one in questions))  # fmt: skip
    asked = label or next(iter(questions), "")
    chosen = [one if asked in (one.question, one.words) or not (one.question or one.labels)
              else one._replace(labels=None, gold=(), control="") for one in answers]  # fmt: skip
    for name, why in tool.get("nobody", {}).items():
        if {one.annotator for one in chosen if one.labels} == {name}:
            raise DataError(f"{name_of(frame)}: {why}")
    if note := notes_of(frame, tool):
        warn(f"{name_of(frame)}: {note}", ExportWarning)
    return lay_out(frame, chosen, multi_label=multi_label, split=split, labels=labels)


def _read_answers(
    rows: Sequence[tuple[str, Mapping[str, Any]]], tool: Tool, *, gold: str | None = None, drop_rejected: bool = False
) -> tuple[list[Answer], dict[str, str]]:
    """Return the answers in records, and the place of the first answer to each question about parts of items."""
    roles = ("item", "annotator", "question", "words", "label", "control", "gold", "gold_if", "part_of")
    left_out = {**tool.get("left_out", {}), **(tool.get("rejected", {}) if drop_rejected else {})}
    checks = {**tool.get("missing", {}), **tool.get("whole", {}), **left_out}
    paths = {role: tool[role] for role in roles if role in tool} | {f"={path}": path for path in checks}
    reading = Rows(paths, rows[0][1], outer=[*roles], strict=False)
    answers: list[Answer] = []
    parts: dict[str, str] = {}
    for place, record in rows:
        n_before = len(answers)
        seen: Any = None
        for at, values in reading.read(record, place):
            if any(_is_one(values[f"={path}"], known) for path, known in left_out.items()):
                continue
            item = as_name(values["item"], f"{at}: item")
            if not item:
                raise DataError(f"{at}: the item is missing: fill it in, or name another field with {option('item')}")
            question, said = as_name(values.get("question"), "question"), values["label"]
            cells = parse_cell(values.get("part_of"))
            marked = [one for one in (cells if isinstance(cells, list) else [cells]) if isinstance(one, Mapping)]
            of_parts = any(one.keys() & {*tool.get("parts", ())} for one in marked) or any(
                values[f"={path}"] is not None and not _is_one(values[f"={path}"], known)
                for path, known in tool.get("whole", {}).items()
            )
            given = parse_cell(said)
            inner = given if isinstance(given, list) else [given] if isinstance(given, Mapping) else []
            if of_parts or any(isinstance(one, list | Mapping) and one for one in inner):
                parts.setdefault(question, at)
                answers.append(Answer(at, item, "", None))
                continue
            missing = any(_is_one(values[f"={path}"], known) for path, known in tool.get("missing", {}).items())
            labels = None if missing else _labels_of(given, at)
            empty = tool.get("empty")
            if labels is None and empty == "answer" and not missing and not question:
                labels = ()
            labels = None if labels == () and empty == "missing" else labels
            known = _labels_of(values.get("gold"), at) or () if gold is not None and seen is None else ()
            if _is_one(values.get("gold_if"), [True]) and labels:
                known = labels
            seen = item
            control = as_name(values.get("control"), "control") if gold is None else ""
            who = as_name(values["annotator"], f"{at}: annotator") if labels is not None else ""
            words = as_name(values.get("words"), "words")
            answers.append(Answer(at, item, who, labels, question, known, control, words))
        if len(answers) == n_before and not left_out:
            answers.append(Answer(place, as_name(record.get("id"), "item"), "", None))
    return answers, parts


def _is_one(value: Any, known: Iterable[Any]) -> bool:
    return any(value == one and value is not None for one in known)


# ---------------------------------------------------------------------------------------------------- a long table


def lay_out(
    frame: pd.DataFrame,
    answers: Sequence[Answer],
    *,
    multi_label: bool = False,
    split: str | None = None,
    labels: str | Sequence[str] | None = None,
    path: str = "",
) -> pd.DataFrame:
    """Return the long table of answers; with `multi_label` a row for each item and label, with the answers yes and no.

    Raises
    ------
    Question
        If an answer has several labels, and `multi_label` is false.
    """
    if split:
        answers = [
            one._replace(labels=_split(one.labels, split), gold=_split(one.gold, split) or ()) for one in answers
        ]
    if (how := frame.attrs.get("spelling")) is not None:
        answers = _spell(answers, how)
    several = next((one for one in answers if len(one.labels or ()) > 1), None)
    if several is not None and not multi_label:
        ways: list[dict[str, Any]] = [{"multi_label": True}]
        if "[]" in path:
            ways.append({"annotator": f"{path.rpartition('[]')[0]}[]#"})
        n = len(several.labels or ())
        what = f"an answer to item {several.item!r} has {n} labels, {listed(several.labels or ())}"
        raise Question(f"{several.place}: {what}", *ways)
    rows: list[dict[str, Any]] = []
    known = split_names(labels) or sorted({label for one in answers for label in (*(one.labels or ()), *one.gold)})
    if multi_label and not labels and set(known) == {"0", "1"}:
        raise DataError(
            f"{name_of(frame)}: each answer lists 0 and 1 for labels without names: write a column for each"
        )
    for one in answers:
        if multi_label and (bad := next((label for label in one.labels or () if label[0] + label[-1] == "[]"), None)):
            raise DataError(
                f'{one.place}: {bad[:60]!r} looks like a list, but is not valid: write it as JSON, ["a", "b"]'
            )
        odd = next((label for label in one.labels or () if multi_label and label not in known), None)
        if odd is not None:
            raise DataError(f"{one.place}: label {odd!r} of item {one.item!r} is not among the declared labels, "
                            f"{listed(known)}{nearest(odd, known)}")  # fmt: skip
        for label in known if multi_label else [None]:
            given = one.labels if one.labels or one.annotator else None  # an item that nobody has answered
            yes = {"label": given, "gold": one.gold or None, "control": (one.control,) if one.control else None}
            said = {role: "" if of is None else (YES if label in of else NO) if multi_label else
                    next(iter(of), "") for role, of in yes.items()}  # fmt: skip
            name = f"{one.item} / {label}" if multi_label and one.item else one.item
            rows.append({"item": name, "annotator": one.annotator, **said, "row": one.place})
    table = pd.DataFrame(rows, columns=["item", "annotator", "label", "gold", "control", "row"], dtype="str")
    made = table.drop(columns=[role for role in ("gold", "control") if not (table[role] != "").any()])
    made.attrs |= {"name": name_of(frame), "unit": "place"} | ({"labels": [NO, YES]} if multi_label else {})
    return made


def _spell(answers: Sequence[Answer], how: Any) -> list[Answer]:
    """Return answers with labels as they are written; one whose only label is missing is missing."""
    every = [label for one in answers for label in (*(one.labels or ()), *one.gold)]
    written = how.join([pd.Series(every, dtype="str")]) if every else {}

    def spell(labels: tuple[str, ...] | None) -> tuple[str, ...] | None:
        kept = tuple(dict.fromkeys(filter(None, (written.get(label, label) for label in labels or ()))))
        return (kept or None) if labels else labels

    return (
        [one._replace(labels=spell(one.labels), gold=spell(one.gold) or ()) for one in answers]
        if written
        else [*answers]
    )


def flatten(frame: pd.DataFrame, paths: Iterable[str]) -> pd.DataFrame:
    """Return records as a table of text, with a column for each path, and for each flat field; lists are JSON.

    Raises
    ------
    DataError
        If a path is none, or leads nowhere.
    """
    fields, paths = list(map(str, frame.columns)), list(paths)
    if frame.attrs["of"] == "text" or ({*paths} <= {*fields} and not has_lists(frame)):
        return text_of(frame)
    paths = [path for path in paths if path in fields or not set("*:") & set(path)]
    flat = {name: name for name in fields if not frame[name].map(lambda cell: isinstance(cell, list | dict)).any()}
    reading = Rows(flat | {path: path for path in paths}, fields, outer=[*paths])
    rows = rows_of(frame)
    found = [(at, values) for place, record in rows for at, values in reading.read(record, place)]
    columns = {name: pd.Series([values[name] for _, values in found], dtype=object) for name in reading.paths}
    cells = {name: as_text(column, of_json=frame.attrs["of"] == "json") for name, column in columns.items()}
    reading.check(lambda: iter(rows), paths)
    made = pd.DataFrame(cells).set_axis([at for at, _ in found])
    made.attrs |= frame.attrs | {"of": "text", "unit": "place"}
    return made


def _split(labels: tuple[str, ...] | None, mark: str) -> tuple[str, ...] | None:
    parts = (part.strip() for label in labels or () for part in label.split(mark))
    return None if labels is None else tuple(dict.fromkeys(filter(None, parts)))


def describe(frame: pd.DataFrame, roles: Mapping[str, str], made: pd.DataFrame, used: Iterable[str] = ()) -> str:
    """Return in words the column of each role, unless all have their roles' names, and the columns left out."""
    words = {"item": "items", "annotator": "annotators", "label": "labels", "gold": "true labels"}
    said = [f"{words.get(role, role)} in {name!r}" for role, name in roles.items()]
    if all(role == name for role, name in roles.items()):
        said = []
    elif "label" in roles:
        said = [f"{one}: {enumerated(sorted(made['label'].unique().tolist()))}" if one.startswith("labels ") else one
                for one in said]  # fmt: skip
    starts = (*roles.values(), *used)
    made.attrs["used"] = [name for name in starts if name in frame.columns]
    made.attrs["lists"] = [name for name in frame.columns if any(one.startswith(f"{name}[") for one in starts)]
    rest = [name or "column 1" for name in map(str, frame.columns)
            if not any(name == one or f"{{{name}}}" in one or one.startswith((f"{name}.", f"{name}[", f"{name}{{"))
                       for one in starts)]  # fmt: skip
    rest += frame.attrs.get("left", [])
    return "; ".join([*said, *([f"left out {listed(rest)}"] if rest else [])])
