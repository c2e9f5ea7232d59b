"""The probabilities of the modes that chains are in, and which draws are in each.

Integrals are estimated by bridge sampling from the draws in each mode. If that fails for one mode, all are estimated
from draws around the modes (`bayesanno.inference.modes.weigh`), or are unknown for a model with scale parameters. The
space is divided among the modes: a point belongs to the mode whose t distribution, with the centre and curvature of the
mode, is highest there. With scale parameters it belongs to the mode that gives most items the same label. So nothing
counts twice, and chains that cross are divided.
If classes can be permuted, only one labelling is considered, the one that eq. 56 of Rzhetsky et al. (2009) prefers.
Each of the K! labellings has every mode once, so that K! cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bayesanno._core.errors import FitError
from bayesanno._core.lazy import pm, xr
from bayesanno.fits.view import FitView
from bayesanno.graph.density import Density
from bayesanno.graph.draws import as_chains, unconstrain
from bayesanno.inference.diagnosis.modes import chains_agree, modes_found
from bayesanno.inference.diagnosis.thresholds import LEAST_PROBABILITY
from bayesanno.inference.model_density import compile_model
from bayesanno.inference.modes.bridge import TAILS, estimate_log_integral, find_covariance
from bayesanno.inference.modes.chains import (
    N_DRAWS_CHECKED,
    choose_draws,
    compare_chains,
    count_enough,
    find_preferred_classes,
    mode_of_chain,
)
from bayesanno.inference.modes.laplace import LogDensity, Mode
from bayesanno.inference.modes.search import MOST_DIMENSIONS, Modes, make_log_density, normalize
from bayesanno.inference.modes.weigh import LEAST_EFFECTIVE, weigh
from bayesanno.inference.relabelling import align_classes

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
