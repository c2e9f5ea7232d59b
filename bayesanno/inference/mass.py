"""Which chains of a fit share a mode, and how much of the posterior's mass each mode holds.

By bridge sampling from the draws of the mode's chains, and where they cannot bear that, by Laplace's method at its top.
The space is divided among the modes: a point belongs to the one whose own t distribution, the proposal of the bridge,
is the highest there, so that no mass counts twice. Where classes can be permuted, all is within one labelling, the one
that eq. 56 of Rzhetsky et al. (2008) prefers: every mode is there once in each of the K!, whose number so cancels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.ground.errors import FitError
from bayesanno.inference.bridge import estimate_log_mass, shape_proposal
from bayesanno.inference.chain_modes import MAX_RHAT, find_chain_modes
from bayesanno.inference.compiled import compile_anew_if_broken, compile_graph, exact_arithmetic
from bayesanno.inference.density import Density
from bayesanno.inference.explore import LEAST_CLIMB, LEAST_MASS, MOST_DIMENSIONS, Explored, group_modes, share_out
from bayesanno.inference.labellings import count_labellings
from bayesanno.inference.per_draw import as_chains
from bayesanno.inference.relabel import align_classes, class_permutations, sum_class_matrices
from bayesanno.inference.unconstrained import unconstrain
from bayesanno.modeling.capabilities import is_exchangeable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pymc

    from bayesanno.fits.view import FitView

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
        Of the log: its standard error by the bridge; of Laplace's method half a nat, which is no standard error.
    by : {"bridge", "laplace", "unknown"}
    reason : str
        Why it is not by the bridge.
    inside : array of bool, shape (chain, draw)
        Which draws of its chains are in the part of the space that is the mode's.
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


def weigh_modes(view: FitView, random_seed: int | None = None) -> Weighed:
    """Find out which chains share a mode and estimate what each mode weighs.

    Parameters
    ----------
    view : FitView
        Of a fit by NUTS.
    random_seed : int, optional

    Raises
    ------
    FitError
        If the fit has no chains.
    """
    require_chains(view, "modes")
    model, data = view.model, view.data
    graph = model.build(data)
    free = view.posterior[[variable.name for variable in graph.free_RVs]]
    exchangeable = is_exchangeable(model, data)
    if exchangeable:
        free, _ = align_classes(free)
    rng = np.random.default_rng(random_seed)

    def run() -> list[ModeMass]:
        start = {name: np.asarray(value, dtype=float) for name, value in model.start(data).items()}
        density = Density(compile_graph(graph, start))
        z, _ = unconstrain(graph, free)  # (chain, draw, dimension)
        groups, tops = _group_chains(view, density, z)
        belongs = _divide([z[group] for group in groups])

        def contains(number: int, points: np.ndarray) -> np.ndarray:
            mine = belongs(number, points)
            return mine & _are_aligned(graph, density, points) if exchangeable else mine

        found = []
        for number, (group, top) in enumerate(zip(groups, tops, strict=True)):
            inside = contains(number, z[group].reshape(-1, z.shape[2])).reshape(z[group].shape[:2])
            by_bridge = estimate_log_mass(z[group], _restrict(density, partial(contains, number)), rng)
            if not by_bridge.reason:
                log_mass, error, by = by_bridge.value, by_bridge.error, "bridge"
            elif top is None:
                log_mass, error, by = np.nan, np.nan, "unknown"
            else:
                log_mass, error, by = top.log_mass, ROUGH, "laplace"
                if exchangeable:  # of one labelling, which holds a part of a mode whose classes are alike
                    n = count_labellings(graph, density.values_at(top.point))
                    log_mass += math.log(n / math.factorial(data.n_labels))
            found.append(ModeMass(tuple(group), float(log_mass), float(error), by, by_bridge.reason, inside))
        return found

    with exact_arithmetic():
        modes = compile_anew_if_broken(run)
    modes.sort(key=lambda mode: -mode.log_mass if np.isfinite(mode.log_mass) else np.inf)
    log_mass, error = np.array([mode.log_mass for mode in modes]), np.array([mode.error for mode in modes])
    share, unsampled = np.ones(1), _unsampled(view)
    spread = np.zeros(1)
    if len(modes) > 1:  # the delta method
        share = share_out(log_mass)
        spread = share * np.sqrt((1 - 2 * share) * error**2 + (share**2 * error**2).sum())
    spread = np.hypot((1 - unsampled) * spread, share * unsampled * (1 - unsampled) * ROUGH)
    return Weighed(tuple(modes), (1 - unsampled) * share, spread, unsampled)


def require_chains(view: FitView, what: str) -> None:
    """Raise a FitError unless a fit's draws are of chains."""
    if view.yields != "mcmc":
        raise FitError(
            f"this fit by {view.tree.attrs['method']} has no chains, and so no {what} to tell apart (it yields: "
            f"{view.yields}): give a fit by nuts"
        )


