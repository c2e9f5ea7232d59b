"""Reading: a source, by the functions of shapes, as one long table; and the long table as data.

The invariant: an option reaches the function that has it, or is refused; a question comes with commands that work.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from inspect import signature
from itertools import islice
from typing import Any

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, NamesWarning, as_names, listed, nearest, option, spell, warn
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.data.frame import SIDES
from bayesanno.data.labelled import name_labels, name_unsure
from bayesanno.io import comparisons as compared
from bayesanno.io import shapes
from bayesanno.io.beside import add_columns, add_known, open_beside
from bayesanno.io.check import Spelling, are_no_labels, check_table
from bayesanno.io.datasets import options_of
from bayesanno.io.names import (
    FIELD,
    MOST_WAYS,
    Question,
    Way,
    find,
    likely,
    matching,
    name_of,
    split_names,
    write_command,
)
from bayesanno.io.paths import parse_cell
from bayesanno.io.records import find_fields, flatten, read_tool, records
from bayesanno.io.sources import Source, has_lists, open_source, text_of
from bayesanno.io.suggest import suggest
from bayesanno.io.tools import find_tool, list_tools

type Shape = Callable[..., pd.DataFrame]
log = logging.getLogger(__name__)  # reports the columns that were read

SHAPES: Mapping[str, Shape] = {
    "long": shapes.long, "wide": shapes.wide, "votes": shapes.votes, "transposed": shapes.transposed,
    "one-hot": shapes.one_hot, "comparisons": compared.comparisons, "rankings": compared.rankings,
    "best-worst": compared.best_worst, "records": records,
}  # fmt: skip
_OF_ONE_COLUMN = {"item", "annotator", "label", "gold", "count", "baseline", "by", "split", "order"}
MOST_DOUBTS = 3  # warnings of one table
_OPENING = ("encoding", "separator", "no_header")
_IMPLIED = {"ranking": "rankings", "ranks": "rankings", "best_worst": "best-worst", "pairs": "comparisons",
            "transpose": "transposed"}  # fmt: skip


def format_names() -> tuple[str, ...]:
    """Return the formats that can be named."""
    return ("auto", *SHAPES, *list_tools())


@cache
def options_of_shapes() -> dict[str, Shape]:
    """Return the options of the functions of shapes, each with the first function that has it."""
    found: dict[str, Shape] = {}
    for shape in (*SHAPES.values(), read_tool):
        for name in list(signature(shape).parameters)[1:]:
            if name not in ("labels", "tool"):
                found.setdefault(name, shape)
    return found


def read_table(
    source: Source,
    format: str = "auto",  # noqa: A002 -- the name of the command line's option
    *,
    encoding: str | None = None,
    separator: str | None = None,
    no_header: bool = False,
    missing: str | Sequence[str] = (),
    strip: bool = False,
    ignore_case: bool = False,
    same: Mapping[str, str] | None = None,
    only: str | Sequence[str] = (),
    without: str | Sequence[str] = (),
    **shape: Any,
) -> pd.DataFrame:
    """Read any source as one long table: a row for each answer, which one can look at.

    A column is what its name or an option says; where names do not decide, an error asks, with commands that work.
    Cells are text, so that `NA` and `01` are names of items. Whitespace around a cell is removed, and an empty cell is
    missing.

    Parameters
    ----------
    source : path, str, DataFrame, list or dict of records, or list of these
        A file, `"@name"` for a named data set (see `list_datasets`), `"-"` for standard input, or data in memory: a
        DataFrame of pandas or polars, a Dataset of Hugging Face, a table of Arrow, or records as in JSON. A file is
        CSV, TSV, Parquet, JSON, or a workbook of Excel with one sheet (which needs openpyxl). It may be compressed by
        gzip, or be the only table in a zip. Several files have the same columns, in any order.
    format : str, default "auto"
        The shape of the table, which is a function of `bayesanno.shapes` (long, wide, votes, transposed, one-hot,
        comparisons, rankings, best-worst, records); or the tool that exported it (label-studio, prodigy, argilla,
        doccano, mturk, toloka, zooniverse), or a TOML file that describes a tool of your own. By default the fields of
        a file show a tool; a table is long if it has columns for an annotator and a label, and wide if the others are
        one word with numbers; and options that only one shape has name it.
    encoding : str, optional
        The encoding of a text file, such as latin-1; by default UTF-8, or UTF-16 if the file has its byte order mark.
    separator : str, optional
        What separates the cells of a text file; by default a comma, tab, semicolon or bar is detected.
    no_header : bool, default False
        Whether the first line is data; columns are then named 1, 2, ...
    missing : str or sequence of str, optional
        Codes for missing answers, such as NA,-1.
    strip : bool, default False
        Whether to join labels that differ only in the spaces between words, or in how an accent is encoded.
    ignore_case : bool, default False
        Whether to join labels that differ only in capitals.
    same : mapping of str to str, optional
        Labels to be read as other labels, such as a misspelt one as the right one.
    only : str or sequence of str, optional
        The annotators to read; all others are left out.
    without : str or sequence of str, optional
        Annotators to leave out.
    **shape
        The options of the function of the shape, such as `item`, `annotator` and `label` of `long`, `columns` of
        `wide`, or `pairs` of `comparisons`; and `transpose=True` for `format="transposed"`.

    Returns
    -------
    DataFrame
        The columns item, annotator and label; where they are known gold, control, weight, the two systems of
        comparisons, and further columns of items; and row, the line or the record that a row comes from.

    Raises
    ------
    DataFileError
        If a file is missing or cannot be opened or fetched.
    DataError
        If a source cannot be read, an option does not apply to it, or names do not decide; then the message has
        commands.

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesanno as ba
    >>> wide = pd.DataFrame({"item": ["s1", "s2"], "ada": ["yes", "no"], "bo": ["no", "no"]})
    >>> table = ba.read_table(wide, columns="ada,bo")
    >>> table["label"].tolist()
    ['yes', 'no', 'no', 'no']
    >>> ba.AnnotationData.from_frame(table).describe()
    '4 annotations of 2 items by 2 annotators; labels no, yes'
    """
    spelt = {"missing": missing, "strip": strip, "ignore_case": ignore_case, "same": same or {}}
    given = {"format": format, "encoding": encoding, "separator": separator, "no_header": no_header, **spelt, **shape}
    table = read_long(source, given | {"only": only, "without": without})
    if table.attrs.get("read_as"):
        log.info("%s: %s", name_of(table), table.attrs["read_as"])
    return table


def read_long(
    source: Source,
    options: Way,
    *,
    labels: Sequence[str] | None = None,
    unsure: Sequence[str] = (),
    are_numbers: bool = False,
) -> pd.DataFrame:
    """Return the long table of one or several sources, as `read_table` does; labels are those declared.

    Where answers are numbers, most of them may be different.

    Raises
    ------
    Question
        With commands that answer it.
    DataFileError, DataError
        As for `read_table`.
    """
    given = {name: value for name, value in options.items() if _is_given(value) and (name, value) != ("format", "auto")}
    several = source if isinstance(source, list) and source and all(map(_is_source, source)) else [source]
    tables: list[pd.DataFrame] = []
    for one in several:
        given = {**options_of(one), **given} if not isinstance(one, pd.DataFrame) else given
        opening = {name: given[name] for name in _OPENING if name in given}
        frame = one if isinstance(one, pd.DataFrame) and "of" in one.attrs else open_source(one, **opening)
        frame.attrs["are_numbers"] = are_numbers
        if tables and (lacking := [name for name in tables[0].attrs["used"] if name and name not in frame.columns]):
            first = name_of(tables[0])
            raise DataError(
                f"{name_of(frame)} has no column {lacking[0]!r}, which {first} has: give all files the same columns"
            )
        how = {name: value for name, value in given.items() if name not in opening}
        try:
            tables.append(_read(frame, how, labels, unsure))
        except UnicodeEncodeError as error:
            odd = error.object[max(0, error.start - 20) : error.end]
            raise DataError(
                f"{name_of(frame)}: {odd!r} is not valid Unicode: it holds half of a surrogate pair"
            ) from None
        except Question as question:
            ways = (_answer(one, frame, given, question.ways, labels, unsure)
                    or _answer(one, frame, given, suggest(frame, how), labels, unsure))  # fmt: skip
            every = ({name: value for name, value in {**given, **way}.items() if value is not None} for way in ways)
            commands = [write_command(source, way) for way in every]
            raise question.with_commands(commands) from None
    return _leave_out(tables[0] if len(tables) == 1 else _join(tables), given)


def _is_source(one: Any) -> bool:
    return isinstance(one, str | os.PathLike) or hasattr(one, "columns")


def _is_given(value: Any) -> bool:
    return (
        value is not None
        and value is not False
        and not (isinstance(value, str | Sequence | Mapping) and not len(value))
    )


def _answer(
    source: Source,
    frame: pd.DataFrame,
    given: Way,
    ways: Iterable[Way],
    labels: Sequence[str] | None,
    unsure: Sequence[str],
) -> list[Way]:
    """Return the first ways that work: by which the table is read, or asks something else."""

    def works(way: Way) -> bool:
        every = {name: value for name, value in {**given, **way}.items() if value is not None}
        opening = {name: every.pop(name) for name in _OPENING if name in every}
        try:
            table = open_source(source, **opening) if way.keys() & {*_OPENING} else frame
            read = _read(table, every, labels, unsure)
            if labels is None and len(distinct) > 1 and are_no_labels(read):
                return False
            AnnotationData.from_frame(read, labels=labels, unsure=unsure)
        except Question as other:
            return "no_header" in way or (bool(other.ways) and str(other) != str(way))
        except DataError as error:
            return "only one label" in str(error)
        return True

    distinct = {str(sorted(way.items(), key=str)): way for way in ways if not way.items() <= given.items()}
    return list(islice(filter(works, distinct.values()), MOST_WAYS))


def _read(frame: pd.DataFrame, given: Way, labels: Sequence[str] | None, unsure: Sequence[str]) -> pd.DataFrame:
    """Return the long table of an opened source."""
    rest = {name: value for name, value in given.items() if name not in ("only", "without")}
    spelt: dict[str, Any] = {
        name: rest.pop(name) for name in ("missing", "strip", "ignore_case", "same") if name in rest
    }
    how = Spelling.of(dict(spelt), [*(labels or ()), *unsure])
    unknown = next((name for name in rest if name not in (*options_of_shapes(), "format", "transpose")), None)
    if unknown is not None:
        raise DataError(
            f"there is no option {unknown}={rest[unknown]!r} of reading{nearest(unknown, options_of_shapes())}"
        )
    for each in _OF_ONE_COLUMN & rest.keys():
        if not isinstance(rest[each], str | int):
            raise DataError(f"{each} is {rest[each]!r}, but must be the name of one column, or one text")
        rest[each] = str(rest[each])  # the name of a column of a DataFrame may be a number
    frame = frame.copy(deep=False)
    frame.attrs |= {"spelling": how, "unsure": tuple(unsure)}
    name, shape, frame, rest = _choose(frame, rest)
    takes = signature(shape).parameters
    useless = next((each for each in rest if each not in takes), None)
    if useless is not None:
        raise DataError(
            f"{name_of(frame)} is read as {name}, and {option(useless, rest[useless])} does not apply to it: leave "
            "it out"
        )
    if labels is not None and "labels" in takes and rest.get("multi_label"):
        rest["labels"] = labels
    table = shape(frame, **rest)
    table.attrs.setdefault("used", [])
    return how.spell(table)


def _choose(frame: pd.DataFrame, given: Way) -> tuple[str, Shape, pd.DataFrame, dict[str, Any]]:
    """Return the shape of a table by options and names of columns: its name, function, table and options."""
    rest = {name: value for name, value in given.items() if name not in ("format", "transpose")}
    asked = given.get("format") or next((shape for name, shape in _IMPLIED.items() if name in given), "auto")
    if asked not in format_names() and not asked.endswith(".toml"):
        raise DataError(f"there is no format {asked!r}: choose one of {listed(format_names(), most=20)}"
                        f"{nearest(str(asked), format_names())}")  # fmt: skip
    by_paths = any(set("[]{}") & set(FIELD.sub("", str(given.get(role, "")))) for role in ("annotator", "label"))
    tool = find_tool(frame, asked) if asked in ("auto", *list_tools()) or asked.endswith(".toml") else None
    if tool is not None and not (asked == "auto" and by_paths):
        return asked if asked != "auto" else "an export of a tool", read_tool, frame, {"tool": tool, **rest}
    if asked in ("comparisons", "rankings", "best-worst"):
        own = {"comparisons": "pairs", "best-worst": "best_worst"}.get(
            asked, "ranking" if "ranking" in rest else "ranks"
        )
        paths = split_names(rest.get(own, SIDES))
        roles = {role: rest[role] for role in ("item", "annotator", "label", "gold", "by") if role in rest}
        frame = flatten(frame, [*roles.values(), *paths]) if frame.attrs["of"] != "text" else frame
        return asked, SHAPES[asked], frame, rest
    if asked != "auto":
        return asked, SHAPES[asked], frame, rest
    return _choose_by_names(frame, rest, by_paths=by_paths)


def _choose_by_names(
    frame: pd.DataFrame, rest: dict[str, Any], *, by_paths: bool
) -> tuple[str, Shape, pd.DataFrame, dict[str, Any]]:
    header = [name for name in map(str, frame.columns) if not _is_nested(frame, name)]
    there = {role: rest.get(role) is not None or bool(matching(header, role)) for role in ("annotator", "label")}
    if "count" in rest and "columns" not in rest and all(there.values()):
        raise DataError(
            f"{name_of(frame)}: {option('count')} is for wide tables: repeat each row {rest['count']!r} times"
        )
    if "columns" in rest or "count" in rest:
        shape = "one-hot" if rest.get("multi_label") and there["annotator"] else "wide"
        if shape == "one-hot":
            rest.pop("multi_label")
        return shape, SHAPES[shape], frame, rest
    roles = [rest[role] for role in ("item", "annotator", "label", "gold") if role in rest]
    named = [name.strip() for path in roles if path not in header for name in FIELD.findall(path) or [path]]
    is_path = by_paths or any(
        name not in header and (set("[]{}.") & set(name) or name in frame.columns) for name in named
    )
    plural = find_fields(frame, {role: rest.get(role) for role in ("label", "annotator")})
    is_plural = not there["label"] and plural["label"] in ("labels", "annotations") and "label" not in rest
    if rest.get("multi_label") or rest.get("split") or is_path or (is_plural and "anonymous" not in rest):
        return "records", records, frame, rest
    nested = has_lists(frame)
    inner = [name for name in map(str, frame.columns) if name not in header]
    if nested and any(matching(inner, role) for role in ("item", "annotator", "label") if role not in rest):
        return "records", records, frame, rest
    if nested and all(there.values()):
        _refuse_hidden(frame, header, rest)
        shown = text_of(frame[[name for name in frame.columns if name in header]])
        shown.attrs["left"] = [name for name in frame.columns if name not in header]
        return "long", shapes.long, shown, rest
    lacks_item = "item" not in rest and not matching(header, "item") and not likely(header, "item")
    if nested and (not all(there.values()) or lacks_item) and frame.attrs["of"] == "json":
        return "records", records, frame, rest
    if nested and not all(there.values()):
        return "records", records, frame, rest
    ours = ({*SIDES} <= {*header} and all(there.values())) or frame.attrs.get("sides")
    if ours and "label" not in rest:
        pair = frame.attrs.get("sides") or SIDES
        return "comparisons", compared.comparisons, frame, {"pairs": list(pair), **rest}
    if any(there.values()) or rest.get("anonymous"):
        return "long", shapes.long, frame, rest
    return "wide", shapes.wide, frame, rest


def _is_nested(frame: pd.DataFrame, name: str) -> bool:
    return frame[name].dtype == object and bool(frame[name].map(lambda cell: isinstance(cell, list | dict)).any())


def _refuse_hidden(frame: pd.DataFrame, header: Sequence[str], rest: Way) -> None:
    """Ask if the objects in a nested list have annotators of their own, beside those of the records."""
    for name in (
        [name for name in frame.columns if name not in header] if not rest.keys() & {"annotator", "label"} else ()
    ):
        fields = {field for cell in frame[name].map(parse_cell) if isinstance(cell, list) for one in cell
                  if isinstance(one, Mapping) for field in one}  # fmt: skip
        who, said = (matching(sorted(fields), role) for role in ("annotator", "label"))
        said = said or sorted(fields - {*who})
        if who and said:
            own = {role: matching(header, role)[0] for role in ("annotator", "label")}
            raise Question(f"{name_of(frame)}: elements of {name!r} have an annotator, {who[0]!r}, and so have the "
                           "records",
                           {"annotator": f"{name}[].{who[0]}", "label": f"{name}[].{said[0]}"}, own)  # fmt: skip


def _join(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the long tables of several sources as one; items numbered by row get the name of their source."""
    parts = []
    for table in tables:
        name, unit = name_of(table), table.attrs["unit"]
        part = table.assign(row=[f"{name}, {unit} {row}" if unit != "place" else row for row in table["row"]])
        if table.attrs.get("numbered") and not table.attrs.get("sides"):
            part["item"] = f"{name}: " + part["item"]
        parts.append(part)
    made = pd.concat(parts, ignore_index=True)
    texts = {str(name): made[name].fillna("") for name in made.columns if made[name].dtype.kind not in "if"}
    made = made.assign(**texts)
    read_as = dict.fromkeys(table.attrs.get("read_as", "") for table in tables)
    made.attrs = tables[0].attrs | {"name": " and ".join(map(name_of, tables)), "unit": "place"}
    made.attrs["read_as"] = "; ".join(filter(None, read_as))
    return made


