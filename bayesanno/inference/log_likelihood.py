"""Leave-one-out cross-validation of a fit, per item, and the log-likelihoods it requires."""

from __future__ import annotations

import warnings
from hashlib import blake2b
from typing import Any

import numpy as np

from bayesanno._core.lazy import azs, pd, xr
from bayesanno._core.messages import FitError
from bayesanno.fits.storage import log_likelihood_group
from bayesanno.fits.view import FitView, view_of
from bayesanno.inference.diagnosis.findings import read_findings, store_findings
from bayesanno.inference.diagnosis.measures import MIN_DRAWS_TAIL
from bayesanno.modeling.posterior import compile_formula

SAME = 1e-9  # nats: smaller differences over all draws are due to rounding


def compute_log_likelihood(fit: xr.DataTree | FitView) -> xr.DataTree:
    """Return a fit with the group `log_likelihood`, log p(an item's annotations | parameters) per draw and item.

    Fits have this group unless it is larger than 2 GiB. In that case compute it here, with enough memory or from fewer
    draws.

    Parameters
    ----------
    fit : xarray.DataTree or FitView

    Returns
    -------
    xarray.DataTree
        The fit with the group, or the fit itself if it already has the group.

    Raises
    ------
    FitError
        If the tree is not a fit by bayesanno.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("large")  # doctest: +SKIP
    >>> thinned = ba.inference.compute_log_likelihood(fit.isel(draw=slice(None, None, 10)))  # doctest: +SKIP
    """
    view = view_of(fit)
    model, data, posterior = view.model, view.data, view.posterior
    if "log_likelihood" in view.tree.children:
        return view.tree
    values = compile_formula(model, data, posterior, view.known).log_likelihood()
    whole = view.tree.copy()
    whole["log_likelihood"] = type(whole)(log_likelihood_group(model, data, posterior, values))
    store_findings(whole, [one for one in read_findings(view) if one.code != "no-log-likelihood"])
    return whole


def leave_one_out(fit: xr.DataTree | FitView) -> Any:
    """Return PSIS-LOO over the items of a fit (Vehtari, Gelman and Gabry 2017).

    Some items have the same likelihood in every draw: those without answers, and in some models those with one. Leaving
    them out does not change the posterior, and there is no tail to smooth. `arviz.loo` fails for them, with "All tail
    values are the same". Here their elpd is that log-likelihood, and their Pareto k is -inf.

    Parameters
    ----------
    fit : xarray.DataTree or FitView

    Returns
    -------
    arviz_stats.ELPDData
        With `elpd`, `se` and `p`, and per item `elpd_i` and `pareto_k`; items above `good_k` are unreliable. With S
        draws it is min(1 - 1/log10(S), 0.7), ArviZ's threshold (Vehtari et al. 2024).

    Raises
    ------
    FitError
        If the log-likelihoods were left out for their size, the fit is a point estimate, or it has too few draws.
    """
    view = view_of(fit)
    if view.yields == "point":
        raise FitError(
            f"this fit by {view.tree.attrs['method']} is one point, and leave-one-out needs draws of the posterior: "
            "fit by nuts"
        )
    if "log_likelihood" not in view.tree.children:
        raise FitError(
            f"this fit of {view.model.name} has no log_likelihood, which leave-one-out needs: use "
            "compute_log_likelihood(fit)"
        )
    tree, group = view.tree, view.tree["log_likelihood"].to_dataset()
    (logp,) = group.data_vars.values()  # (chain, draw, item)
    first, back = _find_equal(logp.values)  # equal items are computed once
    one_of_each = logp.isel(item=first)
    varies = np.ptp(one_of_each.values, axis=(0, 1)) > SAME  # (item,), of one of each
    if (n_draws := logp[..., 0].size) < MIN_DRAWS_TAIL and varies.any():
        raise FitError(f"leave-one-out needs {MIN_DRAWS_TAIL} draws or more, and this fit has {n_draws}: fit with more")
    weights: dict[str, xr.DataArray] = {}
    with warnings.catch_warnings():  # the result has the Pareto k of each item
        warnings.filterwarnings("ignore", "Estimated shape parameter of Pareto", UserWarning)
        warnings.filterwarnings("ignore", "The point-wise LOO is the same", UserWarning)  # of one item it is
        if not varies.all():  # equal weights for constant items, and those of ArviZ for others
            weights["log_weights"] = xr.full_like(one_of_each, -np.log(logp[..., 0].size))
            weights["pareto_k"] = xr.full_like(one_of_each.isel(chain=0, draw=0, drop=True), -np.inf)
            if varies.any():
                found = azs.loo(_with_items(tree, first[varies]), pointwise=True)
                for what, values in weights.items():
                    values.loc[{"item": one_of_each["item"].values[varies]}] = getattr(found, what).transpose(
                        *values.dims
                    )
        found = azs.loo(_with_items(tree, first), pointwise=True, **weights)
    return found if len(first) == len(back) else _repeat(found, one_of_each, back, logp["item"])


def count_high(elpd: Any) -> int:
    """Return the number of items whose Pareto k is above ArviZ's threshold for that number of draws."""
    return int((elpd.pareto_k.values > elpd.good_k).sum())


def _with_items(tree: xr.DataTree, items: np.ndarray) -> xr.DataTree:
    """Return a fit with the log-likelihoods of some items alone, by their numbers."""
    some = tree.copy()
    some["log_likelihood"] = type(tree)(tree["log_likelihood"].to_dataset().isel(item=items))
    return some


def _repeat(found: Any, logp: xr.DataArray, back: np.ndarray, items: xr.DataArray) -> Any:
    """Make leave-one-out of all items from that of one of each set of equal ones; back is each item's set."""
    from scipy.special import logsumexp

    lppd = logsumexp(
        logp.transpose(..., "item").values, axis=(0, 1), b=1 / logp[..., 0].size
    )  # (item,), of one of each
    p_loo = (lppd - found.elpd_i).isel(item=back)
    for what in ("elpd_i", "pareto_k", "log_weights"):
        setattr(found, what, getattr(found, what).isel(item=back).assign_coords(item=items))
    found.elpd, found.se, found.p, _ = found.elpd_i.azstats.loo_summary(p_loo)
    found.n_data_points = len(back)
    return found


def _find_equal(logp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first of each set of items that are equal in all draws, and the number of the set of each item."""
    names = [blake2b(np.ascontiguousarray(logp[:, :, item])).digest() for item in range(logp.shape[2])]
    back, _ = pd.factorize(np.array(names, dtype=object))
    return np.unique(back, return_index=True)[1], back
