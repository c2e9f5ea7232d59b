"""Each model with its independent reference: what the contract of the zoo is checked with."""

from __future__ import annotations

from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

from bayesanno import AnnotationData, AnnotationModel, list_models
from bayesanno.modeling.arguments import Design
from bayesanno.modeling.arguments import Parameters as SymbolicParameters
from bayesanno.modeling.posterior import compile_formula
from bayesanno.modeling.registry import model_class
from tests.models.designs import (  # noqa: F401 -- names of the contract
    CONTROLLED,
    LABELS,
    THREE_LABELS,
    TINY,
    TWO_LABELS,
    replicate,
    said_of,
)
from tests.models.graphs import (  # noqa: F401
    EXACT,
    FAST,
    P_VALUE,
    ROUND_TRIP,
    Graph,
    answers_pmf,
    as_posterior,
    broken,
    chi_square,
    close,
    distance_between,
    turn_states,
)
from tests.models.guests import GUESTS
from tests.models.references import REFERENCES, Parameters, Reference

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    import xarray as xr

    from tests.models.designs import Designs

PRIOR_DRAWS = 100
COPIES = 20_000  # draws that a chi-square test is made of
FEW_COPIES = 4_000  # draws that suffice to notice a broken model


# --------------------------------------------------------------------------------------------------- the cases


def models_of(data_class: type) -> list[str]:
    """The models of the zoo for one kind of data."""
    return [name for name in list_models()["name"] if model_class(name).data_class is data_class]


def cases() -> list[Any]:
    """Each model of annotations with each of its variants, and the guests, as pytest parameters."""
    variants = {name: variants_of(name, REFERENCES) for name in models_of(AnnotationData)}
    return as_params(variants | {name: reference.variants for name, (_, reference) in GUESTS.items()})


def variants_of(name: str, references: Mapping[str, Any]) -> Mapping[str, dict]:
    """The fields that the contract is checked with, by name; of a model without a reference it fails."""
    return references[name].variants if name in references else {"default": {}}


def as_params(variants: Mapping[str, Mapping[str, dict]]) -> list[Any]:
    return [
        pytest.param((name, fields), id=f"{name}-{of}")
        for name, each in variants.items()
        for of, fields in each.items()
    ]


def known_values(model: AnnotationModel, data: Any) -> dict[str, np.ndarray]:
    """The parameters that a model has beforehand."""
    return {name: known.value for name, known in model.fixed_parameters(data).items()}


class AnyCase:
    """One model with its reference, and its graph as a function of parameters on their natural scale."""

    def __init__(self, entry: AnnotationModel, reference: Any, data: Any, fitted: Any) -> None:
        self.entry, self.reference, self.data = entry, reference, data
        self.known = known_values(entry, fitted)
        self.graph = Graph(entry, data, self.known)
        free = self.graph.model.free_RVs
        values = pm.draw(free, draws=PRIOR_DRAWS, random_seed=PRIOR_DRAWS, mode=FAST)
        names = [variable.name for variable in free]
        self.prior_draws = [dict(zip(names, one, strict=True)) for one in zip(*values, strict=True)]

    def draw(self, n: int, rng: np.random.Generator) -> list[Parameters]:
        """Parameters from the prior."""
        return [self.prior_draws[i] for i in rng.choice(PRIOR_DRAWS, size=n, replace=False)]

    def probability(self, parameters: Parameters, data: Any) -> np.ndarray:
        """By Bayes' rule, p(state | answers), shape (item, state)."""
        joint = self.states(parameters, data)
        return joint / joint.sum(axis=1, keepdims=True)

    def posterior(self, samples: list[Parameters], n_chains: int) -> xr.Dataset:
        return as_posterior(self.graph.model, samples, n_chains)

    def simulate(
        self,
        entry: AnnotationModel,
        parameters: Parameters,
        rng: np.random.Generator,
        copies: int = COPIES,
        control: str | None = None,
    ) -> np.ndarray:
        """Draws of (state of u, state of v, the answers to both), one row per copy of two items."""
        design, values = self.copy_two_items(parameters, copies, control)
        given = SymbolicParameters({name: pt.as_tensor(value) for name, value in values.items()})
        drawn = pm.draw(list(entry.generate(design, given)), random_seed=rng, mode=FAST)
        return np.column_stack([each.reshape(copies, -1) for each in drawn])


