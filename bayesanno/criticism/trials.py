"""Fits that may fail, with the warnings or the reason; calls in parallel."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from bayesanno._core.errors import BayesannoError, ConvergenceWarning, FitError, IdentifiabilityWarning
from bayesanno._core.lazy import xr
from bayesanno._core.running import track
from bayesanno.data.annotations import AnnotationData
from bayesanno.inference.fit import fit
from bayesanno.modeling.base import AnnotationModel
from bayesanno.simulation.quantities import says_labels


def try_fit(arguments: Mapping[str, Any], data: AnnotationData, seed: int) -> tuple[xr.DataTree | None, str]:
    """Return a fit, or None, and its warnings or the reason why it failed.

    Problems of the design are not repeated for every row.
    """
    try:
        with collect_warnings() as collected:
            found = fit(data=data, **{"random_seed": seed, "progressbar": False, "check": False, **arguments})
    except BayesannoError as error:
        return None, str(error)
    return found, "; ".join(collected)


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Yield a list that, at the end, has the warnings of unreliable fits inside the context.

    Problems of the design are left out; all other warnings are raised when the fits are complete.
    """
    collected: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield collected
    for one in caught:
        if issubclass(one.category, ConvergenceWarning):
            collected.append(str(one.message))
        elif not issubclass(one.category, IdentifiabilityWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def gives_labels(model: AnnotationModel, data: Any) -> bool:
    """Return whether a model takes annotations and gives each item one of their labels."""
    return model.data_class is AnnotationData and says_labels(model, data)


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
