"""What was found of a fit, as one list: terminal, warnings, run.json and the report read it, and nothing else.

The invariant: findings are stored in a fit, so that a loaded fit has the same ones. Those of a fit without them, from
an earlier version, are found again from its data, model and diagnostics.

Findings of several modes depend on the record of modes alone (`bayesanno.inference.modes.record`), and on R-hat: of
modes between which the chains move nothing is said, however slowly; that is for R-hat and ESS. What a design lacks is
found before sampling. Spammers and adversaries are read from draws by `above_chance` of the model. Known true labels
are compared with the labels of the fit's tables.

To add one: a rule in `bayesanno/modeling/rules.toml`, what to do in `remedies.toml` beside it, and a function here that
measures and yields `find(code, ...)`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from bayesanno._core.intervals import find_bounds
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import counted, enumerated
from bayesanno.agreement.vote import vote_right
from bayesanno.fits.storage import is_on_dask, require_fit
from bayesanno.fits.view import RECALIBRATION, Fit, FitPart, FitView, parts_of, split_data, view_of
from bayesanno.inference.diagnosis.measures import has_converged
from bayesanno.inference.diagnosis.thresholds import FEW_ITEMS_DIFFER, LEAST_PROBABILITY, MAX_RHAT
from bayesanno.modeling.arguments import PROBABILITY
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.class_prior import terms_of
from bayesanno.modeling.findings import Finding, Level, check, drop_covered, find, sort_findings, threshold_of, warn_of
from bayesanno.modeling.kinds import kind_of

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
    >>> from bayesanno.inference.diagnosis.findings import find_in_modes
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
        numbers=tuple(chains),
        items=counted(mode["items_differ"], "item"),
    )


def _is_like_the_first(mode: Mapping[str, Any], modes: Mapping[str, Any]) -> bool:
    """Whether a mode has almost the same labels as the first; R-hat then shows whether chains differ."""
    most = max(1.0, FEW_ITEMS_DIFFER * modes.get("n_items", 0))
    return "classes" not in mode and "n_items" in modes and bool(mode["items_differ"] <= most)


FINDINGS = "findings"  # the attribute of a fit: a JSON list of records
COLUMNS = ("code", "level", "about", "value", "threshold", "message", "remedy")
SHARED = ("copies", "most-err-together", "labels-follow")  # annotators who err together
OF_RATINGS = ("ratings-at-ends", "ratings-outliers", "ratings-slopes", "ratings-ambiguous", "ratings-copies")
MISFIT = (  # not as the model predicts
    *SHARED, "errors-correlate", "votes-off", "items-differ", "statistic-off", *OF_RATINGS,
)  # fmt: skip
WRONG = ("labels-contradict-gold", "vote-is-better")  # labels that known ones contradict
MOST_CLASSES = 5  # that are named
MOST_P, MOST_SHARE = 0.01, 0.03  # largest p-value of votes; share of replicates with more correlated errors
DESIGN_EFFECT = 1.1  # number of answers that are worth one independent answer
SURE_Z = 2.33  # z of unevenness, exceeded once in a hundred by a normal variable
NOTICED = 0.1  # change of the expected number of wrong labels, as a share of it
EXPLAINED = 0.85  # most of the covariance of annotators whom the labels follow that independent errors explain
ENOUGH = 20  # known labels: of fewer, nothing is said
FEWEST_VOTED = 4  # items with a vote: with fewer, a share means little


def findings(fit: Fit) -> pd.DataFrame:
    """List what was found of a fit: what to know before its results are used, and one thing to do about each.

    Parameters
    ----------
    fit : xarray.DataTree or FitView

    Returns
    -------
    pandas.DataFrame
        One row for each thing found, the most serious first. `code` names the rule, which the page "Findings" of the
        documentation explains; `level` is "stop" (do not use the results as they are), "care" (read this first) or
        "note"; `about` has the annotators, items, chains or parameters, separated by commas; `value` was measured and
        compared with `threshold`, nan where there is no number; `message` says what and how much, and `remedy` one
        thing to do. Empty where nothing was found.

    Raises
    ------
    FitError
        If this is not a fit by bayesanno.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.fit("one_coin", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    >>> table = ba.findings(fit)
    >>> table.columns.tolist()
    ['code', 'level', 'about', 'value', 'threshold', 'message', 'remedy']
    >>> bool((table["level"] == "stop").any())
    False
    """
    view = view_of(fit)
    require_fit(view.tree)
    rows = [vars(one) | {"about": ", ".join(one.about), "remedy": one.advice} for one in read_findings(view)]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype({name: float if name in ("value", "threshold") else "str" for name in COLUMNS})


def read_findings(view: FitView) -> list[Finding]:
    """Return the findings that are stored in a fit; those of a fit of an earlier version are found again."""
    stored = read_stored(view.tree)
    return find_in_fit(view) if stored is None else stored


def read_stored(tree: xr.DataTree) -> list[Finding] | None:
    """Return the findings that are stored in a fit, or None."""
    stored = tree.attrs.get(FINDINGS)
    return None if stored is None else [Finding.from_record(record) for record in json.loads(stored)]


def is_misfit(view: FitView) -> bool:
    """Whether the answers are not as the model of a fit predicts them."""
    return any(one.code in MISFIT for one in read_findings(view))


def store_findings(tree: xr.DataTree, found: Sequence[Finding]) -> None:
    """Store findings in a fit."""
    tree.attrs[FINDINGS] = json.dumps([one.to_record() for one in found])


def refresh_findings(tree: xr.DataTree, before: FitView | None = None) -> None:
    """Find again what there is of a fit with other labels; warn of what was not found `before`, if that is given."""
    view = FitView(tree)
    if not is_on_dask(tree):
        tree.attrs["diagnostics"] = json.dumps(view.diagnostics | {"gold": count_all_errors(view)})
    found = find_in_fit(FitView(tree))
    store_findings(tree, found)
    if before is not None:
        known = read_findings(before)
        warn_of(one for one in found if one not in known)


def find_before(model: Any, data: Any) -> list[Finding]:
    """Return what a model cannot learn from data, whatever the method: of the design, of terms, and of the model."""
    of_terms = [one for term in terms_of(model) for one in term.findings(data)]
    return sort_findings(drop_covered([*find_in_design(data), *of_terms, *model.findings(data)]))


def find_in_fit(view: FitView, before: Sequence[Finding] | None = None) -> list[Finding]:
    """Return all that is found of a fit; `before` is the result of `find_before`, if it is there."""
    holds_items = not is_on_dask(view.tree)
    if before is None:
        before = find_before(view.model, view.data) if holds_items else []
    of_diagnostics = find_in_diagnostics(view.diagnostics, is_adjusted=view.is_adjusted)
    found = [*before, *view.model.findings_of_posterior(view.posterior), *of_diagnostics]
    if holds_items:
        found += _find_in_items(view)
    for dimension, about in json.loads(view.tree.attrs.get(RECALIBRATION, "{}")).items():
        found += _find_in_recalibration(dimension, about)
    if view.is_recalibrated:  # labels rest on known ones now, and no more on what the model fails to predict
        found = [replace(one, level="note", warning="") if one.code in MISFIT else one for one in found]
        found = [one for one in found if one.code not in ("labels-adjusted", "labels-overconfident")]
    return sort_findings(found)


def find_in_diagnostics(diagnostics: Mapping[str, Any], *, is_adjusted: bool = False) -> list[Finding]:
    """Return what the diagnostics of a fit show; its labels may be adjusted.

    Examples
    --------
    >>> from bayesanno.inference.diagnosis.findings import find_in_diagnostics
    >>> find_in_diagnostics({"divergences": 1})[0].code
    'divergences'
    """
    modes, rare = diagnostics.get("modes", {}), diagnostics.get("rare")
    of_modes = list(find_in_modes(diagnostics))
    is_little = differs_in_little(rare) and not any(one.code == "mode-unsampled" for one in of_modes)
    if is_little:
        of_modes = []
    others = list(_find_in_climb(diagnostics["climb"])) if "climb" in diagnostics else []
    others += _find_in_combination(diagnostics["combination"]) if "combination" in diagnostics else []
    # Of chains in several modes, R-hat and ESS of all say the same again; but rough modes may be none, and chains slow.
    is_apart = bool(others) or any(one.code in APART for one in of_modes)
    mixing = [] if is_apart and not modes.get("rough") else list(_find_in_mixing(diagnostics))
    for group in [] if is_little else modes.get("within", []):
        mixing += _find_within(group)
    of_answers = []
    for each in diagnostics.get("misfit", []):
        own = _find_in_answers(each)
        of_answers += [*own, *_find_in_adjustment(each, is_adjusted=is_adjusted, is_misfit=bool(own))]
    of_gold = [one for where, each in diagnostics.get("gold", {}).items() for one in _find_in_gold(where, each)]
    return sort_findings([*of_modes, *others, *mixing, *_find_in_sampling(diagnostics), *of_answers, *of_gold])


# -------------------------------------------------------------------------------------------------------- chains, draws


def _find_in_sampling(found: Mapping[str, Any]) -> Iterator[Finding]:
    n, cut_off, n_draws = (found.get(name) for name in ("divergences", "maxdepth_reached", "n_draws"))
    yield from check("one-chain", found.get("n_chains"))
    yield from check("divergences", n, n=counted(n or 0, "transition"))
    yield from check("max-treedepth", cut_off and n_draws and cut_off / n_draws)
    yield from check("bfmi", found.get("min_bfmi"))
    yield from check("pareto-k", found.get("pareto_k"))
    for code, group in (("spammer", "spammers"), ("adversary", "adversaries")):
        if who := found.get("chance", {}).get(group):
            yield find(code, dict.fromkeys(one["annotator"] for one in who), max(one["probability"] for one in who))
    if "pareto_k" in found and found["pareto_k"] is None:
        yield find("pareto-k-unknown")
    if found.get("converged") is False:
        yield find("advi-steps", value=found["steps"], more=4 * found["steps"])


def _find_in_mixing(found: Mapping[str, Any], where: str = "") -> Iterator[Finding]:
    """Yield what R-hat and ESS show; those of nearly empty classes are apart from all others."""
    if rare := found.get("rare"):
        yield from _find_in_mixing(rare["rest"], where)
        level: Level | None = "note" if differs_in_little(rare) else None
        sizes = {one["name"]: f"{one['name']!r}: {one['items']:.1f}" for one in rare["classes"]}
        classes, n_items = ", ".join([*sizes.values()][:MOST_CLASSES]), f"{rare['n_items']:,}"
        yield find("rare-label", sizes, rare["max_rhat"], level=level, classes=classes, n_items=n_items)
        share = rare["differ"] / rare["n_items"] if has_converged(rare["rest"]) else None
        yield from check("chains-label-differently", share, rare["named"], items=counted(rare["differ"], "item"))
        return
    worst: Mapping[str, str] = found.get("worst", {})
    parameter = worst.get("max_rhat", "a parameter")
    rhat = check("rhat", found.get("max_rhat"), [parameter], parameter=parameter, where=where)
    yield from rhat
    n_effective = {name: found[name] for name in ("min_ess_bulk", "min_ess_tail") if found.get(name) is not None}
    if n_effective and not rhat:
        least = min(n_effective, key=lambda name: n_effective[name])
        parameter = worst.get(least, "a parameter")
        yield from check("ess", n_effective[least], [parameter], parameter=parameter, kind=least[-4:], where=where)


def _find_within(group: Mapping[str, Any]) -> Iterator[Finding]:
    chains = group["chains"]
    if len(chains) == 1:
        yield find("chain-alone", [f"chain {chains[0]}"], 1, chain=chains[0])
    yield from _find_in_mixing(group, _in_chains(chains))


def _in_chains(chains: Sequence[int]) -> str:
    return f" in chain{'s'[: len(chains) > 1]} {', '.join(map(str, chains))}"


def differs_in_little(rare: Mapping[str, Any] | None) -> bool:
    """Whether only nearly empty classes mix badly, and chains agree on nearly all items."""
    if rare is None or not has_converged(rare["rest"]):
        return False
    return not check("chains-label-differently", rare["differ"] / rare["n_items"], items="")


def _find_in_climb(found: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield why the result of EM or variational Bayes may not be the best one, or not the only one."""
    others = found["others"]
    if not found["converged"]:
        yield find(
            "em-steps", value=found["change"], method=found["method"], steps=found["steps"], more=4 * found["steps"]
        )
    if found["restarts"] > 1 and found["agreed"] == 1:
        words = {"restarts": found["restarts"], "more": 4 * found["restarts"]}
        yield find("em-one-best", value=1, lower=others[0]["nats_lower"], **words)
    for other in [other for other in others if "elbo" in found and other["items_differ"]][:1]:
        yield from check("vb-other-mode", other["nats_lower"], items=counted(other["items_differ"], "item"))


def _find_in_combination(found: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the problems of the modes from which draws were taken."""
    yield from check("combination-unsampled", found["unsampled"])
    for mode in [mode for mode in found["modes"] if mode["n_draws"]]:
        yield from _find_in_mixing({"max_rhat": mode["max_rhat"]}, _in_chains(mode["chains"]))
    yield from check("combination-ess", found["n_effective"])
    for mode in [mode for mode in found["modes"] if mode["by"] == "importance"][:1]:
        yield find("combination-rough", reason=mode["reason"])


# ------------------------------------------------------------------------------------------------------ answers, labels


def _in(dimension: str) -> str:
    return f" in {dimension!r}" if dimension else ""


def _find_in_answers(found: Mapping[str, Any]) -> list[Finding]:
    """Return how the answers of one table are not as the fit predicts them; what copies explain is not said again."""
    where, groups = _in(found["dimension"]), found.get("pairs", {}).get("groups", [])
    copies = [one for group in groups for one in _find_copies(group, where)]
    others = [*_find_in_errors(found, where), *_find_in_statistics(found.get("statistics", {}), where)]
    followed, copied = found.get("followed"), {name for group in groups for name in group["group"]}
    if followed and followed["explained"] <= EXPLAINED and not copied.issuperset(followed["who"]):
        shares = {"same": followed["same"], "explained": max(followed["explained"], 0.0)}
        others += check("labels-follow", followed["z"], followed["who"], **shares)
    if _explain(groups, found.get("errors")):
        return drop_covered([*copies, *others])
    return [*copies, *drop_covered(others)]


def _find_copies(group: Mapping[str, Any], where: str) -> list[Finding]:
    most = check("most-err-together", group["share"], group["group"], where=where)
    words = dict(zip(("first", "second"), group["annotators"], strict=True)) | {"n": group["n"], "where": where}
    return most or [find("copies", group["group"], group["correlation"], **words)]


def _explain(groups: Sequence[Mapping[str, Any]], errors: Mapping[str, Any] | None) -> bool:
    """Whether groups of copies explain most of the correlation of errors, which is a mean over all pairs."""
    by_copies = 0.0
    for one in groups:
        size, n = len(one["group"]), len(one["group"]) / one["share"]  # of the group, and of all annotators
        by_copies += one["correlation"] * size * (size - 1) / (n * (n - 1))
    return bool(groups) and (errors is None or by_copies >= (errors["correlation"] - errors["expected"]) / 2)


def _find_in_errors(found: Mapping[str, Any], where: str) -> Iterator[Finding]:
    errors, votes = found.get("errors"), found.get("votes")
    if errors and errors["p"] < MOST_SHARE and errors["n_answers"] >= DESIGN_EFFECT * errors["worth"]:
        more, n = min(errors["correlation"] - errors["expected"], 1.0), errors["n_answers"]
        words = {"correlation": more, "n": n, "worth": errors["worth"], "effect": n / errors["worth"], "where": where}
        yield from check("errors-correlate", errors["z"], **words)
    if uneven := (errors or {}).get("unevenness"):
        beyond = uneven["observed"] - uneven["expected"]
        yield from check("items-differ", beyond if uneven["z"] > SURE_Z else 0.0, where=where)
    if votes and votes["p"] < MOST_P:
        shares = {name: votes[name] for name in ("observed", "predicted")} | {"what": _name_votes(votes["at_most"])}
        yield from check("votes-off", abs(votes["observed"] - votes["predicted"]), where=where, **shares)


def _find_in_statistics(statistics: Mapping[str, Any], where: str) -> Iterator[Finding]:
    limit = threshold_of("statistic-off") / max(1, len(statistics))
    off = sorted((of["p"], -of["spread"], name) for name, of in statistics.items() if of["p"] < limit)
    for code in dict.fromkeys(statistics[name].get("rule", "statistic-off") for *_, name in off):
        own = [one for one in off if statistics[one[2]].get("rule", "statistic-off") == code]
        p, far, name = own[0]
        words = {"statistic": name if len(own) == 1 else f"{name} (and {len(own) - 1} more)", "spread": -far}
        about = statistics[name].get("about", [name for *_, name in own])
        yield find(code, about, p, threshold=limit, where=where, **words)


def _find_in_adjustment(found: Mapping[str, Any], *, is_adjusted: bool, is_misfit: bool) -> Iterator[Finding]:
    """Yield that labels were adjusted noticeably, or should be; 2% of the vote alone are not mentioned."""
    done = found.get("adjustment", {"expected_errors": (0.0, 0.0), "weight": 0.0})
    before, after = done["expected_errors"]
    if after - before > NOTICED * before and (is_misfit or (is_adjusted and done["weight"] > 0)):
        words = {"before": before, "after": after, "where": _in(found["dimension"])}
        if is_adjusted:
            precaution = f"as a precaution (errors on an item may correlate by {done.get('correlation', 0.0):.2f})"
            why = "for what the check found" if is_misfit else precaution
            yield from check("labels-adjusted", after - before, why=why, **words)
        else:
            yield from check("labels-overconfident", after - before, **words)


def _name_votes(at_most: str) -> str:
    """Return which items have a number of votes, or of successes, or which ratings are low, in words."""
    number, _, label = at_most.partition(" x ")
    if " to " in at_most:
        return f"ratings are at most {at_most.rpartition(' ')[2]}"
    what = f"vote{'s' if number not in ('0', '1') else ''} for {label!r}" if label else "successes"
    return f"items have no {what}" if number == "0" else f"items have at most {number} {what}"


def _find_in_gold(dimension: str, found: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield how labels are wrong beyond chance, or worse than the vote, by enough known labels."""
    errors, where = Errors(*(found[name] for name in Errors._fields)), _in(dimension)
    if errors.n >= ENOUGH:
        items = counted(errors.n, "item")
        words: dict[str, Any] = {"expected": errors.expected, "made": errors.made, "vote": errors.vote, "where": where}
        yield from check("labels-contradict-gold", errors.p, items=items, **words)
        yield from check("vote-is-better", errors.p_vote, **words)


def _find_in_recalibration(dimension: str, about: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield that labels say nothing beyond their frequencies, were better before, or that true labels are few."""
    n, after, before, shares = (
        about[name] for name in ("n_known", "log_score", "log_score_before", "log_score_shares")
    )
    low, high = (about["temperature"][name] for name in find_bounds(about["temperature"])[:2])
    words: dict[str, Any] = {"score": after, "before": before, "shares": shares}
    words |= {"low": low, "high": high, "where": _in(dimension)}
    is_needless = after < before and low <= 1 <= high and all(map(_holds_zero, about["shift"].values()))
    words["n"] = counted(n, "true label")
    few = [find("few-true-labels", value=n, **words)] if is_needless else check("few-true-labels", n, **words)
    nothing = check("labels-carry-nothing", max(after, before) - shares, **words) if n >= ENOUGH else []
    yield from nothing or check("recalibration-worse", high if is_needless else None, **words) or few


def _holds_zero(parameter: Mapping[str, Any]) -> bool:
    low, high = (parameter[name] for name in find_bounds(parameter)[:2])
    return bool(low <= 0 <= high)


def _find_in_items(view: FitView) -> Iterator[Finding]:
    """Yield what the labels of the items show beside the votes, and what was left out for its size."""
    for part in split_data(view.data, view.latents):
        yield from find_against_votes(part)
    if "log_likelihood" not in view.tree.children:
        sizes, n_items = view.posterior.sizes, view.data.n_items
        n_draws = sizes["chain"] * sizes["draw"]
        memory = 8 * n_items * n_draws / 2**30
        fewer = max(1, int(sizes["draw"] * threshold_of("no-log-likelihood") / memory))  # of each chain
        yield find("no-log-likelihood", value=memory, n_items=f"{n_items:,}", n_draws=f"{n_draws:,}", fewer=fewer)


def find_against_votes(part: FitPart) -> Iterator[Finding]:
    """Yield that the most probable labels of a table's items are not those of most annotators."""
    if part.kind != "labels":
        return
    data, shares, probability = part.data, part.data.class_shares, part.latent[PROBABILITY].values
    first, second = np.sort(shares, axis=1)[:, :-3:-1].T
    voted = (first > second) & (data.control_codes < 0)
    if voted.sum() >= FEWEST_VOTED:
        yield from check("labels-against-vote", (shares.argmax(axis=1) == probability.argmax(axis=1))[voted].mean())


# ------------------------------------------------------------------------------------------------- what a design lacks


@singledispatch
def find_in_design(data: Any) -> list[Finding]:
    """Return why competence cannot be learnt from this design; empty without problems.

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.inference.diagnosis.findings import find_in_design
    >>> alone = AnnotationData.from_records([("s1", "ada", "yes"), ("s2", "bo", "no"), ("s3", "cy", "no")])
    >>> find_in_design(alone)[0].message
    'Every item has only one annotator: competence follows its prior alone.'
    """
    return kind_of(data).find_in_design(data)


# ------------------------------------------------------------------------------------------------ annotators at chance

MARGIN = 0.1  # above chance, on a scale where 1 is perfect, by which an annotator counts as better than chance


def find_chance(model: AnnotationModel, posterior: xr.Dataset, parts: Iterable[FitPart]) -> dict[str, list[Any]]:
    """List the spammers and the adversaries among the annotators of a fit.

    A spammer is probably no better than chance: at most 0.1 above it. An adversary is probably more than 0.1 below it,
    and no spammer. The rules of the findings `spammer` and `adversary` say how probably.

    Returns
    -------
    dict
        `spammers` and `adversaries`: lists of dicts with `dimension`, `annotator`, `n_annotations` and `probability`.
    """
    found: dict[str, list[Any]] = {"spammers": [], "adversaries": []}
    for part in parts:
        above = measure_above(model, posterior, part)
        if above is None:
            continue
        p_chance, p_worse = (are.mean(("chain", "draw")).values for are in (above <= MARGIN, above < -MARGIN))
        for code, annotator in enumerate(part.data.annotators):
            who = {
                "dimension": part.dimension,
                "annotator": annotator,
                "n_annotations": int(part.data.by_annotator[code]),
            }
            if p_worse[code] >= threshold_of("adversary"):
                found["adversaries"].append({**who, "probability": float(p_worse[code])})
            elif p_chance[code] >= threshold_of("spammer"):
                found["spammers"].append({**who, "probability": float(p_chance[code])})
    return found


def measure_above(model: AnnotationModel, posterior: xr.Dataset, part: FitPart) -> xr.DataArray | None:
    """Return how far the annotators of a part are above chance in each draw, (chain, draw, annotator)."""
    own = posterior.sel(dimension=part.dimension) if "dimension" in posterior.dims else posterior
    return model.above_chance(own, part.data)


# -------------------------------------------------------------------------------------------------------- known labels


class Errors(NamedTuple):
    """Expected and actual numbers of wrong labels, on items with a known true label.

    Attributes
    ----------
    n : int
        The number of items with a known true label.
    expected, made : float
        The sum of 1 - p over the most probable labels, and the number of wrong ones.
    p : float
        The probability of at least this many errors if the probabilities were right, from a Poisson distribution, which
        is a little wider than that of the sum.
    vote : float
        The number of errors of the majority vote; ties count as fractions.
    p_vote : float
        The probability that labels are worse than the vote by at least this much if both were equally good, from a
        normal approximation over items.
    """

    n: int
    expected: float
    made: float
    p: float
    vote: float
    p_vote: float


def count_errors(part: FitPart) -> Errors | None:
    """Count expected and actual errors; None if no true label is known, or the states are item types.

    Examples
    --------
    >>> import bayesanno as ba
    >>> from bayesanno.inference.diagnosis.findings import count_errors
    >>> from bayesanno.fits.view import part_of
    >>> from bayesanno.fits.view import view_of
    >>> fit = ba.fit("one_coin", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)
    >>> errors = count_errors(part_of(view_of(fit), None))
    >>> errors.n, errors.made, round(errors.vote)
    (300, 20.0, 28)
    """
    from scipy.special import ndtr, pdtrc  # scipy.stats has both, and takes long to be imported

    if part.kind != "labels" or not part.gold:
        return None
    right, probability = part.right, part.posterior.values.max(axis=1)
    known = np.isfinite(right)
    made, expected = float((1 - right[known]).sum()), float((1 - probability[known]).sum())
    by_vote = np.nan_to_num(vote_right(part.data)[known])
    worse = by_vote - right[known]
    p_vote = ndtr(-worse.sum() / np.sqrt((worse**2).sum())) if worse.any() else 1.0
    vote = float((1 - by_vote).sum())
    p = pdtrc(np.floor(made) - 1, expected) if made >= 1 else 1.0  # of a Poisson distribution
    return Errors(int(known.sum()), expected, made, float(p), vote, float(p_vote))


def count_all_errors(view: FitView) -> dict[str, dict[str, float]]:
    """Return the errors of each dimension with known true labels, as a fit's diagnostics hold them."""
    counts = {part.dimension: count_errors(part) for part in parts_of(view)}
    return {dimension: errors._asdict() for dimension, errors in counts.items() if errors is not None}
