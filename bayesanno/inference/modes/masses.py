"""Which chains of a fit share a mode, and the share of the posterior's mass in each mode.

Masses are estimated by bridge sampling from the draws in each mode. If that fails for one mode, all are estimated by
Laplace's method, or are unknown for a model with scale parameters. The space is divided among the modes: a point
belongs to the mode whose t distribution, with the centre and curvature of Laplace's method, is highest there. With
scale parameters it belongs to the mode that gives most items the same label. So no mass counts twice, and chains that
cross are divided.
If classes can be permuted, only one labelling is considered, the one that eq. 56 of Rzhetsky et al. (2008) prefers.
Each of the K! labellings has every mode once, so that K! cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bayesanno._core.errors import FitError
from bayesanno._core.lazy import pm, xr
from bayesanno.fits.view import FitView
from bayesanno.graph.density import Density, retry_without_cache
from bayesanno.graph.draws import as_chains, unconstrain
from bayesanno.inference.diagnosis.modes import are_in_proportion
from bayesanno.inference.diagnosis.thresholds import LEAST_MASS, MAX_RHAT
from bayesanno.inference.model_density import compile_model
from bayesanno.inference.modes.bridge import TAILS, estimate_log_mass, find_covariance
from bayesanno.inference.modes.chains import (
    N_CHECKED,
    ascend_from_draws,
    assign_chains,
    choose_draws,
    compare_chains,
)
from bayesanno.inference.modes.laplace import LogDensity, Mode
from bayesanno.inference.modes.search import MOST_DIMENSIONS, Modes, make_log_density, share_out
from bayesanno.inference.relabelling import align_classes, class_permutations, sum_class_matrices

LAPLACE_ERROR = 0.5  # nats: the assumed error of Laplace's method
NOT_WEIGHED = "all chains are in one mode, and nothing has weighed the others"


@dataclass(frozen=True)
class ModeMass:
    """A mode that chains are in, with its mass.

    Attributes
    ----------
    chains : tuple of int
        The positions of the chains that are in it most of the time, if any.
    inside : array of bool, shape (chain, draw)
        Which draws are in the mode's part of the space.
    log_mass : float
        The log of its integral, up to a constant common to all modes of a fit; nan if unknown.
    log_error : float
        The standard error of the log: estimated by bridge sampling, or an assumed half nat with Laplace's method.
    by : {"bridge", "laplace", "unknown"}
        The estimator, the same for all modes.
    reason : str
        Why bridge sampling was not used.
    share, error : float
        The share of the posterior's mass, and its standard error; nan if one of the masses is unknown.
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
    """Find out which chains share a mode, and estimate the mass of each mode.

    Parameters
    ----------
    view : FitView
        A fit by NUTS.
    random_seed : int, optional
    by_mass : bool, default True
        Whether to estimate masses; otherwise they are unknown.

    Returns
    -------
    list of ModeMass
        The modes that chains are in, the one with the most mass first.
    float
        The share of the mass in modes that were found but have no chain, by Laplace's method.

    Raises
    ------
    FitError
        If the fit has no chains.
    """
    require_chains(view, "modes")
    rng = np.random.default_rng(random_seed)
    modes = [] if _are_mixed(view) else retry_without_cache(lambda: _weigh(view, rng, by_mass=by_mass))
    if len(modes) < 2:
        shape = (view.posterior.sizes["chain"], view.posterior.sizes["draw"])
        known = (np.nan, np.nan, "unknown", NOT_WEIGHED) if view.model.scale_parameters() else ()
        modes = [ModeMass(tuple(range(shape[0])), np.ones(shape, dtype=bool), *known)]
    return _share_mass(view, modes)


def require_chains(view: FitView, what: str) -> None:
    """Raise a FitError unless a fit has chains."""
    if view.yields != "mcmc":
        raise FitError(
            f"this fit by {view.tree.attrs['method']} has no chains, so there are no {what} to compare (it yields: "
            f"{view.yields}): give a fit by nuts"
        )


def _weigh(view: FitView, rng: np.random.Generator, *, by_mass: bool) -> list[ModeMass]:
    """Return the modes with draws, and the logs of their masses; none if all chains are in one mode."""
    model, data = view.model, view.data
    graph = model.build(data)
    log_density = make_log_density(model, data, graph, compile_model(model, data, graph), 0)
    free = view.posterior[[variable.name for variable in graph.free_RVs]]
    groups = _find_groups(view, log_density, graph, free)
    return weigh_groups(log_density, data, graph, free, groups, rng, by_mass=by_mass) if len(groups) > 1 else []


def _find_groups(view: FitView, log_density: LogDensity, graph: pm.Model, free: xr.Dataset) -> list[ChainGroup]:
    """Find the modes uphill of some draws of each chain; if that fails, compare chains with each other."""
    too_many = log_density.density.n_dim > MOST_DIMENSIONS
    some = free.isel(draw=choose_draws(free.sizes["draw"], 1 if too_many else N_CHECKED))
    points = unconstrain(graph, some if log_density.count_labellings is None else align_classes(some)[0])
    modes, by_chain = ascend_from_draws(Modes(log_density, rough=too_many), points)
    homes, _ = assign_chains(by_chain)
    if -1 in homes:
        lp = view.tree["sample_stats"]["lp"].transpose("chain", "draw").values
        groups = compare_chains(view.posterior, lp, view.model.competence)["groups"]
        return [ChainGroup(tuple(sorted(group)), ()) for group in groups]
    return group_chains(modes, homes)


