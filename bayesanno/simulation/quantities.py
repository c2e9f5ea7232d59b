"""Quantities of annotators and replicated answers, for each draw of a model's parameters.

Some models have accuracy, responses and the agreement of annotators among their parameters, others do not. Here they
are computed from the model's tables, or from its formula with hypothetical answers: p(state, answer | parameters) for
each possible answer of an annotator to an item that nobody else, or one other annotator, answers.

Models with annotations independent given the class need only arithmetic with their two tables. Other models use the
compiled formula and the generative process, with equal results.

The invariant: a quantity is a function of one draw of the parameters, given the known ones. Observed answers enter only
through that draw, except in `class_shares`. A replicate has new states of the items, drawn given the parameters
(controls are kept). So a replicate from a posterior draw is other data by the same annotators. Replicates are not
stored; the caller keeps what it needs of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bayesanno._core.lazy import pm, pt, xr
from bayesanno.data.described import split_dimensions
from bayesanno.data.dimensions import join_dimensions
from bayesanno.graph.functions import BY_NUMPY, compile_once, plain_compiling, stack_samples
from bayesanno.modeling.arguments import Parameters
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.class_prior import log_classes_of_items, with_log_class, without_items
from bayesanno.modeling.independent import IndependentAnswers
from bayesanno.modeling.kinds import Data, kind_of
from bayesanno.modeling.likelihood import generate, index_arrays, patterns_of
from bayesanno.modeling.posterior import compile_formula, draw_codes

ACCURACY, PREVALENCE, USAGE = "accuracy", "prevalence", "usage"
CLASS_SHARE = "class_share"  # among the items of the data


class ModelDraws(NamedTuple):
    """Draws of the parameters of a model, with the model and the data.

    Attributes
    ----------
    model : AnnotationModel
    data : data of the kind that the model takes
        Data, or a design if the answers are not used.
    draws : xarray.Dataset
        Parameters and derived quantities, dims (chain, draw, ...).
    known : mapping of name to array
        The known parameters of the model.
    """

    model: AnnotationModel
    data: Any
    draws: xr.Dataset
    known: Mapping[str, np.ndarray]


def says_labels(model: AnnotationModel, data: Any) -> bool:
    """Return whether a model gives labels of items, rather than types or nothing."""
    return {latent.kind for latent in model.latents(data)} == {"labels"}


def describe_annotators(drawn: ModelDraws, *, dimension: str = "", who: Sequence[int] | None = None) -> xr.Dataset:
    """Return quantities of annotators, and of an item without answers, under each draw.

    Parameters
    ----------
    drawn : ModelDraws
        Draws with data that have annotators and labels.
    dimension : str
        The dimension, for data with several dimensions.
    who : sequence of int, optional
        The annotators, by position; by default all.

    Returns
    -------
    xarray.Dataset
        Dims (chain, draw, ...): `usage` (annotator, response), how often an annotator gives each label; if states are
        labels, `accuracy` (annotator), how often the answer is right; if the states are exactly the classes,
        `prevalence` (true_class). Model A has no prevalence, since possibly nobody gave the true label.

    Raises
    ------
    DataError
        If the model cannot take items of one annotation.
    """
    part = split_dimensions(drawn.data)[dimension]
    chosen = np.arange(part.n_annotators) if who is None else np.array(who)
    states = np.arange(part.n_classes)
    found: dict[str, list[np.ndarray]] = {name: [] for name in (USAGE, ACCURACY, PREVALENCE)}
    of_labels = says_labels(drawn.model, drawn.data)
    for joint in ask(drawn, chosen[:, None], dimension=dimension):  # (annotator, response, state)
        found[USAGE].append(joint.sum(axis=-1))
        if of_labels:
            found[ACCURACY].append(joint[:, part.class_codes, states].sum(axis=1))
        if of_labels and joint.shape[-1] == states.size:
            found[PREVALENCE].append(joint.sum(axis=(0, 1)) / chosen.size)
    sizes = [drawn.draws.sizes[dim] for dim in ("chain", "draw")]
    dims = {USAGE: ("annotator", "response"), ACCURACY: ("annotator",), PREVALENCE: ("true_class",)}
    names = {"annotator": [part.annotators[code] for code in chosen], "response": list(part.labels)}
    values = {name: np.array(each).reshape(*sizes, *each[0].shape) for name, each in found.items() if each}
    variables = {name: (("chain", "draw", *dims[name]), of) for name, of in values.items()}
    return xr.Dataset(variables, coords=names | {"true_class": list(part.classes)})


def describe_pairs(drawn: ModelDraws, pairs: np.ndarray, *, dimension: str = "") -> np.ndarray:
    """Return how often the two annotators of each pair (pair, 2), by position, give the same answer: (sample, pair).

    Raises
    ------
    DataError
        If the model cannot take items of two annotations.
    """
    return np.array([joint.sum(axis=(1, 2)) for joint in ask(drawn, pairs, dimension=dimension)])


def class_shares(drawn: ModelDraws) -> xr.DataArray:
    """Return the expected share of items in each state under each draw: (chain, draw, state)."""
    return compile_formula(*drawn).count_states() / drawn.data.n_items


def ask(drawn: ModelDraws, who: np.ndarray, *, dimension: str = "") -> Iterator[np.ndarray]:
    """Yield p(state, answer | parameters) for each draw, if each group gives the same answer to its own item.

    Parameters
    ----------
    who : array of int, shape (group, annotator)
        The viewers who answer, by position. Each group has its own items, one for each possible answer.

    Yields
    ------
    array, shape (group, response, state)
    """
    if has_tables(drawn.model):
        for of_class, of_answer in each_table(*drawn):
            yield join_answers(of_class, drawn.data.of_viewers(of_answer), who)
        return
    table = split_dimensions(drawn.data)[dimension]
    n, n_labels = len(who), table.n_labels
    swapped, annotator = np.divmod(np.repeat(who, n_labels, axis=0), table.n_annotators)  # (item, answer)
    asked = make_data(
        drawn.data,
        dimension,
        item=np.repeat(np.arange(n * n_labels), annotator.shape[1]),
        annotator=annotator.ravel(),
        label=np.repeat(np.tile(np.arange(n_labels), n), annotator.shape[1]),
        swapped=swapped.ravel(),
    )
    for logs in compile_formula(*drawn._replace(model=without_items(drawn.model), data=asked)).log_joint(dimension):
        yield np.exp(logs[: n * n_labels]).reshape(n, n_labels, -1)


def make_data(data: Any, dimension: str, **asked: np.ndarray) -> Any:
    """Return hypothetical answers by the annotators of the data; further items only complete a table."""
    tables, n_asked = split_dimensions(data), int(asked["item"].max()) + 1
    nothing: dict[str, Any] = {"gold": {}, "controls": {}, "item_columns": {}, "swapped": ()}
    nothing["items"] = tuple(map(str, range(n_asked + (len(tables) > 1))))
    # each dimension must have an annotation: in the others it belongs to one more item, which is ignored
    other = {"item": np.array([n_asked]), "annotator": np.zeros(1, dtype=int), "label": np.zeros(1, dtype=int)}
    return join_dimensions(
        {name: replace(one, **nothing | (asked if name == dimension else other)) for name, one in tables.items()}
    )


# ----------------------------------------------------------------------------------------------------- by the tables


def has_tables(model: AnnotationModel) -> bool:
    """Return whether the tables of a model determine its answers, with no other formula in its place."""
    return isinstance(model, IndependentAnswers) and type(model).state_logp is IndependentAnswers.state_logp


def each_table(
    model: AnnotationModel, data: Any, draws: xr.Dataset, known: Mapping[str, np.ndarray]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield p(class) and p(answer | annotator, class) for each draw.

    The shapes are (true_class,) or (item, true_class), and (annotator, response, true_class).
    """
    assert isinstance(model, IndependentAnswers)
    flat, of_items = stack_samples(draws), log_classes_of_items(model, data, draws)
    for sample in range(draws.sizes["chain"] * draws.sizes["draw"]):
        p = Parameters({name: array[sample] for name, array in flat.items()} | dict(known))
        of_class, of_answer = model.tables(p, data.names_class.T)
        if of_items is not None:
            of_class = np.exp(next(of_items))
        yield of_class, np.broadcast_to(of_answer, (data.n_annotators, *of_answer.shape[1:]))


