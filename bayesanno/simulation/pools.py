"""Pools of annotators with few good ones: data without a model, for testing models.

The invariant: bad annotators' labels are independent of the truth.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.errors import DataError
from bayesanno.ground.validate import check_choice, check_seed, check_share
from bayesanno.simulation.designs import make_design

Strategy = Literal["random", "first"]


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
    >>> ba.simulate_pool(good=3, adverse=17, strategy="first", random_seed=1)
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
