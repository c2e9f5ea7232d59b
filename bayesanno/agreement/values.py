"""Agreement of ratings on a scale, without a model: Krippendorff's interval alpha and intraclass correlation.

    alpha      1 - (n - 1) sum_i (n_i Q_i - S_i^2) / (n_i - 1) / (n Q - S^2)
    ICC(1,1)   (MSB - MSW) / (MSB + (k - 1) MSW)          of one rating
    ICC(1,k)   (MSB - MSW) / MSB                          of the mean of k ratings

n_i, S_i and Q_i are the number, the sum and the sum of squares of an item's ratings; without an index they are those of
all. MSB and MSW are the mean squares between and within items, and k is (n - sum_i n_i^2 / n) / (items - 1), the number
of ratings of an item where all have as many. Items with one rating are ignored. Biases of annotators count as
disagreement; `reliability_table` has coefficients of a fit, which tell them apart.

References
----------
K. Krippendorff (2019), Content analysis, fourth edition, chapter 12.
P. E. Shrout and J. L. Fleiss (1979), Psychological Bulletin 86:420-428, doi:10.1037/0033-2909.86.2.420.
"""

from __future__ import annotations

import numpy as np

from bayesanno._core.intervals import name_bounds
from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError
from bayesanno.agreement.resampling import check_resampling, resample_items, with_bounds
from bayesanno.data.described import require_kind
from bayesanno.data.labelled import divide
from bayesanno.data.ratings import RatingData


def rating_agreement(
    data: RatingData, *, ci_prob: float | None = None, resamples: int = 1_000, random_seed: int | None = None
) -> pd.DataFrame:
    """Return how far ratings of the same item agree, with bootstrap intervals over items.

    Parameters
    ----------
    data : RatingData
    ci_prob : float, optional
        The probability of the intervals; by default ArviZ's `stats.ci_prob`.
    resamples : int, default 1000
        The number of resamples of items; 0 for no intervals.
    random_seed : int, optional

    Returns
    -------
    pandas.DataFrame
        A row for each of `coefficient` "alpha", "ICC(1,1)" and "ICC(1,k)": `value`, the interval, and `n_items` and
        `n_ratings` that are compared.

    Raises
    ------
    DataError
        If no item has two ratings, or a setting is invalid.

    Examples
    --------
    >>> import bayesanno as ba
    >>> rated = [("s1", "ada", 70), ("s1", "bo", 60), ("s2", "ada", 20), ("s2", "bo", 25), ("s3", "ada", 90)]
    >>> table = ba.rating_agreement(ba.RatingData.from_records(rated, scale=(0, 100)), random_seed=1)
    >>> table.set_index("coefficient")["value"].round(2).to_dict()
    {'alpha': 0.95, 'ICC(1,1)': 0.97, 'ICC(1,k)': 0.98}
    """
    require_kind(data, RatingData, "rating_agreement")
    prob = check_resampling(ci_prob, resamples, random_seed)
    several = data.by_item > 1
    if not several.any():
        raise DataError("no item has two ratings: agreement is between at least two")
    n = data.by_item[several].astype(float)
    x = data.value - data.value.mean()  # so that no digits are lost
    s, q = (np.bincount(data.item, of, minlength=data.n_items)[several] for of in (x, x**2))

    def measure(weight: np.ndarray) -> dict[str, np.ndarray]:
        total, n_items = n @ weight, weight.sum(axis=0)
        whole = total * (q @ weight) - (s @ weight) ** 2
        alpha = 1 - divide((total - 1) * (((n * q - s**2) / (n - 1)) @ weight), whole)
        within = divide((q - s**2 / n) @ weight, total - n_items)
        between = divide((s**2 / n) @ weight - (s @ weight) ** 2 / total, n_items - 1)
        k = divide(total - (n**2 @ weight) / total, n_items - 1)
        return {
            "alpha": alpha,
            "ICC(1,1)": divide(between - within, between + (k - 1) * within),
            "ICC(1,k)": divide(between - within, between),
        }

    parts = resample_items(n.size, resamples, random_seed)
    found = with_bounds(measure, n.size, parts, prob, compared=n.size)
    names = ("value", *name_bounds("ci", prob))
    rows = [
        {"coefficient": name} | dict(zip(names, map(float, values), strict=False)) for name, values in found.items()
    ]
    return pd.DataFrame(rows).assign(n_items=n.size, n_ratings=int(n.sum()))
