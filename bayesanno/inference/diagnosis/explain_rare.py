"""What a fit warns of where classes have hardly an item: what of it can be used all the same.

The invariant: as in `bayesanno.inference.diagnosis.explain`, a text is made of a fit's diagnostics alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayesanno.ground.wording import counted, enumerated

MOST_CLASSES = 5  # that are named
MOST_DIFFER = 0.05  # of the items: where labels of more go apart, that is not for classes of hardly an item


def explain_rare(rare: Mapping[str, Any], *, max_rhat: float, min_ess: float, rest_mixes: bool) -> str:
    """Say which classes have hardly an item, what chains disagree on, and what can be used.

    Parameters
    ----------
    rare : mapping
        As `bayesanno.inference.diagnosis.rare.find_rare` gives it.
    max_rhat, min_ess : float
        Of chains that agree and are long enough.
    rest_mixes : bool
        Whether this is so of all parameters that are of no such class. If not, that was said before.

    Examples
    --------
    >>> from bayesanno.inference.diagnosis.explain_rare import explain_rare
    >>> found = {"classes": [{"name": "c", "items": 0.8}], "max_rhat": 1.46, "worst": {"max_rhat": "prevalence[c]"}}
    >>> found |= {"rest": {"max_rhat": 1.004, "min_ess_bulk": 900.0, "min_ess_tail": 800.0}}
    >>> found |= {"n_items": 660, "differ": 1, "named": ["x"], "apart": 0.02}
    >>> print(explain_rare(found, max_rhat=1.01, min_ess=400.0, rest_mixes=True))
    class 'c' has hardly an item (0.8 of 660 are expected in it), and chains disagree on it: R-hat of prevalence[c] is \
1.460 (should be at most 1.01); the rest can be used: of all other parameters R-hat is at most 1.004 and ESS at least \
800, and 659 items have the same most probable label in all chains, with probabilities that differ by at most 0.02; 1 \
item has another label in some chains (x); if that class matters, more items of it or known labels (controls) help, \
and longer chains (draws) may
    """
    head = f"{_who_is_rare(rare)}, and {_how_badly(rare, max_rhat, min_ess)}"
    if not rest_mixes:
        return f"beside that, {head}; longer chains may not mend this one: go by R-hat and ESS of the rest"
    differ, n_items, them = rare["differ"], rare["n_items"], _them(rare)
    has = f"{counted(differ, 'item')} {'has' if differ == 1 else 'have'} another label in some chains"
    if differ > MOST_DIFFER * n_items:
        return f"{head}; {has} ({differ / n_items:.0%} of all): sample longer (tune, draws)"
    more = f" and {differ - len(rare['named']):,} more" if differ > len(rare["named"]) else ""
    named = f"; {has} ({enumerated(rare['named'])}{more})" if differ else ""
    return (
        f"{head}; the rest can be used: {_what_is_left(rare)}{named}; if {them[0]}, more items of {them[1]} or known "
        "labels (controls) help, and longer chains (draws) may"
    )


def _who_is_rare(rare: Mapping[str, Any]) -> str:
    classes = rare["classes"]
    sizes = [f"{found['items']:.1f}" for found in classes[:MOST_CLASSES]]
    if len(classes) == 1:
        return f"class {classes[0]['name']!r} has hardly an item ({sizes[0]} of {rare['n_items']:,} are expected in it)"
    names = ", ".join(f"{found['name']!r}: {size}" for found, size in zip(classes, sizes, strict=False))
    more = f" and {len(classes) - MOST_CLASSES} more" if len(classes) > MOST_CLASSES else ""
    return f"{len(classes)} classes have hardly an item (expected of {rare['n_items']:,}: {names}{more})"


def _how_badly(rare: Mapping[str, Any], max_rhat: float, min_ess: float) -> str:
    """Say what is worst of the parameters of these classes: their R-hat, or else their ESS."""
    rhat, worst, it = rare["max_rhat"], rare["worst"], _them(rare)[1]
    if rhat is not None and rhat > max_rhat:
        return f"chains disagree on {it}: R-hat of {worst['max_rhat']} is {rhat:.3f} (should be at most {max_rhat})"
    ess, kind = min((rare[f"min_ess_{kind}"], kind) for kind in ("bulk", "tail"))
    of = worst[f"min_ess_{kind}"]
    return f"few draws of {it} are independent: the {kind} ESS of {of} is {ess:.0f} (should be at least {min_ess:.0f})"


def _what_is_left(rare: Mapping[str, Any]) -> str:
    rest = rare["rest"]
    ess = f"ESS at least {min(rest['min_ess_bulk'], rest['min_ess_tail']):.0f}"
    if rest["max_rhat"] is None:  # of one chain, with which no other can disagree
        return f"of all other parameters {ess}"
    others = counted(rare["n_items"] - rare["differ"], "item")
    return (
        f"of all other parameters R-hat is at most {rest['max_rhat']:.3f} and {ess}, and {others} have the same most "
        f"probable label in all chains, with probabilities that differ by at most {rare['apart']:.2f}"
    )


def _them(rare: Mapping[str, Any]) -> tuple[str, str]:
    return ("those classes matter", "them") if len(rare["classes"]) > 1 else ("that class matters", "it")
