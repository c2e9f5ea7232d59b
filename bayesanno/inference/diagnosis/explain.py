"""Warnings of a fit in plain language: the problem, its consequences, and a remedy.

The invariant: texts depend on a fit's diagnostics alone, so that a loaded fit gives the same warnings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.errors import ConvergenceWarning, SizeWarning, warn
from bayesanno.ground.lazy import xr
from bayesanno.ground.wording import counted, enumerated
from bayesanno.inference.diagnosis.explain_modes import explain_modes, explain_other_mode, lacks_chains
from bayesanno.inference.diagnosis.measures import FAR, MIN_DRAWS_TAIL, mixes
from bayesanno.inference.diagnosis.thresholds import (
    AGREES,
    CLOSE_NATS,
    FEWEST_VOTED,
    LEAST_MASS,
    MAX_DEPTH_SHARE,
    MAX_PARETO_K,
    MAX_RHAT,
    MIN_BFMI,
    MIN_ESS,
)

MOST_LISTED = 5  # classes, or items
MOST_DIFFER = 0.05  # of the items: if chains label more of them differently, nearly empty classes are not the reason


def warn_of_results(groups: Mapping[str, xr.Dataset], diagnostics: dict[str, Any]) -> None:
    """Warn of problems in a fit's diagnostics, except misfit, and of log-likelihoods left out for their size."""
    latent = [group for name, group in groups.items() if name.split("/")[0] == "latent"]  # of each dimension
    if latent and "log_likelihood" not in groups:
        n_items = latent[0].sizes["item"]
        n_draws = groups["posterior"].sizes["chain"] * groups["posterior"].sizes["draw"]
        warn(
            f"the log-likelihood of {n_items} items in each of {n_draws} draws would take "
            f"{8 * n_items * n_draws / 2**30:.1f} GiB and is left out of the fit: compute_log_likelihood(fit) adds it",
            SizeWarning,
        )
    for problem in explain(diagnostics):
        warn(problem, ConvergenceWarning)


def explain(diagnostics: dict[str, Any]) -> list[str]:
    """Explain the problems in the diagnostics, with remedies; empty without problems.

    Examples
    --------
    >>> from bayesanno.inference.diagnosis.explain import explain
    >>> explain({"divergences": 1})[0].split(":")[0]
    '1 divergent transition'
    """
    modes, problems = diagnostics.get("modes", {}), []
    little = _differs_in_little(diagnostics.get("rare")) and not lacks_chains(modes)
    if not little:
        problems += explain_modes(modes, diagnostics.get("max_rhat")) if "found" in modes else []
        named = {chain for mode in modes.get("found", [])[1:] for chain in mode["chains"]}
        problems += [explain_other_mode(other) for other in modes.get("others", []) if other["chain"] not in named]
    if "climb" in diagnostics:
        problems += _explain_climb(diagnostics["climb"])
    if "combination" in diagnostics:
        problems += _explain_combination(diagnostics["combination"])
    if not problems or modes.get("rough"):  # rough modes may be none, and chains just slow
        problems += _explain_mixing(diagnostics)
    for group in [] if little else modes.get("within", []):  # of all, R-hat and ESS only say again that there are modes
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
            "cut off, so that the chains move slowly; the draws are not wrong, but dependent: use them if R-hat "
            "and ESS are good; otherwise a longer tune or a narrower prior helps"
        )
    if bfmi is not None and bfmi < MIN_BFMI:
        problems.append(
            f"E-BFMI is {bfmi:.2f} (should be at least {MIN_BFMI}): the tails are hardly explored; "
            "a narrower prior helps"
        )
    pareto_k = diagnostics.get("pareto_k")
    if "pareto_k" in diagnostics and pareto_k is None:
        problems.append(
            "draws are too few to see how far the approximation is from the posterior (there is no Pareto k): "
            f"take {MIN_DRAWS_TAIL} or more"
        )
    elif pareto_k is not None and not pareto_k <= MAX_PARETO_K:
        problems.append(
            f"the approximation is far from the posterior: Pareto k is {pareto_k:.2f} (should be at most "
            f"{MAX_PARETO_K}); means are often usable, intervals are not: use method 'nuts' where you can"
        )
    if diagnostics.get("converged") is False:
        problems.append(
            f"the approximation was still improving after {diagnostics.get('steps')} steps: allow more, by "
            "method_options={'steps': ...}"
        )
    return problems


def _explain_climb(found: dict[str, Any]) -> list[str]:
    """Explain why the result of EM or variational Bayes may not be the best one, or not the only one."""
    problems, method = [], found["method"]
    if not found["converged"]:
        problems.append(
            f"{method} was still moving after {found['steps']} steps, by {found['change']:.1g} in the last one: allow "
            "more, by method_options={'steps': ...}, or a larger tolerance"
        )
    if found["restarts"] > 1 and found["agreed"] == 1:
        problems.append(
            f"of {found['restarts']} starts only one ended at the best point that {method} found, the next "
            f"{found['others'][0]['nats_lower']:.2g} nats lower: a better one may be there; take more restarts "
            "by method_options={'restarts': ...}"
        )
    if "elbo" in found:  # e to the difference is, roughly, how the posterior's mass is divided between the two
        near = [other for other in found["others"] if other["nats_lower"] < CLOSE_NATS and other["items_differ"]]
        problems += [
            f"another approximation is only slightly worse, {other['nats_lower']:.2g} nats lower, and labels "
            f"{counted(other['items_differ'], 'item')} differently: the posterior may have both modes, and this is one "
            "of them"
            for other in near[:1]
        ]
    return problems


