"""Annotations simulated from a model, with known truth, to try a design, a prior or a method.

The invariant: given parameters are kept; all others are drawn from the model's prior.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesanno._core.lazy import pm, pt, xr
from bayesanno._core.messages import ModelError
from bayesanno._core.validate import check_seed
from bayesanno.data.designs import make_count_design as make_count_design
from bayesanno.data.designs import make_loop_design as make_loop_design
from bayesanno.data.designs import simulate_pool as simulate_pool
from bayesanno.graph.functions import BY_NUMPY, compile_once, plain_compiling
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.kinds import Data, kind_of
from bayesanno.modeling.registry import get_model
from bayesanno.simulation.quantities import as_data, put_together


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
    design : data of the kind that the model takes
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
    >>> from bayesanno.data.designs import make_design
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
    taken = _read_by_process(process, design, graph)
    free = {variable.name: values[variable.name] for variable in graph.free_RVs}
    derived = _draw_given(graph, graph.deterministics, free, rng=None)
    symbols = put_together(process, design, {name: as_data(value) for name, value in (values | derived).items()})
    values |= {one.name: derived[one.name] for one in graph.deterministics if one in taken}
    reseed_rngs(list(collect_default_updates(symbols)), int(rng.integers(2**30)))  # as pm.draw does
    state, label = compile_once([], symbols)()
    return _name_all(process, design, graph, values, state, label)


def _read_by_process(process: AnnotationModel, design: Data, graph: pm.Model) -> set[Any]:
    """Return the variables of a graph that the generative process reads directly."""
    from pytensor.graph.traversal import ancestors

    known = list(process.fixed_parameters(design))
    declared = {name: graph[name] for name in [*(one.name for one in graph.unobserved_RVs), *known]}
    outputs = put_together(process, design, declared)
    return set(ancestors(outputs, blockers=declared.values())) & set(declared.values())


class Simulator:
    """Simulations of one model and design, with parameters from the prior and a single compilation.

    Parameters
    ----------
    model : AnnotationModel
        A model with a prior for all its parameters.
    design : data of the kind that the model takes
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
    data = kind_of(process).put_answers(design, process, state, label)
    named = {dim: names for dim, names in graph.coords.items() if names is not None}
    dims = {name: graph.named_vars_to_dims.get(name, ()) for name in values}
    used = {dim for names in dims.values() for dim in names}
    truth = xr.Dataset(
        {name: (dims[name], value) for name, value in values.items()},
        coords={dim: list(named[dim]) for dim in sorted(used & set(named))},
    )
    if process.state_dim != "true_class" and process.states(design):  # gold cannot store it
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
