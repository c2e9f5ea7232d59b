"""Warnings about posteriors with several modes: which chains are in which mode, and remedies.

The invariant: as in `bayesanno.inference.diagnosis.explain`, texts depend on a fit's diagnostics alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bayesanno.ground.wording import counted, enumerated
from bayesanno.inference.diagnosis.thresholds import FEW_ITEMS_DIFFER, LEAST_MASS, MAX_RHAT, MOST_NAMED, UNLIKELY


def explain_modes(modes: Mapping[str, Any], max_rhat: float | None = None) -> list[str]:
    """Explain the modes of a posterior, with remedies; empty if one mode has all mass, and the chains are there.

    Modes between which the chains move freely, as `max_rhat` shows, are not mentioned either.

    Examples
    --------
    >>> from bayesanno.inference.diagnosis.explain_modes import explain_modes
    >>> first = {"mass": 0.87, "chains": [0, 1, 2, 3], "draws": 20}
    >>> second = {"mass": 0.13, "chains": [], "draws": 0, "competence": [0.2, 0.8], "items_differ": 40}
    >>> print(*explain_modes({"rough": False, "crossing": [], "found": [first, second]}))
    the posterior has 2 modes, of an estimated 87% and 13% of its mass: no chain is in mode 2 (annotators at 0.20 on \
average who are at 0.80 in mode 1; 40 items with another most probable state); the draws are not in proportion to \
these masses, so that neither means nor intervals hold for all of the posterior; fit again with more chains (chains), \
and combine them: bayesanno.combine_modes(fit)
    """
    found = modes["found"]
    if not found:
        return [_explain_search(modes)]
    occupied = [number for number, mode in enumerate(found) if mode["chains"]]
    mixing = max_rhat is not None and max_rhat <= MAX_RHAT and are_in_proportion(found)
    if mixing and (len(occupied) > 1 or modes["crossing"]):
        return []
    problems = [_explain_search(modes)] if modes.get("open") and not (mixing or modes["rough"]) else []
    if "higher" in modes:
        problems.append(_explain_higher(modes["higher"]))
    if found[0]["mass"] is None:
        return problems + (_explain_unknown(modes, occupied) if len(occupied) > 1 else [])
    apart = [number for number, mode in enumerate(found) if number == 0 or not _is_like_the_first(mode, modes)]
    carrying = [number for number in apart if (found[number]["mass"] or 0) >= LEAST_MASS]
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
        if number in apart and number not in carrying:
            problems.append(_explain_light(found[number], number, staying, modes.get("log_density")))
    return problems


def _is_like_the_first(mode: Mapping[str, Any], modes: Mapping[str, Any]) -> bool:
    """Whether a mode has almost the same labels as the first; R-hat then shows whether chains differ."""
    most = max(1.0, FEW_ITEMS_DIFFER * modes.get("n_items", 0))
    return "classes" not in mode and "n_items" in modes and bool(mode["items_differ"] <= most)


def are_in_proportion(found: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the draws examined are distributed over the modes in proportion to mass, up to chance.

    This is assumed if at most one mode is known to have mass, or no draws were examined.

    Examples
    --------
    >>> from bayesanno.inference.diagnosis.explain_modes import are_in_proportion
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
    """Explain that some climbs ended before the top of a mode, so that the masses of modes are unknown."""
    made, asked = modes["n_starts"], modes.get("n_asked", modes["n_starts"])
    starts = counted(asked, "start") if made == asked else f"{made} of {counted(asked, 'start')} (time ran out)"
    missed = "none reached" if modes["unfinished"] == made else f"{modes['unfinished']} did not reach"
    voted = ", that from the vote among them" if "first" in modes.get("open", []) and made > 1 else ""
    return (
        f"the search for the posterior's modes is incomplete: of the climbs from {starts} {missed} the top of a mode"
        f"{voted}, so the number of modes and their masses are unknown; chains also started where climbs ended: "
        "compare the labels of these chains (bayesanno.split_modes), and fits with several seeds"
    )


def _explain_higher(nats: float) -> str:
    """Explain that chains found a mode which the search did not."""
    return (
        f"chains found a mode {nats:.0f} nats higher than all modes of the search, so that there may be more: compare "
        "fits with several seeds"
    )


def _explain_light(
    mode: Mapping[str, Any], number: int, staying: Sequence[int], log_density: Sequence[float] | None
) -> str:
    """Explain that chains are in a mode with almost no mass, with a remedy."""
    it, chains = ("it" if len(mode["chains"]) == 1 else "them"), mode["chains"]
    carries = (
        f"{_who_is_in(mode, number)}, which carries an estimated {mode['mass']:.1%} of the posterior's mass "
        f"({_differs(mode)})"
    )
    if not staying:
        return (
            f"{carries}, and no chain is in a mode with more: fit again with another seed or more chains, or start "
            "some there (initvals)"
        )
    if log_density is not None and max(log_density[at] for at in chains) >= min(log_density[at] for at in staying):
        return (
            f"{carries}, although their log density is not lower than that of the others: do not average over the "
            "chains; weight them with bayesanno.combine_modes(fit), or split the modes with bayesanno.split_modes(fit)"
        )
    return f"{carries}: leave {it} out with bayesanno.drop_chains(fit, {chains})"


def _explain_unknown(modes: Mapping[str, Any], occupied: Sequence[int]) -> list[str]:
    """Explain which chains are in which modes if the masses are unknown."""
    found = modes["found"]
    first, *others = occupied
    where = "; ".join(f"{_who_is_in(found[at], at)} ({_differs(found[at])})" for at in others[:MOST_NAMED])
    why = "cannot be estimated with so many parameters" if modes["rough"] else "is unknown"
    return [
        f"{_who_is_in(found[first], first)}; {where}; the mass of each mode {why}, so do "
        "not average over these chains: look at each mode by bayesanno.split_modes(fit), weight them by predictive "
        'accuracy, bayesanno.combine_modes(fit, weights="stacking"), or sample longer, if chains may still cross'
    ]


def _advise(carrying: Sequence[Mapping[str, Any]], crossing: Sequence[int]) -> str:
    together = "bayesanno.combine_modes(fit) puts the draws together in proportion"
    if crossing:
        some = f"{'chain' if len(crossing) == 1 else 'chains'} {enumerated([str(chain) for chain in crossing])}"
        longer = f"{some} crossed between modes, so that longer chains (draws) get nearer to it"
        return f"{together}; {longer}" if all(mode["chains"] for mode in carrying) else longer
    if all(mode["chains"] for mode in carrying):
        return together
    return "fit again with more chains (chains), and combine them: bayesanno.combine_modes(fit)"


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
    """Explain that a fit's chains are in several modes, so that its means are not those of the posterior.

    Examples
    --------
    >>> from bayesanno.inference.diagnosis.explain_modes import explain_chains
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


def explain_other_mode(other: Mapping[str, Any]) -> str:
    """Explain that a chain is in another mode than the best one, as found by `compare_chains`, with a remedy."""
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


def lacks_chains(modes: Mapping[str, Any]) -> bool:
    """Whether a mode with mass has no chain."""
    others = [mode for mode in modes.get("found", [])[1:] if not _is_like_the_first(mode, modes)]
    return any(mode["mass"] and mode["mass"] >= LEAST_MASS and not mode["chains"] for mode in others)
