"""Annotations simulated from a model, with known truth, to try a design, a prior or a method.

The invariant: given parameters are kept; all others are drawn from the model's prior.

The invariant: a design is a function of its arguments alone; with a seed it is the same in every run. A pool has few
good annotators and needs no model: bad annotators' labels are independent of the truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any, Literal, get_args

import numpy as np

from bayesanno._core.lazy import pm, pt, xr
from bayesanno._core.messages import DataError, ModelError, as_names
from bayesanno._core.validate import check_choice, check_seed, check_share
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.counts import CountData
from bayesanno.data.dimensions import MultiAnnotationData, join_dimensions
from bayesanno.data.labelled import name_unsure
from bayesanno.graph.functions import BY_NUMPY, compile_once, plain_compiling
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.data_adapters import Data
from bayesanno.modeling.likelihood import taken_parameters
from bayesanno.modeling.registry import get_model
from bayesanno.simulation.quantities import as_data, put_together
from bayesanno.simulation.statistics import tables_of

Strategy = Literal["random", "first"]


def make_design(
    *,
    items: int | str | Sequence[str],
    annotators: int | str | Sequence[str],
    labels: int | str | Sequence[str],
    unsure: str | Sequence[str] = (),
    per_item: int | tuple[int, int],
    random_seed: int | None = None,
) -> AnnotationData:
    """Make a design: which annotators are asked about which items. Every annotation is a placeholder, the first label.

    Parameters
    ----------
    items, annotators, labels : int, str or sequence of str
        The number (names are then i1, i2, ...; a1, ...; and 0, 1, ...), or the names. Names of labels are in order.
    unsure : str or sequence of str, optional
        The names of further labels that are not classes.
    per_item : int or tuple of two ints
        Annotations per item, by different annotators drawn at random: a number, or a range from which numbers are drawn
        uniformly.
    random_seed : int, optional

    Raises
    ------
    DataError
        If `per_item` is negative or exceeds the number of annotators.

    Examples
    --------
    >>> from bayesanno.simulation.simulate import make_design
    >>> make_design(items=100, annotators=8, labels=["no", "yes"], per_item=3, random_seed=1).n_annotations
    300
    """
    check_seed(random_seed)
    item_names, annotator_names = _item_names(items), _names(annotators, "a")
    others = name_unsure(unsure)
    label_names = (*_names(labels, "", first=0), *others)
    least, most = (per_item, per_item) if isinstance(per_item, int) else per_item
    if not 0 <= least <= most <= len(annotator_names):
        raise DataError(
            f"per_item is {per_item}: each item can have 0 to {len(annotator_names)} annotations, since there are "
            f"{len(annotator_names)} annotators and nobody is asked twice"
        )
    rng = np.random.default_rng(random_seed)
    each = rng.integers(least, most, size=len(item_names), endpoint=True)  # (item,)
    asked = [rng.choice(len(annotator_names), size=n, replace=False) for n in each]
    names = {"items": item_names, "annotators": annotator_names, "labels": label_names, "unsure": others}
    return _ask(asked, **names, order_declared=not isinstance(labels, int))


def make_loop_design(
    *,
    items: int | str | Sequence[str],
    annotators: int | str | Sequence[str] = 8,
    together: int = 3,
    labels: int | str | Sequence[str],
) -> AnnotationData:
    """Make a loop design: neighbours on a circle of annotators share items, equally many in each group.

    With 8 annotators, 3 together, the groups are 1-2-3, 2-3-4, ..., 8-1-2. This is the design of Rzhetsky et al.
    (2009), doi:10.1371/journal.pcbi.1000391, in which all annotators are linked, directly or through others.

    Parameters
    ----------
    items, annotators, labels : int, str or sequence of str
        The numbers, or the names, as in `make_design`. Items are assigned to the groups in turn.
    together : int
        Annotations per item.

    Raises
    ------
    DataError
        If there are fewer annotators than annotations per item.

    Examples
    --------
    >>> from bayesanno.simulation.simulate import make_loop_design
    >>> design = make_loop_design(items=800, labels=4)
    >>> design.n_annotations, [design.annotators[code] for code in design.annotator[-3:]]
    (2400, ['a8', 'a1', 'a2'])
    """
    item_names, annotator_names = _item_names(items), _names(annotators, "a")
    n_annotators = len(annotator_names)
    if not 1 <= together <= n_annotators:
        raise DataError(f"together is {together}: it must be between 1 and the number of annotators, {n_annotators}")
    group = np.arange(len(item_names))[:, None] % n_annotators  # (item, 1)
    annotator = (group + np.arange(together)) % n_annotators  # (item, slot)
    names = {"items": item_names, "annotators": annotator_names, "labels": _names(labels, "", first=0)}
    return _ask(annotator, **names, order_declared=not isinstance(labels, int))


def make_count_design(
    *, items: int | str | Sequence[str], per_item: int | tuple[int, int], random_seed: int | None = None
) -> CountData:
    """Make a design of counts: how many answers each item gets. Every count of successes is a placeholder, 0.

    Parameters
    ----------
    items : int, str or sequence of str
        The number (names are then i1, i2, ...), or the names.
    per_item : int or tuple of two ints
        Answers per item: a number, or a range from which numbers are drawn uniformly.
    random_seed : int, optional

    Raises
    ------
    DataError
        If there are no items or no answers.

    Examples
    --------
    >>> from bayesanno.simulation.simulate import make_count_design
    >>> make_count_design(items=3, per_item=10).trials
    array([10, 10, 10])
    """
    check_seed(random_seed)
    names = _item_names(items)
    least, most = (per_item, per_item) if isinstance(per_item, int) else per_item
    if not 0 <= least <= most:
        raise DataError(f"per_item is {per_item}: give a number, 0 or more, or a range from the least to the most")
    each = np.random.default_rng(random_seed).integers(least, most, size=len(names), endpoint=True)  # (item,)
    return CountData(items=names, successes=np.zeros_like(each), trials=each)


def simulate_pool(
    *,
    good: int,
    adverse: int,
    strategy: Strategy = "random",
    items: int = 100,
    labels: int = 2,
    per_item: int = 10,
    accuracy: float = 0.95,
    random_seed: int | None = None,
) -> AnnotationData:
    """Simulate annotations by a pool of good and adverse annotators (Hovy et al. 2013, sections 3.2 and 5.2).

    Parameters
    ----------
    good, adverse : int
        The number of annotators of each kind; their names are good1, ... and adverse1, ...
    strategy : {"random", "first"}
        The behaviour of adverse annotators on every item: a random label, or always the first label.
    items, labels : int
        The numbers of items and labels. All labels are equally likely to be true.
    per_item : int
        Answers per item, by different annotators drawn at random.
    accuracy : float, default 0.95
        The probability that a good annotator is right. Otherwise all other labels are equally likely.
    random_seed : int, optional

    Returns
    -------
    AnnotationData
        The annotations, with the true labels as gold.

    Raises
    ------
    DataError
        If there are no annotators, fewer than `per_item`, or another value is out of range.

    References
    ----------
    D. Hovy, T. Berg-Kirkpatrick, A. Vaswani and E. Hovy (2013), Learning whom to trust with MACE, NAACL-HLT,
    pages 1120-1130, https://aclanthology.org/N13-1132.

    Examples
    --------
    >>> import bayesanno as ba
    >>> ba.simulation.simulate_pool(good=3, adverse=17, strategy="first", random_seed=1)
    AnnotationData: 1,000 annotations of 100 items by 20 annotators; labels 0, 1
    """
    check_seed(random_seed)
    for name, number in (("good", good), ("adverse", adverse)):
        if number < 0:
            raise DataError(f"{name} is {number}: it must be a number of annotators, 0 or more")
    check_choice(f"there is no strategy {strategy!r}", strategy, get_args(Strategy), DataError)
    check_share("accuracy", accuracy)
    layout_seed, answers_seed = np.random.SeedSequence(random_seed).generate_state(2)
    names = [f"{kind}{number}" for kind, n in (("good", good), ("adverse", adverse)) for number in range(1, n + 1)]
    design = make_design(items=items, annotators=names, labels=labels, per_item=per_item, random_seed=int(layout_seed))
    rng = np.random.default_rng(answers_seed)
    truth = rng.integers(labels, size=items)  # (item,)
    of_answer, n = truth[design.item], design.n_annotations
    slips = rng.random(n) >= accuracy
    by_good = np.where(slips, (of_answer + rng.integers(1, labels, size=n)) % labels, of_answer)
    by_adverse = rng.integers(labels, size=n) if strategy == "random" else np.zeros(n, dtype=np.int64)
    gold = {name: design.labels[code] for name, code in zip(design.items, truth, strict=True)}
    return replace(design, label=np.where(design.annotator < good, by_good, by_adverse), gold=gold)


def _ask(asked: Iterable[np.ndarray], **fields: Any) -> AnnotationData:
    """Return placeholders for the annotators asked about each item, item by item."""
    each = list(asked)
    annotator = np.concatenate(each).astype(np.int64)  # (annotation,)
    item = np.repeat(np.arange(len(each)), [one.size for one in each])
    return AnnotationData(item=item, annotator=annotator, label=np.zeros_like(annotator), **fields)


def _item_names(items: int | Sequence[str]) -> tuple[str, ...]:
    names = _names(items, "i")
    if not names:
        raise DataError(f"items is {items}: a design needs at least one item")
    return names


def _names(given: int | Sequence[str], prefix: str, *, first: int = 1) -> tuple[str, ...]:
    if isinstance(given, int):
        return tuple(f"{prefix}{number}" for number in range(first, first + given))
    return as_names(given)


def simulate(
    model: str | AnnotationModel,
    design: Data,
    *,
    parameters: Mapping[str, Any] | None = None,
    random_seed: int | None = None,
) -> tuple[Any, xr.Dataset]:
    """Simulate annotations for a design from the generative process of a model.

    Parameters
    ----------
    model : str or AnnotationModel
        The name of a model, or an instance.
    design : AnnotationData, CountData or MultiAnnotationData, as the model takes
        The design (see `make_design` and `make_count_design`), or real data. Its annotations are ignored; its controls
        are the true labels of their items. "Unsure" labels are never true labels.
    parameters : mapping of variable name to array, optional
        Given parameters; all others are drawn from the prior.
    random_seed : int, optional

    Returns
    -------
    data, xarray.Dataset
        The design with simulated annotations and the true labels as `gold`; and the parameters. In models of item
        types, the Dataset also has the types, as `state`.

    Raises
    ------
    ModelError
        If the model or a parameter is unknown, or a parameter has the wrong shape.

    Examples
    --------
    >>> import bayesanno as ba
    >>> from bayesanno.simulation.simulate import make_design
    >>> design = make_design(items=50, annotators=4, labels=["no", "yes"], per_item=3, random_seed=1)
    >>> data, truth = ba.simulate("mace", design, parameters={"competence": [0.9, 0.9, 0.1, 0.5]}, random_seed=1)
    >>> data.n_annotations, len(data.gold), truth["competence"].dims
    (150, 50, ('annotator',))
    """
    from bayesanno._core.private import collect_default_updates, reseed_rngs

    process = get_model(model).without_data()
    check_seed(random_seed)
    graph = process.build(design)
    given = _check_parameters(process, graph, parameters or {})
    rng = np.random.default_rng(random_seed)
    values = {name: known.value for name, known in process.fixed_parameters(design).items()}
    values |= given | _draw_given(graph, [one for one in graph.free_RVs if one.name not in given], given, rng)
    taken = taken_parameters(process, design, graph)
    free = {variable.name: values[variable.name] for variable in graph.free_RVs}
    values |= _draw_given(graph, [one for one in graph.deterministics if one.name in taken], free, rng=None)
    symbols = put_together(process, design, {name: as_data(value) for name, value in values.items()})
    reseed_rngs(list(collect_default_updates(symbols)), int(rng.integers(2**30)))  # as pm.draw does
    state, label = compile_once([], symbols)()
    return _name_all(process, design, graph, values, state, label)


class Simulator:
    """Simulations of one model and design, with parameters from the prior and a single compilation.

    Parameters
    ----------
    model : AnnotationModel
        A model with a prior for all its parameters.
    design : AnnotationData, CountData or MultiAnnotationData, as the model takes
    """

    def __init__(self, model: AnnotationModel, design: Data) -> None:
        from bayesanno._core.private import find_rng_nodes

        self.model, self.design, self.graph = model, design, model.build(design)
        known = {name: self.graph[name] for name in model.fixed_parameters(design)}
        drawn = {variable.name: variable for variable in self.graph.free_RVs + self.graph.deterministics}
        outputs = [*drawn.values(), *put_together(model, design, drawn | known)]
        self._rngs = find_rng_nodes(outputs)
        with plain_compiling():
            self._draw = pm.compile([], outputs, mode=BY_NUMPY)
        self._names = list(drawn)

    def draw(self, random_seed: int) -> tuple[Any, xr.Dataset, np.ndarray]:
        """Return data and parameters, as `simulate` does, and the states of items, as codes.

        The parameters include all deterministics of the graph, such as annotators' accuracy. The states of several
        latents are concatenated.
        """
        from bayesanno._core.private import reseed_rngs

        reseed_rngs(self._rngs, random_seed)
        *values, state, label = self._draw()
        known = {name: one.value for name, one in self.model.fixed_parameters(self.design).items()}
        named = known | dict(zip(self._names, values, strict=True))
        return *_name_all(self.model, self.design, self.graph, named, state, label), state


def _name_all(
    process: AnnotationModel,
    design: Data,
    graph: pm.Model,
    values: Mapping[str, np.ndarray],
    state: np.ndarray,
    label: np.ndarray,
) -> tuple[Any, xr.Dataset]:
    """Return simulated data with the parameters, all named."""
    data = put_labels(design, process, state, label)
    named = {dim: names for dim, names in graph.coords.items() if names is not None}
    dims = {name: graph.named_vars_to_dims.get(name, ()) for name in values}
    used = {dim for names in dims.values() for dim in names}
    truth = xr.Dataset(
        {name: (dims[name], value) for name, value in values.items()},
        coords={dim: list(named[dim]) for dim in sorted(used & set(named))},
    )
    if process.state_dim != "true_class":  # gold cannot store it
        names = np.array(process.states(design), dtype=str)[state]
        truth = truth.assign_coords(item=list(design.items)).assign(state=("item", names))
    return data, truth


def _check_parameters(model: AnnotationModel, graph: pm.Model, parameters: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the given parameters as arrays, or raise a ModelError."""
    given = {name: np.asarray(value, dtype=float) for name, value in parameters.items()}
    free = {variable.name: variable for variable in graph.free_RVs}
    for name, value in given.items():
        if name not in free:
            raise ModelError(f"{model.name} has no parameter {name!r}: it has {', '.join(free)}")
        shape = tuple(map(int, free[name].shape.eval(mode=BY_NUMPY)))
        if value.shape != shape:
            raise ModelError(f"parameter {name} has shape {value.shape}: for this design it must be {shape}")
    return given


