"""The options of reading as one value, which the readers of the library and the command line share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields
from typing import Any, Self

from bayesanno._core.errors import DataError
from bayesanno._core.wording import as_names, listed, nearest, option
from bayesanno.data.labelled import name_unsure
from bayesanno.io.registry import FORMAT_NAMES

# The options of any file about the items.
OF_FILES = ("item", "gold", "missing", "strip", "ignore_case", "same", "encoding", "separator")
OF_EXPORTS = ("predictions", "multi_label", "drop_rejected")
OF_PAIRS = ("first", "second", "tie")  # what labels mean
BASELINE, RANKED, WEIGHT = "baseline", ("first", "second"), "weight"  # columns that reading adds
OF_RANKINGS = ("ranking", "ranks", "best_worst")
_OF_ONE_COLUMN = ("item", "annotator", "gold", "count", "successes", "trials", "baseline", "by")
OF_COMPARISONS = ("pairs", *OF_PAIRS, "baseline", "by", *OF_RANKINGS)


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How to read a table; each reader uses the options that apply to it.

    Parameters
    ----------
    format : str
        The shape of the table: one of the registry, or "auto".
    item, annotator, gold, successes, trials : str, optional
        The names of columns, or of fields of an export, if they have no alias; `annotator` of an export may be a
        template over fields.
    label : tuple of str
        The label columns, or questions of an export: none or one, or one for each dimension.
    labels : tuple of str, optional
        All possible labels, in order.
    unsure : tuple of str
        Labels that are not classes.
    drop_unsure : bool
        Whether unsure answers are left out.
    labels_by_dimension : mapping of dimension to tuple of str
        The same for several dimensions, or for some of them.
    gold_file : path, optional
        A file of known true labels, for evaluation.
    controls : mapping of item to label, or path, optional
        Known true labels that enter the likelihood.
    predictions, multi_label, drop_rejected : bool
        For exports: whether predictions of models count as answers, whether each label becomes a yes-or-no question,
        and whether rejected answers are left out.
    split : str, optional
        The separator of labels, or annotators, in one cell.
    missing : str or tuple of str
        Codes for a missing answer or true label.
    strip, ignore_case : bool
        Whether to join labels that differ only in spaces, or only in capitals.
    same : mapping of label to label
        Spellings of a label, and how it is written.
    columns : str or tuple of str
        The annotators' columns of a wide table, by names, patterns or positions.
    count : str, optional
        The column that counts the items of a row.
    items, annotators : path or table, optional
        A table of items, and one of annotators.
    pairs : str or tuple of two str
        The columns with the names of the two systems that an item compares.
    first, second, tie : str or tuple of str
        The labels that mean the first side, the second side, and a tie.
    baseline : str, optional
        The system that all others were compared with, if `pairs` names one column.
    by : str, optional
        The column of comparisons with subsets of the items.
    ranking, ranks, best_worst : str or tuple of str
        The columns of rankings, of the ranks of systems, or of the best, the worst and the set.
    no_header, transpose : bool
        For tables: whether the first line is data, with columns named 1, 2, ...; and whether rows are annotators and
        columns are items.
    encoding : str, optional
        The encoding of a text file, if it is neither UTF-8 nor UTF-16.
    separator : str, optional
        What separates the cells of a text file, if it is not detected.

    Raises
    ------
    DataError
        If there is no such format, gold is given twice, unsure answers are left out without unsure labels, pairs are
        not two columns of a long table, or a label is to be written as two.

    Examples
    --------
    >>> from bayesanno.io.read_options import ReadOptions
    >>> ReadOptions(format="long", label=("verdict",), labels=("no", "yes")).roles["label"]
    'verdict'
    """

    format: str = "auto"
    item: str | None = None
    annotator: str | None = None
    label: tuple[str, ...] = ()
    labels: tuple[str, ...] | None = None
    unsure: tuple[str, ...] = ()
    drop_unsure: bool = False
    labels_by_dimension: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    gold: str | None = None
    gold_file: str | os.PathLike[str] | None = None
    controls: Mapping[str, str] | str | os.PathLike[str] | None = None
    successes: str | None = None
    trials: str | None = None
    predictions: bool = False
    multi_label: bool = False
    drop_rejected: bool = False
    split: str | None = None
    missing: str | Sequence[str] = ()
    strip: bool = False
    ignore_case: bool = False
    same: Mapping[str, str] = field(default_factory=dict)
    columns: str | tuple[str, ...] = ()
    count: str | None = None
    items: Any = None
    annotators: Any = None
    pairs: str | tuple[str, ...] = ()
    first: str | Sequence[str] = ()
    second: str | Sequence[str] = ()
    tie: str | Sequence[str] = ()
    baseline: str | None = None
    by: str | None = None
    ranking: str | Sequence[str] = ()
    ranks: str | Sequence[str] = ()
    best_worst: str | Sequence[str] = ()
    no_header: bool = False
    transpose: bool = False
    encoding: str | None = None
    separator: str | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without the table."""
        usual = {each.name: getattr(type(self), each.name, {}) for each in fields(self)}
        self.__dict__.update({name: usual[name] for name in usual if getattr(self, name) is None})
        for name in (*_OF_ONE_COLUMN, "split", "encoding", "separator"):
            if isinstance(getattr(self, name), int):  # the name of a column of a DataFrame
                self.__dict__[name] = str(getattr(self, name))
            elif not isinstance(getattr(self, name), str | None):
                raise DataError(f"{name} is {getattr(self, name)!r}, but must be the name of one column, or one text")
        if not isinstance(self.same, Mapping):
            raise DataError(f"same is {self.same!r}, but must map labels to labels, as in same={{'y': 'yes'}}")
        if self.controls is not None and not isinstance(self.controls, Mapping | str | os.PathLike):
            raise DataError(f"controls is a {type(self.controls).__name__}, but must map items to labels, or be a file")
        labels = None if self.labels is None else label_names("labels", _split(self.labels))
        label = as_names(self.label)
        same = {str(name).strip(): str(label).strip() for name, label in dict(self.same).items()}
        given = {"labels": labels, "label": label, "unsure": name_unsure(self.unsure), "same": same}
        for name in ("missing", "columns", *OF_PAIRS, "pairs", *OF_RANKINGS):
            given[name] = tuple(str(one).strip() for one in _split(getattr(self, name)))
        self.__dict__.update(given)  # the fields of a frozen value, in their usual form
        self._check_pairs()
        useless: tuple[str, ...] = ("item", "label", "gold", "count") if self.transpose else ()
        useless += ("annotator", "label", "count", "transpose") if self.format == "votes" else ()
        needless = next((each for each in useless if self.gives(each)), None)
        if needless is not None:
            raise DataError(
                f"{option(needless)} does not apply to votes, or to tables with {option('transpose', True)}: leave "
                "out one"
            )
        twice = next((name for name, label in self.same.items() if label in self.same or not (name and label)), None)
        if twice is not None:
            raise DataError(
                f"same: {twice!r} is to be written as {self.same[twice]!r}, which is empty or to be written otherwise: "
                "name the label that is kept"
            )
        if self.columns and self.format not in ("auto", "wide", "votes", "records"):
            raise DataError(
                f"{option('columns')} names columns of a wide table, but {option('format', self.format)} is not wide: "
                "leave out one"
            )
        if self.format not in FORMAT_NAMES:
            raise DataError(
                f"there is no format {self.format!r}: choose one of {listed(FORMAT_NAMES, most=20)}"
                f"{nearest(str(self.format), FORMAT_NAMES)}"
            )
        if self.gold is not None and self.gold_file is not None:
            raise DataError(
                f"gold is given twice, as column {self.gold!r} and as file {str(self.gold_file)!r}: leave out one"
            )
        if self.drop_unsure and not self.unsure:
            raise DataError(
                f"{option('drop_unsure', True)} leaves out unsure answers: name their labels with {option('unsure')}"
            )

    def _check_pairs(self) -> None:
        """Raise a DataError unless one option names columns of comparisons, and other options suit it."""
        asked = [name for name in ("pairs", *OF_RANKINGS) if self.gives(name)]
        own = next((name for name in (*OF_PAIRS, "baseline") if self.gives(name) and not self.pairs), None)
        own = "by" if own is None and self.by is not None and not asked else own
        if own is not None:
            raise DataError(
                f"{option(own)} is only for comparisons: name the columns of systems with {option('pairs')}"
            )
        if not asked:
            return
        if len(asked) > 1:
            raise DataError(f"comparisons are named twice, by {option(asked[0])} and {option(asked[1])}: leave out one")
        columns, n = getattr(self, asked[0]), 2 if self.baseline is None else 1
        if self.pairs and (len(columns) != n or not all(columns) or len({*columns}) < n):
            found, of_all = (
                ", ".join(map(repr, columns)),
                f"name the two columns of systems, as in {option('pairs', 'model_a,model_b')}",
            )
            one = "name the one column of systems that were compared with the baseline"
            raise DataError(f"pairs is {found}: {of_all if n == 2 else one}")
        if self.best_worst and len(columns) < 3:
            raise DataError(
                f"{option('best_worst')} needs the columns of the best, of the worst, and of the set, as in 'b,w,set'"
            )
        if self.format not in ("auto", "long", "records"):
            raise DataError(
                f"{option(asked[0])} names columns of a long table or fields of records, but "
                f"{option('format', self.format)} is neither: leave out one"
            )
        useless = ("columns", "count", "transpose", *OF_EXPORTS, *(("split",) if self.pairs else ("label", "gold")))
        for name in useless:
            if self.gives(name):
                raise DataError(
                    f"{option(name)} does not apply to comparisons, which {option(asked[0])} reads: leave out one"
                )

    @property
    def compared(self) -> tuple[str, ...]:
        """The columns of comparisons, or patterns of these; none for other tables."""
        return tuple(name for each in ("pairs", *OF_RANKINGS) for name in getattr(self, each))

    @property
    def sides(self) -> tuple[str, ...]:
        """The columns of items with the two systems of a comparison, and so the labels; none for other tables."""
        if self.pairs and self.baseline is not None:
            return (*self.pairs, BASELINE)
        return tuple(self.pairs) or (RANKED if self.compared else ())

    @property
    def weight(self) -> str:
        """The column of items with the weight of a comparison, if rankings are read; "" otherwise."""
        return WEIGHT if self.compared and not self.pairs else ""

    def gives(self, *options: str) -> bool:
        """Return whether any of these options differs from its default."""
        return any(getattr(self, option) != getattr(type(self), option, {}) for option in options)

    def describe(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, as values for JSON."""
        given = {each.name: getattr(self, each.name) for each in fields(self) if self.gives(each.name)}
        return {name: str(value) if isinstance(value, os.PathLike) else value for name, value in given.items()}

    @classmethod
    def of_files_beside(cls, described: Mapping[str, Any]) -> Self:
        """Return the options for another file about the same items, from what `describe` returned for the data."""
        return cls(**{name: described[name] for name in OF_FILES if name in described})

    @property
    def roles(self) -> dict[str, str | None]:
        """The columns of a table with one label column, by role; None where a column is known by its name."""
        if len(self.label) > 1:
            raise DataError(f"label names {listed(self.label)}: name one column, or read them as dimensions")
        (label,) = self.label or (None,)
        return {"item": self.item, "annotator": self.annotator, "label": label, "gold": self.gold}


def _split(names: str | Iterable[Any]) -> Iterable[Any]:
    """Return names, which a text has between commas."""
    if isinstance(names, str):
        return names.split(",")
    return names if isinstance(names, Iterable) else [names]


def of_spans() -> str:
    """Return the remedy for data that label parts of items."""
    return f"for spans, write a table with a row for each token, annotator and tag ({option('item', '{text}/{token}')})"


def label_names(what: str, labels: Iterable[str]) -> tuple[str, ...]:
    """Return declared labels as names; messages call them `what`.

    Raises
    ------
    DataError
        If they are not in order, there is none, or one is empty.
    """
    if isinstance(labels, Mapping | Set):
        raise DataError(f"{what} must be a sequence of names, in order, not a {type(labels).__name__}: write [...]")
    names = tuple(name.strip() for name in as_names(labels))
    if not names:
        raise DataError(f"{what}: no label is given: name all possible labels, or leave the option out")
    if not all(names):
        raise DataError(f"{what}: name {names.index('') + 1} of {listed(names)} is empty: fill it in or leave it out")
    return names
