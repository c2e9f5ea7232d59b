"""Starts of the search for modes: the vote, its opposites, draws from the prior, and uniform points.

A start near a mode that only an odd view of the data suggests finds it at once, where random ones may not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.counts import CountData
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.ground.lazy import pm
from bayesanno.inference.find_modes.objective import FreeVariable, Objective
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.data_kinds import Data
from bayesanno.modeling.functions import BY_NUMPY

NOBODY_KNOWS = 0.02  # the competence of everybody where all are taken for spammers
JITTER = 1.0  # standard deviation of a start around another, on the scale of logarithms
LEAST = 1e-4  # how near to the boundary a start comes


def choose_mode_starts(
    model: AnnotationModel,
    data: Data,
    graph: pm.Model,
    function: Objective,
    n_starts: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return points to look for modes from, shape (start, coordinate).

    The first are the vote, the minority being right, everybody spamming, and the vote with its parameters mirrored
    (shares p are 1 - p, classes have each other's rows). Then, in turn, one of these with jitter, the prior, and the
    uniform distribution.
    """
    n_prior = 1 + n_starts // 3
    from_prior = _draw_prior(graph, n_prior, int(rng.integers(2**31)))
    some: dict[str, Any] = {name: values[0] for name, values in from_prior.items()}
    vote = some | model.start(data)
    odd = [
        vote,
        some | model.start(oppose(data)),
        {part.name: _spam(part, vote[part.name], model.competence) for part in function.parts},
        {part.name: _mirror(part, vote[part.name], graph) for part in function.parts},
    ]
    views = [_move_inside(function, function.coordinates_of(values)) for values in odd]
    points = list(views)
    for number in range(n_starts - len(points)):
        kind, turn = number % 3, number // 3
        if kind == 0:
            point = views[turn % len(views)]
            points.append(function.region.normalise(point * np.exp(JITTER * rng.standard_normal(point.size))))
        elif kind == 1:
            values = {name: each[(1 + turn) % n_prior] for name, each in from_prior.items()}
            points.append(function.coordinates_of(values))
        else:
            points.append(function.region.draw(rng))
    return np.array([_move_inside(function, point) for point in points[:n_starts]])


@singledispatch
def oppose(data: Any) -> Any:
    """Return data in which the minority has the vote: what fewest said of an item is said so often that it wins.

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.inference.find_modes.starts import oppose
    >>> data = AnnotationData.from_records([("s1", "ada", "yes"), ("s1", "bo", "yes"), ("s1", "cy", "no")])
    >>> oppose(data).votes.tolist()
    [[3.0, 2.0]]
    """
    raise TypeError(f"no opposite of {type(data).__name__} is known: register it here")


@oppose.register
def _(data: AnnotationData) -> AnnotationData:
    votes = data.votes[:, data.class_codes]  # (item, true_class)
    fewest = data.class_codes[np.where(votes > 0, votes, np.inf).argmin(axis=1)]  # (item,), a label that was said
    most = votes.max(axis=1)
    lone = (data.label == fewest[data.item]) & ((votes > 0).sum(axis=1) > 1)[data.item]  # (annotation,)
    times = np.where(lone, 1 + most.astype(np.int64)[data.item], 1)
    item, annotator, label = (np.repeat(codes, times) for codes in (data.item, data.annotator, data.label))
    return replace(data, item=item, annotator=annotator, label=label)


@oppose.register
def _(data: CountData) -> CountData:
    return replace(data, successes=data.trials - data.successes)


@oppose.register
def _(data: MultiAnnotationData) -> MultiAnnotationData:
    return replace(data, by_dimension={name: oppose(part) for name, part in data.by_dimension.items()})


def _spam(part: FreeVariable, value: Any, competence: str | None) -> np.ndarray:
    """Return a parameter such that what is said depends on nothing but the mean habit."""
    value = np.asarray(value, dtype=float)
    if part.name == competence and part.kind == "share":
        return np.full_like(value, NOBODY_KNOWS)
    if part.kind == "simplex" and value.ndim > 1:
        value = np.zeros_like(value) + value.mean(axis=tuple(range(value.ndim - 1)))
    return np.asarray(value)


def _mirror(part: FreeVariable, value: Any, graph: pm.Model) -> np.ndarray:
    """Return a parameter that says the opposite."""
    value = np.asarray(value, dtype=float)
    if part.kind == "share":
        return np.asarray(1 - value)
    if part.kind == "ascending":
        return np.asarray(part.top - value[::-1])
    dims = graph.named_vars_to_dims.get(part.name, ())
    return np.asarray(np.flip(value, axis=dims.index("true_class")) if "true_class" in dims else value)


def _move_inside(function: Objective, z: np.ndarray) -> np.ndarray:
    """Return a point that is not nearer to the boundary than starts come."""
    return function.region.normalise(np.maximum(z, LEAST))


def _draw_prior(graph: pm.Model, n_draws: int, random_seed: int) -> Mapping[str, np.ndarray]:
    """Return draws of the free variables from the prior, shape (draw, ...) each; by NumPy, nothing is compiled."""
    from pymc import draw

    drawn = draw(graph.free_RVs, draws=n_draws, random_seed=random_seed, mode=BY_NUMPY)
    return {variable.name: np.asarray(values) for variable, values in zip(graph.free_RVs, drawn, strict=True)}
