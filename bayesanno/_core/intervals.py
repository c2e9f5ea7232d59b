"""Intervals: their probability, their kind, and the names of their columns.

The invariant: a probability or kind that is not given is ArviZ's at the time of the call, `rcParams["stats.ci_prob"]`
and `rcParams["stats.ci_kind"]` of `arviz`, so that the tables here and `arviz.summary` agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import numpy as np

from bayesanno._core.messages import DataError
from bayesanno._core.validate import check_choice, check_share

CiKind = Literal["hdi", "eti"] | None  # of the highest density, with equal tails, or ArviZ's


def choose_prob(ci_prob: float | None) -> float:
    """Return the probability of intervals, by default ArviZ's.

    Raises
    ------
    DataError
        If it is not between 0 and 1.

    Examples
    --------
    >>> from bayesanno._core.intervals import choose_prob
    >>> choose_prob(None), choose_prob(0.5)
    (0.89, 0.5)
    """
    if ci_prob is None:
        from arviz_base import rcParams

        return float(rcParams["stats.ci_prob"])
    check_share("ci_prob", ci_prob)
    return ci_prob


def choose_interval(ci_prob: float | None, ci_kind: CiKind) -> tuple[float, str]:
    """Return the probability and the kind of intervals, by default ArviZ's.

    Raises
    ------
    DataError
        If the probability is not between 0 and 1, or there is no such kind.
    """
    from arviz_base import rcParams

    kind = rcParams["stats.ci_kind"] if ci_kind is None else ci_kind
    check_choice(f"ci_kind is {kind!r}", kind, ("hdi", "eti"), DataError)
    return choose_prob(ci_prob), kind


def name_bounds(kind: str, ci_prob: float, of: str = "") -> tuple[str, str]:
    """Return the names of the columns of an interval, as ArviZ has them, after the name of a quantity.

    Examples
    --------
    >>> from bayesanno._core.intervals import name_bounds
    >>> name_bounds("ci", 0.95, "worth")
    ('worth_ci95_lb', 'worth_ci95_ub')
    """
    name = f"{of}_{kind}{100 * ci_prob:.6g}" if of else f"{kind}{100 * ci_prob:.6g}"
    return f"{name}_lb", f"{name}_ub"


def find_bounds(columns: Iterable[object], of: str = "") -> tuple[str, str, str]:
    """Return the names of the columns of the first interval of a quantity, and what the interval is called.

    Without such columns, the names are those that they would have.

    Examples
    --------
    >>> from bayesanno._core.intervals import find_bounds
    >>> find_bounds(["mean", "rank_eti89_lb", "rank_eti89_ub"], "rank")
    ('rank_eti89_lb', 'rank_eti89_ub', '89% interval')
    """
    before = f"{of}_" if of else ""
    found = next(
        (one for name in columns if (one := re.fullmatch(rf"{before}(hdi|eti|ci)([\d.]+)_lb", str(name)))), None
    )
    kind, prob = (found[1], float(found[2]) / 100) if found else ("eti", choose_prob(None))
    return *name_bounds(kind, prob, of), name_interval(prob, kind)


def name_interval(ci_prob: float, ci_kind: str) -> str:
    """Return a name such as "89% interval"; of the highest density, it says so."""
    return f"{100 * ci_prob:.4g}% interval{' of highest density' if ci_kind == 'hdi' else ''}"


def bound_proportion(successes: np.ndarray, trials: np.ndarray, ci_prob: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of Wilson's interval of each proportion (doi:10.1080/01621459.1927.10502953); nan of no trial.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import binomtest
    >>> from bayesanno._core.intervals import bound_proportion
    >>> low, high = bound_proportion(np.array([0, 7, 0]), np.array([9, 9, 0]), 0.89)
    >>> np.allclose([low[1], high[1]], binomtest(7, 9).proportion_ci(0.89, "wilson"))
    True
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.511, nan], [0.221, 0.921, nan])
    """
    from scipy.special import ndtri  # scipy.stats takes long to be imported

    z = ndtri(0.5 + ci_prob / 2)
    with np.errstate(invalid="ignore"):
        share = np.divide(successes, trials)
    middle = (2 * successes + z**2) / (2 * (trials + z**2))
    half = z / (2 * (trials + z**2)) * np.sqrt(4 * trials * share * (1 - share) + z**2)
    return np.where(share == 0, 0.0, middle - half), np.where(share == 1, 1.0, middle + half)
