"""The common part of annotations in memory and on a cluster: annotators, labels and numbers of answers."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno._core.messages import DataError, as_names, counted, enumerated, listed, nearest, option
from bayesanno.data.columns import read_columns
from bayesanno.data.described import Described, freeze
from bayesanno.data.orders import InEitherOrder

type Codes = np.ndarray[tuple[int], np.dtype[np.int64]]

ANYONE = "anyone"  # the annotator in a table of votes, where nobody is named
LEAST_ORDERED = 3  # labels: reversing the order of two only swaps the ends of the scale
NO_ANNOTATION = "there is no annotation: the table has no row with an item, an annotator and a label"


def count_cells(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return a contingency table of the given shape from the codes of rows and columns.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.data.labelled import count_cells
    >>> count_cells(np.array([0, 0, 1]), np.array([1, 1, 0]), (2, 2)).tolist()
    [[0, 2], [1, 0]]
    """
    return np.bincount(rows * shape[1] + columns, minlength=shape[0] * shape[1]).reshape(shape)


def share_votes(votes: np.ndarray) -> np.ndarray:
    """Return the share of each label among an item's votes, uniform without votes; both (item, label)."""
    total = votes.sum(axis=1, keepdims=True)  # (item, 1)
    return freeze(np.where(total > 0, votes / np.maximum(total, 1), 1 / votes.shape[1]))


