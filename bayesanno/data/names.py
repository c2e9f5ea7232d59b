"""Names of items, annotators and labels: their requirements, and the order of labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

import numpy as np

from bayesanno._core.errors import DataError
from bayesanno._core.wording import as_names, listed, nearest, option

_NUMBER = re.compile(r"[+-]?(\d{1,18}(\.\d{0,18})?|\.\d{1,18})", re.ASCII)


def is_number(label: str) -> bool:
    """Return whether a label is a number in digits."""
    return _NUMBER.fullmatch(label) is not None


def sort_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct labels in order: as numbers if all of them, or all but one, are numbers, else as text.

    Examples
    --------
    >>> from bayesanno.data.names import sort_labels
    >>> sort_labels(["10", "9.5", "-1"]), sort_labels(["10", "9", "none"]), sort_labels(["10", "9", "a", "b"])
    (('-1', '9.5', '10'), ('9', '10', 'none'), ('10', '9', 'a', 'b'))
    """
    distinct = set(labels)
    words = sorted(label for label in distinct if not is_number(label))
    if len(words) > 1:
        return tuple(sorted(distinct))
    return (*sorted(distinct - set(words), key=lambda label: (Decimal(label), label)), *words)


def read_numbers(labels: Sequence[str]) -> np.ndarray | None:
    """Return labels as numbers, (label,), if they are distinct numbers in digits; else None.

    Examples
    --------
    >>> from bayesanno.data.names import read_numbers
    >>> read_numbers(["0", "2.5"]), read_numbers(["1", "1.0"]), read_numbers(["0", "much"])
    (array([0. , 2.5]), None, None)
    """
    if not all(map(is_number, labels)):
        return None
    values = np.array([float(label) for label in labels])
    return values if np.unique(values).size == values.size else None


def order_responses(
    found: Iterable[str], unsure: tuple[str, ...], declared: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Return all labels in order: the declared ones, or else the sorted ones found; then "unsure" ones found.

    Examples
    --------
    >>> from bayesanno.data.names import order_responses
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
