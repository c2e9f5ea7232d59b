"""What a user sees while waiting: a line on stderr that says what is going on."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def status(message: str, *, show: bool) -> Iterator[None]:
    """Show a spinner with a message for as long as the block takes; nothing is left of it afterwards."""
    if not show:
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(message):
        yield
