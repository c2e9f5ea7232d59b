"""Which chains of a fit are in which mode of the posterior: one record, stored in a fit's diagnostics as `modes`.

If several modes were found before sampling, each chain belongs to the mode uphill of its draws. If that is unknown for
some chain, or there was no search, chains are compared with each other. `bayesanno.inference.diagnosis.modes` finds
what the record means for the posterior.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesanno.ground.lazy import pm, xr
from bayesanno.ground.running import track
from bayesanno.inference.graph.density import add_deterministics, as_chains, unconstrain
from bayesanno.inference.modes.search import Modes
from bayesanno.inference.modes.tops import EQUAL
from bayesanno.inference.relabelling import align_classes, class_permutations, sum_class_matrices
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.data_kinds import Data
from bayesanno.modeling.posterior import compile_formula

ENOUGH = 10  # if more starts than this all led to one mode, chains that look alike are assumed to be in it
LOOKS = 5  # draws of each chain whose modes are found, if there are several modes
FAR = 3.0  # within-chain standard deviations of the log density between two modes
ADDED = ("n_asked", "n_starts", "unfinished", "open", "lost", "crossing")  # added up when fits are combined
SEARCHED = (*ADDED, "n_items", "rough", "found")  # the results of a search for modes


def record_modes(
    posterior: xr.Dataset,
    log_density: np.ndarray,
    competence: str | None = None,
    searched: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Describe which chains of a fit share a mode.

    Parameters
    ----------
    posterior : xarray.Dataset
        The parameters, with dims (chain, draw, ...), after any relabelling.
    log_density : array, shape (chain, draw)
        The log density of each draw on the unconstrained scale (`lp` of the sample statistics).
    competence : str, optional
        The variable over annotators that is their competence.
    searched : mapping, optional
        The result of `place_chains`, if modes were searched for.

    Returns
    -------
    dict
        `log_density`: the mean of each chain, in nats. `groups`: the chains of each mode, the best mode first, from
        `found` if that places all chains, or else from `compare_chains`, with its `others`. Also all of `searched`.
    """
    record = compare_chains(posterior, log_density, competence) | dict(searched or {})
    if searched is not None and searched["found"] and not searched["lost"]:
        record |= {"groups": [mode["chains"] for mode in searched["found"] if mode["chains"]], "others": []}
    return record


