"""Diagnostics of a posterior as numbers. `bayesanno.inference.diagnosis.findings` lists what they show.

Nearly empty classes are examined separately: which bad mixing they cause, and whether everything else mixes. Chains
seldom agree on such a class, since its parameters follow the prior, and a few items are in it or not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bayesanno._core.chains import DIAGNOSTICS, measure_mixing
from bayesanno._core.intervals import choose_prob
from bayesanno._core.lazy import xr
from bayesanno.inference.diagnosis.thresholds import MAX_RHAT, MIN_ESS
from bayesanno.modeling.arguments import ITEM_TYPE

ROUNDING = 1e-9  # nats between equal log densities
MIN_DRAWS_TAIL = 30  # a fifth of them is the tail, and with fewer than six ArviZ has no Pareto k
MAX_DEPTH = ("maxdepth_reached", "reached_max_treedepth")  # whether a draw's path was cut off, in nutpie and in PyMC
EXTREMES = {"min_ess_bulk": ("ess_bulk", min), "min_ess_tail": ("ess_tail", min), "max_rhat": ("r_hat", max)}
FEW_ITEMS = 5.0  # expected in a class: with fewer, its rows of a confusion matrix are close to the prior
FEW_OF_ALL = 0.1  # largest share of all items in such a class: with few items, all classes are small
FAR = 0.1  # chains do not agree on an item if the probability of a state differs by more
SHARED = 20.0  # a class also counts as small if it has fewer than this many times the items it shares with such a class
MOST_NAMED = 5  # items that chains do not agree on


def measure_convergence(posterior: xr.Dataset) -> xr.Dataset:
    """Compute R-hat and ESS of every parameter, once for all uses.

    Parameters
    ----------
    posterior : xarray.Dataset
        Draws of chains, dims (chain, draw, ...).

    Returns
    -------
    xarray.Dataset
        For each variable of the posterior, dims ("diagnostic", ...): "ess_bulk" and "ess_tail", and "r_hat", which is
        nan for a single chain.

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> from bayesanno.inference.diagnosis.measures import measure_convergence
    >>> draws = np.random.default_rng(1).normal(size=(2, 500))
    >>> found = measure_convergence(xr.Dataset({"x": (("chain", "draw"), draws)}))
    >>> found["x"].dims, found["diagnostic"].values.tolist()
    (('diagnostic',), ['ess_bulk', 'ess_tail', 'r_hat'])
    """
    prob, found = choose_prob(None), {}
    for name, draws in posterior.data_vars.items():
        ordered = draws.transpose("chain", "draw", ...)
        found[name] = (("diagnostic", *ordered.dims[2:]), measure_mixing(ordered.values, prob))
    coords = {dim: values for dim, values in posterior.coords.items() if dim not in ("chain", "draw")}
    return xr.Dataset(found, coords={**coords, "diagnostic": list(DIAGNOSTICS)})


def measure_within_modes(posterior: xr.Dataset, groups: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """Compute R-hat and ESS among the chains that share a mode, if there are several modes.

    Parameters
    ----------
    posterior : xarray.Dataset
        Draws of chains, dims (chain, draw, ...).
    groups : sequence of sequence of int
        The chains of each mode by their position, the best mode first.

    Returns
    -------
    list of dict
        One for each group of two or more chains, and always for the best group: `chains`, and `max_rhat`,
        `min_ess_bulk`, `min_ess_tail` and `worst` as in `diagnose`.
    """
    if len(groups) == 1:
        return []
    measured = [sorted(group) for group in groups[:1]] + [sorted(group) for group in groups[1:] if len(group) > 1]
    return [{"chains": group} | find_extremes(measure_convergence(posterior.isel(chain=group))) for group in measured]


def find_pareto_k(log_ratio: np.ndarray) -> float | None:
    """Return the Pareto k of the ratios exp(log_ratio), (draw,), of a density and its approximation.

    None if there are too few draws for a tail.
    """
    finite = log_ratio[np.isfinite(log_ratio)]
    return None if finite.size < MIN_DRAWS_TAIL else smooth_ratios(finite)[1]


def smooth_ratios(log_ratio: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the logs of Pareto-smoothed weights, (draw,), and the Pareto k, from the logs of finite ratios."""
    from arviz_stats.base import array_stats

    if np.ptp(log_ratio) < ROUNDING:  # there is no tail
        return np.full(log_ratio.shape, -np.log(log_ratio.size)), -math.inf
    smoothed, k = array_stats.psislw(-log_ratio)  # it negates its argument itself
    return smoothed - np.logaddexp.reduce(smoothed), float(k)


