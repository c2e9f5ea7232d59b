"""Long computations: Ctrl-C stops them at once and completely, and users see their progress.

And linear algebra takes one thread, and libraries say to programmers what is for programmers.
"""

from __future__ import annotations

import _thread
import logging
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
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
def keep_keyboard_interrupt() -> Iterator[None]:
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


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let linear algebra take one thread: vectors here are short, chains have threads of their own, and threads wait.

    On two busy cores SciPy's L-BFGS takes many times longer with two.
    """
    import scipy.optimize  # noqa: F401  # so that its BLAS is there to be limited
    import threadpoolctl

    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        yield


@contextmanager
def quiet_logger(name: str, level: int) -> Iterator[None]:
    """Let a library's logger say only what is of this level or above, while the block runs."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)
