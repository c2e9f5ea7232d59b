"""From the answers of an export to a long table, which is read as every other.

The invariant: one row is one answer, and its place is that in the export; a question is chosen, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed, nearest
from bayesanno.io.exports.records import as_labels, look_up
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.text_table import TextTable

YES, NO = "yes", "no"
GOLD, CONTROL = "gold", "control"


class Answer(NamedTuple):
    """What one annotator says to one question of an item, and its place, the file included.

    `labels` is None where nothing was said, and empty where none of the labels was chosen; then `question` may be "",
    any. `known` says that the labels are true, and what for: for evaluation ("gold") or for the model ("control");
    without an annotator they are that alone.
    """

    place: str
    item: str
    annotator: str
    question: str
    labels: tuple[str, ...] | None
    known: str = ""


def known_true(record: Mapping[str, Any], item: str, place: str, field: str | None) -> Iterator[Answer]:
    """Yield what a field, if one is named, says is true of an item."""
    if field is not None:
        labels = as_labels(look_up(record, field, place), place)
        if labels:
            yield Answer(place, item, "", "", labels, GOLD)


def tabulate(name: str, answers: Iterable[Answer], options: ReadOptions) -> tuple[TextTable, ReadOptions]:
    """Return the long table of some answers, and how it is to be read.

    It has the columns item, annotator, label and gold; of several questions, which `options.label` names, one column
    for each label and `gold_<question>`. With `options.multi_label` each item is one of the export with one of its
    labels, and the answers are no and yes.

    Raises
    ------
    DataError
        If the question is not chosen among several, there is no such question, or an answer has several labels and
        these are not asked for.
    """
    given = list(answers)
    questions = _choose(name, list(dict.fromkeys(each.question for each in given if each.question)), options.label)
    read_as = replace(options, format="long", item=None, annotator=None, gold=None, multi_label=False)
    if len(questions) > 1:
        if options.multi_label:
            raise DataError(f"{name}: several labels an item are read of one question at a time: name one (--label)")
        return _lay_out(name, list(_one_label(given)), questions), read_as
    asked = [each for each in given if each.question in ("", *questions)]
    read_as = replace(read_as, label=())
    if options.multi_label:
        if options.labels is None:
            labels = tuple(sorted({label for each in asked for label in each.labels or ()}))
        else:
            labels = options.labels
        read_as = replace(read_as, labels=(NO, YES))
        asked = list(_one_item_each(asked, labels))
    asked = list(_one_label(asked))
    if options.controls is None:
        read_as = replace(read_as, controls=_find_controls(asked) or None)
    return _lay_out(name, asked, questions), read_as


def _find_controls(answers: Iterable[Answer]) -> dict[str, str]:
    """Return what is known for the model."""
    found: dict[str, str] = {}
    for each in answers:
        if each.known == CONTROL and each.labels and found.setdefault(each.item, each.labels[0]) != each.labels[0]:
            raise DataError(
                f"{each.place}: item {each.item!r} has two known labels, {found[each.item]!r} and "
                f"{each.labels[0]!r}: keep one"
            )
    return found


def _choose(name: str, questions: Sequence[str], asked: Sequence[str]) -> list[str]:
    """Return the questions to read: those asked for, or the only one."""
    for each in asked:
        if each not in questions:
            raise DataError(
                f"{name}: there is no question {each!r}: "
                + (f"the questions are {listed(questions)}{nearest(each, questions)}" if questions else "there is none")
            )
    if not asked and len(questions) > 1:
        raise DataError(
            f"{name}: there are {len(questions)} questions, {listed(questions)}: choose one, as in --label "
            f"{questions[0]!r} (label={questions[0]!r})"
        )
    return list(asked or questions)


def _one_label(answers: Iterable[Answer]) -> Iterator[Answer]:
    """Yield the answers, if none of them has several labels."""
    for each in answers:
        if len(each.labels or ()) > 1:
            raise DataError(
                f"{each.place}: item {each.item!r} has {len(each.labels or ())} labels, {listed(each.labels or ())}, "
                "in one answer: ask for a yes or no to each label with --multi-label (multi_label=True)"
            )
        yield each


def _one_item_each(answers: Iterable[Answer], labels: Sequence[str]) -> Iterator[Answer]:
    """Yield of each answer one for every label: whether it is among those chosen."""
    known = set(labels)
    for each in answers:
        odd = next((label for label in each.labels or () if label not in known), None)
        if odd is not None:
            raise DataError(
                f"{each.place}: label {odd!r} of item {each.item!r} is not among those declared, "
                f"{listed(labels)}{nearest(odd, labels)}"
            )
        chosen = each.labels
        for label in labels:
            said = None if chosen is None else (YES if label in chosen else NO,)
            yield each._replace(item=f"{each.item} / {label}" if each.item else "", labels=said)


def _lay_out(name: str, answers: Sequence[Answer], questions: Sequence[str]) -> TextTable:
    several = len(questions) > 1
    if not answers:
        raise DataError(f"{name}: there is no answer in it")
    # (answer,) each, and below of one question; what is known of a field is of any
    said = [each.labels[0] if each.labels else "" for each in answers]
    header, columns = ["item", "annotator"], [[each.item for each in answers], [each.annotator for each in answers]]
    for question in questions or ("",):
        here = [label if each.question in ("", question) else "" for each, label in zip(answers, said, strict=True)]
        header += [question, f"gold_{question}"] if several else ["label", "gold"]
        columns.append([label if each.annotator else "" for each, label in zip(answers, here, strict=True)])
        columns.append([label if each.known == GOLD else "" for each, label in zip(answers, here, strict=True)])
    places = [each.place for each in answers]
    return TextTable(name=name, header=tuple(header), columns=tuple(columns), lines=places, unit="row")
