"""Whether to believe a posterior: the numbers, and in plain language what they mean and what to do next."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.ground.lazy import xr
from bayesanno.ground.wording import counted, enumerated
from bayesanno.inference.modes.chain_modes import MAX_RHAT
from bayesanno.inference.modes.explore import LEAST_MASS
from bayesanno.inference.modes.found_modes import explain_modes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import xarray

MIN_ESS = 400.0  # the same: 100 per chain, of four
MIN_BFMI = 0.3  # Betancourt 2016, arXiv:1604.00695
HARDLY_LOWER = 3.0  # nats: the other mode may well have a twentieth of the mass
MAX_PARETO_K = 0.7  # Yao et al. 2018, arXiv:1802.02538
ROUNDING = 1e-9  # nats: of log densities that are equal
MIN_DRAWS = 4  # ArviZ has no R-hat and no ESS of fewer
MAX_DEPTH_SHARE = 0.05  # of the draws; PyMC's threshold (pymc.stats.convergence.warn_treedepth)
MAX_DEPTH = ("maxdepth_reached", "reached_max_treedepth")  # whether a draw's path was cut off, in nutpie and in PyMC
EXTREMES = {"min_ess_bulk": ("ess_bulk", min), "min_ess_tail": ("ess_tail", min), "max_rhat": ("r_hat", max)}


def measure_convergence(posterior: xarray.Dataset) -> xarray.Dataset:
    """Compute R-hat and ESS of every parameter, once for all that reads them.

    Parameters
    ----------
    posterior : xarray.Dataset
        Draws of chains, dims (chain, draw, ...).

    Returns
    -------
    xarray.Dataset
        For each variable of the posterior, dims ("diagnostic", ...): "ess_bulk" and "ess_tail", and "r_hat", which is
        nan of one chain.

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> from bayesanno.inference.diagnosis.measures import measure_convergence
    >>> draws = np.random.default_rng(1).normal(size=(2, 500))
    >>> found = measure_convergence(xr.Dataset({"x": (("chain", "draw"), draws)}))
    >>> found["x"].dims, found["diagnostic"].values.tolist()
    (('diagnostic',), ['ess_bulk', 'ess_tail', 'r_hat'])
    """
    import arviz_stats as azs

    unknown = xr.full_like(posterior.isel(chain=0, draw=0, drop=True), np.nan, dtype=float)
    found = {"ess_bulk": unknown, "ess_tail": unknown, "r_hat": unknown}
    if posterior.sizes["draw"] >= MIN_DRAWS:
        found |= {"ess_bulk": azs.ess(posterior, method="bulk"), "ess_tail": azs.ess(posterior, method="tail")}
        if posterior.sizes["chain"] > 1:
            found["r_hat"] = azs.rhat(posterior)
    return concat_datasets(list(found.values()), "diagnostic", list(found))


def measure_within_modes(posterior: xarray.Dataset, groups: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """Compute R-hat and ESS among the chains that share a mode, where there are several modes.

    Parameters
    ----------
    posterior : xarray.Dataset
        Draws of chains, dims (chain, draw, ...).
    groups : sequence of sequence of int
        The chains of each mode by their position, the best mode first.

    Returns
    -------
    list of dict
        One of each group of two chains or more, and of the best one in any case: `chains`, and `max_rhat`,
        `min_ess_bulk`, `min_ess_tail` and `worst` as `diagnose` gives them.
    """
    if len(groups) == 1:
        return []
    measured = [sorted(group) for group in groups[:1]] + [sorted(group) for group in groups[1:] if len(group) > 1]
    return [{"chains": group} | find_extremes(measure_convergence(posterior.isel(chain=group))) for group in measured]


def concat_datasets(parts: Sequence[xarray.Dataset], dim: str, names: Sequence[Any]) -> xarray.Dataset:
    """Put datasets side by side along a dimension, numbered anew; of the variables, those that all have."""
    shared = [name for name in parts[0].data_vars if all(name in part for part in parts)]
    whole: xarray.Dataset = xr.concat([part[shared] for part in parts], dim=dim)
    return whole.assign_coords({dim: list(names)})


def find_pareto_k(log_ratio: np.ndarray) -> float:
    """Return the Pareto k of the ratios exp(log_ratio) of a density and what is to stand for it, shape (draw,)."""
    from arviz_stats.base import array_stats

    finite = log_ratio[np.isfinite(log_ratio)]
    if finite.size and np.ptp(finite) < ROUNDING:
        return -math.inf  # the approximation is the posterior: there is no tail
    return float(array_stats.psislw(-finite)[1])  # it negates its argument itself


def diagnose(
    convergence: xarray.Dataset | None,
    sample_stats: xarray.Dataset,
    *,
    chain_modes: dict[str, Any],
    relabelled_fraction: float,
) -> dict[str, Any]:
    """Sum up the diagnostics of a posterior, after relabelling.

    Parameters
    ----------
    convergence : xarray.Dataset or None
        As `measure_convergence` gives it, if the draws are of chains.

    Returns
    -------
    dict
        `max_rhat`, `min_ess_bulk`, `min_ess_tail` over all parameters, each with the parameter it is of (`worst`);
        `n_chains` (of a method that has chains) and `n_draws` of all of them; `divergences` and `maxdepth_reached`
        (draws whose path was cut off; counts), `min_bfmi`, `relabelled_fraction`, and `chain_modes` as
        `find_chain_modes` gives them. What a method of fitting does not have is None.
    """
    import arviz_stats as azs

    cut_off = next((name for name in MAX_DEPTH if name in sample_stats), None)
    return find_extremes(convergence) | {
        "n_chains": None if convergence is None else sample_stats.sizes["chain"],
        "n_draws": sample_stats.sizes["chain"] * sample_stats.sizes["draw"],
        "divergences": int(sample_stats["diverging"].sum()) if "diverging" in sample_stats else None,
        "maxdepth_reached": None if cut_off is None else int(sample_stats[cut_off].sum()),
        "min_bfmi": float(azs.bfmi(sample_stats).to_array().min()) if "energy" in sample_stats else None,
        "relabelled_fraction": float(relabelled_fraction),
        "chain_modes": chain_modes,
    }


def find_extremes(convergence: xarray.Dataset | None) -> dict[str, Any]:
    """Return the worst R-hat and ESS of what `measure_convergence` gives, and which parameters they are of."""
    found: dict[str, Any] = dict.fromkeys(EXTREMES)
    worst: dict[str, str] = {}
    if convergence is not None:
        for name, (diagnostic, choose) in EXTREMES.items():
            extreme, where = _extreme(convergence.sel(diagnostic=diagnostic, drop=True), choose)
            if extreme is not None:
                found[name], worst[name] = extreme, where
    return found | {"worst": worst}


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
    >>> from bayesanno.inference.diagnosis.measures import explain
    >>> explain({"divergences": 1})[0].split(":")[0]
    '1 divergent transition'
    """
    modes = diagnostics.get("chain_modes") or {}
    problems = explain_modes(diagnostics["modes"], diagnostics.get("max_rhat")) if "modes" in diagnostics else []
    told = {chain for mode in diagnostics.get("modes", {}).get("found", [])[1:] for chain in mode["chains"]}
    problems += [_explain_mode(other) for other in modes.get("others", []) if other["chain"] not in told]
    for method in ("em", "vb"):
        if method in diagnostics:
            problems += _explain_climb(method.upper(), diagnostics[method])
    if "combination" in diagnostics:
        problems += _explain_combination(diagnostics["combination"])
    if not problems or diagnostics.get("modes", {}).get("rough"):  # rough modes may be none, and chains just slow
        problems += _explain_mixing(diagnostics)
    for group in modes.get("within", []):  # of all chains, R-hat and ESS would only say again that there are modes
        problems += _explain_mixing_within(group)
    if diagnostics.get("n_chains") == 1:
        problems.append(
            "one chain: R-hat, which compares chains, does not exist, and a mode that this chain has not found does "
            "not show: fit with several (chains=4)"
        )
    problems += diagnostics.get("remarks", [])  # the model's own
    divergences, bfmi = diagnostics.get("divergences"), diagnostics.get("min_bfmi")
    if divergences:
        problems.append(
            f"{divergences} divergent transition{'s' if divergences > 1 else ''}: a part of the posterior is too "
            "narrow for the steps taken; raise target_accept (0.9, 0.99) and compare the results"
        )
    cut_off, n_draws = diagnostics.get("maxdepth_reached"), diagnostics.get("n_draws")
    if cut_off and n_draws and cut_off > MAX_DEPTH_SHARE * n_draws:
        problems.append(
            f"{cut_off} of {n_draws} draws ({cut_off / n_draws:.0%}) reached the maximum tree depth: their paths were "
            "cut off, so that the chains move slowly; the draws are not wrong, but dependent: believe them if R-hat "
            "and ESS are good, otherwise a longer tune or a narrower prior helps"
        )
    if bfmi is not None and bfmi < MIN_BFMI:
        problems.append(
            f"E-BFMI is {bfmi:.2f} (should be at least {MIN_BFMI}): the tails are hardly explored; "
            "a narrower prior helps"
        )
    pareto_k = diagnostics.get("pareto_k")
    if pareto_k is not None and not pareto_k <= MAX_PARETO_K:
        problems.append(
            f"the approximation is far from the posterior: Pareto k is {pareto_k:.2f} (should be at most "
            f"{MAX_PARETO_K}); means are often usable, intervals are not: use method 'nuts' where you can"
        )
    if diagnostics.get("converged") is False:
        problems.append(
            f"the approximation was still improving after {diagnostics.get('steps')} steps: allow more, by "
            "method_options={'steps': ...} (--method-option steps=...)"
        )
    return problems


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
        f"lower in log density{how}: it explains the data differently, so do not average over the chains; which mode "
        "holds more of the posterior's mass is another question: bayesanno.split_modes(fit) estimates it, "
        "bayesanno.combine_modes(fit) weighs the chains by it"
    )


