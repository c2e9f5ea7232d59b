"""Checks of models of one's own, before anything is compiled: values that are missing, and wrong shapes.

The invariant: an error in a method of such a model is one line that names the method, with the error as its cause.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from bayesanno._core.lazy import pm, pt
from bayesanno._core.messages import BayesannoError, ModelError, listed, name_error
from bayesanno.graph.functions import BY_NUMPY
from bayesanno.modeling.arguments import Discrete, Parameters
from bayesanno.modeling.kinds import kind_of
from bayesanno.modeling.kinds.base import Arrays
from bayesanno.modeling.likelihood import declared_parameters


def check_own_model(model: Any, data: Any, graph: pm.Model, arrays: Arrays) -> None:
    """Raise a ModelError if methods of a model return what cannot be used; `graph` has the model's parameters."""
    _check_variables(model, graph)
    with name_method(model, "start"):
        start = dict(model.start(data))
    free = {variable.name: variable for variable in graph.free_RVs}
    if missing := [name for name in free if name not in start]:
        raise ModelError(f"{model.name}: start has no value of {listed(missing)}: it has {listed(list(start))}")
    if more := [name for name in start if name not in free]:
        raise ModelError(f"{model.name}: start has {listed(more)}: what is drawn is {listed(list(free))}")
    for name, variable in free.items():
        _require_shape(model, f"{name} of start", start[name], {tuple(variable.shape.eval(mode=BY_NUMPY).tolist())})
    given = {key: pt.as_tensor(array.values) for key, array in arrays.items()}
    p = Parameters(declared_parameters(model, data, graph, given))
    adapter = kind_of(model)
    answers, design = adapter.answers(data, given), adapter.design(data, given)
    n_items, n_annotations = (int(n.eval(mode=BY_NUMPY)) for n in (answers.n_items, given[adapter.values].shape[0]))
    if hasattr(model, "tables"):
        n_labels, n_classes = data.n_labels, data.n_classes
        with name_method(model, "tables"):
            class_prob, response_prob = _require_pair(model, "tables", model.tables(p, data.names_class.T))
        _require_shape(model, "p(class) of tables", class_prob, {(n_classes,), (data.n_items, n_classes)})
        of_each = {(n, n_labels, n_classes) for n in (1, data.n_annotators)}
        _require_shape(model, "p(response) of tables", response_prob, of_each)
    latents, declared = model.latents(data), set(graph.named_vars)
    if latents and isinstance(latents[0], Discrete) and not model.overrides("item_logp"):
        by_state = {(n_items, len(latents[0].states))}
        with name_method(model, "state_logp"):
            _require_shape(model, "state_logp (item, state)", model.state_logp(answers, p), by_state)
    with name_method(model, "generate"):
        states, labels = _require_pair(model, "generate", model.generate(design, p))
    if named := [name for name in graph.named_vars if name not in declared]:
        raise ModelError(f"{model.name}: generate declares {listed(named)}: draw without a name, by pm....dist")
    _require_shape(model, "states of generate", states, {(max(1, len(latents)) * data.n_items,)})
    _require_shape(model, "labels of generate", labels, {(n_annotations,)})


@contextmanager
def name_method(model: Any, method: str) -> Iterator[None]:
    """Turn an error in a method of a model of one's own into a ModelError that names the method."""
    try:
        yield
    except BayesannoError:
        raise
    except Exception as error:
        if not is_own(model):
            raise
        raise ModelError(f"{model.name}: {method}: {name_error(error)}") from error


def is_own(model: Any) -> bool:
    """Whether a model is not one of this package."""
    return not type(model).__module__.startswith("bayesanno.")


def _check_variables(model: Any, graph: pm.Model) -> None:
    """Raise a ModelError if a variable cannot be sampled, is of collapsed items, or is not there for a table."""
    dims = graph.named_vars_to_dims
    for variable in graph.free_RVs:
        if variable.type.dtype[0] in "biu":
            raise ModelError(f"{model.name}: {variable.name} is discrete: sum it out in state_logp")
        if "item" in (dims.get(variable.name) or ()) and model.collapse_items:
            raise ModelError(
                f"{model.name}: {variable.name} has a value for each item, and items with equal answers are one term: "
                "add collapse_items: ClassVar[bool] = False"
            )
    over = [name for name in graph.named_vars if "annotator" in (dims.get(name) or ())]
    for name in (*filter(None, [model.competence]), *model.annotator_parameters):
        if name not in over:
            raise ModelError(
                f"{model.name}: {name!r}, for the annotator table, is no variable with the dimension annotator: "
                f"there are {listed(over)}"
            )


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