def searched_of(diagnostics: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the results of the search for modes in a fit's diagnostics; None if there was none."""
    modes = diagnostics.get("modes", {})
    return {name: modes[name] for name in SEARCHED if name in modes} if "found" in modes else None


def compare_chains(posterior: xr.Dataset, log_density: np.ndarray, competence: str | None = None) -> dict[str, Any]:
    """Compare the chains of a fit: log density, preferred permutation of the classes, and mean competence.

    Classes are compared by the variables over true_class and response, if there are any. The parameters are those of
    `record_modes`.

    Returns
    -------
    dict
        `log_density`: the mean of each chain, in nats. `groups`: the chains of each mode, the best mode first, and in
        each mode the chain with the highest density first. `others`: one entry for each chain outside the best mode,
        with `chain` and `nats_lower`; `classes` (name there -> name it stands for) if its classes are permuted; and
        `competence`, the mean in this chain and in the best one, if its annotators are far better or worse.
    """
    mean = log_density.mean(axis=1)  # (chain,)
    sd = float(np.sqrt(log_density.var(axis=1).mean()))  # within chains
    preferred = _preferred_classes(posterior)
    level, level_sd = np.zeros(mean.size), 0.0  # mean competence in each chain, and its spread within a chain
    if competence is not None:
        beside = [dim for dim in posterior[competence].dims if dim not in ("chain", "draw")]
        overall = posterior[competence].mean(beside)
        level, level_sd = overall.mean("draw").values, float(np.sqrt(overall.var("draw").mean()))

    def differs(chain: int, leader: int) -> tuple[bool, bool, bool]:
        """Return whether two chains differ in their classes, in their annotators, and in their density."""
        permuted = preferred is not None and (preferred[chain] != preferred[leader]).any()
        shifted = abs(level[chain] - level[leader]) > FAR * level_sd
        return bool(permuted), bool(shifted), bool(mean[leader] - mean[chain] > FAR * sd)

    groups: list[list[int]] = []
    for chain in np.argsort(-mean, kind="stable").tolist():
        home = next((group for group in groups if not any(differs(chain, group[0]))), None)
        if home is None:
            groups.append([chain])
        else:
            home.append(chain)
    best = groups[0][0]
    others = []
    for chain in sorted(set(range(mean.size)) - set(groups[0])):
        permuted, shifted, _ = differs(chain, best)
        other: dict[str, Any] = {"chain": chain, "nats_lower": float(mean[best] - mean[chain])}
        if permuted and preferred is not None:
            other["classes"] = _name_swapped(posterior, preferred[best], preferred[chain])
        if shifted:
            other["competence"] = [float(level[chain]), float(level[best])]
        others.append(other)
    return {"log_density": mean.tolist(), "groups": groups, "others": others}


def place_chains(
    model: AnnotationModel,
    data: Data,
    graph: pm.Model,
    modes: Modes | None,
    draws: xr.Dataset,
    log_density: xr.DataArray,
    *,
    show: bool = False,
) -> dict[str, Any] | None:
    """Describe the modes found before sampling, and find out which chains are in which mode.

    Modes that only chains have reached are included, with no visits. If many starts all led to one mode, and chains do
    not differ, all chains are assumed to be in it.

    Parameters
    ----------
    draws : xarray.Dataset
        The free parameters, dims (chain, draw, ...), before any relabelling.
    log_density : xarray.DataArray, dims (chain, draw)
        The log density of each draw on the unconstrained scale.
    show : bool
        Whether to show progress.

    Returns
    -------
    dict or None
        None unless modes were searched for. Otherwise

        * `n_items`;
        * `n_asked` and `n_starts`, the numbers of starts requested and made;
        * `unfinished`, the number of starts that did not reach the top of a mode;
        * `open`, one entry for each such end that may carry mass: the start that led there, "first" or "random";
        * `rough`, whether masses were estimated without the whole Hessian, and are therefore not given;
        * `lost`, the chains whose mode is unknown;
        * `crossing`, the chains with draws in several modes, among the few draws examined;
        * `found`, one entry per mode, the one with the most mass first: `mass`, its share of the mass of all modes
          (None if masses are rough, or an end is open); `nats`, the difference to the highest density; `log_density`
          (of the spreads, with everything else summed out, if spreads are learnt); `visits`; `labellings`, the number
          of modes that differ only in the names of exchangeable classes; `chains` that are in it most of the time;
          `draws` that are in it, among those examined; and the differences from the first mode: `classes` (name there
          -> name it stands for), `competence` (the mean over annotators here and there), and `items_differ`, the number
          of items with another most probable state. It is empty if no climb reached the top of a mode.
    """
    if modes is None or not (modes.found or modes.unfinished):
        return None
    by_chain = np.full((draws.sizes["chain"], 1), -1)
    if modes.found:
        modes, by_chain = _follow_chains(model, graph, modes, draws, log_density, show=show)
    homes, crossing = find_homes(by_chain)
    record: dict[str, Any] = {
        "n_items": data.n_items,
        "n_asked": modes.n_asked,
        "n_starts": modes.n_starts,
        "unfinished": modes.n_unfinished,
        "open": ["first" if end.is_first else "random" for end in modes.unfinished],
        "rough": modes.rough,
        "lost": [chain for chain, home in enumerate(homes) if home < 0],
        "crossing": crossing,
        "found": [],
    }
    order = np.argsort(-modes.shares, kind="stable").tolist()
    tops = [modes.found[modes.groups[at][0]] for at in order]
    differences = _compare_tops(model, data, graph, modes, [top.point for top in tops]) if tops else []
    highest = max((top.log_density for top in tops), default=np.nan)
    for at, top, difference in zip(order, tops, differences, strict=True):
        record["found"].append(
            {
                "mass": float(modes.shares[at]) if modes.is_weighed else None,
                "nats": highest - top.log_density,
                "log_density": top.log_density,
                "visits": sum(modes.found[i].visits for i in modes.groups[at]),
                "labellings": len(modes.groups[at]),
                "chains": [chain for chain, home in enumerate(homes) if home == at],
                "draws": int((by_chain == at).sum()),
                **difference,
            }
        )
    return record


def _follow_chains(
    model: AnnotationModel, graph: pm.Model, modes: Modes, draws: xr.Dataset, log_density: xr.DataArray, *, show: bool
) -> tuple[Modes, np.ndarray]:
    """Return the modes, and the group of modes of some draws of each chain, (chain, look)."""
    if modes.is_weighed and len(modes.groups) == 1 and modes.n_starts == modes.n_asked > ENOUGH:
        lp = log_density.transpose("chain", "draw").values
        compared = compare_chains(add_deterministics(graph, draws), lp, model.competence)
        if len(compared["groups"]) == 1:
            return modes, np.zeros((draws.sizes["chain"], 1), dtype=int)
    looked = choose_draws(draws.sizes["draw"], LOOKS if modes.is_weighed and len(modes.found) > 1 else 1)
    points = unconstrain(graph, draws.isel(draw=looked))
    return follow_draws(modes, points, most_gradients=modes.most_gradients, show=show)


def choose_draws(n_draws: int, n_looks: int = LOOKS) -> np.ndarray:
    """Return the draws of a chain to examine, the last one first."""
    return np.linspace(n_draws - 1, 0, n_looks).round().astype(int)


def follow_draws(
    modes: Modes, points: np.ndarray, *, most_gradients: float = np.inf, show: bool = False
) -> tuple[Modes, np.ndarray]:
    """Climb from draws (chain, look, dimension): return all modes, and the group of each draw, -1 if unknown.

    One draw of each chain is always followed, and further ones until the budget of gradients is spent.
    """
    begun, looks = modes.surface.density.n_calls, []
    for look in track(range(points.shape[1]), "finding the modes of chains", show=show):
        if look and modes.surface.density.n_calls - begun > most_gradients:
            break
        modes, places = modes.follow(points[:, look])
        looks.append(places)
    group_of = {-1: -1} | {mode: at for at, group in enumerate(modes.groups) for mode in group}
    return modes, np.array([[group_of[place] for place in places.tolist()] for places in looks]).T


def find_homes(by_chain: np.ndarray) -> tuple[list[int], list[int]]:
    """Return the most frequent mode of each chain, and the chains in several modes, from modes (chain, look).

    The mode is -1 if it is unknown. Of equally frequent modes, the one of the first look is returned.
    """
    homes = [int(Counter(ended.tolist()).most_common(1)[0][0]) for ended in by_chain]
    return homes, [chain for chain, ended in enumerate(by_chain) if np.unique(ended[ended >= 0]).size > 1]


def _compare_tops(
    model: AnnotationModel, data: Data, graph: pm.Model, modes: Modes, points: Sequence[np.ndarray]
) -> list[dict[str, Any]]:
    """Describe how each top differs from the first; a single top needs no formula."""
    if len(points) == 1:
        return [{}]
    values = as_chains(graph, [modes.surface.density.values_at(point) for point in points])
    if modes.surface.count_labellings is not None:
        values, _ = align_classes(values)
    values = add_deterministics(graph, values)
    preferred, states = _preferred_classes(values), _probable_states(model, data, values)
    found: list[dict[str, Any]] = [{}]
    for number in range(1, len(points)):
        found.append({})
        if preferred is not None and (preferred[number] != preferred[0]).any():
            found[number]["classes"] = _name_swapped(values, preferred[0], preferred[number])
        if model.competence is not None:
            found[number]["competence"] = [float(values[model.competence][i].mean()) for i in (number, 0)]
        found[number]["items_differ"] = int((states[number] != states[0]).sum())
    return found


def _probable_states(model: AnnotationModel, data: Data, points: xr.Dataset) -> np.ndarray:
    """Return the most probable state of each item in each draw, (draw, item), for the first latent."""
    formula = compile_formula(model, data, points)
    back = formula.patterns.of_item
    first = formula.latents[0]
    return np.stack([one.probability[first].argmax(axis=1)[back] for one in formula.evaluate()])


def keep_chains(modes: Mapping[str, Any], kept: Sequence[int]) -> dict[str, Any]:
    """Return the record of modes for the chains that are kept, in their order and with new numbers."""
    record = _renumber(modes, {chain: number for number, chain in enumerate(kept)})
    for mode in record["found"]:
        if not mode["chains"] and not record["crossing"]:
            mode["draws"] = 0
    return record


def _renumber(modes: Mapping[str, Any], new: Mapping[int, int]) -> dict[str, Any]:
    """Return the record of modes with new numbers of chains; chains without one are left out."""

    def renumber(chains: Sequence[int]) -> list[int]:
        return sorted(new[chain] for chain in chains if chain in new)

    found = [mode | {"chains": renumber(mode["chains"])} for mode in modes["found"]]
    return dict(modes) | {name: renumber(modes[name]) for name in ("lost", "crossing")} | {"found": found}


def merge_modes(parts: Sequence[tuple[Mapping[str, Any], int]]) -> dict[str, Any] | None:
    """Merge the records of modes of several fits of one posterior, given with their numbers of chains.

    Returns
    -------
    dict or None
        None if the modes of the fits cannot be matched with certainty: masses are unknown, two modes have the same
        density, or the fits differ in the mode with the most mass.
    """
    merged: dict[str, Any] = {}
    found: list[dict[str, Any]] = []
    n_before = 0
    for modes, n_chains in parts:
        heights = sorted(mode["log_density"] for mode in modes["found"])
        unknown = any(mode["mass"] is None for mode in modes["found"])
        if unknown or not heights or (np.diff(heights) < EQUAL).any():
            return None
        moved = _renumber(modes, {chain: chain + n_before for chain in range(n_chains)})
        for number, mode in enumerate(moved["found"]):
            mode = mode | {"mass": mode["mass"] / moved["found"][0]["mass"]}  # relative to the first
            same = [known for known in found if abs(known["log_density"] - mode["log_density"]) < EQUAL]
            if number == 0 and same != found[:1]:
                return None
            if same:
                same[0].update({name: same[0][name] + mode[name] for name in ("visits", "draws", "chains")})
            else:
                found.append(mode)
        sums = {name: merged[name] + moved[name] for name in ADDED if name in merged and name in moved}
        merged = (merged or moved) | sums
        n_before += n_chains
    found.sort(key=lambda mode: -mode["mass"])
    total, highest = sum(mode["mass"] for mode in found), max(mode["log_density"] for mode in found)
    found = [mode | {"mass": mode["mass"] / total, "nats": highest - mode["log_density"]} for mode in found]
    return merged | {"found": found}


def _name_swapped(posterior: xr.Dataset, best: np.ndarray, other: np.ndarray) -> dict[str, str]:
    """Return which class stands for which in a chain, given its permutation and that of the best chain."""
    names = [str(name) for name in posterior["true_class"].values]
    return {names[there]: names[here] for here, there in zip(best, other, strict=True) if here != there}


def _preferred_classes(posterior: xr.Dataset) -> np.ndarray | None:
    """Return the best permutation for each chain, (chain, true_class); None without matrices of classes."""
    matrices = sum_class_matrices(posterior)
    return None if matrices is None else class_permutations(matrices.mean("draw").values)