def _explain_combination(combination: dict[str, Any]) -> list[str]:
    """Explain problems within the modes from which draws were taken."""
    problems = []
    if combination["unsampled"] >= LEAST_MASS:
        problems.append(
            f"an estimated {combination['unsampled']:.0%} of the posterior's mass is in modes that no chain was in, "
            "and is missing: fit again with more chains (chains), and combine their modes"
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
            f"the weights are rough, by Laplace's method, since bridge sampling failed in a mode: {rough[0]['reason']}"
        )
    return problems


def _explain_mixing_within(group: dict[str, Any]) -> list[str]:
    chains = enumerated([str(chain) for chain in group["chains"]])
    if len(group["chains"]) == 1:
        alone = f"chain {chains} is alone in the best mode: R-hat, which compares chains, does not exist there"
        return [f"{alone}; fit more chains", *(f"in chain {chains}: {problem}" for problem in _explain_mixing(group))]
    return [f"in chains {chains}, which share a mode: {problem}" for problem in _explain_mixing(group)]


def _differs_in_little(rare: dict[str, Any] | None) -> bool:
    """Whether only nearly empty classes mix badly, and chains agree on nearly all items."""
    return rare is not None and mixes(rare["rest"]) and rare["differ"] <= MOST_DIFFER * rare["n_items"]


def _explain_mixing(diagnostics: dict[str, Any]) -> list[str]:
    if rare := diagnostics.get("rare"):
        return [
            *_explain_mixing(rare["rest"]),
            _explain_rare(rare, len(diagnostics.get("modes", {}).get("groups", []))),
        ]
    return [f"{problem}; {advice}" for problem, advice in _find_bad_mixing(diagnostics)]


def _find_bad_mixing(diagnostics: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the problems of R-hat and ESS, each with a remedy."""
    worst = diagnostics.get("worst", {})
    problems = []
    rhat = diagnostics.get("max_rhat")
    if rhat is not None and rhat > MAX_RHAT:
        of = f"R-hat of {worst.get('max_rhat', 'a parameter')} is {rhat:.3f} (should be at most {MAX_RHAT})"
        advice = "sample longer (tune, draws), and look at the chains one by one if that does not help"
        problems.append((f"chains disagree: {of}", advice))
    for kind in ("bulk", "tail"):
        ess = diagnostics.get(f"min_ess_{kind}")
        if ess is not None and ess < MIN_ESS:
            of = f"the {kind} ESS of {worst.get('min_ess_' + kind, 'a parameter')} is {ess:.0f}"
            problems.append(
                (f"few independent draws: {of} (should be at least {MIN_ESS:.0f})", "sample longer (draws)")
            )
    return problems


def _explain_rare(rare: dict[str, Any], n_modes: int) -> str:
    """Explain which nearly empty classes do not mix, and whether the rest can be used."""
    problem, _ = _find_bad_mixing(rare)[0]
    sizes = [f"{one['name']!r}: {one['items']:.1f}" for one in rare["classes"]]
    n_items, differ, rest = rare["n_items"], rare["differ"], rare["rest"]
    head = f"{problem}, in nearly empty classes ({_list(sizes, len(sizes))} of {counted(n_items, 'item')} expected)"
    if not mixes(rest):
        return f"also, {head}; longer chains may not fix this: judge by R-hat and ESS of the rest"
    if not _differs_in_little(rare):
        share = f"{differ / n_items:.0%} of all"
        return f"{head}; chains do not agree on {counted(differ, 'item')} ({share}): sample longer (tune, draws)"
    modes = f"chains are in {n_modes} modes of the posterior, which differ in little but this: " if n_modes > 1 else ""
    rhat = "" if rest["max_rhat"] is None else f"R-hat is at most {rest['max_rhat']:.3f} and "
    where = f", but not on {counted(differ, 'item')} ({_list(rare['named'], differ)})" if differ else ""
    return (
        f"{modes}{head}; the rest can be used: of all other parameters {rhat}ESS is at least "
        f"{min(rest['min_ess_bulk'], rest['min_ess_tail']):.0f}, and chains agree on "
        f"{counted(n_items - differ, 'item')} to within {FAR:g}{where}; if such a class matters, more items of it or "
        "known labels (controls) help, and longer chains (draws) may help"
    )


def _list(names: Sequence[str], number: int) -> str:
    """Return the first few of a number of names."""
    shown = ", ".join(names[:MOST_LISTED])
    return f"{shown} and {number - MOST_LISTED:,} more" if number > MOST_LISTED else shown


# -------------------------------------------------------------------------------- labels against votes


def explain_votes(data: object, latent: xr.Dataset) -> list[str]:
    """Explain that the most probable labels are not those of most annotators; empty if they are.

    Parameters
    ----------
    data : AnnotationData, or data of another kind, for which the list is empty
    latent : xarray.Dataset
        Of a fit: `probability` (item, true_class).

    Returns
    -------
    list of str
    """
    if not isinstance(data, AnnotationData) or "true_class" not in latent["probability"].dims:
        return []
    shares, probability = data.class_shares, latent["probability"].transpose("item", "true_class").values
    first, second = np.sort(shares, axis=1)[:, :-3:-1].T
    voted = (first > second) & (data.control_codes < 0)
    n_items = int(voted.sum())
    n_equal = int((shares.argmax(axis=1) == probability.argmax(axis=1))[voted].sum())
    if n_items < FEWEST_VOTED or n_equal >= AGREES * n_items:
        return []
    return [
        f"the labels are those of most annotators for {n_equal} of {n_items} items only ({n_equal / n_items:.0%}): "
        "either most annotators are wrong, or classes have swapped names, or a few who answer alike are taken for the "
        "truth; compare with the labels of another model (one_coin, model_b), or let known labels decide (controls)"
    ]