def _leave_out(table: pd.DataFrame, given: Way) -> pd.DataFrame:
    """Return the table without the answers of some annotators, or with those of some alone."""
    for role in ("only", "without"):
        names = split_names(given.get(role))
        people = {*table["annotator"].unique()} - {""} if names else set()
        odd = next((name for name in names if name not in people), None)
        if odd is not None:
            raise DataError(
                f"{name_of(table)}: {option(role)} names {odd!r}, who is no annotator{nearest(odd, people)}"
            )
        if names:
            chosen = table["annotator"].isin(names)
            kept = (table["annotator"] == "") | (chosen if role == "only" else ~chosen)
            attrs, table = table.attrs, table[kept].reset_index(drop=True)
            table.attrs |= attrs
    return table


def columns_of_answers(frame: pd.DataFrame, options: Way, annotators: Iterable[str]) -> list[str]:
    """Return the columns of an opened table that hold answers and known labels, if these annotators are in it.

    They are the columns with the annotators' names, and those that the options of reading find, but for the items and
    what is compared; of an export those that its form names.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesanno.io.read import columns_of_answers
    >>> from bayesanno.io.sources import open_source
    >>> table = pd.DataFrame({"id": ["s1"], "text": ["So good!"], "ada": ["yes"], "bo": ["no"], "expert": ["yes"]})
    >>> columns_of_answers(open_source(table), {"columns": "ada,bo", "gold": "expert"}, ["ada", "bo"])
    ['ada', 'bo', 'expert']
    """
    if (tool := find_tool(frame)) is not None:
        return [
            name for name in map(str, frame.columns) if any(fnmatchcase(name, one) for one in tool.get("answers", ()))
        ]
    people, found = {*annotators}, {*annotators}
    how = {name: value for name, value in options.items() if name not in (*_OPENING, "only", "without", "label")}
    for label in as_names(options.get("label") or [""]):
        try:
            table = read_long(frame, how | ({"label": label} if label else {}))
        except DataError:  # another table than that of the answers
            continue
        if people & {*table["annotator"]}:
            first = table.attrs["used"][:1] if options.get("item") is None else []
            shown = {options.get("item"), *first, *(table.attrs.get("sides") or ())}
            found |= {*table.attrs["used"], *table.attrs.get("lists", ())} - shown
    return [name for name in map(str, frame.columns) if name in found]


