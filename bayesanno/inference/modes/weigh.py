"""Which chains of a fit share a mode, and how much of the posterior's mass each mode holds.

By bridge sampling from the draws in the mode, and where those of one mode cannot bear that, all by Laplace's method.
The space is divided among the modes: a point belongs to the one whose own t distribution, the proposal of the bridge,
is the highest there, so that no mass counts twice. Where classes can be permuted, all is within one labelling, the one
that eq. 56 of Rzhetsky et al. (2008) prefers: every mode is there once in each of the K!, whose number so cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from bayesanno.fits.view import FitView
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import pm
from bayesanno.ground.wording import enumerated
from bayesanno.inference.diagnosis.explain import LEAST_MASS, MAX_RHAT
from bayesanno.inference.graph.density import Density, compile_anew_if_broken, compile_model, spreads_of
from bayesanno.inference.graph.draws import as_chains, unconstrain
from bayesanno.inference.modes.bridge import LogMass, estimate_log_mass, shape_proposal
from bayesanno.inference.modes.chains import LOOKS, choose_draws, compare_chains, find_homes
from bayesanno.inference.modes.explore import LEAST_CLIMB, MOST_DIMENSIONS, Explored, Mode, share_out
from bayesanno.inference.modes.labellings import count_labellings, group_modes
from bayesanno.inference.relabelling.align import align_classes, class_permutations, sum_class_matrices
from bayesanno.modeling.capabilities import is_exchangeable

STAYS = 0.98  # of a chain's draws in the part of its mode, at least, or it has crossed to another one
ROUNDS = 20  # in which draws are shared out among modes; a few settle it
ROUGH = 0.5  # nats: what Laplace's method is taken to err by


@dataclass(frozen=True)
class ModeMass:
    """What the mode of some chains weighs.

    Attributes
    ----------
    chains : tuple of int
        By their position.
    log_mass : float
        Log of its integral, up to a constant that all modes of a fit share; nan where it cannot be told.
    error : float
        Of the log: its standard error by the bridge; by Laplace's method half a nat, which is a guess.
    by : {"bridge", "laplace", "unknown"}
    reason : str
        Why it is not by the bridge: then none of the modes is.
    inside : array of bool, shape (chain, draw)
        Which of all draws are in the part of the space that is the mode's.
    """

    chains: tuple[int, ...]
    log_mass: float
    error: float
    by: str
    reason: str
    inside: np.ndarray


@dataclass(frozen=True)
class Weighed:
    """The modes that the chains of a fit are in, most mass first, and their shares.

    Attributes
    ----------
    modes : tuple of ModeMass
    share : array, shape (mode,)
        Of the posterior's mass; nan where one of them cannot be told.
    error : array, shape (mode,)
        Of the share.
    unsampled : float
        The share of modes that no chain is in, by Laplace's method, as far as they were found.
    """

    modes: tuple[ModeMass, ...]
    share: np.ndarray
    error: np.ndarray
    unsampled: float


def weigh_modes(view: FitView, random_seed: int | None = None, *, by_mass: bool = True) -> Weighed:
    """Find out which chains share a mode and estimate what each mode weighs.

    Parameters
    ----------
    view : FitView
        Of a fit by NUTS.
    random_seed : int, optional
    by_mass : bool, default True
        Whether to estimate masses at all; otherwise they are unknown.

    Raises
    ------
    FitError
        If the fit has no chains.
    """
    require_chains(view, "modes")
    if _are_mixed(view):
        shape = (view.posterior.sizes["chain"], view.posterior.sizes["draw"])
        return _share_mass(view, [ModeMass(tuple(range(shape[0])), 0.0, 0.0, "bridge", "", np.ones(shape, dtype=bool))])
    model, data = view.model, view.data
    graph = model.build(data)
    free = view.posterior[[variable.name for variable in graph.free_RVs]]
    exchangeable = is_exchangeable(model, data)
    if exchangeable:
        free, _ = align_classes(free)
    rng = np.random.default_rng(random_seed)

    def run() -> list[ModeMass]:
        density = compile_model(model, data, graph)
        z = unconstrain(graph, free)  # (chain, draw, dimension)
        homes = _find_homes(view, density, z, spreads_of(density, model, graph))
        groups, parts = homes.groups, _divide(z, homes)
        if not by_mass or len(groups) == 1:
            known = (0.0, 0.0, "bridge", "") if len(groups) == 1 else (np.nan, np.nan, "unknown", "not asked for")
            return [ModeMass(tuple(group), *known, parts.of_draws == number) for number, group in enumerate(groups)]

        def contains(number: int, points: np.ndarray) -> np.ndarray:
            mine = parts.number(points) == number
            found: np.ndarray = mine & _are_aligned(graph, density, points) if exchangeable else mine
            return found

        bridged = []
        for number, group in enumerate(groups):
            inside = parts.of_draws == number
            staying = [chain for chain in group if chain not in homes.crossing and inside[chain].mean() >= STAYS]
            of_part = _restrict(density, partial(contains, number))
            bridged.append(
                estimate_log_mass(z[staying], of_part, rng, inside[staying]) if staying else _refuse_bridge(group)
            )
        reason = next((found.reason for found in bridged if found.reason), "")
        modes = []
        for number, (group, top, found) in enumerate(zip(groups, homes.tops, bridged, strict=True)):
            log_mass, error, by = found.value, found.error, "bridge"
            if reason:  # by one method for all, so that what it errs by cancels in part
                log_mass, error, by = np.nan, np.nan, "unknown"
                if top is not None:
                    log_mass, error, by = top.log_mass, ROUGH, "laplace"
                    if exchangeable:  # of one labelling, which holds a part of a mode whose classes are alike
                        n = count_labellings(graph, density.values_at(top.point))
                        log_mass += math.log(n / math.factorial(data.n_classes))
            inside = parts.of_draws == number
            modes.append(ModeMass(tuple(group), float(log_mass), float(error), by, reason, inside))
        return modes

    return _share_mass(view, compile_anew_if_broken(run))


def _refuse_bridge(chains: Sequence[int]) -> LogMass:
    who = "chain" if len(chains) == 1 else "chains"
    crossing = f"{who} {enumerated([str(chain) for chain in chains])} crossed between modes"
    return LogMass(float("nan"), float("nan"), f"{crossing}, so that no draws are of one mode alone")


def _share_mass(view: FitView, modes: list[ModeMass]) -> Weighed:
    """Share out the mass among modes, beside those that no chain is in."""
    modes.sort(key=lambda mode: -mode.log_mass if np.isfinite(mode.log_mass) else np.inf)
    log_mass, error = np.array([mode.log_mass for mode in modes]), np.array([mode.error for mode in modes])
    share, unsampled = np.ones(1), _unsampled(view)
    share_error = np.zeros(1)
    if len(modes) > 1:  # the delta method
        share = share_out(log_mass)
        share_error = share * np.sqrt((1 - 2 * share) * error**2 + (share**2 * error**2).sum())
    share_error = np.hypot((1 - unsampled) * share_error, share * unsampled * (1 - unsampled) * ROUGH)
    return Weighed(tuple(modes), (1 - unsampled) * share, share_error, unsampled)


def require_chains(view: FitView, what: str) -> None:
    """Raise a FitError unless a fit's draws are of chains."""
    if view.yields != "mcmc":
        raise FitError(
            f"this fit by {view.tree.attrs['method']} has no chains, and so no {what} to tell apart (it yields: "
            f"{view.yields}): give a fit by nuts"
        )


