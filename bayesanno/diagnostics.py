"""Whether to believe a posterior: the numbers, and in plain language what they mean and what to do next."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray

MAX_RHAT = 1.01  # Vehtari et al. 2021, doi:10.1214/20-BA1221
MIN_ESS = 400.0  # the same: 100 per chain, of four
MIN_BFMI = 0.3  # Betancourt 2016, arXiv:1604.00695
MAX_PARETO_K = 0.7  # Yao et al. 2018, arXiv:1802.02538


def diagnose(
    posterior: xarray.Dataset, sample_stats: xarray.Dataset, *, modes: dict[str, Any], relabelled_fraction: float
) -> dict[str, Any]:
    """Compute the diagnostics of a posterior, after relabelling.

    Returns
    -------
    dict
        `max_rhat`, `min_ess_bulk`, `min_ess_tail` over all parameters, each with the parameter it is of (`worst`);
        `divergences` (a count), `min_bfmi`, `relabelled_fraction`, and `modes` as `find_modes` gives them. What a
        method of fitting does not have is None.
    """
    import arviz_stats as azs

    sampled = "diverging" in sample_stats
    found: dict[str, Any] = dict.fromkeys(("max_rhat", "min_ess_bulk", "min_ess_tail"))
    worst: dict[str, str] = {}
    if sampled and posterior.sizes["draw"] >= 4:
        several = posterior.sizes["chain"] > 1
        extremes: dict[str, tuple[xarray.Dataset, Callable[..., Any]]] = {
            "min_ess_bulk": (azs.ess(posterior, method="bulk"), min),
            "min_ess_tail": (azs.ess(posterior, method="tail"), min),
        }
        if several:
            extremes["max_rhat"] = (azs.rhat(posterior), max)
        for name, (values, choose) in extremes.items():
            found[name], worst[name] = _extreme(values, choose)
    return found | {
        "worst": worst,
        "divergences": int(sample_stats["diverging"].sum()) if sampled else None,
        "min_bfmi": float(azs.bfmi(sample_stats).to_array().min()) if sampled and "energy" in sample_stats else None,
        "relabelled_fraction": float(relabelled_fraction),
        "modes": modes,
    }


def _extreme(values: xarray.Dataset, choose: Callable[..., Any]) -> tuple[float | None, str]:
    """Return the extreme over all elements of all variables and the name of that element; constants do not count."""
    candidates = []
    for name, variable in values.data_vars.items():
        array = np.where(np.isfinite(variable.values), variable.values, np.nan)
        if not np.isnan(array).all():
            flat = int(np.nanargmax(array) if choose is max else np.nanargmin(array))
            index = np.unravel_index(flat, array.shape) if array.ndim else ()
            where = ", ".join(str(variable[dim].values[i]) for dim, i in zip(variable.dims, index, strict=True))
            candidates.append((float(array[index]), f"{name}[{where}]" if where else str(name)))
    return choose(candidates) if candidates else (None, "")


def explain(diagnostics: dict[str, Any]) -> list[str]:
    """Say in plain language what the diagnostics warn of and what to do next; empty if all is well.

    Examples
    --------
    >>> from bayesanno.diagnostics import explain
    >>> explain({"max_rhat": 1.3, "worst": {"max_rhat": "accuracy[ada]"}})
    ['chains disagree: R-hat of accuracy[ada] is 1.300 (should be at most 1.01); sample longer (tune, draws), and look at the chains one by one if that does not help']
    """
    worst = diagnostics.get("worst", {})
    said = []
    others = (diagnostics.get("modes") or {}).get("others", [])
    for other in others:
        classes = other.get("classes")
        what = "with classes swapped (" + ", ".join(f"{a} as {b}" for a, b in classes.items()) + ")" if classes else ""
        said.append(
            f"chain {other['chain']} is in another mode {what + ' ' if what else ''}than the best chain, "
            f"{other['nats_lower']:.0f} nats lower in log density: it is a different explanation of the data, so do not "
            "average over the chains; drop this one, or fit again with another seed"
        )
    rhat, ess, tail = (diagnostics.get(name) for name in ("max_rhat", "min_ess_bulk", "min_ess_tail"))
    if rhat is not None and rhat > MAX_RHAT and not others:
        said.append(
            f"chains disagree: R-hat of {worst.get('max_rhat', 'a parameter')} is {rhat:.3f} (should be at most {MAX_RHAT}); "
            "sample longer (tune, draws), and look at the chains one by one if that does not help"
        )
    for name, value in (("bulk", ess), ("tail", tail)):
        if value is not None and value < MIN_ESS and not others:
            said.append(
                f"few independent draws: the {name} ESS of {worst.get('min_ess_' + name, 'a parameter')} is {value:.0f} "
                f"(should be at least {MIN_ESS:.0f}); sample longer (draws)"
            )
    divergences = diagnostics.get("divergences")
    if divergences:
        said.append(
            f"{divergences} divergent transition{'s' if divergences > 1 else ''}: a part of the posterior is too narrow "
            "for the steps taken; raise target_accept (0.95, 0.99) and compare the results"
        )
    bfmi = diagnostics.get("min_bfmi")
    if bfmi is not None and bfmi < MIN_BFMI:
        said.append(
            f"E-BFMI is {bfmi:.2f} (should be at least {MIN_BFMI}): the tails are hardly explored; a narrower prior helps"
        )
    pareto_k = diagnostics.get("pareto_k")
    if pareto_k is not None and pareto_k > MAX_PARETO_K:
        said.append(
            f"the approximation is far from the posterior: Pareto k is {pareto_k:.2f} (should be at most {MAX_PARETO_K}); "
            "means are often usable, intervals are not: use method='nuts' where you can"
        )
    if diagnostics.get("converged") is False:
        said.append("the approximation was still improving when its steps ran out: raise advi_steps")
    return said
