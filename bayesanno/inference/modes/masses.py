"""Which chains of a fit share a mode, and how much of the posterior's mass each mode holds.

By bridge sampling from the draws in the mode; where that fails in one mode, all by Laplace's method. The space is
divided among the modes: a point belongs to the one whose own t distribution, of Laplace's centre and curvature, is the
highest there, so that no mass counts twice, and chains that cross are cut where they do. Where classes can be permuted,
all is within one labelling, the one that eq. 56 of Rzhetsky et al. (2008) prefers: every mode is there once in each of
the K!, whose number so cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bayesanno.fits.view import FitView
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import pm
from bayesanno.inference.diagnosis.explain_modes import are_in_proportion
from bayesanno.inference.diagnosis.thresholds import LEAST_MASS, MAX_RHAT
from bayesanno.inference.graph.density import Density, as_chains, compile_model, retry_without_cache, unconstrain
from bayesanno.inference.modes.bridge import TAILS, estimate_log_mass, find_covariance
from bayesanno.inference.modes.chains import LOOKS, choose_draws, compare_chains, find_homes, follow_draws
from bayesanno.inference.modes.search import MOST_DIMENSIONS, Modes, make_surface, share_out
from bayesanno.inference.modes.tops import Mode, Surface
from bayesanno.inference.relabelling import align_classes, class_permutations, sum_class_matrices

LAPLACE_ERROR = 0.5  # nats: what Laplace's method is taken to err by


@dataclass(frozen=True)
class ModeMass:
    """A mode that chains are in, and what it weighs.

    Attributes
    ----------
    chains : tuple of int
        By their position: those that are in it most of the time, if there are any.
    inside : array of bool, shape (chain, draw)
        Which of all draws are in the part of the space that is the mode's.
    log_mass : float
        Log of its integral, up to a constant that all modes of a fit share; nan where it is unknown.
    log_error : float
        Of the log: its standard error by the bridge; by Laplace's method half a nat, which is a guess.
    by : {"bridge", "laplace", "unknown"}
    reason : str
        Why it is not by the bridge: then none of the modes is.
    share, error : float
        Of the posterior's mass, and its standard error; nan where one of the modes is unknown.
    """

    chains: tuple[int, ...]
    inside: np.ndarray
    log_mass: float = 0.0
    log_error: float = 0.0
    by: str = "bridge"
    reason: str = ""
    share: float = np.nan
    error: float = np.nan


def weigh_modes(view: FitView, random_seed: int | None = None, *, by_mass: bool = True) -> tuple[list[ModeMass], float]:
    """Find out which chains share a mode and estimate what each mode weighs.

    Parameters
    ----------
    view : FitView
        Of a fit by NUTS.
    random_seed : int, optional
    by_mass : bool, default True
        Whether to estimate masses at all; otherwise they are unknown.

    Returns
    -------
    list of ModeMass
        The modes that the chains are in, most mass first.
    float
        The share of modes that no chain is in, by Laplace's method, as far as they were found.

    Raises
    ------
    FitError
        If the fit has no chains.
    """
    require_chains(view, "modes")
    if _are_mixed(view):
        n_chains, n_draws = view.posterior.sizes["chain"], view.posterior.sizes["draw"]
        return _share_mass(view, [ModeMass(tuple(range(n_chains)), np.ones((n_chains, n_draws), dtype=bool))])
    rng = np.random.default_rng(random_seed)
    return _share_mass(view, retry_without_cache(lambda: _weigh(view, rng, by_mass=by_mass)))


def require_chains(view: FitView, what: str) -> None:
    """Raise a FitError unless a fit's draws are of chains."""
    if view.yields != "mcmc":
        raise FitError(
            f"this fit by {view.tree.attrs['method']} has no chains, and so no {what} to compare (it yields: "
            f"{view.yields}): give a fit by nuts"
        )


def _weigh(view: FitView, rng: np.random.Generator, *, by_mass: bool) -> list[ModeMass]:
    """Return the modes that draws are in, and the logs of their masses."""
    model, data = view.model, view.data
    graph = model.build(data)
    density = compile_model(model, data, graph)
    surface = make_surface(model, data, graph, density, 0)
    permuted = surface.count_labellings
    free = view.posterior[[variable.name for variable in graph.free_RVs]]
    z = unconstrain(graph, free if permuted is None else align_classes(free)[0])  # (chain, draw, dimension)
    groups = _find_groups(view, surface, z)
    if len(groups) == 1:
        return [ModeMass(groups[0].chains, np.ones(z.shape[:2], dtype=bool))]
    of_draws, reason = np.zeros(z.shape[:2], dtype=int), ""
    try:
        number_of = _divide(z, groups)
        of_draws = number_of(z.reshape(-1, z.shape[2])).reshape(of_draws.shape)
    except np.linalg.LinAlgError as cause:
        reason = str(cause)
        for at, group in enumerate(groups):
            of_draws[list(group.chains)] = at
    inside = [of_draws == at for at in range(len(groups))]
    if not by_mass:
        return [
            ModeMass(group.chains, own, np.nan, np.nan, "unknown", "not asked for")
            for group, own in zip(groups, inside, strict=True)
        ]

    def restrict(at: int) -> Callable[[np.ndarray], np.ndarray]:
        """Return the log density of points (sample, dimension), -inf outside of the part of a mode."""

        def log_density(points: np.ndarray) -> np.ndarray:
            there = number_of(points) == at
            if permuted is not None:
                there &= _are_aligned(graph, density, points)
            return np.array([density(point)[0] if own else -np.inf for point, own in zip(points, there, strict=True)])

        return log_density

    if not reason:
        bridged = [estimate_log_mass(z, restrict(at), rng, own) for at, own in enumerate(inside)]
        reason = next((found.reason for found in bridged if found.reason), "")
    weighed = []
    for at, (group, own) in enumerate(zip(groups, inside, strict=True)):
        if not reason:
            weighed.append(ModeMass(group.chains, own, bridged[at].value, bridged[at].error))
        elif group.tops and np.isfinite(log_mass := group.tops[0].log_mass):
            if permuted is not None:  # of one labelling, which holds a part of a mode whose classes are alike
                log_mass += math.log(permuted(group.tops[0].point) / math.factorial(data.n_classes))
            weighed.append(ModeMass(group.chains, own, log_mass, LAPLACE_ERROR, "laplace", reason))
        else:  # by one method for all, so that what it errs by cancels in part
            weighed.append(ModeMass(group.chains, own, np.nan, np.nan, "unknown", reason))
    return weighed


