"""Sets of labels: which labels an annotator chose for an item, and how far two such sets are from each other.

    jaccard(A, B) = 1 - |A and B| / |A or B|
    masi(A, B)    = 1 - m |A and B| / |A or B|       m = 1 if A = B; 2/3 if one contains the other; else 1/3

References
----------
P. Jaccard (1912), The distribution of the flora in the alpine zone, New Phytologist 11(2), 37-50,
doi:10.1111/j.1469-8137.1912.tb05611.x.
R. J. Passonneau (2006), Measuring agreement on set-valued items (MASI) for semantic and pragmatic annotation, LREC,
https://aclanthology.org/L06-1392.
"""

from __future__ import annotations

import numpy as np

from bayesanno._core.errors import DataError
from bayesanno._core.wording import option
from bayesanno.data.annotations import AnnotationData


def gather_sets(data: AnnotationData) -> tuple[AnnotationData, dict[str, np.ndarray]]:
    """Return annotations by sets of labels, and the distances of every two sets, (set, set), by name.

    Items that are not pairs of item and label with the answers no and yes raise a DataError.
    """
    names = [item.rpartition(" / ")[::2] for item in data.items]
    (items, of_item), (tags, tag) = (np.unique(each, return_inverse=True) for each in zip(*names, strict=True))
    if data.labels != ("no", "yes") or "" in items or len(names) != items.size * tags.size:
        needed = option("multi_label", True)
        raise DataError(f"sets of labels need every pair of item and label as an item: read with {needed}")
    cell, which = np.unique(of_item[data.item] * data.n_annotators + data.annotator, return_inverse=True)
    chosen = np.zeros((cell.size, tags.size), dtype=int)  # (answer, label)
    np.maximum.at(chosen, (which, tag[data.item]), data.label)
    sets, label = np.unique(chosen, axis=0, return_inverse=True)  # (set, label)
    both = sets @ sets.T  # (set, set)
    n, size = np.add.outer(sets.sum(axis=1), sets.sum(axis=1)), np.diag(both)
    shared = np.where(n > 0, both / np.maximum(n - both, 1), 1)  # two empty sets are equal
    smaller, larger = np.minimum.outer(size, size), np.maximum.outer(size, size)
    near = np.select([smaller + larger == 2 * both, smaller == both], [1, 2 / 3], 1 / 3)
    found = AnnotationData(
        item=cell // data.n_annotators,
        annotator=cell % data.n_annotators,
        label=label,
        items=tuple(items.tolist()),
        annotators=data.annotators,
        labels=tuple("; ".join(tags[one > 0]) or "no label" for one in sets),
    )
    return found, {"jaccard": 1 - shared, "masi": 1 - near * shared}
