"""Which chains of a fit are in which mode of the posterior: one record, stored in a fit's diagnostics as `modes`.

If several modes were found before sampling, each chain belongs to the mode uphill of its draws. If that is unknown for
some chain, or there was no search, chains are compared with each other. Modes between which chains cross, or whose
chains agree within Monte Carlo error, count as one. `bayesanno.inference.diagnosis.modes` explains what the record
means for the posterior.

The invariant: a mode has a `probability` only if all modes were weighed, by importance sampling, or all those that
chains are in, by bridge sampling from the draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesanno._core.lazy import pm, xr
from bayesanno.graph.draws import add_deterministics, as_chains, unconstrain
from bayesanno.inference.diagnosis.thresholds import LEAST_PROBABILITY
from bayesanno.inference.modes.chains import (
    N_DRAWS_CHECKED,
    choose_blocks,
    choose_draws,
    compare_chains,
    count_enough,
    find_equal_chains,
    find_preferred_classes,
    join_groups,
    mode_of_chain,
)
from bayesanno.inference.modes.laplace import Mode
from bayesanno.inference.modes.probabilities import group_chains, integrate_groups
from bayesanno.inference.modes.search import Modes, normalize
from bayesanno.inference.modes.weigh import weigh
from bayesanno.inference.relabelling import align_classes
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.data_adapters import Data

ENOUGH = 10  # if more starts than this all led to one mode, chains that look alike are assumed to be in it
HIGHER = 3.0  # nats by which a mode of chains is higher than those of the search, beyond the error of both
COMPARED = ("log_density", "groups", "within")  # what is computed from the chains alone


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
        `found` if that places all chains, or else from `compare_chains`. Chains that visit one mode, or have equal
        means, are in one group. Also all of `searched`.
    """
    record = compare_chains(posterior, log_density, competence) | dict(searched or {})
    if searched is not None and searched["found"] and not searched["lost"]:
        places = [mode["chains"] for mode in searched["found"] if mode["chains"]]
        record["groups"] = join_groups(places, [mode.get("visitors", []) for mode in searched["found"]])
    if len(record["groups"]) > 1:
        record["groups"] = join_groups(record["groups"], find_equal_chains(posterior, log_density))
    return record


