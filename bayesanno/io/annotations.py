"""Annotations from tables of every shape, and from exports of annotation tools.

The invariant: a column is what its name or an option says. No cell decides what a column is; cells can only make a
reader ask.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence

import numpy as np

from bayesanno._core.wording import counted
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import ANYONE, order_responses
from bayesanno.io.column_tables import add_annotator_columns, add_item_columns
from bayesanno.io.columns import NamedAnswers, make_annotations, read_known
from bayesanno.io.formats.long import read_long
from bayesanno.io.formats.transposed import read_transposed
from bayesanno.io.formats.wide import read_votes, read_wide
from bayesanno.io.layout import is_long
from bayesanno.io.names import (
    find_alike,
    warn_names,
    warn_of_alike,
    warn_of_doubtful_names,
    warn_of_missing_codes,
    warn_of_odd_number,
    warn_of_rare,
    warn_of_scale,
    warn_of_strange_gold,
)
from bayesanno.io.pairs import read_pairs
from bayesanno.io.rankings import read_rankings
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.sources import Source, open_source
from bayesanno.io.spelling import join_spellings
from bayesanno.io.text_table import TextTable

_SAME = 0.9  # if more than this share of repeated answers keep the label, rows may be duplicates by mistake
log = logging.getLogger(__name__)  # reports the columns that were read


def read_annotations(
    source: Source,
    *,
    format: str = "auto",  # noqa: A002 -- the name of the command line's option
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    gold: str | None = None,
    labels: str | Sequence[str] | None = None,
    unsure: str | Sequence[str] = (),
    controls: Mapping[str, str] | str | os.PathLike[str] | None = None,
    gold_file: str | os.PathLike[str] | None = None,
    predictions: bool = False,
    multi_label: bool = False,
    drop_rejected: bool = False,
    split: str | None = None,
    missing: str | Sequence[str] = (),
    strip: bool = False,
    ignore_case: bool = False,
    same: Mapping[str, str] | None = None,
    columns: str | Sequence[str] = (),
    count: str | None = None,
    items: Source | None = None,
    annotators: Source | None = None,
    pairs: str | Sequence[str] = (),
    first: str | Sequence[str] = (),
    second: str | Sequence[str] = (),
    tie: str | Sequence[str] = (),
    baseline: str | None = None,
    by: str | None = None,
    ranking: str | Sequence[str] = (),
    ranks: str | Sequence[str] = (),
    best_worst: str | Sequence[str] = (),
    no_header: bool = False,
    transpose: bool = False,
    encoding: str | None = None,
    separator: str | None = None,
) -> AnnotationData:
    """Read annotations from a table, an export of an annotation tool, or a named data set.

    A column is what its name or an option says; where names do not decide, an error has the options that do. Cells are
    text, so that `NA` and `01` are names of items. Only if all labels are numbers, or all but one, `1`, `1.0` and `01`
    are one label, in its shortest spelling. Whitespace around a cell is removed, and an empty cell is missing. A row
    without an answer still declares its item and its annotator.

    Parameters
    ----------
    source : path, str, DataFrame, or list or dict of records
        A file, `"@name"` for a named data set (see `list_datasets`), `"-"` for standard input, or data in memory: a
        DataFrame of pandas or polars, a Dataset of Hugging Face, a table of Arrow, or records as in JSON. A file is
        CSV, TSV, Parquet, JSON, or a workbook of Excel with one sheet (which needs openpyxl). It may be compressed by
        gzip, or be the only table in a zip.
    format : str
        The shape of the table, or the tool that exported it. The separator of a table is detected from its header. A
        JSON file may have 500 MiB.

        * long: one row per annotation, with columns for item, annotator and label. Other columns are ignored.
        * wide: one row per item, one column per annotator: those that `columns` names, or without it all columns, if
          each has a word for annotators with a number, as `rater_1`, `rater_2`. Columns with other known names, such as
          gold, text, final or topic, are left out. A column whose name is an alias of item, or an id, names the items;
          otherwise they are named 1, 2, ... by row. With a column of counts (`count`) a row stands for several items.
        * votes: one row per item, one column per label, with the number of answers that the label got. All
          answers belong to one annotator, `anyone`.
        * label-studio: JSON or JSON_MIN of Label Studio. Cancelled annotations are missing. An annotation marked as
          ground truth is an answer, and also gold.
        * prodigy: JSONL of `prodigy db-out`: the options chosen, or accept and reject. Ignored tasks are missing.
        * argilla: records of Argilla 2 or 1, also as Parquet. Only submitted responses count.
        * doccano: the zip with a file for each member of the project.
        * mturk: the CSV of a batch of Mechanical Turk.
        * toloka: the TSV of a pool of Toloka; known labels of control tasks are `controls`, unless `gold` names them.
        * zooniverse: the CSV of a project's classifications; a question is a task, given by its name or its words.
        * records: JSON or JSONL of any form, or a table with such cells: an object for each answer, as programs that
          query language models write; or an object that `annotator` and `label` are paths into. Lists of annotators and
          of labels may be side by side, and an object `annotations` may have the label of each annotator.
        * auto: an export is detected from its content; a table is long if it has columns for an annotator and a label,
          and else wide.
    item, annotator, label, gold : str, optional
        The names of the columns. By default columns are recognised by their names, in upper or lower case: item, task,
        question, unit, instance_id, doc, example; annotator, worker, rater, coder, judge, grader, user, performer,
        participant, respondent, or else model; label, rating, answer, response, annotation, category, winner, verdict,
        preference, or else score; gold, true_label, truth, human_label, human; and ids of items and annotators, as
        task_id and WorkerId. Where no column has a name of an item, the only id of anything (as output_id), or image,
        text, sentence, prompt or document, is the item. For exports, `label` chooses one of several questions, and
        `item` and `gold` are fields, as in `data.id`. `item` and `annotator` may be templates over columns or fields,
        as `"{model}/{prompt}"`. In JSON of any form, and cells that hold JSON, all are paths: `a.b` is a field of a
        field, `a[]` each element of a list, `a[]#` its number, `a{}` each value of an object, and `a{}#` its key.
    labels : str or sequence of str, optional
        All possible labels, also those that nobody used; grades from the lowest to the highest. A text is split at
        commas. By default the labels that occur, numbers sorted as such, and words alphabetically, which is no order of
        grades.
    unsure : str or sequence of str, optional
        Labels that are answers but no classes, such as "unsure" or "skip": annotators may give them, but no item has
        them as its true label. Some models learn from them (`model_b`, `mace` and others); for other models, and to
        treat them as missing, leave them out with `.without_unsure()`. They come after the other labels, unless
        `labels` has them.
    controls : mapping of item to label, or path, optional
        Known true labels that enter the likelihood; a file has columns item and label.
    gold_file : path, optional
        Known true labels for evaluation, in a file with columns item and gold (or label). It takes the place of a gold
        column.
    predictions : bool, default False
        For Label Studio and Argilla: whether predictions (suggestions) count as answers, with each model an annotator.
    multi_label : bool, default False
        For answers with several labels: whether each pair of item and label becomes an item, named `item / label`, with
        the answers yes and no. The labels of an answer are a list, also as text such as `['joy', 'anger']`; or parts
        separated by `split`; or, without a label column, the names of those `columns` that hold 1. Selecting no label
        counts as "no" for all.
    drop_rejected : bool, default False
        For Mechanical Turk and Toloka: whether to leave out answers that the requester has rejected.
    split : str, optional
        What separates several labels in one cell, as `"|"`; or several annotators and, in another cell, their labels,
        as in `"Ann1,Ann2"` and `"0,1"`.
    missing : str or sequence of str, optional
        Codes for a missing answer or true label, such as "NA" or "-1". A text is split at commas, as in "NA,-1".
    strip : bool, default False
        Whether to join labels that differ only in the spaces between words, or in how an accent is encoded. Spaces
        around a label are always removed.
    ignore_case : bool, default False
        Whether to join labels that differ only in capitals. The spelling in `labels` is kept, or else the most
        frequent.
    same : mapping of str to str, optional
        Labels to be read as other labels, such as misspelt ones: `{"dgo": "dog"}`.
    columns : str or sequence of str, optional
        The annotators' columns of a wide table, the items' columns with `transpose`, the labels' columns of votes and
        with `multi_label`. A text is split at commas. Each is a name, a pattern such as `rater_*`, or positions: `2:`
        from the second column to the last, `2:4` to the fourth. Patterns and positions leave out the columns of item
        and gold. All columns that are not named are left out.
    count : str, optional
        The column that says how many items have the answers of a row, for patterns of answers; by default the column
        count, n, freq, frequency or weight of a wide table.
    items : path or DataFrame, optional
        A table with a row for each item, for models with a `class_prior`. Its columns become `item_columns` of the
        data. A column is numeric if all its non-empty cells are numbers; an empty cell is missing. Items without
        answers are added to the data.
    annotators : path or DataFrame, optional
        A table with a row for each annotator, for models of one's own. Its columns become `annotator_columns` of the
        data, as those of items do. Annotators without answers are left out.
    pairs : str or sequence of two str, optional
        For comparisons: the two columns, or fields of records, that name the systems compared, as "model_a,model_b".
        They become `item_columns`, and the labels are their names and "tie". In the table a label, or a true label, is
        the name of a column, the name of a system, a side (A, 1, left, first or win, and B, 2, right, second, loss or
        lose), or a tie. An item is one pair, in whichever order it is shown; if both orders are, its first side is the
        system whose name comes first. Items are named by the item column, with the pair if an item has several
        (`"q1: llama | opt"`); without an item column each pair is an item.
    first, second, tie : str or sequence of str, optional
        Codes for the sides, in place of A, 1 and the others; and the labels that are ties, by default draw and those
        that begin with "tie" in upper or lower case. A text is split at commas, as in "draw,both".
    baseline : str, optional
        The system with which all others were compared, if `pairs` names one column.
    by : str, optional
        For comparisons and rankings: a column with subsets of the items, such as categories, which becomes one of the
        `item_columns`; `Pairs(by=...)` learns strengths in each.
    ranking : str or sequence of str, optional
        For rankings, which become comparisons of each two systems (see the guide): one column with a list, or a text
        as `a > b = c`, which `split` may separate otherwise; or columns with one system each, the best first, as
        "rank_*". Without an item column each row is a question.
    ranks : str or sequence of str, optional
        For rankings: columns named like the systems, with their ranks; 1 is the best, equal ranks are ties.
    best_worst : str or sequence of str, optional
        For the best and the worst of a set: the columns of the best, of the worst, and of the set, which is one column
        with a list, or one for each system. Only comparisons with the best or the worst follow.
    no_header : bool, default False
        Whether the first line of a table is data; its columns are then named 1, 2, ...
    transpose : bool, default False
        Whether rows are annotators and columns are items. Annotators are named by `annotator`, or a column with a name
        of annotators, or a first column without a name. Items are the `columns`, or else all others if they have one
        word with numbers, as Q1, Q2.
    encoding : str, optional
        The encoding of a text file, such as "latin-1"; by default UTF-8, or UTF-16 if the file has its byte order mark.
    separator : str, optional
        What separates the cells of a text file, such as " "; by default a comma, tab, semicolon or bar is detected.

    Returns
    -------
    AnnotationData
        Items and annotators by first appearance.

    Raises
    ------
    DataFileError
        If a file is missing or cannot be opened or fetched.
    DataError
        If a table cannot be read, may be read in two ways, or has contents that do not fit together; the message names
        the place and the value. If an unsure label does not occur and is not in `labels`. If an export has several
        questions and none is named, or an option does not apply to the format. If a comparison has one system, or its
        label is neither a side nor a tie. If two rows of `items` contradict each other.

    Warns
    -----
    ExportWarning
        If an export lacks information that others have: JSON_MIN, and sessions of Prodigy without a name; if
        assignments of Toloka were skipped or expired, or the question of a task of Zooniverse was changed.
    NamesWarning
        If undeclared labels, or annotators, differ only in capitals or spaces; if a label is rare and may be misspelt,
        may stand for a missing answer or for several, is the only one that is no number, or has a decimal comma; if a
        name may be rows that a stray quote has joined; if more than 20 labels are
        numbers; if an annotator, an item or a system may stand for a missing one, or for a sum; if `same` or `missing`
        name what is no answer; if answers are there twice; if true labels belong to items that are not in the data, or
        are no labels; if items that nobody compared, or unsure ties, are left out.

    References
    ----------
    Snow, O'Connor, Jurafsky & Ng (2008). Cheap and fast, but is it good? EMNLP. https://aclanthology.org/D08-1027

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesanno.io.annotations import read_annotations
    >>> table = pd.DataFrame({"item": ["s1", "s2"], "ada": ["yes", "no"], "bo": ["no", None]})
    >>> data = read_annotations(table, columns=["ada", "bo"])
    >>> data.items, data.annotators, data.labels, data.n_annotations
    (('s1', 's2'), ('ada', 'bo'), ('no', 'yes'), 3)
    >>> judged = [{"item": item, "model": model, "label": "AB"[item == model]} for item in "xy" for model in "xz"]
    >>> read_annotations(judged, annotator="{model}-2").annotators
    ('x-2', 'z-2')
    >>> answered = [{"id": 1, "votes": [{"by": "ada", "said": "no"}, {"by": "bo", "said": "yes"}]}]
    >>> read_annotations(answered, annotator="votes[].by", label="votes[].said").annotators
    ('ada', 'bo')
    >>> arena = [("q1", "llama", "opt", "ada", "model_a"), ("q2", "opt", "bloom", "ada", "tie (both bad)")]
    >>> table = pd.DataFrame(arena, columns=["question_id", "model_a", "model_b", "judge", "winner"])
    >>> data = read_annotations(table, pairs="model_a,model_b")
    >>> data.labels, data.item_columns["model_a"].names, data.item_columns["model_a"].levels
    (('model_a', 'model_b', 'tie'), ['llama', 'opt'], ('bloom', 'llama', 'opt'))
    """
    options = {name: value for name, value in locals().items() if name != "source"} | {"same": same or {}}
    return annotations_from(*open_source(source, ReadOptions(**options)))


def annotations_from(table: TextTable, options: ReadOptions) -> AnnotationData:
    """Return the annotations in a table, as `read_annotations` does.

    Raises
    ------
    DataFileError, DataError
        As for `read_annotations`.
    """
    comparisons = None
    if options.compared:
        weights = None
        if not options.pairs:
            table, options, weights = read_rankings(table, options)
        table, options, comparisons = read_pairs(table, options, weights)
    answers = _read_table(table, options)
    if comparisons is not None:
        answers = comparisons.put_into(answers)
    if options.items is not None:
        answers = add_item_columns(answers, options.items, comparisons)
    if options.annotators is not None:
        answers = add_annotator_columns(answers, options.annotators)
    if answers.read_as:
        log.info("%s: %s", table.name, answers.read_as)
    (categories,) = join_spellings([answers.categories], options, answers.label)
    in_order = options.labels or tuple(dict.fromkeys(filter(None, categories))) or None
    possible = comparisons.labels if comparisons is not None and in_order is None else in_order
    labels = order_responses(answers.label, options.unsure, possible)
    gold, controls = answers.gold, options.controls or {}
    if options.gold_file is not None:
        gold = read_known(options.gold_file, ("gold", "label"), answers.items, None, options, labels)
    if not isinstance(controls, Mapping):
        among = labels if comparisons is None else None
        controls = read_known(controls, ("label", "gold"), answers.items, among, options, labels)
    elif controls:
        (known,) = join_spellings([list(controls.values())], options, labels)
        controls = {item: label for item, label in zip(controls, known, strict=True) if label}
    if comparisons is not None:
        from_file = options.gold_file is not None
        gold = comparisons.understand_gold(gold, from_file=from_file)
        controls = comparisons.understand_known(controls, "controls")
    declared = in_order is not None
    data = make_annotations(
        answers, labels, gold=gold, unsure=options.unsure, order_declared=declared, controls=controls
    )
    if not declared:
        warn_of_missing_codes(table.name, answers.label, gold)
        warn_of_scale(table.name, data.classes)
        warn_of_odd_number(table.name, answers.label, options.unsure)
        warn_of_rare(table.name, answers.label)
    of_labels = () if declared else (*labels, *gold.values())
    systems, people = () if comparisons is None else comparisons.words.systems, answers.annotators
    items = _find_doubtful(answers)
    if not warn_of_alike(table.name, labels=of_labels, annotators=people, items=items, systems=systems):
        warn_of_strange_gold(table.name, gold, labels)
    named = {"labels": of_labels, "annotators": people, "items": answers.items, "systems": systems}
    warn_of_doubtful_names(table.name, quoted=table.unit != "row", **named)
    _warn_of_doubles(answers)
    return data.without_unsure() if options.drop_unsure else data


def _read_table(table: TextTable, options: ReadOptions) -> NamedAnswers:
    """Return the answers in a table, whose shape the options or the names of its columns say."""
    if options.transpose:
        return read_transposed(table, options)
    if options.format == "votes":
        return read_votes(table, options)
    of_wide = options.format == "wide" or options.columns or options.count is not None
    if options.format == "long" or (not of_wide and is_long(table, options)):
        return read_long(table, options)
    return read_wide(table, options)


def _find_doubtful(answers: NamedAnswers) -> list[str]:
    """Return the items whose names differ in spelling alone, and which no annotator has answered both."""
    alike = find_alike(answers.items)
    named = {name for group in alike for name in group}
    people = {name: set[int]() for name in named}
    asked = np.isin(answers.item, [code for code, name in enumerate(answers.items) if name in named])
    for item, annotator in zip(answers.item[asked].tolist(), answers.annotator[asked].tolist(), strict=True):
        people[answers.items[item]].add(annotator)
    doubtful: list[str] = []
    for group in alike:
        own = [people[name] for name in group]
        if all(own) and sum(map(len, own)) == len(set[int]().union(*own)):
            doubtful += group
    return doubtful


def _warn_of_doubles(answers: NamedAnswers) -> None:
    """Warn if annotators often give an item the same label again; a changed label needs no warning."""
    cell = answers.item * len(answers.annotators) + answers.annotator  # (annotation,)
    if len(answers.swapped):
        cell = 2 * cell + answers.swapped
    n_again = cell.size - np.unique(cell).size
    if not n_again or answers.annotators == (ANYONE,):
        return
    seen, same = set[tuple[int, str]](), list[int]()
    for row, said in zip(answers.row.tolist(), zip(cell.tolist(), answers.label, strict=True), strict=True):
        if said in seen:
            same.append(row)
        seen.add(said)
    if len(same) > _SAME * n_again:
        others = f" and {counted(len(same) - 1, 'other')} repeat" if len(same) > 1 else " repeats"
        warn_names(
            f"{answers.table.where(same[0])}: this answer{others} an earlier one by the same annotator; "
            "duplicate rows count twice, so delete those that are there by mistake"
        )
