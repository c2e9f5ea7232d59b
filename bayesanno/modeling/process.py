"""The dependencies in a model's generative process: parameters, the latent state of an item, and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bayesanno._core.lazy import pt
from bayesanno.modeling.arguments import Parameters
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.data_adapters import DATA_ADAPTERS, Data
from bayesanno.modeling.likelihood import declared_parameters, find_patterns, index_arrays


@dataclass(frozen=True)
class ProcessGraph:
    """A generative process as a graph of names.

    Attributes
    ----------
    dims : mapping of str to tuple of str
        The parameters, each with its dimensions.
    known : tuple of str
        Parameters without a prior, which are computed from the data.
    state : str
        The discrete latent of an item; "" if the model has none.
    numbers : tuple of str
        Further latents of an item, such as its difficulty: random variables that `generate` names.
    answers : str
        The observed variable.
    edges : tuple of (str, str)
        Direct dependencies, from parent to child.
    """

    dims: Mapping[str, tuple[str, ...]]
    known: tuple[str, ...]
    state: str
    numbers: tuple[str, ...]
    answers: str
    edges: tuple[tuple[str, str], ...]


def describe_process(model: AnnotationModel, data: Data) -> ProcessGraph:
    """Return the dependencies in a model's generative process.

    Parameters
    ----------
    model : AnnotationModel
    data : AnnotationData, CountData or MultiAnnotationData, as the model takes
        Any data to which the model can be fitted.

    Examples
    --------
    >>> import bayesanno as ba
    >>> from bayesanno.modeling.process import describe_process
    >>> data = ba.AnnotationData.from_records([("s1", "ada", "yes"), ("s1", "bo", "no")])
    >>> describe_process(ba.models.OneCoin(), data).edges[-1]
    ('true_class', 'annotations')
    """
    from pytensor.graph.traversal import ancestors
    from pytensor.tensor.shape import Shape, Shape_i

    from bayesanno._core.private.pytensor import RandomVariable

    graph = model.build(data)
    adapter = DATA_ADAPTERS[model.data_class]
    arrays = index_arrays(model, data, find_patterns(model, data))
    given = {key: pt.as_tensor(array.values) for key, array in arrays.items()}
    parameters = Parameters(declared_parameters(model, data, graph, given))
    states, labels = model.generate(adapter.design(data, given), parameters)
    known = model.fixed_parameters(data)
    names = {variable: variable.name for variable in graph.free_RVs} | {graph[name]: name for name in known}
    drawn_from = getattr(states.tag, "drawn_from", [states])
    has_state = any(len(latent.states) > 1 for latent in model.latents(data))
    state = {states: model.state_dim} if has_state else {}

    def parents(outputs: list[Any], more: Mapping[Any, str]) -> list[str]:
        stops = {**names, **more}
        sizes = [one for one in ancestors(outputs) if one.owner and isinstance(one.owner.op, Shape | Shape_i)]
        found = set(ancestors(outputs, blockers=[*stops, *sizes]))
        return [name for one, name in stops.items() if one in found]

    between = ancestors([labels], blockers=[*names, *state])
    random = [one for one in between if one.owner and isinstance(one.owner.op, RandomVariable) and one not in names]
    numbers = {one: one.name for one in random if one.name}
    free = {one: name for one, name in names.items() if one.owner}
    edges = [(name, child) for one, child in free.items() for name in parents(_used_inputs(one.owner), {})]
    edges += [(name, child) for one, child in numbers.items() for name in parents(one.owner.inputs, state)]
    edges += [(name, model.state_dim) for name in parents(drawn_from, {}) if state]
    edges += [(name, adapter.observed) for name in parents([labels], {**numbers, **state})]
    if state and (model.state_dim, adapter.observed) not in edges:  # a process in NumPy makes both at once
        edges.append((model.state_dim, adapter.observed))
    dims = {name: tuple(graph.named_vars_to_dims.get(name) or ()) for name in names.values()}
    of_items = "".join(state.values()), tuple(numbers.values())
    return ProcessGraph(dims, tuple(known), *of_items, adapter.observed, tuple(edges))


def _used_inputs(node: Any) -> list[Any]:
    """Return the inputs that determine a random variable's distribution, without technical ones."""
    inner = getattr(node.op, "inner_inputs", None)
    if inner is None:
        return list(node.inputs)
    from pytensor.graph.traversal import ancestors

    used = set(ancestors(node.op.inner_outputs))
    return [outer for outer, own in zip(node.inputs, inner, strict=True) if own in used]
