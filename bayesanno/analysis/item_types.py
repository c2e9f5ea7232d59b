"""Item types: a table of them, and their posterior as the prior of another fit."""

from __future__ import annotations

from typing import Any

from bayesanno._core.intervals import CiKind
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import FitError
from bayesanno.analysis.parameters import describe_draws
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.view import FitView, view_of
from bayesanno.modeling.arguments import ITEM_TYPE
from bayesanno.modeling.item_types import ItemTypeModel
from bayesanno.modeling.posterior import compile_formula


def type_table(fit: xr.DataTree | FitView, *, ci_prob: float | None = None, ci_kind: CiKind = None) -> pd.DataFrame:
    """Return the posterior of each item type: its number of items and its rate of positive answers.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of a model of item types, such as `binomial_mixture`.
    ci_prob, ci_kind
        As in `summary`.

    Returns
    -------
    pandas.DataFrame
        One row per type: `item_type`; `<name>_mean`, `<name>_sd`, `<name>_eti89_lb` and `<name>_eti89_ub` for each
        parameter of types (`weight`, `rate`, ...) and for `expected_items`, the expected number of items of the type
        given the parameters and the answers; and `hard_type_probability`, the probability that this is the hard type,
        the one with its rate nearest to one half.

    Raises
    ------
    FitError
        If the model has no item types.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("types")  # doctest: +SKIP
    >>> ba.type_table(fit)[["item_type", "weight_mean", "rate_mean", "hard_type_probability"]]  # doctest: +SKIP
    """
    view = view_for_table(fit)
    model, posterior = view.model, view.posterior
    if not isinstance(model, ItemTypeModel):
        raise FitError(f"{model.name} has no item types: see label_table(fit)")
    names = list(model.states(view.data))
    like = xr.zeros_like(posterior["chain"] + posterior["draw"], dtype=float)  # (chain, draw)
    found = {}
    for name, values in view.known.items():  # every draw has the same
        found[name] = like + xr.DataArray(values, dims=ITEM_TYPE, coords={ITEM_TYPE: names})
    found |= {
        str(name): variable for name, variable in posterior.data_vars.items() if variable.dims[2:] == (ITEM_TYPE,)
    }
    found = {name: found[name] for name in sorted(found, key=lambda name: name != "weight")}  # the weights first
    nearest = abs(model.rate_of(found, view.data) - 0.5).argmin(ITEM_TYPE)  # (chain, draw)
    found["expected_items"] = compile_formula(model, view.data, posterior, view.known).count_states()
    table: dict[str, Any] = {ITEM_TYPE: pd.Series([str(name) for name in names], dtype="str")}
    for name, draws in found.items():
        table |= {f"{name}_{what}": values for what, values in describe_draws(draws, ci_prob, ci_kind).items()}
    table["hard_type_probability"] = [float((nearest == code).mean()) for code in range(model.n_types)]
    return pd.DataFrame(table)


def moments_of(fit: xr.DataTree | FitView) -> dict[str, Any]:
    """Return the posterior of the item types as prior means, and prior strengths that give the same variance.

    A Beta with mean m and strength s has variance m (1 - m) / (s + 1). For a Dirichlet this holds for the sum of parts.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of `binomial_mixture`.

    Returns
    -------
    dict
        `weight_mean`, `rate_mean`, `rate_strength` (tuples), and `weight_strength` if there are several types.

    Raises
    ------
    FitError
        If the model has no item types with rates.
    """
    view = view_of(fit)
    name, posterior = view.tree.attrs.get("model"), view.posterior
    if name is None or "rate" not in posterior:
        raise FitError(f"item types with rates come from a fit of binomial_mixture, not of {name}")
    mean, variance = posterior.mean(("chain", "draw")), posterior.var(("chain", "draw"))
    rate = mean["rate"].values  # (item_type,)
    found = {
        "rate_mean": tuple(rate.tolist()),
        "rate_strength": tuple((rate * (1 - rate) / variance["rate"].values - 1).tolist()),
    }
    if "weight" not in posterior:
        return {"weight_mean": (1.0,), **found}
    weight = mean["weight"].values  # (item_type,)
    strength = (weight * (1 - weight)).sum() / variance["weight"].values.sum() - 1
    return {"weight_mean": tuple(weight.tolist()), "weight_strength": float(strength), **found}