@dataclass(frozen=True)
class _Homes:
    """Which mode each chain is in, most of the time.

    Attributes
    ----------
    groups : list of list of int
        The chains of each mode.
    tops : list of Mode or None
        Of each, None where it is not known.
    crossing : tuple of int
        The chains that are in several modes, as far as some of their draws show.
    seen : array of int, shape (chain, look)
        The group of each draw that was looked at; -1 of one that is in no chain's mode.
    looked : array of int, shape (look,)
        Which draws these are.
    """

    groups: list[list[int]]
    tops: list[Mode | None]
    crossing: tuple[int, ...]
    seen: np.ndarray
    looked: np.ndarray

    def sort_draws(self, n_draws: int) -> np.ndarray:
        """Return the group of each draw (chain, draw), and -1 where it is not sure.

        It is of chains that stay where they are, and where a mode has none, of draws between two that are in it.
        """
        sure = np.full((len(self.seen), n_draws), -1)
        for number, group in enumerate(self.groups):
            staying = [chain for chain in group if chain not in self.crossing]
            sure[staying] = number
            for chain in [] if staying else range(len(sure)):
                for (late, early), (before, after) in zip(
                    pairwise(self.looked), pairwise(self.seen[chain]), strict=True
                ):
                    if before == after == number:
                        sure[chain, early : late + 1] = number
        return sure


