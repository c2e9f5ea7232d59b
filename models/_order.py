"""Ordered labels: whether their order was declared."""

from __future__ import annotations

from collections.abc import Iterator

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.totals import AnnotationTotals
from bayesanno.modeling.findings import Finding, find

LEAST = 3  # labels: reversing the order of two labels only swaps the ends of the scale


def find_order(data: AnnotationData | AnnotationTotals) -> Iterator[Finding]:
    """Yield that labels are not numbers and have no declared order.

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.models._order import find_order
    >>> said = [("s1", "ada", "no"), ("s1", "bo", "maybe"), ("s2", "ada", "yes")]
    >>> [one.about for one in find_order(AnnotationData.from_records(said))]
    [('maybe', 'no', 'yes')]
    >>> list(find_order(AnnotationData.from_records(said, labels=["no", "maybe", "yes"])))
    []
    """
    if not data.labels_are_ordered and data.n_classes >= LEAST:
        yield find("order-undeclared", data.classes)
