"""Which chains of a fit share a mode, and how much of the posterior's mass each mode holds.

By bridge sampling from the draws in the mode; where that fails in one mode, all by Laplace's method. The space is
divided among the modes: a point belongs to the one whose own t distribution, of Laplace's centre and curvature, is the
highest there, so that no mass counts twice, and chains that cross are cut where they do. Where classes can be permuted,
all is within one labelling, the one that eq. 56 of Rzhetsky et al. (2008) prefers: every mode is there once in each of
the K!, whose number so cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bayesanno.fits.view import FitView
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import pm
from bayesanno.inference.diagnosis.explain_modes import are_in_proportion
from bayesanno.inference.diagnosis.thresholds import LEAST_MASS, MAX_RHAT
from bayesanno.inference.graph.density import Density, compile_model, retry_without_cache, spreads_of
from bayesanno.inference.graph.draws import as_chains, unconstrain
from bayesanno.inference.modes.bridge import MIN_PER_DIMENSION, TAILS, estimate_log_mass
from bayesanno.inference.modes.chains import LOOKS, choose_draws, compare_chains, find_homes
from bayesanno.inference.modes.explore import LEAST_CLIMB, MOST_DIMENSIONS, Explored, Mode, share_out
from bayesanno.inference.modes.labellings import count_labellings, group_modes
from bayesanno.inference.relabelling.align import align_classes, class_permutations, sum_class_matrices
from bayesanno.modeling.capabilities import is_exchangeable

ROUGH = 0.5  # nats: what Laplace's method is taken to err by


@dataclass(frozen=True)
class ModeMass:
    """What the mode of some chains weighs.

    Attributes
    ----------
    chains : tuple of int
        By their position: those that are in it most of the time, if there are any.
    log_mass : float
        Log of its integral, up to a constant that all modes of a fit share; nan where it is unknown.
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
        Of the posterior's mass; nan where one of them is unknown.
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
    n_chains, n_draws = view.posterior.sizes["chain"], view.posterior.sizes["draw"]
    if _are_mixed(view):
        everything = np.ones((n_chains, n_draws), dtype=bool)
        return _share_mass(view, [ModeMass(tuple(range(n_chains)), 0.0, 0.0, "bridge", "", everything)])
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
        groups = _find_groups(view, density, z, spreads_of(density, model, graph))
        parts = _divide(z, groups)
        if not by_mass or len(groups) == 1:
            known = (0.0, 0.0, "bridge", "") if len(groups) == 1 else (np.nan, np.nan, "unknown", "not asked for")
            return [ModeMass(group.chains, *known, parts.of_draws == at) for at, group in enumerate(groups)]

        def contains(number: int, points: np.ndarray) -> np.ndarray:
            mine = parts.number(points) == number
            found: np.ndarray = mine & _are_aligned(graph, density, points) if exchangeable else mine
            return found

        bridged = [
            estimate_log_mass(z, _restrict(density, partial(contains, at)), rng, parts.of_draws == at)
            for at in range(len(groups))
        ]
        reason = next((found.reason for found in bridged if found.reason), "")
        modes = []
        for at, (group, found) in enumerate(zip(groups, bridged, strict=True)):
            log_mass, error, by = found.value, found.error, "bridge"
            if reason:  # by one method for all, so that what it errs by cancels in part
                log_mass, error, by = np.nan, np.nan, "unknown"
                if group.tops and np.isfinite(log_mass := group.tops[0].log_mass):
                    error, by = ROUGH, "laplace"
                    if exchangeable:  # of one labelling, which holds a part of a mode whose classes are alike
                        n = count_labellings(graph, density.values_at(group.tops[0].point))
                        log_mass += math.log(n / math.factorial(data.n_classes))
            modes.append(ModeMass(group.chains, float(log_mass), float(error), by, reason, parts.of_draws == at))
        return modes

    return _share_mass(view, retry_without_cache(run))


def _share_mass(view: FitView, modes: list[ModeMass]) -> Weighed:
    """Divide the mass among modes, including those that no chain is in."""
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
            f"this fit by {view.tree.attrs['method']} has no chains, and so no {what} to compare (it yields: "
            f"{view.yields}): give a fit by nuts"
        )


@dataclass(frozen=True)
class _Group:
    """A mode that draws are in.

    Attributes
    ----------
    chains : tuple of int
        Those that are in it most of the time.
    tops : tuple of Mode
        Its labellings, as far as draws lead to them; none where it is not known what is uphill of them.
    """

    chains: tuple[int, ...]
    tops: tuple[Mode, ...]