def _find_homes(view: FitView, density: Density, z: np.ndarray, spreads: np.ndarray) -> _Homes:
    """Find the modes uphill of some draws of each chain; where that fails, compare chains with each other."""
    rough = z.shape[2] > MOST_DIMENSIONS
    looked = choose_draws(z.shape[1], 1 if rough else LOOKS)
    unknown = Explored((), (), 0, 0, 0, rough=rough, most_steps=LEAST_CLIMB, spreads=spreads)
    explored, places = unknown.place(density, z[:, looked].reshape(-1, z.shape[2]))
    labellings = group_modes(explored.modes, merge=is_exchangeable(view.model, view.data))
    number = {mode: at for at, group in enumerate(labellings) for mode in group}
    seen = np.array([-1 if at is None else number[at] for at in places]).reshape(len(z), looked.size)  # (chain, look)
    homes, crossing = find_homes(seen)
    if -1 in homes:
        log_density = view.tree["sample_stats"]["lp"].transpose("chain", "draw").values
        groups = compare_chains(view.posterior, log_density, view.model.competence)["groups"]
        return _Homes(groups, [None] * len(groups), (), np.full(seen.shape, -1), looked)
    modes = list(dict.fromkeys(homes))
    groups = [[chain for chain, home in enumerate(homes) if home == mode] for mode in modes]
    tops = [None if rough else explored.modes[labellings[mode][0]] for mode in modes]
    at = {mode: number for number, mode in enumerate(modes)}
    by_look = np.array([[at.get(mode, -1) for mode in row] for row in seen.tolist()])
    return _Homes(groups, tops, tuple(crossing), by_look, looked)


def _are_mixed(view: FitView) -> bool:
    """Whether all chains say the same, so that they are in one mode, or in all of them in proportion."""
    rhat = view.diagnostics.get("max_rhat")
    return rhat is not None and bool(rhat <= MAX_RHAT) and not _is_stale(view)


def _is_stale(view: FitView) -> bool:
    """Whether the diagnostics are of other chains than the fit has, as after `isel`."""
    return bool(view.diagnostics.get("n_chains") != view.posterior.sizes["chain"])


def _unsampled(view: FitView) -> float:
    found = view.diagnostics.get("modes", {}).get("found", [])
    if _is_stale(view) or any(mode["mass"] is None for mode in found):
        return 0.0
    return float(sum(mode["mass"] for mode in found if not mode["draws"] and mode["mass"] >= LEAST_MASS))


def _restrict(density: Density, contains: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Return a log density of points (sample, dimension) that is -inf outside of a part of the space."""
    return lambda points: np.array(
        [density(one)[0] if inside else -np.inf for one, inside in zip(points, contains(points), strict=True)]
    )


class _Parts:
    """Parts of the space, one for each mode: where its own proposal is higher than the others'.

    Attributes
    ----------
    of_draws : array of int, shape (chain, draw)
        The part that each draw is in.
    """

    def __init__(self, proposals: Sequence[Any], of_draws: np.ndarray) -> None:
        self._proposals = proposals
        self.of_draws = of_draws

    def number(self, points: np.ndarray) -> np.ndarray:
        """Return the part that each of some points (sample, dimension) is in."""
        if not self._proposals:
            return np.zeros(len(points), dtype=int)
        heights = np.array([np.atleast_1d(proposal.logpdf(points)) for proposal in self._proposals])
        highest: np.ndarray = heights.argmax(axis=0)
        return highest


def _divide(z: np.ndarray, homes: _Homes) -> _Parts:
    """Divide the space among modes, from draws that are surely in them; each draw is of the mode whose part it is in.

    Where too few are, there is no bridge, and draws are of their chain's mode.
    """
    of_draws = np.zeros(z.shape[:2], dtype=int)
    for number, group in enumerate(homes.groups):
        of_draws[group] = number
    parts = _Parts((), of_draws)
    if len(homes.groups) == 1:
        return parts
    sorted_draws = homes.sort_draws(z.shape[1])
    for _ in range(ROUNDS):
        try:
            proposals = [shape_proposal(z[sorted_draws == number]) for number in range(len(homes.groups))]
        except np.linalg.LinAlgError:
            return parts
        parts = _Parts(proposals, of_draws)
        parts.of_draws = parts.number(z.reshape(-1, z.shape[2])).reshape(of_draws.shape)
        if (parts.of_draws == sorted_draws).all():
            break
        sorted_draws = parts.of_draws
    return parts


def _are_aligned(graph: pm.Model, density: Density, points: np.ndarray) -> np.ndarray:
    """Return whether points (sample, dimension) are in the labelling that eq. 56 prefers."""
    values = as_chains(graph, [density.values_at(point) for point in points])
    matrices = sum_class_matrices(values)
    assert matrices is not None, "no class matrices"  # draws that have none cannot be aligned
    orders = class_permutations(matrices.values[:, 0])
    aligned: np.ndarray = (orders == np.arange(orders.shape[1])).all(axis=1)
    return aligned
