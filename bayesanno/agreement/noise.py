"""How many items that all annotators agree on may be agreed on by chance.

Of n items, d are disagreed on, and these are hard. Annotators agree on a hard item with probability p, so there may be
more (section 2 of the paper):

    P(A_d | B_h) = C(h, d) (1 - p)^d p^(h - d)                                   d disagreements, given h hard items
    P(B_h | A_d) = C(h, d) p^(h - d) P(B_h) / sum_i C(i, d) p^(i - d) P(B_i)     h, i = d .. n
    P(X > t | A_d) = sum of P(B_h | A_d) over h = t+1 .. n                                                     (eq. 1)
    t0 = the smallest t with P(X > t | A_d) < 1 - ci_prob          gamma = (t0 - d) / (n - d)

References
----------
B. Beigman Klebanov and E. Beigman (2009), doi:10.1162/coli.2009.35.4.35402 ("the paper" below).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from bayesanno._core.messages import DataError, counted
from bayesanno._core.validate import check_share
from bayesanno.agreement.coefficients import chance_agreement, check_whole, count_disagreement
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.described import require_kind


@dataclass(frozen=True, kw_only=True)
class NoiseBound:
    """How noisy the agreed items may be.

    Parameters
    ----------
    n, d : int
        The number of items, and of items disagreed on.
    p, ci_prob : float
        The probability that the annotators of a hard item agree, and that with which the bounds hold.
    t0 : int
        An upper bound for the number of hard items.
    gamma : float or None
        An upper bound for the share of noise among the agreed items; None if no item is agreed on.
    kappa : float or None
        Agreement beyond chance, if computed from annotations.
    """

    n: int
    d: int
    p: float
    ci_prob: float
    t0: int
    gamma: float | None
    kappa: float | None = None

    @property
    def n_agreed(self) -> int:
        """The number of agreed items."""
        return self.n - self.d

    @property
    def n_noise(self) -> int:
        """An upper bound for the number of hard items among the agreed ones."""
        return self.t0 - self.d


def hard_items_posterior(n: int, d: int, p: float, *, prior: ArrayLike | None = None) -> np.ndarray:
    """Return the posterior probability of each number of hard items, given d disagreements: eq. 1.

    Parameters
    ----------
    n, d : int
        The number of items, and of items disagreed on.
    p : float
        The probability that the annotators of a hard item agree.
    prior : array, shape (n + 1,), optional
        P(B_h) for h = 0..n, on any scale; uniform by default, as in the paper.

    Returns
    -------
    array, shape (n + 1,)
        P(B_h | A_d) for h = 0..n; 0 below d.

    Raises
    ------
    DataError
        If an argument is out of its range.

    Examples
    --------
    >>> hard_items_posterior(3, 1, 0.5).round(4).tolist()
    [0.0, 0.3636, 0.3636, 0.2727]
    """
    n, d = _check_counts(n, d)
    check_share("p, the chance of agreement on a hard item,", p)
    more = np.arange(1, n - d + 1)  # h - d
    # C(h, d) p^(h-d) as a running product of the ratios h / (h - d) * p: SciPy's negative binomial takes long to import
    log_weight = np.concatenate([[0.0], np.cumsum(np.log((more + d) / more * p))])  # (n - d + 1,)
    if prior is not None:
        with np.errstate(divide="ignore"):
            log_weight += np.log(_weigh_prior(prior, n, d)[d:])
    weight = np.exp(log_weight - log_weight.max())
    return np.concatenate([np.zeros(d), weight / weight.sum()])


def bound_noise(
    n: int,
    d: int,
    p: float,
    *,
    ci_prob: float = 0.95,
    prior: ArrayLike | None = None,
) -> NoiseBound:
    """Bound the hard items, and the noise of the agreed ones, with a probability (section 2 of the paper).

    Parameters
    ----------
    n, d, p, prior
        As for `hard_items_posterior`.
    ci_prob : float, default 0.95
        The probability with which the bounds hold, that of the paper.

    Raises
    ------
    DataError
        If an argument is out of its range.

    Examples
    --------
    >>> bound = bound_noise(1000, 100, 0.5)
    >>> bound.t0, bound.n_noise, round(bound.gamma, 4)
    (225, 125, 0.1389)
    """
    check_share("ci_prob", ci_prob)
    posterior = hard_items_posterior(n, d, p, prior=prior)
    t0 = max(bound_count(posterior, ci_prob), d)  # rounding may leave P(X > d - 1) a hair below 1
    gamma = (t0 - d) / (n - d) if n > d else None
    return NoiseBound(n=int(n), d=int(d), p=float(p), ci_prob=ci_prob, t0=t0, gamma=gamma)


def bound_noise_of(
    data: AnnotationData,
    *,
    ci_prob: float = 0.95,
    chance: float | None = None,
    prior: ArrayLike | None = None,
) -> NoiseBound:
    """Bound the noise of the agreed items of a table of annotations.

    "Unsure" annotations are left out, and so are items with fewer than two others.

    Parameters
    ----------
    data : AnnotationData
    ci_prob, prior
        As for `bound_noise`, where n is the number of items with two or more annotations.
    chance : float, optional
        The probability that the annotators of a hard item agree; by default from `estimate_chance_agreement`.

    Raises
    ------
    DataError
        If no item has two annotations, `chance` cannot be estimated, or an argument is out of its range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> bound = bound_noise_of(ba.read_annotations("@crowd"))
    >>> bound.n, bound.d, bound.t0
    (300, 247, 260)
    """
    require_kind(data, AnnotationData, "bound_noise_of")
    found = count_disagreement(data)
    p = found.p if chance is None else chance
    if p is None:
        raise DataError("no item is disagreed on, so the chance of agreement cannot be estimated: give chance=...")
    if chance is None and not 0 < p < 1:
        raise DataError(
            f"from {counted(found.d, 'item')} disagreed on the chance of agreement is {p:g}, not a reliable estimate: "
            f"give the chance of agreement with chance=..."
        )
    bound = bound_noise(found.n, found.d, p, ci_prob=ci_prob, prior=prior)
    return replace(bound, kappa=found.kappa)


def tolerated_disagreements(n: int, p: float, gamma: float, *, ci_prob: float = 0.95) -> int | None:
    """Return the largest D with noise of at most gamma for all of 0..D disagreements (section 3.1 of the paper).

    The prior is uniform. None means that even full agreement would be too noisy.

    Parameters
    ----------
    n, p, ci_prob
        As for `bound_noise`.
    gamma : float
        The tolerated noise, at least 0 and below 1.

    Raises
    ------
    DataError
        If an argument is out of its range.

    Examples
    --------
    >>> tolerated_disagreements(1000, 0.5, 0.05)
    33
    """
    n, _ = _check_counts(n, 0)
    check_share("p, the chance of agreement on a hard item,", p)
    check_share("ci_prob", ci_prob)
    if not 0 <= gamma < 1:
        raise DataError(f"gamma is {gamma}: it must be at least 0 and below 1")
    from scipy.stats import nbinom

    d = np.arange(n)  # (d,)
    most = np.floor(gamma * (n - d) + 1e-9)  # hard items allowed among the agreed ones
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 where only p^n counts: not tolerated
        within = nbinom.cdf(most, d + 1, 1 - p) / nbinom.cdf(n - d, d + 1, 1 - p)  # P(X - d <= most)
    tolerated = int(np.argmin(np.append(within > ci_prob, False)))  # 0..tolerated-1 are
    return tolerated - 1 if tolerated else None


def plan_annotators(
    n: int, hard: int, annotators: int, *, coin: Sequence[float] = (0.5, 0.5), ci_prob: float = 0.95
) -> NoiseBound:
    """Bound the noise with more annotators, at the most likely number of disagreements (section 5.3 of the paper).

    Parameters
    ----------
    n, ci_prob
        As for `bound_noise`.
    hard, annotators : int
        The assumed number of hard items, and the number of annotators, at least 2.
    coin : sequence of float
        The probability of each label when an annotator flips a coin; the same for all annotators.

    Raises
    ------
    DataError
        If an argument is out of its range.

    Examples
    --------
    >>> [round(plan_annotators(1000, 200, annotators).gamma, 3) for annotators in (2, 3, 5)]
    [0.139, 0.075, 0.023]
    """
    n, hard = _check_counts(n, hard)
    if annotators < 2:
        raise DataError(f"annotators is {annotators}: agreement is between at least 2")
    p = chance_agreement([coin] * annotators)
    return bound_noise(n, min(math.floor((hard + 1) * (1 - p)), hard), p, ci_prob=ci_prob)


def noise_from_kappa(kappa: float, n: int, d: int) -> float:
    """Estimate the noise of the agreed items from kappa (section 3.3 of the paper), clipped to 0..1.

    If labels are equally frequent on easy and hard items, kappa * n of the agreed items are easy.

    Parameters
    ----------
    kappa : float
        Agreement beyond chance, as from `measure_kappa`; at most 1.
    n, d : int
        As for `hard_items_posterior`; at least one item is agreed on.

    Raises
    ------
    DataError
        If an argument is out of its range.

    Examples
    --------
    >>> round(noise_from_kappa(0.8, 1000, 100), 4)
    0.1111
    """
    n, d = _check_counts(n, d)
    if n == d:
        raise DataError(f"every item ({n:,}) is disagreed on: there are no agreed items")
    if not kappa <= 1:
        raise DataError(f"kappa is {kappa}: it must be at most 1")
    return min(max(1 - kappa * n / (n - d), 0.0), 1.0)


def bound_count(pmf: np.ndarray, ci_prob: float) -> int:
    """Return the smallest t with P(X > t) < 1 - ci_prob, where `pmf` has the probabilities of X = 0, 1, ..."""
    exceeds = np.append(np.cumsum(pmf[::-1])[::-1][1:], 0.0)  # P(X > t)
    return int(np.argmax(exceeds < 1 - ci_prob))


def _check_counts(n: int, d: int) -> tuple[int, int]:
    """Return the numbers of items and of disagreements as whole numbers, or raise a DataError."""
    n, d = check_whole("n, the number of items,", n, least=1), check_whole("d, the number of disagreements,", d)
    if d > n:
        raise DataError(f"{d} disagreements among {n} items: there cannot be more disagreements than items")
    return n, d


def _weigh_prior(prior: ArrayLike, n: int, d: int) -> np.ndarray:
    """Return the prior weights of 0..n hard items as an array, or raise a DataError."""
    weights = np.asarray(prior, dtype=float)  # (n + 1,)
    if weights.shape != (n + 1,):
        raise DataError(f"the prior has shape {weights.shape}: give one weight for each number of hard items 0..{n}")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise DataError("the prior has a weight that is negative or not finite")
    if not weights[d:].any():
        raise DataError(f"the prior rules out {counted(d, 'hard item')} or more, but as many are disagreed on")
    return weights