class Case(AnyCase):
    """One model of annotations."""

    excludes_answers = True  # some answers are impossible under some parameters
    no_field = (1, 2, 3, 4, 5)  # what the first field of no model can be
    controls = (None, "yes")  # of the first item, where a process is simulated

    def __init__(self, entry: AnnotationModel, reference: Reference) -> None:
        self.designs = designs_for(entry)
        super().__init__(entry, reference, self.designs.tiny, self.designs.every_label)
        self.at_edges = list(self.prior_draws[0])
        if not entry.takes_controls:
            self.controls = (None,)

    @property
    def tables(self) -> list[AnnotationData]:
        """The tiny design, without and with items whose true label is known."""
        return [self.data, self.designs.controlled] if self.entry.takes_controls else [self.data]

    @property
    def tables_to_draw(self) -> list[AnnotationData]:
        """Those whose states can be drawn."""
        return self.tables if len(self.entry.states(self.data)) > 1 else []

    @property
    def starts(self) -> list[AnnotationData]:
        return self.designs.starts + self.tables[1:]

    @property
    def has_classes(self) -> bool:
        """The states are the labels, and can be permuted."""
        return self.entry.state_dim == "true_class"

    def random_table(self, rng: np.random.Generator) -> AnnotationData:
        return self.designs.at_random(rng, controls=self.entry.takes_controls)

    def whole(self, parameters: Parameters, data: AnnotationData | None = None) -> dict[str, Any]:
        """The parameters, those that were taken from data included, and the reference's number of nodes."""
        whole, data = {**self.known, **parameters}, self.designs.tiny if data is None else data
        return whole | self.reference.nodes(whole, [said_of(data, i) for i in range(data.n_items)])

    def log_prior(self, parameters: Parameters, **changed: Any) -> float:
        """The reference's log prior density, with some fields changed."""
        return self.reference.log_prior(self.whole(parameters), self.entry.to_fields() | changed)

    def states(self, parameters: Parameters, data: AnnotationData) -> np.ndarray:
        """The reference's p(state, answers), impossible states left out; shape (item, state)."""
        whole, known = self.whole(parameters, data), data.control_codes
        each = (self._of_item(whole, i) for i in range(data.n_items))
        return np.array([self.reference.states(one, said_of(data, i), known[i]) for i, one in enumerate(each)])

    def _of_item(self, parameters: Parameters, item: int) -> Parameters:
        """The parameters as one item sees them: of those that items have, its own."""
        return {name: values[item] if name in self.of_items else values for name, values in parameters.items()}

    @cached_property
    def of_items(self) -> set[str]:
        """The parameters that every item has one of."""
        return {name for name, dims in self.graph.model.named_vars_to_dims.items() if dims[:1] == ("item",)}

    def for_copies(self, parameters: Parameters, n_items: int, copies: int) -> Parameters:
        """The parameters of the first items, over and over, as `replicate` repeats the items."""
        tiled = {name: np.tile(parameters[name][:n_items], copies) for name in self.of_items if name in parameters}
        return {**parameters, **tiled}

    def item_logp(self, parameters: Parameters, data: AnnotationData) -> np.ndarray:
        """The reference's log p(answers), shape (item,)."""
        with np.errstate(divide="ignore"):
            return np.log(self.states(parameters, data).sum(axis=1))

    def accuracy(self, parameters: Parameters) -> np.ndarray:
        """How probable it is that an answer of each annotator is the class of its item: the sum of p(k, says k)."""
        whole, labels = self.whole(parameters), range(self.data.n_labels)
        joint = [[self.reference.states(whole, [(j, k)])[k] for k in labels] for j in range(self.data.n_annotators)]
        return np.sum(joint, axis=1, dtype=float).reshape(len(joint), -1).mean(axis=1)  # over items that differ

    def total_probability(self, graph: Graph, parameters: Parameters) -> float:
        """Of all answers to two items, each of which has its own."""
        two_items, answers_to = self.designs.two_items, self.designs.answers_to
        u = [graph.item_logp(parameters, two_items((*said, 0, 0)))[0] for said in answers_to(3)]
        v = [graph.item_logp(parameters, two_items((0, 0, 0, *said)))[1] for said in answers_to(2)]
        return np.exp(u).sum() * np.exp(v).sum()

    def views(self, parameters: Parameters, data: AnnotationData) -> dict[str, list[np.ndarray]]:
        """What the reference reads off each item."""
        whole, joint, known = self.whole(parameters, data), self.states(parameters, data), data.control_codes
        said = [said_of(data, item) for item in range(data.n_items)]
        return {
            name: [view(whole, said[i], joint[i], known[i]) for i in range(data.n_items)]
            for name, view in self.reference.views.items()
        }

    # ------------------------------------------------------------------------------------ the generative process

    @cached_property
    def telling(self) -> Parameters:
        """Of a few draws of the prior, the one under which wrong probabilities are the easiest to notice."""

        def least(parameters: Parameters) -> float:
            pmf = self.pmf(parameters)
            moved = [answers_pmf(wrong) for wrong in self.of_other_annotators(parameters)]
            turned = self.of_another_truth(parameters)
            distances = [distance_between(answers_pmf(pmf), wrong) for wrong in moved]
            return min([1.0, *distances, *(distance_between(pmf, wrong) for wrong in turned)])

        return max(self.draw(5, np.random.default_rng(1)), key=least)

    def of_other_annotators(self, parameters: Parameters) -> list[dict[Hashable, float]]:
        """The pmf if each answer were another annotator's, where annotators differ in anything."""
        differ = any("annotator" in dims for dims in self.graph.model.named_vars_to_dims.values())
        return [self.pmf(parameters, moved=2)] if differ else []

    def of_another_truth(self, parameters: Parameters) -> list[dict[Hashable, float]]:
        """The pmf if each state were the next one, of several."""
        n = len(self.entry.states(self.data))
        return [turn_states(self.pmf(parameters), n)] if n > 1 else []

    def pmf(self, parameters: Parameters, control: str | None = None, moved: int = 0) -> dict[Hashable, float]:
        """By enumeration, p(state of u, state of v, all five answers), given the control if there is one."""
        two_items, answers_to = partial(self.designs.two_items, control=control, moved=moved), self.designs.answers_to
        u = {said: self.states(parameters, two_items((*said, 0, 0)))[0] for said in answers_to(3)}
        v = {said: self.states(parameters, two_items((0, 0, 0, *said)))[1] for said in answers_to(2)}
        pmf = {
            (i, j, *of_u, *of_v): u[of_u][i] * v[of_v][j]
            for of_u, of_v in product(u, v)
            for i, j in product(range(u[of_u].size), range(v[of_v].size))
        }
        total = sum(pmf.values())
        return {cell: probability / total for cell, probability in pmf.items()}

    def copy_two_items(self, parameters: Parameters, copies: int, control: str | None) -> tuple[Design, Parameters]:
        """Two items with five answers many times, and the parameters of that many."""
        data = self.designs.two_items(control=control)
        many, whole = replicate(data, copies), self.for_copies(self.whole(parameters), data.n_items, copies)
        design = Design(
            annotator=pt.as_tensor(many.annotator),
            item=pt.as_tensor(many.item),
            n_items=pt.as_tensor(many.n_items),
            names_class=many.names_class,
            control=pt.as_tensor(many.control_codes) if many.controls else None,
        )
        return design, whole

    def predict(self, parameters: Parameters, rng: np.random.Generator, copies: int) -> np.ndarray:
        """Draws of the observed variable with the parameters held, one row per copy of the design."""
        graph = Graph(self.entry, replicate(self.designs.two_items(), copies), self.known)
        held = pm.do(graph.model, self.for_copies(parameters, 2, copies))
        return pm.draw(held["annotations"], random_seed=rng, mode=FAST).reshape(copies, -1)

    def draw_states(
        self, parameters: Parameters, data: AnnotationData, rng: np.random.Generator, copies: int
    ) -> np.ndarray:
        """Drawn states, one row per copy of the design."""
        posterior = self.posterior([parameters], n_chains=1)
        if self.of_items:
            posterior = posterior.isel(item=np.tile(np.arange(data.n_items), copies), missing_dims="ignore")
            posterior = posterior.assign_coords(item=list(replicate(data, copies).items))
        known = self.for_copies(self.known, data.n_items, copies)
        drawn = compile_formula(self.entry, replicate(data, copies), posterior, known).draw_states(random_seed=rng)
        return drawn.values.reshape(copies, -1)


def designs_for(entry: AnnotationModel) -> Designs:
    return TWO_LABELS if entry.two_labels else THREE_LABELS


_made: dict[str, Case] = {}


def make_case(name: str, fields: Mapping[str, Any]) -> Case:
    """One model of annotations; its graphs are compiled once, and take other data."""
    key = f"{name} {fields}"
    if key not in _made:
        _made[key] = _make_case(name, fields)
    return _made[key]


def _make_case(name: str, fields: Mapping[str, Any]) -> Case:
    entry = entry_of(name, fields)
    if name in GUESTS:
        return Case(entry, GUESTS[name][1])
    if name not in REFERENCES:
        pytest.fail(f"the zoo has a model {name!r} without a reference: add one to REFERENCES in tests/references.py")
    return Case(entry, REFERENCES[name].with_fields(entry.to_fields()))


def entry_of(name: str, fields: Mapping[str, Any]) -> AnnotationModel:
    """A model of the zoo, or a guest."""
    return (GUESTS[name][0] if name in GUESTS else model_class(name)).from_fields(fields)
