"""Checks of models of one's own, before anything is compiled: values that are missing, and wrong shapes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from bayesanno._core.lazy import pm, pt
from bayesanno._core.messages import ModelError, listed
from bayesanno.graph.functions import BY_NUMPY
from bayesanno.modeling.arguments import Parameters
from bayesanno.modeling.kinds import kind_of
from bayesanno.modeling.kinds.base import Arrays
from bayesanno.modeling.latents import Discrete
from bayesanno.modeling.likelihood import declared_parameters


def check_own_model(model: Any, data: Any, graph: pm.Model, arrays: Arrays) -> None:
    """Raise a ModelError if methods of a model return what cannot be used; `graph` has the model's parameters."""
    start, free = model.start(data), [variable.name for variable in graph.free_RVs]
    if missing := [name for name in free if name not in start]:
        raise ModelError(f"{model.name}: start has no value of {listed(missing)}: it has {listed(list(start))}")
    given = {key: pt.as_tensor(array.values) for key, array in arrays.items()}
    p = Parameters(declared_parameters(model, data, graph, given))
    adapter = kind_of(model)
    answers, design = adapter.answers(data, given), adapter.design(data, given)
    n_items, n_annotations = (int(n.eval(mode=BY_NUMPY)) for n in (answers.n_items, given[adapter.values].shape[0]))
    if hasattr(model, "tables"):
        n_labels, n_classes = data.n_labels, data.n_classes
        class_prob, response_prob = _require_pair(model, "tables", model.tables(p, data.names_class.T))
        _require_shape(model, "p(class) of tables", class_prob, {(n_classes,), (data.n_items, n_classes)})
        of_each = {(n, n_labels, n_classes) for n in (1, data.n_annotators)}
        _require_shape(model, "p(response) of tables", response_prob, of_each)
    latents = model.latents(data)
    if latents and isinstance(latents[0], Discrete) and not model.overrides("item_logp"):
        by_state = {(n_items, len(latents[0].states))}
        _require_shape(model, "state_logp (item, state)", model.state_logp(answers, p), by_state)
    states, labels = _require_pair(model, "generate", model.generate(design, p))
    _require_shape(model, "states of generate", states, {(max(1, len(latents)) * data.n_items,)})
    _require_shape(model, "labels of generate", labels, {(n_annotations,)})


def _require_pair(model: Any, method: str, made: Any) -> tuple[Any, Any]:
    if not (isinstance(made, tuple) and len(made) == 2):
        what = "p(class) and p(response)" if method == "tables" else "states and labels"
        raise ModelError(f"{model.name}: {method} must return two arrays, {what}, not {type(made).__name__}")
    return made


def _require_shape(model: Any, what: str, values: Any, possible: Collection[tuple[int, ...]]) -> None:
    shape = tuple(pt.as_tensor(values).shape.eval(mode=BY_NUMPY).tolist())
    if shape not in possible:
        needed = " or ".join(map(str, sorted(possible)))
        raise ModelError(f"{model.name}: {what} has shape {shape}, but must have {needed}")