def searched_of(diagnostics: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the results of the search for modes in a fit's diagnostics; None if there was none."""
    modes = diagnostics.get("modes", {})
    return {name: modes[name] for name in modes if name not in COMPARED} if "found" in modes else None


def place_chains(
    model: AnnotationModel,
    data: Data,
    graph: pm.Model,
    modes: Modes | None,
    draws: xr.Dataset,
    log_density: xr.DataArray,
    *,
    random_seed: int | None = None,
    show: bool = False,
) -> dict[str, Any] | None:
    """Describe the modes found before sampling, and find out which chains are in which mode.

    Modes that only chains have reached are included, with no visits. If many starts all led to one mode, and chains do
    not differ, all chains are assumed to be in it. For a model with scale parameters, the probabilities of the modes
    that chains are in are from bridge sampling, if there are several.

    Parameters
    ----------
    draws : xarray.Dataset
        The free parameters, dims (chain, draw, ...), before any relabelling.
    log_density : xarray.DataArray, dims (chain, draw)
        The log density of each draw on the unconstrained scale.
    random_seed : int, optional
        For the points that are drawn to weigh modes.
    show : bool
        Whether to show progress.

    Returns
    -------
    dict or None
        None unless modes were searched for. Otherwise

        * `n_items`;
        * `n_asked` and `n_starts`, the numbers of starts requested and made;
        * `unfinished`, the number of starts that did not reach a mode;
        * `open`, one entry for each such end that may be probable: the start that led there, "first" or "random";
        * `rough`, whether integrals were estimated without the whole Hessian, so that no probabilities are given;
        * `weighed_by`, the estimator of probabilities: "importance", "bridge", or None if there are none;
        * `n_effective`, the number of independent draws that importance sampling is worth; None if only one mode may be
          probable, or there are no such probabilities;
        * `higher`, only if chains of a model with scale parameters are in a mode that no start led to, and it is more
          than 3 nats higher than all those: by how many nats;
        * `lost`, the chains whose mode is unknown;
        * `crossing`, the chains with draws in several modes, among the few draws examined;
        * `found`, one entry per mode, the most probable first, or else the highest: `probability`, among all modes, or
          among those with chains if it is from bridge sampling (None if it is unknown); `nats`, the difference to the
          highest density; `log_density` (at the scales that the search kept, if there are scale parameters); `visits`;
          `labellings`, the number of modes that differ only in the names of exchangeable classes; `chains` that are in
          it most of the time; `visitors`, the chains with draws in it; the number of `draws` in it, among those
          examined; and the differences from the first mode:
          `classes` (name there -> name it stands for) and `items_differ`, the number of items with another most
          probable state. It is empty if no ascent reached a mode.
    """
    if modes is None or not (modes.found or modes.unfinished):
        return None
    by_draw, rng = np.full((draws.sizes["chain"], 1), -1), np.random.default_rng(random_seed)
    if modes.found:
        modes, by_draw = _ascend_from_chains(model, graph, modes, draws, log_density, rng, show=show)
    by_chain, crossing = mode_of_chain(by_draw)
    probabilities, weighed_by = modes.probabilities, "importance" if modes.has_probabilities else None
    if modes.log_density.has_scales:
        probabilities = _bridge(graph, modes, draws, by_chain, rng)
        weighed_by = None if np.isnan(probabilities).all() else "bridge"
    record: dict[str, Any] = {
        "n_items": data.n_items,
        "n_asked": modes.n_asked,
        "n_starts": modes.n_starts,
        "unfinished": modes.n_unfinished,
        "open": ["first" if end.is_first else "random" for end in modes.unfinished],
        "rough": modes.rough,
        "weighed_by": weighed_by,
        "n_effective": modes.n_effective if np.isfinite(modes.n_effective) else None,
        "lost": [chain for chain, mode in enumerate(by_chain) if mode < 0],
        "crossing": crossing,
        "found": [],
    }
    firsts = [modes.found[group[0]] for group in modes.groups]
    height = np.array([mode.log_density for mode in firsts])
    order = np.lexsort((-height, -np.nan_to_num(probabilities, nan=-1.0))).tolist()
    differences = _compare_modes(graph, modes, [firsts[at] for at in order])
    for at, difference in zip(order, differences, strict=True):
        record["found"].append(
            {
                "probability": float(probabilities[at]) if weighed_by and np.isfinite(probabilities[at]) else None,
                "nats": float(height.max() - height[at]),
                "log_density": firsts[at].log_density,
                "visits": sum(modes.found[i].visits for i in modes.groups[at]),
                "labellings": len(modes.groups[at]),
                "chains": [chain for chain, mode in enumerate(by_chain) if mode == at],
                "visitors": np.flatnonzero((by_draw == at).any(axis=1)).tolist(),
                "draws": int((by_draw == at).sum()),
                **difference,
            }
        )
    if modes.log_density.has_scales and (rise := _find_rise(record["found"])) > HIGHER:
        record["higher"] = rise
    return record


def _find_rise(found: Sequence[Mapping[str, Any]]) -> float:
    """Return by how much the highest mode that chains are in is higher than all that starts led to; -inf if unknown."""
    occupied, visited = ([mode["log_density"] for mode in found if mode[name]] for name in ("chains", "visits"))
    return max(occupied) - max(visited) if occupied and visited else -np.inf


def _ascend_from_chains(
    model: AnnotationModel,
    graph: pm.Model,
    modes: Modes,
    draws: xr.Dataset,
    log_density: xr.DataArray,
    rng: np.random.Generator,
    *,
    show: bool,
) -> tuple[Modes, np.ndarray]:
    """Return the modes, and the group of modes of some draws of each chain, (chain, draw).

    So many draws are examined that each probable mode has one, or it is unlikely that none is there by chance.
    """
    if modes.has_probabilities and len(modes.groups) == 1 and modes.n_starts == modes.n_asked > ENOUGH:
        lp = log_density.transpose("chain", "draw").values
        compared = compare_chains(add_deterministics(graph, draws), lp, model.competence)
        if len(compared["groups"]) == 1:
            return modes, np.zeros((draws.sizes["chain"], 1), dtype=int)
    n_chains, n_draws = draws.sizes["chain"], draws.sizes["draw"]
    checked = choose_draws(n_draws, N_DRAWS_CHECKED if len(modes.near) > 1 else 1)
    n_weighed = len(modes.found)
    modes, by_draw = modes.ascend_from_draws(unconstrain(graph, draws.isel(draw=checked)), show=show)
    for more in choose_blocks(n_draws, count_enough(LEAST_PROBABILITY) // n_chains + 1):
        if len(modes.found) > n_weighed and not modes.has_probabilities:
            modes = weigh(modes, rng, show=show)
            n_weighed = len(modes.found)
        there = modes.groups_of(by_draw)
        lacking = [p for at, p in enumerate(modes.probabilities) if p >= LEAST_PROBABILITY and at not in there]
        if not lacking or by_draw.size >= count_enough(min(lacking)):
            break
        modes, places = modes.ascend_from_draws(unconstrain(graph, draws.isel(draw=more)), show=show)
        by_draw = np.hstack([by_draw, places])
    return modes, modes.groups_of(by_draw)


def _bridge(
    graph: pm.Model, modes: Modes, draws: xr.Dataset, by_chain: Sequence[int], rng: np.random.Generator
) -> np.ndarray:
    """Return the probabilities of those modes that chains are in, nan for all others: (group,)."""
    probabilities, there = np.full(len(modes.groups), np.nan), np.unique(by_chain)
    if there.size > 1 and there.min() >= 0:
        found = integrate_groups(modes.log_density, graph, draws, group_chains(modes, by_chain), rng)
        probabilities[there] = normalize([one.log_integral for one in found])
    return probabilities


def _compare_modes(graph: pm.Model, modes: Modes, firsts: Sequence[Mode]) -> list[dict[str, Any]]:
    """Describe how each mode differs from the first; a single one needs no formula."""
    if len(firsts) <= 1 or modes.log_density.read_states is None:
        return [{} for _ in firsts]
    points = np.array([mode.point for mode in firsts])
    values = as_chains(graph, [modes.log_density.density.values_at(point) for point in points])
    if modes.log_density.count_labellings is not None:
        values, _ = align_classes(values)
    preferred = find_preferred_classes(add_deterministics(graph, values))
    states = modes.log_density.read_states(points)
    found: list[dict[str, Any]] = [{}]
    for number in range(1, len(points)):
        found.append({"items_differ": int((states[number] != states[0]).sum())})
        if preferred is not None and (preferred[number] != preferred[0]).any():
            names, pairs = values["true_class"].values.tolist(), zip(*preferred[[0, number]], strict=True)
            found[-1]["classes"] = {names[there]: names[here] for here, there in pairs if here != there}
    return found


def keep_chains(modes: Mapping[str, Any], kept: Sequence[int]) -> dict[str, Any]:
    """Return the record of modes for the chains that are kept, in their order and with new numbers."""

    def renumber(chains: Sequence[int]) -> list[int]:
        return sorted(kept.index(chain) for chain in chains if chain in kept)

    record = dict(modes) | {name: renumber(modes[name]) for name in ("lost", "crossing")}
    names = ("chains", "visitors")
    record["found"] = [mode | {name: renumber(mode.get(name, [])) for name in names} for mode in modes["found"]]
    for mode in record["found"]:
        if not mode["chains"] and not record["crossing"]:
            mode["draws"] = 0
    return record
