"""Methods tried on the same data: one row per data set and method, the majority vote among them.

The invariant: the seeds of a setting's data and fits follow from that setting and the study's seed alone, so that a
study with more settings, runs or methods has the same rows, and more. A fit that fails is a row with its reason.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesanno.agreement.vote import vote_right
from bayesanno.analysis.parts import part_of
from bayesanno.data.annotations import AnnotationData
from bayesanno.fits.view import view_of
from bayesanno.ground.errors import BayesannoError, ConvergenceWarning, FitError, IdentifiabilityWarning
from bayesanno.ground.lazy import pd, xr
from bayesanno.ground.running import track
from bayesanno.inference.fit import fit
from bayesanno.inference.methods import choose_method
from bayesanno.modeling.capabilities import ITEM_TYPE, latents
from bayesanno.modeling.registry import get_model

Fits = Mapping[str, Mapping[str, Any]]  # what to call it -> the arguments of `fit`, without the data
Score = Callable[[np.ndarray, AnnotationData], dict[str, float]]  # of how probably each item is right, (item,)

VOTE = "vote"


@dataclass(frozen=True)
class Trial:
    """Data on which all methods are tried, the setting that they are of, and the seed of the fits."""

    setting: Mapping[str, Any]
    data: AnnotationData
    seed: int


def try_all(fits: Fits, trials: Sequence[Trial], score: Score, *, progressbar: bool) -> pd.DataFrame:
    """Return one row for the vote and for each fit, of each data set: setting, `method`, scores and `problem`."""
    for trial in trials[:1]:
        check_fits(fits, trial.data)
    rows: list[dict[str, Any]] = []
    for trial in track(trials, "fitting", show=progressbar):
        scored = score(vote_right(trial.data), trial.data)
        rows.append({**trial.setting, "method": VOTE, **scored, "problem": ""})
        for name, arguments in fits.items():
            found, problem = try_fit(arguments, trial.data, trial.seed)
            of_fit = dict.fromkeys(scored, np.nan) if found is None else score(_right(found, trial.data), trial.data)
            rows.append({**trial.setting, "method": name, **of_fit, "problem": problem})
    return pd.DataFrame(rows)


def try_fit(arguments: Mapping[str, Any], data: AnnotationData, seed: int) -> tuple[xr.DataTree | None, str]:
    """Return a fit, or None, and what is wrong with it, or kept it from being made.

    Problems of its design are not repeated for every row.
    """
    try:
        with hear_doubts() as doubts:
            found = fit(data=data, **{"random_seed": seed, "progressbar": False, "check": False, **arguments})
    except BayesannoError as error:
        return None, str(error)
    return found, "; ".join(doubts)


@contextmanager
def hear_doubts() -> Iterator[list[str]]:
    """Give a list that has, at the end, the warnings of unreliable fits within.

    Problems of a design are left out; all other warnings are given once the fits are complete.
    """
    doubts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield doubts
    for one in caught:
        if issubclass(one.category, ConvergenceWarning):
            doubts.append(str(one.message))
        elif not issubclass(one.category, IdentifiabilityWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def check_fits(fits: Fits, data: AnnotationData) -> None:
    """Raise an error of ours if a model cannot be fitted to any data: every row would have it."""
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
        if model.data_class is not AnnotationData or any(one.dim == ITEM_TYPE for one in latents(model, data)):
            raise FitError(f"fits: {name!r} is of {model.name}, which has no labels of items")
        choose_method(arguments.get("method", "nuts"), arguments.get("method_options"))


def _right(found: xr.DataTree, data: AnnotationData) -> np.ndarray:
    part = part_of(view_of(found), None)
    best = np.array(part.states, dtype=object)[part.posterior.values.argmax(axis=1)]
    return np.array([part.gold.get(item) == label for item, label in zip(data.items, best, strict=True)], dtype=float)


def number_runs(runs: int) -> range:
    """Return the numbers of the runs of a setting; raise a FitError if there is none."""
    if runs < 1:
        raise FitError(f"runs is {runs}: it must be at least 1")
    return range(runs)


def make_seeds(seed: int, *setting: int) -> tuple[int, int]:
    """Return seeds for the data and for the fits of a setting, independent of other settings."""
    of_data, of_fit = np.random.SeedSequence([seed, *map(int, setting)]).generate_state(2)
    return int(of_data), int(of_fit)
