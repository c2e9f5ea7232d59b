"""PyMC's private names: transforms of variables, where chains start, and the random numbers of a graph."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from pymc.initial_point import make_initial_point_fn
from pymc.logprob.transforms import SimplexTransform, Transform
from pymc.model.transform.conditioning import remove_value_transforms
from pymc.pytensorf import collect_default_updates, find_rng_nodes, reseed_rngs

__all__ = [
    "SimplexTransform",
    "Transform",
    "collect_default_updates",
    "draw_initial_point",
    "find_rng_nodes",
    "remove_value_transforms",
    "reseed_rngs",
]


def draw_initial_point(
    graph: Any, start: Mapping[str, np.ndarray] | None = None
) -> Callable[[int], dict[str, np.ndarray]]:
    """Return a function from a seed to (transformed) values of a graph's free variables.

    Given values are used; others are drawn from the prior. Several threads may call it at the same time.
    """
    how = {"default_strategy": "prior"} if start is None else {"overrides": dict(start)}
    draw = make_initial_point_fn(model=graph, return_transformed=True, **how)
    one_at_a_time = threading.Lock()

    def call(seed: int) -> dict[str, np.ndarray]:
        with one_at_a_time:
            return draw(seed)

    return call


def name_distribution(operation: Any) -> str:
    """Return the name of a distribution as PyMC prints it."""
    return str(operation._print_name[0])
