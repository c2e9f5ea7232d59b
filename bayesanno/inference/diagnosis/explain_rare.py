"""Warnings of nearly empty classes: what is affected, and what can be used.

The invariant: as in `bayesanno.inference.diagnosis.explain`, a text is made of a fit's diagnostics alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bayesanno.ground.wording import counted, enumerated
from bayesanno.inference.diagnosis.thresholds import MAX_RHAT, MIN_ESS

MOST_CLASSES = 5  # that are named
MOST_DIFFER = 0.05  # of the items: where chains label more differently, nearly empty classes are not the reason


def explain_rare(rare: Mapping[str, Any], *, rest_mixes: bool, n_modes: int = 1) -> str:
    """Say which classes are nearly empty, what chains disagree on, and what can be used.

    Parameters
    ----------
    rare : mapping
        As `bayesanno.inference.diagnosis.rare.find_rare` gives it.
    rest_mixes : bool
        Whether this is so of all parameters that are of no such class. If not, that was said before.
    n_modes : int, default 1
        How many modes of the posterior these chains are in.

    Examples
    --------
    >>> from bayesanno.inference.diagnosis.explain_rare import explain_rare
    >>> found = {"classes": [{"name": "c", "items": 0.8, "mixes": False}], "beside": [], "n_items": 660}
    >>> found |= {"max_rhat": 1.46, "worst": {"max_rhat": "prevalence[c]"}, "differ": 1, "named": ["x"], "apart": 0.02}
    >>> found |= {"rest": {"max_rhat": 1.004, "min_ess_bulk": 900.0, "min_ess_tail": 800.0}}
    >>> print(explain_rare(found, rest_mixes=True))
    class 'c' is nearly empty (0.8 of 660 items expected), and chains disagree on 'c': R-hat of prevalence[c] is 1.460 \
(should be at most 1.01); the rest can be used: of all other parameters R-hat is at most 1.004 and ESS at least 800, \
and chains agree on 659 items (probabilities within 0.02); they disagree on 1 item (x); if 'c' matters, more items of \
it or known labels (controls) help, and longer chains (draws) may help
    """
    head = f"{_who_is_rare(rare)}, and {_how_badly(rare)}"
    if not rest_mixes:
        return f"also, {head}; longer chains may not fix this: judge by R-hat and ESS of the rest"
    differ, names = rare["differ"], _quoted([found for found in rare["classes"] if not found["mixes"]])
    if not is_little(rare):
        share = f"{differ / rare['n_items']:.0%} of all"
        return f"{head}; chains do not agree on {counted(differ, 'item')} ({share}): sample longer (tune, draws)"
    more = f" and {differ - len(rare['named']):,} more" if differ > len(rare["named"]) else ""
    named = f"; they disagree on {counted(differ, 'item')} ({enumerated(rare['named'])}{more})" if differ else ""
    modes = f"chains are in {n_modes} modes of the posterior, which differ in little but this: "
    several = sum(not found["mixes"] for found in rare["classes"]) > 1
    return (
        f"{modes if n_modes > 1 else ''}{head}; the rest can be used: "
        f"{_what_is_left(rare)}{named}; if {names} {'matter' if several else 'matters'}, more items of "
        f"{'them' if several else 'it'} or known labels (controls) help, and longer chains (draws) may help"
    )


def is_little(rare: Mapping[str, Any]) -> bool:
    """Whether chains agree on nearly all items."""
    return bool(rare["differ"] <= MOST_DIFFER * rare["n_items"])


def _who_is_rare(rare: Mapping[str, Any]) -> str:
    classes = rare["classes"]
    sizes = [f"{found['items']:.1f}" for found in classes[:MOST_CLASSES]]
    if len(classes) == 1:
        return f"class {classes[0]['name']!r} is nearly empty ({sizes[0]} of {rare['n_items']:,} items expected)"
    names = ", ".join(f"{found['name']!r}: {size}" for found, size in zip(classes, sizes, strict=False))
    more = f" and {len(classes) - MOST_CLASSES} more" if len(classes) > MOST_CLASSES else ""
    return f"{len(classes)} classes are nearly empty (expected of {rare['n_items']:,} items: {names}{more})"


def _how_badly(rare: Mapping[str, Any]) -> str:
    """Say on which of these classes chains disagree, or are short, and the worst R-hat or ESS of their parameters."""
    rhat, worst = rare["max_rhat"], rare["worst"]
    which = _quoted([found for found in rare["classes"] if not found["mixes"]])
    if rare["beside"]:
        which = f"{which}, and on {_quoted(rare['beside'])}, which may share these items"
    if rhat is not None and rhat > MAX_RHAT:
        return f"chains disagree on {which}: R-hat of {worst['max_rhat']} is {rhat:.3f} (should be at most {MAX_RHAT})"
    ess, kind = min((ess, kind) for kind in ("bulk", "tail") if (ess := rare[f"min_ess_{kind}"]) is not None)
    of = f"the {kind} ESS of {worst[f'min_ess_{kind}']} is {ess:.0f}"
    return f"few independent draws are of {which}: {of} (should be at least {MIN_ESS:.0f})"


def _what_is_left(rare: Mapping[str, Any]) -> str:
    rest = rare["rest"]
    ess = f"ESS at least {min(rest['min_ess_bulk'], rest['min_ess_tail']):.0f}"
    if rest["max_rhat"] is None:  # of one chain, with which no other can disagree
        return f"of all other parameters {ess}"
    others = counted(rare["n_items"] - rare["differ"], "item")
    return (
        f"of all other parameters R-hat is at most {rest['max_rhat']:.3f} and {ess}, and chains agree on {others} "
        f"(probabilities within {rare['apart']:.2f})"
    )


def _quoted(classes: Sequence[Mapping[str, Any]]) -> str:
    names = [repr(found["name"]) for found in classes[:MOST_CLASSES]]
    if len(classes) > MOST_CLASSES:
        return f"{', '.join(names)} and {len(classes) - MOST_CLASSES} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
