"""Names of items, annotators and labels: what they must be, and the order of labels."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from bayesanno.ground.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable

_WHOLE = re.compile(r"-?\d{1,18}")


def sort_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct labels in order: as numbers where all of them are whole numbers, else as text."""
    distinct = set(labels)
    if all(_WHOLE.fullmatch(label) for label in distinct):
        return tuple(sorted(distinct, key=lambda label: (int(label), label)))
    return tuple(sorted(distinct))


def check_names(what: str, names: tuple[str, ...]) -> None:
    """Raise a DataError unless there are names, each is not empty, and none appears twice; `what` they are of."""
    blank = next((position for position, name in enumerate(names) if not name.strip()), None)
    if blank is not None:
        raise DataError(f"{what}: number {blank + 1} has no name: give every one a name that is not empty")
    if not names:
        raise DataError(f"{what}: there is none")
    if len(set(names)) != len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise DataError(f"{what}: {twice!r} appears twice: names must be unique")