def _group_chains(view: FitView, density: Density, z: np.ndarray) -> tuple[list[list[int]], list[Any]]:
    """Return the chains of each mode, and its top as Laplace's method has it, or None where it is not known."""
    explored = Explored((), None, 0, 0, rough=z.shape[2] > MOST_DIMENSIONS, most_steps=LEAST_CLIMB)
    rng = np.random.default_rng(0)
    rhat = view.diagnostics.get("max_rhat")
    chains = list(range(len(z)))
    if rhat is not None and rhat <= MAX_RHAT and not _is_stale(view):
        return [chains], [None]
    known = view.diagnostics.get("modes", {})
    explored, places = explored.place(density, z[:, -1], rng)
    tops = [None if at is None or explored.rough else explored.modes[at] for at in places]
    if known.get("found") and not known["lost"] and not _is_stale(view):
        groups = [list(mode["chains"]) for mode in known["found"] if mode["chains"]]
    elif None not in places:
        merged = group_modes(explored.modes, merge=is_exchangeable(view.model, view.data))
        groups = [[chain for chain in chains if places[chain] in labellings] for labellings in merged]
    else:
        log_density = view.tree["sample_stats"]["lp"].transpose("chain", "draw").values
        groups = find_chain_modes(view.posterior, log_density, view.model.competence)["groups"]
    return groups, [next((tops[chain] for chain in group if tops[chain] is not None), None) for group in groups]


def _is_stale(view: FitView) -> bool:
    """Whether the diagnostics are of other chains than the fit has, as after `isel`."""
    return bool(view.diagnostics.get("n_chains") != view.posterior.sizes["chain"])


def _unsampled(view: FitView) -> float:
    known = view.diagnostics.get("modes", {})
    if not known or known["rough"] or _is_stale(view):
        return 0.0
    return float(sum(mode["mass"] for mode in known["found"] if not mode["chains"] and mode["mass"] >= LEAST_MASS))


def _restrict(density: Density, contains: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Return a log density of points (sample, dimension) that is -inf outside of a part of the space."""
    return lambda points: np.array(
        [density(one)[0] if inside else -np.inf for one, inside in zip(points, contains(points), strict=True)]
    )


def _divide(draws: Sequence[np.ndarray]) -> Callable[[int, np.ndarray], np.ndarray]:
    """Return a function of the number of a mode and points (sample, dimension): whether they are in its part."""

    def has_all(_: int, points: np.ndarray) -> np.ndarray:
        return np.ones(len(points), dtype=bool)

    if len(draws) == 1:
        return has_all
    try:
        proposals = [shape_proposal(own) for own in draws]
    except np.linalg.LinAlgError:  # then there is no bridge, and the chains' draws are taken as the mode's
        return has_all

    def belongs(number: int, points: np.ndarray) -> np.ndarray:
        heights = np.array([np.atleast_1d(proposal.logpdf(points)) for proposal in proposals])  # (mode, sample)
        mine: np.ndarray = heights.argmax(axis=0) == number
        return mine

    return belongs


def _are_aligned(graph: pymc.Model, density: Density, points: np.ndarray) -> np.ndarray:
    """Return whether points (sample, dimension) are in the labelling that eq. 56 prefers."""
    values = as_chains(graph, [density.values_at(point) for point in points])
    matrices = sum_class_matrices(values)
    assert matrices is not None, "no class matrices"  # draws that have none cannot be aligned
    orders = class_permutations(matrices.values[:, 0])
    aligned: np.ndarray = (orders == np.arange(orders.shape[1])).all(axis=1)
    return aligned
