"""The dependencies in a model's generative process: parameters, the latent state of an item, and the answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesanno._core.lazy import pt
from bayesanno.graph.functions import BY_NUMPY
from bayesanno.modeling.arguments import Discrete, Parameters
from bayesanno.modeling.class_prior import PREVALENCE, class_prior_of, without_items
from bayesanno.modeling.kinds import Data, kind_of
from bayesanno.modeling.likelihood import declared_parameters, index_arrays, patterns_of

MOST_ARGUMENTS = 2  # of a distribution in a formula: further ones of our own distributions say how it is sampled


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


def describe_process(model: Any, data: Data) -> ProcessGraph:
    """Return the dependencies in a model's generative process.

    Parameters
    ----------
    model : AnnotationModel
    data : data of the kind that the model takes
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

    from bayesanno._core.private import RandomVariable

    graph = model.build(data)
    adapter = kind_of(model)
    arrays = index_arrays(model, data, patterns_of(model, data))
    given = {key: pt.as_tensor(array.values) for key, array in arrays.items()}
    parameters = Parameters(declared_parameters(model, data, graph, given))
    states, labels = model.generate(adapter.design(data, given), parameters)
    known = model.fixed_parameters(data)
    names = {variable: variable.name for variable in graph.free_RVs} | {graph[name]: name for name in known}
    drawn_from = getattr(states.tag, "drawn_from", [states])
    discrete = [latent for latent in model.latents(data) if isinstance(latent, Discrete)]
    has_state = any(len(latent.states) > 1 for latent in discrete)
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


FORMS: Mapping[str, Callable[[Any], Any]] = {  # of a number c that depends on a size k
    "c": lambda _: 1,
    "c*k": lambda k: k,
    "c/k": lambda k: 1 / k,
    "c/(k-1)": lambda k: 1 / (k - 1),
    "c*(k-1)": lambda k: k - 1,
}


def describe_priors(model: Any, data: Any = None) -> list[str]:
    """Return the prior of each parameter as a formula.

    Constants that depend on the number of labels K, or of answers n to an item, are formulas of it, which a last line
    explains: the graphs of three sizes of data are compared. Of given data, they are numbers. In a row, "..." repeats
    the constant before it. With a class prior that depends on the item, its terms stand in place of the prevalence.

    Parameters
    ----------
    model : AnnotationModel
    data : data of the kind that the model takes, optional

    Examples
    --------
    >>> import bayesanno as ba
    >>> from bayesanno.modeling.process import describe_priors
    >>> describe_priors(ba.models.ModelB())[1:]
    ['confusion[annotator, true_class, response] ~ Dirichlet([4.8, 3.2/(K-1), ...])', '(K labels)']
    >>> describe_priors(ba.models.ModelB(), ba.read_annotations("@crowd"))[1]
    'confusion[annotator, true_class, response] ~ Dirichlet([4.8, 1.06667, ...])'
    """
    kind, of_class, plain = kind_of(model), class_prior_of(model), without_items(model)
    symbol, counted, least = kind.size
    each = [_read_priors(plain, kind.make_smallest() if data is None else data)]
    if data is None and not model.two_labels:
        with suppress(Exception):  # of any kind: a model of one's own may be for two labels
            each += [_read_priors(plain, kind.make_smallest(more)) for more in (1, 2)]
    each = [one for one in each if one.keys() == each[0].keys()]
    sizes = least + np.arange(len(each))
    lines = []
    for name, (label, distribution, *_) in each[0].items():
        if of_class is not None and name == PREVALENCE:
            lines.append(f"true_class[item] ~ {of_class}")
            continue
        said = [_spell(list(of), sizes, symbol) for of in zip(*(one[name][2:] for one in each), strict=True)]
        if distribution == "Gamma":  # PyMC's second argument is the rate, PyTensor's the scale
            said[1] = f"scale={said[1]}"
        lines.append(f"{label} ~ {distribution}({', '.join(said)})")
    return lines + [f"({symbol} {counted})"] * any(re.search(rf"\b{symbol}\b", line.split("~")[1]) for line in lines)


def _read_priors(model: Any, data: Any) -> dict[str, list[Any]]:
    """Return for each free parameter its name with dimensions, its distribution, and the arguments of that.

    An argument is an array of constants, or text: a parameter, or those that it depends on.
    """
    from pytensor.graph.traversal import ancestors

    from bayesanno._core.private import name_distribution

    graph = model.build(data)
    known = [name for name, one in model.fixed_parameters(data).items() if one.dims]  # a single number is a constant
    parameters = [*graph.free_RVs, *(graph[name] for name in known)]

    def read(argument: Any) -> str | np.ndarray:
        above = set(ancestors([argument], blockers=parameters))
        if parents := [one.name for one in parameters if one in above]:
            return parents[0] if argument in parameters else f"f({', '.join(parents)})"
        return np.atleast_1d(argument.eval(mode=BY_NUMPY))

    found = {}
    for variable in graph.free_RVs:
        operation, dims = variable.owner.op, graph.named_vars_to_dims.get(variable.name)
        given = operation.dist_params(variable.owner)[:MOST_ARGUMENTS]
        arguments = [read(one) for one in given if not (one.ndim and one.dtype == "int64")]  # a shape
        of_each = f"[{', '.join(dims)}]" if dims else ""
        found[variable.name] = [f"{variable.name}{of_each}", name_distribution(operation), *arguments]
    return found


def _spell(values: Sequence[Any], sizes: np.ndarray, symbol: str) -> str:
    """Return an argument of a distribution, one for each size of data, as a formula of that size."""
    if isinstance(values[0], str):
        return values[0]
    if all(np.ptp(one) == 0 for one in values):
        return _spell_number([one.flat[0] for one in values], sizes, symbol)
    rows = [one.reshape(-1, one.shape[-1])[0] for one in values]
    is_repeated = all(np.ptp(one[1:]) == 0 for one in rows) and max(map(len, rows)) > 2
    if len({len(one) for one in rows}) > 1 and not is_repeated:
        return f"f({symbol})"
    places = list(zip(*rows, strict=False))[: 2 if is_repeated else None]
    entries = [_spell_number(each, sizes, symbol) for each in places]
    return f"[{', '.join(entries + ['...'] * is_repeated)}]"


def _spell_number(numbers: Sequence[float], sizes: np.ndarray, symbol: str) -> str:
    for form, of_size in FORMS.items():
        if np.allclose(c := numbers / (of_size(sizes) * np.ones(sizes.size)), c[0], rtol=1e-9):
            return form.replace("k", symbol).replace("c", f"{c[0]:g}")
    return f"f({symbol})"