# ------------------------------------------------------------------------------------------------------------ data


def read_annotations(
    source: Source,
    format: str = "auto",  # noqa: A002 -- the name of the command line's option
    *,
    labels: str | Sequence[str] | None = None,
    unsure: str | Sequence[str] = (),
    gold_file: str | os.PathLike[str] | None = None,
    controls: Mapping[str, str] | str | os.PathLike[str] | None = None,
    items: Source | None = None,
    annotators: Source | None = None,
    **options: Any,
) -> AnnotationData:
    """Read annotations: `read_table`, and then `AnnotationData.from_frame`.

    What looks like a mistake is warned of once; `check_table` lists it. If labels are numbers, `1`, `1.0` and `01` are
    one label. A row without an answer still declares its item and its annotator.

    Parameters
    ----------
    source, format
        As for `read_table`.
    labels : str or sequence of str, optional
        All possible labels, also those that nobody used; grades from the lowest to the highest. A text is split at
        commas. By default the labels that occur: numbers and words of a known scale (bad, good, very good) from the
        lowest to the highest, and other words alphabetically, which is no order.
    unsure : str or sequence of str, optional
        Labels that are answers but no classes, such as "unsure" or "skip": annotators may give them, but no item has
        them as its true label. Some models learn from them; leave them out with `.without_unsure()` for others.
    gold_file : path, optional
        Known true labels for evaluation, in a file with columns item and gold (or label). It takes the place of a gold
        column.
    controls : mapping of item to label, or path, optional
        Known true labels that enter the likelihood; a file has columns item and label.
    items : path or DataFrame, optional
        A table with a row for each item, for models with a `class_prior`: its columns become `item_columns`. A column
        is numeric if all its non-empty cells are numbers. Items without answers are added to the data.
    annotators : path or DataFrame, optional
        A table with a row for each annotator, for models of one's own: its columns become `annotator_columns`.
    **options
        Those of `read_table` and of its shapes: `item`, `annotator`, `label`, `gold`, `columns`, `pairs`, `missing`,
        `ignore_case`, `only`, `without` and others.

    Returns
    -------
    AnnotationData
        Items and annotators by first appearance.

    Raises
    ------
    DataFileError
        If a file is missing or cannot be opened or fetched.
    DataError
        As for `read_table` and `AnnotationData.from_frame`; if a cell seems to have several labels.

    Warns
    -----
    NamesWarning
        Of what looks like a mistake: the gravest three of `check_table`.
    ExportWarning
        If an export leaves out what others have.

    References
    ----------
    Snow, O'Connor, Jurafsky & Ng (2008). Cheap and fast, but is it good? EMNLP. https://aclanthology.org/D08-1027

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesanno as ba
    >>> table = pd.DataFrame({"item": ["s1", "s2"], "ada": ["yes", "no"], "bo": ["no", None]})
    >>> data = ba.read_annotations(table, columns=["ada", "bo"])
    >>> data.items, data.annotators, data.labels, data.n_annotations
    (('s1', 's2'), ('ada', 'bo'), ('no', 'yes'), 3)
    >>> answered = [{"id": 1, "votes": [{"by": "ada", "said": "no"}, {"by": "bo", "said": "yes"}]}]
    >>> ba.read_annotations(answered, annotator="votes[].by", label="votes[].said").annotators
    ('ada', 'bo')
    >>> arena = [("q1", "llama", "opt", "ada", "model_a"), ("q2", "opt", "bloom", "ada", "tie (both bad)")]
    >>> table = pd.DataFrame(arena, columns=["question_id", "model_a", "model_b", "judge", "winner"])
    >>> ba.read_annotations(table, pairs="model_a,model_b").labels
    ('model_a', 'model_b', 'tie')
    """
    known = {"gold_file": gold_file, "controls": controls, "items": items, "annotators": annotators}
    return data_of_source(source, {"format": format, **options}, labels=labels, unsure=unsure, **known)


