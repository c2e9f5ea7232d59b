"""Which chains of a fit are in which mode of the posterior: one record, stored in a fit's diagnostics as `modes`.

If several modes were found before sampling, each chain belongs to the mode uphill of its draws. If that is unknown for
some chain, or there was no search, chains are compared with each other. Modes between which chains cross, or whose
chains agree within Monte Carlo error, count as one. `bayesanno.inference.diagnosis.findings` explains what the record
means for the posterior.

The invariant: a mode has a `probability` only if all modes were weighed, by importance sampling, or all those that
chains are in, by bridge sampling from the draws.

Integrals are estimated by bridge sampling from the draws in each mode. If that fails for one mode, all are estimated
from draws around the modes (`bayesanno.inference.modes.search`), or are unknown for a model with scale parameters. The
space is divided among the modes: a point belongs to the mode whose t distribution, with the centre and curvature of the
mode, is highest there. With scale parameters it belongs to the mode that gives most items the same label. So nothing
counts twice, and chains that cross are divided.
If classes can be permuted, only one labelling is considered, the one that eq. 56 of Rzhetsky et al. (2009) prefers.
Each of the K! labellings has every mode once, so that K! cancels.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from bayesanno._core.chains import measure_mcse
from bayesanno._core.lazy import pm, xr
from bayesanno._core.messages import FitError
from bayesanno.fits.view import FitView
from bayesanno.graph.density import Density
from bayesanno.graph.functions import add_deterministics, as_chains, unconstrain
from bayesanno.inference.diagnosis.findings import chains_agree, modes_found
from bayesanno.inference.diagnosis.thresholds import LEAST_PROBABILITY, UNLIKELY
from bayesanno.inference.modes.bridge import TAILS, estimate_log_integral, find_covariance
from bayesanno.inference.modes.search import (
    LEAST_EFFECTIVE,
    MOST_DIMENSIONS,
    LogDensity,
    Mode,
    Modes,
    compile_model,
    make_log_density,
    normalize,
    weigh,
)
from bayesanno.inference.relabelling import align_classes, class_permutations, sum_class_matrices
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.kinds import Data

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
    progressbar: bool = False,
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
    progressbar : bool
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
        modes, by_draw = _ascend_from_chains(model, graph, modes, draws, log_density, rng, show=progressbar)
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


# ------------------------------------------------------------------------------------------- which chains share a mode

N_DRAWS_CHECKED = 5  # draws of each chain whose modes are found, if there are several modes
FAR = 3.0  # within-chain standard deviations of the log density between two modes
EQUAL_MEANS = 5.0  # most Monte Carlo standard errors between the means of chains in one mode, of any parameter


def compare_chains(posterior: xr.Dataset, log_density: np.ndarray, competence: str | None = None) -> dict[str, Any]:
    """Compare the chains of a fit: log density, preferred permutation of the classes, and mean competence.

    Classes are compared by the variables over true_class and response, if there are any. The parameters are those of
    `record_modes`.

    Returns
    -------
    dict
        `log_density`: the mean of each chain, in nats. `groups`: the chains of each mode, the best mode first, and in
        each mode the chain with the highest density first.
    """
    height = log_density.mean(axis=1)  # (chain,)
    measures = [(height, float(np.sqrt(log_density.var(axis=1).mean())))]  # of each chain, with the sd within chains
    if competence is not None:
        beside = [dim for dim in posterior[competence].dims if dim not in ("chain", "draw")]
        level = posterior[competence].mean(beside)
        measures.append((level.mean("draw").values, float(np.sqrt(level.var("draw").mean()))))
    preferred = find_preferred_classes(posterior)

    def share_a_mode(one: int, other: int) -> bool:
        is_near = all(abs(values[one] - values[other]) <= FAR * sd for values, sd in measures)
        return is_near and (preferred is None or bool((preferred[one] == preferred[other]).all()))

    groups: list[list[int]] = []
    for chain in np.argsort(-height, kind="stable").tolist():
        group = next((group for group in groups if share_a_mode(chain, group[0])), None)
        if group is None:
            groups.append([chain])
        else:
            group.append(chain)
    return {"log_density": height.tolist(), "groups": groups}


def find_equal_chains(posterior: xr.Dataset, log_density: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield the pairs of chains whose means of all parameters and of the log density agree within Monte Carlo error."""
    values = posterior.assign(log_density=(("chain", "draw"), log_density))
    draws = [one.transpose("chain", "draw", ...).values for one in values.data_vars.values()]
    rows = np.concatenate([one.reshape(*one.shape[:2], -1) for one in draws], axis=2)  # (chain, draw, number)
    means, errors = rows.mean(axis=1), [measure_mcse(one[None]) for one in rows]  # 0 for constants
    for one, other in combinations(range(len(rows)), 2):
        if (np.abs(means[one] - means[other]) <= EQUAL_MEANS * np.hypot(errors[one], errors[other])).all():
            yield one, other


