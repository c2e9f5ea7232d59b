"""Parameters: summaries of their draws, and diagnostics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesanno._core.chains import DIAGNOSTICS, measure_errors
from bayesanno._core.intervals import CiKind, choose_interval, name_bounds
from bayesanno._core.lazy import azs, pd, xr
from bayesanno._core.messages import FitError, as_names, listed, name_elements
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.view import FitView


def summary(
    fit: xr.DataTree | FitView,
    var_names: str | Sequence[str] | None = None,
    *,
    ci_prob: float | None = None,
    ci_kind: CiKind = None,
) -> pd.DataFrame:
    """Return ArviZ's summary of the parameters, unrounded.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    var_names : str or sequence of str, optional
        The variables to report; all by default.
    ci_prob, ci_kind
        The probability and the kind of the intervals: "eti", equal tails, or "hdi", the highest density. They name the
        columns: `eti89_lb`, `hdi94_ub`. The default is ArviZ's, which `arviz.rcParams["stats.ci_prob"] = 0.94` and
        `arviz.rcParams["stats.ci_kind"] = "hdi"` change for all functions.

    Returns
    -------
    pandas.DataFrame
        One row per parameter: `parameter`, `mean`, `sd`, `eti89_lb`, `eti89_ub`, `ess_bulk`, `ess_tail`, `r_hat`,
        `mcse_mean` and `mcse_sd`, the Monte Carlo standard errors of the mean and sd. The last five require Markov
        chains. A point estimate, such as EM's, has only its value, in `mean`.

    Raises
    ------
    FitError
        If a variable is not in the fit.
    DataError
        If there is no such interval.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.summary(fit).nlargest(5, "r_hat")  # doctest: +SKIP
    """
    view = view_for_table(fit)
    known = [str(name) for name in view.posterior.data_vars]
    chosen = known if var_names is None else as_names(var_names)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise FitError(f"variable {unknown[0]!r} is not in this fit, which has {listed(known)}")
    tables = []
    for name in chosen:
        draws = view.posterior[name].transpose("chain", "draw", ...)
        found = describe_draws(draws, ci_prob, ci_kind)
        found |= dict(zip(DIAGNOSTICS, convergence_of(view, name).values, strict=True))
        errors = np.where(np.isfinite(found["ess_bulk"]), measure_errors(draws.values), np.nan)
        found |= dict(zip(("mcse_mean", "mcse_sd"), errors, strict=True))
        names = name_elements(name, [draws[dim].values.tolist() for dim in draws.dims[2:]])
        table = pd.DataFrame({"parameter": names}, dtype="str")
        tables.append(table.assign(**{what: np.ravel(values) for what, values in found.items()}))
    return pd.concat(tables, ignore_index=True)


def require_draws(view: FitView, what: str) -> FitView:
    """Return a view of a fit, or raise a FitError if it is a point estimate, since `what` requires draws."""
    if view.yields == "point":
        raise FitError(
            f"this fit by {view.tree.attrs['method']} is one point, and has no uncertainty: {what} takes "
            "draws of the posterior; fit by nuts"
        )
    return view


def describe_draws(draws: xr.DataArray, ci_prob: float | None = None, ci_kind: CiKind = None) -> dict[str, np.ndarray]:
    """Return the mean, standard deviation and interval, by column name and in this order.

    For a single draw (a point estimate) the last three are nan.

    Parameters
    ----------
    draws : xarray.DataArray
        Dims (chain, draw, ...); the returned values have the remaining dims.
    ci_prob, ci_kind
        As in `summary`.
    """
    prob, kind = choose_interval(ci_prob, ci_kind)
    lower, upper = name_bounds(kind, prob)
    if draws.sizes["chain"] * draws.sizes["draw"] == 1:
        point = draws.isel(chain=0, draw=0).values
        return {"mean": point} | {name: np.full(point.shape, np.nan) for name in ("sd", lower, upper)}

    if kind == "hdi":
        interval = azs.hdi(draws.rename("of").to_dataset(), prob=prob)["of"]
        low, high = (interval.sel(ci_bound=of).values for of in ("lower", "upper"))
    else:
        outside = (1 - prob) / 2
        low, high = np.quantile(draws.transpose("chain", "draw", ...).values, [outside, 1 - outside], axis=(0, 1))
    return {
        "mean": draws.mean(("chain", "draw")).values,
        "sd": draws.std(("chain", "draw"), ddof=1).values,
        lower: low,
        upper: high,
    }


def convergence_of(view: FitView, name: str) -> xr.DataArray:
    """Return ESS and R-hat of a variable, dims (diagnostic, ...); nan for fits without them, such as approximations."""
    if view.convergence is not None:
        dims = view.posterior[name].transpose("chain", "draw", ...).dims[2:]
        return view.convergence[name].transpose("diagnostic", *dims)
    like = view.posterior[name].isel(chain=0, draw=0, drop=True)
    return xr.full_like(like, np.nan, dtype=float).expand_dims(diagnostic=list(DIAGNOSTICS))