def data_of_source(
    source: Source,
    options: Way,
    *,
    labels: str | Sequence[str] | None = None,
    unsure: str | Sequence[str] = (),
    gold_file: Any = None,
    controls: Any = None,
    items: Any = None,
    annotators: Any = None,
) -> AnnotationData:
    """Return the data in a source, by options as a mapping; see `read_annotations`.

    Raises
    ------
    DataFileError, DataError
        As for `read_annotations`.
    """
    if gold_file is not None and options.get("gold") is not None:
        raise DataError(
            f"gold is given twice, as column {options['gold']!r} and as file {str(gold_file)!r}: leave out one"
        )
    declared = None if labels is None else name_labels(labels)
    said_unsure = name_unsure(unsure or ())
    options = {**options_of(source), **options} if not isinstance(source, pd.DataFrame | list) else options
    if gold_file is not None:
        options = {**options, "gold": None}
    table = read_long(source, options, labels=declared, unsure=said_unsure)
    if options.get("multi_label"):
        declared = None
    shown = {name: value for name, value in options.items() if _is_given(value) and value != "auto"}
    if gold_file is not None:
        table = add_known(table, gold_file, "gold", options, declared)
    if controls is not None:
        table = add_known(table, controls, "control", options, declared)
    for of, extra in (("item", items), ("annotator", annotators)):
        if extra is not None:
            table = add_columns(table, open_beside(extra, options, of), of)
    if table.attrs.get("read_as"):
        log.info("%s: %s", name_of(table), table.attrs["read_as"])
    try:
        data = AnnotationData.from_frame(table, labels=declared, unsure=said_unsure)
    except DataError as error:
        raise _with_command(str(error), table, write_command(source, shown)) from None
    doubts = check_table(table, labels=declared)
    for doubt in doubts[doubts["level"] == "stop"].itertuples():
        ways = doubts.attrs["ways"].get(doubt.code, [{}])
        raise _with_command(str(doubt.message), table, *(write_command(source, {**shown, **way}) for way in ways))
    doubts = doubts[doubts["level"] != "note"]
    said = [f"{doubt.code}: {doubt.message} {doubt.remedy}" for doubt in doubts.itertuples()]
    if len(said) > MOST_DOUBTS:
        said[MOST_DOUBTS - 1] += (
            f" ({len(said) - MOST_DOUBTS} more: {spell('bayesanno.check_table', 'bayesanno read')})"
        )
    for one in said[:MOST_DOUBTS]:
        warn(f"{name_of(table)}: {one}", NamesWarning)
    return data