class Labelled(InEitherOrder, Described):
    """Annotations of items with labels: names for the parameters of a model, and counts.

    Attributes
    ----------
    annotators, labels : tuple of str
        The names, in the order of the indices. The labels are all that an annotator can give.
    unsure : tuple of str
        Labels that cannot be true labels, such as "unsure"; in the order of the labels.
    order_declared : bool
        Whether the order of the labels was declared. Otherwise they are sorted: numbers and words of a known scale from
        the lowest to the highest, other words alphabetically.
    """

    annotators: tuple[str, ...]
    labels: tuple[str, ...]
    unsure: tuple[str, ...] = ()
    order_declared: bool = False

    if TYPE_CHECKING:  # fields in one subclass, properties in the other: here a property would become a default

        @property
        def n_items(self) -> int:
            """Number of items, those without annotations included."""

        @property
        def by_annotator(self) -> Codes:
            """The number of annotations by each annotator; shape (annotator,)."""

        @property
        def n_gold(self) -> int:
            """The number of items with a known true label, for evaluation."""

        @property
        def controls(self) -> Mapping[str, str]:
            """Known true labels that enter the likelihood as constraints."""

        @property
        def hash(self) -> str:
            """A digest of everything that a model uses."""

    @property
    @abstractmethod
    def n_annotations(self) -> int:
        """Number of annotations."""

    @property
    def n_annotators(self) -> int:
        """Number of annotators."""
        return len(self.annotators)

    @property
    def n_labels(self) -> int:
        """Number of labels that annotators can give, including unused ones."""
        return len(self.labels)

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels that can be true labels: all but `unsure`, in the order of the labels."""
        return tuple(name for name in self.labels if name not in self.unsure) if self.unsure else self.labels

    @property
    def n_classes(self) -> int:
        """Number of labels that can be true labels."""
        return len(self.classes)

    @property
    def labels_are_ordered(self) -> bool:
        """Whether the order of the classes is known: it was declared, or is that of numbers or of a known scale."""
        return self.order_declared or order_known(self.classes) == self.classes

    @property
    def known_scale(self) -> tuple[str, ...]:
        """Three or more classes that are words of a known scale, and in its order; empty for others."""
        in_order = order_known(self.classes) == self.classes and not any(map(is_number, self.classes))
        return self.classes if in_order and self.n_classes >= LEAST_ORDERED else ()

    @cached_property
    def class_codes(self) -> Codes:
        """Index of each class among the labels; shape (true_class,)."""
        place = {name: code for code, name in enumerate(self.labels)}
        return np.array([place[name] for name in self.classes], dtype=np.int64)

    @property
    def names_class(self) -> np.ndarray:
        """Whether a label names a class; shape (true_class, response)."""
        return np.equal.outer(self.class_codes, np.arange(self.n_labels))

    def coords(self, **more: Sequence[str]) -> dict[str, list[Any]]:
        """Return the named coordinates for the parameters of a model of these annotations, and `more`."""
        named = {"annotator": self.annotators, "response": self.labels, **more}
        return {dim: list(names) for dim, names in named.items()}

    def describe(self) -> str:
        """Return a one-line description.

        Examples
        --------
        >>> from bayesanno import read_annotations
        >>> read_annotations("@table9").describe()
        '30,000 annotations of 10,000 items by 3 annotators; labels 1, 2, 3'
        """
        return (
            f"{counted(self.n_annotations, 'annotation')} of {counted(self.n_items, 'item')} by "
            f"{counted(self.n_annotators, 'annotator')}; labels {self._name_classes()}"
            + (f"; unsure: {enumerated(self.unsure)}{self._count_unsure()}" if self.unsure else "")
        )

    def _name_classes(self) -> str:
        """Return the classes in words, with the order of a known scale."""
        return " < ".join(self.known_scale) or enumerated(self.classes)

    def _count_unsure(self) -> str:
        """Return the number of "unsure" annotations in words, if it is known."""
        return ""

    def _check_labels(self) -> None:
        """Raise a DataError if there is only one class."""
        if len(self.labels) < 2:
            raise DataError(
                f"only one label, {self.labels[0]!r}: a model needs at least two; "
                f"if others were possible but never used, declare them with {option('labels')}"
            )
        if len(self.classes) < 2:
            left = f"only one class is left, {self.classes[0]!r}" if self.classes else "no class is left"
            verb = "is" if len(self.unsure) == 1 else "are"
            raise DataError(
                f"{left}, since {listed(self.unsure)} {verb} declared as unsure: a model needs at least two; if "
                f"others were possible but never used, declare them with {option('labels')}"
            )

    def about(self) -> dict[str, Any]:
        """Return the numbers and names that run.json has of the data."""
        columns = {of: getattr(self, of, {}) for of in ("item_columns", "annotator_columns")}
        return {
            "items": self.n_items,
            "annotators": len(self.annotators),
            "labels": self.n_labels,
            "annotations": int(self.by_annotator.sum()),
            "label_names": list(self.labels),
            **({"unsure": list(self.unsure)} if self.unsure else {}),
            "gold": self.n_gold,
            **{of: {name: one.describe() for name, one in found.items()} for of, found in columns.items() if found},
        }

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("annotations", f"{self.n_annotations:,}"),
            ("items", f"{self.n_items:,}"),
            ("annotators", f"{self.n_annotators:,}"),
            ("labels", self._name_classes()),
            *([("unsure labels", enumerated(self.unsure) + self._count_unsure())] if self.unsure else []),
        ]


class LongTable:
    """Answers in long form: what tables of labels and of ratings have in common.

    Attributes
    ----------
    item, annotator : array of int, shape (annotation,)
        Positions in `items` and `annotators`.
    items, annotators : tuple of str
        The names.
    """

    item: Codes
    annotator: Codes
    items: tuple[str, ...]
    annotators: tuple[str, ...]
    gold: Mapping[str, Any]
    item_columns: Mapping[str, Any]
    annotator_columns: Mapping[str, Any]

    def _check_long(self, *whats: str) -> None:
        """Check names and positions of items, annotators and `whats`, and the columns; freeze the arrays."""
        for what in ("item", "annotator", *whats):
            object.__setattr__(self, f"{what}s", check_names(f"{what}s", getattr(self, f"{what}s")))
        for what in ("item", "annotator", *whats):
            names, given = getattr(self, f"{what}s"), np.asarray(getattr(self, what))
            if given.size and not np.issubdtype(given.dtype, np.integer):
                raise DataError(
                    f"{what} must hold whole numbers, positions in {what}s, not values of type {given.dtype}"
                )
            codes = given.astype(np.int64)  # a copy: the caller's array stays writable
            if codes.ndim != 1 or codes.size != np.size(self.item):
                expected = f"({np.size(self.item)},)"
                raise DataError(f"{what} must have one entry per annotation, shape {expected}, not {codes.shape}")
            if codes.size and not (0 <= codes.min() and codes.max() < len(names)):
                raise DataError(f"{what} has an index outside 0..{len(names) - 1}: {codes.min()}..{codes.max()}")
            object.__setattr__(self, what, freeze(codes))
        for of, n in (("item", len(self.items)), ("annotator", len(self.annotators))):
            object.__setattr__(self, f"{of}_columns", read_columns(of, getattr(self, f"{of}_columns"), n))
        if both := sorted(self.item_columns.keys() & self.annotator_columns.keys()):
            raise DataError(f"{both[0]!r} is a column of the items and of the annotators: rename one")

    @cached_property
    def _item_index(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.items)}

    @property
    def n_items(self) -> int:
        """Number of items, including those without annotations."""
        return len(self.items)

    @property
    def n_annotations(self) -> int:
        """Number of annotations."""
        return int(self.item.size)

    @property
    def n_gold(self) -> int:
        """The number of items with a known truth, for evaluation."""
        return len(self.gold)

    @cached_property
    def by_annotator(self) -> Codes:
        """The number of annotations by each annotator; shape (annotator,)."""
        return np.bincount(self.annotator, minlength=len(self.annotators))


def divide(number: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Return a ratio, nan where the denominator is 0."""
    by = np.asarray(by, dtype=float)
    return np.divide(number, by, out=np.full(np.broadcast(number, by).shape, np.nan), where=by != 0)


