"""Ctrl-C, which stops what runs at once, once, and whole."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

MOMENT = 0.05  # seconds


@contextmanager
def hold_interrupts() -> Iterator[None]:
    """Within it Ctrl-C is noted; at its end it has the effect that it would have had.

    Nothing is held back outside the main thread, which alone is interrupted, nor where Ctrl-C is not for Python to
    handle.

    Examples
    --------
    >>> import signal
    >>> done = []
    >>> try:
    ...     with hold_interrupts():
    ...         signal.raise_signal(signal.SIGINT)
    ...         done.append("whole")
    ... except KeyboardInterrupt:
    ...     done.append("interrupted")
    >>> done
    ['whole', 'interrupted']
    """
    before = signal.getsignal(signal.SIGINT)
    if not _in_main_thread() or not callable(before):
        yield
        return
    noted: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: noted.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if noted:
        before(*noted[0])


@contextmanager
def lose_no_interrupt() -> Iterator[None]:
    """Within it Ctrl-C counts even where Python drops what is raised.

    That is where an object's end is noticed: in callbacks of weak references, of which PyTensor makes many, and in
    `__del__`. Python hands what it drops to `sys.unraisablehook`, and from there the interrupt is sent again, a moment
    later: what is raised within that hook is dropped as well.
    """
    if not _in_main_thread():
        yield
        return
    before = sys.unraisablehook

    def send_again(dropped: sys.UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            again = threading.Timer(MOMENT, _thread.interrupt_main)
            again.daemon = True
            again.start()
        else:
            before(dropped)

    sys.unraisablehook = send_again
    try:
        yield
    finally:
        sys.unraisablehook = before


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
