"""Calls in parallel: in this process, in several, or on a Dask cluster; results come as soon as they are ready."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

from bayesanno.ground.errors import FitError
from bayesanno.ground.running import track


def run_all[T, R](
    call: Callable[..., R], tasks: Sequence[T], *rest: Any, workers: int, client: Any, message: str, progressbar: bool
) -> Iterator[tuple[T, R]]:
    """Call `call(task, *rest)` for each task, and yield task and result as each is done, in any order.

    An interruption or an error cancels the tasks that have not begun.
    """
    if client is None and workers == 1:
        for task in track(tasks, message, show=progressbar):
            yield task, call(task, *rest)
        return
    pool = ProcessPoolExecutor(workers, get_context("spawn")) if client is None else client.get_executor()
    with pool as executor:
        futures = {executor.submit(call, task, *rest): task for task in tasks}
        try:
            for future in track(as_completed(futures), message, show=progressbar, total=len(futures)):
                yield futures[future], future.result()
        except BrokenProcessPool as error:
            raise FitError(
                f"a process of workers={workers} ended before its work was done: a script needs "
                '`if __name__ == "__main__":` around its calls; or memory ran out, and workers=1 needs less'
            ) from error
        except BaseException:
            for future in futures:
                future.cancel()
            raise
