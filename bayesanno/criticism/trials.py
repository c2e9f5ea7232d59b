"""Methods tried on the same data: one row per data set and method, including the majority vote; calls in parallel.

The invariant: the seeds of a setting's data and fits depend only on that setting and the study's seed. So a study with
more settings, runs or methods has the same rows, and more. A failed fit is a row with the reason.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import product
from multiprocessing import get_context
from typing import Any

import numpy as np

from bayesanno._core.errors import BayesannoError, ConvergenceWarning, FitError, IdentifiabilityWarning
from bayesanno._core.lazy import pd, xr
from bayesanno._core.running import track
from bayesanno._core.validate import check_at_least, known_seed
from bayesanno.agreement.vote import vote_right
from bayesanno.data.annotations import AnnotationData
from bayesanno.fits.parts import part_of
from bayesanno.fits.view import view_of
from bayesanno.inference.fit import fit
from bayesanno.inference.methods import choose_method
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.registry import get_model
from bayesanno.simulation.quantities import says_labels

Fits = Mapping[str, Mapping[str, Any]]  # name -> the arguments of `fit`, without the data
Setting = tuple[tuple[int, ...], dict[str, Any]]  # the numbers that determine its seeds, its columns in the table

VOTE = "vote"


def try_all(
    fits: Fits,
    settings: Sequence[Setting],
    make_data: Callable[[dict[str, Any], int], AnnotationData],
    *,
    runs: int,
    random_seed: int | None,
    progressbar: bool,
) -> pd.DataFrame:
    """Return one row for the vote and for each fit, for each data set.

    Parameters
    ----------
    fits : mapping of name to mapping
    settings : sequence of tuple
    make_data : function
        Makes data from the columns of a setting and a seed.
    runs : int
        Data sets per setting.
    random_seed : int or None
    progressbar : bool

    Returns
    -------
    pandas.DataFrame
        The columns of the setting, `run`, `method`, `accuracy`, `accuracy_of_others` (those without a known label)
        and `problem`.
    """
    check_at_least("runs", runs, 1)
    seed, trials = known_seed(random_seed), []
    for (numbers, setting), run in product(settings, range(runs)):
        of_data, of_fit = np.random.SeedSequence([seed, *map(int, numbers), run]).generate_state(2)
        trials.append((setting | {"run": run}, make_data(setting, int(of_data)), int(of_fit)))
    for _, data, _ in trials[:1]:
        check_fits(fits, data)
    rows: list[dict[str, Any]] = []
    for setting, data, of_fit in track(trials, "fitting", show=progressbar):
        rows.append({**setting, "method": VOTE, **_score(vote_right(data), data), "problem": ""})
        for name, arguments in fits.items():
            found, problem = try_fit(arguments, data, of_fit)
            right = np.full(data.n_items, np.nan) if found is None else part_of(view_of(found), None).right
            rows.append({**setting, "method": name, **_score(right, data), "problem": problem})
    return pd.DataFrame(rows)


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


def check_fits(fits: Fits, data: AnnotationData) -> None:
    """Raise an error if a model cannot be fitted to any of the data, since every row would have it."""
    if not isinstance(fits, Mapping):
        raise FitError(
            f"fits is of type {type(fits).__name__}: give mappings by name, as in {{'em': {{'model': 'mace'}}}}"
        )
    if not fits or VOTE in fits:
        raise FitError(f"fits has {', '.join(fits) or 'nothing'}: give at least one, under a name other than {VOTE!r}")
    for name, arguments in fits.items():
        if "model" not in arguments or "data" in arguments:
            raise FitError(f"fits: {name!r} must hold the arguments of fit: its model, and not the data")
        model = get_model(arguments["model"])
        if not gives_labels(model, data):
            raise FitError(f"fits: {name!r} uses {model.name}, which gives no labels")
        choose_method(arguments.get("method", "nuts"), arguments.get("method_options"))


def gives_labels(model: AnnotationModel, data: Any) -> bool:
    """Return whether a model takes annotations and gives each item one of their labels."""
    return model.data_class is AnnotationData and says_labels(model, data)


def _score(right: np.ndarray, data: AnnotationData) -> dict[str, float]:
    """Return the accuracy over all items with gold, and over those that are not controls."""
    known = data.gold_codes >= 0
    others = known & (data.control_codes < 0)
    return {
        "accuracy": float(right[known].mean()),
        "accuracy_of_others": float(right[others].mean()) if others.any() else np.nan,
    }


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
