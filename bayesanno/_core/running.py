"""Long computations: Ctrl-C stops them at once and completely, and users see their progress.

Also, linear algebra uses one thread, and messages of libraries for programmers are hidden from users.
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
    """Delay Ctrl-C until the end of the block.

    There is no delay outside the main thread, which alone is interrupted, or if Python does not handle Ctrl-C.

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
    """Keep Ctrl-C effective inside the block even where Python drops exceptions.

    Python drops exceptions in `__del__` and in callbacks of weak references, which PyTensor uses a lot. It passes them
    to `sys.unraisablehook`, from which the interrupt is sent again, a moment later, since exceptions inside the hook
    are dropped as well.
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
    """Show a spinner with a message during the block; it disappears afterwards."""
    if not show:
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(message):
        yield


def track[T](sequence: Iterable[T], message: str, *, show: bool, total: int | None = None) -> Iterator[T]:
    """Iterate over a sequence with a progress bar that shows the remaining time; it disappears afterwards.

    `total` is the length, if the sequence does not have one.
    """
    if not show:
        yield from sequence
        return
    from rich.console import Console
    from rich.progress import track as rich_track

    yield from rich_track(sequence, description=message, total=total, console=Console(stderr=True), transient=True)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit linear algebra to one thread, since vectors are short and chains have their own threads.

    On two busy cores, SciPy's L-BFGS takes many times longer with two threads.
    """
    import scipy.optimize  # noqa: F401  # so that its BLAS is there to be limited
    import threadpoolctl

    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        yield


@contextmanager
def quiet_logger(name: str, level: int) -> Iterator[None]:
    """Set the least level of a library's logger during the block."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)
