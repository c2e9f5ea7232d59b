"""Ordered labels: whether their order is known."""

from __future__ import annotations

from collections.abc import Iterator

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import LEAST_ORDERED
from bayesanno.data.totals import AnnotationTotals
from bayesanno.modeling.findings import Finding, find


def find_order(data: AnnotationData | AnnotationTotals) -> Iterator[Finding]:
    """Yield that the order of the labels is not known: they are neither numbers, nor of a known scale, nor declared.

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
    if not data.labels_are_ordered and data.n_classes >= LEAST_ORDERED:
        yield find("order-undeclared", data.classes)
