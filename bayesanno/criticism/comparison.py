"""How many types of items there are, as a Bayesian asks: PSIS-LOO, marginal likelihoods, predictive p-values.

The invariant: every log-likelihood here is that of the answers in their order, as the models of the zoo report it, and
never with the binomial coefficients of a histogram; so that models of counts compare with each other, and with those
that see who answered. What cannot be had honestly is nan, with the reason beside it.

References
----------
A. Vehtari, A. Gelman and J. Gabry (2017), Practical Bayesian model evaluation using leave-one-out cross-validation and
WAIC, Statistics and Computing 27, 1413-1432, doi:10.1007/s11222-016-9696-4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesanno.criticism.histogram import histogram_predictive_check
from bayesanno.fits.view import view_of
from bayesanno.ground.errors import FitError
from bayesanno.ground.validate import check_seed
from bayesanno.inference.bridge import estimate_marginal_likelihood, require_counts
from bayesanno.inference.loo import leave_one_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    import xarray

    from bayesanno.fits.view import FitView


def compare_n_types(fits: Sequence[xarray.DataTree | FitView], *, random_seed: int | None = None) -> pd.DataFrame:
    """Compare fits of the same counts with different numbers of item types.

    Parameters
    ----------
    fits : sequence of xarray.DataTree or FitView
        Fits of models of counts to the same data; no model with the same number of types twice.
    random_seed : int, optional

    Returns
    -------
    DataFrame
        One row per fit, by model and types. All log-likelihoods are of the answers in their order.

        - elpd_loo, se, p_loo, max_pareto_k: PSIS-LOO over items, unreliable where max_pareto_k is above 0.7. Items
          without answers count with an elpd of 0 and a Pareto k of -inf.
        - elpd_diff, se_diff: elpd_loo less the best one's, and the standard error of that difference.
        - log_marginal, se_log_marginal: as `estimate_marginal_likelihood`. It rests on the priors.
        - p_types: posterior probability of the row among the rows, where all have equal prior odds; nan unless every
          row has a marginal likelihood.
        - p_predictive: as `histogram_predictive_check`.
        - reason: why something is nan.

    Raises
    ------
    FitError
        If there is no fit, one is not of counts, they are of different data, or one number of types is there twice.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fits = [ba.load(f"types{k}") for k in (1, 2, 3)]  # doctest: +SKIP
    >>> ba.compare_n_types(fits, random_seed=1)[["types", "elpd_diff", "p_types"]]  # doctest: +SKIP
    """
    import pandas as pd
    from scipy.special import softmax

    check_seed(random_seed)
    if not fits:
        raise FitError("there is no fit to compare")
    views = [view_of(fit) for fit in fits]
    data, rows, pointwise = require_counts(views[0]), [], []
    for view in views:
        if require_counts(view).hash != data.hash:
            raise FitError("the fits are of different data: fit all models to the same counts")
        elpd = leave_one_out(view)
        marginal = estimate_marginal_likelihood(view, random_seed=random_seed)
        reasons, p_predictive = [marginal.reason], float("nan")
        if np.unique(data.trials).size == 1:
            p_predictive = histogram_predictive_check(view, random_seed).p_value
        else:
            reasons.append("p_predictive: items have different numbers of trials, and no common histogram")
        pointwise.append(elpd.elpd_i.values)
        rows.append(
            {
                "model": view.model.name,
                "types": len(view.model.states(data)),
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
