"""The one place where a discrete latent is summed out, for the density of NUTS and ADVI.

A model defines log p(state, an item's answers | parameters) once, in `state_logp`. From this formula come the
likelihood, an observed variable with one value per item, in this module, and the posterior of latents, in
`bayesanno.modeling.posterior`. Zero probabilities give -inf, never nan. Controls have -inf outside the known state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Protocol

import numpy as np

from bayesanno._core.lazy import pm, pt
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.patterns import find_joint_patterns, find_patterns, lay_out
from bayesanno.modeling.arguments import FixedParameter, Parameters
from bayesanno.modeling.class_prior import class_prior_of, find_rows, weights_of, with_log_class
from bayesanno.modeling.kinds import Data, kind_of, outline_of
from bayesanno.modeling.kinds.base import CONTROL, ITEM_PATTERN, ITEM_WEIGHT, ArrayName, Arrays, IndexArray, Patterns


class ObservedModel(Protocol):
    """The part of `AnnotationModel` that its observed variable needs."""

    data_class: ClassVar[type[Any]]
    collapse_items: ClassVar[bool]
    takes_controls: ClassVar[bool]

    def generate(self, design: Any, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        """Return the generative process."""

    def item_logp(self, answers: Any, p: Parameters) -> pt.TensorVariable:
        """Return log p(the item's answers | parameters)."""

    def fixed_parameters(self, data: Any) -> dict[str, FixedParameter]:
        """Return the fixed parameters."""

    def index_arrays(self, data: Any, patterns: Patterns) -> Arrays:
        """Return the model's own arrays."""


def patterns_of(model: ObservedModel, data: Data) -> Patterns:
    """Find the items that are equal for a model."""
    prior = class_prior_of(model)
    if prior is None:
        return kind_of(model).find_patterns(data, collapse=model.collapse_items)
    assert isinstance(data, AnnotationData)  # whose items have columns
    rows = find_rows(prior, data)
    pattern = (
        find_joint_patterns([find_patterns(data), rows.of_item]) if model.collapse_items else np.arange(data.n_items)
    )
    layout = lay_out(data, pattern)
    return Patterns({"": layout}, layout.first, layout.pattern, rows.for_patterns(layout.first))


def index_arrays(model: ObservedModel, data: Data, patterns: Patterns) -> Arrays:
    """Return every array for a model's formula and generative process."""
    arrays = kind_of(model).arrays(data, patterns)
    if not model.takes_controls:
        arrays.pop(CONTROL, None)
    arrays |= patterns.class_rows
    if (weights := weights_of(model, data)) is not None:
        arrays[ITEM_WEIGHT] = IndexArray(weights)
    return arrays | model.index_arrays(data, patterns)


def observed_arrays(model: ObservedModel, data: Data) -> dict[str, np.ndarray]:
    """Return every array on which the observed variable of a model depends, by the name of its data container.

    `pm.set_data(observed_arrays(model, data), graph)` puts other answers of the same shape into an existing graph.
    nutpie's `with_data` does this without recompiling; it takes the arrays that the likelihood uses.
    """
    arrays = index_arrays(model, data, patterns_of(model, data))
    return {key.name: array.values for key, array in arrays.items()}


def observe(model: ObservedModel, data: Data, arrays: Arrays) -> pt.TensorVariable:
    """Register the observed variable, with latents summed out, in the graph of the context.

    Its arguments are all declared parameters, whether or not the formula and the generative process use them.
    """
    from bayesanno.modeling.ops.transforms import use_log_simplex

    graph = pm.modelcontext(None)
    use_log_simplex(graph)
    adapter = kind_of(model)
    there = graph.named_vars  # those of a class prior
    containers = {
        key: there[key.name] if key.name in there else pm.Data(key.name, array.values) for key, array in arrays.items()
    }
    parameters = declared_parameters(model, data, graph, containers)
    observed = containers.pop(adapter.values)
    names, keys = list(parameters), list(containers)
    inputs = [*parameters.values(), *containers.values()]
    outline = outline_of(data)  # PyMC keeps these functions for ever: none of them may hold the data, or the graph

    def split(inputs: Sequence[pt.TensorVariable]) -> tuple[Parameters, dict[ArrayName, pt.TensorVariable]]:
        values = dict(zip(names, inputs[: len(names)], strict=True))
        return Parameters(values), dict(zip(keys, inputs[len(names) :], strict=True))

    def logp(value: pt.TensorVariable, *inputs: pt.TensorVariable) -> pt.TensorVariable:
        p, given = split(inputs)
        answers = adapter.answers(outline, given | {adapter.values: value})
        of_item = model.item_logp(answers, p)[given[ITEM_PATTERN]]  # (item,)
        return of_item * given[ITEM_WEIGHT] if ITEM_WEIGHT in given else of_item

    def dist(*inputs_and_size: pt.TensorVariable) -> pt.TensorVariable:
        p, given = split(inputs_and_size[:-1])
        return generate(model, adapter.design(outline, given), p)[1]

    signature = _signature(inputs)
    return pm.CustomDist(
        adapter.observed, *inputs, logp=logp, dist=dist, signature=signature, observed=observed, dims=adapter.dim
    )


def generate(model: ObservedModel, design: Any, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
    """Return the generative process of a model, with answers about the sides of items, in whichever order shown."""
    states, answers = model.generate(design, p)
    orders = getattr(design, "orders", None)
    return states, answers if orders is None else orders.turn(answers, orders.responses)


def declared_parameters(
    model: ObservedModel, data: Data, graph: Any, given: Mapping[ArrayName, pt.TensorVariable]
) -> dict[str, pt.TensorVariable]:
    """Return the content of `p` in a model's methods: free, derived and known parameters, by name."""
    names = [*(variable.name for variable in graph.unobserved_RVs), *model.fixed_parameters(data)]
    return with_log_class(model, data, {name: graph[name] for name in names}, given)


def generate_in_numpy(
    process: Callable[..., tuple[np.ndarray, np.ndarray]],
    inputs: Sequence[pt.TensorVariable],
    *,
    states_from: Sequence[pt.TensorVariable],
    n_states: pt.TensorVariable,
    n_annotations: pt.TensorVariable,
) -> tuple[pt.TensorVariable, pt.TensorVariable]:
    """Put a generative process written in NumPy into a graph, if it is too complex to be symbolic.

    Parameters
    ----------
    process : callable
        (inputs..., rng) -> states, labels: integer arrays. It is hashable; equal processes are one operation, which all
        graphs share.
    inputs : sequence of TensorVariable
        The vectors and matrices on which it depends.
    states_from : sequence of TensorVariable
        The inputs from which the states alone are drawn; the graph cannot show this, since one operation draws states
        and labels.
    n_states, n_annotations : TensorVariable of int
        The lengths of the results.
    """
    shaped = [*inputs, pt.zeros(n_states + n_annotations)]  # the last one only gives the length
    operation = _random_operation(process, tuple(variable.ndim for variable in shaped))
    _, drawn = operation(*shaped, rng=pt.random.shared_rng(seed=None), return_next_rng=True)
    states = drawn[:n_states]
    states.tag.drawn_from = list(states_from)
    return states, drawn[n_states:]


@cache
def _random_operation(process: Callable[..., tuple[np.ndarray, np.ndarray]], ndims: tuple[int, ...]) -> Any:
    """Return the operation that draws from a process, by the inputs' numbers of axes; PyMC makes a new one per call."""

    def random(*arrays: Any, rng: np.random.Generator, size: Any = None) -> np.ndarray:  # noqa: ARG001
        return np.concatenate(process(*arrays[:-1], rng)).astype(np.int64)

    inputs = [pt.tensor(shape=(None,) * ndim, dtype="float64") for ndim in ndims]
    signature = _signature(inputs, like_last=True)
    return pm.CustomDist.dist(*inputs, random=random, signature=signature, dtype="int64").owner.op


def _signature(inputs: Sequence[pt.TensorVariable], *, like_last: bool = False) -> str:
    """Return a signature that names every axis of the inputs; the output has its own, or that of the last input."""
    axes = iter(range(sum(variable.ndim for variable in inputs) + 1))
    cores = [",".join(f"axis{next(axes)}" for _ in range(variable.ndim)) for variable in inputs]
    return ",".join(f"({core})" for core in cores) + f"->({cores[-1] if like_last else f'axis{next(axes)}'})"