def _with_command(message: str, table: pd.DataFrame, *commands: str) -> DataError:
    """Return an error of the contents of a table, with the commands that show them."""
    name = name_of(table)
    said = message if message.startswith(name) else f"{name}: {message}"
    error = DataError(said)
    error.args = ("".join([str(error), *(f"\n  {command}" for command in commands)]),)
    return error


def read_multi_annotations(
    source: Source,
    dimensions: str | Sequence[str],
    *,
    labels: Mapping[str, Sequence[str]] | None = None,
    **options: Any,
) -> MultiAnnotationData:
    """Read annotations of several dimensions from a long table with a label column for each.

    Parameters
    ----------
    source : path, str or DataFrame
        As for `read_annotations`.
    dimensions : str or sequence of str
        The label columns, or the questions of an export, at least two; their names are the dimensions' names. An empty
        cell is no annotation of that dimension. A column gold_<dimension>, if there is one, has its known true labels,
        for evaluation.
    labels : mapping of dimension to sequence of str, optional
        All possible labels of a dimension, in order (grades from the lowest to the highest). By default, and for a
        dimension that is not in the mapping, those found, sorted.
    **options
        As for `read_annotations`: `item`, `annotator`, `missing`, `strip`, `ignore_case` and others.

    Returns
    -------
    MultiAnnotationData
        Items and annotators by first appearance, dimensions in the order given.

    Raises
    ------
    DataFileError, DataError
        As for `read_annotations`; if there are fewer than two columns, one is named twice, or labels are of what is no
        dimension.

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesanno as ba
    >>> columns = {"item": ["s1", "s1"], "annotator": ["ada", "bo"], "focus": ["A", "B"], "polarity": ["+", "-"]}
    >>> labels = {"focus": ["A", "B", "C"]}
    >>> data = ba.read_multi_annotations(pd.DataFrame(columns), ["focus", "polarity"], labels=labels)
    >>> {name: part.labels for name, part in data.by_dimension.items()}
    {'focus': ('A', 'B', 'C'), 'polarity': ('+', '-')}
    """
    names = as_names(dimensions)
    if labels is not None and not isinstance(labels, Mapping):
        raise DataError("labels of several dimensions must be a mapping: write {dimension: [label, ...]}")
    if len(names) < 2:
        how = spell("dimensions=[...]", "--label A --label B")
        raise DataError(f"several dimensions need several label columns: name each one with {how}")
    if len(set(names)) < len(names):
        raise DataError(f"a label column appears twice in {listed(names)}: name each one once")
    odd = next((name for name in labels or {} if name not in names), None)
    if odd is not None:
        raise DataError(f"labels are given for {odd!r}, which is not a dimension: the dimensions are {listed(names)}"
                        f"{nearest(odd, names)}")  # fmt: skip
    opening = {name: options.pop(name, None) for name in ("encoding", "separator")}
    frame, parts = open_source(source, **opening, no_header=options.pop("no_header", False)), {}
    options |= {} if find_tool(frame) is not None or has_lists(frame) else {"format": options.get("format", "long")}
    known = matching(map(str, frame.columns), "gold")
    for name in names:
        gold = f"gold_{name}" if f"gold_{name}" in frame.columns else None
        # A column named just "gold" does not show its dimension.
        others = {*names, *(f"gold_{other}" for other in names), *known} - {name, gold}
        is_long = options.get("format") == "long"
        shared = {find(text_of(frame), role, options.get(role)) for role in ("item", "annotator") if is_long}
        own = frame.drop(columns=[other for other in frame.columns if other in others - shared])
        own.attrs |= frame.attrs
        try:
            declared = (labels or {}).get(name)
            declared = None if declared is None else name_labels(declared, f"labels of dimension {name!r}")
            parts[name] = data_of_source(own, {**options, "label": name, "gold": gold}, labels=declared)
        except DataError as error:
            said = str(error).partition("\n")[0].replace(
                option("labels"), spell(f"labels={{{name!r}: [...]}}", f"--labels {name}=A,B,...")
            )  # fmt: skip
            raise DataError(f"dimension {name!r}: {said}") from None
    return MultiAnnotationData(by_dimension=parts)
