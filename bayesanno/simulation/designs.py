"""Designs: which annotators are asked about which items, every answer a placeholder.

The invariant: a design is a function of its arguments alone; with a seed it is the same in every run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.counts import CountData
from bayesanno.data.names import name_unsure
from bayesanno.ground.errors import DataError
from bayesanno.ground.validate import check_seed


def make_design(
    *,
    items: int | Sequence[str],
    annotators: int | Sequence[str],
    labels: int | Sequence[str],
    unsure: str | Sequence[str] = (),
    per_item: int | tuple[int, int],
    random_seed: int | None = None,
) -> AnnotationData:
    """Make a design: which annotators are asked about which items. Every annotation is a placeholder, the first label.

    Parameters
    ----------
    items, annotators, labels : int or sequence of str
        The number (names are then i1, i2, ...; a1, ...; and 0, 1, ...), or the names. Names of labels are in order.
    unsure : str or sequence of str, optional
        The names of further labels that are not classes.
    per_item : int or tuple of two ints
        Annotations per item, by different annotators drawn at random: a number, or a range from which numbers are drawn
        uniformly.
    random_seed : int, optional

    Raises
    ------
    DataError
        If `per_item` is negative or exceeds the number of annotators.

    Examples
    --------
    >>> from bayesanno.simulation.designs import make_design
    >>> make_design(items=100, annotators=8, labels=["no", "yes"], per_item=3, random_seed=1).n_annotations
    300
    """
    check_seed(random_seed)
    item_names, annotator_names = _item_names(items), _names(annotators, "a")
    others = name_unsure(unsure)
    label_names = (*_names(labels, "", first=0), *others)
    least, most = (per_item, per_item) if isinstance(per_item, int) else per_item
    if not 0 <= least <= most <= len(annotator_names):
        raise DataError(
            f"per_item is {per_item}: each item can have 0 to {len(annotator_names)} annotations, since there are "
            f"{len(annotator_names)} annotators and nobody is asked twice"
        )
    rng = np.random.default_rng(random_seed)
    each = rng.integers(least, most, size=len(item_names), endpoint=True)  # (item,)
    asked = [rng.choice(len(annotator_names), size=n, replace=False) for n in each]
    names = {"items": item_names, "annotators": annotator_names, "labels": label_names, "unsure": others}
    return _ask(asked, **names, order_declared=not isinstance(labels, int))


def make_loop_design(
    *,
    items: int | Sequence[str],
    annotators: int | Sequence[str] = 8,
    together: int = 3,
    labels: int | Sequence[str],
) -> AnnotationData:
    """Make a loop design: neighbours on a circle of annotators share items, equally many in each group.

    With 8 annotators, 3 together, the groups are 1-2-3, 2-3-4, ..., 8-1-2. This is the design of Rzhetsky et al.
    (2008), doi:10.1371/journal.pcbi.1000391, in which all annotators are linked, directly or through others.

    Parameters
    ----------
    items, annotators, labels : int or sequence of str
        The numbers, or the names, as in `make_design`. Items are assigned to the groups in turn.
    together : int
        Annotations per item.

    Raises
    ------
    DataError
        If there are fewer annotators than annotations per item.

    Examples
    --------
    >>> from bayesanno.simulation.designs import make_loop_design
    >>> design = make_loop_design(items=800, labels=4)
    >>> design.n_annotations, [design.annotators[code] for code in design.annotator[-3:]]
    (2400, ['a8', 'a1', 'a2'])
    """
    item_names, annotator_names = _item_names(items), _names(annotators, "a")
    n_annotators = len(annotator_names)
    if not 1 <= together <= n_annotators:
        raise DataError(f"together is {together}: it must be between 1 and the number of annotators, {n_annotators}")
    group = np.arange(len(item_names))[:, None] % n_annotators  # (item, 1)
    annotator = (group + np.arange(together)) % n_annotators  # (item, slot)
    names = {"items": item_names, "annotators": annotator_names, "labels": _names(labels, "", first=0)}
    return _ask(annotator, **names, order_declared=not isinstance(labels, int))


def make_count_design(
    *, items: int | Sequence[str], per_item: int | tuple[int, int], random_seed: int | None = None
) -> CountData:
    """Make a design of counts: how many answers each item gets. Every count of successes is a placeholder, 0.

    Parameters
    ----------
    items : int or sequence of str
        The number (names are then i1, i2, ...), or the names.
    per_item : int or tuple of two ints
        Answers per item: a number, or a range from which numbers are drawn uniformly.
    random_seed : int, optional

    Raises
    ------
    DataError
        If there are no items or no answers.

    Examples
    --------
    >>> from bayesanno.simulation.designs import make_count_design
    >>> make_count_design(items=3, per_item=10).trials
    array([10, 10, 10])
    """
    check_seed(random_seed)
    names = _item_names(items)
    least, most = (per_item, per_item) if isinstance(per_item, int) else per_item
    if not 0 <= least <= most:
        raise DataError(f"per_item is {per_item}: give a number, 0 or more, or a range from the least to the most")
    each = np.random.default_rng(random_seed).integers(least, most, size=len(names), endpoint=True)  # (item,)
    return CountData(items=names, successes=np.zeros_like(each), trials=each)


def _ask(asked: Iterable[np.ndarray], **fields: Any) -> AnnotationData:
    """Return placeholders for the annotators asked about each item, item by item."""
    each = list(asked)
    annotator = np.concatenate(each).astype(np.int64)  # (annotation,)
    item = np.repeat(np.arange(len(each)), [one.size for one in each])
    return AnnotationData(item=item, annotator=annotator, label=np.zeros_like(annotator), **fields)


def _item_names(items: int | Sequence[str]) -> tuple[str, ...]:
    names = _names(items, "i")
    if not names:
        raise DataError(f"items is {items}: a design needs at least one item")
    return names


def _names(given: int | Sequence[str], prefix: str, *, first: int = 1) -> tuple[str, ...]:
    if isinstance(given, int):
        return tuple(f"{prefix}{number}" for number in range(first, first + given))
    return tuple(given)
