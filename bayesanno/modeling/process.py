"""What depends on what in a model's generative process: parameters, the latent state of an item, and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bayesanno.ground.lazy import pt
from bayesanno.modeling.arguments import Parameters
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.data_kinds import KINDS, Data
from bayesanno.modeling.likelihood import declared_parameters, find_patterns, index_arrays


@dataclass(frozen=True)
class ProcessGraph:
    """A generative process as a graph of names.

    Attributes
    ----------
    dims : mapping of str to tuple of str
        The parameters that have a prior, each with its dimensions.
    state : str
        The discrete latent of an item.
    answers : str
        What is observed.
    edges : tuple of (str, str)
        From what something depends on directly, to that.
    """

    dims: Mapping[str, tuple[str, ...]]
    state: str
    answers: str
    edges: tuple[tuple[str, str], ...]


def describe_process(model: AnnotationModel, data: Data) -> ProcessGraph:
    """Return what depends on what in a model's generative process.

    Parameters
    ----------
    model : AnnotationModel
    data : AnnotationData, CountData or MultiAnnotationData, as the model takes
        Any that it can be fitted to.

    Examples
    --------
    >>> import bayesanno as ba
    >>> from bayesanno.modeling.process import describe_process
    >>> data = ba.AnnotationData.from_records([("s1", "ada", "yes"), ("s1", "bo", "no")])
    >>> describe_process(ba.models.OneCoin(), data).edges[-1]
    ('true_class', 'annotations')
    """
    from pytensor.graph.traversal import ancestors

    graph = model.build(data)
    kind = KINDS[model.data_class]
    arrays = index_arrays(model, data, find_patterns(model, data))
    given = {key: pt.as_tensor(array.values) for key, array in arrays.items()}
    parameters = Parameters(declared_parameters(model, data, graph, given))
    states, labels = model.generate(kind.design(data, given), parameters)
    free = {variable: variable.name for variable in graph.free_RVs}

    def parents(outputs: list[Any], more: Mapping[Any, str]) -> list[str]:
        stops = {**free, **more}
        found = set(ancestors(outputs, blockers=list(stops)))
        return [name for one, name in stops.items() if one in found]

    edges = [(name, child) for variable, child in free.items() for name in parents(_used_inputs(variable.owner), {})]
    edges += [(name, model.state_dim) for name in parents([states], {})]
    edges += [(name, kind.observed) for name in parents([labels], {states: model.state_dim})]
    if (model.state_dim, kind.observed) not in edges:  # a process in NumPy makes both at once
        edges.append((model.state_dim, kind.observed))
    dims = {name: tuple(graph.named_vars_to_dims.get(name) or ()) for name in free.values()}
    return ProcessGraph(dims, model.state_dim, kind.observed, tuple(edges))


def _used_inputs(node: Any) -> list[Any]:
    """Return the inputs that a random variable is drawn by; others only say how it is sampled."""
    inner = getattr(node.op, "inner_inputs", None)
    if inner is None:
        return list(node.inputs)
    from pytensor.graph.traversal import ancestors

    used = set(ancestors(node.op.inner_outputs))
    return [outer for outer, own in zip(node.inputs, inner, strict=True) if own in used]
