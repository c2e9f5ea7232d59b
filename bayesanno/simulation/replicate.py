"""Replicated answers: drawn from a model for the same design and many draws of its parameters.

The invariant: a replicate has new states of the items, drawn given the parameters (controls are kept). So a replicate
from a posterior draw is other data by the same annotators. All replicates come from the model's law or one compiled
function; they are not stored, and the caller keeps what it needs of each.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bayesanno.ground.lazy import pm, pt, xr
from bayesanno.modeling.arguments import Parameters
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.capabilities import known_parameters
from bayesanno.modeling.class_prior import with_log_class
from bayesanno.modeling.data_kinds import KINDS, Data
from bayesanno.modeling.functions import BY_NUMPY, compile_once, stack_samples
from bayesanno.modeling.likelihood import find_patterns, index_arrays
from bayesanno.simulation.quantities import ModelDraws, draw_answers, each_law, has_law


def replicate(drawn: ModelDraws, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Draw the answers of a design by a model's generative process, once for each draw of its parameters.

    Parameters
    ----------
    drawn : ModelDraws
        Draws with a design. Its answers are not used; its controls are the true labels of their items.
    rng : numpy.random.Generator

    Yields
    ------
    answers : array of int
        The label of each annotation as a code, or the successes of each item, in the data's order.
    states : array of int
        The states of items that generated them, as codes: (item,), or those of several dimensions concatenated.
    """
    model, design, draws, known = drawn
    if has_law(model):
        for law in each_law(*drawn):
            yield draw_answers(*law, design, rng)
        return
    from pytensor.graph import clone_replace, graph_inputs

    from bayesanno.ground.private.pytensor import RandomType

    values = stack_samples(draws)
    symbols = {name: pt.TensorType("float64", (None,) * (array.ndim - 1))(name) for name, array in values.items()}
    states, answers = put_together(model, design, symbols | {name: as_data(value) for name, value in known.items()})
    inputs = dict.fromkeys([*graph_inputs([answers]), *graph_inputs([states])])  # what answers take comes first
    made = [variable for variable in inputs if isinstance(variable.type, RandomType)]
    generators = {variable: variable.type() for variable in made}  # inputs, so that each call has its own
    outputs = clone_replace([answers, states], generators)
    function = quietly(compile_once, [*symbols.values(), *generators.values()], outputs)
    for sample in range(draws.sizes["chain"] * draws.sizes["draw"]):
        answers, states = quietly(function, *(array[sample] for array in values.values()), *rng.spawn(len(generators)))
        yield answers, states


def put_together(model: AnnotationModel, design: Data, parameters: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the states of the items and their annotations, as codes: variables of the model's generative process."""
    arrays = index_arrays(model, design, find_patterns(model, design))
    given = {key: as_data(array.values) for key, array in arrays.items()}
    p = Parameters(with_log_class(model, design, parameters, given))
    states, answers = quietly(model.generate, KINDS[model.data_class].design(design, given), p)
    return states, answers


def as_data(value: Any) -> Any:
    """Return these numbers as data of the graph, so that one function serves simulations of all sizes."""
    import pytensor

    return pytensor.shared(np.asarray(value), shape=(None,) * np.ndim(value))


def quietly(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a function without PyTensor's warning that a process in NumPy is not compiled."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Numba will use object mode")
        return function(*arguments, **named)


def draws_of_prior(model: AnnotationModel, data: Data, n: int, rng: np.random.Generator) -> ModelDraws:
    """Return draws of a model's parameters from its prior, with the parameters known from the data."""
    known = {name: one.value for name, one in known_parameters(model, data).items()}
    return ModelDraws(model, data, draw_prior(model, data, n, rng), known)


def draw_prior(
    model: AnnotationModel, data: Data, n: int, rng: np.random.Generator, *, names: Sequence[str] | None = None
) -> xr.Dataset:
    """Draw parameters and derived quantities of a model from its prior: dims (chain, draw, ...), one chain.

    Names may be given to draw only some. Values that a model takes from the data, such as label frequencies, are not
    drawn.
    """
    graph = model.build(data)
    variables = [one for one in (*graph.free_RVs, *graph.deterministics) if names is None or one.name in names]
    drawn = pm.draw(variables, draws=n, random_seed=rng, mode=BY_NUMPY)  # there are few numbers to draw
    found = {}
    for variable, values in zip(variables, drawn, strict=True):
        shape = values.shape[values.ndim - variable.ndim :]  # PyMC gives one draw no axis
        dims = ("chain", "draw", *graph.named_vars_to_dims.get(variable.name, ()))
        found[variable.name] = (dims, values.reshape(1, n, *shape))
    return xr.Dataset(found)