def diagnose(
    convergence: xr.Dataset | None,
    sample_stats: xr.Dataset,
    *,
    modes: Mapping[str, Any],
    relabelled_fraction: float,
) -> dict[str, Any]:
    """Summarise the diagnostics of a posterior, after relabelling.

    Parameters
    ----------
    convergence : xarray.Dataset or None
        The result of `measure_convergence`, if the draws come from chains.

    Returns
    -------
    dict
        `max_rhat`, `min_ess_bulk`, `min_ess_tail` over all parameters, each with its parameter (`worst`); `n_chains`
        (for methods with chains) and the total `n_draws`; the counts `divergences` and `maxdepth_reached` (draws with
        truncated paths); `min_bfmi`, `relabelled_fraction`, and `modes` as in `record_modes`. Values that a method does
        not have are None.
    """
    cut_off = next((name for name in MAX_DEPTH if name in sample_stats), None)
    return find_extremes(convergence) | {
        "n_chains": None if convergence is None else sample_stats.sizes["chain"],
        "n_draws": sample_stats.sizes["chain"] * sample_stats.sizes["draw"],
        "divergences": int(sample_stats["diverging"].sum()) if "diverging" in sample_stats else None,
        "maxdepth_reached": None if cut_off is None else int(sample_stats[cut_off].sum()),
        "min_bfmi": _measure_bfmi(sample_stats["energy"]) if "energy" in sample_stats else None,
        "relabelled_fraction": float(relabelled_fraction),
        "modes": dict(modes),
    }


def _measure_bfmi(energy: xr.DataArray) -> float:
    """Return the lowest energy Bayesian fraction of missing information of a chain (doi:10.48550/arXiv.1604.00695)."""
    values = energy.transpose("chain", "draw").values
    with np.errstate(divide="ignore", invalid="ignore"):
        of_chains = np.square(np.diff(values, axis=1)).mean(axis=1) / values.var(axis=1, ddof=1)
    return float(xr.DataArray(of_chains).min())


def find_extremes(convergence: xr.Dataset | None) -> dict[str, Any]:
    """Return the worst R-hat and ESS in the result of `measure_convergence`, with their parameters."""
    found: dict[str, Any] = dict.fromkeys(EXTREMES)
    worst: dict[str, str] = {}
    if convergence is not None:
        for name, (diagnostic, choose) in EXTREMES.items():
            extreme, where = _extreme(convergence.sel(diagnostic=diagnostic, drop=True), choose)
            if extreme is not None:
                found[name], worst[name] = extreme, where
    return found | {"worst": worst}


def has_converged(found: Mapping[str, Any]) -> bool:
    """Whether chains agree and are long enough, by the R-hat and ESS of `find_extremes`.

    Examples
    --------
    >>> from bayesanno.inference.diagnosis.measures import has_converged
    >>> has_converged({"max_rhat": 1.002, "min_ess_bulk": 900.0, "min_ess_tail": 350.0})
    False
    """
    rhat, least = found["max_rhat"], [found["min_ess_bulk"], found["min_ess_tail"]]
    return (rhat is None or rhat <= MAX_RHAT) and all(ess is None or ess >= MIN_ESS for ess in least)


def _extreme(values: xr.Dataset, choose: Callable[..., Any]) -> tuple[float | None, str]:
    """Return the extreme over all elements of all variables and the name of that element, without constants."""
    candidates = []
    for name, variable in values.data_vars.items():
        array = np.where(np.isfinite(variable.values), variable.values, np.nan)
        if not np.isnan(array).all():
            flat = int(np.nanargmax(array) if choose is max else np.nanargmin(array))
            index = np.unravel_index(flat, array.shape) if array.ndim else ()
            where = ", ".join(str(variable[dim].values[i]) for dim, i in zip(variable.dims, index, strict=True))
            candidates.append((float(array[index]), f"{name}[{where}]" if where else str(name)))
    return choose(candidates) if candidates else (None, "")


