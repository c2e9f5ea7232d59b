"""What a user sees while waiting: a line on stderr that says what is going on."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@contextmanager
def status(message: str, *, show: bool) -> Iterator[None]:
    """Show a spinner with a message for as long as the block takes; nothing is left of it afterwards."""
    if not show:
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(message):
        yield


def track[T](sequence: Iterable[T], message: str, *, show: bool, total: int | None = None) -> Iterator[T]:
    """Go through a sequence behind a progress bar with the time left; nothing is left of it afterwards.

    `total` is how many there are, where the sequence does not know.
    """
    if not show:
        yield from sequence
        return
    from rich.console import Console
    from rich.progress import track as rich_track

    yield from rich_track(sequence, description=message, total=total, console=Console(stderr=True), transient=True)