def _explain_climb(method: str, found: dict[str, Any]) -> list[str]:
    """Say why what EM or variational Bayes found may not be the best there is, or not all."""
    problems = []
    if not found["converged"]:
        problems.append(
            f"{method} was still moving after {found['steps']} steps, by {found['change']:.1g} in the last one: allow "
            "more, by method_options={'steps': ...} (--method-option steps=...), or a larger tolerance"
        )
    if found["restarts"] > 1 and found["agreed"] == 1:
        problems.append(
            f"of {found['restarts']} starts only one ended at the best point that {method} found, the next "
            f"{found['others'][0]['nats_lower']:.2g} nats lower: a better one may be there; take more restarts "
            "(--method-option restarts=...)"
        )
    if "elbo" in found:  # e to the difference is, roughly, how the posterior's mass is divided between the two
        near = [other for other in found["others"] if other["nats_lower"] < HARDLY_LOWER and other["items_differ"]]
        problems += [
            f"another approximation is hardly worse, {other['nats_lower']:.2g} nats lower, and labels "
            f"{counted(other['items_differ'], 'item')} differently: the posterior may have both modes, and this is one "
            "of them"
            for other in near[:1]
        ]
    return problems


def _explain_combination(combination: dict[str, Any]) -> list[str]:
    """Say what is wrong with the modes that draws were taken from, each by itself."""
    problems = []
    if combination["unsampled"] >= LEAST_MASS:
        problems.append(
            f"an estimated {combination['unsampled']:.0%} of the posterior's mass is in modes that no chain was in, "
            "and is missing: fit more chains, or some with initvals there, put them together by "
            "bayesanno.concat_chains, and combine again"
        )
    for mode in combination["modes"]:
        if mode["n_draws"] and mode["max_rhat"] is not None and mode["max_rhat"] > MAX_RHAT:
            problems.append(
                f"in chains {enumerated([str(chain) for chain in mode['chains']])}, which share a mode: chains "
                f"disagree: R-hat is {mode['max_rhat']:.3f} (should be at most {MAX_RHAT}); sample longer (tune, draws)"
            )
    effective = combination["n_effective"]
    if effective is not None and effective < MIN_ESS:
        problems.append(
            f"few independent draws: the combination is worth {effective:.0f} (should be at least {MIN_ESS:.0f}); "
            "sample longer (draws)"
        )
    rough = [mode for mode in combination["modes"] if mode["by"] == "laplace"]
    if rough:
        problems.append(
            "the weights are rough, by Laplace's method, since the draws of a mode cannot bear bridge sampling: "
            f"{rough[0]['reason']}"
        )
    return problems