def _share_mass(view: FitView, modes: list[ModeMass]) -> tuple[list[ModeMass], float]:
    """Divide the mass among modes, including those that no chain is in."""
    modes = sorted(modes, key=lambda mode: -mode.log_mass if np.isfinite(mode.log_mass) else np.inf)
    log_error, unsampled = np.array([mode.log_error for mode in modes]), _unsampled(view)
    share = share_out(np.array([mode.log_mass for mode in modes]))
    error = share * np.sqrt((1 - 2 * share) * log_error**2 + (share**2 * log_error**2).sum())  # the delta method
    error = np.hypot((1 - unsampled) * error, share * unsampled * (1 - unsampled) * LAPLACE_ERROR)
    share = (1 - unsampled) * share
    together = zip(modes, share.tolist(), error.tolist(), strict=True)
    return [replace(mode, share=own, error=own_error) for mode, own, own_error in together], unsampled


class _Group(NamedTuple):
    """Chains that are in a mode most of the time, and the tops of its labellings that draws lead to, if known."""

    chains: tuple[int, ...]
    tops: tuple[Mode, ...]


def _find_groups(view: FitView, surface: Surface, z: np.ndarray) -> list[_Group]:
    """Find the modes uphill of some draws of each chain; where that fails, compare chains with each other."""
    too_many = z.shape[2] > MOST_DIMENSIONS
    looked = choose_draws(z.shape[1], 1 if too_many else LOOKS)
    modes, by_chain = follow_draws(Modes(surface, rough=too_many), z[:, looked])
    homes, _ = find_homes(by_chain)
    if -1 in homes:
        log_density = view.tree["sample_stats"]["lp"].transpose("chain", "draw").values
        groups = compare_chains(view.posterior, log_density, view.model.competence)["groups"]
        return [_Group(tuple(sorted(group)), ()) for group in groups]
    found = []
    for at, group in enumerate(modes.groups):
        chains = tuple(chain for chain, home in enumerate(homes) if home == at)
        found.append(_Group(chains, () if modes.rough else tuple(modes.found[mode] for mode in group)))
    return [group for group in found if group.chains or group.tops]


def _divide(z: np.ndarray, groups: Sequence[_Group]) -> Callable[[np.ndarray], np.ndarray]:
    """Divide the space among modes, by the curvature at their tops, or else by the draws (chain, draw, dimension).

    Returns
    -------
    callable
        From points (sample, dimension) to the number of the mode whose t distribution is the highest there.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a mode's curvature is not known, and its draws are too few for their covariance.
    """
    numbers: list[int] = []
    shapes: list[tuple[np.ndarray, np.ndarray, float]] = []  # of each top its centre, a root of its precision, its log
    for at, group in enumerate(groups):
        known = [(top.point, top.root) for top in group.tops if top.root is not None]
        if not group.tops:
            points = z[list(group.chains)].reshape(-1, z.shape[2])
            known = [(points.mean(axis=0), np.linalg.inv(np.linalg.cholesky(find_covariance(points))))]
        if not known:
            raise np.linalg.LinAlgError(f"of {z.shape[2]} dimensions the modes' curvature is not kept")
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
    """Return whether points (sample, dimension) are in the labelling that eq. 56 prefers."""
    values = as_chains(graph, [density.values_at(point) for point in points])
    matrices = sum_class_matrices(values)
    assert matrices is not None, "no class matrices"  # draws that have none cannot be aligned
    orders = class_permutations(matrices.values[:, 0])
    return (orders == np.arange(orders.shape[1])).all(axis=1)


def _are_mixed(view: FitView) -> bool:
    """Whether all chains say the same, so that they are in one mode, or in all of them in proportion."""
    rhat, found = view.diagnostics.get("max_rhat"), _found_before(view)
    return found is not None and rhat is not None and bool(rhat <= MAX_RHAT) and are_in_proportion(found)


def _unsampled(view: FitView) -> float:
    """Return the mass of the modes that no draw is in, as far as it is known."""
    found = _found_before(view) or []
    if any(mode["mass"] is None for mode in found):
        return 0.0
    return float(sum(mode["mass"] for mode in found if not mode["draws"] and mode["mass"] >= LEAST_MASS))


def _found_before(view: FitView) -> Sequence[Mapping[str, Any]] | None:
    """Return the modes among a fit's diagnostics; None if these are of other chains than it has, as after `isel`."""
    if view.diagnostics.get("n_chains") != view.posterior.sizes["chain"]:
        return None
    return view.diagnostics.get("modes", {}).get("found", [])
