"""PyMC's insides."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def draw_initial_point(
    graph: Any, start: Mapping[str, np.ndarray] | None = None
) -> Callable[[int], dict[str, np.ndarray]]:
    """Return a function from a seed to values of a graph's free variables as they are sampled.

    They are the given ones; without any they are drawn from the prior. Threads may call it at once.
    """
    from pymc.initial_point import make_initial_point_fn

    how = {"default_strategy": "prior"} if start is None else {"overrides": dict(start)}
    draw = make_initial_point_fn(model=graph, return_transformed=True, **how)
    one_at_a_time = threading.Lock()

    def call(seed: int) -> dict[str, np.ndarray]:
        with one_at_a_time:
            found: dict[str, np.ndarray] = draw(seed)
            return found

    return call


def remove_transforms(graph: Any) -> Any:
    """Return a graph whose free variables are taken on their own scale."""
    from pymc.model.transform.conditioning import remove_value_transforms

    return remove_value_transforms(graph)
