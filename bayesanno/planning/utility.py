"""What knowledge of an item's label is worth, as a function U of the probabilities p of its classes.

    information   U(p) = sum_k p_k log p_k               minus the entropy, in nats
    accuracy      U(p) = max_k p_k                       the probability that the label is right
    costs         U(p) = - min_d sum_k p_k cost(k, d)    minus the expected cost of the cheapest decision

The invariant: each is written for a measure m of any total, as (sum m) U(m / sum m), so that a sum over answers not yet
known needs no division.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bayesanno.analysis.decisions import read_costs
from bayesanno.ground.errors import DataError
from bayesanno.ground.lazy import pd

Utility = Callable[[np.ndarray], np.ndarray]  # measures (..., class) -> (...)


def choose_utility(utility: str | pd.DataFrame | Mapping[str, Mapping[str, float]], classes: Sequence[str]) -> Utility:
    """Return the utility that a user names, or that of a cost matrix.

    Raises
    ------
    DataError
        If there is none of that name; or as from `decide_labels`.
    """
    if not isinstance(utility, str):
        costs = read_costs(utility, classes).to_numpy()
        return lambda measure: -(measure @ costs).min(axis=-1)
    if utility not in UTILITIES:
        raise DataError(
            f"utility is {utility!r}: it must be one of {', '.join(map(repr, UTILITIES))}, or a matrix of costs"
        )
    return UTILITIES[utility]


def information(measure: np.ndarray) -> np.ndarray:
    """Return the negative entropy of measures (..., class), times their totals, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.planning.gains import information
    >>> float(information(np.array([0.5, 0.5]))).__round__(4)
    -0.6931
    """
    from scipy.special import xlogy

    total = measure.sum(axis=-1)
    return xlogy(measure, measure).sum(axis=-1) - xlogy(total, total)


UTILITIES: dict[str, Utility] = {"information": information, "accuracy": lambda measure: measure.max(axis=-1)}
