"""The noise in a fit: the posterior of the number of hard items, and of hard items that all annotators agree on.

Given the parameters, each item is hard with its own probability, independently of the others. So the number of hard
items in any set is Poisson-binomial in every draw, and its posterior is the mean of these distributions over the draws;
no labels or types are sampled. Unlike eq. 1 in `bayesanno.agreement.noise`, which assumes that the probability of
agreement is known, this includes the uncertainty of the annotators' coins.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bayesanno._core.lazy import xr
from bayesanno._core.messages import FitError
from bayesanno._core.validate import check_share
from bayesanno.agreement.noise import bound_count
from bayesanno.agreement.vote import disagreed_items, shared_items
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.view import FitView, parts_of
from bayesanno.modeling.arguments import HARD
from bayesanno.modeling.posterior import compile_formula

MAX_CELLS = 2**21  # complex numbers in memory at a time


@dataclass(frozen=True, kw_only=True)
class NoisePosterior:
    """How noisy the agreed items may be, according to a fit.

    Parameters
    ----------
    n, d : int
        The number of items with two or more annotations, and of those with disagreement.
    ci_prob : float
        The probability with which the bounds t0 and gamma hold.
    t0 : int
        An upper bound for the number of hard items among the n.
    gamma : float or None
        An upper bound for the share of hard items among the agreed ones; None if no item is agreed on.
    expected : float or None
        The posterior mean of that share.
    hard : array, shape (n + 1,)
        The posterior probability of each number of hard items among the n.
    hard_agreed : array, shape (n - d + 1,)
        The same among the agreed ones.
    """

    n: int
    d: int
    ci_prob: float
    t0: int
    gamma: float | None
    expected: float | None
    hard: np.ndarray = field(repr=False)
    hard_agreed: np.ndarray = field(repr=False)

    @property
    def n_agreed(self) -> int:
        """The number of agreed items."""
        return self.n - self.d

    @property
    def n_noise(self) -> int:
        """An upper bound for the number of hard items among the agreed ones."""
        return bound_count(self.hard_agreed, self.ci_prob)


def noise_posterior(fit: xr.DataTree | FitView, *, ci_prob: float = 0.95) -> NoisePosterior:
    """Bound the noise of the items that all annotators agree on, by the posterior of a fit.

    gamma and t0 follow section 2 of Beigman Klebanov and Beigman (2009), doi:10.1162/coli.2009.35.4.35402: t0 is the
    smallest t with P(more than t items are hard) < 1 - ci_prob, and gamma is the corresponding bound for the agreed
    items, as a share of them. Both can be compared with those of `bound_noise_of`. As there, items with fewer than two
    annotations are left out.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of a model of annotations that infers which items are hard, such as `easy_hard`.
    ci_prob : float, default 0.95
        The probability with which the bounds hold, that of the paper: ArviZ's is for intervals of two ends.

    Raises
    ------
    DataError
        If `ci_prob` is not between 0 and 1, or no item has two annotations.
    FitError
        If the model does not infer which items are hard, or is not a model of annotations.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("easy")  # doctest: +SKIP
    >>> ba.noise.noise_posterior(fit).gamma, ba.noise.bound_noise_of(ba.data_of(fit)).gamma  # doctest: +SKIP
    """
    check_share("ci_prob", ci_prob)
    view = view_for_table(fit, from_draws=True)
    part, *others = parts_of(view)
    if not view.derives("hard") or part.votes is None or others:
        raise FitError(f"{view.model.name} does not infer which annotated items are hard: fit easy_hard")
    shared = shared_items(part.votes)  # (item,)
    agreed = shared & ~disagreed_items(part.votes)
    hard, pattern = compile_formula(view.model, view.data, view.posterior, view.known).derived(HARD)
    of_shared, of_agreed = (
        count_successes(hard, np.bincount(pattern[chosen], minlength=hard.shape[1])) for chosen in (shared, agreed)
    )
    n, n_agreed = int(shared.sum()), int(agreed.sum())
    return NoisePosterior(
        n=n,
        d=n - n_agreed,
        ci_prob=ci_prob,
        t0=bound_count(of_shared, ci_prob),
        gamma=bound_count(of_agreed, ci_prob) / n_agreed if n_agreed else None,
        expected=float(of_agreed @ np.arange(n_agreed + 1)) / n_agreed if n_agreed else None,
        hard=of_shared,
        hard_agreed=of_agreed,
    )


def count_successes(probability: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return the distribution of the number of successes in independent trials, averaged over samples.

    In each sample the number is Poisson-binomial. Its distribution is computed from the characteristic function, at as
    many frequencies as there are values to cover. Values more than 10 standard deviations plus 20 from the mean are
    left out; their total probability is below 1e-10.

    Parameters
    ----------
    probability : array, shape (sample, kind)
        The probability of success in a trial of each kind.
    times : array of int, shape (kind,)
        The number of trials of each kind.

    Returns
    -------
    array, shape (n + 1,)
        The probability of 0, 1, ..., n successes, n = times.sum().

    Examples
    --------
    >>> import numpy as np
    >>> count_successes(np.array([[0.5, 0.0], [1.0, 0.0]]), np.array([2, 3])).round(6)  # 0.25 0.5 0.25 and 0 0 1
    array([0.125, 0.25 , 0.625, 0.   , 0.   , 0.   ])
    """
    n = int(times.sum())
    p, times = probability[:, times > 0], times[times > 0]
    mean = p @ times  # (sample,)
    reach = 10 * np.sqrt((p * (1 - p)) @ times) + 20
    begin = np.maximum(np.floor(mean - reach), 0).astype(np.int64)
    end = np.minimum(np.ceil(mean + reach), n).astype(np.int64)
    width = int((end - begin).max()) + 1
    turn = np.exp(2j * np.pi * np.arange(width // 2 + 1) / width)  # (frequency,)
    total = np.zeros(n + width + 1)
    per_chunk = max(1, MAX_CELLS // turn.size)
    for chunk in (slice(first, first + per_chunk) for first in range(0, len(p), per_chunk)):
        characteristic = turn[None, :] ** -begin[chunk, None]  # (sample, frequency)
        for kind, count in enumerate(times):
            one = p[chunk, kind, None]
            characteristic *= (1 - one + one * turn) ** count
        pmf = np.fft.irfft(characteristic.conj(), n=width, axis=1).clip(min=0)  # (sample, successes - begin)
        np.add.at(total, begin[chunk, None] + np.arange(width), pmf)
    inside = total[: n + 1]
    return inside / inside.sum()
