"""The annotators who can be asked, how often, and at what cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayesanno.fits.parts import find_positions
from bayesanno.ground.errors import DataError
from bayesanno.ground.validate import check_count


@dataclass(frozen=True, eq=False)
class Budget:
    """The largest number of answers of each annotator, and the cost of one answer: arrays of shape (annotator,)."""

    most: np.ndarray
    cost: np.ndarray


def make_budget(
    names: Sequence[str],
    annotators: Sequence[str] | None = None,
    per_annotator: int | Mapping[str, int] | None = None,
    costs: Mapping[str, float] | None = None,
) -> Budget:
    """Return the budgets of annotators by name; 0 for those who cannot be asked.

    Raises
    ------
    DataError
        If an annotator who can be asked has no number, or an invalid one.
    FitError
        If an annotator is not among the names.
    """
    who = list(names) if annotators is None else [str(name) for name in annotators]
    at = find_positions("annotator", who, names)
    most, cost = np.zeros(len(names)), np.ones(len(names))
    if per_annotator is None:
        most[at] = np.inf
    elif isinstance(per_annotator, Mapping):
        most[at] = _of_each("per_annotator", per_annotator, who, names, may_be_zero=True)
    else:
        check_count("per_annotator", per_annotator)
        most[at] = per_annotator
    if costs is not None:
        cost[at] = _of_each("costs", costs, who, names)
    return Budget(most, cost)


def _of_each(
    what: str, given: Mapping[str, float], who: Sequence[str], names: Sequence[str], *, may_be_zero: bool = False
) -> list[float]:
    find_positions("annotator", list(given), names)
    for name in who:
        if name not in given:
            raise DataError(
                f"{what} has no number for annotator {name!r}: give a number for everyone who can be asked, or name "
                "them with annotators=..."
            )
        value = given[name]
        is_number = isinstance(value, int | float | np.number) and np.isfinite(value)
        if not is_number or value < 0 or (value == 0 and not may_be_zero):
            least = "of 0 or more" if may_be_zero else "above 0"
            raise DataError(f"{what} of annotator {name!r} is {value!r}: it must be a number {least}")
    return [float(given[name]) for name in who]