def _find_groups(view: FitView, density: Density, z: np.ndarray, spreads: np.ndarray) -> list[_Group]:
    """Find the modes uphill of some draws of each chain; where that fails, compare chains with each other."""
    too_many = z.shape[2] > MOST_DIMENSIONS
    looked = choose_draws(z.shape[1], 1 if too_many else LOOKS)
    unknown = Explored((), (), 0, 0, 0, rough=too_many, most_steps=LEAST_CLIMB, spreads=spreads)
    explored, places = unknown.place(density, z[:, looked].reshape(-1, z.shape[2]))
    labellings = group_modes(explored.modes, merge=is_exchangeable(view.model, view.data))
    number = {mode: at for at, group in enumerate(labellings) for mode in group}
    homes, _ = find_homes(np.array([-1 if at is None else number[at] for at in places]).reshape(len(z), looked.size))
    if -1 in homes:
        log_density = view.tree["sample_stats"]["lp"].transpose("chain", "draw").values
        groups = compare_chains(view.posterior, log_density, view.model.competence)["groups"]
        return [_Group(tuple(sorted(group)), ()) for group in groups]
    found = []
    for at, group in enumerate(labellings):
        chains = tuple(chain for chain, home in enumerate(homes) if home == at)
        found.append(_Group(chains, () if explored.rough else tuple(explored.modes[mode] for mode in group)))
    return [group for group in found if group.chains or group.tops]


def _are_mixed(view: FitView) -> bool:
    """Whether all chains say the same, so that they are in one mode, or in all of them in proportion."""
    rhat = view.diagnostics.get("max_rhat")
    agree = rhat is not None and bool(rhat <= MAX_RHAT) and not _is_stale(view)
    return agree and are_in_proportion(view.diagnostics.get("modes", {}).get("found", []))


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


@dataclass(frozen=True)
class _Shape:
    """A multivariate t distribution, up to a factor: which mode it is of, its centre and a root of its precision."""

    number: int
    centre: np.ndarray
    root: np.ndarray

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """Return its log at points (sample, dimension)."""
        n_dim = self.centre.size
        squares = (((points - self.centre) @ self.root.T) ** 2).sum(axis=1)
        log_det = np.linalg.slogdet(self.root)[1]
        found: np.ndarray = log_det - (TAILS + n_dim) / 2 * np.log1p(squares / TAILS)
        return found


@dataclass(frozen=True)
class _Parts:
    """Parts of the space, one for each mode: where its own t distribution is higher than the others'.

    Attributes
    ----------
    of_draws : array of int, shape (chain, draw)
        The part that each draw is in; with no shapes, that of its chain.
    """

    shapes: tuple[_Shape, ...]
    of_draws: np.ndarray

    def number(self, points: np.ndarray) -> np.ndarray:
        """Return the part that each of some points (sample, dimension) is in."""
        if not self.shapes:
            return np.zeros(len(points), dtype=int)
        heights = np.array([shape.log_density(points) for shape in self.shapes])
        found: np.ndarray = np.array([shape.number for shape in self.shapes])[heights.argmax(axis=0)]
        return found


def _divide(z: np.ndarray, groups: Sequence[_Group]) -> _Parts:
    """Divide the space among modes, by the curvature at their tops; where it is not known, by the chains in them."""
    of_draws = np.zeros(z.shape[:2], dtype=int)
    for at, group in enumerate(groups):
        of_draws[list(group.chains)] = at
    if len(groups) == 1:
        return _Parts((), of_draws)
    shapes = []
    for at, group in enumerate(groups):
        roots = [(top.point, top.weight.root) for top in group.tops]
        if not group.tops:
            points = z[list(group.chains)].reshape(-1, z.shape[2])
            roots = [(points.mean(axis=0), _take_root_of(points))]
        shapes += [_Shape(at, centre, root) for centre, root in roots if root is not None]
    if {shape.number for shape in shapes} < set(range(len(groups))):
        return _Parts((), of_draws)
    parts = _Parts(tuple(shapes), of_draws)
    return replace(parts, of_draws=parts.number(z.reshape(-1, z.shape[2])).reshape(of_draws.shape))


def _take_root_of(points: np.ndarray) -> np.ndarray | None:
    """Return a root of the inverse of points' covariance; None where there are too few of them."""
    if len(points) < MIN_PER_DIMENSION * points.shape[1]:
        return None
    try:
        root: np.ndarray = np.linalg.inv(np.linalg.cholesky(np.atleast_2d(np.cov(points.T))))
    except np.linalg.LinAlgError:
        return None
    return root


def _are_aligned(graph: pm.Model, density: Density, points: np.ndarray) -> np.ndarray:
    """Return whether points (sample, dimension) are in the labelling that eq. 56 prefers."""
    values = as_chains(graph, [density.values_at(point) for point in points])
    matrices = sum_class_matrices(values)
    assert matrices is not None, "no class matrices"  # draws that have none cannot be aligned
    orders = class_permutations(matrices.values[:, 0])
    aligned: np.ndarray = (orders == np.arange(orders.shape[1])).all(axis=1)
    return aligned
