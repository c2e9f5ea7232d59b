"""How annotators use the labels: Anveshan's statistics, from data alone (Bhardwaj et al. 2010).

    P_a(s)       the share of label s among the answers of annotator a
    Lev(P, Q)    = sum_s |P(s) - Q(s)|                      leverage; of an annotator, from the mean of all: in [0, 2]
    KLD(P, Q)    = sum_s P(s) log P(s) / Q(s)               of an annotator, from the mean of the others: D_a
    JSD(P, Q)    = KLD(P, M) / 2 + KLD(Q, M) / 2            with M = (P + Q) / 2; of two annotators: in [0, log 2]

Whether chance explains such a difference is asked by the generalised Cochran-Mantel-Haenszel test: given the answers to
an item, all its annotators are equally likely to have given each of them. With n_i answers to item i, m_i of them by
the annotator, and the share p_i of each label,

    d = sum_i (counts of the annotator's labels of i) - m_i p_i        V = sum_i f_i (diag(p_i) - p_i p_i')
    f_i = m_i (n_i - m_i) / (n_i - 1)                                  d' V^- d  ~  chi-square(rank of V)

Items with one answer are one stratum together. The 19 most frequent labels are compared, and all others as one.

"Unsure" counts as a label here.

References
----------
J. R. Landis, E. R. Heyman and G. G. Koch (1978), Average partial association in three-way contingency tables,
International Statistical Review 46(3), 237-254, doi:10.2307/1402373.
V. Bhardwaj et al. (2010), Anveshan, Linguistic Annotation Workshop, 47-55, https://aclanthology.org/W10-1806.
"""

from __future__ import annotations

import math

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError
from bayesanno.agreement.resampling import split_rows
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.described import require_kind
from bayesanno.data.labelled import count_cells, divide

BY_CHANCE = 0.05  # of tables of annotators who use labels alike may have an outlier
MOST_COMPARED = 20  # labels in a test
OUTLIER_SCORE = 3.5  # modified z-score recommended by Iglewicz and Hoaglin (1993)


def usage_shares(data: AnnotationData, smoothing: float = 0.0) -> np.ndarray:
    """Return the share of each label among each annotator's answers, (annotator, label); nan without counts.

    `smoothing` is added to every count.
    """
    if not (smoothing >= 0 and math.isfinite(smoothing)):
        raise DataError(f"smoothing is {smoothing}: it must be 0 or more")
    counts = data.usage + smoothing
    return divide(counts, counts.sum(axis=1, keepdims=True))


def find_leverage(shares: np.ndarray) -> np.ndarray:
    """Return the leverage of each annotator over the mean of all, from shares (..., annotator, label)."""
    return np.abs(shares - np.nanmean(shares, axis=-2, keepdims=True)).sum(axis=-1)


def find_divergence(shares: np.ndarray, base: float = math.e) -> np.ndarray:
    """Return the Kullback-Leibler divergence of each annotator from the mean of the others, (..., annotator).

    It is infinite if nobody else gave a label, and nan for a single annotator.
    """
    from scipy.special import rel_entr

    n = np.isfinite(shares[..., :1]).sum(axis=-2, keepdims=True)
    others = divide(np.nansum(shares, axis=-2, keepdims=True) - shares, n - 1)  # (..., annotator, label)
    others = np.where(others < 1e-12, 0, others)  # rounding errors, of a label that nobody else gave
    return rel_entr(shares, others).sum(axis=-1) / math.log(base)


def find_distances(shares: np.ndarray, base: float = math.e) -> np.ndarray:
    """Return the Jensen-Shannon divergence of every two annotators, (..., annotator, annotator)."""
    others = range(shares.shape[-2])  # one at a time: no array has more than annotator x label cells
    return np.stack([find_distance(shares[..., [other], :], shares, base) for other in others], axis=-2)


def distances_by_chance(data: AnnotationData, base: float = math.e) -> np.ndarray:
    """Return below what the distances of 19 in 20 pairs who use labels alike are, (annotator, annotator).

    n answers each of one distribution of K labels have a divergence of about chi-square(K - 1) / (4 n). On the same
    items it is smaller.
    """
    from scipy.stats import chi2

    each = divide(np.ones(data.n_annotators), data.by_annotator)
    used = max(2, int((data.usage.sum(axis=0) > 0).sum()))
    return np.add.outer(each, each) / 8 * chi2.isf(BY_CHANCE, used - 1) / math.log(base)


def find_distance(one: np.ndarray, other: np.ndarray, base: float = math.e) -> np.ndarray:
    """Return the Jensen-Shannon divergence, (...), between annotators' shares (..., label)."""
    from scipy.special import entr

    of_middle, of_one, of_other = (entr(shares).sum(axis=-1) for shares in ((one + other) / 2, one, other))
    return np.clip(of_middle - (of_one + of_other) / 2, 0, math.log(2)) / math.log(base)


