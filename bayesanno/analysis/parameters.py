"""Parameters: summaries of their draws, and diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from bayesanno.analysis.caution import view_for_table
from bayesanno.fits.view import FitView
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import azs, pd, xr
from bayesanno.ground.wording import listed, name_elements

HDI_PROB = 0.94  # also part of the column names
CiKind = Literal["hdi", "eti"]  # of an interval: of the highest density, or with equal tails
UNKNOWN_OF_A_POINT = ("sd", "hdi94_lb", "hdi94_ub")
DIAGNOSTICS = ("ess_bulk", "ess_tail", "r_hat")


def summary(fit: xr.DataTree | FitView, var_names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return ArviZ's summary of the parameters, unrounded.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    var_names : sequence of str, optional
        The variables to report; all by default.

    Returns
    -------
    pandas.DataFrame
        One row per parameter: `parameter`, `mean`, `sd`, `hdi94_lb`, `hdi94_ub`, `ess_bulk`, `ess_tail`, `r_hat`. The
        last three require Markov chains. A point estimate, such as EM's, has only its value, in `mean`.

    Raises
    ------
    FitError
        If a variable is not in the fit.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.summary(fit).nlargest(5, "r_hat")  # doctest: +SKIP
    """
    view = view_for_table(fit)
    known = [str(name) for name in view.posterior.data_vars]
    chosen = known if var_names is None else list(var_names)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise FitError(f"variable {unknown[0]!r} is not in this fit, which has {listed(known)}")
    if view.yields == "point":
        return _list_point(view, chosen)

    options: dict[str, Any] = {"kind": "stats", "ci_prob": HDI_PROB, "ci_kind": "hdi", "round_to": "none"}
    tables = []
    for name in chosen:  # one variable at a time: with several, ArviZ 1.3 mixes up the rows
        table = azs.summary(view.posterior[[name]], **options)
        values = convergence_of(view, name).values  # (diagnostic, ...)
        tables.append(table.assign(**dict(zip(DIAGNOSTICS, values.reshape(len(DIAGNOSTICS), -1), strict=True))))
    return pd.concat(tables).rename_axis("parameter").reset_index()


def _list_point(view: FitView, chosen: Sequence[str]) -> pd.DataFrame:
    """Return the summary of a point estimate: its values, without uncertainty."""
    names: list[str] = []
    values: list[np.ndarray] = []
    for name in chosen:
        point = view.posterior[name].isel(chain=0, draw=0)
        names += name_elements(name, [point[dim].values.tolist() for dim in point.dims])
        values.append(point.values.ravel())
    table = pd.DataFrame({"parameter": pd.Series(names, dtype="str"), "mean": np.concatenate(values)})
    return table.assign(**dict.fromkeys([*UNKNOWN_OF_A_POINT, *DIAGNOSTICS], np.nan))


def require_draws(view: FitView, what: str) -> FitView:
    """Return a view of a fit, or raise a FitError if it is a point estimate, since `what` requires draws."""
    if view.yields == "point":
        raise FitError(
            f"this fit by {view.tree.attrs['method']} is one point, and has no uncertainty: {what} takes "
            "draws of the posterior; fit by nuts"
        )
    return view


def describe_draws(draws: xr.DataArray, prob: float = HDI_PROB, kind: CiKind = "hdi") -> dict[str, np.ndarray]:
    """Return the mean, standard deviation and interval, by column name and in this order.

    For a single draw (a point estimate) the last three are nan.

    Parameters
    ----------
    draws : xarray.DataArray
        Dims (chain, draw, ...); the returned values have the remaining dims.
    prob : float
        The probability of the interval; the column names contain it as a percentage.
    kind : {"hdi", "eti"}
        Of the highest density, or with equal tails.
    """
    if draws.sizes["chain"] * draws.sizes["draw"] == 1:
        point = draws.isel(chain=0, draw=0).values
        return {"mean": point} | {name: np.full(point.shape, np.nan) for name in UNKNOWN_OF_A_POINT}

    find = azs.hdi if kind == "hdi" else azs.eti
    interval, percent = find(draws.rename("of").to_dataset(), prob=prob)["of"], f"{100 * prob:.6g}"
    return {
        "mean": draws.mean(("chain", "draw")).values,
        "sd": draws.std(("chain", "draw"), ddof=1).values,
        f"{kind}{percent}_lb": interval.sel(ci_bound="lower").values,
        f"{kind}{percent}_ub": interval.sel(ci_bound="upper").values,
    }


def convergence_of(view: FitView, name: str) -> xr.DataArray:
    """Return ESS and R-hat of a variable, dims (diagnostic, ...); nan for fits without them, such as approximations."""
    if view.convergence is not None:
        dims = view.posterior[name].transpose("chain", "draw", ...).dims[2:]
        return view.convergence[name].transpose("diagnostic", *dims)
    like = view.posterior[name].isel(chain=0, draw=0, drop=True)
    return xr.full_like(like, np.nan, dtype=float).expand_dims(diagnostic=list(DIAGNOSTICS))
