"""Whether to believe a posterior: the numbers, and in plain language what they mean and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

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
    >>> from bayesanno.inference.diagnostics import explain
    >>> explain({"divergences": 1})[0].split(":")[0]
    '1 divergent transition'
    """
    modes = (diagnostics.get("modes") or {}).get("others", [])
    said = [_explain_mode(other) for other in modes]
    if not modes:  # with chains in several modes, R-hat and ESS only say so again
        said += _explain_mixing(diagnostics)
    said += diagnostics.get("remarks", [])  # the model's own
    divergences, bfmi = diagnostics.get("divergences"), diagnostics.get("min_bfmi")
    if divergences:
        said.append(
            f"{divergences} divergent transition{'s' if divergences > 1 else ''}: a part of the posterior is too "
            "narrow for the steps taken; raise target_accept (0.95, 0.99) and compare the results"
        )
    if bfmi is not None and bfmi < MIN_BFMI:
        said.append(
            f"E-BFMI is {bfmi:.2f} (should be at least {MIN_BFMI}): the tails are hardly explored; "
            "a narrower prior helps"
        )
    pareto_k = diagnostics.get("pareto_k")
    if pareto_k is not None and not pareto_k <= MAX_PARETO_K:
        said.append(
            f"the approximation is far from the posterior: Pareto k is {pareto_k:.2f} (should be at most "
            f"{MAX_PARETO_K}); means are often usable, intervals are not: use method 'nuts' where you can"
        )
    if diagnostics.get("converged") is False:
        said.append(
            f"the approximation was still improving after {diagnostics.get('advi_steps')} steps: raise advi_steps"
        )
    return said


def _explain_mode(other: dict[str, Any]) -> str:
    how = ""
    if "classes" in other:
        swapped = ", ".join(f"{there!r} stands for {here!r}" for there, here in other["classes"].items())
        how = f", with its classes swapped ({swapped})"
    elif "competence" in other:
        here, there = other["competence"]
        how = f", with annotators at {here:.2f} on average who are at {there:.2f} there"
    lower = other["nats_lower"]
    return (
        f"chain {other['chain']} is in another mode than the best chain, {lower:.{0 if lower >= 10 else 1}f} nats "
        f"lower in log density{how}: it explains the data differently, so do not average over the chains; drop this "
        "one, or fit again with another seed"
    )


def _explain_mixing(diagnostics: dict[str, Any]) -> list[str]:
    worst = diagnostics.get("worst", {})
    said = []
    rhat = diagnostics.get("max_rhat")
    if rhat is not None and rhat > MAX_RHAT:
        said.append(
            f"chains disagree: R-hat of {worst.get('max_rhat', 'a parameter')} is {rhat:.3f} (should be at most "
            f"{MAX_RHAT}); sample longer (tune, draws), and look at the chains one by one if that does not help"
        )
    for kind in ("bulk", "tail"):
        ess = diagnostics.get(f"min_ess_{kind}")
        if ess is not None and ess < MIN_ESS:
            said.append(
                f"few independent draws: the {kind} ESS of {worst.get('min_ess_' + kind, 'a parameter')} is "
                f"{ess:.0f} (should be at least {MIN_ESS:.0f}); sample longer (draws)"
            )
    return said
