"""Where chains start: in the modes that carry the posterior's mass, or where the user says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from bayesanno.ground.errors import FitError
from bayesanno.inference.compiled import compile_graph, flat_start
from bayesanno.inference.density import Density
from bayesanno.inference.explore import LEAST_MASS, Explored, explore, group_modes
from bayesanno.modeling.capabilities import is_exchangeable

if TYPE_CHECKING:
    import pymc

    from bayesanno.modeling.base import AnnotationModel
    from bayesanno.modeling.data_kinds import Data

Begin = Literal["auto", "vote", "prior"]
JITTER = 1.0  # half the width of the interval that a chain's start is drawn from, on the unconstrained scale


@dataclass(frozen=True)
class Starts:
    """Where chains start, and the graph that they are of, compiled.

    Attributes
    ----------
    compiled : nutpie.compile_pymc.CompiledPyMCModel
    density : Density
    explored : Explored or None
        The modes that were looked for, with "auto".
    draw : callable
        From a seed to a point (dimension,) on the unconstrained scale where a chain may start.
    centre : array, shape (dimension,)
        The point of most mass, or the given one, without jitter.
    """

    compiled: Any
    density: Density
    explored: Explored | None
    draw: Callable[[int], np.ndarray]
    centre: np.ndarray

    @property
    def values(self) -> Mapping[str, np.ndarray]:
        """The free variables at the centre, each on its own scale."""
        return self.density.values_at(self.centre)

    def draw_values(self, seed: int) -> Mapping[str, np.ndarray]:
        """Return the free variables where the chain of a seed starts, each on its own scale."""
        return self.density.values_at(self.draw(seed))


def choose_starts(
    graph: pymc.Model,
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
    initvals : "auto", "vote", "prior" or mapping of variable name to array
        "auto": in the modes that carry mass; "vote": near the majority vote; "prior": anywhere that the prior allows.
    n_starts, most_gradients : int
        How many random starts "auto" looks for modes from, and about how many gradients it may compute.
    random_seed : int

    Raises
    ------
    FitError
        If an initial value is not of the graph.
    """
    check_initvals(initvals)
    given = initvals if isinstance(initvals, Mapping) else {}
    start = _checked({**model.start(data), **given}, graph)
    compiled = compile_graph(graph, start)
    near = start_near(compiled)
    if initvals == "prior":
        return replace(near, draw=_from_prior(graph))
    if initvals != "auto":
        return near
    rng = np.random.default_rng(random_seed)
    explored = explore(near.density, near.centre, n_starts=n_starts, most_gradients=most_gradients, rng=rng)
    if not explored.modes:  # the sampler will say that there is no density
        return near
    mass = np.zeros(len(explored.modes))
    for group in group_modes(explored.modes, merge=is_exchangeable(model, data)):
        share = float(explored.mass[group].sum())
        away = [np.abs(explored.modes[i].point - near.centre).sum() for i in group]
        mass[group[int(np.argmin(away))]] = share if share >= LEAST_MASS else 0.0  # of all labellings, the vote's
    points = np.array([mode.point for mode in explored.modes])  # (mode, dimension)
    # A jitter of three standard deviations spreads chains wider than the mode, and leaves them in it.
    widths = np.minimum(JITTER, 3 * np.array([mode.sd for mode in explored.modes]))
    return replace(
        near, explored=explored, draw=_around(points, widths, mass / mass.sum()), centre=points[int(np.argmax(mass))]
    )


def start_near(compiled: Any) -> Starts:
    """Return starts around the point that a graph was compiled with."""
    centre = flat_start(compiled)
    draw = _around(centre[None], np.full((1, centre.size), JITTER), np.ones(1))
    return Starts(compiled, Density(compiled), None, draw, centre)


def check_initvals(initvals: Any) -> None:
    """Raise a FitError unless these can be initial values."""
    if isinstance(initvals, Mapping) or (isinstance(initvals, str) and initvals in get_args(Begin)):
        return
    names = ", ".join(repr(name) for name in get_args(Begin))
    raise FitError(f"initvals is {initvals!r}: it must be one of {names}, or a mapping of variable name to array")


def _around(points: np.ndarray, widths: np.ndarray, weights: np.ndarray) -> Callable[[int], np.ndarray]:
    def draw(seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        which = rng.choice(len(points), p=weights)
        point: np.ndarray = points[which] + widths[which] * rng.uniform(-1, 1, size=points.shape[1])
        return point

    return draw


def _from_prior(graph: pymc.Model) -> Callable[[int], np.ndarray]:
    from nutpie.compile_pymc import _wrap_with_lock as one_at_a_time
    from pymc.initial_point import make_initial_point_fn

    draw = one_at_a_time(make_initial_point_fn(model=graph, default_strategy="prior", return_transformed=True))
    return lambda seed: np.concatenate([np.ravel(value) for value in draw(seed % 2**32).values()]).astype(float)


def _checked(start: Mapping[str, Any], graph: pymc.Model) -> dict[str, np.ndarray]:
    shapes = {variable.name: _shape_of(variable, graph) for variable in graph.free_RVs}
    for name, value in start.items():
        if name not in shapes:
            raise FitError(f"initvals: the model has no free variable {name!r}: it has {', '.join(shapes)}")
        if np.shape(value) != shapes[name]:
            raise FitError(f"initvals: {name} has shape {np.shape(value)}, the model's is {shapes[name]}")
    return {name: np.asarray(value, dtype=float) for name, value in start.items()}


def _shape_of(variable: Any, graph: pymc.Model) -> tuple[int, ...]:
    dims = graph.named_vars_to_dims.get(variable.name)
    lengths = variable.type.shape if dims is None else [len(graph.coords[dim] or ()) for dim in dims]
    return tuple(lengths) if all(lengths) else tuple(map(int, variable.shape.eval()))
