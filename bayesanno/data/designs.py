"""Designs: which annotators are asked about which items, every answer a placeholder; and pools that answer one.

The invariant: a design is a function of its arguments alone; with a seed it is the same in every run. A pool has few
good annotators and needs no model: bad annotators' labels are independent of the truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from bayesanno._core.messages import DataError, as_names
from bayesanno._core.validate import check_choice, check_seed, check_share
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.counts import CountData
from bayesanno.data.labelled import name_unsure

Strategy = Literal["random", "first"]


def make_design(
    *,
    items: int | str | Sequence[str],
    annotators: int | str | Sequence[str],
    labels: int | str | Sequence[str],
    unsure: str | Sequence[str] = (),
    per_item: int | tuple[int, int],
    random_seed: int | None = None,
) -> AnnotationData:
    """Make a design: which annotators are asked about which items. Every annotation is a placeholder, the first label.

    Parameters
    ----------
    items, annotators, labels : int, str or sequence of str
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
    >>> from bayesanno.data.designs import make_design
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
    items: int | str | Sequence[str],
    annotators: int | str | Sequence[str] = 8,
    together: int = 3,
    labels: int | str | Sequence[str],
) -> AnnotationData:
    """Make a loop design: neighbours on a circle of annotators share items, equally many in each group.

    With 8 annotators, 3 together, the groups are 1-2-3, 2-3-4, ..., 8-1-2. This is the design of Rzhetsky et al.
    (2009), doi:10.1371/journal.pcbi.1000391, in which all annotators are linked, directly or through others.

    Parameters
    ----------
    items, annotators, labels : int, str or sequence of str
        The numbers, or the names, as in `make_design`. Items are assigned to the groups in turn.
    together : int
        Annotations per item.

    Raises
    ------
    DataError
        If there are fewer annotators than annotations per item.

    Examples
    --------
    >>> from bayesanno.data.designs import make_loop_design
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
    *, items: int | str | Sequence[str], per_item: int | tuple[int, int], random_seed: int | None = None
) -> CountData:
    """Make a design of counts: how many answers each item gets. Every count of successes is a placeholder, 0.

    Parameters
    ----------
    items : int, str or sequence of str
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
    >>> from bayesanno.data.designs import make_count_design
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


def simulate_pool(
    *,
    good: int,
    adverse: int,
    strategy: Strategy = "random",
    items: int = 100,
    labels: int = 2,
    per_item: int = 10,
    accuracy: float = 0.95,
    random_seed: int | None = None,
) -> AnnotationData:
    """Simulate annotations by a pool of good and adverse annotators (Hovy et al. 2013, sections 3.2 and 5.2).

    Parameters
    ----------
    good, adverse : int
        The number of annotators of each kind; their names are good1, ... and adverse1, ...
    strategy : {"random", "first"}
        The behaviour of adverse annotators on every item: a random label, or always the first label.
    items, labels : int
        The numbers of items and labels. All labels are equally likely to be true.
    per_item : int
        Answers per item, by different annotators drawn at random.
    accuracy : float, default 0.95
        The probability that a good annotator is right. Otherwise all other labels are equally likely.
    random_seed : int, optional

    Returns
    -------
    AnnotationData
        The annotations, with the true labels as gold.

    Raises
    ------
    DataError
        If there are no annotators, fewer than `per_item`, or another value is out of range.

    References
    ----------
    D. Hovy, T. Berg-Kirkpatrick, A. Vaswani and E. Hovy (2013), Learning whom to trust with MACE, NAACL-HLT,
    pages 1120-1130, https://aclanthology.org/N13-1132.

    Examples
    --------
    >>> import bayesanno as ba
    >>> ba.simulation.simulate_pool(good=3, adverse=17, strategy="first", random_seed=1)
    AnnotationData: 1,000 annotations of 100 items by 20 annotators; labels 0, 1
    """
    check_seed(random_seed)
    for name, number in (("good", good), ("adverse", adverse)):
        if number < 0:
            raise DataError(f"{name} is {number}: it must be a number of annotators, 0 or more")
    check_choice(f"there is no strategy {strategy!r}", strategy, get_args(Strategy), DataError)
    check_share("accuracy", accuracy)
    layout_seed, answers_seed = np.random.SeedSequence(random_seed).generate_state(2)
    names = [f"{kind}{number}" for kind, n in (("good", good), ("adverse", adverse)) for number in range(1, n + 1)]
    design = make_design(items=items, annotators=names, labels=labels, per_item=per_item, random_seed=int(layout_seed))
    rng = np.random.default_rng(answers_seed)
    truth = rng.integers(labels, size=items)  # (item,)
    of_answer, n = truth[design.item], design.n_annotations
    slips = rng.random(n) >= accuracy
    by_good = np.where(slips, (of_answer + rng.integers(1, labels, size=n)) % labels, of_answer)
    by_adverse = rng.integers(labels, size=n) if strategy == "random" else np.zeros(n, dtype=np.int64)
    gold = {name: design.labels[code] for name, code in zip(design.items, truth, strict=True)}
    return replace(design, label=np.where(design.annotator < good, by_good, by_adverse), gold=gold)


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
    return as_names(given)