def join_groups(groups: Sequence[Sequence[int]], together: Iterable[Sequence[int]]) -> list[list[int]]:
    """Return groups of chains, joined if chains of both are together.

    Examples
    --------
    >>> from bayesanno.inference.modes.record import join_groups
    >>> join_groups([[0], [2, 3], [1]], [[0, 1], [2]])
    [[0, 1], [2, 3]]
    """
    joined = [list(group) for group in groups]
    for chains in together:
        touching = [group for group in joined if not set(group).isdisjoint(chains)]
        for group in touching[1:]:
            touching[0] += group
            joined.remove(group)
    return joined


def choose_draws(n_draws: int, n_checked: int = N_DRAWS_CHECKED) -> np.ndarray:
    """Return the draws of a chain to examine, the last one first."""
    return np.linspace(n_draws - 1, 0, n_checked).round().astype(int)


def count_enough(probability: float) -> int:
    """Return the number of draws among which it is unlikely that none is in a mode with this probability."""
    return math.ceil(math.log(UNLIKELY) / math.log1p(-probability))


def choose_blocks(n_draws: int, n_checked: int) -> list[np.ndarray]:
    """Return more draws of a chain to examine, in blocks that each span the whole chain."""
    every = np.unique(choose_draws(n_draws, n_checked))
    n_blocks = math.ceil(every.size / N_DRAWS_CHECKED)
    return [every[at::n_blocks] for at in range(n_blocks)]


def mode_of_chain(by_draw: np.ndarray) -> tuple[list[int], list[int]]:
    """Return the most frequent mode of each chain, and the chains in several modes, from those of draws (chain, draw).

    The mode is -1 if it is unknown. Of equally frequent modes, that of the first draw is returned.
    """
    most_frequent = [int(Counter(modes.tolist()).most_common(1)[0][0]) for modes in by_draw]
    return most_frequent, [chain for chain, modes in enumerate(by_draw) if np.unique(modes[modes >= 0]).size > 1]


def find_preferred_classes(posterior: xr.Dataset) -> np.ndarray | None:
    """Return the best permutation for each chain, (chain, true_class); None without matrices of classes."""
    matrices = sum_class_matrices(posterior)
    return None if matrices is None else class_permutations(matrices.mean("draw").values)


# -------------------------------------------------------------------------------- the probabilities of modes of chains

NO_DRAW = 1e-9  # probability of a mode that no draw leads to
NOT_WEIGHED = "all chains are in one mode, and nothing has weighed the others"


@dataclass(frozen=True)
class ChainMode:
    """A mode that chains are in, with its probability.

    Attributes
    ----------
    chains : tuple of int
        The positions of the chains that are in it most of the time, if any.
    inside : array of bool, shape (chain, draw)
        Which draws are in the mode's part of the space.
    log_integral : float
        The log of its integral, up to a constant common to all modes of a fit; nan if unknown.
    log_error : float
        The standard error of the log.
    by : {"bridge", "importance", "unknown"}
        The estimator, the same for all modes.
    reason : str
        Why bridge sampling was not used.
    probability, error : float
        The posterior probability of the mode, and its standard error; nan if one of the integrals is unknown.
    """

    chains: tuple[int, ...]
    inside: np.ndarray
    log_integral: float = 0.0
    log_error: float = 0.0
    by: str = "bridge"
    reason: str = ""
    probability: float = np.nan
    error: float = np.nan


def find_chain_modes(view: FitView, random_seed: int | None = None) -> tuple[list[ChainMode], float]:
    """Find out which chains share a mode, and estimate the probability of each mode.

    Parameters
    ----------
    view : FitView
        A fit by NUTS.
    random_seed : int, optional

    Returns
    -------
    list of ChainMode
        The modes that chains are in, the most probable first.
    float
        The probability of the modes that were found but have no chain.

    Raises
    ------
    FitError
        If the fit has no chains.
    """
    require_chains(view, "modes")
    modes = [] if _are_mixed(view) else _integrate(view, np.random.default_rng(random_seed))
    if len(modes) < 2:
        shape = (view.posterior.sizes["chain"], view.posterior.sizes["draw"])
        known = (np.nan, np.nan, "unknown", NOT_WEIGHED) if view.model.scale_parameters() else ()
        modes = [ChainMode(tuple(range(shape[0])), np.ones(shape, dtype=bool), *known)]
    return _add_probabilities(modes, *_unsampled(view))


