"""Bootstrap intervals for functions of sums over items, by resampling items with replacement.

References
----------
B. Efron and R. J. Tibshirani (1993), An introduction to the bootstrap, sections 10.2 and 14.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from bayesanno._core.intervals import choose_prob
from bayesanno._core.messages import DataError
from bayesanno._core.validate import check_seed
from bayesanno.data.labelled import divide

MAX_CELLS = 20_000_000  # array cells in memory at a time
MOST_BIAS = 1.0  # largest distance of the median of resamples from the value, in standard errors


def check_resampling(ci_prob: float | None, resamples: int, random_seed: int | None) -> float:
    """Return the probability of the intervals, by default ArviZ's, or raise an error if a setting is invalid."""
    check_seed(random_seed)
    if resamples < 0:
        raise DataError(f"resamples is {resamples}: it must be 0 or more")
    return choose_prob(ci_prob)


def resample_items(
    n_items: int, resamples: int, random_seed: int | None, cells: int | None = None
) -> Iterator[np.ndarray]:
    """Draw items with replacement; yield how often each was drawn, (item, resample), in chunks of resamples.

    `cells` is how many numbers a resample needs in memory, if more than one per item.
    """
    rng = np.random.default_rng(random_seed)
    for part in split_rows(resamples, max(n_items, cells or 0)):
        each = range(part.start, part.stop)
        drawn = [np.bincount(rng.integers(n_items, size=n_items), minlength=n_items) for _ in each]
        yield np.stack(drawn, axis=1).astype(float)


def split_rows(n: int, cells: int) -> Iterator[slice]:
    """Yield slices of n rows, with `cells` numbers each, that fit in memory at a time."""
    size = max(1, MAX_CELLS // cells)
    return (slice(begin, min(begin + size, n)) for begin in range(0, n, size))


def bound(value: np.ndarray, drawn: np.ndarray, ci_prob: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of intervals: percentiles of the resamples, corrected for bias.

    The value is (...), and drawn (..., resample); undefined resamples are left out. The ends are nan if the value or
    most resamples are undefined, or the resamples' median is more than a standard error away from the value.
    """
    from scipy.special import ndtr, ndtri

    value, n = np.asarray(value, dtype=float), np.isfinite(drawn).sum(axis=-1)
    ordered = np.sort(np.where(np.isfinite(drawn), drawn, np.nan), axis=-1)  # nan last
    below = (ordered < value[..., None]).sum(axis=-1) + (ordered == value[..., None]).sum(axis=-1) / 2
    away = ndtri(divide(below, n))  # standard errors
    good = np.isfinite(value) & (n >= drawn.shape[-1] / 2) & (np.abs(away) <= MOST_BIAS)
    ends = []
    for tail in ((1 - ci_prob) / 2, (1 + ci_prob) / 2):
        place = ndtr(2 * np.where(good, away, 0) + ndtri(tail)) * np.maximum(n - 1, 0)
        before = np.floor(place).astype(int)
        after = np.minimum(before + 1, np.maximum(n - 1, 0))
        low, high = (np.take_along_axis(ordered, at[..., None], axis=-1)[..., 0] for at in (before, after))
        ends.append(np.where(good, low + (place - before) * (high - low), np.nan))
    return ends[0], ends[1]


def with_bounds(
    measure: Callable[[np.ndarray], Mapping[str, np.ndarray]],
    n_items: int,
    parts: Iterable[np.ndarray],
    ci_prob: float,
    *,
    compared: Any,
) -> dict[str, tuple[np.ndarray, ...]]:
    """Return by name what is measured on the items, and the ends of its interval if there are resamples.

    `compared` is the number of items with answers to compare, for all values or for each. The ends are nan if there is
    one, since it is in all resamples.
    """
    drawn, found = [measure(weights) for weights in parts], {}
    for name, values in measure(np.ones((n_items, 1))).items():
        value = values[..., 0]
        ends = bound(value, np.concatenate([one[name] for one in drawn], axis=-1), ci_prob) if drawn else ()
        found[name] = (value, *(np.where(np.greater(compared, 1), end, np.nan) for end in ends))
    return found
