"""Findings of posteriors with several modes: which chains are where, and what was not weighed.

The invariant: they depend on the record of modes alone (`bayesanno.inference.modes.record`), and on R-hat: of modes
between which the chains move nothing is said, however slowly; that is for R-hat and ESS.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayesanno._core.messages import counted, enumerated
from bayesanno.inference.diagnosis.thresholds import FEW_ITEMS_DIFFER, LEAST_PROBABILITY, MAX_RHAT
from bayesanno.modeling.findings import Finding, check, find

# What is said of chains in several modes, so that R-hat and ESS of all chains say nothing more:
APART = ("modes-apart", "mode-unsampled", "mode-light", "mode-doubtful", "modes-unweighed")


def chains_agree(diagnostics: Mapping[str, Any]) -> bool:
    """Whether R-hat, over all chains, is as low as it should be."""
    rhat = diagnostics.get("max_rhat")
    return rhat is not None and bool(rhat <= MAX_RHAT)


def chains_are_apart(diagnostics: Mapping[str, Any]) -> bool:
    """Whether chains are in several modes, and stay there, so that means over them are not the posterior's."""
    return len(diagnostics.get("modes", {}).get("groups", [])) > 1 and not chains_agree(diagnostics)


def modes_found(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the modes in a fit's record of modes; in one of an earlier version, probabilities are called `mass`."""
    return [{"probability": mode.get("mass"), **mode} for mode in record.get("found", [])]


def find_in_modes(diagnostics: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what the record of modes in a fit's diagnostics shows.

    Examples
    --------
    >>> from bayesanno.inference.diagnosis.modes import find_in_modes
    >>> print(*[one.text for one in find_in_modes({"modes": {"groups": [[0, 1, 3], [2]]}, "max_rhat": 1.5})])
    modes-unweighed: Chains are in 2 modes (0, 1, 3; 2) of unknown mass: results average over all chains alike. Weigh \
the chains by mode: bayesanno.combine_modes(fit).
    """
    modes = diagnostics.get("modes", {})
    found, is_mixing = modes_found(modes), chains_agree(diagnostics)
    is_apart = chains_are_apart(diagnostics)
    yield from check("mode-higher", modes.get("higher"))
    is_weighed = bool(found) and found[0]["probability"] is not None
    is_open = modes.get("open") or (modes.get("unfinished") and not found)
    if is_open and not modes.get("rough") and not is_mixing:
        yield find("search-incomplete", value=modes["unfinished"], n_starts=f"{modes['n_starts']:,}")
    if is_weighed:
        yield from _find_by_probability(found, modes, is_apart=is_apart)
    weighed = {chain for mode in found for chain in mode["chains"]} if is_weighed else set()
    groups = [sorted(group) for group in modes.get("groups", [])]
    apart = [chain for group in groups[1:] for chain in group if chain not in weighed]
    if apart and is_apart:
        density = modes.get("log_density")
        yield find(
            "modes-unweighed",
            [f"chain {chain}" for chain in apart],
            max(density) - min(density) if density else None,
            n=len(groups),
            where="; ".join(", ".join(map(str, group)) for group in groups),
        )


def _find_by_probability(
    found: Sequence[Mapping[str, Any]], modes: Mapping[str, Any], *, is_apart: bool
) -> Iterator[Finding]:
    """Yield what modes of known probability show; those that label items like the first are left to R-hat."""
    apart = [at for at, mode in enumerate(found) if at == 0 or not _is_like_the_first(mode, modes)]
    probable = [at for at in apart if (found[at]["probability"] or 0.0) >= LEAST_PROBABILITY]
    occupied = [at for at in probable if found[at]["draws"] or found[at]["chains"]]
    if len(occupied) > 1 and is_apart:
        elsewhere = [f"chain {chain}" for at in occupied[1:] for chain in found[at]["chains"]]
        shares = enumerated([f"{found[at]['probability']:.0%}" for at in probable])
        yield find("modes-apart", elsewhere, 1 - found[0]["probability"], n=len(probable), shares=shares)
    for at in probable:
        if at not in occupied:
            others = max((mode["items_differ"] for mode in found if "items_differ" in mode), default=0)
            differ = counted(found[at].get("items_differ", others), "item")
            yield find("mode-unsampled", [f"mode {at + 1}"], found[at]["probability"], mode=at + 1, items=differ)
    staying = [chain for at in probable for chain in found[at]["chains"]] if is_apart else []
    for at in set(apart) - set(probable):
        if staying and found[at]["chains"] and found[at]["probability"] is not None:
            yield _find_light(found[at], staying, modes.get("log_density"))


def _find_light(mode: Mapping[str, Any], staying: Sequence[int], density: Sequence[float] | None) -> Finding:
    """Return what chains in a mode that is hardly probable show, by their log density."""
    chains = mode["chains"]
    is_dense = density is not None and max(density[at] for at in chains) >= min(density[at] for at in staying)
    named = f"{'Chain' if len(chains) == 1 else 'Chains'} {enumerated(list(map(str, chains)))}"
    return find(
        "mode-doubtful" if is_dense else "mode-light",
        [f"chain {chain}" for chain in chains],
        mode["probability"],
        chains=f"{named} {'is' if len(chains) == 1 else 'are'}",
        numbers=chains,
        items=counted(mode["items_differ"], "item"),
    )


def _is_like_the_first(mode: Mapping[str, Any], modes: Mapping[str, Any]) -> bool:
    """Whether a mode has almost the same labels as the first; R-hat then shows whether chains differ."""
    most = max(1.0, FEW_ITEMS_DIFFER * modes.get("n_items", 0))
    return "classes" not in mode and "n_items" in modes and bool(mode["items_differ"] <= most)
