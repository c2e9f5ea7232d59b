"""The density of a model: compiled with the model's own start, and which of its dimensions are scales."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesanno._core.lazy import pm
from bayesanno.graph.density import Density, compile_graph
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.class_prior import start_of
from bayesanno.modeling.data_adapters import Data


def compile_model(model: AnnotationModel, data: Data, graph: pm.Model) -> Density:
    """Compile the graph of a model, with the model's own start."""
    return compile_graph(graph, {name: np.asarray(value, dtype=float) for name, value in start_of(model, data).items()})


def find_scales(density: Density, model: Any, graph: pm.Model) -> np.ndarray:
    """Return which dimensions of a point are scale parameters of a model, (dimension,)."""
    found = np.zeros(density.n_dim, dtype=bool)
    for name in model.scale_parameters():
        found[density.parts[graph.rvs_to_values[graph[name]].name][0]] = True
    return found
