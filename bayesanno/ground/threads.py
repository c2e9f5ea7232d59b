"""How many threads linear algebra takes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let linear algebra take one thread: vectors here are short, chains have threads of their own, and threads wait.

    On two busy cores SciPy's L-BFGS takes many times longer with two.
    """
    import scipy.optimize  # noqa: F401  # so that its BLAS is there to be limited
    import threadpoolctl

    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        yield