class ChainGroup(NamedTuple):
    """Chains that are in a mode most of the time, and its labellings that are uphill of draws, if known."""

    chains: tuple[int, ...]
    tops: tuple[Mode, ...]


def group_chains(modes: Modes, homes: Sequence[int]) -> list[ChainGroup]:
    """Return the chains of each mode; modes without chains only if their place is known by Laplace's method."""
    found = []
    for at, group in enumerate(modes.groups):
        chains = tuple(chain for chain, home in enumerate(homes) if home == at)
        found.append(ChainGroup(chains, () if modes.rough else tuple(modes.found[mode] for mode in group)))
    return [group for group in found if group.chains or (group.tops and not modes.log_density.has_scales)]


def weigh_groups(
    log_density: LogDensity,
    data: Any,
    graph: pm.Model,
    free: xr.Dataset,
    groups: Sequence[ChainGroup],
    rng: np.random.Generator,
    *,
    by_mass: bool = True,
) -> list[ModeMass]:
    """Return the modes of groups of chains, with the draws in each and the logs of their masses.

    Parameters
    ----------
    free : xarray.Dataset
        The draws of the free parameters, dims (chain, draw, ...).
    by_mass : bool, default True
        Whether to estimate masses; otherwise they are unknown.
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
    inside = [of_draws == at for at in range(len(groups))]
    reason = reason if by_mass else "not requested"

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

    if not reason:
        bridged = [estimate_log_mass(z, restrict(at), rng, own) for at, own in enumerate(inside)]
        reason = next((found.reason for found in bridged if found.reason), "")
    weighed = []
    for at, (group, own) in enumerate(zip(groups, inside, strict=True)):
        if not reason:
            weighed.append(ModeMass(group.chains, own, bridged[at].value, bridged[at].error))
        elif (
            by_mass and group.tops and np.isfinite(log_mass := group.tops[0].log_mass)
        ):  # for all: errors partly cancel
            if permuted is not None:  # one labelling has only a part of a mode with equal classes
                log_mass += math.log(permuted(group.tops[0].point) / math.factorial(data.n_classes))
            weighed.append(ModeMass(group.chains, own, log_mass, LAPLACE_ERROR, "laplace", reason))
        else:
            weighed.append(ModeMass(group.chains, own, np.nan, np.nan, "unknown", reason))
    return weighed


def _share_mass(view: FitView, modes: list[ModeMass]) -> tuple[list[ModeMass], float]:
    """Compute the shares of the mass, including modes without a chain."""
    modes = sorted(modes, key=lambda mode: -mode.log_mass if np.isfinite(mode.log_mass) else np.inf)
    log_error, unsampled = np.array([mode.log_error for mode in modes]), _unsampled(view)
    share = share_out(np.array([mode.log_mass for mode in modes]))
    error = share * np.sqrt((1 - 2 * share) * log_error**2 + (share**2 * log_error**2).sum())  # the delta method
    error = np.hypot((1 - unsampled) * error, share * unsampled * (1 - unsampled) * LAPLACE_ERROR)
    share = (1 - unsampled) * share
    together = zip(modes, share.tolist(), error.tolist(), strict=True)
    return [replace(mode, share=own, error=own_error) for mode, own, own_error in together], unsampled


def _divide(log_density: LogDensity, z: np.ndarray, groups: Sequence[ChainGroup]) -> Callable[[np.ndarray], np.ndarray]:
    """Divide the space among modes, by the curvature at their tops or the draws (chain, draw, dimension).

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
    read_states, tops = log_density.read_states, [group.tops[0] for group in groups if group.tops]
    if log_density.has_scales and read_states is not None and len(tops) == len(groups):
        of_modes = [top.states for top in tops]
        return lambda points: np.argmin([(read_states(points) != own).sum(axis=1) for own in of_modes], axis=0)
    numbers: list[int] = []
    shapes: list[tuple[np.ndarray, np.ndarray, float]] = []  # of each top: centre, root of the precision, log
    for at, group in enumerate(groups):
        known = [(top.point, top.root) for top in group.tops if top.root is not None]
        if not group.tops:
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
    values = as_chains(graph, [density.values_at(point) for point in points])
    matrices = sum_class_matrices(values)
    assert matrices is not None, "no class matrices"  # draws without matrices cannot be aligned
    orders = class_permutations(matrices.values[:, 0])
    return (orders == np.arange(orders.shape[1])).all(axis=1)


def _are_mixed(view: FitView) -> bool:
    """Whether all chains agree, so that they are in one mode, or in all modes in proportion."""
    rhat, found = view.diagnostics.get("max_rhat"), _found_before(view)
    return found is not None and rhat is not None and bool(rhat <= MAX_RHAT) and are_in_proportion(found)


def _unsampled(view: FitView) -> float:
    """Return the mass of the modes without a draw, as far as it is known."""
    found = _found_before(view) or []
    if any(mode["mass"] is None for mode in found):
        return 0.0
    return float(sum(mode["mass"] for mode in found if not mode["draws"] and mode["mass"] >= LEAST_MASS))


def _found_before(view: FitView) -> Sequence[Mapping[str, Any]] | None:
    """Return the modes in a fit's diagnostics; None if the chains have changed since, for instance by `isel`."""
    if view.diagnostics.get("n_chains") != view.posterior.sizes["chain"]:
        return None
    return view.diagnostics.get("modes", {}).get("found", [])
