"""Exports of tools: their answers become a long table, which is read like any other.

The invariant: one row is one answer and keeps its place in the export; a question is chosen, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from bayesanno._core.errors import DataError
from bayesanno._core.wording import counted, listed, nearest, option
from bayesanno.io.cells import find_several, split_cell
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.paths import Row, Rows
from bayesanno.io.exports.value import Value
from bayesanno.io.names import refuse_label, warn_names, warn_of_alike, warn_of_missing_codes, warn_of_unused
from bayesanno.io.read_options import ReadOptions, of_spans
from bayesanno.io.spelling import join_names, join_spellings
from bayesanno.io.text_table import TextTable

YES, NO = "yes", "no"
GOLD, CONTROL = "gold", "control"
OF_TABLES = frozenset({"item", "annotator", "gold", "multi_label"})
SAID = {name: f"said[].{name}" for name in ("question", "label", "known")}  # the paths of `with_answers`

# What cannot be read, by a field of it; `instead_of` has what to do instead.
PARTS = {
    **dict.fromkeys(("rank", "ranker"), "a ranking"),
    **dict.fromkeys(("start", "labels", "spans"), "spans"),
    **dict.fromkeys(("x", "points", "rle", "bbox", "segmentation", "rectanglelabels"), "boxes or places"),
    "textarea": "texts",
}


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


def with_answers(record: Value, answers: Iterable[Value | dict[str, Any]], **more: Any) -> Value:
    """Return a record with a list of answers, as the paths `SAID` find them, and with more fields."""
    said = [each if isinstance(each, Value) else record.put(each) for each in answers]
    return record.put({**record.as_object(), "said": said, **more})


@dataclass(frozen=True, kw_only=True)
class Export:
    """An export of a tool: its paths, and the few rules that are no paths.

    Parameters
    ----------
    name : str
        As `read_annotations(format=...)` and `--format` take it.
    form : str
        Its form, in words.
    looks_like : callable
        (document, options) -> whether the document is such an export, judged by its first record.
    paths : mapping of role to path
        Of the item, the annotator, the question and the label; and, if the tool has them, of other `words` of the
        question, of what the label is `known` for (see `Answer`), of a `part` of the item, and of `review`, which may
        say that an answer is rejected.
    predictions : mapping of role to path
        The same of predictions by models.
    records : callable
        (document, options) -> its records, in a form that the paths read: the place for rules that are no paths. Raises
        a DataError with the place of the problem.
    uses : frozenset of str
        The options of reading that apply to it, beyond those of every table.
    is_unique : bool
        Whether an item, or each of its parts, has one record in a file.
    prefix : str
        What the tool puts before the name of a question, which options may leave out.
    annotator : str
        The fields that name the annotator, for a message.
    """

    name: str
    form: str
    looks_like: Callable[[Document, ReadOptions], bool]
    paths: dict[str, str] = field(default_factory=dict)
    predictions: dict[str, str] = field(default_factory=dict)
    records: Callable[[Document, ReadOptions], Iterator[Value]] = lambda document, _: document.records()
    uses: frozenset[str] = frozenset({"item", "gold", "multi_label"})
    is_unique: bool = False
    prefix: str = ""
    annotator: str = ""

    def read(self, document: Document, options: ReadOptions) -> Iterator[Answer]:
        """Yield the answers, including missing ones, which declare items and annotators.

        Raises
        ------
        DataError
            With the place of the problem.
        """
        given = {"item": options.item, "annotator": options.annotator, "gold": options.gold}
        named = {role: path for role, path in given.items() if path is not None}
        rows = Rows(self.paths | named, document.first)
        of_models = Rows(self.paths | named | self.predictions, document.first) if self.predictions else None
        seen: dict[Any, str] = {}
        parts: dict[str, Value] = {}
        answered, n_predictions = set[str](), 0
        for record in self.records(document, options):
            for number, row in enumerate(rows.read(record)):
                if options.drop_rejected and row.review.as_text().casefold() == "rejected":
                    continue
                item = row.item.as_text("item")
                if number == 0:
                    self._check_item(rows, record, row, item, None if options.item else seen)
                    known = row.gold.as_labels() if options.gold is not None else None
                    if known and item:
                        yield Answer(record.place, item, "", "", known, GOLD)
                answer = self._answer(row, item, options, parts)
                if answer.labels:
                    answered.add(answer.question)
                yield answer
            for row in of_models.read(record) if of_models and (options.predictions or not answered) else ():
                n_predictions += row.label.given is not None
                if options.predictions and row.label.given is not None:
                    answer = self._answer(row, row.item.as_text("item"), options, parts)
                    if answer.labels:
                        answered.add(answer.question)
                    yield answer
        rows.check(lambda: self.records(document, options), named)
        _refuse_parts(parts, options, answered)
        if options.predictions and not n_predictions:
            raise DataError(f"{document.name} has no predictions: leave out {option('predictions', True)}")
        if n_predictions and not answered and not options.predictions:
            raise DataError(
                f"{document.name} has no answers by annotators, but {counted(n_predictions, 'prediction')}: read them "
                f"with {option('predictions', True)}"
            )

    def name_fields(self, _document: Document, _options: ReadOptions) -> dict[str, str]:
        """Return the fields that are item, annotator and label, by role, where their names decide this."""
        return {}

    def _answer(self, row: Row, item: str, options: ReadOptions, parts: dict[str, Value]) -> Answer:
        """Return the answer in a row, missing if the question is not asked for or is about parts of items."""
        question, known, labels = row.question.as_text(), row.known.as_text() if "known" in self.paths else "", None
        asked = None
        if options.label:
            names = (question, self.prefix + question, row.words.as_text())
            asked = next((each for each in options.label if each in names), None)
        if row.label.has_parts:
            parts.setdefault(asked or question, row.label)
            asked = question = ""
        elif not question or not options.label or asked is not None:
            labels = row.label.as_labels()
        annotator = "" if known == CONTROL else row.annotator.as_text("annotator")
        return Answer(row.place, item, annotator, asked or question, labels, known)

    def _check_item(self, rows: Rows, record: Value, row: Row, item: str, seen: dict[Any, str] | None) -> None:
        """Raise a DataError if the item is missing, or occurs twice in a file where it must not."""
        if not item and not self.prefix:
            rows.refuse_lack(record, "item")
            raise DataError(
                f"{record.place}: {row.item.name} is missing: fill it in, or name another field with {option('item')}"
            )
        key = (record.place.rpartition(", ")[0], item, row.part.as_text())
        if self.is_unique and seen is not None and seen.setdefault(key, record.place) != record.place:
            raise DataError(
                f"{record.place}: item {item!r} already occurs at {seen[key]}: keep one of the two, or name a field "
                f"that distinguishes items with {option('item')}"
            )


def _refuse_parts(parts: Mapping[str, Value], options: ReadOptions, answered: Set[str]) -> None:
    """Raise a DataError if the question asked for, one that has labels too, or the only ones ask for no labels."""
    refused = {*options.label, *answered} if answered or options.label else {*parts}
    odd = next((question for question in parts if question in refused), None)
    if odd is None:
        return
    first = next(part for part in parts[odd].as_list() if part and isinstance(part, list | Mapping))
    what = next((said for name, said in PARTS.items() if name in first), "more than a label")
    what = "spans" if isinstance(first, list) else what
    raise DataError(
        f"{parts[odd].whole_place}: question {odd!r} asks for {what}, but only labels and ratings of whole items can "
        f"be read: {instead_of(what)}"
    )


def instead_of(what: str) -> str:
    """Return what to do with labels that cannot be read: those of a ranking, of spans, of boxes, or others."""
    remedies = {
        "a ranking": "write a row for each two of the options with the better one, and name their columns with "
        f"{option('pairs')}",
        "spans": of_spans().removeprefix("for spans, "),
        "boxes or places": "write a table with a row for each box, annotator and label "
        f"({option('item', '{image}/{box}')})",
        "texts": "give each text a label first",
    }
    return remedies.get(what, f"choose another question with {option('label')}")


def has_columns(*names: str, prefix: str = "") -> Callable[[Document, ReadOptions], bool]:
    """Return a test whether a document is a table with these columns, and one whose name begins with the prefix."""

    def test(document: Document, _: ReadOptions) -> bool:
        columns = document.first.keys()
        return document.kind == "table" and {*names} <= columns and any(name.startswith(prefix) for name in columns)

    return test


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
    warn_of_unused(name, (one for each in given for one in (*(each.labels or ()), each.item, each.annotator)), options)
    written = join_names([each.labels or () for each in given], options)
    there = ((each, tuple(filter(written.get, each.labels or ()))) for each in given)
    given = [each._replace(labels=labels or None) if each.labels else each for each, labels in there]
    if options.multi_label and options.gives("missing", "strip", "ignore_case", "same"):
        said = [each.labels or () for each in given]
        joined = join_spellings(said, options, options.labels or ())
        pairs = zip(given, joined, strict=True)
        given = [each._replace(labels=tuple(labels) if each.labels else each.labels) for each, labels in pairs]
    if all(each.labels is None for each in given):
        raise DataError(f"{name} has no answers: annotate some items, and export again")
    for each in given:
        if each.labels and not (each.item and (each.annotator or each.known)):
            field_of = export.annotator or export.paths.get("annotator", "a name")
            if export.annotator and "annotator" in export.uses:
                field_of += f", or name another field with {option('annotator')}"
            lacking = f"annotator: fill in {field_of}" if each.item else "item: fill it in"
            raise DataError(f"{each.place}: label {each.labels[0]!r} has no {lacking}")
    questions = _choose(name, list(dict.fromkeys(each.question for each in given if each.question)), options.label)
    used: dict[str, Any] = {role: role if options.gives(role) else None for role in ("item", "annotator")}
    used["gold"] = None  # used up
    if len(questions) > 1 and options.multi_label:
        raise DataError(
            f"{name}: {option('multi_label', True)} reads one question at a time: name it with {option('label')}"
        )
    if len(questions) <= 1:
        given = [each for each in given if each.question in ("", *questions)]
        used["label"] = ("label",) if options.label else ()
        if options.multi_label:
            given = _ask_of_each_label(name, given, options)
            used["labels"] = (NO, YES)
        if options.controls is None:
            used["controls"] = _find_controls(given) or None
    used |= {"multi_label": False, "split": None, "columns": (), "no_header": False}
    called = export.name_fields(document, options) or dict(zip(("label",), questions, strict=False))
    table = replace(_lay_out(name, given, questions), called=called)
    return table, replace(options, format="long", **used)


def _separate(answer: Answer, options: ReadOptions) -> Answer:
    """Return an answer with separate labels."""
    if not (answer.labels and options.split):
        return answer
    parts = (part for label in answer.labels for part in split_cell(label, options.split))
    return answer._replace(labels=tuple(dict.fromkeys(filter(None, parts))))


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
            f"{option('label', questions[0])}"
        )
    return list(asked or questions)


def _ask_of_each_label(name: str, answers: Sequence[Answer], options: ReadOptions) -> list[Answer]:
    """Return a yes or no for each answer and label."""
    labels = options.labels
    if labels is None:
        labels = tuple(sorted({label for each in answers for label in each.labels or ()}))
        if labels == ("0", "1"):
            raise DataError(
                f"{name}: each answer lists 0 and 1 for several labels that have no names: write a column of 0 and "
                f"1 for each label; if 0 and 1 are the labels, declare them with {option('labels')}"
            )
        warn_of_missing_codes(name, [label for each in answers for label in each.labels or ()], {})
        several = find_several({label: each.annotator for each in answers for label in each.labels or ()})
        if several is not None:
            how = f"use {option('split', several[1] or ' ')}; if it is one, declare all with {option('labels')}"
            warn_names(f"{name}: label {several[0]!r} looks like several labels: if it is, {how}")
        warn_of_alike(name, labels=labels)
    known, found = set(labels), []
    for each in answers:
        odd = next((label for label in each.labels or () if label not in known), None)
        if odd is not None:
            raise refuse_label(each.place, odd, labels, item=each.item)
        for label in labels:
            said = None if each.labels is None else (YES if label in each.labels else NO,)
            found.append(each._replace(item=f"{each.item} / {label}" if each.item else "", labels=said))
    return found


def _lay_out(name: str, answers: Sequence[Answer], questions: Sequence[str]) -> TextTable:
    said = [_only_label(each, answers) for each in answers]  # (answer,)
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


def _only_label(answer: Answer, answers: Sequence[Answer]) -> str:
    """Return the label of an answer, "" if it is missing."""
    labels = answer.labels or ()
    if len(labels) <= 1:
        return labels[0] if labels else ""
    orders = {each.labels for each in answers if each.labels and not each.known}
    is_ranking = len(orders) > 1 and len({frozenset(order) for order in orders}) == 1
    advice = (
        f"each answer has all of them in an order of its own, so it may be a ranking: {instead_of('a ranking')}"
        if is_ranking
        else f"make each label a yes-or-no question with {option('multi_label', True)}"
    )
    if "[]" in answer.question:
        advice += (
            f"; if each is an answer of its own, use {option('annotator', answer.question.rpartition('[]')[0] + '[]#')}"
        )
    raise DataError(
        f"{answer.place}: an answer to item {answer.item!r} has {len(labels)} labels, {listed(labels)}: {advice}"
    )
