"""Exports of tools: their answers become a long table, which is read like any other.

The invariant: one row is one answer and keeps its place in the export; a question is chosen, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import counted, listed, nearest
from bayesanno.io.cells import split_cell
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.records import Value
from bayesanno.io.names import refuse_label, warn_of_alike, warn_of_missing_codes
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.spelling import join_spellings
from bayesanno.io.text_table import TextTable

YES, NO = "yes", "no"
GOLD, CONTROL = "gold", "control"


class Answer(NamedTuple):
    """The answer of one annotator to one question about an item, and its place, including the file.

    `labels` is None for a missing answer, and empty if no label was selected; an empty `question` then stands for any
    question. `known` marks true labels, for evaluation ("gold") or for the model ("control"); without an annotator they
    are not an answer.
    """

    place: str
    item: str
    annotator: str
    question: str
    labels: tuple[str, ...] | None
    known: str = ""


@dataclass(frozen=True, kw_only=True)
class Export:
    """An export of a tool.

    Parameters
    ----------
    name : str
        As `read_annotations(format=...)` and `--format` take it.
    form : str
        Its form, in words.
    looks_like : callable
        (document, options) -> whether the document is such an export, judged by its first record.
    read : callable
        (document, options) -> its answers, including missing ones, which declare items and annotators. Raises a
        DataError with the place of the problem.
    uses : frozenset of str
        The options of reading that apply to it, beyond those of every table.
    of_tables : bool
        Whether it is a table, not JSON.
    annotator : str
        The fields that name the annotator, for a message.
    """

    name: str
    form: str
    looks_like: Callable[[Document, ReadOptions], bool]
    read: Callable[[Document, ReadOptions], Iterator[Answer]]
    uses: frozenset[str]
    of_tables: bool = False
    annotator: str = "a name"


def mention_item(record: Value, item: str, gold: str | None) -> Iterator[Answer]:
    """Yield an answer without content that mentions an item, and its gold label if there is one."""
    yield Answer(record.place, item, "", "", None)
    if gold is not None and item:
        labels = record.look_up(gold).as_labels()
        if labels:
            yield Answer(record.place, item, "", "", labels, GOLD)


def check_predictions(name: str, options: ReadOptions, n_answers: int, n_predictions: int) -> None:
    """Raise a DataError if the options ask for missing predictions, or leave out the only answers there are."""
    if options.predictions and not n_predictions:
        raise DataError(f"{name} has no predictions: leave out predictions=True")
    if n_predictions and not n_answers and not options.predictions:
        found = counted(n_predictions, "prediction")
        raise DataError(f"{name} has no answers by annotators, but {found}: read them with predictions=True")


def has_columns(*names: str, prefix: str = "") -> Callable[[Document, ReadOptions], bool]:
    """Return a test whether a document is a table with these columns, and one whose name begins with the prefix."""

    def test(document: Document, _: ReadOptions) -> bool:
        columns = document.first.keys()
        return document.kind == "table" and {*names} <= columns and any(name.startswith(prefix) for name in columns)

    return test


def read_rows(
    document: Document,
    options: ReadOptions,
    item: str,
    annotator: str,
    questions: Callable[[Value], Iterable[tuple[str, Value, str]]],
    *,
    read: Callable[[Value], tuple[str, ...] | None] = Value.as_labels,
    prefix: str = "",
    status: str = "",
) -> Iterator[Answer]:
    """Yield the answers in the rows of a table, without rejected ones.

    Parameters
    ----------
    item, annotator : str
        The columns of the tool, unless options name others.
    questions : callable
        (row) -> each question, its answer, and what it is known for (see `Answer`).
    read : callable
        (answer) -> its labels; called for the questions that are read.
    prefix : str
        What the tool puts before the name of a question, which options may leave out.
    status : str
        The column that says "rejected".
    """
    for row in document.records():
        if options.drop_rejected and row.get(status).as_text().casefold() == "rejected":
            continue
        named = row.fill_in(options.item or item, "item")
        who = row.fill_in(options.annotator or annotator, "annotator")
        yield Answer(row.place, named, who, "", None)
        yield from mention_item(row, named, options.gold)
        for question, value, known in questions(row):
            asked = next((each for each in options.label if each.removeprefix(prefix) == question), question)
            labels = read(value) if not options.label or asked in options.label else None
            yield Answer(row.place, named, "" if known else who, asked, labels, known)


def tabulate(document: Document, export: Export, options: ReadOptions) -> tuple[TextTable, ReadOptions]:
    """Return the long table of the answers in an export, and the options to read it.

    `options.split` separates labels in one cell. The table has the columns item, annotator, label and gold; several
    questions, named by `options.label`, have a column each and `gold_<question>`. With `options.multi_label` each pair
    of item and label becomes an item, with the answers no and yes.

    Raises
    ------
    DataError
        If no question is chosen among several, there is no such question, an answer has several labels without
        `multi_label`, or an answer lacks its item or annotator.
    """
    name, given = document.name, [_separate(each, options) for each in export.read(document, options)]
    if options.multi_label and options.gives("missing", "strip", "ignore_case"):
        said = [each.labels or () for each in given]
        joined = join_spellings(said, options, options.labels or ())
        pairs = zip(given, joined, strict=True)
        given = [each._replace(labels=tuple(labels) if each.labels else each.labels) for each, labels in pairs]
    if all(each.labels is None for each in given):
        raise DataError(f"{name} has no answers: annotate some items, and export again")
    for each in given:
        if each.labels and not (each.item and (each.annotator or each.known)):
            lacking = f"annotator: fill in {export.annotator}" if each.item else "item: fill it in"
            raise DataError(f"{each.place}: label {each.labels[0]!r} has no {lacking}")
    questions = _choose(name, list(dict.fromkeys(each.question for each in given if each.question)), options.label)
    used: dict[str, Any] = dict.fromkeys(("item", "annotator", "gold"))  # these options are used up
    if len(questions) > 1 and options.multi_label:
        raise DataError(f"{name}: multi_label=True reads one question at a time: name it with label=...")
    if len(questions) <= 1:
        given = [each for each in given if each.question in ("", *questions)]
        used["label"] = ()
        if options.multi_label:
            found = sorted({label for each in given for label in each.labels or ()})
            if options.split and options.labels is None and found == ["0", "1"]:
                raise DataError(
                    f"{name}: each answer lists 0 and 1 for several labels that have no names: write a column of 0 and "
                    "1 for each label; if 0 and 1 are the labels, declare them with labels=..."
                )
            if options.labels is None:
                warn_of_missing_codes(name, [label for each in given for label in each.labels or ()], {})
                warn_of_alike(name, labels=found)
            given = list(_one_item_each(given, found if options.labels is None else options.labels))
            used["labels"] = (NO, YES)
        if options.controls is None:
            used["controls"] = _find_controls(given) or None
    used |= {"multi_label": False, "split": None, "columns": (), "no_header": False}
    return _lay_out(name, given, questions), replace(options, format="long", **used)


def _separate(answer: Answer, options: ReadOptions) -> Answer:
    """Return an answer with separate labels, without missing codes."""
    labels = answer.labels
    if not (labels and (options.split or options.missing)):
        return answer
    if options.split:
        parts = (part for label in labels for part in split_cell(label, options.split))
        labels = tuple(dict.fromkeys(filter(None, parts)))
    if labels:
        labels = tuple(label for label in labels if label not in options.missing) or None
    return answer._replace(labels=labels)


def _find_controls(answers: Iterable[Answer]) -> dict[str, str]:
    """Return the known labels for the model, by item."""
    found: dict[str, str] = {}
    for each in answers:
        if each.known == CONTROL and each.labels and found.setdefault(each.item, each.labels[0]) != each.labels[0]:
            raise DataError(
                f"{each.place}: item {each.item!r} has two known labels, {found[each.item]!r} and "
                f"{each.labels[0]!r}: keep one"
            )
    return found


def _choose(name: str, questions: Sequence[str], asked: Sequence[str]) -> list[str]:
    """Return the questions to read: those that the options name, or the only one."""
    for each in asked:
        if each not in questions:
            raise DataError(
                f"{name}: there is no question {each!r}: "
                + (f"the questions are {listed(questions)}{nearest(each, questions)}" if questions else "there is none")
            )
    if not asked and len(questions) > 1:
        raise DataError(
            f"{name}: there are {len(questions)} questions, {listed(questions)}: choose one, as in "
            f"label={questions[0]!r}"
        )
    return list(asked or questions)


def _one_item_each(answers: Iterable[Answer], labels: Sequence[str]) -> Iterator[Answer]:
    """Yield a yes or no for each answer and label."""
    known, mentioned = set(labels), set()
    for each in answers:
        if each.labels is None and not each.annotator:  # it only mentions an item: once is enough
            if each.item in mentioned:
                continue
            mentioned.add(each.item)
        odd = next((label for label in each.labels or () if label not in known), None)
        if odd is not None:
            raise refuse_label(each.place, odd, labels, item=each.item)
        chosen = each.labels
        for label in labels:
            said = None if chosen is None else (YES if label in chosen else NO,)
            item = f"{each.item} / {label}" if each.item else ""
            yield Answer(each.place, item, each.annotator, each.question, said, each.known)


def _lay_out(name: str, answers: Sequence[Answer], questions: Sequence[str]) -> TextTable:
    said = [_only_label(each) for each in answers]  # (answer,)
    header, columns = ["item", "annotator"], [[each.item for each in answers], [each.annotator for each in answers]]
    for question in questions or ("",):
        several = len(questions) > 1
        # a gold field applies to every question
        here = [label if each.question in ("", question) else "" for each, label in zip(answers, said, strict=True)]
        header += [question, f"gold_{question}"] if several else ["label", "gold"]
        columns.append([label if each.annotator else "" for each, label in zip(answers, here, strict=True)])
        columns.append([label if each.known == GOLD else "" for each, label in zip(answers, here, strict=True)])
    places = [each.place for each in answers]
    return TextTable(name=name, header=tuple(header), columns=tuple(columns), lines=places, unit="row")


def _only_label(answer: Answer) -> str:
    """Return the label of an answer, "" if it is missing."""
    labels = answer.labels or ()
    if len(labels) > 1:
        raise DataError(
            f"{answer.place}: an answer to item {answer.item!r} has {len(labels)} labels, {listed(labels)}: make each "
            "label a yes-or-no question with multi_label=True"
        )
    return labels[0] if labels else ""
