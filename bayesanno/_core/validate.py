"""Checks of values for several subpackages: each raises a BayesannoError that names the value."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from inspect import signature
from operator import index
from typing import Any

from bayesanno._core.messages import DataError, FitError, nearest, spell


def suggest_arguments[**P, R](meant: Mapping[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator: a TypeError about an unknown argument suggests one, also for names that others use."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            known = signature(function).parameters
            for name in kwargs:
                if name not in known:
                    hint = f"; did you mean {meant[name]!r}?" if name in meant else nearest(name, known)
                    raise TypeError(f"{function.__name__} has no argument {name!r}{hint}")
            return function(*args, **kwargs)

        return call

    return decorate


def check_seed(random_seed: int | None) -> None:
    """Raise a FitError if a seed is given that is not a whole number in the range of every sampler."""
    if random_seed is None:
        return
    try:
        seed = index(random_seed)
    except TypeError:
        what = repr(random_seed) if isinstance(random_seed, str | float) else f"of type {type(random_seed).__name__}"
        raise FitError(f"{spell('random_seed', '--seed')} is {what}: it must be a whole number or None") from None
    if not 0 <= seed < 2**63:
        raise FitError(f"{spell('random_seed', '--seed')} is {random_seed}: it must be at least 0 and below 2**63")


def known_seed(random_seed: int | None) -> int:
    """Return the seed, or draw one, so that results can be reproduced."""
    if random_seed is not None:
        return int(random_seed)
    import numpy as np

    return int(np.random.SeedSequence().generate_state(1)[0])


def check_share(what: str, value: float) -> None:
    """Raise a DataError if a value is not strictly between 0 and 1."""
    if not 0 < value < 1:  # nan is refused too
        meant = f"; {value:g}% is {value / 100:g}" if 1 < value < 100 else ""
        raise DataError(f"{what} is {value}: it must be above 0 and below 1{meant}")


def check_at_least(what: str, value: float, least: int, error: type[Exception] = FitError) -> None:
    """Raise an error if a value is below `least`."""
    if not value >= least:
        raise error(f"{what} is {value}: it must be at least {least}")


def check_choice(what: str, value: Any, among: Iterable[str], error: type[Exception] = FitError) -> None:
    """Raise an error unless a value is one of some; `what` says which it is."""
    if value not in among:
        raise error(f"{what}: choose one of {', '.join(among)}")


def check_count(what: str, value: Any) -> None:
    """Raise a DataError if a value is not a whole number, 1 or more."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
        raise DataError(f"{what} is {value!r}: it must be a number, 1 or more")


def check_memory(shape: tuple[int, ...], what: str, less: str) -> None:
    """Raise a FitError if there is no memory for an array of that shape; the memory is reserved but not used.

    Examples
    --------
    >>> from bayesanno._core.validate import check_memory
    >>> check_memory((10**6, 10**12), "the draws", "take fewer draws")
    Traceback (most recent call last):
    bayesanno._core.messages.FitError: the draws take 7,450,580,597 GiB, more than the memory of this machine: join ...
    """
    import numpy as np

    try:
        np.empty(shape)
    except (MemoryError, ValueError):  # the latter for more than the address space
        raise FitError(
            f"{what} take {8 * math.prod(shape) / 2**30:,.0f} GiB, more than the memory of this machine: join rare "
            f"labels, leave out annotators of few annotations, or {less}"
        ) from None


def check_made(given: Any, kind: str, maker: str, has: Collection[str] = ()) -> None:
    """Raise a FitError if a value is not the result of `maker`: of the class `kind`, with columns or attrs `has`.

    Examples
    --------
    >>> from bayesanno._core.validate import check_made
    >>> check_made(None, "Study", "sensitivity")
    Traceback (most recent call last):
    bayesanno._core.messages.FitError: what bayesanno.sensitivity returned is needed, not NoneType
    """
    is_one = any(base.__name__ == kind for base in type(given).__mro__)
    names = getattr(given, "columns" if kind == "DataFrame" else "attrs", ())
    lacking = [name for name in has if name not in names]
    if not is_one or lacking:
        without = f" without {lacking[0]!r}" if is_one else ""
        raise FitError(f"what bayesanno.{maker} returned is needed, not {type(given).__name__}{without}")


def is_remote(data: Any) -> bool:
    """Whether data are a folder, a file or a Dask DataFrame rather than annotations in memory or on workers."""
    return isinstance(data, str | os.PathLike) or type(data).__module__.partition(".")[0] in ("dask", "dask_expr")
