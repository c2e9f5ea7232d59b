"""Annotations made up by a model: with known truth, to try out a design, a prior or a method."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.data.annotations import AnnotationData, CountData
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.ground.errors import DataError, ModelError
from bayesanno.ground.lazy import pm, pt, xr
from bayesanno.ground.validate import check_seed
from bayesanno.modeling.data_kinds import kind_of
from bayesanno.modeling.likelihood import design_arrays
from bayesanno.modeling.registry import get_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pymc
    import xarray

    from bayesanno.modeling.base import AnnotationModel
    from bayesanno.modeling.data_kinds import Data


def make_design(
    *,
    items: int | Sequence[str],
    annotators: int | Sequence[str],
    labels: int | Sequence[str],
    per_item: int | tuple[int, int],
    random_seed: int | None = None,
) -> AnnotationData:
    """Lay out who is asked about what; every answer is a placeholder, the first label.

    Parameters
    ----------
    items, annotators, labels : int or sequence of str
        How many (then named i1, i2, ...; a1, ...; and 0, 1, ...), or the names.
    per_item : int or tuple of two ints
        Annotations per item, by different annotators drawn at random: so many, or evenly from the least to the most.
    random_seed : int, optional

    Raises
    ------
    DataError
        If an item is to have more annotations than there are annotators, or fewer than none.

    Examples
    --------
    >>> from bayesanno.simulation.simulate import make_design
    >>> make_design(items=100, annotators=8, labels=["no", "yes"], per_item=3, random_seed=1).n_annotations
    300
    """
    check_seed(random_seed)
    item_names, annotator_names = _item_names(items), _names(annotators, "a")
    label_names = _names(labels, "", first=0)
    least, most = (per_item, per_item) if isinstance(per_item, int) else per_item
    if not 0 <= least <= most <= len(annotator_names):
        raise DataError(
            f"per_item is {per_item}: each item can have 0 to {len(annotator_names)} annotations, as there are "
            f"{len(annotator_names)} annotators and nobody is asked twice"
        )
    rng = np.random.default_rng(random_seed)
    each = rng.integers(least, most, size=len(item_names), endpoint=True)  # (item,)
    asked = [rng.choice(len(annotator_names), size=n, replace=False) for n in each]
    annotator = np.concatenate(asked).astype(np.int64)  # (annotation,)
    return AnnotationData(
        item=np.repeat(np.arange(len(item_names)), each),
        annotator=annotator,
        label=np.zeros(annotator.size, dtype=np.int64),
        items=item_names,
        annotators=annotator_names,
        labels=label_names,
    )


def make_loop_design(
    *,
    items: int | Sequence[str],
    annotators: int | Sequence[str] = 8,
    together: int = 3,
    labels: int | Sequence[str],
) -> AnnotationData:
    """Lay out a loop: neighbours on a circle of annotators share items, each group of them equally many.

    With 8 annotators, 3 together, the groups are 1-2-3, 2-3-4, ..., 8-1-2: the design of Rzhetsky et al. (2008),
    doi:10.1371/journal.pcbi.1000391, in which everybody is compared with everybody, if only through others.

    Parameters
    ----------
    items, annotators, labels : int or sequence of str
        How many, or the names, as in `make_design`. Items go to the groups in turn.
    together : int
        Annotations per item.

    Raises
    ------
    DataError
        If there are fewer annotators than annotations of an item.

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
    return AnnotationData(
        item=np.repeat(np.arange(len(item_names)), together),
        annotator=annotator.ravel(),
        label=np.zeros(annotator.size, dtype=np.int64),
        items=item_names,
        annotators=annotator_names,
        labels=_names(labels, "", first=0),
    )


