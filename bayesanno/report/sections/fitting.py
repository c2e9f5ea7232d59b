"""Did the fit converge, and how was it made? Whether draws are reliable, and all that is needed to make it again."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from bayesanno._core.fields import as_typed
from bayesanno._core.wording import counted
from bayesanno.fits.view import FitView
from bayesanno.inference.diagnosis.modes import modes_found
from bayesanno.modeling.class_prior import class_prior_of
from bayesanno.report.blocks import Card, Heading, PageBlock, SmallTable, Text
from bayesanno.report.sections.findings import Findings


def judge_chains(found: Findings) -> Iterator[PageBlock]:
    """Say whether the method found the posterior of the model, and show the numbers behind that."""
    view = found.view
    yield Text(_judge(view, found.has_problems))
    yield SmallTable(rows=list(_facts_of(view).items()))
    modes = modes_found(view.diagnostics.get("modes", {}))
    if len(modes) > 1:
        yield _list_modes(modes)


ABOVE = "The problems are at the top of the page."
LOG_ODDS = "; on real tables, the log odds of its labels are 1.1 to 3.6 times those of NUTS"


def _judge(view: FitView, problems: bool) -> str:
    found = view.diagnostics
    if view.yields == "point":
        sure = "" if view.is_tempered else LOG_ODDS
        what = f"A point estimate by EM, without intervals{sure}."
        return f"{what} {ABOVE if problems else 'Its starts agree.'}"
    if view.yields == "approximation":
        sure = "" if view.is_tempered else " and labels slightly more confident than with NUTS"
        what = f"Draws from an approximation: means are often good, but intervals are too narrow{sure}."
        return f"{what} {ABOVE if problems else ''}".strip()
    if problems:
        return ABOVE
    chains = f"{counted(found['n_chains'], 'chain')} agree" if found.get("n_chains") else "draws"
    rhat = f"largest R-hat {found['max_rhat']:.3f}, " if found.get("max_rhat") is not None else ""
    ess = f"smallest bulk ESS {found['min_ess_bulk']:,.0f}, " if found.get("min_ess_bulk") else ""
    return (
        f"The {chains} ({rhat}{ess}{found.get('divergences') or 'no'} divergences). This is about the computation: "
        "even the posterior of a wrong model can be computed correctly."
    )


def _facts_of(view: FitView) -> dict[str, str]:
    """Return the diagnostics as words: those that the method of fitting has."""
    found, worst = view.diagnostics, view.diagnostics.get("worst", {})
    facts = {"method": view.tree.attrs["method"]}
    if found.get("n_draws"):
        chains = f" of {counted(found['n_chains'], 'chain')}" if found.get("n_chains") else ""
        facts["draws"] = f"{found['n_draws']:,}{chains}"
    for name, what, digits in (
        ("max_rhat", "largest R-hat (should be at most 1.01)", 4),
        ("min_ess_bulk", "least bulk ESS (should be at least 400)", 0),
        ("min_ess_tail", "least tail ESS (should be at least 400)", 0),
        ("min_bfmi", "E-BFMI (should be at least 0.3)", 2),
        ("pareto_k", "Pareto k (should be at most 0.7)", 2),
    ):
        if found.get(name) is not None:
            of = f", of {worst[name]}" if name in worst else ""
            facts[what] = f"{found[name]:,.{digits}f}{of}"
    if rest := found.get("rare", {}).get("rest"):
        for name, what, digits in (("max_rhat", "largest R-hat", 4), ("min_ess_bulk", "least bulk ESS", 0)):
            if rest[name] is not None:
                facts[f"{what} without nearly empty classes"] = f"{rest[name]:,.{digits}f}, of {rest['worst'][name]}"
    if found.get("divergences") is not None:
        facts["divergences"] = f"{found['divergences']:,}"
    if "n_asked" in (modes := found.get("modes", {})):
        reached = modes["n_starts"] - modes["unfinished"]
        facts["starts of the search for modes"] = (
            f"{modes['n_starts']} of {modes['n_asked']}, {reached} of them up to the top of a mode"
        )
    if climb := found.get("climb"):
        facts["starts that agree"] = f"{climb['agreed']} of {climb['restarts']}"
        what = "elbo" if "elbo" in climb else "log_likelihood"
        facts["ELBO" if what == "elbo" else "log likelihood"] = f"{climb[what]:,.4f}"
    seconds = view.tree.attrs.get("seconds_sample")
    if seconds is not None:
        facts["seconds"] = f"{view.tree.attrs['seconds_compile']:.1f} compiling, {seconds:.1f} fitting"
    return facts


def _list_modes(modes: list[dict[str, Any]]) -> SmallTable:
    rows = [
        [
            str(number),
            "" if mode["probability"] is None else f"{mode['probability']:.3f}",
            f"{mode['nats']:.2f}",
            ", ".join(map(str, mode["chains"])) or "none",
            str(mode.get("items_differ", "")),
        ]
        for number, mode in enumerate(modes, 1)
    ]
    header = ["mode", "probability", "nats below the highest", "chains in it", "items labelled differently"]
    return SmallTable(
        caption="Modes of the posterior", header=header, numbers=[True, True, True, False, True], rows=rows
    )


def describe_origin(view: FitView) -> Iterator[PageBlock]:
    """Describe the data, the model and the settings of a fit, and show the model's card."""
    attrs = view.tree.attrs
    settings = {name: value for name, value in json.loads(attrs["settings"]).items() if value not in (None, {})}
    facts = {
        "data": view.named_data.describe(),
        "hash of the data": str(attrs["data_hash"]),
        "model": view.model.name,
        "method": attrs["method"] + (f", {attrs['nuts_sampler']}" if "nuts_sampler" in attrs else ""),
        "settings": ", ".join(f"{name}={value}" for name, value in settings.items()),
        "seed": str(attrs["random_seed"]),
        "versions": ", ".join(f"{name} {value}" for name, value in json.loads(attrs["versions"]).items()),
    }
    yield SmallTable(rows=list(facts.items()))
    if fields := view.model.to_fields():
        yield Heading("Priors and options")
        yield SmallTable(rows=[(name, as_typed(getattr(view.model, name))) for name in fields])
    of_class = class_prior_of(view.model)
    for one in (view.model, *(of_class.terms if of_class is not None else ())):
        if card := sys.modules[type(one).__module__].__doc__:
            yield Card(f"The card of {one.name}: process, formulas, priors, when to use it", card.strip())
