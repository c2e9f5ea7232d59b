"""Shares in clustered data: the answers of one simulation, or to one item, are not independent.

References
----------
E. L. Korn and B. I. Graubard (1998), Confidence intervals for proportions with small expected number of positive counts
estimated from survey data, Survey Methodology 24(2), 193-201: exact intervals with an effective number.
"""

from __future__ import annotations

import numpy as np


def bound_share(counts: np.ndarray, totals: np.ndarray, confidence: float) -> tuple[float, float]:
    """Return the ends of an interval for a share in clustered data (Korn and Graubard 1998).

    Parameters
    ----------
    counts, totals : arrays (cluster,)
        The number of successes and of units in each cluster. Clusters are independent.
    confidence : float

    Returns
    -------
    low, high : float
        The Clopper-Pearson interval with the effective number of units: the number of independent units that would vary
        as much as the clusters do, at most the actual number. If all units are successes, or none, each cluster counts
        as one unit.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.criticism.clusters import bound_share
    >>> alike = bound_share(np.array([0, 10] * 50), np.full(100, 10), 0.95)  # in a cluster all are, or none is
    >>> [round(end, 2) for end in alike]
    [0.4, 0.6]
    """
    from scipy.stats import beta

    there = totals > 0
    counts, totals = counts[there], totals[there]
    n_clusters, n, share = totals.size, totals.sum(), counts.sum() / totals.sum()
    effective = float(n_clusters)
    if 0 < share < 1 and n_clusters > 1:
        variance = ((counts - share * totals) ** 2).sum() * n_clusters / (n_clusters - 1) / n**2
        effective = min(n, share * (1 - share) / variance) if variance else n
    counted, tail = share * effective, (1 - confidence) / 2
    low = beta.ppf(tail, counted, effective - counted + 1) if share else 0.0
    high = beta.ppf(1 - tail, counted + 1, effective - counted) if share < 1 else 1.0
    return float(low), float(high)
