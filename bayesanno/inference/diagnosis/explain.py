"""What a fit warns of, in plain language: what is wrong, what follows from it, and what to do next.

All thresholds are here as well. The invariant: a text is made of a fit's diagnostics alone, so that it can be said
again of a fit that was loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.lazy import xr
from bayesanno.ground.wording import counted, enumerated
from bayesanno.inference.diagnosis.explain_rare import explain_rare, is_little

MAX_RHAT = 1.01  # of chains that agree; Vehtari et al. 2021, doi:10.1214/20-BA1221
MIN_ESS = 400.0  # the same: 100 per chain, of four
MIN_BFMI = 0.3  # Betancourt 2016, arXiv:1604.00695
MAX_PARETO_K = 0.7  # Yao et al. 2018, arXiv:1802.02538
MAX_DEPTH_SHARE = 0.05  # of the draws; PyMC's threshold (pymc.stats.convergence.warn_treedepth)
LEAST_MASS = 0.02  # of all modes': one of less is no part of what is believed, and no chain starts there
HARDLY_LOWER = 3.0  # nats: the other mode may well have a twentieth of the mass
UNLIKELY = 0.01  # so few draws in a mode, if draws were in proportion to the masses
MOST_NAMED = 3  # modes beside the first that a message names
AGREES = 0.6  # with the vote on fewer of the items, labels are said to be against it
FEWEST_VOTED = 10  # items that have a vote: of fewer, a share says little


def explain(diagnostics: dict[str, Any]) -> list[str]:
    """Say in plain language what the diagnostics warn of and what to do next; empty if all is well.

    Examples
    --------
    >>> from bayesanno.inference.diagnosis.explain import explain
    >>> explain({"divergences": 1})[0].split(":")[0]
    '1 divergent transition'
    """
    modes = diagnostics.get("modes", {})
    problems = explain_modes(modes, diagnostics.get("max_rhat")) if "found" in modes else []
    named = {chain for mode in modes.get("found", [])[1:] for chain in mode["chains"]}
    problems += [_explain_mode(other) for other in modes.get("others", []) if other["chain"] not in named]
    if "climb" in diagnostics:
        problems += _explain_climb(diagnostics["climb"])
    if "combination" in diagnostics:
        problems += _explain_combination(diagnostics["combination"])
    little = _differs_in_little(diagnostics.get("rare"))
    if not problems or modes.get("rough") or little:  # rough modes may be none, and chains just slow
        problems += _explain_mixing(diagnostics, modes=bool(problems))
    within = [] if little else modes.get("within", [])
    for group in within:  # of all chains, R-hat and ESS would only say again that there are modes
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


def _explain_climb(found: dict[str, Any]) -> list[str]:
    """Say why what EM or variational Bayes found may not be the best there is, or not all."""
    problems, method = [], found["method"]
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


def _differs_in_little(rare: dict[str, Any] | None) -> bool:
    """Whether nothing but classes of hardly an item mixes badly."""
    return rare is not None and not _explain_mixing(rare["rest"]) and is_little(rare)


def _explain_mixing(diagnostics: dict[str, Any], *, modes: bool = False) -> list[str]:
    if rare := diagnostics.get("rare"):
        rest, limits = _explain_mixing(rare["rest"]), {"max_rhat": MAX_RHAT, "min_ess": MIN_ESS}
        return [*rest, explain_rare(rare, **limits, rest_mixes=not rest, modes=modes)]
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


# ------------------------------------------------------------------------------------------ modes


def explain_modes(modes: Mapping[str, Any], max_rhat: float | None = None) -> list[str]:
    """Say in plain language what modes mean for what is believed; empty if one carries all, and the chains are there.

    Nothing is said either of modes between which the chains go back and forth, as `max_rhat` shows.

    Examples
    --------
    >>> from bayesanno.inference.diagnosis.explain import explain_modes
    >>> first = {"mass": 0.87, "chains": [0, 1, 2, 3], "draws": 20}
    >>> second = {"mass": 0.13, "chains": [], "draws": 0, "competence": [0.2, 0.8], "items_differ": 40}
    >>> print(*explain_modes({"rough": False, "crossing": [], "found": [first, second]}))
    the posterior has 2 modes, of an estimated 87% and 13% of its mass: no chain is in mode 2 (annotators at 0.20 on \
average who are at 0.80 in mode 1; 40 items with another most probable state); the draws are not in proportion to \
these masses, so that neither means nor intervals hold for all of the posterior; fit more chains, or some with \
initvals in that mode, and put them together: bayesanno.combine_modes(bayesanno.concat_chains([fit, other]))
    """
    found = modes["found"]
    if not found:
        return [_explain_search(modes)]
    occupied = [number for number, mode in enumerate(found) if mode["chains"]]
    mixing = max_rhat is not None and max_rhat <= MAX_RHAT and are_in_proportion(found)
    if mixing and (len(occupied) > 1 or modes["crossing"]):
        return []
    if found[0]["mass"] is None:
        unfinished = [] if modes["rough"] or mixing else [_explain_search(modes)]
        return unfinished + (_explain_unknown(modes, occupied) if len(occupied) > 1 else [])
    carrying = [number for number, mode in enumerate(found) if mode["mass"] >= LEAST_MASS]
    problems = []
    if len(carrying) > 1:
        named = carrying[1 : 1 + MOST_NAMED]
        shares = [f"{found[number]['mass']:.0%}" for number in [0, *named]]
        where = "; ".join(f"{_who_is_in(found[number], number)} ({_differs(found[number])})" for number in named)
        problems.append(
            f"the posterior has {len(carrying)} modes, of an estimated {', '.join(shares[:-1])} and {shares[-1]} of "
            f"its mass: {where}; the draws are not in proportion to these masses, so that neither means nor intervals "
            f"hold for all of the posterior; {_advise([found[number] for number in carrying], modes['crossing'])}"
        )
    staying = [chain for number in carrying for chain in found[number]["chains"]]
    for number in occupied:
        if number not in carrying:
            problems.append(_explain_light(found[number], number, staying, modes.get("log_density")))
    return problems


def are_in_proportion(found: Sequence[Mapping[str, Any]]) -> bool:
    """Whether draws are in the modes found as often as these carry mass, as far as the few that were looked at show.

    Where no mode but one carries mass, or none is known to, or no draws were looked at, they are.

    Examples
    --------
    >>> from bayesanno.inference.diagnosis.explain import are_in_proportion
    >>> are_in_proportion([{"mass": 0.7, "draws": 20}, {"mass": 0.3, "draws": 0}])
    False
    >>> are_in_proportion([{"mass": 0.7, "draws": 11}, {"mass": 0.3, "draws": 9}])
    True
    """
    from scipy.stats import binomtest

    looked = sum(mode["draws"] for mode in found)
    carrying = [mode for mode in found if mode["mass"] is not None and mode["mass"] >= LEAST_MASS]
    return not looked or all(
        binomtest(mode["draws"], looked, min(1.0, mode["mass"]), "less").pvalue >= UNLIKELY for mode in carrying
    )


def _explain_search(modes: Mapping[str, Any]) -> str:
    """Say that some climbs ended before the top of a mode, so that it is not known what the modes weigh."""
    made, asked = modes["n_starts"], modes.get("n_asked", modes["n_starts"])
    starts = counted(asked, "start") if made == asked else f"{made} of {counted(asked, 'start')}, as time was short,"
    missed = "none reached" if modes["unfinished"] == made else f"{modes['unfinished']} did not reach"
    voted = ", that from the vote among them" if "first" in modes.get("open", []) and made > 1 else ""
    return (
        f"the posterior's modes could not be looked for fully: of the climbs from {starts} {missed} the top of a mode"
        f"{voted}, so that nothing is known of how many modes there are and what they weigh; chains started where "
        "climbs ended as well: compare the labels of these chains (bayesanno.split_modes), and fits with several seeds"
    )


def _explain_light(
    mode: Mapping[str, Any], number: int, staying: Sequence[int], log_density: Sequence[float] | None
) -> str:
    """Say that chains are in a mode of next to no mass, and what to do with them."""
    it, chains = ("it" if len(mode["chains"]) == 1 else "them"), mode["chains"]
    carries = (
        f"{_who_is_in(mode, number)}, which carries an estimated {mode['mass']:.1%} of the posterior's mass "
        f"({_differs(mode)})"
    )
    if not staying:
        return (
            f"{carries}, and no chain is in a mode of more: fit again with another seed or more chains, or start some "
            "there (initvals)"
        )
    if log_density is not None and max(log_density[at] for at in chains) >= min(log_density[at] for at in staying):
        return (
            f"{carries}, though their log density is not lower than that of the others: do not average over the "
            "chains; weigh them, by bayesanno.combine_modes(fit), or look at each mode by bayesanno.split_modes(fit)"
        )
    return f"{carries}: leave {it} out, by bayesanno.drop_chains(fit, {chains})"


def _explain_unknown(modes: Mapping[str, Any], occupied: Sequence[int]) -> list[str]:
    """Say which chains are in which modes where what each weighs cannot be told."""
    found = modes["found"]
    first, *others = occupied
    where = "; ".join(f"{_who_is_in(found[at], at)} ({_differs(found[at])})" for at in others[:MOST_NAMED])
    why = "cannot be told of so many parameters" if modes["rough"] else "is not known"
    return [
        f"{_who_is_in(found[first], first)}; {where}; what each mode weighs {why}, so "
        "that these chains cannot be averaged over: look at each mode by bayesanno.split_modes(fit), weigh them by how "
        'they predict, bayesanno.combine_modes(fit, weights="stacking"), or sample longer, if chains may yet cross'
    ]


def _advise(carrying: Sequence[Mapping[str, Any]], crossing: Sequence[int]) -> str:
    together = "bayesanno.combine_modes(fit) puts the draws together in proportion"
    if crossing:
        some = f"{'chain' if len(crossing) == 1 else 'chains'} {enumerated([str(chain) for chain in crossing])}"
        longer = f"{some} crossed between modes, so that longer chains (draws) get nearer to it"
        return f"{together}; {longer}" if all(mode["chains"] for mode in carrying) else longer
    lacking = sum(not mode["chains"] for mode in carrying)
    if not lacking:
        return together
    return (
        f"fit more chains, or some with initvals in {'that mode' if lacking == 1 else 'those modes'}, and put them "
        "together: bayesanno.combine_modes(bayesanno.concat_chains([fit, other]))"
    )


def _who_is_in(mode: Mapping[str, Any], number: int) -> str:
    chains = [str(chain) for chain in mode["chains"]]
    if not chains:
        return f"no chain is in mode {number + 1}{' most of the time' if mode['draws'] else ''}"
    if len(chains) == 1:
        return f"chain {chains[0]} is in mode {number + 1}"
    return f"chains {', '.join(chains[:-1])} and {chains[-1]} are in mode {number + 1}"


def _differs(mode: Mapping[str, Any]) -> str:
    how = []
    if "classes" in mode:
        how.append(", ".join(f"{there!r} stands for {here!r}" for there, here in mode["classes"].items()))
    if "competence" in mode:
        here, there = mode["competence"]
        how.append(f"annotators at {here:.2f} on average who are at {there:.2f} in mode 1")
    how.append(f"{counted(mode['items_differ'], 'item')} with another most probable state")
    return "; ".join(how)


def explain_chains(diagnostics: Mapping[str, Any]) -> list[str]:
    """Say of a fit whose chains are in several modes that its means are of no posterior, and what call weighs them.

    Examples
    --------
    >>> from bayesanno.inference.diagnosis.explain import explain_chains
    >>> modes = {"groups": [[0, 1, 3], [2]]}
    >>> print(*explain_chains({"modes": modes, "max_rhat": 1.5}))
    the chains of this fit are in 2 modes of the posterior (0, 1, 3; 2), and nothing has weighed them: this averages \
over all chains alike; bayesanno.combine_modes(fit) puts them together by the mass of each mode, \
bayesanno.split_modes(fit) takes them apart
    """
    rhat = diagnostics.get("max_rhat")
    if rhat is not None and rhat <= MAX_RHAT:
        return []
    groups = diagnostics.get("modes", {}).get("groups", [])
    if len(groups) < 2:
        return []
    where = "; ".join(", ".join(map(str, sorted(group))) for group in groups)
    return [
        f"the chains of this fit are in {len(groups)} modes of the posterior ({where}), and nothing has weighed them: "
        "this averages over all chains alike; bayesanno.combine_modes(fit) puts them together by the mass of each "
        "mode, bayesanno.split_modes(fit) takes them apart"
    ]


# -------------------------------------------------------------------------------- labels against votes


def explain_votes(data: object, latent: xr.Dataset) -> list[str]:
    """Say so where the most probable labels are not those of most annotators.

    Parameters
    ----------
    data : AnnotationData or another kind of data, of which nothing is said
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
