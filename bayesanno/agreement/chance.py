"""Agreement by chance: annotators who flip coins, and a difference between two systems.

Only items with two or more annotations count, without "unsure" ones.

References
----------
B. Beigman Klebanov and E. Beigman (2009), doi:10.1162/coli.2009.35.4.35402 ("the paper" below).
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bayesanno._core.errors import DataError
from bayesanno._core.validate import check_share
from bayesanno.agreement.coefficients import measure_kappa
from bayesanno.agreement.vote import disagreed_items, require_sure, shared_items
from bayesanno.data.annotations import AnnotationData


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """The items on which annotators disagree, in a table of annotations.

    Parameters
    ----------
    n, d : int
        The number of items with two or more annotations, and of those with two or more different labels.
    p, kappa : float or None
        As from `estimate_chance_agreement` and `measure_kappa`; None if undefined.
    left_out : int
        Items with fewer than two annotations.
    """

    n: int
    d: int
    p: float | None
    kappa: float | None
    left_out: int


@dataclass(frozen=True, kw_only=True)
class ChanceDifference:
    """The difference, in items, that noise may cause between two equally good systems (section 4.1 of the paper).

    Parameters
    ----------
    noise : int
        R, the number of noisy items in the test set.
    ci_prob, sd : float
        The probability with which the bounds hold; the standard deviation of the difference, sqrt(R / 2).
    chebyshev, exact : int
        The bound by Chebyshev's inequality, as in the paper, and the smallest bound that holds.
    """

    noise: int
    ci_prob: float
    sd: float
    chebyshev: int
    exact: int


def chance_agreement(coins: ArrayLike) -> float:
    """Return sum_m prod_j coin_jm, the probability that annotators' coins all give one label (section 2 of the paper).

    Parameters
    ----------
    coins : array, shape (annotator, label)
        The probability of each label in each annotator's coin; rows sum to 1.

    Raises
    ------
    DataError
        If a row is not a probability distribution.

    Examples
    --------
    >>> [chance_agreement([[0.5, 0.5]] * annotators) for annotators in (2, 3, 5)]
    [0.5, 0.25, 0.0625]
    """
    given = np.asarray(coins, dtype=float)
    if given.ndim != 2 or not given.size:
        raise DataError(f"coins have shape {given.shape}: give one row per annotator, one column per label")
    wrong = ~((given >= 0).all(axis=1) & (np.abs(given.sum(axis=1) - 1) < 1e-8))  # (annotator,)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"coin {row + 1} is {given[row].tolist()}: probabilities must be 0 or more and sum to 1")
    return float(np.prod(given, axis=0).sum())


def estimate_coins(data: AnnotationData) -> np.ndarray:
    """Estimate each annotator's coin on hard items from the items disagreed on (footnote 3 of the paper).

    An annotator without any disagreement gets the coin of all others together. Coins look fairer than they are, since
    two annotators who disagree give different labels.

    Returns
    -------
    array, shape (annotator, true_class)
        Rows sum to 1.

    Raises
    ------
    DataError
        If no item is disagreed on.

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> rows = [("s1", "ada", "no"), ("s1", "bo", "yes"), ("s2", "ada", "yes"), ("s2", "bo", "no")]
    >>> estimate_coins(AnnotationData.from_records(rows)).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    data = require_sure(data, "estimate_coins")
    hard = disagreed_items(data.votes)[data.item]  # (annotation,)
    if not hard.any():
        raise DataError("no item is disagreed on: coins cannot be estimated")
    given = np.zeros((data.n_annotators, data.n_labels))  # (annotator, label)
    np.add.at(given, (data.annotator[hard], data.label[hard]), 1.0)
    given[given.sum(axis=1) == 0] = given.sum(axis=0)
    return given / given.sum(axis=1, keepdims=True)


def estimate_chance_agreement(data: AnnotationData) -> float:
    """Estimate the probability that the annotators of a hard item agree, from the coins of `estimate_coins`.

    It is the mean over the agreed items, with which eq. 1 never understates the noise.

    Raises
    ------
    DataError
        If no item is disagreed on.

    Examples
    --------
    >>> from bayesanno import read_annotations
    >>> round(estimate_chance_agreement(read_annotations("@crowd")), 4)
    0.0313
    """
    data = require_sure(data, "estimate_chance_agreement")
    coins = estimate_coins(data)
    same = np.ones((data.n_items, data.n_labels))  # (item, label)
    np.multiply.at(same, data.item, coins[data.annotator])
    shared = shared_items(data.votes)  # (item,)
    agreed = shared & ~disagreed_items(data.votes)
    return float(same[agreed if agreed.any() else shared].sum(axis=1).mean())


def count_disagreement(data: AnnotationData) -> Disagreement:
    """Count the items disagreed on, and compute the other inputs of the noise model.

    Raises
    ------
    DataError
        If no item has two annotations.

    Examples
    --------
    >>> from bayesanno import read_annotations
    >>> found = count_disagreement(read_annotations("@crowd"))
    >>> found.n, found.d
    (300, 251)
    """
    data = require_sure(data, "count_disagreement")
    shared = shared_items(data.votes)  # (item,)
    d = int(disagreed_items(data.votes).sum())
    equal = np.unique(data.votes[shared].sum(axis=1)).size == 1
    return Disagreement(
        n=int(shared.sum()),
        d=d,
        p=estimate_chance_agreement(data) if d else None,
        kappa=measure_kappa(data.votes[shared]).kappa if equal else None,
        left_out=int((~shared).sum()),
    )


def bound_chance_difference(noise: int, *, ci_prob: float = 0.95) -> ChanceDifference:
    """Bound the difference between two systems that noise in the test set explains (section 4.1 of the paper).

    On each of R noisy items, each system alone is counted right with probability 1/4. So the difference plus R is
    Binomial(2 R, 1/2).

    Parameters
    ----------
    noise : int
        R, the number of noisy items in the test set; `NoiseBound.n_noise` bounds it.
    ci_prob : float, default 0.95
        As for `bound_noise`.

    Raises
    ------
    DataError
        If an argument is out of its range.

    Examples
    --------
    >>> found = bound_chance_difference(125)
    >>> found.chebyshev, found.exact
    (35, 15)
    """
    noise = check_whole("noise", noise)
    check_share("ci_prob", ci_prob)
    from scipy.stats import binom

    sd = math.sqrt(noise / 2)
    exceeds = 2 * binom.sf(noise + np.arange(noise + 1), 2 * noise, 0.5)  # P(|S| > s), s = 0..R
    chebyshev = min(math.floor(sd / math.sqrt(1 - ci_prob) + 1e-9), noise)
    exact = int(np.argmax(exceeds < 1 - ci_prob))
    return ChanceDifference(noise=noise, ci_prob=ci_prob, sd=sd, chebyshev=chebyshev, exact=exact)


def check_whole(what: str, value: int, least: int = 0) -> int:
    """Return a number as an int, or raise a DataError if it is not whole or too small."""
    try:
        whole = operator.index(value)
    except TypeError:
        raise DataError(f"{what} is {value!r}: it must be a whole number") from None
    if whole < least:
        raise DataError(f"{what} is {whole}: it must be {least} or more")
    return whole