def _draw_given(
    graph: pm.Model, variables: Sequence[Any], given: Mapping[str, np.ndarray], rng: np.random.Generator | None
) -> dict[str, np.ndarray]:
    """Draw or compute variables of a graph, given the values of other variables."""
    from pytensor.graph import clone_replace

    if not variables:
        return {}
    known = {graph[name]: pt.as_tensor(value).astype(graph[name].dtype) for name, value in given.items()}
    with plain_compiling():
        drawn = pm.draw(clone_replace(variables, known), random_seed=rng, mode=BY_NUMPY)
    return {variable.name: value for variable, value in zip(variables, drawn, strict=True)}


@singledispatch
def put_labels(design: Any, model: AnnotationModel, state: np.ndarray, label: np.ndarray) -> Any:
    """Put simulated annotations, and true labels if the states are labels, into a design.

    Only this function in this package dispatches on the kind of data; another kind registers here.
    """
    raise NotImplementedError(f"annotations cannot be put into {type(design).__name__}: register it here")  # abstract


@put_labels.register(CountData)
def _(design: CountData, _model: AnnotationModel, _state: np.ndarray, label: np.ndarray) -> CountData:
    return replace(design, successes=label)


@put_labels.register(AnnotationData)
@put_labels.register(MultiAnnotationData)
def _(design: Any, model: AnnotationModel, state: np.ndarray, label: np.ndarray) -> Any:
    parts = {}
    of_each = zip(tables_of(design), model.latents(design), state.reshape(-1, design.n_items), strict=True)
    for table, latent, own_state in of_each:
        gold = _name_gold(table.data, latent.states, own_state) if model.state_dim == "true_class" else {}
        parts[table.dimension] = replace(table.data, label=label[table.own], gold=gold)
    return join_dimensions(parts)


def _name_gold(design: AnnotationData, states: Sequence[str], state: np.ndarray) -> dict[str, str]:
    """Return the names of true labels by item; items in other states (nobody gave the true label) are left out."""
    named = zip(design.items, (states[code] for code in state), strict=True)
    return {item: label for item, label in named if label in design.labels}
