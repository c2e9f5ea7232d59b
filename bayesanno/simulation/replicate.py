"""Answers drawn again by a model, for the same design and many draws of its parameters.

The invariant: a replicate has new states of the items, drawn given the draw's parameters (controls are kept), so that
of a draw of the posterior it is a draw of other data by the same annotators. All replicates are of the model's law or
of one compiled function, and are not kept: the caller says what to keep of each.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bayesanno.ground.lazy import pm, pt, xr
from bayesanno.modeling.arguments import Parameters
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.data_kinds import KINDS, Data, Key
from bayesanno.modeling.functions import BY_NUMPY, compile_once
from bayesanno.modeling.likelihood import find_patterns, index_arrays
from bayesanno.simulation.by_law import draw_answers, each_law, has_law, stack_samples


def replicate(
    model: AnnotationModel,
    design: Data,
    draws: xr.Dataset,
    known: Mapping[str, np.ndarray],
    rng: np.random.Generator,
) -> Iterator[np.ndarray]:
    """Draw the answers of a design by a model's generative process, once for each draw of its parameters.

    Parameters
    ----------
    model : AnnotationModel
    design : AnnotationData, CountData or MultiAnnotationData
        Who is asked about what; its answers are not looked at, its controls are the truth of their items.
    draws : xarray.Dataset
        The parameters and what follows from them, dims (chain, draw, ...).
    known : mapping of name to array
        The known parameters of the model.
    rng : numpy.random.Generator

    Yields
    ------
    array of int
        The label of each annotation, or the successes of each item, as codes in the data's order.
    """
    for answers, _ in replicate_with_states(model, design, draws, known, rng):
        yield answers


def replicate_with_states(
    model: AnnotationModel,
    design: Data,
    draws: xr.Dataset,
    known: Mapping[str, np.ndarray],
    rng: np.random.Generator,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Draw answers as `replicate` does; yield them and the states that gave rise to them.

    The states are codes, (item,), or of several dimensions those of one after the other.
    """
    if has_law(model):
        for law in each_law(model, design, draws, known):
            yield draw_answers(*law, design, rng)
        return
    from pytensor.graph import clone_replace, graph_inputs

    from bayesanno.ground.private.pytensor import RandomType

    values = stack_samples(draws)
    symbols = {name: pt.tensor(name, shape=(None,) * (array.ndim - 1)) for name, array in values.items()}
    symbols |= {name: pt.tensor(name, shape=(None,) * np.ndim(value)) for name, value in known.items()}
    arrays = index_arrays(model, design, find_patterns(model, design))
    given: dict[Key, pt.TensorVariable] = {
        key: pt.tensor(key.name, dtype=array.values.dtype, shape=(None,) * array.values.ndim)
        for key, array in arrays.items()
    }
    states, answers = quietly(model.generate, KINDS[model.data_class].design(design, given), Parameters(symbols))
    inputs = dict.fromkeys([*graph_inputs([answers]), *graph_inputs([states])])  # what answers take comes first
    made = [variable for variable in inputs if isinstance(variable.type, RandomType)]
    generators = {variable: variable.type() for variable in made}  # inputs, so that each call has its own
    outputs = clone_replace([answers, states], generators)
    function = quietly(compile_once, [*symbols.values(), *given.values(), *generators.values()], outputs)
    fixed = [*known.values(), *(array.values for array in arrays.values())]
    for sample in range(draws.sizes["chain"] * draws.sizes["draw"]):
        drawn = [array[sample] for array in values.values()]
        answers, states = quietly(function, *drawn, *fixed, *rng.spawn(len(generators)))
        yield answers, states


def quietly(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a function without the warning by PyTensor that a process in NumPy is not compiled."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Numba will use object mode")
        return function(*arguments, **named)


def draw_prior(
    model: AnnotationModel, data: Data, n: int, rng: np.random.Generator, *, names: Sequence[str] | None = None
) -> xr.Dataset:
    """Draw the parameters of a model, and what follows from them, from its prior: dims (chain, draw, ...), one chain.

    Or only those of some names. Values that a model takes from the data, such as label frequencies, are not drawn.
    """
    graph = model.build(data)
    variables = [one for one in (*graph.free_RVs, *graph.deterministics) if names is None or one.name in names]
    drawn = pm.draw(variables, draws=n, random_seed=rng, mode=BY_NUMPY)  # there are few numbers to draw
    dims = graph.named_vars_to_dims
    return xr.Dataset(
        {
            variable.name: (
                ("chain", "draw", *dims.get(variable.name, ())),
                values.reshape(1, n, *values.shape[values.ndim - variable.ndim :]),  # PyMC gives one draw no axis
            )
            for variable, values in zip(variables, drawn, strict=True)
        }
    )