def make_count_design(
    *, items: int | Sequence[str], per_item: int | tuple[int, int], random_seed: int | None = None
) -> CountData:
    """Lay out how many answers each item gets; every count of successes is a placeholder, 0.

    Parameters
    ----------
    items : int or sequence of str
        How many (then named i1, i2, ...), or the names.
    per_item : int or tuple of two ints
        Answers per item: so many, or evenly from the least to the most.
    random_seed : int, optional

    Raises
    ------
    DataError
        If there is no item, or no answer.

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
        raise DataError(f"per_item is {per_item}: each item can have 0 answers or more, from the least to the most")
    each = np.random.default_rng(random_seed).integers(least, most, size=len(names), endpoint=True)  # (item,)
    return CountData(items=names, successes=np.zeros_like(each), trials=each)


def simulate(
    model: str | AnnotationModel,
    design: Data,
    *,
    parameters: Mapping[str, Any] | None = None,
    random_seed: int | None = None,
) -> tuple[Any, xarray.Dataset]:
    """Let a model answer a design.

    Parameters
    ----------
    model : str or AnnotationModel
        A name in the zoo, or an instance.
    design : AnnotationData, CountData or MultiAnnotationData, as the model takes
        Who is asked about what (see `make_design` and `make_count_design`; real data do as well). Its answers are not
        looked at; its controls are the truth of their items.
    parameters : mapping of variable name to array, optional
        Parameters to hold fixed; the others are drawn from the prior.
    random_seed : int, optional

    Returns
    -------
    data, xarray.Dataset
        The same design with simulated answers, the true labels as `gold`; and the parameters. Where an item's latent is
        no label but a type, the types are among the parameters, as `state`.

    Raises
    ------
    ModelError
        If the model or a parameter is unknown, or a parameter's shape is not the model's.

    Examples
    --------
    >>> import bayesanno as ba
    >>> from bayesanno.simulation.simulate import make_design
    >>> design = make_design(items=50, annotators=4, labels=["no", "yes"], per_item=3, random_seed=1)
    >>> data, truth = ba.simulate("mace", design, parameters={"competence": [0.9, 0.9, 0.1, 0.5]}, random_seed=1)
    >>> data.n_annotations, len(data.gold), truth["competence"].dims
    (150, 50, ('annotator',))
    """
    entry = get_model(model).storyteller()
    check_seed(random_seed)
    graph = entry.build(design)
    fixed = {name: np.asarray(value, dtype=float) for name, value in (parameters or {}).items()}
    free = {variable.name: variable for variable in graph.free_RVs}
    for name, value in fixed.items():
        if name not in free:
            raise ModelError(f"{entry.name} has no parameter {name!r}: it has {', '.join(free)}")
        shape = tuple(map(int, free[name].shape.eval()))
        if value.shape != shape:
            raise ModelError(f"parameter {name} has shape {value.shape}: for this design it must be {shape}")
    rng = np.random.default_rng(random_seed)
    given = {name: variable for name, variable in free.items() if name not in fixed}
    drawn = pm.draw(list(given.values()), random_seed=rng) if given else []
    values = entry.fixed(design) | fixed | dict(zip(given, drawn, strict=True))
    values |= _derived(entry, design, graph, values)
    kind = kind_of(entry.data_class)
    constants = {name: pt.as_tensor(array) for name, array in design_arrays(entry, design).items()}
    parameters_given = {name: pt.as_tensor(value) for name, value in values.items()}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Numba will use object mode")  # so it does, for a story in NumPy
        story = list(entry.generate(kind.design(design, constants), **parameters_given))
        state, said = pm.draw(story, random_seed=rng)
    data = _answered(entry, design, state, said)
    named = {dim: list(names) for dim, names in graph.coords.items()}
    dims = {name: graph.named_vars_to_dims.get(name, ()) for name in values}
    used = {dim for names in dims.values() for dim in names}
    truth = xr.Dataset(
        {name: (dims[name], value) for name, value in values.items()},
        coords={dim: named[dim] for dim in sorted(used)},
    )
    if entry.state_dim != "true_class":  # no gold can say it
        names = np.array(entry.states(design), dtype=str)[state]
        truth = truth.assign_coords(item=list(design.items)).assign(state=("item", names))
    return data, truth


def _derived(
    entry: AnnotationModel, design: Data, graph: pymc.Model, values: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the parameters that the story takes and the model computes from its free ones."""
    from pytensor.graph.replace import clone_replace

    taken = set(entry.parameter_names(design))
    derived = {variable.name: variable for variable in graph.deterministics if variable.name in taken}
    if not derived:
        return {}
    known = {variable: pt.as_tensor(values[variable.name]).astype(variable.dtype) for variable in graph.free_RVs}
    return dict(zip(derived, pm.draw(clone_replace(list(derived.values()), known)), strict=True))


def _answered(entry: AnnotationModel, design: Data, state: np.ndarray, said: np.ndarray) -> Any:
    """Put simulated answers, and true labels where the states are labels, into a design."""
    if isinstance(design, CountData):
        return replace(design, successes=said)
    if isinstance(design, AnnotationData):
        gold = _gold(design, entry.states(design), state) if entry.state_dim == "true_class" else {}
        return replace(design, label=said, gold=gold)
    parts, begin = {}, 0
    for number, (name, part) in enumerate(design.by_dimension.items()):
        states = entry.state_dims(design)[f"true_class_{name}"]
        gold = _gold(part, states, state[number * part.n_items :][: part.n_items])
        parts[name] = replace(part, label=said[begin : begin + part.n_annotations], gold=gold)
        begin += part.n_annotations
    return MultiAnnotationData(by_dimension=parts)


def _gold(design: AnnotationData, states: Sequence[str], state: np.ndarray) -> dict[str, str]:
    """Name the true labels; a state that is no label (nobody said the truth) names none."""
    named = zip(design.items, (states[code] for code in state), strict=True)
    return {item: label for item, label in named if label in design.labels}


def _item_names(items: int | Sequence[str]) -> tuple[str, ...]:
    names = _names(items, "i")
    if not names:
        raise DataError(f"items is {items}: a design needs at least one item")
    return names


def _names(given: int | Sequence[str], prefix: str, *, first: int = 1) -> tuple[str, ...]:
    if isinstance(given, int):
        return tuple(f"{prefix}{number}" for number in range(first, first + given))
    return tuple(given)
