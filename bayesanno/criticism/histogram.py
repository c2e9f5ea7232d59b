"""Whether a fit of counts predicts the histogram of successes that was seen.

References
----------
A. Gelman, X.-L. Meng and H. Stern (1996), Posterior predictive assessment of model fitness via realized discrepancies,
Statistica Sinica 6, 733-807.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesanno.agreement.histograms import count_histogram, log_binomial_coefficients
from bayesanno.data.counts import CountData
from bayesanno.fits.view import view_of
from bayesanno.ground.validate import check_seed
from bayesanno.inference.bridge import require_counts
from bayesanno.modeling.posterior import log_likelihood_of

if TYPE_CHECKING:
    import pandas as pd
    import xarray

    from bayesanno.fits.view import FitView

ENOUGH_DRAWS = 1000  # for predictions: of a p-value the Monte Carlo error is then at most 0.016


@dataclass(frozen=True, kw_only=True, eq=False)
class HistogramCheck:
    """What a fit predicts of the histogram of successes, beside what was seen.

    Parameters
    ----------
    p_value : float
        P(the discrepancy of a replicated histogram is at least that of the data), both from the same draw's expected
        histogram. Near 0: the model does not explain the histogram. It is not uniform under the right model, but
        nearer to one half, since the same data were fitted.
    discrepancy, replicated : array, shape (draw,)
        Chi-square of the data, and of the replicate, from each draw's expected histogram.
    cells : DataFrame
        One row per number of successes: successes, observed, expected (the posterior mean), p_at_most and p_at_least
        (the probabilities that as few, or as many, items are predicted as were seen).
    """

    p_value: float
    discrepancy: np.ndarray
    replicated: np.ndarray
    cells: pd.DataFrame


def histogram_predictive_check(fit: xarray.DataTree | FitView, random_seed: int | None = None) -> HistogramCheck:
    """Ask whether a fit of counts predicts the histogram of successes (Gelman, Meng and Stern 1996).

        D(h, draw) = sum_j (h_j - E_j(draw))^2 / E_j(draw),      p = P(D(replicate, draw) >= D(data, draw))

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        Of `binomial_mixture`, `gaussian_mixture` or `diligent_lazy`; 1000 of its draws or a few more, evenly spaced,
        are taken.
    random_seed : int, optional

    Raises
    ------
    DataError
        If items have different numbers of trials.
    FitError
        If the fit is not of counts.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("counts")  # doctest: +SKIP
    >>> ba.histogram_predictive_check(fit, random_seed=1).p_value  # doctest: +SKIP
    """
    import pandas as pd

    check_seed(random_seed)
    view = view_of(fit)
    observed = count_histogram(require_counts(view))  # (bin,)
    trials, n_items = observed.size - 1, int(observed.sum())
    bins = np.arange(trials + 1)
    step = max(1, view.posterior.sizes["chain"] * view.posterior.sizes["draw"] // ENOUGH_DRAWS)
    thinned = view.posterior.isel(draw=slice(None, None, step))
    every = CountData(items=tuple(map(str, bins)), successes=bins, trials=np.full_like(bins, trials))
    ordered = log_likelihood_of(view.model, every, thinned, view.known)
    probability = np.exp(ordered.reshape(-1, trials + 1) + log_binomial_coefficients(trials))  # (draw, bin)
    probability /= probability.sum(axis=1, keepdims=True)  # of rounding errors
    replicates = np.random.default_rng(random_seed).multinomial(n_items, probability)  # (draw, bin)
    expected = n_items * probability
    discrepancy, replicated = (_chi_square(seen, expected) for seen in (observed, replicates))
    cells = pd.DataFrame(
        {
            "successes": bins,
            "observed": observed.astype(int),
            "expected": expected.mean(axis=0),
            "p_at_most": (replicates <= observed).mean(axis=0),
            "p_at_least": (replicates >= observed).mean(axis=0),
        }
    )
    return HistogramCheck(
        p_value=float((replicated >= discrepancy).mean()), discrepancy=discrepancy, replicated=replicated, cells=cells
    )


def _chi_square(seen: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return the chi-square of each draw; infinite where something was seen that could not be."""
    possible = expected > 0
    squares = (seen - expected) ** 2 / np.where(possible, expected, 1.0)  # (draw, bin)
    total: np.ndarray = np.where(possible, squares, np.where(seen > 0, np.inf, 0.0)).sum(axis=1)
    return total
