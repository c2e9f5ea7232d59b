"""Words for messages: names in a list, and the name that was probably meant. A message stays one line."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def listed(names: Sequence[str], *, most: int = 10) -> str:
    """Return names for a message: quoted, so that it stays one line, and no more than `most` of them."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def nearest(name: str, names: Sequence[str]) -> str:
    """Return a hint at the name most like this one, to end a message with; empty where none is like it."""
    close = get_close_matches(name, names[:2000], n=1)  # a search among more would outlast the reader's patience
    return f"; did you mean {close[0]!r}?" if close else ""