def require_chains(view: FitView, what: str) -> None:
    """Raise a FitError unless a fit has chains."""
    if view.yields != "mcmc":
        raise FitError(
            f"this fit by {view.tree.attrs['method']} has no chains, so there are no {what} to compare (it yields: "
            f"{view.yields}): give a fit by nuts"
        )


class ChainGroup(NamedTuple):
    """Chains that are in a mode most of the time, its labellings that are uphill of draws, and its number, if known."""

    chains: tuple[int, ...]
    modes: tuple[Mode, ...] = ()
    number: int = -1


def _integrate(view: FitView, rng: np.random.Generator) -> list[ChainMode]:
    """Return the modes uphill of some draws of each chain, with their integrals; none if there is only one mode.

    If the mode of a chain is unknown, chains are compared with each other.
    """
    model, data = view.model, view.data
    graph = model.build(data)
    log_density = make_log_density(model, data, graph, compile_model(model, data, graph), 0)
    free = view.posterior[[variable.name for variable in graph.free_RVs]]
    too_many = log_density.density.n_dim > MOST_DIMENSIONS
    visited = [mode["probability"] or 0.0 for mode in _found_before(view) or [] if mode["draws"]]
    enough = [count_enough(p) // free.sizes["chain"] + 1 for p in visited if LEAST_PROBABILITY <= p < 1]
    some = free.isel(draw=choose_draws(free.sizes["draw"], 1 if too_many else max(N_DRAWS_CHECKED, *enough, 0)))
    points = unconstrain(graph, some if log_density.count_labellings is None else align_classes(some)[0])
    modes, by_draw = Modes(log_density, rough=too_many).ascend_from_draws(points)
    by_chain, _ = mode_of_chain(modes.groups_of(by_draw))
    groups = group_chains(modes, by_chain)
    if -1 in by_chain:
        lp = view.tree["sample_stats"]["lp"].transpose("chain", "draw").values
        compared = compare_chains(view.posterior, lp, model.competence)["groups"]
        groups = [ChainGroup(tuple(sorted(group))) for group in compared]
    if len(groups) < 2:
        return []
    found = integrate_groups(log_density, graph, free, groups, rng)
    if found[0].by == "unknown" and all(group.modes for group in groups):
        modes = weigh(modes, rng)
        if modes.has_probabilities:
            p = np.maximum(modes.probabilities[[group.number for group in groups]], NO_DRAW)
            each = zip(found, np.log(p), 1 / np.sqrt(modes.n_effective * p), strict=True)
            return [replace(mode, by="importance", log_integral=log, log_error=error) for mode, log, error in each]
    return found


def group_chains(modes: Modes, by_chain: Sequence[int]) -> list[ChainGroup]:
    """Return the chains of each mode; modes without chains only if their curvature is known."""
    found = []
    for at, group in enumerate(modes.groups):
        chains = tuple(chain for chain, mode in enumerate(by_chain) if mode == at)
        found.append(ChainGroup(chains, () if modes.rough else tuple(modes.found[mode] for mode in group), at))
    return [group for group in found if group.chains or (group.modes and not modes.log_density.has_scales)]


def integrate_groups(
    log_density: LogDensity,
    graph: pm.Model,
    free: xr.Dataset,
    groups: Sequence[ChainGroup],
    rng: np.random.Generator,
) -> list[ChainMode]:
    """Return the modes of groups of chains, with the draws in each and the logs of their integrals.

    Parameters
    ----------
    free : xarray.Dataset
        The draws of the free parameters, dims (chain, draw, ...).
    """
    permuted, density = log_density.count_labellings, log_density.density
    z = unconstrain(graph, free if permuted is None else align_classes(free)[0])  # (chain, draw, dimension)
    of_draws, reason = np.zeros(z.shape[:2], dtype=int), ""
    try:
        number_of = _divide(log_density, z, groups)
        of_draws = number_of(z.reshape(-1, z.shape[2])).reshape(of_draws.shape)
    except np.linalg.LinAlgError as cause:
        reason = str(cause)
        for at, group in enumerate(groups):
            of_draws[list(group.chains)] = at

    def restrict(at: int) -> Callable[[np.ndarray], np.ndarray]:
        """Return a log density of points (sample, dimension) that is -inf outside the part of a mode."""

        def log_density_inside(points: np.ndarray) -> np.ndarray:
            found = density.log_at(points)
            some = np.flatnonzero(np.isfinite(found))
            own = number_of(points[some]) == at
            if permuted is not None:
                own &= _are_aligned(graph, density, points[some])
            found[some[~own]] = -np.inf
            return found

        return log_density_inside

    found = [ChainMode(group.chains, of_draws == at) for at, group in enumerate(groups)]
    if not reason:
        bridged = [estimate_log_integral(z, restrict(at), rng, mode.inside) for at, mode in enumerate(found)]
        reason = next((one.reason for one in bridged if one.reason), "")
    if not reason:
        return [
            replace(mode, log_integral=one.value, log_error=one.error) for mode, one in zip(found, bridged, strict=True)
        ]
    return [replace(mode, log_integral=np.nan, log_error=np.nan, by="unknown", reason=reason) for mode in found]


def _add_probabilities(modes: list[ChainMode], unsampled: float, n: float) -> tuple[list[ChainMode], float]:
    """Compute the probabilities of modes, given that of all modes without a chain, from n independent draws."""
    modes = sorted(modes, key=lambda mode: -mode.log_integral if np.isfinite(mode.log_integral) else np.inf)
    log_error = np.array([mode.log_error for mode in modes])
    p = normalize([mode.log_integral for mode in modes])
    error = p * np.sqrt((1 - 2 * p) * log_error**2 + (p**2 * log_error**2).sum())  # the delta method
    error = np.hypot((1 - unsampled) * error, p * np.sqrt(unsampled * (1 - unsampled) / n))
    together = zip(modes, ((1 - unsampled) * p).tolist(), error.tolist(), strict=True)
    return [replace(mode, probability=own, error=own_error) for mode, own, own_error in together], unsampled


def _divide(log_density: LogDensity, z: np.ndarray, groups: Sequence[ChainGroup]) -> Callable[[np.ndarray], np.ndarray]:
    """Divide the space among modes, by their curvature or the draws (chain, draw, dimension).

    With scale parameters, a point belongs to the mode with the same labels for the most items.

    Returns
    -------
    callable
        A function of points (sample, dimension) that returns the number of the mode with the highest t distribution.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the curvature of a mode is unknown, and it has too few draws for their covariance.
    """
    read_states = log_density.read_states
    if log_density.has_scales and read_states is not None and all(group.modes for group in groups):
        of_modes = [group.modes[0].states for group in groups]
        return lambda points: np.argmin([(read_states(points) != own).sum(axis=1) for own in of_modes], axis=0)
    numbers: list[int] = []
    shapes: list[tuple[np.ndarray, np.ndarray, float]] = []  # of each mode: centre, root of the precision, log
    for at, group in enumerate(groups):
        known = [(mode.point, mode.root) for mode in group.modes if mode.root is not None]
        if not group.modes:
            points = z[list(group.chains)].reshape(-1, z.shape[2])
            known = [(points.mean(axis=0), np.linalg.inv(np.linalg.cholesky(find_covariance(points))))]
        if not known:
            raise np.linalg.LinAlgError(f"with {z.shape[2]} dimensions, the curvature of modes is not kept")
        numbers += [at] * len(known)
        shapes += [(centre, root, float(np.linalg.slogdet(root)[1])) for centre, root in known]

    def number_of(points: np.ndarray) -> np.ndarray:
        heights = []
        for centre, root, log_det in shapes:
            squares = (((points - centre) @ root.T) ** 2).sum(axis=1)
            heights.append(log_det - (TAILS + centre.size) / 2 * np.log1p(squares / TAILS))
        return np.array(numbers)[np.argmax(heights, axis=0)]

    return number_of


def _are_aligned(graph: pm.Model, density: Density, points: np.ndarray) -> np.ndarray:
    """Return whether points (sample, dimension) are in the labelling preferred by eq. 56."""
    orders = find_preferred_classes(as_chains(graph, [density.values_at(point) for point in points]))
    assert orders is not None, "no class matrices"  # draws without matrices cannot be aligned
    return (orders == np.arange(orders.shape[1])).all(axis=1)


def _are_mixed(view: FitView) -> bool:
    """Whether all chains agree, so that they are in one mode, or in all modes in proportion."""
    return _found_before(view) is not None and chains_agree(view.diagnostics)


def _unsampled(view: FitView) -> tuple[float, float]:
    """Return the probability of the modes without a draw, as far as it is known, and the number of draws behind it."""
    found, n = _found_before(view) or [], view.diagnostics.get("modes", {}).get("n_effective") or LEAST_EFFECTIVE
    if any(mode["probability"] is None for mode in found):
        return 0.0, n
    lacking = [mode["probability"] for mode in found if not mode["draws"]]
    return float(sum(probability for probability in lacking if probability >= LEAST_PROBABILITY)), n


def _found_before(view: FitView) -> Sequence[Mapping[str, Any]] | None:
    """Return the modes in a fit's diagnostics; None if the chains have changed since, for instance by `isel`."""
    if view.diagnostics.get("n_chains") != view.posterior.sizes["chain"]:
        return None
    return modes_found(view.diagnostics.get("modes", {}))
