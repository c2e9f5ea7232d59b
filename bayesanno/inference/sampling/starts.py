"""Starting points of chains: in the modes that are probable, or as given by the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from bayesanno._core.lazy import pm
from bayesanno._core.messages import FitError
from bayesanno._core.running import status
from bayesanno.graph.density import Density, compile_graph, shape_of
from bayesanno.inference.diagnosis.thresholds import LEAST_PROBABILITY
from bayesanno.inference.modes.search import Mode, Modes, make_log_density, search, weigh
from bayesanno.inference.settings import check_start
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.class_prior import start_of
from bayesanno.modeling.kinds import Data

Begin = Literal["auto", "vote", "prior", "em"]
SCALES = (1.0, 0.3, 0.1, 0.01)  # of the jitter: the first at which there is a density
JITTER = 1.0  # half the width of the interval that a chain's start is drawn from, on the unconstrained scale


@dataclass(frozen=True)
class Starts:
    """The starting points of chains, and the density of their graph.

    Attributes
    ----------
    density : Density
    points : array, shape (place, dimension)
        The places over which chains are distributed, on the unconstrained scale.
    widths : array, shape (place, dimension)
        Half the width of the interval around each place from which starts are drawn.
    shares : array, shape (place,)
        The share of chains for each place.
    modes : Modes or None
        The modes found, with "auto".
    place_of : mapping of int to int
        The place of the chain with each seed; for other seeds it is drawn.
    draw_prior : callable, optional
        A function from a seed to a draw from the prior; if given, chains start there.
    """

    density: Density
    points: np.ndarray
    widths: np.ndarray
    shares: np.ndarray
    modes: Modes | None = None
    place_of: Mapping[int, int] = field(default_factory=dict)
    draw_prior: Callable[[int], np.ndarray] | None = None

    @property
    def centre(self) -> np.ndarray:
        """The most probable place, or the given point, without jitter, (dimension,)."""
        return self.points[int(np.argmax(self.shares))]

    @property
    def values(self) -> Mapping[str, np.ndarray]:
        """The free variables at the centre, each on its own scale."""
        return self.density.values_at(self.centre)

    def assign_chains(self, seeds: Sequence[int]) -> Starts:
        """Return starts for chains with these seeds; each place gets its share of them, at least one.

        If there are fewer chains than places, the places with the largest shares get one each.
        """
        numbers = assign_chains(self.shares, len(seeds))
        return replace(self, place_of=dict(zip(sorted(seeds), numbers, strict=True)))  # in whatever order chains ask

    def draw(self, seed: int) -> np.ndarray:
        """Return the starting point (dimension,) of the chain with a seed, on the unconstrained scale.

        The jitter is reduced if necessary: among tens of thousands of numbers, some may leave the density.
        """
        if self.draw_prior is not None:
            return self.draw_prior(seed)
        rng = np.random.default_rng(seed)
        drawn = int(rng.choice(len(self.points), p=self.shares))
        at = self.place_of.get(seed, drawn)
        jitter = self.widths[at] * rng.uniform(-1, 1, size=self.points.shape[1])
        points = [self.points[at] + scale * jitter for scale in SCALES]
        return next((point for point in points if _has_density(self.density, point)), self.points[at])

    def draw_values(self, seed: int) -> Mapping[str, np.ndarray]:
        """Return the free variables at the start of the chain with a seed, each on its own scale."""
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
    progressbar: bool = False,
) -> Starts:
    """Compile a graph and choose where its chains start.

    Parameters
    ----------
    graph : pymc.Model
    model : AnnotationModel
    data : data of the kind that the model takes
    initvals : "auto", "vote", "prior", "em" or mapping of variable name to array
        "auto": in the probable modes; "vote": near the majority vote; "prior": at draws from the prior; "em": near the
        best point that EM finds.
    n_starts, most_gradients : int
        The number of random starts in the search for modes with "auto", and its approximate budget of gradients.
    random_seed : int
    progressbar : bool
        Whether to show progress.

    Raises
    ------
    FitError
        If an initial value does not belong to the graph, or there is no density at a starting point.
    """
    given = initvals if isinstance(initvals, Mapping) else {}
    if isinstance(initvals, str) and initvals == "em":
        from bayesanno.inference.em_vb.em import start_at_point

        given = start_at_point(model, data, random_seed)
    said = f"preparing {model.name} (its first fit compiles it, in a second or two)"
    with status(said, show=progressbar):
        shapes = {variable.name: shape_of(graph, variable.name) for variable in graph.free_RVs}
        density = compile_graph(graph, check_start({**start_of(model, data), **given}, shapes))
    near = start_near(density)
    if initvals == "prior":
        return replace(near, draw_prior=_from_prior(graph))
    if initvals != "auto":
        if not _has_density(density, near.centre):
            raise FitError(
                f"initvals: {model.name} has no density there: a value is at the limit of its range, or beyond it"
            )
        return near
    rng = np.random.default_rng(random_seed)
    log_density = make_log_density(model, data, graph, density, most_gradients)
    modes = search(
        log_density, density.start, n_starts=n_starts, most_gradients=most_gradients, rng=rng, show=progressbar
    )
    modes = weigh(modes, rng, show=progressbar)
    chosen, shares = choose_places(modes, density.start)
    if not chosen:
        raise FitError(f"{model.name} has no density at any of {modes.n_starts} starts: its priors exclude the data")
    # A jitter of three standard deviations spreads chains wider than the mode, and leaves them in it.
    widths = np.minimum(JITTER, 3 * np.array([mode.sd for mode in chosen]))
    return Starts(density, np.array([mode.point for mode in chosen]), widths, shares, modes)


def choose_places(modes: Modes, near: np.ndarray) -> tuple[list[Mode], np.ndarray]:
    """Return the starting places of chains and their shares: by probability if known, or else even.

    There may be fewer chains than places: the best place comes first, then the end of the first start, often the vote.
    At fixed scales, heights do not show which place is best, and the end of the first start comes first.
    Among the labellings of a mode, chains start in the one nearest to the point `near` (dimension,).
    """

    def nearest(group: Sequence[int]) -> Mode:
        return min((modes.found[i] for i in group), key=lambda mode: float(np.abs(mode.point - near).sum()))

    if modes.has_probabilities:
        probable = np.flatnonzero(modes.probabilities >= LEAST_PROBABILITY)
        shares = modes.probabilities[probable]
        return [nearest(modes.groups[at]) for at in probable], shares / shares.sum()
    chosen = [nearest(modes.groups[at]) for at in modes.near]
    if modes.log_density.has_scales:
        chosen = sorted([*chosen, *modes.unfinished], key=lambda mode: not mode.is_first)
    else:
        chosen = [*chosen[:1], *sorted([*chosen[1:], *modes.unfinished], key=lambda mode: not mode.is_first)]
    return chosen, np.full(len(chosen), 1 / max(1, len(chosen)))


def start_near(density: Density) -> Starts:
    """Return starts around the point that a graph was compiled with."""
    return Starts(density, density.start[None], np.full((1, density.n_dim), JITTER), np.ones(1))


def assign_chains(shares: np.ndarray, n_chains: int) -> list[int]:
    """Return the place of each chain: each place gets one chain, and the others are in proportion to shares.

    If there are fewer chains than places, the places with the largest shares get one each.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.sampling.starts import assign_chains
    >>> assign_chains(np.array([0.13, 0.87]), 4)
    [0, 1, 1, 1]
    """
    covered = np.argsort(-shares, kind="stable")[:n_chains]
    counts = np.zeros(shares.size, dtype=int)
    counts[covered] = 1
    wanted = n_chains * shares / shares[covered].sum()
    while counts.sum() < n_chains:
        counts[int(np.argmax(np.where(counts > 0, wanted - counts, -np.inf)))] += 1
    return np.repeat(np.arange(shares.size), counts).tolist()


def check_initvals(initvals: Any) -> None:
    """Raise a FitError if these are not valid initial values."""
    if isinstance(initvals, Mapping) or (isinstance(initvals, str) and initvals in get_args(Begin)):
        return
    names = ", ".join(repr(name) for name in get_args(Begin))
    raise FitError(f"initvals is {initvals!r}: it must be one of {names}, or a mapping of variable name to array")


def _has_density(density: Density, point: np.ndarray) -> bool:
    value, gradient = density(point)
    return bool(np.isfinite(value) and np.isfinite(gradient).all())


def _from_prior(graph: pm.Model) -> Callable[[int], np.ndarray]:
    from bayesanno._core.private import draw_initial_point

    draw = draw_initial_point(graph)
    return lambda seed: np.concatenate([np.ravel(value) for value in draw(seed % 2**32).values()]).astype(float)
