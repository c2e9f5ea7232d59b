"""Ordered labels: whether their order was declared."""

from __future__ import annotations

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.totals import AnnotationTotals
from bayesanno.ground.wording import enumerated

LEAST = 3  # labels: reversing the order of two labels only swaps the ends of the scale


def explain_order(data: AnnotationData | AnnotationTotals) -> list[str]:
    """Return a warning for labels that are not numbers and have no declared order.

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.models._order import explain_order
    >>> said = [("s1", "ada", "no"), ("s1", "bo", "maybe"), ("s2", "ada", "yes")]
    >>> explain_order(AnnotationData.from_records(said))[0][:68]
    'nobody declared the order of the labels, and it is that of the alpha'
    >>> explain_order(AnnotationData.from_records(said, labels=["no", "maybe", "yes"]))
    []
    """
    if data.labels_are_ordered or data.n_classes < LEAST:
        return []
    return [
        f"nobody declared the order of the labels, and it is that of the alphabet: {enumerated(data.classes)}; the "
        "model takes it for that of the grades, lowest first: declare the true order, with labels=[...] where data are "
        "read"
    ]