# ---------------------------------------------------------------------------------------------------- names and labels

MISSING_CODES = (
    "NA", "N/A", "n/a", "na", "#N/A", "<NA>", "NaN", "nan", "None", "null", "NULL", "?", ".", "-1", "-9", "-99", "-999",
    "Na", "N/a", "#n/a", "NAN", "Nan", "NONE", "Null", "N.A.", "n.a.", "N.a.", "#VALUE!", "*", "-", "\u2014",
)  # fmt: skip
_NUMBER = re.compile(r"[+-]?(\d{1,18}(\.\d{0,18})?|\.\d{1,18})", re.ASCII)


def is_number(label: str) -> bool:
    """Return whether a label is a number in digits."""
    return _NUMBER.fullmatch(label) is not None


SCALES = (
    ("none", "absent", "minimal", "very mild", "mild", "moderate", "severe", "very severe", "extreme"),
    ("strongly disagree", "disagree", "somewhat disagree", "slightly disagree", "neutral", "slightly agree",
     "somewhat agree", "agree", "strongly agree"),
    ("strongly disagree", "disagree", "neither agree nor disagree", "agree", "strongly agree"),
    ("strongly disagree", "disagree", "undecided", "agree", "strongly agree"),
    ("never", "almost never", "rarely", "occasionally", "sometimes", "often", "usually", "almost always", "always"),
    ("never", "seldom", "sometimes", "frequently", "always"),
    ("very poor", "poor", "fair", "average", "good", "very good", "excellent"),
    ("terrible", "very bad", "bad", "ok", "good", "very good", "great", "excellent", "perfect"),
    ("much worse", "worse", "slightly worse", "same", "slightly better", "better", "much better"),
    ("very low", "low", "medium", "high", "very high"),
    ("none", "low", "moderate", "high", "critical"),
    ("very negative", "negative", "slightly negative", "neutral", "slightly positive", "positive", "very positive"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    ("very unlikely", "unlikely", "neutral", "likely", "very likely"),
    ("not at all", "slightly", "somewhat", "moderately", "very", "extremely"),
    ("very easy", "easy", "medium", "hard", "very hard"),
    ("irrelevant", "marginally relevant", "partially relevant", "relevant", "highly relevant", "perfectly relevant"),
    ("neutral", "minor", "major", "critical"),
    ("very small", "small", "medium", "large", "very large"),
)  # fmt: skip


def order_known(labels: Iterable[str]) -> tuple[str, ...] | None:
    """Return labels in the order that they are known to have, as numbers or as words of a known scale; None for others.

    Capitals of words do not matter, nor whether they are joined by blanks, hyphens or underscores.

    Examples
    --------
    >>> from bayesanno.data.labelled import order_known
    >>> order_known(["10", "9.5", "-1"]), order_known(["mild", "none", "severe"]), order_known(["no", "yes"])
    (('-1', '9.5', '10'), ('none', 'mild', 'severe'), None)
    >>> order_known(["Strongly_agree", "agree"])
    ('agree', 'Strongly_agree')
    """
    names = [*labels]
    numbers = read_numbers(names)
    if numbers is not None:
        return tuple(names[code] for code in np.argsort(numbers))
    name_of = {re.sub(r"[\s_-]+", " ", name.casefold()): name for name in names}
    scale = next((scale for scale in SCALES if {*name_of} <= {*scale}), ())
    return tuple(name_of[word] for word in scale if word in name_of) if len(name_of) == len(names) and scale else None


def sort_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct labels in order: numbers, but for one other word, or words of a known scale; else as text.

    Examples
    --------
    >>> from bayesanno.data.labelled import sort_labels
    >>> sort_labels(["10", "9.5", "-1"]), sort_labels(["10", "9", "none"]), sort_labels(["10", "9", "a", "b"])
    (('-1', '9.5', '10'), ('9', '10', 'none'), ('10', '9', 'a', 'b'))
    >>> sort_labels(["good", "very bad", "bad"])
    ('very bad', 'bad', 'good')
    """
    distinct = set(labels)
    words = sorted(label for label in distinct if not is_number(label))
    if len(words) > 1:
        return order_known(distinct) or tuple(sorted(distinct))
    return (*sorted(distinct - set(words), key=lambda label: (Decimal(label), label)), *words)


def read_numbers(labels: Sequence[str]) -> np.ndarray | None:
    """Return labels as numbers, (label,), if they are distinct numbers in digits; else None.

    Examples
    --------
    >>> from bayesanno.data.labelled import read_numbers
    >>> read_numbers(["0", "2.5"]), read_numbers(["1", "1.0"]), read_numbers(["0", "much"])
    (array([0. , 2.5]), None, None)
    """
    if not all(map(is_number, labels)):
        return None
    values = np.array([float(label) for label in labels])
    return values if np.unique(values).size == values.size else None


def spell_numbers(
    found: Iterable[str], unsure: Sequence[str] = (), declared: Sequence[str] | None = None
) -> dict[str, str]:
    """Return how labels that are numbers are written, for those that are written otherwise; empty if they are words.

    A declared spelling is kept, or else the shortest is. Labels are numbers if all are, but for codes of missing ones
    and one other, or for a minority with digits as "3-4". If two declared ones are equal, no number is changed.

    Examples
    --------
    >>> from bayesanno.data.labelled import spell_numbers
    >>> spell_numbers(["1", "1.0", "01", "-0", "0", "2.50"])
    {'-0': '0', '01': '1', '1.0': '1', '2.50': '2.5'}
    >>> spell_numbers(["1", "1.0", "low", "high"]), spell_numbers(["1", "2"], declared=["1.0", "2.0"])
    ({}, {'1': '1.0', '2': '2.0'})
    """
    judged = [name for name in found if name and name not in unsure]
    odd = [name for name in judged if not is_number(name) and name not in MISSING_CODES]
    of_numbers = len(odd) <= 1 or (2 * len(odd) < len(judged) and all(re.search(r"\d", name) for name in odd))
    known = {Decimal(name): name for name in declared or () if is_number(name)}
    if not of_numbers or len(known) < sum(map(is_number, declared or ())):
        return {}
    numbers = sorted(filter(is_number, judged), key=lambda name: (len(name), name))
    for name in sorted(map(_without_zeros, numbers), key=lambda name: (len(name), name)):
        known.setdefault(Decimal(name), name)
    return {name: known[Decimal(name)] for name in numbers if known[Decimal(name)] != name}


def _without_zeros(number: str) -> str:
    """Return a number without a plus, the minus of zero, and zeros at the end of decimals."""
    text = number.removeprefix("+")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
        sign = "-" * text.startswith("-")
        text = f"{sign}{text.removeprefix('-') or '0'}"
    return text.removeprefix("-") if not Decimal(text) else text


def order_responses(
    found: Iterable[str], unsure: tuple[str, ...], declared: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Return all labels in order: the declared ones, or else the sorted ones found; then "unsure" ones found.

    Examples
    --------
    >>> from bayesanno.data.labelled import order_responses
    >>> order_responses(["10", "skip", "9"], ("skip",))
    ('9', '10', 'skip')
    """
    distinct = set(found)
    first = sort_labels(distinct - set(unsure)) if declared is None else as_names(declared)
    return (*first, *(name for name in unsure if name in distinct and name not in first))


def name_unsure(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return the labels declared as "unsure", given as one or several, without duplicates.

    Raises
    ------
    DataError
        If one is empty.
    """
    names = tuple(dict.fromkeys(name.strip() for name in as_names(given)))
    if not all(names):
        raise DataError("unsure: a label is empty: leave it out, as empty cells are missing anyway")
    return names


def name_labels(labels: str | Iterable[str], what: str = "labels") -> tuple[str, ...]:
    """Return declared labels as names; a text is split at commas. Messages call them `what`.

    Raises
    ------
    DataError
        If they are not in order, there is none, or one is empty.
    """
    if isinstance(labels, Mapping | Set):
        raise DataError(f"{what} must be a sequence of names, in order, not a {type(labels).__name__}: write [...]")
    names = tuple(name.strip() for name in (labels.split(",") if isinstance(labels, str) else as_names(labels)))
    if not names:
        raise DataError(f"{what}: no label is given: name all possible labels, or leave the option out")
    if not all(names):
        raise DataError(f"{what}: name {names.index('') + 1} of {listed(names)} is empty: fill it in or leave it out")
    return names


def check_unsure(unsure: Sequence[str], labels: Sequence[str]) -> None:
    """Raise a DataError if a label declared as "unsure" is not among the labels."""
    odd = next((name for name in unsure if name not in labels), None)
    if odd is not None:
        raise DataError(
            f"unsure: {odd!r} is not among the labels {listed(labels)}; declare an unused label with {option('labels')}"
            f"{nearest(odd, labels)}"
        )


def check_known(
    what: str,
    known: Mapping[str, str],
    items: Mapping[str, int],
    classes: Sequence[str] | None,
    unsure: Sequence[str],
) -> None:
    """Raise a DataError if known labels are of an unknown item, are "unsure", or are not among classes, if given."""
    for item, label in known.items():
        if item not in items:
            raise DataError(f"{what}: item {item!r} is not among the items{nearest(item, items)}")
        if label in unsure:
            raise DataError(
                f"{what}: item {item!r} is {label!r}, which is declared as unsure: correct it or leave it out"
            )
        if classes is not None and label not in classes:
            raise DataError(f"{what}: label {label!r} of item {item!r} is not among the labels {listed(classes)}")


def check_names(what: str, given: Iterable[object]) -> tuple[str, ...]:
    """Return names as text; raise a DataError if there are none, or one is empty or appears twice."""
    names = as_names(given)
    blank = next((position for position, name in enumerate(names) if not name.strip()), None)
    if blank is not None:
        raise DataError(f"{what}: name {blank + 1} is empty: fill it in")
    if not names:
        raise DataError(f"there are no {what}: give at least one")
    if len(set(names)) != len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise DataError(f"{what}: {twice!r} appears twice: names must be unique")
    return names


def find_codes(what: str, values: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """Return the position of each value among the names, (value,); `what` they name is said where one is not there."""
    index = {str(name): code for code, name in enumerate(names)}
    try:
        return np.array([index[value] for value in values], dtype=np.int64)
    except KeyError as error:
        value = error.args[0]
        raise DataError(f"{what} {value!r} is not among the declared {what}s: {listed(names)}") from None
