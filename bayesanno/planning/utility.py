"""The utility of knowledge about an item's label, as a function U of its class probabilities p.

    information   U(p) = sum_k p_k log p_k               minus the entropy, in nats
    accuracy      U(p) = max_k p_k                       the probability that the label is right
    costs         U(p) = - min_d sum_k p_k cost(k, d)    minus the expected cost of the cheapest decision

The invariant: each is written for an unnormalised measure m, as (sum m) U(m / sum m), so that sums over future answers
need no division.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bayesanno.analysis.decisions import read_costs
from bayesanno.ground.errors import DataError
from bayesanno.ground.lazy import pd

Utility = Callable[[np.ndarray], np.ndarray]  # measures (..., class) -> (...)


def choose_utility(utility: str | pd.DataFrame | Mapping[str, Mapping[str, float]], classes: Sequence[str]) -> Utility:
    """Return a utility by name, or that of a cost matrix.

    Raises
    ------
    DataError
        If the name is unknown, or the cost matrix is invalid, as for `decide_labels`.
    """
    if not isinstance(utility, str):
        costs = read_costs(utility, classes).to_numpy()
        return lambda measure: -(measure @ costs).min(axis=-1)
    if utility not in UTILITIES:
        raise DataError(
            f"utility is {utility!r}: it must be one of {', '.join(map(repr, UTILITIES))}, or a cost matrix"
        )
    return UTILITIES[utility]


def information(measure: np.ndarray) -> np.ndarray:
    """Return the negative entropy, in nats, of measures (..., class), times their totals.

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
