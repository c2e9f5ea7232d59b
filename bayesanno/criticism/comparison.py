"""How many types of items there are, as a Bayesian asks: histograms that fits predict, PSIS-LOO, marginal likelihoods.

The invariant: every log-likelihood here is that of the answers in their order, as the models of the zoo report it, and
never with the binomial coefficients of a histogram; so that models of counts compare with each other, and with those
that see who answered. What cannot be had honestly is nan, with the reason beside it.

References
----------
A. Gelman, X.-L. Meng and H. Stern (1996), Posterior predictive assessment of model fitness via realized discrepancies,
Statistica Sinica 6, 733-807.
A. Vehtari, A. Gelman and J. Gabry (2017), Practical Bayesian model evaluation using leave-one-out cross-validation and
WAIC, Statistics and Computing 27, 1413-1432, doi:10.1007/s11222-016-9696-4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesanno.agreement.histograms import count_histogram
from bayesanno.data.annotations import CountData
from bayesanno.fits.storage import fixed_of, model_of
from bayesanno.ground.errors import FitError
from bayesanno.ground.validate import check_seed
from bayesanno.inference.bridge import estimate_marginal_likelihood, require_counts
from bayesanno.inference.loo import leave_one_out
from bayesanno.modeling.likelihood import recover

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    import xarray

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


def check_histogram(fit: xarray.DataTree, random_seed: int | None = None) -> HistogramCheck:
    """Ask whether a fit of counts predicts the histogram of successes (Gelman, Meng and Stern 1996).

        D(h, draw) = sum_j (h_j - E_j(draw))^2 / E_j(draw),      p = P(D(replicate, draw) >= D(data, draw))

    Parameters
    ----------
    fit : xarray.DataTree
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
    >>> ba.check_histogram(fit, random_seed=1).p_value  # doctest: +SKIP
    """
    import pandas as pd
    from scipy.special import gammaln

    check_seed(random_seed)
    data = require_counts(fit)
    observed = count_histogram(data)  # (bin,)
    trials, n_items = observed.size - 1, int(observed.sum())
    bins = np.arange(trials + 1)
    posterior = fit["posterior"].to_dataset()
    step = max(1, posterior.sizes["chain"] * posterior.sizes["draw"] // ENOUGH_DRAWS)
    every = CountData(items=tuple(map(str, bins)), successes=bins, trials=np.full_like(bins, trials))
    ordered = recover(model_of(fit), every, posterior.isel(draw=slice(None, None, step)), fixed_of(fit)).log_likelihood
    assert ordered is not None
    orders = gammaln(trials + 1) - gammaln(bins + 1) - gammaln(trials - bins + 1)
    probability = np.exp(ordered.reshape(-1, trials + 1) + orders)  # (draw, bin)
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


def compare_type_numbers(fits: Sequence[xarray.DataTree], *, random_seed: int | None = None) -> pd.DataFrame:
    """Compare fits of the same counts with different numbers of item types.

    Parameters
    ----------
    fits : sequence of xarray.DataTree
        Fits of models of counts to the same data; no model with the same number of types twice.
    random_seed : int, optional

    Returns
    -------
    DataFrame
        One row per fit, by model and types. All log-likelihoods are of the answers in their order.

        - elpd_loo, se, p_loo, max_pareto_k: PSIS-LOO over items, unreliable where max_pareto_k is above 0.7.
        - elpd_diff, se_diff: elpd_loo less the best one's, and the standard error of that difference.
        - log_marginal, se_log_marginal: as `estimate_marginal_likelihood`. It rests on the priors.
        - p_types: posterior probability of the row among the rows, where all have equal prior odds; nan unless every
          row has a marginal likelihood.
        - p_predictive: as `check_histogram`.
        - reason: why something is nan.

    Raises
    ------
    FitError
        If there is no fit, one is not of counts, they are of different data, or one number of types is there twice.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fits = [ba.load(f"types{k}") for k in (1, 2, 3)]  # doctest: +SKIP
    >>> ba.compare_type_numbers(fits, random_seed=1)[["types", "elpd_diff", "p_types"]]  # doctest: +SKIP
    """
    import pandas as pd
    from scipy.special import softmax

    check_seed(random_seed)
    if not fits:
        raise FitError("there is no fit to compare")
    data, rows, pointwise = require_counts(fits[0]), [], []
    for fit in fits:
        entry = model_of(fit)
        if require_counts(fit).hash != data.hash:
            raise FitError("the fits are of different data: fit all models to the same counts")
        elpd = leave_one_out(fit)
        marginal = estimate_marginal_likelihood(fit, random_seed=random_seed)
        reasons, p_predictive = [marginal.reason], float("nan")
        if np.unique(data.trials).size == 1:
            p_predictive = check_histogram(fit, random_seed).p_value
        else:
            reasons.append("p_predictive: items have different numbers of trials, and no common histogram")
        pointwise.append(elpd.elpd_i.values)
        rows.append(
            {
                "model": entry.name,
                "types": len(entry.states(data)),
                "elpd_loo": float(elpd.elpd),
                "se": float(elpd.se),
                "p_loo": float(elpd.p),
                "max_pareto_k": float(np.max(elpd.pareto_k)),
                "elpd_diff": 0.0,
                "se_diff": 0.0,
                "log_marginal": marginal.value,
                "se_log_marginal": marginal.error,
                "p_types": float("nan"),
                "p_predictive": p_predictive,
                "reason": "; ".join(filter(None, reasons)),
            }
        )
    table = pd.DataFrame(rows)
    twice = table.duplicated(["model", "types"])
    if twice.any():
        model, types = table.loc[twice, ["model", "types"]].iloc[0]
        raise FitError(f"two fits are of {model} with {types} type{'s' if types > 1 else ''}: keep one of them")
    away = np.array(pointwise) - pointwise[int(table["elpd_loo"].argmax())]  # (fit, item)
    table["elpd_diff"], table["se_diff"] = away.sum(axis=1), np.sqrt(data.n_items) * away.std(axis=1)
    if table["log_marginal"].notna().all():
        table["p_types"] = softmax(table["log_marginal"].to_numpy())
    else:
        why = "p_types: not every fit here has a marginal likelihood"
        table["reason"] = [f"{reason}; {why}" if reason else why for reason in table["reason"]]
    return table.sort_values(["model", "types"], ignore_index=True)