def pair_distances(shares: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the Jensen-Shannon divergence of each pair (pair,) of annotators, from shares (annotator, label)."""
    found = np.empty(first.size)
    for part in split_rows(first.size, shares.shape[1]):
        found[part] = find_distance(shares[first[part]], shares[second[part]])
    return found


def mean_distances(shares: np.ndarray, base: float = math.e) -> np.ndarray:
    """Return the mean Jensen-Shannon divergence of each annotator from the others, from shares (annotator, label).

    Equal distributions are compared only once. The mean is nan for a single annotator.
    """
    known = np.isfinite(shares).all(axis=1)
    different, which, times = np.unique(shares[known], axis=0, return_inverse=True, return_counts=True)
    mean = np.full(len(shares), np.nan)
    if known.sum() > 1:
        parts = split_rows(len(different), different.size)
        total = np.concatenate([find_distance(different[part, None], different, base) @ times for part in parts])
        mean[known] = total[which.ravel()] / (known.sum() - 1)
    return mean


def measure_usage(shares: np.ndarray, base: float = math.e) -> dict[str, np.ndarray]:
    """Return the distance of each annotator's use of labels from the others', by statistic; (..., annotator)."""
    draws = shares.reshape(-1, *shares.shape[-2:])
    return {
        "leverage": find_leverage(shares),
        "kld": find_divergence(shares, base),
        "jsd_mean": np.stack([mean_distances(draw, base) for draw in draws]).reshape(shares.shape[:-1]),
    }


def find_outliers(values: np.ndarray) -> np.ndarray:
    """Return which values are far above the rest, by their distance from the median in median absolute deviations.

    Infinite values are always outliers. The threshold is that of B. Iglewicz and D. C. Hoaglin (1993), How to detect
    and handle outliers.
    """
    from scipy.stats import median_abs_deviation

    known = values[np.isfinite(values)]
    if not known.size:
        return np.isposinf(values)
    return values - np.median(known) > OUTLIER_SCORE * median_abs_deviation(known, scale="normal")


def compare_usage(data: AnnotationData) -> np.ndarray:
    """Return the p-value of each annotator's use of labels (annotator,); nan without answers, 1 without comparison."""
    from scipy.stats import chi2

    place = np.argsort(np.argsort(-data.usage.sum(axis=0), kind="stable")).clip(max=MOST_COMPARED - 1)
    label, stratum = place[data.shown_label], data.item * 2 + (data.swapped if data.has_both_orders else 0)
    _, stratum, n = np.unique(stratum, return_inverse=True, return_counts=True)
    stratum = np.where(n[stratum] > 1, stratum + 1, 0)  # (annotation,)
    votes = count_cells(stratum, label, (stratum.max() + 1, label.max() + 1))
    n, shares = votes.sum(axis=1), divide(votes, votes.sum(axis=1, keepdims=True))
    rows, found = np.argsort(data.annotator, kind="stable"), np.full(data.n_annotators, np.nan)
    for who, own in enumerate(np.split(rows, data.by_annotator.cumsum()[:-1])):
        strata, m = np.unique(stratum[own], return_counts=True)
        p, f = shares[strata], m * (n[strata] - m) / np.maximum(n[strata] - 1, 1)
        away = np.bincount(label[own], minlength=p.shape[1]) - m @ p
        spread = np.diag(f @ p) - (p.T * f) @ p  # (label, label)
        rank = np.linalg.matrix_rank(spread, tol=1e-9, hermitian=True)
        statistic = away @ np.linalg.pinv(spread, rcond=1e-9, hermitian=True) @ away
        found[who] = np.nan if not own.size else chi2.sf(statistic, rank) if rank else 1.0
    return found


def usage_table(data: AnnotationData, *, base: float = math.e, smoothing: float = 0.0) -> pd.DataFrame:
    """Return how each annotator uses the labels, and how much this differs from the others.

    Parameters
    ----------
    data : AnnotationData
    base : float
        The base of the logarithm: e for nats, 2 for bits.
    smoothing : float
        Added to every count, so that no divergence is infinite.

    Returns
    -------
    pandas.DataFrame
        One row per annotator: `annotator`; `n` (annotations); `leverage` over the mean of all; `kld`, the divergence
        from the mean of the others; `jsd_mean`, the mean Jensen-Shannon divergence from the other annotators;
        `p_value`, of the hypothesis that the annotator uses labels as the others do on the same items; `outlier`,
        whether one of the three distances is far above the rest and chance does not explain it (p below 0.05 over the
        number of annotators, so that one in twenty tables names somebody by chance); and `usage[<label>]`, the share of
        each label. Values are nan for an annotator without annotations.

    Raises
    ------
    DataError
        If the base is not above 1, or the smoothing negative.

    Examples
    --------
    >>> import bayesanno as ba
    >>> table = ba.usage_table(ba.read_annotations("@crowd"))
    >>> table.loc[table["outlier"], "annotator"].tolist()
    ['viktor', 'wanda', 'xavier']
    """
    require_kind(data, AnnotationData, "usage_table")
    check_base(base)
    shares = usage_shares(data, smoothing)
    table, measures = pd.DataFrame({"annotator": list(data.annotators)}, dtype="str"), measure_usage(shares, base)
    p_value = compare_usage(data)
    outlier = np.any([find_outliers(values) for values in measures.values()], axis=0)
    outlier &= p_value < BY_CHANCE / max(np.isfinite(p_value).sum(), 1)
    each = pd.DataFrame(shares, columns=[f"usage[{label}]" for label in data.labels])
    return table.assign(n=data.by_annotator, **measures, p_value=p_value, outlier=outlier).join(each)


def check_base(base: float) -> None:
    """Raise a DataError if no logarithm has this base."""
    if not base > 1 or not math.isfinite(base):
        raise DataError(f"base is {base}: it must be above 1, such as e for nats or 2 for bits")