def join_answers(of_class: np.ndarray, of_answer: np.ndarray, who: np.ndarray) -> np.ndarray:
    """Return p(class, answer) if each group (group, viewer) gives the same answer to its own item.

    The shape is (group, response, true_class). If the class prior depends on the item, its mean is used.
    """
    prior = of_class.mean(axis=0) if of_class.ndim == 2 else of_class
    return prior * of_answer[who].prod(axis=1)


def draw_answers(
    of_class: np.ndarray, of_answer: np.ndarray, design: Any, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the answers of a design, (annotation,), and the classes of its items, (item,); controls keep theirs."""
    known = design.control_codes
    drawn = draw_codes(np.broadcast_to(of_class, (design.n_items, of_class.shape[-1])), rng)
    true_class = np.where(known >= 0, known, drawn)
    return draw_codes(of_answer[design.viewer, :, true_class[design.item]], rng), true_class


# ------------------------------------------------------------------------------------------------ replicated answers


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
    if has_tables(model):
        for of_class, of_answer in each_table(*drawn):
            yield draw_answers(of_class, design.of_viewers(of_answer), design, rng)
        return
    from pytensor.graph import clone_replace, graph_inputs

    from bayesanno._core.private import RandomType

    values = stack_samples(draws)
    symbols = {name: pt.TensorType("float64", (None,) * (array.ndim - 1))(name) for name, array in values.items()}
    states, answers = put_together(model, design, symbols | {name: as_data(value) for name, value in known.items()})
    inputs = dict.fromkeys([*graph_inputs([answers]), *graph_inputs([states])])  # what answers take comes first
    made = [variable for variable in inputs if isinstance(variable.type, RandomType)]
    generators = {variable: variable.type() for variable in made}  # inputs, so that each call has its own
    outputs = clone_replace([answers, states], generators)
    function = compile_once([*symbols.values(), *generators.values()], outputs)
    for sample in range(draws.sizes["chain"] * draws.sizes["draw"]):
        answers, states = function(*(array[sample] for array in values.values()), *rng.spawn(len(generators)))
        yield answers, states


def put_together(model: AnnotationModel, design: Data, parameters: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the states of the items and their annotations, as codes: variables of the model's generative process."""
    arrays = index_arrays(model, design, patterns_of(model, design))
    given = {key: as_data(array.values) for key, array in arrays.items()}
    p = Parameters(with_log_class(model, design, parameters, given))
    states, answers = generate(model, kind_of(model).design(design, given), p)
    return states, answers


def as_data(value: Any) -> Any:
    """Return these numbers as data of the graph, so that one function serves simulations of all sizes."""
    import pytensor

    return pytensor.shared(np.asarray(value), shape=(None,) * np.ndim(value))


def draws_of_prior(model: AnnotationModel, data: Data, n: int, rng: np.random.Generator) -> ModelDraws:
    """Return draws of a model's parameters from its prior, with the parameters known from the data."""
    known = {name: one.value for name, one in model.fixed_parameters(data).items()}
    return ModelDraws(model, data, draw_prior(model, data, n, rng), known)


def draw_prior(model: AnnotationModel, data: Data, n: int, rng: np.random.Generator) -> xr.Dataset:
    """Draw parameters and derived quantities of a model from its prior: dims (chain, draw, ...), one chain.

    Values that a model takes from the data, such as label frequencies, are not drawn.
    """
    graph = model.build(data)
    variables = [*graph.free_RVs, *graph.deterministics]
    with plain_compiling():
        drawn = pm.draw(variables, draws=n, random_seed=rng, mode=BY_NUMPY)  # there are few numbers to draw
    found = {}
    for variable, values in zip(variables, drawn, strict=True):
        shape = values.shape[values.ndim - variable.ndim :]  # PyMC gives one draw no axis
        dims = ("chain", "draw", *graph.named_vars_to_dims.get(variable.name, ()))
        found[variable.name] = (dims, values.reshape(1, n, *shape))
    return xr.Dataset(found)
