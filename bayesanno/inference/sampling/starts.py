"""Where chains start: in the modes that carry the posterior's mass, or where the user says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, Literal, get_args

import numpy as np

from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import pm
from bayesanno.inference.diagnosis.thresholds import LEAST_MASS
from bayesanno.inference.graph.density import Density, compile_graph, spreads_of
from bayesanno.inference.modes.explore import ROUGHLY, Explored, Mode, explore
from bayesanno.inference.modes.labellings import weigh_labellings
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.data_kinds import Data
from bayesanno.modeling.functions import BY_NUMPY

Begin = Literal["auto", "vote", "prior", "em"]
SCALES = (1.0, 0.3, 0.1, 0.01)  # of the jitter: the first at which there is a density
JITTER = 1.0  # half the width of the interval that a chain's start is drawn from, on the unconstrained scale


@dataclass(frozen=True)
class Modes:
    """Where chains may start: points (mode, dimension), the width around each in every number, and mass (mode,)."""

    points: np.ndarray
    widths: np.ndarray
    mass: np.ndarray


@dataclass(frozen=True)
class Starts:
    """Where chains start, and the density of their graph.

    Attributes
    ----------
    density : Density
    explored : Explored or None
        The modes that were looked for, with "auto".
    draw : callable
        From a seed to a point (dimension,) on the unconstrained scale where a chain may start.
    among : Modes or None
        The modes that chains are shared out among, where there are several.
    centre : array, shape (dimension,)
        The point of most mass, or the given one, without jitter.
    """

    density: Density
    explored: Explored | None
    draw: Callable[[int], np.ndarray]
    centre: np.ndarray
    among: Modes | None = None

    @property
    def values(self) -> Mapping[str, np.ndarray]:
        """The free variables at the centre, each on its own scale."""
        return self.density.values_at(self.centre)

    def share_out(self, seeds: Sequence[int]) -> Starts:
        """Return starts for the chains of these seeds: each of the modes has its share of them, one at least.

        Of fewer chains than modes, the modes of most mass have one each.
        """
        if self.among is None:
            return self
        numbers = share_chains(self.among.mass, len(seeds))
        which = dict(zip(sorted(seeds), numbers, strict=True))  # sorted: in whatever order chains ask
        return replace(self, draw=_around(self.among, self.density, which))

    def draw_values(self, seed: int) -> Mapping[str, np.ndarray]:
        """Return the free variables where the chain of a seed starts, each on its own scale."""
        return self.density.values_at(self.draw(seed))


def choose_starts(
    graph: pm.Model,
    model: AnnotationModel,
    data: Data,
    initvals: Begin | Mapping[str, Any],
    *,
    n_starts: int,
    most_gradients: int,
    random_seed: int,
) -> Starts:
    """Compile a graph and choose where its chains start.

    Parameters
    ----------
    graph : pymc.Model
    model : AnnotationModel
    data : AnnotationData, CountData or MultiAnnotationData
    initvals : "auto", "vote", "prior", "em" or mapping of variable name to array
        "auto": in the modes that carry mass; "vote": near the majority vote; "prior": anywhere that the prior allows;
        "em": near the best point that EM finds.
    n_starts, most_gradients : int
        How many random starts "auto" looks for modes from, and about how many gradients it may compute.
    random_seed : int

    Raises
    ------
    FitError
        If an initial value is not of the graph, or there is no density where chains are to start.
    """
    check_initvals(initvals)
    given = initvals if isinstance(initvals, Mapping) else {}
    if isinstance(initvals, str) and initvals == "em":
        from bayesanno.inference.climbing.em import start_at_point

        given = start_at_point(model, data, random_seed)
    near = start_near(compile_graph(graph, _checked({**model.start(data), **given}, graph)))
    density = near.density
    if initvals == "prior":
        return replace(near, draw=_from_prior(graph))
    if initvals != "auto":
        if not _has_density(density, near.centre):
            raise FitError(
                f"initvals: {model.name} has no density there: a value is at the end of its range, or beyond it"
            )
        return near
    rng = np.random.default_rng(random_seed)
    spreads = spreads_of(density, model, graph)
    explored = explore(density, near.centre, n_starts=n_starts, most_gradients=most_gradients, rng=rng, spreads=spreads)
    chosen, mass = _choose_modes(model, data, graph, density, explored, near.centre)
    if not chosen:
        raise FitError(f"{model.name} has no density at any of {explored.n_starts} starts: its priors exclude the data")
    # A jitter of three standard deviations spreads chains wider than the mode, and leaves them in it.
    widths = np.minimum(JITTER, 3 * np.array([mode.sd for mode in chosen]))
    modes = Modes(np.array([mode.point for mode in chosen]), widths, mass)
    return replace(
        near,
        explored=explored,
        draw=_around(modes, density),
        centre=modes.points[int(np.argmax(modes.mass))],
        among=modes if len(chosen) > 1 else None,
    )


def _choose_modes(
    model: AnnotationModel, data: Data, graph: pm.Model, density: Density, explored: Explored, near: np.ndarray
) -> tuple[list[Mode], np.ndarray]:
    """Return where chains start and in which shares: by mass where it is known, or else evenly.

    Chains may be fewer than these places: the best comes first, and next where the first start led to, often the vote.
    """
    groups, shares = weigh_labellings(model, data, graph, density, explored.modes)
    carrying = shares >= LEAST_MASS
    chosen = [_nearest(explored.modes, group, near) for group in compress(groups, carrying)]
    if explored.is_weighed:
        return chosen, shares[carrying] / shares[carrying].sum()
    if explored.rough:
        log_mass = np.array([max(explored.modes[at].log_mass for at in group) for group in groups])
        order = np.argsort(-log_mass, kind="stable")
        order = order[log_mass[order] > log_mass.max() - ROUGHLY]
        chosen = [_nearest(explored.modes, groups[at], near) for at in order]
    others = sorted([*chosen[1:], *explored.unfinished], key=lambda mode: not mode.is_first)
    chosen = [*chosen[:1], *others]
    return chosen, np.full(len(chosen), 1 / max(1, len(chosen)))


def start_near(density: Density) -> Starts:
    """Return starts around the point that a graph was compiled with."""
    around = Modes(density.start[None], np.full((1, density.n_dim), JITTER), np.ones(1))
    return Starts(density, None, _around(around, density), density.start)


def share_chains(mass: np.ndarray, n_chains: int) -> list[int]:
    """Return the number of the mode of each chain: each mode has one, and the others are in proportion to the mass.

    Of fewer chains than modes, the modes of most mass have one each.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.sampling.starts import share_chains
    >>> share_chains(np.array([0.13, 0.87]), 4)
    [0, 1, 1, 1]
    """
    covered = np.argsort(-mass, kind="stable")[:n_chains]
    counts = np.zeros(mass.size, dtype=int)
    counts[covered] = 1
    wanted = n_chains * mass / mass[covered].sum()
    while counts.sum() < n_chains:
        counts[int(np.argmax(np.where(counts > 0, wanted - counts, -np.inf)))] += 1
    found: list[int] = np.repeat(np.arange(mass.size), counts).tolist()
    return found


def _nearest(modes: Sequence[Mode], group: Sequence[int], point: np.ndarray) -> Mode:
    """Return the labelling of a mode that is nearest to a point."""
    return min((modes[i] for i in group), key=lambda mode: float(np.abs(mode.point - point).sum()))


def check_initvals(initvals: Any) -> None:
    """Raise a FitError unless these can be initial values."""
    if isinstance(initvals, Mapping) or (isinstance(initvals, str) and initvals in get_args(Begin)):
        return
    names = ", ".join(repr(name) for name in get_args(Begin))
    raise FitError(f"initvals is {initvals!r}: it must be one of {names}, or a mapping of variable name to array")


def _around(modes: Modes, density: Density, which: Mapping[int, int] | None = None) -> Callable[[int], np.ndarray]:
    """Return a way from a seed to a point around a mode: the one of the seed, or of others one drawn by its mass.

    The jitter is the smaller the worse it would do: of tens of thousands of numbers, some may leave the density.
    """

    def draw(seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        drawn = int(rng.choice(len(modes.points), p=modes.mass))
        at = (which or {}).get(seed, drawn)
        jitter = modes.widths[at] * rng.uniform(-1, 1, size=modes.points.shape[1])
        points = [modes.points[at] + scale * jitter for scale in SCALES]
        return next((point for point in points if _has_density(density, point)), modes.points[at])

    return draw


def _has_density(density: Density, point: np.ndarray) -> bool:
    value, gradient = density(point)
    return bool(np.isfinite(value) and np.isfinite(gradient).all())


def _from_prior(graph: pm.Model) -> Callable[[int], np.ndarray]:
    from bayesanno.ground.private.pymc import draw_initial_point

    draw = draw_initial_point(graph)
    return lambda seed: np.concatenate([np.ravel(value) for value in draw(seed % 2**32).values()]).astype(float)


def _checked(start: Mapping[str, Any], graph: pm.Model) -> dict[str, np.ndarray]:
    shapes = {variable.name: _shape_of(variable, graph) for variable in graph.free_RVs}
    for name, value in start.items():
        if name not in shapes:
            raise FitError(f"initvals: the model has no free variable {name!r}: it has {', '.join(shapes)}")
        if np.shape(value) != shapes[name]:
            raise FitError(f"initvals: {name} has shape {np.shape(value)}, the model's is {shapes[name]}")
    return {name: np.asarray(value, dtype=float) for name, value in start.items()}


def _shape_of(variable: Any, graph: pm.Model) -> tuple[int, ...]:
    dims = graph.named_vars_to_dims.get(variable.name)
    lengths = variable.type.shape if dims is None else [len(graph.coords[dim] or ()) for dim in dims]
    return tuple(lengths) if all(lengths) else tuple(map(int, variable.shape.eval(mode=BY_NUMPY)))