def count_independent(n: np.ndarray | float, correlation: np.ndarray | float) -> np.ndarray:
    """Return the equivalent number of independent answers, at most n, for n answers with correlated errors.

    This is the design effect of L. Kish (1965), Survey Sampling, Wiley, section 5.4.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.diagnosis.measures import count_independent
    >>> count_independent(np.array([10.0, 10.0, 10.0]), np.array([0.0, 0.5, -0.1])).round(2).tolist()
    [10.0, 1.82, 10.0]
    """
    return np.divide(n, 1 + (np.asarray(n) - 1) * np.maximum(correlation, 0))


# -------------------------------------------------------------------------------------------- nearly empty classes


def add_rare(
    diagnostics: dict[str, Any], posterior: xr.Dataset, convergence: xr.Dataset, by_chain: Sequence[xr.DataArray]
) -> None:
    """Add `rare` to a fit's diagnostics, and to those of chains that share a mode, if `find_rare` finds any."""
    for found in [diagnostics, *diagnostics["modes"]["within"]]:
        chains = found.get("chains", slice(None))
        own = [values.isel(chain=chains) for values in by_chain]
        if has_converged(found) or not any(map(_find_small_classes, own)):  # R-hat of many parameters takes long
            continue
        among = measure_convergence(posterior.isel(chain=chains)) if "chains" in found else convergence
        if rare := find_rare(among, own):
            found["rare"] = rare


def find_rare(convergence: xr.Dataset, by_chain: Sequence[xr.DataArray]) -> dict[str, Any] | None:
    """Find the nearly empty classes that do not mix, and split R-hat and ESS into theirs and the rest.

    Parameters
    ----------
    convergence : xarray.Dataset
        R-hat and ESS of each parameter among some chains, as from `measure_convergence`.
    by_chain : sequence of xarray.DataArray
        The probability of each item's states in each of these chains, (chain, item, state), for each latent.

    Returns
    -------
    dict or None
        None if there are no such classes, or no other parameters. Otherwise `classes`, with the `name`, `dim` and
        expected `items` of each, fewest first; `n_items`; `max_rhat`, `min_ess_bulk`, `min_ess_tail` and `worst` of
        their parameters as from `find_extremes`, and the same for all other parameters as `rest`; `differ`, the number
        of items on which chains disagree, with a few of them as `named`.
    """
    classes = [
        found
        for values in by_chain
        for found in _find_small_classes(values)
        if not has_converged(find_extremes(_part(convergence, [found])[0]))
    ]
    own, rest = (find_extremes(part) for part in _part(convergence, classes))
    if not classes or rest["min_ess_bulk"] is None:
        return None
    differs = np.any([_moves(values.values).any(axis=1) for values in by_chain], axis=0)  # (item,)
    items = by_chain[0]["item"].values
    return own | {
        "classes": sorted(classes, key=lambda found: float(found["items"])),
        "n_items": items.size,
        "rest": rest,
        "differ": int(differs.sum()),
        "named": [str(item) for item in items[differs][:MOST_NAMED]],
    }


def _moves(by_chain: np.ndarray) -> np.ndarray:
    """Return whether chains disagree about an item being in a state, (item, state)."""
    return np.ptp(by_chain, axis=0) > FAR


def _find_small_classes(by_chain: xr.DataArray) -> list[dict[str, Any]]:
    """Return the nearly empty classes, and small ones that share items with them; none for item types."""
    dim = str(by_chain.dims[2])
    if dim == ITEM_TYPE:
        return []
    size, moves = by_chain.values.mean(axis=0).sum(axis=0), _moves(by_chain.values)  # (class,), (item, class)
    few = (size < FEW_ITEMS) & (size <= FEW_OF_ALL * size.sum())
    shared = moves[moves[:, few].any(axis=1)].sum(axis=0)  # (class,)
    small = np.flatnonzero(few | (size < SHARED * shared))
    return [{"name": str(by_chain[dim].values[at]), "dim": dim, "items": float(size[at])} for at in small]


def _part(convergence: xr.Dataset, classes: Sequence[Mapping[str, Any]]) -> tuple[xr.Dataset, xr.Dataset]:
    """Return the values of these classes, and all others; omitted values are nan."""
    own, rest = {}, {}
    for name, variable in convergence.data_vars.items():
        is_own = xr.zeros_like(variable, dtype=bool)
        for found in classes:
            if found["dim"] in variable.dims:
                is_own = is_own | (variable[found["dim"]] == found["name"])
        own[name], rest[name] = variable.where(is_own), variable.where(~is_own)
    return xr.Dataset(own), xr.Dataset(rest)
