"""Groups of annotators with similar use of labels, and labels that are confused on the same items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError
from bayesanno.agreement.behaviour import find_distances, usage_shares
from bayesanno.agreement.pairs import match_labels
from bayesanno.agreement.vote import require_sure
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.described import require_kind
from bayesanno.data.labelled import ANYONE, divide

MOST_GROUPED = 3_000  # annotators: their tree takes half a minute, and the table of all pairs is in memory


def group_annotators(data: AnnotationData, *, groups: int | None = None, smoothing: float = 0.0) -> pd.DataFrame:
    """Group annotators with similar use of the labels, by average linkage.

    Distances are roots of Jensen-Shannon divergences (Endres and Schindelin 2003, doi:10.1109/TIT.2003.813506).

    Parameters
    ----------
    data : AnnotationData
    groups : int, optional
        The number of groups; by default that from 2 to 10 with the highest mean silhouette (Rousseeuw 1987,
        doi:10.1016/0377-0427(87)90125-7).
    smoothing : float
        Added to every count.

    Returns
    -------
    pandas.DataFrame
        One row per annotator with annotations, similar ones next to each other: `annotator`, `group` (from 1), and
        `silhouette`, from -1 to 1.

    Raises
    ------
    DataError
        If there are fewer than three annotators with annotations, too many, or fewer than `groups`.

    Examples
    --------
    >>> import bayesanno as ba
    >>> table = ba.agreement.group_annotators(ba.read_annotations("@crowd"), groups=2)
    >>> sorted(table["group"].unique().tolist())
    [1, 2]
    """
    from scipy.cluster.hierarchy import fcluster, leaves_list, linkage
    from scipy.spatial.distance import squareform

    require_kind(data, AnnotationData, "group_annotators")
    answered = np.flatnonzero(data.by_annotator)
    n = answered.size
    if n < 3:
        raise DataError(f"annotators with annotations: {n}; grouping needs three or more")
    if groups is not None and not 1 <= groups <= n:
        raise DataError(f"groups is {groups}: it must be 1 to {n}, as there are {n} annotators with annotations")
    if n > MOST_GROUPED:
        raise DataError(f"{n:,} annotators have annotations: groups are found among {MOST_GROUPED:,} at most")
    distance = np.sqrt(find_distances(usage_shares(data, smoothing)[answered]))
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform(distance, checks=False), method="average", optimal_ordering=True)
    tried = [groups] if groups else range(2, min(10, n - 1) + 1)
    cuts = [fcluster(tree, wanted, criterion="maxclust") for wanted in tried]
    silhouettes = [measure_silhouette(distance, cut) for cut in cuts]
    best = int(np.argmax([silhouette.mean() for silhouette in silhouettes]))
    order = leaves_list(tree)
    number = pd.factorize(cuts[best][order])[0] + 1
    table = pd.DataFrame({"annotator": np.array(data.annotators, dtype=object)[answered[order]]}, dtype="str")
    return table.assign(group=number, silhouette=silhouettes[best][order])


def measure_silhouette(distance: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return the silhouette of each member, from distances (member, member) and groups (member,)."""
    own = group[:, None] == np.unique(group)  # (member, group)
    if own.shape[1] == 1:
        return np.zeros(group.size)
    size, total = own.sum(axis=0), distance @ own  # (group,), (member, group)
    within = total[own] / np.maximum(size - 1, 1)[own.argmax(axis=1)]
    nearest = np.where(own, np.inf, total / size).min(axis=1)
    silhouette = np.nan_to_num(divide(nearest - within, np.maximum(within, nearest)))
    return np.where(own @ size > 1, silhouette, 0.0)


def confusable_labels(data: AnnotationData) -> pd.DataFrame:
    """Return how often different annotators give two labels to the same items; "unsure" answers are left out.

    Parameters
    ----------
    data : AnnotationData

    Returns
    -------
    pandas.DataFrame
        One row per pair of labels, the most often confused first: `label_1`, `label_2`; `times_confused`, how often two
        annotators gave them to one item; `rate`, its share among pairs of answers with only these two labels; and
        `rate_by_chance`, if answers did not depend on the item.

    Examples
    --------
    >>> import bayesanno as ba
    >>> ba.agreement.confusable_labels(ba.read_annotations("@crowd")).loc[0, ["label_1", "label_2"]].tolist()
    ['billing', 'delivery']
    """
    data = require_sure(data, "confusable_labels")
    if data.annotators == (ANYONE,):  # each answer may be another person's
        each = np.arange(data.n_annotations)
        data = replace(data, annotator=each, annotators=tuple(map(str, each)))
    matches, n = match_labels(data), data.n_labels
    table = np.bincount(matches.label_1 * n + matches.label_2, matches.times, n**2).reshape(n, n)
    first, second = np.triu_indices(data.n_labels, 1)
    confused = (table + table.T)[first, second]
    same = np.diag(table)
    used = table.sum(axis=0) + table.sum(axis=1)  # answers in such pairs, by label
    names = np.array(data.labels, dtype=object)
    found = pd.DataFrame({"label_1": names[first], "label_2": names[second]}, dtype="str")
    found["times_confused"] = confused.astype(int)
    found["rate"] = divide(confused, confused + same[first] + same[second])
    found["rate_by_chance"] = divide(2 * used[first] * used[second], (used[first] + used[second]) ** 2)
    return found.sort_values(["times_confused", "rate"], ascending=False, kind="stable", ignore_index=True)