def _explain_mixing_within(group: dict[str, Any]) -> list[str]:
    chains = enumerated([str(chain) for chain in group["chains"]])
    if len(group["chains"]) == 1:
        alone = f"chain {chains} is alone in the best mode: R-hat, which compares chains, does not exist there"
        return [f"{alone}; fit more chains", *(f"in chain {chains}: {problem}" for problem in _explain_mixing(group))]
    return [f"in chains {chains}, which share a mode: {problem}" for problem in _explain_mixing(group)]


def _explain_mixing(diagnostics: dict[str, Any]) -> list[str]:
    worst = diagnostics.get("worst", {})
    problems = []
    rhat = diagnostics.get("max_rhat")
    if rhat is not None and rhat > MAX_RHAT:
        problems.append(
            f"chains disagree: R-hat of {worst.get('max_rhat', 'a parameter')} is {rhat:.3f} (should be at most "
            f"{MAX_RHAT}); sample longer (tune, draws), and look at the chains one by one if that does not help"
        )
    for kind in ("bulk", "tail"):
        ess = diagnostics.get(f"min_ess_{kind}")
        if ess is not None and ess < MIN_ESS:
            problems.append(
                f"few independent draws: the {kind} ESS of {worst.get('min_ess_' + kind, 'a parameter')} is "
                f"{ess:.0f} (should be at least {MIN_ESS:.0f}); sample longer (draws)"
            )
    return problems
